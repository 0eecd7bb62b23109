"""Kernels by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from votron.errors import VotronError
from votron.kernels.base import Kernel
from votron.kernels.given import CallableKernel, PrecomputedKernel
from votron.kernels.standard import ConjunctionKernel, GaussianKernel, LinearKernel, PolynomialKernel
from votron.kernels.wrapping import NormalizedKernel
from votron.products import Rows

KERNELS: dict[str, type[Kernel]] = {
    "linear": LinearKernel,
    "poly": PolynomialKernel,
    "rbf": GaussianKernel,
    "conjunction": ConjunctionKernel,
    "precomputed": PrecomputedKernel,
}
"""The kernels that have a name."""


def make_kernel(
    kernel: str | Kernel | Callable[[Rows, Rows], Any],
    *,
    degree: int = 3,
    gamma: float = 1.0,
    coef0: float = 1.0,
    normalize: bool = False,
) -> Kernel:
    """Return the kernel of this name (or this kernel, or one around this function), normalised on request.

    Examples
    --------
    >>> make_kernel("poly", degree=2, normalize=True)
    NormalizedKernel(base=PolynomialKernel(degree=2, gamma=1.0, coef0=1.0))
    """
    made: Kernel
    if isinstance(kernel, Kernel):
        made = kernel
    elif isinstance(kernel, str):
        if kernel not in KERNELS:
            raise VotronError(
                f"The 'kernel' must be one of {', '.join(map(repr, KERNELS))}, a Kernel or a function. "
                f"Got {kernel!r} instead."
            )
        if kernel == "poly":
            made = PolynomialKernel(degree, gamma, coef0)
        elif kernel == "rbf":
            made = GaussianKernel(gamma)
        else:
            made = KERNELS[kernel]()
    else:
        made = CallableKernel(kernel)
    return NormalizedKernel(made) if normalize else made
