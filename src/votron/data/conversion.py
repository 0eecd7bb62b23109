"""Examples as a table and as a matrix, for those who write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from votron._util.frames import columns_of, floats_of, kind_of
from votron.data.examples import Examples
from votron.data.tables import polars
from votron.errors import DataError

__all__ = ["as_matrix", "as_table"]

_MAX_CELLS = 1 << 28


def as_table(examples: Examples) -> Any:
    """Return examples as a frame of polars, the labels, if there are any, in its last column."""
    pl = polars()
    X = examples.X
    if examples.columns is None:
        if X.shape[0] * X.shape[1] > _MAX_CELLS:
            raise DataError(f"A table of {X.shape[0]:,} x {X.shape[1]:,} cells is too large: write svmlight or npz.")
        dense = X.toarray() if sp.issparse(X) else X
        X = pl.DataFrame({f"x{i}": np.ascontiguousarray(dense[:, i]) for i in range(dense.shape[1])})
    if examples.y is None:
        return X
    name = examples.label if examples.columns is not None and examples.label else "label"
    while name in X.columns:
        name += "_"
    y = examples.y.tolist() if examples.y.dtype.kind == "U" else examples.y
    return X.with_columns(pl.Series(name, y))


def as_matrix(examples: Examples, format: str) -> Any:
    """Return the features as an array or CSR matrix; refuse words, which a format of numbers does not hold."""
    if examples.columns is None:
        return examples.X
    for column in columns_of(examples.X):
        if kind_of(column) not in ("number", "boolean"):
            raise DataError(
                f"The format {format!r} holds numbers alone, and column {column.name!r} of {examples.source!r} has none"
                ": write csv, parquet or arrow, or leave the column out."
            )
        if column.null_count():
            raise DataError(
                f"The format {format!r} has no missing values, and column {column.name!r} of {examples.source!r} has "
                "some."
            )
    types = {str(column.dtype) for column in columns_of(examples.X)}
    if len(types) == 1 and "Boolean" not in types:
        return examples.X.to_numpy()
    return np.column_stack([floats_of(column) for column in columns_of(examples.X)])
