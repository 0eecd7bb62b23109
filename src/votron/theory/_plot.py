"""Plot of a certificate: bounds on errors by predictor, beside measured errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from votron._util.plotting import INK, MUTED, STYLE, plain, pyplot, title
from votron.theory._rendering import error_groups, percent
from votron.theory.evidence import Measured
from votron.theory.statements import ESTIMATE, FACT, GUARANTEE

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from votron.theory.certificate import Bound, Certificate

COLOURS = {GUARANTEE: "#1f4e9c", ESTIMATE: "#c8641b"}
MEASURED = "#2b8a3e"
FADED = 0.3
"""Opacity of bounds that do not apply to the model."""

Lines: TypeAlias = "list[tuple[str, Bound | Measured | None]]"
"""Names with their bounds or measured errors; None for the name of a predictor."""


def draw(found: Certificate, ax: Axes | None = None) -> Axes:
    plt = pyplot(screen=True)
    lines, low = _lines(found), _lowest(found)
    with plt.rc_context(STYLE):
        own = ax is None
        if ax is None:
            _, ax = plt.subplots(figsize=(10, 2.2 + 0.3 * len(lines)), layout="constrained")
        for y, (_, entry) in enumerate(lines):
            if isinstance(entry, Measured):
                _measured(ax, y, entry, found.delta, low)
            elif entry is not None:
                _bound(ax, y, entry, low)
        _frame(ax, lines, low)
        _head(ax, found, lines, of=f" of this {found.model}" if own else "")
        marks = _marks(lines, found.delta)
        if own:
            ax.figure.legend(handles=marks, loc="outside lower center", ncols=len(marks), frameon=False)
        else:  # below the ticks and the name of the axis
            below = {"bbox_to_anchor": (0.5, 0), "borderaxespad": 5.75, "fontsize": 8}
            ax.legend(handles=marks, loc="upper center", frameon=False, **below)
    return ax


def _lines(found: Certificate) -> Lines:
    out: Lines = []
    for predictor, bounds in error_groups(found):
        known = [bound for bound in bounds if bound.error is not None]
        measured = found.measured.get(predictor)
        mine = predictor == found.predictor
        if not (known or mine or measured):
            continue
        out.append((predictor + (" (this model)" if mine else ""), None))
        out += [(bound.name, bound) for bound in known]
        if measured:
            out.append((f"measured on {measured.n:,}", measured))
        elif not known:
            out.append(("no bound", None))
    return out


def _lowest(found: Certificate) -> float:
    """Return the start of the axis, a power of ten."""
    values = [bound.error for bound in found.bounds if bound.kind != FACT and bound.error]
    values += [each.rate or each.guaranteed(found.delta) for each in found.measured.values()]
    return float(min(0.01, 10.0 ** math.floor(math.log10(min(values, default=0.1)))))


def _bound(ax: Axes, y: int, bound: Bound, low: float) -> None:
    strength = 1.0 if bound.applies else FADED
    colour = COLOURS[bound.kind]
    filled = colour if bound.kind == GUARANTEE else "white"
    x, mark = (1.0, ">") if bound.vacuous or bound.error is None else (bound.error, "o")
    ax.plot([low, x], [y, y], color=colour, alpha=0.35 * strength, linewidth=2)
    ax.plot([x], [y], mark, color=colour, markerfacecolor=filled, alpha=strength, markersize=7, clip_on=False)
    _note(ax, x, y, percent(bound.error), INK if bound.applies else MUTED)


def _measured(ax: Axes, y: int, measured: Measured, delta: float, low: float) -> None:
    """Draw a measured error with its upper limit as a whisker; an error of 0 is an arrow off the axis."""
    limit = measured.guaranteed(delta)
    ax.plot([max(measured.rate, low), limit], [y, y], color=MEASURED, linewidth=1.2)
    ax.plot([limit], [y], "|", color=MEASURED, markersize=9)
    mark = "D" if measured.rate >= low else "<"
    ax.plot([max(measured.rate, low)], [y], mark, color=MEASURED, markersize=6.5, clip_on=False)
    _note(ax, limit, y, f"{percent(measured.rate)}, at most {percent(limit)}", INK)


def _note(ax: Axes, x: float, y: int, text: str, colour: str) -> None:
    ax.annotate(
        text, (x, y), (9, 0), fontsize=9, color=colour, textcoords="offset points", va="center", annotation_clip=False
    )


def _frame(ax: Axes, lines: Lines, low: float) -> None:
    plain(ax)
    ax.set_xscale("log")
    ax.set_xlim(low, 1.0)
    ax.set_ylim(len(lines) - 0.4, -0.6)
    ticks = [10.0**k for k in range(round(math.log10(low)), 1)]
    ax.set_xticks(ticks, [f"{100 * tick:g} %" for tick in ticks])
    ax.minorticks_off()
    ax.set_yticks(range(len(lines)), [text if entry is None else f"{text}   " for text, entry in lines])
    for label, (text, entry) in zip(ax.get_yticklabels(), lines, strict=True):
        label.set(fontsize=10, fontweight="bold" if entry is None and text != "no bound" else "normal")
    ax.grid(False, axis="y")
    ax.set_xlabel("error on new rows, at most")


def _head(ax: Axes, found: Certificate, lines: Lines, of: str) -> None:
    classes = f", {len(found.labels)} classes together" if len(found.labels) > 1 else ""
    pale = any(getattr(entry, "failing", ()) for _, entry in lines)
    note = f"{found.m:,} examples{classes}{'; pale: does not apply to the model as it is' if pale else ''}"
    title(ax, f"What the theorems say{of}", note)


def _marks(lines: Lines, delta: float) -> list[Artist]:
    """Return the legend's entries."""
    from matplotlib.lines import Line2D

    def mark(shape: str, colour: str, filled: str, label: str) -> Artist:
        return Line2D([], [], marker=shape, linestyle="", color=colour, markerfacecolor=filled, label=label)

    guarantee, estimate = COLOURS[GUARANTEE], COLOURS[ESTIMATE]
    known = {
        GUARANTEE: mark("o", guarantee, guarantee, f"guarantee (δ = {delta:g})"),
        ESTIMATE: mark("o", estimate, "white", "estimate"),
        "measured": mark("D", MEASURED, MEASURED, "measured on test data"),
    }
    drawn = {getattr(entry, "kind", "measured") for _, entry in lines if entry is not None}
    return [each for kind, each in known.items() if kind in drawn]
