"""Parameters that name a kernel or a rule, and the kernel that they stand for on given data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from votron._util.arrays import chunks, rows_in_bytes
from votron._util.registry import Registry
from votron._util.types import Estimator, Index, Rows
from votron.cluster.rows import SpreadRows
from votron.errors import NotRepresentableError
from votron.estimators._validation import examples_of
from votron.kernels import KERNELS, Kernel, make_kernel
from votron.kernels.base import is_precomputed, kernel_class, negative_diagonal
from votron.kernels.precomputed import check_gram
from votron.products import describe


class NameIn(StrOptions):
    """The constraint that a text be a name in a registry, or of something that another package brings to it.

    ``also`` are words that leave the choice to the model,
    ``for_rows`` tells whether a thing can predict rows to come.
    """

    def __init__(
        self,
        registry: Registry[Any],
        for_rows: Callable[[Any], bool] = lambda thing: True,
        also: tuple[str, ...] = (),
    ) -> None:
        self.registry, self._for_rows, self.also = registry, for_rows, also
        super().__init__(set())

    @property
    def options(self) -> set[str]:
        """The names that are known now."""
        return {*self.registry, *self.also}

    @options.setter
    def options(self, names: set[str]) -> None:
        """Names are registered elsewhere."""

    @property
    def options_for_rows(self) -> set[str]:
        """Those of things that can predict rows to come."""
        return {name for name, thing in self.registry.items() if self._for_rows(thing)} | set(self.also)

    def is_satisfied_by(self, val: Any) -> bool:
        """Tell whether it is such a name."""
        return isinstance(val, str) and (val in self.also or val in self.registry or self.registry.load(val))

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, [*self.registry, *self.also]))}}}"


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


def gamma_from(model: Estimator) -> str | None:
    """Return the rule by which a model computed gamma from the data, if it did."""
    return model.gamma if reads_gamma(getattr(model, "kernel", None)) and isinstance(model.gamma, str) else None


def kernel_on(model: Estimator, X: Rows | SpreadRows) -> Kernel:
    """Return the kernel that the model's parameters stand for on these data."""
    if is_precomputed(model.kernel):
        check_gram(examples_of(X))
    gamma = model.gamma
    if isinstance(gamma, str):
        gamma = resolved_gamma(gamma, X) if reads_gamma(model.kernel) else 1.0
    kernel = make_kernel(
        model.kernel,
        degree=int(model.degree),
        gamma=float(gamma),
        coef0=float(model.coef0),
        normalize=bool(model.normalize_kernel),
    )
    kernel.check(examples_of(X))
    return kernel


def resolved_gamma(gamma: str, rows: Rows | SpreadRows) -> float:
    """Return the number that "scale" or "auto" stands for, as in scikit-learn's SVC."""
    n_features = int(rows.shape[1])
    if gamma == "auto":
        return 1.0 / n_features
    n, integer = rows.shape[0] * n_features, describe(examples_of(rows)).integer
    if isinstance(rows, SpreadRows):
        n_stored, sums = rows.n_stored, rows.sums
    else:
        values = rows.data if sp.issparse(rows) else rows
        n_stored, sums = values.size, partial(_sums, values)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.sum(sums(None)) / n
        centre = np.rint(mean) if integer else mean  # sums of integers are exact, dense or sparse
        variance = (np.sum(sums(centre)) + (n - n_stored) * centre**2) / n - (mean - centre) ** 2
    if not np.isfinite(variance):
        raise NotRepresentableError(
            "The variance of X, which gamma='scale' divides by, exceeds the largest float64: scale the data down."
        )
    return float(1.0 / (n_features * variance)) if variance > 0 else 1.0


def _sums(values: Any, centre: float | None) -> list[Any]:
    """Return the sums of parts of the values, or of their squared distances from a centre."""
    parts = chunks(len(values), rows_in_bytes(values))
    if centre is None:
        return [values[part].sum(dtype=np.float64) for part in parts]
    return [np.square(values[part].astype(np.float64) - centre).sum() for part in parts]


def learnable_rows(rows: Rows | SpreadRows, kernel: Kernel) -> Index:
    """Return the numbers of the rows with K(x, x) > 0."""
    diagonal = (
        kernel.finite(kernel.diagonal(rows.squares(kernel))) if isinstance(rows, SpreadRows) else kernel.diag(rows)
    )
    if (diagonal < 0).any():
        raise negative_diagonal(kernel, diagonal)
    return np.flatnonzero(diagonal != 0)


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
