"""The result of a comparison: rows with intervals, differences to the best, and what they come to in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from votron._util.text import counted, duration, joined, rounded_bytes, rows_used
from votron._util.text_tables import as_text
from votron.evaluate.scores import SCORES, Score
from votron.evaluate.statistics import Difference, corrected_interval, differences, wilson

_MUCH_FASTER = 1.5
"""From which ratio of times on it is worth a word."""
_MANY = 5
"""Names above which a sentence does not list them."""
_NO_SIZE = "–"


@dataclass(frozen=True)
class ComparisonRow:
    """What was measured of one learner, fold by fold.

    Attributes
    ----------
    name : str
        What it is called.
    estimator : str
        The class of its classifier.
    scores : tuple of float
        The score on the held-out rows of each fold.
    train_seconds : tuple of float
        What training took on each fold, encoding of tables included.
    predict_seconds : tuple of float
        What predicting 1,000 rows took, encoding included.
    n_bytes : int or None
        The size of the model of the first fold; None if it cannot be stored.
    is_file : bool
        Whether that is the size of a model file; otherwise the model was pickled.
    remarks : tuple of str
        What training warned of, once.

    Examples
    --------
    >>> from votron.evaluate import ComparisonRow
    >>> row = ComparisonRow("voted", "VotedPerceptronClassifier", (0.75, 1.0), (0.1, 0.3), (0.01, 0.01), 2000, True)
    >>> row.score, row.train_time
    (0.875, 0.2)
    """

    name: str
    estimator: str
    scores: tuple[float, ...]
    train_seconds: tuple[float, ...]
    predict_seconds: tuple[float, ...]
    n_bytes: int | None
    is_file: bool
    remarks: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """The mean over the folds."""
        return float(np.mean(self.scores))

    @property
    def train_time(self) -> float:
        """Seconds of training, the median over the folds."""
        return float(np.median(self.train_seconds))

    @property
    def predict_time(self) -> float:
        """Seconds for predicting 1,000 rows, the median over the folds."""
        return float(np.median(self.predict_seconds))


@dataclass(frozen=True)
class Comparison:
    """Learners on the same folds, the best first, and which of their differences are noise.

    Attributes
    ----------
    rows : tuple of ComparisonRow
        All that went through these folds, the best first.
    score_name : str
        What they are compared by.
    left_out : dict of str
        Those that did not, and why.
    folds, repeats, random_state : int
        How the rows were split.
    n_rows, n_used : int
        Rows of the data, and how many of them were drawn for the folds.
    n_threads : int
        Threads that each learner could use.
    confidence : float
        Of the intervals; of the verdicts on all pairs together; and of those on the baseline by themselves.
    weighted : bool
        Whether rows count by weights.
    seconds : float
        How long it all took.
    stopped : str
        "interrupted" if not all are finished; else nothing.
    not_tried : dict of str
        The usual ones that do not suit the data and were not asked for, and why.
    baseline : str or None
        The name of the one that always says the most frequent class, which all should beat, if it is among them.
    n_without_weight : int
        Rows of weight 0, which are left out before any are drawn.
    repeats_asked : int
        Repeats that were asked for, of which ``repeats`` were finished by all; 0: as many.

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
    score_name: str
    left_out: dict[str, str]
    folds: int
    repeats: int
    random_state: int
    n_rows: int
    n_used: int
    n_threads: int
    confidence: float = 0.95
    weighted: bool = False
    seconds: float = 0.0
    stopped: str = ""
    not_tried: dict[str, str] = field(default_factory=dict)
    baseline: str | None = None
    n_without_weight: int = 0
    repeats_asked: int = 0

    @property
    def score(self) -> Score:
        """What they are compared by."""
        return SCORES[self.score_name]

    @property
    def best(self) -> ComparisonRow:
        """The first row."""
        return self.rows[0]

    @property
    def _test_share(self) -> float:
        return 1 / (self.folds - 1)

    @cached_property
    def differences(self) -> dict[tuple[str, str], Difference]:
        """The differences of all pairs of names, in both orders; `votron.evaluate.statistics` says how."""
        scores = {row.name: row.scores for row in self.rows}
        step = self.folds / self.n_used if self._counts_rows else 0.0
        return differences(scores, self._test_share, self.confidence, baseline=self.baseline, step=step)

    @property
    def _counts_rows(self) -> bool:
        """Whether a row more that is right is the same to every score."""
        return self.score.counts_rows and not self.weighted

    def interval(self, name: str) -> tuple[float, float]:
        """Return the interval of a learner's score.

        It is that of the corrected resampled t over the folds; of accuracies never narrower than Wilson's for so many
        rows, which holds where all folds are alike, too.
        """
        row = self._row(name)
        low, high = corrected_interval(row.scores, self._test_share, self.confidence)
        if self._counts_rows:
            ends = wilson(row.score * self.n_used, self.n_used, self.confidence)
            low, high = min(low, ends[0]), max(high, ends[1])
        return (max(0.0, low), min(1.0, high)) if self.score.at_most_1 else (max(0.0, low), high)

    def difference(self, name: str) -> Difference:
        """Return by how much a learner is behind the best: above 0 where it is worse."""
        if name == self.best.name:
            return Difference(0.0, 0.0, 0.0, 1.0, 1.0, True)
        found = self.differences[self.best.name, self._row(name).name]
        return found if self.score.greater_is_better else found.reversed()

    def as_good(self) -> list[str]:
        """Return the best, and all whose difference to it may be noise."""
        return [row.name for row in self.rows if self.difference(row.name).is_noise]

    def _row(self, name: str) -> ComparisonRow:
        return {row.name: row for row in self.rows}[name]

    # -- in words ------------------------------------------------------------------------------------------------------

    def verdict(self, name: str) -> str:
        """Return what a learner's difference to the best comes to: "best", "noise" or "worse"."""
        return "best" if name == self.best.name else "noise" if self.difference(name).is_noise else "worse"

    def cells(self, *, short: bool = False) -> list[list[str]]:
        """Return the table as rows of text, the head first; ``short`` leaves out by how much noise is behind."""
        points = ", points" if self.score.is_share and not short else ""
        shown = [["", self.score_name, f"{100 * self.confidence:g} % interval", f"behind{points}"]]
        shown[0] += ["train", "predict", "size"]
        for row in self.rows:
            verdict, gap = self.verdict(row.name), self.difference(row.name)
            behind = self.score.interval_in_words(gap.low, gap.high)
            words = {"best": "best", "noise": "noise" if short else f"{behind}: noise", "worse": behind}
            line = [row.name, self.score.in_words(row.score), self.score.interval_in_words(*self.interval(row.name))]
            times = [duration_in_words(row.train_time), duration_in_words(row.predict_time)]
            size = _NO_SIZE if row.n_bytes is None else rounded_bytes(row.n_bytes)
            shown.append([*line, words[verdict], *times, size])
        return shown

    def summary(self) -> list[str]:
        r"""Return what the table comes to, in a few sentences.

        Examples
        --------
        >>> from votron.evaluate import Comparison, ComparisonRow
        >>> scores = {"a": (0.9, 0.8, 0.9), "b": (0.9, 0.9, 0.7)}
        >>> rows = tuple(ComparisonRow(n, "Any", s, (1.0,) * 3, (0.1,) * 3, 10, False) for n, s in scores.items())
        >>> print("\n".join(Comparison(rows, "accuracy", {}, 3, 1, 0, 60, 60, 1).summary()))
        Neither can be told from the other on these 60 rows: the difference may be noise.
        More rows or repeats would tell more.
        """
        if len(self.rows) < 2:
            return []
        found = [self._on_the_best(), *self._on_speed(), *self._on_the_baseline(), *self._on_others()]
        return found + (["More rows or repeats would tell more."] if len(self.as_good()) > 1 else [])

    def _on_the_best(self) -> str:
        good, rows = self.as_good(), f"on these {counted(self.n_used, 'row')}"
        if len(good) == 1:
            return f"{self.best.name} is better than all others {rows}, by more than noise."
        if len(good) == len(self.rows) == 2:
            words = f"Neither can be told from the other {rows}: the difference may be noise."
        elif len(good) == len(self.rows):
            words = f"None of the {len(good)} can be told from the best {rows}: all differences may be noise."
        else:
            are = "are" if len(good) > 2 else "is"
            are = f"{joined(good[1:]) if len(good) <= _MANY else f'{len(good) - 1} others'} {are}"
            words = f"{are} as good as {self.best.name} as far as can be told {rows}: the differences may be noise."
        return words

    def _on_speed(self) -> list[str]:
        """Return which of the good ones is much faster than the best."""
        fastest = min((self._row(name) for name in self.as_good()), key=lambda row: row.train_time)
        ratio = self.best.train_time / max(fastest.train_time, 1e-9)
        if fastest.name in (self.best.name, self.baseline) or ratio < _MUCH_FASTER:
            return []
        return [f"The fastest of them to train is {fastest.name}, {ratio:.2g} times as fast as {self.best.name}."]

    def _on_the_baseline(self) -> list[str]:
        """Return who is no better than the most frequent class."""
        if self.baseline is None:
            return []
        names = [row.name for row in self.rows if row.name != self.baseline]
        better = 1 if self.score.greater_is_better else -1
        ahead = {name: self.differences[name, self.baseline] for name in names}
        no_better = [name for name, gap in ahead.items() if gap.is_noise or better * gap.mean < 0]
        if not no_better:
            return []
        if len(no_better) == len(names):
            return ["None is clearly better than always saying the most frequent class."]
        are = "is" if len(no_better) == 1 else "are"
        return [f"Of these, {joined(no_better)} {are} not clearly better than always saying the most frequent class."]

    def _on_others(self) -> list[str]:
        """Return of whom nothing is known."""
        return [f"Nothing is known of {joined(self.left_out)}, left out above."] if self.left_out else []

    def to_text(self) -> str:
        """Return the table and what it comes to.

        Examples
        --------
        >>> from votron.evaluate import Comparison, ComparisonRow
        >>> scores = {"a": (0.9, 0.8, 0.9), "b": (0.4, 0.3, 0.4)}
        >>> rows = tuple(ComparisonRow(n, "Any", s, (1.5,) * 3, (0.1,) * 3, 10, False) for n, s in scores.items())
        >>> result = Comparison(rows, "accuracy", {"c": "It takes long."}, 3, 1, 0, 60, 60, 1)
        >>> print(result.to_text().replace(result.legend(), "..."))
        3 folds of 60 rows, 0.00 s
        <BLANKLINE>
           accuracy  95 % interval  behind, points   train  predict      size
        a    86.7 %  64.0 to 100.0            best  1.50 s   100 ms  10 bytes
        b    36.7 %   14.0 to 59.3    44.3 to 55.7  1.50 s   100 ms  10 bytes
        <BLANKLINE>
        Left out: c. It takes long.
        <BLANKLINE>
        ...
        <BLANKLINE>
        a is better than all others on these 60 rows, by more than noise.
        Nothing is known of c, left out above.
        """
        parts = [self.head(), as_text(self.cells())]
        parts.append("\n".join(self.remarks()))
        return "\n\n".join(filter(None, [*parts, self.legend(), "\n".join(self.summary())]))

    def remarks(self) -> list[str]:
        """Return who is left out and why, and what training warned of, in sentences."""
        found = [f"Left out: {name}. {why}" for name, why in self.left_out.items()]
        if self.repeats < self.repeats_asked:
            found.append(
                f"All are compared by {self.repeats} of {self.repeats_asked} repeats, which all have finished."
            )
        said = dict.fromkeys(remark for row in self.rows for remark in row.remarks)
        return found + [f"{joined(row.name for row in self.rows if each in row.remarks)}: {each}" for each in said]

    def folds_in_words(self) -> str:
        """Return how the rows were split."""
        times = f"{self.repeats} times {self.folds} folds" if self.repeats > 1 else f"{self.folds} folds"
        return f"{times} of {rows_used(self.n_used, self.n_rows, self.n_without_weight)}"

    def head(self) -> str:
        """Return what was done."""
        stopped = f" ({self.stopped})" if self.stopped else ""
        return f"{self.folds_in_words()}, {duration(self.seconds)}{stopped}"

    def legend(self) -> str:
        """Return how the columns are to be read."""
        n = f"{self.n_threads} threads" if self.n_threads > 1 else "1 thread"
        return (
            "behind: by how much the best is ahead, where all pairs are compared (corrected t-tests, Holm's method). "
            f"train, predict: on {self.folds - 1} of {self.folds} parts, and of 1,000 rows; medians of the folds, with "
            f"{n}, after a first fit that is not counted."
        )

    # -- for machines --------------------------------------------------------------------------------------------------

    def records(self) -> list[dict[str, Any]]:
        """Return the table as a list of dicts, which ``pandas.DataFrame`` takes."""
        return [self._record(row) for row in self.rows]

    def _record(self, row: ComparisonRow) -> dict[str, Any]:
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
            "verdict": self.verdict(row.name),
            "train_seconds": row.train_time,
            "predict_seconds": row.predict_time,
            "bytes": row.n_bytes,
            "stored_as": None if row.n_bytes is None else "model file" if row.is_file else "pickle",
            "scores": list(row.scores),
            "remarks": list(row.remarks),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON can hold."""
        return {
            "score": self.score_name,
            "greater_is_better": self.score.greater_is_better,
            "confidence": self.confidence,
            "folds": self.folds,
            "repeats": self.repeats,
            "repeats_asked": self.repeats_asked or self.repeats,
            "random_state": self.random_state,
            "rows": self.n_rows,
            "rows_without_weight": self.n_without_weight,
            "rows_used": self.n_used,
            "threads": self.n_threads,
            "weighted": self.weighted,
            "seconds": self.seconds,
            "stopped": self.stopped,
            "best": self.best.name,
            "baseline": self.baseline,
            "as_good": self.as_good(),
            "candidates": self.records(),
            "left_out": [{"name": name, "reason": why} for name, why in self.left_out.items()],
            "not_tried": [{"name": name, "reason": why} for name, why in self.not_tried.items()],
            "summary": self.summary(),
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw it; return the `votron.plots.ComparisonDisplay`."""
        from votron.plots import ComparisonDisplay

        return ComparisonDisplay.from_comparison(self, ax=ax)


def duration_in_words(seconds: float) -> str:
    """Return a time as short as it is told well.

    Examples
    --------
    >>> duration_in_words(0.00123), duration_in_words(0.0456), duration_in_words(1.5)
    ('1.2 ms', '46 ms', '1.50 s')
    """
    if seconds >= 1:
        return duration(seconds)
    return f"{1000 * seconds:.1f} ms" if seconds < 0.01 else f"{1000 * seconds:.0f} ms"
