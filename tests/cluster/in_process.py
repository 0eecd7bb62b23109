"""Shards in this process, some of which are lost and made again on the way: the algorithm without a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from votron.cluster.shard import NewEvents, Numbers, Part, Reply, Shard, Step
from votron.cluster.walk import ClusterRun, Presented
from votron.engine import DualTrainer, TrainingRun


class InProcess:
    """Shards, each made from its rows; ``lost`` says of each step which are made again before it."""

    def __init__(self, make: list[Callable[[], Shard]], lost: Callable[[int], list[int]] = lambda step: []) -> None:
        self.make, self.lost = make, lost
        self.shards = [new() for new in make]
        self.fresh = set(range(len(make)))
        self.steps = 0

    def step(self, step: Step, log: Callable[[], NewEvents]) -> list[Reply]:
        for i in self.lost(self.steps):
            self.shards[i % len(self.make)] = self.make[i % len(self.make)]()
            self.fresh.add(i % len(self.make))
        self.steps += 1
        for i in self.fresh:
            self.shards[i].replay(log())
        self.fresh.clear()
        replies = [shard.step(step) for shard in self.shards]
        for i, shard in enumerate(self.shards):  # each is interrupted after another while
            pages = iter(range((self.steps + i) % 3))
            shard.prepare(lambda pages=pages: next(pages, None) is None)
        return replies

    def settle(self) -> None:
        """Nobody comes or goes."""


def train(
    problem: Any,
    owner: np.ndarray,
    *,
    page_size: int = 64,
    memory: int = 0,
    n_threads: int = 1,
    lost: Callable[[int], list[int]] = lambda step: [],
    tweak: Callable[[ClusterRun], None] = lambda run: None,
) -> tuple[TrainingRun, DualTrainer, ClusterRun]:
    """Train on rows of which ``owner`` says whose each is."""
    X, kernel, order = problem.X, problem.kernel, problem.order
    X = X.tocsr() if sp.issparse(X) else X
    weighted = problem.weights is not None
    numbers = Numbers(kernel, kernel.traits(X), problem.n_vectors, problem.margin, page_size, X[:0], weighted)
    places = np.full(X.shape[0], -1)
    places[order] = np.arange(len(order))
    squares = kernel.products_for(X).squares(X)

    def maker(w: int) -> Callable[[], Shard]:
        def make() -> Shard:
            parts = np.array_split(np.flatnonzero(owner == w), 3)
            return Shard(
                numbers, [Part(X[p], places[p], problem.codes[p], squares[p]) for p in parts], memory, n_threads
            )

        return make

    shards = InProcess([maker(w) for w in range(int(owner.max()) + 1)], lost)
    trainer = DualTrainer(kernel, problem.n_vectors, problem.margin)
    weights = problem.weights[order] if weighted else None
    presented = Presented(order, problem.codes[order].astype(np.int32), squares[order], weights)
    run = ClusterRun(trainer, shards, numbers, presented, n_threads=n_threads)
    tweak(run)
    return run.run(problem.n_steps), trainer, run
