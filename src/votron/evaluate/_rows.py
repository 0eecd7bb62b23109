"""Labelled rows that are cross-validated: checked, drawn where they are too many, and split into folds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from votron._util.types import Floats, Index
from votron.errors import Parameter, VotronError
from votron.estimators import _validation
from votron.estimators._by_name import ESTIMATORS
from votron.estimators._weights import weighed


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows with labels, the weights that were given, and those with which errors are counted."""

    X: Any
    y: NDArray[Any]
    weight: Floats | None
    scoring: Floats | None

    def take(self, at: Index) -> LabelledRows:
        """Return some of them."""
        weight, scoring = (None if each is None else each[at] for each in (self.weight, self.scoring))
        return LabelledRows(_safe_indexing(self.X, at), self.y[at], weight, scoring)


def checked_rows(X: Any, y: Any, sample_weight: Any, class_weight: Any, *, of: str) -> LabelledRows:
    """Return rows and labels, without those of weight 0; ``of`` is the function that takes them, for errors."""
    y, n = np.asarray(y), _num_samples(X)
    if y.shape != (n,):
        raise VotronError(f"{of} takes one label for each of the {n} rows of X. Got y of shape {y.shape} instead.")
    weights = weighed(ESTIMATORS["voted"](class_weight=class_weight), y, sample_weight, scaled=True)
    given = None if sample_weight is None else np.array(np.broadcast_to(sample_weight, n), dtype=np.float64)
    if weights.kept is not None:
        X, y = _safe_indexing(X, weights.kept), y[weights.kept]
        given = None if given is None else given[weights.kept]
    classes, _ = _validation.encode_labels(y)
    _validation.check_two_classes(classes, (n, getattr(X, "shape", (n, 1))[-1]))
    return LabelledRows(X, y, given, weights.each)


def drawn_rows(rows: LabelledRows, max_rows: int | None, seed: int, folds: int) -> LabelledRows:
    """Return of too many rows a share of every class, but a row for each fold, where it has so many."""
    n, codes = len(rows.y), np.unique(rows.y, return_inverse=True)[1]
    if max_rows is None or n <= max_rows:
        return rows
    shares = shares_of_classes(np.bincount(codes), max_rows, folds)
    order = np.random.RandomState(seed).permutation(n)
    order = order[np.argsort(codes[order], kind="stable")]  # class by class
    first = np.searchsorted(codes[order], np.arange(len(shares)))
    return rows.take(np.sort(np.concatenate([order[at : at + k] for at, k in zip(first, shares, strict=True)])))


def shares_of_classes(counts: Index, total: int, least: int) -> Index:
    """Return how many rows of each class to draw, of which there are ``counts``: in proportion, but ``least`` or all.

    They are ``total`` together, or more where the least of all classes are.

    Examples
    --------
    >>> shares_of_classes(np.array([70_000, 29_992, 6, 2]), 20_000, 5).tolist()
    [13996, 5997, 5, 2]
    """
    shares = np.minimum(counts, least)
    total, large = max(total, int(shares.sum())), np.arange(len(counts))
    while True:
        left = total - int(np.delete(shares, large).sum())
        found, rest = np.divmod(left * counts[large], counts[large].sum())
        if (found >= shares[large]).all():
            break
        large = large[found >= shares[large]]  # what the small ones have beyond their share, these do not
    found[np.argsort(-rest, kind="stable")[: left - int(found.sum())]] += 1
    shares[large] = found
    return shares


def check_splitting(
    *, folds: Any, random_state: Any, max_rows: Any, max_seconds: Any, repeats: Any = 1, of: str
) -> None:
    """Refuse numbers that no cross-validation can be meant with; ``of`` is the function that takes them."""
    numbers = [("folds", folds, 2), ("repeats", repeats, 1), ("random_state", random_state, 0)]
    for name, value, least in numbers + ([] if max_rows is None else [("max_rows", max_rows, 4)]):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise VotronError(Parameter(name, of=of), f" must be an int of at least {least}. Got {value!r} instead.")
    if max_seconds is not None and not (isinstance(max_seconds, Real) and float(max_seconds) > 0):
        raise VotronError(
            Parameter("max_seconds", of=of), f" must be a positive number or None. Got {max_seconds!r} instead."
        )


def stratified_splits(y: NDArray[Any], folds: int, seed: int, *, of: str) -> list[tuple[Index, Index]]:
    """Return for each fold the rows to learn from and those to predict."""
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        rare = classes.tolist()[counts.argmin()]
        raise VotronError(
            "Cross-validation needs two rows of every class at least, one to learn from and one to predict. "
            f"Got one row of class {rare!r} instead: leave it out, or give it the label of another class."
        )
    if counts.max() < folds:
        raise VotronError(
            Parameter("folds", of=of),
            f" must be at most {counts.max()}, the rows of the largest class. Got {folds!r} instead.",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer rows than folds is in some of them only
        return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))
