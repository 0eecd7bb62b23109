"""Reductions: transformations of examples that bring a problem into the setting of a theorem.

The convergence theorem (Novikoff; Theorem 1.1 of Columbia's notes) speaks of targets sign(v·x) with ‖v‖ = 1, no
threshold, and examples of length 1, and bounds the mistakes by 1/δ², δ = min |v·x|. `add_bias` makes a threshold a
weight: sign(w·x − θ) is the sign of (−θ, w)·(1, x). `normalize_examples` keeps the sign of v·x, a score of exactly 0 up
to rounding. The threshold comes first, since it is for rows of the length they have:
``normalize_examples(add_bias(X))``. The input stays as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from votron._util.frames import columns_of, floats_of, in_pandas, is_frame, kind_of
from votron._util.types import Frame, Rows, RowsLike
from votron.errors import VotronError

__all__ = ["add_bias", "normalize_examples"]

_BIAS = "bias"


def add_bias(X: RowsLike, value: float = 1.0) -> RowsLike:
    """Return examples with one feature more, in front, that always has the same value.

    So a threshold becomes a weight: sign(w·x − θ) is the sign of (−θ/value, w)·(value, x).

    Parameters
    ----------
    X : array, sparse matrix, data frame or mapping
        A vector, rows, or named features.
    value : float, default=1.0
        What the feature is, other than 0.

    Returns
    -------
    array, CSR matrix, data frame or dict
        The same kind, with integers if X and the value are. In frames and mappings the feature is named "bias".

    Examples
    --------
    >>> import numpy as np
    >>> from votron import add_bias
    >>> add_bias(np.array([[3, 4], [5, 6]]))
    array([[1, 3, 4],
           [1, 5, 6]])
    >>> add_bias({"temperature": 87.0})
    {'bias': 1.0, 'temperature': 87.0}
    """
    if not (np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biuf" and np.isfinite(value) and value):
        raise VotronError(
            f"The 'value' of add_bias must be a finite number other than 0. Got {value!r} instead.",
            parameter="value",
        )
    named = isinstance(X, Mapping) or is_frame(X)
    if named and _BIAS in X:
        raise VotronError("The examples of add_bias must not have a feature named 'bias' already: rename it first.")
    if isinstance(X, Mapping):
        return {_BIAS: value, **X}
    if named and in_pandas(X):
        X = X.copy()
        X.insert(0, _BIAS, value)
        return X
    if named:
        pl = sys.modules["polars"]
        return X.select(pl.lit(value).alias(_BIAS), pl.all())
    X = _checked(X, "add_bias")
    value = int(value) if float(value).is_integer() else float(value)
    limits = np.iinfo(X.dtype) if X.dtype.kind in "iu" and isinstance(value, int) else None
    fits = limits is None or limits.min <= value <= limits.max
    dtype = np.result_type(X.dtype, value if fits else np.min_scalar_type(value))
    column = np.full((*X.shape[:-1], 1), value, dtype=dtype)
    if sp.issparse(X):
        return sp.hstack([type(X)(column), X.astype(dtype)], format="csr", dtype=dtype)
    return np.concatenate([column, X.astype(dtype)], axis=-1)


def normalize_examples(X: RowsLike) -> RowsLike:
    """Return examples divided by their Euclidean lengths; those of length 0 stay as they are.

    They are given and returned as a vector, rows (array, CSR matrix or data frame) or a mapping of names to numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from votron import add_bias, normalize_examples
    >>> normalize_examples({"free": 3, "offer": 4})
    {'free': 0.6, 'offer': 0.8}

    As steps of a pipeline:

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> setting = make_pipeline(FunctionTransformer(add_bias), FunctionTransformer(normalize_examples))
    >>> np.linalg.norm(setting.fit_transform(np.array([[3, 4], [0, 0]])), axis=1)
    array([1., 1.])
    """
    if isinstance(X, Mapping):
        return dict(zip(X, normalize_examples(list(X.values())).tolist(), strict=True))
    if is_frame(X):
        return _normalized_frame(X)
    X = _checked(X, "normalize_examples")
    dtype = X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)
    rows: Rows = (X if sp.issparse(X) else np.atleast_2d(X)).astype(np.float64)
    lengths = row_norms(rows)
    if not np.isfinite(lengths).all():
        raise VotronError("The examples of normalize_examples must be finite numbers: leave out or impute the others.")
    lengths[lengths == 0] = 1.0
    if sp.issparse(rows):
        rows.data /= np.repeat(lengths, np.diff(rows.indptr))
        return rows.astype(dtype)
    return (rows / lengths[:, None]).astype(dtype).reshape(X.shape)


def _normalized_frame(frame: Frame) -> Frame:
    columns = columns_of(frame)
    for column, name in zip(columns, frame.columns, strict=True):
        if kind_of(column) not in ("number", "boolean", "nothing"):
            raise VotronError(
                "The columns of normalize_examples must be numbers or truth values: one-hot encode the others. "
                f"Got values of type {column.dtype} in column {name!r} instead."
            )
    values = normalize_examples(np.column_stack([floats_of(column) for column in columns]))
    if in_pandas(frame):
        return type(frame)(values, index=frame.index, columns=frame.columns)
    return type(frame)(values, schema=list(frame.columns))


def _checked(X: RowsLike, owner: str) -> Rows:
    """Return a CSR matrix without duplicates, or an array of one or two dimensions, of numbers."""
    if sp.issparse(X):
        X = X.tocsr(copy=True)
        X.sum_duplicates()
    else:
        try:
            X = np.asarray(X)
        except ValueError:  # rows of different lengths
            X = np.asarray(None)
    if X.dtype.kind not in "biuf" or X.ndim not in (1, 2):
        raise VotronError(
            f"The examples of {owner} must be numbers: a vector, rows of one length, a data frame or a mapping. "
            f"Got values of type {X.dtype} in {X.ndim} dimensions instead."
        )
    return X
