"""Files of separated values: CSV and TSV.

polars reads all fields as texts. What a column holds is found out from all values: numbers, truth values or texts.
Numbers with a leading zero, such as 007, are codes and stay texts, as do dates, which `TableEncoder` reads.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Container, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from votron._util.frames import kind_of
from votron._util.types import Frame, Series
from votron.data._sources import Source, beginning, lines_of_rows, text_parts, with_capital
from votron.data.conversion import as_table
from votron.data.examples import Examples, short_repr
from votron.data.formats._csv_layout import (
    Layout,
    count_delimiters,
    end_of_last_record,
    find_layout,
    is_number,
    no_header_error,
    records,
)
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.data.tables import (
    Lines,
    OddValueError,
    Place,
    as_written,
    check_names,
    is_code,
    label_in,
    place_in,
    polars,
    polars_errors,
    settled,
)
from votron.errors import DataError

_N_FIRST = 1000
_SAMPLE = 1 << 16
_LARGE = 1 << 20
_COMMA = r"^([+-]?\d+),(\d+)$"
_TRUTH = ["true", "false"]


class Csv(Format):
    """Fields with a character between them, by default the one that fits."""

    name = "csv"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    options = ("header", "delimiter", "quote", "decimal", "na_values", "only_na_values", "encoding")
    sequential = True
    separator: ClassVar[str | None] = None
    """Between fields, if that is not to be found out."""

    def looks_like(self, head: bytes) -> bool:
        """Return True: what is no other format is taken for text, and refused when it is read if it is none."""
        return True

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield a table, of all text at once where no batches are asked for: then its types depend on all rows."""
        layout = find_layout(beginning(source), source.name, options.delimiter or self.separator, options)
        check_names(layout.names, source.name)
        about = {"header": layout.header, "delimiter": layout.delimiter, "quote": layout.quote or ""}
        n_header = layout.n_header
        columns = _Columns(layout, options)
        for data, line in text_parts(source, batch_bytes, lambda data: end_of_last_record(data, layout.quote)):
            taken = min(n_header, len(data))  # a part may end within blank lines above the header
            n_header -= taken
            line, data = line + data.count(b"\n", 0, taken), data[taken:]
            frame, lines = _rows(data, layout, line, columns)
            del data
            place = place_in(lines)
            if frame.height:
                frame = columns.typed(frame, place)
                yield Part(
                    settled(frame, columns.seen, columns.told, place, source.name) if batch_bytes else frame,
                    lines=lines,
                    about=about,
                )
            elif batch_bytes is None:
                raise DataError(f"There are no examples in {source.name}: it has a header and no rows.")
            del frame  # not to be in memory while the next are read

    def write(self, examples: Examples) -> bytes:
        """Return a table as text."""
        frame, buffer = as_table(examples), io.BytesIO()
        with polars_errors(f"Cannot write {examples.source!r} as {self.name}"):
            frame.write_csv(buffer, separator=self.separator or ",")
        return buffer.getvalue()


class Tsv(Csv):
    """Fields with a tab between them."""

    name = "tsv"
    suffixes = (".tsv", ".tab")
    separator = "\t"

    def looks_like(self, head: bytes) -> bool:
        """Return False: `Csv` finds tabs by itself."""
        return False


# -- rows -------------------------------------------------------------------------------------------------------------


def _rows(data: bytes, layout: Layout, first_line: int, columns: _Columns) -> tuple[Any, Lines]:
    """Return some whole records as a frame of texts and numbers, and the line that each begins on."""
    pl = polars()
    if len(data) < 3 or not data.endswith(b"\n") or data.endswith((b"\n\n", b"\n\r\n")):
        data = data.rstrip(b"\r\n") + b"\n"
    n = len(layout.names)
    if data.startswith((b"\n", b"\r")):  # from the first line polars takes the number of columns
        stripped = data.lstrip(b"\r\n")
        first_line += data.count(b"\n", 0, len(data) - len(stripped))
        data = stripped
    if data == b"\n":
        return pl.DataFrame(schema=dict.fromkeys(layout.names, pl.String)), range(0)
    try:
        frame = _frame_of(data, layout, columns)
    except DataError as error:
        list(_checked_records(data, layout, first_line))
        raise _misplaced_quote(data, layout, first_line) or error from None
    lines: Lines | None = lines_of_rows(data, frame.height, first_line)
    short = frame.to_series(n - 1).null_count() > 0  # polars fills short lines with nulls, blank ones too
    if short and (n == 1 or count_delimiters(data, layout.delimiter, layout.quote) != frame.height * (n - 1)):
        found = list(_checked_records(data, layout, first_line))
        frame = frame.filter(pl.Series([fields != [] for _, fields in found]))
        lines = np.array([line for line, fields in found if fields])
    if lines is None:
        lines = np.array([line for line, fields in _checked_records(data, layout, first_line) if fields])
    if len(lines) != frame.height:
        raise DataError(f"Cannot read {layout.name}: its quotes and line ends do not fit together.")
    return frame, lines


def _frame_of(data: bytes, layout: Layout, columns: _Columns) -> Any:
    """Return the fields of some records as texts; columns of fractions as numbers, which takes less time and memory."""
    if len(data) > _LARGE:
        head = data[: end_of_last_record(data[:_SAMPLE], layout.quote)]
        with suppress(DataError):  # a later field is not a number: then all are read as texts
            return _parsed(data, layout, columns.fractions(_parsed(head, layout)))
    return _parsed(data, layout)


def _parsed(data: bytes, layout: Layout, numbers: Container[str] = ()) -> Any:
    pl = polars()
    types = [pl.Float64 if name in numbers else pl.String for name in layout.names]
    with polars_errors(f"Cannot read {layout.name}"):
        frame = pl.read_csv(
            data,
            has_header=False,
            schema={f"c{i}": dtype for i, dtype in enumerate(types)},
            separator=layout.delimiter,
            quote_char=layout.quote,
        )
    frame.columns = list(layout.names)
    return frame


def _checked_records(data: bytes, layout: Layout, first_line: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the records, blank lines among them; refuse one with too few or too many fields."""
    n, line, fields = len(layout.names), first_line, list[str]()
    try:
        for line, fields in records(data, layout.delimiter, layout.quote, first_line):
            if fields and len(fields) != n:
                raise DataError(
                    f"Line {line} of {layout.name} must have {n} fields, as the first line has, separated by "
                    f"{layout.delimiter!r}. Got {len(fields)} instead."
                )
            yield line, fields
    except csv.Error as error:
        if "unexpected end" in str(error):
            raise DataError(
                f"{with_capital(layout.name)} ends inside a quoted field: a quote {layout.quote} is not closed."
            ) from None
        raise _misplaced_quote(data, layout, first_line) or DataError(
            f"Cannot read {layout.name}: {error} after line {line}."
        ) from None


def _misplaced_quote(data: bytes, layout: Layout, first_line: int) -> DataError | None:
    """Return the error of a quote inside a field, if there is one."""
    if layout.quote is None:
        return None
    quote, edge = re.escape(layout.quote.encode()), re.escape(layout.delimiter.encode())
    found = re.search(rb"[^%s\n%s]%s[^%s\r\n%s]" % (edge, quote, quote, edge, quote), data)
    if found is None:
        return None
    line = first_line + data.count(b"\n", 0, found.start() + 1)
    return DataError(
        f"Line {line} of {layout.name} has a quote {layout.quote} inside a field: put the field in quotes and "
        "write the quote twice, or say that quotes are characters like others with quote=''.",
        parameter="quote",
    )


# -- what a column holds ----------------------------------------------------------------------------------------------


class _Columns:
    """The kinds of a file's columns, as far as they are given or were seen in the parts before."""

    def __init__(self, layout: Layout, options: ReadOptions) -> None:
        self.seen: dict[str, str] = {}
        self._layout = layout
        self._texts = as_written(options, layout.names)
        self.told = options.columns or {}
        self._label = label_in(options, layout.names)
        self._missing = list(options.missing_texts)
        self._as_they_are = not any(map(is_number, self._missing))
        """Whether what can be read as a number is one, and not the mark of a missing value."""
        self._decimal = options.decimal or ("." if layout.delimiter == "," else None)

    def fractions(self, frame: Frame) -> set[str]:
        """Return the columns that hold fractions as polars reads them, by their first rows."""
        found = set()
        for texts in frame.get_columns() if self._decimal != "," and self._as_they_are else ():
            numbers = texts.cast(polars().Float64, strict=False)
            pointed = texts.str.contains(".", literal=True).any() and numbers.null_count() == texts.null_count()
            if pointed and texts.name not in self._texts and not is_code(texts).any():
                found.add(texts.name)
        return found

    def typed(self, frame: Frame, place: Place) -> Frame:
        """Return a frame of texts as numbers, truth values and texts."""
        with ThreadPoolExecutor() as pool:  # polars works on one column without the interpreter's lock
            columns = list(pool.map(lambda column: self._typed(column, place), frame.get_columns()))
        for column in columns:
            if column.name in self._layout.doubtful and kind_of(column) == "number":
                raise no_header_error(self._layout.names, self._layout.name)
        return polars().DataFrame(columns)

    def _typed(self, texts: Series, place: Place) -> Series:
        name = texts.name
        if texts.dtype.is_float():
            return texts.fill_nan(None)
        if name in self._texts or self.seen.get(name) == "text":
            return self._cleaned(texts)
        numbers = self._numbers(texts) if self._as_they_are else None  # cleaning takes longer than reading
        if numbers is None:
            texts = self._cleaned(texts)
            numbers = self._numbers(texts)
        if numbers is None:
            return self._without_numbers(texts, place)
        if is_code(texts.filter(texts.str.starts_with("0") | texts.str.starts_with("-0"))).any():
            return texts
        return numbers.fill_nan(None) if numbers.dtype.is_float() else numbers

    def _cleaned(self, texts: Series) -> Series:
        """Return texts without spaces around them, and null where they mark a missing value."""
        stripped = texts.str.strip_chars()
        return stripped.set(stripped.is_in(self._missing).fill_null(False), None)

    def _numbers(self, texts: Series) -> Series | None:
        """Return texts as numbers, if all of them are."""
        n = texts.null_count()
        if n == len(texts) or (len(texts) > _N_FIRST and self._numbers(texts.head(_N_FIRST)) is None):
            return None
        found = _plain_numbers(texts) if self._decimal != "," else None
        if (found is None or found.null_count() > n) and self._decimal != ".":
            pointed = texts.str.contains(".", literal=True).any()
            found = None if pointed else _plain_numbers(texts.str.replace(_COMMA, "${1}.${2}"))
        return found if found is not None and found.null_count() == n else None

    def _without_numbers(self, texts: Series, place: Place) -> Series:
        """Return texts as they are, or as truth values; refuse a few words among numbers."""
        name, n = texts.name, len(texts) - texts.null_count()
        is_number = texts.cast(polars().Float64, strict=False).is_not_null()
        if self._decimal == ",":
            is_number &= ~texts.str.contains(".", literal=True)
        if self._decimal != ".":
            is_number |= texts.str.contains(_COMMA).fill_null(False)
        n_numbers = int(is_number.sum())
        if n_numbers < n < 2 * n_numbers and not (name == self._label or name in self.told or name in self.seen):
            raise self._odd_value(texts, ~is_number & texts.is_not_null(), place)
        lower = texts.str.to_lowercase() if n and not n_numbers else None
        return texts if lower is None or lower.is_in(_TRUTH).sum() < n else lower == "true"

    def _odd_value(self, texts: Series, odd: Series, place: Place) -> DataError:
        row = int(odd.arg_true()[0])
        got = f"{short_repr(texts[row])} in {place(row)}"
        return OddValueError(
            f"The column {texts.name!r} of {self._layout.name} must hold numbers alone, as most of its values are. "
            f"Got {got} instead: correct it, add it to na_values (--na-values) if it marks a missing value, or "
            "read the column as text with as_text (--discrete).",
            column=texts.name,
            got=got,
            parameter="na_values",
        )


def _plain_numbers(texts: Series) -> Series:
    """Return texts as whole numbers if all of them are, else as numbers; null where they are not."""
    pl = polars()
    first = texts.head(_N_FIRST)
    if first.cast(pl.Int64, strict=False).null_count() == first.null_count():
        whole = texts.cast(pl.Int64, strict=False)
        if whole.null_count() == texts.null_count():
            return whole
    return texts.cast(pl.Float64, strict=False)
