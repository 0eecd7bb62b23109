"""Kernels given as values: a matrix, with checks that it is a kernel's, and Python functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from votron._util.resources import chunks
from votron._util.types import Array, Floats, Rows, RowsLike
from votron.errors import IndefiniteKernelError, VotronError
from votron.kernels.base import ValueKernel, as_rows
from votron.products import CallableProducts, GramProducts, Products, Traits

SLACK = 1e-5
"""Relative error that a precomputed matrix may have, in symmetry and positivity: it may be of float32 numbers."""


@dataclass(frozen=True)
class PrecomputedKernel(ValueKernel):
    """The data are the kernel values: row i holds K(x_i, z) for every training example z.

    Examples
    --------
    >>> PrecomputedKernel().diag([[2.0, 1.0], [1.0, 3.0]])
    array([2., 3.])
    """

    name: ClassVar[str] = "precomputed"
    words: ClassVar[str] = "a matrix of yours"
    reads_features: ClassVar[bool] = False
    pairwise: ClassVar[bool] = True

    def __call__(self, X: RowsLike, Y: RowsLike = None) -> Floats:
        return np.asarray(as_rows(X), dtype=np.float64)

    def products(self, traits: Traits) -> Products:
        return GramProducts()


@dataclass(frozen=True)
class CallableKernel(ValueKernel):
    """Any function ``f(A, B)`` that returns the matrix of kernel values of the rows of A and of B.

    The rows come to it as float32 or float64, dense or CSR.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = CallableKernel(lambda A, B: np.minimum(A[:, None, :], B[None, :, :]).sum(axis=2))
    >>> kernel(np.array([[1.0, 5.0]]), np.array([[2.0, 3.0]]))
    array([[4.]])
    """

    function: Callable[[Rows, Rows], Any]
    words: ClassVar[str] = "any Python function of two matrices"
    reads_features: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"CallableKernel({self._name})"

    @property
    def _name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def products(self, traits: Traits) -> Products:
        return CallableProducts(self.function, self._name)


def check_gram(K: Array) -> None:
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
    whole = K.dtype.kind in "iub"
    for part in chunks(len(K), 512):
        rows, start, mine = K[part].astype(np.float64), part.start, diagonal[part]
        gap = np.abs(rows - K[:, part].T)
        if gap.max(initial=0.0) > SLACK * np.abs(rows).max(initial=0.0):
            i, j = map(int, np.unravel_index(int(np.argmax(gap)), gap.shape))
            raise VotronError(
                "With kernel='precomputed' X must be a symmetric matrix. "
                f"Got X[{start + i}, {j}] = {rows[i, j]:g} and X[{j}, {start + i}] = {K[j, start + i]:g} instead."
            )
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


@dataclass(frozen=True)
class MercerCheck:
    """Whether a Gram matrix is positive semi-definite, its smallest eigenvalue, and how far below 0 is rounding.

    Examples
    --------
    >>> check = is_mercer([[1.0, 2.0], [2.0, 1.0]])
    >>> "a kernel" if check else f"none: eigenvalue {check.eigenvalue:g}"
    'none: eigenvalue -1'
    """

    positive: bool
    eigenvalue: float
    tolerance: float

    def __bool__(self) -> bool:
        return self.positive


def is_mercer(K: ArrayLike, tolerance: float | None = None) -> MercerCheck:
    """Tell whether a Gram matrix is symmetric positive semi-definite, and its smallest eigenvalue.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Kernel values of n examples with each other. The check takes time n³.
    tolerance : float, optional
        Eigenvalues above minus this count as 0. Default: n times the rounding unit times the largest eigenvalue.

    Examples
    --------
    >>> bool(is_mercer([[2.0, 1.0], [1.0, 2.0]]))
    True
    >>> is_mercer([[0.0, 1.0], [1.0, 0.0]]).eigenvalue
    -1.0
    """
    matrix = np.asarray(K, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise VotronError(f"A Gram matrix is square. Got shape {matrix.shape} instead.")
    if matrix.size == 0 or not np.isfinite(matrix).all():
        raise VotronError("A Gram matrix must have at least one row, and finite values only.")
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-12 * np.abs(matrix).max()):
        raise VotronError("A Gram matrix is symmetric: K(x, z) = K(z, x). This one is not.")
    eigenvalues = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    if tolerance is None:
        tolerance = len(matrix) * float(np.finfo(float).eps) * float(np.abs(eigenvalues).max())
    return MercerCheck(bool(eigenvalues[0] >= -tolerance), float(eigenvalues[0]), float(tolerance))
