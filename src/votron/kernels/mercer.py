"""The check that a matrix can be a Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from votron.errors import VotronError


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
