"""Messages between the walk and the shards: one message and one answer for an interval of places.

A **place** is a row's number in the order of presentation, the same in every pass. An **interval** is a run of places
that is walked at one time, as a block is on one machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.resources import n_bytes
from votron._util.types import Array, Floats, Index, Rows
from votron.kernels import Kernel
from votron.products import Products, Traits


@dataclass(frozen=True)
class Numbers:
    """Settings that all shards of a training run share: the kernel, and the traits that decide its arithmetic."""

    kernel: Kernel
    traits: Traits
    n_vectors: int
    margin: float | Floats
    page_size: int
    """Places in a page, which is what a shard brings up to date at a time."""
    none: Rows
    """One of the rows' kind without rows."""
    weighted: bool = False

    @property
    def products(self) -> Products:
        """The arithmetic of the kernel."""
        return self.kernel.products(self.traits)


@dataclass(frozen=True)
class NewEvents:
    """Events, the places at which they happened, and the rows of those supports that are new."""

    slots: Index
    firsts: Index
    vector: NDArray[np.int32]
    coefficients: Array
    places: Index
    rows: Rows
    """The new supports, in the order of their numbers."""

    @property
    def n_new(self) -> int:
        """The number of new supports."""
        return int(self.rows.shape[0])


@dataclass(frozen=True)
class Look:
    """An interval to look at next, from one place to another at most, and what to return of it."""

    start: int
    stop: int
    most: int = 512
    """Candidates after which a shard ends the interval."""
    nearby: float = math.inf
    """The margin below which a row is a candidate, as a multiple of the distance that scores may move."""
    later: tuple[tuple[int, int], ...] = ()
    """Places that will be looked at afterwards, as (start, stop), in this order."""


@dataclass(frozen=True)
class Step:
    """Say that the first ``n_confirmed`` events stand, that ``events`` follow in an interval, and where to look next.

    A shard checks ``events`` against its rows of the interval, places ``start`` to ``stop`` - 1. If a row without an
    event was wrong when its turn came, the events from there on are taken back by the next message.
    """

    n_confirmed: int
    n_support: int
    events: NewEvents | None = None
    start: int = 0
    stop: int = 0
    look: Look | None = None


@dataclass(frozen=True)
class Candidates:
    """Rows of an interval that are wrong or may become so: all that the walk must know of them."""

    stop: int
    """The end of the interval for this shard."""
    places: Index
    scores: Floats
    """One column a row."""
    squares: Floats
    slots: Index
    """Their numbers as supports, -1 for those that are none."""
    rows: Rows
    """Those that are none yet."""


@dataclass(frozen=True)
class Reply:
    """The answer of a shard to a step."""

    wrong_at: int | None
    """The first place whose row was wrong without an event."""
    candidates: Candidates | None
    """Those of the next interval; or, where some rows were wrong without an event, these, as before the events."""
    facts: dict[str, float] = field(default_factory=dict)
    """Seconds by kind of work, and the number of products, since the shard began."""


def size_of(message: object) -> int:
    """Return the bytes of the arrays in a message."""
    if sp.issparse(message):
        return n_bytes(message)
    if isinstance(message, np.ndarray):
        return int(message.nbytes)
    return sum(size_of(getattr(message, f.name)) for f in fields(message)) if is_dataclass(message) else 0


def stacked(parts: Sequence[Rows]) -> Rows:
    """Return rows one below the other: CSR if any of them are."""
    if any(sp.issparse(part) for part in parts):
        return sp.vstack([sp.csr_matrix(part) for part in parts], format="csr") if len(parts) > 1 else parts[0]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]
