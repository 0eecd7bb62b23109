"""Scores that classifiers are compared by, named as scikit-learn names its scorers; more is always better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import get_scorer, log_loss, roc_auc_score
from sklearn.utils._response import _get_response_values

from votron._util.pipelines import classifier_of
from votron._util.types import Array, Estimator, Floats, RowsLike
from votron.errors import VotronError

__all__ = ["SCORES", "Score", "mean_auc"]

Scorer = Callable[[Estimator, RowsLike, Array, Floats | None], float]
"""Takes a fitted model, rows, labels and weights of rows or None."""


@dataclass(frozen=True)
class Score:
    """A score of a fitted classifier on labelled rows.

    Examples
    --------
    >>> from votron.evaluate import SCORES
    >>> SCORES["accuracy"].in_words(0.98765), SCORES["roc_auc"].interval_in_words(0.001, 0.02)
    ('98.8 %', '0.0010 to 0.0200')
    """

    name: str
    """The name of scikit-learn's scorer."""
    measure: Scorer
    """Takes a fitted model, rows, labels and weights of rows or None; returns the score."""
    is_share: bool = False
    """Whether it is written in per cent."""
    low: float = 0.0
    high: float = 1.0
    """The range of values."""

    def in_words(self, value: float) -> str:
        """Return a score as text."""
        return f"{100 * value:.1f} %" if self.is_share else f"{value:.4f}"

    def interval_in_words(self, low: float, high: float) -> str:
        """Return an interval of scores, or of differences of scores, as text."""
        return f"{100 * low:.1f} to {100 * high:.1f}" if self.is_share else f"{low:.4f} to {high:.4f}"


def mean_auc(known: Array, scores: Floats, sample_weight: Floats | None = None) -> float | None:
    """Return the area under the ROC curve, of several classes the mean of each against the rest.

    ``known`` tells for each row and class (of two classes, for the second alone) whether it is the true label, and
    ``scores`` are of the same shape. Classes that all rows have, or none, do not count; None if no other is left.

    Examples
    --------
    >>> import numpy as np
    >>> from votron.evaluate.scores import mean_auc
    >>> mean_auc(np.array([[False], [True], [True]]), np.array([[0.3], [0.2], [0.9]]))
    0.5
    """
    both = [k for k in range(known.shape[1]) if 0 < np.count_nonzero(known[:, k]) < len(known)]
    areas = [roc_auc_score(known[:, k], scores[:, k], sample_weight=sample_weight) for k in both]
    return float(np.mean(areas)) if areas else None


def has_class_scores(classifier: Estimator) -> bool:
    """Tell whether ``decision_function`` has scores of classes, not of pairs of classes."""
    pairwise = getattr(classifier, "decision_function_shape", None) == "ovo" and len(classifier.classes_) > 2
    return hasattr(classifier, "decision_function") and not pairwise


def _scorer(name: str) -> Scorer:
    return lambda model, X, y, weights: float(get_scorer(name)(model, X, y, sample_weight=weights))


def _roc_auc(model: Estimator, X: RowsLike, y: Array, sample_weight: Floats | None) -> float:
    if not hasattr(model, "predict_proba") and not has_class_scores(classifier_of(model)):
        raise VotronError("It has no scores of classes, which roc_auc needs.")
    scores, _ = _get_response_values(model, X, ["predict_proba", "decision_function"])
    classes = model.classes_[1:] if scores.ndim == 1 else model.classes_
    area = mean_auc(y[:, None] == classes, scores.reshape(len(y), -1), sample_weight)
    if area is None:
        raise VotronError("A fold has rows of one class only, which have no ROC curve.")
    return area


def _neg_log_loss(model: Estimator, X: RowsLike, y: Array, sample_weight: Floats | None) -> float:
    if not hasattr(model, "predict_proba"):
        raise VotronError("It has no probabilities, which neg_log_loss needs.")
    return -float(log_loss(y, model.predict_proba(X), labels=model.classes_, sample_weight=sample_weight))


SCORES: dict[str, Score] = {
    each.name: each
    for each in (
        Score("accuracy", _scorer("accuracy"), is_share=True),
        Score("balanced_accuracy", _scorer("balanced_accuracy"), is_share=True),
        Score("f1_macro", _scorer("f1_macro"), is_share=True),
        Score("roc_auc", _roc_auc),
        Score("neg_log_loss", _neg_log_loss, low=-np.inf, high=0.0),
    )
}
"""The scores by name."""
