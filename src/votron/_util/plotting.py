"""The style of all figures, and figures and images as files and for pages."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from votron._util.files import write_bytes
from votron._util.types import Array, Axes, Params
from votron.errors import VotronError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, MUTED, GRID, AXIS = "#333333", "#666666", "#e6e6e6", "#999999"
FOR, AGAINST = "#1f4e9c", "#c8641b"
"""Right or for a class; wrong or against it."""
EMPTY = "#f2f3f5"
"""The background of cells without rows."""
COLOURS = ("#1f4e9c", "#3f9a6a", "#dd8330", "#a3a3a3", "#7a4ea3", "#b03a5b", "#0b6e99", "#8a6d1d")
"""Colours of several lines, in order."""
IMAGE_SHAPES = {784: (28, 28), 64: (8, 8)}  # rows without names of so many features are taken for images

STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "text.color": INK,
    "axes.labelcolor": INK,
    "text.parse_math": False,
    "figure.constrained_layout.w_pad": 0.12,
    "figure.constrained_layout.h_pad": 0.12,
}
"""For ``rc_context``. The font comes with matplotlib, so figures are the same wherever they are drawn."""


def plain(axes: Axes) -> None:
    """Leave a light grid and the axis below."""
    axes.grid(True, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(AXIS)
    axes.tick_params(length=0, pad=7, colors=INK)


def title(axes: Axes, text: str, note: str, *, pad: float = 24) -> None:
    """Write a title, and a note beneath it, in points above the axes."""
    axes.set_title(text, loc="left", fontweight="bold", fontsize=12.5, pad=pad)
    axes.annotate(note, (0, 1), (0, 8), xycoords="axes fraction", textcoords="offset points", fontsize=9.5, color=MUTED)


def write_name(axes: Axes, text: str, colour: str, at: Any, offset: tuple[float, float] = (0, 0), **how: Any) -> None:
    """Write the name of a line or a point beside it, in its colour, offset by so many points."""
    how = {"fontweight": "bold", "ha": "center", "va": "center", **how}
    axes.annotate(text, at, offset, textcoords="offset points", color=colour, **how)


def name_ends(axes: Axes, ends: Mapping[str, tuple[float, str]], size: float = 10) -> None:
    """Write the names of lines to the right of the axes without overlap, in their colours."""
    as_fraction = (axes.transData + axes.transAxes.inverted()).transform
    heights = {name: float(as_fraction((axes.get_xlim()[1], y))[1]) for name, (y, _) in ends.items()}
    order = sorted(ends, key=lambda name: heights[name])
    gaps = 0.065 * np.arange(len(order))  # as fractions of the axes
    level = np.array([heights[name] for name in order]) - gaps
    moved = np.maximum.accumulate(level) + np.minimum.accumulate(level[::-1])[::-1]  # up, and down
    places = np.clip(moved / 2, 0.04, 1 - gaps[-1]) + gaps  # not beside the axis below
    where = {"xycoords": "axes fraction", "annotation_clip": False, "ha": "left", "fontsize": size}
    for name, place in zip(order, places, strict=True):
        write_name(axes, name, ends[name][1], (1, place), (8, 0), **where)


class Display:
    """A picture that is drawn on axes of matplotlib."""

    size = 7.2, 4.6
    """Width and height of a figure for it, in inches."""
    ax_: Axes
    """The axes of the drawing."""
    figure_: Figure
    """The figure of it."""

    def plot(self, ax: Axes = None) -> Self:
        """Draw on these axes, or on those of a new figure."""
        plt = pyplot(screen=True)
        with plt.rc_context(STYLE):
            if ax is None:
                _, ax = plt.subplots(figsize=self.size, layout="constrained")
            self.ax_, self.figure_ = ax, ax.figure
            self._draw(ax)
        return self

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError


def pyplot(*, screen: bool = False) -> Any:
    """Return matplotlib's pyplot, with the backend for files unless it is for the screen."""
    try:
        import matplotlib
    except ImportError as error:
        raise VotronError('Drawing needs matplotlib: pip install "votron[plot]".') from error
    if not screen:
        matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def can_draw() -> bool:
    try:
        pyplot()
    except VotronError:
        return False
    return True


def as_bytes(figure: Any, kind: str, **style: Any) -> bytes:
    """Return a figure as a reproducible SVG or PNG file, transparent if a style is given."""
    out, plt = io.BytesIO(), pyplot()
    background = {"transparent": True} if style else {"facecolor": "white"}
    with plt.rc_context({"svg.hashsalt": "votron", **style}):
        figure.savefig(out, format=kind, dpi=160, metadata={"Date": None} if kind == "svg" else {}, **background)
    return out.getvalue()


def save(figure: Any, out: Path) -> list[Path]:
    """Write a figure as ``out`` with .svg and .png, each whole or not at all, close it, and return the files."""
    written = [out.with_name(f"{out.name}.{kind}") for kind in ("svg", "png")]
    for path in written:
        write_bytes(path, as_bytes(figure, path.suffix[1:]), make_folders=True)
    pyplot().close(figure)
    return written


_VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", AXIS: "axis", "#ffffff": "paper", "#000000": "ink"}
"""Colours that dark mode replaces."""


def svg_for_page(figure: Any, name: str, description: str) -> str:
    """Return a figure as an SVG element in the page's colours, and close it; ``name`` makes its ids unique."""
    text = as_bytes(figure, "svg", **{"svg.fonttype": "none"}).decode()
    pyplot().close(figure)
    box = re.search(r'viewBox="[^"]*"', text)
    body = text[text.index(">", text.index("<svg ")) + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>|<style .*?</style>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r'xlink:href="#', f'href="#{name}-', body)
    body = body.replace("url(#", f"url(#{name}-")
    body = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), body)  # places, not texts
    body = re.sub(r"#[0-9a-f]{6}\b", lambda found: _variable(found[0]), body)
    body = body.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    body = re.sub(r"\s*\n\s*", "\n", body).strip()
    return f'<svg role="img" aria-label="{escape(description)}" {box[0] if box else ""} class="figure">{body}'


def _variable(colour: str) -> str:
    return f"var(--{_VARIABLES.get(colour, 'c' + colour[1:])}, {colour})"


def picture(pixels: Array, alt: str) -> Params:
    """Return an image as a part of a page: grey values from white (zero) to black, or colours as they are.

    Grey ones are drawn in ink, light on black in dark mode.
    """
    from PIL import Image  # with matplotlib, and with the readers of images

    grey = pixels.ndim == 2
    strength = np.round(255.0 * pixels / max(float(pixels.max()), 1.0)).clip(0, 255).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(255 - strength if grey else strength).save(out, "PNG", optimize=True)
    data = base64.b64encode(out.getvalue()).decode()
    return {"data": data, "alt": alt, "width": pixels.shape[1], "height": pixels.shape[0], "ink": grey}
