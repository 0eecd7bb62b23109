"""What the figures of the experiments share: matplotlib only when it is needed, and files that come out the same."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from votron._drawing import AXIS, GRID, INK, MUTED, STYLE, as_bytes, plain, pyplot, title
from votron._files import write_bytes

__all__ = [
    "AXIS",
    "GRID",
    "INK",
    "MUTED",
    "STYLE",
    "add_out",
    "as_bytes",
    "plain",
    "pyplot",
    "save",
    "title",
    "write_name",
]


def write_name(
    axes: Any,
    text: str,
    colour: str,
    at: Any,
    offset: tuple[float, float] = (0, 0),
    ha: str = "center",
    va: str = "center",
    **how: Any,
) -> None:
    """Write the name of a line or a point beside it, in its colour: so many points away."""
    how = {"color": colour, "fontweight": "bold", "ha": ha, "va": va, **how}
    axes.annotate(text, at, offset, textcoords="offset points", **how)


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
    """Write a figure to its two files, each whole or not at all, print their names, and close it."""
    try:
        for path in write(figure, out):
            print(path)
    finally:
        pyplot().close(figure)


def write(figure: Any, out: Path) -> Iterator[Path]:
    """Write a figure as ``out`` with .svg and .png, each whole or not at all; yield the files."""
    for kind in ("svg", "png"):
        path = out.with_name(f"{out.name}.{kind}")
        write_bytes(path, as_bytes(figure, kind))
        yield path
