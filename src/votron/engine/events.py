"""The events of a training run: what the scores of rows are folded from, here and on every worker of a cluster.

An **event** is a step at which one class or several err: the example that was presented, which from then on is a
support, and the mistakes on it. A score is the left fold of the events in their order, one addition a mistake, so it
follows from the events and the row alone; which is why rows may be brought up to date late, in pieces, or elsewhere.
"""

from __future__ import annotations

import numpy as np

from votron._loops import dual as _loops
from votron._util.arrays import Growing
from votron._util.resources import Team
from votron._util.types import Array, Floats, Index
from votron.blocks import KernelBlock, scratch
from votron.products import Store

EVENTS_AT_ONCE = 256
"""Events whose kernel values are held at a time, so that they stay in the processor's cache."""
WORTH_A_THREAD = 40_000
"""Kernel values from which a second thread pays."""


class Events:
    """Events in order, and their supports in the form that products want.

    Attributes
    ----------
    slot : Growing
        The support of each event, by the number that it got at its first.
    starts : Growing
        Where the mistakes of each event begin, and the end.
    vector : Growing
        The vector of each mistake.
    store, terms : Store, float array
        The supports, and the kernel's terms of them.

    Examples
    --------
    >>> events = Events()
    >>> events.add(np.array([0, 1]), np.array([0, 1]), np.array([0, 0, 2]), np.array([1, -1, 1]))
    >>> events.n, events.n_mistakes, events.coefficients
    (2, 3, array([ 1, -1,  1], dtype=int8))
    >>> events.truncate(1)
    >>> events.n, events.n_mistakes
    (1, 1)
    """

    def __init__(self) -> None:
        self.starts, self.slot = Growing(np.int64), Growing(np.int64)
        self.starts.extend([0])
        self.vector, self.sign = Growing(np.int32), Growing(np.int8)
        self._coefficient: Growing | None = None  # sign times weight, once there are weights
        self.store: Store | None = None
        self.terms: Floats = np.empty((0, 0))

    @property
    def n(self) -> int:
        """How many there are."""
        return self.slot.n

    @property
    def n_mistakes(self) -> int:
        """Mistakes, of all classes."""
        return self.vector.n

    @property
    def weighted(self) -> bool:
        """Whether there are weights."""
        return self._coefficient is not None

    @property
    def coefficients(self) -> Array:
        """What each mistake's example was added with: its sign, or sign times weight."""
        return (self.sign if self._coefficient is None else self._coefficient).values

    def take_weights(self) -> Growing:
        """Keep coefficients from now on; those so far are signs."""
        if self._coefficient is None:
            self._coefficient = Growing(np.float64)
            self._coefficient.extend(self.sign.values)
        return self._coefficient

    def add_supports(self, store: Store, terms: Floats) -> None:
        """Append supports, with the kernel's terms of them."""
        assert self.store is not None
        self.store.append(store, np.arange(store.n))
        self.terms = np.hstack([self.terms, terms])

    def add(self, slots: Index, firsts: Index, vector: Array, coefficients: Array) -> None:
        """Append events: the support of each and the first of its mistakes; the mistakes' vectors and coefficients."""
        self.starts.extend(self.n_mistakes + np.append(firsts[1:], len(vector))[: len(slots)])
        self.slot.extend(slots)
        self.vector.extend(vector)
        self.sign.extend(np.sign(coefficients))
        if self._coefficient is not None:
            self._coefficient.extend(coefficients)

    def truncate(self, n: int, n_support: int | None = None) -> None:
        """Keep the first n events, and so many supports."""
        mistakes = int(self.starts.values[n])
        self.starts.truncate(n + 1)
        self.slot.truncate(n)
        for column in (self.vector, self.sign, self._coefficient):
            if column is not None:
                column.truncate(mistakes)
        if self.store is not None and n_support is not None:
            self.store.truncate(n_support)
            self.terms = self.terms[:, :n_support]

    def fold(self, block: KernelBlock, F: Floats, first: int, last: int, threads: Team) -> None:
        """Add the events from ``first`` to ``last`` - 1 to the scores F of a block."""
        store, terms = self.store, self.terms
        assert store is not None
        slot, starts, vector, coefficients = self.slot.values, self.starts.values, self.vector.values, self.coefficients
        must_pack = not block.packed and block.needs_products(slot[first:last])

        def work(low: int, high: int) -> None:
            if must_pack:
                block.prepare(low, high)
            held, room = block.held, scratch("room", 2, F.shape[1], np.float64)
            for e in range(first, last, EVENTS_AT_ONCE):
                slots = slot[e : min(e + EVENTS_AT_ONCE, last)]
                values, held = block.values(store, slots, terms[:, slots], low, high, held)
                _loops.fold(values, starts, e, vector, coefficients, low, high, room, F)

        threads.over(block.width, work, worth_it=(last - first) * block.width > WORTH_A_THREAD)
        block.packed |= must_pack
