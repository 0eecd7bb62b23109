"""Problems for Hypothesis to draw: data with duplicates, contradictions and zero rows, kernels, and ways to train."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from votron import blocks, products
from votron.blocks import DotCache
from votron.engine import DualTrainer, TrainingRun, dual
from votron.kernels import (
    CallableKernel,
    ConjunctionKernel,
    GaussianKernel,
    Kernel,
    LinearKernel,
    NormalizedKernel,
    PolynomialKernel,
    PrecomputedKernel,
)
from votron.record import MistakeRecord


def thorough(n: int) -> settings:
    """Settings for n examples, however long they take; for a tenth of them with ``VOTRON_QUICK`` set."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    n = max(4, n // 10) if os.environ.get("VOTRON_QUICK") else n
    return settings(max_examples=n, deadline=None, suppress_health_check=slow)


PLENTY = 1 << 30
"""Memory for everything."""

RANGES = {"bits": (0, 1), "bytes": (0, 255), "small": (-5, 5), "int16": (-14_000, 14_000), "wide": (-100_000, 100_000)}
"""Values of integer data, by name: dot products of "int16" pass 2^24 but not 2^31, "wide" does not fit 16 bits."""

CONTAINERS = {
    "bits": ("bool", "uint8", "int16", "int64", "float32", "float64", "csr float64", "csr uint8", "csr bool"),
    "bytes": ("uint8", "int16", "int64", "float32", "float64", "csr float64", "csr uint8", "csr int64"),
    "small": ("int8", "int16", "int64", "float32", "float64", "csr float64", "csr int8"),
    "int16": ("int16", "int64", "float32", "float64", "csr float64", "csr int16"),
    "wide": ("int32", "int64", "float32", "float64", "csr float64", "csr int32"),
}
"""Forms that hold these values without loss."""


def contained(values: np.ndarray, form: str) -> Any:
    """The same rows as an array or CSR matrix of a type."""
    if form.startswith("csr "):
        return sp.csr_matrix(values.astype(form[4:]))
    return values.astype(form)


def _square_plus_product(A: Any, B: Any) -> np.ndarray:
    dots = np.asarray(oracle.dense(A), dtype=np.float64) @ np.asarray(oracle.dense(B), dtype=np.float64).T
    return dots * dots + dots


CALLABLE = CallableKernel(_square_plus_product)
SCALES = st.sampled_from([(1.0, 1.0), (1.0, 0.0), (0.5, 1.0), (0.1, 0.3), (2.0, 3.0)])

FAMILIES: dict[str, st.SearchStrategy[Kernel]] = {
    "linear": st.just(LinearKernel()),
    "poly": st.builds(lambda d, s: PolynomialKernel(d, *s), st.integers(1, 6), SCALES),
    "rbf": st.builds(GaussianKernel, st.sampled_from([1.0, 0.5, 0.01, 1e-5, 1e-9])),
    "conjunction": st.just(ConjunctionKernel()),
    "callable": st.just(CALLABLE),
    "precomputed": st.just(PrecomputedKernel()),
}
COMPOSED = [
    PolynomialKernel(4).of(NormalizedKernel(LinearKernel())),
    GaussianKernel(0.5).of(NormalizedKernel(PolynomialKernel(2))),
    GaussianKernel(1e-9).of(PolynomialKernel(2)),
    PolynomialKernel(2, 0.5, 0.0).of(GaussianKernel(0.01)),
    PolynomialKernel(3, 1e-6).of(CALLABLE),
    GaussianKernel(1e-9).of(CALLABLE),
    PolynomialKernel(2).of(PolynomialKernel(2, 0.5).of(NormalizedKernel(PolynomialKernel(3)))),
    NormalizedKernel(PolynomialKernel(2)).of(LinearKernel()),
]
FAMILIES["composed"] = st.sampled_from(COMPOSED)
FAMILIES |= {f"normalized {name}": kernels.map(NormalizedKernel) for name, kernels in FAMILIES.items()}


@dataclass(frozen=True)
class How:
    """A way to train, which must not matter.

    ``capacity`` limits the cache of dot products, ``at_once`` keeps them at first asking.
    """

    block_size: int | None = 64
    n_threads: int = 1
    memory: int = 0
    capacity: int | None = None
    at_once: bool = False
    events: int = 128
    candidates: int = 512
    worth_a_thread: int = 40_000

    @contextmanager
    def in_force(self) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(blocks, "EVENTS_AT_ONCE", self.events)
            patch.setattr(dual, "CANDIDATES_AT_ONCE", self.candidates)
            for module in (dual, blocks):
                patch.setattr(module, "WORTH_A_THREAD", self.worth_a_thread)
            if self.at_once:
                patch.setattr(products, "WORTH_KEEPING", 0)
            if self.capacity is not None:
                patch.setattr(
                    dual, "DotCache", lambda n, w, t, c, after=1: DotCache(n, w, t, min(c, self.capacity), after)
                )
            yield


BLOCK_SIZES = [1, 2, 3, 4, 5, 6, 7, 64, 65, 200]

ways = st.builds(
    How,
    block_size=st.sampled_from(BLOCK_SIZES),
    n_threads=st.integers(1, 3),
    memory=st.sampled_from([0, PLENTY]),
    capacity=st.sampled_from([None, 0, 1, 3, 7]),
    at_once=st.booleans(),
    events=st.sampled_from([1, 3, 128]),
    candidates=st.sampled_from([1, 2, 512]),
    worth_a_thread=st.sampled_from([0, 40_000]),
)

WAYS = [
    How(1),
    How(7, events=3, candidates=2),
    How(64, memory=PLENTY),
    How(64, memory=PLENTY, at_once=True, events=3),
    How(65, 2, PLENTY, at_once=True, capacity=5, events=3, candidates=2, worth_a_thread=0),
    How(200, 3, 0, events=3, candidates=2, worth_a_thread=0),
    How(200, 3, PLENTY, at_once=True, candidates=3, worth_a_thread=0),
    How(130, 2, PLENTY, at_once=True, capacity=20, events=16, worth_a_thread=0),
]
"""A few ways that between them take every path."""


@dataclass(frozen=True, repr=False)
class Problem:
    """Something to learn."""

    kernel: Kernel
    X: Any
    codes: np.ndarray
    n_steps: int
    n_vectors: int = 1
    margin: float | np.ndarray = 0.0
    weights: np.ndarray | None = None

    def __repr__(self) -> str:
        return (
            f"Problem({self.kernel!r}, X={type(self.X).__name__} {self.X.dtype} {oracle.dense(self.X).tolist()}, "
            f"codes={self.codes.tolist()}, n_steps={self.n_steps}, n_vectors={self.n_vectors}, margin={self.margin}, "
            f"weights={None if self.weights is None else self.weights.tolist()})"
        )

    @cached_property
    def order(self) -> np.ndarray:
        """The rows that can be learnt."""
        return np.flatnonzero(self.kernel.diag(self.X) != 0)

    def textbook(self) -> MistakeRecord:
        K = oracle.pairs(self.kernel, self.X)
        diagonal, presentation = self.kernel.diag(self.X), oracle.present(self.order, self.n_steps)
        return oracle.perceptron(
            K,
            diagonal,
            self.codes,
            presentation,
            n_vectors=self.n_vectors,
            margin=self.margin,
            weights=self.weights,
            n_examples=len(self.order),
        )

    def run(self, how: How) -> tuple[TrainingRun, DualTrainer]:
        trainer = DualTrainer(self.kernel, self.n_vectors, self.margin)
        with how.in_force():
            run = trainer.run(
                self.X,
                self.codes,
                self.order,
                self.n_steps,
                weights=self.weights,
                n_threads=how.n_threads,
                memory=how.memory,
                block_size=how.block_size,
            )
        return run, trainer

    def train(self, how: How) -> MistakeRecord:
        return self.run(how)[1].record(len(self.order), self.n_steps)

    def held_in(self, form: str) -> Problem:
        return replace(self, X=contained(oracle.dense(self.X), form))


@st.composite
def tables(
    draw: st.DrawFn, kind: str | None = None, max_distinct: int = 10, max_features: int = 8
) -> tuple[str, np.ndarray]:
    """A few distinct rows of integers, among them, often, zero rows; and the name of their range."""
    kind = draw(st.sampled_from(sorted(RANGES))) if kind is None else kind
    low, high = RANGES[kind]
    shape = draw(st.tuples(st.integers(1, max_distinct), st.integers(1, max_features)))
    values = st.one_of(st.just(0), st.integers(low, high), st.sampled_from([low, high]))
    return kind, draw(hnp.arrays(np.int64, shape, elements=values, fill=st.just(0)))


@st.composite
def problems(
    draw: st.DrawFn,
    family: str | None = None,
    max_rows: int = 40,
    max_epochs: float = 4,
    margins: bool = True,
    weights: bool = False,
) -> Problem:
    """Rows picked, some often, from a small table, labels that may contradict each other, a kernel for such data.

    With ``weights`` also a weight for each row, and often a margin for each class.
    """
    family = draw(st.sampled_from(sorted(FAMILIES))) if family is None else family
    kind, table = draw(tables("bits" if "conjunction" in family else None))
    kernel = draw(FAMILIES[family])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, max_rows))
    picks = rng.integers(0, len(table), n)
    n_vectors = draw(st.sampled_from([1, 1, 3, 4]))
    n_codes = max(2, n_vectors)
    contradict = draw(st.booleans())
    codes = rng.integers(0, n_codes, n) if contradict else rng.integers(0, n_codes, len(table))[picks]
    form = draw(st.sampled_from(CONTAINERS[kind]))
    X = contained(table[picks], form)
    if isinstance(kernel, PrecomputedKernel) or isinstance(getattr(kernel, "base", None), PrecomputedKernel):
        X = PolynomialKernel(2, 1.0, 0.0)(X)
    margin = draw(st.sampled_from([0.0, 0.0, 0.5, 0.1, 2.0])) if margins else 0.0
    problem = Problem(kernel, X, codes, 1, n_vectors, margin)
    if not len(problem.order):  # nothing but zero rows: put a row in that can be learnt
        problem = replace(problem, X=np.eye(len(codes), dtype=np.int64), kernel=kernel)
    if weights:
        problem = replace(problem, weights=rng.choice([1.0, 0.3, 2.0, 1e-3, 7 / 3], n))
        if draw(st.booleans()):
            problem = replace(problem, margin=rng.choice([0.0, 0.1, 0.5, 2.0], n_codes))
    m = len(problem.order)
    return replace(problem, n_steps=max(1, round(draw(st.sampled_from([0.3, 0.9, 1, 1.5, 2, 3.7, max_epochs])) * m)))


def scattered(
    n: int, d: int, kind: str = "bytes", *, density: float = 0.4, n_classes: int = 2, seed: int = 0, noise: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows of integers, mostly zeros, with labels from a linear teacher, some of them wrong."""
    rng = np.random.default_rng(seed)
    low, high = RANGES[kind]
    X = rng.integers(low, high, (n, d), endpoint=True) * (rng.random((n, d)) < density)
    X[:, 0] = np.where(X.any(axis=1), X[:, 0], high)
    teacher = rng.normal(size=(d, n_classes))
    codes = ((X - X.mean(axis=0)) @ teacher).argmax(axis=1)
    return X, np.where(rng.random(n) < noise, rng.integers(0, n_classes, n), codes)
