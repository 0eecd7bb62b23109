"""How a record predicts: one scan over the mistakes gives every rule at every moment of training.

The vectors of class c after its mistakes are v_1, v_2, ...; v_{j+1}·x = v_j·x + y_j K(x_j, x), so carrying one score
along the record visits them all. With t the time of the moment, and survival counts c_j up to it:

=======  ====================================================  ===================================
rule     score of class c                                      with ``normalize_vectors=True``
=======  ====================================================  ===================================
vote     Σ c_j sign(v_j·x) / t                                 the same
average  Σ c_j v_j·x / t                                       Σ c_j v_j·x/‖v_j‖ / t
last     v·x, v alive at time t                                v·x/‖v‖
random   v·x, v alive at a time r uniform in {0, ..., t}       v·x/‖v‖
pocket   v·x, v the longest-lived vector of this class         v·x/‖v‖
holdout  v·x, v alive at the time with the least held-out      v·x/‖v‖
         error
=======  ====================================================  ===================================

Boundary conventions: sign(0) = +1, and a score of 0 predicts +1; the zero vector before the first mistake has count
0, and scores 0. The r of the random rule is the same for all classes and drawn from the seed and the content of the
row, so a row has one answer, alone or among others. Reference: Freund & Schapire (1999), section 5; Gallant (1986)
for the pocket, Littlestone (1989) for the held-out part.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._loops import dual as _loops
from votron._threads import Team, team
from votron.blocks import DotCache, KernelBlock, terms_of
from votron.errors import NotRepresentableError, VotronError
from votron.kernels import Kernel
from votron.products import Floats, Index, Products, Rows, Store, Traits, chunks, padded, rows_in_bytes
from votron.record import MistakeRecord

__all__ = ["RULES", "HoldoutCurve", "RuleSet", "Vectors", "row_draws"]

RULES = ("vote", "average", "last", "random", "pocket", "holdout")
"""The prediction rules."""

Choice = tuple[str, bool]
"""A rule, and whether vectors are normalised."""

_EVENTS_AT_ONCE = 128
_ROWS_AT_ONCE = 256
_DOTS_KEPT = 16 << 20
"""Bytes of dot products that one block of a scan may keep for supports that err again."""
_DOTS_KEPT_IN_ALL = 512 << 20
"""The same for all blocks together, when a scan stops at several moments."""


@dataclass(frozen=True, eq=False)
class HoldoutCurve:
    """Held-out errors over time: the times at which they fell below all before, and to what.

    Attributes
    ----------
    times : int64 array
        Times, rising; the vectors of that time have fewer errors than those of any time before.
    errors : int64 array
        How many.
    n_examples : int
        Size of the held-out part.

    Examples
    --------
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


@dataclass(frozen=True, eq=False)
class RuleSet:
    """The scores of several rules at one moment.

    Attributes
    ----------
    time : int
        The moment, in examples presented.
    scores : dict
        For each (rule, normalised) the scores, an array of shape (n_rows, n_vectors).

    Examples
    --------
    >>> RuleSet(7, {("last", False): np.zeros((2, 1))}).scores["last", False].shape
    (2, 1)
    """

    time: int
    scores: dict[Choice, Floats]


@dataclass(frozen=True, eq=False)
class Vectors:
    """All vectors of a training run: record, kernel, and the examples that the record names.

    Parameters
    ----------
    record : MistakeRecord
        The mistakes.
    kernel : Kernel
        The kernel they were made with.
    support_rows : array or CSR matrix
        The examples ``record.support``, in that order.
    seed : int
        Of the random rule.
    holdout : HoldoutCurve, optional
        Needed by the rule of that name.

    Examples
    --------
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
    support_rows: Rows
    seed: int = 0
    holdout: HoldoutCurve | None = None
    _packed: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Check that the rows are those of the record."""
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
    ) -> Iterator[RuleSet]:
        """Yield the scores of the chosen rules at each of the times, in rising order, from one scan."""
        return self._stages(X, _Plan(self, sorted(int(t) for t in times), list(choices)), n_threads)

    def _stages(self, X: Rows, plan: _Plan, n_threads: int) -> Iterator[RuleSet]:
        products, store, terms, own = self._ready(X)
        uniform = row_draws(X, self.seed) if plan.random else np.empty(0)
        scans = [
            _BlockScan(
                self,
                plan,
                products,
                store,
                terms,
                X,
                np.arange(low, min(low + _ROWS_AT_ONCE, X.shape[0])),
                own,
                uniform,
            )
            for low in range(0, X.shape[0], _ROWS_AT_ONCE)
        ]
        if len(plan.times) > 1:  # all blocks stay open from one moment to the next
            plan.dots_kept = min(_DOTS_KEPT, _DOTS_KEPT_IN_ALL // max(1, len(scans)))
        with team(n_threads if len(scans) > 1 else 1) as threads:
            for i, time in enumerate(plan.times):
                yield self._moment(plan, scans, i, time, threads, X.shape[0])

    def _moment(self, plan: _Plan, scans: list[_BlockScan], i: int, time: int, threads: Team, n_rows: int) -> RuleSet:
        out = {choice: np.empty((n_rows, self.record.n_vectors)) for choice in plan.choices}
        last = i == len(plan.times) - 1

        def work(scan: _BlockScan) -> None:
            scan.advance(time)
            scan.check()
            for choice in plan.choices:
                out[choice][scan.rows] = scan.result(choice, i, time).T
            if last:
                scan.close()

        threads.each(scans, work)
        if not all(np.isfinite(scores).all() for scores in out.values()):
            raise _too_large(self.kernel)
        return RuleSet(time, out)

    def expansion(self, rule: str, normalized: bool = False) -> tuple[Floats, Floats] | None:
        """Return the rule's vectors as coefficients of the support rows, and what to divide each one's scores by.

        None if the rule has no vector of its own: voting counts signs, and the random rule has another vector for each
        row; all other rules score by w·x, with one w a class. Coefficients are whole numbers wherever they can be, so
        that scores of 0 stay 0.
        """
        record = self.record
        if rule in ("vote", "random"):
            return None
        divisor = np.ones(record.n_vectors)
        if rule == "average":
            return _average_coef(record, normalized), divisor * max(1, record.n_steps)
        plan = _Plan(self, [record.n_steps], [(rule, normalized)])
        ends = {"last": [record.n_steps] * record.n_vectors, "holdout": plan.holdout * record.n_vectors}
        born = plan.pocket[0].tolist() if rule == "pocket" else ends[rule]
        out = np.zeros((record.n_vectors, len(record.support)))
        kept = record.time <= np.array(born, dtype=np.int64)[record.vector]
        np.add.at(out, (record.vector[kept], record.slot[kept]), record.sign[kept].astype(np.float64))
        if normalized:
            divisor[record.vector[kept]] = np.sqrt(record.norm2[kept])  # of each vector the last one stays
            divisor[divisor == 0] = 1.0  # whose scores are 0 anyway
        return out, divisor

    def holdout_curve(self, X: Rows, codes: NDArray[Any], *, n_threads: int = 1) -> HoldoutCurve:
        """Find, in one scan over held-out rows, the times whose vectors err least on them."""
        record = self.record
        products, store, terms, own = self._ready(X)
        n_events = len(record.event_starts) - 1
        blocks = [np.arange(low, min(low + _ROWS_AT_ONCE, X.shape[0])) for low in range(0, X.shape[0], _ROWS_AT_ONCE)]
        total = np.zeros(n_events, dtype=np.int64)
        adding = threading.Lock()
        plan = _Plan(self, [], [])
        with team(n_threads if len(blocks) > 1 else 1) as threads:

            def work(k: int) -> None:
                scan = _BlockScan(self, plan, products, store, terms, X, blocks[k], own, np.empty(0))
                errors = np.zeros(n_events, dtype=np.int64)
                scan.count_errors(np.asarray(codes, dtype=np.int32)[blocks[k]], errors)
                with adding:
                    np.add(total, errors, out=total)

            threads.each(range(len(blocks)), work)
        lows = np.flatnonzero(np.diff(np.minimum.accumulate(total), prepend=len(codes) + 1) < 0)
        return HoldoutCurve(record.time[record.event_starts[lows]], total[lows], len(codes))

    def __reduce__(self) -> tuple[Any, ...]:
        return Vectors, (self.record, self.kernel, self.support_rows, self.seed, self.holdout)

    def _ready(self, X: Rows) -> tuple[Products, Store, Floats, Floats]:
        """Return arithmetic, supports in its form (kept for later calls), and the kernel's terms of them and of X."""
        mine: Traits = self._packed.get("traits") or self.kernel.traits(self.support_rows)
        products = self.kernel.products(mine.joined(self.kernel.traits(X)))
        name, packed = self._packed.get("packed", ("", ()))
        if name != repr(products):  # several threads may get here at once, and do the same thing twice
            store, squares = products.restore(self.support_rows, self.record.support)
            packed = store, self.kernel.terms(squares)
            self._packed.update(traits=mine, packed=(repr(products), packed))
        store, terms = packed
        return products, store, terms, terms_of(self.kernel, products, X)


def _average_coef(record: MistakeRecord, normalized: bool) -> Floats:
    """Return the sum of the vectors, each as often as it survived, as coefficients of the support."""
    alive = record.n_steps + 1.0 - record.time  # a mistake is part of every vector from its own on
    if normalized:
        lengths = np.sqrt(record.norm2)
        shares = np.divide(record.survival, lengths, out=np.zeros(len(record)), where=lengths > 0)
        for mine in record.of_each_vector.values():
            alive[mine] = np.cumsum(shares[mine][::-1])[::-1]
    out = np.zeros((record.n_vectors, len(record.support)))
    np.add.at(out, (record.vector, record.slot), record.sign * alive)
    return out


def row_draws(X: Rows, seed: int) -> Floats:
    """Return a number in [0, 1) for each row, from the seed and its content: equal rows have equal ones.

    Examples
    --------
    >>> first, second, third = row_draws(np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]]), seed=0)
    >>> bool(first == third), bool(first == second)
    (True, False)
    """
    out = np.empty(X.shape[0])
    start = np.uint64(seed % 2**64)
    for part in chunks(X.shape[0], rows_in_bytes(X)):
        rows = X[part]
        if sp.issparse(rows):
            indptr, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
            _loops.hash_sparse(indptr, indices, rows.data.astype(np.float64), start, out[part])
        else:
            _loops.hash_dense(np.array(rows, dtype=np.float64, order="C"), start, out[part])
    return out


class _Plan:
    """What a scan must keep on its way, for the rules and times asked for."""

    def __init__(self, vectors: Vectors, times: list[int], choices: list[Choice]) -> None:
        record = vectors.record
        self.times, self.choices = times, choices
        self.dots_kept = _DOTS_KEPT
        self.event_times = record.time[record.event_starts[:-1]]
        names = {rule for rule, _ in choices}
        if names - set(RULES):
            raise VotronError(
                f"The rule must be one of {', '.join(map(repr, RULES))}. Got {sorted(names - set(RULES))[0]!r} instead."
            )
        self.vote = "vote" in names
        self.average, self.unit_average = ("average", False) in choices, ("average", True) in choices
        self.random = "random" in names
        self.pocket: list[Index] = [record.until(t).pocket() for t in times] if "pocket" in names else []
        self.holdout: list[int] = []
        if "holdout" in names:
            if vectors.holdout is None:
                raise VotronError(
                    "The rule 'holdout' needs held-out data: fit with rule='holdout', "
                    "or give X_val and y_val to with_rule('holdout', ...)."
                )
            self.holdout = [vectors.holdout.best(until=t) for t in times]
        stops = set(times).union(*(map(int, p) for p in self.pocket), self.holdout)
        self.stops = np.array(sorted(stops), dtype=np.int64)
        self.keep: dict[int, set[int]] = {}  # which vectors' scores to keep, by time
        for time in self.holdout:
            self.keep[time] = set(range(record.n_vectors))
        for born in self.pocket:
            for c, time in enumerate(born.tolist()):
                self.keep.setdefault(time, set()).add(c)


class _BlockScan:
    """One block of rows on its way through the record."""

    def __init__(
        self, vectors: Vectors, plan: _Plan, products: Products, store: Store, terms: Floats, X: Rows, rows: Index,
        own: Floats, uniform: Floats,
    ) -> None:  # fmt: skip
        self.record, self.plan, self.store, self.terms, self.rows = vectors.record, plan, store, terms, rows
        self.n_vectors, self.width = vectors.record.n_vectors, padded(len(rows))
        self.event, self.reached = 0, -1
        self._parts = (vectors.kernel, products, X, own)
        self._uniform = uniform[rows] if len(uniform) else uniform
        self._block: KernelBlock | None = None
        self.kept: dict[tuple[int, int], tuple[Floats, float]] = {}

    def _open(self) -> KernelBlock:
        """Take memory when the scan begins, not before."""
        if self._block is not None:
            return self._block
        kernel, products, X, all_own = self._parts
        own = np.zeros((len(all_own), self.width))
        own[:, : len(self.rows)] = all_own[:, self.rows]
        size = np.dtype(products.dtype).itemsize * self.width
        n_kept = self.store.n if products.keep_after and self.store.n * size <= self.plan.dots_kept else 0
        cache = DotCache(1, self.width, products.dtype, n_kept)
        cache.note(np.arange(self.store.n))
        self._block = KernelBlock(kernel, products, X, self.rows, own, cache)
        self._block.prepare(0, self.width)
        shape, none = (self.n_vectors, self.width), np.zeros((0, self.width))
        self.F = np.zeros(shape)
        self.born, self.length = np.zeros(self.n_vectors, dtype=np.int64), np.zeros(self.n_vectors)
        self.votes = np.zeros(shape) if self.plan.vote else none
        self.sums = np.zeros(shape) if self.plan.average else none
        self.unit_sums = np.zeros(shape) if self.plan.unit_average else none
        self.K = np.empty((_EVENTS_AT_ONCE, self.width))
        self._plan_captures()
        return self._block

    def close(self) -> None:
        """Give the memory back."""
        self._block = None

    def _plan_captures(self) -> None:
        """Lay out the random rule: one (time, row) for each row and moment, sorted by time."""
        times = np.array(self.plan.times if self.plan.random else [], dtype=np.float64)
        draws = np.floor(np.multiply.outer(times + 1, self._uniform)).astype(np.int64).reshape(-1)
        rows = np.tile(np.arange(len(self.rows)), len(times))
        order = np.argsort(draws, kind="stable")
        self.place = np.empty(len(order), dtype=np.int64)
        self.place[order] = np.arange(len(order))
        self.capture_times, self.capture_rows = draws[order], rows[order]
        self.capture_state = np.zeros(1, dtype=np.int64)
        self.captured = np.zeros((self.n_vectors, len(order)))
        self.captured_unit = np.zeros((self.n_vectors, len(order)))
        self._captures = (self.capture_times, self.capture_rows, self.capture_state, self.captured, self.captured_unit)

    def _chunks(self, last: int) -> Iterator[tuple[int, int]]:
        """Fill K chunk by chunk up to event ``last``; yield where each begins and its size."""
        block, record = self._open(), self.record
        slots_of_events = record.slot[record.event_starts[:-1]]
        while self.event < last:
            first = self.event
            slots = slots_of_events[first : min(first + _EVENTS_AT_ONCE, last)]
            block.cache.held[0] = block.values(
                self.store, slots, self.terms[:, slots], 0, self.width, block.held, self.K
            )
            yield first, len(slots)
            self.event = first + len(slots)

    def advance(self, time: int) -> None:
        """Carry the scores to this time, keeping what the plan asks for on the way."""
        self._open()
        stops = self.plan.stops
        for stop in stops[(stops > self.reached) & (stops <= time)]:
            self._carry(int(np.searchsorted(self.plan.event_times, stop, side="right")))
            for c in self.plan.keep.get(int(stop), ()):
                self.kept[int(stop), c] = self.F[c].copy(), float(self.length[c])
        self.reached = time

    def _carry(self, last: int) -> None:
        r = self.record
        for first, n in self._chunks(last):
            _loops.scan(
                self.K, r.event_starts, first, n, r.vector, r.sign, r.time, r.norm2, self.born, self.length, self.F,
                self.votes, self.sums, self.unit_sums, *self._captures,
            )  # fmt: skip

    def count_errors(self, codes: NDArray[np.int32], errors: Index) -> None:
        """Add up, for each event, the rows that the vectors after it get wrong."""
        r = self.record
        for first, n in self._chunks(len(r.event_starts) - 1):
            _loops.scan_errors(
                self.K, r.event_starts, first, n, r.vector, r.sign, len(self.rows), codes, self.F, errors
            )
        self.check()

    def check(self) -> None:
        """Refuse rows whose scores do not fit a float64: what is too large once stays so."""
        if not np.isfinite(self.F[:, : len(self.rows)]).all():
            raise _too_large(self._parts[0])

    def result(self, choice: Choice, i: int, time: int) -> Floats:
        """Return the scores of one rule at the i-th moment, which is now; an array of shape (n_vectors, n_rows)."""
        rule, normalized = choice
        n = len(self.rows)
        if rule in ("vote", "average"):
            tally = {"vote": self.votes, "average": self.unit_sums if normalized else self.sums}[rule].copy()
            return self._with_current(tally, rule, normalized, time)[:, :n] / max(time, 1)
        if rule == "random":
            _loops.capture(time + 1, self.length, self.F, *self._captures)
            return (self.captured_unit if normalized else self.captured)[:, self.place[i * n : (i + 1) * n]]
        if rule == "last":
            return _scaled(self.F, self.length, normalized)[:, :n]
        times = [self.plan.holdout[i]] * self.n_vectors if rule == "holdout" else self.plan.pocket[i].tolist()
        kept = [self.kept[time, c] for c, time in enumerate(times)]
        return _scaled(np.stack([F for F, _ in kept]), np.array([length for _, length in kept]), normalized)[:, :n]

    def _with_current(self, tally: Floats, rule: str, normalized: bool, time: int) -> Floats:
        """Credit the vectors that are still alive."""
        none = np.zeros((0, self.width))
        for c in np.flatnonzero(self.born):
            into = [none, none, none]
            into[0 if rule == "vote" else 2 if normalized else 1] = tally
            _loops.credit(c, float(time + 1 - self.born[c]), self.length[c], self.F, *into)
        return tally


def _too_large(kernel: Kernel) -> NotRepresentableError:
    return NotRepresentableError(
        f"Scores by {kernel!r} exceed the largest float64 on these rows: scale the data, or lower the degree."
    )


def _scaled(F: Floats, length: Floats, normalized: bool) -> Floats:
    if not normalized:
        return F.copy()
    scale = np.where(length > 0, length, np.inf)
    return np.asarray(F / scale[:, None])
