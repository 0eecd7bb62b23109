"""The weight vector v = Σ c_j x_j, or a target u, in three forms: array, weights by name, sum in feature space."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp

from votron._util.resources import Growing
from votron._util.types import Floats, Label
from votron.errors import VotronError
from votron.kernels import Kernel
from votron.kernels.base import negative_diagonal
from votron.online._reading import OWNER, Example, Row, as_dense, has_names, read_named, read_row


class WeightVector(Protocol):
    """The methods of all forms."""

    def zero(self) -> Self:
        """Return the zero vector in the same form."""

    def read(self, x: Example) -> Any:
        """Return an example in this form, or refuse it."""

    def dot(self, x: Example) -> float:
        """Return v·x; not finite where it exceeds float64."""

    def square(self, x: Example) -> float:
        """Return x·x."""

    def add(self, coefficient: float, x: Example) -> None:
        """Add an example to v."""

    def shown(self, scale: float) -> Any:
        """Return scale · v for users, read-only or a copy."""


class DenseWeights:
    """A vector; examples are arrays or rows of a sparse matrix, of the same length."""

    def __init__(self, n_features: int) -> None:
        self._v = np.zeros(n_features)

    def __str__(self) -> str:
        return f"vectors of {len(self._v)} features"

    def zero(self) -> Self:
        return type(self)(len(self._v))

    def read(self, x: Example) -> Row:
        refuse_names(x, str(self))
        return read_row(x, len(self._v))

    def dot(self, x: Row) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self._v[x.indices] @ x.data if sp.issparse(x) else self._v @ x)

    def square(self, x: Row) -> float:
        values = x.data if sp.issparse(x) else x
        with np.errstate(over="ignore"):
            return float(values @ values)

    def add(self, coefficient: float, x: Row) -> None:
        if sp.issparse(x):
            self._v[x.indices] += coefficient * x.data
        else:
            self._v += coefficient * x

    def shown(self, scale: float) -> Floats:
        v = scale * self._v
        v.flags.writeable = False
        return v


class NamedWeights:
    """Weights by name; sums are correctly rounded, so the order of names does not matter."""

    def __init__(self) -> None:
        self._v: dict[Label, float] = {}

    def __str__(self) -> str:
        return "named features"

    def zero(self) -> Self:
        return type(self)()

    def read(self, x: Example) -> dict[Label, float]:
        if not has_names(x):
            raise VotronError(
                f"The examples of this {OWNER} have named features, so each must be a mapping of names to numbers. "
                f"Got an object of type {type(x).__name__} instead."
            )
        return read_named(x)

    def dot(self, x: dict[Label, float]) -> float:
        v = self._v
        return _sum(v[name] * value for name, value in x.items() if name in v)

    def square(self, x: dict[Label, float]) -> float:
        return _sum(value * value for value in x.values())

    def add(self, coefficient: float, x: dict[Label, float]) -> None:
        """Add an example to v; weights that become 0 are forgotten."""
        for name, value in x.items():
            weight = self._v.get(name, 0.0) + coefficient * value
            if weight:
                self._v[name] = weight
            else:
                self._v.pop(name, None)

    def shown(self, scale: float) -> dict[Label, float]:
        return {name: scale * weight for name, weight in self._v.items()}


class KernelWeights:
    """A sum of examples in a kernel's feature space; rows of a sparse matrix become arrays.

    Scores are left folds, one addition for each mistake, as in the dual engine: on integer data they are the same.
    """

    def __init__(self, kernel: Kernel, n_features: int) -> None:
        self.kernel, self.n_features = kernel, n_features
        self._coefficients, self._squares, self._rows = Growing(), Growing(), Growing(np.float64, n_features)

    def __str__(self) -> str:
        return f"vectors of {self.n_features} features"

    def zero(self) -> Self:
        return type(self)(self.kernel, self.n_features)

    def read(self, x: Example) -> Floats:
        refuse_names(x, str(self))
        row = as_dense(read_row(x, self.n_features))
        row.flags.writeable = False
        self.kernel.check(row[None])
        return row

    def dot(self, x: Floats) -> float:
        rows = self._rows.values
        if not len(rows):
            return 0.0
        if self.kernel.reads_features:
            with np.errstate(over="ignore", invalid="ignore"):
                dots, square = np.vecdot(rows, x)[None], np.array([x @ x])  # rows @ x would wake BLAS's threads
            values, terms = np.empty_like(dots), self.kernel.terms(self._squares.values)
            start = np.zeros(1, dtype=np.int64)
            self.kernel.from_dots(dots, start, 0, len(rows), self.kernel.terms(square), terms, values)
        else:
            values = self.kernel(rows, x[None]).T
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.add.accumulate(self._coefficients.values * values[0])[-1])

    def square(self, x: Floats) -> float:
        if self.kernel.reads_features:
            with np.errstate(over="ignore"):
                diagonal = self.kernel.diagonal(np.array([x @ x]))
        else:
            diagonal = self.kernel.diag(x[None])
        if diagonal[0] < 0:
            raise negative_diagonal(self.kernel, diagonal)
        return float(diagonal[0])

    def add(self, coefficient: float, x: Floats) -> None:
        self._squares.extend([x @ x])
        self._rows.extend(x[None])
        self._coefficients.extend([coefficient])

    def shown(self, scale: float) -> tuple[tuple[float, Floats], ...]:
        rows = self._rows.values.copy()
        rows.flags.writeable = False
        return tuple((scale * float(c), row) for c, row in zip(self._coefficients.values, rows, strict=True))


def weights_for(x: Example, kernel: Kernel | None) -> WeightVector:
    if has_names(x):
        if kernel is not None:
            refuse_names(x, "with a kernel vectors: use scikit-learn's DictVectorizer, or to_numpy() of a Series")
        return NamedWeights()
    n_features = read_row(x).shape[-1]
    return DenseWeights(n_features) if kernel is None else KernelWeights(kernel, n_features)


def refuse_names(x: Example, wanted: str) -> None:
    if has_names(x):
        raise VotronError(
            f"The examples of this {OWNER} are {wanted}. Got named features ({type(x).__name__}) instead."
        )


def _sum(products: Iterable[float]) -> float:
    try:
        return math.fsum(products)
    except (OverflowError, ValueError):  # beyond float64
        return math.nan
