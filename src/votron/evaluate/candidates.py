"""Classifiers and scores that can be compared by name: Votron's, scikit-learn's usual ones, and the majority."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import get_scorer, log_loss, roc_auc_score
from sklearn.utils._response import _get_response_values

from votron._util.frames import columns_of_words, is_frame
from votron._util.pipelines import classifier_of
from votron._util.types import Array, Estimator, Floats, Params, RowsLike
from votron.errors import VotronError

__all__ = ["CANDIDATES", "SCORES"]

CANDIDATES: dict[str, tuple[str, Params]] = {
    "majority": ("sklearn.dummy.DummyClassifier", {}),
    "averaged": ("votron.AveragedPerceptronClassifier", {}),
    "naive-bayes": ("votron.NaiveBayesLinearClassifier", {}),
    "winnow": ("votron.WinnowClassifier", {}),
    "voted": ("votron.VotedPerceptronClassifier", {}),
    "voted-poly": ("votron.VotedPerceptronClassifier", {"kernel": "poly"}),
    "adatron": ("votron.KernelAdatronClassifier", {"kernel": "rbf", "normalize_kernel": True, "C": 10.0}),
    "voted-cv": ("votron.VotedPerceptronClassifierCV", {}),
    "logistic": ("sklearn.linear_model.LogisticRegression", {"max_iter": 1000}),
    "linear-svc": ("sklearn.svm.LinearSVC", {}),
    "sgd": ("sklearn.linear_model.SGDClassifier", {}),
    "neighbours": ("sklearn.neighbors.KNeighborsClassifier", {}),
    "svc": ("sklearn.svm.SVC", {}),
    "forest": ("sklearn.ensemble.RandomForestClassifier", {}),
    "boosting": ("sklearn.ensemble.HistGradientBoostingClassifier", {}),
}
"""Class and parameters of each, the quick ones first, since Ctrl-C and a time limit leave what is finished."""


def new_candidate(name: str) -> Estimator:
    """Return a classifier by its name, unfitted, from a module that is imported now."""
    path, params = CANDIDATES[name]
    module, _, cls = path.rpartition(".")
    return getattr(import_module(module), cls)(**params)


def usual_candidates(X: RowsLike, text: str | Collection[str] = ()) -> list[str]:
    """Return the names of those that suit these rows; ``text`` names columns of texts."""
    n_rows, n_features = X.shape if hasattr(X, "shape") else np.shape(X)
    if is_frame(X):
        words = set(columns_of_words(X)) | ({text} if isinstance(text, str) else set(text))
        counts = bool(text) or len(words) > n_features / 2
    elif sp.issparse(X):
        counts = X.nnz == 0 or X.data.min() >= 0
    else:
        rows = np.asarray(X)
        counts = rows.dtype.kind in "biuf" and rows.min(initial=0) >= 0 and np.mean(rows == 0) > 0.5
    suits = {
        "winnow": False,
        "voted-cv": False,
        "naive-bayes": counts,
        "adatron": n_rows <= 1_000,
        "sgd": n_rows > 10_000 or sp.issparse(X) or bool(text),
        "svc": n_rows <= 20_000,
        "boosting": not text and n_features <= 2_000,
    }
    return [name for name in CANDIDATES if suits.get(name, True)]


Scorer = Callable[[Estimator, RowsLike, Array, Floats | None], float]
"""Takes a fitted model, rows, labels and weights of rows or None; more is better."""


def _scorer(name: str) -> Scorer:
    return lambda model, X, y, weights: float(get_scorer(name)(model, X, y, sample_weight=weights))


def _roc_auc(model: Estimator, X: RowsLike, y: Array, weights: Floats | None) -> float:
    if not hasattr(model, "predict_proba") and not has_class_scores(classifier_of(model)):
        raise VotronError("It has no scores of classes, which roc_auc needs.")
    scores, _ = _get_response_values(model, X, ["predict_proba", "decision_function"])
    classes = model.classes_[1:] if scores.ndim == 1 else model.classes_
    area = mean_auc(y[:, None] == classes, scores.reshape(len(y), -1), weights)
    if area is None:
        raise VotronError("A fold has rows of one class only, which have no ROC curve.")
    return area


def _neg_log_loss(model: Estimator, X: RowsLike, y: Array, weights: Floats | None) -> float:
    return -float(log_loss(y, model.predict_proba(X), labels=model.classes_, sample_weight=weights))


SCORES: dict[str, Scorer] = {
    **{name: _scorer(name) for name in ("accuracy", "balanced_accuracy", "f1_macro")},
    "roc_auc": _roc_auc,
    "neg_log_loss": _neg_log_loss,
}
"""The scores, named as scikit-learn names its scorers."""


def has_class_scores(classifier: Estimator) -> bool:
    """Tell whether ``decision_function`` has scores of classes, not of pairs of classes."""
    pairwise = getattr(classifier, "decision_function_shape", None) == "ovo" and len(classifier.classes_) > 2
    return hasattr(classifier, "decision_function") and not pairwise


def mean_auc(known: Array, scores: Floats, weights: Floats | None = None) -> float | None:
    """Return the area under the ROC curve, of several classes the mean of each against the rest.

    ``known`` tells for each row and class (of two classes, for the second alone) whether it is the true label, and
    ``scores`` are of the same shape. Classes that all rows have, or none, do not count; None if no other is left.
    """
    both = [k for k in range(known.shape[1]) if 0 < np.count_nonzero(known[:, k]) < len(known)]
    areas = [roc_auc_score(known[:, k], scores[:, k], sample_weight=weights) for k in both]
    return float(np.mean(areas)) if areas else None
