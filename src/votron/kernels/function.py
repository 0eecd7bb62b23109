"""Kernels that are functions of two matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from votron._util.types import Rows
from votron.kernels.base import ValueKernel
from votron.products import CallableProducts, Products, Traits


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
    words: ClassVar[str] = "any Python function of two matrices"
    reads_features: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"CallableKernel({getattr(self.function, '__name__', type(self.function).__name__)})"

    def products(self, traits: Traits) -> Products:
        return CallableProducts(self.function, getattr(self.function, "__name__", type(self.function).__name__))
