"""Arrays that grow at their end, and matrices that are walked in pieces."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from votron._util.types import Array, Params, Rows, RowsLike

_CHUNK_BYTES = 8 << 20
_LEAST_ROOM = 8


def rows_in_bytes(X: Rows, n_bytes: int = _CHUNK_BYTES) -> int:
    """Return how many rows of X, as float64 numbers, take about that much memory."""
    per_row = X.nnz // max(1, X.shape[0]) if sp.issparse(X) else X.shape[1] if X.ndim > 1 else 1
    return max(1, n_bytes // (8 * max(1, per_row)))


def n_bytes(X: Rows) -> int:
    """Return the memory that a matrix takes."""
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes)


def chunks(n: int, size: int) -> Iterator[slice]:
    """Yield slices that cover ``range(n)``."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def grown(array: Array, used: int, needed: int) -> Array:
    """Return the array with room for ``needed`` entries along its first axis, the first ``used`` of them kept."""
    if needed <= array.shape[0]:
        return array
    out = np.empty((max(needed, 2 * array.shape[0], _LEAST_ROOM), *array.shape[1:]), dtype=array.dtype)
    out[:used] = array[:used]
    return out


class Growing:
    """An array that grows at its end, along its first axis; each entry has this type and shape."""

    def __init__(self, dtype: DTypeLike = np.float64, *shape: int) -> None:
        self._data: Array = np.empty((0, *shape), dtype=dtype)
        self.n = 0

    @property
    def values(self) -> Array:
        return self._data[: self.n]

    def extend(self, more: ArrayLike) -> None:
        more = np.asarray(more)
        needed = self.n + len(more)
        self._data = grown(self._data, self.n, needed)
        self._data[self.n : needed] = more
        self.n = needed

    def truncate(self, n: int) -> None:
        self.n = min(self.n, n)

    def __getstate__(self) -> Params:
        return {"_data": self.values.copy(), "n": self.n}


def dense(X: RowsLike) -> Array:
    """Return rows as an array, sparse ones with their zeros."""
    return X.toarray() if sp.issparse(X) else np.asarray(X)
