"""What the figures share: matplotlib only when it is needed, one look, and files that come out the same every time."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from votron.errors import VotronError

INK, MUTED, GRID, AXIS = "#333333", "#666666", "#e6e6e6", "#999999"

STYLE = {"font.family": "DejaVu Sans", "font.size": 11, "text.color": INK, "axes.labelcolor": INK}
"""For ``rc_context``. The font comes with matplotlib, so the figures are the same wherever they are drawn."""


def pyplot() -> Any:
    """Return matplotlib's pyplot, which draws to files only; without matplotlib, say what to install."""
    try:
        import matplotlib
    except ImportError as error:
        raise VotronError("Drawing needs matplotlib: pip install matplotlib.") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


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


def add_out(options: argparse.ArgumentParser, default: str) -> None:
    """Give a command the option that says where its figure goes."""
    options.add_argument(
        "--out",
        type=Path,
        default=Path(default),
        metavar="FILE",
        help="the two files, without .svg and .png (default: %(default)s)",
    )


def save(figure: Any, out: Path) -> None:
    """Write a figure to its two files, print their names, and close it."""
    plt = pyplot()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        for suffix, metadata in ((".svg", {"Date": None}), (".png", {})):
            path = out.with_name(out.name + suffix)
            with plt.rc_context({"svg.hashsalt": "votron"}):  # the same file every time
                figure.savefig(path, dpi=160, facecolor="white", metadata=metadata)
            print(path)
    finally:
        plt.close(figure)
