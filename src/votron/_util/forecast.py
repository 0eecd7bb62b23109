"""Forecast of the remaining training time, from a model of its cost that is fitted while it runs.

When a row is visited, the mistakes since its last visit are added to its scores. So the step at time t costs
a + b·(M(t) − M(t − n)), where M counts mistakes and a pass has n rows: more and more during the first pass, then as
much as a pass has mistakes. For weight vectors b is about 0. Both follow from the times measured so far. M goes on as
a power of t, whose exponent is what the last doubling of t shows, near 1 on noisy data; the range is what nearby
exponents give.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import nnls

from votron._util.types import Floats

LONG_SECONDS = 30.0
"""The time that training must take to be called long."""
SETTLING_SECONDS = 3.0
"""The seconds that training is watched before an announcement."""
_UNTYPICAL = 2
"""Blocks at the beginning that are not counted, since code may be compiled there."""
_FEWEST, _MOST = 8, 256
"""Moments that a forecast needs, and that it keeps."""
_LOWER, _HIGHER = 0.15, 0.1
"""The possible error of the exponent, downwards and upwards."""
_UNEVEN = 0.1
"""The possible error of the speed."""
_GRID = 200

Moment = tuple[float, int, int]
"""Seconds since the start, steps done, mistakes so far."""


def seconds_left(moments: Sequence[Moment], n_rows: int, n_steps: int) -> tuple[float, float] | None:
    """Return how many seconds training still takes, at least and at most; None if there are too few moments."""
    if len(moments) < _FEWEST or moments[-1][1] <= moments[0][1]:
        return None
    seconds, steps, mistakes = np.array(moments, dtype=np.float64).T
    now = steps[-1]
    half = float(np.interp(now / 2, steps, mistakes))
    exponent = math.log2(mistakes[-1] / half) if half > 0 else 1.0
    costs = np.diff(np.stack([steps, _work(steps, mistakes, steps, n_rows)], axis=1), axis=0)
    weight = np.arange(1, len(costs) + 1)  # the latest count most
    scale = np.maximum(costs.max(axis=0), 1.0)
    prices = nnls(costs / scale * weight[:, None], np.diff(seconds) * weight)[0] / scale
    ahead = np.linspace(now, max(now, n_steps), _GRID)
    found = []
    for power in (exponent - _LOWER, min(max(exponent, 1.0), exponent + _HIGHER)):
        later = mistakes[-1] * (ahead / now) ** max(0.0, power)
        all_steps, all_mistakes = np.append(steps, ahead[1:]), np.append(mistakes, later[1:])
        start, end = _work(all_steps, all_mistakes, ahead[[0, -1]], n_rows)
        found.append(float(prices @ [ahead[-1] - now, end - start]))
    return (1 - _UNEVEN) * min(found), (1 + _UNEVEN) * max(found)


def _work(steps: Floats, mistakes: Floats, at: Floats, n_rows: int) -> Floats:
    """Return the sum of M(t) − M(t − n) over the steps until each of some times, where M is 0 before the start."""
    steps, mistakes = np.append(0.0, steps), np.append(mistakes[0], mistakes)
    total = np.append(0.0, np.cumsum(np.diff(steps) * (mistakes[1:] + mistakes[:-1]) / 2))
    return np.asarray(np.interp(at, steps, total) - np.interp(at - n_rows, steps, total, left=0.0))


class Forecast:
    """Estimates how long training still takes; calls ``say`` once, with the range of seconds, if that is long."""

    def __init__(
        self,
        n_rows: int,
        n_steps: int,
        say: Callable[[float, float], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._n_rows, self._n_steps, self._say, self._clock = n_rows, n_steps, say, clock
        self._start, self._updates, self._every = clock(), 0, 1
        self._asked = 0.0
        self._moments: list[Moment] = []

    def update(self, step: int, mistakes: int) -> None:
        """Take note of a moment."""
        self._updates += 1
        if self._updates <= _UNTYPICAL or self._updates % self._every:
            return
        self._moments.append((self._clock() - self._start, step, mistakes))
        if len(self._moments) > _MOST:
            self._moments, self._every = self._moments[1::2], 2 * self._every

    def left(self) -> tuple[float, float] | None:
        """Return the least and the most seconds left, once they can be estimated."""
        return seconds_left(self._moments, self._n_rows, self._n_steps)

    def long(self) -> Callable[[], None] | None:
        """Return the announcement that training takes long, to be made now; None if there is none."""
        if self._say is None or len(self._moments) < _FEWEST:
            return None
        watched = self._moments[-1][0] - self._moments[0][0]
        if watched < max(SETTLING_SECONDS, 1.5 * self._asked):
            return None
        self._asked, left = watched, self.left()
        if left is None or left[1] < LONG_SECONDS:
            return None
        say, self._say = self._say, None
        return lambda: say(*left)
