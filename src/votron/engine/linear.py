"""The record of a linear kernel's perceptron, made on explicit weight vectors.

Problem, input and output are those of `votron.engine.dual`; the kernel is x·z or x·z + c, the data are whole numbers,
and τ is 0. Then a score is one product with v = Σ y x, instead of one with every support vector, and as long as no sum
exceeds 2^53 there is no rounding: the record is that of the dual engine, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._loops import primal as _loops
from votron._util.progress import Watcher
from votron._util.resources import Growing, pieces, team
from votron._util.types import Array, Floats, Index, Rows
from votron.engine.presentation import Presentation, RowBatch
from votron.engine.primal import aligned_zeros, weights_width
from votron.history import TrainingRun
from votron.kernels import Kernel
from votron.record import MistakeRecord

MOST_WEIGHTS = 1 << 24
"""Weights above which the dual engine is left to it: they would not fit beside large data."""
_EXACT = 2.0**53


class LinearTrainer:
    """Trains once with a kernel that `suits`, and keeps the record of mistakes that `DualTrainer` would."""

    def __init__(self, kernel: Kernel, n_vectors: int) -> None:
        self.kernel, self.n_vectors, self.time = kernel, n_vectors, 0
        self.constant = _constant(kernel) or 0.0
        self.support_rows: Rows = None
        self._row, self._vector, self._sign = Growing(np.int64), Growing(np.int32), Growing(np.int8)
        self._when, self._score = Growing(np.int64), Growing(np.float64)
        self._norm2: Floats = np.empty(0)

    @staticmethod
    def suits(kernel: Kernel, X: Rows, n_vectors: int, n_steps: int) -> bool:
        """Tell whether sums stay whole numbers below 2^53, and weights are not too many."""
        constant = _constant(kernel)
        if constant is None or X.shape[1] * weights_width(n_vectors) > MOST_WEIGHTS:
            return False
        if not kernel.traits(X).integer:
            return False
        largest = float(kernel.products_for(X).squares(X).max(initial=0.0))
        return 2 * (n_steps + 1.0) * (largest + constant) < _EXACT  # twice a score is the largest number there is

    def run(
        self, X: Rows, codes: Array, order: Index, n_steps: int, *, n_threads: int = 1, watcher: Watcher | None = None
    ) -> TrainingRun:
        """Present rows as `DualTrainer.run` does."""
        n, last_mistake, interrupted = len(order), 0, False
        width = weights_width(self.n_vectors)
        weights, signs = aligned_zeros(X.shape[1], width), np.zeros(width)
        batches = Presentation(X, codes, order, values_per_feature=width, passes=n_steps / n)
        notes: list[tuple[NDArray[np.int64], NDArray[np.int64], Floats]] = []

        def walks(batch: RowBatch, threads: int) -> list[Callable[[], None]]:
            rows = batch.starts, batch.stops, batch.features, batch.values, batch.codes, self.constant

            def walk(low: int, high: int) -> None:
                room = batch.n * min(high, self.n_vectors) - batch.n * low
                log = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room)
                if width == 1:
                    found = _loops.note_one(*rows, weights.reshape(-1), signs, *log)
                else:
                    found = _loops.note_many(*rows, low, high, self.n_vectors, weights, signs, *log)
                notes.append((log[0][:found], log[1][:found], log[2][:found]))

            return [partial(walk, low, high) for low, high in pieces(width, threads, 1 if width == 1 else _loops.LANES)]

        with team(n_threads) as threads:
            for batch in batches.presented(n_steps, threads, walks):
                if self._take(notes, batch.codes):
                    last_mistake = int(self._when.values[-1])
                self.time += batch.n
                if watcher is not None:
                    watcher.update(self.time, (self.time - 1) // n + 1, self._when.n)
                    interrupted = watcher.should_stop()
                if interrupted or (self.time % n == 0 and self.time - last_mistake >= n):
                    break
        self._finish(X, order)
        return TrainingRun(self.time, self.time - last_mistake >= n, interrupted)

    def _take(self, notes: list[tuple[Any, Any, Any]], codes: NDArray[np.int64]) -> bool:
        """Write down the mistakes of a batch, by step and vector; tell whether there were any."""
        rows, vectors, scores = (np.concatenate(parts) for parts in zip(*notes, strict=True))
        notes.clear()
        by = np.lexsort((vectors, rows))
        rows, vectors, scores = rows[by], vectors[by], scores[by]
        self._when.extend(self.time + 1 + rows)
        self._vector.extend(vectors)
        self._sign.extend(np.where(codes[rows] == vectors, 1, -1))
        self._score.extend(scores)
        return bool(len(rows))

    def _finish(self, X: Rows, order: Index) -> None:
        """Find the examples, the supports among them, and the lengths of the vectors."""
        when = self._when.values
        self._row.extend(np.asarray(order, dtype=np.int64)[(when - 1) % len(order)])
        rows = self._row.values
        products = self.kernel.products_for(X)
        _, first = np.unique(rows, return_index=True)
        self.support_rows = products.keep(X, rows[np.sort(first)])
        diagonal = self.kernel.diagonal(products.squares(X))[rows]
        self._norm2 = np.empty(len(rows))
        for c in range(self.n_vectors):
            mine = self._vector.values == c
            grown = 2 * self._sign.values[mine] * self._score.values[mine] + diagonal[mine]
            self._norm2[mine] = np.cumsum(grown)

    def record(self, n_examples: int, n_steps: int) -> MistakeRecord:
        """Return the record, counting ``n_steps`` steps in all."""
        return MistakeRecord(
            example=self._row.values, vector=self._vector.values, sign=self._sign.values, time=self._when.values,
            score=self._score.values, norm2=self._norm2,
            n_vectors=self.n_vectors, n_examples=n_examples, n_steps=n_steps,
        )  # fmt: skip


def _constant(kernel: Kernel) -> float | None:
    """Return c of a kernel x·z + c that is a whole number, not negative; None of any other."""
    slope, constant = kernel.affine() or (0.0, 0.0)
    return constant if slope == 1.0 and constant >= 0 and constant.is_integer() else None
