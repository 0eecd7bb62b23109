"""The Gaussian kernel."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from votron._loops._llvm import compiled
from votron._util.types import Floats, Rows
from votron.errors import NotRepresentableError, VotronError
from votron.kernels.base import Kernel, RowLoop, Step, Term, check_number
from votron.products import Products, Traits, choose_products, describe, squares


@dataclass(frozen=True)
class GaussianKernel(Kernel):
    """K(x, z) = exp(-gamma |x - z|²) + coef0, also known as RBF.

    Parameters
    ----------
    gamma : float
        Scale of the squared distance.
    coef0 : float
        The square of a feature that all rows share, at least 0. Above 0 it gives vectors a threshold, which the
        intercept of a support vector machine is: without one a vector says nothing far from all examples.
    arithmetic : {"float64", "float32"}
        Products of float32 rows are made in this arithmetic (those of whole numbers are exact, and those of other rows
        float64, whatever it says). The distance subtracts products, so float32 costs accuracy: `suited_to` takes it
        where that cannot matter, twice as fast with half the memory. It does not count when kernels are compared.

    Examples
    --------
    >>> GaussianKernel(gamma=0.5)([[0.0, 0.0]], [[0.0, 0.0], [2.0, 0.0]]).round(4)
    array([[1.    , 0.1353]])
    >>> GaussianKernel(gamma=0.5, coef0=1.0)([[0.0, 0.0]], [[0.0, 0.0], [2.0, 0.0]]).round(4)
    array([[2.    , 1.1353]])
    """

    gamma: float = 1.0
    coef0: float = field(default=0.0, metadata={"optional": True})
    arithmetic: str = field(default="float64", compare=False, repr=False, metadata={"optional": True})
    name: ClassVar[str] = "rbf"
    words: ClassVar[str] = "exp(-gamma |x - z|²) + coef0"
    search: ClassVar[dict[str, list[Any]]] = {"gamma": ["scale", "scale*4", "scale*0.25"]}
    TOLERANCE: ClassVar[float] = 1e-3
    """The largest error of a kernel value for which float32 is chosen."""
    needs_distance: ClassVar[bool] = True
    unit_length: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number(self, "gamma", least=0.0)
        check_number(self, "coef0", least=0.0)
        if self.arithmetic not in ("float64", "float32"):
            raise VotronError(
                "The 'arithmetic' parameter of GaussianKernel must be 'float64' or 'float32'. Got "
                f"{self.arithmetic!r} instead.",
                parameter="arithmetic",
            )

    def suited_to(self, X: Rows) -> GaussianKernel:
        """Return this kernel with float32 arithmetic, if no value with these rows can be off by `TOLERANCE` for that.

        A sum of n nonzero products, each rounded to one part in 2^24, is off by at most n 2^-24 |x| |z|, the squared
        distance by n 2^-24 (|x| + |z|)², and the exponential by gamma times that.

        Examples
        --------
        >>> rows = np.random.default_rng(0).random((5, 100), dtype=np.float32)
        >>> GaussianKernel(0.1).suited_to(rows).arithmetic, GaussianKernel(10.0).suited_to(rows).arithmetic
        ('float32', 'float64')
        """
        return dataclasses.replace(self, arithmetic="float32" if self._bears_float32(X) else "float64")

    def still_suited_to(self, X: Rows) -> GaussianKernel:
        return self if self.arithmetic == "float64" else self.suited_to(X)

    def _bears_float32(self, X: Rows) -> bool:
        if X.dtype != np.float32 or not X.shape[0] or describe(X).integer:
            return False
        n = int(((X != 0).sum(axis=1) if sp.issparse(X) else np.count_nonzero(X, axis=1)).max())
        return self.gamma * n * 2.0**-24 * 4.0 * float(squares(X).max()) < self.TOLERANCE

    def products(self, traits: Traits) -> Products:
        return choose_products(traits, needs_distance=self.arithmetic == "float64")

    def formula(self, xz: Term, xx: Term, zz: Term) -> Term:
        return np.exp(-self.gamma * np.maximum((xx + zz) - 2.0 * xz, 0.0)) + self.coef0

    def terms(self, squares: Floats) -> Floats:
        if not np.isfinite(squares).all():
            raise NotRepresentableError(
                f"{self!r} needs x·x, which exceeds the largest float64 here: scale the data down."
            )
        return np.array(squares, dtype=np.float64)[None, :]

    def diagonal(self, squares: Floats) -> Floats:
        return np.full(len(squares), 1.0 + self.coef0)

    def steps(self) -> tuple[Step, ...]:
        return (Step(_exponentiate, (float(self.gamma), float(self.coef0)), n_terms=1),)


@RowLoop
def _exponentiate(row, n, parameters, theirs, own, stride, spare):
    """K = exp(-gamma |x - z|^2) + coef0, the distance never below zero.

    The exponential is computed here, by range reduction and a Taylor polynomial of degree 13, because a library's
    vectorised one and the one that finishes a loop need not agree.
    """
    gamma, coef0, square = parameters[0], parameters[1], theirs[0]
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
        row[r] = p * _power_of_two(half) * _power_of_two(e - half) + coef0


@compiled
def _power_of_two(n):
    return np.int64((np.int64(np.int32(n)) + 1023) << 52).view(np.float64)
