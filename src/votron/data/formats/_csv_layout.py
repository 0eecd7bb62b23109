"""Layout of a CSV file: the delimiter, the quote character, the header and the records.

Found from the beginning of the file. polars is told what was found, and reads the rest.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from votron._util.text import first_of
from votron.data.examples import short_repr
from votron.data.options import ReadOptions
from votron.errors import DataError

DELIMITERS = ",\t;|"
_SAMPLE = 1 << 16
_N_SAMPLED = 200
_CHUNK = 1 << 20
_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?")


@dataclass(frozen=True)
class Layout:
    """The delimiter and quote of a file, and the names of its columns."""

    name: str
    names: tuple[str, ...]
    delimiter: str
    quote: str | None
    header: bool
    n_header: int
    """The bytes before the first row."""
    doubtful: tuple[str, ...]
    """Names that are numbers: if their columns hold numbers too, the first line may not be a header."""


def find_layout(text: bytes, name: str, delimiter: str | None, options: ReadOptions) -> Layout:
    """Return the layout that the beginning of a text shows, as far as it is not given."""
    begin = len(text) - len(text.lstrip(b"\r\n"))
    if not text.strip():
        raise DataError(f"Cannot read {name}: the file is empty.")
    sample = text[begin : begin + _SAMPLE]
    if len(sample) == _SAMPLE and b"\n" in sample:
        sample = sample[: sample.rfind(b"\n") + 1]
    found = delimiter or _find_delimiter(sample, options.quote)
    quote = _find_quote(sample, found) if options.quote is None else options.quote or None
    n_bytes = end_of_first_record(text[begin:], quote)
    rows = list(_sampled(text[begin : begin + max(n_bytes, len(sample))], found, quote))
    if not rows:
        raise DataError(f"The first line of {name} must name the columns, and has no end: a quote may not be closed.")
    header = options.header is not False
    fields = [field.strip() for field in rows[0]]
    numbers = tuple(field for field in fields if is_number(field))
    if header:
        _check_header(fields, rows, name, options.header)
    names = [(field or f"<column {i + 1}>") if header else f"c{i}" for i, field in enumerate(fields)]
    doubtful = () if not header or options.header or _count_up(numbers) else numbers
    return Layout(name, tuple(names), found, quote, header, begin + n_bytes if header else begin, doubtful)


def _find_delimiter(sample: bytes, quote: str | None) -> str:
    """Return the delimiter with which most lines have the same number of fields, more than one."""

    def fitness(delimiter: str) -> tuple[float, int]:
        counts = [len(row) for row in _sampled(sample, delimiter, '"' if quote is None else quote or None)]
        usual, n = Counter(counts).most_common(1)[0] if counts else (1, 0)
        return (n / len(counts), usual) if usual > 1 else (0.0, 1)

    return max(DELIMITERS, key=fitness)


def _find_quote(sample: bytes, delimiter: str) -> str | None:
    """Return the double quote, unless it stands in fields and never at the beginning of one."""
    at_edge = rb'(?:^|[\n%s])"' % re.escape(delimiter.encode())
    return '"' if b'"' not in sample or re.search(at_edge, sample) else None


def _sampled(sample: bytes, delimiter: str, quote: str | None) -> Iterator[list[str]]:
    """Yield the fields of the first records that are not blank."""
    found = 0
    try:
        for _, row in records(sample, delimiter, quote):
            if row:
                yield row
                found += 1
            if found == _N_SAMPLED:
                return
    except csv.Error:  # a quote that is closed after the sample, or never
        return


# -- header -----------------------------------------------------------------------------------------------------------


def is_number(text: str) -> bool:
    """Tell whether a text is a number, and a finite one."""
    return _NUMBER.fullmatch(text) is not None


def _count_up(names: Sequence[str]) -> bool:
    """Tell whether names are 0, 1, 2, and so on, as pandas gives them."""
    return list(names) == [str(i) for i in range(len(names))]


def _looks_like_data(names: Sequence[str]) -> bool:
    """Tell whether what should be names are values: all numbers (but 0, 1, 2, ...), or mostly numbers with a point."""
    numbers = [name for name in names if is_number(name)]
    pointed = [name for name in numbers if "." in name or name.startswith("-")]
    counted = _count_up([name for name in names if name])
    return bool(numbers) and not counted and (len(numbers) == len(names) or 2 * len(pointed) > len(names))


def _check_header(names: list[str], rows: list[list[str]], name: str, header: bool | None) -> None:
    """Refuse names of columns that look like data or like a title, or that are the same."""
    filled, usual = [field for field in names if field], Counter(map(len, rows[1:])).most_common(1)
    if header is None and usual and len(filled) == 1 and usual[0][0] >= (2 if len(names) == 1 else 3):
        raise DataError(
            f"The first line of {name} must name the columns. Got one field, {short_repr(filled[0])}, above lines of "
            f"{usual[0][0]}, which seems to be a title: delete what stands above the names of the columns."
        )
    if header is None and _looks_like_data(names):
        raise no_header_error(names, name)
    twice = next((one for one, n in Counter(filled).items() if n > 1), None)
    if twice is not None:
        raise DataError(f"The names of the columns of {name} must differ. Got {twice[:60]!r} twice instead.")


def no_header_error(names: Sequence[str], name: str) -> DataError:
    """Return the error of a first line that seems to be a row."""
    return DataError(
        f"The first line of {name} must name the columns. Got {first_of(names, 3)[:100]} instead: add such a line, "
        "or say header=False, which calls them c0, c1, and so on, or header=True if these are names.",
        parameter="header",
    )


# -- records ----------------------------------------------------------------------------------------------------------


def records(data: bytes, delimiter: str, quote: str | None, first_line: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Yield the line that each record begins on, and its fields, as Python's csv module reads them; slow."""
    text = io.StringIO(data.decode("utf-8", errors="replace"), newline="")
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        quoting: Any = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
        reader = csv.reader(text, delimiter=delimiter, quotechar=quote or '"', quoting=quoting, strict=True)
        line = first_line
        for row in reader:
            yield line, row
            line = first_line + reader.line_num
    finally:
        csv.field_size_limit(limit)


def end_of_first_record(data: bytes, quote: str | None) -> int:
    """Return where the first record ends, with its newline."""
    end, mark = data.find(b"\n"), (quote or "").encode()
    while mark and end >= 0 and data.count(mark, 0, end) % 2:
        end = data.find(b"\n", end + 1)
    return end + 1 if end >= 0 else len(data)


def end_of_last_record(data: bytes, quote: str | None) -> int:
    """Return where the last record that a newline ends has its end; 0 if there is none."""
    end, mark = data.rfind(b"\n"), (quote or "").encode()
    while mark and end >= 0 and data.count(mark, 0, end) % 2:
        end = data.rfind(b"\n", 0, data.rfind(mark, 0, end))
    return end + 1


def count_delimiters(data: bytes, delimiter: str, quote: str | None) -> int:
    """Return the number of delimiters outside of quotes."""
    mark = (quote or "").encode()
    if not mark or mark not in data:
        return data.count(delimiter.encode())
    n, inside = 0, 0
    for begin in range(0, len(data), _CHUNK):
        pieces = data[begin : begin + _CHUNK].split(mark)
        n += b"".join(pieces[inside::2]).count(delimiter.encode())
        inside = (inside + len(pieces) - 1) % 2
    return n
