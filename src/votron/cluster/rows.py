"""Rows that are spread over the workers of a Dask cluster: a Dask array or frame, as training takes it.

They answer what training asks of a matrix from what is computed where the chunks are, and never come together.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.progress import Watcher
from votron._util.resources import n_bytes, rows_in_bytes
from votron._util.types import Array, Floats, Index, Rows, RowsLike
from votron.cluster.client import chunks_of, connection, current_client, results_of
from votron.cluster.shard import Numbers, stacked
from votron.cluster.walk import ClusterAccount, ClusterRun, Presented
from votron.cluster.workers import Chunk, WorkerShards
from votron.engine.dual import DualTrainer
from votron.engine.primal import PrimalTrainer
from votron.errors import DataError
from votron.history import TrainingRun
from votron.kernels import Kernel
from votron.products import Products, Traits
from votron.products import squares as squared_lengths

if TYPE_CHECKING:
    from distributed import Future

ROWS_IN_A_PAGE = 1024
"""Rows of a page that a worker has, on average: enough for a product to be worth its call."""


class SpreadRows:
    """The rows of a Dask collection; ``check`` makes of a chunk, on a worker, what training takes, or refuses it."""

    def __init__(self, X: RowsLike, check: Callable[[Any, str], Rows], owner: str) -> None:
        from dask.delayed import delayed

        self.client = current_client()
        if len(X.shape) != 2:
            raise DataError(f"The X of {owner} must have two dimensions. Got a Dask array of {len(X.shape)} instead.")
        self._given = [delayed(check)(part, owner) for part in chunks_of(X)]
        self._futures: dict[int, Future] = {}
        self.account: ClusterAccount | None = None
        self.facts: list[ChunkFacts] = self._each(facts_of)
        self.witnesses = stacked([facts.witnesses for facts in self.facts])  # a few rows that stand for all
        self.lengths = [len(facts.squares) for facts in self.facts]
        self._starts = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        self.shape = (int(self._starts[-1]), int(X.shape[1]))
        self.kept = np.arange(self.shape[0])

    def __getitem__(self, kept: Index) -> SpreadRows:
        """Return some of the rows, in their order."""
        found = copy.copy(self)
        found.kept = self.kept[kept]
        found.shape = (len(kept), self.shape[1])
        found.facts = found._each(facts_of, found._by_chunk(found.kept))
        found.witnesses = stacked([facts.witnesses for facts in found.facts])
        return found

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
        each = zip(self.futures(range(len(self._given))), *arguments, strict=True)
        return results_of(self.client, [self.client.submit(function, *both, pure=False) for both in each])

    def _by_chunk(self, given: Index) -> list[Index]:
        """Divide ascending numbers of given rows by chunks, and return those in each."""
        parts = np.split(given, np.searchsorted(given, self._starts[1:-1]))
        return [part - start for part, start in zip(parts, self._starts, strict=False)]

    def brought(self, some: Index) -> Rows:
        """Return a few rows, here, in the order of their numbers given."""
        given = self.kept[some]
        by_number = np.argsort(given, kind="stable")
        rows = stacked(self._each(kept_of, self._by_chunk(given[by_number])))
        return rows[np.argsort(by_number, kind="stable")]

    def traits(self, kernel: Kernel) -> Traits:
        """Return what decides the kernel's arithmetic."""
        found = kernel.traits(self.witnesses)
        n = self.shape[0] * self.shape[1] if sp.issparse(self.witnesses) else self.n_stored
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
        """Return sums of values, or of squared distances from a centre, of the same parts as on one machine."""
        sparse, d = sp.issparse(self.witnesses), self.shape[1]
        step = rows_in_bytes(np.empty(0) if sparse else np.empty((0, d)))
        edges = np.cumsum([0, *(facts.n_stored // (1 if sparse else max(1, d)) for facts in self.facts)]).tolist()
        kept, futures, found = self._by_chunk(self.kept), self.futures(range(len(self.lengths))), []
        for start in range(0, edges[-1], step):
            stop, cuts = min(start + step, edges[-1]), []
            for k, (first, end) in enumerate(pairwise(edges)):
                low, high = max(start, first) - first, min(stop, end) - first
                if low < high:
                    cuts.append(self.client.submit(cut_of, futures[k], kept[k], low, high, pure=False))
            found.append(self.client.submit(sum_of, cuts, centre, pure=False))
        return results_of(self.client, found)

    def squares(self, kernel: Kernel, traits: Traits | None = None) -> Floats:
        """Return x·x of each row, in the arithmetic of the kernel; refuse rows that are plainly not for it."""
        kernel.check(self.witnesses)
        products = kernel.products(self.traits(kernel) if traits is None else traits)
        if products.dtype is not np.float32:
            return np.concatenate([facts.squares for facts in self.facts])
        return np.concatenate(self._each(squares_of, self._by_chunk(self.kept), [products] * len(self.lengths)))

    def run(
        self,
        codes: NDArray[np.int64],
        order: Index,
        n_steps: int,
        *,
        trainer: DualTrainer,
        ids: Index | None = None,
        weights: Floats | None = None,
        memory_limit: int | str = "auto",
        n_threads: int = 1,
        watcher: Watcher | None = None,
    ) -> TrainingRun:
        """Train as `DualTrainer.run` does; threads are those of the walk, which is here."""
        kernel, traits = trainer.kernel, self.traits(trainer.kernel)
        if trainer.n_support:
            traits = kernel.traits(trainer.support_rows).joined(traits)
        presented = Presented(
            names=order if ids is None else ids[order],
            codes=codes[order].astype(np.int32),
            squares=self.squares(kernel, traits)[order],
            weights=None if weights is None else weights[order],
        )
        places = np.full(self._starts[-1], -1, dtype=np.int64)
        places[self.kept[order]] = np.arange(len(order))
        chunks = [Chunk(k, part) for k, part in enumerate(np.split(places, self._starts[1:-1])) if len(part)]
        page_size = min(ROWS_IN_A_PAGE * max(1, len(self.client.nthreads())), max(64, len(order)))
        none, weighted = self.witnesses[:0], weights is not None
        numbers = Numbers(kernel, traits, trainer.n_vectors, trainer.margin, page_size, none, weighted)
        shards = WorkerShards(self, chunks, presented, numbers, memory_limit)
        run = ClusterRun(trainer, shards, numbers, presented, self.nbytes / max(1, self.shape[0]), n_threads)
        self.account = run.account
        try:
            with connection(self.client):
                return run.run(n_steps, watcher)
        finally:
            run.account.workers = [shard.address for shard in shards.placed]
            run.account.lost, run.account.moved = shards.n_lost, shards.n_moved
            shards.placed = []  # the workers forget their shards
            self.release()

    def present(
        self,
        codes: NDArray[np.int64],
        order: Index,
        n_steps: int,
        *,
        trainer: PrimalTrainer,
        weights: Floats | None = None,
        watcher: Watcher | None = None,
    ) -> TrainingRun:
        """Present these rows chunk after chunk, within a chunk in the given order; the vectors go where the rows are.

        A task makes new vectors, and leaves those that it got as they are, so that it can be done again.
        """
        given, submit = self.kept[order], self.client.submit
        chunk = np.searchsorted(self._starts, given, "right") - 1
        by_chunk = np.argsort(chunk, kind="stable")
        parts = np.split(by_chunk, np.searchsorted(chunk[by_chunk], np.arange(1, len(self.lengths))))
        chunks, state = self.futures(range(len(parts))), self.client.scatter(trainer, broadcast=True, hash=False)
        n, done, mistakes, interrupted, converged = len(order), 0, int(trainer.n_mistakes.sum()), False, False
        while done < n_steps and not (interrupted or converged):
            left = min(n, n_steps - done)
            for k, part in enumerate(parts):
                mine = part[:left]
                if len(mine):
                    rows, of = given[mine] - self._starts[k], order[mine]
                    what = codes[of], None if weights is None else weights[of]
                    state = submit(_learnt, state, chunks[k], rows, *what, pure=False, retries=3)
                left -= len(mine)
            done += min(n, n_steps - done)
            (of_each,) = results_of(self.client, [submit(getattr, state, "n_mistakes", pure=False)])
            total = int(of_each.sum())
            converged, mistakes = total == mistakes and done % n == 0, total
            if watcher is not None:
                watcher.update(done, (done - 1) // n + 1, total)
                interrupted = watcher.should_stop()
        (learnt,) = results_of(self.client, [state])
        trainer.take_over(learnt)
        self.release()
        return TrainingRun(done, converged, interrupted)


class ChunkFacts(NamedTuple):
    """Facts about the rows of a chunk: how many values, x·x of each, and a few that stand for all."""

    n_stored: int
    n_nonzero: int
    n_bytes: int
    squares: Floats
    witnesses: Rows


def kept_of(rows: Rows, kept: Index | None) -> Rows:
    """Return the rows of a chunk that are kept; of all of them no copy."""
    return rows if kept is None or np.array_equal(kept, np.arange(rows.shape[0])) else rows[kept]


def facts_of(rows: Rows, kept: Index | None = None) -> ChunkFacts:
    """Return what is known of a chunk."""
    rows = kept_of(rows, kept)
    n_stored, n_nonzero = (rows.nnz, rows.nnz) if sp.issparse(rows) else (rows.size, int(np.count_nonzero(rows)))
    squares = squared_lengths(rows)
    return ChunkFacts(n_stored, n_nonzero, n_bytes(rows), squares, witnesses_of(rows, squares))


def witnesses_of(rows: Rows, squares: Floats) -> Rows:
    """Return rows that decide the arithmetic as all do: the longest, the fullest, those with extremes, a fraction."""
    if not rows.shape[0] or not rows.shape[1]:
        return rows[:0]
    fullest = np.asarray((rows != 0).sum(axis=1, dtype=np.uint32)).argmax()  # fast with a type this small
    values = [rows.argmin(), rows.argmax()]
    if rows.dtype.kind == "f":
        values.append(abs(rows - (rows.rint() if sp.issparse(rows) else np.rint(rows))).argmax())
    picked = [squares.argmax(), fullest, *(value // rows.shape[1] for value in values)]
    return rows[np.unique(picked)]


def cut_of(rows: Rows, kept: Index | None, low: int, high: int) -> Array:
    """Return a part of a chunk's values, as one machine adds them up."""
    rows = kept_of(rows, kept)
    return np.asarray(rows.data if sp.issparse(rows) else rows)[low:high]


def sum_of(cuts: list[Array], centre: float | None) -> float:
    """Return the sum of values, or of the squares of their distances from a centre, as one machine adds them up."""
    values = np.concatenate(cuts) if len(cuts) > 1 else cuts[0]
    if centre is None:
        return float(values.sum(dtype=np.float64))
    return float(np.square(values.astype(np.float64) - centre).sum())


def squares_of(rows: Rows, kept: Index | None, products: Products) -> Floats:
    """Return x·x of a chunk's rows, in this arithmetic."""
    return products.squares(kept_of(rows, kept))


def _learnt(
    trainer: PrimalTrainer, rows: Rows, order: Index, codes: NDArray[np.int64], weights: Floats | None
) -> PrimalTrainer:
    """Return a trainer that has learnt from rows in this order, whose codes and weights come in the same."""
    every, new = np.arange(len(order)), trainer.copy()
    new.run(rows[order], codes, every, len(every), weights=weights)
    return new
