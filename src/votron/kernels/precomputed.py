"""The kernel whose values are the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from votron._types import Floats
from votron.kernels.base import ValueKernel, as_rows
from votron.products import GramProducts, Products, Traits


@dataclass(frozen=True)
class PrecomputedKernel(ValueKernel):
    """The data are the kernel values: row i holds K(x_i, z) for every training example z.

    Examples
    --------
    >>> PrecomputedKernel().diag([[2.0, 1.0], [1.0, 3.0]])
    array([2., 3.])
    """

    name: ClassVar[str] = "precomputed"
    words: ClassVar[str] = "a matrix of yours"
    reads_features: ClassVar[bool] = False
    pairwise: ClassVar[bool] = True

    def __call__(self, X: Any, Y: Any = None) -> Floats:
        """Return the values as they are."""
        return np.asarray(as_rows(X), dtype=np.float64)

    def products(self, traits: Traits) -> Products:
        """Return look-ups."""
        return GramProducts()
