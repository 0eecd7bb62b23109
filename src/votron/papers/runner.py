"""Many runs, side by side: processes of this machine do them, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

import joblib

from votron._util.progress import counting
from votron._util.resources import available_memory, effective_threads
from votron._util.types import Client
from votron.data import ImageSet
from votron.errors import VotronError
from votron.papers.runs import RunKey, RunResult, perform
from votron.papers.store import Store

__all__ = ["perform_missing"]

BYTES_A_RUN = 1 << 30
"""Memory that a run on 60,000 images should have; fewer images need less."""
SHARE_OF_MEMORY = 0.6
"""Share of the free memory that all runs together may use."""
COST = {1: 1.0, 2: 2.5, 3: 1.5}
"""How long a run takes, relative to one of degree 4 or more: the longest go first."""


def perform_missing(
    keys: Sequence[RunKey],
    data: ImageSet,
    store: Store,
    *,
    jobs: int | None = None,
    client: Client = None,
    quiet: bool = False,
) -> dict[RunKey, RunResult]:
    """Return the results of runs: those in the store, and the others, which are done now and kept.

    Parameters
    ----------
    keys : sequence of RunKey
        Which runs.
    data : ImageSet
        Their data.
    store : Store
        Where results are kept, each as soon as it is finished.
    jobs : int, optional
        Runs at a time; by default as many as there are processors, if memory allows.
    client : distributed.Client, optional
        A Dask cluster whose workers do the runs.
    quiet : bool
        Whether to show no progress.

    Returns
    -------
    dict
        The result of each run.
    """
    found = {key: result for key in keys if (result := store.get(key.name, RunResult)) is not None}
    missing = [key for key in keys if key not in found]
    missing.sort(key=lambda key: COST.get(key.degree, 1.0), reverse=True)
    if not missing:
        return found
    workers = min(len(missing), jobs or _that_fit(len(data.X)))
    memory = int(SHARE_OF_MEMORY * available_memory() / workers)
    threads = 1 if client else max(1, effective_threads(None) // workers)
    run = joblib.delayed(perform)
    with _backend(workers, data, client), counting(len(missing), "runs", enabled=not quiet) as progress:
        progress(0)
        results = joblib.Parallel(return_as="generator_unordered")(
            run(key, data, n_jobs=threads, memory_limit="auto" if client else memory) for key in missing
        )
        try:
            for done, result in enumerate(results, start=1):
                store.put(result.key.name, result)
                found[result.key] = result
                progress(done)
        except BrokenProcessPool:
            raise VotronError(
                "A run was ended from outside, perhaps for lack of memory: what is finished is kept; try --jobs 1."
            ) from None
    return found


@contextmanager
def _backend(workers: int, data: ImageSet, client: Client) -> Iterator[None]:
    """Choose who does the runs."""
    if client is None:
        with joblib.parallel_config(n_jobs=workers):
            yield
    else:
        with joblib.parallel_config("dask", client=client, scatter=[data], n_jobs=-1):
            yield


def _that_fit(n_examples: int) -> int:
    """Return how many runs to do at a time: as many as processors and memory allow."""
    each = max(1 << 27, BYTES_A_RUN * n_examples // 60_000)
    return max(1, min(effective_threads(None), int(SHARE_OF_MEMORY * available_memory() / each)))
