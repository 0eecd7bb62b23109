"""Arrays of numbers as examples."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron.data._labels import tidy_labels
from votron.data.examples import Examples
from votron.errors import DataError


def array_examples(X: Any, y: NDArray[Any] | None, about: Examples, name: str, label: str | None) -> Examples:
    """Return checked examples of an array, or CSR matrix, and labels."""
    shape: tuple[int, ...] | None = None
    if not sp.issparse(X):
        X, shape = _flat(X, name)
    if 0 in X.shape:
        raise DataError(f"There must be examples and features in {name}. Got an array of shape {X.shape} instead.")
    check_finite(X, name, about.first_row)
    if y is not None:
        y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        if y.ndim != 1 or len(y) != X.shape[0]:
            got = " x ".join(map(str, y.shape))
            raise DataError(
                f"There must be one label for each of the {X.shape[0]} examples of {name}. Got {got} instead."
            )
        y = tidy_labels(y, f"The labels of {name}")
    return replace(about, X=X, y=y, label=label if y is not None else None, image_shape=shape)


def _flat(X: NDArray[Any], name: str) -> tuple[NDArray[Any], tuple[int, ...] | None]:
    """Return numbers with an example to a row, and the shape of an example that has one: an image."""
    if X.dtype.kind not in "biuf":
        raise DataError(f"The features in {name} must be numbers. Got values of type {X.dtype} instead.")
    if X.ndim < 2:
        raise DataError(f"The features in {name} must have two dimensions or more. Got {X.ndim} instead.")
    if X.dtype.kind == "b":
        X = X.astype(np.uint8)
    if X.dtype.kind == "f" and X.dtype.itemsize > 8:
        X = X.astype(np.float64)
    if X.ndim == 2:
        return X, None
    return X.reshape(X.shape[0], math.prod(X.shape[1:])), X.shape[1:]


def check_finite(X: Any, name: str, first_row: int = 0) -> None:
    """Refuse NaN and infinity, and say where they are; rows and columns are counted from 1."""
    values = X.data if sp.issparse(X) else X
    if values.dtype.kind != "f":
        return
    with np.errstate(all="ignore"):
        total = values.sum(dtype=np.float64)  # finite only if all are: cheaper than an array of answers
    if np.isfinite(total) or np.isfinite(values).all():
        return
    at = int(np.argmin(np.isfinite(values)))
    if sp.issparse(X):
        row, column = int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at])
    else:
        row, column = divmod(at, X.shape[1])
    raise DataError(
        f"The features in {name} must be finite numbers. Got {values.flat[at]} in row {first_row + row + 1}, "
        f"column {column + 1}, instead, counted from 1."
    )
