"""A shard: the rows of one worker, with their scores, kept up to date with the events.

Its state is a function of its rows, the events so far, the kernel's numbers and the arithmetic: it can be made again
from these at any time, anywhere. Nothing here knows of Dask.

Rows are kept in **pages**, those of so many successive places each. A page is brought up to date when it is looked at,
or before, while the shard would wait.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._loops import dual as _loops
from votron._resources import Team, team
from votron._types import Floats, Index, Rows
from votron.blocks import DotCache, KernelBlock, scratch
from votron.engine.cluster.messages import Candidates, Look, NewEvents, Numbers, Reply, Step
from votron.engine.events import EVENTS_AT_ONCE, WORTH_A_THREAD, Events
from votron.products import Products, padded

FEWEST_NEARBY = 4
"""Rows that are nearly wrong which a shard returns at least."""
PAGES_AT_HAND = 4
"""Pages that stay packed where there is no memory for all."""


def stacked(parts: list[Rows]) -> Rows:
    """Return rows one below the other: CSR if any of them are."""
    if any(sp.issparse(part) for part in parts):
        return sp.vstack([sp.csr_matrix(part) for part in parts], format="csr") if len(parts) > 1 else parts[0]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


class Page:
    """Rows of successive places, in the order of these, and what is known of each."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.places: Index = np.empty(0, dtype=np.int64)
        self.codes: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self.squares: Floats = np.empty(0)
        self._taken: list[dict[str, NDArray[Any]]] = []
        self._rows: list[Rows] = []

    def take(self, rows: Rows, **columns: NDArray[Any]) -> None:
        """Add rows, in any order; they are kept in the file, if there is one."""
        self._taken.append(columns)
        if self.file is None:
            self._rows.append(rows)
            return
        with self.file.open("ab") as stream:
            pickle.dump(rows, stream, protocol=5)

    def close(self) -> None:
        """Put all rows in order."""
        columns = {name: np.concatenate([part[name] for part in self._taken]) for name in self._taken[0]}
        self._by_place = np.argsort(columns["places"], kind="stable")
        for name, values in columns.items():
            setattr(self, name, values[self._by_place])
        if self.file is None:
            self._rows = [stacked(self._rows)[self._by_place]]
        self._taken, self.slots = [], np.full(len(self.places), -1, dtype=np.int64)

    def rows(self) -> Rows:
        """Return the rows."""
        if self.file is None:
            return self._rows[0]
        parts = []
        with self.file.open("rb") as stream:
            while stream.peek(1):
                parts.append(pickle.load(stream))
        return stacked(parts)[self._by_place]


class Shard:
    """Rows with their scores.

    Parameters
    ----------
    numbers : Numbers
        What all shards have in common.
    memory : int
        Bytes for packed pages and dot products, beside the rows and their scores.
    n_threads : int
        Threads.
    folder : str, optional
        Where rows are kept; in memory by default.
    """

    def __init__(self, numbers: Numbers, memory: int = 0, n_threads: int = 1, folder: str | None = None) -> None:
        self.numbers, self.memory, self.n_threads = numbers, memory, n_threads
        self.folder = None if folder is None else Path(folder)
        self.kernel = numbers.kernel
        self.products: Products = self.kernel.products(numbers.traits)
        self.pages: dict[int, Page] = {}
        self.events = Events()
        self.n_confirmed = self.n_support = 0
        self.facts = {"products": 0.0, "working": 0.0, "waiting": 0.0, "pairs": 0.0}
        self._before: dict[int, tuple[Floats, int]] = {}  # pages without the events that may be taken back
        self._marked: list[Page] = []  # those with supports among these
        self._idle_since = time.perf_counter()

    # -- rows -------------------------------------------------------------------------------------------------------

    def take(self, places: Index, rows: Rows, codes: NDArray[Any]) -> None:
        """Add rows; those whose place is below 0 are left out."""
        mine = np.flatnonzero(places >= 0)
        if not len(mine):
            return
        places, rows, codes = places[mine], rows[mine], codes[mine].astype(np.int32)
        squares = self.products.squares(rows)
        number = places // self.numbers.page_size
        by_page = np.argsort(number, kind="stable")
        numbers, starts = np.unique(number[by_page], return_index=True)
        for p, part in zip(numbers.tolist(), np.split(by_page, starts[1:]), strict=True):
            if p not in self.pages:
                self.pages[p] = Page(None if self.folder is None else self.folder / f"page-{p}")
            self.pages[p].take(rows[part], places=places[part], codes=codes[part], squares=squares[part])

    def begin(self, none: Rows, weighted: bool) -> None:
        """Make ready, now that all rows are there; ``none`` is a matrix of their kind without rows."""
        for page in self.pages.values():
            page.close()
        self._order = sorted(self.pages)
        self._index = {p: i for i, p in enumerate(self._order)}
        n = len(self._order)
        self.width = padded(max((len(page.places) for page in self.pages.values()), default=1))
        self.F = np.zeros((n, self.numbers.n_vectors, self.width))
        self.seen = np.zeros(n, dtype=np.int64)
        self.codes = self._in_pages("codes", np.int32)
        self.diagonal, self.own = np.zeros((n, self.width)), np.zeros((n, self.kernel.n_terms, self.width))
        for i, p in enumerate(self._order):
            squares = self.pages[p].squares
            self.diagonal[i, : len(squares)] = self.kernel.diagonal(squares)
            self.own[i, :, : len(squares)] = self.kernel.terms(squares)
        margin = np.asarray(self.numbers.margin, dtype=np.float64)
        self.threshold = (margin[self.codes] if margin.ndim else margin) * self.diagonal
        store, squares = self.products.restore(none, np.empty(0, dtype=np.int64))
        self.events.store, self.events.terms = store, self.kernel.terms(squares)
        if weighted:
            self.events.take_weights()
        self._share_out()

    def _in_pages(self, name: str, dtype: Any) -> NDArray[Any]:
        out = np.zeros((len(self._order), self.width), dtype=dtype)
        for i, p in enumerate(self._order):
            values = getattr(self.pages[p], name)
            out[i, : len(values)] = values
        return out

    def _share_out(self) -> None:
        """Divide the memory: packed pages, then the cache of dot products."""
        n, left = len(self._order), self.memory
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
            rows = self.pages[self._order[i]].rows()
            block = KernelBlock(
                self.kernel, self.products, rows, np.arange(rows.shape[0]), self.own[i], self.cache, i
            )  # fmt: skip
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
        return Reply(wrong_at, candidates, dict(self.facts))

    def prepare(self, start: int, seconds: float) -> None:
        """Bring pages from a place on up to date with the events that stand: the first, and others while time lasts.

        Of the others those that lack many events: a few are added as fast with those that follow.
        """
        with self._working(), team(self.n_threads) as threads:
            until = time.perf_counter() + seconds
            for k, i in enumerate(self._pages_from(start)):
                if k == 0 or self.n_confirmed - self.seen[i] >= EVENTS_AT_ONCE:
                    self._catch_up(i, self.n_confirmed, threads)
                if time.perf_counter() > until:
                    break

    @contextmanager
    def _working(self) -> Iterator[None]:
        begun = time.perf_counter()
        self.facts["waiting"] += begun - self._idle_since
        try:
            yield
        finally:
            self._idle_since = time.perf_counter()
            self.facts["working"] += self._idle_since - begun

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
            for page in self._marked:
                page.slots[page.slots >= n_support] = -1
        self._before.clear()
        self._marked.clear()
        self.cache.note(self.events.slot.values[self.n_confirmed :])
        self.n_confirmed, self.n_support = n_confirmed, n_support

    def _add(self, events: NewEvents) -> None:
        if events.n_new:
            store, squares = self.products.restore(events.rows, np.empty(0, dtype=np.int64))
            self.events.add_supports(store, self.kernel.terms(squares))
        self.events.add(events.slots, events.firsts, events.vector, events.coefficients)
        number = events.places // self.numbers.page_size
        for p in np.unique(number[events.places >= 0]).tolist():
            if p in self.pages:
                page, mine = self.pages[p], number == p
                at = np.searchsorted(page.places, events.places[mine])
                found = page.places[np.minimum(at, len(page.places) - 1)] == events.places[mine]
                page.slots[at[found]] = events.slots[mine][found]
                self._marked.append(page)

    # -- scores -----------------------------------------------------------------------------------------------------

    def _pages_of(self, start: int, stop: int) -> list[int]:
        """Return the pages with places from ``start`` to ``stop`` - 1."""
        size = self.numbers.page_size
        low, high = np.searchsorted(self._order, [start // size, (stop - 1) // size + 1])
        return list(range(int(low), int(high)))

    def _pages_from(self, start: int) -> list[int]:
        """Return all pages, the one with this place or the next place that there is first."""
        low = int(np.searchsorted(self._order, start // self.numbers.page_size))
        return [*range(low, len(self._order)), *range(low)]

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
            self._set_aside(i, threads)
            wrong = self._add_checked(i, places, start, stop, threads)
            if len(wrong):
                found.append((i, wrong))
        return self._described(found, stop, {i: self._before[i][0] for i, _ in found}) if found else None

    def _add_checked(self, i: int, event_places: Index, start: int, stop: int, threads: Team) -> Index:
        page, block, begun = self.pages[self._order[i]], self._block(i), time.perf_counter()
        store, terms, slot = self.events.store, self.events.terms, self.events.slot.values
        assert store is not None
        starts, vector, coefficients = self.events.starts.values, self.events.vector.values, self.events.coefficients
        first, last = self.n_confirmed, self.events.n
        lowest, highest = np.searchsorted(page.places, [start, stop]).tolist()
        must_pack = not block.packed and block.needs_products(slot[first:last])
        wrong = np.zeros(len(page.places), dtype=np.bool_)

        def work(low: int, high: int) -> None:
            if must_pack:
                block.prepare(low, high)
            room, held = scratch("room", 2, self.width, np.float64), block.held
            r, end = max(low, lowest), min(high, highest)
            rows = page.places, self.codes[i], self.threshold[i]
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
        """Return the rows of an interval that are wrong, those that nearly are, and where it ends."""
        pages, ats, n_wrong, stop = list[int](), list[Index](), 0, look.stop
        margins: list[Floats] = []
        for i in self._pages_of(look.start, look.stop):
            self._set_aside(i, threads)
            self._catch_up(i, self.events.n, threads)
            places = self.pages[self._order[i]].places
            low, high = np.searchsorted(places, [look.start, stop]).tolist()
            margin = np.empty(high - low)
            _loops.smallest_margins(self.F[i], self.codes[i], self.threshold[i], low, high, margin)
            wrong = np.flatnonzero(margin <= 0)
            if n_wrong + len(wrong) > look.most:
                high = low + int(wrong[look.most - n_wrong])
                stop = int(places[high])
                margin, wrong = margin[: high - low], wrong[: look.most - n_wrong]
            n_wrong += len(wrong)
            pages.append(i)
            ats.append(np.arange(low, high))
            # scores move in feature space, with the root of the mistakes that come before a row
            reach = np.sqrt(self.diagonal[i, low:high] * (places[low:high] - look.start + 1.0))
            margins.append(np.where(margin <= 0, margin, margin / reach))
            if stop < look.stop:
                break
        n = n_wrong + max(FEWEST_NEARBY, int(look.nearby * n_wrong))
        return self._described(_smallest(pages, ats, margins, n), stop)

    def _described(
        self, rows: list[tuple[int, Index]], stop: int, scores: dict[int, Floats] | None = None
    ) -> Candidates:
        """Return what the walk must know of some rows of some pages, with the scores of now or others."""
        parts = [(i, self.pages[self._order[i]], at) for i, at in rows if len(at)]
        F = [(self.F[i] if scores is None else scores[i])[:, at] for i, _, at in parts]
        fresh = [self._block(i).rows_at(at[page.slots[at] < 0]) for i, page, at in parts]
        return Candidates(
            stop,
            _joined([page.places[at] for _, page, at in parts], np.int64),
            np.concatenate(F, axis=1) if parts else np.empty((self.numbers.n_vectors, 0)),
            _joined([page.squares[at] for _, page, at in parts], np.float64),
            _joined([page.slots[at] for _, page, at in parts], np.int64),
            stacked(fresh) if parts else np.empty((0, 0)),
        )


def _smallest(pages: list[int], ats: list[Index], margins: list[Floats], n: int) -> list[tuple[int, Index]]:
    """Return of rows of some pages the n with the smallest margins, page by page."""
    if not pages:
        return []
    chosen = np.zeros(sum(map(len, margins)), dtype=bool)
    chosen[np.argsort(np.concatenate(margins), kind="stable")[:n]] = True
    parts = np.split(chosen, np.cumsum([len(at) for at in ats])[:-1])
    return [(i, at[mine]) for i, at, mine in zip(pages, ats, parts, strict=True)]


def _joined(parts: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)
