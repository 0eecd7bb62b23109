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

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "conjunction", "precomputed"}, Kernel or callable
        A name; a kernel, which keeps its own parameters; or a function ``f(A, B)`` that returns the matrix of kernel
        values of the rows of A and of B. Parameters below that are not for the kernel are passed over.
    degree : int, default=3
        For "poly": the degree of (gamma x·z + coef0)^degree.
    gamma : float, default=1.0
        For "poly" the scale of x·z, for "rbf" that of the squared distance: exp(-gamma |x - z|²). A number, since there
        are no data here to derive it from, unlike the gamma="scale" that is the default of
        `VotedPerceptronClassifier`.
    coef0 : float, default=1.0
        For "poly": the constant; 0 leaves out the monomials of lower degree.
    normalize : bool, default=False
        For all kernels: divide K(x, z) by √(K(x, x) K(z, z)), so that all examples have length 1.

    Returns
    -------
    Kernel
        For ``kernel`` of an estimator or of `OnlinePerceptron`.

    Raises
    ------
    VotronError
        If there is no kernel of this name, or a parameter does not fit it.

    Examples
    --------
    >>> make_kernel("poly", degree=2, normalize=True)
    NormalizedKernel(base=PolynomialKernel(degree=2, gamma=1.0, coef0=1.0))
    >>> make_kernel("rbf")
    GaussianKernel(gamma=1.0)
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


def is_precomputed(kernel: Any) -> bool:
    """Tell whether data are kernel values, by a kernel's name or by the kernel itself."""
    while isinstance(kernel, NormalizedKernel):
        kernel = kernel.base
    return isinstance(kernel, PrecomputedKernel) or (isinstance(kernel, str) and kernel == "precomputed")
