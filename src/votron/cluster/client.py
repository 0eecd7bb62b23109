"""The current client of Dask and what its cluster must be like for training, and lazy predictions of collections."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from votron._util.types import Array, Client, Estimator, Rows, RowsLike
from votron.errors import MissingPackageError, VotronError

if TYPE_CHECKING:
    import distributed

Rules = Sequence[str | tuple[str, bool]]
Staged = dict[str | tuple[str, bool], Any]
"""Scores by rule: arrays, or lazy ones."""

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


def predicted(model: Estimator, method: str, X: RowsLike) -> Any:
    """Return a lazy Dask array of what a method of a model returns for the rows of a collection."""
    from dask.delayed import delayed

    one = getattr(model, method)(_one_row(X))  # refuses what no chunk could be predicted with
    lazy = delayed(model, pure=True)
    parts = [delayed(getattr(type(model), method))(lazy, part) for part in chunks_of(X)]
    return _as_array(parts, X, one)


def staged(
    model: Estimator, X: RowsLike, at: Iterable[float] | None, rules: Rules | None
) -> Iterator[tuple[float, Staged]]:
    """Yield the moments and lazy scores of `staged_decision_function`; a chunk is scanned once for all of them."""
    from dask.delayed import delayed

    at = None if at is None else list(at)
    stages = list(model.staged_decision_function(_one_row(X), at, rules))
    lazy = delayed(model, pure=True)
    scans = [delayed(_scan)(lazy, part, at, rules) for part in chunks_of(X)]
    for k, (moment, one) in enumerate(stages):
        yield moment, {name: _as_array([scan[k][name] for scan in scans], X, one[name]) for name in one}


def _scan(model: Estimator, part: RowsLike, at: Iterable[float] | None, rules: Rules | None) -> list[Staged]:
    return [scores for _, scores in model.staged_decision_function(part, at, rules)]


def chunks_of(X: RowsLike) -> list[Any]:
    """Return the chunks of a collection, as delayed objects with whole rows."""
    if hasattr(X, "chunks") and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    return list(np.ravel(X.to_delayed()))


def _one_row(X: RowsLike) -> Rows:
    """Return a row of the collection's kind, of zeros or the like."""
    if hasattr(X, "_meta_nonempty"):
        return X._meta_nonempty[:1]
    return np.zeros((1, X.shape[1]), dtype=X.dtype)


def _as_array(parts: list[Any], X: RowsLike, one: Array) -> Any:
    """Return a Dask array of what is predicted of the parts, given what is predicted of one row."""
    import dask.array as da

    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(parts)
    arrays = [
        da.from_delayed(part, (length, *one.shape[1:]), dtype=one.dtype)
        for part, length in zip(parts, lengths, strict=True)
    ]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)
