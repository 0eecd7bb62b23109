"""The walk: the one place where mistakes are made, and the run that goes through the intervals in order.

For each interval the shards return candidates, rows that are wrong or nearly so, with their scores. They are walked in
order as a block is on one machine, on kernel values among themselves. The events that come of it go to all shards, with
the rows of new supports; each checks that its other rows of the interval were right when their turn came. Where one was
not, the walk goes on from there. So the record is that of the one-example-at-a-time algorithm.

The answer to the events of one interval holds the candidates of the next: an interval takes one round trip. Until the
next message comes, shards bring later rows up to date.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from votron._loops import dual as _loops
from votron._types import Floats, Index, Rows
from votron.engine.cluster.messages import Candidates, Look, NewEvents, Reply, Step, size_of
from votron.engine.cluster.shard import stacked
from votron.engine.dual import DualTrainer, Limits, Mistakes, finite_bound, rounding_of
from votron.engine.run import TrainingRun, Watcher
from votron.products import RowStore, Traits

FEWEST_CANDIDATES, MOST_CANDIDATES = 96, 512
"""Candidates that an interval is to have: more where messages take long, since their values cost their square."""
LONGEST_WAY = 0.02
"""Seconds that a message and its answer are taken to be on their way at first."""


class Shards(Protocol):
    """All shards together, wherever they are."""

    def step(self, step: Step, log: Callable[[], NewEvents]) -> list[Reply]:
        """Send a step to all; ``log`` has all events that stand, for a shard that is made anew."""

    def prepare(self, start: int, seconds: float) -> None:
        """Let them bring rows from a place on up to date while they would wait."""

    def settle(self) -> None:
        """Take in or share out what has changed, between steps."""


@dataclass(frozen=True)
class Presented:
    """The rows of a run in the order of presentation: their numbers, and by number their codes, names and weights."""

    order: Index
    codes: NDArray[np.int64]
    ids: Index | None = None
    weights: Floats | None = None

    def names(self, places: Index) -> Index:
        """Return the names of rows in the record."""
        rows = self.order[places]
        return rows if self.ids is None else self.ids[rows]


class Tentative(NamedTuple):
    """Mistakes that stand if all shards agree: of each its place, vector, score and length."""

    places: Index
    vector: NDArray[np.int32]
    coefficients: NDArray[Any]
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


@dataclass
class Account:
    """Where time and bytes went: of the walk, of the messages, and of each shard."""

    intervals: int = 0
    round_trips: int = 0
    candidates: int = 0
    walk_seconds: float = 0.0
    message_seconds: float = 0.0
    """From sending a step to the last answer, less the longest work of a shard on it."""
    step_seconds: float = 0.0
    """The longest work of a shard on each step."""
    bytes_sent: int = 0
    """To each shard."""
    bytes_received: int = 0
    shards: list[dict[str, float]] = field(default_factory=list)
    """Of each the seconds of products, of all work and of waiting, and the pairs that it multiplied."""
    workers: list[str] = field(default_factory=list)
    """Where the shards are."""
    lost: int = 0
    """Workers that were lost on the way."""
    moved: int = 0
    """Shards of which a part went to a worker that came."""


class Pool:
    """The candidates of an interval, in order, with their scores before it.

    Parameters
    ----------
    run : ClusterRun
        Whose they are.
    replies : sequence of Reply
        Those that hold candidates.
    stop : int, optional
        Where the interval ends; by default where the first shard ends it.
    """

    def __init__(self, run: ClusterRun, replies: Sequence[Reply], stop: int | None = None) -> None:
        # of an interval that has to be walked again, only rows that were wrong
        wrong = stop is not None
        parts = [r.candidates for r in replies if r.candidates is not None and (r.wrong_at is not None) == wrong]
        self.run, self.stop = run, min(part.stop for part in parts) if stop is None else stop
        places = np.concatenate([part.places for part in parts])
        by_place = np.argsort(places, kind="stable")
        by_place = by_place[: np.searchsorted(places[by_place], self.stop)]
        self.places = places[by_place]
        self.slots = np.concatenate([part.slots for part in parts])[by_place]
        self.F = np.ascontiguousarray(np.concatenate([part.scores for part in parts], axis=1)[:, by_place])
        self.squares = np.concatenate([part.squares for part in parts])[by_place]
        self.rows = run.rows_of(parts, by_place, self.slots)

    @property
    def n(self) -> int:
        """How many."""
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
        run, n = self.run, self.n
        rows = run.presented.order[self.places]
        codes = run.presented.codes[rows].astype(np.int32)
        diagonal = run.kernel.diagonal(self.squares)
        margin = np.asarray(run.trainer.margin, dtype=np.float64)
        threshold = (margin[codes] if margin.ndim else margin) * diagonal
        if not _loops.find_mistakes(F, codes, threshold, 0, n, np.empty(n, dtype=np.int64)):
            return None
        weights = np.empty(0) if run.presented.weights is None else run.presented.weights[rows]
        every, terms = np.arange(n), run.kernel.terms(self.squares)
        store = run.products.pack(self.rows, every)
        K = np.ascontiguousarray(run.kernel.block_values(run.products, store, terms, self.rows, every, terms))
        room = n * run.trainer.n_vectors
        at, vector = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int32)
        score, norms = np.empty(room), np.empty(room)
        _, k = _loops.walk(
            F, codes, threshold, diagonal, weights, 0, stop, every, K, norm2, 0, at, vector, score, norms
        )
        at, vector = at[:k], vector[:k]
        signs = np.where(codes[at] == vector, 1.0, -1.0)
        coefficients: NDArray[Any] = signs * weights[at] if len(weights) else signs.astype(np.int8)
        return at, vector, coefficients, score[:k], norms[:k], diagonal[at]


class ClusterRun:
    """One run over rows that are spread over shards.

    Parameters
    ----------
    trainer : DualTrainer
        Has the events so far, and gets those of the run.
    shards : Shards
        Who has the rows.
    traits : Traits
        Of all rows, those of the trainer's supports included.
    none : matrix
        One of the rows' kind without rows.
    presented : Presented
        The rows.
    largest : float
        The largest x·x of a row or support.
    page_size : int
        Places in a page.
    """

    def __init__(
        self,
        trainer: DualTrainer,
        shards: Shards,
        traits: Traits,
        none: Rows,
        presented: Presented,
        largest: float,
        page_size: int,
    ) -> None:
        self.trainer, self.shards, self.presented, self.page_size = trainer, shards, presented, page_size
        self.kernel = trainer.kernel
        self.products = self.kernel.products(traits)
        if presented.weights is not None:
            trainer.events.take_weights()
        bound = finite_bound(self.kernel, largest)
        heaviest = np.abs(trainer.events.coefficients).max(initial=1.0)
        if presented.weights is not None:
            heaviest = max(heaviest, presented.weights.max(initial=1.0))
        self.limits = Limits(self.kernel, bound, rounding_of(self.kernel, self.products, bound), float(heaviest))
        old = none if trainer.support_rows is None else trainer.support_rows
        self.n_old, self.n_old_events = int(old.shape[0]), trainer.n_events
        self.support = RowStore(old)
        self._event_places: list[Index] = [np.full(trainer.n_events, -1, dtype=np.int64)]
        self.account = Account()
        self.wanted, self.size = FEWEST_CANDIDATES, page_size
        self._latency = LONGEST_WAY
        self._work: list[float] = []

    # -- the run ----------------------------------------------------------------------------------------------------

    def run(self, n_steps: int, watcher: Watcher | None = None) -> TrainingRun:
        """Present the rows for so many steps, or until a pass makes no mistake; as `DualTrainer.run` does."""
        trainer, n = self.trainer, len(self.presented.order)
        first, last_mistake, interrupted, start = trainer.time, trainer.time, False, 0
        replies = self._step(None, 0, 0, self._look(0, n, n_steps))
        pool = Pool(self, replies)
        while True:
            stop, done = pool.stop, trainer.time - first
            self._prepare(stop % n)
            tentative = self._walk(pool)
            left = n_steps - done - (stop - start)
            look = self._look(stop % n, n, left) if left else None
            replies = self._step(tentative, start, stop, look)
            wrong = min((reply.wrong_at for reply in replies if reply.wrong_at is not None), default=None)
            reached = stop if wrong is None else wrong
            if tentative is not None and self._confirm(tentative.until(reached), start):
                last_mistake = int(trainer._when.values[-1])
            trainer.time += reached - start
            self._adapt(wrong is None)
            done = trainer.time - first
            if watcher is not None:
                watcher.update(done, (done - 1) // n + 1, trainer.n_mistakes)
                interrupted = watcher.should_stop()
            converged = trainer.time - last_mistake >= n and done % n == 0
            if interrupted or done >= n_steps or converged:
                break
            self.shards.settle()
            start = reached % n
            pool = Pool(self, replies) if wrong is None else pool.joined(Pool(self, replies, stop), wrong)
        trainer.remember(self.support.rows[self.n_old :])
        self.account.shards = [reply.facts for reply in replies]
        return TrainingRun(trainer.time - first, trainer.time - last_mistake >= n, interrupted)

    def _look(self, start: int, n: int, left: int) -> Look:
        """Return where to look next: not beyond a pass, nor the last step."""
        return Look(start, min(start + self.size, n, start + left), 2 * self.wanted)

    def _step(self, tentative: Tentative | None, start: int, stop: int, look: Look | None) -> list[Reply]:
        """Send a step to all shards, and write down what it cost."""
        events = None if tentative is None else tentative.events()
        step = Step(self.trainer.n_events, self.support.n, events, start, stop, look)
        begun = time.perf_counter()
        replies = self.shards.step(step, self._log)
        seconds, before = time.perf_counter() - begun, self._work
        self._work = [reply.facts["working"] for reply in replies]
        longest = max((b - a for a, b in zip(before, self._work, strict=False)), default=0.0)
        account = self.account
        account.round_trips += 1
        account.step_seconds += min(longest, seconds)
        account.message_seconds += max(0.0, seconds - longest)
        account.bytes_sent += size_of(step)
        account.bytes_received += sum(size_of(reply) for reply in replies)
        self._latency = min(max(0.0, seconds - longest), 1.05 * self._latency)  # the way, not what lies on it
        return replies

    def _log(self) -> NewEvents:
        """Return all events that stand."""
        events = self.trainer.events
        starts, places = events.starts.values[:-1], np.concatenate(self._event_places)
        return NewEvents(
            events.slot.values, starts, events.vector.values, events.coefficients, places, self.support.rows
        )

    # -- an interval ------------------------------------------------------------------------------------------------

    def rows_of(self, parts: Sequence[Candidates], by_place: Index, slots: Index) -> Rows:
        """Return candidates' rows: those that came with them, and supports."""
        fresh = [part.rows for part in parts if part.rows.shape[0]]
        all_slots = np.concatenate([part.slots for part in parts])
        number = np.cumsum(all_slots < 0) - 1  # of those that came, in the order they came
        known = np.unique(slots[slots >= 0])
        n_fresh = sum(part.shape[0] for part in fresh)
        pool = stacked([*fresh, *([self.support.rows[known]] if len(known) or not fresh else [])])
        return pool[np.where(slots < 0, number[by_place], n_fresh + np.searchsorted(known, slots))]

    def _walk(self, pool: Pool) -> Tentative | None:
        """Walk a pool; return its mistakes."""
        begun = time.perf_counter()
        found = pool.walked(self.trainer.norm2.copy(), self.support.n)
        self.account.intervals += 1
        self.account.candidates += pool.n
        self._n_candidates, self._walk_seconds = pool.n, time.perf_counter() - begun
        self.account.walk_seconds += self._walk_seconds
        return found

    def _confirm(self, mistakes: Tentative, start: int) -> int:
        """Write down mistakes that stand; return how many."""
        trainer, n = self.trainer, len(mistakes.places)
        if not n:
            return 0
        names = self.presented.names(mistakes.places)
        self.limits.check(mistakes.norm2, mistakes.diagonal, names, trainer.n_mistakes)
        when = trainer.time + (mistakes.places - start) + 1
        columns = names, mistakes.vector, mistakes.coefficients, when, mistakes.score, mistakes.norm2
        trainer.write(Mistakes(mistakes.slots, mistakes.firsts, *columns))
        trainer.norm2[mistakes.vector] = mistakes.norm2  # of several of a vector the last
        self.support.append(RowStore(mistakes.rows), np.arange(mistakes.rows.shape[0]))
        self._event_places.append(mistakes.places[mistakes.firsts])
        return n

    # -- how far to look --------------------------------------------------------------------------------------------

    def _prepare(self, start: int) -> None:
        """Let shards work ahead for as long as they would wait: the walk, and the way of the messages."""
        self.shards.prepare(start, self.account.walk_seconds / max(1, self.account.intervals) + self._latency)

    def _adapt(self, agreed: bool) -> None:
        """Choose the length of the next interval: as long as makes the walk cost half of what a message costs."""
        if not agreed:
            return
        more = self._walk_seconds < self._latency / 2
        self.wanted = int(np.clip(self.wanted * (1.25 if more else 0.8), FEWEST_CANDIDATES, MOST_CANDIDATES))
        longer = self.size * self.wanted / max(1, self._n_candidates)
        self.size = int(np.clip(longer, max(self.page_size, self.size // 2), 2 * self.size))
