"""The candidates of an interval, and the walk over them: where mistakes are made, until all shards agree.

They are walked in order as a block is on one machine, on kernel values among themselves, which are made when the walk
comes to a candidate that is wrong.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from votron._loops import dual as _loops
from votron._util.resources import Team, team
from votron._util.types import Array, Floats, Index, Rows
from votron.blocks import WORTH_A_THREAD, DotCache, KernelBlock, scratch
from votron.cluster.messages import Candidates, NewEvents, Reply, stacked
from votron.kernels import Kernel
from votron.products import BLOCK_MULTIPLE, Products, RowStore, padded

VALUES_AT_ONCE = 128
"""Candidates whose kernel values are made at a time: of those that are wrong later on, some will be right by then."""
_STRIDE = 1 << 16


@dataclass(frozen=True)
class Presented:
    """The rows of a run in the order of presentation: their numbers, and by number codes, x·x, names and weights."""

    order: Index
    codes: NDArray[np.int64]
    squares: Floats
    ids: Index | None = None
    weights: Floats | None = None

    def names(self, places: Index) -> Index:
        """Return the names of rows in the record."""
        rows = self.order[places]
        return rows if self.ids is None else self.ids[rows]


@dataclass(frozen=True)
class WalkContext:
    """The inputs of a walk over candidates: kernel and arithmetic, the rows of the run, supports so far, threads."""

    kernel: Kernel
    products: Products
    n_vectors: int
    margin: float | Floats
    presented: Presented
    support: RowStore
    n_threads: int = 1


class Tentative(NamedTuple):
    """Mistakes that stand if all shards agree: of each its place, vector, score and length."""

    places: Index
    vector: NDArray[np.int32]
    coefficients: Array
    score: Floats
    norm2: Floats
    diagonal: Floats
    slots: Index
    """Of each event."""
    firsts: Index
    rows: Rows
    """The new supports."""

    def events(self) -> NewEvents:
        """Return what shards must know."""
        where = self.places[self.firsts]
        return NewEvents(self.slots, self.firsts, self.vector, self.coefficients, where, self.rows)

    def until(self, place: int) -> Tentative:
        """Return the mistakes before a place."""
        k = int(np.searchsorted(self.places, place))
        n = int(np.searchsorted(self.firsts, k))
        first_new = int(self.slots.max(initial=-1)) + 1 - int(self.rows.shape[0])  # each has one event here
        n_new = int(np.count_nonzero(self.slots[:n] >= first_new))
        return Tentative(
            self.places[:k], self.vector[:k], self.coefficients[:k], self.score[:k], self.norm2[:k], self.diagonal[:k],
            self.slots[:n], self.firsts[:n], self.rows[:n_new],
        )  # fmt: skip


class Pool:
    """The candidates of an interval, with their scores before it."""

    def __init__(self, context: WalkContext, replies: Sequence[Reply], stop: int | None = None) -> None:
        # of an interval that has to be walked again, only rows that were wrong
        wrong = stop is not None
        parts = [r.candidates for r in replies if r.candidates is not None and (r.wrong_at is not None) == wrong]
        self.context, self.stop = context, min(part.stop for part in parts) if stop is None else stop
        places = np.concatenate([part.places for part in parts])
        by_place = np.argsort(places, kind="stable")
        by_place = by_place[: np.searchsorted(places[by_place], self.stop)]
        self.places = places[by_place]
        self.slots = np.concatenate([part.slots for part in parts])[by_place]
        self.F = np.ascontiguousarray(np.concatenate([part.scores for part in parts], axis=1)[:, by_place])
        self.squares = np.concatenate([part.squares for part in parts])[by_place]
        self.rows = self._rows_of(parts, by_place)

    def _rows_of(self, parts: Sequence[Candidates], by_place: Index) -> Rows:
        """Return their rows: those that came with them, and supports."""
        fresh, slots = [part.rows for part in parts if part.rows.shape[0]], self.slots
        number = np.cumsum(np.concatenate([part.slots for part in parts]) < 0) - 1  # in the order they came
        known = np.unique(slots[slots >= 0])
        n_fresh = sum(part.shape[0] for part in fresh)
        supports = [self.context.support.rows[known]] if len(known) or not fresh else []
        return stacked([*fresh, *supports])[
            np.where(slots < 0, number[by_place], n_fresh + np.searchsorted(known, slots))
        ]

    @property
    def n(self) -> int:
        """The number of candidates."""
        return len(self.places)

    def joined(self, others: Pool, place: int) -> Pool:
        """Return this pool with others of the same interval, from a place on, brought up to there."""
        found = copy.copy(self)
        places = np.concatenate([self.places, others.places])
        _, first = np.unique(places, return_index=True)
        found.places = places[first]
        found.slots = np.concatenate([self.slots, others.slots])[first]
        found.F = np.ascontiguousarray(np.concatenate([self.F, others.F], axis=1)[:, first])
        found.squares = np.concatenate([self.squares, others.squares])[first]
        found.rows = stacked([self.rows, others.rows])[first]
        return found._from(place)

    def _from(self, place: int) -> Pool:
        """Return the candidates from a place on, with the mistakes before it added to their scores."""
        k = int(np.searchsorted(self.places, place))
        F = self.F.copy()
        self._made(F, k, np.zeros(len(F)))
        found = copy.copy(self)
        found.F = np.ascontiguousarray(F[:, k:])
        found.places, found.slots, found.squares = self.places[k:], self.slots[k:], self.squares[k:]
        found.rows = self.rows[k:]
        return found

    def walked(self, norm2: Floats, n_support: int) -> Tentative | None:
        """Return the mistakes, in order; new supports are numbered from ``n_support`` on."""
        F = self.F.copy()
        made = self._made(F, self.n, norm2)
        if made is None:
            return None
        at, vector, coefficients, score, norms, diagonal = made
        firsts = np.flatnonzero(np.diff(at, prepend=-1))
        of_events = at[firsts]
        fresh = self.slots[of_events] < 0
        numbers = np.where(fresh, n_support + np.cumsum(fresh) - 1, self.slots[of_events])
        new = self.rows[of_events[fresh]]
        return Tentative(self.places[at], vector, coefficients, score, norms, diagonal, numbers, firsts, new)

    def _made(self, F: Floats, stop: int, norm2: Floats) -> tuple[Any, ...] | None:
        """Walk the candidates before the one with the number ``stop``, adding their mistakes to F."""
        context, presented, n = self.context, self.context.presented, self.n
        rows = presented.order[self.places]
        codes = presented.codes[rows].astype(np.int32)
        diagonal = context.kernel.diagonal(self.squares)
        margin = np.asarray(context.margin, dtype=np.float64)
        threshold = (margin[codes] if margin.ndim else margin) * diagonal
        wrong = np.empty(n, dtype=np.int64)
        if not _loops.find_mistakes(F, codes, threshold, 0, stop, wrong):
            return None
        weights = np.empty(0) if presented.weights is None else presented.weights[rows]
        room = stop * context.n_vectors
        at, vector = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int32)
        score, norms = np.empty(room), np.empty(room)
        with team(context.n_threads) as threads:
            values = _Values(context.kernel, context.products, self.rows, self.squares, threads)
            wide = np.zeros((len(F), values.width))
            wide[:, :n] = F
            r = k = 0
            while r < stop:
                r, k = _loops.walk(
                    wide, codes, threshold, diagonal, weights, r, stop, values.row_of, values.K, norm2, k,
                    at, vector, score, norms,
                )  # fmt: skip
                if r < stop:
                    values.fetch(wrong[: _loops.find_mistakes(wide, codes, threshold, r, stop, wrong)])
        F[...] = wide[:, :n]
        at, vector = at[:k], vector[:k]
        signs = np.where(codes[at] == vector, 1.0, -1.0)
        coefficients: Array = signs * weights[at] if len(weights) else signs.astype(np.int8)
        return at, vector, coefficients, score[:k], norms[:k], diagonal[at]


class _Values:
    """Kernel values of candidates with all of them, made when the walk comes to one that is wrong."""

    def __init__(self, kernel: Kernel, products: Products, rows: Rows, squares: Floats, threads: Team) -> None:
        n, terms = len(squares), kernel.terms(squares)
        self.products, self.rows, self.terms, self.threads = products, rows, terms, threads
        self.width = padded(n)
        own = np.zeros((kernel.n_terms, self.width))
        own[:, :n] = terms
        nothing = DotCache(1, self.width, products.dtype, 0)
        self._block = KernelBlock(kernel, products, rows, np.arange(n), own, nothing)
        block = self._block.block
        threads.over(self.width, block.prepare)
        self.row_of, self.n = np.full(self.width, -1, dtype=np.int64), 0
        self.K = self._room_for(4 * VALUES_AT_ONCE)

    def fetch(self, wrong: Index) -> None:
        """Make the values of some candidates with those from the first of them on, as far as they are not there."""
        wanted = wrong[self.row_of[wrong] < 0][:VALUES_AT_ONCE]
        store, every = self.products.pack(self.rows, wanted), np.arange(len(wanted))
        terms = np.ascontiguousarray(self.terms[:, wanted])
        low = int(wrong[0]) // BLOCK_MULTIPLE * BLOCK_MULTIPLE
        if self.n + len(wanted) > len(self.K):
            self._make_room(int(wrong[0]), len(wanted))
        K = self.K[self.n : self.n + len(wanted)]
        K[:, :low] = 0.0

        def work(start: int, stop: int) -> None:
            start, stop = low + start, low + stop
            values, _ = self._block.values(store, every, terms, start, stop, 0)
            _loops.kernel_rows(values, start, stop, np.empty(self.width), K)

        n_columns = self.width - low
        self.threads.over(n_columns, work, worth_it=len(wanted) * n_columns > WORTH_A_THREAD)
        self.row_of[wanted] = self.n + every
        self.n += len(wanted)

    def _make_room(self, start: int, n: int) -> None:
        """Make room for the values of n more candidates, and keep those from the number ``start`` on."""
        kept = start + np.flatnonzero(self.row_of[start:] >= 0)
        values, self.n = self.K[self.row_of[kept]], len(kept)
        if 2 * (self.n + n) > len(self.K):
            self.K = self._room_for(2 * len(self.K))
        self.K[: self.n] = values
        self.row_of[:start], self.row_of[kept] = -1, np.arange(self.n)

    def _room_for(self, n: int) -> Floats:
        """Return room for the values of n candidates, in memory that other intervals have used."""
        room = scratch("candidates", -(-n * self.width // _STRIDE), _STRIDE, np.float64)
        return room.reshape(-1)[: n * self.width].reshape(n, self.width)
