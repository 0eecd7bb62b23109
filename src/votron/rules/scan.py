"""The scan over a record: a block of rows on its way from the first mistake to the last, for all rules at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._loops import dual as _loops
from votron._util.resources import chunks, rows_in_bytes
from votron._util.types import Floats, Index, Rows, RowsLike
from votron.blocks import EVENTS_AT_ONCE, DotCache, KernelBlock
from votron.errors import NotRepresentableError
from votron.kernels import Kernel
from votron.products import Products, Store, padded
from votron.record import MistakeRecord
from votron.rules.base import RULES, DrawnRule, MomentRule, TallyRule

if TYPE_CHECKING:
    from votron.rules.vectors import Vectors

Choice = tuple[str, bool]  # a rule's name, and whether vectors are normalised
DOTS_KEPT = 16 << 20  # bytes of dot products that one block of a scan may keep for supports that err again
_ROWS_AT_ONCE = 256


class Ready(NamedTuple):
    """Rows to score and support rows, in the form of the kernel's arithmetic, with the kernel's terms of both."""

    kernel: Kernel
    products: Products
    store: Store
    terms: Floats
    X: Rows
    own: Floats


class Plan:
    def __init__(self, vectors: Vectors, times: list[int], choices: list[Choice]) -> None:
        record = vectors.record
        self.times, self.choices = times, choices
        self.rules = {name: RULES[name] for name, _ in choices}
        self.dots_kept = DOTS_KEPT
        self.event_times = record.time[record.event_starts[:-1]]
        self.tallies: dict[Choice, TallyRule] = {
            choice: rule for choice in choices if isinstance(rule := self.rules[choice[0]], TallyRule)
        }
        self.draws = [rule for rule in self.rules.values() if isinstance(rule, DrawnRule)]
        self.moments: dict[str, list[Index]] = {
            name: [rule.times(vectors, time) for time in times]
            for name, rule in self.rules.items()
            if isinstance(rule, MomentRule)
        }
        self.keep: dict[int, set[int]] = {}  # which vectors' scores to keep, by time
        for each in self.moments.values():
            for now, chosen in zip(times, each, strict=True):
                for c, time in enumerate(chosen.tolist()):
                    if time != now:
                        self.keep.setdefault(time, set()).add(c)
        self.stops = np.array(sorted({*times, *self.keep}), dtype=np.int64)


class BlockScan:
    """One block of rows on its way through the record."""

    def __init__(self, record: MistakeRecord, plan: Plan, ready: Ready, rows: Index, uniform: Floats) -> None:
        self.record, self.plan, self.ready, self.rows, self.uniform = record, plan, ready, rows, uniform
        self.width = padded(len(rows))
        self.event, self.reached = 0, -1
        self._block: KernelBlock | None = None
        self.kept: dict[tuple[int, int], tuple[Floats, float]] = {}

    def _open(self) -> KernelBlock:
        """Take memory when the scan begins, not before."""
        if self._block is None:
            kernel, products, store, _, X, all_own = self.ready
            own = np.zeros((len(all_own), self.width))
            own[:, : len(self.rows)] = all_own[:, self.rows]
            size = np.dtype(products.dtype).itemsize * self.width
            n_kept = store.n if products.keep_after and store.n * size <= self.plan.dots_kept else 0
            cache = DotCache(1, self.width, products.dtype, n_kept)
            cache.note(np.arange(store.n))
            self._block = KernelBlock(kernel, products, X, self.rows, own, cache)
            self._block.prepare(0, self.width)
            self._begin()
        return self._block

    def _begin(self) -> None:
        n_vectors = self.record.n_vectors
        shape, none = (n_vectors, self.width), np.zeros((0, self.width))
        self.mistakes = _mistakes_of(self.record)
        self.alive = _loops.Alive(np.zeros(n_vectors, dtype=np.int64), np.zeros(n_vectors), np.zeros(shape))
        self.sums = {choice: np.zeros(shape) for choice in self.plan.tallies}
        compiled = dict.fromkeys(_loops.Tallies._fields, none)
        self._others: list[Choice] = []  # tallies of rules that have no compiled loop
        for choice, rule in self.plan.tallies.items():
            if rule.compiled is None:
                self._others.append(choice)
            elif len(known := compiled[rule.compiled[choice[1]]]):
                self.sums[choice] = known  # the same for vectors as they are and normalised
            else:
                compiled[rule.compiled[choice[1]]] = self.sums[choice]
        self.tallies = _loops.Tallies(**compiled)
        self.room = np.empty((2, self.width))
        self._plan_captures()

    def _plan_captures(self) -> None:
        """Lay out the rules that draw: one (time, row) for each rule, moment and row, sorted by time."""
        draws = [rule.times(self.uniform, time) for rule in self.plan.draws for time in self.plan.times]
        times = np.concatenate(draws) if draws else np.empty(0, dtype=np.int64)
        order = np.argsort(times, kind="stable")
        self.place = np.empty(len(order), dtype=np.int64)
        self.place[order] = np.arange(len(order))
        rows = np.tile(np.arange(len(self.rows)), len(draws))
        shape = (self.record.n_vectors, len(order))
        done = np.zeros(1, dtype=np.int64)
        self.captures = _loops.Captures(times[order], rows[order], done, np.zeros(shape), np.zeros(shape))

    def go_on(self, record: MistakeRecord, plan: Plan, ready: Ready) -> None:
        """Take a longer record of the same run and later moments, by rules that ask for no vector of the past."""
        self.record, self.plan, self.ready = record, plan, ready
        if self._block is not None:
            self._block.cache.note(np.arange(ready.store.n))
            self.mistakes = _mistakes_of(record)

    def close(self) -> None:
        self._block = None

    def advance(self, time: int) -> None:
        """Carry the scores to this time, keeping what the plan asks for on the way."""
        self._open()
        stops = self.plan.stops
        for stop in stops[(stops > self.reached) & (stops <= time)].tolist():
            self._carry(int(np.searchsorted(self.plan.event_times, stop, side="right")))
            for c in self.plan.keep.get(stop, ()):
                self.kept[stop, c] = self.alive.scores[c].copy(), float(self.alive.length[c])
        self.reached = time
        self._check()

    def _carry(self, last: int) -> None:
        state = self.room, self.mistakes, self.alive, self.tallies, self.captures
        for first, values in self._chunks(last):
            n = len(values.source)
            if not self._others:
                _loops.scan(values, 0, n, first, *state)
                continue
            for k in range(n):  # shares are asked for in Python, when a vector dies
                self._credit_others(first + k)
                _loops.scan(values, k, 1, first + k, *state)

    def _chunks(self, last: int) -> Iterator[tuple[int, _loops.Pending]]:
        """Go up to event ``last``, chunk by chunk; yield where each begins, and the kernel values of its events."""
        block, record = self._open(), self.record
        store, terms = self.ready.store, self.ready.terms
        slots_of_events = record.slot[record.event_starts[:-1]]
        while self.event < last:
            first = self.event
            slots = slots_of_events[first : min(first + EVENTS_AT_ONCE, last)]
            values, block.cache.held[0] = block.values(store, slots, terms[:, slots], 0, self.width, block.held)
            yield first, values
            self.event = first + len(slots)

    def _credit_others(self, event: int) -> None:
        r = self.record
        for j in range(r.event_starts[event], r.event_starts[event + 1]):
            for choice in self._others:
                self._credit(choice, int(r.vector[j]), int(r.time[j]), self.sums[choice])

    def _credit(self, choice: Choice, c: int, now: int, total: Floats) -> None:
        """Add the shares of the vector of class c that is alive until now."""
        born, length, scores = self.alive
        if born[c] > 0:
            share = self.plan.tallies[choice].share(scores[c], float(length[c]), choice[1])
            total[c] += (now - born[c]) * share

    def count_errors(self, codes: NDArray[np.int32], errors: Index) -> None:
        for first, values in self._chunks(len(self.record.event_starts) - 1):
            _loops.scan_errors(
                values, first, self.room, self.mistakes, len(self.rows), codes, self.alive.scores, errors
            )
        self._check()

    def _check(self) -> None:
        """Refuse rows whose scores do not fit a float64: what is too large once stays so."""
        if not np.isfinite(self.alive.scores[:, : len(self.rows)]).all():
            raise too_large(self.ready.kernel)

    def result(self, choice: Choice, i: int, time: int) -> Floats:
        """Return the scores of one rule at the i-th moment, which is now; an array of shape (n_vectors, n_rows)."""
        name, normalized = choice
        rule, n = self.plan.rules[name], len(self.rows)
        if isinstance(rule, TallyRule):
            return self._tally_now(choice, time)[:, :n] / max(time, 1)
        if isinstance(rule, MomentRule):
            now = zip(self.alive.scores, self.alive.length.tolist(), strict=True)
            chosen = zip(self.plan.moments[name][i].tolist(), now, strict=True)
            found = [alive if at == time else self.kept[at, c] for c, (at, alive) in enumerate(chosen)]
            scores = np.stack([scores for scores, _ in found])[:, :n]
            lengths = np.array([length for _, length in found])[:, None]
            return scores / np.where(lengths > 0, lengths, np.inf) if normalized else scores
        _loops.capture(time + 1, self.alive, self.captures)
        at = (self.plan.draws.index(rule) * len(self.plan.times) + i) * n  # type: ignore[arg-type]
        captured: Floats = self.captures.unit_scores if normalized else self.captures.scores
        return captured[:, self.place[at : at + n]]

    def _tally_now(self, choice: Choice, time: int) -> Floats:
        total = self.sums[choice].copy()
        names = self.plan.tallies[choice].compiled
        if names is None:
            for c in range(len(total)):
                self._credit(choice, c, time + 1, total)
        else:
            into = (total if name == names[choice[1]] else total[:0] for name in _loops.Tallies._fields)
            _loops.credit_alive(time + 1, self.alive, _loops.Tallies(*into))
        return total


def scans_of(record: MistakeRecord, plan: Plan, ready: Ready, seed: int) -> list[BlockScan]:
    uniform = row_draws(ready.X, seed) if plan.draws else np.empty(ready.X.shape[0])
    blocks = [np.arange(part.start, part.stop) for part in chunks(ready.X.shape[0], _ROWS_AT_ONCE)]
    return [BlockScan(record, plan, ready, rows, uniform[rows]) for rows in blocks]


def row_draws(X: Rows, seed: int) -> Floats:
    """Return a number in [0, 1) for each row, from the seed and its content: equal rows have equal ones."""
    out = np.empty(X.shape[0])
    start = np.uint64(seed % 2**64)
    for part in chunks(X.shape[0], rows_in_bytes(X)):
        rows: RowsLike = X[part]
        if sp.issparse(rows):
            indptr, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
            _loops.hash_sparse(indptr, indices, rows.data.astype(np.float64), start, out[part])
        else:
            _loops.hash_dense(np.array(rows, dtype=np.float64, order="C"), start, out[part])
    return out


def too_large(kernel: Kernel) -> NotRepresentableError:
    return NotRepresentableError(
        f"Scores by {kernel!r} exceed the largest float64 on these rows: scale the data, or lower the degree."
    )


def _mistakes_of(r: MistakeRecord) -> _loops.Mistakes:
    return _loops.Mistakes(r.event_starts, r.vector, r.coefficient, r.time, r.norm2)
