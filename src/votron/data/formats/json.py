"""JSON and JSON Lines: tables as lists of objects, an object a row, read by polars.

A value that is absent is missing, as null is. Objects within objects become columns of their own, ``scores.yes``. Of a
column that has texts, numbers among them are texts too.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec
import numpy as np

from votron._util.types import Frame, Series
from votron.data._sources import Source, text_parts, whole_text
from votron.data.examples import Examples
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.data.tables import check_names, polars, polars_errors, table_bytes
from votron.errors import DataError

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_STRING_OR_NAN = re.compile(rb'("(?:[^"\\]|\\.)*+")|NaN')


class Json(Format):
    """One list of objects, or one object of columns, which are lists."""

    name = "json"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    def looks_like(self, head: bytes) -> bool:
        return re.match(rb"\s*\[\s*(\{|\]|$)", head) is not None

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
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
        yield Part(_typed(frame, options, source.name))

    def write(self, examples: Examples) -> bytes:
        lines = JsonLines().write(examples).splitlines()
        return b"[\n" + b",\n".join(lines) + b"\n]\n"


class JsonLines(Format):
    """An object a line."""

    name = "jsonl"
    suffixes = (".jsonl", ".ndjson")
    sequential = True

    def looks_like(self, head: bytes) -> bool:
        return re.match(rb"\s*\{\s*(\"|\}|$)", head) is not None

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        seen: dict[str, str] = {}
        names = dict.fromkeys(options.columns or ())
        for data, line in text_parts(source, batch_bytes, lambda data: data.rfind(b"\n") + 1):
            if batch_bytes is not None and not data.strip():
                continue
            frame = _read(data, source.name, lines=True, first_line=line)
            lines = np.array([i for i, text in enumerate(data.split(b"\n"), line) if text.strip()])
            frame = _typed(frame, options, source.name)
            if batch_bytes is not None:  # no row of a batch may have a column that others have
                new = [name for name in frame.columns if name not in names]
                if names and new and options.columns is None:
                    raise DataError(
                        f"The column {new[0]!r} of {source.name} must be in the first batch. Got it first in the batch "
                        f"of line {lines[0]} instead: give the first row a null of that name."
                    )
                names |= dict.fromkeys(new)
                absent = [polars().Series(name, [None] * frame.height) for name in names if name not in frame.columns]
                frame = polars().DataFrame([frame.hstack(absent).get_column(name) for name in names])
            yield Part(frame, lines=lines, seen=seen)
            del frame, data  # not to be in memory while the next are read

    def write(self, examples: Examples) -> bytes:
        return table_bytes(examples, "ndjson")


def _read(data: bytes, name: str, *, lines: bool, first_line: int = 1) -> Frame:
    """Return the frame of some JSON, with the types that all of its rows show."""
    pl = polars()
    if b"NaN" in data:  # Python writes it, JSON has none
        data = _STRING_OR_NAN.sub(lambda found: found[1] or b"null", data)
    if _SURROGATE.search(data):  # polars would make texts that are not Unicode of half a character
        _check(data, name, lines, first_line)
    try:
        with polars_errors(f"Cannot read {name} as JSON"):
            frame = (pl.read_ndjson if lines else pl.read_json)(io.BytesIO(data), infer_schema_length=None)
    except DataError:
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


def _typed(frame: Frame, options: ReadOptions, name: str) -> Frame:
    """Return the columns of a frame and of the objects in it, with numbers of 64 bits and missing values."""
    pl = polars()
    columns = _flat(frame.get_columns())
    missing = ["", *options.na_values] if options.na_values else []  # where null is at hand, a word is a word
    for i, column in enumerate(columns):
        if column.dtype.is_integer():
            columns[i] = column.cast(pl.Int64, strict=False)
            if columns[i].null_count() > column.null_count():  # beyond 64 bits
                columns[i] = column.cast(pl.Float64)
        elif column.dtype == pl.String and missing:
            columns[i] = column.set(column.is_in(missing).fill_null(False), None)
    with polars_errors(f"Cannot read {name} as a table"):
        return pl.DataFrame(columns)


def _flat(columns: list[Series]) -> list[Series]:
    """Return columns with those of objects in their places, under names with points."""
    found = []
    for column in columns:
        if isinstance(column.dtype, polars().Struct):
            inner = column.struct.unnest().get_columns()
            found += _flat([each.rename(f"{column.name}.{each.name}") for each in inner])
        else:
            found.append(column)
    return found
