"""`compare`: classifiers on the same folds of a repeated cross-validation."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from votron._util.frames import is_frame
from votron._util.pipelines import classifier_of
from votron._util.resources import effective_threads
from votron._util.text import joined
from votron._util.types import Estimator, Floats, Labels, Params, RowsLike
from votron.errors import VotronError
from votron.estimators.pipelines import ClassifierPipeline, encoder_for
from votron.evaluate._measuring import Callback, Entry, reporter, run
from votron.evaluate._result import Comparison, ComparisonRow
from votron.evaluate._rows import check_splitting, checked_rows, drawn_rows, out_of_range, stratified_splits
from votron.evaluate.candidates import CANDIDATES, candidates_for, facts_of
from votron.evaluate.scores import SCORES


def compare(
    X: RowsLike,
    y: Labels,
    estimators: Any = None,
    *,
    sklearn: bool = False,
    score: str = "accuracy",
    folds: int = 5,
    repeats: int = 2,
    random_state: int = 0,
    max_rows: int | None = 20_000,
    max_seconds: float | None = None,
    n_jobs: int | None = None,
    encoding: Mapping[str, Any] | None = None,
    class_weight: Any = None,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    callback: Callback | None = None,
) -> Comparison:
    """Compare classifiers on the same folds: scores with intervals, times and sizes, and which differences are noise.

    Each classifier is trained on the training part of every fold, encoder of tables included, one after another and
    with the same number of threads.

    Parameters
    ----------
    X : array, CSR matrix or data frame with n_samples rows
        The examples. Tables go through the recipe of `votron.table_classifier`, made for each classifier.
    y : array of shape (n_samples,)
        The labels. Each class needs at least two rows, and one class as many as there are folds.
    estimators : list of str, or dict of classifiers, optional
        Names of `votron.evaluate.CANDIDATES`, or classifiers by names of your own; pipelines take the rows as they
        are. By default those of Votron that suit the data, and the majority: always the most frequent class.
    sklearn : bool, default=False
        Also compare with scikit-learn's usual classifiers, with their defaults.
    score : {"accuracy", "balanced_accuracy", "f1_macro", "roc_auc", "neg_log_loss"}, default="accuracy"
        The score, by the name of scikit-learn's scorer.
    folds, repeats : int, default=5 and 2
        Number of stratified folds, and how often the rows are split anew.
    random_state : int, default=0
        Seed of the folds, of the drawing and of each fit.
    max_rows : int or None, default=20000
        Of more rows than this, so many are drawn, the same share of every class, but as many rows of a rare one as
        there are folds. None: use all.
    max_seconds : float, optional
        End after so long, with the classifiers that have finished at least one repeat. It is checked between fits.
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

    Raises
    ------
    VotronError
        If a name or a number is not among those allowed, a class has too few rows, or no classifier can be trained.

    Notes
    -----
    Ctrl-C ends the comparison with what is finished; if nothing is, it is raised as usual. A classifier that fails on a
    fold is left out, and the result says why.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from votron import VotedPerceptronClassifier
    >>> from votron.evaluate import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare(X, y, {"voted": VotedPerceptronClassifier(), "Gaussian": GaussianNB()})
    >>> sorted(result.as_good()), len(result.best.scores)
    (['Gaussian', 'voted'], 10)
    """
    start = time.monotonic()
    if not isinstance(score, str) or score not in SCORES:
        raise out_of_range("score", joined(map(repr, SCORES), "or"), score)
    if not (isinstance(confidence, float | int) and 0 < confidence < 1):
        raise out_of_range("confidence", "a number in the range (0, 1)", confidence)
    numbers = {"folds": folds, "repeats": repeats, "random_state": random_state}
    check_splitting(**numbers, max_rows=max_rows, max_seconds=max_seconds)
    threads = effective_threads(n_jobs, owner="compare")
    rows = checked_rows(X, y, sample_weight, class_weight)
    drawn = drawn_rows(rows, max_rows, random_state, folds)
    settings = {"random_state": int(random_state), "n_jobs": threads, "class_weight": class_weight}
    models, not_tried = _models(drawn.X, estimators, sklearn, dict(encoding or {}), settings)
    entries = [_entry(name, model, drawn.weight, class_weight) for name, model in models.items()]
    splits = (stratified_splits(drawn.y, folds, random_state + k) for k in range(repeats))
    end = math.inf if max_seconds is None else start + max_seconds
    with threadpool_limits(threads):
        stopped = run(entries, drawn, splits, SCORES[score], end, reporter(callback, len(entries) * folds * repeats))
    found = [each for each in entries if each.folds and not each.left_out]
    if not found and stopped == "interrupted":
        raise KeyboardInterrupt
    unfinished = "It was not finished." if stopped == "interrupted" else "There was no time left for it."
    left_out = {each.name: each.left_out or unfinished for each in entries if each not in found}
    if not found:
        reasons = " ".join(f"{name}: {why}" for name, why in left_out.items())
        raise VotronError(f"No candidate could be compared. {reasons}")
    common = min(len(each.folds) for each in found)  # whole repeats, of which some may have one more
    compared = [_row(each, common) for each in found]
    return Comparison(
        rows=tuple(sorted(compared, key=lambda row: round(-row.score, 12))),
        score_name=score,
        left_out=left_out,
        folds=int(folds),
        repeats=common // int(folds),
        random_state=int(random_state),
        n_rows=len(rows.y),
        n_used=len(drawn.y),
        n_threads=threads,
        confidence=float(confidence),
        weighted=drawn.scoring is not None,
        seconds=time.monotonic() - start,
        stopped=stopped,
        not_tried=not_tried,
        baseline=next((each.name for each in found if _is_baseline(each.classifier)), None),
        repeats_asked=int(repeats),
    )


def _row(entry: Entry, n_folds: int) -> ComparisonRow:
    folds = entry.folds[:n_folds]
    return ComparisonRow(
        entry.name,
        type(entry.classifier).__name__,
        tuple(each.score for each in folds),
        tuple(each.train_seconds for each in folds),
        tuple(each.predict_seconds for each in folds),
        *(entry.size or (None, False)),
        tuple(filter(None, [*entry.remarks, entry.did_not_converge])),
    )


def _is_baseline(classifier: Estimator) -> bool:
    """Tell whether a classifier always says the most frequent class, whatever it is called."""
    return isinstance(classifier, DummyClassifier) and classifier.strategy in ("prior", "most_frequent")


# -- what is given ----------------------------------------------------------------------------------------------------


def _models(
    X: RowsLike, estimators: Any, sklearn: bool, options: Params, settings: Params
) -> tuple[Params, dict[str, str]]:
    """Return the classifiers to compare, unfitted, and why others of the usual ones are not among them."""
    usual, unfit = candidates_for(facts_of(X, options.get("text", ())), sklearn=sklearn)
    beside = [name for name in usual if CANDIDATES[name].of_sklearn]
    own: Params = {}
    if estimators is None:
        names = usual
    elif isinstance(estimators, Mapping):
        own = {str(name): _own(name, each, X, options, settings) for name, each in estimators.items()}
        names = beside
    else:
        names = [*map(_known, [estimators] if isinstance(estimators, str) else estimators), *beside]
    models = own | {name: _candidate(name, X, options, settings) for name in names if name not in own}
    if not models:
        raise out_of_range("estimators", "names of at least one candidate", [])
    not_tried = {name: why for name, why in unfit.items() if name not in models}
    if estimators is not None:
        not_tried = {name: why for name, why in not_tried.items() if CANDIDATES[name].of_sklearn}
    return models, not_tried


def _entry(name: str, model: Estimator, sample_weight: Floats | None, class_weight: Any) -> Entry:
    """Return a classifier with what there is to say of weights that it does not take."""
    entry = Entry(name, model)
    if class_weight is not None and "class_weight" not in entry.classifier.get_params():
        entry.remarks.append("No weights of classes, which it does not take.")
    if sample_weight is not None and not has_fit_parameter(entry.classifier, "sample_weight"):
        entry.left_out = "It takes no weights of rows."
    return entry


def _known(name: Any) -> str:
    if not isinstance(name, str) or name not in CANDIDATES:
        raise out_of_range("estimators", f"among {joined(CANDIDATES)}, or a dict of classifiers", name)
    return name


def _candidate(name: str, X: RowsLike, options: Params, settings: Params) -> Any:
    candidate = CANDIDATES[name]
    classifier = candidate.new(**settings)
    encoder = [] if _is_baseline(classifier) else _encoder(X, classifier, options)
    return _model([*encoder, *candidate.steps()], classifier)


def _own(name: Any, estimator: Estimator, X: RowsLike, options: Params, settings: Params) -> Any:
    """Return a classifier of the user's, behind an encoder if it is no pipeline; parameters that are None are set."""
    if not isinstance(estimator, BaseEstimator) or not hasattr(estimator, "predict"):
        raise out_of_range("estimators", f"classifiers, as {name!r} is not", estimator)
    made: Any = clone(estimator)
    classifier = classifier_of(made)
    open_ones = [each for each, value in classifier.get_params(deep=False).items() if value is None]
    classifier.set_params(**{each: value for each, value in settings.items() if each in open_ones})
    return made if hasattr(made, "steps") else _model(_encoder(X, made, options), made)


def _encoder(X: RowsLike, classifier: Estimator, options: Params) -> list[tuple[str, Any]]:
    """Return the step that turns rows into vectors, as ``votron train`` has it."""
    usual = {"numeric": None, "text_features": None, "dates": None} if is_frame(X) else {}
    encoder = encoder_for(X, classifier, **{**usual, **options})
    return [] if encoder is None else [("encoder", encoder)]


def _model(steps: list[tuple[str, Any]], classifier: Estimator) -> Any:
    return ClassifierPipeline([*steps, ("model", classifier)]) if steps else classifier
