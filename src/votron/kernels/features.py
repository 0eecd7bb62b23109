"""Explicit feature maps: what a kernel computes without writing it down, written down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from votron._util.types import Floats, RowsLike
from votron.errors import VotronError
from votron.products import squares


@dataclass(frozen=True)
class FeatureMap:
    """An explicit feature map Φ: one scaled monomial a coordinate, so that Φ(x)·Φ(z) is the kernel.

    Parameters
    ----------
    n_features : int
        Number of input variables.
    monomials : tuple of tuples of int
        The variables of each monomial, with repetition; () is the constant.
    scales : tuple of float
        Its constant.
    unit_length : bool
        Whether images are divided by their length.

    Examples
    --------
    >>> from votron.kernels import PolynomialKernel
    >>> phi = PolynomialKernel(degree=2).feature_map(2)
    >>> phi.names
    ['1', 'x1', 'x2', 'x1 x1', 'x1 x2', 'x2 x2']
    >>> phi([[1.0, 3.0]]).round(3)
    array([[1.   , 1.414, 4.243, 1.   , 4.243, 9.   ]])
    """

    LIMIT: ClassVar[int] = 2_000_000
    n_features: int
    monomials: tuple[tuple[int, ...], ...]
    scales: tuple[float, ...]
    unit_length: bool = False

    def __repr__(self) -> str:
        return f"FeatureMap({self.n_features} variables to {len(self.monomials)} coordinates)"

    @property
    def names(self) -> list[str]:
        """Return the monomials in words."""
        return [" ".join(f"x{i + 1}" for i in chosen) or "1" for chosen in self.monomials]

    def __call__(self, X: RowsLike) -> Floats:
        """Return Φ of each row."""
        X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        if X.shape[1] != self.n_features:
            raise VotronError(f"This feature map is for {self.n_features} variables. Got rows of {X.shape[1]} instead.")
        out = np.empty((X.shape[0], len(self.monomials)))
        for k, (chosen, scale) in enumerate(zip(self.monomials, self.scales, strict=True)):
            column = np.full(X.shape[0], scale)
            for i in chosen:
                column *= X[:, i]
            out[:, k] = column
        if self.unit_length:
            lengths = np.sqrt(squares(out))
            out /= np.where(lengths > 0, lengths, 1.0)[:, None]
        return out
