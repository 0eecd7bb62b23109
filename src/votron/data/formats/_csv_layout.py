"""Layout of a file of separated values: its dialect, its header, its records.

A record ends at a newline outside of quotes, and outside means: after an even number of quote characters. All checks
here are on bytes, a chunk at a time, so that what polars is given afterwards has as many fields in every record.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._util.text import first_of
from votron.data._sources import MAX_RECORD, check_memory, check_text, too_long, with_capital
from votron.data.formats._csv_marks import Marks
from votron.data.options import ReadOptions
from votron.errors import DataError, Parameter

DELIMITERS = ",\t;|"
_CHUNK = 1 << 20
_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?")
_N_SAMPLED = 200
_SAMPLE = 1 << 16
BYTES_A_BYTE = 5
"""The memory that a byte of text takes, at least, while it is read; fields, lines and columns take some beside it."""
_BYTES_A_FIELD = 40
_BYTES_A_LINE = 16
_BYTES_A_COLUMN = 8192
_NARROWER = "it has too many columns: give it fewer"


@dataclass(frozen=True)
class Dialect:
    """How fields are separated and quoted; without a quote character every character stands for itself."""

    delimiter: str
    quote: str | None


@dataclass(frozen=True)
class Layout:
    """What holds for all parts of a file: names, dialect, what is missing, and what columns hold as far as known."""

    name: str
    names: tuple[str, ...]
    dialect: Dialect
    na_values: tuple[str, ...]
    header: bool = True
    doubtful: tuple[str, ...] = ()
    """Names that are numbers: if their columns hold numbers too, the first line may be no header."""
    label: str | None = None
    """The column of the labels, where numbers among words are words."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """What columns must hold, as told."""
    kinds_before: Mapping[str, str] = field(default_factory=dict)
    """What other columns must hold since the rows before do."""
    commas: frozenset[str] = frozenset()
    """Columns of numbers that had decimal commas in the rows before."""
    marks: Marks = field(default_factory=Marks)
    """The decimal marks of the rows before."""
    in_parts: bool = False
    """Whether more rows may follow those that are read."""

    def kind_of(self, name: str) -> str | None:
        """Return what a column must hold, as far as that is known."""
        return self.kinds.get(name, self.kinds_before.get(name))


@dataclass(frozen=True)
class Records:
    """The records of some bytes: where they begin, and how many fields they have. Blank lines may be no records."""

    starts: NDArray[Any]
    ends: NDArray[Any]
    n_fields: NDArray[Any]
    n_blank: int
    unclosed: bool
    odd_quote: int | None  # where a quote stands in the middle of a field
    has_blank: bool = False  # whether there are blank lines among them

    def line_of(self, data: bytes, row: int) -> int:
        """Return the line on which a record begins; the first is 1."""
        return data.count(b"\n", 0, int(self.starts[row])) + 1


# -- records ----------------------------------------------------------------------------------------------------------


def find_records(data: bytes, dialect: Dialect, blank_too: bool = False) -> Records:
    """Return where the records of some bytes are; the last one needs no newline.

    Blank lines are none; with `blank_too` they are, each with a field, those at the end apart.
    """
    array = np.frombuffer(data, dtype=np.uint8)
    ends, n_delimiters, last, odd_quote, inside = _scan_lines(data, array, dialect)
    if len(data) and (not len(ends) or ends[-1] != len(data) - 1) and not inside:
        ends = np.append(ends, np.array(len(data), dtype=ends.dtype))
        n_delimiters = np.append(n_delimiters, np.array(last, dtype=ends.dtype))
    starts = np.concatenate([np.zeros(min(1, len(ends)), dtype=ends.dtype), ends[:-1] + 1])
    lengths = ends - starts
    kept = lengths > 1
    short = np.flatnonzero(lengths == 1)
    kept[short] = array[starts[short]] != 13  # "\r" alone is a blank line too
    n_blank = int(len(kept) - kept.sum())
    has_blank = False
    if blank_too and n_blank:
        n = int(np.flatnonzero(kept)[-1]) if n_blank < len(kept) else 0
        has_blank = not kept[:n].all()
        kept[:n] = True
        n_blank = int(len(kept) - kept.sum())
    if n_blank:
        starts, ends, n_delimiters = starts[kept], ends[kept], n_delimiters[kept]
    return Records(starts, ends, n_delimiters + 1, n_blank, inside, odd_quote, has_blank)


def may_have_codes(data: bytes, dialect: Dialect) -> bool:
    """Tell whether some field may begin like 007: with a zero, after a sign perhaps, and another digit."""
    array = np.frombuffer(data, dtype=np.uint8)
    edges = np.frombuffer(f"\n{dialect.delimiter}{dialect.quote or ''}".encode(), dtype=np.uint8)
    for begin in range(0, len(data), _CHUNK):
        at = begin + np.flatnonzero(array[begin : begin + _CHUNK] == 48)
        at = at[(at > 1) & (at + 1 < len(data))]  # the header is before
        at = at[array[at + 1] - np.uint8(48) < 10]
        before = array[at - 1]
        before = np.where((before == 43) | (before == 45), array[at - 2], before)
        if np.isin(before, edges).any():
            return True
    return False


def _scan_lines(
    data: bytes, array: NDArray[np.uint8], dialect: Dialect
) -> tuple[NDArray[Any], NDArray[Any], int, int | None, bool]:
    """Return ends of lines, delimiters in each and after all, the first quote out of place, and if the last is open."""
    delimiter = ord(dialect.delimiter)
    mark = (dialect.quote or "").encode()
    index = np.int32 if len(data) < 2**31 - 1 else np.int64  # lines may be of a few bytes each
    ends: list[NDArray[Any]] = []
    counts: list[NDArray[Any]] = []
    odd_quote: int | None = None
    inside, carried = 0, 0
    for begin in range(0, len(data), _CHUNK):
        part = array[begin : begin + _CHUNK]
        newline, separator = part == 10, part == delimiter
        if mark and (inside or data.find(mark, begin, begin + _CHUNK) >= 0):
            quotes = part == mark[0]
            parity = (np.cumsum(quotes, dtype=np.uint8) + np.uint8(inside)) & 1
            if odd_quote is None:
                odd_quote = _misplaced_quote(array, begin + np.flatnonzero(quotes), inside, delimiter, mark[0])
            outside = parity == 0
            newline &= outside
            separator &= outside
            inside = int(parity[-1])
        lines, fields = np.flatnonzero(newline), np.flatnonzero(separator)
        before = np.searchsorted(fields, lines)
        if len(lines):
            counts.append(np.diff(before, prepend=-carried).astype(index))
            carried = len(fields) - int(before[-1])
            ends.append((lines + begin).astype(index))
        else:
            carried += len(fields)
    none = np.zeros(0, dtype=index)
    return np.concatenate([none, *ends]), np.concatenate([none, *counts]), carried, odd_quote, bool(inside)


def end_of_last_record(data: bytes, dialect: Dialect) -> int:
    """Return where the last record that a newline ends has its end; 0 if there is none."""
    mark = (dialect.quote or "").encode()
    if not mark or mark not in data:
        return data.rfind(b"\n") + 1
    array = np.frombuffer(data, dtype=np.uint8)
    inside = np.cumsum(array == mark[0], dtype=np.uint8) & 1
    found = np.flatnonzero((array == 10) & (inside == 0))
    return int(found[-1]) + 1 if len(found) else 0


def _misplaced_quote(
    array: NDArray[np.uint8], at: NDArray[np.int64], inside: int, delimiter: int, quote: int
) -> int | None:
    """Return the first quote that neither opens nor closes a field, nor is one of two in a row."""
    opens = (np.arange(len(at)) + inside) % 2 == 0
    before = np.where(at > 0, array[np.maximum(at - 1, 0)], 10)
    after = np.where(at + 1 < len(array), array[np.minimum(at + 1, len(array) - 1)], 10)
    fine_before = (before == delimiter) | (before == 10) | (before == quote)
    fine_after = (after == delimiter) | (after == 10) | (after == 13) | (after == quote)
    bad = np.flatnonzero(np.where(opens, ~fine_before, ~fine_after))
    return int(at[bad[0]]) if len(bad) else None


def check_records(
    data: bytes, records: Records, n_fields: int, name: str, dialect: Dialect, first_line: int = 1
) -> None:
    """Refuse quotes that are not closed or stand inside a field, and records with too few or too many fields."""
    if records.odd_quote is not None:
        line = first_line + data.count(b"\n", 0, records.odd_quote)
        raise DataError(
            f"Line {line} of {name} has a quote {dialect.quote} inside a field: put the field in quotes and write the "
            "quote twice, or say that quotes are characters like others with ",
            Parameter("quote", ""),
            ".",
        )
    if records.unclosed:
        raise DataError(f"{with_capital(name)} ends inside a quoted field: a quote {dialect.quote} is not closed.")
    lengths = records.ends - records.starts
    if len(lengths) and lengths.max() > MAX_RECORD:
        raise too_long(first_line - 1 + records.line_of(data, int(lengths.argmax())), name)
    wrong = np.flatnonzero(records.n_fields != n_fields)
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"Line {first_line - 1 + records.line_of(data, row)} of {name} must have {n_fields} fields, as the first "
            f"line has, separated by {dialect.delimiter!r}. Got {records.n_fields[row]} instead."
        )


class Meter:
    """Counts what text takes in memory beside its bytes, a chunk at a time; refuses lines without an end."""

    def __init__(self, delimiter: str, name: str, newline: bytes = b"\n") -> None:
        self._delimiter, self._newline, self._name = delimiter.encode(), newline, name
        self._line, self._unended = 1, 0

    def __call__(self, data: bytes) -> int:
        """Return the bytes that the fields and lines of a chunk take."""
        n_lines = data.count(self._newline)
        self._unended = len(data) - 1 - data.rfind(self._newline) if n_lines else self._unended + len(data)
        self._line += n_lines
        if self._unended > MAX_RECORD:
            raise too_long(self._line, self._name)
        return _BYTES_A_FIELD * (data.count(self._delimiter) + n_lines) + _BYTES_A_LINE * n_lines


# -- dialect and header -----------------------------------------------------------------------------------------------


def find_layout(data: bytes, whole: bool, name: str, delimiter: str | None, options: ReadOptions) -> tuple[Layout, int]:
    """Return the layout, and how many bytes the header takes. `whole`: there are no more bytes than these."""
    if not data.strip():
        raise DataError(f"Cannot read {name}: the file is empty.")
    sample = data[:_SAMPLE]
    all_of_it = whole and len(sample) == len(data)
    check_text(sample if all_of_it else sample[: sample.rfind(b"\n") + 1], name)
    dialect = find_dialect(sample, all_of_it, delimiter, options.quote)
    first = _first_record(data, whole, dialect, name)
    n_columns = data.count(dialect.delimiter.encode(), first.start, first.stop) + 1
    check_memory(_BYTES_A_COLUMN * n_columns, name, remedy=_NARROWER)
    fields = split_line(data[first.start : first.stop], dialect)
    header, doubtful = options.header is not False, tuple[str, ...]()
    if header:
        check_header(fields, name, options.header)
        numbers = tuple(one for one in fields if is_number(one))
        doubtful = () if options.header or count_up(numbers) else numbers
    names = tuple((one or f"<column {i + 1}>") if header else f"c{i}" for i, one in enumerate(fields))
    table = options.table
    layout = Layout(
        name,
        names,
        dialect,
        options.missing_texts,
        header=header,
        doubtful=doubtful,
        label=table.label_in(names),
        kinds=table.kinds(names),
    )
    return layout, min(first.stop + 1, len(data)) if header else 0


def _first_record(data: bytes, whole: bool, dialect: Dialect, name: str) -> slice:
    for size in (_SAMPLE, len(data)):
        records = find_records(data[:size], dialect)
        complete = len(records.starts) > 1 or (size >= len(data) and len(records.starts))
        if complete:
            check_text(data[: int(records.ends[0])], name)
            return slice(int(records.starts[0]), int(records.ends[0]))
    if whole:
        check_records(data, records, 1, name, dialect)
    raise DataError(f"The first line of {name}, which must name the columns, does not end within {len(data)} bytes.")


def find_dialect(head: bytes, whole: bool, delimiter: str | None, quote: str | None) -> Dialect:
    """Return the dialect that the first bytes show, as far as it is not given. `whole`: there are no more bytes."""
    if not whole and (cut := head.rfind(b"\n")) >= 0:
        head = head[: cut + 1]
    candidates = [delimiter] if delimiter else list(DELIMITERS)
    best = max(candidates, key=lambda one: _fitness(head, Dialect(one, '"' if quote is None else quote or None)))
    return Dialect(best, _find_quote(head, best) if quote is None else quote or None)


def _fitness(head: bytes, dialect: Dialect) -> tuple[bool, int]:
    """Return whether all lines have the same number of fields, more than one, and that number."""
    found = find_records(head, dialect).n_fields[:_N_SAMPLED]
    if not len(found):
        return False, 0
    return bool(found[0] > 1 and (found == found[0]).all()), int(found[0])


def _find_quote(head: bytes, delimiter: str) -> str | None:
    """Return the quote character in use: double, or else single if each that begins a field also ends it."""
    edge = re.escape(delimiter.encode())
    if b'"' in head:
        opening = re.search(rb'(?:^|[\n%s])"' % edge, head)
        return '"' if opening else None
    if re.search(rb"(?:^|[\n%s])'[^'\n]*'(?=[\r\n%s]|$)" % (edge, edge), head):
        single, plain = find_records(head, Dialect(delimiter, "'")), find_records(head, Dialect(delimiter, None))
        on_lines = len(single.starts) == len(plain.starts)  # no field goes over several, as after a lone quote
        if single.odd_quote is None and not single.unclosed and on_lines:
            return "'"
    return '"'


def split_line(line: bytes, dialect: Dialect) -> list[str]:
    """Return the fields of one record."""
    text = line.decode("utf-8", errors="replace").rstrip("\r\n")
    if dialect.quote is None:
        return [field.strip() for field in text.split(dialect.delimiter)]
    rows = csv.reader([text], delimiter=dialect.delimiter, quotechar=dialect.quote)
    try:
        return [field.strip() for field in next(rows, [])]
    except csv.Error:  # a field of over 128 KB
        return [field.strip() for field in text.split(dialect.delimiter)]


def is_number(text: str) -> bool:
    """Tell whether a text is a number, and a finite one."""
    return _NUMBER.fullmatch(text) is not None


def count_up(names: Iterable[str]) -> bool:
    """Tell whether names are 0, 1, 2, and so on, as pandas gives them."""
    given = list(names)
    return given == [str(i) for i in range(len(given))]


def looks_like_data(names: Iterable[str]) -> bool:
    """Tell whether what should be names are values: all numbers (but 0, 1, 2, ...), or mostly numbers with a point."""
    given = list(names)
    numbers = [name for name in given if is_number(name)]
    counted = count_up(name for name in given if name)
    pointed = [name for name in numbers if "." in name or name.startswith("-")]
    return bool(numbers) and not counted and (len(numbers) == len(given) or 2 * len(pointed) > len(given))


def check_header(names: list[str], name: str, header: bool | None) -> None:
    """Refuse names of columns that look like data, or are the same."""
    if header is None and looks_like_data(names):
        raise no_header_error(names, name)
    seen: set[str] = set()
    for one in names:
        if one and one in seen:
            raise DataError(f"The names of the columns of {name} must differ. Got {one[:60]!r} twice instead.")
        seen.add(one)


def no_header_error(names: Sequence[str], name: str) -> DataError:
    """Return the error of a first line that seems to be a row."""
    shown = first_of(names, 3)
    return DataError(
        f"The first line of {name} must name the columns. Got {shown[:100]} instead: add such a line, or say ",
        Parameter("header", False),
        ", which calls them c0, c1, and so on, or ",
        Parameter("header", True),
        " if these are names.",
    )
