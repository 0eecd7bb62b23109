"""The search for parameters by cross-validation, on more and more rows.

Problem: which setting of the voted perceptron predicts best rows that it has not seen. Method: each setting is fitted
once a fold, and one scan over its record scores every rule at every moment. Settings are tried on a share of the
training rows first, and the best third of them on three times as many, until all rows are used (successive halving;
Jamieson & Talwalkar, 2016). Where the best value of a list is its least or its largest, the next value is tried too.
"""

from __future__ import annotations

import inspect
import math
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer

from votron._util.progress import Progress
from votron._util.types import Array, Classes, Floats, Index, Params, Rows, Scores
from votron._version import __version__
from votron.errors import VotronError
from votron.estimators._grid import Setting, beyond, first_settings, moments_until, rank, steady_scores
from votron.estimators._training import OutOfTime, resolved_gamma
from votron.estimators.voted import VotedPerceptronClassifier
from votron.record import labels_of

if TYPE_CHECKING:
    from votron.estimators.voted_cv import VotedPerceptronClassifierCV

_SHARE, _LEAST_ROWS, _LEAST_KEPT = 3, 500, 4
"""A step of halving has three times the rows of the one before and a third of its settings, but at least so many."""

Part = tuple[Rows, Array, Floats | None]


@dataclass(eq=False)
class Folds:
    """Rows and how they are split; ``test_weight`` is what they count in scores."""

    rows: Rows
    labels: Array
    weight: Floats | None
    test_weight: Floats | None
    splits: list[tuple[Index, Index]]
    seed: int

    def __post_init__(self) -> None:
        self._codes, rng = np.unique(self.labels, return_inverse=True)[1], np.random.RandomState(self.seed)
        self.splits = [(np.sort(train), test) for train, test in self.splits]
        self._orders = [with_every_class_first(train, self._codes, rng) for train, _ in self.splits]
        self.n_rows = min(len(train) for train, _ in self.splits)

    def split(self, fold: int, n_rows: int) -> tuple[Part, Part]:
        """Return so many training rows of a fold, with every class, and rows to predict."""
        train, test = self.splits[fold]
        if n_rows < self.n_rows:  # else all, also where another fold has one row more
            train = np.sort(self._orders[fold][:n_rows])
            if len(test) > (most := 2 * n_rows):  # to predict them takes time too
                test = np.sort(with_every_class_first(test, self._codes, np.random.RandomState(self.seed))[:most])
        return self._part(train, self.weight), self._part(test, self.test_weight)

    def _part(self, at: Index, weight: Floats | None) -> Part:
        return self.rows[at], self.labels[at], None if weight is None else weight[at]


def with_every_class_first(rows: Index, codes: NDArray[np.int64], rng: np.random.RandomState, least: int = 1) -> Index:
    """Return rows in random order, ``least`` of every class at the head, so that the first few are a sample of all."""
    shuffled = rng.permutation(rows)
    by_class = np.argsort(codes[shuffled], kind="stable")
    counts = np.bincount(codes[shuffled])
    place = np.empty(len(rows), dtype=np.int64)
    place[by_class] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.concatenate([shuffled[place < least], shuffled[place >= least]])


@dataclass(eq=False)
class Trial:
    """A setting, cross-validated on a number of training rows."""

    setting: Setting
    rung: int
    n_rows: int
    scores: Floats
    """By fold, moment and rule."""
    fit_times: Floats

    @property
    def best_score(self) -> float:
        return float(np.nan_to_num(self.scores.mean(axis=0), nan=-math.inf).max())


class Point(NamedTuple):
    """A moment and a rule of a trial, and how it compares with others."""

    rank: tuple[float, ...]
    trial: Trial
    params: Params
    scores: Floats
    score: float
    steady: float


def ranked(trials: Iterable[Trial], rules: Sequence[str]) -> list[Point]:
    found = [
        (trial, trial.setting.params | {"epochs": moment, "rule": rule}, trial.scores[:, i, j])
        for trial in trials
        for i, moment in enumerate(moments_until(trial.setting.epochs))
        for j, rule in enumerate(rules)
    ]
    params, rungs = [each for _, each, _ in found], [trial.rung for trial, _, _ in found]
    scores = [mean for trial in trials for mean in trial.scores.mean(axis=0).ravel().tolist()]
    steady = steady_scores(params, scores, rungs)
    ranks = map(rank, params, scores, steady, rungs)
    points = [Point(first, *each, *last) for first, each, *last in zip(ranks, found, scores, steady, strict=True)]
    return sorted(points, key=lambda point: point.rank)


def best_of_each(points: Sequence[Point]) -> list[Point]:
    """Return the first point of each trial."""
    found: dict[Trial, Point] = {}
    for point in points:
        found.setdefault(point.trial, point)
    return list(found.values())


@dataclass(eq=False)
class _Scored(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are there already, as scikit-learn's scorers take one."""

    classes_: Classes
    scores: Scores

    def decision_function(self, X: Rows) -> Scores:
        return self.scores

    def predict(self, X: Rows) -> Array:
        return np.asarray(self.classes_[labels_of(self.scores)])


def _accuracy(model: _Scored, X: Rows, y: Array, sample_weight: Floats | None) -> float:
    return float(np.average(model.predict(X) == y, weights=sample_weight))


def scorer_for(scoring: str | Callable[..., float] | None) -> Callable[..., float]:
    """Return a scorer that takes a model, rows, labels and ``sample_weight``; None: accuracy."""
    scorer: Callable[..., float] = get_scorer("accuracy" if scoring is None else scoring)
    asked = getattr(scorer, "_response_method", "predict")
    if not any(hasattr(_Scored, name) for name in ([asked] if isinstance(asked, str) else asked)):
        raise VotronError(
            "The 'scoring' parameter of VotedPerceptronClassifierCV must be a scorer of labels or scores, since a "
            f"search has no probabilities. Got {scoring!r} instead.",
            parameter="scoring",
        )
    if "sample_weight" in inspect.signature(getattr(scorer, "_score_func", scorer)).parameters:
        return scorer
    return lambda model, X, y, sample_weight: scorer(model, X, y)


@dataclass(eq=False)
class Search:
    """The search for parameters of a model."""

    model: VotedPerceptronClassifierCV
    folds: Folds
    given: dict[str, list[Any]]
    """Values of parameters whose lists do not go on at their edges."""
    rules: list[str]
    fixed: Params
    """Parameters that are the same for all settings."""
    progress: Progress
    trials: dict[tuple[int, Hashable], Trial] = field(default_factory=dict)
    """By step of halving and setting; a trial with more epochs takes the place of one with fewer."""
    skipped: list[tuple[Setting, ValueError]] = field(default_factory=list)
    stopped: str = ""

    def run(self) -> list[Point]:
        """Search, and return the best moment and rule of each trial, the best first."""
        self._started = time.monotonic()
        scoring, folder, self._same = self.model.scoring, self.model.resume, list[object]()
        # scikit-learn's accuracy checks labels each time
        self.scorer = _accuracy if scoring in (None, "accuracy") else scorer_for(scoring)
        self._fold_result = joblib.Memory(folder, verbose=0).cache(fold_result, ignore=["search", "end"])
        if folder is not None:
            folds, model, rows = self.folds, self.model, self.folds.rows
            data = rows if isinstance(rows, np.ndarray) else (rows.shape, rows.data, rows.indices, rows.indptr)
            digest = joblib.hash([data, folds.labels, folds.weight, folds.test_weight, folds.splits, folds.seed])
            read = [model.scoring, model.coef0, model.normalize_kernel, model.class_weight]
            self._same = [__version__, digest, self.rules, *read]
        self.scale = resolved_gamma("scale", self.folds.rows)
        settings = first_settings(self.given, self.scale, self.folds.rows.shape[1])
        sizes = [self.folds.n_rows]
        while self.model.halving and sizes[0] // _SHARE >= _LEAST_ROWS:
            sizes.insert(0, sizes[0] // _SHARE)
        try:
            for rung, n_rows in enumerate(sizes):
                settings = self._rung(rung, n_rows, settings)
        except OutOfTime:
            self.stopped = "out of time"
        except KeyboardInterrupt:
            if not self.trials:
                raise
            self.stopped = "interrupted"
        if not self.trials:
            first = self.skipped[0][1]
            raise first if len(self.skipped) == 1 else VotronError(f"No setting could be fitted. The first: {first}")
        found = best_of_each(ranked(self.trials.values(), self.rules))
        if math.isnan(found[0].score):
            raise VotronError("No setting could be scored: the score of each is NaN in one fold at least.")
        return found

    def _rung(self, rung: int, n_rows: int, settings: list[Setting]) -> list[Setting]:
        """Try settings on so many rows, and what lies past the edges; return those to go on with, the best first."""
        queue, n_done, followed, points = list(settings), 0, None, list[Point]()
        while queue:
            self._try(queue.pop(0), rung, n_rows)
            n_done += 1
            if self.trials:
                self.progress.total = n_done + len(queue)
                words = f"{n_done} of {n_done + len(queue)} settings on {n_rows:,} rows"
                self.progress.update(n_done, f"{words}, best {self._leader.best_score:.4f}")
            if not queue:
                points = ranked([each for each in self.trials.values() if each.rung == rung], self.rules)
                now = [point.rank for point in points if followed is not None and point.params == followed.params]
                if points and (not now or points[0].rank[:2] < now[0][:2]):  # better, and not only as good
                    followed = points[0]
                    tried = [each.setting for each in self.trials.values()] + [setting for setting, _ in self.skipped]
                    best, moment = followed.trial.setting, followed.params["epochs"]
                    queue = beyond(best, moment, tried, self.given, self.scale)
        best_first = best_of_each(points)
        n_kept = max(_LEAST_KEPT, math.ceil(len(best_first) / _SHARE))
        return [point.trial.setting for point in best_first[:n_kept]]

    @property
    def _leader(self) -> Trial:
        """The trial of the highest score on the most rows."""
        return max(self.trials.values(), key=lambda trial: (trial.rung, trial.best_score))

    def _try(self, setting: Setting, rung: int, n_rows: int) -> None:
        """Cross-validate a setting, or skip it if it cannot be fitted on these data."""
        end, found = self._end(), []
        try:
            for fold in range(len(self.folds.splits)):
                if time.monotonic() > end:
                    raise OutOfTime
                found.append(self._fold_result(self, end, setting.params, setting.epochs, fold, n_rows, self._same))
        except ValueError as problem:
            self.skipped.append((setting, problem))
        else:
            self.trials[rung, setting.key] = Trial(setting, rung, n_rows, *map(np.array, zip(*found, strict=True)))

    def _end(self) -> float:
        """Return when to begin the training at the end; its time, with a reserve, grows with the square of the rows."""
        limit = self.model.time_limit
        if not self.trials or limit is None:
            return math.inf
        if not self.model.refit:
            return self._started + limit
        best, n_rows = self._leader, len(self.folds.labels)
        expected = 1.2 * float(best.fit_times.mean()) * (n_rows / best.n_rows) ** 2
        if n_rows > 2 * best.n_rows:  # a rough guess
            expected = min(expected, limit / 2)
        return self._started + limit - expected


def fold_result(
    search: Search, end: float, params: Params, epochs: float, fold: int, n_rows: int, same: list[object]
) -> tuple[list[list[float]], float]:
    """Return scores by moment and rule, and the seconds of the fit; ``same`` is what else they depend on."""
    (X, y, weight), (X_test, y_test, test_weight) = search.folds.split(fold, n_rows)
    params = search.fixed | params
    if params["n_jobs"] is None and len(y) <= 2048:  # a second thread does not pay
        params["n_jobs"] = 1
    model = VotedPerceptronClassifier(**params, epochs=epochs)
    model._deadline = end
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the scores tell what that cost
        model.fit(X, y, weight)
    seconds = time.perf_counter() - start
    stages = model.staged_decision_function(X_test, at=moments_until(epochs), rules=search.rules)

    def score(scores: Scores) -> float:
        return search.scorer(_Scored(model.classes_, scores), X_test, y_test, sample_weight=test_weight)

    return [[score(stage[rule]) for rule in search.rules] for _, stage in stages], seconds
