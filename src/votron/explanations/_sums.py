"""Scores as sums: what each example, feature or vector adds to the score of one row.

A *mix* says which score is meant: +1 for the vector of the class that is explained, -1 for that of the class it is
compared with, 0 for the others; of two classes there is one vector, and the mix is +1 or -1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from votron._util.frames import dense
from votron._util.types import Floats, Index, Rows
from votron.blocks import affine_weights, support_values
from votron.kernels import Kernel
from votron.rules import RULES, Vectors
from votron.rules.base import Account
from votron.rules.scan import row_draws

VALUES_AT_ONCE = 1 << 22
"""Kernel values that are in memory at once."""


class Sum(NamedTuple):
    """The score of one row as a sum: (constant + Σ amounts) / divisor."""

    kind: str
    """What the terms are: "examples" or "features"."""
    ids: Index
    """Which: slots of the support, or numbers of features."""
    amounts: Floats
    values: Floats
    """Kernel values with the row, or the row's own."""
    constant: float
    divisor: float
    words: str
    exact: bool
    """Whether it is the score that predicts."""


class Course(NamedTuple):
    """What the vectors of one class said of one row, one after another."""

    vector: int
    sign: float
    """What the mix has for them."""
    born: Index
    survival: Index
    credits: Floats
    """For each step that a vector survived."""


class Sums(NamedTuple):
    """What makes the score of one row."""

    sums: tuple[Sum, ...]
    courses: tuple[Course, ...] = ()


def _mixed(mix: Floats, divisor: Floats | None) -> tuple[Floats, float]:
    """Return the factors of the vectors, and what to divide by afterwards: whole numbers stay whole where they can."""
    used = np.flatnonzero(mix)
    if divisor is None:
        return mix, 1.0
    if (divisor[used] == divisor[used[0]]).all():
        return mix, float(divisor[used[0]])
    return mix / divisor, 1.0


def dense_row(row: Rows) -> Floats:
    """Return the values of one row, those that are 0 included."""
    return dense(row).astype(np.float64).reshape(-1)


def sum_over_features(
    row: Rows, coef: Rows, intercept: Floats, divisor: Floats | None, mix: Floats, words: str, exact: bool = True
) -> Sum:
    """Return the score of one row as a sum over the features that are not 0 in it."""
    factors, divided_by = _mixed(mix, divisor)
    own = dense_row(row)
    ids, used = np.flatnonzero(own), np.flatnonzero(factors)
    amounts = (factors[used] @ dense(coef[used][:, ids])) * own[ids]
    return Sum("features", ids, amounts, own[ids], float(factors @ intercept), divided_by, words, exact)


def sum_over_examples(
    coefficients: Floats, divisor: Floats | None, values: Floats, mix: Floats, words: str, exact: bool = True
) -> Sum:
    """Return the score of one row as a sum over the examples that count, from their kernel values with it."""
    factors, divided_by = _mixed(mix, divisor)
    used = np.flatnonzero(factors)
    alpha = factors[used] @ coefficients[used]
    ids = np.flatnonzero(alpha)
    return Sum("examples", ids, alpha[ids] * values[ids], values[ids], 0.0, divided_by, words, exact)


def in_parts(kernel: Kernel, support_rows: Rows, support: Index, rows: Rows) -> Iterator[tuple[int, Floats]]:
    """Yield the number of each row, and its kernel values with the support."""
    at_once = max(1, VALUES_AT_ONCE // max(1, len(support)))
    for low in range(0, rows.shape[0], at_once):
        values = support_values(kernel, support_rows, support, rows[low : low + at_once])
        yield from ((low + i, values[:, i]) for i in range(values.shape[1]))


class VectorSums:
    """The sums of a rule over the vectors of a training run."""

    def __init__(self, vectors: Vectors, rule: str, normalized: bool) -> None:
        self.vectors, self.rule, self.normalized = vectors, RULES[rule], normalized

    def each(self, rows: Rows, mixes: Floats) -> Iterator[Sums]:
        """Yield for each row its sums over examples and features, and the vectors' course if that is its score."""
        vectors, record = self.vectors, self.vectors.record
        uniform = row_draws(rows, vectors.seed)
        for i, values in in_parts(vectors.kernel, vectors.support_rows, record.support, rows):
            if i == 0 or self.rule.by_row:
                account = self.rule.account(vectors, self.normalized, float(uniform[i]))
                weights = self._weights(account)
            (coefficients, divisor, words, exact), mix = account, mixes[i]
            found = [sum_over_examples(coefficients, divisor, values, mix, words, exact)]
            if weights is not None:
                found.append(sum_over_features(rows[[i]], *weights, divisor, mix, words, exact))
            yield Sums(tuple(found), () if exact else self._courses(values, mix))

    def _weights(self, account: Account) -> tuple[Rows, Floats] | None:
        affine = self.vectors.kernel.affine()
        return None if affine is None else affine_weights(affine, self.vectors.support_rows, account.coefficients)

    def _courses(self, values: Floats, mix: Floats) -> tuple[Course, ...]:
        """Return what the vectors of the classes that are explained said, by themselves."""
        record = self.vectors.record
        out = []
        for c in sorted(np.flatnonzero(mix).tolist(), key=lambda c: -mix[c]):
            mine = record.of_each_vector.get(c, np.zeros(0, dtype=np.int64))
            scores = np.cumsum(record.coefficient[mine] * values[record.slot[mine]])
            credits = self.rule.credits(scores[:, None], record.lengths[mine], self.normalized)
            if credits is None:
                return ()
            out.append(Course(c, float(mix[c]), record.time[mine], record.survival[mine], credits[:, 0]))
        return tuple(out)
