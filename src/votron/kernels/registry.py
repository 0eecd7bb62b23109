"""Kernels by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from votron._registry import Registry
from votron._types import Rows
from votron.errors import VotronError
from votron.kernels.base import Kernel
from votron.kernels.composed import ComposedKernel
from votron.kernels.conjunction import ConjunctionKernel
from votron.kernels.function import CallableKernel
from votron.kernels.gaussian import GaussianKernel
from votron.kernels.linear import LinearKernel
from votron.kernels.normalized import NormalizedKernel
from votron.kernels.polynomial import PolynomialKernel
from votron.kernels.precomputed import PrecomputedKernel

MADE_OF_KERNELS: dict[str, type[Kernel]] = {cls.name: cls for cls in (NormalizedKernel, ComposedKernel)}
"""Kernels that need other kernels; model files name them as well."""
_PARAMETERS = (bool, int, float, str)
"""What a parameter of a kernel may be, so that a model file can hold it."""


def _admitted(cls: Any) -> tuple[str, type[Kernel]]:
    """Return a kernel's name and class, or refuse what is none that everything works with."""
    if not (dataclasses.is_dataclass(cls) and isinstance(cls, type) and issubclass(cls, Kernel) and cls.name):
        raise VotronError(f"A kernel to register must be a dataclass derived from Kernel, with a name. Got {cls!r}.")
    if cls.name in MADE_OF_KERNELS:
        raise VotronError(f"There is a kernel of the name {cls.name!r} already: {MADE_OF_KERNELS[cls.name]!r}.")
    for field in dataclasses.fields(cls):
        if type(field.default) not in _PARAMETERS:
            raise VotronError(
                "The parameters of a kernel to register must have defaults that are numbers, truth values or texts. "
                f"Got {field.name!r} of {cls.__name__} without one instead."
            )
    return cls.name, cls


KERNELS: Registry[type[Kernel]] = Registry("kernel", "votron.kernels", _admitted)
"""The kernels that can be asked for by name."""


def register_kernel(cls: type[Kernel]) -> type[Kernel]:
    """Make a kernel known by its name: to estimators, searches, model files and the command line.

    A package that brings kernels names them as entry points of the group ``votron.kernels``, by their names; then they
    are found without this call where users ask for them (but not where a model file does, which imports nothing).

    Parameters
    ----------
    cls : class
        A frozen dataclass derived from `Kernel`, with a ``name``.

    Returns
    -------
    class
        The same, so that this can stand above it as a decorator.

    Raises
    ------
    VotronError
        If it has no name, or another kernel has that name.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from votron.kernels import Kernel, register_kernel
    >>> @dataclass(frozen=True)
    ... class CauchyKernel(Kernel):
    ...     gamma: float = 1.0
    ...     name, words, needs_distance = "cauchy", "1 / (1 + gamma |x - z|²)", True
    ...     def formula(self, xz, xx, zz):
    ...         return 1.0 / (1.0 + self.gamma * (xx + zz - 2.0 * xz))
    >>> make_kernel(register_kernel(CauchyKernel).name, gamma=0.5)([[0.0, 0.0]], [[2.0, 0.0]])
    array([[0.33333333]])
    """
    return KERNELS.register(cls)


for _cls in (LinearKernel, PolynomialKernel, GaussianKernel, ConjunctionKernel, PrecomputedKernel):
    register_kernel(_cls)


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
        cls = KERNELS.find(kernel)
        if cls is None:
            raise VotronError(
                f"The 'kernel' must be one of {', '.join(map(repr, KERNELS))}, a Kernel or a function. "
                f"Got {kernel!r} instead."
            )
        given = {"degree": degree, "gamma": gamma, "coef0": coef0}
        made = cls(**{name: given[name] for name in cls.parameters() if name in given})
    else:
        made = CallableKernel(kernel)
    return NormalizedKernel(made) if normalize else made


def kernel_class(kernel: Any) -> type[Kernel] | None:
    """Return the class that an estimator's parameter ``kernel`` stands for; None if it is a kernel, or no kernel."""
    return KERNELS.find(kernel) if isinstance(kernel, str) else None


def is_precomputed(kernel: Any) -> bool:
    """Tell whether data are kernel values, by a kernel's name or by the kernel itself."""
    found = kernel_class(kernel) or kernel
    return bool(getattr(found, "pairwise", False))
