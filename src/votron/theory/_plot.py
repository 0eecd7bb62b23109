"""The picture of a certificate: bounds on errors by predictor, beside what was measured."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from votron._drawing import INK, MUTED, STYLE, plain, title
from votron.errors import VotronError
from votron.theory.statements import ESTIMATE, FACT, GUARANTEE

if TYPE_CHECKING:
    from votron.theory.certificate import Bound, Certificate

COLOURS = {GUARANTEE: "#1f4e9c", ESTIMATE: "#c8641b"}
MEASURED = "#2b8a3e"
FADED = 0.3
"""How strongly bounds are drawn that do not apply to the model."""


def draw(found: Certificate, ax: Any = None) -> Any:
    """Draw the bounds on errors; see `Certificate.plot`."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise VotronError("Drawing needs matplotlib: pip install matplotlib.") from error
    lines = _lines(found)
    with plt.rc_context(STYLE):
        if ax is None:
            _, ax = plt.subplots(figsize=(9, 1.6 + 0.3 * len(lines)), layout="constrained")
        low = _lowest(found)
        for y, (_, entry) in enumerate(lines):
            _line(ax, y, entry, low)
        _frame(ax, found, lines, low)
    return ax


def _lines(found: Certificate) -> list[tuple[str, Any]]:
    """Return what stands in each line: a predictor, one of its bounds, or its measured error."""
    groups: dict[str, list[Bound]] = {}
    for bound in found.bounds:
        if bound.kind != FACT and math.isfinite(bound.error):
            groups.setdefault(bound.predictor, []).append(bound)
    for predictor in found.measured:
        groups.setdefault(predictor, [])
    out: list[tuple[str, Any]] = []
    for predictor, bounds in groups.items():
        out.append((predictor + (" (this model)" if predictor == found.predictor else ""), None))
        out += [(bound.name, bound) for bound in bounds]
        if predictor in found.measured:
            out.append(("measured", found.measured[predictor]))
    return out


def _lowest(found: Certificate) -> float:
    """Return where the axis begins: a power of ten below the least error."""
    values = [bound.error for bound in found.bounds if bound.kind != FACT and bound.error > 0]
    values += [measured.rate for measured in found.measured.values() if measured.rate > 0]
    least = min((v for v in values if math.isfinite(v)), default=0.1)
    return float(min(0.1, 10.0 ** math.floor(math.log10(least))))


def _line(ax: Any, y: int, entry: Any, low: float) -> None:
    if entry is None:
        return
    if not hasattr(entry, "kind"):
        rate = max(entry.rate, low)
        ax.plot([rate], [y], "D", color=MEASURED, markersize=6.5, clip_on=False)
        _note(ax, rate, y, f"{100 * entry.rate:.2f} %", 1.0)
        return
    strength = 1.0 if entry.applies else FADED
    colour = COLOURS[entry.kind]
    filled = colour if entry.kind == GUARANTEE else "white"
    x, mark, text = (1.0, ">", "vacuous") if entry.vacuous else (entry.error, "o", f"{100 * entry.error:.1f} %")
    ax.plot([low, x], [y, y], color=colour, alpha=0.35 * strength, linewidth=2)
    ax.plot([x], [y], mark, color=colour, markerfacecolor=filled, alpha=strength, markersize=7, clip_on=False)
    _note(ax, x, y, text, strength)


def _note(ax: Any, x: float, y: int, text: str, strength: float) -> None:
    """Write a value to the right of its mark."""
    colour = INK if strength == 1 else MUTED
    place = {"textcoords": "offset points", "va": "center", "annotation_clip": False}
    ax.annotate(text, (x, y), (9, 0), fontsize=9, color=colour, **place)


def _frame(ax: Any, found: Certificate, lines: list[tuple[str, Any]], low: float) -> None:
    plain(ax)
    ax.set_xscale("log")
    ax.set_xlim(low, 1.0)
    ax.set_ylim(len(lines) - 0.4, -0.6)
    ticks = [10.0**k for k in range(round(math.log10(low)), 1)]
    ax.set_xticks(ticks, [f"{100 * tick:g} %" for tick in ticks])
    ax.minorticks_off()
    ax.set_yticks(range(len(lines)), [text if entry is None else f"{text}   " for text, entry in lines])
    for label, (_, entry) in zip(ax.get_yticklabels(), lines, strict=True):
        label.set(fontsize=10, fontweight="bold" if entry is None else "normal")
    ax.grid(False, axis="y")
    ax.set_xlabel("error on examples to come, at most")
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], marker="o", linestyle="", color=COLOURS[GUARANTEE], label=f"guarantee (δ = {found.delta:g})"),
        Line2D([], [], marker="o", linestyle="", color=COLOURS[ESTIMATE], markerfacecolor="white", label="estimate"),
        Line2D([], [], marker="D", linestyle="", color=MEASURED, label="measured on test data"),
    ]
    marks = marks if found.measured else marks[:2]
    ax.legend(handles=marks, loc="upper center", bbox_to_anchor=(0.5, -2.0 / len(lines)), ncols=3, frameon=False)
    title(ax, f"What the theorems say of this {found.model}", "pale: does not apply to the model as it is")
