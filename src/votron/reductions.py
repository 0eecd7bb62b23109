"""Reductions: transformations of examples that bring a problem into the setting of a theorem.

The convergence theorem (Novikoff; Theorem 1.1 of Columbia's notes) speaks of targets sign(v·x) with ‖v‖ = 1, no
threshold, and examples of length 1, and bounds the mistakes by 1/δ², δ = min |v·x|. Other linear problems get there by
"simple geometric transformations" (section 1.2):

==================  ==============================================  ================================================
transformation      brings about                                    carries over
==================  ==============================================  ================================================
`add_bias`          threshold 0: x becomes (1, x), Cohen's          sign(w·x − θ) is the sign of (−θ, w)·(1, x)
                    dimension 0
normalize_examples  ‖x‖ = 1                                         the sign of v·x, since v·(x/‖x‖) = (v·x)/‖x‖; a
                                                                    score of exactly 0 up to rounding
==================  ==============================================  ================================================

A threshold comes first: ``normalize_examples(add_bias(X))``. In the other order the length of x is lost, and with it
which side of the threshold x was on. Dividing the target by its length changes no sign either.

Both take a vector, a matrix of rows (array, CSR matrix, pandas or polars frame) or a mapping of names to numbers,
return the same kind, and leave what they are given as it is.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Mapping
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.frames import columns_of, dtype_of, floats_of, in_pandas, is_frame
from votron._util.types import Array, Floats, Frame, Index, Rows, RowsLike
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
        The same kind, of a type that holds the value: integers stay integers if it is whole. In frames and mappings
        the feature is named "bias".

    Examples
    --------
    >>> import numpy as np
    >>> from votron import add_bias
    >>> add_bias(np.array([[3, 4], [5, 6]]))
    array([[1, 3, 4],
           [1, 5, 6]])
    >>> add_bias({"temperature": 87.0})
    {'bias': 1.0, 'temperature': 87.0}

    As a step before a classifier whose hyperplanes all go through the origin:

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> from votron import VotedPerceptronClassifier
    >>> linear = VotedPerceptronClassifier(kernel="linear", rule="last", epochs=None, random_state=0)
    >>> model = make_pipeline(FunctionTransformer(add_bias), linear)
    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 0, 1, 1]
    >>> model.fit(X, y).score(X, y)
    1.0
    """
    if not _is_finite(value) or float(value) == 0:
        raise VotronError(
            f"The 'value' of add_bias must be a finite number other than 0. Got {value!r} instead.",
            parameter="value",
        )
    if isinstance(X, Mapping):
        _refuse_name(X)
        return {_BIAS: value, **X}
    if is_frame(X):
        return _framed_bias(X, value)
    X = _checked(X, "add_bias")
    dtype = _dtype_with(X.dtype, value)
    column = np.full((*X.shape[:-1], 1), value, dtype=dtype)
    if sp.issparse(X):
        return sp.hstack([type(X)(column), X.astype(dtype)], format="csr", dtype=dtype)
    return np.concatenate([column, X.astype(dtype)], axis=-1)


def normalize_examples(X: RowsLike) -> RowsLike:
    """Return examples divided by their Euclidean lengths; those of length 0 stay as they are.

    Parameters
    ----------
    X : array, sparse matrix, data frame or mapping
        A vector, rows, or named features.

    Returns
    -------
    array, CSR matrix, data frame or dict
        The same kind, of float32 if X is (a frame: if all of its columns are), else of float64. Neither very large nor
        very small values overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from votron import add_bias, normalize_examples
    >>> normalize_examples(np.array([[3, 4], [0, 0], [1e200, 0]]))
    array([[0.6, 0.8],
           [0. , 0. ],
           [1. , 0. ]])
    >>> normalize_examples({"free": 3, "offer": 4})
    {'free': 0.6, 'offer': 0.8}

    Into the setting of the convergence theorem, as a scikit-learn pipeline:

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> setting = make_pipeline(FunctionTransformer(add_bias), FunctionTransformer(normalize_examples))
    >>> np.linalg.norm(setting.fit_transform(np.array([[3, 4], [0, 0]])), axis=1)
    array([1., 1.])
    """
    if isinstance(X, Mapping):
        row = normalize_examples(_values_of(X))
        return dict(zip(X, row.tolist(), strict=True))
    if is_frame(X):
        return _framed(normalize_examples(_numbers_of(X)), X)
    X = _checked(X, "normalize_examples")
    if sp.issparse(X):
        return _normalized_sparse(X)
    dtype = X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)
    rows = np.atleast_2d(X).astype(np.float64)
    _check_finite(rows, lambda place: f"row {place[0]}" if X.ndim == 2 else f"feature {place[1]}")
    rows = np.ldexp(rows, -_exponents(np.abs(rows).max(axis=1, initial=0.0))[:, None])
    lengths = np.sqrt(np.square(rows).sum(axis=1))
    return (rows / np.where(lengths > 0, lengths, 1.0)[:, None]).astype(dtype).reshape(X.shape)


def _normalized_sparse(X: Rows) -> Rows:
    X = X.copy()
    X.sum_duplicates()
    dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
    row, n = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.shape[0]
    values = X.data.astype(np.float64)
    _check_finite(values, lambda place: f"row {row[place[0]]}")
    largest = np.zeros(n)
    np.maximum.at(largest, row, np.abs(values))
    values = np.ldexp(values, -_exponents(largest)[row])
    lengths = np.sqrt(np.bincount(row, weights=np.square(values), minlength=n))
    values /= np.where(lengths > 0, lengths, 1.0)[row]
    return type(X)((values.astype(dtype), X.indices, X.indptr), shape=X.shape)


def _exponents(largest: Floats) -> NDArray[np.int32]:
    """Return exponents of 2 by which to divide before squaring, which neither rounds nor leaves float64."""
    return np.frexp(largest)[1].astype(np.int32)


# -- what comes in ----------------------------------------------------------------------------------------------------


def _checked(X: RowsLike, owner: str) -> Rows:
    """Return a CSR matrix, or an array of one or two dimensions, of numbers."""
    if not sp.issparse(X):
        try:
            X = np.asarray(X)
        except (TypeError, ValueError):  # rows of different lengths, among others
            X = np.asarray(None)
    if X.dtype.kind not in "biuf":
        raise VotronError(
            f"The examples of {owner} must be numbers: a vector, rows of one length, a data frame or a mapping. "
            f"Got values of type {X.dtype} instead."
        )
    if X.ndim not in ((2,) if sp.issparse(X) else (1, 2)):
        raise VotronError(f"The examples of {owner} must be a vector or a matrix of rows. Got shape {X.shape} instead.")
    return X.tocsr() if sp.issparse(X) else X


def _check_finite(values: Floats, where: Callable[[Index], str]) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        raise VotronError(
            "The examples of normalize_examples must be finite numbers. "
            f"Got {values[tuple(bad[0])]} in {where(bad[0])} instead."
        )


def _is_finite(value: object) -> bool:
    try:
        return isinstance(value, Real | np.bool_) and math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def _values_of(X: Mapping[str, float]) -> Floats:
    for name, value in X.items():
        if not _is_finite(value):
            raise VotronError(
                "The features of normalize_examples must be finite numbers: one-hot encode the others. "
                f"Got {value!r} for {name!r} instead."
            )
    return np.array([float(value) for value in X.values()])


def _dtype_with(dtype: np.dtype[Any], value: float) -> np.dtype[Any]:
    """Return the type for values of this type beside the bias."""
    if dtype.kind == "f":
        return np.result_type(dtype, np.min_scalar_type(float(value)))
    if not float(value).is_integer():
        return np.dtype(np.float64)
    fits = dtype.kind != "b" and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
    return dtype if fits else np.result_type(dtype, np.min_scalar_type(int(value)), np.int64)


# -- data frames ------------------------------------------------------------------------------------------------------


def _framed_bias(X: Frame, value: float) -> Frame:
    _refuse_name(X.columns)
    whole = float(value).is_integer() and all(dtype_of(column).kind in "iu" for column in columns_of(X))
    value = int(value) if whole else float(value)
    if in_pandas(X):
        X = X.copy()
        X.insert(0, _BIAS, value)
        return X
    pl = sys.modules["polars"]
    return X.select(pl.lit(value).alias(_BIAS), pl.all())


def _numbers_of(frame: Frame) -> Array:
    """Return the values of a frame whose columns are numbers or truth values: floats of its type, if all are floats."""
    columns, values = columns_of(frame), np.empty(frame.shape)
    for i, (column, name) in enumerate(zip(columns, frame.columns, strict=True)):
        if dtype_of(column).kind not in "biuf":
            raise VotronError(
                "The columns of normalize_examples must be numbers or truth values: one-hot encode the others. "
                f"Got values of type {column.dtype} in column {name!r} instead."
            )
        values[:, i] = floats_of(column)
    _check_finite(values, lambda place: f"row {place[0]} of column {frame.columns[place[1]]!r}")
    types = [dtype_of(column) for column in columns]
    all_floats = types and all(found.kind == "f" for found in types)
    return values.astype(np.result_type(*types)) if all_floats else values


def _framed(values: Array, like: Frame) -> Frame:
    """Return a frame of these values with the names of another."""
    if in_pandas(like):
        return type(like)(values, index=like.index, columns=like.columns)
    return type(like)(values, schema=list(like.columns))


def _refuse_name(names: Collection[str]) -> None:
    if _BIAS in names:
        raise VotronError("The examples of add_bias must not have a feature named 'bias' already: rename it first.")
