"""Displays of training as time goes on, and of comparisons of classifiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from votron._util.pipelines import classifier_of, rows_for_classifier
from votron._util.plotting import AXIS, COLOURS, FOR, GRID, INK, MUTED, Display, name_ends, plain, title, write_name
from votron._util.text import shortened
from votron._util.types import Array, Axes, Estimator, Floats, Index, Label, Labels, RowsLike
from votron.errors import VotronError
from votron.record import MistakeRecord, labels_of
from votron.rules import RULES
from votron.rules.vectors import moments_of

if TYPE_CHECKING:
    from matplotlib.axis import Axis

_NAMED = 4
"""Classes that have a colour and a name, those with the most votes at the end; the others are grey."""

Rule: TypeAlias = str | tuple[str, bool]
"""The name of a rule, or a pair of it and whether vectors are normalised."""


def _moments_within(record: MistakeRecord, n: int = 25) -> list[float]:
    """Return moments of training in epochs, equally far from one another on a logarithmic axis, the last its end."""
    first = min(max(1, record.n_examples // 10), record.n_steps)
    times = np.unique(np.round(np.geomspace(first, record.n_steps, n)).astype(np.int64))
    return [int(time) / record.n_examples for time in times]


def rule_words(rule: Rule) -> str:
    """Return what to call a rule."""
    name, normalised = (rule, False) if isinstance(rule, str) else rule
    return f"{name}, normalised" if normalised else name


def has_moments(classifier: Estimator) -> bool:
    """Tell whether a fitted classifier keeps a record from which each moment of its training can be read."""
    return hasattr(classifier, "record_") and hasattr(classifier, "staged_decision_function")


class RulesOverTime:
    """The error of each rule after so many epochs, counted batch by batch; each takes one scan over the record."""

    def __init__(
        self, estimator: Estimator, rules: Iterable[Rule] | None = None, epochs: Iterable[float] | None = None
    ) -> None:
        self.estimator, self.n, record = estimator, 0, estimator.record_
        self.epochs = _moments_within(record) if epochs is None else moments_of(record, estimator.n_epochs_, epochs)
        if rules is None:
            rules = [name for name, rule in RULES.items() if not rule.needs_held_out]
        self.wrong: dict[Rule, Index] = {rule: np.zeros(len(self.epochs), dtype=np.int64) for rule in rules}

    def add(self, X: RowsLike, y: Array) -> None:
        """Count a batch, of rows as the classifier takes them."""
        stages = self.estimator.staged_decision_function(X, at=self.epochs, rules=list(self.wrong))
        for moment, (_, scores) in enumerate(stages):
            for rule, each in scores.items():
                self.wrong[rule][moment] += np.count_nonzero(self.estimator.classes_[labels_of(each)] != y)
        self.n += len(y)

    def display(self) -> RulesDisplay:
        """Return the display of the rules without normalised vectors, not drawn."""
        shown = {rule: wrong / self.n for rule, wrong in self.wrong.items() if isinstance(rule, str) or not rule[1]}
        return RulesDisplay(self.epochs, shown, self.n)


class RulesDisplay(Display):
    """Rules over time: how often each errs, after so many epochs of the one training.

    Parameters
    ----------
    epochs, errors : sequence of float, and mapping
        Moments of training, and for each rule its shares of wrong rows at these, from 0 to 1.
    n_rows : int, optional
        How many rows were predicted.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from votron import VotedPerceptronClassifier
    >>> from votron.plots import RulesDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> model = VotedPerceptronClassifier(random_state=0).fit(X[:600], y[:600])
    >>> shown = RulesDisplay.from_estimator(model, X[1200:], y[1200:], rules=["vote", "last"])
    >>> bool(shown.errors["vote"][-1] < shown.errors["vote"][0])
    True
    """

    def __init__(self, epochs: ArrayLike, errors: Mapping[Rule, ArrayLike], n_rows: int | None = None):
        self.epochs = np.asarray(epochs, dtype=np.float64)
        self.errors = {rule: np.asarray(each, dtype=np.float64) for rule, each in errors.items()}
        self.n_rows = n_rows

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: RowsLike,
        y: Labels,
        *,
        at: Iterable[float] | None = None,
        rules: Iterable[Rule] | None = None,
        ax: Axes = None,
    ) -> Self:
        """Draw the errors of a fitted model on held-out rows, from one scan over its record.

        ``at`` and ``rules`` are as in ``staged_decision_function``; by default 25 moments, and all rules that need no
        held-out rows.
        """
        model, rows = classifier_of(estimator), rows_for_classifier(estimator, X)
        counts = RulesOverTime(model, rules, at)
        counts.add(rows, np.asarray(y))
        return cls(counts.epochs, {rule: wrong / counts.n for rule, wrong in counts.wrong.items()}, counts.n).plot(ax)

    def _draw(self, ax: Axes) -> None:
        ends = {}
        for i, (rule, errors) in enumerate(self.errors.items()):
            colour = COLOURS[i % len(COLOURS)]
            ax.plot(self.epochs, 100 * errors, color=colour, linewidth=1.9, zorder=3 + len(self.errors) - i)
            ends[rule_words(rule)] = 100 * float(errors[-1]), colour
        _epoch_axis(ax, self.epochs)
        _error_axis(ax, 100 * np.concatenate(list(self.errors.values())))
        name_ends(ax, ends)
        of = "" if self.n_rows is None else f" of {self.n_rows:,} rows"
        title(ax, "Rules over time", f"share{of} that each gets wrong, from one training")


class VotesDisplay(Display):
    """Votes over time: the mean vote on one row, for each class, of all vectors until then; four have a name.

    Parameters
    ----------
    epochs, votes : sequence of float, and mapping
        Moments of training, and for each label the mean votes at these, from -1 to 1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from votron import VotedPerceptronClassifier
    >>> from votron.plots import VotesDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> model = VotedPerceptronClassifier(random_state=0).fit(X[:600], y[:600])
    >>> shown = VotesDisplay.from_estimator(model, X[[1201]])
    >>> max(shown.votes, key=lambda label: shown.votes[label][-1])
    7
    """

    def __init__(self, epochs: ArrayLike, votes: Mapping[Label, ArrayLike]):
        self.epochs = np.asarray(epochs, dtype=np.float64)
        self.votes = {label: np.asarray(each, dtype=np.float64) for label, each in votes.items()}

    @classmethod
    def from_estimator(
        cls, estimator: Estimator, X: RowsLike, *, at: Iterable[float] | None = None, ax: Axes = None
    ) -> Self:
        """Draw the votes of a fitted model on the one row of X, at moments in epochs."""
        model, rows = classifier_of(estimator), rows_for_classifier(estimator, X)
        moments = _moments_within(model.record_, 60) if at is None else at
        stages = list(model.staged_decision_function(rows, at=moments, rules=["vote"]))
        votes = np.array([scores["vote"] for _, scores in stages])
        if votes.shape[1] != 1:
            raise VotronError(f"{cls.__name__} shows one row, as in X[[7]]. Got {votes.shape[1]:,} rows instead.")
        by_class = votes.reshape(len(stages), -1)
        by_class = by_class if by_class.shape[1] > 1 else np.hstack([-by_class, by_class])
        found = dict(zip(model.classes_.tolist(), by_class.T, strict=True))
        return cls([epoch for epoch, _ in stages], found).plot(ax)

    def _draw(self, ax: Axes) -> None:
        order = sorted(self.votes, key=lambda label: -self.votes[label][-1])
        ends = {}
        for label, colour in zip(order[:_NAMED], COLOURS, strict=False):
            ax.plot(self.epochs, self.votes[label], color=colour, linewidth=1.9, zorder=3.5)
            ends[str(label)] = float(self.votes[label][-1]), colour
        for label in order[_NAMED:]:
            ax.plot(self.epochs, self.votes[label], color="#d0d0d0", linewidth=1.2)
        ax.axhline(0, color=AXIS, linewidth=1)
        ax.set(ylim=(-1.05, 1.05), ylabel="mean vote")
        _epoch_axis(ax, self.epochs)
        name_ends(ax, ends)
        grey = "; the other classes are grey" if len(ends) < len(order) else ""
        title(ax, f"Votes over time: {order[0]}", f"of all vectors until then, from -1 to 1{grey}")


class MistakesDisplay(Display):
    """Mistakes and support over time: how many there have been after so many epochs.

    Parameters
    ----------
    epochs, mistakes, support : sequences of numbers
        Moments of training, mistakes of all vectors until then, and the rows that they were made on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron import VotedPerceptronClassifier
    >>> from votron.plots import MistakesDisplay
    >>> model = VotedPerceptronClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> shown = MistakesDisplay.from_estimator(model)
    >>> bool(shown.mistakes[-1] == model.n_mistakes_.sum()), bool(shown.support[-1] == len(model.support_))
    (True, True)
    """

    def __init__(self, epochs: ArrayLike, mistakes: ArrayLike, support: ArrayLike):
        self.epochs = np.asarray(epochs, dtype=np.float64)
        self.mistakes, self.support = np.asarray(mistakes), np.asarray(support)

    @classmethod
    def from_estimator(cls, estimator: Estimator, *, ax: Axes = None) -> Self:
        """Draw what the record of a fitted model counts; no data are needed."""
        record = classifier_of(estimator).record_
        epochs = np.array(_moments_within(record, 100))
        times = np.round(epochs * record.n_examples)
        firsts = np.sort(record.time[np.unique(record.example, return_index=True)[1]])
        counts = (np.searchsorted(each, times, side="right") for each in (record.time, firsts))
        return cls(epochs, *counts).plot(ax)

    def _draw(self, ax: Axes) -> None:
        ends = {"mistakes": (self.mistakes[-1], COLOURS[5]), "support": (self.support[-1], COLOURS[6])}
        ax.plot(self.epochs, self.mistakes, color=COLOURS[5], linewidth=1.9)
        ax.plot(self.epochs, self.support, color=COLOURS[6], linewidth=1.9)
        ax.set_ylim(0, None)
        ax.yaxis.set_major_formatter("{x:,.0f}")
        _epoch_axis(ax, self.epochs)
        name_ends(ax, ends)
        title(ax, "Mistakes and support", "so far: mistakes of all vectors, and rows that they were made on")


def _epoch_axis(ax: Axes, epochs: Floats) -> None:
    """Make the x axis one of epochs, logarithmic where they are far from one another."""
    plain(ax)
    ax.set_xlabel("epochs of training")
    if epochs[-1] >= 2 * epochs[0]:
        ax.set(xscale="log", xlim=(epochs[0], epochs[-1]))
        _number_ticks(ax, ax.xaxis)


def _error_axis(ax: Axes, errors: Floats) -> None:
    """Make the y axis one of errors in per cent, logarithmic where none is 0 and they are far from one another."""
    low, high = errors.min(), errors.max()
    if low > 0 and high >= 4 * low:
        ax.set(yscale="log", ylabel="error, %, on a log scale", ylim=(0.85 * low, 1.1 * high))
        _number_ticks(ax, ax.yaxis)
    else:
        ax.set(ylabel="error, %", ylim=(0, max(1.1 * high, 1.0)))


def _number_ticks(ax: Axes, axis: Axis) -> None:
    """Put ticks that read as numbers on a logarithmic axis."""
    from matplotlib.ticker import LogLocator

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    ax.minorticks_off()


# -- comparisons -------------------------------------------------------------------------------------------------------

_LONGEST = 24
_LEAST = 1e-6
"""Seconds below which no clock tells anything."""
_REACH = 3.0
"""The most by which the axis goes beyond the range of good scores, in widths of that range."""


class ComparisonDisplay(Display):
    """A comparison: a dot with its interval for each classifier, the best at the top, and times on a logarithmic axis.

    Full dots cannot be told from the best, since the difference may be noise; the others are hollow.

    Parameters
    ----------
    comparison : Comparison
        What `votron.evaluate.compare` returns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron.evaluate import compare
    >>> result = compare(*load_iris(return_X_y=True), ["averaged", "voted", "majority"], repeats=1)
    >>> shown = result.plot()
    >>> shown.ax_.get_xlabel(), shown.time_ax_.get_xscale()
    ('accuracy, %', 'log')
    """

    time_ax_: Axes
    """The axes of the times, beside those of the scores."""

    def __init__(self, comparison: Any):
        self.comparison, self._rows = comparison, comparison.records()
        self.size = 10.2, 1.9 + 0.36 * len(self._rows)
        self._good = np.array([row["verdict"] != "worse" for row in self._rows])

    def _draw(self, ax: Axes) -> None:
        found = self.comparison
        left, right = ax.get_subplotspec().subgridspec(1, 2, width_ratios=[1.6, 1.0], wspace=0.08)
        ax.set_subplotspec(left)
        self.time_ax_ = ax.figure.add_subplot(right)
        places, scale = np.arange(len(self._rows))[::-1], 100.0 if found.is_share else 1.0
        lows, scores, highs = (scale * self._column(name) for name in ("low", "score", "high"))
        low, high = _limits(lows, highs, self._good, 1e-3 * scale)
        for at, good, *ends, score in zip(places, self._good, lows, highs, scores, strict=True):
            colour, fill = (FOR, FOR) if good else (AXIS, "white")
            if ends[1] < low or ends[0] > high:  # an arrow with the score
                inside = 0.015 * (high - low)
                side, mark, ha = (low + inside, "<", "left") if ends[1] < low else (high - inside, ">", "right")
                ax.plot([side], [at], mark, color=AXIS, markersize=8, clip_on=False, zorder=3)
                words = f"{score:.1f}" if found.is_share else f"{score:.3f}"
                write_name(ax, words, MUTED, (side, at), (10 if mark == "<" else -10, 0), ha=ha, fontweight="normal")
                continue
            ax.plot(ends, [at, at], color=colour, linewidth=2.2, zorder=2)
            ax.plot([score], [at], "o", color=colour, markerfacecolor=fill, markersize=8, zorder=3)
        ax.set_xlim(low, high)
        _rows_of(ax, len(places))
        ax.set_yticks(places, [shortened(row["name"], _LONGEST) for row in self._rows])
        for label, good in zip(ax.get_yticklabels(), self._good, strict=True):
            label.set_color(INK if good else MUTED)
        ax.set_xlabel(f"{found.score_name}{', %' if found.is_share else ''}")
        out = f", {len(found.left_out)} left out" if found.left_out else ""
        title(ax, "Comparison", f"{found.folds_in_words()}{out}; full dots cannot be told from the best")
        self._draw_times(self.time_ax_, places)

    def _column(self, name: str) -> Floats:
        return np.array([row[name] for row in self._rows], dtype=np.float64)

    def _draw_times(self, ax: Axes, places: Any) -> None:
        from matplotlib.ticker import EngFormatter, LogLocator

        train, predict = (np.maximum(self._column(f"{name}_seconds"), _LEAST) for name in ("train", "predict"))
        ax.hlines(places, np.minimum(train, predict), np.maximum(train, predict), color=GRID, linewidth=2.2, zorder=1)
        ax.plot(train, places, "o", color=INK, markersize=7, zorder=3)
        ax.plot(predict, places, "D", color=MUTED, markerfacecolor="white", markersize=6, zorder=3)
        ax.set_xscale("log")
        _rows_of(ax, len(places))
        ax.set_yticks([])
        ax.xaxis.set_major_locator(LogLocator(numticks=5))
        ax.xaxis.set_major_formatter(EngFormatter("s"))
        ax.minorticks_off()
        ax.set_xlabel("● to train   ◇ to predict 1,000 rows")


def _limits(lows: Floats, highs: Floats, good: Any, least: float) -> tuple[float, float]:
    """Return what the axis of scores shows: the good ones, and others that are not far from them."""
    low, high = lows[good].min(), highs[good].max()
    reach = _REACH * max(high - low, least)
    near = (highs >= low - reach) & (lows <= high + reach)
    low, high = lows[near].min(), highs[near].max()
    pad = 0.06 * max(high - low, least)
    return float(low - pad), float(high + pad)


def _rows_of(ax: Axes, n: int) -> None:
    plain(ax)
    ax.grid(False, axis="y")
    ax.set_ylim(-0.6, n - 0.4)
