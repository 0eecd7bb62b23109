"""The former home of some kernels, for files that name it; they are in `votron.kernels`."""

from votron._moved import moved

__getattr__ = moved(__name__, "votron.kernels", "NormalizedKernel", "ComposedKernel")
