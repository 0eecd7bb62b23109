"""Training with a progress bar, a deadline or notice of long work."""

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
    """Settings of the next fit of an estimator beside its parameters."""

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
    n_steps: int,
    epoch_size: int | None,
    *,
    unit: str = "examples",
    words: Callable[[int, int], str] = "epoch {}, {:,} mistakes".format,
) -> T:
    """Train with a bar, if the model is verbose, and what its hooks ask for; forecasts need the ``epoch_size``."""
    hooks: _Hooks = getattr(model, "_hooks", _Hooks())
    with Progress(n_steps, True, unit=unit) if model.verbose else nullcontext() as bar:
        forecast = Forecast(epoch_size, n_steps, hooks.say) if epoch_size and (bar or hooks.say) else None

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

        watch.report = report
        return train()
