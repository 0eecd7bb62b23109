"""Classifiers beside one another: scores with intervals, and times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from votron._util.plotting import AXIS, FOR, GRID, INK, MUTED, plain, title, write_name
from votron._util.text import shortened
from votron._util.types import Axes, Index
from votron.plots._base import Display

__all__ = ["ComparisonDisplay"]

_LONGEST = 24
_LEAST = 1e-6
"""Seconds below which no clock tells anything."""
_REACH = 3.0
"""The most by which the axis goes beyond the range of good scores, in widths of that range."""


class ComparisonDisplay(Display):
    """A comparison: a dot with its interval for each classifier, the best at the top, and times on a logarithmic axis.

    Dots that are full cannot be told from the best, since the difference may be noise; the others are hollow.

    Parameters
    ----------
    names : sequence of str
        The classifiers, the best first.
    scores, lows, highs : arrays of shape (n_classifiers,)
        The score of each, and its interval.
    as_good : sequence of bool
        Whether the difference of each to the best may be noise.
    train_seconds, predict_seconds : arrays of shape (n_classifiers,)
        What training takes, and predicting 1,000 rows.
    score_name, note : str
        What the scores are, and what stands beneath the title.
    is_share : bool, default=True
        Whether scores are drawn in per cent.

    Attributes
    ----------
    ax_, time_ax_ : matplotlib Axes
        Of the scores and, beside them, of the times.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron.evaluate import compare
    >>> from votron.plots import ComparisonDisplay
    >>> result = compare(*load_iris(return_X_y=True), ["averaged", "voted", "majority"], repeats=1)
    >>> shown = ComparisonDisplay.from_comparison(result)
    >>> shown.names[-1], shown.as_good[-1], shown.ax_.get_xlabel(), shown.time_ax_.get_xscale()
    ('majority', False, 'accuracy, %', 'log')
    """

    time_ax_: Axes

    def __init__(
        self,
        names: Sequence[str],
        scores: ArrayLike,
        lows: ArrayLike,
        highs: ArrayLike,
        as_good: Sequence[bool],
        train_seconds: ArrayLike,
        predict_seconds: ArrayLike,
        *,
        score_name: str = "accuracy",
        note: str = "",
        is_share: bool = True,
    ):
        self.names, self.as_good = list(names), [bool(each) for each in as_good]
        numbers = (np.asarray(each, dtype=np.float64) for each in (scores, lows, highs, train_seconds, predict_seconds))
        self.scores, self.lows, self.highs, self.train_seconds, self.predict_seconds = numbers
        self.score_name, self.note, self.is_share = score_name, note, is_share

    @classmethod
    def from_comparison(cls, comparison: Any, *, ax: Axes = None) -> Self:
        """Draw what `votron.evaluate.compare` returned; the times are to the right of ``ax``, a subplot."""
        rows, found = comparison.rows, comparison.records()
        return cls(
            [row.name for row in rows],
            [row.score for row in rows],
            [each["low"] for each in found],
            [each["high"] for each in found],
            [each["verdict"] != "worse" for each in found],
            [row.train_time for row in rows],
            [row.predict_time for row in rows],
            score_name=comparison.score_name,
            note=comparison.folds_in_words() + (f", {len(comparison.left_out)} left out" * bool(comparison.left_out)),
            is_share=comparison.score.is_share,
        ).plot(ax)

    def _size(self) -> tuple[float, float]:
        return 10.2, 1.9 + 0.36 * len(self.names)

    def _draw(self, ax: Axes) -> None:
        left, right = ax.get_subplotspec().subgridspec(1, 2, width_ratios=[1.6, 1.0], wspace=0.08)
        ax.set_subplotspec(left)
        self.time_ax_ = ax.figure.add_subplot(right)
        places, scale = np.arange(len(self.names))[::-1], 100.0 if self.is_share else 1.0
        low, high = self._limits()
        for i, y in enumerate(places):
            colour = FOR if self.as_good[i] else AXIS
            if self.highs[i] < low or self.lows[i] > high:
                self._draw_far_one(ax, i, y, scale * low, scale * high)
                continue
            fill = colour if self.as_good[i] else "white"
            ax.plot([scale * self.lows[i], scale * self.highs[i]], [y, y], color=colour, linewidth=2.2, zorder=2)
            ax.plot([scale * self.scores[i]], [y], "o", color=colour, markerfacecolor=fill, markersize=8, zorder=3)
        ax.set_xlim(scale * low, scale * high)
        _style(ax, places)
        ax.set_yticks(places, [shortened(name, _LONGEST) for name in self.names])
        for label, good in zip(ax.get_yticklabels(), self.as_good, strict=True):
            label.set_color(INK if good else MUTED)
        ax.set_xlabel(f"{self.score_name}{', %' if self.is_share else ''}")
        noise = "full dots cannot be told from the best"
        title(ax, "Comparison", f"{self.note}; {noise}" if self.note else noise)
        self._draw_times(self.time_ax_, places)

    def _limits(self) -> tuple[float, float]:
        """Return what the axis of scores shows: the good ones, and others that are not far from them."""
        good = np.array(self.as_good)
        low, high = float(self.lows[good].min()), float(self.highs[good].max())
        reach = _REACH * max(high - low, 1e-3)
        near = (self.highs >= low - reach) & (self.lows <= high + reach)
        low, high = float(self.lows[near].min()), float(self.highs[near].max())
        pad = 0.06 * max(high - low, 1e-3)
        return low - pad, high + pad

    def _draw_far_one(self, ax: Axes, i: int, y: float, low: float, high: float) -> None:
        """Draw an arrow to a classifier that is far away, with its score."""
        left, inside = self.highs[i] < self._limits()[0], 0.015 * (high - low)
        at, side = (low + inside, "left") if left else (high - inside, "right")
        words = f"{100 * self.scores[i]:.1f}" if self.is_share else f"{self.scores[i]:.3f}"
        ax.plot([at], [y], "<" if left else ">", color=AXIS, markersize=8, clip_on=False, zorder=3)
        write_name(ax, words, MUTED, (at, y), (10 if left else -10, 0), ha=side, fontweight="normal")

    def _draw_times(self, ax: Axes, places: Index) -> None:
        from matplotlib.ticker import EngFormatter, LogLocator

        train, predict = (np.maximum(each, _LEAST) for each in (self.train_seconds, self.predict_seconds))
        ax.hlines(places, np.minimum(train, predict), np.maximum(train, predict), color=GRID, linewidth=2.2, zorder=1)
        ax.plot(train, places, "o", color=INK, markersize=7, zorder=3)
        ax.plot(predict, places, "D", color=MUTED, markerfacecolor="white", markersize=6, zorder=3)
        ax.set_xscale("log")
        _style(ax, places)
        ax.set_yticks([])
        ax.xaxis.set_major_locator(LogLocator(numticks=5))
        ax.xaxis.set_major_formatter(EngFormatter("s"))
        ax.minorticks_off()
        ax.set_xlabel("● to train   ◇ to predict 1,000 rows")


def _style(ax: Axes, places: Index) -> None:
    plain(ax)
    ax.grid(False, axis="y")
    ax.set_ylim(-0.6, len(places) - 0.4)
