"""The linear kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from votron.kernels.base import Term, ValueKernel


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
