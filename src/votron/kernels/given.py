"""Kernels that are given as numbers: a matrix, or a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from votron.kernels.base import ValueKernel, as_rows
from votron.products import CallableProducts, Floats, GramProducts, Products, Rows, Traits


@dataclass(frozen=True)
class PrecomputedKernel(ValueKernel):
    """The data are the kernel values: row i holds K(x_i, z) for every training example z.

    Examples
    --------
    >>> PrecomputedKernel().diag([[2.0, 1.0], [1.0, 3.0]])
    array([2., 3.])
    """

    reads_features: ClassVar[bool] = False

    def __call__(self, X: Any, Y: Any = None) -> Floats:
        """Return the values as they are."""
        return np.asarray(as_rows(X), dtype=np.float64)

    def products(self, traits: Traits) -> Products:
        """Return look-ups."""
        return GramProducts()


@dataclass(frozen=True)
class CallableKernel(ValueKernel):
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
