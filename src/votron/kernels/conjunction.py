"""The kernel of monotone conjunctions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from votron._util.types import Array, Floats, Rows
from votron.errors import NotRepresentableError, VotronError
from votron.kernels.base import Kernel, RowLoop, Step, Term
from votron.products import describe, squares


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
