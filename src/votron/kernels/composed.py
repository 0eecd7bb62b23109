"""One kernel over another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from votron._util.types import Array, Floats, Index, Rows
from votron.errors import VotronError
from votron.kernels.base import Kernel, Step, Term
from votron.products import Products, Traits, choose_products


@dataclass(frozen=True)
class ComposedKernel(Kernel):
    """One kernel over the feature space of another.

    ``PolynomialKernel(4).of(NormalizedKernel(LinearKernel()))`` is the polynomial kernel on rows scaled to length 1,
    without scaling them: integers stay integers, and their products exact.

    Examples
    --------
    >>> from votron.kernels import LinearKernel, NormalizedKernel, PolynomialKernel
    >>> kernel = PolynomialKernel(2).of(NormalizedKernel(LinearKernel()))
    >>> kernel([[3, 4]], [[30, 40], [4, 3]])
    array([[4.    , 3.8416]])
    """

    outer: Kernel
    inner: Kernel
    name: ClassVar[str] = "composed"
    words: ClassVar[str] = "one kernel over the feature space of another"

    def formula(self, xz: Term, xx: Term, zz: Term) -> Term:
        inner = self.inner.formula
        return self.outer.formula(inner(xz, xx, zz), inner(xx, xx, xx), inner(zz, zz, zz))

    @property
    def innermost(self) -> Kernel:
        return self.inner.innermost

    def __post_init__(self) -> None:
        """Refuse what is no function of a dot product, and matrices, which do not tell K(x, x) of rows to predict."""
        outer = self.outer.innermost
        if not outer.reads_features or not outer.takes_reals:
            raise VotronError(
                f"{self.outer!r} cannot be composed with another kernel: it is not a function of real dot products."
            )
        if self.inner.pairwise:
            raise VotronError(
                f"{self.outer!r} cannot be composed with a precomputed kernel: compute the matrix of both instead."
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
        if self.outer.needs_distance and self.reads_features:
            return choose_products(traits, needs_distance=True)
        return self.inner.products(traits)

    def check(self, X: Rows) -> None:
        self.inner.check(X)

    def terms(self, squares: Floats) -> Floats:
        return np.vstack([self.inner.terms(squares), self.outer.terms(self.inner.diagonal(squares))])

    def diagonal(self, squares: Floats) -> Floats:
        return self.outer.diagonal(self.inner.diagonal(squares))

    def bound(self, largest_square: float) -> float:
        return self.outer.bound(self.inner.bound(largest_square))

    def steps(self) -> tuple[Step, ...] | None:
        inside, outside = self.inner.steps(), self.outer.steps()
        return None if inside is None or outside is None else inside + outside

    def from_dots(
        self, dots: Array, source: Index, low: int, high: int, terms: Floats, own: Floats, out: Floats
    ) -> None:
        if self.steps() is not None:
            super().from_dots(dots, source, low, high, terms, own, out)
            return
        n = self.inner.n_terms
        self.inner.from_dots(dots, source, low, high, terms[:n], own[:n], out)
        self.outer.from_dots(out, np.arange(len(source)), low, high, terms[n:], own[n:], out)
