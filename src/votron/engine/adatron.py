"""The kernel adatron: coordinate steps to the vector of maximal margin.

Problem: find the vector w = Σ α_i y_i x_i in feature space with the largest margin min y (w·x)/‖w‖. Input: examples,
labels +1 and -1, a kernel. Output: α ≥ 0, at most ``cap`` each in the soft form, or ``cap`` times its weight.
Reference: T.-T. Friess, N. Cristianini and C. Campbell, *The Kernel-Adatron*, ICML 1998; here with the step that
satisfies an example's own constraint y (w·x) = 1 exactly, for which there is no learning rate to choose.

Only examples near the margin have α > 0. So the steps are taken within a working set, whose kernel values are kept;
when it is solved, all examples are scored, those that violate their constraint most join the set, and so on until none
does.

How good the vector is is known at any time, without knowing the best. With α scaled to sum to 1, w is a point of the
convex hull of the vectors y x; no vector has a margin above the length of such a point (its own margin is at most
that of any mixture of the examples). So

    min y (w·x)/‖w‖  ≤  γ*  ≤  ‖w‖ / Σ α

and training stops when the two differ by less than ``tolerance``. With examples divided by their lengths the same
says that no vector has a normalised margin above ‖w‖ / Σ α ‖x‖. If that falls to nothing, the data are not separable,
however long or short they are.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np

from votron._loops import dual as _loops
from votron._util.progress import Watcher
from votron._util.resources import Team, chunks, team
from votron._util.types import Array, Floats, Index, Rows
from votron.blocks import ROWS_AT_ONCE
from votron.kernels import Kernel

FIRST = 400
"""Examples in the first working set."""
SWEEPS_AT_ONCE = 20
NOTHING = 1e-4
"""Normalised margin below which data pass for inseparable."""


@dataclass(frozen=True, eq=False)
class MaximalMargin:
    """The result of the adatron."""

    support: Index  # examples with α > 0, rising
    signed: Floats  # their α y, the coefficients of w
    norm2: float  # ‖w‖²
    margin: float  # the margin that w attains on the data; negative where it errs
    best: float  # an upper bound on every vector's margin (of the hard form)
    converged: bool  # whether the tolerance was reached
    separable: bool | None  # whether the data are separable; None where that is open


def solve_adatron(
    kernel: Kernel,
    X: Rows,
    y: Array,
    *,
    cap: float = math.inf,
    weights: Floats | None = None,
    tolerance: float = 1e-3,
    max_sweeps: int = 100_000,
    n_threads: int = 1,
    watcher: Watcher | None = None,
) -> MaximalMargin:
    """Find the vector of maximal margin through the origin of the kernel's feature space.

    ``cap`` is the most that α may be, times an example's weight; without a cap it is the hard form. ``tolerance`` says
    how far the margin, or in the soft form the objective, may be from the best, relatively.
    """
    search = _CoordinateSteps(kernel, X, np.asarray(y, dtype=np.float64), float(cap), weights, tolerance)
    with team(n_threads) as threads:
        for sweeps in search.rounds(max_sweeps, threads):
            if watcher is not None:
                watcher.update(min(sweeps, max_sweeps), len(search.rows), len(search.support))
                if watcher.should_stop():
                    break
    return search.found()


class _CoordinateSteps:
    """A working set, its kernel values, and the multipliers of its examples."""

    def __init__(
        self, kernel: Kernel, X: Rows, y: Floats, cap: float, weights: Floats | None, tolerance: float
    ) -> None:
        self.kernel, self.X, self.y, self.cap, self.tolerance = kernel, X, y, cap, tolerance
        self.weights = weights
        self.caps = np.full(len(y), cap) if weights is None else cap * weights
        self.products = kernel.products_for(X)
        squares = self.products.squares(X)
        self.terms, self.diagonal = kernel.terms(squares), kernel.diagonal(squares)
        self.learnable = np.flatnonzero(self.diagonal > 0)
        self.lengths = np.sqrt(self.diagonal)
        self.rows = np.empty(0, dtype=np.int64)
        self.a, self.f = np.empty(0), np.empty(0)
        self.K = np.empty((0, 0))
        self.worst = -math.inf  # the least y f over all examples, with the multipliers as they are
        self.done = False
        self.separable: bool | None = None
        self.add(_spread(y, self.learnable, FIRST))

    @property
    def support(self) -> Index:
        return self.rows[self.a > 0]

    @property
    def norm2(self) -> float:
        return max(0.0, float(self.a @ (self.y[self.rows] * self.f)))

    @property
    def best(self) -> float:
        """An upper bound on every vector's margin."""
        total = float(self.a.sum())
        return math.sqrt(self.norm2) / total if total else math.inf

    @property
    def hopeless(self) -> bool:
        """Whether no normalised margin exceeds `NOTHING`."""
        if not math.isinf(self.cap):
            return False
        return math.sqrt(self.norm2) <= NOTHING * float(self.a @ self.lengths[self.rows])

    def near(self, least: float, loss: float, tolerance: float) -> bool:
        """Tell whether it is near enough, the least y f and the `loss` being these."""
        if math.isinf(self.cap):
            length = math.sqrt(self.norm2)
            return length > 0 and least / length >= (1 - tolerance) * self.best
        primal = 0.5 * self.norm2 + self.cap * loss
        return primal - (float(self.a.sum()) - 0.5 * self.norm2) <= tolerance * primal

    def loss(self, margins: Floats, rows: Index) -> float:
        """Return the sum of max(0, 1 − y f), each times its weight."""
        short = np.maximum(0.0, 1.0 - margins)
        return float(short.sum() if self.weights is None else short @ self.weights[rows])

    def rounds(self, max_sweeps: int, threads: Team) -> Iterator[int]:
        """Solve the working set, look at all examples, let violators join; yield the passes so far."""
        sweeps, inner = 0, self.tolerance / 2
        while not self.done and sweeps < max_sweeps:
            sweeps = yield from self._solve(inner, sweeps, max_sweeps)
            scores = self.scores(threads)
            self.f = scores[self.rows]  # without the rounding of all steps
            margins = (self.y * scores)[self.learnable]
            self.worst = float(margins.min())
            self.done = self.near(self.worst, self.loss(margins, self.learnable), self.tolerance)
            if self.worst > 0:
                self.separable = True
            elif self.hopeless:
                self.separable, self.done = False, True
            joined = self._violators(margins)
            if not self.done and not len(joined):
                inner /= 4
            self.add(joined)
            yield sweeps

    def _solve(self, tolerance: float, sweeps: int, max_sweeps: int) -> Generator[int, None, int]:
        """Take steps within the working set until it is solved; return the passes so far."""
        n, y, caps = len(self.rows), self.y[self.rows], self.caps[self.rows]
        while sweeps < max_sweeps:
            changes = 0
            for _ in range(SWEEPS_AT_ONCE):
                changes = _loops.sweep(self.K, n, y, caps, self.a, self.f)
                sweeps += 1
            margins = y * self.f
            near = self.near(float(margins.min()), self.loss(margins, self.rows), tolerance)
            if near or not changes or self.hopeless:
                break
            yield sweeps
        return sweeps

    def _violators(self, margins: Floats) -> Index:
        """Return the worst of the examples outside that a solution would have inside."""
        short = margins < 1 - self.tolerance / 4
        outside = short & ~np.isin(self.learnable, self.rows)
        rows = self.learnable[outside]
        order = np.argsort(margins[outside], kind="stable")
        return rows[order[: max(FIRST, len(self.rows) // 2)]]

    def add(self, rows: Index) -> None:
        if not len(rows):
            return
        old, n = len(self.rows), len(self.rows) + len(rows)
        self.rows = np.concatenate([self.rows, rows])
        if n > len(self.K):
            grown = np.zeros((max(n, 2 * len(self.K)),) * 2)
            grown[:old, :old] = self.K[:old, :old]
            self.K = grown
        self.K[old:n, :n] = self.values(rows, self.rows)
        self.K[:old, old:n] = self.K[old:n, :old].T
        y, coefficients = self.y[rows], self.a * self.y[self.rows[:old]]
        self.f = np.concatenate([self.f, self.K[old:n, :old] @ coefficients])
        self.a = np.concatenate([self.a, np.zeros(len(y))])

    def values(self, A: Index, B: Index) -> Floats:
        out, terms = np.empty((len(A), len(B))), np.ascontiguousarray(self.terms[:, A])
        store = self.products.pack(self.X, A)
        for part in chunks(len(B), ROWS_AT_ONCE):
            own = self.terms[:, B[part]]
            out[:, part] = self.kernel.block_values(self.products, store, terms, self.X, B[part], own)
        return out

    def scores(self, threads: Team) -> Floats:
        used = self.a > 0
        rows, coefficients = self.rows[used], (self.a * self.y[self.rows])[used]
        out = np.zeros(self.X.shape[0])

        def work(part: slice) -> None:
            out[part] = coefficients @ self.values(rows, np.arange(part.start, part.stop))

        if len(rows):
            threads.each(chunks(len(out), ROWS_AT_ONCE), work)
        return out

    def found(self) -> MaximalMargin:
        order = np.argsort(self.rows, kind="stable")
        order = order[self.a[order] > 0]
        length = math.sqrt(self.norm2)
        margin = self.worst / length if length and math.isfinite(self.worst) else -math.inf
        done = self.done and self.separable is not False
        rows, signed = self.rows[order], self.a[order] * self.y[self.rows[order]]
        return MaximalMargin(rows, signed, self.norm2, margin, self.best, done, self.separable)


def _spread(y: Floats, rows: Index, n: int) -> Index:
    """Return examples of both labels, from all over the data."""
    found = [
        mine[np.linspace(0, len(mine) - 1, min(len(mine), n // 2)).astype(int)]
        for mine in (rows[y[rows] > 0], rows[y[rows] < 0])
        if len(mine)
    ]
    return np.sort(np.concatenate(found)) if found else rows[:0]
