"""Examples, labels and weights as users give them: read, or refused with a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from votron._util.frames import is_named_series
from votron._util.text import on_one_line, shortened
from votron._util.types import Floats, Labels
from votron.errors import VotronError

OWNER = "OnlinePerceptron"
Example: TypeAlias = Any
"""One example as users give it: a list, an array, a row of a sparse matrix, a mapping of names to numbers, a Series."""
Row: TypeAlias = Any
"""One example that was read: a float64 array that cannot be written to, or a CSR matrix of one row."""


def has_names(x: Example) -> bool:
    """Tell whether features are named: a mapping, what quacks like one as river's VectorDict does, a row of a frame."""
    quacks = hasattr(x, "keys") and not hasattr(x, "__array__") and not sp.issparse(x)
    return isinstance(x, Mapping) or quacks or is_named_series(x)


def read_number(value: Any) -> float:
    """Return a number as a float: infinite where it does not fit, NaN where it is not a number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf


def read_label(y: Labels) -> int:
    """Return +1 or -1."""
    if read_number(y) in (1, -1):
        return int(y)
    raise VotronError(
        f"The label of {OWNER}.update must be +1 or -1 (learn_one also takes True and False). Got {y!r} instead."
    )


def read_truth(y: Labels) -> int:
    """Return +1 or -1 for labels as river has them."""
    if isinstance(y, Real | np.bool_) and y in (1, 0, -1):
        return 1 if y == 1 else -1
    raise VotronError(f"The label of {OWNER}.learn_one must be True or False, 1 or 0, or +1 or -1. Got {y!r} instead.")


def read_weight(weight: Any) -> float:
    """Return the weight of an example."""
    number = read_number(weight)
    if 0 <= number < math.inf:
        return number
    shown = shortened(on_one_line(repr(weight)))
    raise VotronError(f"The weight of an example of {OWNER} must be a finite number of 0 or more. Got {shown} instead.")


def read_named(x: Example) -> dict[Any, float]:
    """Return a copy of a mapping of names to finite numbers."""
    # what quacks like a mapping may not iterate like one
    values = {name: x[name] for name in x.keys()}  # noqa: SIM118
    read = {
        name: read_number(int(value) if isinstance(value, bool | np.bool_) else value) for name, value in values.items()
    }
    for name, value in read.items():
        if not math.isfinite(value):
            raise VotronError(
                f"An example of {OWNER} must have finite numbers as features: one-hot encode the others. "
                f"Got {x[name]!r} for {name!r} instead."
            )
    return read


def read_row(x: Example, n_features: int | None = None) -> Row:
    """Return a copy of a vector, of this many features if it is known, as float64 numbers."""
    row: Row = _sparse_row(x) if sp.issparse(x) else _dense_row(x)
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


def _dense_row(x: Example) -> Floats:
    try:
        given = np.asarray(x)
    except (TypeError, ValueError):  # rows of different lengths, among others
        given = np.asarray(None)
    if given.dtype.kind not in "biuf":
        raise VotronError(
            f"An example of {OWNER} must be a vector of numbers, or a mapping of names to numbers. "
            f"Got {shortened(on_one_line(repr(x)))} instead."
        )
    _check_is_one(given.ndim == 1, given.shape)
    row = np.array(given, dtype=np.float64)
    row.flags.writeable = False
    return row


def _sparse_row(x: Example) -> Row:
    if x.dtype.kind not in "biuf":
        raise VotronError(f"An example of {OWNER} must be a vector of numbers. Got values of type {x.dtype} instead.")
    _check_is_one(x.ndim == 1 or x.shape[0] == 1, x.shape)
    row = sp.csr_matrix(x.reshape(1, -1), dtype=np.float64, copy=True)
    row.sum_duplicates()
    return row


def _check_is_one(is_one: bool, shape: tuple[int, ...]) -> None:
    if not is_one:
        raise VotronError(
            f"An example of {OWNER} must be one vector: examples come one at a time. Got shape {shape} instead."
        )


def as_dense(row: Row) -> Floats:
    """Return a row that was read as an array."""
    return np.asarray(row.toarray()[0]) if sp.issparse(row) else np.asarray(row)
