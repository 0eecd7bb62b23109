"""Kernels made of other kernels: one scaled to length 1, and one over another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from votron._util.types import Array, Floats, Index, Rows
from votron.errors import NotRepresentableError, VotronError
from votron.kernels.base import Kernel, RowLoop, Step, Term, negative_diagonal
from votron.products import Products, Traits, choose_products


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
    name: ClassVar[str] = "normalized"
    words: ClassVar[str] = "K(x, z) / √(K(x, x) K(z, z))"
    unit_length: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("pairwise", "needs_distance", "reads_features"):
            object.__setattr__(self, name, getattr(self.base, name))
        object.__setattr__(self, "n_terms", self.base.n_terms + 1)

    def formula(self, xz: Term, xx: Term, zz: Term) -> Term:
        scale = np.sqrt(self.base.formula(xx, xx, xx)) * np.sqrt(self.base.formula(zz, zz, zz))
        return np.where(scale > 0, self.base.formula(xz, xx, zz) / scale, 0.0)

    @property
    def innermost(self) -> Kernel:
        return self.base.innermost

    def suited_to(self, X: Rows) -> NormalizedKernel:
        return NormalizedKernel(self.base.suited_to(X))

    def still_suited_to(self, X: Rows) -> NormalizedKernel:
        return NormalizedKernel(self.base.still_suited_to(X))

    def products(self, traits: Traits) -> Products:
        return self.base.products(traits)

    def check(self, X: Rows) -> None:
        self.base.check(X)

    def terms(self, squares: Floats) -> Floats:
        return np.vstack([self.base.terms(squares), np.sqrt(self._squared_lengths(squares))[None, :]])

    def diagonal(self, squares: Floats) -> Floats:
        diagonal = self._squared_lengths(squares)
        if not np.isfinite(diagonal).all():
            raise NotRepresentableError(
                f"{self!r} cannot be represented: {self.base!r} exceeds the largest float64 on these data."
            )
        return np.asarray(np.where(diagonal > 0, 1.0, 0.0))

    def _squared_lengths(self, squares: Floats) -> Floats:
        diagonal = self.base.diagonal(squares)
        if (diagonal < 0).any():
            raise negative_diagonal(self.base, diagonal)
        return diagonal

    def steps(self) -> tuple[Step, ...] | None:
        inside = self.base.steps()
        return None if inside is None else (*inside, Step(_divide, n_terms=1))

    def from_dots(
        self, dots: Array, source: Index, low: int, high: int, terms: Floats, own: Floats, out: Floats
    ) -> None:
        if self.steps() is not None:
            super().from_dots(dots, source, low, high, terms, own, out)
            return
        self.base.from_dots(dots, source, low, high, terms[:-1], own[:-1], out)
        scale = terms[-1][:, None] * own[-1][None, low:high]
        values = out[: len(source), low:high]
        with np.errstate(all="ignore"):
            values[...] = np.where(scale > 0, values / scale, 0.0)


@RowLoop
def _divide(row, n, parameters, theirs, own, stride, spare):
    """K / (|x| |z|), with lengths in feature space; 0 where a length is 0."""
    length = theirs[0]
    for r in range(n):
        scale = length * own[r]
        row[r] = row[r] / scale if scale > 0.0 else 0.0


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

    def __post_init__(self) -> None:
        outer = self.outer.innermost
        if not outer.reads_features or not outer.takes_reals:
            raise VotronError(
                f"{self.outer!r} cannot be composed with another kernel: it is not a function of real dot products."
            )
        if self.inner.pairwise:  # which does not tell K(x, x) of rows to predict
            raise VotronError(
                f"{self.outer!r} cannot be composed with a precomputed kernel: compute the matrix of both instead."
            )
        object.__setattr__(self, "n_terms", self.inner.n_terms + self.outer.n_terms)
        object.__setattr__(self, "needs_distance", self.inner.needs_distance or self.outer.needs_distance)
        object.__setattr__(self, "reads_features", self.inner.reads_features)

    def formula(self, xz: Term, xx: Term, zz: Term) -> Term:
        inner = self.inner.formula
        return self.outer.formula(inner(xz, xx, zz), inner(xx, xx, xx), inner(zz, zz, zz))

    @property
    def innermost(self) -> Kernel:
        return self.inner.innermost

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
