"""Examples as users give them, and sums of them: an array, weights by name, or a sum in a kernel's feature space."""

from __future__ import annotations

import math
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

Example: TypeAlias = Any
"""One example as users give it: a list, an array, a row of a sparse matrix, a mapping of names to numbers, a Series."""
Row: TypeAlias = Any
"""One example that was read: a read-only float64 array, or a CSR matrix of one row."""


def _has_names(x: Example) -> bool:
    """Tell whether features are named: a mapping, what quacks like one (river's VectorDict), or a row of a frame."""
    return is_named_series(x) or (hasattr(x, "keys") and not hasattr(x, "__array__") and not sp.issparse(x))


def _read_vector(x: Example, n_features: int | None = None) -> Row:
    """Return a copy of a vector, of this many features if that is known."""
    sparse = sp.issparse(x)
    try:
        given = (x.reshape(1, -1) if x.ndim == 1 else x) if sparse else np.asarray(x)
    except ValueError:  # rows of different lengths
        given = np.asarray(None)
    n = given.shape[-1] if given.ndim and n_features is None else n_features
    numeric = given.dtype.kind in "biuf"
    if not numeric or given.shape != ((1, n) if sparse else (n,)):
        got = f"shape {given.shape}" if numeric else shortened(on_one_line(repr(x)))
        wanted = "numbers" if n_features is None else f"{n_features} numbers"
        raise VotronError(f"An example of this OnlinePerceptron must be a vector of {wanted}. Got {got} instead.")
    row: Row = sp.csr_matrix(given, dtype=np.float64, copy=True) if sparse else np.array(given, dtype=np.float64)
    if sparse:
        row.sum_duplicates()
    values = row.data if sparse else _read_only(row)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        feature = row.indices[bad[0]] if sparse else bad[0]
        raise VotronError(f"An example must have finite features. Got {values[bad[0]]} for feature {feature} instead.")
    return row


def _read_only(values: Floats) -> Floats:
    values.flags.writeable = False
    return values


class DenseWeights:
    """A vector; examples are arrays or rows of a sparse matrix, of the same length."""

    def __init__(self, n_features: int) -> None:
        self._v = np.zeros(n_features)

    def __str__(self) -> str:
        return f"vectors of {len(self._v)} features"

    def read(self, x: Example) -> Row:
        return _read_vector(x, len(self._v))

    def dot(self, x: Row) -> float:
        return float(self._v[x.indices] @ x.data if sp.issparse(x) else self._v @ x)

    def square(self, x: Row) -> float:
        values = x.data if sp.issparse(x) else x
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

    def read(self, x: Example) -> Row:
        if not _has_names(x):
            raise VotronError(
                "An example of this OnlinePerceptron must be a mapping of names to numbers. "
                f"Got an object of type {type(x).__name__} instead."
            )
        values = dict(x)
        read = {name: float(v) if isinstance(v, Real | np.bool_) else math.nan for name, v in values.items()}
        for name, value in read.items():
            if not math.isfinite(value):
                raise VotronError(
                    "An example of OnlinePerceptron must have finite numbers as features: one-hot encode the others. "
                    f"Got {values[name]!r} for {name!r} instead."
                )
        return read

    def dot(self, x: dict[Label, float]) -> float:
        v = self._v
        return math.fsum(v[name] * value for name, value in x.items() if name in v)

    def square(self, x: dict[Label, float]) -> float:
        return math.fsum(value * value for value in x.values())

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

    def read(self, x: Example) -> Row:
        row = _read_vector(x, self.n_features)
        dense = _read_only(row.toarray()[0]) if sp.issparse(row) else row
        self.kernel.check(dense[None])
        return dense

    def dot(self, x: Floats) -> float:
        rows = self._rows.values
        if not len(rows):
            return 0.0
        if self.kernel.reads_features:
            dots, square = np.vecdot(rows, x)[None], np.array([x @ x])  # rows @ x would wake BLAS's threads
            values, terms = np.empty_like(dots), self.kernel.terms(self._squares.values)
            start = np.zeros(1, dtype=np.int64)
            self.kernel.from_dots(dots, start, 0, len(rows), self.kernel.terms(square), terms, values)
        else:
            values = self.kernel(rows, x[None]).T
        return float(np.add.accumulate(self._coefficients.values * values[0])[-1])

    def square(self, x: Floats) -> float:
        kernel = self.kernel
        return float((kernel.diagonal(np.array([x @ x])) if kernel.reads_features else kernel.diag(x[None]))[0])

    def add(self, coefficient: float, x: Floats) -> None:
        self._squares.extend([x @ x])
        self._rows.extend(x[None])
        self._coefficients.extend([coefficient])

    def shown(self, scale: float) -> tuple[tuple[float, Floats], ...]:
        rows = _read_only(self._rows.values.copy())
        return tuple((scale * float(c), row) for c, row in zip(self._coefficients.values, rows, strict=True))


Weights: TypeAlias = DenseWeights | NamedWeights | KernelWeights


def weights_for(x: Example, kernel: Kernel | None) -> Weights:
    """Return weights of 0 for examples like this one."""
    if kernel is None and _has_names(x):
        return NamedWeights()
    n_features = _read_vector(x).shape[-1]
    return DenseWeights(n_features) if kernel is None else KernelWeights(kernel, n_features)


def read_target(target: Any, kernel: Kernel | None) -> tuple[Weights, Weights, float]:
    """Return the target as it is given, a guess of 0 of the same form, and the target's squared length."""
    try:
        coefficients, examples = ([1.0], [target]) if kernel is None else target
        u, guess = weights_for(examples[0], kernel), weights_for(examples[0], kernel)
        terms = [(float(c), u.read(z)) for c, z in zip(coefficients, examples, strict=True)]
    except (TypeError, ValueError, LookupError) as error:
        form = "a vector or a mapping" if kernel is None else "with a kernel a pair (coefficients, examples)"
        raise VotronError(
            f"The 'target' parameter of OnlinePerceptron must be {form}. {error}", parameter="target"
        ) from None
    for c, z in terms:
        u.add(c, z)
    with np.errstate(over="ignore"):
        norm2 = u.square(terms[0][1]) if kernel is None else sum(c * u.dot(z) for c, z in terms)
    if not 0 < norm2 < math.inf:
        raise VotronError(
            "The 'target' parameter of OnlinePerceptron must be a vector of positive length. "
            f"Got one whose squared length is {norm2:g} instead.",
            parameter="target",
        )
    return u, guess, norm2
