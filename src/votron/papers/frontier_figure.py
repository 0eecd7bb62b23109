"""The frontier as a table and as a figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from votron._util.plotting import AXIS, MUTED, STYLE, plain, pyplot, title
from votron.papers.figures import log_axis
from votron.papers.frontier import RULES, Point
from votron.papers.published import PAPERS
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
"""Groups of the figure, with their colours and markers."""
WORDS = (
    "unit: each image divided by its length. With shifts: a second training on the support vectors and eight one-pixel "
    "shifts of each; with all copies: also thicker, thinner and eight randomly askew ones; the first τ is that of the "
    "first training. Five looks: the image and four shifts of it are scored. One run each, timed on this machine."
)
CHOSEN = (
    "The setting with all copies and five looks was chosen by its errors on the last 10,000 training digits. The "
    "others are a grid, sorted by test error, so the first of them is partly luck."
)
OTHERWISE = "The settings were chosen for MNIST; on other images they are a grid. Deskewing suits handwriting only."

PUBLISHED: dict[str, float] = PAPERS["comparators"]["errors"]
"""Errors on MNIST, in percent, of other machines."""


def frontier_table(points: Iterable[Point], *, mnist: bool) -> Table:
    ranked = sorted(points, key=lambda point: (point.error, point.train_seconds))
    return Table(
        key="frontier",
        title="Beyond the papers: error against cost",
        caption="Test error in % by voting (or five looks, or the SVM) and by the other rules; the lowest first.",
        columns=("error", *RULES[1:], "support vectors", "seconds to train", "seconds to predict"),
        rows=tuple(Row(str(point.setting), _cells(point)) for point in ranked),
        notes=(WORDS, CHOSEN if mnist else OTHERWISE),
    )


def _cells(point: Point) -> tuple[Cell | None, ...]:
    rules = [Cell(point.errors[rule]) if rule in point.errors else None for rule in RULES[1:]]
    times = Cell(point.train_seconds), Cell(point.predict_seconds)
    return Cell(point.error), *rules, Cell(point.n_support, count=True), *times


def draw(points: Sequence[Point], data_title: str, *, mnist: bool) -> Figure:
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
