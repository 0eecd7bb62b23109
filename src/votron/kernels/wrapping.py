"""Kernels made of kernels: normalised, and one over another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._loops import dual as _loops
from votron.errors import NotRepresentableError, VotronError
from votron.kernels.base import Kernel, negative_diagonal
from votron.kernels.features import FeatureMap
from votron.kernels.given import PrecomputedKernel
from votron.kernels.standard import ConjunctionKernel
from votron.products import Floats, Index, Products, Rows, Traits, choose_products


@dataclass(frozen=True)
class NormalizedKernel(Kernel):
    """K(x, z) / √(K(x, x) K(z, z)): every example has length 1 in feature space.

    Examples
    --------
    >>> from votron.kernels import LinearKernel
    >>> NormalizedKernel(LinearKernel())([[3.0, 4.0]], [[4.0, 3.0]])
    array([[0.96]])
    """

    base: Kernel

    @property
    def n_terms(self) -> int:  # type: ignore[override]
        """Count the terms: one more than the kernel inside has."""
        return self.base.n_terms + 1

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
            raise negative_diagonal(self.base, diagonal)
        return np.vstack([self.base.terms(squares), np.sqrt(diagonal)[None, :]])

    def diagonal(self, squares: Floats) -> Floats:
        """Return ones, and 0 where the kernel inside has 0."""
        diagonal = self.base.diagonal(squares)
        if (diagonal < 0).any():
            raise negative_diagonal(self.base, diagonal)
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
    >>> from votron.kernels import LinearKernel, PolynomialKernel
    >>> kernel = PolynomialKernel(2).of(NormalizedKernel(LinearKernel()))
    >>> kernel([[3, 4]], [[30, 40], [4, 3]])
    array([[4.    , 3.8416]])
    """

    outer: Kernel
    inner: Kernel

    def __post_init__(self) -> None:
        """Refuse what is no function of a dot product, and matrices, which do not tell K(x, x) of rows to predict."""
        outer, inner = _innermost(self.outer), _innermost(self.inner)
        if not outer.reads_features or isinstance(outer, ConjunctionKernel):
            raise VotronError(
                f"{self.outer!r} cannot stand over another kernel: it is no function of real dot products."
            )
        if isinstance(inner, PrecomputedKernel):
            raise VotronError(
                f"{self.outer!r} cannot stand over a precomputed kernel: compute the matrix of both together instead."
            )

    @property
    def n_terms(self) -> int:  # type: ignore[override]
        """Count the terms of both."""
        return self.inner.n_terms + self.outer.n_terms

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
        if self.needs_distance and self.reads_features:
            return choose_products(traits, needs_distance=True)
        return self.inner.products(traits)

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
        n = self.inner.n_terms
        self.inner.from_dots(dots, source, low, high, terms[:n], own[:n], out)
        self.outer.from_dots(out, np.arange(len(source)), low, high, terms[n:], own[n:], out)


def _innermost(kernel: Kernel) -> Kernel:
    """Return the kernel at the bottom of kernels made of kernels."""
    while isinstance(kernel, NormalizedKernel | ComposedKernel):
        kernel = kernel.base if isinstance(kernel, NormalizedKernel) else kernel.inner
    return kernel
