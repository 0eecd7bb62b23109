"""Kernel parameters of classifiers: what they may be, the kernel that they stand for, and the data that it takes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from votron._arrays import chunks, rows_in_bytes
from votron._types import Index, Rows
from votron.errors import IndefiniteKernelError, NotRepresentableError, VotronError
from votron.estimators._validation import NameIn, validated
from votron.kernels import KERNELS, Kernel, make_kernel
from votron.kernels.base import is_precomputed, kernel_class, negative_diagonal
from votron.products import describe

SLACK = 1e-5
"""Relative error that a precomputed matrix may have, in symmetry and positivity: it may be of float32 numbers."""

KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [NameIn(KERNELS, for_rows=lambda cls: not cls.pairwise), Kernel, callable],
    "degree": [Interval(Integral, 1, 2**31 - 1, closed="both")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "normalize_kernel": ["boolean"],
}
"""Values that the parameters ``kernel``, ``degree``, ``gamma``, ``coef0`` and ``normalize_kernel`` may have."""


def reads_gamma(kernel: Any) -> bool:
    """Tell whether a model's ``gamma`` matters to what its parameter ``kernel`` stands for."""
    cls = kernel_class(kernel)
    return cls is not None and "gamma" in cls.parameters()


def kernel_of(model: BaseEstimator, rows: Rows) -> Kernel:
    """Return the kernel that a model's parameters stand for on these data."""
    gamma = model.gamma
    if isinstance(gamma, str):
        gamma = resolved_gamma(gamma, rows) if reads_gamma(model.kernel) else 1.0
    return make_kernel(
        model.kernel,
        degree=int(model.degree),
        gamma=float(gamma),
        coef0=float(model.coef0),
        normalize=bool(model.normalize_kernel),
    )


def validated_with_kernel(model: BaseEstimator, X: Any, y: Any, *, reset: bool) -> tuple[Rows, Any, Kernel]:
    """Return data and labels to train on, and the kernel, which takes these data."""
    X, y = validated(model, X, y, kernel=model.kernel, reset=reset)
    if is_precomputed(model.kernel):
        check_gram(X)
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


def resolved_gamma(gamma: str, rows: Rows) -> float:
    """Return the number that "scale" or "auto" stands for, as in scikit-learn's SVC."""
    n_features = int(rows.shape[1])
    if gamma == "auto":
        return 1.0 / n_features
    values, n = rows.data if sp.issparse(rows) else rows, rows.shape[0] * n_features
    with np.errstate(over="ignore", invalid="ignore"):
        parts = list(chunks(len(values), rows_in_bytes(values)))
        mean = np.sum([values[part].sum(dtype=np.float64) for part in parts]) / n
        centre = np.rint(mean) if describe(rows).integer else mean  # sums of integers are exact, dense or sparse
        squares = np.sum([np.square(values[part].astype(np.float64) - centre).sum() for part in parts])
        variance = (squares + (n - values.size) * centre**2) / n - (mean - centre) ** 2
    if not np.isfinite(variance):
        raise NotRepresentableError(
            "The variance of X, which gamma='scale' divides by, exceeds the largest float64: scale the data down."
        )
    return float(1.0 / (n_features * variance)) if variance > 0 else 1.0


def learnable_rows(rows: Rows, kernel: Kernel) -> Index:
    """Return the numbers of the rows with K(x, x) > 0."""
    diagonal = kernel.diag(rows)
    if (diagonal < 0).any():
        raise negative_diagonal(kernel, diagonal)
    return np.flatnonzero(diagonal != 0)


# -- precomputed kernels ----------------------------------------------------------------------------------------------


def check_gram(K: NDArray[Any]) -> None:
    """Refuse a matrix that is plainly no kernel's: not square or symmetric, a negative diagonal or 2×2 minor.

    Values may be rounded: as float32 numbers are, and whole numbers to the integer below.
    """
    if K.shape[0] != K.shape[1]:
        raise VotronError(
            "With kernel='precomputed' X must be a square matrix, the kernel values of the training examples with each "
            f"other. Got shape {K.shape} instead."
        )
    diagonal = np.diagonal(K).astype(np.float64)
    if (diagonal < 0).any():
        i = int(np.argmin(diagonal))
        raise IndefiniteKernelError(
            "Negative values in data: with kernel='precomputed' the diagonal of X must not be negative, "
            f"since K(x, x) is a squared length. Got {diagonal[i]:g} at row {i} instead."
        )
    for part in chunks(len(K), 512):
        rows = K[part].astype(np.float64)
        _check_symmetric(rows, K[:, part].T, part.start)
        _check_minors(rows, diagonal, part.start, whole=K.dtype.kind in "iub")


def _check_symmetric(rows: NDArray[np.float64], columns: NDArray[Any], start: int) -> None:
    gap = np.abs(rows - columns)
    if gap.max(initial=0.0) > SLACK * np.abs(rows).max(initial=0.0):
        i, j = map(int, np.unravel_index(int(np.argmax(gap)), gap.shape))
        raise VotronError(
            "With kernel='precomputed' X must be a symmetric matrix. "
            f"Got X[{start + i}, {j}] = {rows[i, j]:g} and X[{j}, {start + i}] = {columns[i, j]:g} instead."
        )


def _check_minors(rows: NDArray[np.float64], diagonal: NDArray[np.float64], start: int, *, whole: bool) -> None:
    mine = diagonal[start : start + len(rows)]
    with np.errstate(over="ignore"):  # the engine refuses such values, in words
        if whole:
            limit = np.multiply.outer(mine + 1, diagonal + 1) - 0.5  # the exact values were below this
        else:
            limit = np.multiply.outer(mine, diagonal) * (1 + SLACK) ** 2 + (1e-8 * diagonal.max()) ** 2
        bad = np.argwhere(rows**2 > limit)
    if len(bad):
        i, j = map(int, bad[0])
        raise IndefiniteKernelError(
            f"With kernel='precomputed' X must be positive semi-definite, so X[{start + i}, {j}]² must not exceed "
            f"X[{start + i}, {start + i}] X[{j}, {j}] = {mine[i]:g} · {diagonal[j]:g}. Got {rows[i, j]:g}² instead."
        )
