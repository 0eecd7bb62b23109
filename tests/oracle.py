"""The textbook: the kernel perceptron one example at a time, and its rules with every vector written out.

Slow on purpose. Nothing is shared with the fast engine but the scalar kernel function, asked for one pair at a time,
and the record. A score is a sum in float64, one addition a mistake, in the order of the mistakes.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from votron.kernels import Kernel, NormalizedKernel, PrecomputedKernel
from votron.record import MistakeRecord

Pair = Callable[[int, int], float]


def dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def pairs(kernel: Kernel, A: Any, B: Any = None) -> Pair:
    """K(i, j) of row i of A and row j of B (default A), by 1×1 evaluations; equal rows are evaluated once."""
    B = A if B is None else B
    if isinstance(kernel, PrecomputedKernel):
        return lambda i, j: float(B[j, i])
    if isinstance(kernel, NormalizedKernel) and isinstance(kernel.base, PrecomputedKernel):
        return lambda i, j: float(B[j, i]) / (math.sqrt(A[i, i]) * math.sqrt(B[j, j])) if A[i, i] * B[j, j] else 0.0
    first_a, first_b = _first_equal(A), _first_equal(B)
    value = cache(lambda i, j: float(kernel(A[i : i + 1], B[j : j + 1])[0, 0]))
    return lambda i, j: value(first_a[i], first_b[j])


def _first_equal(X: Any) -> list[int]:
    _, first, inverse = np.unique(dense(X).astype(np.float64), axis=0, return_index=True, return_inverse=True)
    return first[inverse.reshape(-1)].tolist()


def present(order: Sequence[int], n_steps: int) -> list[int]:
    """The rows in the order in which they are presented: ``order`` over and over, never stopping early."""
    return [int(order[t % len(order)]) for t in range(n_steps)]


def perceptron(
    K: Pair,
    diagonal: Sequence[float],
    codes: Sequence[int],
    presentation: Sequence[int],
    *,
    n_vectors: int = 1,
    margin: float | Sequence[float] = 0.0,
    weights: Sequence[float] | None = None,
    names: Sequence[int] | None = None,
    n_examples: int | None = None,
) -> MistakeRecord:
    """Train, one example at a time; with several vectors each is trained for itself, its class against the rest."""
    found: list[tuple[int, int, int, int, float, float, float]] = []
    for c in range(n_vectors):
        mistakes: list[tuple[float, int]] = []
        norm2 = 0.0
        for t, i in enumerate(presentation, start=1):
            y = 1 if codes[i] == c else -1
            score = 0.0
            for coefficient, j in mistakes:
                score += coefficient * K(j, i)
            tau = float(margin) if np.ndim(margin) == 0 else float(margin[codes[i]])
            if y * score <= tau * float(diagonal[i]):
                weight = 1.0 if weights is None else float(weights[i])
                norm2 = (norm2 + 2 * (y * weight) * score) + weight * weight * float(diagonal[i])
                mistakes.append((y * weight, i))
                found.append((t, c, i if names is None else int(names[i]), y, score, norm2, weight))
    found.sort(key=lambda mistake: mistake[:2])
    time, vector, example, sign, scores, norms, used = zip(*found, strict=True) if found else ((),) * 7
    n = len(set(presentation)) if n_examples is None else n_examples
    return MistakeRecord(example, vector, sign, time, scores, norms, n_vectors, n, len(presentation), used)


# ----------------------------------------------------------------------------------------------------------------------
# Rules
# ----------------------------------------------------------------------------------------------------------------------


class AllVectors:
    """Every vector of a record written out, and what each scores on each of n_rows rows; K(example, row) is the kernel.

    ``born[c]``, ``norm2[c]`` and ``scores[c]`` list the vectors of class c in order, the zero vector of time 0 first.
    """

    def __init__(self, record: MistakeRecord, K: Pair, n_rows: int) -> None:
        self.record, self.n_rows = record, n_rows
        self.born, self.norm2, self.scores = [], [], []
        for c in range(record.n_vectors):
            mine = np.flatnonzero(record.vector == c)
            self.born.append([0, *record.time[mine].tolist()])
            self.norm2.append([0.0, *record.norm2[mine].tolist()])
            written_out = [mine[:k] for k in range(len(mine) + 1)]
            self.scores.append([[self._score(v, K, row) for row in range(n_rows)] for v in written_out])

    def _score(self, vector: np.ndarray, K: Pair, row: int) -> float:
        score = 0.0
        for k in vector:
            score += float(self.record.coefficient[k]) * K(int(self.record.example[k]), row)
        return score

    def score(self, c: int, v: int, row: int, normalized: bool) -> float:
        score, norm2 = self.scores[c][v][row], self.norm2[c][v]
        if not normalized:
            return score
        return score / math.sqrt(norm2) if norm2 > 0 else 0.0

    def alive(self, c: int, time: int) -> int:
        """Which vector of class c is alive at this time."""
        return max(v for v, born in enumerate(self.born[c]) if born <= time)

    def survival(self, c: int, time: int) -> dict[int, int]:
        """After how many of the steps 1..time each vector was alive; the zero vector of time 0 has no votes."""
        counts: dict[int, int] = {}
        for t in range(1, time + 1):
            v = self.alive(c, t)
            if v > 0:
                counts[v] = counts.get(v, 0) + 1
        return counts

    def rule(
        self, name: str, normalized: bool, time: int, *, drawn: Sequence[float] = (), holdout: int = 0
    ) -> np.ndarray:
        """Scores [row, class] by one rule at one time; ``drawn``: each row's random number, ``holdout``: its time."""
        out = np.empty((self.n_rows, self.record.n_vectors))
        for c in range(self.record.n_vectors):
            lived = self.survival(c, time)
            for row in range(self.n_rows):
                if name == "vote":
                    votes = [n if self.score(c, v, row, False) >= 0 else -n for v, n in lived.items()]
                    out[row, c] = sum(votes) / max(time, 1)
                    continue
                if name == "average":
                    total = 0.0
                    for v, n in lived.items():
                        total += n * self.score(c, v, row, normalized)
                    out[row, c] = total / max(time, 1)
                    continue
                if name == "last":
                    v = self.alive(c, time)
                elif name == "random":
                    v = self.alive(c, math.floor((time + 1) * drawn[row]))
                elif name == "holdout":
                    v = self.alive(c, holdout)
                else:
                    v = max(lived, key=lambda v: (lived[v], -v)) if lived else 0
                out[row, c] = self.score(c, v, row, normalized)
        return out

    def errors(self, codes: Sequence[int], time: int) -> int:
        """Rows that the vectors alive at this time get wrong."""
        last = self.rule("last", False, time)
        predicted = np.where(last[:, 0] >= 0, 0, 1) if self.record.n_vectors == 1 else last.argmax(axis=1)
        return int(np.count_nonzero(predicted != np.asarray(codes)))

    def best_time(self, codes: Sequence[int], until: int) -> int:
        """The first of the times from the first mistake to ``until`` whose vectors err least; 0 if there is none."""
        times = range(int(self.record.time[0]), until + 1) if len(self.record) else range(0)
        return min(times, key=lambda t: (self.errors(codes, t), t), default=0)


def draw(row: np.ndarray, seed: int) -> float:
    """The random rule's number in [0, 1) for one row: its nonzero values and their places, mixed as in SplitMix64."""
    h = seed % 2**64
    for place, value in enumerate(row.astype(np.float64).tolist()):
        if value != 0:
            (bits,) = struct.unpack("<Q", struct.pack("<d", value))
            h = _mix(h ^ _mix((place + 0x9E3779B97F4A7C15) % 2**64) ^ bits)
    return (_mix(h) >> 11) / 2**53


def _mix(h: int) -> int:
    h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) % 2**64
    return h ^ (h >> 31)


def monomials(n_features: int, degree: int) -> list[tuple[tuple[int, ...], int]]:
    """All monomials of at most this degree, with their multinomial coefficients in (x·z + 1)^degree."""
    found = []
    for size in range(degree + 1):
        for chosen in itertools.combinations_with_replacement(range(n_features), size):
            ways = math.factorial(degree) // math.factorial(degree - size)
            for feature in set(chosen):
                ways //= math.factorial(chosen.count(feature))
            found.append((chosen, ways))
    return found


def polynomial_features(X: np.ndarray, degree: int, gamma: float = 1.0, coef0: float = 1.0) -> np.ndarray:
    """Φ of each row, so that Φ(x)·Φ(z) = (gamma x·z + coef0)^degree."""
    columns = [
        math.sqrt(ways * gamma ** len(chosen) * coef0 ** (degree - len(chosen))) * X[:, list(chosen)].prod(axis=1)
        for chosen, ways in monomials(X.shape[1], degree)
    ]
    return np.stack(columns, axis=1)


def conjunctions(X: np.ndarray) -> np.ndarray:
    """Which of the 2^n monotone conjunctions of n Boolean features hold in each row."""
    sizes = range(X.shape[1] + 1)
    subsets = itertools.chain.from_iterable(itertools.combinations(range(X.shape[1]), size) for size in sizes)
    return np.stack([X[:, list(chosen)].all(axis=1) for chosen in subsets], axis=1).astype(np.int64)
