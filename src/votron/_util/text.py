"""Formatting of lists, long values, times, sizes and tables, and of pages from templates."""

from __future__ import annotations

import functools
import io
import math
import os
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO

from votron.errors import MissingPackageError

if TYPE_CHECKING:
    from jinja2 import Environment

LONGEST = 60  # characters of a value that a sentence shows


def joined(names: Iterable[str], last: str = "and") -> str:
    """Return names with a word before the last one."""
    *rest, end = names
    return f"{', '.join(rest)} {last} {end}" if rest else end


def first_of(names: Sequence[str], most: int) -> str:
    """Return names separated by commas, and dots where there are more of them."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def did_you_mean(given: object, known: Iterable[object]) -> str:
    """Return a "Did you mean ...?" question to end a sentence with, or nothing if no known name is close."""
    from difflib import get_close_matches

    names = {str(name).casefold(): str(name) for name in known}
    found = get_close_matches(given.casefold(), names, n=1, cutoff=0.65) if isinstance(given, str) else []
    return f" Did you mean {names[found[0]]!r}?" if found else ""


def on_one_line(text: str) -> str:
    return " ".join(text.split())


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return a text cut to a length, with dots where it goes on."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def name_of(label: object, longest: int = 32) -> str:
    return shortened(on_one_line(str(label)), longest)


def counted(n: int, thing: str, many: str = "") -> str:
    return f"{n:,} {thing if n == 1 else many or thing + 's'}"


def plain_number(value: float) -> str:
    """Return a number with six digits, or as a whole number."""
    size = abs(value)
    return f"{value:,.0f}" if size < 1e9 and (size >= 1e6 or value == round(value)) else f"{value:,.6g}"


def percent(value: float) -> str:
    return f"{100 * value:.2f} %" if value < 0.1 else f"{100 * value:.1f} %"


def percent_range(ends: Iterable[float]) -> str:
    return " to ".join(map(percent, ends))


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def left_out(dropped: int, unlabelled: int) -> str:
    """Return in words how many rows were left out, and how many of them for lack of a label."""
    words = [counted(unlabelled, "row") + " without a label"] if unlabelled else []
    words += [counted(dropped - unlabelled, "row") + " with missing values"] if dropped > unlabelled else []
    return ", ".join(words)


def rows_used(n_used: int, n_rows: int) -> str:
    """Return how many rows of data are used, of which some may be drawn."""
    return counted(n_used, "row") + (f" drawn from {n_rows:,}" if n_used < n_rows else "")


def in_words(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "none" if value is None else "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**9 else str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(in_words, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {in_words(item)}" for name, item in value.items())
    return str(value)


def rounded_bytes(value: float) -> str:
    if value < 1000:
        return f"{value:.0f} bytes"
    power = min(4, int(math.log10(value) // 3))
    number = value / 1000**power
    return f"{number:,.0f} {' kMGT'[power]}B" if number >= 10 else f"{number:.1f} {' kMGT'[power]}B"


def exact_bytes(value: int) -> str:
    """Return a number of bytes as it was given, which a limit has to be."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if value >= 1 << power and value % (1 << power) == 0:
            return f"{value >> power} {unit}"
    return f"{value} bytes"


def utc_now() -> str:
    """Return the time in UTC; that of ``SOURCE_DATE_EPOCH`` where it is set, so that builds can be repeated."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


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
    import csv  # which takes time

    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def wants_colour(stream: TextIO) -> bool:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or sys.platform == "win32"
    return stream.isatty() and not plain


_NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""Characters that a page must not contain: control characters, surrogates, changes of direction."""


@functools.cache
def _environment() -> Environment:
    """Return the environment of all templates, which are named by their path in the package."""
    try:
        import jinja2
    except ImportError as error:
        raise MissingPackageError('Reports need jinja2: pip install "votron[cli]".') from error
    loader = jinja2.PackageLoader("votron", "")
    made = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"percent": percent, "counted": counted, "name": name_of, "number": plain_number}
    return made


def render(template: str, **context: object) -> str:
    """Return a page, its percentages unbroken at the end of a line."""
    text = _environment().get_template(template).render(**context)
    return re.sub(r"(?<=\d) %", "\u00a0%", _NOT_TEXT.sub("\ufffd", text))
