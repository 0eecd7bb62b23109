"""`compare`: learners on the same folds, as a function."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import _num_samples
from threadpoolctl import threadpool_limits

from votron._forecast import announce_long_work, announcing_long_work
from votron._frames import is_frame
from votron._pipelines import classifier_of
from votron._resources import effective_threads
from votron._sentences import duration, joined
from votron._types import Index
from votron.comparing._measuring import Course, Learner, LeftOutError, foretold_span
from votron.comparing._result import Comparison, ComparisonRow
from votron.comparing.candidates import CANDIDATES, candidates_for, facts_of
from votron.comparing.scores import SCORES
from votron.data.encoding import SCALERS
from votron.errors import Parameter, VotronError
from votron.estimators._search.rows import check_splitting, checked_rows, drawn_rows, stratified_splits
from votron.estimators.pipelines import ClassifierPipeline, table_encoder

Callback = Callable[[int, int, str], None]


def compare(
    X: Any,
    y: Any,
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
    sample_weight: Any = None,
    confidence: float = 0.95,
    callback: Callback | None = None,
) -> Comparison:
    """Compare learners on the same folds: scores with intervals, times and sizes, and which differences are noise.

    Each learner is trained whole on the training part of every fold, encoder of tables included. They run one after
    another, with as many threads each, after a few rows that nobody times, so that compiling is in no figure.

    Parameters
    ----------
    X : array, CSR matrix or data frame with n_samples rows
        The examples. Tables go through the recipe of `votron.table_classifier`, made for each learner.
    y : array of shape (n_samples,)
        The labels. Each class needs two rows at least, and one of them as many as there are folds.
    estimators : list of str, or dict of classifiers, optional
        Names of `votron.comparing.CANDIDATES`, or classifiers by names of your own; pipelines take the rows as they
        are. By default those of Votron that suit the data, and the majority: always the most frequent class.
    sklearn : bool, default=False
        Compare with scikit-learn's usual classifiers as well, with their defaults.
    score : {"accuracy", "balanced-accuracy", "macro-f1", "auc", "log-loss"}, default="accuracy"
        What they are compared by.
    folds, repeats : int, default=5 and 2
        Number of folds, stratified, and of times that rows are split into them anew.
    random_state : int, default=0
        Seed of the folds, of the drawing and of each fit.
    max_rows : int or None, default=20000
        Of more rows than this, so many are drawn, the same share of every class. None: use all.
    max_seconds : float, optional
        Leave out learners that take longer for all their folds. A fit of scikit-learn's that has begun is not stopped.
    n_jobs : int or None, default=None
        Threads of each learner. None: as many as this process may use.
    encoding : dict, optional
        Options of `votron.table_classifier`, such as ``{"missing": "mean"}``; of data that are no table "numeric" only.
    class_weight : dict or "balanced", optional
        Weights of classes, for the learners that take them, and in the score.
    sample_weight : array of shape (n_samples,), optional
        Weights of rows, in training and in the score; learners that take none are left out.
    confidence : float, default=0.95
        Of the intervals, and of the verdicts all together.
    callback : callable, optional
        Called with how many folds of all learners are done, how many there are, and the name of a learner: before its
        first rows, which are not counted, and after each of its folds.

    Returns
    -------
    Comparison
        The table, the best first, and what it comes to: ``print(result.to_text())``, ``result.plot()``.

    Raises
    ------
    VotronError
        If a name or a number is not among those allowed, a class has too few rows, or no learner can be trained.

    Notes
    -----
    Ctrl-C ends it early, with the learners that are finished; if there are none it is raised as usual. A learner that
    fails on a fold is left out, and the result says why.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from votron import VotedPerceptronClassifier
    >>> from votron.comparing import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare(X, y, {"voted": VotedPerceptronClassifier(), "Gaussian": GaussianNB()})
    >>> sorted(result.as_good()), len(result.best.scores)
    (['Gaussian', 'voted'], 10)
    """
    start = time.monotonic()
    _check_options(score, confidence)
    check_splitting(
        folds=folds,
        repeats=repeats,
        random_state=random_state,
        max_rows=max_rows,
        max_seconds=max_seconds,
        of="compare",
    )
    threads = effective_threads(n_jobs, owner="compare")
    rows = checked_rows(X, y, sample_weight, class_weight, of="compare")
    drawn = drawn_rows(rows, max_rows, random_state)
    options = {} if encoding is None else dict(encoding)
    settings = {"random_state": int(random_state), "n_jobs": threads, "class_weight": class_weight}
    learners, not_tried = _learners(drawn.X, estimators, sklearn, options, settings)
    splits = _repeated_splits(drawn.y, folds, repeats, random_state)
    course = Course(drawn, splits, SCORES[score], int(random_state))
    finished, left_out, stopped = _run(course, learners, threads, max_seconds, callback)
    if not finished:
        reasons = " ".join(f"{name}: {why}" for name, why in left_out.items())
        raise VotronError(f"No candidate could be compared. {reasons}")
    better = -1 if SCORES[score].greater_is_better else 1
    return Comparison(
        rows=tuple(sorted(map(_row, finished), key=lambda row: round(better * row.score, 12))),
        score_name=score,
        left_out=left_out,
        folds=int(folds),
        repeats=int(repeats),
        random_state=int(random_state),
        n_rows=_num_samples(X),
        n_used=len(drawn.y),
        n_threads=threads,
        confidence=float(confidence),
        weighted=drawn.scoring is not None,
        seconds=time.monotonic() - start,
        stopped=stopped,
        not_tried=not_tried,
    )


def _run(
    course: Course, learners: list[Learner], threads: int, max_seconds: float | None, callback: Callback | None
) -> tuple[list[Learner], dict[str, str], str]:
    """Measure one learner after another; return those that are finished, why others are not, and what stopped it."""
    finished: list[Learner] = []
    left_out: dict[str, str] = {}
    n_folds = len(course.splits)
    try:
        with threadpool_limits(threads):
            with _without_forecasts():
                foretold = {}
                for each in learners:
                    _reporter(callback, 0, len(learners) * n_folds, each)()
                    foretold[each.name] = course.warm_up(each, max_seconds)
            slow = {name: seconds for name, seconds in foretold.items() if max_seconds and seconds > 2 * max_seconds}
            announce_long_work(*foretold_span([each for name, each in foretold.items() if name not in slow]))
            for number, learner in enumerate(learners):
                report = _reporter(callback, number * n_folds, len(learners) * n_folds, learner)
                try:
                    if learner.name in slow:
                        raise LeftOutError(f"Its {n_folds} folds would take about {duration(slow[learner.name])}.")
                    with _without_forecasts():
                        course.measure(learner, max_seconds, report)
                    finished.append(learner)
                except LeftOutError as reason:
                    left_out[learner.name] = str(reason)
    except KeyboardInterrupt:
        if not finished:
            raise
        return finished, left_out, "interrupted"
    return finished, left_out, ""


@contextmanager
def _without_forecasts() -> Iterator[None]:
    """Let single fits say nothing of their time, since all have been foretold."""
    with announcing_long_work(lambda low, high: None):
        yield


def _reporter(callback: Callback | None, before: int, total: int, learner: Learner) -> Callable[[], None]:
    def report() -> None:
        if callback is not None:
            callback(before + len(learner.scores), total, learner.name)

    return report


def _row(learner: Learner) -> ComparisonRow:
    return ComparisonRow(
        learner.name,
        type(learner.classifier).__name__,
        tuple(learner.scores),
        tuple(learner.train_seconds),
        tuple(learner.predict_seconds),
        learner.n_bytes,
        learner.is_file,
        tuple(filter(None, [*learner.remarks, learner.did_not_converge])),
    )


# -- what is given ----------------------------------------------------------------------------------------------------


def _learners(
    X: Any, estimators: Any, sklearn: bool, options: dict[str, Any], settings: dict[str, Any]
) -> tuple[list[Learner], dict[str, str]]:
    """Return the learners, not fitted, and why others of the usual ones are not among them."""
    usual, unfit = candidates_for(facts_of(X, options.get("text", ())), sklearn=sklearn)
    beside = [name for name in usual if CANDIDATES[name].of_sklearn]
    own: list[Learner] = []
    if estimators is None:
        names = usual
    elif isinstance(estimators, Mapping):
        made = {str(name): _own(name, each, X, options, settings) for name, each in estimators.items()}
        own = [_weighed(Learner(name, model), settings) for name, model in made.items()]
        names = beside
    else:
        named = [estimators] if isinstance(estimators, str) else list(estimators)
        names = [*map(_known, named), *beside]
    names = [name for name in dict.fromkeys(names) if name not in {each.name for each in own}]
    if not names and not own:
        raise VotronError(Parameter("estimators", of="compare"), " must name one candidate at least. Got none instead.")
    unnamed = {name: why for name, why in unfit.items() if name not in names}
    not_tried = {name: why for name, why in unnamed.items() if estimators is None or CANDIDATES[name].of_sklearn}
    return [*own, *(_candidate(name, X, options, settings) for name in names)], not_tried


def _known(name: Any) -> str:
    if not isinstance(name, str) or name not in CANDIDATES:
        raise VotronError(
            Parameter("estimators", of="compare"),
            f" must be names among {joined(CANDIDATES)}, or a dict of classifiers. Got {name!r} instead.",
        )
    return name


def _candidate(name: str, X: Any, options: dict[str, Any], settings: dict[str, Any]) -> Learner:
    candidate = CANDIDATES[name]
    classifier = candidate.new(**settings)
    encoder = _encoder(X, classifier, options) if candidate.wants_vectors else []
    return _weighed(Learner(name, _model([*encoder, *candidate.steps()], classifier)), settings)


def _own(name: Any, estimator: Any, X: Any, options: dict[str, Any], settings: dict[str, Any]) -> Any:
    """Return a classifier of the user's, behind an encoder if it is no pipeline; parameters that are None are set."""
    if not isinstance(estimator, BaseEstimator) or not hasattr(estimator, "predict"):
        raise VotronError(
            Parameter("estimators", of="compare"), f" must be classifiers. Got {estimator!r} as {name!r} instead."
        )
    made = clone(estimator)
    classifier = classifier_of(made)
    open_ones = [each for each, value in classifier.get_params(deep=False).items() if value is None]
    classifier.set_params(**{each: value for each, value in settings.items() if each in open_ones})
    return made if hasattr(made, "steps") else _model(_encoder(X, made, options), made)


def _weighed(learner: Learner, settings: dict[str, Any]) -> Learner:
    if settings["class_weight"] is not None and "class_weight" not in learner.classifier.get_params():
        learner.remarks.append("No weights of classes, which it does not take.")
    return learner


def _encoder(X: Any, classifier: Any, options: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return what turns rows into vectors, as ``votron train`` has it."""
    if is_frame(X):
        usual = {"numeric": None, "text_features": None, "dates": None}
        return [("encoder", table_encoder(X, classifier, **{**usual, **options}))]
    scaler = SCALERS[options.get("numeric") or "keep"]
    return [] if scaler is None else [("encoder", scaler())]


def _model(steps: list[tuple[str, Any]], classifier: Any) -> Any:
    return ClassifierPipeline([*steps, ("model", classifier)]) if steps else classifier


def _repeated_splits(y: Any, folds: int, repeats: int, seed: int) -> list[tuple[Index, Index]]:
    """Return the folds of all repeats."""
    return [split for k in range(repeats) for split in stratified_splits(y, folds, seed + k, of="compare")]


def _check_options(score: Any, confidence: Any) -> None:
    if not isinstance(score, str) or score not in SCORES:
        raise VotronError(
            Parameter("score", of="compare"), f" must be {joined(map(repr, SCORES), 'or')}. Got {score!r} instead."
        )
    if not (isinstance(confidence, Real) and 0 < float(confidence) < 1):
        raise VotronError(
            Parameter("confidence", of="compare"), f" must be a number in the range (0, 1). Got {confidence!r} instead."
        )
