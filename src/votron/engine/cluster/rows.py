"""Rows that are spread over the workers of a Dask cluster: a Dask array or frame, as training takes it.

They answer what training asks of a matrix, from what is computed where the chunks are: how many there are; a few rows
that stand for all, by their extreme values; sums, of the parts that one machine would add up; K(x, x) of each. The rows
themselves never come together.
"""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._arrays import n_bytes, rows_in_bytes
from votron._types import Floats, Index, Rows
from votron.engine.cluster.messages import Numbers
from votron.engine.cluster.shard import stacked
from votron.engine.cluster.walk import Account, ClusterRun, Presented
from votron.engine.cluster.workers import SEGMENTS, Segment, WorkerShards, digest_of
from votron.engine.dual import DualTrainer
from votron.engine.primal import PrimalTrainer
from votron.engine.run import TrainingRun, Watcher
from votron.errors import DataError, VotronError
from votron.kernels import Kernel
from votron.products import Traits
from votron.products import squares as squared_lengths

ROWS_IN_A_PAGE = 512
"""Rows of a page that a worker has, on average: enough for a product to be worth its call."""
_MOST_IN_A_SEGMENT = 1 << 17


def is_collection(X: Any) -> bool:
    """Tell whether something is a Dask collection, without importing Dask for it."""
    dask = sys.modules.get("dask")
    return dask is not None and hasattr(X, "__dask_graph__") and bool(dask.is_dask_collection(X))


# -- on the workers ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChunkFacts:
    """What is known of a chunk's rows, or of those that are kept of them."""

    n_stored: int
    """Values, the zeros of sparse rows left out."""
    n_nonzero: int
    n_bytes: int
    witnesses: Rows
    digests: tuple[str, ...]


def _n_rows(rows: Rows) -> int:
    return int(rows.shape[0])


def _kept(rows: Rows, kept: Index | None) -> Rows:
    return rows if kept is None else rows[kept]


def _facts(rows: Rows, kept: Index | None, bounds: Sequence[tuple[int, int]]) -> ChunkFacts:
    digests = tuple(digest_of(rows[low:high]) for low, high in bounds)
    rows = _kept(rows, kept)
    stored = rows.data if sp.issparse(rows) else rows
    n_nonzero = rows.nnz if sp.issparse(rows) else int(np.count_nonzero(rows))
    return ChunkFacts(int(stored.size), int(n_nonzero), n_bytes(rows), witnesses_of(rows), digests)


def witnesses_of(rows: Rows) -> Rows:
    """Return a few rows that stand for all: the longest, the fullest, those with the extreme values, a fraction.

    What decides about the arithmetic (whether all are whole numbers, how large, how long rows are) is the same of these
    rows as of all.

    Examples
    --------
    >>> witnesses_of(np.array([[1.0, 0.0], [0.0, 9.0], [1.0, 1.0], [0.5, 0.0]])).tolist()
    [[1.0, 0.0], [0.0, 9.0], [1.0, 1.0], [0.5, 0.0]]
    """
    if not rows.shape[0] or not rows.shape[1]:
        return rows[:0]
    sparse = sp.issparse(rows)
    fullest = np.asarray((rows != 0).sum(axis=1)).reshape(-1) if sparse else np.count_nonzero(rows, axis=1)
    least, most = rows.min(axis=1), rows.max(axis=1)
    least, most = (np.asarray(v.toarray() if sparse else v).reshape(-1) for v in (least, most))
    squares = squared_lengths(rows)
    picked = [int(squares.argmax()), int(fullest.argmax()), int(least.argmin()), int(most.argmax())]
    values = rows.data if sparse else rows
    if values.dtype.kind == "f":
        fraction = np.flatnonzero(values != np.rint(values)) if sparse else _first_fraction(rows)
        if len(fraction):
            picked.append(int(np.searchsorted(rows.indptr, fraction[0], "right") - 1) if sparse else int(fraction[0]))
    return rows[np.unique(picked)]


def _first_fraction(rows: NDArray[Any]) -> Index:
    size = rows_in_bytes(rows)
    for start in range(0, rows.shape[0], size):
        part = rows[start : start + size]
        found = np.flatnonzero((part != np.rint(part)).any(axis=1))
        if len(found):
            return found[:1] + start
    return np.empty(0, dtype=np.int64)


def _values(rows: Rows, kept: Index | None) -> NDArray[Any]:
    rows = _kept(rows, kept)
    return np.asarray(rows.data if sp.issparse(rows) else rows)


def _sum(values: NDArray[Any], centre: float | None) -> float:
    """Return the sum of values, or of the squares of their distances from a centre, as one machine adds them up."""
    if centre is None:
        return float(values.sum(dtype=np.float64))
    return float(np.square(values.astype(np.float64) - centre).sum())


def _sums(rows: Rows, kept: Index | None, parts: Sequence[tuple[int, int]], centre: float | None) -> list[float]:
    values = _values(rows, kept)
    return [_sum(values[low:high], centre) for low, high in parts]


def _cut(rows: Rows, kept: Index | None, low: int, high: int) -> NDArray[Any]:
    return _values(rows, kept)[low:high]


def _sum_of_cuts(cuts: list[NDArray[Any]], centre: float | None) -> float:
    return _sum(np.concatenate(cuts), centre)


def _squares(rows: Rows, kept: Index | None, kernel: Kernel, traits: Traits) -> Floats:
    rows = _kept(rows, kept)
    kernel.check(rows)
    return kernel.products(traits).squares(rows)


def _present(
    trainer: PrimalTrainer, rows: Rows, order: Index, codes: NDArray[np.int64], weights: Floats | None
) -> PrimalTrainer:
    """Return a trainer that has learnt from rows in this order, whose codes and weights come in the same."""
    every = np.arange(len(order))
    trainer = copy.deepcopy(trainer)
    trainer.run(rows[order], codes, every, len(every), weights=weights)
    return trainer


def _n_mistakes(trainer: PrimalTrainer) -> int:
    return int(trainer.n_mistakes.sum())


# -- on the client -----------------------------------------------------------------------------------------------------


class SpreadRows:
    """The rows of a Dask collection.

    Parameters
    ----------
    X : Dask array or frame
        The collection.
    check : callable
        Makes of a chunk the matrix that training takes, or refuses it; it runs on the workers.
    owner : str
        Whose data they are, for error messages.
    """

    def __init__(self, X: Any, check: Callable[[Any, str], Rows], owner: str) -> None:
        from dask.delayed import delayed

        self.client = current_client()
        check_versions(self.client)
        if len(X.shape) != 2:
            raise DataError(f"The X of {owner} must have two dimensions. Got a Dask array of {len(X.shape)} instead.")
        if hasattr(X, "chunks") and len(X.chunks[1]) > 1:
            raise DataError(
                f"A chunk of the X of {owner} must have all columns of its rows: X.rechunk({{1: -1}}) puts them "
                f"together. Got {len(X.chunks[1])} chunks in a row instead."
            )
        self._given = [delayed(check)(part, owner) for part in np.ravel(X.to_delayed()).tolist()]
        self._futures: dict[int, Any] = {}
        self.kept: Index | None = None
        self.account: Account | None = None
        check_recoverable(self.client, X)
        self.lengths: list[int] = self._each(_n_rows)
        self.n_given = int(sum(self.lengths))
        self.shape = (self.n_given, int(X.shape[1]))
        self._starts = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    def __getitem__(self, kept: Index) -> SpreadRows:
        """Return some of the rows, in their order."""
        found = copy.copy(self)
        found.__dict__.pop("facts", None)
        found.kept = kept if self.kept is None else self.kept[kept]
        found.shape = (len(kept), self.shape[1])
        return found

    # -- chunks -----------------------------------------------------------------------------------------------------

    def futures(self, numbers: Sequence[int]) -> list[Any]:
        """Return futures of chunks, which are computed if need be."""
        missing = [number for number in numbers if number not in self._futures]
        made = self.client.compute([self._given[number] for number in missing])
        self._futures.update(zip(missing, made, strict=True))
        return [self._futures[number] for number in numbers]

    def release(self) -> None:
        """Let go of the chunks."""
        self._futures = {}

    def _each(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """Return what a function makes of each chunk, and of its own arguments, where the chunk is."""
        futures = self.futures(range(len(self._given)))
        each = zip(futures, *arguments, strict=True)
        return list(self.client.gather([self.client.submit(function, *both, pure=False) for both in each]))

    @property
    def _kept_of_chunks(self) -> list[Index | None]:
        """For each chunk the rows that are kept, None: all."""
        if self.kept is None:
            return [None] * len(self.lengths)
        parts = np.split(self.kept, np.searchsorted(self.kept, self._starts[1:-1]))
        return [part - start for part, start in zip(parts, self._starts, strict=False)]

    @cached_property
    def facts(self) -> list[ChunkFacts]:
        """What is known of each chunk."""
        return self._each(_facts, self._kept_of_chunks, [self._bounds(length) for length in self.lengths])

    def _bounds(self, length: int) -> list[tuple[int, int]]:
        """Return where a chunk is divided, so that every worker can have its share, and give a part of it away."""
        wanted = math.ceil(SEGMENTS * max(1, len(self.client.nthreads())) / len(self.lengths))
        n = max(1, min(length, max(wanted, math.ceil(length / _MOST_IN_A_SEGMENT))))
        edges = [length * i // n for i in range(n + 1)]
        return list(pairwise(edges))

    def brought(self, some: Index) -> Rows:
        """Return a few rows, here, in the order of their numbers given."""
        given = some if self.kept is None else self.kept[some]
        by_number = np.argsort(given, kind="stable")
        parts = np.split(given[by_number], np.searchsorted(given[by_number], self._starts[1:-1]))
        mine = [part - start for part, start in zip(parts, self._starts, strict=False)]
        return stacked(self._each(_kept, mine))[np.argsort(by_number, kind="stable")]

    # -- what training asks -------------------------------------------------------------------------------------------

    @cached_property
    def witnesses(self) -> Rows:
        """A few rows that stand for all."""
        return stacked([facts.witnesses for facts in self.facts])

    def traits(self, kernel: Kernel) -> Traits:
        """Return what decides the kernel's arithmetic."""
        found = kernel.traits(self.witnesses)
        n = sum(facts.n_stored for facts in self.facts)
        n = self.shape[0] * self.shape[1] if sp.issparse(self.witnesses) else n
        density = sum(facts.n_nonzero for facts in self.facts) / max(1, n)
        return replace(found, density=density) if kernel.reads_features else found

    @property
    def nbytes(self) -> int:
        """Memory of all rows."""
        return sum(facts.n_bytes for facts in self.facts)

    @property
    def n_stored(self) -> int:
        """Values, the zeros of sparse rows left out."""
        return sum(facts.n_stored for facts in self.facts)

    def sums(self, centre: float | None) -> list[float]:
        """Return sums of values, or of squared distances from a centre, of the parts that one machine takes at a time.

        Such a part may reach over several chunks: these pieces are brought together, so that the sum does not depend on
        the chunks.
        """
        sparse, d = sp.issparse(self.witnesses), self.shape[1]
        step = rows_in_bytes(np.empty(0) if sparse else np.empty((0, d)))
        lengths = [facts.n_stored if sparse else facts.n_stored // max(1, d) for facts in self.facts]
        edges = np.concatenate([[0], np.cumsum(lengths)])
        whole: list[list[tuple[int, int]]] = [[] for _ in lengths]
        order: list[tuple[int, int] | list[tuple[int, int, int]]] = []
        for start in range(0, int(edges[-1]), step):
            stop = min(start + step, int(edges[-1]))
            first, last = np.searchsorted(edges, start, "right") - 1, np.searchsorted(edges, stop, "left") - 1
            pieces = [(int(k), int(max(start, edges[k]) - edges[k]), int(min(stop, edges[k + 1]) - edges[k]))
                      for k in range(first, last + 1) if edges[k + 1] > edges[k]]  # fmt: skip
            if len(pieces) == 1:
                order.append((pieces[0][0], len(whole[pieces[0][0]])))
                whole[pieces[0][0]].append(pieces[0][1:])
            else:
                order.append(pieces)
        kept = self._kept_of_chunks
        found = self._each(_sums, kept, whole, [centre] * len(kept))
        joined = {id(part): self._sum_over(part, centre) for part in order if isinstance(part, list)}
        across = dict(zip(joined, self.client.gather(list(joined.values())), strict=True))
        return [across[id(part)] if isinstance(part, list) else found[part[0]][part[1]] for part in order]

    def _sum_over(self, pieces: list[tuple[int, int, int]], centre: float | None) -> Any:
        kept, futures = self._kept_of_chunks, self.futures([k for k, _, _ in pieces])
        cuts = [
            self.client.submit(_cut, future, kept[k], low, high, pure=False)
            for future, (k, low, high) in zip(futures, pieces, strict=True)
        ]
        return self.client.submit(_sum_of_cuts, cuts, centre, pure=False)

    def squares(self, kernel: Kernel) -> Floats:
        """Return x·x of each row, in the arithmetic of the kernel; refuse rows that are not for it."""
        n, traits = len(self.lengths), self.traits(kernel)
        return np.concatenate(self._each(_squares, self._kept_of_chunks, [kernel] * n, [traits] * n))

    def runner(self, trainer: DualTrainer, **how: Any) -> Callable[..., TrainingRun]:
        """Return what runs a trainer on these rows, called as the ``run`` of `DualTrainer` is."""
        return lambda rows, *what, **more: rows.run(trainer, *what, **how, **more)

    def run(
        self,
        trainer: DualTrainer,
        codes: NDArray[np.int64],
        order: Index,
        n_steps: int,
        *,
        ids: Index | None = None,
        weights: Floats | None = None,
        memory_limit: int | str = "auto",
        watcher: Watcher | None = None,
    ) -> TrainingRun:
        """Train on these rows; as `DualTrainer.run` does."""
        kernel, none = trainer.kernel, self.witnesses[:0]
        traits = self.traits(kernel)
        if trainer.n_support:
            traits = kernel.traits(trainer.support_rows).joined(traits)
        products = kernel.products(traits)
        largest = float(max(
            self.squares(kernel).max(initial=0.0),
            products.squares(trainer.support_rows).max(initial=0.0) if trainer.n_support else 0.0,
        ))  # fmt: skip
        presented = self._as_given(Presented(order, codes, ids, weights))
        page_size = min(ROWS_IN_A_PAGE * max(1, len(self.client.nthreads())), max(64, len(order)))
        numbers = Numbers(kernel, traits, trainer.n_vectors, trainer.margin, page_size)
        memory: dict[str, Any] = {
            "row_bytes": sum(facts.n_bytes for facts in self.facts) / max(1, self.shape[0]),
            "memory_limit": memory_limit,
        }
        shards = WorkerShards(self.client, self, self._segments(), presented, numbers, none, **memory)
        run = ClusterRun(trainer, shards, traits, none, presented, largest, page_size)
        self.account = run.account
        try:
            return run.run(n_steps, watcher)
        finally:
            run.account.workers = [held.address for held in shards.held]
            run.account.lost, run.account.moved = shards.n_lost, shards.n_moved
            shards.close()
            self.release()

    def presenter(self, trainer: PrimalTrainer, weights: Floats | None) -> Callable[..., TrainingRun]:
        """Return what presents these rows to weight vectors, called as the ``run`` of `PrimalTrainer` is."""
        return lambda rows, *what, **more: rows.present(trainer, *what, weights=weights, **more)

    def present(
        self,
        trainer: PrimalTrainer,
        codes: NDArray[np.int64],
        order: Index,
        n_steps: int,
        *,
        weights: Floats | None = None,
        watcher: Watcher | None = None,
    ) -> TrainingRun:
        """Present rows chunk after chunk, where they are; within a chunk in the given order.

        The vectors go from chunk to chunk. A task makes new ones, so that it can be done again.
        """
        given = order if self.kept is None else self.kept[order]
        chunk = np.searchsorted(self._starts, given, "right") - 1
        by_chunk = np.argsort(chunk, kind="stable")
        parts = np.split(by_chunk, np.searchsorted(chunk[by_chunk], np.arange(1, len(self.lengths))))
        futures, state = (
            self.futures(range(len(self.lengths))),
            self.client.scatter(trainer, broadcast=True, hash=False),
        )
        n, done, mistakes, interrupted, converged = len(order), 0, int(trainer.n_mistakes.sum()), False, False
        while done < n_steps and not (interrupted or converged):
            left = min(n, n_steps - done)
            for k, part in enumerate(parts):
                mine = part[:left]
                if len(mine):
                    rows, of = given[mine] - self._starts[k], order[mine]
                    what = codes[of], None if weights is None else weights[of]
                    state = self.client.submit(_present, state, futures[k], rows, *what, pure=False, retries=3)
                left -= len(mine)
            done += min(n, n_steps - done)
            total = self.client.submit(_n_mistakes, state, pure=False).result()
            converged, mistakes = total == mistakes and done % n == 0, total
            if watcher is not None:
                watcher.update(done, (done - 1) // n + 1, total)
                interrupted = watcher.should_stop()
        trainer.__dict__.update(state.result().__dict__)
        self.release()
        return TrainingRun(done, converged, interrupted)

    def _as_given(self, presented: Presented) -> Presented:
        """Return what is presented by the numbers of the rows as they were given."""
        if self.kept is None:
            return presented

        def spread(values: NDArray[Any] | None) -> Any:
            if values is None:
                return None
            out = np.zeros(self.n_given, dtype=values.dtype)
            out[self.kept] = values
            return out

        ids = np.arange(self.shape[0]) if presented.ids is None else presented.ids
        return Presented(self.kept[presented.order], spread(presented.codes), spread(ids), spread(presented.weights))

    def _segments(self) -> list[Segment]:
        found = []
        for k, (length, facts) in enumerate(zip(self.lengths, self.facts, strict=True)):
            for (low, high), digest in zip(self._bounds(length), facts.digests, strict=True):
                if high > low:
                    found.append(Segment(k, low, high, int(self._starts[k]) + low, digest))
        return found


# -- the cluster -------------------------------------------------------------------------------------------------------


def current_client() -> Any:
    """Return the current client of Dask, or say how to have one."""
    from votron.errors import MissingPackageError

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


def check_versions(client: Any) -> None:
    """Refuse workers with another Votron, numpy or numba: the same arithmetic is what makes records equal."""

    def versions() -> dict[str, str]:  # sent by value: a worker may have no Votron at all
        from importlib.metadata import PackageNotFoundError, version

        def of(name: str) -> str:
            try:
                return version(name)
            except PackageNotFoundError:
                return ""

        return {name: of(name) for name in ("votron", "numpy", "numba")}

    ours = versions()
    found = client.run(versions)
    if not found:
        raise VotronError("The Dask cluster has no workers: start some, and train again.")
    for address, theirs in sorted(found.items()):
        for name, version in ours.items():
            if theirs[name] != version:
                has = f"{name} {theirs[name]}" if theirs[name] else f"no {name}"
                raise VotronError(
                    f"All workers must have the {name} of this process, {version}. Got {has} on {address} instead."
                )


def check_recoverable(client: Any, X: Any) -> None:
    """Refuse chunks of which there is one copy, and no way to make another: scattered data."""
    from distributed import Future

    keys = [value.key for value in _leaves(X) if isinstance(value, Future)]
    if not keys:
        return

    def alone(dask_scheduler: Any) -> int:
        seen, todo, found = set(), list(keys), 0
        while todo:
            task = dask_scheduler.tasks.get(todo.pop())
            if task is None or task.key in seen:
                continue
            seen.add(task.key)
            found += task.run_spec is None and len(task.who_has or ()) < 2
            todo += [other.key for other in task.dependencies]
        return found

    n = client.run_on_scheduler(alone)
    if n:
        raise VotronError(
            f"X rests on {n} scattered piece(s) of data with one copy each, which would be lost with their worker: "
            "read them from files or make them by a function, or keep two copies with client.replicate(..., n=2)."
        )


def _leaves(X: Any) -> list[Any]:
    """Return what the tasks of a collection hold or name that is no task itself."""
    graph = dict(X.__dask_graph__())
    found = []
    for task in graph.values():
        value = getattr(task, "value", task)
        stack = [value, *getattr(task, "args", ()), *(getattr(task, "kwargs", None) or {}).values()]
        while stack:
            item = stack.pop()
            if isinstance(item, list | tuple):
                stack += item
            elif isinstance(item, dict):
                stack += item.values()
            else:
                found.append(getattr(item, "value", item))
    return found
