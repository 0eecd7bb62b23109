"""The record of a training run: the ordered list of its mistakes, from which everything else follows.

Conventions (the sources differ; these are Votron's)
-----------------------------------------------------
* A **mistake** is ``y · score ≤ 0`` (``≤ τ K(x, x)`` with ``margin=τ``). A **prediction** of score 0 is +1.
* **Time** counts presented examples: the t-th presentation is step t = 1, 2, .... The vector alive at time t is the
  one after step t; at time 0 it is the zero vector.
* A vector that fails at step t is not credited with it; the vector born there is. So its **survival** is the next
  mistake's time minus its own, and for the last one the end of training, plus one, minus its own. The zero vector
  before the first mistake has no votes.
* An **example** is named by its row in the data given to ``fit``; in ``partial_fit`` by the number of examples
  presented before it.
* A **weight** is what a mistake's example is added with, beside its sign; survival counts presentations, whatever
  their weights.
* A binary problem has one vector, number 0, whose +1 is the second class. With more classes vector c is class c
  against the rest.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from votron._util.types import Array, Floats
from votron.errors import VotronError

__all__ = ["MistakeRecord", "labels_of"]


def labels_of(scores: Floats, *, ties_to_first: bool = False) -> NDArray[np.int64]:
    """Return the predicted class of each row of scores, as a number: the largest score, and among equal ones the first.

    Two classes have one score, and 0 or more stands for the second.

    Parameters
    ----------
    scores : array of shape (n,), (n, 1) or (n, n_classes)
        Scores.
    ties_to_first : bool, default=False
        Whether of two classes 0 stands for the first, as in naive Bayes.

    Returns
    -------
    int array of shape (n,)
        The labels.

    Examples
    --------
    >>> labels_of(np.array([-1.5, 0.0, 2.0])).tolist()
    [0, 1, 1]
    >>> labels_of(np.array([[0.5, 2.0, 2.0], [1.0, 1.0, 0.0]])).tolist()
    [1, 0]
    """
    scores = np.asarray(scores)
    if scores.ndim == 2 and scores.shape[1] > 1:
        return np.asarray(scores.argmax(axis=1))
    scores = scores.reshape(len(scores))
    return (scores > 0 if ties_to_first else scores >= 0).astype(np.int64)


COLUMNS = {"example": "<i8", "vector": "<i4", "sign": "i1", "time": "<i8", "score": "<f8", "norm2": "<f8"}


def _frozen(values: ArrayLike, dtype: str) -> Array:
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class MistakeRecord:
    """All mistakes of one training run, in order of time and, within a step, of class.

    Attributes
    ----------
    example : int64 array of shape (k,)
        Which example.
    vector : int32 array of shape (k,)
        Which class's vector.
    sign : int8 array of shape (k,)
        Which label, +1 or -1: what was added is sign times the example, times its weight if there are weights.
    time : int64 array of shape (k,)
        At which step, counted from 1.
    score : float64 array of shape (k,)
        The score v·x that was wrong.
    norm2 : float64 array of shape (k,)
        The squared length, in feature space, of the vector born there.
    n_vectors : int
        1 for binary problems, the number of classes otherwise.
    n_examples : int
        Examples in an epoch (for ``partial_fit``: presented so far).
    n_steps : int
        Length of training; steps after an early stop count as presented.
    weight : float64 array of shape (k,) or None
        What the example was added with, beside its sign; None if that is 1 for all.

    Examples
    --------
    >>> import numpy as np
    >>> record = MistakeRecord(example=np.array([0, 2, 0]), vector=np.zeros(3), sign=np.array([1, -1, 1]),
    ...     time=np.array([1, 3, 4]), score=np.array([0.0, 2.0, -1.0]), norm2=np.array([4.0, 1.0, 3.0]),
    ...     n_vectors=1, n_examples=3, n_steps=9)
    >>> len(record), record.support, record.survival
    (3, array([0, 2]), array([2, 1, 6]))
    >>> record.dual_coef()
    array([[ 2., -1.]])
    """

    example: NDArray[np.int64]
    vector: NDArray[np.int32]
    sign: NDArray[np.int8]
    time: NDArray[np.int64]
    score: Floats
    norm2: Floats
    n_vectors: int
    n_examples: int
    n_steps: int
    weight: Floats | None = field(default_factory=lambda: None)  # no attribute of the class

    def __post_init__(self) -> None:
        """Convert and freeze the arrays, and check that they are a record."""
        for name, dtype in COLUMNS.items():
            object.__setattr__(self, name, _frozen(getattr(self, name), dtype))
        if len({getattr(self, name).shape for name in COLUMNS}) != 1 or self.example.ndim != 1:
            raise VotronError("The arrays of a MistakeRecord must be one-dimensional and equally long.")
        if self.weight is not None:
            weight = _frozen(self.weight, "<f8")
            if weight.shape != self.example.shape or not ((weight > 0) & np.isfinite(weight)).all():
                raise VotronError("The weights of a MistakeRecord must be numbers above 0, one for each mistake.")
            object.__setattr__(self, "weight", None if (weight == 1).all() else weight)
        rising = (self.time[1:] >= self.time[:-1]).all()  # differences could overflow
        if len(self) and not (rising and self.time[0] >= 1 and self.time[-1] <= self.n_steps):
            raise VotronError("The times of a MistakeRecord must be sorted and lie between 1 and n_steps.")
        if not ((self.vector >= 0) & (self.vector < self.n_vectors) & (np.abs(self.sign) == 1)).all():
            raise VotronError("A MistakeRecord has vectors from 0 to n_vectors - 1, and signs +1 and -1.")
        same_step = np.diff(self.time) == 0
        if (same_step & ((np.diff(self.example) != 0) | (np.diff(self.vector) <= 0))).any():
            raise VotronError("A step of a MistakeRecord has one example, and each vector once, in rising order.")

    def __len__(self) -> int:
        return len(self.example)

    def __repr__(self) -> str:
        mistakes, steps = f"{len(self)} mistakes on {len(self.support)}", f"{self.n_steps} steps of {self.n_examples}"
        return f"MistakeRecord({mistakes} examples, {self.n_vectors} vector(s), {steps} examples)"

    def __reduce__(self) -> tuple[Any, ...]:
        return MistakeRecord, tuple(self.__dict__[name] for name in self.__dataclass_fields__)

    @cached_property
    def _first_seen(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        _, first, inverse = np.unique(self.example, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return self.example[np.sort(first)], rank[inverse.reshape(-1)]

    @property
    def support(self) -> NDArray[np.int64]:
        """The distinct examples with a mistake, in order of their first."""
        return self._first_seen[0]

    @property
    def slot(self) -> NDArray[np.int64]:
        """For each mistake, the place of its example in ``support``."""
        return self._first_seen[1]

    @property
    def coefficient(self) -> NDArray[np.int8] | Floats:
        """For each mistake, what its example was added with: the sign, times the weight if there are weights."""
        return self.sign if self.weight is None else self.sign * self.weight

    @cached_property
    def event_starts(self) -> NDArray[np.int64]:
        """The beginning of each event, and the end; an event is the mistakes of one step."""
        if not len(self):
            return np.zeros(1, dtype=np.int64)
        changes = np.flatnonzero(np.diff(self.time)) + 1
        return np.concatenate([[0], changes, [len(self)]]).astype(np.int64)

    @cached_property
    def survival(self) -> NDArray[np.int64]:
        """For each mistake, how many time steps the vector born there was alive."""
        out = np.empty(len(self), dtype=np.int64)
        for mine in self.of_each_vector.values():
            out[mine] = np.diff(np.append(self.time[mine], self.n_steps + 1))
        return out

    @cached_property
    def of_each_vector(self) -> dict[int, NDArray[np.int64]]:
        """The numbers of the mistakes of each vector that has any."""
        order = np.argsort(self.vector, kind="stable")
        vectors, starts = np.unique(self.vector[order], return_index=True)
        return dict(zip(vectors.tolist(), np.split(order, starts[1:]), strict=True)) if len(self) else {}

    @cached_property
    def lengths(self) -> Floats:
        """The length of each vector; 0 where rounding left its square below 0."""
        return np.sqrt(np.maximum(self.norm2, 0.0))

    @property
    def n_mistakes(self) -> NDArray[np.int64]:
        """Mistakes of each vector."""
        return np.bincount(self.vector, minlength=self.n_vectors).astype(np.int64)

    def until(self, time: int) -> MistakeRecord:
        """Return the record as it was at an earlier time."""
        if not 0 <= time <= self.n_steps:
            raise VotronError(f"The time must lie within training, from 0 to {self.n_steps}. Got {time} instead.")
        k = int(np.searchsorted(self.time, time, side="right"))
        parts = {name: getattr(self, name)[:k] for name in COLUMNS}
        weight = None if self.weight is None else self.weight[:k]
        return replace(self, **parts, weight=weight, n_steps=int(time))

    def without_scores(self, norm2: Floats | None = None) -> MistakeRecord:
        """Return the record with scores of 0, and lengths of 0 or the given ones, which voting does not use."""
        zeros = np.zeros(len(self))
        return replace(self, score=zeros, norm2=zeros if norm2 is None else norm2)

    def dual_coef(self, *, average: bool = False) -> Floats:
        """Return the final vectors, or their averages over all steps, as coefficients of the support examples."""
        out = np.zeros((self.n_vectors, len(self.support)))
        alive = (self.n_steps + 1.0 - self.time) / max(1, self.n_steps)
        np.add.at(out, (self.vector, self.slot), self.coefficient * alive if average else self.coefficient)
        return out

    def pocket(self) -> NDArray[np.int64]:
        """Return when the longest-lived vector of each class was born (the first among equals; 0 for none)."""
        out = np.zeros(self.n_vectors, dtype=np.int64)
        for c, mine in self.of_each_vector.items():
            out[c] = self.time[mine[np.argmax(self.survival[mine])]]
        return out

    def digest(self) -> str:
        """Return the SHA-256 of the record's bytes."""
        h = hashlib.sha256(f"{self.n_vectors} {self.n_examples} {self.n_steps}".encode())
        for name in COLUMNS:
            h.update(getattr(self, name).tobytes())
        if self.weight is not None:
            h.update(b"weight" + self.weight.tobytes())
        return h.hexdigest()

    def equals(self, other: MistakeRecord) -> bool:
        """Tell whether two records are the same to the last bit."""
        return self.digest() == other.digest()
