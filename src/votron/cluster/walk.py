"""The walk: the one place where mistakes are made, and the run that goes through the intervals in order.

For each interval the shards return candidates, rows that are wrong or nearly so, with their scores. They are walked in
order as a block is on one machine, on kernel values among themselves. The events that come of it go to all shards, with
the rows of new supports; each checks that its other rows of the interval were right when their turn came. Where one was
not, the events before it stand, and the next interval begins there. So the record is that of the
one-example-at-a-time algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from votron._loops import dual as _loops
from votron._util.progress import Watcher
from votron._util.resources import Team, team
from votron._util.types import Array, Floats, Index, Rows
from votron.blocks import WORTH_A_THREAD, DotCache, KernelBlock, scratch
from votron.cluster.shard import Look, NewEvents, Numbers, Reply, Step, stacked
from votron.engine.dual import DualTrainer, Limits, Mistakes, finite_bound, rounding_of
from votron.history import TrainingRun
from votron.kernels import Kernel
from votron.products import BLOCK_MULTIPLE, Products, RowStore, padded

CANDIDATES = 2048
"""Candidates that an interval is to have, if there are so many."""
BYTES_OF_CANDIDATES = 4 << 20
"""Fewer where their rows would take more than this of the client's memory."""
NEARBY, MORE_NEARBY, LESS_NEARBY = 0.3, 1.5, 0.95
"""The reach for candidates at first, and its factors: when one was missing, and when none was."""
VALUES_AT_ONCE = 128
"""Candidates whose kernel values are made at a time: of those that are wrong later on, some will be right by then."""
_STRIDE = 1 << 16


class Shards(Protocol):
    """All shards together, wherever they are; ``log`` has all events that stand, for a shard that is made anew."""

    def step(self, step: Step, log: Callable[[], NewEvents]) -> list[Reply]: ...
    def settle(self) -> None: ...


class Presented(NamedTuple):
    """The rows of a run, by place: their names in the record, codes, x·x and weights."""

    names: Index
    codes: NDArray[np.int32]
    squares: Floats
    weights: Floats | None = None


@dataclass
class ClusterAccount:
    """The work of a run: messages, of each shard its worker and the pairs of rows multiplied, and what changed."""

    round_trips: int = 0
    workers: list[str] = field(default_factory=list)
    pairs: list[int] = field(default_factory=list)
    lost: int = 0
    """Workers that were lost on the way."""
    moved: int = 0
    """Shards of which a part went to a worker that came."""


class Found(NamedTuple):
    """The mistakes of an interval, which stand if all shards agree: its events, and of each mistake score and norm."""

    events: NewEvents
    score: Floats
    norm2: Floats

    def until(self, place: int, n_support: int) -> Found:
        """Return those before a place; new supports are numbered from ``n_support`` on."""
        slots, firsts, vector, coefficients, places, rows = self.events
        n = int(np.searchsorted(places, place))
        if n == len(places):
            return self
        k, n_new = int(firsts[n]), int(np.count_nonzero(slots[:n] >= n_support))
        events = NewEvents(slots[:n], firsts[:n], vector[:k], coefficients[:k], places[:n], rows[:n_new])
        return Found(events, self.score[:k], self.norm2[:k])


class Pool(NamedTuple):
    """The candidates of all shards, in order, up to where the first of these ends the interval."""

    stop: int
    places: Index
    F: Floats
    slots: Index
    rows: Rows

    @classmethod
    def of(cls, replies: Sequence[Reply], support: RowStore) -> Pool:
        """Put together what shards returned; the rows of supports are here already."""
        parts = [reply.candidates for reply in replies if reply.candidates is not None]
        stop = min(part.stop for part in parts)
        places, slots = (np.concatenate(each) for each in zip(*((p.places, p.slots) for p in parts), strict=True))
        by_place = np.argsort(places, kind="stable")
        by_place = by_place[: np.searchsorted(places[by_place], stop)]
        F = np.concatenate([part.scores for part in parts], axis=1)[:, by_place]
        number = np.cumsum(slots < 0) - 1  # of new rows, in the order they came
        known = np.unique(slots[slots >= 0])
        n_new, slots = int(number[-1]) + 1 if len(number) else 0, slots[by_place]
        kept = [support.rows[known]] if len(known) or not n_new else []
        fresh = [part.rows for part in parts if part.rows.shape[0]]
        at = np.where(slots < 0, number[by_place], n_new + np.searchsorted(known, slots))
        return cls(stop, places[by_place], np.ascontiguousarray(F), slots, stacked([*fresh, *kept])[at])


class ClusterRun:
    """One run over rows that are spread over shards."""

    def __init__(
        self,
        trainer: DualTrainer,
        shards: Shards,
        numbers: Numbers,
        presented: Presented,
        row_bytes: float = 0,
        n_threads: int = 1,
    ) -> None:
        self.trainer, self.shards, self.presented, self.n_threads = trainer, shards, presented, n_threads
        self.kernel, self.products = trainer.kernel, numbers.products
        old = numbers.none if trainer.support_rows is None else trainer.support_rows
        self.n_old, self.support = int(old.shape[0]), RowStore(old)
        largest = max(self.products.squares(old).max(initial=0.0), presented.squares.max(initial=0.0))
        bound = finite_bound(self.kernel, float(largest))
        heaviest = np.abs(trainer.events.coefficients).max(initial=1.0)
        if presented.weights is not None:
            trainer.events.take_weights()
            heaviest = max(heaviest, presented.weights.max(initial=1.0))
        self.limits = Limits(self.kernel, bound, rounding_of(self.kernel, self.products, bound), float(heaviest))
        self._event_places: list[Index] = [np.full(trainer.n_events, -1, dtype=np.int64)]
        self.account = ClusterAccount()
        self.wanted = self.size = min(CANDIDATES, max(16, int(BYTES_OF_CANDIDATES / max(1.0, row_bytes))))
        self.nearby, self._rate, self._n_shards = NEARBY, 1.0, 1

    def run(self, n_steps: int, watcher: Watcher | None = None) -> TrainingRun:
        """Present the rows for so many steps, or until a pass makes no mistake; as `DualTrainer.run` does."""
        trainer, n = self.trainer, len(self.presented.names)
        first = last_mistake = trainer.time
        start, interrupted = 0, False
        replies = self._step(None, 0, 0, self._look(0, n_steps))
        while True:
            pool = Pool.of(replies, self.support)
            found = self._walked(pool)
            left = n_steps - (trainer.time - first) - (pool.stop - start)
            replies = self._step(found, start, pool.stop, self._look(pool.stop % n, left))
            wrong = min((reply.wrong_at for reply in replies if reply.wrong_at is not None), default=None)
            reached = pool.stop if wrong is None else wrong
            if found is not None and self._confirm(found.until(reached, self.support.n), start):
                last_mistake = trainer.last_mistake
            trainer.time += reached - start
            self._adapt(pool, found, start, wrong is None)
            done = trainer.time - first
            if watcher is not None:
                watcher.update(done, (done - 1) // n + 1, trainer.n_mistakes)
                interrupted = watcher.should_stop()
            converged = trainer.time - last_mistake >= n
            if interrupted or done >= n_steps or (converged and done % n == 0):
                break
            self.shards.settle()
            start = reached % n
            if wrong is not None:
                replies = self._step(None, start, start, self._look(start, n_steps - done))
        trainer.remember(self.support.rows[self.n_old :])
        self.account.pairs = [reply.n_pairs for reply in replies]
        return TrainingRun(done, converged, interrupted)

    def _look(self, start: int, left: int) -> Look | None:
        """Return where to look next: not beyond a pass, nor the last step."""
        end = min(len(self.presented.names), start + left)
        most = 1 + int(1.25 * self.wanted / self._n_shards)
        nearby = self.nearby * math.sqrt(self._rate)  # scores move with the root of the mistakes that are made
        return Look(start, min(start + self.size, end), end, most, nearby) if left else None

    def _step(self, found: Found | None, start: int, stop: int, look: Look | None) -> list[Reply]:
        """Send a step to all shards."""
        events = None if found is None else found.events
        replies = self.shards.step(Step(self.trainer.n_events, self.support.n, events, start, stop, look), self._log)
        self._n_shards = len(replies)
        self.account.round_trips += 1
        return replies

    def _log(self) -> NewEvents:
        """Return all events that stand."""
        events, places = self.trainer.events, np.concatenate(self._event_places)
        columns = events.slot.values, events.starts.values[:-1], events.vector.values, events.coefficients
        return NewEvents(*columns, places, self.support.rows)

    def _confirm(self, found: Found, start: int) -> bool:
        """Write down mistakes that stand; return whether there are any."""
        trainer, presented = self.trainer, self.presented
        slots, firsts, vector, coefficients, places, rows = found.events
        self._event_places.append(places)
        at = np.repeat(places, np.diff(firsts, append=len(vector)))
        names, when = presented.names[at], trainer.time + (at - start) + 1
        diagonal = self.kernel.diagonal(presented.squares[at])
        self.limits.check(found.norm2, diagonal, names, trainer.n_mistakes)
        trainer.write(Mistakes(slots, firsts, names, vector, coefficients, when, found.score, found.norm2))
        trainer.norm2[vector] = found.norm2  # of several of a vector the last
        self.support.append(RowStore(rows), np.arange(rows.shape[0]))
        return len(at) > 0

    def _adapt(self, pool: Pool, found: Found | None, start: int, agreed: bool) -> None:
        """Choose the reach and the length of the next interval by those of this one."""
        self._rate = max(1, 0 if found is None else len(found.events.places)) / (pool.stop - start)
        self.nearby *= LESS_NEARBY if agreed else MORE_NEARBY
        longer = self.size * self.wanted / max(1, len(pool.places))
        self.size = int(np.clip(longer, max(1, self.size // 2), 2 * self.size))

    def _walked(self, pool: Pool) -> Found | None:
        """Walk the candidates of an interval in order; return their mistakes."""
        presented, n, n_vectors = self.presented, len(pool.places), len(pool.F)
        codes, squares = presented.codes[pool.places], presented.squares[pool.places]
        diagonal, margin = self.kernel.diagonal(squares), np.asarray(self.trainer.margin, dtype=np.float64)
        threshold = (margin[codes] if margin.ndim else margin) * diagonal
        wrong = np.empty(n, dtype=np.int64)
        if not _loops.find_mistakes(pool.F, codes, threshold, 0, n, wrong):
            return None
        weights = np.empty(0) if presented.weights is None else presented.weights[pool.places]
        at, vector = np.empty(n * n_vectors, dtype=np.int64), np.empty(n * n_vectors, dtype=np.int32)
        score, norms = np.empty(n * n_vectors), np.empty(n * n_vectors)
        norm2 = self.trainer.norm2.copy()
        with team(self.n_threads) as threads:
            values = _Values(self.kernel, self.products, pool.rows, squares, threads)
            F = np.zeros((n_vectors, values.width))
            F[:, :n] = pool.F
            r = k = 0
            while r < n:
                r, k = _loops.walk(
                    F, codes, threshold, diagonal, weights, r, n, values.row_of, values.K, norm2, k,
                    at, vector, score, norms,
                )  # fmt: skip
                if r < n:
                    values.fetch(wrong[: _loops.find_mistakes(F, codes, threshold, r, n, wrong)])
        at, vector = at[:k], vector[:k]
        signs = np.where(codes[at] == vector, 1.0, -1.0)
        coefficients: Array = signs * weights[at] if len(weights) else signs.astype(np.int8)
        firsts = np.flatnonzero(np.diff(at, prepend=-1))
        of_events = at[firsts]
        fresh = pool.slots[of_events] < 0
        slots = np.where(fresh, self.support.n + np.cumsum(fresh) - 1, pool.slots[of_events])
        new = pool.rows[of_events[fresh]]
        events = NewEvents(slots, firsts, vector, coefficients, pool.places[of_events], new)
        return Found(events, score[:k], norms[:k])


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
        threads.over(self.width, self._block.prepare)
        self.row_of, self.n = np.full(self.width, -1, dtype=np.int64), 0
        room = scratch("candidates", -(-n * self.width // _STRIDE), _STRIDE, np.float64)  # as other intervals have used
        self.K = room.reshape(-1)[: n * self.width].reshape(n, self.width)

    def fetch(self, wrong: Index) -> None:
        """Make the values of some candidates with those from the first of them on, as far as they are not there."""
        wanted = wrong[self.row_of[wrong] < 0][:VALUES_AT_ONCE]
        store, every = self.products.pack(self.rows, wanted), np.arange(len(wanted))
        terms = np.ascontiguousarray(self.terms[:, wanted])
        low = int(wrong[0]) // BLOCK_MULTIPLE * BLOCK_MULTIPLE
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
