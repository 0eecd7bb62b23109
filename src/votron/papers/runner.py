"""Many runs: those that are missing, side by side, with one line that tells how far they are.

Runs are independent of one another. They are done by processes of this machine, or by the workers of the current Dask
client if there is one; each result is kept as soon as it is there, so a run is never lost to what happens later.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection, get_context, parent_process
from typing import Any, TextIO

from votron._util.progress import Progress
from votron._util.resources import available_memory, effective_threads
from votron.data import ImageSet
from votron.errors import VotronError
from votron.papers.runs import RunKey, RunResult, RunStore, perform

__all__ = ["perform_missing"]

BYTES_A_RUN = 1 << 30
"""Memory that a run on 60,000 images should have; fewer images need less."""
SHARE_OF_MEMORY = 0.6
"""Of what is free, for all runs together."""
COST = {1: 1.0, 2: 2.5, 3: 1.5}
"""How long a run takes beside one of degree 4 or more."""

_data: ImageSet | None = None


def perform_missing(
    keys: Sequence[RunKey],
    data: ImageSet,
    store: RunStore,
    *,
    jobs: int | None = None,
    quiet: bool = False,
    stream: TextIO | None = None,
) -> dict[RunKey, RunResult]:
    """Return the results of runs: those in the store, and the others, which are done now and kept.

    Parameters
    ----------
    keys : sequence of RunKey
        Which runs.
    data : ImageSet
        Their data.
    store : RunStore
        Where results are, and are kept.
    jobs : int, optional
        Processes; by default as many as there are processors, if memory allows. One runs in this process, with threads.
    quiet : bool
        Do not tell how far it is.
    stream : text file, optional
        Where to tell it, by default standard error.

    Returns
    -------
    dict
        The result of each.

    Notes
    -----
    Processes are started afresh, so a script that calls this must do so under ``if __name__ == "__main__":``.

    Examples
    --------
    >>> import tempfile
    >>> from votron.data import load_image_set
    >>> data = load_image_set("digits")
    >>> keys = [RunKey(data.digest, degree, seed=0, epochs=0.5) for degree in (1, 2)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = perform_missing(keys, data, RunStore(folder), jobs=1, quiet=True)
    >>> [int(found[key].wrong[0, -1]) for key in keys]
    [51, 35]
    """
    found = {key: result for key in keys if (result := store.get(key)) is not None}
    missing = sorted((key for key in dict.fromkeys(keys) if key not in found), key=_cost, reverse=True)
    if not missing:
        return found
    with (
        _executor(jobs, len(missing), data) as (submit, workers),
        _reporting(missing, workers, quiet, stream) as report,
    ):
        for key, result in submit(missing):
            with _ctrl_c_waits():
                store.put(result)
            found[key] = result
            report(result)
    return found


def _cost(key: RunKey) -> float:
    return COST.get(key.degree, 1.0) * min(key.epochs, 10.0)


# -- who does them ----------------------------------------------------------------------------------------------------


@contextmanager
def _executor(jobs: int | None, n_missing: int, data: ImageSet) -> Iterator[tuple[Any, int]]:
    """Yield a function that does runs and yields results as they come, and how many are done at a time."""
    client = _dask_client()
    if client is not None and jobs is None:
        workers = max(1, len(client.nthreads()))
        there = client.scatter(data, broadcast=True)
        remote = client.get_executor(pure=False)
        try:
            yield lambda keys: _completed({remote.submit(_on_worker, key, there): key for key in keys}), workers
        except BaseException:
            remote.shutdown(wait=False)  # otherwise all that is left would be done first
            raise
        remote.shutdown()
        return
    workers = _how_many(jobs, n_missing, len(data.X))
    memory = int(SHARE_OF_MEMORY * available_memory() / workers)
    if workers == 1:
        yield lambda keys: ((key, perform(key, data, memory_limit=memory)) for key in keys), 1
        return
    threads = max(1, effective_threads(None) // workers)
    # Started afresh: a copy of a process with threads may wait for a lock that nobody holds any more.
    executor = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_begin, initargs=(data,))
    try:
        yield lambda keys: _completed(_submitted(executor, keys, threads, memory)), workers
    except BrokenProcessPool:
        _end(executor)
        raise VotronError(
            "A run was ended from outside, perhaps for lack of memory: what is finished is kept; try --jobs 1."
        ) from None
    except BaseException:
        _end(executor)
        raise
    executor.shutdown()


def _submitted(
    executor: Executor, keys: Sequence[RunKey], threads: int, memory: int
) -> dict[Future[RunResult], RunKey]:
    """Hand in all runs. Workers are started here, and one that ignores Ctrl-C from its first moment dies in silence."""
    in_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if in_main else None
    try:
        return {executor.submit(_in_process, key, threads, memory): key for key in keys}
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


@contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the block: a run that is done is kept, and a zip file is not left half open."""
    if threading.current_thread() is not threading.main_thread():  # Ctrl-C never comes here
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


def _completed(futures: dict[Future[RunResult], RunKey]) -> Iterator[tuple[RunKey, RunResult]]:
    for future in as_completed(futures):
        yield futures[future], future.result()


def _how_many(jobs: int | None, n_missing: int, n_examples: int) -> int:
    """Return how many runs to do at a time: as many as asked for, or as processors and memory allow."""
    if jobs is not None:
        if jobs < 1:
            raise VotronError(f"--jobs must be an int in the range [1, inf). Got {jobs} instead.")
        return min(jobs, n_missing)
    each = max(1 << 27, BYTES_A_RUN * n_examples // 60_000)
    by_memory = int(SHARE_OF_MEMORY * available_memory() / each)
    return max(1, min(effective_threads(None), by_memory, n_missing))


def _begin(data: ImageSet) -> None:
    """Make a worker ready: it has the data, and leaves Ctrl-C to the process that started it."""
    global _data
    _data = data
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Wait until the process that started this one is gone, killed perhaps, and go too."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _in_process(key: RunKey, n_jobs: int, memory_limit: int) -> RunResult:
    assert _data is not None
    return perform(key, _data, n_jobs=n_jobs, memory_limit=memory_limit)


def _on_worker(key: RunKey, data: ImageSet) -> RunResult:
    """Do a run where others may be done beside it, one for each thread of the worker."""
    return perform(
        key, data, n_jobs=1, memory_limit=int(SHARE_OF_MEMORY * available_memory() / effective_threads(None))
    )


def _end(executor: Executor) -> None:
    """Stop the workers at once: what they are at is not finished."""
    processes = list((getattr(executor, "_processes", None) or {}).values())
    executor.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()


def _dask_client() -> Any:
    """Return the current Dask client, if distributed is in use at all."""
    if "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].get_client()
    except ValueError:
        return None


# -- how far it is ----------------------------------------------------------------------------------------------------


@contextmanager
def _reporting(
    missing: Sequence[RunKey], workers: int, quiet: bool, stream: TextIO | None
) -> Iterator[Callable[[RunResult], None]]:
    """Show how far the runs are, by what each costs; yield what hears that one is done."""
    n, done = len(missing), list[RunResult]()
    with Progress(sum(map(_cost, missing)), not quiet, stream, "Training") as progress:
        progress.update(0, f"{n} run{'' if n == 1 else 's'}, {workers} at a time")

        def report(result: RunResult) -> None:
            done.append(result)
            key, seconds = result.key, result.train_seconds + result.scan_seconds
            said = f"{len(done)} of {n} runs (degree {key.degree}, seed {key.seed}: {seconds:.1f} s)"
            progress.update(sum(_cost(each.key) for each in done), said)

        yield report
