"""Dot products of support vectors with blocks of rows: which arithmetic, and the packed forms it works on.

Problem: given support vectors z_1 .. z_k and a block of rows x_1 .. x_b, fill ``out[k, r]`` with their dot products,
as fast as the data allow and, wherever possible, exactly.

===========  ===========================================================  ==========================================
arithmetic   chosen for                                                   result
===========  ===========================================================  ==========================================
``int32``    integer values up to 16 bits whose dot products fit 32 bits  exact: by bytes, where they are such and the
                                                                          processor can, else by 16-bit halves
``float32``  float32 data                                                 a left-to-right sum, one rounding a term:
                                                                          the same bits dense, sparse, blocked
``float64``  all other data                                               the same; exact for integers below 2^53
gram         precomputed kernels and callables                            whatever they return
===========  ===========================================================  ==========================================

Integer-valued data are recognised by value, not by type. Where many values are zero, support vectors are lists of the
others; where few are, several are multiplied at a time. Both, in `votron._loops.products`, give the same numbers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._loops import products as _loops
from votron._util.resources import chunks, grown, rows_in_bytes
from votron._util.types import Array, Floats, Index, Rows
from votron.errors import VotronError

DENSE_ENOUGH = 0.4  # share of nonzero values from which it pays to treat rows as dense
DENSE_ENOUGH_PAIRS = 0.45
"""The same for pairs of integers in narrow registers, where lists are as fast up to there."""
WORTH_KEEPING = 1200
"""Bytes of panels that a product reads, from which keeping it costs no more than making it again."""
MOST_ASKED = 5  # the most requests for a product before it is kept
BLOCK_MULTIPLE = _loops.BLOCK_MULTIPLE  # blocks are packed and multiplied in pieces of so many rows
_MANY_GROUPS = 2048
_LARGE_BLOCK = 16 << 20
_HIGH_BITS = np.uint32(0x80808080).view(np.int32)


@dataclass(frozen=True)
class Traits:
    """The properties of data that decide the arithmetic."""

    integer: bool
    low: float
    high: float
    density: float
    sparse: bool
    dtype: np.dtype[Any]
    n_features: int

    @property
    def largest(self) -> float:
        return max(abs(self.low), abs(self.high))

    def joined(self, other: Traits) -> Traits:
        """Return the traits of both together: the larger density, and as many features as this one has."""
        return Traits(
            self.integer and other.integer,
            min(self.low, other.low),
            max(self.high, other.high),
            max(self.density, other.density),
            self.sparse or other.sparse,
            np.result_type(self.dtype, other.dtype),
            self.n_features,
        )


def describe(X: Rows) -> Traits:
    values = X.data if sp.issparse(X) else X
    dtype, d = np.dtype(values.dtype), int(X.shape[1])
    if values.size == 0:
        return Traits(True, 0.0, 0.0, 0.0, sp.issparse(X), dtype, d)
    low, high = float(values.min()), float(values.max())
    parts = chunks(values.shape[0], rows_in_bytes(values))
    integer = dtype.kind in "iub" or all(np.array_equal(values[part], np.rint(values[part])) for part in parts)
    if sp.issparse(X):
        return Traits(integer, min(low, 0.0), max(high, 0.0), X.nnz / max(1, X.shape[0] * d), True, dtype, d)
    return Traits(integer, low, high, np.count_nonzero(values) / values.size, False, dtype, d)


def squares(X: Rows, dtype: type[Any] = np.float64) -> Floats:
    """Return the squared length of each row, with the arithmetic that products of this type have."""
    out = np.empty(X.shape[0])
    real = np.float32 if dtype is np.float32 else np.float64  # float64 is exact for the integers that int32 is for
    if sp.issparse(X):
        _loops.squares_of_sparse(X.indptr.astype(np.int64), X.data.astype(real), real(0), out)
        return out
    for part in chunks(X.shape[0], rows_in_bytes(X)):
        if X.dtype == np.uint8:
            _loops.squares_of_integers(np.require(X[part], requirements=["C", "W"]), out[part])
        else:
            _loops.squares_of_rows(np.array(X[part], dtype=real, order="C"), real(0), out[part])
    return out


def padded(n: int) -> int:
    return -(-n // BLOCK_MULTIPLE) * BLOCK_MULTIPLE


class Block(ABC):
    """Rows that are about to be multiplied; ``prepare`` must come before products with them."""

    n_rows: int
    width: int

    @abstractmethod
    def prepare(self, low: int, high: int) -> None:
        """Make rows low..high-1 ready (bounds are multiples of 64 or the padded width)."""


class Store(ABC):
    """Support vectors in the form that products need, growing at the end."""

    n: int

    @abstractmethod
    def append(self, other: Any, picks: Index) -> None: ...

    def truncate(self, n: int) -> None:
        self.n = min(self.n, n)


class Products(ABC):
    """One arithmetic: makes blocks and stores, and multiplies them."""

    dtype: type[Any]
    keep_after: int = 1  # requests for a product before it is kept; 0: never
    block_size: int = 1024  # rows in a block by default

    @property
    def form(self) -> str:
        """The form of blocks and stores; products of the same form can share them."""
        return repr(self)

    def block_bytes(self, width: int) -> int:
        """Return the memory that a packed block takes; 0 where it depends on the rows, or nothing is packed."""
        return 0

    @abstractmethod
    def block(self, X: Rows, rows: Index) -> Block: ...

    @abstractmethod
    def pack(self, X: Rows, rows: Index) -> Store: ...

    @abstractmethod
    def dots(self, store: Any, slots: Index, block: Any, low: int, high: int, out: Array) -> None:
        """Fill ``out[k, low:high]`` with the products of support ``slots[k]`` and the block's rows."""

    def squares(self, X: Rows) -> Floats:
        """Return each row's product with itself, to the bit as ``dots`` would."""
        return squares(X, self.dtype)

    def keep(self, X: Rows, rows: Index) -> Rows:
        """Return what must be kept of these rows so that they can be support vectors later, without X."""
        return X[rows]

    def restore(self, kept: Rows, names: Index) -> tuple[Store, Floats]:
        """Return rows that were kept as a store, and their products with themselves; ``names`` are their numbers."""
        return self.pack(kept, np.arange(kept.shape[0])), self.squares(kept)


class PackedRows(Store):
    """Rows as lists of nonzero feature groups; ``offsets`` is what their sums begin with."""

    def __init__(self, starts: Index, groups: NDArray[np.int32], weights: Array, offsets: Array) -> None:
        self.n = len(starts) - 1
        self.starts, self.groups, self.weights, self.offsets = starts, groups, weights, offsets

    def append(self, other: PackedRows, picks: Index) -> None:
        used = int(self.starts[self.n])
        more = int((other.starts[picks + 1] - other.starts[picks]).sum())
        self.starts = grown(self.starts, self.n + 1, self.n + 1 + len(picks))
        self.groups = grown(self.groups, used, used + more)
        self.weights = grown(self.weights, used, used + more)
        self.offsets = grown(self.offsets, self.n, self.n + len(picks))
        _loops.copy_segments(
            other.starts, other.groups, other.weights, picks, self.n, self.starts, self.groups, self.weights
        )
        self.offsets[self.n : self.n + len(picks)] = other.offsets[picks]
        self.n += len(picks)


class TileRows(Store):
    """Rows with all of their feature groups; ``offsets`` is what their sums begin with."""

    def __init__(self, groups: Array, offsets: Array) -> None:
        self.n, self.groups, self.offsets = len(groups), groups, offsets

    def append(self, other: TileRows, picks: Index) -> None:
        n = self.n + len(picks)
        self.groups, self.offsets = grown(self.groups, self.n, n), grown(self.offsets, self.n, n)
        self.groups[self.n : n], self.offsets[self.n : n] = other.groups[picks], other.offsets[picks]
        self.n = n


class PanelBlock(Block):
    """A block as panels; sparse rows over the groups that occur in the block only."""

    def __init__(self, products: PanelProducts, X: Rows, rows: Index) -> None:
        self.products, self.X, self.rows = products, X, rows
        self.n_rows, self.width = len(rows), padded(len(rows))
        self.place: NDArray[np.int32] | None = None
        self._lists: PackedRows | None = None
        self.n_groups = products.n_groups
        if sp.issparse(X):
            self._lists = products.lists(X, rows)
            used = self._lists.groups[: self._lists.starts[self.n_rows]]
            self.place = np.full(self.n_groups, -1, dtype=np.int32)
            self.n_groups = _loops.number_groups(used, self.place)
        shape = (self.width // products.panel, max(1, self.n_groups) * products.panel)
        self.panels = np.empty(shape, dtype=products.dtype)

    def prepare(self, low: int, high: int) -> None:
        w = self.products.panel
        panels = self.panels[low // w : high // w]
        if self._lists is None:
            groups, padding = self.products.shifted(self.products.groups(self.X[self.rows[low:high]]))
            _loops.panels_of_rows(groups, w, padding, panels)
            return
        panels[...] = 0
        last = min(high, self.n_rows)
        if last > low:
            lists = self._lists
            _loops.panels_of_sparse(lists.starts[low : last + 1], lists.groups, lists.weights, self.place, w, panels)


class PanelProducts(Products):
    """Support vectors as lists of nonzero groups, times panels of rows.

    ``kind`` is "int32", "float32" or "float64", the type of the products. With ``quads`` dense rows of bytes from 0 to
    255 go four together, and not two.
    """

    def __init__(self, kind: str, n_features: int, *, sparse: bool = False, quads: bool = False) -> None:
        self.kind, self.sparse, self.quads = kind, sparse, quads
        self.dtype = np.dtype(kind).type
        self.type_of_groups: Any = self.dtype if kind != "int32" else np.uint8 if quads else np.int16
        self.type_of_panels: Any = np.int8 if quads else self.type_of_groups
        self.shape = _loops.SHAPES[np.dtype(self.type_of_panels).name]
        self.group = np.dtype(self.dtype).itemsize // np.dtype(self.type_of_groups).itemsize
        self.n_groups = -(-n_features // self.group)
        if sparse and self.n_groups > _MANY_GROUPS:
            self.block_size = 256  # its panels have a column for every feature that occurs in the block
        while self.block_size > 64 and self.block_bytes(self.block_size) > _LARGE_BLOCK:
            self.block_size //= 2

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kind!r})"

    @property
    def form(self) -> str:
        return f"{self!r}, groups of {self.group}"

    @property
    def panel(self) -> int:
        return self.shape.list_width

    def block_bytes(self, width: int) -> int:
        return 0 if self.sparse else width * self.n_groups * np.dtype(self.dtype).itemsize

    def groups(self, rows: Rows) -> Array:
        rows = rows.toarray() if sp.issparse(rows) else rows
        n, d = rows.shape
        if d == self.n_groups * self.group:
            x = np.require(rows, dtype=self.type_of_groups, requirements=["C", "W"])
        else:
            x = np.zeros((n, self.n_groups * self.group), dtype=self.type_of_groups)
            x[:, :d] = rows
        return np.asarray(x if self.group == 1 else x.view(np.int32))

    def shifted(self, groups: Array) -> tuple[Array, Any]:
        """Return groups as panels have them, and what rows past the end are filled with."""
        if not self.quads:
            return groups, self.dtype(0)
        return groups ^ _HIGH_BITS, _HIGH_BITS  # flips the highest bit of each byte: less 128, as a signed one

    def offsets(self, groups: Array) -> Array:
        """Return what the sums of these rows begin with."""
        if not self.quads:
            return np.zeros(len(groups), dtype=self.dtype)
        sums = groups.view(np.uint8).sum(axis=1, dtype=np.int32)
        return np.asarray(sums * np.int32(_loops.QUAD_SHIFT))

    def block(self, X: Rows, rows: Index) -> PanelBlock:
        return PanelBlock(self, X, rows)

    def lists(self, X: Rows, rows: Index) -> PackedRows:
        starts = np.empty(len(rows) + 1, dtype=np.int64)
        if sp.issparse(X):
            part = X[rows]
            part.sort_indices()
            groups = np.empty(part.nnz, dtype=np.int32)
            weights = np.empty(part.nnz, dtype=self.dtype)
            indptr, indices = part.indptr.astype(np.int64), part.indices.astype(np.int32)
            if self.kind == "int32":
                _loops.lists_of_sparse_pairs(indptr, indices, part.data.astype(np.int16), starts, groups, weights)
            else:
                starts[:], groups[:], weights[:] = indptr, indices, part.data
            return PackedRows(starts, groups, weights, np.zeros(len(rows), dtype=self.dtype))
        dense = self.groups(X[rows])
        groups = np.empty(dense.size, dtype=np.int32)
        weights = np.empty(dense.size, dtype=self.dtype)
        n = _loops.lists_of_rows(dense, starts, groups, weights)
        return PackedRows(starts, groups[:n].copy(), weights[:n].copy(), self.offsets(dense))

    def pack(self, X: Rows, rows: Index) -> Store:
        return self.lists(X, rows)

    def dots(self, store: Any, slots: Index, block: Any, low: int, high: int, out: Array) -> None:
        _check_range(store, slots, block, low, high, out)
        starts, groups, weights, offsets = store.starts, store.groups, store.weights, store.offsets
        if block.place is not None:
            starts, groups, weights = _translated(store, slots, block.place)
            offsets, slots = offsets[slots], np.arange(len(slots), dtype=np.int64)
        w, panels = self.panel, block.panels.view(self.type_of_panels)  # which tells the loops what is in them
        _loops.dots_of_lists(
            groups, weights, starts, offsets, slots, panels, max(1, block.n_groups), w, low // w, high // w, out
        )


class DenseProducts(PanelProducts):
    """Support vectors with all of their groups, several at a time, times panels of rows."""

    @property
    def panel(self) -> int:
        return self.shape.tile_width

    def pack(self, X: Rows, rows: Index) -> Store:
        groups = self.groups(X[rows])
        return TileRows(groups, self.offsets(groups))

    def dots(self, store: Any, slots: Index, block: Any, low: int, high: int, out: Array) -> None:
        _check_range(store, slots, block, low, high, out)
        w, panels, slots = self.panel, block.panels.view(self.type_of_panels), np.ascontiguousarray(slots)
        _loops.dots_of_tiles(
            store.groups, store.offsets, slots, panels, w, self.shape.tile_height, low // w, high // w, out
        )


def _check_range(store: Store, slots: Index, block: Block, low: int, high: int, out: Array) -> None:
    """Check the arguments for the loops, which do not."""
    inside = high <= min(block.width, out.shape[1]) and len(slots) <= out.shape[0]
    whole = low % BLOCK_MULTIPLE == high % BLOCK_MULTIPLE == 0 and (not out.size or out.strides[1] == out.itemsize)
    if not (inside and whole and (not len(slots) or 0 <= slots.min() <= slots.max() < store.n)):
        raise IndexError(f"Products of {len(slots)} supports with rows {low} to {high} do not fit.")


def _translated(store: PackedRows, slots: Index, place: NDArray[np.int32]) -> tuple[Index, NDArray[np.int32], Array]:
    n = int((store.starts[slots + 1] - store.starts[slots]).sum())
    starts = np.empty(len(slots) + 1, dtype=np.int64)
    groups, weights = np.empty(n, dtype=np.int32), np.empty(n, dtype=store.weights.dtype)
    _loops.translate_groups(store.groups, store.weights, store.starts, slots, place, groups, weights, starts)
    return starts, groups, weights


class RowStore(Store):
    def __init__(self, rows: Rows) -> None:
        self.n, self._rows = rows.shape[0], rows

    def truncate(self, n: int) -> None:
        self.n, self._rows = min(self.n, n), self._rows[:n]

    @property
    def rows(self) -> Rows:
        return self._rows[: self.n]

    def append(self, other: RowStore, picks: Index) -> None:
        more = other.rows[picks]
        if sp.issparse(self._rows):
            self._rows = sp.vstack([self._rows, sp.csr_matrix(more)], format="csr")
        else:  # the form of the first rows, and a type for all of them
            more = more.toarray() if sp.issparse(more) else more
            rows = self._rows.astype(np.result_type(self._rows, more), copy=False)
            self._rows = grown(rows, self.n, self.n + len(picks))
            self._rows[self.n : self.n + len(picks)] = more
        self.n += len(picks)


class RowBlock(Block):
    """Rows that are taken from the data when they are needed."""

    def __init__(self, X: Rows, rows: Index) -> None:
        self.X, self.index = X, rows
        self.n_rows, self.width = len(rows), padded(len(rows))

    def prepare(self, low: int, high: int) -> None: ...


class RowProducts(Products, ABC):
    """Kernel values of rows as they are."""

    dtype = np.float64

    def block(self, X: Rows, rows: Index) -> RowBlock:
        return RowBlock(X, rows)

    @abstractmethod
    def between(self, supports: Rows, X: Rows, index: Index) -> Floats:
        """Return the values of supports with the rows ``index`` of X, one row a support."""

    def dots(self, store: RowStore, slots: Index, block: RowBlock, low: int, high: int, out: Array) -> None:
        index = block.index[low:high]
        if len(index) and len(slots):
            out[: len(slots), low : low + len(index)] = self.between(store.rows[slots], block.X, index)
        out[: len(slots), low + len(index) : high] = 0.0


class GramProducts(RowProducts):
    """A precomputed kernel: an example is a row of the matrix, a support vector the number of a column."""

    keep_after = 0

    def __repr__(self) -> str:
        return "GramProducts()"

    def pack(self, X: Rows, rows: Index) -> RowStore:
        return RowStore(np.asarray(rows, dtype=np.int64))

    def between(self, supports: Rows, X: Rows, index: Index) -> Floats:
        return np.asarray(X[np.ix_(index, supports)].T)

    def squares(self, X: Rows) -> Floats:
        return np.array(np.diagonal(X), dtype=np.float64)

    def keep(self, X: Rows, rows: Index) -> Rows:
        return np.asarray(X[rows, rows], dtype=np.float64).reshape(-1, 1)

    def restore(self, kept: Rows, names: Index) -> tuple[Store, Floats]:
        return RowStore(np.asarray(names, dtype=np.int64)), np.array(kept[:, 0])


class CallableProducts(RowProducts):
    """A kernel given as a Python function of two matrices of rows."""

    def __init__(self, function: Callable[[Rows, Rows], Any], name: str) -> None:
        self.function, self.name = function, name

    def __repr__(self) -> str:
        return f"CallableProducts({self.name})"

    def pack(self, X: Rows, rows: Index) -> RowStore:
        return RowStore(X[rows])

    def values(self, A: Rows, B: Rows) -> Floats:
        """Call the function and check what it returns; it sees real numbers, since integers would overflow in it."""
        K = self.function(*(rows.astype(np.float64) if rows.dtype.kind in "biu" else rows for rows in (A, B)))
        K = K.toarray() if sp.issparse(K) else np.asarray(K)
        if K.shape != (A.shape[0], B.shape[0]) or K.dtype.kind not in "biuf":
            raise VotronError(
                f"The kernel function {self.name} must return a matrix of shape {(A.shape[0], B.shape[0])} for "
                f"{A.shape[0]} and {B.shape[0]} rows, of real numbers. Got shape {K.shape} of type {K.dtype} instead."
            )
        K = K.astype(np.float64, copy=False)
        if not np.isfinite(K).all():
            raise VotronError(f"The kernel function {self.name} must return finite numbers. Got NaN or infinity.")
        return K

    def between(self, supports: Rows, X: Rows, index: Index) -> Floats:
        return self.values(supports, X[index])

    def squares(self, X: Rows) -> Floats:
        pieces = [np.diagonal(self.values(X[part], X[part])) for part in chunks(X.shape[0], 32)]
        return np.concatenate(pieces) if pieces else np.empty(0)


def choose_products(traits: Traits, *, needs_distance: bool = False) -> Products:
    """Return the arithmetic for data of these traits; float32 is no good for products that are subtracted."""
    if traits.n_features >= 2**31:
        raise VotronError(f"The data must have fewer than 2^31 features. Got {traits.n_features} instead.")
    make: type[PanelProducts]
    if traits.integer and traits.largest <= 32767 and traits.largest**2 * max(1, traits.n_features) < 2**31:
        quads = _loops.HAS_QUADS and not traits.sparse and traits.low >= 0 and traits.high <= 255
        narrow = not quads and _loops.SHAPES["int16"].lanes == 8
        kind, enough = "int32", DENSE_ENOUGH_PAIRS if narrow else DENSE_ENOUGH
    else:
        single = traits.dtype == np.float32 and not needs_distance and not traits.integer
        single &= 1e-12 < traits.largest < 1e15  # their products are float32 numbers too
        kind, quads, enough = "float32" if single else "float64", False, DENSE_ENOUGH
    make = DenseProducts if not traits.sparse and traits.density >= enough else PanelProducts
    products = make(kind, traits.n_features, sparse=traits.sparse, quads=quads)
    products.keep_after = _keep_after(products, traits)
    return products


def _keep_after(products: PanelProducts, traits: Traits) -> int:
    """Return how often a product is made before it is kept: as often as makes up for the cost of keeping it."""
    groups: float = products.n_groups
    if not isinstance(products, DenseProducts):  # nonzero features stand side by side as often as not
        groups = min(groups, traits.density * traits.n_features * 2 / (1 + products.group))
    read = groups * np.dtype(products.dtype).itemsize * (3 if traits.sparse else 1)  # sparse panels are made each time
    return int(min(MOST_ASKED, max(1, math.ceil(WORTH_KEEPING / max(1.0, read)))))
