"""The rows of the primal engine, batch by batch, in the order of presentation.

The training loop reads rows one after another. A CSR matrix of float64 numbers in its own order is read in place.
Otherwise, shuffled or of another type, rows are gathered, a few megabytes at a time, by some threads while others
present the batch before. The first batches are kept for later passes, within `KEPT_BYTES`; the rest is gathered again
in every pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._loops import primal as _loops
from votron._util.resources import Team, available_memory, chunks, pieces
from votron._util.types import Array, Floats, Index, Rows

VALUES_AT_ONCE = 1 << 19
"""Values in a batch of gathered rows, unless one row alone has more."""
KEPT_BYTES = 256 << 20
"""Memory for gathered rows that are kept for later passes; at most a quarter of what is free."""
PIECES = 8
"""Pieces in which several threads gather a batch, so that they come out even with those that learn."""
_BYTES_A_VALUE = 12

Task = Callable[[], None]


class RowBatch:
    """Rows as lists of features and values, where each starts and stops in them, their classes, thresholds, weights."""

    def __init__(self, margins: Floats, constant: float = 0.0) -> None:
        self.starts = self.stops = self.codes = np.empty(0, dtype=np.int64)
        self.features: NDArray[np.uint32] = np.empty(0, dtype=np.uint32)
        self.values = self.thresholds = self.weights = np.empty(0)
        self._margins, self._constant, self._has_margin = margins, constant, bool(margins.any())
        self.wrong: list[int] = []
        """The last row that the classes of each thread got wrong in the last presentation; -1 for none."""

    @property
    def n(self) -> int:
        return len(self.codes)

    def view(self, X: Rows, codes: NDArray[np.int64], weights: Floats, rows: slice) -> list[Task]:
        """Show rows of a CSR matrix where they stand; return what is left to do."""
        self.starts, self.stops = X.indptr[rows], X.indptr[rows.start + 1 : rows.stop + 1]
        self.features, self.values, self.codes = X.indices.view(np.uint32), X.data, codes[rows]
        self.weights, self.thresholds = weights[rows], np.zeros(self.n)
        return [partial(self._set_thresholds, 0, self.n)] if self._has_margin else []

    def gather(
        self,
        X: Rows,
        codes: NDArray[np.int64],
        weights: Floats,
        rows: Index,
        lengths: Array,
        n_pieces: int,
        shelf: _Shelf | None = None,
    ) -> list[Task]:
        """Make room for these rows, on the shelf if there is one; return the tasks that fill it, in any order."""
        self.codes, sparse = codes[rows], sp.issparse(X)
        self.stops = np.cumsum(lengths, dtype=np.int64)
        self.starts, size = self.stops - lengths, int(self.stops[-1])
        self.weights, self.thresholds = weights[rows] if len(weights) else weights, np.zeros(self.n)
        if shelf is not None:
            self.features, self.values = shelf.take(size)
        elif len(self.values) < size:
            self.features, self.values = np.empty(size, dtype=np.uint32), np.empty(size)

        def fill(low: int, high: int) -> None:
            if sparse:
                source = X.indptr, X.indices, _numbers(X.data)
                _loops.gather_sparse(*source, rows, low, high, self.starts, self.features, self.values)
            else:
                _loops.gather_dense(_numbers(X), rows, low, high, self.starts, self.stops, self.features, self.values)
            self._set_thresholds(low, high)

        return [partial(fill, low, high) for low, high in pieces(len(rows), n_pieces)]

    def _set_thresholds(self, low: int, high: int) -> None:
        if self._has_margin:
            rows = self.starts, self.stops, self.values, self.codes
            _loops.set_thresholds(*rows, low, high, self._margins, self._constant, self.thresholds)


class _Shelf:
    """Memory for rows that are kept, in one piece: the system hands that out fastest."""

    def __init__(self, size: int) -> None:
        self._features, self._values, self._taken = np.empty(size, dtype=np.uint32), np.empty(size), 0

    def has_room(self, size: int) -> bool:
        """Tell whether so many values fit."""
        return self._taken + size <= len(self._values)

    def take(self, size: int) -> tuple[NDArray[np.uint32], Floats]:
        """Return room for so many values."""
        mine = slice(self._taken, self._taken + size)
        self._taken += size
        return self._features[mine], self._values[mine]


class Presentation:
    """The rows of a run, in the same order in every pass.

    Thresholds are τ (‖x‖² + ``constant``), where ``margins`` has τ for each code. ``values_per_feature`` is the number
    of weights that each value of a row meets. A batch ends at each of the ``cuts``, rising places in the order.
    """

    def __init__(
        self,
        X: Rows,
        codes: Array,
        order: Index,
        *,
        values_per_feature: int = 1,
        passes: float = 1.0,
        margins: Floats | None = None,
        constant: float = 0.0,
        weights: Floats | None = None,
        cuts: Sequence[int] = (),
    ) -> None:
        self._cuts = cuts
        margins = np.zeros(1) if margins is None else margins
        self._new_batch, self._has_margin = partial(RowBatch, margins, constant), bool(margins.any())
        self._weights = np.empty(0) if weights is None else np.asarray(weights, dtype=np.float64)
        self.X, self.codes, self.order = X, np.asarray(codes, dtype=np.int64), np.asarray(order, dtype=np.int64)
        self.values_per_row = max(1, X.nnz // max(1, X.shape[0]) if sp.issparse(X) else X.shape[1])
        self._rows_at_once = max(1, VALUES_AT_ONCE // (self.values_per_row * max(1, values_per_feature // 64)))
        self._in_place = _can_be_read_in_place(X, self.order)
        room = min(KEPT_BYTES, available_memory() // 4) if passes > 1 and not self._in_place else 0
        self._shelf = _Shelf(min(room // _BYTES_A_VALUE, int(_lengths(X, self.order).sum()) if room else 0))
        self._kept: dict[tuple[int, int], RowBatch] = {}
        self._spare = [self._new_batch(), self._new_batch()]

    def presented(
        self, n_steps: int, threads: Team, walks: Callable[[RowBatch, int], list[Task]]
    ) -> Iterator[RowBatch]:
        """Yield batches that have just been presented, by the tasks that ``walks`` makes for a batch."""
        n_pieces = 1 if threads.n_threads == 1 else PIECES
        parts = self._parts(n_steps)
        now: RowBatch | None
        now, gathering = self._next(next(parts), n_pieces)
        threads.each(gathering, _do)
        while now is not None:
            part = next(parts, None)
            following, gathering = (None, []) if part is None else self._next(part, n_pieces)
            now.wrong.clear()
            threads.each(walks(now, threads.n_threads) + gathering, _do)
            yield now
            now = following

    def _parts(self, n_steps: int) -> Iterator[slice]:
        """Yield the parts of the order, pass after pass."""
        n = len(self.order)
        while n_steps > 0:
            last = min(n, n_steps)
            edges = [0, *(cut for cut in self._cuts if 0 < cut < last), last]
            for low, high in pairwise(edges):
                yield from (slice(low + part.start, low + part.stop) for part in chunks(high - low, self._rows_at_once))
            n_steps -= n

    def _next(self, part: slice, n_pieces: int) -> tuple[RowBatch, list[Task]]:
        """Return the batch of a part of the order, and what is left to do for it."""
        key, source = (part.start, part.stop), (self.X, self.codes, self._weights)
        if key in self._kept:
            return self._kept[key], []
        if self._in_place:
            batch, first = self._new_batch(), int(self.order[0])
            if self._has_margin:
                self._kept[key] = batch  # its thresholds, that is: a number a row
            return batch, batch.view(*source, slice(first + part.start, first + part.stop))
        rows = self.order[part]
        lengths = _lengths(self.X, rows)
        if self._shelf.has_room(int(lengths.sum())):
            self._kept[key] = batch = self._new_batch()
            return batch, batch.gather(*source, rows, lengths, n_pieces, self._shelf)
        self._spare.reverse()
        return self._spare[0], self._spare[0].gather(*source, rows, lengths, n_pieces)


def _lengths(X: Rows, rows: Index) -> Array:
    """Return how many values each row may have."""
    return X.indptr[rows + 1] - X.indptr[rows] if sp.issparse(X) else np.full(len(rows), X.shape[1])


def _can_be_read_in_place(X: Rows, order: Index) -> bool:
    return (
        sp.issparse(X)
        and X.data.dtype == np.float64
        and X.indices.dtype == np.int32
        and all(array.flags.c_contiguous for array in (X.data, X.indices, X.indptr))
        and len(order) > 0
        and np.array_equal(order, np.arange(order[0], order[0] + len(order)))
    )


def _do(task: Task) -> None:
    task()


def _numbers(values: Array) -> Array:
    return values.view(np.uint8) if values.dtype == np.bool_ else values
