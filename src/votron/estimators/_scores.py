"""What all classifiers that score share: one score for two classes, or one a class."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from votron.errors import VotronError
from votron.products import Floats, Index, Rows
from votron.record import labels_of

LEAST_POSITIVE = float(np.finfo(np.float64).tiny)
"""What a score of 0 is returned as, of two classes: its sign tells the label."""


class ScoreClassifier(ClassifierMixin, BaseEstimator):
    """A classifier with one score for two classes, or one a class."""

    classes_: NDArray[Any]
    n_features_in_: int
    _ties_to_first: bool = False

    def _kernel_of_space(self) -> Any:
        """Return the kernel of the feature space that the vectors are in."""
        return getattr(self, "kernel_", None)

    @property
    def _n_vectors(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _signs(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each row and vector +1 if the vector shall score it positively, else -1."""
        return np.where(codes[:, None] == np.arange(self._n_vectors), 1, -1)

    def _learnable_of(self, rows: Rows, learnable: Index, at_least: int, why_not: str, whose: str = "X") -> Index:
        """Return the numbers of the rows that can be learnt, and tell of the others."""
        n = rows.shape[0]
        if len(learnable) < at_least:
            raise VotronError(f"No row of X can be learnt: {whose} has {why_not} for each of the {n}.")
        if len(learnable) < n:
            warnings.warn(
                f"{n - len(learnable)} of {n} rows have {why_not}, can never be learnt, and are left out.",
                UserWarning,
                stacklevel=4,
            )
        return learnable

    def _shaped(self, scores: Floats) -> Floats:
        """Return scores as users get them: of two classes one, never 0, whose sign tells the label."""
        if len(self.classes_) > 2:
            return scores
        return np.where(scores[:, 0] == 0, LEAST_POSITIVE, scores[:, 0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_samples,)
            The predicted labels; of classes with equal scores the first.
        """
        codes = labels_of(self.decision_function(X), ties_to_first=self._ties_to_first)
        return np.asarray(self.classes_[codes])
