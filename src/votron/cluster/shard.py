"""A shard: the rows of one worker, with their scores, kept up to date with the events.

Its state follows from its rows, the events so far, the kernel and the arithmetic, so it can be made again anywhere.
Nothing here knows of Dask. Rows lie in the order of their places, in *pages* of so many successive places each. A page
is brought up to date when it is looked at, or before, while the shard would wait.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from votron._loops import dual as _loops
from votron._util.resources import Team, team
from votron._util.types import Array, Floats, Index, Rows
from votron.blocks import EVENTS_AT_ONCE, WORTH_A_THREAD, DotCache, Events, KernelBlock, scratch
from votron.cluster.messages import Candidates, Look, NewEvents, Numbers, Reply, Step, stacked
from votron.products import padded

EVENTS_WORTH_A_VISIT = 1024
"""Events that a page must lack to be brought up to date long before its turn: rows have to be fetched from memory."""
PAGES_AT_ONCE = 2
"""Pages that are brought up to date before their turn however few events they lack."""
PAGES_AT_HAND = 4
"""Pages that stay packed where there is no memory for all."""


class Part(NamedTuple):
    """Some rows of a shard in any order, and what is known of each; those whose place is below 0 are left out."""

    rows: Rows
    places: Index
    codes: Array
    squares: Floats


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
        self.numbers, self.memory, self.n_threads, self.kernel = numbers, memory, n_threads, numbers.kernel
        self.products = numbers.products
        places, codes, squares = (
            np.concatenate([column[part.places >= 0] for part, column in zip(parts, columns, strict=True)])
            for columns in zip(*(part[1:] for part in parts), strict=True)
        )
        by_place = np.argsort(places, kind="stable")
        self.rows, self.places, self.squares = _in_order(parts, by_place), places[by_place], squares[by_place]
        self.slots = np.full(len(places), -1, dtype=np.int64)
        """Of each row its number as a support, -1 if it is none."""
        self._numbers, starts = np.unique(self.places // numbers.page_size, return_index=True)
        self._edges = np.append(starts, len(places))
        n = len(starts)
        self.width = padded(int(np.diff(self._edges).max(initial=1)))
        self.F = np.zeros((n, numbers.n_vectors, self.width))
        self.seen = np.zeros(n, dtype=np.int64)
        self.codes = np.zeros((n, self.width), dtype=np.int32)
        self.diagonal, self.own = np.zeros((n, self.width)), np.zeros((n, self.kernel.n_terms, self.width))
        for i in range(n):
            page = self._page(i)
            size = page.stop - page.start
            self.codes[i, :size] = codes[by_place[page]]
            self.diagonal[i, :size] = self.kernel.diagonal(self.squares[page])
            self.own[i, :, :size] = self.kernel.terms(self.squares[page])
        some = self.diagonal[self.diagonal > 0]
        self._length = float(np.sqrt(some).mean()) if len(some) else 0.0
        margin = np.asarray(numbers.margin, dtype=np.float64)
        self.threshold = (margin[self.codes] if margin.ndim else margin) * self.diagonal
        self.events = Events()
        self.events.store, squares = self.products.restore(numbers.none, np.empty(0, dtype=np.int64))
        self.events.terms = self.kernel.terms(squares)
        if numbers.weighted:
            self.events.take_weights()
        self.n_confirmed = self.n_support = 0
        self._share_out()
        self.facts = {"products": 0.0, "working": 0.0, "preparing": 0.0, "waiting": 0.0, "pairs": 0.0}
        self._before: dict[int, tuple[Floats, int]] = {}  # pages without the events that may be taken back
        self._asked: dict[int, tuple[int, int]] = {}  # pages of the interval of which all rows are candidates
        self._later: tuple[tuple[int, int], ...] = ()
        self._idle_since = time.perf_counter()

    def _page(self, i: int) -> slice:
        return slice(int(self._edges[i]), int(self._edges[i + 1]))

    def _share_out(self) -> None:
        """Divide the memory: packed pages, then the cache of dot products."""
        n, left = len(self.seen), self.memory
        packed = n * self.products.block_bytes(self.width)
        self.keeps_blocks = 0 < packed <= left // 2
        left -= packed if self.keeps_blocks else 0
        each = max(1, n * self.width * np.dtype(self.products.dtype).itemsize)
        capacity = left // each if self.products.keep_after else 0
        self.cache = DotCache(n, self.width, self.products.dtype, min(capacity, 1 << 20), self.products.keep_after)
        self.blocks: dict[int, KernelBlock] = {}

    def _block(self, i: int) -> KernelBlock:
        """Return page i, ready to be multiplied; the last few stay so, or all."""
        block = self.blocks.pop(i, None)
        if block is None:
            page = self._page(i)
            rows = np.arange(page.start, page.stop)
            block = KernelBlock(self.kernel, self.products, self.rows, rows, self.own[i], self.cache, i)
        self.blocks[i] = block
        if not self.keeps_blocks:
            while len(self.blocks) > PAGES_AT_HAND:
                del self.blocks[next(iter(self.blocks))]
        return block

    # -- events -----------------------------------------------------------------------------------------------------

    def replay(self, events: NewEvents) -> None:
        """Hear of all events so far; scores follow when they are wanted."""
        with self._working():
            self._add(events)
            self.n_confirmed, self.n_support = self.events.n, self._n_stored
            self.cache.note(self.events.slot.values)

    def step(self, step: Step) -> Reply:
        """Take events, check them against the rows of their interval, and return the candidates of the next one."""
        with self._working(), team(self.n_threads) as threads:
            self._confirm(step.n_confirmed, step.n_support)
            wrong_at, candidates = None, None
            if step.events is not None:
                self._add(step.events)
                candidates = self._check(step.events.places, step.start, step.stop, threads)
                wrong_at = None if candidates is None else int(candidates.places.min())
            if wrong_at is None and step.look is not None:
                candidates = self._candidates(step.look, threads)
                self._later = step.look.later
        return Reply(wrong_at, candidates, dict(self.facts))

    def prepare(self, interrupted: Callable[[], bool] = lambda: False) -> None:
        """Bring the pages that come next up to date with the events that stand, until all are or it is interrupted.

        The next few, and of the others those that lack many events: few are added as fast with those that follow.
        """
        with self._working("preparing"), team(self.n_threads) as threads:
            pages = [i for start, stop in self._later for i in self._pages_of(start, stop)]
            for k, i in enumerate(pages):
                while (lacking := self.n_confirmed - self.seen[i]) >= (
                    1 if k < PAGES_AT_ONCE else EVENTS_WORTH_A_VISIT
                ):
                    if interrupted():
                        return
                    last = int(self.seen[i] + min(lacking, EVENTS_WORTH_A_VISIT))
                    self._catch_up(i, last, threads)

    @contextmanager
    def _working(self, what: str = "working") -> Iterator[None]:
        begun = time.perf_counter()
        self.facts["waiting"] += begun - self._idle_since
        try:
            yield
        finally:
            self._idle_since = time.perf_counter()
            self.facts[what] += self._idle_since - begun

    @property
    def _n_stored(self) -> int:
        assert self.events.store is not None
        return self.events.store.n

    def _confirm(self, n_confirmed: int, n_support: int) -> None:
        """Take back events beyond the first ``n_confirmed``; all others stand."""
        if self.events.n < n_confirmed:
            raise RuntimeError(f"this shard has {self.events.n} events, and should have {n_confirmed}")
        if self.events.n > n_confirmed:
            self.events.truncate(n_confirmed, n_support)
            for i, (F, seen) in self._before.items():
                self.F[i], self.seen[i] = F, seen
            self.slots[self.slots >= n_support] = -1
        self._before.clear()
        self.cache.note(self.events.slot.values[self.n_confirmed :])
        self.n_confirmed, self.n_support = n_confirmed, n_support

    def _add(self, events: NewEvents) -> None:
        if events.n_new:
            store, squares = self.products.restore(events.rows, np.empty(0, dtype=np.int64))
            self.events.add_supports(store, self.kernel.terms(squares))
        self.events.add(events.slots, events.firsts, events.vector, events.coefficients)
        if len(self.places):
            at = np.minimum(np.searchsorted(self.places, events.places), len(self.places) - 1)
            mine = self.places[at] == events.places
            self.slots[at[mine]] = events.slots[mine]

    # -- scores -----------------------------------------------------------------------------------------------------

    def _pages_of(self, start: int, stop: int) -> list[int]:
        """Return the pages with places from ``start`` to ``stop`` - 1."""
        size = self.numbers.page_size
        low, high = np.searchsorted(self._numbers, [start // size, (stop - 1) // size + 1])
        return list(range(int(low), int(high)))

    def _catch_up(self, i: int, last: int, threads: Team) -> None:
        """Add the events until ``last`` to the scores of page i."""
        first = int(self.seen[i])
        if first >= last:
            return
        begun = time.perf_counter()
        block = self._block(i)
        self.events.fold(block, self.F[i], first, last, threads)
        self._note(begun, i, block, last)

    def _note(self, begun: float, i: int, block: KernelBlock, last: int) -> None:
        """Write down that page i has the events until ``last``, and how much work that was."""
        slots = self.events.slot.values[int(self.seen[i]) : last]
        self.cache.held[i] = max(int(self.cache.held[i]), int(self.cache.place(slots).max(initial=-1)) + 1)
        self.seen[i] = last
        self.facts["products"] += time.perf_counter() - begun
        self.facts["pairs"] += len(slots) * block.width

    def _set_aside(self, i: int, threads: Team) -> None:
        """Bring page i up to date with what stands, and keep its scores in case that the rest is taken back."""
        self._catch_up(i, self.n_confirmed, threads)
        if i not in self._before:
            self._before[i] = self.F[i].copy(), int(self.seen[i])

    def _check(self, places: Index, start: int, stop: int, threads: Team) -> Candidates | None:
        """Add the new events to the rows of their interval; return those that were wrong without an event.

        They come with their scores before the events.
        """
        found = []
        for i in self._pages_of(start, stop):
            if self._all_asked(i, start, stop):
                continue
            self._set_aside(i, threads)
            wrong = self._add_checked(i, places, start, stop, threads)
            if len(wrong):
                found.append((i, wrong))
        return self._described(found, stop, {i: self._before[i][0] for i, _ in found}) if found else None

    def _all_asked(self, i: int, start: int, stop: int) -> bool:
        """Tell whether all rows of page i in an interval are candidates, so that the walk has seen to them."""
        low, high = np.searchsorted(self.places[self._page(i)], [start, stop]).tolist()
        first, last = self._asked.get(i, (high, low))
        return bool(low == high or (first <= low and high <= last))

    def _add_checked(self, i: int, event_places: Index, start: int, stop: int, threads: Team) -> Index:
        places, block, begun = self.places[self._page(i)], self._block(i), time.perf_counter()
        store, terms, slot = self.events.store, self.events.terms, self.events.slot.values
        assert store is not None
        starts, vector, coefficients = self.events.starts.values, self.events.vector.values, self.events.coefficients
        first, last = self.n_confirmed, self.events.n
        lowest, highest = np.searchsorted(places, [start, stop]).tolist()
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
        self._note(begun, i, block, last)
        return np.flatnonzero(wrong)

    def _candidates(self, look: Look, threads: Team) -> Candidates:
        """Return the rows of an interval that are wrong or may become so, and where it ends."""
        found, n, stop = list[tuple[int, Index]](), 0, look.stop
        self._asked = {}
        for i in self._pages_of(look.start, look.stop):
            self._set_aside(i, threads)
            self._catch_up(i, self.events.n, threads)
            places = self.places[self._page(i)]
            low, high = np.searchsorted(places, [look.start, look.stop]).tolist()
            near = self._near(i, low, high, look)
            if n + len(near) > look.most:
                high = int(near[look.most - n])
                stop, near = int(places[high]), near[: look.most - n]
            n += len(near)
            found.append((i, near))
            if len(near) == high - low:
                self._asked[i] = low, high
            if stop < look.stop:
                break
        return self._described(found, stop)

    def _near(self, i: int, low: int, high: int, look: Look) -> Index:
        """Return the rows of page i that are wrong, or as near to it as a look asks for."""
        if look.nearby == math.inf:
            return np.arange(low, high)
        margin = np.empty(high - low)
        _loops.smallest_margins(self.F[i], self.codes[i], self.threshold[i], low, high, margin)
        # vectors move with the root of the mistakes that come before a row, and its score with its length
        before = self.places[self._page(i)][low:high] - look.start + 1.0
        reach = self._length * np.sqrt(self.diagonal[i, low:high] * before)
        return low + np.flatnonzero(margin <= look.nearby * reach)

    def _described(
        self, rows: list[tuple[int, Index]], stop: int, scores: dict[int, Floats] | None = None
    ) -> Candidates:
        """Return what the walk must know of some rows of some pages, with the scores of now or others."""
        parts = [(i, at, at + self._edges[i]) for i, at in rows if len(at)]
        mine = np.concatenate([np.empty(0, dtype=np.int64), *(each for *_, each in parts)])
        F = [(self.F[i] if scores is None else scores[i])[:, at] for i, at, _ in parts]
        return Candidates(
            stop,
            self.places[mine],
            np.concatenate([np.empty((self.numbers.n_vectors, 0)), *F], axis=1),
            self.squares[mine],
            self.slots[mine],
            self.rows[mine[self.slots[mine] < 0]],
        )
