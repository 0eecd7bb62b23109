"""Score functions of compact models: weights, an expansion over support vectors, or a sequence of vectors that vote."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot

from votron._arrays import chunks, rows_in_bytes
from votron._resources import team
from votron._types import Floats, Index, Rows
from votron.blocks import expansion_scores
from votron.errors import NotRepresentableError
from votron.estimators._validation import binarized
from votron.kernels import Kernel
from votron.rules import RULES, Vectors
from votron.rules.scan import too_large

SPARSE_BELOW = 0.3
"""Share of weights that are not 0 below which they are kept as a CSR matrix."""


@dataclass(frozen=True, eq=False)
class Linear:
    """Scores w·x + b.

    Attributes
    ----------
    coef : array or CSR matrix of shape (n_vectors, n_features)
        The weights.
    intercept : array of shape (n_vectors,)
        What is added.
    boolean : bool
        Whether features are 0 and 1.
    binarize : float or None
        Where they are cut to be so; None: they must be already.
    divisor : array of shape (n_vectors,), optional
        What the scores are divided by at the end: weights that are whole numbers stay so, and scores of 0 stay 0.
    """

    coef: Any
    intercept: Floats
    boolean: bool = False
    binarize: float | None = None
    divisor: Floats | None = None

    kernel = None

    def scores(self, rows: Rows, n_threads: int) -> Floats:
        """Return the scores, (n_rows, n_vectors)."""
        if self.boolean:
            rows = binarized(rows, self.binarize)
        return _divided(linear_scores(rows, self.coef, self.intercept), self.divisor)

    def weights(self) -> tuple[Any, Floats]:
        """Return the weights and what is added, divided already."""
        if self.divisor is None:
            return self.coef, self.intercept
        scale = 1.0 / self.divisor
        coef = sp.diags(scale) @ self.coef if sp.issparse(self.coef) else scale[:, None] * self.coef
        return coef, scale * self.intercept


def _divided(scores: Floats, divisor: Floats | None) -> Floats:
    return scores if divisor is None else scores / divisor


def linear_scores(rows: Rows, coef: Any, intercept: Floats) -> Floats:
    """Return ``rows @ coef.T + intercept`` in float64, whatever the type of the rows."""
    whole = sp.issparse(rows) or rows.dtype == np.float64
    # Other types as float64, part by part: all of it might be too large.
    parts = [slice(None)] if whole else chunks(rows.shape[0], rows_in_bytes(rows))
    with np.errstate(over="ignore", invalid="ignore"):
        scores = [safe_sparse_dot(_float64(rows[part]), coef.T, dense_output=True) for part in parts]
        total = np.asarray(np.concatenate(scores) + intercept)
    if not np.isfinite(total).all():
        raise NotRepresentableError("Scores exceed the largest float64 on these rows: scale the data down.")
    return total


def _float64(rows: Rows) -> Rows:
    return rows if sp.issparse(rows) else rows.astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Expansion:
    """Scores Σ_j α_j K(x_j, x).

    Attributes
    ----------
    kernel : Kernel
        K.
    support_rows : array or CSR matrix of shape (n_support, n_features)
        The x_j, as the kernel's products keep them.
    support : int array of shape (n_support,)
        Their numbers in the training data.
    coefficients : array or CSR matrix of shape (n_vectors, n_support)
        The α; sparse as a file may have them, until they are used.
    divisor : array of shape (n_vectors,), optional
        What the scores are divided by at the end.
    """

    kernel: Kernel
    support_rows: Rows
    support: Index
    coefficients: Any
    divisor: Floats | None = None

    @cached_property
    def dual_coef(self) -> Floats:
        """The α, dense."""
        return np.asarray(self.coefficients.toarray() if sp.issparse(self.coefficients) else self.coefficients)

    def scores(self, rows: Rows, n_threads: int) -> Floats:
        """Return the scores, (n_rows, n_vectors)."""
        with team(n_threads) as threads:
            scores = expansion_scores(self.kernel, self.support_rows, self.support, self.dual_coef, rows, threads)
        if not np.isfinite(scores).all():
            raise too_large(self.kernel)
        return _divided(scores, self.divisor)

    def reduced(self) -> Linear | Expansion:
        """Return the weights, where the kernel is linear, or else the expansion without what counts nothing."""
        kernel = self.kernel
        if (affine := kernel.affine()) is not None:
            slope, constant = affine
            return Linear(slope * self._weights(), constant * self.dual_coef.sum(axis=1) + 0.0, divisor=self.divisor)
        used = (self.dual_coef != 0).any(axis=0)
        if used.all():
            return self
        dual_coef = np.ascontiguousarray(self.dual_coef[:, used])
        return Expansion(kernel, self.support_rows[used], self.support[used], dual_coef, self.divisor)

    def _weights(self) -> Any:
        rows = self.support_rows
        if not sp.issparse(rows):
            parts = chunks(rows.shape[0], rows_in_bytes(rows))
            return sum(
                (self.dual_coef[:, part] @ rows[part].astype(np.float64) for part in parts),
                np.zeros((len(self.dual_coef), rows.shape[1])),
            )
        weights = sp.csr_matrix(sp.csr_matrix(self.dual_coef) @ rows.astype(np.float64))
        weights.eliminate_zeros()
        weights.sort_indices()
        n_all = weights.shape[0] * weights.shape[1]
        return weights if weights.nnz < SPARSE_BELOW * n_all else weights.toarray()


@dataclass(frozen=True, eq=False)
class Sequence:
    """Scores by a rule that needs every vector of training.

    Attributes
    ----------
    vectors : Vectors
        They are.
    rule : {"vote", "random"}
        The rule.
    normalized : bool
        Whether vectors are divided by their lengths.
    """

    vectors: Vectors
    rule: str
    normalized: bool

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self.vectors.kernel

    def scores(self, rows: Rows, n_threads: int) -> Floats:
        """Return the scores, (n_rows, n_vectors)."""
        return self.vectors.scores(rows, self.rule, self.normalized, n_threads=n_threads)


Form = Linear | Expansion | Sequence


def form_of_vectors(vectors: Vectors, rule: str, normalized: bool) -> Form:
    """Return no more of the vectors of a training run than a rule needs."""
    found = vectors.expansion(rule, normalized)
    if found is not None:
        return Expansion(vectors.kernel, vectors.support_rows, vectors.record.support, *found)
    lengths = vectors.record.norm2 if normalized and RULES[rule].needs_lengths else None
    record = vectors.record.without_scores(norm2=lengths)
    return Sequence(Vectors(record, vectors.kernel, vectors.support_rows, vectors.seed), rule, lengths is not None)
