"""A search over settings of the voted perceptron: cross-validation on more and more rows, grids that go on at edges.

Problem: which kernel, degree, gamma and margin, how many epochs and which rule. Each setting is fitted once a fold, and
one scan over the record gives the scores of all rules at all moments. Settings are tried on a share of the training
rows first, and the best third of them, four at least, on three times as many, until all rows are used (successive
halving). Where the best value of a grid is its first or last, and the grid may go on, the next value is tried as well.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from votron._types import Floats, Index
from votron.engine import TrainingRun
from votron.errors import VotronError
from votron.estimators._best_moment import first_best
from votron.estimators.voted import VotedPerceptronClassifier

KEPT_SHARE = 3
"""A rung has three times the rows of the one before, and a third of its settings."""
LEAST_ROWS = 500
"""Rows on which settings are told apart at first."""
LEAST_KEPT = 4
GAMMA_STEP, MARGIN_STEP = 4.0, 2.0
WIDEST_GAMMA = GAMMA_STEP**5
"""Factor of "scale", and its inverse, at which the grid of gamma ends."""
LARGEST_MARGIN, LARGEST_DEGREE = 32.0, 6
FIRST_EPOCHS = 10
"""Passes with which the search begins; they double where the best moment is in the last of them."""


class OutOfTime(Exception):  # no error: the search ends with what it has
    """There is no time left for this fit."""


@dataclass(frozen=True)
class Setting:
    """What needs a fit of its own."""

    kernel: Any
    degree: int | None
    gamma: float | None
    margin: float
    epochs: float

    def params(self) -> dict[str, Any]:
        """Return parameters of the classifier; those that the kernel does not read are left out."""
        found = {"kernel": self.kernel, "degree": self.degree, "gamma": self.gamma, "margin": self.margin}
        return {name: value for name, value in found.items() if value is not None}


def moments_of_search(epochs: float) -> list[float]:
    """Return the moments that are looked at: every pass at first, then fewer of them.

    Examples
    --------
    >>> moments_of_search(10)[:5], moments_of_search(20)[-4:]
    ([0.25, 0.5, 1.0, 2.0, 3.0], [14.0, 16.0, 18.0, 20.0])
    """
    found, moment = [0.25, 0.5], 1.0
    while moment < epochs:
        found.append(moment)
        moment += max(1.0, moment // 6)
    return [each for each in found if each < epochs] + [float(epochs)]


# -- one setting on some rows -----------------------------------------------------------------------------------------


@dataclass(eq=False)
class Trial:
    """A setting on a number of training rows: its scores on each held-out part, at all moments and by all rules."""

    setting: Setting
    rung: int
    n_rows: int
    rules: tuple[str, ...]
    scores: Floats
    """(folds, moments, rules)."""
    fit_times: Floats
    score_times: Floats

    @property
    def moments(self) -> list[float]:
        """The moments, in epochs."""
        return moments_of_search(self.setting.epochs)

    @property
    def best(self) -> tuple[int, int]:
        """The places of the best moment and rule by the mean over the folds; of equal ones the earliest, the first."""
        return first_best(self.scores.mean(axis=0).tolist())

    @property
    def score(self) -> float:
        """The mean score at the best moment by the best rule."""
        i, j = self.best
        return float(self.scores[:, i, j].mean())

    def params(self) -> dict[str, Any]:
        """Return the parameters, with the best moment and rule."""
        i, j = self.best
        return {**self.setting.params(), "epochs": self.moments[i], "rule": self.rules[j]}


class Data(Protocol):
    """The folds, as the search asks for them."""

    n_folds: int

    def fold(self, i: int, n_rows: int) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
        """Return rows and labels to learn, so many of the fold's, and rows and labels to predict."""


class TimedPerceptron(VotedPerceptronClassifier):
    """A voted perceptron that learns until a deadline, and then gives up or keeps what it has."""

    _deadline: float = math.inf
    _keeps: bool = False
    _late: bool = False

    def _in_epochs(self, n_steps: int, n_examples: int, train: Callable[[Any], TrainingRun]) -> TrainingRun:
        clock = _Clock(self._deadline, self._keeps)
        run = super()._in_epochs(n_steps, n_examples, lambda watch: train(clock.beside(watch)))
        self._late = clock.rang
        return replace(run, interrupted=run.interrupted or clock.rang)

    def _after_fit(self, run: TrainingRun) -> None:
        if not self._late:
            super()._after_fit(run)


class _Clock:
    def __init__(self, deadline: float, keeps: bool) -> None:
        self.deadline, self.keeps, self.rang = deadline, keeps, False
        self.watch: Any = None

    def beside(self, watch: Any) -> _Clock:
        self.watch = watch
        return self

    def update(self, step: int, epoch: int, mistakes: int) -> None:
        self.watch.update(step, epoch, mistakes)

    def should_stop(self) -> bool:
        if time.monotonic() > self.deadline:
            if not self.keeps:
                raise OutOfTime
            self.rang = True
        return self.rang or bool(self.watch.should_stop())


# -- the search -------------------------------------------------------------------------------------------------------


@dataclass
class Grid:
    """The values of each axis; those of which ``grows`` has the name go on where the best is their first or last."""

    kernels: list[tuple[Any, bool, bool]]
    """Kernels, and whether each reads degree and gamma."""
    degrees: list[int]
    gammas: list[float]
    poly_gammas: list[float]
    margins: list[float]
    scale: float
    max_epochs: float
    grows: frozenset[str]

    def settings(self) -> list[Setting]:
        """Return the settings to begin with."""
        epochs = min(FIRST_EPOCHS, self.max_epochs) if "epochs" in self.grows else self.max_epochs
        return [
            Setting(kernel, degree, gamma, margin, epochs)
            for kernel, reads_degree, reads_gamma in self.kernels
            for degree in (self.degrees if reads_degree else [None])
            for gamma in ((self.poly_gammas if reads_degree else self.gammas) if reads_gamma else [None])
            for margin in self.margins
        ]

    def beyond(self, trial: Trial, tried: Sequence[Setting]) -> list[Setting]:
        """Return the settings next to the best that lie beyond what was tried, for the axes that go on."""
        best, found = trial.setting, []
        mine = [each for each in tried if each.kernel is best.kernel or each.kernel == best.kernel]
        if "gammas" in self.grows and best.gamma is not None:
            gammas = [each.gamma for each in mine if each.gamma is not None and each.degree == best.degree]
            wider, narrower = best.gamma / GAMMA_STEP, best.gamma * GAMMA_STEP
            if best.gamma <= min(gammas) and wider * WIDEST_GAMMA >= self.scale * 0.999:
                found.append(replace(best, gamma=wider))
            if best.gamma >= max(gammas) and narrower <= self.scale * WIDEST_GAMMA * 1.001:
                found.append(replace(best, gamma=narrower))
        if "margins" in self.grows and best.margin >= max(each.margin for each in mine) > 0:
            found += [replace(best, margin=m) for m in [best.margin * MARGIN_STEP] if m <= LARGEST_MARGIN]
        largest = max(each.degree or 0 for each in mine)
        if "degrees" in self.grows and best.degree is not None and largest <= best.degree < LARGEST_DEGREE:
            found.append(replace(best, degree=best.degree + 1))
        if "epochs" in self.grows and trial.moments[trial.best[0]] > best.epochs - 1 and best.epochs < self.max_epochs:
            found.append(replace(best, epochs=min(2 * best.epochs, self.max_epochs)))
        return [each for each in found if each not in tried]


@dataclass
class Search:
    """Settings on their way to all rows.

    Parameters
    ----------
    data : Data
        The folds.
    grid : Grid
        What is tried.
    rules : tuple of str
        The rules to choose among.
    fixed : dict
        Parameters that are the same for all.
    score : callable
        The score of a model's scores: it gets the classes, scores as ``decision_function`` has them, rows and labels.
    sizes : list of int
        Training rows of the rungs, rising; the last are all.
    deadline : float
        On ``time.monotonic``, when the search and the training at the end must be over.
    n_all : int
        Rows of the training at the end.
    report : callable
        Hears how many settings are done, how many there are by now, and the best trial.
    """

    data: Data
    grid: Grid
    rules: tuple[str, ...]
    fixed: dict[str, Any]
    score: Callable[[NDArray[Any], Floats, Any, NDArray[Any]], float]
    sizes: list[int]
    deadline: float
    n_all: int
    report: Callable[[int, int, Trial], None]
    started: float = field(default_factory=time.monotonic)
    trials: list[Trial] = field(default_factory=list)
    skipped: list[tuple[Setting, str]] = field(default_factory=list)
    stopped: str = ""

    def run(self) -> Trial:
        """Search, and return the best trial of those on the most rows."""
        settings = self.grid.settings()
        try:
            for rung in range(len(self.sizes)):
                settings = self._rung(rung, settings)
        except OutOfTime:
            self.stopped = "out of time"
        if not self.trials:
            reason = self.skipped[0][1] if self.skipped else ""
            raise VotronError(f"No setting could be fitted. The first: {reason}" if reason else _TOO_LITTLE_TIME)
        return self.best

    @property
    def best(self) -> Trial:
        """The best trial of those on the most rows; of equal ones the first."""
        top = max(trial.rung for trial in self.trials)
        return max((trial for trial in self.trials if trial.rung == top), key=lambda trial: trial.score)

    def _end(self) -> float:
        """Return when to begin the training at the end: it takes time with the square of the rows, half at most."""
        if not self.trials or math.isinf(self.deadline):
            return math.inf
        best = self.best
        expected = 1.2 * float(best.fit_times.mean()) * (self.n_all / best.n_rows) ** 2
        return self.deadline - min(expected, (self.deadline - self.started) / 2)

    def _rung(self, rung: int, settings: list[Setting]) -> list[Setting]:
        """Try settings on so many rows, and what lies beyond the edges; return those to go on with, the best first."""
        tried: list[Setting] = []
        mine: list[Trial] = []
        waiting = list(settings)
        while waiting:
            setting = waiting.pop(0)
            tried.append(setting)
            trial = self._tried(setting, rung)
            if trial is not None:
                mine.append(trial)
                self.trials.append(trial)
                self.report(len(tried), len(tried) + len(waiting), self.best)
            if not waiting and mine:
                waiting = self.grid.beyond(max(mine, key=lambda each: each.score), [*tried, *self._known()])
        longer = {replace(each, epochs=0.0): each.epochs for each in sorted(tried, key=lambda one: one.epochs)}
        lasting = [each for each in mine if longer[replace(each.setting, epochs=0.0)] == each.setting.epochs]
        ranked = sorted(lasting, key=lambda each: -each.score)
        return [each.setting for each in ranked[: max(LEAST_KEPT, math.ceil(len(ranked) / KEPT_SHARE))]]

    def _known(self) -> list[Setting]:
        """Return all settings that were tried on any rows: what was left behind is not tried again."""
        return [*(trial.setting for trial in self.trials), *(setting for setting, _ in self.skipped)]

    def _tried(self, setting: Setting, rung: int) -> Trial | None:
        """Cross-validate a setting; None if it cannot be fitted on these data."""
        end = self._end()  # of the first there is none: one setting is always tried
        found: list[Floats] = []
        fit_times, score_times = [], []
        for i in range(self.data.n_folds):
            X, y, X_test, y_test = self.data.fold(i, self.sizes[rung])
            model = TimedPerceptron(**self.fixed, **setting.params(), epochs=setting.epochs)
            model._deadline = end
            start = time.monotonic()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model.fit(X, y)
                fit_times.append(time.monotonic() - start)
                found.append(self._table(model, X_test, y_test, model._deadline))
            except ValueError as problem:
                self.skipped.append((setting, str(problem)))
                return None
            score_times.append(time.monotonic() - start - fit_times[-1])
        return Trial(
            setting, rung, self.sizes[rung], self.rules, np.array(found), np.array(fit_times), np.array(score_times)
        )

    def _table(self, model: Any, X: Any, y: NDArray[Any], deadline: float) -> Floats:
        """Return the scores of all rules at all moments; moments before the first row is presented score as it does."""
        n = model.record_.n_examples
        wanted = moments_of_search(model.epochs)
        at = [max(moment, 1 / n) for moment in wanted]
        table = []
        for _, scores in model.staged_decision_function(X, at=at, rules=list(self.rules)):
            if time.monotonic() > deadline:
                raise OutOfTime
            table.append([self.score(model.classes_, scores[rule], X, y) for rule in self.rules])
        return np.array(table)


_TOO_LITTLE_TIME = "The time limit is over before one setting could be tried."


def rung_sizes(n_rows: int, halving: bool) -> list[int]:
    """Return the training rows of the rungs, the last of them all.

    Examples
    --------
    >>> rung_sizes(9000, True), rung_sizes(1200, True), rung_sizes(9000, False)
    ([1000, 3000, 9000], [1200], [9000])
    """
    sizes = [n_rows]
    while halving and sizes[0] // KEPT_SHARE >= LEAST_ROWS:
        sizes.insert(0, sizes[0] // KEPT_SHARE)
    return sizes


def with_every_class_first(rows: Index, codes: NDArray[np.int64], rng: Any) -> Index:
    """Return rows in random order, one of every class at the head, so that the first few are a sample of all.

    Examples
    --------
    >>> order = with_every_class_first(np.arange(6), np.array([0, 0, 0, 0, 0, 1]), np.random.RandomState(0))
    >>> sorted(order.tolist()), 5 in order[:2]
    ([0, 1, 2, 3, 4, 5], True)
    """
    shuffled = rng.permutation(rows)
    first = np.sort(np.unique(codes[shuffled], return_index=True)[1])
    return np.concatenate([shuffled[first], np.delete(shuffled, first)])
