"""Forms of fitted models: weights, an expansion over support vectors, or a sequence of vectors that vote."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import binarize
from sklearn.utils.extmath import safe_sparse_dot

from votron._util.resources import chunks, rows_in_bytes, team
from votron._util.types import Floats, Index, Rows
from votron.blocks import affine_weights, expansion_scores
from votron.errors import NotRepresentableError, VotronError
from votron.kernels import Kernel
from votron.rules.base import RULES
from votron.rules.scan import too_large
from votron.rules.vectors import Vectors


@dataclass(frozen=True, eq=False)
class Linear:
    """Scores w·x + b; of features that are 0 and 1, if ``boolean``, cut at ``binarize``.

    The ``divisor`` divides scores at the end: weights that are whole numbers stay so, and scores of 0 stay 0.
    """

    coef: Rows
    intercept: Floats
    boolean: bool = False
    binarize: float | None = None
    divisor: Floats | None = None

    kernel = None
    support_rows = None

    def scores(self, rows: Rows, n_threads: int) -> Floats:
        rows = binarized(rows, self.binarize) if self.boolean else rows
        scores = linear_scores(rows, self.coef, self.intercept)
        return scores if self.divisor is None else scores / self.divisor

    def weights(self) -> tuple[Rows, Floats]:
        """Return the weights and what is added, divided already."""
        if self.divisor is None:
            return self.coef, self.intercept
        scale = 1.0 / self.divisor
        coef = sp.diags(scale) @ self.coef if sp.issparse(self.coef) else scale[:, None] * self.coef
        return coef, scale * self.intercept


def binarized(rows: Rows, threshold: float | None) -> Rows:
    """Return 1 where values are above the threshold, else 0; None: they are 0 and 1 already, and others are refused."""
    if threshold is not None:
        return binarize(rows, threshold=threshold)
    values = rows.data if sp.issparse(rows) else rows
    strange = values[(values != 0) & (values != 1)]
    if len(strange):
        raise VotronError(f"With binarize=None X must have no values but 0 and 1. Got {strange[0]:g} instead.")
    return rows


def linear_scores(rows: Rows, coef: Rows, intercept: Floats) -> Floats:
    whole = sp.issparse(rows) or rows.dtype == np.float64
    # as float64 part by part: all of it might be too large
    parts = [rows] if whole else (rows[part].astype(np.float64) for part in chunks(len(rows), rows_in_bytes(rows)))
    with np.errstate(over="ignore", invalid="ignore"):
        scores = [safe_sparse_dot(part, coef.T, dense_output=True) for part in parts]
        total = np.asarray(np.concatenate(scores) + intercept)
    if not np.isfinite(total).all():
        raise NotRepresentableError("Scores exceed the largest float64 on these rows: scale the data down.")
    return total


@dataclass(frozen=True, eq=False)
class Expansion:
    """Scores Σ_j α_j K(x_j, x), with the x_j as the kernel's products keep them, divided by ``divisor`` at the end."""

    kernel: Kernel
    support_rows: Rows
    support: Index
    coefficients: Rows
    divisor: Floats | None = None

    @cached_property
    def dual_coef(self) -> Floats:
        return np.asarray(self.coefficients.toarray() if sp.issparse(self.coefficients) else self.coefficients)

    def scores(self, rows: Rows, n_threads: int) -> Floats:
        with team(n_threads) as threads:
            scores = expansion_scores(self.kernel, self.support_rows, self.support, self.dual_coef, rows, threads)
        if not np.isfinite(scores).all():
            raise too_large(self.kernel)
        return scores if self.divisor is None else scores / self.divisor

    def reduced(self) -> Linear | Expansion:
        """Return the weights, where the kernel is linear, or else the expansion without what counts nothing."""
        if (affine := self.kernel.affine()) is not None:
            return Linear(*affine_weights(affine, self.support_rows, self.dual_coef), divisor=self.divisor)
        used = (self.dual_coef != 0).any(axis=0)
        if used.all():
            return self
        dual_coef = np.ascontiguousarray(self.dual_coef[:, used])
        return Expansion(self.kernel, self.support_rows[used], self.support[used], dual_coef, self.divisor)


@dataclass(frozen=True, eq=False)
class Sequence:
    """Scores by a rule that needs every vector of training."""

    vectors: Vectors
    rule: str
    normalized: bool

    @property
    def kernel(self) -> Kernel:
        return self.vectors.kernel

    def scores(self, rows: Rows, n_threads: int) -> Floats:
        return self.vectors.scores(rows, self.rule, self.normalized, n_threads=n_threads)

    @property
    def support(self) -> Index:
        return self.vectors.record.support

    @property
    def support_rows(self) -> Rows:
        return self.vectors.support_rows

    @property
    def dual_coef(self) -> Floats:
        return self.vectors.record.dual_coef()


Form = Linear | Expansion | Sequence


def form_of_vectors(vectors: Vectors, rule: str, normalized: bool) -> Form:
    found = RULES[rule].expansion(vectors, normalized)
    if found is not None:
        return Expansion(vectors.kernel, vectors.support_rows, vectors.record.support, *found)
    lengths = vectors.record.norm2 if normalized and RULES[rule].needs_lengths else None
    record = vectors.record.without_scores(norm2=lengths)
    return Sequence(Vectors(record, vectors.kernel, vectors.support_rows, vectors.seed), rule, lengths is not None)
