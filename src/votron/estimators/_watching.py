"""Those who hear of training: a progress bar, scikit-learn's callbacks, deadlines, and notice of long work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TypeVar

from votron._util.forecast import Forecast
from votron._util.progress import Progress
from votron._util.types import Estimator, Labels, RowsLike
from votron.estimators._training import Watch

T = TypeVar("T")


class OutOfTime(Exception):  # not an error: whoever set the deadline goes on with what there is
    """Training was given up at its deadline."""


@dataclass(frozen=True)
class _Hooks:
    """What the next fit of an estimator heeds beside its parameters."""

    deadline: float | None = None
    say: Callable[[float, float], None] | None = None


@contextmanager
def _hooked(estimator: Estimator, hooks: _Hooks) -> Iterator[None]:
    estimator._hooks = hooks
    try:
        yield
    finally:
        del estimator._hooks


def fit_until(estimator: Estimator, X: RowsLike, y: Labels, deadline: float, **fit_params: object) -> None:
    """Fit; at a moment of `time.monotonic` raise `OutOfTime`, and leave the estimator as it was."""
    with _hooked(estimator, _Hooks(deadline=deadline)):
        estimator.fit(X, y, **fit_params)


@contextmanager
def announcing_long_work(estimator: Estimator, say: Callable[[float, float], None]) -> Iterator[None]:
    """Call ``say`` once, with the least and the most seconds left, if a fit of the estimator in this block is long."""
    with _hooked(estimator, _Hooks(say=say)):
        yield


def listened_to(
    model: Estimator,
    train: Callable[[], T],
    watch: Watch,
    total_steps: int,
    size: int,
    *,
    part: str = "epoch",
    known: bool = True,
    unit: str = "examples",
    words: Callable[[int, int], str] = "epoch {}, {:,} mistakes".format,
) -> T:
    """Train while all listen who want to: callbacks hear of parts of ``size`` steps.

    Unless it is ``known`` how many parts there are, ``total_steps`` has the most. ``words`` is what the bar shows.
    """
    hooks: _Hooks = getattr(model, "_hooks", _Hooks())

    with Progress(total_steps, True, unit=unit) if model.verbose else nullcontext() as bar:
        forecast = Forecast(size, total_steps, hooks.say) if known and part == "epoch" and (bar or hooks.say) else None

        def report(step: int, epoch: int, mistakes: int) -> None:
            if forecast is not None:
                forecast.update(step, mistakes)
                if (say := forecast.long()) is not None:
                    if bar is not None:
                        bar.clear()
                    say()
            if bar is not None:
                bar.update(step, words(epoch, mistakes), None if forecast is None else forecast.left)
            if hooks.deadline is not None and time.monotonic() > hooks.deadline:
                raise OutOfTime

        watch.listeners.append(report)
        if not hasattr(model, "_skl_callbacks"):
            return train()

        from sklearn.callback import with_callbacks  # scikit-learn before 1.9 has none

        def work(model: Estimator) -> T:
            tasks = _Tasks(model, part, total_steps, size, known)
            watch.listeners.append(tasks.reach)
            found = train()
            tasks.end()
            return found

        done: T = with_callbacks(work)(model)
        return done


class _Tasks:
    """The parts of a run, all of one length, as the tasks that scikit-learn's callbacks hear of."""

    def __init__(self, estimator: Estimator, name: str, total_steps: int, size: int, known: bool) -> None:
        self._estimator, self._name, self._total, self._size = estimator, name, total_steps, size
        self._fit = estimator._init_callback_context(max_subtasks=-(-total_steps // size) if known else None)
        self._fit.call_on_fit_task_begin(estimator=estimator)
        self._done = 0
        self._begin_part()

    def _begin_part(self) -> None:
        self._part = self._fit.subcontext(task_name=self._name)
        self._part.call_on_fit_task_begin(estimator=self._estimator)

    def reach(self, step: int, epoch: int, mistakes: int) -> None:
        """Close the parts that are done."""
        while self._done < step // self._size:
            self._end_part()
            if step < self._total:
                self._begin_part()
            self._done += 1

    def end(self) -> None:
        """Close the run."""
        self._end_part()
        self._fit.call_on_fit_task_end(estimator=self._estimator)

    def _end_part(self) -> None:
        if self._part is not None:
            self._part.call_on_fit_task_end(estimator=self._estimator)
            self._part = None
