"""Tables as text, Markdown and CSV, from rows of cells with the head first."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import TextIO


def as_text(rows: Sequence[Sequence[str]], *, colour: bool = False, left: Collection[int] = (0,)) -> str:
    """Return rows of cells as aligned lines: the columns ``left`` to the left, the others to the right.

    With colour the head is bold, and rows that begin with a space are dim.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        line = "  ".join(cell.ljust(wide) if i in left else cell.rjust(wide) for i, (cell, wide) in cells).rstrip()
        style = "1" if row is rows[0] else "2" if row[0].startswith(" ") else ""
        lines.append(f"\x1b[{style}m{line}\x1b[0m" if colour and style else line)
    return "\n".join(lines)


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    rule = ["---"] + ["--:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(cell.strip() for cell in row) + " |" for row in (head, rule, *body))


def as_csv(rows: Iterable[Iterable[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def wants_colour(stream: TextIO) -> bool:
    """Tell whether this is a terminal that shows colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or sys.platform == "win32"
    return stream.isatty() and not plain
