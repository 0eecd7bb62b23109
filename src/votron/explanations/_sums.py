"""Scores as sums: what each example, feature or vector adds to the score of one row.

A *mix* says which score is meant: +1 for the vector of the class that is explained, -1 for that of the class it is
compared with, 0 for the others; of two classes there is one vector, and the mix is +1 or -1.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from votron._util.frames import dense
from votron._util.types import Floats, Index, Rows
from votron.blocks import affine_weights, support_values
from votron.kernels import Kernel
from votron.rules import RULES, TallyRule
from votron.rules.forms import Expansion, Form, Linear, Sequence, binarized
from votron.rules.scan import row_draws

VALUES_AT_ONCE = 1 << 22
"""Kernel values that are in memory at once."""


class Sum(NamedTuple):
    """The score of one row as a sum: (constant + Σ amounts) / divisor."""

    kind: str
    """The kind of the terms: "examples" or "features"."""
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
    """The answers of the vectors of one class to one row, one after another."""

    vector: int
    sign: float
    """Their sign in the mix."""
    born: Index
    survival: Index
    credits: Floats
    """For each step that a vector survived."""


class Sums(NamedTuple):
    """The sums that make the score of one row."""

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


@singledispatch
def sums_of(form: Form, rows: Rows, mixes: Floats) -> Iterator[Sums]:
    """Yield the score of each row as sums, given the form of the model."""
    raise TypeError(f"{type(form).__name__} is not a form.")


@sums_of.register
def _(form: Linear, rows: Rows, mixes: Floats) -> Iterator[Sums]:
    scored = binarized(rows, form.binarize) if form.boolean else rows
    for i, mix in enumerate(mixes):
        found = sum_over_features(scored[[i]], form.coef, form.intercept, form.divisor, mix, "the weights")
        if form.boolean:  # the values as the row has them, not thresholded
            found = found._replace(values=dense_row(rows[[i]])[found.ids])
        yield Sums((found,))


@sums_of.register
def _(form: Expansion, rows: Rows, mixes: Floats) -> Iterator[Sums]:
    linear = form.reduced() if form.kernel.affine() is not None else None
    for i, values in in_parts(form.kernel, form.support_rows, form.support, rows):
        found = Sums((sum_over_examples(form.dual_coef, form.divisor, values, mixes[i], "the vectors"),))
        if linear is not None:
            (more,) = sums_of(linear, rows[[i]], mixes[[i]])
            found = Sums(found.sums + more.sums)
        yield found


@sums_of.register
def _(form: Sequence, rows: Rows, mixes: Floats) -> Iterator[Sums]:
    """Yield sums over examples and features, and the vectors' course if that is the score."""
    vectors, rule = form.vectors, RULES[form.rule]
    affine = vectors.kernel.affine()
    uniform = row_draws(rows, vectors.seed)
    for i, values in in_parts(vectors.kernel, vectors.support_rows, vectors.record.support, rows):
        if i == 0 or rule.by_row:
            coefficients, divisor, words, exact = rule.combination(vectors, form.normalized, float(uniform[i]))
            weights = None if affine is None else affine_weights(affine, vectors.support_rows, coefficients)
        found = [sum_over_examples(coefficients, divisor, values, mixes[i], words, exact)]
        if weights is not None:
            found.append(sum_over_features(rows[[i]], *weights, divisor, mixes[i], words, exact))
        yield Sums(tuple(found), () if exact else _courses(form, values, mixes[i]))


def _courses(form: Sequence, values: Floats, mix: Floats) -> tuple[Course, ...]:
    """Return what the vectors of the explained classes said one after another."""
    record, rule, out = form.vectors.record, RULES[form.rule], []
    assert isinstance(rule, TallyRule)  # others are combinations of examples
    for c in sorted(np.flatnonzero(mix).tolist(), key=lambda c: -mix[c]):
        mine = record.of_each_vector.get(c, np.zeros(0, dtype=np.int64))
        scores = np.cumsum(record.coefficient[mine] * values[record.slot[mine]])
        lengths = record.lengths[mine].tolist()
        shares = [rule.share(scores[[j]], length, form.normalized)[0] for j, length in enumerate(lengths)]
        out.append(Course(c, float(mix[c]), record.time[mine], record.survival[mine], np.array(shares)))
    return tuple(out)
