"""The data of a search, fold by fold: encoded inside each fold, and of the training rows as many as are asked for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from votron._util.arrays import n_bytes
from votron._util.resources import parse_memory_limit
from votron._util.types import Floats, Index
from votron.estimators import _validation
from votron.estimators._search.grids import HELD_OUT_TIMES

_KEPT = 1 << 30
"""Bytes of rows that are kept for the next setting, where no encoder made them; those of an encoder are all kept."""
_ONE_THREAD = 2048
"""Rows up to which a second thread does not pay."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows, labels and weights to learn from, and rows, labels and weights to predict."""

    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]
    weight: Floats | None = None
    """As users gave them."""
    test_weight: Floats | None = None
    """Those, times the weights of classes."""
    scales: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    def scale(self) -> float:
        """Return what gamma="scale" stands for on the rows to learn from."""
        if not self.scales:
            self.scales.append(scale_of(self.X))
        return self.scales[0]

    def resources(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return how to fit, of what users leave open: few rows by one thread, and memory is looked at once."""
        found: dict[str, Any] = {}
        if params.get("n_jobs") is None and len(self.y) <= _ONE_THREAD:
            found["n_jobs"] = 1
        if params.get("memory_limit", "auto") == "auto":
            if not self.memory:
                self.memory.append(parse_memory_limit("auto", data_bytes=_size(self.X)))
            found["memory_limit"] = self.memory[0]
        return found


def scale_of(X: Any) -> float:
    """Return what gamma="scale" stands for on these rows."""
    from votron.estimators.voted import VotedPerceptronClassifier

    rows, _ = _validation.validated(VotedPerceptronClassifier(), X, kernel=None, reset=True)
    return float(_validation.resolved_gamma("scale", rows))


class Folds:
    """The folds of some data.

    Parameters
    ----------
    X, y : data and labels
        All rows.
    splits : list of pairs of int arrays
        For each fold the rows to learn from and to predict.
    seed : int
        For the rows that a part has.
    encoder : transformer, optional
        What turns rows into vectors; a copy is fitted on the training rows of each fold.
    weight, test_weight : float arrays, optional
        What rows count in training, and in scores.
    """

    def __init__(
        self,
        X: Any,
        y: NDArray[Any],
        splits: list[tuple[Any, Any]],
        seed: int,
        encoder: Any = None,
        weight: Floats | None = None,
        test_weight: Floats | None = None,
    ) -> None:
        self.X, self.y, self.encoder, self.weight, self.test_weight = X, y, encoder, weight, test_weight
        self.seed = seed
        codes, rng = np.unique(y, return_inverse=True)[1], np.random.RandomState(seed)
        every = np.arange(len(y))
        self.splits = [(np.sort(every[train]), every[test]) for train, test in splits]
        self._orders = [with_every_class_first(train, codes, rng) for train, _ in self.splits]
        self._whole: dict[int, Fold] = {}
        self._parts: dict[tuple[int, int], Fold] = {}

    @property
    def n_folds(self) -> int:
        """How many there are."""
        return len(self.splits)

    @property
    def n_rows(self) -> int:
        """The training rows of the smallest fold."""
        return min(len(train) for train, _ in self.splits)

    def fold(self, i: int, n_rows: int) -> Fold:
        """Return a fold with so many of its training rows, in the order of the data, every class among them.

        Of a part, the held-out rows are twice as many at most.
        """
        train = self.splits[i][0]
        if n_rows >= self.n_rows:  # all, also where another fold has one row less
            return self._all(i)
        if (i, n_rows) not in self._parts:
            some = np.sort(self._orders[i][: max(n_rows, 2)])
            within, whole = np.searchsorted(train, some), self._all(i)
            weight = None if whole.weight is None else whole.weight[within]
            part = replace(whole, X=_safe_indexing(whole.X, within), y=whole.y[within], weight=weight, scales=[])
            self._parts[i, n_rows] = self._fewer_held_out(part, HELD_OUT_TIMES * n_rows)
        return self._parts[i, n_rows]

    def _fewer_held_out(self, fold: Fold, most: int) -> Fold:
        """Return a fold with so many of its held-out rows."""
        if len(fold.y_test) <= most:
            return fold
        codes, rng = np.unique(fold.y_test, return_inverse=True)[1], np.random.RandomState(self.seed)
        some = np.sort(with_every_class_first(np.arange(len(codes)), codes, rng)[:most])
        weight = None if fold.test_weight is None else fold.test_weight[some]
        return replace(fold, X_test=_safe_indexing(fold.X_test, some), y_test=fold.y_test[some], test_weight=weight)

    def _all(self, i: int) -> Fold:
        if i in self._whole:
            return self._whole[i]
        train, test = self.splits[i]
        X, X_test = _safe_indexing(self.X, train), _safe_indexing(self.X, test)
        if self.encoder is not None:
            encoder = clone(self.encoder)
            X, X_test = encoder.fit_transform(X, self.y[train]), encoder.transform(X_test)
        weight = None if self.weight is None else self.weight[train]
        test_weight = None if self.test_weight is None else self.test_weight[test]
        made = Fold(X, self.y[train], X_test, self.y[test], weight, test_weight)
        if self.encoder is not None or _size(self.X) * self.n_folds <= _KEPT:
            self._whole[i] = made
        return made

    def digest(self) -> str:
        """Return a text that other data, other folds or another encoder do not have."""
        found = hashlib.sha256()
        for i in range(self.n_folds):
            fold = self._all(i)
            for part in (fold.X, fold.y, fold.X_test, fold.y_test, fold.weight, fold.test_weight):
                for array in _arrays_of(part):
                    found.update(f"{array.dtype.str}{array.shape}".encode())
                    whole = array.tobytes() if array.dtype.kind in "biufU" else repr(array.tolist()).encode()
                    found.update(whole)
        return found.hexdigest()


def _size(X: Any) -> int:
    return n_bytes(X) if sp.issparse(X) or isinstance(X, np.ndarray) else 100 * int(np.prod(getattr(X, "shape", (0,))))


def _arrays_of(part: Any) -> list[NDArray[Any]]:
    if part is None:
        return []
    if not sp.issparse(part):
        return [np.asarray(part)]
    rows = part.tocsr()
    return [np.array(rows.shape), rows.data, rows.indices, rows.indptr]  # columns of zeros are in the shape only


def with_every_class_first(rows: Index, codes: NDArray[np.int64], rng: Any) -> Index:
    """Return rows in random order, one of every class at the head, so that the first few are a sample of all.

    Examples
    --------
    >>> order = with_every_class_first(np.arange(6), np.array([0, 0, 0, 0, 0, 1]), np.random.RandomState(0))
    >>> sorted(order.tolist()), 5 in order[:2]
    ([0, 1, 2, 3, 4, 5], True)
    """
    shuffled = rng.permutation(rows)
    first = np.sort(np.unique(codes[shuffled], return_index=True)[1])
    return np.concatenate([shuffled[first], np.delete(shuffled, first)])
