"""An active-set method for the least value of a quadratic form over weights that sum to 1."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from votron._util.types import Floats, Index
from votron.errors import VotronError

Position = tuple[list[int], Floats, Floats]
"""The state of a search: the active examples, their weights, the inverse of their part of B."""


class ActiveSet:
    """Least value of λᵀBλ − cᵀλ over λ ≥ 0 that sum to 1 in each group (Wolfe 1976, with a linear term).

    Input: B, positive semi-definite with a diagonal near 1, and with 1 added to the blocks of the groups, so that it is
    definite on examples of which none is an affine combination of the others; c; the group of each example. Output:
    the weights, none but the needed ones positive. Only such examples are active at a time. In turn the example that
    violates optimality most joins them, the least value over their affine hull is found, and where that has negative
    weights, those that reach 0 on the way leave. The objective falls each time, so it ends.
    """

    TIGHT = 1e-14
    """Violation of optimality that is rounding."""
    FLAT = 1e-12
    """Squared distance from the affine hull of the active examples that is none."""
    ZERO = 1e-13
    """Weight that is none."""
    TRIES = 5
    """Times that an example may join without a fall of the objective that can be seen."""

    def __init__(self, B: Floats, c: Floats, group: Index, floor: float = -math.inf) -> None:
        self.B, self.c, self.group, self.floor = B, c, group, floor
        self.sums = (group[:, None] == np.arange(group.max() + 1)).astype(np.float64)
        self.active: list[int] = []
        self.values: Floats = np.empty(0)
        self.inverse: Floats = np.empty((0, 0))

    # Where it stands

    def weights(self) -> Floats:
        weights = np.zeros(len(self.c))
        weights[self.active] = self.values
        return weights

    def products(self) -> Floats:
        """Return Bλ."""
        return np.asarray(self.values @ self.B[self.active])

    def position(self) -> Position:
        return list(self.active), self.values.copy(), self.inverse.copy()

    def go_to(self, position: Position) -> None:
        active, values, inverse = position
        self.active, self.values, self.inverse = list(active), values.copy(), inverse.copy()

    def start_at(self, active: list[int]) -> None:
        self.active, self.values = list(active), np.ones(len(active))
        self._invert()

    def start_anywhere(self, allowed: NDArray[np.bool_]) -> None:
        """Start at the shortest of the allowed examples of each group."""
        length = np.where(allowed, np.diagonal(self.B), np.inf)
        groups = range(self.sums.shape[1])
        self.start_at([int(np.argmin(np.where(self.group == g, length, np.inf))) for g in groups])

    def leave(self, p: int, others: NDArray[np.bool_]) -> None:
        """Take out an active example; its weight goes to those of its group, if there are any."""
        at = self.active.index(p)
        mine = self.group[self.active] == self.group[p]
        rest = float(self.values[mine].sum() - self.values[at])
        if rest <= self.ZERO:
            self.start_anywhere(others)
            return
        self.values[mine] /= rest
        self._drop(at)
        self._descend()

    # Steps

    def minimise(self, allowed: NDArray[np.bool_]) -> None:
        """Go on to the least value over the allowed examples, or until it is below the floor."""
        tries = np.where(allowed, self.TRIES, 0)
        least, entered = math.inf, -1
        for _ in range(100 + 20 * len(self.c)):
            slope, value = self._slope()
            if value <= self.floor:
                return
            if value >= least:
                tries[entered] -= 1  # rounding hides what it gained, or it gained nothing and would come back for ever
            least = min(least, value)
            # The slopes of the active examples of a group are equal, to rounding.
            level = self.sums[self.active].T @ (self.values * slope[self.active])
            gain = np.where(allowed, level[self.group] - slope, -np.inf)
            gain[self.active] = -np.inf
            entered = int(np.argmax(np.where(tries > 0, gain, -np.inf)))
            if tries[entered] <= 0 or gain[entered] <= self.TIGHT:
                break
            if self._enter(entered, slope):
                self._descend()
            else:
                tries[entered] = 0
        if gain.max() > (1e-6 * value if math.isfinite(self.floor) else 1e-10):
            raise VotronError("The Gram matrix is too near to singular for a solution: it needs more exact values.")

    def _slope(self) -> tuple[Floats, float]:
        """Return the gradient 2Bλ − c, and the objective less what was added to the blocks."""
        slope = 2 * self.products() - self.c
        return slope, float(self.values @ (slope - self.c)[self.active]) / 2 - self.sums.shape[1]

    def _enter(self, i: int, slope: Floats) -> bool:
        """Make an example active; one in the affine hull of the active ones takes the place of another."""
        joint, apart = self._from_hull(i)
        value = 0.0
        if apart <= self.FLAT:
            falls = float(joint @ slope[self.active] - slope[i])
            shrinking = np.flatnonzero(joint > self.ZERO)
            if falls <= 0 or not len(shrinking):
                return False
            at = int(shrinking[np.argmin(self.values[shrinking] / joint[shrinking])])
            value = float(self.values[at] / joint[at])
            self.values = np.maximum(0.0, self.values - value * joint)
            self._drop(at)
        self.active.append(i)
        self.values = np.append(self.values, value)
        if apart <= self.FLAT:
            self._invert()
        else:
            corner = np.append(-joint, 1.0)
            self.inverse = np.pad(self.inverse, (0, 1)) + np.outer(corner, corner) / apart
        return True

    def _from_hull(self, i: int) -> tuple[Floats, float]:
        """Return the example as a combination of the active ones, as nearly as it is one, and the squared distance."""
        B, column = self.B[np.ix_(self.active, self.active)], self.B[self.active, i]
        joint = self.inverse @ column
        for fresh in (False, True):
            joint = joint + self.inverse @ (column - B @ joint)
            apart = float(self.B[i, i] - 2 * column @ joint + joint @ B @ joint)
            if apart > 1e-6 or fresh:
                break
            self._invert()  # the updates of the inverse are worn where examples are close to a combination of others
        return joint, apart

    def _descend(self) -> None:
        """Go to the least value over the affine hull of the active examples; those whose weights reach 0 leave."""
        while True:
            target = self._affine_least()
            low = np.flatnonzero(target <= self.ZERO)
            if not len(low):
                self.values = target
                return
            fall = np.maximum(self.values[low] - target[low], self.ZERO)
            step = np.clip(self.values[low] / fall, 0.0, 1.0)
            first = int(np.argmin(step))
            self.values = np.maximum(0.0, self.values + step[first] * (target - self.values))
            self._drop(int(low[first]))

    def _affine_least(self) -> Floats:
        """Solve 2Bλ − c = ν in each group, Σ λ = 1; a second time for the residual, and anew if that is large."""
        B, sums, half = self.B[np.ix_(self.active, self.active)], self.sums[self.active], self.c[self.active] / 2
        for fresh in (False, True):
            if fresh:
                self._invert()
            inner = sums.T @ self.inverse @ sums
            target, level = np.zeros(len(half)), np.zeros(sums.shape[1])
            for _ in range(3 if fresh else 2):
                off = half + sums @ level - B @ target
                more = np.linalg.solve(inner, 1.0 - sums.T @ target - sums.T @ (self.inverse @ off))
                level = level + more
                target = target + self.inverse @ (off + sums @ more)
            if np.abs(half + sums @ level - B @ target).max() <= 1e-13:
                break
        return np.asarray(target)

    def _drop(self, at: int) -> None:
        keep = np.arange(len(self.active)) != at
        column = self.inverse[keep, at]
        self.inverse = self.inverse[np.ix_(keep, keep)] - np.outer(column, column) / self.inverse[at, at]
        self.values = self.values[keep]
        del self.active[at]

    def _invert(self) -> None:
        self.inverse = np.asarray(np.linalg.inv(self.B[np.ix_(self.active, self.active)]), dtype=np.float64)
