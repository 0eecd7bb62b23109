"""Training under watch: a progress bar, scikit-learn's callbacks, Ctrl-C, deadlines, and notice of long work."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from votron._util.progress import Progress
from votron._util.types import Estimator, Labels, RowsLike

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks
    CallbackSupportMixin, with_callbacks = type("CallbackSupportMixin", (), {}), lambda method: method

if TYPE_CHECKING:
    from votron._util.forecast import Forecast

__all__ = ["CallbackSupportMixin", "OutOfTime", "Watch", "announcing_long_work", "fit_until", "watched"]

T = TypeVar("T")


class OutOfTime(Exception):  # not an error: whoever set the deadline goes on with what there is
    """Training was given up at its deadline."""


@dataclass(frozen=True)
class _Hooks:
    """What the next fit of an estimator heeds beside its parameters."""

    deadline: float | None = None
    say: Callable[[float, float], None] | None = None


_NONE = _Hooks()


@contextmanager
def _hooked(estimator: Estimator, hooks: _Hooks) -> Iterator[None]:
    estimator._hooks = hooks
    try:
        yield
    finally:
        del estimator._hooks


def fit_until(estimator: Estimator, X: RowsLike, y: Labels, deadline: float, **fit_params: Any) -> None:
    """Fit; at a moment of `time.monotonic` raise `OutOfTime`, and leave the estimator as it was."""
    with _hooked(estimator, _Hooks(deadline=deadline)):
        estimator.fit(X, y, **fit_params)


@contextmanager
def announcing_long_work(estimator: Estimator, say: Callable[[float, float], None]) -> Iterator[None]:
    """Call ``say`` once, with the least and the most seconds left, if a fit of the estimator in this block is long."""
    with _hooked(estimator, _Hooks(say=say)):
        yield


def watched(
    model: Estimator,
    train: Callable[[Watch], T],
    total_steps: int,
    size: int,
    *,
    part: str = "epoch",
    known: bool = True,
    forecast: bool = False,
    unit: str = "examples",
    words: Callable[[int, int], str] = "epoch {}, {:,} mistakes".format,
) -> tuple[T, bool]:
    """Train, and return the outcome and whether Ctrl-C ended training, which it does after a block.

    Callbacks hear of parts of ``size`` steps; unless it is ``known`` how many parts there are, ``total_steps`` has the
    most. ``words`` is what the bar shows of an epoch and its mistakes.
    """
    hooks: _Hooks = getattr(model, "_hooks", _NONE)

    def work(_: Any) -> tuple[T, bool]:
        tasks = _Tasks(model, part, total_steps, size, known) if hasattr(model, "_skl_callbacks") else None
        left = _forecast(size, total_steps, hooks) if forecast and (model.verbose or hooks.say) else None
        with Progress(total_steps, True, unit=unit) if model.verbose else nullcontext() as progress:
            watch = Watch(progress, words, None if tasks is None else tasks.reach, left, hooks.deadline)
            with _ctrl_c(watch):
                found = train(watch)
        if tasks is not None:
            tasks.end()
        return found, watch.interrupted

    return cast("tuple[T, bool]", with_callbacks(work)(model))


def _forecast(size: int, total_steps: int, hooks: _Hooks) -> Forecast:
    from votron._util.forecast import Forecast

    return Forecast(size, total_steps, hooks.say)


class Watch:
    """Reports progress to bar, callbacks and forecast, and tells the engine when to stop."""

    def __init__(
        self,
        progress: Progress | None,
        words: Callable[[int, int], str],
        reach: Callable[[int], None] | None,
        forecast: Forecast | None,
        deadline: float | None,
    ) -> None:
        self._progress, self._words, self._reach = progress, words, reach
        self._forecast, self._deadline = forecast, deadline
        self.interrupted = False
        self.before = 0
        """Steps of earlier parts, where each counts its own."""

    def update(self, step: int, epoch: int, mistakes: int) -> None:
        """Take note of progress."""
        step += self.before
        if self._forecast is not None:
            self._forecast.update(step, mistakes)
            if (say := self._forecast.long()) is not None:
                if self._progress is not None:
                    self._progress.clear()
                say()
        if self._progress is not None:
            left = None if self._forecast is None else self._forecast.left
            self._progress.update(step, self._words(epoch, mistakes), left)
        if self._reach is not None:
            self._reach(step)

    def should_stop(self) -> bool:
        """Tell whether Ctrl-C was pressed; raise `OutOfTime` at the deadline."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise OutOfTime
        return self.interrupted

    def interrupt(self, signum: int, frame: FrameType | None) -> None:
        """Stop after this block; at a second Ctrl-C, at once."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True


@contextmanager
def _ctrl_c(watch: Watch) -> Iterator[None]:
    """Let Ctrl-C ask for an end, unless somebody else handles it, or nobody can from this thread."""
    mine = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if mine else None
    if before is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, watch.interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Tasks:
    """The parts of a run, all of one length, as the tasks that scikit-learn's callbacks hear of."""

    def __init__(self, estimator: Estimator, name: str, total_steps: int, size: int, known: bool) -> None:
        self._estimator, self._name, self._total, self._size = estimator, name, total_steps, size
        self._fit = estimator._init_callback_context(max_subtasks=-(-total_steps // size) if known else None)
        self._fit.call_on_fit_task_begin(estimator=estimator)
        self._done = 0
        self._part = self._begun()

    def _begun(self) -> Any:
        part = self._fit.subcontext(task_name=self._name)
        part.call_on_fit_task_begin(estimator=self._estimator)
        return part

    def reach(self, step: int) -> None:
        """Close the parts that are done."""
        while self._done < step // self._size:
            self._end_part()
            if step < self._total:
                self._part = self._begun()
            self._done += 1

    def end(self) -> None:
        """Close the run."""
        self._end_part()
        self._fit.call_on_fit_task_end(estimator=self._estimator)

    def _end_part(self) -> None:
        if self._part is not None:
            self._part.call_on_fit_task_end(estimator=self._estimator)
            self._part = None
