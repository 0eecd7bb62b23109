"""The rules of the perceptron game in the plane, and a player A who makes the most of them.

Problem: A has chosen a target u of length 1, a margin γ and a radius R, and must keep to them; B is the perceptron. How
many mistakes can A force? The theorem says (R/γ)² at most. In the plane it is about half of that: z = yx is a mistake
where v·z ≤ 0. Where it brings v·u forward by γ only, ‖v‖² grows by R² only if z is perpendicular to v and of length R,
and in the plane both at once are possible once or twice.

Reference: Cohen, "Linear Classifiers and the Perceptron", sections 3.2-3.4. Cohen's R, with ‖x‖² < R, is R² here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from votron._util.types import Floats, Index

__all__ = ["BrokenRule", "LongestGame", "PlaneRules"]

_CELLS = 800  # values of |v - (v·u) u| that looking ahead tells from each other
_INSIDE = 1e-9  # the distance that A keeps from the limits of its rules, so that rounding breaks none


class BrokenRule(NamedTuple):
    """A rule that an example breaks."""

    name: str
    sentence: str


@dataclass(frozen=True)
class PlaneRules:
    """The rules for A: the angle of u in degrees, γ and R.

    Examples
    --------
    >>> rules = PlaneRules(90, margin=0.25, radius=1)
    >>> rules.bound
    16.0
    >>> print(rules.broken((0.5, 0.1), 1).sentence)
    Rule γ: y (u·x) ≥ γ. This example has y (u·x) = 0.1, and γ is 0.25: it lies within the band.
    """

    angle: float
    margin: float
    radius: float

    @cached_property
    def u(self) -> Floats:
        turn = math.radians(self.angle)
        return np.array([math.cos(turn), math.sin(turn)])

    @cached_property
    def across(self) -> Floats:
        """The unit vector a quarter turn from u."""
        return np.array([-self.u[1], self.u[0]])

    @property
    def bound(self) -> float:
        return (self.radius / self.margin) ** 2

    def label(self, x: tuple[float, float]) -> int:
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
    """A player A that forces as many mistakes as possible, up to the resolution of a grid.

    Method: it is never better to bring v·u forward by more than γ, so every example has z·u = γ, and v·u, the *height*,
    is known in advance. For each b = |v - (v·u) u| on a grid, recursion from the end of the game gives the most
    mistakes that can still come. A mistake needs v·z ≤ 0: a step across u of at most s = √(R² - γ²), and at least
    height · γ/b against b.

    Examples
    --------
    >>> rules = PlaneRules(30, margin=0.2, radius=1)
    >>> LongestGame(rules).count(), rules.bound
    (13, 25.0)
    """

    def __init__(self, rules: PlaneRules) -> None:
        self.rules = rules
        self.margin = rules.margin * (1 + _INSIDE)
        radius = rules.radius * (1 - _INSIDE)
        self.reach = math.sqrt(max(0.0, radius**2 - self.margin**2))

    def next(self, v: Floats) -> Floats | None:
        """Return the signed example yx to give where B's guess is v; None if no allowed example is a mistake."""
        if self.over(v):
            return None
        b = float(v @ self.rules.across)
        step = self._step(float(v @ self.rules.u), abs(b))
        return self.margin * self.rules.u + (step if b >= 0 else -step) * self.rules.across

    def over(self, v: Floats) -> bool:
        """Tell whether no allowed example is a mistake."""
        most = self._most(float(v @ self.rules.u), abs(float(v @ self.rules.across)))
        return self.margin > self.rules.radius or most < -self.reach

    def count(self) -> int:
        """Return the number of mistakes from the beginning."""
        v, n = np.zeros(2), 0
        while (z := self.next(v)) is not None:
            v, n = v + z, n + 1
        return n

    def _most(self, height: float, b: float) -> float:
        """Return the largest step across u that is a mistake, negative where it goes against b."""
        if b == 0:
            return self.reach if height <= 0 else -math.inf
        return -height * self.margin / b - 1e-12 * self.rules.radius

    def _step(self, height: float, b: float) -> float:
        """Return the step after which the most mistakes can still come, among equal ones that to the largest b."""
        least, most = -self.reach, self._most(height, b)
        turns = max(0, math.floor(height / self.margin + 1e-9))
        worths = _lookahead(self.margin, self.reach, round(height - turns * self.margin, 9))
        grid = _grid(self.reach)
        after = worths[turns + 1] if turns + 1 < len(worths) else np.zeros(len(grid), dtype=np.int64)
        steps = np.concatenate([[least, most], grid - b, -grid - b])
        steps = steps[(steps >= least) & (steps <= most)]
        there = np.abs(b + steps)
        worth = after[np.clip(np.floor(there / grid[1] + 1e-9).astype(int), 0, len(grid) - 1)]
        best = np.flatnonzero(worth == worth.max())
        return float(steps[best[np.argmax(there[best])]])


def _grid(reach: float) -> Floats:
    return np.linspace(0.0, max(reach, 1e-12), _CELLS + 1)


@lru_cache(maxsize=64)
def _lookahead(margin: float, reach: float, start: float) -> list[Index]:
    """Return the most mistakes that can still come, for each b on the grid, where v·u is start, start + γ, ..."""
    grid = _grid(reach)
    cell = grid[1]
    heights = np.arange(start, reach * grid[-1] / margin + margin, margin)
    worths: list[Index] = [np.zeros(len(grid), dtype=np.int64)]
    for height in heights[::-1]:
        errs = grid * reach >= height * margin
        low, high = grid - reach, grid - height * margin / np.maximum(grid, 1e-12)
        # the places |b + step| are an interval, which may be folded at 0
        first, last = np.where(high >= 0, 0.0, -high), np.maximum(-low, high)
        i, j = np.ceil(first / cell - 1e-9).astype(int), np.floor(last / cell + 1e-9).astype(int)
        fits = errs & (j >= i)
        worth = errs.astype(np.int64)
        ends = np.column_stack([i[fits], np.minimum(j[fits] + 1, len(grid))]).ravel()
        worth[fits] += np.maximum.reduceat(np.append(worths[-1], 0), ends)[::2]  # the largest from i to j
        worths.append(worth)
    return worths[::-1]
