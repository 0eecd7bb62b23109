"""Shards on the workers of a Dask cluster, as actors; those that are lost are made again from the events.

Dask computes, places, moves and spills the chunks, carries the messages, and knows which workers are alive. It does not
bring back a lost actor, but the state of a shard follows from its rows and the events, which the walk has.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from votron._util.resources import n_bytes, parse_memory_limit
from votron._util.types import Array, Floats, Index, Rows
from votron.cluster.client import odd_versions
from votron.cluster.shard import NewEvents, Numbers, Part, Reply, Shard, Step
from votron.cluster.walk import Presented
from votron.errors import VotronError

if TYPE_CHECKING:
    from votron.cluster.rows import SpreadRows

LOOK_EVERY = 1.0
"""Seconds after which to look who has joined or gone."""
WAIT_FOR_WORKERS = "60s"
_MOST_LOSSES = 20
"""The most times that workers may be lost during one step."""


class Chunk(NamedTuple):
    """A chunk by its number, and the places of its rows."""

    number: int
    places: Index


def part_of(rows: Rows, numbers: Numbers, chunk: Chunk, codes: Array, squares: Floats) -> Part:
    """Return a chunk with what is known of its rows, or refuse rows whose x·x has changed."""
    mine = chunk.places >= 0
    if rows.shape[0] != len(mine) or not np.array_equal(numbers.products.squares(rows)[mine], squares[mine]):
        raise VotronError(
            f"Chunk {chunk.number} of X has other rows than when it was first read: "
            "the chunks must give the same rows each time they are computed."
        )
    numbers.kernel.check(rows)
    return Part(rows, chunk.places, codes, squares)


class WorkerShard(Shard):
    """A shard that knows how much memory its worker has, and works ahead between messages."""

    def __init__(self, numbers: Numbers, parts: list[Part], memory_limit: int | str) -> None:
        from distributed import get_worker

        worker, used = get_worker(), sum(n_bytes(part.rows) for part in parts)
        memory = parse_memory_limit(memory_limit, data_bytes=used)
        if isinstance(memory_limit, str) and worker.memory_manager.memory_limit:
            memory = min(memory, worker.memory_manager.memory_limit // 4)
        super().__init__(numbers, parts, max(0, memory - used), worker.state.nthreads)
        self._pool, self._message = ThreadPoolExecutor(1), threading.Event()
        self._preparing: Future[None] | None = None

    def step(self, step: Step) -> Reply:
        """Do as a shard does, and work ahead until the next message."""
        if self._preparing is not None:
            self._message.set()
            self._preparing.result()
        reply = super().step(step)
        self._message.clear()
        self._preparing = self._pool.submit(self.prepare, self._message.is_set)
        return reply


class _Placed:
    """A shard on a worker: the future that keeps it, its actor, and its chunks."""

    def __init__(self, future: Any, chunks: list[Chunk]) -> None:
        self.future, self.chunks, self.actor = future, chunks, future.result()
        self.address = str(self.actor._address)
        self.n_rows = sum(len(chunk.places) for chunk in chunks)

    @property
    def is_known(self) -> bool:
        """Whether Dask has not reported its loss."""
        return self.future.status in ("finished", "pending")


class WorkerShards:
    """All shards of a run, on the workers of a client; ``memory_limit`` is that of one worker."""

    def __init__(
        self, rows: SpreadRows, chunks: list[Chunk], presented: Presented, numbers: Numbers, memory_limit: int | str
    ) -> None:
        self.client, self.rows, self.presented = rows.client, rows, presented
        self.numbers, self.memory_limit = numbers, memory_limit
        self._unplaced, self.placed = chunks, list[_Placed]()
        self._known, self._unsuited = set[str](), set[str]()
        self._looked = time.monotonic()
        self.n_lost = self.n_moved = 0

    def step(self, step: Step, log: Callable[[], NewEvents]) -> list[Reply]:
        """Send a step to all shards, and make those again that are lost."""
        replies: dict[_Placed, Reply] = {}
        for _ in range(_MOST_LOSSES):
            if self._unplaced:
                fresh = self._make_shards()
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
            crowded = max(self.placed, key=lambda shard: (at.count(shard.address), shard.n_rows), default=None)
            if crowded is None or (at.count(crowded.address) == 1 and len(crowded.chunks) < 2):
                return
            self._forget(crowded)
            self.n_moved += 1

    def _ask(self, shards: Sequence[_Placed], method: str, argument: object) -> dict[_Placed, Any]:
        """Return the answers of shards; those that are lost have none, and their rows are to be placed again."""
        answers, lost = dict[_Placed, Any](), [shard for shard in shards if not shard.is_known]
        calls = [(shard, getattr(shard.actor, method)(argument)) for shard in shards if shard not in lost]
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
        self._unplaced = self._unplaced + shard.chunks

    def _workers(self) -> list[str]:
        """Return the workers that are there; warn of those with other versions, which are left out."""
        self._looked = time.monotonic()
        there = set(self.client.nthreads())
        if not there <= self._known:
            for address, problem in odd_versions(self.client).items():
                self._unsuited.add(address)
                warnings.warn(f"A worker gets no rows: {problem}", UserWarning, stacklevel=2)
        self._known |= there
        return sorted(there - self._unsuited)

    def _make_shards(self) -> list[_Placed]:
        """Make shards of the rows that have none, where the fewest rows are."""
        while not (workers := self._workers()):
            try:
                self.client.wait_for_workers(len(self.client.nthreads()) + 1, timeout=WAIT_FOR_WORKERS)
            except TimeoutError:
                message = f"The Dask cluster has had no worker for {WAIT_FOR_WORKERS}: start some, and train again."
                raise VotronError(message) from None
        made = []
        for address, chunks in self._shares(workers).items():
            where = {"workers": [address], "allow_other_workers": True, "pure": False}
            parts = []
            for chunk, future in zip(chunks, self.rows.futures([chunk.number for chunk in chunks]), strict=True):
                known = self.presented.codes[chunk.places], self.presented.squares[chunk.places]
                parts.append(self.client.submit(part_of, future, self.numbers, chunk, *known, **where))
            shard = self.client.submit(WorkerShard, self.numbers, parts, self.memory_limit, actor=True, **where)
            made.append((shard, chunks))
        self._unplaced, found = [], []
        for shard, chunks in made:
            try:
                found.append(_Placed(shard, chunks))
            except RuntimeError as error:
                if "Actor was lost" not in str(error):
                    raise
                self._unplaced = self._unplaced + chunks
        self.rows.release()
        return found

    def _shares(self, workers: list[str]) -> dict[str, list[Chunk]]:
        """Return which chunks go where: each to a worker that has it, if that lacks rows."""
        load = dict.fromkeys(workers, 0)
        for shard in self.placed:
            load[shard.address] = load.get(shard.address, 0) + shard.n_rows
        chunks = sorted(self._unplaced, key=lambda chunk: chunk.number)
        share = (sum(load.values()) + sum(len(chunk.places) for chunk in chunks)) / len(workers)
        futures = self.rows.futures([chunk.number for chunk in chunks])
        homes = self.client.who_has(futures)
        found: dict[str, list[Chunk]] = {}
        for chunk, future in zip(chunks, futures, strict=True):
            near = [address for address in homes.get(future.key, ()) if address in workers]
            near = [address for address in near if load[address] + len(chunk.places) / 2 <= share]
            home = min(near or workers, key=lambda address: (load[address], address))
            found.setdefault(home, []).append(chunk)
            load[home] += len(chunk.places)
        return found
