"""The search for parameters by cross-validation, on more and more rows.

Problem: which setting of the voted perceptron predicts best rows that it has not seen. Method: each setting is fitted
once a fold, and one scan over its record scores every rule at every moment. Settings are tried on a share of the
training rows first, and the best third of them on three times as many, until all rows are used (successive halving;
Jamieson & Talwalkar, 2016). Where the best value of a list is its least or its largest, the next value is tried too.

The highest of hundreds of scores owes its place partly to luck. So settings are compared by *steady* scores: each is
averaged with those of its neighbours in epochs, gamma, margin and degree, one parameter after another.
"""

from __future__ import annotations

import inspect
import math
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer

from votron import __version__
from votron._util.progress import Progress
from votron._util.types import Array, Classes, Floats, Index, Params, Rows, Scores
from votron.errors import VotronError
from votron.estimators._training import OutOfTime, resolved_gamma
from votron.estimators.voted import VotedPerceptronClassifier
from votron.kernels.base import kernel_class
from votron.record import labels_of

if TYPE_CHECKING:
    from votron.estimators.voted_cv import VotedPerceptronClassifierCV

KERNELS, MARGINS, EPOCHS = ["rbf"], [0.5, 2.0], 32.0
"""Start of a search: polynomials took as long again, and brought nothing in the mean (docs/accuracy.md)."""
STEP = 4
"""Factor by which gamma, margin and epochs go on at an edge; the degree goes on by 1."""
LIMITS = {"gamma": (1 / 1024, 1024.0), "margin": (1 / 32, 32.0), "degree": (1, 6)}
"""Limits of gamma (as a multiple of "scale"), margin and degree."""
MOST_EPOCHS = 512


def moments_until(epochs: float) -> list[float]:
    """Return the moments of training that are scored: 0.5, 1, 2, 3, 4, 6, 8, 12 and so on."""
    powers = [2.0**k for k in range(max(1, math.ceil(math.log2(epochs))) + 1)]
    found = sorted({0.5, *powers, *(1.5 * power for power in powers if power > 1)})
    return [each for each in found if each < epochs] + [float(epochs)]


@dataclass(frozen=True, eq=False)
class Setting:
    """Parameters that need a fit of their own, and the passes of that fit."""

    params: Params
    epochs: float

    @property
    def key(self) -> Hashable:
        return _comparable(self.params)


def _comparable(params: Params) -> Hashable:
    return frozenset((name, value if isinstance(value, str | Real) else id(value)) for name, value in params.items())


def first_settings(given: Mapping[str, list[Any]], scale: float, n_features: int) -> list[Setting]:
    """Return every combination of values, given or else those that the kernel suggests, heads of lists first."""
    found: list[tuple[tuple[int, ...], Setting]] = []
    [epochs] = given.get("epochs", [EPOCHS])
    for k, kernel in enumerate(given.get("kernel", KERNELS)):
        cls = kernel_class(kernel)
        read, own = ((), {}) if cls is None else (cls.parameters(), cls.search)
        lists: dict[str, list[Any]] = {"degree": [3], "margin": MARGINS, "gamma": ["scale"], **own, **given}
        lists["gamma"] = [_number(gamma, scale, n_features) for gamma in lists["gamma"]]
        lists = {name: values for name, values in lists.items() if name in (*read, "margin")}
        for at in product(*(range(len(values)) for values in lists.values())):
            params = {name: lists[name][i] for name, i in zip(lists, at, strict=True)}
            found.append(((k + sum(at), k, *at), Setting({"kernel": kernel, **params}, epochs)))
    return [setting for _, setting in sorted(found, key=lambda each: each[0])]


def _number(gamma: float | str, scale: float, n_features: int) -> float:
    """Return what a gamma such as "scale*0.5" stands for."""
    if not isinstance(gamma, str):
        return gamma
    name, _, factor = gamma.partition("*")
    try:
        return {"scale": scale, "auto": 1 / n_features}[name] * float(factor or 1)
    except (KeyError, ValueError):
        raise VotronError(
            "The 'gammas' parameter of VotedPerceptronClassifierCV must be numbers, 'scale', 'auto', or multiples "
            f"such as 'scale*0.1'. Got {gamma!r} instead.",
            parameter="gammas",
        ) from None


def beyond(best: Setting, moment: float, tried: list[Setting], given: Container[str], scale: float) -> list[Setting]:
    """Return settings next to the best that lie past the edge of what was tried, one parameter at a time."""
    params, found = best.params, []
    for name, (least, most) in LIMITS.items():
        if name in given or not isinstance(params.get(name), Real):
            continue
        alike = ("kernel", "degree") if name == "gamma" else ("kernel",)
        mine = [each.params for each in tried if all(each.params.get(k) == params.get(k) for k in alike)]
        values = [each[name] for each in mine if isinstance(each.get(name), Real)]
        value, unit = params[name], scale if name == "gamma" else 1.0
        higher, lower = (value + 1, value - 1) if name == "degree" else (value * STEP, value / STEP)
        if value >= max(values) and value < higher <= most * unit * 1.001:
            found.append(Setting(params | {name: higher}, best.epochs))
        if value <= min(values) and least * unit * 0.999 <= lower < value:
            found.append(Setting(params | {name: lower}, best.epochs))
    known = {each.key for each in tried}
    found = [each for each in found if each.key not in known]
    if "epochs" not in given and moment > best.epochs - 1 and best.epochs * STEP <= MOST_EPOCHS:
        found.append(Setting(params, best.epochs * STEP))
    return found


def steady_scores(points: Sequence[Params], scores: Sequence[float], groups: Sequence[int]) -> list[float]:
    """Average each score with its neighbours', which differ in one parameter only; NaN is nobody's neighbour."""
    found = list(scores)
    for name in ("epochs", "gamma", "margin", "degree"):
        lines: dict[Hashable, list[int]] = defaultdict(list)
        for i, point in enumerate(points):
            if isinstance(point.get(name), Real) and not math.isnan(scores[i]):
                others = {key: value for key, value in point.items() if key != name}
                lines[groups[i], _comparable(others)].append(i)
        before = list(found)
        for line in lines.values():
            line.sort(key=lambda i: float(points[i][name]))
            for left, i, right in zip([line[0], *line], line, [*line[1:], line[-1]], strict=False):
                found[i] = (before[left] + 2 * before[i] + before[right]) / 4
    return found


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


def with_every_class_first(rows: Index, codes: Index, rng: np.random.RandomState, least: int = 1) -> Index:
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

    def __post_init__(self) -> None:
        self.means = self.scores.mean(axis=0)
        self.best_score = float(np.nan_to_num(self.means, nan=-math.inf).max())


class Point(NamedTuple):
    """A moment and a rule of a trial, and how it compares with others."""

    trial: Trial
    params: Params
    scores: Floats
    score: float
    steady: float = 0.0

    @property
    def rank(self) -> tuple[float, ...]:
        """Sort by more training rows, higher steady score, higher score, larger margin and fewer epochs."""
        margin = self.params.get("margin", 0.0)
        largest = max(margin.values(), default=0.0) if isinstance(margin, dict) else margin
        last = -largest, self.params["epochs"]
        if math.isnan(self.score):
            return (0, math.inf, math.inf, *last)
        # Equal means differ in the last digits if they were added up in another order.
        return (-self.trial.rung, -round(self.steady, 12), -round(self.score, 12), *last)


def ranked(trials: Iterable[Trial], rules: Sequence[str]) -> list[Point]:
    """Return every moment and rule of some trials, the best first."""
    found = []
    for trial in trials:
        for i, moment in enumerate(moments_until(trial.setting.epochs)):
            for j, rule in enumerate(rules):
                params = trial.setting.params | {"epochs": moment, "rule": rule}
                found.append(Point(trial, params, trial.scores[:, i, j], float(trial.means[i, j])))
    rungs = [point.trial.rung for point in found]
    steady = steady_scores([point.params for point in found], [point.score for point in found], rungs)
    points = [point._replace(steady=each) for point, each in zip(found, steady, strict=True)]
    return sorted(points, key=lambda point: point.rank)


def best_of_each(points: Sequence[Point]) -> list[Point]:
    first: dict[Trial, Point] = {}
    for point in points:
        first.setdefault(point.trial, point)
    return list(first.values())


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
            f"A search has no probabilities, so it takes scorers of labels or scores. Got {scoring!r} instead.",
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
        """Return the best moment and rule of each trial, the best first."""
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
