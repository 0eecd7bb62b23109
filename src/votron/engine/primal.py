"""The primal engine: linear perceptrons on explicit weight vectors, with their averages.

One against the rest, the vectors of several classes do not depend on one another, so threads share the classes. Two
classes have one vector, and vectors that are trained jointly wait for one another at every row: there one thread
learns, and the others bring rows. The result does not depend on the threads, nor on how rows are brought along
(`votron.engine.presentation`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._loops import primal as _loops
from votron._util.progress import Watcher
from votron._util.resources import pieces, team
from votron._util.types import Array, Floats, Index, Params, Rows
from votron.engine.presentation import Presentation, RowBatch
from votron.errors import NotRepresentableError
from votron.history import TrainingRun

WORTH_A_THREAD = 1 << 18
"""Weights to be read below which threads cost more than they gain."""
_CACHE_LINE = 64
_LARGEST = 1e300
_SUMS = ("bias_weights", "bias_timed", "_mistakes")


class PrimalTrainer:
    """Trains weight vectors, one for two classes or one for each of several, and keeps their sums over time.

    A vector is updated where y · score ≤ τ ‖x‖², the feature of the ``bias`` included; ``margin`` is τ, or an array
    with a τ for the rows of each code. If several vectors are trained jointly, then where the score of a row's class
    exceeds the best of the others by no more than that, the class gains the row, and that other, the first among
    equals, loses it.
    """

    def __init__(
        self, n_features: int, n_vectors: int, *, bias: bool = False, margin: float | Floats = 0.0, joint: bool = False
    ) -> None:
        self.n_features, self.n_vectors, self.bias = n_features, n_vectors, bias
        self.margin, self.joint = margin, joint
        width = weights_width(n_vectors)
        self.weights: Rows = aligned_zeros(n_features, width)
        self.timed: Any = aligned_zeros(n_features, width)
        self.bias_weights, self.bias_timed = np.zeros(width), np.zeros(width)
        self._mistakes = np.zeros(width, dtype=np.int64)
        self.time = 0
        self.thin = False
        self.largest_weight = 0.0
        """The largest weight that a row has had; 0 if none had any."""
        self._made: dict[str, tuple[Any, Floats]] = {}

    @property
    def n_mistakes(self) -> NDArray[np.int64]:
        """Mistakes of each vector, which are its changes; jointly trained vectors change two at a time."""
        return self._mistakes[: self.n_vectors].copy()

    def last(self) -> tuple[Any, Floats]:
        """Return the current vectors, (n_vectors, n_features), and their bias weights."""
        return self._once("last", lambda now, timed: now.copy())

    def average(self) -> tuple[Any, Floats]:
        """Return the mean of the vectors that were alive at the times 1, 2, ... until now."""
        time = self.time

        def mean(now: Any, timed: Any) -> Any:
            total = now * (time + 1.0)
            total -= timed
            values = total.data if sp.issparse(total) else total  # scipy would multiply by 1 / time
            values /= max(1, time)
            return total

        return self._once("average", mean)

    def scores(self, rows: Rows) -> tuple[Floats, Floats]:
        """Return the scores of rows by the average of the vectors and by the last, without making either."""
        n, last = self.n_vectors, rows @ self.weights + self.bias_weights
        average = ((self.time + 1.0) * last - (rows @ self.timed + self.bias_timed)) / max(1, self.time)
        return np.asarray(average)[:, :n], np.asarray(last)[:, :n]

    def _once(self, name: str, make: Callable[[Any, Any], Any]) -> tuple[Any, Floats]:
        """Make vectors, unless they were made since the last change."""
        if self.thin:
            self.densify()
        if name not in self._made:
            n = self.n_vectors
            vectors = make(self.weights[:, :n], self.timed[:, :n]).T
            vectors = vectors.tocsr() if self.is_sparse else vectors
            bias = make(self.bias_weights[:n], self.bias_timed[:n])
            for array in (vectors.data if self.is_sparse else vectors, bias):
                array.flags.writeable = False  # they follow from the weights, and changes would be lost
            self._made[name] = vectors, bias
        return self._made[name]

    @classmethod
    def resume(
        cls,
        weights: Rows,
        timed: Any,
        bias: tuple[Floats, Floats],
        mistakes: NDArray[np.int64],
        time: int,
        *,
        with_bias: bool,
        margin: float | Floats,
        joint: bool,
        thin: bool,
        largest_weight: float,
    ) -> PrimalTrainer:
        """Return a trainer in a `state`; sparse weights that are ``thin`` are dense again when they are used."""
        made = cls(0, len(mistakes), bias=with_bias, margin=margin, joint=joint)
        made.n_features, made.weights, made.timed, made.time = int(weights.shape[0]), weights, timed, time
        made.bias_weights[: len(mistakes)], made.bias_timed[: len(mistakes)] = bias
        made._mistakes[: len(mistakes)] = mistakes
        made.thin, made.largest_weight = thin, largest_weight
        return made

    def state(self) -> Params:
        """Return the arrays that `resume` takes: weights, (n_features, n_vectors), and so on, without padding."""
        n = self.n_vectors
        bias = self.bias_weights[:n], self.bias_timed[:n]
        return {"weights": self.weights[:, :n], "timed": self.timed[:, :n], "bias": bias, "mistakes": self.n_mistakes}

    def __getstate__(self) -> Params:
        return {**self.__dict__, "_made": {}}

    @property
    def is_sparse(self) -> bool:
        """Whether only nonzero weights are kept."""
        return bool(sp.issparse(self.weights))

    def sparsify(self) -> None:
        """Keep the nonzero weights only; training makes them dense again."""
        if not self.is_sparse:
            self.weights, self.timed, self._made = sp.csr_matrix(self.weights), sp.csr_matrix(self.timed), {}

    def densify(self) -> None:
        """Keep all weights."""
        if self.is_sparse:
            dense = aligned_zeros(*self.weights.shape), aligned_zeros(*self.weights.shape)
            self.weights.toarray(out=dense[0])
            self.timed.toarray(out=dense[1])
            (self.weights, self.timed), self._made = dense, {}
        self.thin = False

    def copy(self) -> PrimalTrainer:
        self.densify()
        other = copy.copy(self)
        other.weights, other.timed = self._padded(self.weights), self._padded(self.timed)
        for name in _SUMS:
            setattr(other, name, getattr(self, name).copy())
        return other

    def take_over(self, other: PrimalTrainer) -> None:
        """Take the state of another trainer, which is not needed any more."""
        self.__dict__.update(other.__dict__, _made={})

    def _padded(self, array: Floats) -> Floats:
        """Return a copy of weights that starts on a cache line; those from a file may lack what pads them."""
        out = aligned_zeros(self.n_features, weights_width(self.n_vectors))
        out[:, : array.shape[1]] = array
        return out

    def _make_ready(self) -> None:
        """Make all weights writeable: those from a file may be neither dense nor writeable."""
        self.densify()
        for name in ("weights", "timed"):
            given = getattr(self, name)
            if not given.flags.writeable or given.shape[1] != weights_width(self.n_vectors):
                setattr(self, name, self._padded(given))
        for name in _SUMS:
            if not getattr(self, name).flags.writeable:
                setattr(self, name, getattr(self, name).copy())

    @contextmanager
    def undone_on_error(self, X: Rows) -> Iterator[None]:
        """Undo training on these rows if it fails or is interrupted: it only changes the features they have."""
        was_sparse = self.is_sparse
        self._make_ready()
        seen = np.zeros(self.n_features, dtype=np.bool_)
        if sp.issparse(X):
            seen[X.indices] = True
        else:
            seen[:] = X.any(axis=0)
        touched = np.flatnonzero(seen)
        weights, timed = self.weights[touched].copy(), self.timed[touched].copy()
        sums = {name: getattr(self, name).copy() for name in _SUMS}
        time, largest_weight = self.time, self.largest_weight
        try:
            yield
        except BaseException:
            self.weights[touched], self.timed[touched] = weights, timed
            self.__dict__.update(sums, time=time, largest_weight=largest_weight, _made={})
            if was_sparse:
                self.sparsify()
            raise

    def run(
        self,
        X: Rows,
        codes: Array,
        order: Index,
        n_steps: int,
        *,
        weights: Floats | None = None,
        n_threads: int = 1,
        watcher: Watcher | None = None,
        after_pass: Callable[[], bool] | None = None,
        pauses: Mapping[int, Callable[[], None]] | None = None,
    ) -> TrainingRun:
        """Present the rows ``order`` of X, over and over, for ``n_steps`` steps or until a pass makes no mistake.

        ``codes`` and ``weights`` are those of `DualTrainer.run`. ``after_pass`` is called after each pass, also after
        the last if it is not a whole one, and tells whether that is enough; ``pauses`` are called in the first pass,
        after so many rows.
        """
        self._check_size(X, n_steps, weights)
        self._make_ready()
        n, steps, last_mistake, interrupted, pauses = len(order), 0, 0, False, pauses or {}
        pauses.get(0, _nothing)()
        batches = Presentation(
            X,
            codes,
            order,
            values_per_feature=self._width,
            passes=n_steps / n,
            margins=np.full(max(2, self.n_vectors), self.margin),
            constant=float(self.bias),
            weights=weights,
            cuts=sorted(pauses),
        )
        worth_it = n_steps * batches.values_per_row * self._width >= WORTH_A_THREAD
        with team(n_threads if worth_it else 1) as threads:
            for batch in batches.presented(n_steps, threads, self._walks):
                if (wrong := max(batch.wrong)) >= 0:
                    last_mistake = steps + wrong + 1
                steps += batch.n
                self.time, self._made = self.time + batch.n, {}
                pauses.get(steps, _nothing)()
                if watcher is not None:
                    watcher.update(steps, (steps - 1) // n + 1, int(self._mistakes.sum()))
                    interrupted = watcher.should_stop()
                if steps % n == 0 or steps == n_steps or interrupted:
                    enough = after_pass() if after_pass is not None else False
                    if enough or interrupted or steps - last_mistake >= n:
                        break
        return TrainingRun(steps, steps - last_mistake >= n, interrupted)

    @property
    def _width(self) -> int:
        return int(self.weights.shape[1])

    def _walks(self, batch: RowBatch, n_threads: int) -> list[Callable[[], None]]:
        """Return the tasks that present a batch, which may run in parallel."""
        rows = batch.starts, batch.stops, batch.features, batch.values, batch.codes, batch.thresholds, batch.weights
        step, sums = (self.time, self.bias), (self.bias_weights, self.bias_timed, self._mistakes)
        if self._width == 1:
            w, u = self.weights.reshape(-1), self.timed.reshape(-1)
            return [lambda: batch.wrong.append(_loops.walk_one(*rows, *step, w, u, *sums))]
        state = self.n_vectors, self.weights, self.timed, *sums
        if self.joint:
            return [lambda: batch.wrong.append(_loops.walk_joint(*rows, *step, *state))]

        def walk(low: int, high: int) -> None:
            batch.wrong.append(_loops.walk_many(*rows, *step, low, high, *state))

        return [partial(walk, low, high) for low, high in pieces(self._width, n_threads, _loops.LANES)]

    def _check_size(self, X: Rows, n_steps: int, weights: Floats | None) -> None:
        """Raise if a score or sum could overflow."""
        if weights is not None:
            self.largest_weight = max(self.largest_weight, float(weights.max(initial=0.0)))
        values = X.data if sp.issparse(X) else X
        largest = max(abs(float(values.max(initial=0))), abs(float(values.min(initial=0))), 1.0)
        steps, step = float(self.time + n_steps + 1), max(1.0, self.largest_weight)
        if not step * largest * largest * steps * steps * (self.n_features + 1.0) < _LARGEST:
            weighted = f" with weights as large as {step:g}" if step > 1 else ""
            raise NotRepresentableError(
                f"Sums over values as large as {largest:g}{weighted} can exceed the largest float64: scale the data "
                "down."
            )


def _nothing() -> None:
    pass


def weights_width(n_vectors: int) -> int:
    """Return the columns of the weights: one, or whole cache lines."""
    return 1 if n_vectors == 1 else -(-n_vectors // _loops.LANES) * _loops.LANES


def aligned_zeros(rows: int, columns: int) -> Floats:
    """Return zeros whose first stands at the beginning of a cache line."""
    spare = _CACHE_LINE // 8
    flat = np.zeros(rows * columns + spare)
    skip = -flat.ctypes.data % _CACHE_LINE // 8
    return flat[skip : skip + rows * columns].reshape(rows, columns)
