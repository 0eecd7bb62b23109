"""A Dask cluster of processes on this machine, made for a while and closed whatever became of its workers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client, LocalCluster


class _Cluster(LocalCluster):  # type: ignore[misc]
    def _update_worker_status(self, op: str, msg: Any) -> None:
        # When a worker goes of which the scheduler had not told it yet, LocalCluster stops watching with a KeyError,
        # and raises that when it is closed: after the work, and before its processes have ended.
        if op != "remove" or msg in self.scheduler_info["workers"]:
            super()._update_worker_status(op, msg)


@contextmanager
def local_cluster(**options: Any) -> Iterator[tuple[LocalCluster, Client]]:
    """Yield a cluster with workers of one thread, and a client that talks to them directly.

    Parameters
    ----------
    **options : Any
        As `distributed.LocalCluster` takes them, such as ``n_workers`` and ``memory_limit``.

    Examples
    --------
    >>> with local_cluster(n_workers=1, processes=False) as (_, client):
    ...     client.submit(sum, [1, 2]).result()
    3
    """
    quiet = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with _Cluster(**quiet | options) as cluster, Client(cluster, direct_to_workers=True) as client:
        yield cluster, client
