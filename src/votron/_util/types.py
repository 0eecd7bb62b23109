"""Types of the arrays that the whole package works with, and of what users give."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

RowsLike: TypeAlias = Any  # rows as users give them: an array-like, a sparse matrix, a data frame
Rows: TypeAlias = Any  # validated rows: a 2-d NumPy array or a CSR matrix
Labels: TypeAlias = Any  # labels as users give them, one for each row: an array-like, a series, a Dask array
Label: TypeAlias = Any  # one label: a number or a string
Estimator: TypeAlias = Any  # an estimator or a pipeline that follows the scikit-learn API
Params: TypeAlias = dict[str, Any]  # keyword arguments or parameters by name
Frame: TypeAlias = Any  # a data frame of pandas or polars
Series: TypeAlias = Any  # one column of a data frame
Axes: TypeAlias = Any  # axes of matplotlib
Client: TypeAlias = Any  # a client of a Dask cluster
Classes: TypeAlias = NDArray[Any]  # the classes of a model, sorted: numbers or strings
Array: TypeAlias = NDArray[Any]
"""An array whose type of number does not matter or is decided when the code runs."""
Index: TypeAlias = NDArray[np.int64]  # numbers of rows, classes or steps
Floats: TypeAlias = NDArray[np.float64]  # float64 numbers: scores, lengths, weights
Scores: TypeAlias = Floats  # one score for each row, or one for each row and class
