"""Which of many settings is the best: the one order by which a search, its results and its tables go.

More training rows come first, then the higher mean score. Among equals, which are many on small data, chance has had a
say in each, so the one is taken whose neighbours in time, the moments before and after it, score best too; then the
larger margin, which is the safer; then fewer epochs; then the one that was tried first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Params = dict[str, Any]

_DIGITS = 12
"""Means that agree to so many digits are equal: they were added up in another order."""


def best_first(params: Sequence[Params], scores: Sequence[float], n_rows: Sequence[int]) -> list[int]:
    """Return the places of settings, the best first.

    Parameters
    ----------
    params : sequence of dict
        The settings, in the order in which they were tried.
    scores : sequence of float
        For each its mean score over the folds; higher is better.
    n_rows : sequence of int
        For each the training rows of a fold.

    Examples
    --------
    >>> epochs = [{"epochs": 1}, {"epochs": 2}, {"epochs": 3}, {"epochs": 9}]
    >>> best_first(epochs, [0.9, 0.7, 0.8, 0.9], [10] * 4)  # both ends have 0.9, and the last has the better neighbour
    [3, 0, 2, 1]
    >>> best_first([{"margin": 0.5}, {"margin": 2.0}], [0.9, 0.9], [10, 10])
    [1, 0]
    """
    steady = smoothed(params, scores, n_rows)
    keys = [rank(*each) for each in zip(params, scores, steady, n_rows, strict=True)]
    return sorted(range(len(keys)), key=keys.__getitem__)


def rank(params: Params, score: float, steady: float, n_rows: int) -> tuple[float, ...]:
    """Return what sorts before others if it is better.

    Examples
    --------
    >>> rank({"margin": 2.0, "epochs": 3}, 0.9, 0.8, 100)
    (-100, -0.9, -0.8, -2.0, 3.0)
    """
    margin = params.get("margin", 0.0)
    largest = max(margin.values(), default=0.0) if isinstance(margin, dict) else margin
    epochs = float(params.get("epochs", 0))
    return (-n_rows, -round(score, _DIGITS), -round(steady, _DIGITS), -float(largest), epochs)


def smoothed(params: Sequence[Params], scores: Sequence[float], n_rows: Sequence[int]) -> list[float]:
    """Return for each setting the mean score of itself and of the moments before and after it.

    Examples
    --------
    >>> smoothed([{"epochs": 1}, {"epochs": 4}, {"epochs": 2}], [0.25, 1.0, 0.75], [10] * 3)
    [0.5, 0.875, 0.6666666666666666]
    """
    runs: dict[tuple[Any, ...], list[int]] = {}
    for i, each in enumerate(params):
        others = tuple((name, repr(value)) for name, value in each.items() if name != "epochs")
        runs.setdefault((n_rows[i], *others), []).append(i)
    found = [0.0] * len(params)
    for places in runs.values():
        places.sort(key=lambda i: float(params[i].get("epochs", 0)))
        for k, i in enumerate(places):
            near = [scores[j] for j in places[max(0, k - 1) : k + 2]]
            found[i] = float(np.mean(near))
    return found
