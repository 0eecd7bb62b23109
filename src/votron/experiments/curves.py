"""Learning curves on scikit-learn's digits: test error against epochs, four rules, as in Figure 2 of the paper.

``python -m votron.experiments.curves`` draws them to an SVG and a PNG file.
Needs matplotlib: ``pip install matplotlib``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from votron.experiments._command import Counter, ended, parser, setting_of
from votron.experiments._figure import STYLE, add_out, plain, pyplot, save, title
from votron.experiments._table import RuleTable, make_table
from votron.experiments.digits import digits

__all__ = ["draw", "main"]

LINES = {
    "Rand (unnorm)": ("random", "#a3a3a3"),
    "Last (unnorm)": ("last", "#dd8330"),
    "Avg (unnorm)": ("average", "#3f9a6a"),
    "Vote": ("vote", "#1f4e9c"),
}
"""The rows of the table that are drawn, worst first, with their names and colours."""

BESIDE = {"Rand (unnorm)": 1.6, "Last (unnorm)": 0.7}
"""Moments at which a curve stands free and its name can be written beside it; the others are named at their ends."""

GAP = 0.62
"""Percentage points that two names at the ends must be apart."""


def tenths(epochs: float) -> tuple[float, ...]:
    """Return each tenth of an epoch up to the last.

    Examples
    --------
    >>> tenths(0.4)
    (0.1, 0.2, 0.3, 0.4)
    """
    return tuple(i / 10 for i in range(1, round(10 * epochs) + 1))


def draw(table: RuleTable) -> Any:
    """Return a figure with the four curves of a table."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(7.2, 4.0), layout="constrained")
        moments = table.setting.reached
        for row, (_, colour) in LINES.items():
            axes.plot(moments, table.rows[row], color=colour, linewidth=2.2, solid_capstyle="round")
        _dress(axes, table)
        _label(axes, table)
    return figure


def _dress(axes: Any, table: RuleTable) -> None:
    """Set scales, grid and titles."""
    setting, top = table.setting, 12
    axes.set_xscale("log")
    axes.set_xlim(setting.reached[0], setting.epochs)
    axes.set_ylim(0, top)
    ticks = [t for t in (0.1, 0.3, 1, 3, 10, 30) if t <= setting.epochs]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.set_yticks(range(0, top + 1, 2), [f"{v} %" if v else "0" for v in range(0, top + 1, 2)])
    axes.minorticks_off()
    plain(axes)
    axes.set_xlabel("epochs of training")
    n = setting.permutations
    means = f"one fit each of {n} permutations, mean" if n > 1 else "one fit"
    note = f"four rules, {len(setting.reached)} moments, {means}; kernel (1 + x·z)$^{{{setting.degree}}}$"
    title(axes, "Test error on handwritten digits", note, size=13, pad=22, lift=7)


def _label(axes: Any, table: RuleTable) -> None:
    """Write each curve's name beside it or at its end, no two on top of each other."""
    end = table.setting.epochs
    height = {row: table.at(row, end) for row in LINES if BESIDE.get(row, end) >= end}
    at_end = sorted(height, key=height.__getitem__)
    if height[at_end[-1]] - height[at_end[0]] < GAP:
        middle = sum(height.values()) / len(height)
        height = {row: middle + GAP * (i - (len(at_end) - 1) / 2) for i, row in enumerate(at_end)}
    for row, (name, colour) in LINES.items():
        at, offset = (
            ((end, height[row]), (6, 0)) if row in height else ((BESIDE[row], table.at(row, BESIDE[row])), (8, 5))
        )
        axes.annotate(
            name,
            at,
            offset,
            textcoords="offset points",
            color=colour,
            fontweight="bold",
            va="center",
            annotation_clip=False,
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options = parser(
        "curves", "Draw learning curves on scikit-learn's digits, as the paper's Figure 2 does.", permutations=10
    )
    add_out(options, "docs/learning-curves")
    args = options.parse_args(argv)

    def work() -> int:
        pyplot()  # whether it is there is known before the work begins
        setting = setting_of(args, moments=tenths(args.epochs))
        save(draw(make_table(digits(), setting, rules=tuple(LINES), progress=Counter(setting.permutations))), args.out)
        return 0

    return ended(work)


if __name__ == "__main__":
    sys.exit(main())
