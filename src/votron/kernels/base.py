"""What a kernel is."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._loops import dual as _loops
from votron.errors import IndefiniteKernelError, NotRepresentableError, VotronError
from votron.kernels.features import FeatureMap
from votron.products import Floats, Index, Products, Rows, Store, Traits, choose_products, chunks, describe

if TYPE_CHECKING:
    from votron.kernels.wrapping import ComposedKernel


def as_rows(X: Any) -> Rows:
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
    n_terms: ClassVar[int] = 0
    reads_features: ClassVar[bool] = True

    def __call__(self, X: Any, Y: Any = None) -> Floats:
        """Return the kernel values of each row of X with each row of Y (X itself by default)."""
        X = as_rows(X)
        Y = X if Y is None else as_rows(Y)
        self.check(X)
        self.check(Y)
        if X.shape[1] != Y.shape[1]:
            raise VotronError(
                f"Kernel values need rows of the same length. Got {X.shape[1]} and {Y.shape[1]} features."
            )
        products = self.products_for(X, Y)
        store = products.pack(X, np.arange(X.shape[0]))
        mine, theirs = self.terms(products.squares(X)), self.terms(products.squares(Y))
        out = np.empty((X.shape[0], Y.shape[0]))
        for part in chunks(Y.shape[0], 512):
            rows = np.arange(part.start, part.stop)
            out[:, part] = self.block_values(products, store, mine, Y, rows, theirs[:, part])
        return self._finite(out)

    def block_values(
        self, products: Products, store: Store, terms: Floats, X: Rows, rows: Index, own: Floats
    ) -> Floats:
        """Return the kernel values of all supports of a store with rows of X, given this kernel's terms of both."""
        slots = np.arange(store.n)
        block = products.block(X, rows)
        block.prepare(0, block.width)
        dots = np.zeros((store.n, block.width), dtype=products.dtype)
        products.dots(store, slots, block, 0, block.width, dots)
        padded_own = np.zeros((len(own), block.width))
        padded_own[:, : block.n_rows] = own
        out = np.empty((store.n, block.width))
        self.from_dots(dots, slots, 0, block.width, terms, padded_own, out)
        return out[:, : block.n_rows]

    def _finite(self, values: Floats) -> Floats:
        if not np.isfinite(values).all():
            raise NotRepresentableError(
                f"{self!r} exceeds the largest float64 on these data: lower the degree, "
                "or scale the data or gamma down."
            )
        return values

    def diag(self, X: Any) -> Floats:
        """Return K(x, x) for each row of X."""
        X = as_rows(X)
        self.check(X)
        return self._finite(self.diagonal(self.products_for(X).squares(X)))

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
        from votron.kernels.wrapping import ComposedKernel

        return ComposedKernel(self, inner)

    def feature_map(self, n_features: int) -> FeatureMap:
        """Return Φ with Φ(x)·Φ(z) = K(x, z), where it is finite and in reach."""
        raise VotronError(f"{self!r} has no explicit feature map of finite size.")


class ValueKernel(Kernel):
    """A kernel whose values are the products themselves, whatever makes the products."""

    def diagonal(self, squares: Floats) -> Floats:
        """Return each row's product with itself."""
        return np.array(squares, dtype=np.float64)

    def from_dots(
        self, dots: NDArray[Any], source: Index, low: int, high: int, terms: Floats, own: Floats, out: Floats
    ) -> None:
        """Copy."""
        _loops.kernel_linear(dots, source, low, high, out)


def negative_diagonal(kernel: Kernel, diagonal: Floats) -> IndefiniteKernelError:
    """Return the error for a kernel with K(x, x) < 0."""
    i = int(np.argmin(diagonal))
    return IndefiniteKernelError(
        f"{kernel!r} is not positive semi-definite on these data: K(x, x) must not be negative. "
        f"Got {diagonal[i]:g} for row {i} instead."
    )
