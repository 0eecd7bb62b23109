"""A Dask cluster of processes on this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client, LocalCluster


class _Cluster(LocalCluster):  # type: ignore[misc]
    def _update_worker_status(self, op: str, msg: Any) -> None:
        # LocalCluster stops watching with a KeyError when a worker goes that it has not heard of yet
        if op != "remove" or msg in self.scheduler_info["workers"]:
            super()._update_worker_status(op, msg)


@contextmanager
def local_cluster(**options: object) -> Iterator[tuple[LocalCluster, Client]]:
    """Yield a cluster with workers of one thread, and a client that talks to them; options are LocalCluster's."""
    quiet = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with _Cluster(**quiet | options) as cluster, Client(cluster, direct_to_workers=True) as client:
        yield cluster, client
