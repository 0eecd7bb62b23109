"""Real clusters of processes on this machine, for the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client, LocalCluster

from votron.cluster.client import local_cluster


@contextmanager
def cluster_of(n_workers: int, *, lost_after: str = "5m", **options: Any) -> Iterator[tuple[LocalCluster, Client]]:
    """A cluster with workers of one thread, and a client that talks to them."""
    settings = {"distributed.scheduler.worker-ttl": lost_after, "distributed.admin.low-level-log-length": 0}
    with dask.config.set(settings), local_cluster(n_workers=n_workers, **options) as (cluster, client):
        client.wait_for_workers(n_workers, timeout=60)
        yield cluster, client
