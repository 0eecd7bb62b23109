"""One setting, cross-validated: a fit and its scores for each fold."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.utils.validation import has_fit_parameter

from votron._util.types import Floats
from votron.errors import Parameter, VotronError
from votron.estimators._by_name import ESTIMATORS
from votron.estimators._search.choosing import ranks
from votron.estimators._search.folds import Fold
from votron.estimators._search.grids import Params
from votron.estimators._search.settings import Candidate, multiple_of_scale
from votron.estimators.base import Deadline
from votron.record import labels_of

Score = Callable[[Any, Any, NDArray[Any], Floats | None], float]
"""What makes a number, the higher the better, of a model, rows, labels and weights."""


@dataclass(frozen=True)
class FoldScores:
    """The scores of one fold, one for each point of a candidate, and the seconds that fit and scores took."""

    scores: list[float]
    fit_time: float
    score_time: float


@dataclass(eq=False)
class Trial:
    """A candidate on a number of training rows: its scores on each held-out part, at all its points."""

    candidate: Candidate
    rung: int
    n_rows: int
    folds: list[FoldScores]
    point: int | None = None
    """The point that was chosen among those of all trials; None: its own best counts."""

    @cached_property
    def scores(self) -> Floats:
        """Scores, (folds, points)."""
        return np.array([fold.scores for fold in self.folds])

    @cached_property
    def _own_best(self) -> Point:
        return points_of([self])[0]

    @property
    def rank(self) -> tuple[float, ...]:
        """What sorts before that of another trial if this one is better, each by itself."""
        return self._own_best.rank

    @property
    def best(self) -> int:
        """The place of the best point."""
        return self._own_best.k if self.point is None else self.point

    @property
    def score(self) -> float:
        """The mean score at the best point."""
        return float(self.scores[:, self.best].mean())

    def params(self, k: int | None = None) -> Params:
        """Return the parameters of a point, the best by default."""
        return {**self.candidate.setting, **self.candidate.points[self.best if k is None else k]}

    def times(self, name: str) -> Floats:
        """Return the seconds of each fold, of its "fit" or its "score"."""
        return np.array([getattr(fold, f"{name}_time") for fold in self.folds])


@dataclass(frozen=True)
class Point:
    """A point of a trial, and its rank among those of several."""

    trial: Trial
    k: int
    rank: tuple[float, ...]

    def is_better_than(self, other: Point, among: Sequence[Point]) -> bool:
        """Tell whether the steady score is higher than another point has by now, which is among these."""
        [now] = [each for each in among if each.trial is other.trial and each.k == other.k]
        return self.rank[:2] < now.rank[:2]


def points_of(trials: Sequence[Trial]) -> list[Point]:
    """Return the points of trials, the best first, by the neighbours among all of them."""
    places = [(trial, k) for trial in trials for k in range(len(trial.candidate.points))]
    params = [{"estimator": trial.candidate.estimator, **trial.params(k)} for trial, k in places]
    scores = [mean for trial in trials for mean in trial.scores.mean(axis=0).tolist()]
    keys = ranks(params, scores, [trial.rung for trial, _ in places])
    found = [Point(trial, k, key) for (trial, k), key in zip(places, keys, strict=True)]
    return sorted(found, key=lambda point: point.rank)


def fold_scores(candidate: Candidate, fixed: Params, fold: Fold, score: Score, end: float) -> FoldScores:
    """Fit a candidate on a fold and score it at all its points, before ``end``; raise `OutOfTime` then."""
    params = {**fixed, **candidate.setting}
    model = _new_model(candidate.estimator, {**params, **fold.resources(params)}, fold)
    if "epochs" in candidate.free:
        model.set_params(epochs=max(candidate.free["epochs"]))
    weight = {} if fold.weight is None else {"sample_weight": fold.weight}
    start = time.perf_counter()
    with warnings.catch_warnings(), Deadline(end, gives_up=True) as deadline:
        warnings.simplefilter("ignore", ConvergenceWarning)  # the scores tell what that cost
        model.fit(fold.X, fold.y, **weight)
        fitted = time.perf_counter()
        found = []
        for predictor in _predictors(candidate, model, fold.X_test):
            deadline.is_over()
            found.append(score(predictor, fold.X_test, fold.y_test, fold.test_weight))
    return FoldScores(found, fitted - start, time.perf_counter() - fitted)


def _new_model(estimator: str, params: Params, fold: Fold) -> Any:
    """Return a classifier, not fitted, with those parameters that it has; a multiple of the scale is a number."""
    cls = ESTIMATORS[estimator]
    factor = multiple_of_scale(params.get("gamma"))
    if factor is not None:
        params = params | {"gamma": factor * fold.scale()}
    known = cls._get_param_names()
    return cls(**{name: value for name, value in params.items() if name in known})


def check_weights(estimator: str) -> None:
    """Refuse weights for a classifier that takes none."""
    cls = ESTIMATORS[estimator]
    if not has_fit_parameter(cls, "sample_weight"):
        raise VotronError(f"{cls.__name__} takes no weights of rows: search without sample_weight.")


def _predictors(candidate: Candidate, model: Any, X: Any) -> Iterator[Any]:
    """Yield what predicts at each point, in their order."""
    points = candidate.points
    if "rule" not in candidate.free:
        for params in points:
            yield model.set_params(**params) if params else model
        return
    n = model.record_.n_examples
    pairs = list(dict.fromkeys((each["rule"], each["normalize_vectors"]) for each in points))
    at = dict.fromkeys(max(each["epochs"], 1 / n) for each in points)  # before the first row there is nothing
    stages = model.staged_decision_function(X, at=at, rules=pairs)
    known = {(moment, *pair): scores[pair] for moment, scores in stages for pair in pairs}
    for each in points:
        scores = known[max(each["epochs"], 1 / n), each["rule"], each["normalize_vectors"]]
        yield Scored(model.classes_, scores)


# -- scores -----------------------------------------------------------------------------------------------------------


class Scored(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are there already, as scikit-learn's scorers take one."""

    def __init__(self, classes: Any = None, scores: Any = None) -> None:
        self.classes, self.scores = classes, scores
        self.classes_ = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: Any) -> Any:
        """Return the scores."""
        return self.scores

    def predict(self, X: Any) -> Any:
        """Return the labels."""
        return self.classes[labels_of(self.scores)]


def accuracy(model: Any, X: Any, y: NDArray[Any], weight: Floats | None) -> float:
    """Return the share of rows that are predicted rightly, by their weights."""
    right = model.predict(X) == y
    return float(np.mean(right) if weight is None else np.average(right, weights=weight))


def minus_error(model: Any, X: Any, y: NDArray[Any], weight: Floats | None) -> float:
    """Return the share of rows that are predicted wrongly, by their weights, below 0."""
    wrong = model.predict(X) != y
    return -float(np.mean(wrong) if weight is None else np.average(wrong, weights=weight))


def score_by(scoring: Any) -> Score:
    """Return the score by a scorer of scikit-learn, or its name; None: accuracy."""
    if scoring is None or scoring == "accuracy":
        return accuracy
    scorer = get_scorer(scoring)
    asked = getattr(scorer, "_response_method", "predict")
    if not any(hasattr(Scored, name) for name in ([asked] if isinstance(asked, str) else asked)):
        raise VotronError(
            Parameter("scoring", of="VotedPerceptronClassifierCV"),
            f" must be a scorer of labels or scores, since a search has no probabilities. Got {scoring!r} instead.",
        )
    weighs = _takes_weights(scorer)

    def score(model: Any, X: Any, y: NDArray[Any], weight: Floats | None) -> float:
        return float(
            scorer(model, X, y, sample_weight=weight) if weighs and weight is not None else scorer(model, X, y)
        )

    return score


def _takes_weights(scorer: Any) -> bool:
    """Tell whether a scorer, or the function of labels that it was made of, has a parameter for weights."""
    known = inspect.signature(getattr(scorer, "_score_func", scorer)).parameters
    return "sample_weight" in known or any(each.kind is each.VAR_KEYWORD for each in known.values())
