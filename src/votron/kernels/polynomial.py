"""The linear and the polynomial kernels, and that of monotone conjunctions, the product of 1 + x_i z_i on 0/1 data."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from votron._util.types import Array, Floats, Rows
from votron.errors import NotRepresentableError, VotronError
from votron.kernels.base import Kernel, RowLoop, Step, Term, ValueKernel, check_number
from votron.products import describe, squares


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


@dataclass(frozen=True)
class ConjunctionKernel(Kernel):
    """K(x, z) = 2^|ones(x, z)| on 0/1 data: the number of monotone conjunctions that hold in both.

    Examples
    --------
    >>> ConjunctionKernel()([[1, 1, 0]], [[1, 1, 1], [0, 0, 1]])
    array([[4., 1.]])
    """

    LARGEST: ClassVar[int] = 1023
    name: ClassVar[str] = "conjunction"
    words: ClassVar[str] = "2^(ones in common), on 0/1 data: all monotone conjunctions"
    n_terms: ClassVar[int] = 0
    takes_reals: ClassVar[bool] = False

    def formula(self, xz: Term, xx: Term, zz: Term) -> Term:
        return 2.0**xz

    def check(self, X: Rows) -> None:
        traits = describe(X)
        if not (traits.integer and traits.low >= 0 and traits.high <= 1):
            raise VotronError(
                "The 'conjunction' kernel takes 0/1 data only, one column a Boolean variable. "
                f"Got values from {traits.low:g} to {traits.high:g}; binarise or one-hot encode the columns first."
            )
        ones = squares(X).max(initial=0.0) if traits.n_features > self.LARGEST else 0.0
        if ones > self.LARGEST:
            raise NotRepresentableError(
                f"{self!r} exceeds the largest float64 on these data: a row must have at most {self.LARGEST} ones. "
                f"Got {ones:g} instead."
            )

    def _powers(self, dots: Array) -> Floats:
        return np.where(dots <= self.LARGEST, np.ldexp(1.0, np.minimum(dots, self.LARGEST).astype(np.int32)), np.inf)

    def diagonal(self, squares: Floats) -> Floats:
        return self._powers(np.asarray(squares, dtype=np.float64))

    def steps(self) -> tuple[Step, ...]:
        return (Step(_set_exponent),)


@RowLoop
def _set_exponent(row, n, parameters, theirs, own, stride, spare):
    """K = 2^(x.z), for dot products from 0 to 1023."""
    for r in range(n):
        row[r] = np.int64((np.int64(np.int32(row[r])) + 1023) << 52).view(np.float64)
