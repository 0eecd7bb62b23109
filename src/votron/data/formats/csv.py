"""Files of separated values: CSV and TSV.

polars reads all fields as texts. What a column holds is found out from all values: numbers, truth values or texts.
Numbers with a leading zero, such as 007, are codes and stay texts, as do dates, which `TableEncoder` reads.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from votron._util.text import first_of
from votron._util.types import Frame, Series
from votron.data._sources import Source, text_head, text_parts
from votron.data.examples import Examples, Lines, short_repr
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.data.tables import (
    check_names,
    is_code,
    is_nameless,
    label_in,
    polars,
    polars_errors,
    table_bytes,
)
from votron.errors import DataError

_DELIMITERS = ",\t;|"
_SAMPLE, _N_SAMPLED = 1 << 16, 200
_N_FIRST = 1000
_LARGE = 1 << 20
_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?")
_COMMA = r"^([+-]?\d+),(\d+)$"
_TRUTH = ["true", "false"]


class Csv(Format):
    """Fields with a character between them, by default the one that fits."""

    name = "csv"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    sequential = True
    separator: ClassVar[str | None] = None
    """Between fields, if that is not to be found out."""

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        file = _File(text_head(source), source.name, options.delimiter or self.separator, options)
        seen: dict[str, str] | None = None if batch_bytes is None else {}
        header = file.header
        for data, line in text_parts(source, batch_bytes, lambda data: _end_of_last_record(data, file.quote)):
            if not data.strip(b"\r\n"):
                continue
            frame, lines = file.rows(data, line, header)
            header = False
            del data
            last = frame.to_series(-1)
            if is_nameless(last.name) and last.null_count() == frame.height:
                frame = frame.drop(last.name)  # as a delimiter at the end of each line makes
            if frame.height:
                yield Part(frame, lines=lines, typed=file.typed, seen=seen)
            elif batch_bytes is None:
                raise DataError(f"There are no examples in {source.name}: it has a header and no rows.")
            del frame, last  # not to be in memory while the next are read

    def write(self, examples: Examples) -> bytes:
        return table_bytes(examples, "csv", separator=self.separator or ",")


class Tsv(Csv):
    """Fields with a tab between them."""

    name = "tsv"
    suffixes = (".tsv", ".tab")
    separator = "\t"


# -- layout -----------------------------------------------------------------------------------------------------------


def _sampled(sample: bytes, delimiter: str, quote: str | None) -> list[list[str]]:
    """Return the fields of the first records that are not blank."""
    rows = []
    with suppress(csv.Error):  # a quote that is closed after the sample, or never
        for _, row in _records(sample, delimiter, quote):
            rows += [row] if row else []
            if len(rows) == _N_SAMPLED:
                break
    return rows


def _fitness(rows: list[list[str]]) -> tuple[float, int]:
    """Return the share of rows that have the usual number of fields, if that is more than one, and the number."""
    usual, n = Counter(map(len, rows)).most_common(1)[0] if rows else (1, 0)
    return (n / len(rows), usual) if usual > 1 else (0.0, 1)


def _check_header(names: list[str], rows: list[list[str]], name: str, missing: Container[str]) -> None:
    """Refuse names of columns that look like a title, or like data: numbers above numbers, unless they count up."""
    filled, usual = [field for field in names if field], Counter(map(len, rows)).most_common(1)
    if usual and len(filled) == 1 and usual[0][0] >= (2 if len(names) == 1 else 3):
        raise DataError(
            f"The first line of {name} must name the columns. Got one field, {short_repr(filled[0])}, above lines of "
            f"{usual[0][0]}, which seems to be a title: delete what stands above the names of the columns."
        )
    numbers = [i for i, field in enumerate(names) if _is_number(field)]
    if [names[i] for i in numbers] == [str(i) for i in range(len(numbers))]:  # as pandas calls them
        return
    for i in numbers:
        below = [row[i].strip() for row in rows if len(row) > i]
        if any(map(_is_number, below)) and all(_is_number(field) or field in missing for field in below):
            raise DataError(
                f"The first line of {name} must name the columns. Got {first_of(names, 3)[:100]} instead: add such a "
                "line, or say header=False, which calls them c0, c1, and so on, or header=True if these are names.",
                parameter="header",
            )


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _records(data: bytes, delimiter: str, quote: str | None, first_line: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Yield the line that each record begins on, and its fields, as Python's csv module reads them; slow."""
    text = io.StringIO(data.decode("utf-8", errors="replace"), newline="")
    limit = csv.field_size_limit(2**31 - 1)
    try:
        quoting: Any = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
        reader = csv.reader(text, delimiter=delimiter, quotechar=quote or '"', quoting=quoting, strict=True)
        line = first_line
        for row in reader:
            yield line, row
            line = first_line + reader.line_num
    finally:
        csv.field_size_limit(limit)


def _end_of_last_record(data: bytes, quote: str | None) -> int:
    """Return where the last record that a newline ends has its end; 0 if there is none."""
    end, mark = data.rfind(b"\n"), (quote or "").encode()
    while mark and end >= 0 and data.count(mark, 0, end) % 2:
        end = data.rfind(b"\n", 0, data.rfind(mark, 0, end))
    return end + 1


# -- rows and columns -------------------------------------------------------------------------------------------------


class _File:
    """A file: its delimiter, quote and columns, as far as they are not given as its beginning shows."""

    def __init__(self, text: bytes, name: str, delimiter: str | None, options: ReadOptions) -> None:
        if not text.strip():
            raise DataError(f"Cannot read {name}: the file is empty.")
        self.name, self.quote = name, '"' if options.quote is None else options.quote or None
        sample = text if len(text) <= _SAMPLE else text[: _end_of_last_record(text[:_SAMPLE], self.quote)] or text
        samples = {each: _sampled(sample, each, self.quote) for each in delimiter or _DELIMITERS}
        self.delimiter, rows = max(samples.items(), key=lambda pair: _fitness(pair[1]))
        if not rows:
            raise self._quote_error("its first line has no end")
        self.header = options.header is not False
        self.columns = [field.strip() for field in rows[0]]
        if options.header is None:
            _check_header(self.columns, rows[1:], name, options.missing_texts)
        if self.header:
            check_names(self.columns, name)
        self.columns = [
            (field or f"<column {i + 1}>") if self.header else f"c{i}" for i, field in enumerate(self.columns)
        ]
        self._texts = {name for name in self.columns if options.kind_of(name) == "text"}
        self._label = label_in(options, self.columns)
        self._missing = list(options.missing_texts)
        self._as_they_are = not any(map(_is_number, self._missing))
        """Whether what can be read as a number is one, and not the mark of a missing value."""
        self._decimal = options.decimal or ("." if self.delimiter == "," else None)

    def rows(self, data: bytes, line: int, header: bool) -> tuple[Frame, Lines]:
        """Return some whole records as a frame of texts and numbers, and the line that each begins on."""
        stripped = data.lstrip(b"\r\n")  # from the first line polars takes the number of columns
        line += data.count(b"\n", 0, len(data) - len(stripped))
        data = stripped
        if not data.endswith(b"\n") or data.endswith((b"\n\n", b"\n\r\n")):
            data = data.rstrip(b"\r\n") + b"\n"
        has_quotes = self.quote is not None and self.quote.encode() in data
        try:
            frame = self._frame_of(data, header)
        except DataError as error:
            list(self._checked_records(data, line))
            raise self._quote_error("its quotes do not fit together") if has_quotes else error from None
        n, n_records = len(self.columns), frame.height + header
        may_be_short = frame.to_series(n - 1).null_count() > 0  # polars fills short lines with nulls, blank ones too
        if may_be_short and n > 1 and not has_quotes:
            may_be_short = data.count(self.delimiter.encode()) != n_records * (n - 1)
        if not may_be_short and data.count(b"\n") == n_records:
            return frame, range(line + header, line + n_records)
        found = list(self._checked_records(data, line))[header:]
        if len(found) == frame.height:
            frame = frame.filter(polars().Series([filled for _, filled in found], dtype=polars().Boolean))
        numbers = np.array([line for line, filled in found if filled])
        if len(numbers) != frame.height:
            raise self._quote_error("its quotes do not fit together")
        return frame, numbers

    def _frame_of(self, data: bytes, header: bool) -> Frame:
        """Return the fields of some records as texts; columns of fractions as numbers, which takes less memory."""
        if len(data) > _LARGE:
            head = data[: _end_of_last_record(data[:_SAMPLE], self.quote)]
            with suppress(DataError):  # a later field is not a number: then all are read as texts
                return self._parsed(data, self._fractions(self._parsed(head).slice(header)), header)
        return self._parsed(data).slice(header)

    def _parsed(self, data: bytes, numbers: Container[str] = (), skipped: int = 0) -> Frame:
        pl = polars()
        types = [pl.Float64 if name in numbers else pl.String for name in self.columns]
        with polars_errors(f"Cannot read {self.name}"):
            frame = pl.read_csv(
                data,
                has_header=False,
                skip_rows=int(skipped),
                schema={f"c{i}": dtype for i, dtype in enumerate(types)},
                separator=self.delimiter,
                quote_char=self.quote,
            )
        frame.columns = self.columns
        return frame

    def _checked_records(self, data: bytes, first_line: int) -> Iterator[tuple[int, bool]]:
        """Yield the line of each record, and whether it is not blank; refuse one with too few or too many fields."""
        n, line = len(self.columns), first_line
        try:
            for line, fields in _records(data, self.delimiter, self.quote, first_line):
                if fields and len(fields) != n:
                    raise DataError(
                        f"Line {line} of {self.name} must have {n} fields, as the first line has, separated by "
                        f"{self.delimiter!r}. Got {len(fields)} instead."
                    )
                yield line, bool(fields)
        except csv.Error as error:
            raise self._quote_error(f"{error} after line {line}") from None

    def _quote_error(self, what: str) -> DataError:
        return DataError(
            f"Cannot read {self.name}: {what}. Close quotes {self.quote}, and write them twice inside of fields, or "
            "say that they are characters like others with quote=''.",
            parameter="quote",
        )

    def _fractions(self, frame: Frame) -> set[str]:
        """Return the columns that hold fractions as polars reads them, by their first rows."""
        found = set()
        for texts in frame.get_columns() if self._decimal != "," and self._as_they_are else ():
            numbers = texts.cast(polars().Float64, strict=False)
            pointed = texts.str.contains(".", literal=True).any() and numbers.null_count() == texts.null_count()
            if pointed and texts.name not in {*self._texts, self._label} and not is_code(texts).any():
                found.add(texts.name)
        return found

    def typed(self, texts: Series, kind: str | None, place: Callable[[int], str]) -> Series:
        """Return texts as numbers, truth values or texts, given what they must hold if that is known."""
        if texts.dtype.is_float():
            return texts.fill_nan(None)
        if kind == "text":
            return self._cleaned(texts)
        numbers = self._numbers(texts) if self._as_they_are else None  # cleaning takes longer than reading
        if numbers is None:
            texts = self._cleaned(texts)
            numbers = self._numbers(texts)
        if numbers is None:
            return self._without_numbers(texts, kind, place)
        if is_code(texts.filter(texts.str.starts_with("0") | texts.str.starts_with("-0"))).any():
            return texts
        return numbers.fill_nan(None) if numbers.dtype.is_float() else numbers

    def _cleaned(self, texts: Series) -> Series:
        """Return texts without spaces around them, and null where they mark a missing value."""
        stripped = texts.str.strip_chars()
        return stripped.set(stripped.is_in(self._missing).fill_null(False), None)

    def _with_points(self, texts: Series) -> Iterator[Series]:
        """Yield texts with decimal points, for each decimal mark that the column may have."""
        if self._decimal != ",":
            yield texts
        if self._decimal != ".":
            without = texts.set(texts.str.contains(".", literal=True).fill_null(False), None)
            yield without.str.replace(_COMMA, "${1}.${2}")

    def _numbers(self, texts: Series) -> Series | None:
        """Return texts as numbers, if all of them are."""
        n = texts.null_count()
        if n == len(texts) or (len(texts) > _N_FIRST and self._numbers(texts.head(_N_FIRST)) is None):
            return None
        found = (_plain_numbers(each) for each in self._with_points(texts))
        return next((numbers for numbers in found if numbers.null_count() == n), None)

    def _without_numbers(self, texts: Series, kind: str | None, place: Callable[[int], str]) -> Series:
        """Return texts as they are, or as truth values; refuse a few words among numbers."""
        n = len(texts) - texts.null_count()
        found = [each.cast(polars().Float64, strict=False).is_not_null() for each in self._with_points(texts)]
        is_number = found[0] | found[-1]
        n_numbers = int(is_number.sum())
        if n_numbers < n < 2 * n_numbers and kind is None:
            row = int((~is_number & texts.is_not_null()).arg_true()[0])
            raise DataError(
                f"The column {texts.name!r} of {self.name} must hold numbers alone, as most of its values are. Got "
                f"{short_repr(texts[row])} in {place(row)} instead: correct it, add it to na_values (--na-values) if "
                "it marks a missing value, or read the column as text with as_text (--discrete).",
                parameter="na_values",
            )
        lower = texts.str.to_lowercase() if n and not n_numbers else None
        return texts if lower is None or lower.is_in(_TRUTH).sum() < n else lower == "true"


def _plain_numbers(texts: Series) -> Series:
    """Return texts as whole numbers if all of them are, else as numbers; null where they are not."""
    pl, first = polars(), texts.head(_N_FIRST)
    if first.cast(pl.Int64, strict=False).null_count() == first.null_count():
        whole = texts.cast(pl.Int64, strict=False)
        if whole.null_count() == texts.null_count():
            return whole
    return texts.cast(pl.Float64, strict=False)
