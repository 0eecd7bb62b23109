"""The display of a comparison of classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np

from votron._util.plotting import AXIS, FOR, GRID, INK, MUTED, Display, plain, title, write_name
from votron._util.text import shortened
from votron._util.types import Axes, Floats

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
