"""A training run under watch: a progress bar and scikit-learn's callbacks hear of it, and Ctrl-C ends it early."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any, TypeVar, cast

from votron._progress import Progress

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks
    CallbackSupportMixin, with_callbacks = type("CallbackSupportMixin", (), {}), lambda method: method

__all__ = ["CallbackSupportMixin", "Watch", "watched"]

T = TypeVar("T")


class Watch:
    """Tells a progress bar and callbacks where training is, and training whether the user wants it to stop."""

    def __init__(
        self, progress: Progress | None, words: Callable[[int, int], str], reach: Callable[[int], None] | None
    ) -> None:
        self._progress, self._words, self._reach = progress, words, reach
        self.interrupted = False
        self.before = 0
        """Steps of the parts before, where each counts its own."""

    def update(self, step: int, epoch: int, mistakes: int) -> None:
        """Pass the news on."""
        step += self.before
        if self._progress is not None:
            self._progress.update(step, self._words(epoch, mistakes))
        if self._reach is not None:
            self._reach(step)

    def should_stop(self) -> bool:
        """Tell whether Ctrl-C was pressed."""
        return self.interrupted

    def interrupt(self, signum: int, frame: FrameType | None) -> None:
        """Stop after this block; at a second Ctrl-C, at once."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True


def watched(
    estimator: Any,
    train: Callable[[Watch], T],
    total_steps: int,
    size: int,
    *,
    part: str = "epoch",
    known: bool = True,
    unit: str = "examples",
    words: Callable[[int, int], str] = "epoch {}, {:,} mistakes".format,
) -> tuple[T, bool]:
    """Train, and return what comes of it and whether Ctrl-C ended it: after a block, not in the middle of one.

    Callbacks hear of parts of ``size`` steps; unless it is ``known`` how many parts there are, ``total_steps`` has the
    most. ``words`` says what the bar shows of an epoch and its mistakes.
    """

    def work(_: Any) -> tuple[T, bool]:
        tasks = _Tasks(estimator, part, total_steps, size, known) if hasattr(estimator, "_skl_callbacks") else None
        with Progress(total_steps, True, unit=unit) if estimator.verbose else nullcontext() as progress:
            watch = Watch(progress, words, None if tasks is None else tasks.reach)
            with _ctrl_c(watch):
                found = train(watch)
        if tasks is not None:
            tasks.end()
        return found, watch.interrupted

    return cast("tuple[T, bool]", with_callbacks(work)(estimator))


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
    """The parts of a run, one as long as another, as the tasks that scikit-learn's callbacks hear of."""

    def __init__(self, estimator: Any, name: str, total_steps: int, size: int, known: bool) -> None:
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
        """Hear how far it is."""
        while self._done < step // self._size:
            self._end_part()
            if step < self._total:
                self._part = self._begun()
            self._done += 1

    def end(self) -> None:
        """Hear that training is over."""
        self._end_part()
        self._fit.call_on_fit_task_end(estimator=self._estimator)

    def _end_part(self) -> None:
        if self._part is not None:
            self._part.call_on_fit_task_end(estimator=self._estimator)
            self._part = None
