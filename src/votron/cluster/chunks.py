"""Functions of a chunk of rows, which run on its worker; nothing here knows of Dask."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from votron._util.resources import n_bytes, rows_in_bytes
from votron._util.types import Array, Floats, Index, Rows
from votron.products import Products
from votron.products import squares as squared_lengths


@dataclass(frozen=True)
class ChunkFacts:
    """Facts about a chunk's rows, or about those that are kept of them."""

    n_stored: int
    """Values, the zeros of sparse rows left out."""
    n_nonzero: int
    n_bytes: int
    squares: Floats
    """x·x of each row, in float64."""
    witnesses: Rows


def kept_of(rows: Rows, kept: Index | None) -> Rows:
    """Return the rows of a chunk that are kept, None: all."""
    return rows if kept is None else rows[kept]


def facts_of(rows: Rows, kept: Index | None) -> ChunkFacts:
    """Return what is known of a chunk."""
    rows = kept_of(rows, kept)
    stored = rows.data if sp.issparse(rows) else rows
    n_nonzero = rows.nnz if sp.issparse(rows) else int(np.count_nonzero(rows))
    squares = squared_lengths(rows)
    return ChunkFacts(int(stored.size), int(n_nonzero), n_bytes(rows), squares, witnesses_of(rows, squares))


def described(rows: Rows) -> tuple[int, ChunkFacts]:
    """Return how many rows a chunk has, and what is known of them, all being kept."""
    return int(rows.shape[0]), facts_of(rows, None)


def witnesses_of(rows: Rows, squares: Floats) -> Rows:
    """Return a few rows that stand for all: the longest, the fullest, those with the extreme values, a fraction.

    What decides about the arithmetic (whether all are whole numbers, how large, how long rows are) is the same of these
    rows as of all.
    """
    if not rows.shape[0] or not rows.shape[1]:
        return rows[:0]
    sparse = sp.issparse(rows)
    fullest = np.asarray((rows != 0).sum(axis=1, dtype=np.uint32)).reshape(-1)  # fast with a type this small
    least, most = rows.min(axis=1), rows.max(axis=1)
    least, most = (np.asarray(v.toarray() if sparse else v).reshape(-1) for v in (least, most))
    picked = [int(squares.argmax()), int(fullest.argmax()), int(least.argmin()), int(most.argmax())]
    values = rows.data if sparse else rows
    if values.dtype.kind == "f":
        fraction = np.flatnonzero(values != np.rint(values)) if sparse else _first_fraction(rows)
        if len(fraction):
            picked.append(int(np.searchsorted(rows.indptr, fraction[0], "right") - 1) if sparse else int(fraction[0]))
    return rows[np.unique(picked)]


def _first_fraction(rows: Array) -> Index:
    size = rows_in_bytes(rows)
    for start in range(0, rows.shape[0], size):
        part = rows[start : start + size]
        found = np.flatnonzero((part != np.rint(part)).any(axis=1))
        if len(found):
            return found[:1] + start
    return np.empty(0, dtype=np.int64)


def values_of(rows: Rows, kept: Index | None) -> Array:
    """Return the values of a chunk, as one machine adds them up."""
    rows = kept_of(rows, kept)
    return np.asarray(rows.data if sp.issparse(rows) else rows)


def cut_of(rows: Rows, kept: Index | None, low: int, high: int) -> Array:
    """Return a part of a chunk's values."""
    return values_of(rows, kept)[low:high]


def sum_of(cuts: list[Array], centre: float | None) -> float:
    """Return the sum of values, or of the squares of their distances from a centre, as one machine adds them up."""
    values = np.concatenate(cuts) if len(cuts) > 1 else cuts[0]
    if centre is None:
        return float(values.sum(dtype=np.float64))
    return float(np.square(values.astype(np.float64) - centre).sum())


def squares_of(rows: Rows, kept: Index | None, products: Products) -> Floats:
    """Return x·x of a chunk's rows, in this arithmetic."""
    return products.squares(kept_of(rows, kept))
