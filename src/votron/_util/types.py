"""Types of the arrays that the whole package works with, and of what users give."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

RowsLike: TypeAlias = Any
"""Rows as users give them: an array-like, a sparse matrix, a data frame."""
Rows: TypeAlias = Any
"""Validated rows: a 2-d NumPy array or a CSR matrix."""
Labels: TypeAlias = Any
"""Labels as users give them, one for each row: an array-like, a series, a Dask array."""
Label: TypeAlias = Any
"""One label: a number or a string."""
Estimator: TypeAlias = Any
"""An estimator or a pipeline that follows the scikit-learn API."""
Params: TypeAlias = dict[str, Any]
"""Keyword arguments or parameters by name."""
Frame: TypeAlias = Any
"""A data frame of pandas or polars."""
Series: TypeAlias = Any
"""One column of a data frame."""
Axes: TypeAlias = Any
"""Axes of matplotlib."""
Client: TypeAlias = Any
"""A client of a Dask cluster."""
Classes: TypeAlias = NDArray[Any]
"""The classes of a model, sorted: numbers or strings."""
Array: TypeAlias = NDArray[Any]
"""An array whose type of number does not matter or is decided when the code runs."""
Index: TypeAlias = NDArray[np.int64]
"""Numbers of rows, classes or steps."""
Floats: TypeAlias = NDArray[np.float64]
"""Float64 numbers: scores, lengths, weights."""
Scores: TypeAlias = Floats
"""One score for each row, or one for each row and class."""
