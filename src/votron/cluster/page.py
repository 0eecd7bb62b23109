"""Pages: rows of successive places, in memory or in a file."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.types import Array, Floats, Index, Rows


def stacked(parts: list[Rows]) -> Rows:
    """Return rows one below the other: CSR if any of them are."""
    if any(sp.issparse(part) for part in parts):
        return sp.vstack([sp.csr_matrix(part) for part in parts], format="csr") if len(parts) > 1 else parts[0]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _in_order(parts: list[tuple[Rows, Index]], order: Index) -> Rows:
    """Return rows that came in parts in another order; dense ones are copied once."""
    if any(sp.issparse(rows) for rows, _ in parts):
        return stacked([rows[at] for rows, at in parts])[order]
    first = parts[0][0]
    out = np.empty((len(order), first.shape[1]), dtype=np.result_type(*(rows.dtype for rows, _ in parts)))
    where, n = np.argsort(order, kind="stable"), 0
    for rows, at in parts:
        out[where[n : n + len(at)]] = rows[at]
        n += len(at)
    return out


class Page:
    """Rows of successive places, in the order of these, and what is known of each."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.places: Index = np.empty(0, dtype=np.int64)
        self.codes: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self.squares: Floats = np.empty(0)
        self._taken: list[dict[str, Array]] = []
        self._rows: list[tuple[Rows, Index]] = []  # as they came: rows, and which of them

    def take(self, rows: Rows, at: Index, **columns: Array) -> None:
        """Add some of the given rows, in any order; they are kept in the file, if there is one."""
        self._taken.append(columns)
        if self.file is None:
            self._rows.append((rows, at))
            return
        with self.file.open("ab") as stream:
            pickle.dump(rows[at], stream, protocol=5)

    def close(self) -> None:
        """Put all rows in order."""
        columns = {name: np.concatenate([part[name] for part in self._taken]) for name in self._taken[0]}
        self._by_place = np.argsort(columns["places"], kind="stable")
        for name, values in columns.items():
            setattr(self, name, values[self._by_place])
        if self.file is None:
            self._in_order, self._rows = _in_order(self._rows, self._by_place), []
        self._taken, self.slots = [], np.full(len(self.places), -1, dtype=np.int64)

    def rows(self) -> Rows:
        """Return the rows."""
        if self.file is None:
            return self._in_order
        parts = []
        with self.file.open("rb") as stream:
            while stream.peek(1):
                parts.append(pickle.load(stream))
        return stacked(parts)[self._by_place]
