"""The vectors of a training run: their scores by any rules at any moments, and their best moment by held-out rows."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from votron._util.resources import Team, team
from votron._util.types import Array, Floats, Index, Params, Rows
from votron.blocks import terms_of
from votron.errors import VotronError
from votron.kernels import Kernel
from votron.products import Products, Traits
from votron.record import MistakeRecord, labels_of
from votron.rules.base import RULES
from votron.rules.scan import BlockScan, Choice, Plan, Ready, scans_of, too_large

LOOKS_PER_PASS = 4
_DOTS_KEPT_IN_ALL = 512 << 20
"""Bytes of dot products that all blocks together may keep, when a scan stops at several moments."""


@dataclass(frozen=True, eq=False)
class HoldoutCurve:
    """The times at which the errors on ``n_examples`` held-out rows fell below all before, and to what.

    Examples
    --------
    >>> import numpy as np
    >>> curve = HoldoutCurve(np.array([1, 7]), np.array([5, 2]), 10)
    >>> curve.best(until=6), curve.best(until=100)
    (1, 7)
    """

    times: Index
    errors: Index
    n_examples: int

    def best(self, until: int) -> int:
        """Return the first time with the least error, up to and including ``until`` (0 before the first mistake)."""
        k = int(np.searchsorted(self.times, until, side="right"))
        return int(self.times[k - 1]) if k else 0


class Stage(NamedTuple):
    """The scores of each (rule, normalised) at one moment, arrays of shape (n_rows, n_vectors)."""

    time: int
    scores: dict[Choice, Floats]


@dataclass(frozen=True, eq=False)
class Vectors:
    """All vectors of a training run: record, kernel, and the examples that the record names.

    Examples
    --------
    >>> import numpy as np
    >>> from votron import MistakeRecord
    >>> from votron.kernels import LinearKernel
    >>> record = MistakeRecord(example=[0, 1], vector=[0, 0], sign=[1, -1], time=[1, 2], score=[0.0, 1.0],
    ...     norm2=[1.0, 1.0], n_vectors=1, n_examples=4, n_steps=4)
    >>> vectors = Vectors(record, LinearKernel(), np.array([[1.0, 0.0], [1.0, 1.0]]))
    >>> vectors.scores(np.array([[2.0, 3.0]]), "last")
    array([[-3.]])
    >>> vectors.scores(np.array([[2.0, 3.0]]), "vote")  # one vote for, three against, of four
    array([[-0.5]])
    """

    record: MistakeRecord
    kernel: Kernel
    support_rows: Rows  # the examples ``record.support``, in that order
    seed: int = 0  # of the random rule
    holdout: HoldoutCurve | None = None  # for the rule of that name
    _packed: Params = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.support_rows.shape[0] != len(self.record.support):
            raise VotronError(
                f"The record names {len(self.record.support)} examples. Got {self.support_rows.shape[0]} rows instead."
            )

    def scores(
        self, X: Rows, rule: str, normalized: bool = False, *, time: int | None = None, n_threads: int = 1
    ) -> Floats:
        """Return the scores of one rule, at the end of training or at an earlier time."""
        time = self.record.n_steps if time is None else time
        return next(self.staged(X, [time], [(rule, normalized)], n_threads=n_threads)).scores[rule, normalized]

    def staged(
        self, X: Rows, times: Sequence[int], choices: Sequence[Choice], *, n_threads: int = 1
    ) -> Iterator[Stage]:
        """Yield the scores of the chosen rules at each of the times, in rising order, from one scan."""
        plan = Plan(self, sorted(int(t) for t in times), list(choices))
        scans = scans_of(self.record, plan, self._ready(X), self.seed)
        if len(plan.times) > 1:  # all blocks stay open from one moment to the next
            plan.dots_kept = min(plan.dots_kept, _DOTS_KEPT_IN_ALL // max(1, len(scans)))
        with team(n_threads if len(scans) > 1 else 1) as threads:
            for i in range(len(plan.times)):
                yield self._moment(plan, scans, i, threads, X.shape[0])

    def _moment(self, plan: Plan, scans: list[BlockScan], i: int, threads: Team, n_rows: int) -> Stage:
        out = {choice: np.empty((n_rows, self.record.n_vectors)) for choice in plan.choices}
        time, last = plan.times[i], i == len(plan.times) - 1

        def work(scan: BlockScan) -> None:
            scan.advance(time)
            for choice in plan.choices:
                out[choice][scan.rows] = scan.result(choice, i, time).T
            if last:
                scan.close()

        threads.each(scans, work)
        if not all(np.isfinite(scores).all() for scores in out.values()):
            raise too_large(self.kernel)
        return Stage(time, out)

    def holdout_curve(self, X: Rows, codes: Array, *, n_threads: int = 1) -> HoldoutCurve:
        """Return the errors over time on held-out rows, from one scan."""
        record = self.record
        scans = scans_of(record, Plan(self, [], []), self._ready(X), self.seed)
        codes, adding = np.asarray(codes, dtype=np.int32), threading.Lock()
        total = np.zeros(len(record.event_starts) - 1, dtype=np.int64)

        def work(scan: BlockScan) -> None:
            errors = np.zeros_like(total)
            scan.count_errors(codes[scan.rows], errors)
            scan.close()
            with adding:
                np.add(total, errors, out=total)

        with team(n_threads if len(scans) > 1 else 1) as threads:
            threads.each(scans, work)
        lows = np.flatnonzero(np.diff(np.minimum.accumulate(total), prepend=len(codes) + 1) < 0)
        return HoldoutCurve(record.time[record.event_starts[lows]], total[lows], len(codes))

    def __reduce__(self) -> tuple[Any, ...]:
        return Vectors, (self.record, self.kernel, self.support_rows, self.seed, self.holdout)

    def _ready(self, X: Rows) -> Ready:
        """Return these rows and the supports in the form of the kernel's arithmetic; that of the supports is kept."""
        mine: Traits = self._packed.get("traits") or self.kernel.traits(self.support_rows)
        products = self.kernel.products(mine.joined(self.kernel.traits(X)))
        name, packed = self._packed.get("packed", ("", ()))
        if name != products.form:  # several threads may get here at once, and do the same thing twice
            store, squares = products.restore(self.support_rows, self.record.support)
            packed = store, self.kernel.terms(squares)
            self._packed.update(traits=mine, packed=(products.form, packed))
        store, terms = packed
        return Ready(self.kernel, products, store, terms, X, terms_of(self.kernel, products, X))


def moments_of(record: MistakeRecord, n_epochs: float, at: Iterable[float] | None) -> list[float]:
    """Return moments of training in rising order, in epochs; by default the end of each epoch that was run."""
    m, n_steps = record.n_examples, record.n_steps
    if at is None:
        return [min(epoch, n_steps / m) for epoch in range(1, math.ceil(min(n_epochs, n_steps / m)) + 1)]
    moments = sorted(at)
    for moment in moments:
        if not 1 <= round(moment * m) <= n_steps:
            raise VotronError(
                "The moments 'at' must lie within training, from its first example to its last, "
                f"{n_steps / m:g} epochs of {m} examples. Got {moment!r} instead."
            )
    return moments


def choices_of(rules: Iterable[Any]) -> dict[Any, Choice]:
    """Return for each entry of ``rules`` its rule, and whether vectors are normalised."""
    found = {}
    for entry in [rules] if isinstance(rules, str) else rules:
        rule, normalized = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, False)
        if not isinstance(rule, str) or not (rule in RULES or RULES.load(rule)):
            raise VotronError(
                f"The 'rules' must be among {', '.join(map(repr, RULES))}, or pairs of one of them and True or False. "
                f"Got {entry!r} instead."
            )
        found[entry] = rule, bool(normalized)
    return found


def moments_within(start: int, stop: int, n_examples: int) -> list[int]:
    """Return the steps after ``start``, up to and with ``stop``, at which held-out rows are looked at."""
    quarters = range(start * LOOKS_PER_PASS // n_examples, stop * LOOKS_PER_PASS // n_examples + 1)
    steps = {round(quarter * n_examples / LOOKS_PER_PASS) for quarter in quarters} | {stop}
    return sorted(step for step in steps if start < step <= stop)


@dataclass
class HeldOutRows:
    """Rows that training does not see, and how well they are predicted as the record grows.

    At the end of each pass the record so far is scanned for four moments of it. A scan goes on where it stood a pass
    before for "vote", "average" and "last"; for other rules it begins anew.
    """

    kernel: Kernel
    X: Rows  # all rows that training may name, by which arithmetic is chosen
    rows: Rows
    codes: NDArray[np.int64]
    choices: Sequence[Choice]
    seed: int
    n_threads: int
    weights: Floats | None  # the weight of each row; None: all the same
    times: list[int] = field(default_factory=list)  # moments that were looked at, rising
    right: list[list[float]] = field(default_factory=list)  # how many rows each choice has right then, weighted
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
                    weights = None if self.weights is None else self.weights[scan.rows]
                    right[k, i, j] = n_right(scan.result(choice, i, time).T, self.codes[scan.rows], weights)

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


def n_right(scores: Floats, codes: Index, weights: Floats | None) -> float:
    """Return how many rows are predicted right, or the sum of their weights; codes are those of training."""
    labels = labels_of(scores)
    hits = (1 - labels if scores.shape[1] == 1 else labels) == codes
    return float(hits.sum() if weights is None else weights[hits].sum())


def first_best(right: Sequence[Sequence[float]]) -> tuple[int, int]:
    """Return the first row of a table that has its largest number, and the first place in it that does."""
    i, j = np.unravel_index(np.argmax(right), np.shape(right))
    return int(i), int(j)


def validation_table(held_out: HeldOutRows, n_examples: int) -> tuple[list[float], list[float]]:
    _, j = held_out.best
    n = len(held_out.codes) if held_out.weights is None else float(held_out.weights.sum())
    return [time / n_examples for time in held_out.times], [min(right[j] / n, 1.0) for right in held_out.right]
