"""Tests of differences between scores of cross-validation.

The scores of one learner on the folds of a (repeated) cross-validation share training rows, so their plain standard
error is too small. Nadeau and Bengio's correction adds the share of test to training rows: the mean of n scores with
sample variance s² has the variance (1/n + test/train)·s², and n − 1 degrees of freedom (C. Nadeau and Y. Bengio,
Machine Learning 52, 2003; for repeated folds R. Bouckaert and E. Frank, PAKDD 2004). All pairs of learners are tested,
since the best is found on the same folds; S. Holm's method (Scandinavian Journal of Statistics 6, 1979) keeps the
chance of any false difference below the level. The pairs with a baseline are a family of their own.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from votron._util.types import Floats

__all__ = ["Difference", "corrected_interval", "corrected_p", "differences", "holm"]

Name = TypeVar("Name", bound=Hashable)

_NO_VARIANCE, _NO_DIFFERENCE = 1e-24, 1e-12
"""Variance and difference that rounding may leave between equal numbers."""


def corrected_p(difference: ArrayLike, test_share: float, step: float = 0.0) -> float:
    """Return the two-sided p-value of the corrected resampled t-test, that the mean difference of two learners is 0.

    Parameters
    ----------
    difference : array of shape (n_folds,)
        How much the score of one is above that of the other, fold by fold.
    test_share : float
        Test rows over training rows of a fold: 1/(k − 1) with k folds.
    step : float, default=0.0
        By how much one row changes a score that counts rows. The variance is step²/12 at least, as that of rounding is.

    Examples
    --------
    >>> from votron.evaluate.statistics import corrected_p
    >>> round(corrected_p([0.02, -0.01, 0.01, 0.0], 1 / 3), 3)
    0.647
    """
    mean, error, n = _mean_and_error(difference, test_share, step)
    if error == 0:
        return 1.0 if abs(mean) < _NO_DIFFERENCE else 0.0
    return float(2 * stdtr(n - 1, -abs(mean) / error))


def corrected_interval(
    values: ArrayLike, test_share: float, confidence: float = 0.95, step: float = 0.0
) -> tuple[float, float]:
    """Return the interval of the corrected resampled t for the mean of scores or differences, as in `corrected_p`.

    Examples
    --------
    >>> from votron.evaluate.statistics import corrected_interval
    >>> [round(end, 4) for end in corrected_interval([0.90, 0.92, 0.88, 0.90], 1 / 3)]
    [0.8603, 0.9397]
    """
    mean, error, n = _mean_and_error(values, test_share, step)
    half = -float(stdtrit(n - 1, (1 - confidence) / 2)) * error if error else 0.0
    return mean - half, mean + half


def _mean_and_error(values: ArrayLike, test_share: float, step: float) -> tuple[float, float, int]:
    """Return the mean, its corrected standard error, and how many values there are."""
    found = np.asarray(values, dtype=np.float64)
    variance = max(float(np.var(found, ddof=1)), step * step / 12)
    error = math.sqrt((1 / len(found) + test_share) * variance) if variance >= _NO_VARIANCE else 0.0
    return float(np.mean(found)), error, len(found)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's method: those below a level are differences at that level, all together.

    Examples
    --------
    >>> from votron.evaluate.statistics import holm
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p: Floats = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    steps = np.minimum(1.0, p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(steps)
    return list(map(float, adjusted))


@dataclass(frozen=True)
class Difference:
    """By how much one learner's score is above another's, over all folds."""

    mean: float
    low: float
    high: float
    """An interval for the mean, at the level that Holm's method tests it with: without 0 if it is no noise."""
    p: float
    adjusted_p: float
    """The p-value of the corrected resampled t-test, and the same by Holm's method."""
    is_noise: bool

    @property
    def is_better(self) -> bool:
        """Whether the first learner is better, by more than noise."""
        return self.mean > 0 and not self.is_noise

    def reversed(self) -> Difference:
        """Return the same, seen from the other learner."""
        return Difference(-self.mean, -self.high, -self.low, self.p, self.adjusted_p, self.is_noise)


def differences(
    scores: Mapping[Name, ArrayLike],
    test_share: float,
    confidence: float = 0.95,
    *,
    baseline: Name | None = None,
    step: float = 0.0,
) -> dict[tuple[Name, Name], Difference]:
    """Return the differences of all pairs of learners, in both orders: corrected t-tests, by Holm's method.

    Parameters
    ----------
    scores : mapping of arrays of shape (n_folds,)
        The scores of each learner, on the same folds in the same order.
    test_share, step : float
        As in `corrected_p`.
    confidence : float, default=0.95
        The chance that no difference is found among learners that are equally good.
    baseline : optional
        The name of a learner whose pairs are a family of their own.

    Examples
    --------
    >>> from votron.evaluate.statistics import differences
    >>> found = differences({"a": [0.9, 0.8, 0.9, 0.8], "b": [0.5, 0.4, 0.5, 0.5]}, 1 / 3)
    >>> found["a", "b"].is_noise, round(found["a", "b"].mean, 3)
    (False, 0.375)
    """
    found, level = {}, 1 - confidence
    for own in (False, True):
        pairs = [pair for pair in combinations(scores, 2) if (baseline is not None and baseline in pair) == own]
        gaps = {(a, b): np.subtract(scores[a], scores[b]) for a, b in pairs}
        p = {pair: corrected_p(gap, test_share, step) for pair, gap in gaps.items()}
        adjusted = dict(zip(p, holm(list(p.values())), strict=True))
        n_real = sum(each < level for each in adjusted.values())
        for rank, (a, b) in enumerate(sorted(p, key=lambda each: p[each])):
            # Holm compares the least p with level/m, the next with level/(m − 1) and so on, until the first noise.
            tested_at = level / (len(p) - min(rank, n_real))
            low, high = corrected_interval(gaps[a, b], test_share, 1 - tested_at, step)
            gap = float(np.mean(gaps[a, b])), low, high
            found[a, b] = Difference(*gap, p[a, b], adjusted[a, b], adjusted[a, b] >= level)
            found[b, a] = found[a, b].reversed()
    return found
