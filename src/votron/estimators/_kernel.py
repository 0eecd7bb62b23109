"""What classifiers with a kernel share: its parameters, and the kernel that they stand for."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from votron.errors import VotronError
from votron.estimators import _inputs
from votron.estimators._names import NameIn
from votron.kernels import KERNELS, Kernel, make_kernel
from votron.kernels.registry import is_precomputed, kernel_class
from votron.products import Floats, Rows

KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [NameIn(KERNELS, for_rows=lambda cls: not cls.pairwise), Kernel, callable],
    "degree": [Interval(Integral, 1, 2**31 - 1, closed="both")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "normalize_kernel": ["boolean"],
}
"""What the parameters ``kernel``, ``degree``, ``gamma``, ``coef0`` and ``normalize_kernel`` may be."""


def reads_gamma(kernel: Any) -> bool:
    """Tell whether a model's ``gamma`` matters to what its parameter ``kernel`` stands for."""
    cls = kernel_class(kernel)
    return cls is not None and "gamma" in cls.parameters()


def kernel_of(model: BaseEstimator, rows: Rows) -> Kernel:
    """Return the kernel that a model's parameters stand for on these data."""
    gamma = model.gamma
    if isinstance(gamma, str):
        gamma = _inputs.resolved_gamma(gamma, rows) if reads_gamma(model.kernel) else 1.0
    return make_kernel(
        model.kernel,
        degree=int(model.degree),
        gamma=float(gamma),
        coef0=float(model.coef0),
        normalize=bool(model.normalize_kernel),
    )


def checked(model: BaseEstimator, X: Any, y: Any, *, reset: bool) -> tuple[Rows, Any, Kernel]:
    """Return data and labels to train on, and the kernel, which takes these data."""
    X, y = _inputs.validated(model, X, y, kernel=model.kernel, reset=reset)
    if is_precomputed(model.kernel):
        _inputs.check_gram(X)
    kernel = kernel_of(model, X)
    kernel.check(X)
    model._gamma_from_data = reads_gamma(model.kernel) and model.gamma == "scale"
    return X, y, kernel


def set_tags(tags: Any, kernel: Any, *, poor_if_linear: bool) -> None:
    """Tell scikit-learn which data the kernel takes, and where its checks must not measure accuracy."""
    precomputed = is_precomputed(kernel)
    tags.input_tags.sparse = not precomputed
    tags.input_tags.pairwise = precomputed
    # A precomputed matrix may have negative values, but not on its diagonal. Without this tag an estimator has to
    # accept any; scikit-learn's nearest neighbours set it in the same way.
    tags.input_tags.positive_only = precomputed
    # Planes through the origin do not separate the blobs on which scikit-learn measures accuracy, and the kernel that
    # the checks precompute is linear as well.
    cls = kernel_class(kernel)
    linear = cls is not None and not precomputed and cls().affine() == (1.0, 0.0)
    tags.classifier_tags.poor_score = precomputed or (linear and poor_if_linear)


def lengths_of(kernel: Kernel, rows: Rows) -> tuple[Floats, Floats]:
    """Return ‖x‖ in feature space for each row, and what its scores lack as a factor.

    Scores by a normalised precomputed kernel lack 1 / √K(x, x): of rows to predict it is not known. Of the training
    examples' own matrix it is.
    """
    if not is_precomputed(kernel):
        return np.sqrt(kernel.diag(rows)), np.ones(rows.shape[0])
    if rows.shape[0] != rows.shape[1]:
        raise VotronError(
            "With kernel='precomputed' margins need the square matrix of the training examples, whose diagonal has "
            f"their lengths. Got shape {rows.shape} instead."
        )
    squares = np.diagonal(rows).astype(np.float64)
    lengths = np.sqrt(kernel.diagonal(squares))
    if not kernel.unit_length:
        return lengths, np.ones(len(lengths))
    return lengths, np.divide(1.0, np.sqrt(squares), out=np.zeros_like(squares), where=squares > 0)
