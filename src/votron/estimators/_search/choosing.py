"""Which of many settings is the best: the one order by which a search, its results and its tables go.

The largest of hundreds of scores owes its place to chance as much as to merit: it is the luckiest of many that are
about as good. A parameter that is a number has neighbours, though, which are about as good too, and whose luck is
another. So settings are compared by **steady** scores: each is averaged with its neighbours in time, gamma, margin and
so on, one parameter after another. More training rows come first, then the higher steady score, then the higher score
itself, the larger margin, fewer epochs, and what was tried first. A score that is NaN is worse than any, and no
neighbour of others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

from votron.estimators._search.settings import alike, number_of

Params = dict[str, Any]

ORDERED = ("epochs", "gamma", "margin", "degree", "C", "alpha", "promotion")
"""Parameters whose values have neighbours."""
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
    >>> best_first(epochs, [0.9, 0.7, 0.8, 0.8], [10] * 4)  # the first has a poor neighbour
    [0, 3, 2, 1]
    >>> best_first([{"margin": 0.5}, {"margin": 2.0}], [0.9, 0.9], [10, 10])
    [1, 0]
    """
    keys = ranks(params, scores, n_rows)
    return sorted(range(len(keys)), key=keys.__getitem__)


def ranks(params: Sequence[Params], scores: Sequence[float], n_rows: Sequence[int]) -> list[tuple[float, ...]]:
    """Return the `rank` of each setting, its steady score by its neighbours among them.

    Examples
    --------
    >>> ranks([{"epochs": 1}, {"epochs": 2}], [0.5, 1.0], [10, 10])
    [(-10, -0.625, -0.5, -0.0, 1.0), (-10, -0.875, -1.0, -0.0, 2.0)]
    """
    steady = steadied(params, scores, n_rows)
    return [rank(*each) for each in zip(params, scores, steady, n_rows, strict=True)]


def rank(params: Params, score: float, steady: float, n_rows: int) -> tuple[float, ...]:
    """Return what sorts before others if it is better.

    Examples
    --------
    >>> rank({"margin": 2.0, "epochs": 3}, 0.9, 0.8, 100)
    (-100, -0.8, -0.9, -2.0, 3.0)
    >>> rank({"margin": 2.0, "epochs": 3}, math.nan, math.nan, 100)
    (0, inf, inf, -2.0, 3.0)
    """
    margin = params.get("margin", 0.0)
    largest = max(margin.values(), default=0.0) if isinstance(margin, dict) else margin
    epochs = float(params.get("epochs", 0))
    if math.isnan(score):
        return (0, math.inf, math.inf, -float(largest), epochs)
    return (-n_rows, -round(steady, _DIGITS), -round(score, _DIGITS), -float(largest), epochs)


def steadied(params: Sequence[Params], scores: Sequence[float], n_rows: Sequence[int]) -> list[float]:
    """Return scores of which each is averaged with its neighbours, half by half, in one parameter after another.

    Neighbours have all else in common. Numbers and multiples of "scale" are not compared with each other.

    Examples
    --------
    >>> steadied([{"epochs": 1}, {"epochs": 4}, {"epochs": 2}], [0.25, 1.0, 0.75], [10] * 3)
    [0.375, 0.9375, 0.6875]
    """
    values = [{name: number_of(each.get(name)) for name in ORDERED} for each in params]
    texts = _texts(params)
    found = list(scores)
    for name in ORDERED:
        lines: dict[tuple[Any, ...], list[int]] = {}
        for i, each in enumerate(texts):
            if values[i][name] is not None and not math.isnan(scores[i]):
                same = frozenset(item for item in each.items() if item[0] != name)
                lines.setdefault((n_rows[i], isinstance(params[i][name], str), same), []).append(i)
        place = [each[name] or 0.0 for each in values]
        found = _averaged(found, [sorted(line, key=place.__getitem__) for line in lines.values()])
    return found


def _texts(params: Sequence[Params]) -> list[dict[str, str]]:
    """Return settings with a text for each value, the same for equal values only, which functions do not have."""
    others = [value for each in params for value in each.values() if not isinstance(value, str | Real)]
    numbers = {id(others[i]): k for k, places in enumerate(alike(others)) for i in places}

    def text(value: Any) -> str:
        return repr(value) if isinstance(value, str | Real) else f"#{numbers[id(value)]}"

    return [{name: text(value) for name, value in each.items()} for each in params]


def _averaged(scores: list[float], lines: Sequence[Sequence[int]]) -> list[float]:
    """Return scores averaged with those before and after them; at the end of a line the score itself stands in."""
    found = list(scores)
    for line in lines:
        for k, i in enumerate(line):
            before, after = scores[line[max(0, k - 1)]], scores[line[min(k + 1, len(line) - 1)]]
            found[i] = (before + 2 * scores[i] + after) / 4
    return found
