"""The Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from votron._loops._llvm import RowLoop, compiled
from votron._types import Floats
from votron.errors import NotRepresentableError
from votron.kernels.base import Kernel, Step, Term, check_number


@dataclass(frozen=True)
class GaussianKernel(Kernel):
    """K(x, z) = exp(-gamma |x - z|²), also known as RBF.

    Examples
    --------
    >>> GaussianKernel(gamma=0.5)([[0.0, 0.0]], [[0.0, 0.0], [2.0, 0.0]]).round(4)
    array([[1.    , 0.1353]])
    """

    gamma: float = 1.0
    name: ClassVar[str] = "rbf"
    words: ClassVar[str] = "exp(-gamma |x - z|²)"
    search: ClassVar[dict[str, list[Any]]] = {"gamma": ["scale", "scale*10", "scale*0.1"]}
    needs_distance: ClassVar[bool] = True
    unit_length: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse what is no kernel."""
        check_number(self, "gamma", least=0.0)

    def formula(self, xz: Term, xx: Term, zz: Term) -> Term:
        """Return exp(-gamma (x·x + z·z - 2 x·z)), the distance never below 0."""
        return np.exp(-self.gamma * np.maximum((xx + zz) - 2.0 * xz, 0.0))

    def terms(self, squares: Floats) -> Floats:
        """Return x·x."""
        if not np.isfinite(squares).all():
            raise NotRepresentableError(
                f"{self!r} needs x·x, which exceeds the largest float64 here: scale the data down."
            )
        return np.array(squares, dtype=np.float64)[None, :]

    def diagonal(self, squares: Floats) -> Floats:
        """Return ones."""
        return np.ones(len(squares))

    def steps(self) -> tuple[Step, ...]:
        """Exponentiate the distance."""
        return (Step(_exponentiate, (float(self.gamma),), n_terms=1),)


@RowLoop
def _exponentiate(row, n, parameters, theirs, own, stride, spare):
    """K = exp(-gamma |x - z|^2), the distance never below zero.

    The exponential is computed here, by range reduction and a Taylor polynomial of degree 13 (within one unit in the
    last place of the library's), because a library's vectorised one and the one that finishes a loop need not agree.
    """
    gamma, square = parameters[0], theirs[0]
    for r in range(n):
        distance = (square + own[r]) - 2.0 * row[r]
        distance = distance if distance > 0.0 else 0.0
        t = -gamma * distance
        t = t if t > -745.2 else -745.2
        e = np.floor(t * 1.4426950408889634 + 0.5)
        u = (t - e * 6.93147180369123816490e-01) - e * 1.90821492927058770002e-10
        p = 1.0 / 6227020800.0
        p = p * u + 1.0 / 479001600.0
        p = p * u + 1.0 / 39916800.0
        p = p * u + 1.0 / 3628800.0
        p = p * u + 1.0 / 362880.0
        p = p * u + 1.0 / 40320.0
        p = p * u + 1.0 / 5040.0
        p = p * u + 1.0 / 720.0
        p = p * u + 1.0 / 120.0
        p = p * u + 1.0 / 24.0
        p = p * u + 1.0 / 6.0
        p = p * u + 0.5
        p = p * u + 1.0
        p = p * u + 1.0
        # 2^e in two factors, so that results below the normal range come out right
        half = np.floor(e * 0.5)
        row[r] = p * _power_of_two(half) * _power_of_two(e - half)


@compiled
def _power_of_two(n):
    return np.int64((np.int64(np.int32(n)) + 1023) << 52).view(np.float64)
