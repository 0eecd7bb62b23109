"""Kernels: K(x, z) = Φ(x)·Φ(z) without writing Φ down, and Φ itself where it is in reach.

A kernel here is a function of three numbers, x·z, x·x and z·z, so that blocks of kernel values are blocks of dot
products with something done to each: compiled, by `Kernel.steps`, or in numpy's terms, by ``formula``.

Boundary conventions: the squared distance inside a Gaussian kernel is never below 0; normalising divides by 0
nowhere, a row with K(x, x) = 0 has kernel value 0 with every row; values are float64, whatever the data are.
"""

from votron.kernels.base import KERNELS, MADE_OF_KERNELS, Kernel, RowLoop, Step, make_kernel, register_kernel
from votron.kernels.composed import ComposedKernel, NormalizedKernel
from votron.kernels.gaussian import GaussianKernel
from votron.kernels.polynomial import ConjunctionKernel, LinearKernel, PolynomialKernel
from votron.kernels.precomputed import CallableKernel, MercerCheck, PrecomputedKernel, is_mercer

__all__ = [
    "KERNELS",
    "CallableKernel",
    "ComposedKernel",
    "ConjunctionKernel",
    "GaussianKernel",
    "Kernel",
    "LinearKernel",
    "MercerCheck",
    "NormalizedKernel",
    "PolynomialKernel",
    "PrecomputedKernel",
    "RowLoop",
    "Step",
    "is_mercer",
    "make_kernel",
    "register_kernel",
]

MADE_OF_KERNELS.update({cls.name: cls for cls in (NormalizedKernel, ComposedKernel)})
for _kernel in (LinearKernel, PolynomialKernel, GaussianKernel, ConjunctionKernel, PrecomputedKernel):
    register_kernel(_kernel)
for _cls in (Kernel, CallableKernel, ComposedKernel, NormalizedKernel, *KERNELS.values()):
    _cls.__module__ = __name__  # where pickles and other files of theirs find them, whatever module they are written in
