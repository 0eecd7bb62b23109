"""The result of a comparison: scores with intervals, differences to the best, and a summary in words."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from votron._util.text import as_text, counted, duration, joined, rounded_bytes, rows_used
from votron._util.types import Axes, Params
from votron.evaluate.statistics import Difference, corrected_interval, differences

if TYPE_CHECKING:
    from votron.plots import ComparisonDisplay

_SHARES = ("accuracy", "balanced_accuracy", "f1_macro")
"""Scores that are written in per cent."""


@dataclass(frozen=True)
class ComparisonRow:
    """The measurements of one classifier, fold by fold.

    Examples
    --------
    >>> from votron.evaluate import ComparisonRow
    >>> ComparisonRow("voted", "VotedPerceptronClassifier", (0.75, 1.0), (0.1, 0.3), (0.01, 0.01), 2000).score
    0.875
    """

    name: str
    estimator: str
    """Its name, and the class of the classifier."""
    scores: tuple[float, ...]
    """The score on the held-out rows of each fold."""
    train_seconds: tuple[float, ...]
    predict_seconds: tuple[float, ...]
    """Seconds for training on each fold, and for predicting 1,000 rows, both with the encoding of tables."""
    n_bytes: int | None
    """The size of the model of the first fold, as a model file or else pickled; None if it cannot be stored."""
    remarks: tuple[str, ...] = ()
    """Warnings of training, each once."""

    @property
    def score(self) -> float:
        """The mean over the folds."""
        return float(np.mean(self.scores))


@dataclass(frozen=True)
class Comparison:
    """Classifiers on the same folds, the best first, and which of their differences are noise.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron.evaluate import compare
    >>> result = compare(*load_iris(return_X_y=True), ["averaged", "majority"], repeats=1)
    >>> [row.name for row in result.rows], result.as_good()
    (['averaged', 'majority'], ['averaged'])
    >>> result.difference("majority").is_noise
    False
    """

    rows: tuple[ComparisonRow, ...]
    """All that finished these folds, the best first."""
    score_name: str
    left_out: dict[str, str]
    """Those that did not finish, and why."""
    folds: int
    repeats: int
    random_state: int
    n_rows: int
    n_used: int
    """Rows of the data with a weight above 0, and how many of them were drawn for the folds."""
    n_threads: int
    """Threads of each classifier."""
    confidence: float = 0.95
    """Of the intervals; of the verdicts on all pairs together; and of those on the baseline."""
    weighted: bool = False
    """Whether rows count by weights."""
    seconds: float = 0.0
    stopped: str = ""
    """"interrupted" or "out of time" if not all are finished; else empty."""
    baseline: str | None = None
    """"majority", if it is among them."""

    @property
    def is_share(self) -> bool:
        """Whether scores are written in per cent."""
        return self.score_name in _SHARES

    @property
    def best(self) -> ComparisonRow:
        """The first row."""
        return self.rows[0]

    @cached_property
    def differences(self) -> dict[tuple[str, str], Difference]:
        """The differences of all pairs of names, in both orders; see `votron.evaluate.statistics`."""
        scores = {row.name: row.scores for row in self.rows}
        step = self.folds / self.n_used if self._counts_rows else 0.0
        return differences(scores, 1 / (self.folds - 1), self.confidence, baseline=self.baseline, step=step)

    @property
    def _counts_rows(self) -> bool:
        """Whether one row more that is right adds the same to every score."""
        return self.score_name == "accuracy" and not self.weighted

    def interval(self, name: str) -> tuple[float, float]:
        """Return the interval of a classifier's score, of accuracies never narrower than Wilson's for so many rows."""
        from scipy.stats import binomtest

        [row] = [each for each in self.rows if each.name == name]
        low, high = corrected_interval(row.scores, 1 / (self.folds - 1), self.confidence)
        if self._counts_rows:
            right = binomtest(round(row.score * self.n_used), self.n_used)
            ends = right.proportion_ci(self.confidence, "wilson")
            low, high = min(low, float(ends.low)), max(high, float(ends.high))
        least, most = (-np.inf, 0.0) if self.score_name == "neg_log_loss" else (0.0, 1.0)
        return max(least, low), min(most, high)

    def difference(self, name: str) -> Difference:
        """Return by how much a classifier is behind the best: above 0 where it is worse."""
        if name == self.best.name:
            return Difference(0.0, 0.0, 0.0, 1.0, 1.0, True)
        return self.differences[self.best.name, name]

    def as_good(self) -> list[str]:
        """Return the best, and all whose difference to it may be noise."""
        return [row.name for row in self.rows if self.difference(row.name).is_noise]

    def to_text(self, width: int = 120) -> str:
        """Return the table, and what it comes to, in lines of at most so many characters."""
        stopped = f" ({self.stopped})" if self.stopped else ""
        table = as_text(self._cells())
        if table.index("\n") > width:
            table = as_text(self._cells(short=True))
        lines = [[f"{self.folds_in_words()}, {duration(self.seconds)}{stopped}"], self.remarks(), self.summary()]
        head, remarks, summary = ("\n".join(textwrap.fill(line, width) for line in part) for part in lines)
        return "\n\n".join(filter(None, [head, table, remarks, summary]))

    def _cells(self, *, short: bool = False) -> list[list[str]]:
        """Return the table as rows of text, the head first; ``short`` leaves out by how much noise is behind."""
        points = ", points" if self.is_share and not short else ""
        head = ["", self.score_name, f"{100 * self.confidence:g} % interval", f"behind{points}"]
        shown = [[*head, "train", "predict", "size"]]
        for row in self.records():
            behind = self._range(row["behind_low"], row["behind_high"])
            verdicts = {"best": "best", "noise": "noise" if short else f"{behind}: noise", "worse": behind}
            score = f"{100 * row['score']:.1f} %" if self.is_share else f"{row['score']:.4f}"
            cells = [row["name"], score, self._range(row["low"], row["high"]), verdicts[row["verdict"]]]
            size = "–" if row["bytes"] is None else rounded_bytes(row["bytes"])
            shown.append([*cells, _short_time(row["train_seconds"]), _short_time(row["predict_seconds"]), size])
        return shown

    def _range(self, low: float, high: float) -> str:
        return f"{100 * low:.1f} to {100 * high:.1f}" if self.is_share else f"{low:.4f} to {high:.4f}"

    def folds_in_words(self) -> str:
        """Return how the rows were split."""
        times = f"{self.repeats} times {self.folds} folds" if self.repeats > 1 else f"{self.folds} folds"
        return f"{times} of {rows_used(self.n_used, self.n_rows)}"

    def remarks(self) -> list[str]:
        """Return which classifiers are missing and why, and warnings of training, in sentences."""
        found = [f"Left out: {name}. {why}" for name, why in self.left_out.items()]
        return found + [f"{row.name}: {remark}" for row in self.rows for remark in row.remarks]

    def summary(self) -> list[str]:
        """Return what the table comes to, in a few sentences."""
        if len(self.rows) < 2:
            return []
        good, rows = self.as_good(), f"on these {counted(self.n_used, 'row')}"
        found = [f"{self.best.name} is better than all others {rows}, by more than noise."]
        if len(good) > 1:
            found = [f"The {len(good)} best cannot be told apart {rows}: the differences may be noise."]
            found += ["More folds or repeats show smaller differences."] * (self.folds * self.repeats < 10)
        gaps = {a: gap for (a, b), gap in self.differences.items() if b == self.baseline}
        if no_better := [row.name for row in self.rows if row.name in gaps and not gaps[row.name].is_better]:
            found.append(f"Not clearly better than always saying the most frequent class: {joined(no_better)}.")
        return found

    def plot(self, ax: Axes = None) -> ComparisonDisplay:
        """Draw it; return the display."""
        from votron.plots import ComparisonDisplay

        return ComparisonDisplay(self).plot(ax)

    def records(self) -> list[Params]:
        """Return the table as a list of dicts, which ``pandas.DataFrame`` takes."""
        return [self._record(row) for row in self.rows]

    def _record(self, row: ComparisonRow) -> Params:
        low, high = self.interval(row.name)
        gap = self.difference(row.name)
        return {
            "name": row.name,
            "estimator": row.estimator,
            "score": row.score,
            "low": low,
            "high": high,
            "behind": gap.mean,
            "behind_low": gap.low,
            "behind_high": gap.high,
            "p": gap.p,
            "adjusted_p": gap.adjusted_p,
            "verdict": "best" if row is self.best else "noise" if gap.is_noise else "worse",
            "train_seconds": float(np.median(row.train_seconds)),
            "predict_seconds": float(np.median(row.predict_seconds)),
            "bytes": row.n_bytes,
            "scores": list(row.scores),
            "remarks": list(row.remarks),
        }

    def to_dict(self) -> Params:
        """Return everything as values that JSON can hold."""
        settings = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "rows"}
        more = {"best": self.best.name, "as_good": self.as_good(), "summary": self.summary()}
        return settings | more | {"candidates": self.records()}


def _short_time(seconds: float) -> str:
    if seconds >= 1:
        return duration(seconds)
    return f"{1000 * seconds:.1f} ms" if seconds < 0.01 else f"{1000 * seconds:.0f} ms"
