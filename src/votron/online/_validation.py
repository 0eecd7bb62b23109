"""Examples and labels as users give them: read, or refused with a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.frames import is_named_series
from votron._util.text import LONGEST, on_one_line, shortened
from votron.errors import VotronError

OWNER = "OnlinePerceptron"
Row = Any
"""One example that was read: a float64 array that cannot be written to, or a CSR matrix of one row."""
Named = dict[Any, float]
"""One example that was read, by names of features."""


def has_names(x: Any) -> bool:
    """Tell whether features are named: a mapping, what quacks like one as river's VectorDict does, a row of a frame."""
    quacks = hasattr(x, "keys") and not hasattr(x, "__array__") and not sp.issparse(x)
    return isinstance(x, Mapping) or quacks or is_named_series(x)


def refuse_names_with_kernel() -> NoReturn:
    """Refuse named features where there is a kernel."""
    raise VotronError(
        f"With a kernel the examples of {OWNER} must be vectors, not named features: turn them into vectors first, "
        "with scikit-learn's DictVectorizer for instance, or to_numpy() of a Series."
    )


def read_label(y: Any) -> int:
    """Return +1 or -1."""
    if type(y) is not bool and isinstance(y, Real) and y in (1, -1):
        return 1 if y == 1 else -1
    raise VotronError(
        f"The label of {OWNER}.update must be +1 or -1 (learn_one also takes True and False). Got {y!r} instead."
    )


def read_truth(y: Any) -> int:
    """Return +1 or -1 for labels as river has them."""
    if isinstance(y, Real | np.bool_) and y in (1, 0, -1):
        return 1 if y == 1 else -1
    raise VotronError(f"The label of {OWNER}.learn_one must be True or False, 1 or 0, or +1 or -1. Got {y!r} instead.")


def read_weight(weight: Any) -> float:
    """Return the weight of an example."""
    number = math.nan
    if not isinstance(weight, bool | np.bool_) and isinstance(weight, Real):
        try:
            number = float(weight)
        except OverflowError:  # a whole number of hundreds of digits
            number = math.inf
    if 0 <= number < math.inf:
        return number
    raise VotronError(
        f"The weight of an example of {OWNER} must be a finite number of 0 or more. Got {_shown(weight)} instead."
    )


def read_named(x: Any, what: str = "An example") -> Named:
    """Return a copy of a mapping of names to finite numbers."""
    read: Named = {}
    for name, value in _named_values(x):
        if name in read:
            raise VotronError(f"{what} of {OWNER} must have features whose names differ. Got {name!r} twice instead.")
        if not isinstance(value, Real | np.bool_):
            raise VotronError(
                f"{what} of {OWNER} must have features that are numbers: one-hot encode the others. "
                f"Got {value!r} for {name!r} instead."
            )
        try:
            read[name] = float(value)
        except OverflowError:
            read[name] = math.inf
        if not math.isfinite(read[name]):
            raise VotronError(f"{what} of {OWNER} must have finite features. Got {value!r} for {name!r} instead.")
    return read


def _named_values(x: Any) -> Iterable[tuple[Any, Any]]:
    if is_named_series(x):
        pairs: Iterable[tuple[Any, Any]] = x.items()  # a name may be there twice, and then x[name] is a Series
        return pairs
    return ((name, x[name]) for name in x.keys())  # noqa: SIM118  what quacks like a mapping may not iterate like one


def read_row(x: Any, n_features: int | None = None, what: str = "An example") -> Row:
    """Return a copy of a vector, of this many features if it is known, as float64 numbers."""
    row: Row = _sparse_row(x, what) if sp.issparse(x) else _dense_row(x, what)
    n = row.shape[-1]
    if n_features is not None and n != n_features:
        raise VotronError(f"{what} of this {OWNER} must have {n_features} features. Got {n} instead.")
    if n == 0:
        raise VotronError(f"{what} of {OWNER} must have at least one feature. Got none.")
    values = row.data if sp.issparse(row) else row
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        where = row.indices[bad[0]] if sp.issparse(row) else bad[0]
        raise VotronError(
            f"{what} of {OWNER} must have finite features. Got {values[bad[0]]} for feature {where} instead."
        )
    return row


def _dense_row(x: Any, what: str) -> NDArray[np.float64]:
    try:
        given = np.asarray(x)
    except (TypeError, ValueError):  # rows of different lengths, among others
        given = np.asarray(None)
    if given.dtype.kind not in "biuf":
        raise VotronError(
            f"{what} of {OWNER} must be a vector of numbers, or a mapping of names to numbers. Got {_shown(x)} instead."
        )
    if given.ndim != 1:
        raise VotronError(
            f"{what} of {OWNER} must be one vector, of one dimension: examples come one at a time. "
            f"Got shape {given.shape} instead."
        )
    with np.errstate(over="ignore"):  # a long double may not fit; it is refused as infinite
        row = np.array(given, dtype=np.float64)
    row.flags.writeable = False
    return row


def _sparse_row(x: Any, what: str) -> Any:
    if x.dtype.kind not in "biuf":
        raise VotronError(f"{what} of {OWNER} must be a vector of numbers. Got values of type {x.dtype} instead.")
    if x.ndim > 1 and x.shape[0] != 1:
        raise VotronError(
            f"{what} of {OWNER} must be one row of a sparse matrix: examples come one at a time. "
            f"Got shape {x.shape} instead."
        )
    row = sp.csr_matrix(x.reshape(1, -1), dtype=np.float64, copy=True)
    row.sum_duplicates()
    row.eliminate_zeros()
    return row


def _shown(x: Any) -> str:
    text = on_one_line(repr(x))
    return f"{shortened(text)} ({type(x).__name__})" if len(text) > LONGEST else text


def as_dense(row: Row) -> NDArray[np.float64]:
    """Return a row that was read as an array."""
    return np.asarray(row.toarray()[0]) if sp.issparse(row) else np.asarray(row)
