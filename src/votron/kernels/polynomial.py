"""The linear and the polynomial kernel."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from votron._util.types import Array, Floats
from votron.errors import VotronError
from votron.kernels.base import Kernel, RowLoop, Step, Term, ValueKernel, check_number


@dataclass(frozen=True)
class LinearKernel(ValueKernel):
    """K(x, z) = x·z.

    Examples
    --------
    >>> LinearKernel()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    name: ClassVar[str] = "linear"
    words: ClassVar[str] = "x·z"

    def formula(self, xz: Term, xx: Term, zz: Term) -> Term:
        return xz

    def affine(self) -> tuple[float, float]:
        return 1.0, 0.0


@dataclass(frozen=True)
class PolynomialKernel(Kernel):
    """K(x, z) = (gamma x·z + coef0)^degree; with gamma = coef0 = 1 the kernel of Freund and Schapire.

    Parameters
    ----------
    degree : int
        At least 1.
    gamma : float
        Scale of the dot product.
    coef0 : float
        The constant; 0 leaves out the monomials of lower degree.

    Examples
    --------
    >>> PolynomialKernel(degree=4)
    PolynomialKernel(degree=4, gamma=1.0, coef0=1.0)
    >>> PolynomialKernel(degree=4)([[1, 1]], [[1, 0]])
    array([[16.]])
    """

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 1.0
    name: ClassVar[str] = "poly"
    words: ClassVar[str] = "(gamma x·z + coef0)^degree"
    search: ClassVar[dict[str, list[Any]]] = {"degree": [2, 3, 1]}
    n_terms: ClassVar[int] = 0

    def __post_init__(self) -> None:
        degree: Any = self.degree
        if isinstance(degree, bool) or not isinstance(degree, Integral) or not 1 <= int(degree) < 2**31:
            raise VotronError(
                "The 'degree' parameter of PolynomialKernel must be an int in the range [1, 2^31). Got "
                f"{self.degree!r} instead.",
                parameter="degree",
            )
        object.__setattr__(self, "degree", int(degree))
        check_number(self, "gamma")
        check_number(self, "coef0")

    def formula(self, xz: Term, xx: Term, zz: Term) -> Term:
        return (self.gamma * xz + self.coef0) ** self.degree

    def affine(self) -> tuple[float, float] | None:
        return (float(self.gamma), float(self.coef0)) if self.degree == 1 else None

    def _powers(self, dots: Array) -> Floats:
        out = np.empty((1, len(dots)))
        self.from_dots(
            dots[None, :], np.zeros(1, dtype=np.int64), 0, len(dots), np.empty((0, 1)), np.empty((0, len(dots))), out
        )
        return np.asarray(out[0])

    def diagonal(self, squares: Floats) -> Floats:
        return self._powers(np.asarray(squares, dtype=np.float64))

    def bound(self, largest_square: float) -> float:
        base = abs(self.gamma) * largest_square + abs(self.coef0)
        return float(PolynomialKernel(self.degree, 1.0, 0.0)._powers(np.array([base]))[0])

    def steps(self) -> tuple[Step, ...]:
        return (Step(_raise, (float(self.gamma), float(self.coef0), float(self.degree))),)


@RowLoop
def _raise(row, n, parameters, theirs, own, stride, spare):
    """K = (gamma x.z + coef0)^degree by repeated squaring, from the lowest bit of the degree up."""
    gamma, coef0, bits = parameters[0], parameters[1], int(parameters[2])
    if bits & 3 == 0:
        for r in range(n):
            power = gamma * row[r] + coef0
            power = power * power
            row[r] = power * power
        bits >>= 2
    else:
        for r in range(n):
            row[r] = gamma * row[r] + coef0
    while bits & 1 == 0:
        for r in range(n):
            row[r] = row[r] * row[r]
        bits >>= 1
    bits >>= 1
    if bits > 0:
        for r in range(n):
            spare[r] = row[r]
    while bits > 0:
        for r in range(n):
            spare[r] = spare[r] * spare[r]
        if bits & 1:
            for r in range(n):
                row[r] = row[r] * spare[r]
        bits >>= 1
