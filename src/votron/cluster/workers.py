"""Shards on the workers of a Dask cluster, as actors; those that are lost are made again from the events.

Dask computes, places, moves and spills the chunks, carries the messages, and knows which workers are alive. It does not
bring back a lost actor, but the state of a shard follows from its rows and the events, which the walk has.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from votron._util.types import Array, Client, Floats, Index
from votron.cluster.actor import Segment, WorkerShard, part_of
from votron.cluster.client import odd_versions
from votron.cluster.messages import NewEvents, Numbers, Reply, Step
from votron.cluster.pool import Presented
from votron.errors import VotronError

if TYPE_CHECKING:
    from distributed import Future

LOOK_EVERY = 1.0
"""Seconds after which to look who has joined or gone."""
WAIT_FOR_WORKERS = "60s"
_MOST_LOSSES = 20
"""The most times that workers may be lost during one step."""


class Source(Protocol):
    """The owner of the chunks."""

    def futures(self, numbers: Sequence[int]) -> list[Future]:
        """Return futures of the chunks with these numbers, which are computed if need be."""

    def release(self) -> None:
        """Need them no more for now."""


class _Placed:
    """A shard on a worker: the future that keeps it, its actor, and its segments."""

    def __init__(self, future: Future, segments: list[Segment]) -> None:
        self.future, self.segments, self.actor = future, segments, future.result()
        self.address = str(self.actor._address)

    @property
    def is_known(self) -> bool:
        """Whether Dask has not reported its loss."""
        return self.future.status in ("finished", "pending")

    @property
    def n_rows(self) -> int:
        return sum(segment.n_rows for segment in self.segments)


class WorkerShards:
    """All shards of a run, on the workers of a client; ``memory_limit`` is that of one worker."""

    def __init__(
        self,
        client: Client,
        source: Source,
        segments: list[Segment],
        presented: Presented,
        numbers: Numbers,
        memory_limit: int | str = "auto",
    ) -> None:
        self.client, self.source, self.presented = client, source, presented
        self.numbers, self.memory_limit = numbers, memory_limit
        n_rows = max((segment.start + segment.n_rows for segment in segments), default=0)
        self._places = np.full(n_rows, -1, dtype=np.int64)
        self._places[presented.order] = np.arange(len(presented.order))
        self._unplaced, self.placed = segments, list[_Placed]()
        self._known, self._unsuited = set[str](), set[str]()
        self._looked = time.monotonic()
        self.n_lost = self.n_moved = 0

    def step(self, step: Step, log: Callable[[], NewEvents]) -> list[Reply]:
        """Send a step to all shards, and make those again that are lost."""
        replies: dict[_Placed, Reply] = {}
        for _ in range(_MOST_LOSSES):
            fresh = self._make_shards()
            if fresh:
                self.placed += fresh
                self._ask(fresh, "replay", log())
            replies |= self._ask([shard for shard in self.placed if shard not in replies], "step", step)
            if not self._unplaced:
                return [replies[shard] for shard in self.placed]
        raise VotronError(
            "Workers of the Dask cluster were lost time and again: give them more memory, or make the chunks of X "
            "smaller, and train again."
        )

    def settle(self) -> None:
        """Take rows from crowded workers for those that have none."""
        if time.monotonic() - self._looked < LOOK_EVERY:
            return
        for _ in set(self._workers()) - {shard.address for shard in self.placed}:
            at = [shard.address for shard in self.placed]
            crowded = max(self.placed, key=lambda shard: (at.count(shard.address), shard.n_rows))
            if at.count(crowded.address) == 1 and len(crowded.segments) < 2:
                return
            self._forget(crowded)
            self.n_moved += 1
            if not self.placed:
                return

    def close(self) -> None:
        """Let the workers forget their shards."""
        self.placed = []

    def _ask(self, shards: Sequence[_Placed], method: str, argument: object) -> dict[_Placed, Any]:
        """Return the answers of shards; those that are lost have none, and their rows are to be placed again."""
        answers, lost, calls = dict[_Placed, Any](), list[_Placed](), list[tuple[_Placed, Any]]()
        for shard in shards:
            if shard.is_known:
                calls.append((shard, getattr(shard.actor, method)(argument)))
            else:
                lost.append(shard)
        for shard, call in calls:
            try:
                answers[shard] = self._answer(shard, call)
            except OSError:  # nothing can be heard from its worker
                lost.append(shard)
        addresses = {shard.address for shard in lost}
        self.n_lost += len(addresses)
        self._unsuited |= addresses  # Dask may not have heard of it yet
        for shard in lost:
            self._forget(shard)
        return answers

    def _answer(self, shard: _Placed, call: Any) -> Any:
        while True:
            try:
                return call.result(timeout=LOOK_EVERY)
            except TimeoutError:  # some losses leave a call without an answer
                if not shard.is_known or shard.address not in self.client.nthreads():
                    raise

    def _forget(self, shard: _Placed) -> None:
        self.placed = [other for other in self.placed if other is not shard]
        self._unplaced = self._unplaced + shard.segments

    def _workers(self) -> list[str]:
        """Return the workers that are there; warn of those with other versions, which are left out."""
        self._looked = time.monotonic()
        there = set(self.client.nthreads())
        if there - self._known:
            odd = odd_versions(self.client)
            for address in sorted(there - self._known):
                if address in odd:
                    self._unsuited.add(address)
                    warnings.warn(f"A worker gets no rows: {odd[address]}", UserWarning, stacklevel=2)
            self._known |= there
        return sorted(there - self._unsuited)

    # -- making shards ----------------------------------------------------------------------------------------------

    def _make_shards(self) -> list[_Placed]:
        """Make shards of the rows that have none, where the fewest rows are."""
        if not self._unplaced:
            return []
        while not (workers := self._workers()):
            self._wait_for_workers()
        made = []
        for address, segments in self._shares(workers).items():
            where = {"workers": [address], "allow_other_workers": True, "pure": False}
            parts = [
                self.client.submit(part_of, chunk, self.numbers, segment, *self._of(segment), **where)
                for chunk, segment in zip(self._chunks_of(segments), segments, strict=True)
            ]
            shard = self.client.submit(WorkerShard, self.numbers, parts, self.memory_limit, actor=True, **where)
            made.append((shard, parts, segments))
        self._unplaced, found = [], []
        for shard, _, segments in made:
            try:
                found.append(_Placed(shard, segments))
            except RuntimeError as error:
                if "Actor was lost" not in str(error):
                    raise
                self._unplaced = self._unplaced + segments
        self.source.release()
        return found

    def _wait_for_workers(self) -> None:
        n = len(self.client.nthreads())
        try:
            self.client.wait_for_workers(n + 1, timeout=WAIT_FOR_WORKERS)
        except TimeoutError:
            raise VotronError(
                f"The Dask cluster has had no worker for {WAIT_FOR_WORKERS}: start some, and train again."
            ) from None

    def _chunks_of(self, segments: Sequence[Segment]) -> list[Future]:
        return self.source.futures([segment.chunk for segment in segments])

    def _shares(self, workers: list[str]) -> dict[str, list[Segment]]:
        """Return which rows go where: each to the worker that has it already, unless that has its share."""
        load = dict.fromkeys(workers, 0)
        for shard in self.placed:
            load[shard.address] = load.get(shard.address, 0) + shard.n_rows
        share = (sum(load.values()) + sum(segment.n_rows for segment in self._unplaced)) / len(workers)
        segments = sorted(self._unplaced, key=lambda segment: segment.start)
        chunks = self._chunks_of(segments)
        homes = self.client.who_has(chunks)
        found: dict[str, list[Segment]] = {}
        for chunk, segment in zip(chunks, segments, strict=True):
            near = [address for address in homes.get(chunk.key, ()) if address in workers]
            near = [address for address in near if load[address] + segment.n_rows / 2 <= share]
            home = min(near or workers, key=lambda address: (load[address], address))
            found.setdefault(home, []).append(segment)
            load[home] += segment.n_rows
        return found

    def _of(self, segment: Segment) -> tuple[Index, Array, Floats]:
        """Return the places and codes of a segment's rows, and x·x."""
        rows = slice(segment.start, segment.start + segment.n_rows)
        return self._places[rows], self.presented.codes[rows].astype(np.int32), self.presented.squares[rows]
