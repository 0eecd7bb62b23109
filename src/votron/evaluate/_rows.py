"""Labelled rows that are cross-validated: checked, drawn where they are too many, and split into folds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from votron._util.types import Array, Floats, Index, Label, Labels, RowsLike
from votron.errors import VotronError
from votron.estimators import VotedPerceptronClassifier
from votron.estimators._data import check_two_classes, encode_labels, weighed


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows with labels, the weights that were given, and those with which errors are counted."""

    X: RowsLike
    y: Array
    weight: Floats | None
    scoring: Floats | None

    def take(self, at: Index) -> LabelledRows:
        """Return some of them."""
        weight, scoring = (None if each is None else each[at] for each in (self.weight, self.scoring))
        return LabelledRows(_safe_indexing(self.X, at), self.y[at], weight, scoring)


def checked_rows(
    X: RowsLike, y: Labels, sample_weight: ArrayLike | None, class_weight: str | Mapping[Label, float] | None
) -> LabelledRows:
    """Return rows and labels, without those of weight 0."""
    y, n = np.asarray(y), _num_samples(X)
    if y.shape != (n,):
        raise VotronError(f"compare takes one label for each of the {n} rows of X. Got y of shape {y.shape} instead.")
    kept, scoring = weighed(VotedPerceptronClassifier(class_weight=class_weight), y, sample_weight, scaled=True)
    given = None if sample_weight is None else np.array(np.broadcast_to(sample_weight, n), dtype=np.float64)
    if kept is not None:
        X, y = _safe_indexing(X, kept), y[kept]
        given = None if given is None else given[kept]
    classes, _ = encode_labels(y)
    check_two_classes(classes, (n, getattr(X, "shape", (n, 1))[-1]))
    return LabelledRows(X, y, given, scoring)


def drawn_rows(rows: LabelledRows, max_rows: int | None, seed: int, folds: int) -> LabelledRows:
    """Return of too many rows the same share of every class, but as many of a rare class as there are folds."""
    n, codes = len(rows.y), np.unique(rows.y, return_inverse=True)[1]
    if max_rows is None or n <= max_rows:
        return rows
    counts = np.bincount(codes)
    shares = np.maximum(np.minimum(counts, folds), counts * max_rows // n)
    cut_most = np.argsort(-(counts * max_rows % n), kind="stable")
    shares[cut_most[: max(0, max_rows - int(shares.sum()))]] += 1
    order = np.random.RandomState(seed).permutation(n)
    drawn = [order[codes[order] == code][:share] for code, share in enumerate(shares)]
    return rows.take(np.sort(np.concatenate(drawn)))


def stratified_splits(y: Array, folds: int, seed: int) -> list[tuple[Index, Index]]:
    """Return for each fold the rows to learn from and those to predict."""
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        rare = classes.tolist()[counts.argmin()]
        raise VotronError(
            f"Cross-validation needs at least two rows of every class. Got one row of class {rare!r} instead: "
            "leave it out, or give it the label of another class."
        )
    if counts.max() < folds:
        raise VotronError(
            f"The 'folds' parameter of compare must be at most {counts.max()}, the rows of the largest class. "
            f"Got {folds} instead.",
            parameter="folds",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer rows than folds is in some of them only
        return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))
