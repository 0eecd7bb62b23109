"""Scores that classifiers are compared by, named as scikit-learn names its scorers; more is always better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from votron._util.types import Array, Estimator, Floats, RowsLike
from votron.errors import VotronError

__all__ = ["SCORES", "Score", "mean_auc"]

Scorer = Callable[[Any, RowsLike, Array, Floats | None], float]
"""Takes a fitted model, rows, labels and weights of rows or None."""


@dataclass(frozen=True)
class Score:
    """A score of a fitted classifier on labelled rows.

    Attributes
    ----------
    name : str
        The name of scikit-learn's scorer.
    words : str
        A short description.
    measure : callable
        Takes a fitted model, rows, labels and weights of rows or None; returns the score.
    is_share : bool
        Whether it is written in per cent.
    counts_rows : bool
        Whether it is a share of the rows.
    low, high : float
        The range of values.

    Examples
    --------
    >>> from votron.evaluate import SCORES
    >>> SCORES["accuracy"].in_words(0.98765), SCORES["neg_log_loss"].in_words(-0.12345)
    ('98.8 %', '-0.1235')
    >>> SCORES["accuracy"].interval_in_words(0.0123, 0.0345), SCORES["roc_auc"].interval_in_words(0.001, 0.02)
    ('1.2 to 3.5', '0.0010 to 0.0200')
    """

    name: str
    words: str
    measure: Scorer
    is_share: bool = False
    counts_rows: bool = False
    low: float = 0.0
    high: float = 1.0

    def in_words(self, value: float) -> str:
        """Return a score as text."""
        return f"{100 * value:.1f} %" if self.is_share else f"{value:.4f}"

    def interval_in_words(self, low: float, high: float) -> str:
        """Return an interval of scores, or of differences of scores, as text."""
        return f"{100 * low:.1f} to {100 * high:.1f}" if self.is_share else f"{low:.4f} to {high:.4f}"


def mean_auc(known: Array, scores: Floats, sample_weight: Floats | None = None) -> float | None:
    """Return the area under the ROC curve, of several classes the mean of each against the rest.

    Parameters
    ----------
    known : boolean array of shape (n_rows, n_classes)
        Whether the class is the true label; of two classes, the second alone may be given.
    scores : array of the same shape
        The scores of the classes.
    sample_weight : array of shape (n_rows,), optional
        Weights of rows.

    Returns
    -------
    float or None
        The mean over the classes that some rows have and others do not; None without any.

    Examples
    --------
    >>> import numpy as np
    >>> from votron.evaluate.scores import mean_auc
    >>> mean_auc(np.array([[False], [True], [True]]), np.array([[0.3], [0.2], [0.9]]))
    0.5
    """
    from sklearn.metrics import roc_auc_score

    both = [k for k in range(known.shape[1]) if 0 < np.count_nonzero(known[:, k]) < len(known)]
    areas = [roc_auc_score(known[:, k], scores[:, k], sample_weight=sample_weight) for k in both]
    return float(np.mean(areas)) if areas else None


def scores_of_classes(model: Estimator, X: RowsLike) -> Floats:
    """Return a column for each class, of two for the second: probabilities, or scores where there are none."""
    if hasattr(model, "predict_proba"):
        found = np.asarray(model.predict_proba(X))
        return found[:, 1:] if found.shape[1] == 2 else found
    found = np.asarray(model.decision_function(X), dtype=np.float64)
    return found.reshape(-1, 1) if found.ndim == 1 else found


def without_scores(model: Estimator) -> bool:
    """Tell whether a fitted model has no scores of classes: none at all, or those of pairs of classes."""
    while hasattr(model, "steps") or hasattr(model, "best_estimator_"):
        model = model.steps[-1][1] if hasattr(model, "steps") else model.best_estimator_
    of_pairs = getattr(model, "decision_function_shape", None) == "ovo" and len(model.classes_) > 2
    return of_pairs or not hasattr(model, "decision_function")


def _scorer(name: str) -> Scorer:
    """Return scikit-learn's scorer, looked up when it is used."""

    def measure(model: Estimator, X: RowsLike, y: Array, sample_weight: Floats | None) -> float:
        from sklearn.metrics import get_scorer

        return float(get_scorer(name)(model, X, y, sample_weight=sample_weight))

    return measure


def _roc_auc(model: Estimator, X: RowsLike, y: Array, sample_weight: Floats | None) -> float:
    if not hasattr(model, "predict_proba") and without_scores(model):
        raise VotronError("It has no scores of classes, which roc_auc needs (decision_function_shape='ovr').")
    scores, classes = scores_of_classes(model, X), np.asarray(model.classes_)
    classes = classes[1:] if len(classes) == 2 else classes
    if scores.shape[1] != len(classes):
        raise VotronError(f"Its scores have {scores.shape[1]} columns, which are not those of {len(classes)} classes.")
    area = mean_auc(y[:, None] == classes, scores, sample_weight)
    if area is None:
        raise VotronError("A fold has rows of one class only, which have no ROC curve.")
    return area


def _neg_log_loss(model: Estimator, X: RowsLike, y: Array, sample_weight: Floats | None) -> float:
    from sklearn.metrics import log_loss

    if not hasattr(model, "predict_proba"):
        raise VotronError("It has no probabilities, which neg_log_loss needs.")
    return -float(log_loss(y, model.predict_proba(X), labels=model.classes_, sample_weight=sample_weight))


SCORES: dict[str, Score] = {
    each.name: each
    for each in (
        Score("accuracy", "share of rows that are right", _scorer("accuracy"), is_share=True, counts_rows=True),
        Score("balanced_accuracy", "mean recall of the classes", _scorer("balanced_accuracy"), is_share=True),
        Score("f1_macro", "mean F1 of the classes", _scorer("f1_macro"), is_share=True),
        Score("roc_auc", "area under the ROC curve, mean of each class against the rest", _roc_auc),
        Score("neg_log_loss", "minus the log-loss of the probabilities", _neg_log_loss, low=-np.inf, high=0.0),
    )
}
"""The scores by name."""
