"""Shards on the workers of a Dask cluster, as actors; those that are lost are made again from the events.

Dask computes the chunks, places, moves and spills them, carries the messages, and tells who is there. An actor is the
fastest way to send it a message; Dask does not bring a lost one back, but its state is a function of its rows and of
the events, which the walk has. So nothing else is kept for the case of loss, and a worker that comes late is brought up
to date in the same way.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from votron._util.types import Array, Client, Floats, Index, Rows
from votron.cluster.actor import Segment, WorkerShard, deliver
from votron.cluster.client import ASK_EVERY, CANCELLED, Pulse, odd_versions, too_often_lost
from votron.cluster.messages import NewEvents, Numbers, Reply, Step
from votron.cluster.pool import Presented
from votron.errors import VotronError

_MOST_LOSSES = 20
"""How often workers may be lost before a step is done."""
_LOST = ("KilledWorker", *CANCELLED)  # what Dask says of tasks whose worker is gone


class Source(Protocol):
    """Who has the chunks."""

    def futures(self, numbers: Sequence[int]) -> list[Any]:
        """Return futures of the chunks with these numbers, which are computed if need be."""

    def release(self) -> None:
        """Need them no more for now."""


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
    suited : sequence of str
        Workers that are known to have the right versions; others are asked.
    """

    def __init__(
        self,
        client: Client,
        source: Source,
        segments: list[Segment],
        presented: Presented,
        numbers: Numbers,
        none: Rows,
        *,
        row_bytes: float,
        memory_limit: int | str = "auto",
        suited: Sequence[str] = (),
    ) -> None:
        self.client, self.source, self.numbers, self.none = client, source, numbers, none
        self.row_bytes, self.memory_limit, self.presented = row_bytes, memory_limit, presented
        self.pulse, self._suits = Pulse(client), dict.fromkeys(suited, True)
        n_rows = max((segment.start + segment.n_rows for segment in segments), default=0)
        self._places = np.full(n_rows, -1, dtype=np.int64)
        self._places[presented.order] = np.arange(len(presented.order))
        self._fresh: list[_Held] = []
        self.held: list[_Held] = []
        self.n_lost = self.n_moved = 0
        self._without_shard = segments
        self._digests: dict[Segment, str] = {}

    # -- messages ---------------------------------------------------------------------------------------------------

    def step(self, step: Step, log: Callable[[], NewEvents]) -> list[Reply]:
        """Send a step to all shards, and make those again that are lost."""
        replies: dict[_Held, Reply] = {}
        for _ in range(_MOST_LOSSES):
            try:
                self._make_shards(log)
                waiting = [held for held in self.held if held not in replies]
                self._ask("step", waiting, step, into=replies)
                return [replies[held] for held in self.held]
            except LostShardsError as lost:
                self._drop_workers(lost.addresses)
        raise too_often_lost()

    def settle(self) -> None:
        """Give a part of the rows to workers that have none."""
        if time.monotonic() - self.pulse.asked < ASK_EVERY:
            return
        idle = sorted(set(self._workers()) - {held.address for held in self.held})
        for _ in idle:
            if not self.held:  # all rows are to be shared out anew
                return
            crowded = max(self.held, key=lambda held: (self._n_at(held.address), held.n_rows))
            if self._n_at(crowded.address) == 1 and len(crowded.segments) < 2:
                return
            self.held.remove(crowded)
            self._without_shard = self._without_shard + crowded.segments
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

    def _answer(self, held: _Held, call: Any, *, of_task: bool = False) -> Any:
        """Wait for an answer as long as the worker gives signs of life, and for a task as long as it works."""
        if call is None:
            raise LostShardsError([held.address])
        while True:
            try:
                return call.result(timeout=ASK_EVERY)
            except VotronError:
                raise
            except Exception as error:
                own = call.exception() if getattr(call, "status", "") == "error" else None  # the task's
                if own is not None and type(own).__name__ not in _LOST:
                    raise own from None
                waiting = own is None and isinstance(error, TimeoutError)
                says_so = not waiting and (isinstance(error, OSError) or type(error).__name__ in _LOST)
                if says_so or self._is_lost(held):
                    raise LostShardsError([held.address]) from None
                if not waiting:
                    raise
                if of_task:  # an actor answers also where its worker is paused
                    self.pulse.check_work(held.address)

    def _is_lost(self, held: _Held) -> bool:
        return held.address not in self.pulse.workers() or held.future.status not in ("pending", "finished")

    # -- who is there -----------------------------------------------------------------------------------------------

    def _drop_workers(self, addresses: set[str]) -> None:
        """Give up the shards of workers that are lost; what they held will be made again."""
        time.sleep(0.1)  # workers go with their scheduler: the client is about to hear of that
        self.pulse.check_client()
        self.n_lost += len(addresses)
        for address in addresses:
            self.pulse.give_up(address)
        # what was being made is made anew elsewhere too: a delivery may have come, or may still come
        for held in [*(held for held in self.held if held.address in addresses), *self._fresh]:
            self._without_shard = self._without_shard + held.segments
        self.held = [held for held in self.held if held.address not in addresses]
        self._fresh = []

    def _workers(self) -> list[str]:
        """Return the workers that are there, but for those with other versions, which came late: these are told of."""
        there = self.pulse.workers()
        new = [address for address in there if address not in self._suits]
        for address, told in (odd_versions(self.client, new) if new else {}).items():
            self._suits[address] = told is None
            if told is not None:
                warnings.warn(f"A worker gets no rows: {told}", UserWarning, stacklevel=2)
        return [address for address in there if self._suits.get(address)]

    def _anybody(self) -> list[str]:
        """Return the workers that are there, or wait for some as long as one may be silent."""
        until = time.monotonic() + self.pulse.lost_after
        while not (workers := self._workers()):
            if time.monotonic() > until:
                raise self.pulse.nobody()
            time.sleep(min(ASK_EVERY, 0.2))
        return workers

    # -- making shards ----------------------------------------------------------------------------------------------

    def _make_shards(self, log: Callable[[], NewEvents]) -> None:
        """Make shards of the rows that have none, where the fewest rows are, and bring them up to date."""
        if not self._without_shard:
            return
        workers = self._anybody()
        for address, segments in self._shares(workers).items():
            n_bytes = int(self.row_bytes * sum(segment.n_rows for segment in segments))
            future = self.client.submit(
                WorkerShard, self.numbers, self.memory_limit, n_bytes,
                actor=True, workers=[address], allow_other_workers=False, pure=False,
            )  # fmt: skip
            self._fresh.append(_Held(future, address, segments))
        self._without_shard = []
        self._fill(self._fresh)
        events = log()
        self._ask("start", self._fresh, self.none, self.presented.weights is not None, events)
        self.held, self._fresh = self.held + self._fresh, []

    def _shares(self, workers: list[str]) -> dict[str, list[Segment]]:
        """Return which rows go where: each to the worker that has it already, unless that has its share."""
        load = dict.fromkeys(workers, 0)
        for held in self.held:
            load[held.address] = load.get(held.address, 0) + held.n_rows
        share = (sum(load.values()) + sum(segment.n_rows for segment in self._without_shard)) / len(workers)
        homes = self._who_has(sorted({segment.chunk for segment in self._without_shard}))
        found: dict[str, list[Segment]] = {}
        for segment in sorted(self._without_shard, key=lambda segment: segment.start):
            near = [address for address in homes.get(segment.chunk, ()) if address in load]
            near = [address for address in near if load[address] + segment.n_rows / 2 <= share]
            home = min(near or workers, key=lambda address: (load[address], address))
            found.setdefault(home, []).append(segment)
            load[home] += segment.n_rows
        return found

    def _who_has(self, numbers: list[int]) -> dict[int, Sequence[str]]:
        futures = dict(zip(numbers, self.source.futures(numbers), strict=True))
        who = self.pulse.ask(lambda: self.client.who_has(list(futures.values())))
        return {number: who.get(future.key, ()) for number, future in futures.items()}

    def _fill(self, fresh: Sequence[_Held]) -> None:
        """Deliver rows to shards."""
        tasks: list[tuple[_Held, Segment, Any]] = []
        for held in fresh:
            numbers = sorted({segment.chunk for segment in held.segments})
            chunks = dict(zip(numbers, self.source.futures(numbers), strict=True))
            for segment in held.segments:
                what = chunks[segment.chunk], segment, *self._of(segment), self._digests.get(segment)
                tasks.append((held, segment, self._submit(deliver, held, *what)))
        for held, segment, task in tasks:
            self._digests[segment] = self._answer(held, task, of_task=True)
        self.source.release()
        for held in fresh:
            held.actor = self._answer(held, held.future, of_task=True)

    def _submit(self, function: Callable[..., Any], held: _Held, *arguments: Any) -> Any:
        return self.client.submit(
            function, held.future, *arguments, workers=[held.address], allow_other_workers=False, pure=False
        )

    def _of(self, segment: Segment) -> tuple[Index, Array, Floats]:
        """Return the places and codes of a segment's rows, and x·x."""
        rows = slice(segment.start, segment.start + segment.n_rows)
        return self._places[rows], self.presented.codes[rows].astype(np.int32), self.presented.squares[rows]
