"""Types of arrays that the whole package speaks of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = Any
"""A matrix of rows as users have it: a 2-d NumPy array or a CSR matrix."""
Index = NDArray[np.int64]
"""Numbers of rows, of classes or of steps."""
Floats = NDArray[np.float64]
"""Scores, lengths, weights."""
