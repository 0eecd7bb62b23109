"""JSON and JSON Lines: tables as lists of objects, an object a row, read by polars.

A value that is absent is missing, as null is. Objects within objects become columns of their own, ``scores.yes``. Of a
column that has texts, numbers among them are texts too.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Collection, Iterator
from typing import Any, ClassVar

import msgspec
import numpy as np

from votron._util.types import Frame, Series
from votron.data._sources import Source, beginning, lines_of_rows, text_parts, whole_text
from votron.data.conversion import as_table
from votron.data.examples import Examples, short_repr
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.data.tables import (
    OddValueError,
    Place,
    as_written,
    check_names,
    label_in,
    list_names,
    place_in,
    polars,
    polars_errors,
    select,
    settled,
)
from votron.errors import DataError

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_STRING_OR_NAN = re.compile(rb'("(?:[^"\\]|\\.)*+")|NaN')
_DEEPEST = 8
"""Objects that may stand within one another."""


class Json(Format):
    """One list of objects, or one object of columns, which are lists."""

    name = "json"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    options = ("na_values", "only_na_values", "encoding")

    def looks_like(self, head: bytes) -> bool:
        """Tell whether it begins with a list of objects."""
        return re.match(rb"\s*\[\s*(\{|\]|$)", head) is not None

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield all rows."""
        _refuse_other(source)
        data = whole_text(source)
        try:
            frame = _read(data, source.name, lines=False)
        except DataError:
            if not data.lstrip().startswith(b"{"):
                raise
            frame = _read(data, source.name, lines=True)  # an object a line, whatever it is called
        if frame.height == 1 and all(isinstance(dtype, polars().List) for dtype in frame.dtypes):
            with polars_errors(f"Cannot read {source.name} as a table, since its columns must be lists of one length"):
                frame = polars().DataFrame([column.explode() for column in frame.get_columns()])
        yield Part(_typed(frame, data, options, place_in(None), source.name, set()))

    def write(self, examples: Examples) -> bytes:
        """Return a list with an object a row, each on a line of its own."""
        return b"[\n" + b",\n".join(_lines_of(examples, self.name)) + b"\n]\n"


class JsonLines(Format):
    """An object a line."""

    name = "jsonl"
    suffixes = (".jsonl", ".ndjson")
    options = ("na_values", "only_na_values", "encoding")
    sequential = True

    def looks_like(self, head: bytes) -> bool:
        """Tell whether it begins with an object, or what may be one."""
        return re.match(rb"\s*\{\s*(\"|\}|$)", head) is not None

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield rows, of which the first say what the columns of the next ones hold."""
        _refuse_other(source)
        seen: dict[str, str] = {}
        names: dict[str, None] = dict.fromkeys(options.columns or ())
        for data, line in text_parts(source, batch_bytes, lambda data: data.rfind(b"\n") + 1):
            if batch_bytes is not None and not data.strip():
                continue
            frame = _read(data, source.name, lines=True, first_line=line)
            lines: Any = lines_of_rows(data, frame.height, line)
            if lines is None:
                filled = [i for i, text in enumerate(data.split(b"\n")) if text.strip()]
                lines = np.array(filled) + line
            place = place_in(lines)
            texts = {name for name, kind in seen.items() if kind == "text"}
            frame = _typed(frame, data, options, place, source.name, texts)
            if batch_bytes is not None:  # no row of a batch may have a column that others have
                _refuse_new(frame.columns, names, options, place, source.name)
                names |= dict.fromkeys(frame.columns)
                absent = [polars().Series(name, [None] * frame.height) for name in names if name not in frame.columns]
                frame = settled(select(frame.hstack(absent), names), seen, options.columns or (), place, source.name)
            yield Part(frame, lines=lines)
            del frame, data  # not to be in memory while the next are read

    def write(self, examples: Examples) -> bytes:
        """Return an object a line."""
        return b"".join(line + b"\n" for line in _lines_of(examples, self.name))


def _lines_of(examples: Examples, format: str) -> list[bytes]:
    buffer = io.BytesIO()
    with polars_errors(f"Cannot write {examples.source!r} as {format}"):
        as_table(examples).write_ndjson(buffer)
    return buffer.getvalue().splitlines()


def _refuse_new(columns: list[str], names: Collection[str], options: ReadOptions, place: Place, name: str) -> None:
    """Refuse columns that the batches before do not have."""
    new = [each for each in columns if each not in names]
    if names and new and options.columns is None:
        raise DataError(
            f"The column {new[0]!r} of {name} must be in the first batch. Got it first in the batch of {place(0)} "
            "instead: give the first row a null of that name."
        )


def _refuse_other(source: Source) -> None:
    """Refuse what is not JSON before all of it is read."""
    first = beginning(source).lstrip()[:1]
    if first not in (b"[", b"{", b""):
        got = short_repr(first.decode("latin-1"))
        raise DataError(f"Cannot read {source.name} as JSON: it must begin with {{ or [. Got {got} instead.")


# -- reading ----------------------------------------------------------------------------------------------------------


def _read(data: bytes, name: str, *, lines: bool, first_line: int = 1) -> Frame:
    """Return the frame of some JSON, with the types that all of its rows show."""
    pl = polars()
    if not data.strip():
        raise DataError(f"There are no examples in {name}.")
    if _SURROGATE.search(data):  # polars would make texts that are not Unicode of half a character
        _check(data, name, lines, first_line)
    try:
        with polars_errors(f"Cannot read {name} as JSON"):
            read = pl.read_ndjson if lines else pl.read_json
            frame = read(io.BytesIO(data), infer_schema_length=None)
    except DataError:
        without_nan = _STRING_OR_NAN.sub(lambda found: found[1] or b"null", data)  # Python writes it, JSON has none
        if without_nan != data:
            return _read(without_nan, name, lines=lines, first_line=first_line)
        _check(data, name, lines, first_line)
        raise
    check_names(frame.columns, name)
    if 0 in frame.shape:
        raise DataError(f"There are no examples in {name}.")
    return frame


def _check(data: bytes, name: str, lines: bool, first_line: int) -> None:
    """Refuse what is not JSON, and say in which line."""
    row = dict[str, Any]
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(row if lines else list[row] | row)
    for line, text in enumerate(data.split(b"\n"), start=first_line) if lines else [(first_line, data)]:
        try:
            if text.strip():
                decoder.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            at = re.search(r"byte (\d+)", str(error))
            line += 0 if lines or at is None else text.count(b"\n", 0, int(at[1]))
            reason = str(error).split(" (byte")[0].removeprefix("JSON is malformed: ") or "nested too deeply"
            where = f" in line {line}" if lines or at is not None else ""
            raise DataError(f"Cannot read {name} as JSON: {reason[:1].lower()}{reason[1:]}{where}.") from None


# -- columns ----------------------------------------------------------------------------------------------------------


def _typed(frame: Frame, data: bytes, options: ReadOptions, place: Place, name: str, texts: set[str]) -> Frame:
    """Return the columns as numbers, truth values and texts; `texts` are known to be texts."""
    pl = polars()
    columns = _flat(frame.get_columns(), name)
    names = [column.name for column in columns]
    texts = texts | as_written(options, names)
    label = label_in(options, names)
    missing = ["", *options.na_values] if options.na_values else []  # where null is at hand, a word is a word
    for i, column in enumerate(columns):
        if isinstance(column.dtype, pl.List):
            columns[i] = _without_lists(column, column.name in texts, place, name)
        elif column.dtype.is_integer():
            columns[i] = column.cast(pl.Int64, strict=False)
            if columns[i].null_count() > column.null_count():  # beyond 64 bits
                columns[i] = column.cast(pl.Float64)
        elif column.dtype == pl.String:
            column = column.set(column.is_in(missing).fill_null(False), None) if missing else column
            is_text = column.name in texts or column.name == label or column.null_count() == len(column)
            columns[i] = column if is_text else _numbers_if_most_are(column, data, place, name)
    return pl.DataFrame(columns)


def _flat(columns: list[Series], name: str, depth: int = 1) -> list[Series]:
    """Return columns with those of objects in their places, under names with points."""
    found = []
    for column in columns:
        if not isinstance(column.dtype, polars().Struct):
            found.append(column)
            continue
        if depth > _DEEPEST:
            raise DataError(f"Objects in {name} may stand within one another {_DEEPEST} deep. Got more instead.")
        inner = [each.rename(f"{column.name}.{each.name}") for each in column.struct.unnest().get_columns()]
        found += _flat(inner, name, depth + 1)
    names = [column.name for column in found]
    if len(set(names)) < len(names):
        raise DataError(f"The names of the columns of {name} must differ. Got {list_names(names)} instead.")
    return found


def _without_lists(column: Series, is_text: bool, place: Place, name: str) -> Series:
    row = int(column.is_not_null().arg_true()[0]) if column.null_count() < len(column) else None
    if row is None or is_text:
        return polars().Series(column.name, [None if each is None else str(each.to_list()) for each in column])
    raise DataError(
        f"The column {column.name!r} of {name} must hold numbers, text or truth values. Got a list in {place(row)} "
        f"instead: leave it out with drop={column.name!r}.",
        parameter="drop",
    )


def _numbers_if_most_are(column: Series, data: bytes, place: Place, name: str) -> Series:
    """Return numbers that polars turned into text because of missing-value markers; refuse other texts among them."""
    odd = column.cast(polars().Float64, strict=False).is_null() & column.is_not_null()
    n = len(column) - column.null_count()
    if 2 * odd.sum() >= n:
        return column
    key = re.escape(json.dumps(column.name.rpartition(".")[2]).encode()) + rb"\s*:\s*"
    if 2 * len(re.findall(key + rb"[-\d]", data)) <= n:
        return column  # texts that look like numbers
    if not odd.any():
        whole = column.cast(polars().Int64, strict=False)
        return whole if whole.null_count() == column.null_count() else column.cast(polars().Float64)
    row = int(odd.arg_true()[0])
    got = f"{short_repr(column[row])} in {place(row)}"
    raise OddValueError(
        f"The column {column.name!r} of {name} must hold numbers alone, as most of its values are. Got {got} "
        "instead: correct it, or read the column as text with as_text (--discrete).",
        column=column.name,
        got=got,
        parameter="as_text",
    )
