"""A kernel whose examples all have length 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from votron._util.types import Array, Floats, Index, Rows
from votron.errors import NotRepresentableError
from votron.kernels.base import Kernel, RowLoop, Step, Term, negative_diagonal
from votron.products import Products, Traits


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

    def formula(self, xz: Term, xx: Term, zz: Term) -> Term:
        scale = np.sqrt(self.base.formula(xx, xx, xx)) * np.sqrt(self.base.formula(zz, zz, zz))
        return np.where(scale > 0, self.base.formula(xz, xx, zz) / scale, 0.0)

    @property
    def innermost(self) -> Kernel:
        return self.base.innermost

    @property
    def pairwise(self) -> bool:  # type: ignore[override]
        """Tell whether the kernel inside is given as a matrix."""
        return self.base.pairwise

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

    def suited_to(self, X: Rows) -> NormalizedKernel:
        return NormalizedKernel(self.base.suited_to(X))

    def still_suited_to(self, X: Rows) -> NormalizedKernel:
        return NormalizedKernel(self.base.still_suited_to(X))

    def products(self, traits: Traits) -> Products:
        return self.base.products(traits)

    def check(self, X: Rows) -> None:
        self.base.check(X)

    def terms(self, squares: Floats) -> Floats:
        diagonal = self.base.diagonal(squares)
        if (diagonal < 0).any():
            raise negative_diagonal(self.base, diagonal)
        return np.vstack([self.base.terms(squares), np.sqrt(diagonal)[None, :]])

    def diagonal(self, squares: Floats) -> Floats:
        diagonal = self.base.diagonal(squares)
        if (diagonal < 0).any():
            raise negative_diagonal(self.base, diagonal)
        if not np.isfinite(diagonal).all():
            raise NotRepresentableError(
                f"{self!r} cannot be represented: {self.base!r} exceeds the largest float64 on these data."
            )
        return np.asarray(np.where(diagonal > 0, 1.0, 0.0))

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
