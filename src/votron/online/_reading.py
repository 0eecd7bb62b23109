"""Readers of examples, labels and weights as users give them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from votron._util.frames import is_named_series
from votron._util.text import on_one_line, shortened
from votron._util.types import Floats, Label, Labels
from votron.errors import VotronError

OWNER = "OnlinePerceptron"
Example: TypeAlias = Any
"""One example as users give it: a list, an array, a row of a sparse matrix, a mapping of names to numbers, a Series."""
Row: TypeAlias = Any
"""One example that was read: a read-only float64 array, or a CSR matrix of one row."""


def has_names(x: Example) -> bool:
    """Tell whether features are named: a mapping, what quacks like one (river's VectorDict), or a row of a frame."""
    quacks = hasattr(x, "keys") and not hasattr(x, "__array__") and not sp.issparse(x)
    return isinstance(x, Mapping) or quacks or is_named_series(x)


def read_number(value: object) -> float:
    """Return a number as a float; NaN where it is not a number."""
    try:
        return math.nan if isinstance(value, bool | np.bool_) or not isinstance(value, Real) else float(value)
    except OverflowError:  # an int of hundreds of digits
        return math.inf


def read_label(y: Labels) -> int:
    """Return +1 or -1."""
    if read_number(y) in (1, -1):
        return int(y)
    raise VotronError(f"The label of {OWNER}.update must be +1 or -1. Got {y!r} instead.")


def read_truth(y: Labels) -> int:
    """Return +1 or -1 for labels of river."""
    if isinstance(y, Real | np.bool_) and y in (1, 0, -1):
        return 1 if y == 1 else -1
    raise VotronError(f"The label of {OWNER}.learn_one must be True or False, 1 or 0, or +1 or -1. Got {y!r} instead.")


def read_weight(weight: object) -> float:
    number = read_number(weight)
    if 0 <= number < math.inf:
        return number
    raise VotronError(
        f"The weight of an example of {OWNER} must be a finite number of 0 or more. Got {weight!r} instead."
    )


def read_named(x: Example) -> dict[Label, float]:
    """Return a copy of a mapping of names to finite numbers."""
    values = {name: x[name] for name in x.keys()}  # noqa: SIM118  # not every mapping iterates over its names
    read = {
        name: float(value) if isinstance(value, bool | np.bool_) else read_number(value)
        for name, value in values.items()
    }
    for name, value in read.items():
        if not math.isfinite(value):
            raise VotronError(
                f"An example of {OWNER} must have finite numbers as features: one-hot encode the others. "
                f"Got {values[name]!r} for {name!r} instead."
            )
    return read


def read_row(x: Example, n_features: int | None = None) -> Row:
    """Return a copy of a vector, of this many features if it is known: a read-only array, or a CSR matrix."""
    row = _as_row(x)
    n = row.shape[-1]
    if n == 0 or (n_features is not None and n != n_features):
        wanted = "at least one feature" if n_features is None else f"{n_features} features"
        raise VotronError(f"An example of this {OWNER} must have {wanted}. Got {n} instead.")
    values = row.data if sp.issparse(row) else row
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        where = row.indices[bad[0]] if sp.issparse(row) else bad[0]
        raise VotronError(
            f"An example of {OWNER} must have finite features. Got {values[bad[0]]} for feature {where} instead."
        )
    return row


def _as_row(x: Example) -> Row:
    sparse = sp.issparse(x)
    try:
        given = x if sparse else np.asarray(x)
    except (TypeError, ValueError):  # such as rows of different lengths
        given = np.asarray(None)
    if given.dtype.kind not in "biuf":
        raise VotronError(
            f"An example of {OWNER} must be a vector of numbers, or a mapping of names to numbers. "
            f"Got {shortened(on_one_line(repr(x)))} instead."
        )
    if given.ndim != 1 and not (sparse and given.shape[0] == 1):
        raise VotronError(f"An example of {OWNER} must be one vector. Got shape {given.shape} instead.")
    if sparse:
        row = sp.csr_matrix(given.reshape(1, -1), dtype=np.float64, copy=True)
        row.sum_duplicates()
    else:
        row = np.array(given, dtype=np.float64)
        row.flags.writeable = False
    return row


def as_dense(row: Row) -> Floats:
    return np.asarray(row.toarray()[0]) if sp.issparse(row) else np.asarray(row)
