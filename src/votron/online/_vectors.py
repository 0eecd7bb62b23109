"""Examples as users give them, and sums of them: an array, weights by name, or a sum in a kernel's feature space."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from votron._util.frames import is_named_series
from votron._util.resources import Growing
from votron._util.text import on_one_line, shortened
from votron._util.types import Floats, Label
from votron.errors import VotronError
from votron.kernels import Kernel
from votron.kernels.base import negative_diagonal

Example: TypeAlias = Any
"""One example as users give it: a list, an array, a row of a sparse matrix, a mapping of names to numbers, a Series."""
Row: TypeAlias = Any
"""One example that was read: a read-only float64 array, or a CSR matrix of one row."""

# -- reading ----------------------------------------------------------------------------------------------------------


def has_names(x: Example) -> bool:
    """Tell whether features are named: a mapping, what quacks like one (river's VectorDict), or a row of a frame."""
    quacks = hasattr(x, "keys") and not hasattr(x, "__array__") and not sp.issparse(x)
    return isinstance(x, Mapping) or quacks or is_named_series(x)


def read_number(value: object) -> float:
    """Return a number as a float; NaN where it is not a number."""
    return math.nan if isinstance(value, bool | np.bool_) or not isinstance(value, Real) else float(value)


def _read_named(x: Example) -> dict[Label, float]:
    """Return a copy of a mapping of names to finite numbers."""
    values = {name: x[name] for name in x.keys()}  # noqa: SIM118  # not every mapping iterates over its names
    read = {name: float(v) if isinstance(v, bool | np.bool_) else read_number(v) for name, v in values.items()}
    for name, value in read.items():
        if not math.isfinite(value):
            raise VotronError(
                "An example of OnlinePerceptron must have finite numbers as features: one-hot encode the others. "
                f"Got {values[name]!r} for {name!r} instead."
            )
    return read


def _read_row(x: Example, n_features: int | None = None) -> Row:
    """Return a copy of a vector, of this many features if it is known: a read-only array, or a CSR matrix."""
    row = _as_row(x)
    n = row.shape[-1]
    if n == 0 or (n_features is not None and n != n_features):
        wanted = "at least one feature" if n_features is None else f"{n_features} features"
        raise VotronError(f"An example of this OnlinePerceptron must have {wanted}. Got {n} instead.")
    values = row.data if sp.issparse(row) else row
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        where = row.indices[bad[0]] if sp.issparse(row) else bad[0]
        raise VotronError(
            f"An example of OnlinePerceptron must have finite features. Got {values[bad[0]]} for feature {where} "
            "instead."
        )
    return row


def _as_row(x: Example) -> Row:
    sparse = sp.issparse(x)
    try:
        given = x if sparse else np.asarray(x)
    except (TypeError, ValueError):  # such as rows of different lengths
        given = np.asarray(None)
    if given.dtype.kind not in "biuf":
        raise VotronError(
            "An example of OnlinePerceptron must be a vector of numbers, or a mapping of names to numbers. "
            f"Got {shortened(on_one_line(repr(x)))} instead."
        )
    if given.ndim != 1 and not (sparse and given.shape[0] == 1):
        raise VotronError(f"An example of OnlinePerceptron must be one vector. Got shape {given.shape} instead.")
    if sparse:
        row = sp.csr_matrix(given.reshape(1, -1), dtype=np.float64, copy=True)
        row.sum_duplicates()
        return row
    return _read_only(np.array(given, dtype=np.float64))


def _refuse_names(x: Example, wanted: str) -> None:
    if has_names(x):
        raise VotronError(
            f"The examples of this OnlinePerceptron are {wanted}. Got named features ({type(x).__name__}) instead."
        )


def _read_only(values: Floats) -> Floats:
    values.flags.writeable = False
    return values


# -- sums of examples -------------------------------------------------------------------------------------------------


class DenseWeights:
    """A vector; examples are arrays or rows of a sparse matrix, of the same length."""

    def __init__(self, n_features: int) -> None:
        self._v = np.zeros(n_features)

    def __str__(self) -> str:
        return f"vectors of {len(self._v)} features"

    def zero(self) -> DenseWeights:
        return DenseWeights(len(self._v))

    def read(self, x: Example) -> Any:
        _refuse_names(x, str(self))
        return _read_row(x, len(self._v))

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
        return _read_only(scale * self._v)


class NamedWeights:
    """Weights by name; sums are correctly rounded, so the order of names does not matter."""

    def __init__(self) -> None:
        self._v: dict[Label, float] = {}

    def __str__(self) -> str:
        return "named features"

    def zero(self) -> NamedWeights:
        return NamedWeights()

    def read(self, x: Example) -> Any:
        if not has_names(x):
            raise VotronError(
                "The examples of this OnlinePerceptron have named features, so each must be a mapping of names to "
                f"numbers. Got an object of type {type(x).__name__} instead."
            )
        return _read_named(x)

    def dot(self, x: dict[Label, float]) -> float:
        v = self._v
        return _sum(v[name] * value for name, value in x.items() if name in v)

    def square(self, x: dict[Label, float]) -> float:
        return _sum(value * value for value in x.values())

    def add(self, coefficient: float, x: dict[Label, float]) -> None:
        """Add an example; weights that become 0 are forgotten."""
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

    def zero(self) -> KernelWeights:
        return KernelWeights(self.kernel, self.n_features)

    def read(self, x: Example) -> Any:
        _refuse_names(x, str(self))
        row = _read_row(x, self.n_features)
        dense = _read_only(row.toarray()[0]) if sp.issparse(row) else row
        self.kernel.check(dense[None])
        return dense

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
        rows = _read_only(self._rows.values.copy())
        return tuple((scale * float(c), row) for c, row in zip(self._coefficients.values, rows, strict=True))


Weights: TypeAlias = DenseWeights | NamedWeights | KernelWeights


def weights_for(x: Example, kernel: Kernel | None) -> Weights:
    if has_names(x):
        if kernel is not None:
            _refuse_names(x, "with a kernel vectors: use scikit-learn's DictVectorizer, or to_numpy() of a Series")
        return NamedWeights()
    n_features = _read_row(x).shape[-1]
    return DenseWeights(n_features) if kernel is None else KernelWeights(kernel, n_features)


def _sum(products: Iterable[float]) -> float:
    try:
        return math.fsum(products)
    except (OverflowError, ValueError):  # beyond float64
        return math.nan


# -- the target -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """The target u as it was given, in the form of the guess, and its length."""

    u: Weights
    norm2: float
    length: float


def read_target(target: Any, kernel: Kernel | None) -> Target:
    """Read a vector or a mapping; with a kernel, the coefficients and examples of Σ c_j Φ(z_j)."""
    coefficients, examples = [1.0], [target]
    if kernel is not None:
        try:
            first, second = target
            coefficients, examples = [float(c) for c in first], list(second)
        except (TypeError, ValueError):
            examples = []
        if not 0 < len(coefficients) == len(examples):
            raise _bad_target(
                "with a kernel must be a pair (coefficients, examples) of the same length. "
                f"Got {type(target).__name__} instead."
            )
    try:
        u = weights_for(examples[0], kernel)
        rows = [u.read(z) for z in examples]
    except VotronError as error:
        raise VotronError(f"The target: {error}", parameter="target") from None
    for c, row in zip(coefficients, rows, strict=True):
        u.add(c, row)
    norm2 = u.square(rows[0]) if kernel is None else sum(c * u.dot(z) for c, z in zip(coefficients, rows, strict=True))
    if not 0 < norm2 < math.inf:
        raise _bad_target(f"must be a vector of positive length. Got one whose squared length is {norm2:g} instead.")
    return Target(u, float(norm2), math.sqrt(norm2))


def _bad_target(what: str) -> VotronError:
    return VotronError(f"The 'target' parameter of OnlinePerceptron {what}", parameter="target")
