"""Lists, long values, times and sizes, as sentences have them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from votron.errors import VotronError

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


def did_you_mean(given: Any, known: Iterable[Any], *, quoted: bool = True) -> str:
    """Return the question whether a name like the one given was meant, as the end of a sentence; nothing without one.

    Examples
    --------
    >>> did_you_mean("Ply", ["Temp", "Play"]), did_you_mean("--jsn", ["--json"], quoted=False), did_you_mean("x", ["y"])
    (" Did you mean 'Play'?", ' Did you mean --json?', '')
    >>> did_you_mean("SPECIES", ["Island", "Species"]), did_you_mean(3, ["Species"])
    (" Did you mean 'Species'?", '')
    """
    found = nearest(given, known)
    return "" if found is None else f" Did you mean {repr(found) if quoted else found}?"


def nearest(given: Any, known: Iterable[Any], alike: float = 0.65) -> str | None:
    """Return the name that is nearly a given one, whatever their case, or None.

    Examples
    --------
    >>> nearest("digit", ["mnist", "digits"])
    'digits'
    """
    from difflib import get_close_matches

    if not isinstance(given, str):
        return None
    names: dict[str, str] = {}
    for name in map(str, known):
        names.setdefault(name.casefold(), name)
    found = get_close_matches(given.casefold(), names, n=1, cutoff=alike)
    return names[found[0]] if found else None


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


def plain_number(value: float) -> str:
    """Return a number as people write it, in six digits or as a whole one.

    Examples
    --------
    >>> plain_number(7043540.0), plain_number(0.25), plain_number(44292.2), plain_number(7043540.5), plain_number(1e12)
    ('7,043,540', '0.25', '44,292.2', '7,043,540', '1e+12')
    """
    size = abs(value)
    return f"{value:,.0f}" if size < 1e9 and (size >= 1e6 or value == round(value)) else f"{value:,.6g}"


def percent(value: float) -> str:
    """Return a share as text.

    Examples
    --------
    >>> percent(0.01234), percent(0.1234), percent(0.0)
    ('1.23 %', '12.3 %', '0.00 %')
    """
    return f"{100 * value:.2f} %" if value < 0.1 else f"{100 * value:.1f} %"


def percent_range(ends: Iterable[float]) -> str:
    """Return two shares as the ends of an interval.

    Examples
    --------
    >>> percent_range((0.01234, 0.1234))
    '1.23 % to 12.3 %'
    """
    return " to ".join(map(percent, ends))


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


def rows_used(n_used: int, n_rows: int, without_weight: int = 0) -> str:
    """Return how many rows of data are used, where some may have no weight, and of the others some are drawn.

    Examples
    --------
    >>> rows_used(60, 150), rows_used(150, 150)
    ('60 rows drawn from 150', '150 rows')
    >>> rows_used(100, 150, without_weight=50), rows_used(60, 150, without_weight=50)
    ('100 rows (50 of weight 0 left out)', '60 rows drawn from 100 (50 of weight 0 left out)')
    """
    weighed = n_rows - without_weight
    drawn = f" drawn from {weighed:,}" if n_used < weighed else ""
    left_out = f" ({without_weight:,} of weight 0 left out)" if without_weight else ""
    return f"{counted(n_used, 'row')}{drawn}{left_out}"


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


def utc_now() -> str:
    """Return the time in UTC; that of ``SOURCE_DATE_EPOCH`` where it is set, so that builds can be repeated.

    Examples
    --------
    >>> import os
    >>> os.environ["SOURCE_DATE_EPOCH"] = "0"
    >>> utc_now()
    '1970-01-01T00:00:00Z'
    >>> del os.environ["SOURCE_DATE_EPOCH"]
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is not None and not (epoch.isascii() and epoch.isdecimal() and int(epoch) < 253402300800):
        raise VotronError(f"SOURCE_DATE_EPOCH must be seconds since 1970, as a whole number. Got {epoch!r} instead.")
    moment = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
