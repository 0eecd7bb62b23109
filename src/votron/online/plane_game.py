"""The rules of the perceptron game in the plane, and a player A who makes the most of them.

Problem: A gives examples, each with a label, and B, the perceptron, predicts. A has chosen a target u of length 1, a
margin γ and a radius R beforehand, and must keep to them. How many mistakes can A force? The theorem says (R/γ)² at
most. In the plane it is about half of that: each signed example z = yx that is a mistake has z·u ≥ γ and v·z ≤ 0, and
where z brings v·u forward by γ only, ‖v‖² grows by R² only if z is perpendicular to v and as long as R. In the plane
both at once can be had once or twice.

=============  ===================================================================================================
`PlaneRules`   u, γ and R; which examples they allow, and which rule an example breaks
`LongestGame`  signed examples that force as many mistakes as there can be, by looking ahead to the end of the game
=============  ===================================================================================================

Reference: Cohen, "Linear Classifiers and the Perceptron", sections 3.2-3.4. Cohen's R, with ‖x‖² < R, is R² here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from votron._util.types import Floats

__all__ = ["BrokenRule", "LongestGame", "PlaneRules"]

Floats = Floats

_CELLS = 800
"""Values of v across u that looking ahead tells from each other."""
_INSIDE = 1e-9
"""How far A keeps from its own rules, so that rounding breaks none."""


class BrokenRule(NamedTuple):
    """A rule that an example breaks: its name, and a sentence.

    Examples
    --------
    >>> PlaneRules.at(90, margin=0.25, radius=1).broken((2.0, 0.0), 1).name
    'R'
    """

    name: str
    sentence: str


@dataclass(frozen=True)
class PlaneRules:
    """What A has bound itself to.

    Parameters
    ----------
    target : pair of float
        u, of length 1.
    margin, radius : float
        γ and R, positive.

    Examples
    --------
    >>> rules = PlaneRules.at(90, margin=0.25, radius=1)
    >>> rules.bound
    16.0
    >>> rules.broken((0.5, 0.5), 1) is None
    True
    >>> print(rules.broken((0.5, 0.1), 1).sentence)
    Rule γ: y (u·x) ≥ γ. This example has y (u·x) = 0.1, and γ is 0.25: it lies within the band.
    """

    target: tuple[float, float]
    margin: float
    radius: float

    @classmethod
    def at(cls, angle: float, margin: float, radius: float) -> PlaneRules:
        """Return the rules with u at an angle, in degrees."""
        turn = math.radians(angle)
        return cls((math.cos(turn), math.sin(turn)), margin, radius)

    @cached_property
    def u(self) -> Floats:
        """The target as an array."""
        return np.array(self.target)

    @cached_property
    def across(self) -> Floats:
        """The unit vector a quarter turn from u."""
        return np.array([-self.u[1], self.u[0]])

    @property
    def bound(self) -> float:
        """The theorem's bound on mistakes, (R/γ)²."""
        return (self.radius / self.margin) ** 2

    def label(self, x: tuple[float, float]) -> int:
        """Return the label that u gives to an example."""
        return 1 if float(self.u @ np.asarray(x)) >= 0 else -1

    def broken(self, x: tuple[float, float], y: int) -> BrokenRule | None:
        """Return the first rule that an example breaks, if there is one."""
        length, towards = math.hypot(*x), y * float(self.u @ np.asarray(x))
        if length > self.radius:
            words = f"‖x‖ ≤ R. This example has ‖x‖ = {length:.3g}, and R is {self.radius:.3g}"
            return BrokenRule("R", f"Rule R: {words}: it lies outside the circle.")
        if towards < 0:
            words = f"the label is the side of u. Here u·x = {y * towards:.3g}, so the label is {-y:+d}"
            return BrokenRule("u", f"Rule u: {words}.")
        if towards < self.margin:
            words = f"y (u·x) ≥ γ. This example has y (u·x) = {towards:.3g}, and γ is {self.margin:.3g}"
            return BrokenRule("γ", f"Rule γ: {words}: it lies within the band.")
        return None


class LongestGame:
    """A player A that forces as many mistakes as there can be, up to the resolution of a grid.

    Method: it is never better to bring v·u forward by more than γ, so every example has z·u = γ, and v·u, the *height*,
    is known ahead of time. What is left is b = |v - (v·u) u|, at most R: from each b on a grid, by recursion from
    the end of the game, the most mistakes that can still come. A mistake needs v·z ≤ 0, that is a step across u, of at
    most s = √(R² - γ²), that is at least height · γ/b against b.

    Parameters
    ----------
    rules : PlaneRules
        The rules.

    Examples
    --------
    >>> rules = PlaneRules.at(30, margin=0.2, radius=1)
    >>> player, v = LongestGame(rules), np.zeros(2)
    >>> n = 0
    >>> while (z := player.next(v)) is not None:
    ...     v, n = v + z, n + 1
    >>> n, rules.bound
    (13, 25.0)
    """

    def __init__(self, rules: PlaneRules) -> None:
        self.rules = rules
        self.margin = rules.margin * (1 + _INSIDE)
        radius = rules.radius * (1 - _INSIDE)
        self.reach = math.sqrt(max(0.0, radius**2 - self.margin**2))

    def next(self, v: Floats) -> Floats | None:
        """Return the signed example yx to give where B's guess is v; None if B errs on nothing that is allowed."""
        if self.over(v):
            return None
        height, b = float(v @ self.rules.u), float(v @ self.rules.across)
        step = self._step(height, abs(b))
        z = self.margin * self.rules.u + (step if b >= 0 else -step) * self.rules.across
        return z if float(v @ z) <= 0 else None

    def over(self, v: Floats) -> bool:
        """Tell whether B, with this guess, errs on nothing that is allowed."""
        least, most = self._steps(float(v @ self.rules.u), abs(float(v @ self.rules.across)))
        return self.margin > self.rules.radius or most < least

    def count(self) -> int:
        """Return how many mistakes it forces from the beginning."""
        v, n = np.zeros(2), 0
        while (z := self.next(v)) is not None:
            v, n = v + z, n + 1
        return n

    def _steps(self, height: float, b: float) -> tuple[float, float]:
        """Return the least and the largest step across u, negative where it goes against b, that is a mistake."""
        if b == 0:
            return -self.reach, (self.reach if height <= 0 else -math.inf)
        return -self.reach, -height * self.margin / b - 1e-12 * self.rules.radius

    def _step(self, height: float, b: float) -> float:
        """Return the step after which the most mistakes can still come, of equal ones that to the largest b."""
        least, most = self._steps(height, b)
        grid, after = _lookahead(self.margin, self.reach, round(height + self.margin, 9))
        ends = np.array([least, most])
        steps = np.concatenate([ends, grid - b, -grid - b])
        steps = steps[(steps >= least) & (steps <= most)]
        there = np.abs(b + steps)
        worth = after[np.clip(np.floor(there / (grid[1] or 1.0) + 1e-9).astype(int), 0, len(grid) - 1)]
        best = np.flatnonzero(worth == worth.max())
        return float(steps[best[np.argmax(there[best])]])


@lru_cache(maxsize=1024)
def _lookahead(margin: float, reach: float, height: float) -> tuple[Floats, NDArray[np.int64]]:
    """Return values of b, and for each how many mistakes can come where v·u is ``height``."""
    grid = np.linspace(0.0, max(reach, 1e-12), _CELLS + 1)
    if height * margin > reach * grid[-1]:
        return grid, np.zeros(len(grid), dtype=np.int64)
    _, after = _lookahead(margin, reach, round(height + margin, 9))
    errs = grid * reach >= height * margin
    worth = np.zeros(len(grid), dtype=np.int64)
    low, high = grid - reach, grid - height * margin / np.maximum(grid, 1e-12)
    first = np.where(high >= 0, 0.0, -high)  # the places |b + step| are an interval that may be folded at 0
    last = np.maximum(-low, high)
    cell = grid[1]
    i, j = np.ceil(first / cell - 1e-9).astype(int), np.floor(last / cell + 1e-9).astype(int)
    fits = errs & (j >= i)
    worth[errs] = 1
    worth[fits] = 1 + _largest_between(after, i[fits], np.minimum(j[fits], len(grid) - 1))
    return grid, worth


def _largest_between(values: NDArray[np.int64], i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the largest of values[i..j], both included, for each pair, from those of stretches of 1, 2, 4, ..."""
    stretches = [values]
    while 2 ** len(stretches) <= len(values):
        before, half = stretches[-1], 2 ** (len(stretches) - 1)
        stretches.append(np.maximum(before[:-half], before[half:]))
    out = np.empty(len(i), dtype=np.int64)
    level = np.floor(np.log2(j - i + 1)).astype(int)
    for k in np.unique(level):
        mine = level == k
        out[mine] = np.maximum(stretches[k][i[mine]], stretches[k][j[mine] - 2**k + 1])
    return out
