"""A shard on a worker of Dask, as an actor: how much memory it may use, how rows get to it, when it works ahead."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from votron._util.resources import parse_memory_limit
from votron._util.types import Array, Floats, Index, Rows
from votron.cluster.messages import NewEvents, Numbers, Reply, Step
from votron.cluster.shard import Shard
from votron.errors import VotronError

SEGMENTS = 4
"""Into how many parts the rows of a worker are divided at least, so that a part of them can go to another."""

LOW_PRIORITY = 10
"""How nice, as Unix calls it, a thread is that works ahead."""


@dataclass(frozen=True)
class Segment:
    """Rows ``low`` to ``high`` - 1 of a chunk; in the whole of the data they begin at row ``start``."""

    chunk: int
    low: int
    high: int
    start: int

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return self.high - self.low


def digest_of(rows: Rows) -> str:
    """Return the SHA-256 of rows, by which they are known when they are read again."""
    parts = (rows.indptr, rows.indices, rows.data) if sp.issparse(rows) else (rows,)
    found = hashlib.sha256(f"{rows.shape} {rows.dtype}".encode())
    for part in parts:
        found.update(np.ascontiguousarray(part).data)
    return found.hexdigest()


def _give_way() -> None:
    """Let a thread that works ahead give way to messages, and to the walk if that is on the same machine."""
    if sys.platform == "linux":  # where priorities are those of threads
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOW_PRIORITY)


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
        self._pool, self._message = ThreadPoolExecutor(1, initializer=_give_way), threading.Event()
        self._preparing: Future[None] | None = None
        self._lock = threading.Lock()

    def step(self, step: Step) -> Reply:
        """Do as a shard does, and work ahead until the next message."""
        self._pause()
        reply = super().step(step)
        self._message.clear()
        self._preparing = self._pool.submit(self.prepare, self._message.is_set)
        return reply

    def _pause(self) -> None:
        """Stop working ahead."""
        if self._preparing is not None:
            self._message.set()
            self._preparing.result()

    def take(self, places: Index, rows: Rows, codes: Array, squares: Floats) -> None:
        """Add rows; several tasks may bring some at a time."""
        with self._lock:
            super().take(places, rows, codes, squares)

    def start(self, none: Rows, weighted: bool, events: NewEvents) -> None:
        """Begin, now that all rows are there, and hear of all events so far."""
        self.begin(none, weighted)
        self.replay(events)


def deliver(
    shard: Any,
    rows: Rows,
    segment: Segment,
    places: Index,
    codes: Array,
    squares: Floats,
    digest: str | None = None,
) -> str:
    """Give a shard a segment of a chunk with places, codes and x·x, if the rows are what they were; return the digest.

    The first time they are known by x·x, as the rows were when all were described; then by their digest.
    """
    if not isinstance(shard, Shard):  # the actor itself is on this worker: what stands for it would copy the rows
        from distributed import get_worker

        shard = get_worker().state.actors[shard.key]
    part = rows[segment.low : segment.high]
    found, again, mine = digest_of(part), shard.products.squares(part), places >= 0
    if not np.array_equal(again[mine], squares[mine]) or digest not in (None, found):
        raise VotronError(
            f"Chunk {segment.chunk} of X has other rows than when it was first read, so that training cannot go "
            "on as it began: the chunks must give the same rows each time they are computed."
        )
    shard.kernel.check(part)
    shard.take(places, part, codes, squares)
    return found
