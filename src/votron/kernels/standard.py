"""Kernels on features: linear, polynomial, Gaussian, monotone conjunctions."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from votron._loops import dual as _loops
from votron.errors import NotRepresentableError, VotronError
from votron.kernels.base import Kernel, ValueKernel
from votron.kernels.features import FeatureMap
from votron.products import Floats, Index, Rows, describe, squares


@dataclass(frozen=True)
class LinearKernel(ValueKernel):
    """K(x, z) = x·z.

    Examples
    --------
    >>> LinearKernel()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def feature_map(self, n_features: int) -> FeatureMap:
        """Return the identity."""
        return FeatureMap(n_features, tuple((i,) for i in range(n_features)), (1.0,) * n_features)


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

    def __post_init__(self) -> None:
        """Refuse degrees below 1."""
        degree: Any = self.degree
        if isinstance(degree, bool) or not isinstance(degree, Integral) or not 1 <= int(degree) < 2**31:
            raise VotronError(
                "The 'degree' parameter of PolynomialKernel must be an int in the range [1, 2^31). "
                f"Got {self.degree!r} instead."
            )
        object.__setattr__(self, "degree", int(degree))
        _check_finite(self, "gamma")
        _check_finite(self, "coef0")

    def _powers(self, dots: NDArray[Any]) -> Floats:
        out = np.empty((1, len(dots)))
        self.from_dots(
            dots[None, :], np.zeros(1, dtype=np.int64), 0, len(dots), np.empty((0, 1)), np.empty((0, len(dots))), out
        )
        return np.asarray(out[0])

    def diagonal(self, squares: Floats) -> Floats:
        """Return (gamma x·x + coef0)^degree."""
        return self._powers(np.asarray(squares, dtype=np.float64))

    def bound(self, largest_square: float) -> float:
        """Return (|gamma| x·x + |coef0|)^degree."""
        base = abs(self.gamma) * largest_square + abs(self.coef0)
        return float(PolynomialKernel(self.degree, 1.0, 0.0)._powers(np.array([base]))[0])

    def from_dots(
        self, dots: NDArray[Any], source: Index, low: int, high: int, terms: Floats, own: Floats, out: Floats
    ) -> None:
        """Raise to the power by multiplications in a fixed order."""
        base = np.empty(out.shape[1])
        _loops.kernel_polynomial(
            dots, source, low, high, float(self.gamma), float(self.coef0), int(self.degree), base, out
        )

    def feature_map(self, n_features: int) -> FeatureMap:
        """Return all monomials of degree at most ``degree``, each with the root of its multinomial coefficient."""
        n_monomials = math.comb(n_features + self.degree, self.degree)
        if n_monomials > FeatureMap.LIMIT:
            raise VotronError(
                f"{self!r} over {n_features} features has {n_monomials:,} monomials, more than {FeatureMap.LIMIT:,}."
            )
        if self.gamma < 0 or self.coef0 < 0:
            raise VotronError(f"{self!r} has no real feature map: gamma and coef0 must not be negative.")
        monomials, scales = [], []
        for size in range(self.degree + 1):
            for chosen in itertools.combinations_with_replacement(range(n_features), size):
                ways = math.factorial(self.degree) // math.factorial(self.degree - size)
                for feature in set(chosen):
                    ways //= math.factorial(chosen.count(feature))
                scale = ways * self.coef0 ** (self.degree - size) * self.gamma**size
                if scale > 0:
                    monomials.append(chosen)
                    scales.append(math.sqrt(scale))
        return FeatureMap(n_features, tuple(monomials), tuple(scales))


@dataclass(frozen=True)
class GaussianKernel(Kernel):
    """K(x, z) = exp(-gamma |x - z|²), also known as RBF.

    Examples
    --------
    >>> GaussianKernel(gamma=0.5)([[0.0, 0.0]], [[0.0, 0.0], [2.0, 0.0]]).round(4)
    array([[1.    , 0.1353]])
    """

    gamma: float = 1.0
    needs_distance: ClassVar[bool] = True
    n_terms: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse what is no kernel."""
        _check_finite(self, "gamma", least=0.0)

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

    def from_dots(
        self, dots: NDArray[Any], source: Index, low: int, high: int, terms: Floats, own: Floats, out: Floats
    ) -> None:
        """Exponentiate the distance."""
        _loops.kernel_gaussian(dots, source, low, high, float(self.gamma), terms[0], own[0], out)


@dataclass(frozen=True)
class ConjunctionKernel(Kernel):
    """K(x, z) = 2^|ones(x, z)| on 0/1 data: the number of monotone conjunctions that hold in both.

    Examples
    --------
    >>> ConjunctionKernel()([[1, 1, 0]], [[1, 1, 1], [0, 0, 1]])
    array([[4., 1.]])
    """

    LARGEST: ClassVar[int] = 1023

    def check(self, X: Rows) -> None:
        """Refuse anything but zeros and ones."""
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

    def _powers(self, dots: NDArray[Any]) -> Floats:
        return np.where(dots <= self.LARGEST, np.ldexp(1.0, np.minimum(dots, self.LARGEST).astype(np.int32)), np.inf)

    def diagonal(self, squares: Floats) -> Floats:
        """Return 2 to the number of ones."""
        return self._powers(np.asarray(squares, dtype=np.float64))

    def from_dots(
        self, dots: NDArray[Any], source: Index, low: int, high: int, terms: Floats, own: Floats, out: Floats
    ) -> None:
        """Set the exponent; the number is exact."""
        _loops.kernel_conjunction(dots, source, low, high, out)

    def feature_map(self, n_features: int) -> FeatureMap:
        """Return all 2^n monotone conjunctions of n ≤ 20 variables, the empty one first."""
        if n_features > 20:
            raise VotronError(
                f"The conjunctions of {n_features} variables are 2^{n_features}; "
                "the explicit map is for 20 variables at most."
            )
        subsets = itertools.chain.from_iterable(
            itertools.combinations(range(n_features), size) for size in range(n_features + 1)
        )
        return FeatureMap(n_features, tuple(subsets), (1.0,) * 2**n_features)


def _check_finite(kernel: Kernel, name: str, least: float = -math.inf) -> None:
    """Refuse a parameter that is no number, or below the least."""
    value: Any = getattr(kernel, name)
    if not (isinstance(value, Real) and math.isfinite(value) and float(value) >= least):
        wanted = "a number" if least == -math.inf else f"a number of at least {least:g}"
        raise VotronError(f"The '{name}' parameter of {type(kernel).__name__} must be {wanted}. Got {value!r} instead.")
