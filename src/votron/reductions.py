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
return the same kind, and leave the input as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms

from votron._util.frames import columns_of, dtype_of, floats_of, in_pandas, is_frame
from votron._util.types import Floats, Frame, Rows, RowsLike
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
        The same kind; integers stay integers if the value is whole. In frames and mappings the feature is named "bias".

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
    dtype = np.result_type(X.dtype, value)
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
        The same kind, of float32 if X is an array of that type, else of float64. Very large values do not overflow.

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
        return dict(zip(X, normalize_examples(list(X.values())).tolist(), strict=True))
    if is_frame(X):
        return _normalized_frame(X)
    X = _checked(X, "normalize_examples")
    dtype = X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)
    if sp.issparse(X):
        scaled = X.astype(np.float64)
        largest = abs(X).max(axis=1).toarray().reshape(-1) if X.nnz else np.zeros(X.shape[0])
        counts = np.diff(X.indptr)
        scaled.data = np.ldexp(scaled.data, np.repeat(_exponents(largest), counts))
        scaled.data /= np.repeat(_divisors(scaled), counts)
        return scaled.astype(dtype)
    rows = np.atleast_2d(X).astype(np.float64)
    scaled = np.ldexp(rows, _exponents(np.abs(rows).max(axis=1, initial=0.0))[:, None])
    return (scaled / _divisors(scaled)[:, None]).astype(dtype).reshape(X.shape)


def _exponents(largest: Floats) -> NDArray[np.int32]:
    """Return exponents of 2 to multiply rows with, so that no square leaves float64."""
    if not np.isfinite(largest).all():
        raise VotronError("The examples of normalize_examples must be finite numbers: leave out or impute the others.")
    return -np.frexp(largest)[1]


def _divisors(rows: Rows) -> Floats:
    lengths = row_norms(rows)
    return np.where(lengths > 0, lengths, 1.0)


def _normalized_frame(frame: Frame) -> Frame:
    columns = columns_of(frame)
    for column, name in zip(columns, frame.columns, strict=True):
        if dtype_of(column).kind not in "biuf":
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
