"""Files of separated values: CSV and TSV.

polars infers types from the first rows. Where a later row does not fit, everything is read as text, whose columns are
then turned into numbers or truth values where all of their values are. So types depend on all rows, and not on the way
they were found.

What a column must hold is either told, or was seen in the rows before. The rows before bind more tightly, so that a
file read in parts is the file read at once, or is refused: 1 and 0 are no truth values after true and false, and 007 is
no number after 7 and 8, since all rows together would have been text.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from votron.data._sources import (
    HEAD,
    MAX_SPLIT,
    Source,
    check_memory,
    check_text,
    text_parts,
    uses_carriage_returns,
    with_newlines,
)
from votron.data.conversion import as_table
from votron.data.dates import dates_in, first_undated
from votron.data.examples import Examples, short_repr
from votron.data.formats._csv_layout import (
    BYTES_A_BYTE,
    Layout,
    Meter,
    Records,
    check_records,
    end_of_last_record,
    find_dialect,
    find_layout,
    find_records,
    may_have_codes,
    no_header_error,
)
from votron.data.formats._csv_marks import Marks, check_points, has_commas, may_have_points, numbers_in
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.data.tables import OddValueError, Place, check_finite_column, kind_of, polars, polars_errors
from votron.errors import DataError, Parameter, Phrase

_SAMPLE = 1 << 16
_N_INFERRED = 1000
_AT_ONCE = 1 << 14
_KIND_NAMES = {"text": "text", "number": "number", "boolean": "truth", "date": "date"}
_EXACT = 2.0**53  # whole numbers below are exact as floats
_CODE = r"^[+-]?0\d"
_WHAT = {
    "number": "numbers",
    "truth": "true and false, or 1 and 0",
    "text": "text",
    "date": "dates, such as 2024-01-31, all written alike",
}


class Csv(Format):
    """Fields with a character between them, by default the one that fits."""

    name = "csv"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    options = ("header", "delimiter", "quote", "na_values", "only_na_values", "as_text", "encoding")
    sequential = True
    separator: ClassVar[str | None] = None
    """Between fields, if that is not to be found out."""

    def looks_like(self, head: bytes) -> bool:
        """Return True: what is no other format is taken for text, and refused when it is read if it is none."""
        return True

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield a table, of all text at once where no batches are asked for: then its types depend on all rows."""
        delimiter = options.delimiter or self.separator
        if batch_bytes is None:
            found, texts = None, _whole_text(source, options)
        else:
            found = find_layout(with_newlines(source.head), len(source.head) < HEAD, source.name, delimiter, options)
            found = replace(found[0], in_parts=True), found[1]
            texts = text_parts(source, batch_bytes, _last_record(found[0]))
        for data, line in texts:
            layout, n_header = found or find_layout(data, True, source.name, delimiter, options)
            taken = min(n_header, len(data))  # blank lines before the header may be a part of their own
            line, data = line + data.count(b"\n", 0, taken), data[taken:]
            rows = read_rows(data, layout, line)
            found = _with_kinds_seen(layout, rows), n_header - taken
            if rows.frame.height:
                yield Part(rows.frame, place=rows.place, about={**_dialect_of(layout), "lines": rows.lines()})
            elif batch_bytes is None:
                raise DataError(f"There are no examples in {source.name}: it has a header and no rows.")
            del rows, data  # not to be in memory while the next are read

    def write(self, examples: Examples) -> bytes:
        """Return a table as text."""
        frame, buffer = as_table(examples), io.BytesIO()
        style = "non_numeric" if _looks_quoted(frame) else "necessary"
        with polars_errors(f"Cannot write {examples.source!r} as {self.name}"):
            frame.write_csv(buffer, separator=self.separator or ",", quote_style=style)
        return buffer.getvalue()


class Tsv(Csv):
    """Fields with a tab between them."""

    name = "tsv"
    suffixes = (".tsv", ".tab")
    separator = "\t"

    def looks_like(self, head: bytes) -> bool:
        """Return False: `Csv` finds tabs by itself."""
        return False


def _whole_text(source: Source, options: ReadOptions) -> Iterator[tuple[bytes, int]]:
    # What is no text, such as a device that gives zeros for ever, is refused before it is read.
    head = source.head
    check_text(head[: head.rfind(b"\n") + 1] or head[:-MAX_SPLIT], source.name)
    delimiter = options.delimiter or find_dialect(head[:_SAMPLE], False, None, options.quote).delimiter
    meter = Meter(delimiter, source.name, b"\r" if uses_carriage_returns(head, len(head) < HEAD) else b"\n")
    yield with_newlines(source.read(BYTES_A_BYTE, more=meter)), 1


def _dialect_of(layout: Layout) -> dict[str, Any]:
    """Return what was used, given or found, as `Examples` has it."""
    dialect = layout.dialect
    return {"header": layout.header, "delimiter": dialect.delimiter, "quote": dialect.quote or ""}


def _last_record(layout: Layout) -> Callable[[bytes], int]:
    def last(data: bytes) -> int:
        end = end_of_last_record(data, layout.dialect)
        if len(layout.names) > 1:
            return end
        # In one column, blank lines are rows unless the file ends with them, which is not known yet.
        filled = len(data[:end].rstrip(b"\r\n"))
        return data.index(b"\n", filled, end) + 1 if filled else 0

    return last


def _with_kinds_seen(layout: Layout, rows: CsvRows) -> Layout:
    """Return the layout with what the columns of a part hold, where that was not known before."""
    unknown = [column for column in rows.frame.get_columns() if layout.kind_of(column.name) is None]
    found = {column.name: _KIND_NAMES.get(kind_of(column)) for column in unknown}
    known = {name: kind for name, kind in found.items() if kind is not None}
    return replace(
        layout,
        kinds_before={**layout.kinds_before, **known} if known else layout.kinds_before,
        commas=layout.commas | rows.commas,
        marks=rows.marks,
    )


def _looks_quoted(frame: Any) -> bool:
    """Tell whether some text begins with a single quote, which would be taken for one around the field."""
    text = polars().String
    texts = [column for column in frame.get_columns() if column.dtype == text]
    return any(column.str.starts_with("'").any() for column in texts) or any(one[:1] == "'" for one in frame.columns)


# -- rows -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CsvRows:
    """Some rows as a frame, and where its rows are in the file."""

    frame: Any
    data: bytes
    records: Records
    first_line: int
    commas: frozenset[str] = frozenset()
    marks: Marks = field(default_factory=Marks)

    def place(self, row: int) -> str:
        """Return where a row is, in words."""
        return f"line {self.first_line - 1 + self.records.line_of(self.data, row)}"

    def lines(self) -> range | NDArray[np.int64]:
        """Return the line of each row: numbers one after another, unless lines are blank or records have several."""
        n = len(self.records.starts)
        if n and self.data.count(b"\n") + (not self.data.endswith(b"\n")) == n:
            return range(self.first_line, self.first_line + n)
        starts = self.records.starts
        ends = np.frombuffer(self.data, dtype=np.uint8) == ord("\n")
        within = np.add.reduceat(ends, starts, dtype=np.int64) if n else np.zeros(0, dtype=np.int64)
        before = np.count_nonzero(ends[: int(starts[0])]) if n else 0
        return np.asarray(self.first_line + before + np.cumsum(within) - within)


def read_rows(data: bytes, layout: Layout, first_line: int) -> CsvRows:
    """Return the rows of some whole records, without the header."""
    check_text(data, layout.name, first_line)
    more = Meter(layout.dialect.delimiter, layout.name)(data)  # the text itself is in memory already
    check_memory((BYTES_A_BYTE - 1) * len(data) + more, layout.name)
    records = find_records(data, layout.dialect, blank_too=len(layout.names) == 1)
    check_records(data, records, len(layout.names), layout.name, layout.dialect, first_line)
    frame = polars().DataFrame({name: [] for name in layout.names})
    if len(records.starts):
        frame = _parse(*_body_for_polars(data, records, layout), layout)
    if frame.height != len(records.starts):
        raise DataError(f"Cannot read {layout.name}: its quotes and line ends do not fit together.")
    rows = CsvRows(frame, data, records, first_line)
    marks = _check_marks(frame, layout, rows.place)
    columns = [convert_column(column, layout, rows.place) for column in frame.get_columns()]
    _check_header(columns, layout)
    commas = _with_commas(frame, columns, layout)
    return CsvRows(frame.with_columns(columns), data, records, first_line, commas, marks)


def _body_for_polars(data: bytes, records: Records, layout: Layout) -> tuple[bytes, list[str]]:
    """Return records for polars, without the blank lines that are none, below a line of names that it knows."""
    # polars has called columns without a name differently in different versions; these cannot have a delimiter in them.
    keys = [f"c{i}" for i in range(len(layout.names))]
    end = b""
    if records.has_blank:  # of one column: not every version of polars sees that a value is missing there
        keys, end = [*keys, "none"], layout.dialect.delimiter.encode()
    if records.n_blank or records.has_blank:
        parts = range(0, len(records.starts), _AT_ONCE)
        data = b"\n".join([_join_records(data, records, slice(at, at + _AT_ONCE), end) for at in parts])
    return b"".join([layout.dialect.delimiter.join(keys).encode(), b"\n", data]), keys[: len(layout.names)]


def _join_records(data: bytes, records: Records, which: slice, end: bytes) -> bytes:
    """Return some records, each with this end; not all at once, since records of a byte are objects of fifty."""
    pairs = zip(records.starts[which].tolist(), records.ends[which].tolist(), strict=True)
    return b"\n".join([data[a:b].rstrip(b"\r") + end for a, b in pairs])


def _check_header(columns: list[Any], layout: Layout) -> None:
    """Refuse a first line with a number over a column of numbers, which is the first row of a file without a header."""
    doubtful = frozenset(layout.doubtful)
    for column in columns if doubtful else ():
        if column.name in doubtful and column.dtype.is_numeric() and column.null_count() < len(column):
            raise no_header_error(layout.names, layout.name)


def _with_commas(frame: Any, columns: list[Any], layout: Layout) -> frozenset[str]:
    """Return the columns of numbers that have decimal commas."""
    if layout.dialect.delimiter == ",":
        return frozenset()
    text = polars().String
    pairs = zip(frame.get_columns(), columns, strict=True)
    return frozenset(new.name for old, new in pairs if old.dtype == text and new.dtype != text and has_commas(old))


def _check_marks(frame: Any, layout: Layout, place: Place) -> Marks:
    """Return the decimal marks that were seen; refuse points that may separate thousands."""
    if layout.dialect.delimiter == ",":
        return layout.marks
    text = polars().String
    columns = (_cleaned(one, layout.na_values) if one.dtype == text else one for one in frame.get_columns())
    return check_points(columns, layout, place)


def _parse(body: bytes, keys: list[str], layout: Layout) -> Any:
    """Return the frame, with inferred types if they fit all rows, else as text."""
    pl = polars()
    texts = {
        key: pl.String
        for key, name in zip(keys, layout.names, strict=True)
        if layout.kind_of(name) == "text" or name in layout.commas
    }
    try:
        frame = _read(body, layout, texts)
    except DataError:
        frame = _read(body, layout, dict.fromkeys(keys, pl.String))
    if frame.width > len(keys):
        frame = frame.drop(frame.columns[-1])
    frame = _with_points(_with_codes(frame, body, layout), body, layout)
    return frame.rename(dict(zip(keys, layout.names, strict=True)))


def _read(body: bytes, layout: Layout, types: dict[str, Any], columns: list[str] | None = None) -> Any:
    with polars_errors(f"Cannot read {layout.name}"):
        return polars().read_csv(
            body,
            separator=layout.dialect.delimiter,
            quote_char=layout.dialect.quote,
            null_values=list(layout.na_values),
            infer_schema_length=_N_INFERRED,
            schema_overrides=types,
            columns=columns,
        )


def _with_codes(frame: Any, body: bytes, layout: Layout) -> Any:
    """Return the frame with texts in the place of numbers where some are codes, such as 007."""
    names = zip(frame.get_columns(), layout.names, strict=True)
    numbers = [column.name for column, name in names if column.dtype.is_numeric() and name not in layout.kinds]
    if not numbers or not may_have_codes(body, layout.dialect):
        return frame
    texts = _read(body, layout, dict.fromkeys(numbers, polars().String), numbers)
    return frame.with_columns([column for column in texts.get_columns() if is_code(column).any()])


def _with_points(frame: Any, body: bytes, layout: Layout) -> Any:
    """Return the frame with texts in the place of numbers whose points may separate thousands, as decimal commas say.

    In parts of a file these may come later.
    """
    if layout.dialect.delimiter == ",":
        return frame
    pl = polars()
    texts = (column for column in frame.get_columns() if column.dtype == pl.String)
    if not (layout.in_parts or layout.marks.comma or any(has_commas(column) for column in texts)):
        return frame
    numbers = [one.name for one in frame.get_columns() if one.dtype.is_float() and may_have_points(one)]
    return frame.with_columns(_read(body, layout, dict.fromkeys(numbers, pl.String), numbers)) if numbers else frame


# -- what a column holds ----------------------------------------------------------------------------------------------


def convert_column(column: Any, layout: Layout, place: Place) -> Any:
    """Return a column as the numbers, truth values or texts that it holds, as narrow as is exact."""
    pl = polars()
    kind = layout.kind_of(column.name)
    if column.dtype == pl.String:
        column = _cleaned(column, layout.na_values)
        if kind == "date":
            column = _dates(column, layout, place)
        elif kind != "text":
            column = _from_text(column, kind, layout, place)
    if (column.dtype == pl.Boolean and kind in ("number", "date")) or (column.dtype.is_numeric() and kind == "date"):
        _refuse(column.is_not_null(), column.cast(pl.String), layout, place)
    if column.dtype.is_numeric():
        check_finite_column(column, place, layout.name)
        column = _narrow(column.fill_nan(None) if column.dtype.is_float() else column)
        if kind == "truth":
            _check_truth(column, layout, place)
    return column


def is_code(column: Any) -> Any:
    """Tell which texts begin as no number is written, such as 007: they are codes."""
    return column.str.contains(_CODE).fill_null(False)


def _cleaned(column: Any, na_values: tuple[str, ...]) -> Any:
    """Return texts without spaces around them, and null where they mean that nothing is there."""
    stripped = column.str.strip_chars()
    return stripped.set(stripped.is_in(list(na_values)).fill_null(False), None)


def _from_text(column: Any, kind: str | None, layout: Layout, place: Place) -> Any:
    """Return texts as truth values or numbers, if all of them are."""
    told = layout.kinds.get(column.name)
    numbers = numbers_in(column, layout, place)
    there = numbers.is_finite().fill_null(False)
    n, n_numbers = len(column) - column.null_count(), int(there.sum())
    if n and kind != "number" and (not n_numbers or told == "truth"):
        lower, words = column.str.to_lowercase(), ["true", "1", "false", "0"] if told == "truth" else ["true", "false"]
        if lower.is_in(words).sum() == n:
            return lower.is_in(words[: len(words) // 2])
    codes = there & is_code(column)
    if told is None and codes.any():
        if kind is not None:
            _refuse(codes, column, layout, place)
        return column
    if n_numbers == n:
        return numbers if n or kind is not None else column
    if kind is not None:
        _refuse(~there & column.is_not_null(), column, layout, place)
    if 2 * n_numbers > n and column.name != layout.label:  # classes may well be called 1, 2 and other
        raise _almost_numbers(column, ~there & column.is_not_null(), layout, place)
    if n and not n_numbers and column.name != layout.label and (dates := dates_in(column)) is not None:
        return dates
    return column


def _dates(column: Any, layout: Layout, place: Place) -> Any:
    """Return texts as dates, which all of them must be."""
    found = dates_in(column)
    if found is None:
        at = first_undated(column)
        _refuse(polars().Series([row == at for row in range(len(column))]), column, layout, place)
    return found


def _narrow(column: Any) -> Any:
    """Return whole numbers in the smallest of four types that holds them, and numbers beyond 64 bits as floats."""
    pl = polars()
    low, high = column.min(), column.max()
    if low is None:
        return column.cast(pl.Float64)
    if column.dtype.is_float() and (max(-low, high) >= _EXACT or not (column == column.floor()).all()):
        return column.cast(pl.Float64)
    types = [(pl.UInt8, 0, 2**8)]
    types += [(dtype, -(2**bits), 2**bits) for dtype, bits in ((pl.Int16, 15), (pl.Int32, 31), (pl.Int64, 63))]
    dtype = next((dtype for dtype, first, beyond in types if first <= low and high < beyond), pl.Float64)
    return column.cast(dtype)


# -- refusals ---------------------------------------------------------------------------------------------------------


def _check_truth(column: Any, layout: Layout, place: Place) -> None:
    """Refuse numbers but 1 and 0 among truth values, and these too if the rows before have true and false."""
    if layout.kinds.get(column.name) == "truth":
        _refuse(((column != 0) & (column != 1)).fill_null(False), column, layout, place)
    else:
        _refuse(column.is_not_null(), column, layout, place)


def _refuse(bad: Any, column: Any, layout: Layout, place: Place) -> None:
    """Refuse values that are not what the column must hold, if there are any."""
    if not bad.any():
        return
    row = int(bad.arg_true()[0])
    told = layout.kinds.get(column.name)
    what = _WHAT[told] if told is not None else _WHAT[layout.kinds_before[column.name]].removesuffix(", or 1 and 0")
    before = Phrase("before", "as in the rows before it (", Parameter("as_text"), " says that a column holds names)")
    raise DataError(
        f"The column {column.name!r} of {layout.name} must hold {what}, ",
        "as when the model was trained" if told is not None else before,
        f". Got {short_repr(column[row])} in {place(row)} instead.",
    )


def _almost_numbers(column: Any, bad: Any, layout: Layout, place: Place) -> DataError:
    """Return the error of a column of numbers with something else among them."""
    row = int(bad.arg_true()[0])
    got = f"{short_repr(column[row])} in {place(row)}"
    return OddValueError(
        f"The column {column.name!r} of {layout.name} must hold numbers alone, as most of its values are. Got {got} "
        "instead: mend it, name it in ",
        Parameter("na_values"),
        " if it means that nothing is there, or say with ",
        Parameter("as_text"),
        " that it is a column of names.",
        column=column.name,
        got=got,
    )
