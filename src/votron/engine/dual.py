"""The dual engine: the kernel perceptron one block at a time, with the record of the one-example-at-a-time algorithm.

Problem: present examples x_1, x_2, ... in a given order, again and again; each class's vector v = Σ_j w_j y_j Φ(x_j)
over its mistakes j so far, with weights w, all 1 unless they are given; a mistake is made where y v·Φ(x) ≤ τ K(x, x).
Input: kernel, examples, labels, weights, order, number of steps. Output: the list of mistakes. Reference: Freund &
Schapire (1999), figure 1 and section 4; Aizerman, Braverman & Rozonoer (1964).

Method: an **event** is a step at which one class or several err. Each block of examples keeps the scores of its rows
as of its last visit. On a visit (1) the events since then are added: one batch of products, one kernel evaluation
each, one addition a mistake, in order; (2) the rows that are wrong now have their kernel values with the block
computed in one batch, since most of them will be mistakes; (3) the block is walked in order, each mistake added to
the scores of the whole block, stopping for more kernel values only where a row turned wrong on the way. Scores are
float64 left folds, so they do not depend on the blocks. A few thousand examples that are presented again and again are
one block, whose kernel values are kept: then a pass is a walk, and nothing else.

=========  =======================================================================
``F``      scores, [block, class, row]
``seen``   events that a block's scores contain
``slot``   number of a support example, in order of first mistakes
``cache``  dot products of supports that err again, within a memory limit
=========  =======================================================================
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._loops import dual as _loops
from votron._util.progress import Watcher
from votron._util.resources import Growing, Team, team
from votron._util.types import Array, Floats, Index, Rows
from votron.blocks import WORTH_A_THREAD, DotCache, Events, KernelBlock
from votron.errors import IndefiniteKernelError, NotRepresentableError
from votron.history import TrainingRun
from votron.kernels import Kernel
from votron.products import GramProducts, Products, Traits, padded
from votron.record import MistakeRecord

CANDIDATES_AT_ONCE = 512
"""Rows whose kernel values with the block are computed ahead of the walk, at most."""
FEW_ROWS = 4096
"""Rows that make one block, if they are visited again and again and there is memory for their kernel values."""
WORKING_MEMORY = 96 << 20
"""Bytes set aside for packed rows and kernel values when memory is shared out."""
_NEGATIVE_NORM = 1e-7


class DualTrainer:
    """Trains one vector for two classes, or one for each of several, and keeps the record of its mistakes.

    A vector is updated where y · score ≤ τ K(x, x); ``margin`` is τ, or an array with a τ for the rows of each code.
    """

    def __init__(self, kernel: Kernel, n_vectors: int, margin: float | Floats = 0.0) -> None:
        self.kernel, self.n_vectors, self.margin = kernel, n_vectors, margin
        self.time = 0
        self.norm2 = np.zeros(n_vectors)
        self.events = Events()
        self._columns = {name: Growing(np.int64) for name in ("example", "time")}
        self._columns |= {name: Growing(np.float64) for name in ("score", "norm2")}
        self._traits: Traits | None = None
        self._products: Products | None = None
        self._largest = 0.0
        self.support_rows: Rows = None

    @classmethod
    def resume(cls, kernel: Kernel, margin: float | Floats, record: MistakeRecord, support_rows: Rows) -> DualTrainer:
        """Return a trainer that continues where a record ends."""
        trainer = cls(kernel, record.n_vectors, margin)
        trainer.time = record.n_steps
        for c in range(record.n_vectors):
            mine = record.norm2[record.vector == c]
            trainer.norm2[c] = mine[-1] if len(mine) else 0.0
        for name, column in trainer._columns.items():
            column.extend(getattr(record, name))
        if record.weight is not None:
            trainer.events.take_weights()
        firsts = record.event_starts[:-1]
        trainer.events.add(record.slot[firsts], firsts, record.vector, record.coefficient)
        trainer.support_rows = support_rows
        return trainer

    @property
    def n_events(self) -> int:
        """Steps with a mistake so far."""
        return self.events.n

    @property
    def n_mistakes(self) -> int:
        """Mistakes so far, of all classes."""
        return self.events.n_mistakes

    @property
    def last_mistake(self) -> int:
        """The step of the last mistake."""
        return int(self._columns["time"].values[-1])

    @property
    def n_support(self) -> int:
        """Distinct examples with a mistake so far."""
        return 0 if self.support_rows is None else int(self.support_rows.shape[0])

    def record(self, n_examples: int, n_steps: int | None = None) -> MistakeRecord:
        """Return the record so far, counting ``n_steps`` steps in all (default: those taken)."""
        return MistakeRecord(
            **{name: column.values for name, column in self._columns.items()},
            vector=self.events.vector.values,
            sign=self.events.sign.values,
            n_vectors=self.n_vectors,
            n_examples=n_examples,
            n_steps=self.time if n_steps is None else n_steps,
            weight=np.abs(self.events.coefficients) if self.events.weighted else None,
        )

    def write(self, mistakes: Mistakes) -> None:
        """Write mistakes down, whose supports the events know."""
        self.events.add(mistakes.slots, mistakes.firsts, mistakes.vector, mistakes.coefficients)
        for name, column in self._columns.items():
            column.extend(getattr(mistakes, name))

    def run(
        self,
        X: Rows,
        codes: Array,
        order: Index,
        n_steps: int,
        *,
        ids: Index | None = None,
        weights: Floats | None = None,
        n_threads: int = 1,
        memory: int = 0,
        block_size: int | None = None,
        watcher: Watcher | None = None,
    ) -> TrainingRun:
        """Present the rows ``order`` of X, over and over, for ``n_steps`` steps or until a pass makes no mistake.

        ``codes`` has for each row of X the vector for which it is positive (binary: 0 for the positive class, 1 for the
        other), ``ids`` its name in the record, and ``weights`` what a mistake on it is added with. Rows in ``order``
        must have K(x, x) > 0. The record does not depend on ``n_threads``, ``memory`` (bytes that may be used beside X)
        and ``block_size``.
        """
        if not len(order) or not n_steps:
            return TrainingRun(0, False, False)
        visit = _Visits(self, X, codes, order, ids, weights, memory, block_size)
        n, steps, last_mistake, interrupted = len(order), 0, 0, False
        with team(n_threads) as threads:
            for b in itertools.cycle(range(visit.n_blocks)):
                stop = min(visit.rows_in(b), n_steps - steps)
                if visit.visit(b, stop, threads):
                    last_mistake = steps + self.last_mistake - self.time
                steps += stop
                self.time += stop
                if watcher is not None:
                    watcher.update(steps, (steps - 1) // n + 1, self.n_mistakes)
                    interrupted = watcher.should_stop()
                if steps >= n_steps or interrupted or (steps % n == 0 and steps - last_mistake >= n):
                    break
        self.remember(visit.products.keep(X, np.array(visit.new_supports, dtype=np.int64)))
        return TrainingRun(steps, steps - last_mistake >= n, interrupted)

    def adopt(self, traits: Traits, none: Rows) -> Products:
        """Choose the arithmetic for rows of these traits, and bring the supports, or ``none``, into its form."""
        if self._traits is None and self.support_rows is not None:
            self._traits = self.kernel.traits(self.support_rows)
        self._traits = traits if self._traits is None else self._traits.joined(traits)
        products = self.kernel.products(self._traits)
        if self._products is None or products.form != self._products.form:
            kept = none if self.support_rows is None else self.support_rows
            self.events.store, squares = products.restore(kept, np.empty(0, dtype=np.int64))
            self.events.terms = self.kernel.terms(squares)
            self._largest = max(self._largest, squares.max(initial=0.0))
        self._products = products
        return products

    def remember(self, fresh: Rows) -> None:
        """Keep the rows of new supports."""
        old = self.support_rows
        if old is None or old.shape[0] == 0:
            self.support_rows = fresh
        elif sp.issparse(old):
            self.support_rows = sp.vstack([old, sp.csr_matrix(fresh)], format="csr")
        else:
            self.support_rows = np.concatenate([old, fresh.toarray() if sp.issparse(fresh) else fresh])


class Mistakes(NamedTuple):
    """Mistakes in order: of each event its support and the first of its mistakes, and of each mistake the rest."""

    slots: Index
    firsts: Index
    example: Index
    vector: NDArray[np.int32]
    coefficients: Array
    time: Index
    score: Floats
    norm2: Floats


class Limits(NamedTuple):
    """Bounds on the numbers of a run: the largest kernel value, its rounding, and the largest weight."""

    kernel: Kernel
    bound: float
    rounding: float
    largest_weight: float

    def check(self, norm2: Floats, diagonal: Floats, names: Index, n_before: int) -> None:
        """Raise if the kernel is indefinite or numbers overflow, after ``n_before`` mistakes."""
        scale = np.maximum(diagonal, np.abs(norm2).max(initial=0.0))
        # ‖v‖² of k mistakes is a sum of k² kernel values
        rounded = self.rounding * self.largest_weight**2 * np.square(n_before + np.arange(1.0, len(norm2) + 1))
        bad = np.flatnonzero(norm2 < -_NEGATIVE_NORM * scale - rounded)
        if len(bad):
            raise IndefiniteKernelError(
                f"{self.kernel!r} is not positive semi-definite on these data: ‖v‖² became {norm2[bad[0]]:g} "
                f"after the mistake on row {names[bad[0]]}; its Gram matrix must have no negative eigenvalue."
            )
        if not (np.isfinite(norm2).all() and (n_before + len(norm2)) * self.largest_weight * self.bound < 1e307):
            raise NotRepresentableError(
                f"Sums of {self.kernel!r} exceed the largest float64 on these data: lower the degree, "
                "or scale the data or gamma down."
            )


def finite_bound(kernel: Kernel, largest: float) -> float:
    """Return an upper bound on kernel values of rows with x·x up to ``largest``; raise if they overflow."""
    bound = kernel.bound(largest)
    if not math.isfinite(bound):
        raise NotRepresentableError(
            f"{kernel!r} exceeds the largest float64 on these data (x·x is up to {largest:g}): "
            "lower the degree, or scale the data or gamma down."
        )
    return bound


def rounding_of(kernel: Kernel, products: Products, bound: float) -> float:
    """Return the rounding error of kernel values that are made of dot products."""
    exact = kernel.reads_features and products.dtype is not np.float32
    return bound * float(np.finfo(np.float64 if exact else np.float32).eps)


class _Visits:
    """The blocks of one run, visited one after another."""

    def __init__(
        self,
        trainer: DualTrainer,
        X: Rows,
        codes: Array,
        order: Index,
        ids: Index | None,
        weights: Floats | None,
        memory: int,
        block_size: int | None,
    ) -> None:
        self.trainer, self.X, self.order = trainer, X, np.asarray(order, dtype=np.int64)
        self.ids = np.arange(X.shape[0]) if ids is None else ids
        self.kernel = trainer.kernel
        self.products = trainer.adopt(trainer.kernel.traits(X), X[:0])
        self.block_size = max(1, min(block_size or self._suitable_size(memory), len(order)))
        self.n_blocks = -(-len(order) // self.block_size)
        self.width = padded(self.block_size)
        squares = self.products.squares(X)
        trainer._largest = max(trainer._largest, float(squares.max(initial=0.0)))
        diagonal = self.kernel.diagonal(squares)
        bound = finite_bound(self.kernel, trainer._largest)
        rounding = self._rounding(squares, diagonal, bound)
        self.slot_of = np.full(X.shape[0], -1, dtype=np.int64)
        self.new_supports: list[int] = []
        self.codes = self._in_blocks(np.asarray(codes, dtype=np.int32))
        self.diagonal = self._in_blocks(diagonal)
        margin = np.asarray(trainer.margin, dtype=np.float64)
        self.threshold = (margin[self.codes] if margin.ndim else margin) * self.diagonal
        self.weights, largest_weight = np.empty((self.n_blocks, 0)), 1.0
        if weights is not None:
            trainer.events.take_weights()
            self.weights = self._in_blocks(np.asarray(weights, dtype=np.float64))
        if trainer.events.weighted:
            so_far = np.abs(trainer.events.coefficients).max(initial=1.0)
            largest_weight = float(max(self.weights.max(initial=1.0), so_far))
        self.limits = Limits(self.kernel, bound, rounding, largest_weight)
        self.all_terms = self.kernel.terms(squares)
        self.own = self._in_blocks(self.all_terms)
        self.F = np.zeros((self.n_blocks, trainer.n_vectors, self.width))
        self.seen = np.zeros(self.n_blocks, dtype=np.int64)
        self._share_out(memory)
        self.cache.note(trainer.events.slot.values)

    def _in_blocks(self, values: Array) -> Array:
        """Lay numbers of the rows out by block, along the last axis."""
        out = np.zeros((self.n_blocks, *values.shape[:-1], self.width), dtype=values.dtype)
        for b in range(self.n_blocks):
            mine = self.order[b * self.block_size : (b + 1) * self.block_size]
            out[b, ..., : len(mine)] = values[..., mine]
        return out

    def _suitable_size(self, memory: int) -> int:
        """Return the rows of a block: all of them, where they are few and their kernel values fit."""
        width = padded(len(self.order))
        values = width * width * (8 + np.dtype(self.products.dtype).itemsize)
        room = min(memory // 2, memory - WORKING_MEMORY)
        if width <= FEW_ROWS and values + self.products.block_bytes(width) <= room:
            return len(self.order)
        return self.products.block_size

    def _share_out(self, memory: int) -> None:
        """Divide the memory: first what training needs, then packed blocks, then the cache of dot products."""
        supports = self.products.block_bytes(len(self.order)) * 3 // 4  # they grow by doubling, and may be many rows
        own = self.F.nbytes + self.own.nbytes + 4 * self.diagonal.nbytes + WORKING_MEMORY + supports
        left = max(0, memory - own)
        packed = self.n_blocks * self.products.block_bytes(self.width)
        self.keeps_blocks = 0 < packed <= left // 2
        left -= packed if self.keeps_blocks else 0
        each = self.n_blocks * self.width * np.dtype(self.products.dtype).itemsize
        self.keeps_values = self.n_blocks == 1 and memory > 0
        after = 0 if self.keeps_values else self.products.keep_after
        capacity = min(left // each, self.trainer.n_support + len(self.order)) if after else 0
        self.cache = DotCache(self.n_blocks, self.width, self.products.dtype, capacity, after)
        self.blocks: dict[int, KernelBlock] = {}
        self.ahead: _Ahead | None = None

    def rows_in(self, b: int) -> int:
        return min(self.block_size, len(self.order) - b * self.block_size)

    def visit(self, b: int, stop: int, threads: Team) -> bool:
        """Bring block b up to date and walk its first ``stop`` rows; tell whether there was a mistake."""
        block = self.blocks.get(b) or self._block(b)
        if self.keeps_blocks:
            self.blocks[b] = block
        self._catch_up(b, block, threads)
        found = np.empty(stop, dtype=np.int64)
        if not _loops.find_mistakes(self.F[b], self.codes[b], self.threshold[b], 0, stop, found):
            return False
        self._walk(b, block, stop, threads)
        return True

    def _block(self, b: int) -> KernelBlock:
        rows = self.order[b * self.block_size : b * self.block_size + self.rows_in(b)]
        return KernelBlock(self.kernel, self.products, self.X, rows, self.own[b], self.cache, b)

    def _catch_up(self, b: int, block: KernelBlock, threads: Team) -> None:
        """Add the events since the last visit to the scores."""
        events, first = self.trainer.events, int(self.seen[b])
        if first == events.n:
            return
        events.fold(block, self.F[b], first, events.n, threads)
        self.seen[b], self.cache.held[b] = events.n, self.cache.n

    def _walk(self, b: int, block: KernelBlock, stop: int, threads: Team) -> None:
        trainer = self.trainer
        ahead = self.ahead or _Ahead(self, b, block, threads)
        if self.keeps_values:
            self.ahead = ahead
        room = stop * trainer.n_vectors
        at, vector = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int32)
        score, norm2, r, n = np.empty(room), np.empty(room), 0, 0
        while r < stop:
            r, n = _loops.walk(
                self.F[b], self.codes[b], self.threshold[b], self.diagonal[b], self.weights[b], r, stop,
                ahead.row_of, ahead.K, trainer.norm2, n, at, vector, score, norm2,
            )  # fmt: skip
            if r < stop:
                ahead.fetch(r, stop)
        self.limits.check(norm2[:n], self.diagonal[b, at[:n]], block.rows[at[:n]], trainer.n_mistakes)
        self._commit(b, block.rows, ahead, at[:n], vector[:n], score[:n], norm2[:n])

    def _commit(
        self, b: int, rows: Index, ahead: _Ahead, at: Index, vector: NDArray[np.int32], score: Floats, norm2: Floats
    ) -> None:
        """Write a block's mistakes to the record, the supports and the cache."""
        trainer, events = self.trainer, self.trainer.events
        assert events.store is not None
        first_of_event = np.flatnonzero(np.diff(at, prepend=-1))
        where = at[first_of_event]
        examples = rows[where]
        fresh = examples[self.slot_of[examples] < 0]
        if len(fresh):
            self.slot_of[fresh] = events.store.n + np.arange(len(fresh))
            events.add_supports(self.products.pack(self.X, fresh), self.all_terms[:, fresh])
            self.new_supports.extend(fresh.tolist())
        n_before = self.cache.n
        indexed = self.cache.note(self.slot_of[examples])
        self.cache.data[b, n_before : self.cache.n] = ahead.dots[ahead.row_of[where[indexed]]]
        signs = np.where(self.codes[b, at] == vector, 1, -1)
        coefficients = signs * self.weights[b, at] if self.weights.size else signs
        slots, when = self.slot_of[examples], trainer.time + at + 1
        trainer.write(Mistakes(slots, first_of_event, self.ids[rows[at]], vector, coefficients, when, score, norm2))
        self.seen[b], self.cache.held[b] = trainer.n_events, self.cache.n

    def _rounding(self, squares: Floats, diagonal: Floats, bound: float) -> float:
        """Return the rounding error of kernel values; given whole numbers may have been rounded down."""
        if isinstance(self.products, GramProducts) and self.X.dtype.kind in "iub":
            some = squares > 0
            return float((diagonal[some] / squares[some]).max(initial=0.0))
        return rounding_of(self.kernel, self.products, bound)


class _Ahead:
    """Kernel values of rows of a block with the whole block, fetched before the walk comes by."""

    def __init__(self, visits: _Visits, b: int, block: KernelBlock, threads: Team) -> None:
        self.visits, self.b, self.rows, self.block, self.threads = visits, b, block.rows, block, threads
        # before anything is learnt all rows are wrong, and of few rows many will be right when their turn comes
        few = min(CANDIDATES_AT_ONCE, max(32, visits.width // 8))
        self.at_once = few if visits.keeps_values else CANDIDATES_AT_ONCE
        self.row_of = np.full(visits.width, -1, dtype=np.int64)
        self.K = np.empty((0, visits.width))
        self.dots = np.empty((0, visits.width), dtype=visits.products.dtype)
        self.n = 0

    def fetch(self, start: int, stop: int) -> None:
        """Fetch the rows from ``start`` on that are wrong now and have no values yet."""
        v, b = self.visits, self.b
        wrong = np.empty(stop - start, dtype=np.int64)
        n = _loops.find_mistakes(v.F[b], v.codes[b], v.threshold[b], start, stop, wrong)
        wanted = wrong[:n][self.row_of[wrong[:n]] < 0][: self.at_once]
        if not len(wanted):
            return
        self._make_room(self.n + len(wanted))
        mine = slice(self.n, self.n + len(wanted))
        dots = np.empty((len(wanted), v.width), dtype=self.dots.dtype) if v.keeps_values else self.dots[mine]
        self._fill_dots(wanted, dots)
        terms = np.ascontiguousarray(v.all_terms[:, self.rows[wanted]])

        def work(low: int, high: int) -> None:
            v.kernel.from_dots(dots, np.arange(len(wanted)), low, high, terms, v.own[b], self.K[mine])

        self.threads.over(self.block.width, work, worth_it=len(wanted) * v.width > WORTH_A_THREAD)
        self.row_of[wanted] = np.arange(mine.start, mine.stop)
        self.n += len(wanted)

    def _fill_dots(self, wanted: Index, out: Array) -> None:
        v, b = self.visits, self.b
        slots = v.slot_of[self.rows[wanted]]
        place = np.where(slots >= 0, v.cache.place(np.maximum(slots, 0)), -1)
        known = (place >= 0) & (place < v.cache.held[b])
        out[known] = v.cache.data[b][place[known]]
        fresh = np.flatnonzero(~known)
        if not len(fresh):
            return
        store = v.products.pack(v.X, self.rows[wanted[fresh]])
        part = out if len(fresh) == len(wanted) else np.empty((len(fresh), v.width), dtype=out.dtype)
        must_pack, packed = not self.block.packed, self.block.block

        def work(low: int, high: int) -> None:
            if must_pack:
                self.block.prepare(low, high)
            v.products.dots(store, np.arange(len(fresh)), packed, low, high, part)

        self.threads.over(self.block.width, work, worth_it=len(fresh) * v.width > WORTH_A_THREAD)
        self.block.packed = True
        if part is not out:
            out[fresh] = part

    def _make_room(self, needed: int) -> None:
        if needed > len(self.K):
            keeps = self.visits.keeps_values  # then nobody asks for the dot products again, and all rows have a place
            size = len(self.rows) if keeps else max(needed, 2 * len(self.K), 64)
            full = self.block.width == self.visits.width  # else the columns past the block's end must hold numbers
            K = (np.empty if full else np.zeros)((size, self.visits.width))
            dots = np.empty((0 if keeps else size, self.visits.width), dtype=self.dots.dtype)
            K[: self.n], dots[: self.n] = self.K[: self.n], self.dots[: self.n]  # of none, where all have a place
            self.K, self.dots = K, dots
