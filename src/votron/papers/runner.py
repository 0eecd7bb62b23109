"""Runs in parallel, by processes of this machine or by the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool

import joblib

from votron._util.progress import counting
from votron._util.resources import available_memory, effective_threads
from votron._util.types import Client, Params
from votron.data import ImageSet
from votron.errors import VotronError
from votron.papers.runs import RunKey, RunResult, perform
from votron.papers.store import Store

__all__ = ["perform_missing"]

BYTES_A_RUN = 1 << 30
"""Memory for a run on 60,000 images; fewer images need less."""
SHARE_OF_MEMORY = 0.6
"""Share of the free memory for all runs together."""
COST = {1: 1.0, 2: 2.5, 3: 1.5}
"""Duration of a run relative to one of degree 4 or more: the longest start first."""


def perform_missing(
    keys: Sequence[RunKey],
    data: ImageSet,
    store: Store,
    *,
    jobs: int | None = None,
    client: Client = None,
    quiet: bool = False,
) -> dict[RunKey, RunResult]:
    """Return the results of these runs; those that are not in the store are done now, and stored one by one."""
    found = {key: result for key in keys if (result := store.get(key.name, RunResult)) is not None}
    missing = [key for key in keys if key not in found]
    missing.sort(key=lambda key: COST.get(key.degree, 1.0), reverse=True)
    if not missing:
        return found
    workers = min(len(missing), jobs or _that_fit(len(data.X)))
    memory = int(SHARE_OF_MEMORY * available_memory() / workers)
    threads = 1 if client else max(1, effective_threads(None) // workers)
    run = joblib.delayed(perform)
    backend: Params = {"n_jobs": workers}
    if client is not None:
        backend = {"backend": "dask", "client": client, "scatter": [data], "n_jobs": -1}
    with joblib.parallel_config(**backend), counting(len(missing), "runs", enabled=not quiet) as progress:
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
                "A worker process was killed, perhaps for lack of memory. Finished runs are kept; try --jobs 1."
            ) from None
    return found


def _that_fit(n_examples: int) -> int:
    """Return how many runs processors and memory allow at a time."""
    each = max(1 << 27, BYTES_A_RUN * n_examples // 60_000)
    return max(1, min(effective_threads(None), int(SHARE_OF_MEMORY * available_memory() / each)))
