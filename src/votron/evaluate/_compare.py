"""`compare`: classifiers on the same folds of a repeated cross-validation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from numbers import Integral, Real

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from votron._util.frames import is_frame
from votron._util.pipelines import classifier_of
from votron._util.resources import effective_threads
from votron._util.text import joined
from votron._util.types import Estimator, Floats, Label, Labels, Params, RowsLike
from votron.errors import VotronError
from votron.estimators.pipelines import ClassifierPipeline, encoder_for
from votron.evaluate._measuring import Entry, run
from votron.evaluate._result import Comparison, ComparisonRow
from votron.evaluate._rows import checked_rows, drawn_rows, stratified_splits
from votron.evaluate.candidates import CANDIDATES, facts_of
from votron.evaluate.scores import SCORES

_CONSTRAINTS = {
    "score": [StrOptions(set(SCORES))],
    "folds": [Interval(Integral, 2, None, closed="left")],
    "repeats": [Interval(Integral, 1, None, closed="left")],
    "random_state": [Interval(Integral, 0, None, closed="left")],
    "max_rows": [Interval(Integral, 4, None, closed="left"), None],
    "max_seconds": [Interval(Real, 0, None, closed="neither"), None],
    "confidence": [Interval(Real, 0, 1, closed="neither")],
}


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
    given = {"score": score, "folds": folds, "repeats": repeats, "random_state": random_state}
    given |= {"max_rows": max_rows, "max_seconds": max_seconds, "confidence": confidence}
    validate_parameter_constraints(_CONSTRAINTS, given, "compare")
    threads = effective_threads(n_jobs, owner="compare")
    rows = checked_rows(X, y, sample_weight, class_weight)
    drawn = drawn_rows(rows, max_rows, random_state, folds)
    settings = {"random_state": int(random_state), "n_jobs": threads, "class_weight": class_weight}
    models = _models(drawn.X, estimators, sklearn, encoding or {}, settings)
    entries = [_entry(name, model, drawn.weight, class_weight) for name, model in models.items()]
    splits = (stratified_splits(drawn.y, folds, random_state + k) for k in range(repeats))
    end, done = math.inf if max_seconds is None else start + max_seconds, count(1)

    def report(name: str) -> None:
        if callback is not None:
            callback(next(done), len(entries) * folds * repeats, name)

    with threadpool_limits(threads):
        stopped = run(entries, drawn, splits, SCORES[score], end, report)
    found = [each for each in entries if each.folds and not each.left_out]
    if not found and stopped == "interrupted":
        raise KeyboardInterrupt
    unfinished = "It was not finished." if stopped == "interrupted" else "There was no time left for it."
    left_out = {each.name: each.left_out or unfinished for each in entries if each not in found}
    if not found:
        reasons = " ".join(f"{name}: {why}" for name, why in left_out.items())
        raise VotronError(f"No candidate could be compared. {reasons}")
    common = min(len(each.folds) for each in found)  # whole repeats, of which some may have one more
    return Comparison(
        rows=tuple(sorted((_row(each, common) for each in found), key=lambda row: round(-row.score, 12))),
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
        tuple(dict.fromkeys(entry.remarks)),
    )


def _is_baseline(classifier: Estimator) -> bool:
    return isinstance(classifier, DummyClassifier) and classifier.strategy in ("prior", "most_frequent")


# -- what is given ----------------------------------------------------------------------------------------------------


def _models(
    X: RowsLike,
    estimators: Iterable[str] | Mapping[str, Estimator] | None,
    sklearn: bool,
    options: Params,
    settings: Params,
) -> dict[str, Estimator]:
    """Return the classifiers to compare, unfitted."""
    facts = facts_of(X, options.get("text", ()))
    usual = [name for name, each in CANDIDATES.items() if each.suits(facts)]
    named = [name for name in usual if not CANDIDATES[name].of_sklearn] if estimators is None else list(estimators)
    own = estimators if isinstance(estimators, Mapping) else {}
    names = [*named, *(name for name in usual if sklearn and CANDIDATES[name].of_sklearn)]
    wrong = [name for name in names if name not in CANDIDATES and name not in own]
    if wrong or not names:
        raise VotronError(
            f"The 'estimators' parameter of compare must be among {joined(CANDIDATES)}, or a dict of classifiers. "
            f"Got {wrong[0] if wrong else names!r} instead.",
            parameter="estimators",
        )
    return {
        name: _own(own[name], X, options, settings) if name in own else _candidate(name, X, options, settings)
        for name in names
    }


def _entry(
    name: str, model: Estimator, sample_weight: Floats | None, class_weight: str | Mapping[Label, float] | None
) -> Entry:
    """Return a classifier with what there is to say of weights that it does not take."""
    entry = Entry(name, model)
    if class_weight is not None and "class_weight" not in entry.classifier.get_params():
        entry.remarks.append("No weights of classes, which it does not take.")
    if sample_weight is not None and not has_fit_parameter(entry.classifier, "sample_weight"):
        entry.left_out = "It takes no weights of rows."
    return entry


def _candidate(name: str, X: RowsLike, options: Params, settings: Params) -> Estimator:
    candidate = CANDIDATES[name]
    classifier = candidate.new(**settings)
    encoder = [] if _is_baseline(classifier) else _encoder(X, classifier, options)
    return _model([*encoder, *candidate.steps()], classifier)


def _own(estimator: Estimator, X: RowsLike, options: Params, settings: Params) -> Estimator:
    """Return a classifier of the user's, behind an encoder if it is no pipeline; parameters that are None are set."""
    if not isinstance(estimator, BaseEstimator):
        raise VotronError(
            f"The 'estimators' parameter of compare must have classifiers as values. Got {estimator!r} instead.",
            parameter="estimators",
        )
    made = clone(estimator)
    classifier = classifier_of(made)
    open_ones = [each for each, value in classifier.get_params(deep=False).items() if value is None]
    classifier.set_params(**{each: value for each, value in settings.items() if each in open_ones})
    return made if hasattr(made, "steps") else _model(_encoder(X, made, options), made)


def _encoder(X: RowsLike, classifier: Estimator, options: Params) -> list[tuple[str, Estimator]]:
    """Return the step that turns rows into vectors, as ``votron train`` has it."""
    usual = {"numeric": None, "text_features": None, "dates": None} if is_frame(X) else {}
    encoder = encoder_for(X, classifier, **{**usual, **options})
    return [] if encoder is None else [("encoder", encoder)]


def _model(steps: list[tuple[str, Estimator]], classifier: Estimator) -> Estimator:
    return ClassifierPipeline([*steps, ("model", classifier)]) if steps else classifier
