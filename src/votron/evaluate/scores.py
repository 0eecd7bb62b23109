"""What learners are compared by: each score says what it asks of a model, and how to write it down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._util.pipelines import classifier_of
from votron._util.types import Floats
from votron.errors import VotronError

__all__ = ["SCORES", "Score"]

_LEAST = float(np.finfo(np.float64).eps)
"""Below this no probability goes, whose logarithm would be infinite; as in scikit-learn's log_loss."""


@dataclass(frozen=True)
class Score:
    """A score of predictions on rows that training has not seen.

    Attributes
    ----------
    name : str
        What it is called in `votron.evaluate.compare` and on the command line.
    words : str
        What it is, in a few words.
    measure : callable
        Takes a fitted model, rows, labels, predicted labels and weights or None; returns the number.
    asks : tuple of str
        Methods, of which a model needs one.
    greater_is_better : bool
        Whether the best has the most.
    is_share, at_most_1, counts_rows : bool
        Whether it is written in per cent, whether it is 1 at most, and whether it is a share of rows.

    Examples
    --------
    >>> from votron.evaluate import SCORES
    >>> SCORES["accuracy"].in_words(0.98765), SCORES["log-loss"].in_words(0.12345)
    ('98.8 %', '0.1235')
    >>> SCORES["accuracy"].interval_in_words(0.0123, 0.0345), SCORES["auc"].interval_in_words(0.001, 0.02)
    ('1.2 to 3.5', '0.0010 to 0.0200')
    """

    name: str
    words: str
    measure: Callable[[Any, Any, NDArray[Any], NDArray[Any], Floats | None], float]
    asks: tuple[str, ...] = ("predict",)
    greater_is_better: bool = True
    is_share: bool = True
    at_most_1: bool = True
    counts_rows: bool = False

    def check(self, model: Any) -> None:
        """Refuse a model that lacks what the score is made of."""
        if not any(hasattr(model, method) for method in self.asks):
            what = "probabilities" if self.asks == ("predict_proba",) else "scores of the classes"
            raise VotronError(f"It has no {what}, which {self.name} is made of.")

    def in_words(self, value: float) -> str:
        """Return a score as text."""
        return f"{100 * value:.1f} %" if self.is_share else f"{value:.4f}"

    def interval_in_words(self, low: float, high: float) -> str:
        """Return an interval of scores, or of differences of them, as text."""
        ends = (100 * low, 100 * high, ".1f") if self.is_share else (low, high, ".4f")
        return f"{ends[0]:{ends[2]}} to {ends[1]:{ends[2]}}"


# -- the measures -----------------------------------------------------------------------------------------------------


def _accuracy(model: Any, X: Any, y: NDArray[Any], predicted: NDArray[Any], weight: Floats | None) -> float:
    return float(np.average(predicted == y, weights=weight))


def _balanced_accuracy(model: Any, X: Any, y: NDArray[Any], predicted: NDArray[Any], weight: Floats | None) -> float:
    """Return the mean recall of the classes that occur."""
    codes, right = np.unique(y, return_inverse=True)[1], predicted == y
    weights = np.ones(len(y)) if weight is None else weight
    return float(np.mean(np.bincount(codes, weights * right) / np.bincount(codes, weights)))


def _macro_f1(model: Any, X: Any, y: NDArray[Any], predicted: NDArray[Any], weight: Floats | None) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(y, predicted, average="macro", sample_weight=weight, zero_division=0.0))


def _auc(model: Any, X: Any, y: NDArray[Any], predicted: NDArray[Any], weight: Floats | None) -> float:
    """Return the area under the ROC curve, of several classes the mean over each that occurs against the rest."""
    from sklearn.metrics import roc_auc_score

    scores = _scores_of_classes(model, X)
    areas = [
        roc_auc_score(y == label, scores[:, k], sample_weight=weight)
        for k, label in enumerate(model.classes_)
        if 0 < np.count_nonzero(y == label) < len(y)
    ]
    if not areas:
        raise VotronError("A fold has rows of one class only, of which there is no area under the ROC curve.")
    return float(np.mean(areas))


def _scores_of_classes(model: Any, X: Any) -> NDArray[Any]:
    """Return a column for each class: probabilities, where there are any, or else scores."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    found = np.asarray(model.decision_function(X))
    if found.ndim == 1:
        return np.stack([-found, found], axis=1)
    _check_no_pairs(model, found.shape[1])
    return found


def _check_no_pairs(model: Any, n_columns: int) -> None:
    """Refuse columns that are not those of classes: of three classes there are as many pairs."""
    classifier, n_classes = _deciding(model), len(model.classes_)
    of = f"The scores of {type(classifier).__name__}"
    if getattr(classifier, "decision_function_shape", None) == "ovo":
        raise VotronError(
            f"{of} are of pairs of classes, and auc is made of one for each class: give it "
            "decision_function_shape='ovr'."
        )
    if n_columns != n_classes:
        raise VotronError(
            f"{of} have {n_columns} columns, and auc is made of one for each of {n_classes} classes: compare it by "
            "another score."
        )


def _deciding(model: Any) -> Any:
    """Return the classifier whose scores a fitted model has: the last of a pipeline, the best of a search."""
    while hasattr(model, "steps") or hasattr(model, "best_estimator_"):
        model = classifier_of(model) if hasattr(model, "steps") else model.best_estimator_
    return model


def _log_loss(model: Any, X: Any, y: NDArray[Any], predicted: NDArray[Any], weight: Floats | None) -> float:
    """Return the mean of −log of the probability that the true labels had."""
    own = y[:, None] == np.asarray(model.classes_)[None, :]
    p = np.where(own, model.predict_proba(X), 0.0).sum(axis=1)
    return -float(np.average(np.log(np.clip(p, _LEAST, 1.0)), weights=weight))


SCORES: dict[str, Score] = {
    each.name: each
    for each in (
        Score("accuracy", "share of rows that are right", _accuracy, counts_rows=True),
        Score("balanced-accuracy", "mean recall of the classes", _balanced_accuracy),
        Score("macro-f1", "mean F1 of the classes", _macro_f1),
        Score("auc", "area under the ROC curve", _auc, ("predict_proba", "decision_function"), is_share=False),
        Score(
            "log-loss",
            "by the probabilities of the labels",
            _log_loss,
            ("predict_proba",),
            greater_is_better=False,
            is_share=False,
            at_most_1=False,
        ),
    )
}
"""The scores that there are, by name."""
