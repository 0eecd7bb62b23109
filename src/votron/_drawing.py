"""The look of all figures: colours, fonts, a light grid, a title with a note. matplotlib is imported to draw only."""

from __future__ import annotations

import io
from typing import Any

from votron.errors import VotronError

INK, MUTED, GRID, AXIS = "#333333", "#666666", "#e6e6e6", "#999999"

STYLE = {"font.family": "DejaVu Sans", "font.size": 11, "text.color": INK, "axes.labelcolor": INK}
"""For ``rc_context``. The font comes with matplotlib, so the figures are the same wherever they are drawn."""


def plain(axes: Any) -> None:
    """Leave a light grid and the axis below."""
    axes.grid(True, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(AXIS)
    axes.tick_params(length=0, pad=7, colors=INK)


def title(axes: Any, text: str, note: str, *, size: float = 12.5, pad: float = 24, lift: float = 8) -> None:
    """Write a title, and a note beneath it, in points above the axes."""
    axes.set_title(text, loc="left", fontweight="bold", fontsize=size, pad=pad)
    axes.annotate(
        note, (0, 1), (0, lift), xycoords="axes fraction", textcoords="offset points", fontsize=9.5, color=MUTED
    )


def pyplot() -> Any:
    """Return matplotlib's pyplot, which draws to files only; without matplotlib, say what to install."""
    try:
        import matplotlib
    except ImportError as error:
        raise VotronError("Drawing needs matplotlib: pip install matplotlib.") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def as_bytes(figure: Any, kind: str, **style: Any) -> bytes:
    """Return a figure as an SVG or PNG file, the same every time; with a style, on no ground."""
    out = io.BytesIO()
    with pyplot().rc_context({"svg.hashsalt": "votron", **style}):
        background = {"transparent": True} if style else {"facecolor": "white"}
        figure.savefig(out, format=kind, dpi=160, metadata={"Date": None} if kind == "svg" else {}, **background)
    return out.getvalue()
