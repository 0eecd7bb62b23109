"""Kernel values of support vectors with blocks of rows, and the scores that add up from them.

Dot products come from a cache as far as it goes. Training, prediction and the workers of a cluster all score rows here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from votron._loops import dual as _loops
from votron._util.resources import Growing, Team, chunks, rows_in_bytes
from votron._util.types import Array, Floats, Index, Rows
from votron.kernels.base import Kernel, pending_values, values_as_pending
from votron.products import Block, GramProducts, Products, Store, padded

_scratch = threading.local()

EVENTS_AT_ONCE = 256
"""Events whose kernel values are held at a time, so that they stay in the processor's cache."""
WORTH_A_THREAD = 40_000  # kernel values from which a second thread pays
ROWS_AT_ONCE = 512  # rows whose kernel values with all supports are in memory at once
SPARSE_BELOW = 0.3  # share of weights that are not 0 below which they are kept as a CSR matrix


def scratch(name: str, rows: int, width: int, dtype: DTypeLike) -> Array:
    """Return this thread's working array of that name; fresh memory would cost as much as the work done in it."""
    kept: dict[str, Array] = _scratch.__dict__
    array = kept.get(name)
    if array is None or array.shape[0] < rows or array.shape[1] != width or array.dtype != dtype:
        array = kept[name] = np.empty((rows, width), dtype=dtype)
    return array[:rows]


class DotCache:
    """Dot products [block, index, row] of the supports that are requested again and again.

    A support gets an index when it has been requested ``after`` times (1: at once), while there is room for
    ``capacity``. Every block requests supports in the same order, so what a block holds is always a beginning of the
    indexed ones.
    """

    def __init__(self, n_blocks: int, width: int, dtype: DTypeLike, capacity: int, after: int = 1) -> None:
        self.after = after
        self.data: Array = np.empty((n_blocks, capacity, width), dtype=dtype)  # memory is taken as it is filled
        self.held = np.zeros(n_blocks, dtype=np.int64)
        self.slots = np.empty(capacity, dtype=np.int64)  # the first n have an index, in its order
        self.n = 0
        self._place = np.full(1024, -1, dtype=np.int64)
        self._asked = np.zeros(1024, dtype=np.int64)

    def place(self, slots: Index) -> Index:
        """Return the indices of supports, -1 for those without."""
        self._make_room(slots)
        return self._place[slots]

    def note(self, slots: Index) -> Index:
        """Count requests for supports, in order; return where in ``slots`` one got its index."""
        self._make_room(slots)
        room = len(self.slots) - self.n
        if room == 0:
            return np.empty(0, dtype=np.int64)
        # a step never has the same example twice, but several passes may be noted at once
        rank = _occurrence(slots)
        due = np.flatnonzero(self._asked[slots] + rank == self.after)[:room]
        np.add.at(self._asked, slots, 1)
        self.slots[self.n : self.n + len(due)] = slots[due]
        self._place[slots[due]] = np.arange(self.n, self.n + len(due))
        self.n += len(due)
        return due

    def _make_room(self, slots: Index) -> None:
        top = int(slots.max(initial=-1)) + 1
        if top > len(self._place):
            size = max(top, 2 * len(self._place))
            self._place = np.concatenate([self._place, np.full(size - len(self._place), -1)])
            self._asked = np.concatenate([self._asked, np.zeros(size - len(self._asked), dtype=np.int64)])


def _occurrence(values: Index) -> Index:
    """Return 1 at each value's first occurrence, 2 at its second, and so on."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    rank = np.arange(len(values)) - np.repeat(starts, np.diff(np.append(starts, len(values)))) + 1
    out = np.empty(len(values), dtype=np.int64)
    out[order] = rank
    return out


class KernelBlock:
    """The ``rows`` of X as one block, packed when a product is asked for; ``own`` has the kernel's terms of them."""

    def __init__(
        self, kernel: Kernel, products: Products, X: Rows, rows: Index, own: Floats, cache: DotCache, number: int = 0
    ) -> None:
        self.kernel, self.products, self.own, self.rows = kernel, products, own, rows
        self.cache, self.number = cache, number
        self.width, self.packed = padded(len(rows)), False
        self._X = X
        self._block: Block | None = None

    @property
    def block(self) -> Block:
        if self._block is None:
            self._block = self.products.block(self._X, self.rows)
        return self._block

    @property
    def held(self) -> int:
        """The number of indexed supports that the cache has for this block."""
        return int(self.cache.held[self.number])

    def needs_products(self, slots: Index) -> bool:
        """Tell whether values of these supports take products; if so, make room to pack the block."""
        place = self.cache.place(slots)
        if ((place >= 0) & (place < self.held)).all():
            return False
        self.block  # noqa: B018  made here, before threads share it
        return True

    def prepare(self, low: int, high: int) -> None:
        self.block.prepare(low, high)

    def _dots(self, store: Store, slots: Index, low: int, high: int, held: int) -> tuple[Array, Index, int]:
        """Return dot products, in which row of them each of the supports ``slots`` is, and how many are now held.

        Products that are missing from the cache are made, and kept if they have an index. Columns low..high-1 count.
        """
        data, place = self.cache.data[self.number], self.cache.place(slots)
        top = int(place.max()) + 1
        if top > held:
            self.products.dots(store, self.cache.slots[held:top], self.block, low, high, data[held:top])
            held = top
        outside = np.flatnonzero(place < 0)
        if not len(outside):
            return data, place, held
        dots = scratch("dots", len(slots), self.own.shape[1], data.dtype)
        if len(outside) == len(slots):
            self.products.dots(store, slots, self.block, low, high, dots)
        else:
            part = scratch("part", len(outside), dots.shape[1], dots.dtype)
            self.products.dots(store, slots[outside], self.block, low, high, part)
            dots[outside, low:high] = part[:, low:high]
            inside = np.flatnonzero(place >= 0)
            dots[inside, low:high] = data[place[inside], low:high]
        return dots, np.arange(len(slots)), held

    def values(
        self, store: Store, slots: Index, terms: Floats, low: int, high: int, held: int
    ) -> tuple[_loops.Pending, int]:
        """Return the kernel values of supports with rows low..high-1, and how many are now held in the cache."""
        dots, source, held = self._dots(store, slots, low, high, held)
        pending = pending_values(self.kernel, dots, source, terms, self.own)
        if pending is None:
            K = scratch("K", len(slots), self.own.shape[1], np.float64)
            self.kernel.from_dots(dots, source, low, high, terms, self.own, K)
            pending = values_as_pending(K)
        return pending, held


class Events:
    """The events of a training run in order, and their supports in the form that products need.

    An **event** is a step at which one class or several err: the example that was presented, which from then on is a
    support, and the mistakes on it. A score is the left fold of the events in their order, one addition a mistake, so
    it follows from the events and the row alone: rows may be brought up to date late, in pieces, or on another machine.
    """

    def __init__(self) -> None:
        self.slot = Growing(np.int64)  # the support of each event, numbered in order of first events
        self.starts = Growing(np.int64)  # the position of the first mistake of each event, and the end
        self.starts.extend([0])
        self.vector, self.sign = Growing(np.int32), Growing(np.int8)
        self._coefficient: Growing | None = None  # sign times weight, once there are weights
        self.store: Store | None = None
        self.terms: Floats = np.empty((0, 0))

    @property
    def n(self) -> int:
        return self.slot.n

    @property
    def n_mistakes(self) -> int:
        return self.vector.n

    @property
    def weighted(self) -> bool:
        return self._coefficient is not None

    @property
    def coefficients(self) -> Array:
        """The coefficient of each mistake's example: its sign, or sign times weight."""
        return (self.sign if self._coefficient is None else self._coefficient).values

    def take_weights(self) -> None:
        """Keep coefficients from now on; those so far are signs."""
        if self._coefficient is None:
            self._coefficient = Growing(np.float64)
            self._coefficient.extend(self.sign.values)

    def add_supports(self, store: Store, terms: Floats) -> None:
        assert self.store is not None
        self.store.append(store, np.arange(store.n))
        self.terms = np.hstack([self.terms, terms])

    def add(self, slots: Index, firsts: Index, vector: Array, coefficients: Array) -> None:
        """Append events: the support of each and the first of its mistakes; the mistakes' vectors and coefficients."""
        self.starts.extend(self.n_mistakes + np.append(firsts[1:], len(vector))[: len(slots)])
        self.slot.extend(slots)
        self.vector.extend(vector)
        self.sign.extend(np.sign(coefficients))
        if self._coefficient is not None:
            self._coefficient.extend(coefficients)

    def truncate(self, n: int, n_support: int | None = None) -> None:
        mistakes = int(self.starts.values[n])
        self.starts.truncate(n + 1)
        self.slot.truncate(n)
        for column in (self.vector, self.sign, self._coefficient):
            if column is not None:
                column.truncate(mistakes)
        if self.store is not None and n_support is not None:
            self.store.truncate(n_support)
            self.terms = self.terms[:, :n_support]

    def fold(self, block: KernelBlock, F: Floats, first: int, last: int, threads: Team) -> None:
        """Add the events from ``first`` to ``last`` - 1 to the scores F of a block."""
        store, terms = self.store, self.terms
        assert store is not None
        slot, starts, vector, coefficients = self.slot.values, self.starts.values, self.vector.values, self.coefficients
        must_pack = not block.packed and block.needs_products(slot[first:last])

        def work(low: int, high: int) -> None:
            if must_pack:
                block.prepare(low, high)
            held, room = block.held, scratch("room", 2, F.shape[1], np.float64)
            for e in range(first, last, EVENTS_AT_ONCE):
                slots = slot[e : min(e + EVENTS_AT_ONCE, last)]
                values, held = block.values(store, slots, terms[:, slots], low, high, held)
                _loops.fold(values, starts, e, vector, coefficients, low, high, room, F)

        threads.over(block.width, work, worth_it=(last - first) * block.width > WORTH_A_THREAD)
        block.packed |= must_pack


def terms_of(kernel: Kernel, products: Products, X: Rows) -> Floats:
    """Return the kernel's terms of rows to predict; x·x is 1 for a precomputed kernel, which leaves labels the same."""
    if not kernel.n_terms:
        return np.empty((0, X.shape[0]))
    return kernel.terms(np.ones(X.shape[0]) if isinstance(products, GramProducts) else products.squares(X))


def expansion_scores(
    kernel: Kernel, support_rows: Rows, support: Index, coefficients: Floats, X: Rows, threads: Team
) -> Floats:
    """Return Σ_j c_j K(x_j, x) for each row x of X and each row c of the coefficients; examples as they are kept."""
    out = np.zeros((X.shape[0], len(coefficients)))
    if not len(support):
        return out
    values = _values_with(kernel, support_rows, support, X)

    def work(part: slice) -> None:
        out[part] = (coefficients @ values(part)).T

    threads.each(chunks(X.shape[0], ROWS_AT_ONCE), work)
    return out


def support_values(kernel: Kernel, support_rows: Rows, support: Index, X: Rows) -> Floats:
    """Return K(x_j, x) for each support x_j, kept and numbered so, and each row x of X, one column a row."""
    if not len(support) or not X.shape[0]:
        return np.zeros((len(support), X.shape[0]))
    return _values_with(kernel, support_rows, support, X)(slice(0, X.shape[0]))


def _values_with(kernel: Kernel, support_rows: Rows, support: Index, X: Rows) -> Callable[[slice], Floats]:
    """Return what gives the kernel values of a part of the rows with the supports."""
    products = kernel.products(kernel.traits(support_rows).joined(kernel.traits(X)))
    store, squares = products.restore(support_rows, support)
    terms = kernel.terms(squares)
    own = terms_of(kernel, products, X)

    def values(part: slice) -> Floats:
        return kernel.block_values(products, store, terms, X, np.arange(part.start, part.stop), own[:, part])

    return values


def affine_weights(affine: tuple[float, float], support_rows: Rows, coefficients: Floats) -> tuple[Any, Floats]:
    """Return w and b with Σ_j c_j K(x_j, x) = w·x + b for each row c, of a kernel slope x·z + constant."""
    slope, constant = affine
    return slope * _weights(support_rows, coefficients), constant * coefficients.sum(axis=1) + 0.0


def _weights(rows: Rows, coefficients: Floats) -> Any:
    if not sp.issparse(rows):
        parts = chunks(rows.shape[0], rows_in_bytes(rows))
        none = np.zeros((len(coefficients), rows.shape[1]))
        return sum((coefficients[:, part] @ rows[part].astype(np.float64) for part in parts), none)
    weights = sp.csr_matrix(sp.csr_matrix(coefficients) @ rows.astype(np.float64))
    weights.eliminate_zeros()
    weights.sort_indices()
    n_all = weights.shape[0] * weights.shape[1]
    return weights if weights.nnz < SPARSE_BELOW * n_all else weights.toarray()
