"""Lists, long values, times and sizes, as sentences have them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

LONGEST = 60
"""Characters of a value that a sentence shows."""


def joined(names: Iterable[str], last: str = "and") -> str:
    """Return names with a word before the last one.

    Examples
    --------
    >>> joined(["a", "b", "c"]), joined(["a", "b"], "or"), joined(["a"])
    ('a, b and c', 'a or b', 'a')
    """
    *rest, end = names
    return f"{', '.join(rest)} {last} {end}" if rest else end


def first_of(names: Sequence[str], most: int) -> str:
    """Return names separated by commas, and dots where there are more of them.

    Examples
    --------
    >>> first_of(["a", "b", "c"], 2), first_of(["a", "b"], 2)
    ('a, b, ...', 'a, b')
    """
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def on_one_line(text: str) -> str:
    r"""Return a text with a space wherever it has white space.

    Examples
    --------
    >>> on_one_line("one\n  line")
    'one line'
    """
    return " ".join(text.split())


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return so many characters of a text at most, with dots where it goes on.

    Examples
    --------
    >>> shortened("0123456789", 6), shortened("0123456789")
    ('012...', '0123456789')
    """
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def counted(n: int, thing: str, many: str = "") -> str:
    """Return a number of things.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{n:,} {thing if n == 1 else many or thing + 's'}"


def duration(seconds: float) -> str:
    """Return a time in words that fit its size.

    Examples
    --------
    >>> duration(0.123), duration(12.34), duration(192), duration(7380)
    ('0.12 s', '12.3 s', '3 min 12 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def rounded_bytes(value: float) -> str:
    """Return a number of bytes, rounded.

    Examples
    --------
    >>> rounded_bytes(999), rounded_bytes(85_300), rounded_bytes(5.23e9), rounded_bytes(15e9)
    ('999 bytes', '85 kB', '5.2 GB', '15 GB')
    """
    if value < 1000:
        return f"{value:.0f} bytes"
    power = min(4, int(math.log10(value) // 3))
    number = value / 1000**power
    return f"{number:,.0f} {' kMGT'[power]}B" if number >= 10 else f"{number:.1f} {' kMGT'[power]}B"


def exact_bytes(value: int) -> str:
    """Return a number of bytes as it was given, which a limit has to be.

    Examples
    --------
    >>> exact_bytes(4 << 30), exact_bytes(1500)
    ('4 GiB', '1500 bytes')
    """
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if value >= 1 << power and value % (1 << power) == 0:
            return f"{value >> power} {unit}"
    return f"{value} bytes"
