"""Pictures as files and for pages: written whole, the same every time, and with the colours of the page."""

from __future__ import annotations

import re
import struct
import zlib
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._drawing import AXIS, GRID, INK, MUTED
from votron.experiments._figure import as_bytes, pyplot, write


def png(pixels: NDArray[Any]) -> bytes:
    """Return a picture of grey values as a PNG file, zero white and the greatest black: like ink.

    Examples
    --------
    >>> png(np.eye(2))[1:4]
    b'PNG'
    """
    grey = 255 - np.round(255.0 * pixels / max(float(pixels.max()), 1.0)).astype(np.uint8)
    lines = b"".join(b"\0" + line.tobytes() for line in grey)

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def save(figure: Any, out: Path) -> list[Path]:
    """Write a figure as ``out`` with .svg and .png, each whole or not at all, and return the files.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save(Figure(), Path(folder) / "empty")]
    ['empty.svg', 'empty.png']
    """
    written = list(write(figure, out))
    pyplot().close(figure)
    return written


VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", AXIS: "axis", "#ffffff": "paper", "#000000": "ink"}
"""Colours that a page in dark mode has others for."""


def svg_for_page(figure: Any, name: str, description: str) -> str:
    """Return a figure as an SVG element for a page: its text is text, its colours are the page's.

    Parameters
    ----------
    figure : matplotlib Figure
        What to show.
    name : str
        Put before every id in it, so that no two figures of a page share one.
    description : str
        What those hear who do not see it.

    Returns
    -------
    str
        An element that refers to nothing outside it. Colours are CSS variables with matplotlib's as the default.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> svg_for_page(Figure(), "empty", "Nothing")[:46]
    '<svg role="img" aria-label="Nothing" viewBox="'
    """
    text = as_bytes(figure, "svg", **{"svg.fonttype": "none"}).decode()
    pyplot().close(figure)
    box = re.search(r'viewBox="[^"]*"', text)
    body = text[text.index(">", text.index("<svg ")) + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>|<style .*?</style>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r'xlink:href="#', f'href="#{name}-', body)
    body = body.replace("url(#", f"url(#{name}-")
    body = re.sub(r"(\d\.\d\d)\d+", r"\1", body)
    body = re.sub(r"#[0-9a-f]{6}\b", lambda found: _variable(found[0]), body)
    body = body.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    body = re.sub(r"\s*\n\s*", "\n", body).strip()
    return f'<svg role="img" aria-label="{escape(description)}" {box[0] if box else ""} class="figure">{body}'


def _variable(colour: str) -> str:
    return f"var(--{VARIABLES.get(colour, 'c' + colour[1:])}, {colour})"
