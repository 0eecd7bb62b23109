"""Training with a progress bar or a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import TypeVar

from votron._util.progress import Progress
from votron._util.types import Estimator, Labels, RowsLike
from votron.estimators._training import Watch

T = TypeVar("T")


class OutOfTime(Exception):  # not an error: whoever set the deadline goes on with what there is
    """Training was given up at its deadline."""


def fit_until(estimator: Estimator, X: RowsLike, y: Labels, deadline: float, **fit_params: object) -> None:
    """Fit; at a moment of `time.monotonic` raise `OutOfTime`, and leave the estimator as it was."""
    estimator._deadline = deadline
    try:
        estimator.fit(X, y, **fit_params)
    finally:
        del estimator._deadline


def listened_to(
    model: Estimator,
    train: Callable[[], T],
    watch: Watch,
    n_steps: int,
    *,
    unit: str = "examples",
    words: Callable[[int, int], str] = "epoch {}, {:,} mistakes".format,
) -> T:
    """Train with a bar, if the model is verbose, and until its deadline, if it has one."""
    deadline = getattr(model, "_deadline", None)
    with Progress(n_steps, True, unit=unit) if model.verbose else nullcontext() as bar:

        def report(step: int, epoch: int, mistakes: int) -> None:
            if bar is not None:
                bar.update(step, words(epoch, mistakes))
            if deadline is not None and time.monotonic() > deadline:
                raise OutOfTime

        watch.report = report
        return train()
