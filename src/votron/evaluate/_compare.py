"""`compare`: classifiers on the same folds of a repeated cross-validation."""

from __future__ import annotations

import math
import pickle
import tempfile
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, log_loss
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
from sklearn.utils._response import _get_response_values
from sklearn.utils.validation import _num_samples, has_fit_parameter
from threadpoolctl import threadpool_limits

from votron._util.frames import columns_of_words, dense, is_frame
from votron._util.pipelines import classifier_of
from votron._util.resources import effective_threads
from votron._util.text import joined, on_one_line, shortened
from votron._util.types import Array, Estimator, Floats, Index, Label, Labels, Params, RowsLike
from votron.errors import VotronError
from votron.estimators import VotedPerceptronClassifier
from votron.estimators._data import check_two_classes, encode_labels, weighed
from votron.estimators.pipelines import ClassifierPipeline, encoder_for
from votron.evaluate.comparison import Comparison, ComparisonRow
from votron.evaluate.evaluation import has_class_scores, mean_auc
from votron.saving.models import save

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
SCORES = ("accuracy", "balanced_accuracy", "f1_macro", "roc_auc", "neg_log_loss")
"""The scores, named as scikit-learn names its scorers; more is better."""
_PREDICTED_AT_ONCE = 1000
"""Rows whose prediction is timed, at least: with the few of a small fold the time would be that of a call."""
_LONGEST = 200
_CONSTRAINTS = {
    "score": [StrOptions(set(SCORES))],
    "folds": [Interval(Integral, 2, None, closed="left")],
    "repeats": [Interval(Integral, 1, None, closed="left")],
    "random_state": [Interval(Integral, 0, None, closed="left")],
    "max_rows": [Interval(Integral, 4, None, closed="left"), None],
    "max_seconds": [Interval(Real, 0, None, closed="neither"), None],
    "confidence": [Interval(Real, 0, 1, closed="neither")],
}

_Splits: TypeAlias = list[tuple[Index, Index]]


def compare(
    X: RowsLike,
    y: Labels,
    estimators: Iterable[str] | Mapping[str, Estimator] | None = None,
    *,
    sklearn: bool = False,
    score: str = "accuracy",
    folds: int = 5,
    repeats: int = 2,
    random_state: int = 0,
    max_rows: int | None = 20_000,
    max_seconds: float | None = None,
    n_jobs: int | None = None,
    encoding: Params | None = None,
    class_weight: str | Mapping[Label, float] | None = None,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    callback: Callable[[int, int, str], None] | None = None,
) -> Comparison:
    """Compare classifiers on the same folds: scores with intervals, times and sizes, and which differences are noise.

    Each classifier is trained on the training part of every fold, encoder of tables included, with the same number of
    threads. One that fails is left out, and the result says why; Ctrl-C ends the comparison with what is finished.

    Parameters
    ----------
    X : array, CSR matrix or data frame with n_samples rows
        The examples. Tables are encoded as by `votron.table_classifier`, for each classifier.
    y : array of shape (n_samples,)
        The labels; one class needs as many rows as there are folds.
    estimators : list of str, or dict of classifiers, optional
        Names of `votron.evaluate.CANDIDATES`, or classifiers by names of your own; pipelines take the rows as they
        are. By default those of Votron that suit the data, and the majority: always the most frequent class.
    sklearn : bool, default=False
        Also compare with scikit-learn's usual classifiers, with their defaults.
    score : str, default="accuracy"
        One of `votron.evaluate.SCORES`, named as scikit-learn's scorers are.
    folds, repeats : int, default=5 and 2
        Number of stratified folds, and how often the rows are split anew.
    random_state : int, default=0
        Seed of the folds, of the drawing and of each fit.
    max_rows : int or None, default=20000
        Of more rows, so many are drawn, the same share of every class, but a row of a rare one for each fold.
    max_seconds : float, optional
        End after so long, checked between fits, with the classifiers that are finished.
    n_jobs : int or None, default=None
        Threads of each classifier. None: as many as this process may use.
    encoding : dict, optional
        Options of `votron.table_classifier`, such as ``{"missing": "mean"}``; without a table, "numeric" only.
    class_weight : dict or "balanced", optional
        Weights of classes, for the classifiers that take them, and in the score.
    sample_weight : array of shape (n_samples,), optional
        Weights of rows, in training and in the score; classifiers that take none are left out.
    confidence : float, default=0.95
        Confidence of the intervals; of the verdicts on all pairs together; and of those on the majority.
    callback : callable, optional
        Called after each fit with the number of fits done, that of all fits, and the name of the classifier.

    Returns
    -------
    Comparison
        The table, the best first: ``print(result.to_text())``, ``result.plot()``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron.evaluate import compare
    >>> result = compare(*load_iris(return_X_y=True), ["averaged", "majority"])
    >>> result.as_good(), len(result.best.scores)
    (['averaged'], 10)
    """
    start = time.monotonic()
    given = {"score": score, "folds": folds, "repeats": repeats, "random_state": random_state}
    given |= {"max_rows": max_rows, "max_seconds": max_seconds, "confidence": confidence}
    validate_parameter_constraints(_CONSTRAINTS, given, "compare")
    threads = effective_threads(n_jobs, owner="compare")
    rows = _checked(X, y, sample_weight, class_weight)
    drawn = _drawn(rows, max_rows, random_state, folds)
    splits = [split for k in range(repeats) for split in _stratified(drawn.y, folds, random_state + k)]
    settings = {"random_state": int(random_state), "n_jobs": threads, "class_weight": class_weight}
    models = _models(drawn.X, estimators, sklearn, encoding or {}, settings)
    end = math.inf if max_seconds is None else start + max_seconds
    with threadpool_limits(threads):
        found, left_out, stopped = _run(models, drawn, splits, score, end, callback)
    if not found and stopped == "interrupted":
        raise KeyboardInterrupt
    if not found:
        reasons = " ".join(f"{name}: {why}" for name, why in left_out.items())
        raise VotronError(f"No candidate could be compared. {reasons}")
    return Comparison(
        rows=tuple(sorted(found, key=lambda row: round(-row.score, 12))),
        score_name=score,
        left_out=left_out,
        folds=int(folds),
        repeats=int(repeats),
        random_state=int(random_state),
        n_rows=len(rows.y),
        n_used=len(drawn.y),
        n_threads=threads,
        confidence=float(confidence),
        weighted=drawn.scoring is not None,
        seconds=time.monotonic() - start,
        stopped=stopped,
        baseline=next((row.name for row in found if row.name == "majority"), None),
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows with labels, the weights that were given, and those with which errors are counted."""

    X: RowsLike
    y: Array
    weight: Floats | None
    scoring: Floats | None

    def take(self, at: Index) -> _Rows:
        weight, scoring = (None if each is None else each[at] for each in (self.weight, self.scoring))
        return _Rows(_safe_indexing(self.X, at), self.y[at], weight, scoring)


def _checked(
    X: RowsLike, y: Labels, sample_weight: ArrayLike | None, class_weight: str | Mapping[Label, float] | None
) -> _Rows:
    """Return rows and labels, without those of weight 0."""
    y, n = np.asarray(y), _num_samples(X)
    if y.shape != (n,):
        raise VotronError(f"compare takes one label for each of the {n} rows of X. Got y of shape {y.shape} instead.")
    kept, scoring = weighed(VotedPerceptronClassifier(class_weight=class_weight), y, sample_weight, scaled=True)
    given = None if sample_weight is None else np.array(np.broadcast_to(sample_weight, n), dtype=np.float64)
    if kept is not None:
        X, y = _safe_indexing(X, kept), y[kept]
        given = None if given is None else given[kept]
    classes, _ = encode_labels(y)
    check_two_classes(classes, (n, getattr(X, "shape", (n, 1))[-1]))
    return _Rows(X, y, given, scoring)


def _drawn(rows: _Rows, max_rows: int | None, seed: int, folds: int) -> _Rows:
    """Return of too many rows the same share of every class, but as many of a rare class as there are folds."""
    n, (_, codes, counts) = len(rows.y), np.unique(rows.y, return_inverse=True, return_counts=True)
    if max_rows is None or n <= max_rows:
        return rows
    shares = np.maximum(np.minimum(counts, folds), counts * max_rows // n)
    order = np.random.RandomState(seed).permutation(n)
    drawn = [order[codes[order] == code][:share] for code, share in enumerate(shares)]
    return rows.take(np.sort(np.concatenate(drawn)))


def _stratified(y: Array, folds: int, seed: int) -> _Splits:
    """Return for each fold the rows to learn from and those to predict."""
    if (most := np.unique(y, return_counts=True)[1].max()) < folds:
        what = f"must be at most {most}, the rows of the largest class. Got {folds} instead."
        raise VotronError(f"The 'folds' parameter of compare {what}", parameter="folds")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer rows than folds is in some of them only
        return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


def _usual_candidates(X: RowsLike, text: str | Collection[str] = ()) -> list[str]:
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


def _new_candidate(name: str) -> Estimator:
    path, params = CANDIDATES[name]
    module, _, cls = path.rpartition(".")
    return getattr(import_module(module), cls)(**params)


def _models(
    X: RowsLike,
    estimators: Iterable[str] | Mapping[str, Estimator] | None,
    sklearn: bool,
    options: Params,
    settings: Params,
) -> dict[str, Estimator]:
    """Return the classifiers to compare, unfitted, with those settings that they have and nobody set."""
    own = estimators if isinstance(estimators, Mapping) else {}
    usual = _usual_candidates(X, options.get("text", ()))
    theirs = [name for name in usual if name != "majority" and CANDIDATES[name][0].startswith("sklearn.")]
    names = [name for name in usual if name not in theirs] if estimators is None else list(estimators)
    names += theirs if sklearn else []
    wrong = [name for name in names if name not in CANDIDATES and name not in own]
    wrong += [each for each in own.values() if not isinstance(each, BaseEstimator)]
    if wrong or not names:
        raise VotronError(
            f"The 'estimators' parameter of compare must be among {joined(CANDIDATES)}, or a dict of classifiers. "
            f"Got {wrong[0] if wrong else names!r} instead.",
            parameter="estimators",
        )
    models = {}
    for name in names:
        model = clone(own[name]) if name in own else _new_candidate(name)
        classifier = classifier_of(model)
        known = classifier.get_params(deep=False)
        classifier.set_params(**{each: value for each, value in settings.items() if known.get(each, 0) is None})
        steps = [] if hasattr(model, "steps") else _steps_before(X, model, options)
        models[name] = ClassifierPipeline([*steps, ("model", model)]) if steps else model
    return models


def _steps_before(X: RowsLike, classifier: Estimator, options: Params) -> list[tuple[str, Estimator]]:
    """Return the steps that turn rows into vectors, as ``votron train`` has them."""
    if isinstance(classifier, DummyClassifier):
        return []
    usual = {"numeric": None, "text_features": None, "dates": None} if is_frame(X) else {}
    encoder = encoder_for(X, classifier, **{**usual, **options})
    steps = [] if encoder is None else [("encoder", encoder)]
    if type(classifier).__name__ == "HistGradientBoostingClassifier":  # which takes no sparse rows
        steps.append(("dense", FunctionTransformer(dense, accept_sparse=True)))
    return steps


def _run(
    models: Mapping[str, Estimator],
    rows: _Rows,
    splits: _Splits,
    score: str,
    end: float,
    callback: Callable[[int, int, str], None] | None,
) -> tuple[list[ComparisonRow], dict[str, str], str]:
    """Measure one classifier after another; return those that are finished, why others are not, and what stopped it."""
    found, left_out, done = [], dict.fromkeys(models, "It was not finished."), 0

    def after_fit(name: str) -> None:
        nonlocal done
        done += 1
        if callback is not None:
            callback(done, len(models) * len(splits), name)
        if time.monotonic() > end and done % len(splits):
            raise TimeoutError

    for name, model in models.items():
        try:
            if time.monotonic() > end:
                raise TimeoutError
            found.append(_measured(name, model, rows, splits, score, after_fit))
            del left_out[name]
        except KeyboardInterrupt:
            return found, left_out, "interrupted"
        except TimeoutError:
            return found, left_out, "out of time"
        except Exception as error:  # of anybody's class: the others go on
            left_out[name] = _reason(error)
            done = (1 + done // len(splits)) * len(splits)
    return found, left_out, ""


def _measured(
    name: str, model: Estimator, rows: _Rows, splits: _Splits, score: str, after_fit: Callable[[str], None]
) -> ComparisonRow:
    """Cross-validate a classifier."""
    classifier, tests = classifier_of(model), (test for _, test in splits)
    if rows.weight is not None and not has_fit_parameter(classifier, "sample_weight"):
        raise VotronError("It takes no weights of rows.")
    size: int | None = None

    def scores(model: Estimator, X: RowsLike, y: Array) -> dict[str, float]:
        nonlocal size
        fitted = classifier_of(model)
        if getattr(getattr(fitted, "history_", None), "interrupted", False):  # Votron's keep what they learnt
            raise KeyboardInterrupt
        test, size = next(tests), size or _size_of(model)
        weights = None if rows.scoring is None else rows.scoring[test]
        found = {"score": _score(score, model, X, y, weights), "predict": _predict_seconds(model, X, len(y))}
        after_fit(name)
        return found

    prefix = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
    params = {} if rows.weight is None else {f"{prefix}sample_weight": rows.weight}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = cross_validate(model, rows.X, rows.y, cv=splits, scoring=scores, params=params, error_score="raise")
    converged = not any(issubclass(each.category, ConvergenceWarning) for each in caught)
    scored, train, predict = (tuple(found[each].tolist()) for each in ("test_score", "fit_time", "test_predict"))
    remarks = () if converged else ("It did not converge.",)
    return ComparisonRow(name, type(classifier).__name__, scored, train, predict, size, remarks)


def _score(name: str, model: Estimator, X: RowsLike, y: Array, weights: Floats | None) -> float:
    if name == "neg_log_loss":  # also of a fold without rows of some class
        return -float(log_loss(y, model.predict_proba(X), labels=model.classes_, sample_weight=weights))
    if name != "roc_auc":
        return float(get_scorer(name)(model, X, y, sample_weight=weights))
    if not hasattr(model, "predict_proba") and not has_class_scores(classifier_of(model)):
        raise VotronError("It has no scores of classes, which roc_auc needs.")
    scores, _ = _get_response_values(model, X, ["predict_proba", "decision_function"])
    classes = model.classes_[1:] if scores.ndim == 1 else model.classes_
    area = mean_auc(y[:, None] == classes, scores.reshape(len(y), -1), weights)
    if area is None:
        raise VotronError("A fold has rows of one class only, which have no ROC curve.")
    return area


def _predict_seconds(model: Estimator, X: RowsLike, n: int) -> float:
    """Return the seconds that 1,000 rows take, made of the rows of a fold, several times over where these are fewer."""
    many = _safe_indexing(X, np.resize(np.arange(n), max(n, _PREDICTED_AT_ONCE)))
    start = time.perf_counter()
    predicted = model.predict(many)
    return (time.perf_counter() - start) * _PREDICTED_AT_ONCE / len(predicted)


def _size_of(model: Estimator) -> int | None:
    """Return the bytes of the model file of a fitted model, or of its pickle where no file can hold it."""
    with suppress(Exception), tempfile.TemporaryDirectory() as folder:
        save(model, path := Path(folder, "model.votron"))
        return path.stat().st_size
    with suppress(Exception):
        return len(pickle.dumps(model))
    return None


def _reason(error: Exception) -> str:
    """Return why a classifier is left out that has failed."""
    if isinstance(error, VotronError):
        return on_one_line(str(error))
    return shortened(f"{type(error).__name__}: {on_one_line(str(error)).removesuffix('.')}", _LONGEST) + "."
