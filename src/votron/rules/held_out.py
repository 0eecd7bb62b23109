"""The best moment of a training run, and the best of some rules, by held-out rows.

At the end of each pass the record so far is scanned for four moments of it. The first moment with the most rows right
is the best and, of several rules as good there, the first. A scan goes on where it stood a pass before for "vote",
"average" and "last"; for other rules it begins anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from votron._util.resources import team
from votron._util.types import Floats, Rows
from votron.blocks import terms_of
from votron.kernels import Kernel
from votron.products import Products
from votron.record import MistakeRecord, labels_of
from votron.rules.scan import BlockScan, Choice, Plan, Ready, scans_of
from votron.rules.vectors import Vectors

LOOKS_PER_PASS = 4


def moments_within(start: int, stop: int, n_examples: int) -> list[int]:
    """Return the steps after ``start``, up to and with ``stop``, at which held-out rows are looked at."""
    quarters = range(start * LOOKS_PER_PASS // n_examples, stop * LOOKS_PER_PASS // n_examples + 1)
    steps = {round(quarter * n_examples / LOOKS_PER_PASS) for quarter in quarters} | {stop}
    return sorted(step for step in steps if start < step <= stop)


@dataclass
class HeldOutRows:
    """Rows that training does not see, and how well they are predicted as the record grows."""

    kernel: Kernel
    X: Rows
    """All rows that training may name, by which arithmetic is chosen."""
    rows: Rows
    codes: NDArray[np.int64]
    choices: Sequence[Choice]
    seed: int
    n_threads: int
    weights: Floats | None
    """The weight of each row; None: all the same."""
    times: list[int] = field(default_factory=list)
    """Moments that were looked at, rising."""
    right: list[list[float]] = field(default_factory=list)
    """For each of them how many rows each choice has right, or how much these count."""
    _scans: list[BlockScan] = field(default_factory=list)

    def look(self, record: MistakeRecord, times: list[int]) -> None:
        """Count the rows that are predicted right at these moments, all later than those before."""
        products, own = self._arithmetic
        kept = products.keep(self.X, record.support)
        plan = Plan(Vectors(record, self.kernel, kept, self.seed), times, list(self.choices))
        store, squares = products.restore(kept, record.support)
        ready = Ready(self.kernel, products, store, self.kernel.terms(squares), self.rows, own)
        if self._scans and not (plan.keep or plan.draws):
            for scan in self._scans:
                scan.go_on(record, plan, ready)
        else:
            self._scans = scans_of(record, plan, ready, self.seed)
        right = np.zeros((len(self._scans), len(times), len(self.choices)))

        def work(k: int) -> None:
            scan = self._scans[k]
            for i, time in enumerate(times):
                scan.advance(time)
                for j, choice in enumerate(self.choices):
                    hits = codes_of(scan.result(choice, i, time).T) == self.codes[scan.rows]
                    right[k, i, j] = counted(hits, None if self.weights is None else self.weights[scan.rows])

        with team(self.n_threads if len(self._scans) > 1 else 1) as threads:
            threads.each(range(len(self._scans)), work)
        self.times += times
        self.right += right.sum(axis=0).tolist()

    @cached_property
    def _arithmetic(self) -> tuple[Products, Floats]:
        products = self.kernel.products_for(self.X)
        return products, terms_of(self.kernel, products, self.rows)

    @property
    def best(self) -> tuple[int, int]:
        """The first moment with the most rows right, as a place among ``times``, and the first such choice's place."""
        return first_best(self.right)


def counted(hits: NDArray[np.bool_], weights: Floats | None) -> float:
    return float(hits.sum() if weights is None else weights[hits].sum())


def first_best(right: Sequence[Sequence[float]]) -> tuple[int, int]:
    """Return the first row of a table that has its largest number, and the first place in it that does."""
    i, j = np.unravel_index(np.argmax(right), np.shape(right))
    return int(i), int(j)


def codes_of(scores: Floats) -> NDArray[np.int64]:
    """Return the numbers of the vectors for which rows are positive, as training has them."""
    return 1 - labels_of(scores) if scores.shape[1] == 1 else labels_of(scores)


def validation_table(held_out: HeldOutRows, n_examples: int) -> tuple[list[float], list[float]]:
    """Return the moments in epochs, and at each of them the share of rows that the chosen rule has right."""
    _, j = held_out.best
    n = len(held_out.codes) if held_out.weights is None else float(held_out.weights.sum())
    return [time / n_examples for time in held_out.times], [min(right[j] / n, 1.0) for right in held_out.right]
