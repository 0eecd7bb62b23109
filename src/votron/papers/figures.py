"""Figure 2 of the paper, how mistakes and support vectors grow, and the frontier."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from votron._util.plotting import AXIS, MUTED, STYLE, name_ends, plain, pyplot, title, write_name
from votron._util.types import Floats
from votron.papers.runs import LINES, Results
from votron.papers.tables import PAPERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from votron.papers.frontier import Point

DASHES = {"Rand (unnorm)": (), "Last (unnorm)": (4, 1.4), "Avg (unnorm)": (7, 1.4, 1.2, 1.4), "Vote": ()}
"""Dashes of Figure 2: the lines can be told apart without colours."""
WIDTHS = {"Rand (unnorm)": 1.0, "Last (unnorm)": 1.5, "Avg (unnorm)": 1.7, "Vote": 2.0}
DEGREE_COLOURS = ("#b03a5b", "#dd8330", "#8a8f1f", "#3f9a6a", "#2b7fb0", "#5b4bb0")
"""Colours of the degrees in ascending order; more degrees begin again."""
COUNT_TITLES = {"Mistake": "Mistakes, all labels together", "SupVec": "Support vectors, of any label"}
"""Panels of `learning_curves`."""
PANEL = (3.75, 2.95)
"""Width and height of a panel, in inches."""
ROUND = ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7), (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8))
"""Ticks of a logarithmic axis, times powers of ten: the first that make at least four."""
KINDS = {
    "perceptron": ("#1f4e9c", "o"),
    "SVC": ("#c8641b", "s"),
    "perceptron with virtual examples": ("#3f9a6a", "o"),
    "SVC with virtual examples": ("#a3467f", "s"),
}
"""Groups of the figure, with their colours and markers."""
PUBLISHED: dict[str, float] = PAPERS["comparators"]["errors"]
"""Errors on MNIST, in percent, of other machines."""


def figure2(results: Results, degrees: Sequence[int], heading: str = "") -> Figure:
    """Draw the paper's Figure 2: test error against epochs, one panel per degree, one line per rule.

    Bands reach from the lowest to the highest permutation. Errors that reach zero have a linear scale. A figure with
    a heading, which names the data, has a legend.
    """
    several = max(map(len, results.runs.values())) > 1
    band = "; lines: mean over permutations, bands: from lowest to highest" if several else ""
    note = f"Test error in % against epochs of training (both log), {heading}{band}"
    figure, grid = _panels(
        [partial(_errors, results=results, degree=degree) for degree in degrees],
        ("Figure 2: rules, epochs and degrees", note) if heading else None,
    )
    if heading:
        handles, columns = grid[0].get_legend_handles_labels(), 4 if len(grid) > 1 else 2
        figure.legend(*handles, loc="outside lower left", ncols=columns, frameon=False, handlelength=3.2)
    return figure


def learning_curves(results: Results, rows: Sequence[str] = tuple(COUNT_TITLES), heading: str = "") -> Figure:
    """Draw mistakes and support vectors against epochs, one line per degree."""
    note = "against epochs of training (both log), mean over permutations"
    panels = [partial(_growth, results=results, row=row) for row in rows]
    return _panels(panels, (heading, note) if heading else None)[0]


def _panels(draw: Sequence[Callable[[Axes], None]], heading: tuple[str, str] | None) -> tuple[Figure, Sequence[Axes]]:
    """Draw panels, at most three in a row; return the figure and its axes."""
    plt = pyplot()
    columns = min(3, len(draw))
    lines = math.ceil(len(draw) / columns)
    height = lines * PANEL[1] + (0.85 if heading else 0.0)
    with plt.rc_context({**STYLE, "font.size": 9}):
        figure, grid = plt.subplots(
            lines, columns, figsize=(columns * PANEL[0], height), layout="constrained", squeeze=False
        )
        for axes, panel in zip(grid.flat, draw, strict=False):
            panel(axes)
        for axes in grid.flat[len(draw) :]:
            axes.remove()
        if heading:
            note = textwrap.wrap(heading[1], 54 * columns)  # panels may be few
            figure.suptitle("\n".join([" ", *note]), x=0.012, ha="left", fontsize=9.5, linespacing=1.5, color=MUTED)
            figure.text(0.012, 1 - 0.07 / height, heading[0], fontsize=12, fontweight="bold", va="top")
    return figure, list(grid.flat)[: len(draw)]


def _errors(axes: Axes, results: Results, degree: int) -> None:
    moments = results.runs[degree][0].moments
    least, most = math.inf, 0.0
    for row, (name, colour) in LINES.items():
        mean, low, high = results.band(degree, row)
        axes.fill_between(moments, low, high, color=colour, alpha=0.16, linewidth=0)
        style = (0, DASHES[row]) if DASHES[row] else "solid"
        axes.plot(moments, mean, color=colour, linestyle=style, linewidth=WIDTHS[row], label=name)
        least, most = min(least, low.min()), max(most, high.max())
    axes.set_title(f"d = {degree}", loc="left", fontweight="bold", fontsize=11, pad=8)
    _epochs_axis(axes, moments)
    if least > 0:
        axes.set_ylim(least * 0.93, most * 1.07)
        axes.set_yscale("log")
        log_axis(axes.yaxis, "{:g} %")
    else:
        axes.yaxis.set_major_formatter("{x:g} %")
    plain(axes)
    axes.tick_params(pad=4)


def _growth(axes: Axes, results: Results, row: str) -> None:
    last = max(results.end(degree) for degree in results.runs)
    ends = {}
    for i, (degree, runs) in enumerate(sorted(results.runs.items())):
        colour, moments = DEGREE_COLOURS[i % len(DEGREE_COLOURS)], runs[0].moments
        mean, low, high = results.band(degree, row)
        axes.fill_between(moments, low, high, color=colour, alpha=0.16, linewidth=0)
        axes.plot(moments, mean, color=colour, linewidth=1.7, label=f"d = {degree}")
        if moments[-1] < 0.9 * last:
            write_name(axes, f"d = {degree}", colour, (moments[-1], mean[-1]), (5, 0), ha="left", fontsize=8.5)
        else:
            ends[f"d = {degree}"] = float(mean[-1]), colour
    axes.set_title(COUNT_TITLES[row], loc="left", fontweight="bold", fontsize=10.5, pad=8)
    _epochs_axis(axes, max((runs[0].moments for runs in results.runs.values()), key=lambda moments: moments[-1]))
    axes.set_yscale("log")
    log_axis(axes.yaxis, "{:,.10g}")
    plain(axes)
    axes.tick_params(pad=4)
    name_ends(axes, ends, size=8.5)


def _epochs_axis(axes: Axes, moments: Floats) -> None:
    low, high = float(moments[0]), float(moments[-1])
    axes.set_xscale("log")
    if low < high:
        axes.set_xlim(low, high)
    ticks = [t for t in (0.1, 0.3, 1, 3, 10, 30, 100, 300) if low <= t <= high] or [low]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("epochs", fontsize=9, labelpad=3)


def log_axis(axis: Axis, label: str) -> None:
    """Label a logarithmic axis with round numbers."""
    low, high = axis.get_view_interval()
    ticks: list[float] = []
    for steps in ROUND:
        if len(ticks) < 4:
            places = [float(f"{step * 10.0**power:.3g}") for power in range(-4, 8) for step in steps]
            ticks = [place for place in places if low <= place <= high]
    axis.set_ticks(ticks, [label.format(t) for t in ticks])
    axis.set_ticks([], minor=True)


def frontier(points: Sequence[Point], data_title: str, *, mnist: bool) -> Figure:
    """Draw errors against training time and against support vectors, on log scales."""
    plt, published = pyplot(), PUBLISHED if mnist else {}
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(10.8, 5.0), sharey=True, layout="constrained")
        for axes, cost in ((left, "train_seconds"), (right, "n_support")):
            for kind in KINDS:
                _group(axes, [point for point in points if point.kind == kind], cost, kind)
            for error in published.values():
                axes.axhline(error, color=AXIS, linewidth=1.0, linestyle=":", zorder=1)
            axes.loglog()
            log_axis(axes.xaxis, "{:,.10g}")
            log_axis(axes.yaxis, "{:g} %")
            plain(axes)
        for other, error in published.items():
            # in the empty corners: nothing is both fast and good, or has many support vectors and a large error
            axes, side, ha, off = (left, 0, "left", 3) if error < 1 else (right, 1, "right", -3)
            at = {"xytext": (off, 3), "textcoords": "offset points", "ha": ha, "fontsize": 8.5, "color": MUTED}
            axes.annotate(f"{other}, {error:g} %", (side, error), xycoords=("axes fraction", "data"), **at)
        left.set_xlabel("seconds to train (log scale)")
        right.set_xlabel("support vectors (log scale)")
        title(left, "Error against time", f"test error in % (log scale); {data_title}")
        title(right, "Error against support vectors", "filled: deskewed; hollow: not")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=len(KINDS), frameon=False)
    return figure


def _group(axes: Axes, points: Sequence[Point], cost: str, kind: str) -> None:
    """Draw the points of one kind, and a line through the unbeaten ones."""
    if not points:
        return
    colour, mark = KINDS[kind]
    for deskewed in (True, False):
        some = [point for point in points if point.setting.deskewed is deskewed]
        how = {"marker": mark, "s": 26, "edgecolors": colour, "linewidths": 1.3, "zorder": 3}
        face = colour if deskewed else "white"
        axes.scatter([getattr(p, cost) for p in some], [p.error for p in some], facecolors=face, **how)
    best = unbeaten([(float(getattr(point, cost)), point.error) for point in points])
    axes.plot(
        *zip(*best, strict=True), color=colour, linewidth=1.6, marker=mark, markersize=5.2, mfc="none", label=kind
    )


def unbeaten(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the pairs of cost and error that no other pair beats in both, by ascending cost."""
    found: list[tuple[float, float]] = []
    for cost, error in sorted(points):
        if not found or error < found[-1][1]:
            found.append((cost, error))
    return found
