"""A shard as an actor on a worker of Dask, and how rows get to it."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from votron._util.resources import n_bytes, parse_memory_limit
from votron._util.types import Array, Floats, Index, Rows
from votron.cluster.messages import Numbers, Reply, Step
from votron.cluster.shard import Part, Shard
from votron.errors import VotronError

LOW_PRIORITY = 10
"""The niceness of a thread that works ahead."""


@dataclass(frozen=True)
class Segment:
    """Rows ``low`` to ``high`` - 1 of a chunk; in the whole of the data they begin at row ``start``."""

    chunk: int
    low: int
    high: int
    start: int

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.high - self.low


def part_of(rows: Rows, numbers: Numbers, segment: Segment, places: Index, codes: Array, squares: Floats) -> Part:
    """Return a segment of a chunk with what is known of its rows, or refuse rows whose x·x has changed."""
    rows, mine = rows[segment.low : segment.high], places >= 0
    if not np.array_equal(numbers.products.squares(rows)[mine], squares[mine]):
        raise VotronError(
            f"Chunk {segment.chunk} of X has other rows than when it was first read: "
            "the chunks must give the same rows each time they are computed."
        )
    numbers.kernel.check(rows)
    return Part(rows, places, codes, squares)


def _give_way() -> None:
    """Let a thread that works ahead give way to messages, and to the walk if that is on the same machine."""
    if sys.platform == "linux":  # where priorities are those of threads
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOW_PRIORITY)


class WorkerShard(Shard):
    """A shard that knows how much memory its worker has, and works ahead between messages."""

    def __init__(self, numbers: Numbers, parts: list[Part], memory_limit: int | str) -> None:
        from distributed import get_worker

        worker, used = get_worker(), sum(n_bytes(part.rows) for part in parts)
        memory = parse_memory_limit(memory_limit, data_bytes=used)
        if isinstance(memory_limit, str) and worker.memory_manager.memory_limit:
            memory = min(memory, worker.memory_manager.memory_limit // 4)
        super().__init__(numbers, parts, max(0, memory - used), worker.state.nthreads)
        self._pool, self._message = ThreadPoolExecutor(1, initializer=_give_way), threading.Event()
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
