"""The history of a training run: its data, its order, and the choices that led to the record."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.resources import chunks
from votron._util.types import Array, Floats, Rows

__all__ = ["Fingerprint", "TrainingHistory"]

_ALL_UP_TO = 1024
"""The first rows all enter the sums of a fingerprint; of those after them every 64th does."""
_THEN_EVERY = 64
_AT_ONCE, _VALUES_AT_ONCE = 1 << 14, 1 << 17


@dataclass(frozen=True)
class Fingerprint:
    """A fingerprint of rows and labels, in their order: labels exactly, rows up to rounding.

    ``labels`` is a 64-bit hash. The first thousand rows and every 64th of the others enter two weighted ``sums``, which
    may differ by ``precision`` times ``scale``, the sum of the absolute values: a transformer may return rows that
    differ in the last bit from those in training. Fingerprints of batches add up to that of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from votron.history import Fingerprint
    >>> X, codes = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.7]]), np.array([0, 1, 0])
    >>> known = Fingerprint.of(X, codes)
    >>> known.difference(Fingerprint.of(X + 1e-16, codes)) is None
    True
    >>> known.difference(Fingerprint.of(X, 1 - codes))
    'the labels are different, or in another order'
    """

    n_rows: int
    n_features: int
    labels: int
    sums: tuple[float, ...]
    scale: float
    precision: float

    @classmethod
    def of(cls, rows: Rows, codes: NDArray[np.int64], *, first: int = 0) -> Self:
        """Return the fingerprint of rows and the numbers of their classes; ``first`` is the number of the first row."""
        n, d = rows.shape
        rest = max(first, _ALL_UP_TO)
        rest += -rest % _THEN_EVERY
        sampled = np.append(np.arange(first, min(first + n, _ALL_UP_TO)), np.arange(rest, first + n, _THEN_EVERY))
        by_row = _weights(sampled)
        if sp.issparse(rows):
            some = rows[sampled - first]
            if some.nnz < d:  # such as a few rows of hashed words
                sums = some.data @ (np.repeat(by_row, np.diff(some.indptr), axis=0) * _weights(some.indices))
            else:
                sums = ((some @ _weights(np.arange(d))) * by_row).sum(axis=0)
            scale = float(abs(some.data).sum(dtype=np.float64))
        else:
            by_column, sums, scale = _weights(np.arange(d)), np.zeros(2), 0.0
            for part in chunks(len(sampled), max(1, _VALUES_AT_ONCE // d)):  # which fit into the cache
                some = rows[sampled[part] - first].astype(np.float64)
                sums += ((some @ by_column) * by_row[part]).sum(axis=0)
                scale += float(abs(some).sum())
        return cls(
            n_rows=n,
            n_features=d,
            labels=_hash_of_labels(codes, first),
            sums=tuple(sums.tolist()),
            scale=scale,
            precision=1e-7 if rows.dtype == np.float32 else 1e-9,
        )

    def then(self, more: Fingerprint) -> Fingerprint:
        """Return the fingerprint of these rows and those of the next batch."""
        return replace(
            self,
            n_rows=self.n_rows + more.n_rows,
            labels=(self.labels + more.labels) % 2**64,
            sums=tuple(a + b for a, b in zip(self.sums, more.sums, strict=True)),
            scale=self.scale + more.scale,
            precision=max(self.precision, more.precision),
        )

    def difference(self, other: Fingerprint) -> str | None:
        """Return how other data differ from these, as a clause of a sentence, or None."""
        if (self.n_rows, self.n_features) != (other.n_rows, other.n_features):
            return (
                f"there are {other.n_rows:,} rows of {other.n_features:,} features, and training had {self.n_rows:,} "
                f"rows of {self.n_features:,}"
            )
        if self.labels != other.labels:
            return "the labels are different, or in another order"
        precision = max(self.precision, other.precision)
        for mine, theirs in zip(self.sums, other.sums, strict=True):
            if not abs(mine - theirs) <= precision * self.scale:
                return "the rows are different, or in another order"
        return None


@dataclass(frozen=True)
class TrainingRun:
    """The outcome of a trainer's ``run``: examples presented, and whether it converged or was interrupted."""

    steps: int
    converged: bool
    interrupted: bool


def _hash_of_labels(codes: NDArray[np.int64], first: int) -> int:
    """Return the sum of hashes of row number and class, in parts that fit into the cache."""
    total = 0
    for part in chunks(len(codes), _AT_ONCE):
        numbers = np.arange(first + part.start, first + part.stop, dtype=np.uint64)
        hashes = _hashed(numbers * np.uint64(0x9E3779B97F4A7C15) + codes[part].astype(np.uint64))
        total += int(hashes.sum(dtype=np.uint64))
    return total % 2**64


def _weights(numbers: Array) -> Floats:
    """Return two pseudo-random weights between -1 and 1 for each row or feature number: the halves of its hash."""
    hashes = _hashed(numbers.astype(np.uint64))
    return np.stack([hashes >> np.uint64(32), hashes & np.uint64(2**32 - 1)], axis=1) / 2.0**31 - 1.0


def _hashed(values: Array) -> NDArray[np.uint64]:
    """Return the hash of each value by SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    z = values + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


@dataclass(frozen=True, kw_only=True)
class TrainingHistory:
    """The history of a fitted model.

    Attributes
    ----------
    n_rows : int
        Rows given in training, over all calls of ``partial_fit``.
    n_zero_weight : int
        Of these, rows of weight 0, which were left out.
    n_unlearnable : int
        Of these, rows with K(x, x) = 0, which were left out.
    n_numbered : int
        Rows with a number in the record: those given to `fit`, and those that ``partial_fit`` presented.
    fingerprint : Fingerprint or None
        Of the rows and labels as they were given; None after training on Dask collections.
    n_epochs : float
        Passes over the data; each call of ``partial_fit`` counts as one. 0 if training has no passes.
    n_batches : int
        Calls of ``partial_fit``.
    rows_repeated : bool
        Whether any row was presented more than once.
    shuffled : bool
        Whether `fit` shuffled the rows.
    seed : int or None
        The seed of the shuffle, if ``random_state`` was an int.
    weighted : bool
        Whether rows had weights other than 1.
    converged : bool or None
        Whether training ended with a whole pass without a mistake; None if it has no such end.
    interrupted : bool
        Whether Ctrl-C ended training.
    gamma_from : str or None
        "scale" or "auto" if gamma was computed from the data.
    n_held_out : int
        Rows that `fit` set aside.
    chosen_rule : str or None
        The rule that ``rule="auto"`` chose by held-out rows.
    end_chosen_by : str or None
        "early_stopping" or "with_best_moment" if held-out rows chose where training ended, or ``partial_fit`` went on.
    n_settings : int
        Settings that a search compared before this one was fitted; 0 without a search.
    from_file : bool
        Whether the model was loaded from a file, so that this history is not verified.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron import VotedPerceptronClassifier
    >>> model = VotedPerceptronClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> model.history_.n_rows, model.history_.n_epochs, model.history_.seed, model.history_.converged
    (150, 10.0, 0, False)
    """

    n_rows: int
    n_zero_weight: int = 0
    n_unlearnable: int = 0
    n_numbered: int = 0
    fingerprint: Fingerprint | None = None
    n_epochs: float = 0.0
    n_batches: int = 0
    rows_repeated: bool = False
    shuffled: bool = False
    seed: int | None = None
    weighted: bool = False
    converged: bool | None = False
    interrupted: bool = False
    gamma_from: str | None = None
    n_held_out: int = 0
    chosen_rule: str | None = None
    end_chosen_by: str | None = None
    n_settings: int = 0
    from_file: bool = field(default=False, compare=False)

    @property
    def n_examples(self) -> int:
        """Rows that were presented: those given, less those left out and those held out."""
        return self.n_rows - self.n_zero_weight - self.n_unlearnable - self.n_held_out

    @property
    def passes(self) -> float:
        """Passes over the data, where calls of ``partial_fit`` with new rows are parts of one."""
        return self.n_epochs if self.rows_repeated else min(1.0, self.n_epochs)

    @property
    def presented_unequally(self) -> bool:
        """Whether `fit` repeated rows and ``partial_fit`` then added others."""
        return self.rows_repeated and self.n_batches > 0

    def then(self, batch: TrainingHistory) -> TrainingHistory:
        """Return the history of this training and of a further batch, by ``partial_fit``."""
        known = self.fingerprint is not None and batch.fingerprint is not None
        return replace(
            self,
            n_rows=self.n_rows + batch.n_rows,
            n_zero_weight=self.n_zero_weight + batch.n_zero_weight,
            n_unlearnable=self.n_unlearnable + batch.n_unlearnable,
            fingerprint=self.fingerprint.then(batch.fingerprint) if known else None,  # type: ignore[union-attr, arg-type]
            n_epochs=self.n_epochs + batch.n_epochs,
            n_batches=self.n_batches + batch.n_batches,
            weighted=self.weighted or batch.weighted,
            converged=batch.converged,
            interrupted=self.interrupted or batch.interrupted,
        )
