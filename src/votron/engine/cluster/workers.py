"""Shards on the workers of a Dask cluster, as actors; those that are lost are made again from the events.

Dask computes the chunks, places, moves and spills them, carries the messages, and tells who is there. An actor is the
fastest way to send it a message; Dask does not bring a lost one back, but its state is a function of its rows and of
the events, which the walk has. So nothing else is kept for the case of loss, and a worker that comes late is brought up
to date in the same way.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._resources import parse_memory_limit
from votron._types import Index, Rows
from votron.engine.cluster.messages import NewEvents, Numbers, Reply, Step
from votron.engine.cluster.shard import Shard
from votron.engine.cluster.walk import Presented
from votron.errors import VotronError

LOST_AFTER = "30s"
"""How long a worker may be silent before it counts as lost; ``dask.config.set({"votron.lost-after": ...})`` sets it."""
ASK_EVERY = 1.0
"""Seconds after which it is asked who is there, while an answer is missing; and whether somebody has come."""
_LOST = ("KilledWorker", "CancelledError", "FutureCancelledError")  # what Dask says of tasks whose worker is gone
SEGMENTS = 4
"""Into how many parts the rows of a worker are divided at least, so that a part of them can go to another."""


def digest_of(rows: Rows) -> str:
    """Return the SHA-256 of rows, by which they are known when they are read again."""
    parts = (rows.indptr, rows.indices, rows.data) if sp.issparse(rows) else (rows,)
    found = hashlib.sha256(f"{rows.shape} {rows.dtype}".encode())
    for part in parts:
        found.update(np.ascontiguousarray(part).data)
    return found.hexdigest()


@dataclass(frozen=True)
class Segment:
    """Rows ``low`` to ``high`` - 1 of a chunk; in the whole of the data they begin at row ``start``."""

    chunk: int
    low: int
    high: int
    start: int
    digest: str

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return self.high - self.low


class Source(Protocol):
    """Who has the chunks."""

    def futures(self, numbers: Sequence[int]) -> list[Any]:
        """Return futures of the chunks with these numbers, which are computed if need be."""

    def release(self) -> None:
        """Need them no more for now."""


class WorkerShard(Shard):
    """A shard on a worker of Dask, which knows how much memory it may use."""

    def __init__(self, numbers: Numbers, memory_limit: int | str, n_bytes: int) -> None:
        from distributed import get_worker

        worker = get_worker()
        memory = parse_memory_limit(memory_limit, data_bytes=n_bytes)
        if isinstance(memory_limit, str) and worker.memory_manager.memory_limit:
            memory = min(memory, worker.memory_manager.memory_limit // 4)
        self._folder = None
        if n_bytes > memory // 2:
            self._folder = tempfile.TemporaryDirectory(dir=worker.local_directory, prefix="votron-")
        left = 0 if self._folder is not None else memory - n_bytes
        super().__init__(numbers, left, worker.state.nthreads, None if self._folder is None else self._folder.name)


def _deliver(shard: Any, rows: Rows, segment: Segment, places: Index, codes: NDArray[Any]) -> None:
    """Give a shard a segment of a chunk, with places and codes, if it is what it was."""
    part = rows[segment.low : segment.high]
    if digest_of(part) != segment.digest:
        raise VotronError(
            f"Chunk {segment.chunk} of X has other rows than when it was first read, so that training cannot go "
            "on as it began: the chunks must give the same rows each time they are computed."
        )
    shard.take(places, part, codes).result()


class _Held:
    """A shard that is somewhere: its actor, its worker and its segments."""

    def __init__(self, future: Any, address: str, segments: list[Segment]) -> None:
        self.future, self.address, self.segments = future, address, segments
        self.actor: Any = None

    @property
    def n_rows(self) -> int:
        return sum(segment.n_rows for segment in self.segments)


class LostShardsError(Exception):
    """Some workers have gone."""

    def __init__(self, addresses: Iterable[str]) -> None:
        self.addresses = set(addresses)
        super().__init__(f"lost: {', '.join(sorted(self.addresses))}")


class WorkerShards:
    """All shards of a run, on the workers of a client.

    Parameters
    ----------
    client : distributed.Client
        The client.
    source : Source
        Has the chunks.
    segments : list of Segment
        All rows.
    presented : Presented
        Their order and codes.
    numbers : Numbers
        What all shards have in common.
    none : matrix
        One of the rows' kind without rows.
    row_bytes : float
        Memory of a row.
    memory_limit : int or str
        Memory that a worker may use beside the chunks.
    """

    def __init__(
        self,
        client: Any,
        source: Source,
        segments: list[Segment],
        presented: Presented,
        numbers: Numbers,
        none: Rows,
        *,
        row_bytes: float,
        memory_limit: int | str = "auto",
    ) -> None:
        import dask
        from dask.utils import parse_timedelta

        self.client, self.source, self.numbers, self.none = client, source, numbers, none
        self.row_bytes, self.memory_limit, self.presented = row_bytes, memory_limit, presented
        self.lost_after = float(parse_timedelta(dask.config.get("votron.lost-after", LOST_AFTER)))
        n_rows = max((segment.start + segment.n_rows for segment in segments), default=0)
        self._places = np.full(n_rows, -1, dtype=np.int64)
        self._places[presented.order] = np.arange(len(presented.order))
        self._seen: dict[str, tuple[float, float]] = {}
        self._asked = time.monotonic()
        self._fresh: list[_Held] = []
        self.held: list[_Held] = []
        self.n_lost = self.n_moved = 0
        self._homeless = segments

    # -- messages ---------------------------------------------------------------------------------------------------

    def step(self, step: Step, log: Callable[[], NewEvents]) -> list[Reply]:
        """Send a step to all shards, and make those again that are lost."""
        replies: dict[_Held, Reply] = {}
        while True:
            try:
                self._house(log)
                waiting = [held for held in self.held if held not in replies]
                self._ask("step", waiting, step, into=replies)
                return [replies[held] for held in self.held]
            except LostShardsError as lost:
                self._bury(lost.addresses)

    def prepare(self, start: int, seconds: float) -> None:
        """Let shards work ahead; nobody waits for that."""
        for held in self.held:
            if held.future.status == "finished":
                held.actor.prepare(start, seconds)

    def settle(self) -> None:
        """Give a part of the rows to workers that have none."""
        if time.monotonic() - self._asked < ASK_EVERY:
            return
        idle = sorted(set(self._workers()) - {held.address for held in self.held})
        for _ in idle:
            crowded = max(self.held, key=lambda held: (self._n_at(held.address), held.n_rows))
            if self._n_at(crowded.address) == 1 and len(crowded.segments) < 2:
                return
            self.held.remove(crowded)
            self._homeless = self._homeless + crowded.segments
            self.n_moved += 1

    def close(self) -> None:
        """Let the workers forget their shards."""
        self.held, self._fresh = [], []

    def _n_at(self, address: str) -> int:
        return sum(held.address == address for held in self.held)

    def _ask(self, method: str, whom: Sequence[_Held], *arguments: Any, into: dict[_Held, Any] | None = None) -> None:
        """Call a method of shards, and wait for all answers or the loss of a worker."""
        calls = [(held, self._called(held, method, *arguments)) for held in whom]
        answers = {} if into is None else into
        lost = set()
        for held, call in calls:
            try:
                answers[held] = self._answer(held, call)
            except LostShardsError as error:
                lost |= error.addresses
        if lost:
            raise LostShardsError(lost)

    def _called(self, held: _Held, method: str, *arguments: Any) -> Any:
        try:
            return getattr(held.actor, method)(*arguments)
        except (RuntimeError, OSError):  # Dask knows already
            return None

    def _answer(self, held: _Held, call: Any) -> Any:
        """Wait for an answer, as long as the worker is there and gives signs of life."""
        if call is None:
            raise LostShardsError([held.address])
        while True:
            try:
                return call.result(timeout=ASK_EVERY)
            except VotronError:
                raise
            except TimeoutError:
                if self._is_lost(held):
                    raise LostShardsError([held.address]) from None
            except Exception as error:
                if isinstance(error, OSError) or type(error).__name__ in _LOST or self._is_lost(held):
                    raise LostShardsError([held.address]) from None
                raise

    def _is_lost(self, held: _Held) -> bool:
        return held.address not in self._workers() or held.future.status not in ("pending", "finished")

    # -- who is there -----------------------------------------------------------------------------------------------

    def _workers(self) -> list[str]:
        """Return the workers that are there, and have given signs of life lately."""
        self._asked = now = time.monotonic()
        self._check_client()
        try:
            workers = self.client.scheduler_info()["workers"]
        except (OSError, RuntimeError) as error:
            raise _gone(self.client) from error
        for address, facts in workers.items():
            last_seen, heard = self._seen.get(address, (None, now))
            if facts["last_seen"] != last_seen:
                heard = now
            self._seen[address] = facts["last_seen"], heard
        return [address for address in workers if now - self._seen[address][1] <= self.lost_after]

    def _check_client(self) -> None:
        """Refuse to go on without a scheduler."""
        if self.client.status != "running":
            raise _gone(self.client)

    def _bury(self, addresses: set[str]) -> None:
        """Give up the shards of workers that are lost; what they held will be made again."""
        time.sleep(0.1)  # workers go with their scheduler: the client is about to hear of that
        self._check_client()
        self.n_lost += len(addresses)
        for address in addresses:
            self._remove(address)
        for held in [held for held in [*self.held, *self._fresh] if held.address in addresses]:
            self._homeless = self._homeless + held.segments
        self.held = [held for held in self.held if held.address not in addresses]
        self._fresh = [held for held in self._fresh if held.address not in addresses]

    def _remove(self, address: str) -> None:
        """Tell the scheduler that a silent worker is lost, so that it asks others for what that one has."""

        async def remove(dask_scheduler: Any) -> str:
            return str(await dask_scheduler.remove_worker(address, stimulus_id=f"votron-lost-{time.time()}"))

        try:
            self.client.run_on_scheduler(remove)
        except (OSError, RuntimeError) as error:
            raise _gone(self.client) from error

    def _anybody(self) -> list[str]:
        """Return the workers that are there, or wait for some as long as one may be silent."""
        until = time.monotonic() + self.lost_after
        while not (workers := self._workers()):
            if time.monotonic() > until:
                raise VotronError(
                    f"The Dask cluster at {_address(self.client)} has had no worker for {self.lost_after:g} seconds: "
                    "start some, and train again."
                )
            time.sleep(min(ASK_EVERY, 0.2))
        return workers

    # -- making shards ----------------------------------------------------------------------------------------------

    def _house(self, log: Callable[[], NewEvents]) -> None:
        """Make shards of the rows that have none, where the fewest rows are, and bring them up to date."""
        if not self._homeless:
            return
        workers = self._anybody()
        for address, segments in self._shares(workers).items():
            n_bytes = int(self.row_bytes * sum(segment.n_rows for segment in segments))
            future = self.client.submit(
                WorkerShard, self.numbers, self.memory_limit, n_bytes,
                actor=True, workers=[address], allow_other_workers=False, pure=False,
            )  # fmt: skip
            self._fresh.append(_Held(future, address, segments))
        self._homeless = []
        self._fill(self._fresh)
        events = log()
        self._ask("begin", self._fresh, self.none, self.presented.weights is not None)
        self._ask("replay", self._fresh, events)
        self.held, self._fresh = self.held + self._fresh, []

    def _shares(self, workers: list[str]) -> dict[str, list[Segment]]:
        """Return which rows go where: each to the worker that has it already, unless that has its share."""
        load = dict.fromkeys(workers, 0)
        for held in self.held:
            load[held.address] = load.get(held.address, 0) + held.n_rows
        share = (sum(load.values()) + sum(segment.n_rows for segment in self._homeless)) / len(workers)
        homes = self._who_has(sorted({segment.chunk for segment in self._homeless}))
        found: dict[str, list[Segment]] = {}
        for segment in sorted(self._homeless, key=lambda segment: segment.start):
            near = [address for address in homes.get(segment.chunk, ()) if address in load]
            near = [address for address in near if load[address] + segment.n_rows / 2 <= share]
            home = min(near or workers, key=lambda address: (load[address], address))
            found.setdefault(home, []).append(segment)
            load[home] += segment.n_rows
        return found

    def _who_has(self, numbers: list[int]) -> dict[int, Sequence[str]]:
        futures = dict(zip(numbers, self.source.futures(numbers), strict=True))
        who = self.client.who_has(list(futures.values()))
        return {number: who.get(future.key, ()) for number, future in futures.items()}

    def _fill(self, fresh: Sequence[_Held]) -> None:
        """Deliver rows to shards."""
        tasks: list[tuple[_Held, Any]] = []
        for held in fresh:
            numbers = sorted({segment.chunk for segment in held.segments})
            chunks = dict(zip(numbers, self.source.futures(numbers), strict=True))
            for segment in held.segments:
                task = self._submit(_deliver, held, chunks[segment.chunk], segment, *self._of(segment))
                tasks.append((held, task))
        for held, task in tasks:
            self._answer(held, task)
        self.source.release()
        for held in fresh:
            held.actor = self._answer(held, held.future)

    def _submit(self, function: Callable[..., Any], held: _Held, *arguments: Any) -> Any:
        return self.client.submit(
            function, held.future, *arguments, workers=[held.address], allow_other_workers=False, pure=False
        )

    def _of(self, segment: Segment) -> tuple[Index, NDArray[Any]]:
        """Return the places and codes of a segment's rows."""
        rows = slice(segment.start, segment.start + segment.n_rows)
        return self._places[rows], self.presented.codes[rows].astype(np.int32)


def _address(client: Any) -> str:
    return str(getattr(client.scheduler, "address", "?"))


def _gone(client: Any) -> VotronError:
    if client.status in ("closed", "closing"):
        return VotronError("The Dask client was closed during training, which has ended: train again with another one.")
    return VotronError(
        f"The Dask scheduler at {_address(client)} does not answer any more, and training has ended: "
        "connect to a cluster, and train again."
    )
