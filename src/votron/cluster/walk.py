"""The walk: the one place where mistakes are made, and the run that goes through the intervals in order.

For each interval the shards return candidates, rows that are wrong or nearly so, with their scores. They are walked in
order as a block is on one machine, on kernel values among themselves. The events that come of it go to all shards, with
the rows of new supports; each checks that its other rows of the interval were right when their turn came. Where one was
not, the walk goes on from there. So the record is that of the one-example-at-a-time algorithm.

The answer to the events of one interval holds the candidates of the next: an interval takes one round trip. Until the
next message comes, shards bring later rows up to date.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from votron._util.progress import Watcher
from votron._util.types import Index
from votron.cluster.messages import Look, NewEvents, Numbers, Reply, Step, size_of
from votron.cluster.pool import Pool, Presented, Tentative, WalkContext
from votron.engine.dual import DualTrainer, Limits, Mistakes, finite_bound, rounding_of
from votron.history import TrainingRun
from votron.products import RowStore

FEWEST_CANDIDATES, MOST_CANDIDATES = 2048, 4096
"""Candidates that an interval is to have, if there are so many: more where messages take long."""
BYTES_OF_CANDIDATES = 4 << 20
"""Fewer where their rows would take more than this of the client's memory."""
NEARBY, MORE_NEARBY, LESS_NEARBY = 0.3, 1.5, 0.93
"""The reach for candidates at first, and its factors: when one was missing, and when none was."""
LONGEST_WAY = 0.02
"""Seconds that a message and its answer are taken to be on their way at first."""


class Shards(Protocol):
    """All shards together, wherever they are."""

    def step(self, step: Step, log: Callable[[], NewEvents]) -> list[Reply]:
        """Send a step to all; ``log`` has all events that stand, for a shard that is made anew."""

    def settle(self) -> None:
        """Take in or share out what has changed, between steps."""


@dataclass
class ClusterTimings:
    """Time and bytes spent: by the walk, the messages, and each shard."""

    intervals: int = 0
    round_trips: int = 0
    candidates: int = 0
    walk_seconds: float = 0.0
    message_seconds: float = 0.0
    """From sending a step to the last answer, less the longest work of a shard on it."""
    bytes_sent: int = 0
    """To each shard."""
    bytes_received: int = 0
    shards: list[dict[str, float]] = field(default_factory=list)
    """Of each the seconds of products, of all work and of waiting, and the pairs that it multiplied."""
    workers: list[str] = field(default_factory=list)
    """The addresses of the shards."""
    lost: int = 0
    """Workers that were lost on the way."""
    moved: int = 0
    """Shards of which a part went to a worker that came."""


class ClusterRun:
    """One run over rows that are spread over shards; ``largest`` is the largest x·x of a row or support."""

    def __init__(
        self,
        trainer: DualTrainer,
        shards: Shards,
        numbers: Numbers,
        presented: Presented,
        largest: float,
        row_bytes: float = 0,
        n_threads: int = 1,
    ) -> None:
        self.trainer, self.shards, self.presented = trainer, shards, presented
        self.kernel, self.products = trainer.kernel, numbers.products
        if presented.weights is not None:
            trainer.events.take_weights()
        bound = finite_bound(self.kernel, largest)
        heaviest = np.abs(trainer.events.coefficients).max(initial=1.0)
        if presented.weights is not None:
            heaviest = max(heaviest, presented.weights.max(initial=1.0))
        self.limits = Limits(self.kernel, bound, rounding_of(self.kernel, self.products, bound), float(heaviest))
        old = numbers.none if trainer.support_rows is None else trainer.support_rows
        self.n_old, self.n_old_events = int(old.shape[0]), trainer.n_events
        self.support = RowStore(old)
        margin = trainer.n_vectors, trainer.margin
        self.context = WalkContext(self.kernel, self.products, *margin, presented, self.support, n_threads)
        self._event_places: list[Index] = [np.full(trainer.n_events, -1, dtype=np.int64)]
        self.account = ClusterTimings()
        room = max(16, int(BYTES_OF_CANDIDATES / max(1.0, row_bytes)))
        self.fewest, self.most = min(FEWEST_CANDIDATES, room), min(MOST_CANDIDATES, room)
        self.wanted = self.size = self.fewest
        self.nearby, self._rate = NEARBY, 1.0
        self._latency = LONGEST_WAY
        self._work: list[float] = []

    # -- the run ----------------------------------------------------------------------------------------------------

    def run(self, n_steps: int, watcher: Watcher | None = None) -> TrainingRun:
        """Present the rows for so many steps, or until a pass makes no mistake; as `DualTrainer.run` does."""
        trainer, n = self.trainer, len(self.presented.order)
        first, last_mistake, interrupted, start = trainer.time, trainer.time, False, 0
        replies = self._step(None, 0, 0, self._look(0, n, n_steps))
        pool = Pool(self.context, replies)
        while True:
            stop, done = pool.stop, trainer.time - first
            tentative = self._walk(pool, stop - start)
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
            pool = (
                Pool(self.context, replies) if wrong is None else pool.joined(Pool(self.context, replies, stop), wrong)
            )
        trainer.remember(self.support.rows[self.n_old :])
        self.account.shards = [reply.facts for reply in replies]
        return TrainingRun(trainer.time - first, trainer.time - last_mistake >= n, interrupted)

    def _look(self, start: int, n: int, left: int) -> Look:
        """Return where to look next: not beyond a pass, nor the last step."""
        stop, last = min(start + self.size, n, start + left), start + left
        later = ((stop, min(n, last)), (0, min(start, last - n)))
        most = 1 + int(1.25 * self.wanted / max(1, len(self._work)))
        nearby = self.nearby * math.sqrt(self._rate)  # scores move with the root of the mistakes that are made
        return Look(start, stop, most, nearby, tuple(part for part in later if part[0] < part[1]))

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

    def _walk(self, pool: Pool, n_places: int) -> Tentative | None:
        """Walk the pool of an interval of so many places; return its mistakes."""
        begun = time.perf_counter()
        found = pool.walked(self.trainer.norm2.copy(), self.support.n)
        self.account.intervals += 1
        self.account.candidates += pool.n
        self._n_candidates, self._walk_seconds = pool.n, time.perf_counter() - begun
        self._rate = max(1, 0 if found is None else len(found.firsts)) / n_places
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

    def _adapt(self, agreed: bool) -> None:
        """Choose the candidates of the next interval: as many as make the walk take as long as a message does."""
        self.nearby *= LESS_NEARBY if agreed else MORE_NEARBY
        if not agreed:
            return
        more = self._walk_seconds < self._latency
        self.wanted = int(np.clip(self.wanted * (1.25 if more else 0.8), self.fewest, self.most))
        longer = self.size * self.wanted / max(1, self._n_candidates)
        self.size = int(np.clip(longer, max(1, self.size // 2), 2 * self.size))
