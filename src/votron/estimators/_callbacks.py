"""Callbacks of scikit-learn: they hear of each part of a training run, beside the progress bar and Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from votron._progress import Watch, epochs_and_mistakes, watching

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks
    CallbackSupportMixin, with_callbacks = type("CallbackSupportMixin", (), {}), lambda method: method

__all__ = ["CallbackSupportMixin", "under_callbacks", "watching_fit"]

T = TypeVar("T")


def under_callbacks(estimator: Any, work: Callable[[], T]) -> T:
    """Do work that callbacks are told of, and end them whatever becomes of it."""
    return cast(T, with_callbacks(lambda _: work())(estimator))


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
def watching_fit(
    estimator: Any,
    total_steps: int,
    size: int,
    *,
    part: str = "epoch",
    known: bool = True,
    unit: str = "examples",
    words: Callable[[int, int], str] = epochs_and_mistakes,
) -> Iterator[Watch]:
    """Watch a training run as `watching` does, and tell callbacks of its parts.

    A part of the run has ``size`` steps; unless it is ``known`` how many parts there are, ``total_steps`` has the most.
    """
    tasks = _Tasks(estimator, part, total_steps, size, known) if hasattr(estimator, "_skl_callbacks") else None
    reach = None if tasks is None else tasks.reach
    with watching(total_steps, bool(estimator.verbose), unit=unit, words=words, reach=reach) as watch:
        yield watch
    if tasks is not None:
        tasks.end()
