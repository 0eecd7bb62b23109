"""The frontier as a table and as a figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from votron._util.plotting import AXIS, MUTED, STYLE, plain, pyplot, title
from votron.papers.frontier import RULES, Point
from votron.papers.published import comparator
from votron.papers.tables import Cell, Row, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "frontier_table"]

KINDS = {
    "perceptron": ("#1f4e9c", "o"),
    "SVC": ("#c8641b", "s"),
    "perceptron with virtual examples": ("#3f9a6a", "o"),
    "SVC with virtual examples": ("#a3467f", "s"),
}
"""The groups of the figure, with their colours and marks."""
WORDS = (
    "unit: each image divided by its length. With shifts: a second training on the support vectors and eight one-pixel "
    "shifts of each; with all copies: also thicker, thinner and eight randomly askew ones, and the first τ is that of "
    "the first training. Five looks: the image and four shifts of it are scored. One run each, times of this machine."
)
CHOSEN = (
    "The setting with all copies and five looks was chosen by its errors on the last 10,000 digits to train on; the "
    "others are a grid in the order of test errors, so that the first of them owes a little to luck."
)
OTHERWISE = "The settings were chosen for MNIST; on other images they are a grid, and deskewing suits handwriting only."

PUBLISHED = {
    "boosted LeNet-4": comparator("boosted LeNet-4"),
    "virtual SVM": 0.56,  # DeCoste & Schölkopf, Training Invariant Support Vector Machines, Machine Learning 46 (2002)
    "SVM, degree 4": comparator("SVM, degree 4"),
}
"""Errors on MNIST, in percent, of others: two from Freund & Schapire (1999), one from DeCoste & Schölkopf (2002)."""


def frontier_table(points: Iterable[Point], *, mnist: bool) -> Table:
    """Return the points as a table, the least error on top."""
    ranked = sorted(points, key=lambda point: (point.error, point.train_seconds))
    return Table(
        key="frontier",
        title="Beyond the papers: error against cost",
        caption="Test error in %, by voting (or five looks, or the SVM), and by the other rules; the least on top.",
        columns=("error", *RULES[1:], "support vectors", "seconds to train", "seconds to predict"),
        rows=tuple(Row(str(point.setting), _cells(point)) for point in ranked),
        notes=(WORDS, CHOSEN if mnist else OTHERWISE),
    )


def _cells(point: Point) -> tuple[Cell | None, ...]:
    rules = [Cell(point.errors[rule]) if rule in point.errors else None for rule in RULES[1:]]
    times = Cell(point.train_seconds), Cell(point.predict_seconds)
    return Cell(point.error), *rules, Cell(point.n_support, count=True), *times


def draw(points: Sequence[Point], data_title: str, *, mnist: bool) -> Figure:
    """Return a figure of errors against the time to train and against support vectors, both on log scales."""
    plt, published = pyplot(), PUBLISHED if mnist else {}
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(10.8, 5.0), sharey=True, layout="constrained")
        for axes, cost in ((left, "train_seconds"), (right, "n_support")):
            for kind in KINDS:
                _group(axes, [point for point in points if point.kind == kind], cost, kind)
            for error in published.values():
                axes.axhline(error, color=AXIS, linewidth=1.0, linestyle=":", zorder=1)
            _dress(axes, [point.error for point in points])
        for other, error in published.items():
            # where there are no points: fast and good is nobody, and of many support vectors none is so bad
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
    """Draw the points of one kind, and a line along those that nothing of their kind beats."""
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
    """Return those pairs that no other is below in both, from the least first number to the greatest.

    Examples
    --------
    >>> unbeaten([(1, 5), (2, 6), (3, 4), (3, 5)])
    [(1, 5), (3, 4)]
    """
    found: list[tuple[float, float]] = []
    for cost, error in sorted(points):
        if not found or error < found[-1][1]:
            found.append((cost, error))
    return found


def _dress(axes: Axes, errors: Sequence[float]) -> None:
    """Set scales, grid and ticks."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticks = [0.5, 0.6, 0.7, 0.8, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7, 10]
    ticks = [t for t in ticks if 0.8 * min(errors) <= t <= 1.25 * max(errors)]
    axes.set_yticks(ticks, [f"{t:g} %" for t in ticks])
    low, high = axes.get_xlim()
    steps = (1, 3) if high / low > 30 else (1, 2, 5)
    places = [step * 10.0**power for power in range(-4, 7) for step in steps]
    places = [place for place in places if low <= place <= high]
    axes.set_xticks(places, [f"{place:,.10g}" for place in places])
    axes.minorticks_off()
    plain(axes)
