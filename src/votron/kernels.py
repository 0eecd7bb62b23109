"""Kernels: K(x, z) = Φ(x)·Φ(z) without writing Φ down, and Φ itself where it is in reach.

A kernel here is a function of three numbers, x·z, x·x and z·z, so that blocks of kernel values are blocks of dot
products with something done to each. The function exists once, compiled, and serves training, prediction and
``kernel(X, Y)`` alike.

Boundary conventions: the squared distance inside a Gaussian kernel is never below 0; normalising divides by 0
nowhere, a row with K(x, x) = 0 has kernel value 0 with every row; values are float64, whatever the data are.
"""

from __future__ import annotations

import functools
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from votron import _loops
from votron.errors import IndefiniteKernelError, NotRepresentableError, VotronError
from votron.products import (
    CallableProducts,
    Floats,
    GramProducts,
    Index,
    Products,
    Rows,
    Traits,
    choose_products,
    chunks,
    describe,
    squares,
)

__all__ = [
    "KERNELS",
    "CallableKernel",
    "ComposedKernel",
    "ConjunctionKernel",
    "FeatureMap",
    "GaussianKernel",
    "Kernel",
    "LinearKernel",
    "MercerCheck",
    "NormalizedKernel",
    "PolynomialKernel",
    "PrecomputedKernel",
    "is_mercer",
    "make_kernel",
]


def _as_rows(X: Any) -> Rows:
    """Return a CSR matrix with sorted indices or a 2-d array."""
    if sp.issparse(X):
        X = sp.csr_matrix(X) if X.format != "csr" else X
        return X if X.has_canonical_format else _canonical(X)
    X = np.asarray(X)
    if X.ndim != 2:
        raise VotronError(
            f"A kernel takes matrices with one example a row. Got an array of {X.ndim} dimension(s) instead."
        )
    return X


def _canonical(X: Any) -> Any:
    X = X.copy()
    X.sum_duplicates()
    return X


class Kernel(ABC):
    """What a kernel is: dot products in, kernel values out.

    Kernels are immutable, compare by value, and are called on two matrices of rows, dense or CSR.

    Examples
    --------
    >>> import numpy as np
    >>> from votron.kernels import PolynomialKernel
    >>> kernel = PolynomialKernel(degree=2)
    >>> kernel(np.array([[1, 0], [2, 1]]), np.array([[3, 1]]))
    array([[16.],
           [64.]])
    >>> kernel.diag(np.array([[1, 0], [2, 1]]))
    array([ 4., 36.])
    """

    needs_distance: ClassVar[bool] = False
    reads_features: ClassVar[bool] = True

    def __call__(self, X: Any, Y: Any = None) -> Floats:
        """Return the kernel values of each row of X with each row of Y (X itself by default)."""
        X = _as_rows(X)
        Y = X if Y is None else _as_rows(Y)
        self.check(X)
        self.check(Y)
        if X.shape[1] != Y.shape[1]:
            raise VotronError(
                f"Kernel values need rows of the same length. Got {X.shape[1]} and {Y.shape[1]} features."
            )
        products = self.products_for(X, Y)
        store, slots = products.pack(X, np.arange(X.shape[0])), np.arange(X.shape[0])
        mine, theirs = self.terms(products.squares(X)), self.terms(products.squares(Y))
        out = np.empty((X.shape[0], Y.shape[0]))
        for part in chunks(Y.shape[0], 512):
            block = products.block(Y, np.arange(part.start, part.stop))
            block.prepare(0, block.width)
            dots = np.zeros((len(slots), block.width), dtype=products.dtype)
            products.dots(store, slots, block, 0, block.width, dots)
            own = np.zeros((len(theirs), block.width))
            own[:, : block.n_rows] = theirs[:, part]
            values = np.empty((len(slots), block.width))
            self.from_dots(dots, slots, 0, block.width, mine, own, values)
            out[:, part] = values[:, : block.n_rows]
        return out

    def diag(self, X: Any) -> Floats:
        """Return K(x, x) for each row of X."""
        X = _as_rows(X)
        self.check(X)
        return self.diagonal(self.products_for(X).squares(X))

    def products_for(self, *matrices: Rows) -> Products:
        """Return the arithmetic that makes this kernel's dot products between these matrices."""
        return self.products(functools.reduce(Traits.joined, map(self.traits, matrices)))

    def traits(self, X: Rows) -> Traits:
        """Return what of X decides the arithmetic (nothing, for a kernel that is given as numbers)."""
        return (
            describe(X)
            if self.reads_features
            else Traits(False, 0.0, 0.0, 1.0, False, np.dtype(np.float64), X.shape[1])
        )

    def products(self, traits: Traits) -> Products:
        """Return the arithmetic that makes this kernel's dot products on such data."""
        return choose_products(traits, needs_distance=self.needs_distance)

    def check(self, X: Rows) -> None:
        """Raise where these data are not for this kernel."""
        return None

    def terms(self, squares: Floats) -> Floats:
        """Return what the kernel must know of each row beside dot products, from x·x: one row of numbers a term."""
        return np.empty((0, len(squares)))

    @abstractmethod
    def diagonal(self, squares: Floats) -> Floats:
        """Return K(x, x) from x·x."""

    @abstractmethod
    def from_dots(
        self, dots: NDArray[Any], source: Index, low: int, high: int, terms: Floats, own: Floats, out: Floats
    ) -> None:
        """Fill ``out[k, low:high]`` from ``dots[source[k], low:high]``.

        ``terms`` has a column for each k, ``own`` one for each row of the block.
        """

    def bound(self, largest_square: float) -> float:
        """Return what no |K(x, z)| exceeds while x·x, z·z ≤ ``largest_square`` (inf: beyond float64)."""
        with np.errstate(over="ignore"):
            return float(self.diagonal(np.array([largest_square]))[0])

    def of(self, inner: Kernel) -> ComposedKernel:
        """Return this kernel over the feature space of another: x·z becomes ``inner``'s K(x, z)."""
        return ComposedKernel(self, inner)

    def feature_map(self, n_features: int) -> FeatureMap:
        """Return Φ with Φ(x)·Φ(z) = K(x, z), where it is finite and in reach."""
        raise VotronError(f"{self!r} has no explicit feature map of finite size.")


@dataclass(frozen=True)
class LinearKernel(Kernel):
    """K(x, z) = x·z.

    Examples
    --------
    >>> LinearKernel()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def diagonal(self, squares: Floats) -> Floats:
        """Return x·x."""
        return np.array(squares, dtype=np.float64)

    def from_dots(
        self, dots: NDArray[Any], source: Index, low: int, high: int, terms: Floats, own: Floats, out: Floats
    ) -> None:
        """Copy."""
        _loops.kernel_linear(dots, source, low, high, out)

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
        if isinstance(degree, bool) or not isinstance(degree, Integral) or degree < 1:
            raise VotronError(
                "The 'degree' parameter of PolynomialKernel must be an int in the range [1, inf). "
                f"Got {self.degree!r} instead."
            )
        object.__setattr__(self, "degree", int(degree))

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
        return np.where(dots <= self.LARGEST, np.exp2(np.minimum(dots, self.LARGEST)), np.inf)

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


@dataclass(frozen=True)
class NormalizedKernel(Kernel):
    """K(x, z) / √(K(x, x) K(z, z)): every example has length 1 in feature space.

    Examples
    --------
    >>> NormalizedKernel(LinearKernel())([[3.0, 4.0]], [[4.0, 3.0]])
    array([[0.96]])
    """

    base: Kernel

    @property
    def needs_distance(self) -> bool:  # type: ignore[override]
        """Tell whether the kernel inside subtracts dot products."""
        return self.base.needs_distance

    @property
    def reads_features(self) -> bool:  # type: ignore[override]
        """Tell whether the kernel inside works on features."""
        return self.base.reads_features

    def products(self, traits: Traits) -> Products:
        """Return the arithmetic of the kernel inside."""
        return self.base.products(traits)

    def check(self, X: Rows) -> None:
        """Ask the kernel inside."""
        self.base.check(X)

    def terms(self, squares: Floats) -> Floats:
        """Return the terms of the kernel inside, and √K(x, x)."""
        diagonal = self.base.diagonal(squares)
        if (diagonal < 0).any():
            raise _negative_diagonal(self.base, diagonal)
        return np.vstack([self.base.terms(squares), np.sqrt(diagonal)[None, :]])

    def diagonal(self, squares: Floats) -> Floats:
        """Return ones, and 0 where the kernel inside has 0."""
        diagonal = self.base.diagonal(squares)
        if (diagonal < 0).any():
            raise _negative_diagonal(self.base, diagonal)
        if not np.isfinite(diagonal).all():
            raise NotRepresentableError(
                f"{self!r} cannot be represented: {self.base!r} exceeds the largest float64 on these data."
            )
        return np.asarray(np.where(diagonal > 0, 1.0, 0.0))

    def from_dots(
        self, dots: NDArray[Any], source: Index, low: int, high: int, terms: Floats, own: Floats, out: Floats
    ) -> None:
        """Let the kernel inside work, then divide."""
        self.base.from_dots(dots, source, low, high, terms[:-1], own[:-1], out)
        _loops.kernel_normalize(low, high, np.ascontiguousarray(terms[-1]), own[-1], out)

    def feature_map(self, n_features: int) -> FeatureMap:
        """Return the map of the kernel inside, its images scaled to length 1."""
        inside = self.base.feature_map(n_features)
        return FeatureMap(inside.n_features, inside.monomials, inside.scales, unit_length=True)


@dataclass(frozen=True)
class ComposedKernel(Kernel):
    """One kernel over the feature space of another.

    ``PolynomialKernel(4).of(NormalizedKernel(LinearKernel()))`` is the polynomial kernel on rows scaled to length 1,
    without scaling them: integers stay integers, and their products exact.

    Examples
    --------
    >>> kernel = PolynomialKernel(2).of(NormalizedKernel(LinearKernel()))
    >>> kernel([[3, 4]], [[30, 40], [4, 3]])
    array([[4.    , 3.8416]])
    """

    outer: Kernel
    inner: Kernel

    def __post_init__(self) -> None:
        """Refuse what is no function of a dot product."""
        if not self.outer.reads_features or isinstance(self.outer, ConjunctionKernel):
            raise VotronError(
                f"{self.outer!r} cannot stand over another kernel: it is no function of real dot products."
            )

    @property
    def needs_distance(self) -> bool:  # type: ignore[override]
        """Tell whether either kernel subtracts dot products."""
        return self.inner.needs_distance or self.outer.needs_distance

    @property
    def reads_features(self) -> bool:  # type: ignore[override]
        """Tell whether the kernel inside works on features."""
        return self.inner.reads_features

    def products(self, traits: Traits) -> Products:
        """Return the arithmetic of the kernel inside."""
        return choose_products(traits, needs_distance=True) if self.needs_distance else self.inner.products(traits)

    def check(self, X: Rows) -> None:
        """Ask the kernel inside."""
        self.inner.check(X)

    def terms(self, squares: Floats) -> Floats:
        """Return the terms of both."""
        return np.vstack([self.inner.terms(squares), self.outer.terms(self.inner.diagonal(squares))])

    def diagonal(self, squares: Floats) -> Floats:
        """Return the outer kernel's diagonal at the inner one's."""
        return self.outer.diagonal(self.inner.diagonal(squares))

    def bound(self, largest_square: float) -> float:
        """Return the outer bound at the inner bound."""
        return self.outer.bound(self.inner.bound(largest_square))

    def from_dots(
        self, dots: NDArray[Any], source: Index, low: int, high: int, terms: Floats, own: Floats, out: Floats
    ) -> None:
        """Let the kernel inside work, then the one outside on its values, in place."""
        n = len(terms) - len(self.outer.terms(np.ones(1)))
        self.inner.from_dots(dots, source, low, high, terms[:n], own[:n], out)
        self.outer.from_dots(out, np.arange(len(source)), low, high, terms[n:], own[n:], out)


def _negative_diagonal(kernel: Kernel, diagonal: Floats) -> IndefiniteKernelError:
    i = int(np.argmin(diagonal))
    return IndefiniteKernelError(
        f"{kernel!r} is not positive semi-definite on these data: K(x, x) must not be negative. "
        f"Got {diagonal[i]:g} for row {i} instead."
    )


@dataclass(frozen=True)
class PrecomputedKernel(Kernel):
    """The data are the kernel values: row i holds K(x_i, z) for every training example z.

    Examples
    --------
    >>> PrecomputedKernel().diag([[2.0, 1.0], [1.0, 3.0]])
    array([2., 3.])
    """

    reads_features: ClassVar[bool] = False

    def __call__(self, X: Any, Y: Any = None) -> Floats:
        """Return the values as they are."""
        return np.asarray(_as_rows(X), dtype=np.float64)

    def products(self, traits: Traits) -> Products:
        """Return look-ups."""
        return GramProducts()

    def diagonal(self, squares: Floats) -> Floats:
        """Return the diagonal itself."""
        return np.array(squares, dtype=np.float64)

    def from_dots(
        self, dots: NDArray[Any], source: Index, low: int, high: int, terms: Floats, own: Floats, out: Floats
    ) -> None:
        """Copy."""
        _loops.kernel_linear(dots, source, low, high, out)


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """Any function ``f(A, B)`` that returns the matrix of kernel values of the rows of A and of B.

    The rows come to it as float32 or float64, dense or CSR.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = CallableKernel(lambda A, B: np.minimum(A[:, None, :], B[None, :, :]).sum(axis=2))
    >>> kernel(np.array([[1.0, 5.0]]), np.array([[2.0, 3.0]]))
    array([[4.]])
    """

    function: Callable[[Rows, Rows], Any]
    reads_features: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"CallableKernel({getattr(self.function, '__name__', type(self.function).__name__)})"

    def products(self, traits: Traits) -> Products:
        """Return calls of the function."""
        return CallableProducts(self.function, getattr(self.function, "__name__", type(self.function).__name__))

    def diagonal(self, squares: Floats) -> Floats:
        """Return the function's own values."""
        return np.array(squares, dtype=np.float64)

    def from_dots(
        self, dots: NDArray[Any], source: Index, low: int, high: int, terms: Floats, own: Floats, out: Floats
    ) -> None:
        """Copy."""
        _loops.kernel_linear(dots, source, low, high, out)


KERNELS: dict[str, type[Kernel]] = {
    "linear": LinearKernel,
    "poly": PolynomialKernel,
    "rbf": GaussianKernel,
    "conjunction": ConjunctionKernel,
    "precomputed": PrecomputedKernel,
}
"""The kernels that have a name."""


def make_kernel(
    kernel: str | Kernel | Callable[[Rows, Rows], Any],
    *,
    degree: int = 3,
    gamma: float = 1.0,
    coef0: float = 1.0,
    normalize: bool = False,
) -> Kernel:
    """Return the kernel of this name (or this kernel, or one around this function), normalised on request.

    Examples
    --------
    >>> make_kernel("poly", degree=2, normalize=True)
    NormalizedKernel(base=PolynomialKernel(degree=2, gamma=1.0, coef0=1.0))
    """
    made: Kernel
    if isinstance(kernel, Kernel):
        made = kernel
    elif isinstance(kernel, str):
        if kernel not in KERNELS:
            raise VotronError(
                f"The 'kernel' must be one of {', '.join(map(repr, KERNELS))}, a Kernel or a function. "
                f"Got {kernel!r} instead."
            )
        if kernel == "poly":
            made = PolynomialKernel(degree, gamma, coef0)
        elif kernel == "rbf":
            made = GaussianKernel(gamma)
        else:
            made = KERNELS[kernel]()
    else:
        made = CallableKernel(kernel)
    return NormalizedKernel(made) if normalize else made


@dataclass(frozen=True)
class FeatureMap:
    """An explicit feature map Φ: one scaled monomial a coordinate, so that Φ(x)·Φ(z) is the kernel.

    Parameters
    ----------
    n_features : int
        Number of input variables.
    monomials : tuple of tuples of int
        The variables of each monomial, with repetition; () is the constant.
    scales : tuple of float
        Its constant.
    unit_length : bool
        Whether images are divided by their length.

    Examples
    --------
    >>> phi = PolynomialKernel(degree=2).feature_map(2)
    >>> phi.names
    ['1', 'x1', 'x2', 'x1 x1', 'x1 x2', 'x2 x2']
    >>> phi([[1.0, 3.0]]).round(3)
    array([[1.   , 1.414, 4.243, 1.   , 4.243, 9.   ]])
    """

    LIMIT: ClassVar[int] = 2_000_000
    n_features: int
    monomials: tuple[tuple[int, ...], ...]
    scales: tuple[float, ...]
    unit_length: bool = False

    def __repr__(self) -> str:
        return f"FeatureMap({self.n_features} variables to {len(self.monomials)} coordinates)"

    @property
    def names(self) -> list[str]:
        """Return the monomials in words."""
        return [" ".join(f"x{i + 1}" for i in chosen) or "1" for chosen in self.monomials]

    def __call__(self, X: Any) -> Floats:
        """Return Φ of each row."""
        X = _as_rows(X)
        X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        if X.shape[1] != self.n_features:
            raise VotronError(f"This feature map is for {self.n_features} variables. Got rows of {X.shape[1]} instead.")
        out = np.empty((X.shape[0], len(self.monomials)))
        for k, (chosen, scale) in enumerate(zip(self.monomials, self.scales, strict=True)):
            column = np.full(X.shape[0], scale)
            for i in chosen:
                column *= X[:, i]
            out[:, k] = column
        if self.unit_length:
            lengths = np.sqrt(squares(out))
            out /= np.where(lengths > 0, lengths, 1.0)[:, None]
        return out


@dataclass(frozen=True)
class MercerCheck:
    """Whether a Gram matrix is positive semi-definite; true or false where a truth value is wanted.

    Attributes
    ----------
    positive : bool
        The answer.
    eigenvalue : float
        The smallest eigenvalue: the offending one when the answer is no.
    tolerance : float
        How far below 0 counts as rounding.
    """

    positive: bool
    eigenvalue: float
    tolerance: float

    def __bool__(self) -> bool:
        return self.positive


def is_mercer(K: ArrayLike, tolerance: float | None = None) -> MercerCheck:
    """Tell whether a Gram matrix is symmetric positive semi-definite, and its smallest eigenvalue.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Kernel values of n examples with each other. The check takes time n³.
    tolerance : float, optional
        Eigenvalues above minus this count as 0. Default: n times the rounding unit times the largest eigenvalue.

    Examples
    --------
    >>> bool(is_mercer([[2.0, 1.0], [1.0, 2.0]]))
    True
    >>> is_mercer([[0.0, 1.0], [1.0, 0.0]]).eigenvalue
    -1.0
    """
    matrix = np.asarray(K, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise VotronError(f"A Gram matrix is square. Got shape {matrix.shape} instead.")
    if matrix.size == 0 or not np.isfinite(matrix).all():
        raise VotronError("A Gram matrix must have at least one row, and finite values only.")
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-12 * np.abs(matrix).max()):
        raise VotronError("A Gram matrix is symmetric: K(x, z) = K(z, x). This one is not.")
    eigenvalues = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    if tolerance is None:
        tolerance = len(matrix) * float(np.finfo(float).eps) * float(np.abs(eigenvalues).max())
    return MercerCheck(bool(eigenvalues[0] >= -tolerance), float(eigenvalues[0]), float(tolerance))
