"""The weight vector v = Σ c_j x_j in its three forms: an array, weights by name, a sum in a kernel's feature space.

A form knows how to read an example, its product with v, its own squared length, and how to be added to v. A target u
is kept in the same form.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from votron._util.arrays import Growing
from votron._util.types import Floats
from votron.errors import VotronError
from votron.kernels import Kernel
from votron.kernels.base import negative_diagonal
from votron.online._validation import OWNER, Row, as_dense, has_names, read_named, read_row
from votron.products import CallableProducts


class WeightVector(Protocol):
    """The methods of all forms. Only ``add`` changes anything."""

    def read(self, x: Any) -> Any:
        """Return an example as this form takes it, or refuse it."""

    def dot(self, x: Any) -> float:
        """Return v·x."""

    def square(self, x: Any) -> float:
        """Return x·x."""

    def add(self, coefficient: float, x: Any) -> None:
        """Add an example to v."""

    def shown(self, scale: float) -> Any:
        """Return scale · v as users see it."""

    def __str__(self) -> str: ...


class DenseWeights:
    """A vector; examples are arrays or rows of a sparse matrix, of the same length."""

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self._v = np.zeros(n_features)

    def __str__(self) -> str:
        return f"vectors of {self.n_features} features"

    def read(self, x: Any) -> Row:
        """Return an example as this form takes it, or refuse it."""
        refuse_names(x, str(self))
        return read_row(x, self.n_features)

    def dot(self, x: Row) -> float:
        """Return v·x."""
        with np.errstate(over="ignore", invalid="ignore"):  # refused by who asks, in words
            return float(self._v[x.indices] @ x.data if sp.issparse(x) else self._v @ x)

    def square(self, x: Row) -> float:
        """Return x·x."""
        values = x.data if sp.issparse(x) else x
        with np.errstate(over="ignore"):
            return float(values @ values)

    def add(self, coefficient: float, x: Row) -> None:
        """Add an example to v."""
        if sp.issparse(x):
            self._v[x.indices] += coefficient * x.data
        else:
            self._v += coefficient * x

    def shown(self, scale: float) -> Floats:
        """Return scale · v as an array that cannot be written to."""
        v = scale * self._v
        v.flags.writeable = False
        return v


class NamedWeights:
    """Weights by name; a name that has no weight has weight 0.

    Sums are correctly rounded, so the order in which an example names its features does not matter.
    """

    def __init__(self) -> None:
        self._v: dict[Any, float] = {}

    def __str__(self) -> str:
        return "named features"

    def read(self, x: Any) -> dict[Any, float]:
        """Return an example as this form takes it, or refuse it."""
        if not has_names(x):
            raise VotronError(
                f"The examples of this {OWNER} have named features, so each must be a mapping of names to numbers. "
                f"Got an object of type {type(x).__name__} instead."
            )
        return read_named(x)

    def dot(self, x: dict[Any, float]) -> float:
        """Return v·x."""
        v = self._v
        return _sum(v[name] * value for name, value in x.items() if name in v)

    def square(self, x: dict[Any, float]) -> float:
        """Return x·x."""
        return _sum(value * value for value in x.values())

    def add(self, coefficient: float, x: dict[Any, float]) -> None:
        """Add an example to v; weights that become 0 are forgotten."""
        for name, value in x.items():
            weight = self._v.get(name, 0.0) + coefficient * value
            if weight:
                self._v[name] = weight
            else:
                self._v.pop(name, None)

    def shown(self, scale: float) -> dict[Any, float]:
        """Return scale · v as a new dict."""
        return {name: scale * weight for name, weight in self._v.items()}


class KernelWeights:
    """A sum of examples in a kernel's feature space, with one product with the whole of it for each example.

    Scores are left folds, one addition for each mistake, as in the dual engine: on integer data they are the same.
    """

    def __init__(self, kernel: Kernel, n_features: int) -> None:
        self.kernel, self.n_features = kernel, n_features
        self._coefficients = Growing()
        self._terms = Growing(np.float64, kernel.n_terms)
        self._rows: _GrowingRows | _GrowingSparse | None = None
        self._pairs: list[tuple[float, Row]] = []

    def __str__(self) -> str:
        return f"vectors of {self.n_features} features"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_pairs": []}

    def read(self, x: Any) -> Row:
        """Return an example as this form takes it, or refuse it."""
        refuse_names(x, str(self))
        row = read_row(x, self.n_features)
        self.kernel.check(_matrix(row))
        return row

    def dot(self, x: Row) -> float:
        """Return v·Φ(x)."""
        values = self._values(x)
        with np.errstate(over="ignore", invalid="ignore"):  # refused by who asks, in words
            return float(np.add.accumulate(self._coefficients.values * values)[-1]) if len(values) else 0.0

    def square(self, x: Row) -> float:
        """Return K(x, x)."""
        diagonal = self.kernel.diagonal(self._squares(x))
        if diagonal[0] < 0:
            raise negative_diagonal(self.kernel, diagonal)
        return float(diagonal[0])

    def add(self, coefficient: float, x: Row) -> None:
        """Add an example to v."""
        terms = self.kernel.terms(self._squares(x))
        if self._rows is None:
            self._rows = (
                _GrowingSparse(self.n_features) if sp.issparse(x) else _GrowingRows(np.float64, self.n_features)
            )
        self._rows.append(x)
        self._terms.extend(terms.T)
        self._coefficients.extend([coefficient])

    def shown(self, scale: float) -> tuple[tuple[float, Row], ...]:
        """Return the pairs of a coefficient and an example, in the order of the mistakes."""
        coefficients, rows = self._coefficients.values, self._rows
        for i in range(len(self._pairs), len(coefficients)):
            assert rows is not None
            self._pairs.append((scale * float(coefficients[i]), rows.row(i)))
        return tuple(self._pairs)

    def _values(self, x: Row) -> Floats:
        """Return the kernel values of x with the examples in v."""
        if self._rows is None:
            return np.empty(0)
        x = self._rows.like_this(x)
        dots = self._dots(x)[None, :]
        mine, theirs = self.kernel.terms(self._squares(x)), np.ascontiguousarray(self._terms.values.T)
        out = np.empty_like(dots)
        self.kernel.from_dots(dots, np.zeros(1, dtype=np.int64), 0, dots.shape[1], mine, theirs, out)
        return np.asarray(out[0])

    def _dots(self, x: Row) -> Floats:
        assert self._rows is not None
        rows = self._rows.values
        if not self.kernel.reads_features:
            return np.ascontiguousarray(self._function.values(rows, _matrix(x))[:, 0])
        with np.errstate(over="ignore", invalid="ignore"):
            # Row by row: a product with the matrix would wake BLAS's threads, which lose more than they win here.
            return np.asarray(rows @ as_dense(x) if sp.issparse(rows) else np.vecdot(rows, x))

    def _squares(self, x: Row) -> Floats:
        if not self.kernel.reads_features:
            return self._function.squares(_matrix(x))
        with np.errstate(over="ignore"):
            return np.array([x.data @ x.data if sp.issparse(x) else x @ x])

    @property
    def _function(self) -> CallableProducts:
        """The products of a kernel that is given as a function."""
        products = self.kernel.products(self.kernel.traits(np.empty((1, self.n_features))))
        assert isinstance(products, CallableProducts)
        return products


class _GrowingRows(Growing):
    """A matrix that grows at its end."""

    def append(self, x: Row) -> None:
        self.extend(as_dense(x)[None])

    def row(self, i: int) -> Floats:
        """Return row i; it cannot be written to, and it will not change."""
        row: Floats = self._data[i]
        row.flags.writeable = False
        return row

    def like_this(self, x: Row) -> Row:
        """Return a row in the form of these."""
        return as_dense(x)


class _GrowingSparse:
    """A CSR matrix that grows at its end."""

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self._starts, self._indices, self._data = Growing(np.int32), Growing(np.int32), Growing()
        self._starts.extend([0])

    @property
    def values(self) -> Any:
        parts = self._data.values, self._indices.values, self._starts.values
        return sp.csr_matrix(parts, shape=(len(parts[2]) - 1, self.n_features))

    def append(self, x: Row) -> None:
        x = self.like_this(x)
        self._indices.extend(x.indices)
        self._data.extend(x.data)
        self._starts.extend([self._data.n])

    def row(self, i: int) -> Any:
        """Return row i."""
        return self.values[i]

    def like_this(self, x: Row) -> Row:
        """Return a row in the form of these."""
        return x if sp.issparse(x) else sp.csr_matrix(x[None, :])


def refuse_names(x: Any, wanted: str) -> None:
    """Refuse a mapping where vectors are expected."""
    if has_names(x):
        raise VotronError(
            f"The examples of this {OWNER} are {wanted}. Got named features ({type(x).__name__}) instead."
        )


def _matrix(row: Row) -> Any:
    return row if sp.issparse(row) else row[None, :]


def _sum(products: Iterable[float]) -> float:
    try:
        return math.fsum(products)
    except (OverflowError, ValueError):  # beyond float64; refused by who asks, in words
        return math.nan
