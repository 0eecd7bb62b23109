"""The report's figures: Figure 2, how mistakes and support vectors grow, and test images that the rules disagree on."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._util.plotting import MUTED, STYLE, plain, pyplot, spread_out
from votron.papers._disagreements import Disagreement, disagreements
from votron.papers.runs import LINES, RunResult
from votron.papers.tables import Runs, at_all_moments

__all__ = ["Disagreement", "disagreements", "figure2", "learning_curves", "mean_and_range"]

HOW_DRAWN: dict[str, tuple[Any, float]] = {
    "Rand (unnorm)": ("solid", 1.0),
    "Last (unnorm)": ((0, (4, 1.4)), 1.5),
    "Avg (unnorm)": ((0, (7, 1.4, 1.2, 1.4)), 1.7),
    "Vote": ("solid", 2.0),
}
"""How the lines of Figure 2 are broken, and their width: they can be told apart without their colours."""
DEGREE_COLOURS = ("#b03a5b", "#dd8330", "#8a8f1f", "#3f9a6a", "#2b7fb0", "#5b4bb0")
"""Of the degrees from the least on; more degrees begin again."""
COUNTS = {"Mistake": "Mistakes, all labels together", "SupVec": "Support vectors, of any label"}
"""What `learning_curves` draws, with titles."""
PANEL = (3.75, 2.95)
"""Width and height of a panel, in inches."""

# -- numbers ----------------------------------------------------------------------------------------------------------


def mean_and_range(
    runs: Sequence[RunResult], row: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return mean, least and greatest over permutations of a row of Table 1, at all moments.

    Parameters
    ----------
    runs : sequence of RunResult
        The runs of one degree.
    row : str
        A rule, for errors in percent; or "SupVec" or "Mistake", for counts.

    Returns
    -------
    tuple of three arrays
        Each of shape (n_moments,).

    Examples
    --------
    >>> from votron.data import load_image_set
    >>> from votron.papers.runs import RunKey, perform
    >>> data = load_image_set("digits")
    >>> runs = [perform(RunKey(data.digest, 2, seed, 0.2), data) for seed in (0, 1)]
    >>> [array.tolist() for array in mean_and_range(runs, "Mistake")]
    [[133.5, 200.5], [130.0, 196.0], [137.0, 205.0]]
    """
    values = np.array([at_all_moments(run, row) for run in runs])
    return values.mean(axis=0), values.min(axis=0), values.max(axis=0)


# -- Figure 2 ---------------------------------------------------------------------------------------------------------


def figure2(runs: Runs, *, title_of_data: str, legend: bool = True) -> Any:
    """Draw the paper's Figure 2: test error against epochs, a panel a degree, a line a rule.

    Each point is a mean over permutations; the band is from the least to the greatest. Both scales are logarithmic,
    but for errors that reach zero.

    Parameters
    ----------
    runs : dict
        For each degree its runs.
    title_of_data : str
        For the title.
    legend : bool
        Whether to give it a title and a legend; a page that shows panels one by one has its own.

    Returns
    -------
    matplotlib Figure
        With a panel for each degree, three in a row.

    Examples
    --------
    >>> from votron.data import load_image_set
    >>> from votron.papers.runs import RunKey, perform
    >>> data = load_image_set("digits")
    >>> runs = {d: [perform(RunKey(data.digest, d, 0, 0.5), data)] for d in (1, 2)}
    >>> figure = figure2(runs, title_of_data="digits")
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['d = 1', 'd = 2']
    """

    def panel(axes: Any, degree: int) -> None:
        for row in LINES:
            _draw_line(axes, runs[degree], row)
        _dress_panel(axes, runs[degree])
        axes.set_title(f"d = {degree}", loc="left", fontweight="bold", fontsize=11, pad=8)

    several = max((len(mine) for mine in runs.values()), default=1) > 1
    band = "; lines: mean over permutations, bands: from least to greatest" if several else ""
    note = f"Test error in % against epochs of training (both log), {title_of_data}{band}"
    heading = ("Figure 2: rules, epochs and degrees", note) if legend else None
    return _panels([partial(panel, degree=degree) for degree in sorted(runs)], heading)


def _panels(draw: Sequence[Callable[[Any], None]], heading: tuple[str, str] | None, key: bool = True) -> Any:
    """Return a figure of panels, at most three in a row; with a heading also a legend of the first panel's lines."""
    plt = pyplot()
    columns = min(3, max(1, len(draw)))
    lines = max(1, math.ceil(len(draw) / columns))
    extra = 0.85 if heading else 0.0
    with plt.rc_context({**STYLE, "font.size": 9}):
        figure, grid = plt.subplots(
            lines, columns, figsize=(columns * PANEL[0], lines * PANEL[1] + extra), layout="constrained", squeeze=False
        )
        for axes, of in zip(grid.flat, draw, strict=False):
            of(axes)
        for axes in grid.flat[len(draw) :]:
            axes.remove()
        if heading:
            note = textwrap.wrap(heading[1], 54 * columns)  # panels may be few
            figure.suptitle("\n".join([" ", *note]), x=0.012, ha="left", fontsize=9.5, linespacing=1.5, color=MUTED)
            figure.text(0.012, 1 - 0.07 / figure.get_figheight(), heading[0], fontsize=12, fontweight="bold", va="top")
            if key:
                handles = grid.flat[0].get_legend_handles_labels()
                ncols = 4 if columns > 1 else 2
                figure.legend(*handles, loc="outside lower left", ncols=ncols, frameon=False, handlelength=3.2)
    return figure


def _draw_line(axes: Any, runs: Sequence[RunResult], row: str) -> None:
    name, colour = LINES[row]
    mean, low, high = mean_and_range(runs, row)
    if len(runs) > 1:
        axes.fill_between(runs[0].moments, low, high, color=colour, alpha=0.16, linewidth=0)
    style, width = HOW_DRAWN[row]
    axes.plot(runs[0].moments, mean, color=colour, linestyle=style, linewidth=width, label=name)


def _dress_panel(axes: Any, runs: Sequence[RunResult]) -> None:
    """Set scales, ticks and grid of a panel of Figure 2."""
    shown = [mean_and_range(runs, row) for row in LINES]
    least, most = min(low.min() for _, low, _ in shown), max(high.max() for *_, high in shown)
    _epochs_axis(axes, runs[0].moments)
    if least > 0:
        axes.set_yscale("log")
        axes.set_ylim(least * 0.93, most * 1.07)
        ticks = _ticks(least * 0.93, most * 1.07)
        axes.set_yticks(ticks, [f"{t:g} %" for t in ticks])
        axes.minorticks_off()
    else:
        axes.yaxis.set_major_formatter("{x:g} %")
    plain(axes)
    axes.tick_params(pad=4)


def _epochs_axis(axes: Any, moments: NDArray[np.float64]) -> None:
    low, high = float(moments[0]), float(moments[-1])
    axes.set_xscale("log")
    if low < high:
        axes.set_xlim(low, high)
    ticks = [t for t in (0.1, 0.3, 1, 3, 10, 30, 100, 300) if low <= t <= high] or [low]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.set_xlabel("epochs", fontsize=9, labelpad=3)


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers for a log scale: between three and eight where that can be.

    Examples
    --------
    >>> _ticks(1.5, 6.0), _ticks(2.0, 70.0)
    ([1.5, 2.0, 3.0, 4.0, 5.0], [2.0, 5.0, 10.0, 20.0, 50.0])
    """
    choices = ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7), (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8))
    found: list[float] = []
    for steps in choices:
        places = [float(f"{step * 10.0**power:.3g}") for power in range(-4, 8) for step in steps]
        found = [place for place in places if low <= place <= high]
        if len(found) >= 4:
            break
    return found


# -- mistakes and support vectors -------------------------------------------------------------------------------------


def learning_curves(runs: Runs, *, rows: Sequence[str] = tuple(COUNTS), heading: str = "") -> Any:
    """Draw mistakes and support vectors against epochs, a line a degree, both scales logarithmic.

    Parameters
    ----------
    runs : dict
        For each degree its runs.
    rows : sequence of {"Mistake", "SupVec"}
        What, a panel each.
    heading : str
        Above the figure; a page has its own.

    Returns
    -------
    matplotlib Figure
        With a panel for each row.

    Examples
    --------
    >>> from votron.data import load_image_set
    >>> from votron.papers.runs import RunKey, perform
    >>> data = load_image_set("digits")
    >>> runs = {d: [perform(RunKey(data.digest, d, 0, 0.5), data)] for d in (1, 2)}
    >>> [len(axes.lines) for axes in learning_curves(runs).axes]
    [2, 2]
    """

    def panel(axes: Any, row: str) -> None:
        ends = {}
        for i, (degree, mine) in enumerate(sorted(runs.items())):
            colour = DEGREE_COLOURS[i % len(DEGREE_COLOURS)]
            mean, low, high = mean_and_range(mine, row)
            if len(mine) > 1:
                axes.fill_between(mine[0].moments, low, high, color=colour, alpha=0.16, linewidth=0)
            axes.plot(mine[0].moments, mean, color=colour, linewidth=1.7, label=f"d = {degree}")
            ends[degree] = (float(mine[0].moments[-1]), float(mean[-1]), colour)
        _dress_counts(axes, runs, row)
        _name_ends(axes, ends)

    note = "against epochs of training (both log), mean over permutations"
    title = (heading, note) if heading else None
    return _panels([partial(panel, row=row) for row in rows], title, key=False)


def _dress_counts(axes: Any, runs: Runs, row: str) -> None:
    axes.set_title(COUNTS[row], loc="left", fontweight="bold", fontsize=10.5, pad=8)
    longest = max((mine[0].moments for mine in runs.values()), key=lambda moments: float(moments[-1]))
    _epochs_axis(axes, longest)
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    ticks = _ticks(low, high)
    axes.set_yticks(ticks, [f"{t:,.0f}" if t >= 1 else f"{t:g}" for t in ticks])
    axes.minorticks_off()
    plain(axes)
    axes.tick_params(pad=4)


def _name_ends(axes: Any, ends: dict[int, tuple[float, float, str]]) -> None:
    """Write each line's degree at its end, those that end at the right no two on top of each other."""
    (low, high), right = np.log(axes.get_ylim()), axes.get_xlim()[1]
    places = {d: ((x, y), "data") for d, (x, y, _) in ends.items() if x < 0.9 * right}
    order = sorted(ends.keys() - places.keys(), key=lambda degree: ends[degree][1])
    heights = spread_out([(math.log(ends[degree][1]) - low) / (high - low) for degree in order], 0.065)
    places |= {degree: ((1, height), "axes fraction") for degree, height in zip(order, heights, strict=True)}
    how = {"textcoords": "offset points", "fontweight": "bold", "fontsize": 8.5, "va": "center"}
    for degree, (at, coordinates) in places.items():
        colour = ends[degree][2]
        axes.annotate(f"d = {degree}", at, (5, 0), xycoords=coordinates, color=colour, annotation_clip=False, **how)
