"""Watchers of a training run: a progress bar, scikit-learn's callbacks, and the user's Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar, cast

from votron._progress import Progress

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks
    CallbackSupportMixin, with_callbacks = type("CallbackSupportMixin", (), {}), lambda method: method

__all__ = ["CallbackSupportMixin", "Watch", "under_callbacks", "watching"]

T = TypeVar("T")


def under_callbacks(estimator: Any, work: Callable[[], T]) -> T:
    """Do work that callbacks are told of, and end them whatever becomes of it."""
    return cast(T, with_callbacks(lambda _: work())(estimator))


def epochs_and_mistakes(epoch: int, mistakes: int) -> str:
    """Return what a bar says of training in passes."""
    return f"epoch {epoch}, {mistakes:,} mistakes"


class Watch:
    """Tells a progress bar and callbacks where training is, and training whether the user wants it to stop."""

    def __init__(self, progress: Progress, words: Callable[[int, int], str], tasks: _Tasks | None) -> None:
        self._progress, self._words, self._tasks = progress, words, tasks
        self.interrupted = False
        self.before = 0
        """Steps of the parts before, where each counts its own."""

    def update(self, step: int, epoch: int, mistakes: int) -> None:
        """Pass the news on."""
        step += self.before
        self._progress.update(step, self._words(epoch, mistakes))
        if self._tasks is not None:
            self._tasks.reach(step)

    def should_stop(self) -> bool:
        """Tell whether Ctrl-C was pressed."""
        return self.interrupted

    def interrupt(self, signum: int, frame: FrameType | None) -> None:
        """Stop after this block; at a second Ctrl-C, at once."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True


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


@contextmanager
def watching(
    estimator: Any,
    total_steps: int,
    size: int,
    *,
    part: str = "epoch",
    known: bool = True,
    unit: str = "examples",
    words: Callable[[int, int], str] = epochs_and_mistakes,
) -> Iterator[Watch]:
    """Watch a training run; Ctrl-C asks it to end after the current block, instead of breaking into the middle.

    A part of the run has ``size`` steps; unless it is ``known`` how many parts there are, ``total_steps`` has the most.
    """
    tasks = _Tasks(estimator, part, total_steps, size, known) if hasattr(estimator, "_skl_callbacks") else None
    with Progress(total_steps, bool(estimator.verbose), unit=unit) as progress:
        watch = Watch(progress, words, tasks)
        with _ctrl_c(watch):
            yield watch
    if tasks is not None:
        tasks.end()


@contextmanager
def _ctrl_c(watch: Watch) -> Iterator[None]:
    """Send the user's Ctrl-C to the watch, where nobody else handles it."""
    mine = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if mine else None
    if before is not signal.default_int_handler:
        yield  # somebody else handles Ctrl-C, or nobody can from this thread
        return
    signal.signal(signal.SIGINT, watch.interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
