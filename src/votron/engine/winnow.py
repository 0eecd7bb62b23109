"""The engine of Winnow: linear thresholds over Boolean features, learnt by multiplication (Littlestone, 1988).

Conventions: weights start at 1, the score is w·x − θ, and a score of 0 predicts the positive class. A *mistake* is a
wrong prediction. The perceptron's is y · score ≤ 0, a score of 0 included whatever the label, since its vector starts
at 0 and would never leave it otherwise; Winnow starts at 1, and its bounds count wrong predictions.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._loops import winnow as _loops
from votron._util.progress import Watcher
from votron._util.types import Array, Floats, Index, Rows
from votron.errors import NotRepresentableError, VotronError
from votron.history import TrainingRun

VISITS_AT_ONCE = 1 << 22
"""Weights that are looked at between two looks at the clock and the keyboard: some milliseconds."""


class ActiveRows(NamedTuple):
    """Rows of Boolean features as CSR without values: the active features of each row, in rising order."""

    indptr: NDArray[np.int64]
    indices: Array
    n_features: int

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1


def active_rows(rows: Rows, binarize: float | None = None) -> ActiveRows:
    """Return which features are active in each row: those above ``binarize``, or those that are 1 among 0 and 1."""
    if binarize is None:
        values = rows.data if sp.issparse(rows) else rows
        odd = values[(values != 0) & (values != 1)]
        if len(odd):
            raise VotronError(
                "The features of X must be Boolean, 0 or 1, unless the 'binarize' parameter of WinnowClassifier says "
                f"where to cut (binarize=0.5 takes what is above 0.5 for 1). Got {odd[0].item()!r} instead.",
                parameter="binarize",
            )
    elif sp.issparse(rows) and binarize < 0:
        raise VotronError(
            "The 'binarize' parameter of WinnowClassifier must be a number in the range [0, inf) for sparse data, "
            f"since the zeros that they leave out would all be above it. Got {binarize!r} instead.",
            parameter="binarize",
        )
    found = sp.csr_matrix(rows > (0 if binarize is None else binarize))
    index = np.int32 if 2 * rows.shape[1] < 2**31 else np.int64  # numbers of literals, negated ones included
    return ActiveRows(found.indptr.astype(np.int64), found.indices.astype(index), int(rows.shape[1]))


class WinnowTrainer:
    """Trains weights of literals, one vector for two classes or one for each of several, and counts changes.

    ``promotion`` is α > 1, by which the active weights are multiplied where a positive example is missed; where a
    negative one is accepted they are divided by it, or set to 0 with ``eliminate``. ``threshold`` is θ, by default half
    the number of literals. With ``complement`` each feature's negation has a weight too, after those of the features.
    """

    def __init__(
        self,
        n_features: int,
        n_vectors: int,
        *,
        promotion: float = 2.0,
        threshold: float | None = None,
        eliminate: bool = False,
        complement: bool = False,
    ) -> None:
        n_literals = _n_literals(n_features, complement)
        self.n_features, self.promotion, self.eliminate = n_features, float(promotion), eliminate
        self.threshold = n_literals / 2 if threshold is None else float(threshold)
        if not math.isfinite(self.promotion * self.threshold * n_literals):
            raise NotRepresentableError(
                f"The 'promotion' and 'threshold' of Winnow must be such that the sum of {n_literals} weights of "
                f"promotion · threshold each fits into a float64. Got {promotion!r} and {self.threshold!r} instead."
            )
        self.weights = np.ones((n_vectors, n_literals))
        self.promotions = np.zeros(n_vectors, dtype=np.int64)
        self.demotions = np.zeros(n_vectors, dtype=np.int64)
        self.time = 0

    @property
    def n_vectors(self) -> int:
        """Number of vectors."""
        return len(self.weights)

    @property
    def complement(self) -> bool:
        """Whether negations have weights."""
        return self.weights.shape[1] > self.n_features

    def linear(self) -> tuple[Floats, Floats]:
        """Return coefficients over the features, (n_vectors, n_features), and what is added.

        A negation's weight w counts where its feature is 0: it is w, less w where the feature is 1.
        """
        if not self.complement:
            return self.weights, np.full(self.n_vectors, -self.threshold)
        negated = self.weights[:, self.n_features :]
        return self.weights[:, : self.n_features] - negated, negated.sum(axis=1) - self.threshold

    def scores(self, rows: ActiveRows) -> Floats:
        """Return the sums of active weights less the threshold, (n_rows, n_vectors), to the bit as in training."""
        found = np.empty((rows.n_rows, self.n_vectors))
        _loops.score(*rows, self.weights, self.threshold, found)
        return found

    def copy(self) -> WinnowTrainer:
        other = object.__new__(WinnowTrainer)
        other.__dict__.update(self.__dict__)
        other.weights = self.weights.copy()
        other.promotions, other.demotions = self.promotions.copy(), self.demotions.copy()
        return other

    def run(
        self, rows: ActiveRows, codes: NDArray[np.int64], order: Index, n_steps: int, *, watcher: Watcher | None = None
    ) -> TrainingRun:
        """Present the rows ``order``, over and over, for ``n_steps`` steps or until a pass makes no mistake."""
        n, at_once, how = len(order), self._rows_at_once(rows), self._how()
        steps = last_mistake = 0
        interrupted = False
        while steps < n_steps and not interrupted:
            start = steps % n
            part = order[start : start + min(at_once, n_steps - steps)]
            mistake = _loops.walk(*rows, codes, part, self.weights, *how, self.promotions, self.demotions)
            self.time += len(part)
            last_mistake = steps + mistake if mistake else last_mistake
            steps += len(part)
            if watcher is not None:
                watcher.update(steps, (steps - 1) // n + 1, int(self.promotions.sum() + self.demotions.sum()))
                interrupted = watcher.should_stop()
            if steps % n == 0 and steps - last_mistake >= n:
                break
        return TrainingRun(steps, steps - last_mistake >= n, interrupted)

    def _how(self) -> tuple[float, float, float, float]:
        """Return threshold, promotion, divisor and least weight, as the loop takes them."""
        divisor, least = (math.inf, 0.0) if self.eliminate else (self.promotion, sys.float_info.min)
        return self.threshold, self.promotion, divisor, least

    def _rows_at_once(self, rows: ActiveRows) -> int:
        per_row = self.n_features if self.complement else len(rows.indices) // max(1, rows.n_rows)
        return max(1, VISITS_AT_ONCE // (self.n_vectors * (per_row + 8)))  # 8: a row without features takes time too


def _n_literals(n_features: int, complement: bool) -> int:
    return 2 * n_features if complement else n_features
