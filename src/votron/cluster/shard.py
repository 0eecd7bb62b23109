"""A shard: the rows of one worker, with their scores, kept up to date with the events; and the messages it takes.

A **place** is a row's number in the order of presentation, the same in every pass. An **interval** is a run of places
that is walked at one time, as a block is on one machine. Rows lie in the order of their places, in *pages* of so many
successive places each. A page is brought up to date when it is looked at, or before, while the shard would wait.
Nothing here knows of Dask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._loops import dual as _loops
from votron._util.resources import Team, team
from votron._util.types import Array, Floats, Index, Rows
from votron.blocks import EVENTS_AT_ONCE, WORTH_A_THREAD, DotCache, Events, KernelBlock, scratch
from votron.kernels import Kernel
from votron.products import Products, Traits, padded

EVENTS_WORTH_A_VISIT = 1024
"""Events that a page must lack to be brought up to date long before its turn: rows have to be fetched from memory."""
PAGES_AT_ONCE = 2
"""Pages that are brought up to date before their turn however few events they lack."""


@dataclass(frozen=True)
class Numbers:
    """Settings that all shards of a training run share: the kernel, and the traits that decide its arithmetic."""

    kernel: Kernel
    traits: Traits
    n_vectors: int
    margin: float | Floats
    page_size: int
    none: Rows
    """One of the rows' kind without rows."""
    weighted: bool = False

    @property
    def products(self) -> Products:
        """The arithmetic of the kernel."""
        return self.kernel.products(self.traits)


class NewEvents(NamedTuple):
    """Events: their supports and places, of each the first of its mistakes, and the rows of supports that are new."""

    slots: Index
    firsts: Index
    vector: NDArray[np.int32]
    coefficients: Array
    places: Index
    rows: Rows


class Look(NamedTuple):
    """An interval to look at next, from ``start`` to ``stop`` - 1 at most."""

    start: int
    stop: int
    end: int  # of the pass, or of the run
    most: int  # candidates after which a shard ends the interval
    nearby: float  # the margin of candidates, as a multiple of the distance that scores may move


class Step(NamedTuple):
    """A message: the first ``n_confirmed`` events stand, ``events`` follow in an interval, and where to look next.

    A shard checks ``events`` against its rows of the interval, places ``start`` to ``stop`` - 1. If a row without an
    event was wrong when its turn came, the events from there on are taken back by the next message.
    """

    n_confirmed: int
    n_support: int
    events: NewEvents | None = None
    start: int = 0
    stop: int = 0
    look: Look | None = None


class Candidates(NamedTuple):
    """Rows of an interval, which for this shard ends at ``stop``, that are wrong or may become so."""

    stop: int
    places: Index
    scores: Floats  # a column of each
    slots: Index  # of each its number as a support, -1 if it is none
    rows: Rows  # of those that are none


class Reply(NamedTuple):
    """The answer of a shard: the first place whose row was wrong without an event, or else candidates."""

    wrong_at: int | None
    candidates: Candidates | None
    n_pairs: int
    """Pairs of rows that it has multiplied since it began."""


class Part(NamedTuple):
    """Some rows of a shard in any order, and what is known of each; those whose place is below 0 are left out."""

    rows: Rows
    places: Index
    codes: Array
    squares: Floats


def stacked(parts: Sequence[Rows]) -> Rows:
    """Return rows one below the other: CSR if any of them are."""
    if any(sp.issparse(part) for part in parts):
        return sp.vstack([sp.csr_matrix(part) for part in parts], format="csr") if len(parts) > 1 else parts[0]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _in_order(parts: Sequence[Part], order: Index) -> Rows:
    """Return the rows of parts that have a place, in this order; dense ones are copied once."""
    if any(sp.issparse(part.rows) for part in parts):
        return stacked([part.rows[part.places >= 0] for part in parts])[order]
    out = np.empty((len(order), parts[0].rows.shape[1]), dtype=np.result_type(*(part.rows.dtype for part in parts)))
    where, n = np.argsort(order, kind="stable"), 0
    for part in parts:
        mine = np.flatnonzero(part.places >= 0)
        out[where[n : n + len(mine)]] = part.rows[mine]
        n += len(mine)
    return out


class Shard:
    """Rows with their scores; ``memory`` is for packed pages and dot products, beside these."""

    def __init__(self, numbers: Numbers, parts: Sequence[Part], memory: int = 0, n_threads: int = 1) -> None:
        self.numbers, self.n_threads, self.kernel, self.products = numbers, n_threads, numbers.kernel, numbers.products
        places, codes, squares = (
            np.concatenate([column[part.places >= 0] for part, column in zip(parts, columns, strict=True)])
            for columns in zip(*(part[1:] for part in parts), strict=True)
        )
        by_place = np.argsort(places, kind="stable")
        self.rows, self.places, squares = _in_order(parts, by_place), places[by_place], squares[by_place]
        self.slots = np.full(len(places), -1, dtype=np.int64)
        """Of each row its number as a support, -1 if it is none."""
        self._numbers, starts = np.unique(self.places // numbers.page_size, return_index=True)
        self._edges = np.append(starts, len(places))
        n = len(starts)
        self.width = padded(int(np.diff(self._edges).max(initial=1)))
        self.F, self.seen = np.zeros((n, numbers.n_vectors, self.width)), np.zeros(n, dtype=np.int64)
        self.codes = np.zeros((n, self.width), dtype=np.int32)
        self.diagonal, self.own = np.zeros((n, self.width)), np.zeros((n, self.kernel.n_terms, self.width))
        for i in range(n):
            page = self._page(i)
            size = page.stop - page.start
            self.codes[i, :size] = codes[by_place[page]]
            self.diagonal[i, :size] = self.kernel.diagonal(squares[page])
            self.own[i, :, :size] = self.kernel.terms(squares[page])
        some = self.diagonal[self.diagonal > 0]
        self._length = float(np.sqrt(some).mean()) if len(some) else 0.0
        margin = np.asarray(numbers.margin, dtype=np.float64)
        self.threshold = (margin[self.codes] if margin.ndim else margin) * self.diagonal
        self.events = Events()
        self.events.store, squares = self.products.restore(numbers.none, np.empty(0, dtype=np.int64))
        self.events.terms = self.kernel.terms(squares)
        if numbers.weighted:
            self.events.take_weights()
        self.n_confirmed = 0
        packed = n * self.products.block_bytes(self.width)
        self.keeps_blocks, self.blocks = 0 < packed <= memory // 2, dict[int, KernelBlock]()
        left = memory - packed if self.keeps_blocks else memory
        each = max(1, n * self.width * np.dtype(self.products.dtype).itemsize)
        capacity = left // each if self.products.keep_after else 0
        self.cache = DotCache(n, self.width, self.products.dtype, min(capacity, 1 << 20), self.products.keep_after)
        self.n_pairs = 0
        self._before: dict[int, tuple[Floats, int]] = {}  # pages without the events that may be taken back
        self._asked: set[int] = set()  # pages of the interval of which all rows are candidates
        self._next: list[int] = []  # pages of the pass after the interval

    def _page(self, i: int) -> slice:
        return slice(int(self._edges[i]), int(self._edges[i + 1]))

    def _block(self, i: int) -> KernelBlock:
        """Return page i, ready to be multiplied; where there is memory for all pages, they stay so."""
        if i not in self.blocks:
            if not self.keeps_blocks:
                self.blocks.clear()
            rows = np.arange(self._edges[i], self._edges[i + 1])
            self.blocks[i] = KernelBlock(self.kernel, self.products, self.rows, rows, self.own[i], self.cache, i)
        return self.blocks[i]

    def replay(self, events: NewEvents) -> None:
        """Hear of all events so far; scores follow when they are wanted."""
        self._add(events)
        self.cache.note(self.events.slot.values)
        self.n_confirmed = self.events.n

    def step(self, step: Step) -> Reply:
        """Take events, check them against the rows of their interval, and return the candidates of the next one."""
        wrong_at, candidates = None, None
        with team(self.n_threads) as threads:
            self._confirm(step.n_confirmed, step.n_support)
            if step.events is not None:
                self._add(step.events)
                wrong_at = self._check(step.events.places, step.start, step.stop, threads)
            if wrong_at is None and step.look is not None:
                candidates = self._candidates(step.look, threads)
                self._next = self._pages_of(candidates.stop, step.look.end)
        return Reply(wrong_at, candidates, self.n_pairs)

    def prepare(self, interrupted: Callable[[], bool] = lambda: False) -> None:
        """Bring later pages up to date with the events that stand, until all are or it is interrupted."""
        with team(self.n_threads) as threads:
            for k, i in enumerate(self._next):
                worth = 1 if k < PAGES_AT_ONCE else EVENTS_WORTH_A_VISIT
                while (lacking := self.n_confirmed - int(self.seen[i])) >= worth:
                    if interrupted():
                        return
                    self._catch_up(i, int(self.seen[i]) + min(lacking, EVENTS_WORTH_A_VISIT), threads)

    def _confirm(self, n_confirmed: int, n_support: int) -> None:
        """Take back events beyond the first ``n_confirmed``; all others stand."""
        if self.events.n > n_confirmed:
            self.events.truncate(n_confirmed, n_support)
            for i, (F, seen) in self._before.items():
                self.F[i], self.seen[i] = F, seen
            self.slots[self.slots >= n_support] = -1
        self._before.clear()
        self.cache.note(self.events.slot.values[self.n_confirmed :])
        self.n_confirmed = n_confirmed

    def _add(self, events: NewEvents) -> None:
        if events.rows.shape[0]:
            store, squares = self.products.restore(events.rows, np.empty(0, dtype=np.int64))
            self.events.add_supports(store, self.kernel.terms(squares))
        self.events.add(events.slots, events.firsts, events.vector, events.coefficients)
        if len(self.places):
            at = np.minimum(np.searchsorted(self.places, events.places), len(self.places) - 1)
            mine = self.places[at] == events.places
            self.slots[at[mine]] = events.slots[mine]

    def _pages_of(self, start: int, stop: int) -> list[int]:
        """Return the pages with places from ``start`` to ``stop`` - 1."""
        size = self.numbers.page_size
        low, high = np.searchsorted(self._numbers, [start // size, (stop - 1) // size + 1])
        return list(range(int(low), int(high)))

    def _rows_between(self, i: int, start: int, stop: int) -> tuple[int, int]:
        """Return which rows of page i have places from ``start`` to ``stop`` - 1."""
        low, high = np.searchsorted(self.places[self._page(i)], [start, stop]).tolist()
        return low, high

    def _catch_up(self, i: int, last: int, threads: Team) -> None:
        """Add the events until ``last`` to the scores of page i."""
        first = int(self.seen[i])
        if first < last:
            block = self._block(i)
            self.events.fold(block, self.F[i], first, last, threads)
            self._note(block, last)

    def _note(self, block: KernelBlock, last: int) -> None:
        """Write down that a page has the events until ``last``, and how much work that was."""
        i = block.number
        slots = self.events.slot.values[int(self.seen[i]) : last]
        self.cache.held[i] = max(int(self.cache.held[i]), int(self.cache.place(slots).max(initial=-1)) + 1)
        self.seen[i] = last
        self.n_pairs += len(slots) * block.width

    def _set_aside(self, i: int, threads: Team) -> None:
        """Bring page i up to date with what stands, and keep its scores in case that the rest is taken back."""
        self._catch_up(i, self.n_confirmed, threads)
        if i not in self._before:
            self._before[i] = self.F[i].copy(), int(self.seen[i])

    def _check(self, places: Index, start: int, stop: int, threads: Team) -> int | None:
        """Add the new events to the rows of their interval; return the first place that was wrong without an event.

        The walk has seen to pages of which all rows are candidates.
        """
        wrong_at = []
        for i in self._pages_of(start, stop):
            if i not in self._asked:
                self._set_aside(i, threads)
                wrong_at += self._add_checked(i, places, start, stop, threads)[:1].tolist()
        return min(wrong_at, default=None)

    def _add_checked(self, i: int, event_places: Index, start: int, stop: int, threads: Team) -> Index:
        places, block = self.places[self._page(i)], self._block(i)
        store, terms, slot = self.events.store, self.events.terms, self.events.slot.values
        assert store is not None
        starts, vector, coefficients = self.events.starts.values, self.events.vector.values, self.events.coefficients
        first, last = self.n_confirmed, self.events.n
        lowest, highest = self._rows_between(i, start, stop)
        must_pack = not block.packed and block.needs_products(slot[first:last])
        wrong = np.zeros(len(places), dtype=np.bool_)

        def work(low: int, high: int) -> None:
            if must_pack:
                block.prepare(low, high)
            room, held = scratch("room", 2, self.width, np.float64), block.held
            r, end = max(low, lowest), min(high, highest)
            rows = places, self.codes[i], self.threshold[i]
            for e in range(first, last, EVENTS_AT_ONCE):
                slots = slot[e : min(e + EVENTS_AT_ONCE, last)]
                values, held = block.values(store, slots, terms[:, slots], low, high, held)
                theirs = event_places[e - first : e - first + len(slots)]
                changes = values, starts, e, vector, coefficients
                r = _loops.fold_checked(*changes, theirs, *rows, r, end, low, high, room, self.F[i], wrong)
            _loops.check_until(stop, *rows, r, end, self.F[i], wrong)

        threads.over(block.width, work, worth_it=(last - first) * block.width > WORTH_A_THREAD)
        block.packed |= must_pack
        self._note(block, last)
        return places[wrong]

    def _candidates(self, look: Look, threads: Team) -> Candidates:
        """Return the rows of an interval that are wrong or may become so, and where it ends."""
        found, scores = [np.empty(0, dtype=np.int64)], [np.empty((self.numbers.n_vectors, 0))]
        left, stop = look.most, look.stop
        self._asked = set()
        for i in self._pages_of(look.start, look.stop):
            self._set_aside(i, threads)
            self._catch_up(i, self.events.n, threads)
            low, high = self._rows_between(i, look.start, look.stop)
            near = self._near(i, low, high, look)
            if len(near) > left:
                high, near = int(near[left]), near[:left]
                stop = int(self.places[self._edges[i] + high])
            left -= len(near)
            found.append(self._edges[i] + near)
            scores.append(self.F[i][:, near])
            if len(near) == high - low:
                self._asked.add(i)
            if stop < look.stop:
                break
        mine = np.concatenate(found)
        new = self.rows[mine[self.slots[mine] < 0]]
        return Candidates(stop, self.places[mine], np.concatenate(scores, axis=1), self.slots[mine], new)

    def _near(self, i: int, low: int, high: int, look: Look) -> Index:
        """Return the rows of page i that are wrong, or as near to it as a look asks for."""
        margin = np.empty(high - low)
        _loops.smallest_margins(self.F[i], self.codes[i], self.threshold[i], low, high, margin)
        # vectors move with the root of the mistakes that come before a row, and its score with its length
        before = self.places[self._page(i)][low:high] - look.start + 1.0
        reach = self._length * np.sqrt(self.diagonal[i, low:high] * before)
        return low + np.flatnonzero(margin <= look.nearby * reach)
