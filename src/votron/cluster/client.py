"""The current client of Dask, and what its cluster must be like for training; a cluster on this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from votron._util.types import Client
from votron.errors import MissingPackageError, VotronError

if TYPE_CHECKING:
    import distributed

PACKAGES = ("votron", "numpy", "numba")
"""Packages that must have the same version everywhere for records to be equal."""


def current_client() -> distributed.Client:
    """Return the current client of Dask, whose workers must suit; or say how to have one."""
    try:
        import distributed
    except ImportError:
        raise MissingPackageError(
            "Training on Dask collections takes the package distributed: pip install 'votron[cluster]'."
        ) from None
    try:
        client = distributed.get_client()
    except ValueError:
        raise VotronError(
            "Training on Dask collections takes a client: distributed.Client() starts a cluster on this machine, "
            "distributed.Client(address) joins one."
        ) from None
    with connection(client):
        if not client.nthreads():
            raise VotronError("The Dask cluster has no workers: start some, and train again.")
        for problem in odd_versions(client).values():
            raise VotronError(problem)
    return client


def odd_versions(client: Client) -> dict[str, str]:
    """Return the workers with another Votron, numpy or numba, and for each a sentence."""
    return {
        address: f"All workers must have the {name} of this process, {version(name)}. "
        f"Got {name} {facts['packages'][name]} on {address} instead."
        for address, facts in sorted(client.get_versions(packages=PACKAGES)["workers"].items())
        for name in PACKAGES
        if facts["packages"][name] != version(name)
    }


@contextmanager
def connection(client: Client) -> Iterator[None]:
    """Turn what Dask raises for lost connections, workers and data into one sentence."""
    from distributed.client import CancelledError
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except Exception as error:
        lost = isinstance(error, CancelledError | CommClosedError | KilledWorker) or client.status != "running"
        if isinstance(error, VotronError) or not lost:
            raise
        raise VotronError(
            "Training has ended, since Dask lost its client, its scheduler, too many workers, or data that it cannot "
            f"compute again, such as scattered data ({type(error).__name__})."
        ) from error


def results_of(client: Client, futures: Sequence[Any]) -> list[Any]:
    """Return the results of futures, here."""
    with connection(client):
        return list(client.gather(list(futures)))


@contextmanager
def local_cluster(**options: object) -> Iterator[tuple[Any, Any]]:
    """Yield a cluster with workers of one thread, and a client that talks to them; options are LocalCluster's."""
    from distributed import Client, LocalCluster

    quiet = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with LocalCluster(**quiet | options) as cluster, Client(cluster, direct_to_workers=True) as client:
        yield cluster, client
