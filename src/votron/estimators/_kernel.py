"""What classifiers with a kernel share: its parameters, and the kernel that they stand for."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from votron.estimators import _inputs
from votron.kernels import KERNELS, Kernel, make_kernel
from votron.products import Rows

KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(KERNELS)), Kernel, callable],
    "degree": [Interval(Integral, 1, 2**31 - 1, closed="both")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "normalize_kernel": ["boolean"],
}
"""What the parameters ``kernel``, ``degree``, ``gamma``, ``coef0`` and ``normalize_kernel`` may be."""


def kernel_of(model: BaseEstimator, rows: Rows) -> Kernel:
    """Return the kernel that a model's parameters stand for on these data."""
    gamma = model.gamma
    if isinstance(gamma, str):
        needed = isinstance(model.kernel, str) and model.kernel in ("poly", "rbf")
        gamma = _inputs.resolved_gamma(gamma, rows) if needed else 1.0
    return make_kernel(
        model.kernel,
        degree=int(model.degree),
        gamma=float(gamma),
        coef0=float(model.coef0),
        normalize=bool(model.normalize_kernel),
    )
