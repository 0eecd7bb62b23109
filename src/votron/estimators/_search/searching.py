"""The way of settings to all rows: steps of halving, grids that go on, time."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from votron.errors import VotronError
from votron.estimators._search.folds import Folds
from votron.estimators._search.grids import KEPT_SHARE, LEAST_KEPT, LEAST_ROWS, Params
from votron.estimators._search.kept import KeptTrials
from votron.estimators._search.settings import Candidate, alike, beyond, merged
from votron.estimators._search.trials import Point, Score, Trial, fold_scores, points_of
from votron.estimators.base import OutOfTime

Report = Callable[[int, int, Trial, Trial], None]
"""Hears how many settings are done, how many there are, the last trial and the best so far."""

_TOO_LITTLE_TIME = "The time limit is over before one setting could be tried."


@dataclass
class Space:
    """What may be tried of one classifier, and on which data."""

    candidates: list[Candidate]
    data: Folds
    fixed: Params
    """Parameters that are the same for all and stand in no table."""
    grows: frozenset[str]
    """Parameters whose lists go on at their edges."""
    scale: float = 1.0
    """What gamma is a multiple of, where it is a number."""


@dataclass
class Search:
    """Settings on their way to all rows.

    Parameters
    ----------
    spaces : dict of Space
        By classifier.
    score : callable
        The higher, the better.
    halving : bool
        Whether settings are tried on a part of the rows first.
    deadline : float
        When to end, as `time.monotonic` counts; one setting is tried in any case.
    refit_rows : int
        Rows of a training at the end, for which time is left; 0: there is none.
    kept : KeptTrials
        What is known already, and where to keep the rest.
    report : callable
        Hears of each trial.
    """

    spaces: dict[str, Space]
    score: Score
    halving: bool
    deadline: float
    refit_rows: int
    kept: KeptTrials
    report: Report
    started: float = field(default_factory=time.monotonic)
    trials: list[Trial] = field(default_factory=list)
    skipped: list[tuple[Candidate, str]] = field(default_factory=list)
    stopped: str = ""
    sizes: list[int] = field(init=False)
    """Training rows of each step of halving."""

    def __post_init__(self) -> None:
        """Lay out the steps."""
        self.sizes = rung_sizes(min(space.data.n_rows for space in self.spaces.values()), self.halving)
        self._queue: list[Candidate] = []
        self._errors: list[ValueError] = []

    def run(self) -> Trial:
        """Search, and return the best trial of those on the most rows."""
        candidates = [each for space in self.spaces.values() for each in space.candidates]
        if len(self.spaces) > 1:  # in turn
            in_turn = itertools.zip_longest(*(space.candidates for space in self.spaces.values()))
            candidates = [each for some in in_turn for each in some if each is not None]
        try:
            for rung in range(len(self.sizes)):
                candidates = self._rung(rung, candidates)
        except OutOfTime:
            self.stopped = "out of time"
        except KeyboardInterrupt:
            if not self.trials:
                raise
            self.stopped = "interrupted"
        if not self.trials:
            raise self._failure()
        return self._chosen()

    def _chosen(self) -> Trial:
        """Return the best trial of those on the most rows, with its point, by the neighbours among all of them."""
        best = points_of(self.trials)[0]
        best.trial.point = best.k
        if math.isnan(best.trial.score):
            raise VotronError("No setting could be scored: the score of each is NaN in one fold at least.")
        return best.trial

    def _failure(self) -> ValueError:
        if not self._errors:
            return VotronError(_TOO_LITTLE_TIME)
        if len(self._errors) == 1:
            return self._errors[0]
        first = self._errors[0]
        return VotronError(
            "No setting could be fitted. The first: ", first if isinstance(first, VotronError) else str(first)
        )

    @property
    def best(self) -> Trial:
        """The best trial so far of those on the most rows, each by itself."""
        return min(self.trials, key=lambda trial: trial.rank)

    @property
    def n_tried(self) -> int:
        """Settings that were tried on all folds, each once: with more epochs, or on more rows, one is the same."""
        return _n_different(trial.candidate for trial in self.trials)

    @property
    def n_settings(self) -> int:
        """Settings that were to be tried, with those beyond the edges."""
        known = [*(trial.candidate for trial in self.trials), *self._queue]
        return _n_different(known) + len(self.skipped)

    def _end(self) -> float:
        """Return when to begin the training at the end: it takes time with the square of the rows, half at most."""
        if not self.trials or math.isinf(self.deadline):
            return math.inf
        best = self.best
        expected = 1.2 * float(best.times("fit").mean()) * (self.refit_rows / best.n_rows) ** 2
        return self.deadline - min(expected, (self.deadline - self.started) / 2)

    def _rung(self, rung: int, candidates: list[Candidate]) -> list[Candidate]:
        """Try settings on so many rows, and what lies beyond the edges; return those to go on with, the best first."""
        done: list[Candidate] = []
        mine: list[Trial] = []
        self._queue, followed = list(candidates), None
        while self._queue:
            trial = self._tried(self._queue[0], rung)
            done.append(self._queue.pop(0))
            if trial is not None:
                mine.append(trial)
                self.trials.append(trial)
                self.report(len(done), len(done) + len(self._queue), trial, self.best)
            if not self._queue and mine:
                points = points_of(mine)
                if followed is None or points[0].is_better_than(followed, points):  # and not only as good
                    followed = points[0]
                    self._queue = self._beyond(followed, done)
        return self._kept(mine)

    def _beyond(self, best: Point, done: list[Candidate]) -> list[Candidate]:
        """Return what lies beyond the edges at which the best is, if anything does."""
        candidate = best.trial.candidate
        space, known = self.spaces[candidate.estimator], [*done, *self._known()]
        return beyond(candidate, candidate.points[best.k], known, space.grows, space.scale)

    def _kept(self, trials: Sequence[Trial]) -> list[Candidate]:
        """Return the settings to go on with, the best first, each with the moments of all its fits."""
        fitted = [trial.candidate for trial in dict.fromkeys(point.trial for point in points_of(trials))]
        settings = alike([{"estimator": each.estimator, **each.setting} for each in fitted])
        n = max(LEAST_KEPT, math.ceil(len(settings) / KEPT_SHARE))
        found: list[Candidate] = []
        for places in settings:
            first = fitted[places[0]]
            if len(found) < n or all(each.estimator != first.estimator for each in found):
                found.append(replace(first, free=merged([fitted[i].free for i in places])))
        return found

    def _known(self) -> list[Candidate]:
        """Return all settings that were tried on any rows: what was left behind is not tried again."""
        return [*(trial.candidate for trial in self.trials), *(each for each, _ in self.skipped)]

    def _tried(self, candidate: Candidate, rung: int) -> Trial | None:
        """Cross-validate a setting; None if it cannot be fitted on these data."""
        end, space, n_rows = self._end(), self.spaces[candidate.estimator], self.sizes[rung]
        found = []
        for i in range(space.data.n_folds):
            known = self.kept.find(candidate.key, n_rows, i)
            if known is None:
                if time.monotonic() > end:
                    raise OutOfTime
                try:
                    fold = space.data.fold(i, n_rows)
                    known = fold_scores(candidate, space.fixed, fold, self.score, end)
                except ValueError as problem:
                    self.skipped.append((candidate, str(problem)))
                    self._errors.append(problem)
                    return None
                self.kept.add(candidate.key, n_rows, i, known)
            found.append(known)
        return Trial(candidate, rung, n_rows, found)


def _n_different(candidates: Iterable[Candidate]) -> int:
    """Return how many settings there are, whatever comes free with their fits."""
    return len(alike([{"estimator": each.estimator, **each.setting} for each in candidates]))


def rung_sizes(n_rows: int, halving: bool) -> list[int]:
    """Return the training rows of the steps of halving, the last of them all.

    Examples
    --------
    >>> rung_sizes(9000, True), rung_sizes(1200, True), rung_sizes(9000, False)
    ([1000, 3000, 9000], [1200], [9000])
    """
    sizes = [n_rows]
    while halving and sizes[0] // KEPT_SHARE >= LEAST_ROWS:
        sizes.insert(0, sizes[0] // KEPT_SHARE)
    return sizes


def seconds_left(limit: Any) -> float:
    """Return the moment at which a limit of seconds is over, from now; None: never."""
    return math.inf if limit is None else time.monotonic() + float(limit)
