"""The current client of Dask, and what its cluster must be like for training."""

from __future__ import annotations

import time
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
    """Return the current client of Dask, or say how to have one."""
    try:
        import distributed
    except ImportError:
        raise MissingPackageError(
            "Training on Dask collections takes the package distributed: pip install 'votron[cluster]'."
        ) from None
    try:
        return distributed.get_client()
    except ValueError:
        raise VotronError(
            "Training on Dask collections takes a client: distributed.Client() starts a cluster on this machine, "
            "distributed.Client(address) joins one."
        ) from None


def check_versions(client: Client) -> None:
    """Refuse a cluster without workers, or with a worker that has another Votron, numpy or numba."""
    if not client.nthreads():
        raise VotronError("The Dask cluster has no workers: start some, and train again.")
    for problem in odd_versions(client).values():
        raise VotronError(problem)


def odd_versions(client: Client) -> dict[str, str]:
    """Return the workers with another Votron, numpy or numba, and for each a sentence."""
    found = {}
    for address, facts in sorted(client.get_versions(packages=PACKAGES)["workers"].items()):
        theirs = facts["packages"]
        for name in PACKAGES:
            if theirs[name] != version(name):
                found[address] = (
                    f"All workers must have the {name} of this process, {version(name)}. "
                    f"Got {name} {theirs[name]} on {address} instead."
                )
    return found


@contextmanager
def connection(client: Client) -> Iterator[None]:
    """Turn what Dask raises for lost connections, workers and data into one sentence."""
    from distributed.client import CancelledError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except VotronError:
        raise
    except KilledWorker as error:
        raise VotronError(
            "Workers of the Dask cluster were lost time and again: give them more memory, or make the chunks of X "
            "smaller, and train again."
        ) from error
    except Exception as error:
        time.sleep(0.1)  # the client is about to hear why
        if client.status != "running":
            raise VotronError(
                "The Dask client was closed or has lost its scheduler, and training has ended: connect to a cluster, "
                "and train again."
            ) from error
        if isinstance(error, CancelledError):
            raise VotronError(
                "A worker was lost with data that Dask cannot compute again, such as scattered data: read them from "
                "files or make them by a function, and train again."
            ) from error
        raise


def results_of(client: Client, futures: Sequence[Any]) -> list[Any]:
    """Return the results of futures, here."""
    with connection(client):
        return list(client.gather(list(futures)))
