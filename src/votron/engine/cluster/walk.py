"""The walk: the one place where mistakes are made, and the run that goes through the intervals in order.

For each interval the shards return candidates, rows that are wrong or nearly so, with their scores. They are walked in
order as a block is on one machine, on kernel values among themselves. The events that come of it go to all shards, with
the rows of new supports; each checks that its other rows of the interval were right when their turn came. Where one was
not, the walk goes on from there. So the record is that of the one-example-at-a-time algorithm.

The answer to the events of one interval holds the candidates of the next: an interval takes one round trip. Until the
next message comes, shards bring later rows up to date.
"""

from __future__ import annotations

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

FEWEST_CANDIDATES, MOST_CANDIDATES = 96, 1024
"""Candidates that an interval is to have: more where messages take long, since their values cost their square."""
LEAST_NEARBY, MOST_NEARBY = 0.5, 6.0
"""Rows that are nearly wrong, as a multiple of those that are wrong."""


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
        self.wanted, self.nearby, self.size = FEWEST_CANDIDATES, 1.0, page_size
        self._latency = 0.0
        self._work: list[float] = []

    # -- the run ----------------------------------------------------------------------------------------------------

    def run(self, n_steps: int, watcher: Watcher | None = None) -> TrainingRun:
        """Present the rows for so many steps, or until a pass makes no mistake; as `DualTrainer.run` does."""
        trainer, n = self.trainer, len(self.presented.order)
        first, last_mistake, interrupted, start = trainer.time, trainer.time, False, 0
        replies = self._step(None, 0, 0, self._look(0, n, n_steps))
        while True:
            stop = min(reply.candidates.stop for reply in replies if reply.candidates is not None)
            done = trainer.time - first
            self._prepare(stop % n)
            tentative = self._walk([r.candidates for r in replies if r.candidates is not None], stop)
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
            if wrong is not None or look is None:
                replies = self._step(None, 0, 0, self._look(start, n, n_steps - done))
        trainer.remember(self.support.rows[self.n_old :])
        self.account.shards = [reply.facts for reply in replies]
        return TrainingRun(trainer.time - first, trainer.time - last_mistake >= n, interrupted)

    def _look(self, start: int, n: int, left: int) -> Look:
        """Return where to look next: not beyond a pass, nor the last step."""
        return Look(start, min(start + self.size, n, start + left), 2 * self.wanted, self.nearby)

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
        latency = max(0.0, seconds - longest)
        self._latency = latency if not self._latency else 0.8 * self._latency + 0.2 * latency
        return replies

    def _log(self) -> NewEvents:
        """Return all events that stand."""
        events = self.trainer.events
        starts, places = events.starts.values[:-1], np.concatenate(self._event_places)
        return NewEvents(
            events.slot.values, starts, events.vector.values, events.coefficients, places, self.support.rows
        )

    # -- an interval ------------------------------------------------------------------------------------------------

    def _walk(self, parts: Sequence[Candidates], stop: int) -> Tentative | None:
        """Walk the candidates before ``stop``; return their mistakes."""
        begun = time.perf_counter()
        places = np.concatenate([part.places for part in parts])
        by_place = np.argsort(places, kind="stable")
        by_place = by_place[: np.searchsorted(places[by_place], stop)]
        places = places[by_place]
        slots = np.concatenate([part.slots for part in parts])[by_place]
        F = np.ascontiguousarray(np.concatenate([part.scores for part in parts], axis=1)[:, by_place])
        squares = np.concatenate([part.squares for part in parts])[by_place]
        codes = self.presented.codes[self.presented.order[places]].astype(np.int32)
        diagonal = self.kernel.diagonal(squares)
        margin = np.asarray(self.trainer.margin, dtype=np.float64)
        threshold = (margin[codes] if margin.ndim else margin) * diagonal
        found = None
        if _loops.find_mistakes(F, codes, threshold, 0, len(places), np.empty(len(places), dtype=np.int64)):
            rows = self._rows_of(parts, by_place, slots)
            found = self._mistakes(rows, F, codes, threshold, diagonal, squares, places, slots)
        self.account.intervals += 1
        self.account.candidates += len(places)
        self._n_candidates, self._walk_seconds = len(places), time.perf_counter() - begun
        self.account.walk_seconds += self._walk_seconds
        return found

    def _rows_of(self, parts: Sequence[Candidates], by_place: Index, slots: Index) -> Rows:
        """Return the candidates' rows: those that came with them, and supports."""
        fresh = [part.rows for part in parts if part.rows.shape[0]]
        all_slots = np.concatenate([part.slots for part in parts])
        number = np.cumsum(all_slots < 0) - 1  # of those that came, in the order they came
        known = np.unique(slots[slots >= 0])
        n_fresh = sum(part.shape[0] for part in fresh)
        pool = stacked([*fresh, *([self.support.rows[known]] if len(known) or not fresh else [])])
        return pool[np.where(slots < 0, number[by_place], n_fresh + np.searchsorted(known, slots))]

    def _mistakes(
        self,
        rows: Rows,
        F: Floats,
        codes: NDArray[np.int32],
        threshold: Floats,
        diagonal: Floats,
        squares: Floats,
        places: Index,
        slots: Index,
    ) -> Tentative:
        """Walk rows on their kernel values with each other."""
        n = len(places)
        every, terms = np.arange(n), self.kernel.terms(squares)
        K = np.ascontiguousarray(
            self.kernel.block_values(self.products, self.products.pack(rows, every), terms, rows, every, terms)
        )
        weights = self.presented.weights
        mine = np.empty(0) if weights is None else weights[self.presented.order[places]]
        room = n * self.trainer.n_vectors
        at, vector = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int32)
        score, norm2 = np.empty(room), np.empty(room)
        _, k = _loops.walk(
            F, codes, threshold, diagonal, mine, 0, n, every, K, self.trainer.norm2.copy(), 0, at, vector, score, norm2
        )
        at, vector = at[:k], vector[:k]
        signs = np.where(codes[at] == vector, 1.0, -1.0)
        coefficients: NDArray[Any] = signs * mine[at] if len(mine) else signs.astype(np.int8)
        firsts = np.flatnonzero(np.diff(at, prepend=-1))
        of_events = at[firsts]
        fresh = slots[of_events] < 0
        numbers = np.where(fresh, self.support.n + np.cumsum(fresh) - 1, slots[of_events])
        new = rows[of_events[fresh]]
        return Tentative(places[at], vector, coefficients, score[:k], norm2[:k], diagonal[at], numbers, firsts, new)

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
        """Choose how many candidates to ask for: intervals as long as makes the walk cost what the messages cost."""
        self.nearby = max(LEAST_NEARBY, 0.97 * self.nearby) if agreed else min(MOST_NEARBY, 1.5 * self.nearby)
        more = self._walk_seconds < self._latency
        self.wanted = int(np.clip(self.wanted * (1.25 if more else 0.8), FEWEST_CANDIDATES, MOST_CANDIDATES))
        longer = self.size * self.wanted / max(1, self._n_candidates)
        self.size = int(np.clip(longer, max(self.page_size, self.size // 2), 2 * self.size))
