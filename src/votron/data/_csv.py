"""Files of separated values as frames: polars parses, and what it leaves as text is looked at again here.

polars infers types from the first rows. Where a later row does not fit, numbers are read as floats, and if that does
not do, everything as text, whose columns are then turned into numbers or truth values where all of their values are.
So types depend on all rows, and not on the way they were found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from votron.data._budget import check_memory
from votron.data._csv_columns import EXACT, has_commas, typed, zero_led
from votron.data._csv_layout import (
    MAX_RECORD,
    Dialect,
    Records,
    check_records,
    check_text,
    checked_header,
    find_dialect,
    find_records,
    has_zero_led,
    is_number,
    numbered,
    shown_header,
    split_line,
    too_long,
)
from votron.data._polars import polars, sentences
from votron.errors import DataError

NA_VALUES = ("", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "null", "?")
"""Texts that mean that a value is missing, if not told otherwise."""
BYTES_A_BYTE = 5
"""The memory that a byte of text takes, at least, while it is read; fields, lines and columns take some beside it."""
_BYTES_A_FIELD = 40
_BYTES_A_LINE = 16
_BYTES_A_COLUMN = 8192
_SAMPLE = 1 << 16
_N_INFERRED = 1000
_AT_ONCE = 1 << 14
_NARROWER = "it has too many columns: give it fewer"


@dataclass(frozen=True)
class Layout:
    """What holds for all parts of a file: names, dialect, what is missing, and what columns hold as far as known."""

    name: str
    names: tuple[str, ...]
    dialect: Dialect
    na_values: tuple[str, ...] = NA_VALUES
    header: bool = True
    doubtful: tuple[str, ...] = ()
    """Names that are numbers: if their columns hold numbers too, the first line may be no header."""
    label: str | None = None
    """The column of the labels, where numbers among words are words."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """What columns must hold, as told; `authority` says by whom."""
    authority: str = "as when the model was trained"
    kinds_before: Mapping[str, str] = field(default_factory=dict)
    """What other columns must hold since the rows before do."""
    commas: frozenset[str] = frozenset()
    """Columns of numbers that had decimal commas in the rows before."""

    def kind_of(self, name: str) -> str | None:
        """Return what a column must hold, as far as that is known."""
        return self.kinds.get(name, self.kinds_before.get(name))


@dataclass(frozen=True)
class CsvRows:
    """Some rows as a frame, and where its rows are in the file."""

    frame: Any
    data: bytes
    records: Records
    first_line: int
    commas: frozenset[str] = frozenset()

    def place(self, row: int) -> str:
        """Return where a row is, in words."""
        return f"line {self.first_line - 1 + self.records.line_of(self.data, row)}"


def find_layout(
    data: bytes,
    whole: bool,
    name: str,
    *,
    delimiter: str | None = None,
    quote: str | None = None,
    header: bool | None = None,
    na_values: tuple[str, ...] = NA_VALUES,
) -> tuple[Layout, int]:
    """Return the layout, and how many bytes the header takes. `whole`: there are no more bytes than these."""
    if not data.strip():
        raise DataError(f"Cannot read {name}: the file is empty.")
    sample = data[:_SAMPLE]
    all_of_it = whole and len(sample) == len(data)
    check_text(sample if all_of_it else sample[: sample.rfind(b"\n") + 1], name)
    dialect = find_dialect(sample, all_of_it, delimiter, quote)
    first = _first_record(data, whole, dialect, name)
    n_columns = data.count(dialect.delimiter.encode(), first.start, first.stop) + 1
    check_memory(_BYTES_A_COLUMN * n_columns, name, remedy=_NARROWER)
    fields = split_line(data[first.start : first.stop], dialect)
    if header is False:
        return Layout(name, tuple(f"c{i}" for i in range(len(fields))), dialect, na_values, header=False), 0
    names = checked_header(fields, name, header)
    named = tuple(one or unnamed(i) for i, one in enumerate(names))
    numbers = tuple(one for one in names if is_number(one))
    doubtful = () if header or numbered(numbers) else numbers
    return Layout(name, named, dialect, na_values, doubtful=doubtful), min(first.stop + 1, len(data))


def unnamed(i: int) -> str:
    """Return what a column without a name is called."""
    return f"<column {i + 1}>"


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


def read_rows(data: bytes, layout: Layout, first_line: int) -> CsvRows:
    """Return the rows of some whole records, without the header."""
    check_text(data, layout.name, first_line)
    more = Meter(layout.dialect.delimiter, layout.name)(data)  # the text itself is in memory already
    check_memory((BYTES_A_BYTE - 1) * len(data) + more, layout.name)
    records = find_records(data, layout.dialect, blank_too=len(layout.names) == 1)
    check_records(data, records, len(layout.names), layout.name, layout.dialect, first_line)
    frame = polars().DataFrame({name: [] for name in layout.names})
    if len(records.starts):
        frame = _parsed(*_body(data, records, layout), layout)
    if frame.height != len(records.starts):
        raise DataError(f"Cannot read {layout.name}: its quotes and line ends do not fit together.")
    rows = CsvRows(frame, data, records, first_line)
    columns = [typed(column, layout, rows.place) for column in frame.get_columns()]
    _check_header(columns, layout)
    return CsvRows(frame.with_columns(columns), data, records, first_line, _with_commas(frame, columns, layout))


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


def _body(data: bytes, records: Records, layout: Layout) -> tuple[bytes, list[str]]:
    """Return records for polars, without the blank lines that are none, below a line of names that it knows."""
    # polars has called columns without a name differently in different versions; these cannot have a delimiter in them.
    keys = [f"c{i}" for i in range(len(layout.names))]
    end = b""
    if records.has_blank:  # of one column: not every version of polars sees that a value is missing there
        keys, end = [*keys, "none"], layout.dialect.delimiter.encode()
    if records.n_blank or records.has_blank:
        parts = range(0, len(records.starts), _AT_ONCE)
        data = b"\n".join([_joined(data, records, slice(at, at + _AT_ONCE), end) for at in parts])
    return b"".join([layout.dialect.delimiter.join(keys).encode(), b"\n", data]), keys[: len(layout.names)]


def _joined(data: bytes, records: Records, which: slice, end: bytes) -> bytes:
    """Return some records, each with this end; not all at once, since records of a byte are objects of fifty."""
    pairs = zip(records.starts[which].tolist(), records.ends[which].tolist(), strict=True)
    return b"\n".join([data[a:b].rstrip(b"\r") + end for a, b in pairs])


def _check_header(columns: list[Any], layout: Layout) -> None:
    """Refuse a first line with a number over a column of numbers, which is the first row of a file without a header."""
    doubtful = frozenset(layout.doubtful)
    for column in columns if doubtful else ():
        if column.name in doubtful and column.dtype.is_numeric() and column.null_count() < len(column):
            raise shown_header(layout.names, layout.name)


def _with_commas(frame: Any, columns: list[Any], layout: Layout) -> frozenset[str]:
    """Return the columns of numbers that have decimal commas."""
    if layout.dialect.delimiter == ",":
        return frozenset()
    text = polars().String
    pairs = zip(frame.get_columns(), columns, strict=True)
    return frozenset(new.name for old, new in pairs if old.dtype == text and new.dtype != text and has_commas(old))


# -- polars -----------------------------------------------------------------------------------------------------------


def _parsed(body: bytes, keys: list[str], layout: Layout) -> Any:
    """Return the frame, by the first way of three that fits all rows."""
    pl = polars()
    texts = {
        key: pl.String
        for key, name in zip(keys, layout.names, strict=True)
        if layout.kind_of(name) == "text" or name in layout.commas
    }
    frame = _attempt(body, layout, texts)
    if frame is None:
        frame = _attempt_floats(body, layout, texts)
    if frame is None:
        with sentences(f"Cannot read {layout.name}"):
            frame = _read(body, layout, dict.fromkeys(keys, pl.String))
    if frame.width > len(keys):
        frame = frame.drop(frame.columns[-1])
    frame = _with_codes(frame, body, layout)
    return frame.rename(dict(zip(keys, layout.names, strict=True)))


def _read(
    body: bytes, layout: Layout, types: dict[str, Any], n_rows: int | None = None, columns: list[str] | None = None
) -> Any:
    return polars().read_csv(
        body,
        separator=layout.dialect.delimiter,
        quote_char=layout.dialect.quote,
        null_values=list(layout.na_values),
        infer_schema_length=_N_INFERRED,
        schema_overrides=types,
        n_rows=n_rows,
        columns=columns,
    )


def _with_codes(frame: Any, body: bytes, layout: Layout) -> Any:
    """Return the frame with texts in the place of numbers where some are codes, such as 007."""
    names = zip(frame.get_columns(), layout.names, strict=True)
    numbers = [column.name for column, name in names if column.dtype.is_numeric() and name not in layout.kinds]
    if not numbers or not has_zero_led(body, layout.dialect):
        return frame
    with sentences(f"Cannot read {layout.name}"):
        texts = _read(body, layout, dict.fromkeys(numbers, polars().String), columns=numbers)
    return frame.with_columns([column for column in texts.get_columns() if zero_led(column).any()])


def _attempt(body: bytes, layout: Layout, types: dict[str, Any]) -> Any | None:
    """Return the frame, or None if some value does not fit the types."""
    try:
        with sentences(""):
            return _read(body, layout, types)
    except DataError:
        return None


def _attempt_floats(body: bytes, layout: Layout, types: dict[str, Any]) -> Any | None:
    """Return the frame with small whole numbers read as floats, which later rows may want; exactly, or not at all."""
    pl = polars()
    try:
        with sentences(""):
            sample = _read(body, layout, types, n_rows=_N_INFERRED)
    except DataError:
        return None
    whole = {column.name: pl.Float64 for column in sample.get_columns() if column.dtype == pl.Int64}
    frame = _attempt(body, layout, types | whole)
    if frame is None or any((frame[name].abs() >= EXACT).any() for name in whole):
        return None
    return frame
