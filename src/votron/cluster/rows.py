"""Rows that are spread over the workers of a Dask cluster: a Dask array or frame, as training takes it.

They answer what training asks of a matrix, from what is computed where the chunks are: how many there are; a few rows
that stand for all, by their extreme values; sums, of the parts that one machine would add up; K(x, x) of each. The rows
themselves never come together.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.progress import Watcher
from votron._util.resources import rows_in_bytes
from votron._util.types import Array, Floats, Index, Rows, RowsLike
from votron.cluster import chunks
from votron.cluster.actor import Segment
from votron.cluster.client import check_versions, connection, current_client, results_of
from votron.cluster.messages import Numbers, stacked
from votron.cluster.pool import Presented
from votron.cluster.presenting import present
from votron.cluster.walk import ClusterRun, ClusterTimings
from votron.cluster.workers import WorkerShards
from votron.engine.dual import DualTrainer
from votron.engine.primal import PrimalTrainer
from votron.errors import DataError
from votron.history import TrainingRun
from votron.kernels import Kernel
from votron.products import Traits

if TYPE_CHECKING:
    from distributed import Future

ROWS_IN_A_PAGE = 1024
"""Rows of a page that a worker has, on average: enough for a product to be worth its call."""
_SEGMENTS = 4
"""Into how many parts the rows of a worker are divided at least, so that some of them can go to another."""
_MOST_IN_A_SEGMENT = 1 << 17


class SpreadRows:
    """The rows of a Dask collection; ``check`` makes of a chunk, on a worker, what training takes, or refuses it."""

    def __init__(self, X: RowsLike, check: Callable[[Any, str], Rows], owner: str) -> None:
        from dask.delayed import delayed

        self.client = current_client()
        with connection(self.client):
            check_versions(self.client)
        if len(X.shape) != 2:
            raise DataError(f"The X of {owner} must have two dimensions. Got a Dask array of {len(X.shape)} instead.")
        if hasattr(X, "chunks") and len(X.chunks[1]) > 1:
            raise DataError(
                f"A chunk of the X of {owner} must have all columns of its rows: X.rechunk({{1: -1}}) puts them "
                f"together. Got {len(X.chunks[1])} chunks in a row instead."
            )
        self._given = [delayed(check)(part, owner) for part in np.ravel(X.to_delayed()).tolist()]
        self._futures: dict[int, Future] = {}
        self.kept: Index | None = None
        self.account: ClusterTimings | None = None
        described = self._each(chunks.described)
        self.lengths: list[int] = [n for n, _ in described]
        self.facts = [facts for _, facts in described]
        self.n_given = int(sum(self.lengths))
        self.shape = (self.n_given, int(X.shape[1]))
        self._starts = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    def __getitem__(self, kept: Index) -> SpreadRows:
        """Return some of the rows, in their order."""
        found = copy.copy(self)
        found.__dict__.pop("witnesses", None)
        found.kept = kept if self.kept is None else self.kept[kept]
        found.shape = (len(kept), self.shape[1])
        found.facts = found._each(chunks.facts_of, found._kept_of_chunks)
        return found

    # -- chunks -----------------------------------------------------------------------------------------------------

    def futures(self, numbers: Sequence[int]) -> list[Future]:
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
        return results_of(self.client, [self.client.submit(function, *both, pure=False) for both in each])

    @property
    def _kept_of_chunks(self) -> list[Index | None]:
        """For each chunk the rows that are kept, None: all."""
        if self.kept is None:
            return [None] * len(self.lengths)
        parts = np.split(self.kept, np.searchsorted(self.kept, self._starts[1:-1]))
        return [part - start for part, start in zip(parts, self._starts, strict=False)]

    def _bounds(self, length: int) -> list[tuple[int, int]]:
        """Return where a chunk is divided, so that every worker can have its share, and give a part of it away."""
        wanted = math.ceil(_SEGMENTS * max(1, len(self.client.nthreads())) / len(self.lengths))
        n = max(1, min(length, max(wanted, math.ceil(length / _MOST_IN_A_SEGMENT))))
        edges = [length * i // n for i in range(n + 1)]
        return list(pairwise(edges))

    def brought(self, some: Index) -> Rows:
        """Return a few rows, here, in the order of their numbers given."""
        given = some if self.kept is None else self.kept[some]
        by_number = np.argsort(given, kind="stable")
        parts = np.split(given[by_number], np.searchsorted(given[by_number], self._starts[1:-1]))
        mine = [part - start for part, start in zip(parts, self._starts, strict=False)]
        return stacked(self._each(chunks.kept_of, mine))[np.argsort(by_number, kind="stable")]

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

        A part may reach over several chunks, so the sums do not depend on these.
        """
        sparse, d = sp.issparse(self.witnesses), self.shape[1]
        step = rows_in_bytes(np.empty(0) if sparse else np.empty((0, d)))
        lengths = [facts.n_stored if sparse else facts.n_stored // max(1, d) for facts in self.facts]
        edges = np.concatenate([[0], np.cumsum(lengths)])
        kept, futures, found = self._kept_of_chunks, self.futures(range(len(lengths))), []
        for start in range(0, int(edges[-1]), step):
            stop = min(start + step, int(edges[-1]))
            over = [k for k in range(len(lengths)) if edges[k] < stop and edges[k + 1] > start]
            cuts = [
                self.client.submit(chunks.cut_of, futures[k], kept[k], *(np.clip([start, stop], *edges[k : k + 2])
                                   - edges[k]).tolist(), pure=False) for k in over
            ]  # fmt: skip
            found.append(self.client.submit(chunks.sum_of, cuts, centre, pure=False))
        return results_of(self.client, found)

    def squares(self, kernel: Kernel, traits: Traits | None = None) -> Floats:
        """Return x·x of each row, in the arithmetic of the kernel; refuse rows that are plainly not for it."""
        kernel.check(self.witnesses)
        products = kernel.products(self.traits(kernel) if traits is None else traits)
        if products.dtype is not np.float32:
            return np.concatenate([facts.squares for facts in self.facts])
        return np.concatenate(self._each(chunks.squares_of, self._kept_of_chunks, [products] * len(self.lengths)))

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
        n_threads: int = 1,
        watcher: Watcher | None = None,
    ) -> TrainingRun:
        """Train on these rows; as `DualTrainer.run` does. Threads are those of the walk, which is here."""
        kernel = trainer.kernel
        traits = self.traits(kernel)
        if trainer.n_support:
            traits = kernel.traits(trainer.support_rows).joined(traits)
        squares, largest = self.squares(kernel, traits), 0.0
        if trainer.n_support:
            largest = float(kernel.products(traits).squares(trainer.support_rows).max())
        largest = max(largest, float(squares.max(initial=0.0)))
        presented = self._as_given(Presented(order, codes, squares, ids, weights))
        page_size = min(ROWS_IN_A_PAGE * max(1, len(self.client.nthreads())), max(64, len(order)))
        numbers = Numbers(
            kernel, traits, trainer.n_vectors, trainer.margin, page_size, self.witnesses[:0], weights is not None
        )
        row_bytes = sum(facts.n_bytes for facts in self.facts) / max(1, self.shape[0])
        shards = WorkerShards(self.client, self, self._segments(), presented, numbers, memory_limit)
        run = ClusterRun(trainer, shards, numbers, presented, largest, row_bytes, n_threads)
        self.account = run.account
        try:
            with connection(self.client):
                return run.run(n_steps, watcher)
        finally:
            run.account.workers = [shard.address for shard in shards.placed]
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
        """Present these rows chunk after chunk, where they are; within a chunk in the given order."""
        given = order if self.kept is None else self.kept[order]
        futures = self.futures(range(len(self.lengths)))
        try:
            return present(
                self.client, futures, self._starts, trainer, codes, order, given, n_steps, weights, watcher
            )  # fmt: skip
        finally:
            self.release()

    def _as_given(self, presented: Presented) -> Presented:
        """Return what is presented by the numbers of the rows as they were given."""
        if self.kept is None:
            return presented

        def spread(values: Array) -> Array:
            out = np.zeros(self.n_given, dtype=values.dtype)
            out[self.kept] = values
            return out

        ids = np.arange(self.shape[0]) if presented.ids is None else presented.ids
        weights = None if presented.weights is None else spread(presented.weights)
        columns = spread(presented.codes), spread(presented.squares), spread(ids), weights
        return Presented(self.kept[presented.order], *columns)

    def _segments(self) -> list[Segment]:
        return [
            Segment(k, low, high, int(self._starts[k]) + low)
            for k, length in enumerate(self.lengths)
            for low, high in self._bounds(length)
            if high > low
        ]
