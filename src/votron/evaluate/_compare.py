"""`compare`: learners on the same folds, as a function."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from numbers import Real
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import _num_samples
from threadpoolctl import threadpool_limits

from votron._util.forecast import announce_long_work, announcing_long_work
from votron._util.frames import is_frame
from votron._util.pipelines import classifier_of
from votron._util.resources import effective_threads
from votron._util.text import duration, joined
from votron._util.types import Index
from votron.data.encoding import SCALERS
from votron.errors import Parameter, VotronError
from votron.estimators.base import OutOfTime
from votron.estimators.pipelines import ClassifierPipeline, table_encoder
from votron.evaluate._measuring import Course, Learner, LeftOutError, foretold_span, measure, out_of_time
from votron.evaluate._places import Places
from votron.evaluate._result import Comparison, ComparisonRow
from votron.evaluate._rows import check_splitting, checked_rows, drawn_rows, stratified_splits
from votron.evaluate.candidates import CANDIDATES, candidates_for, facts_of
from votron.evaluate.scores import SCORES

Callback = Callable[[int, int, str], None]

_UNLIKELY = 2.0
"""How many times the time that is left a learner may be foretold to take, and is tried all the same."""


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
        Names of `votron.evaluate.CANDIDATES`, or classifiers by names of your own; pipelines take the rows as they
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
        Of more rows than this, so many are drawn, the same share of every class, but as many rows of a rare one as
        there are folds. None: use all.
    max_seconds : float, optional
        End after so long, with the learners that have gone through all folds of one repeat at least, the quick ones
        first; all are compared by the repeats that each of them has finished. Those that do not look at the time, such
        as scikit-learn's, are then fitted in a process of their own, which is ended.
    n_jobs : int or None, default=None
        Threads of each learner. None: as many as this process may use.
    encoding : dict, optional
        Options of `votron.table_classifier`, such as ``{"missing": "mean"}``; of data that are no table "numeric" only.
    class_weight : dict or "balanced", optional
        Weights of classes, for the learners that take them, and in the score.
    sample_weight : array of shape (n_samples,), optional
        Weights of rows, in training and in the score; learners that take none are left out.
    confidence : float, default=0.95
        Of the intervals; of the verdicts on all pairs together; and of those on the majority by themselves.
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
    Ctrl-C ends it early, in the same way; if there is no learner to compare it is raised as usual. A learner that fails
    on a fold is left out, and the result says why.

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
    drawn = drawn_rows(rows, max_rows, random_state, folds)
    options = {} if encoding is None else dict(encoding)
    settings = {"random_state": int(random_state), "n_jobs": threads, "class_weight": class_weight}
    learners, not_tried = _learners(drawn.X, estimators, sklearn, options, settings)
    splits = _repeated_splits(drawn.y, folds, repeats, random_state)
    course = Course(drawn, splits, SCORES[score], int(random_state))
    end = math.inf if max_seconds is None else start + max_seconds
    left_out, stopped = _run(course, learners, threads, end, callback)
    finished = _by_common_repeats(learners, int(folds))
    if stopped and not finished:
        raise KeyboardInterrupt
    left_out = {name: why for name, why in left_out.items() if name not in {each.name for each in finished}}
    if not finished:
        reasons = " ".join(f"{name}: {why}" for name, why in left_out.items())
        raise VotronError(f"No candidate could be compared. {reasons}")
    better = -1 if SCORES[score].greater_is_better else 1
    return Comparison(
        rows=tuple(sorted(map(_row, finished), key=lambda row: round(better * row.score, 12))),
        score_name=score,
        left_out=left_out,
        folds=int(folds),
        repeats=len(finished[0].folds) // int(folds),
        random_state=int(random_state),
        n_rows=_num_samples(X),
        n_used=len(drawn.y),
        n_threads=threads,
        confidence=float(confidence),
        weighted=drawn.scoring is not None,
        seconds=time.monotonic() - start,
        stopped=stopped,
        not_tried=not_tried,
        baseline=next((each.name for each in finished if each.is_baseline), None),
        n_without_weight=_num_samples(X) - len(rows.y),
        repeats_asked=int(repeats),
    )


def _run(
    course: Course, learners: list[Learner], threads: int, end: float, callback: Callback | None
) -> tuple[dict[str, str], str]:
    """Measure one learner after another; return why some have not finished, and what stopped it."""
    left_out: dict[str, str] = {}
    stopped, report = "", _reporter(callback, learners, len(course.splits))
    try:
        with threadpool_limits(threads), Places(course, threads, end) as places:
            foretold = _foretold(places, learners, end, report)
            _announce(foretold, end)
            with _without_forecasts():
                _measure_all(course, places, learners, foretold, end, report, left_out)
    except KeyboardInterrupt:
        stopped = "interrupted"
    return {each.name: left_out[each.name] for each in learners if each.name in left_out}, stopped


def _by_common_repeats(learners: list[Learner], folds: int) -> list[Learner]:
    """Return the learners with one whole repeat at least, each with the folds of the repeats that all of them have.

    To be compared by fewer folds is better than to be left out.
    """
    found = [each for each in learners if len(each.folds) >= folds]
    n_common = min((len(each.folds) // folds for each in found), default=0) * folds
    for each in found:
        del each.folds[n_common:]
    return found


def _measure_all(
    course: Course,
    places: Places,
    learners: list[Learner],
    foretold: Mapping[str, float],
    end: float,
    report: Callable[[Learner], None],
    left_out: dict[str, str],
) -> None:
    """Measure one after another; note why some are left out.

    With a time limit the quick ones go first, each with its share of the time; those that need more than their share
    go on, with the folds that they have, in what the others have left.
    """
    n_folds, waiting = len(course.splits), learners
    for is_last in (False, True):
        order = sorted(waiting, key=lambda each: foretold[each.name]) if math.isfinite(end) else waiting
        waiting = []
        for number, learner in enumerate(order):
            until = end
            try:
                _check_time(learner, foretold[learner.name], end, n_folds)
                places.prepare(learner)
                if math.isinf(foretold[learner.name]) and not learner.seconds:
                    _check_few_rows(places, learner, end, n_folds)
                if not is_last:
                    until = _end_of_turn([foretold[each.name] for each in order[number + 1 :]], end)
                measure(course, learner, partial(places.fold, learner, until), end, partial(report, learner))
            except LeftOutError as reason:
                left_out[learner.name] = str(reason)
            except OutOfTime:
                if is_last or time.monotonic() < until:  # by the folds so far there is not time enough
                    left_out[learner.name] = out_of_time(learner, n_folds)
                else:
                    waiting.append(learner)


def _foretold(
    places: Places, learners: list[Learner], end: float, report: Callable[[Learner], None]
) -> dict[str, float]:
    """Warm up all learners; return how long all folds of each will take, as far as can be told."""
    foretold = {}
    with _without_forecasts():
        for number, learner in enumerate(learners):
            report(learner)
            try:
                # Half of the time is for trying out; what one leaves of its share is for those after it.
                share = max(end - time.monotonic(), 0.0) / (2 * (len(learners) - number))
                foretold[learner.name] = places.foretell(learner, share)
            except (OutOfTime, LeftOutError):
                foretold[learner.name] = math.inf  # the last to have its turn
    return foretold


def _announce(foretold: Mapping[str, float], end: float) -> None:
    """Say how long it takes, where that is long."""
    left = end - time.monotonic()
    seconds = [each for each in foretold.values() if each <= _UNLIKELY * left and math.isfinite(each)]
    low, high = foretold_span(seconds)
    announce_long_work(min(low, left), min(high, left))


def _check_time(learner: Learner, foretold: float, end: float, n_folds: int) -> None:
    """Leave out a learner for which there is clearly too little time."""
    left = end - time.monotonic()
    if left <= 0:
        raise LeftOutError(out_of_time(learner, n_folds) if learner.seconds else "There was no time left for it.")
    if not learner.seconds and math.isfinite(foretold) and foretold > _UNLIKELY * left:
        raise LeftOutError(
            f"Its {n_folds} folds would take about {duration(foretold)}, and {duration(left)} were left."
        )


def _check_few_rows(places: Places, learner: Learner, end: float, n_folds: int) -> None:
    """Leave out a learner that could not be tried out, if few rows take longer than there is time for each fold.

    They are tried once more, since the first time may have been that of compiling.
    """
    left = end - time.monotonic()
    share = left / n_folds
    try:
        places.warm_up(learner, share)
    except OutOfTime:
        raise LeftOutError(
            f"It takes longer than there was time for: a fit on few rows was not over after {duration(share)}, "
            f"and {duration(left)} were left for its {n_folds} folds."
        ) from None


def _end_of_turn(others: Sequence[float], end: float) -> float:
    """Return until when a learner may go on now: as long as each of those after it that have a chance, by forecasts.

    Examples
    --------
    >>> _end_of_turn([0.1, 0.2], math.inf)
    inf
    """
    now = time.monotonic()
    rivals = sum(math.isinf(each) or each <= _UNLIKELY * (end - now) for each in others)
    return now + (end - now) / (1 + rivals)


@contextmanager
def _without_forecasts() -> Iterator[None]:
    """Let single fits say nothing of their time, since all have been foretold."""
    with announcing_long_work(lambda low, high: None):
        yield


def _reporter(callback: Callback | None, learners: list[Learner], n_folds: int) -> Callable[[Learner], None]:
    """Return what tells the callback how far all of them are."""

    def report(learner: Learner) -> None:
        if callback is not None:
            callback(sum(len(each.folds) for each in learners), len(learners) * n_folds, learner.name)

    return report


def _row(learner: Learner) -> ComparisonRow:
    first = learner.folds[0]
    return ComparisonRow(
        learner.name,
        type(learner.classifier).__name__,
        tuple(each.score for each in learner.folds),
        tuple(each.train_seconds for each in learner.folds),
        tuple(each.predict_seconds for each in learner.folds),
        first.n_bytes,
        first.is_file,
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
