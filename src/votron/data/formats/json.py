"""JSON and JSON Lines: tables as lists of objects, an object a row.

What is parsed is Python's own reading of JSON, an object at a time, so that nothing ends the process: neither lists
within lists without end, nor a name that is new in every row (cells are counted before they are made). A value that is
absent is missing, as null and NaN are. Objects within objects become columns of their own, ``scores.yes``. Of a column
that has words, numbers among them are words too; dates are texts in JSON, and are recognised as in CSV.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from votron.data._sources import (
    IN_BATCHES,
    MAX_SPLIT,
    Source,
    check_memory,
    check_text,
    memory_budget,
    text_parts,
    with_newlines,
)
from votron.data.conversion import as_table
from votron.data.dates import dates_in, first_undated
from votron.data.examples import Examples, short_repr
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.data.tables import OddValueError, list_names, polars, polars_errors
from votron.errors import DataError, Parameter

_BYTES_A_BYTE = 12
"""The memory that a byte takes, at most but for tiny rows, whose cells are counted."""
_BYTES_A_CELL = 32
_BYTES_A_ROW = 64
_DEEPEST = 8
"""Objects that may stand within one another."""
_SPACE = re.compile(r"[ \t\r\n]*")
_WHAT = {
    "number": "numbers, as in the rows before it",
    "boolean": "true and false, as in the rows before it",
    "text": "text, as in the rows before it",
    "date": "dates, as in the rows before it and written alike",
}
_INT64 = range(-(2**63), 2**63)


class Json(Format):
    """One list of objects, or one object of columns, which are lists."""

    name = "json"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    options = ("as_text", "na_values", "only_na_values", "encoding")

    def looks_like(self, head: bytes) -> bool:
        """Tell whether it begins with a list of objects."""
        return re.match(rb"\s*\[\s*(\{|\]|$)", head) is not None

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield all rows."""
        _refuse_other(source.head, source.name)
        data = with_newlines(source.read(_BYTES_A_BYTE))
        check_text(data, source.name)
        text = data.decode()
        del data
        rows = _Rows(source.name, options)
        if text.lstrip()[:1] == "[":
            _add_list(rows, text, source.name)
        elif not _add_columns(rows, text, source.name):
            _add_lines(rows, text, 1)
        yield rows.part()

    def write(self, examples: Examples) -> bytes:
        """Return a list with an object a row, each on a line of its own."""
        lines = _lines_of(examples, self.name)
        return b"[\n" + b",\n".join(lines) + b"\n]\n"


class JsonLines(Format):
    """An object a line."""

    name = "jsonl"
    suffixes = (".jsonl", ".ndjson")
    options = ("as_text", "na_values", "only_na_values", "encoding")
    sequential = True

    def looks_like(self, head: bytes) -> bool:
        """Tell whether it begins with an object, or what may be one."""
        return re.match(rb"\s*\{\s*(\"|\}|$)", head) is not None

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield rows, of which the first say what the columns of the next ones hold."""
        _refuse_other(source.head, source.name)
        if batch_bytes is None:
            parts: Any = [(with_newlines(source.read(_BYTES_A_BYTE)), 1)]
        else:
            parts = text_parts(source, batch_bytes, lambda data: data.rfind(b"\n") + 1)
        # Of a batch no row may have a column that others have; all rows together do, or it is refused.
        known: dict[str, str | None] = dict.fromkeys(options.columns or ()) if batch_bytes is not None else {}
        for data, line in parts:
            check_text(data, source.name, line)
            check_memory(_BYTES_A_BYTE * len(data), source.name)
            rows = _Rows(source.name, options, known)
            _add_lines(rows, data.decode(), line)
            if rows.n or batch_bytes is None:
                yield rows.part()
            del rows, data  # not to be in memory while the next are read

    def write(self, examples: Examples) -> bytes:
        """Return an object a line."""
        return b"".join(line + b"\n" for line in _lines_of(examples, self.name))


def _lines_of(examples: Examples, format: str) -> list[bytes]:
    buffer = io.BytesIO()
    with polars_errors(f"Cannot write {examples.source!r} as {format}"):
        as_table(examples).write_ndjson(buffer)
    return buffer.getvalue().splitlines()


def _refuse_other(head: bytes, name: str) -> None:
    """Refuse what is no JSON before all of it is read."""
    check_text(head[: head.rfind(b"\n") + 1] or head[:-MAX_SPLIT], name)
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if first not in (b"[", b"{", b""):
        got = short_repr(first.decode("latin-1"))
        raise DataError(f"Cannot read {name} as JSON: it must begin with {{ or [. Got {got} instead.")


# -- objects ----------------------------------------------------------------------------------------------------------


def _no_constant(text: str) -> float | None:
    return None if text == "NaN" else float(text)


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _decoded(text: str, at: int, name: str, first_line: int) -> tuple[Any, int]:
    """Return the value that begins at some place of a text, and where it ends."""
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError:
        reason = "it has more within one another than rows have"
    except json.JSONDecodeError as error:
        reason, at = f"{error.msg[:1].lower()}{error.msg[1:]}", error.pos
    except ValueError:  # such as a number of thousands of digits
        reason = "it has a number that is none"
    line = first_line + text.count("\n", 0, at)
    raise DataError(f"Cannot read {name} as JSON: {reason} in line {line}.")


def _add_lines(rows: _Rows, text: str, line: int) -> None:
    """Add the objects that stand in lines, one each."""
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        piece = text[at:end].strip()
        if piece:
            value, stop = _decoded(piece, 0, rows.name, line)
            if stop < len(piece):
                raise DataError(f"Each line of {rows.name} must hold one JSON object. Got more in line {line} instead.")
            rows.add(value, line)
        at, line = end + 1, line + 1


def _add_list(rows: _Rows, text: str, name: str) -> None:
    """Add the objects of a list."""
    at = _skip(text, text.index("[") + 1)
    more = text[at : at + 1] != "]"
    while more:
        value, at = _decoded(text, at, name, 1)
        rows.add(value)
        at = _skip(text, at)
        more = text[at : at + 1] == ","
        at = _skip(text, at + 1) if more else at
    if text[at : at + 1] != "]" or text[at + 1 :].strip():
        line = 1 + text.count("\n", 0, at)
        raise DataError(
            f"Cannot read {name} as JSON: the list of rows does not go on, or end, as it must, in line {line}."
        )


def _add_columns(rows: _Rows, text: str, name: str) -> bool:
    """Add the rows of an object of lists of the same length; tell whether it is one, and not one object of many."""
    value, at = _decoded(text, _skip(text, 0), name, 1)
    if text[at:].strip():
        return False
    lists = list(value.values()) if isinstance(value, dict) else []
    if not lists or not all(isinstance(each, list) for each in lists):
        if isinstance(value, dict) and not any(isinstance(each, list | dict) for each in lists):
            rows.add(value)
            return True
        raise DataError(
            f"Cannot read {name} as a table: it must be a list of objects, an object a row. Got one object with "
            f"{list_names(list(value)) if isinstance(value, dict) else short_repr(value)} instead."
        )
    if len({len(each) for each in lists}) > 1:
        raise DataError(f"Cannot read {name} as a table: its columns must be lists of one length. Got others instead.")
    for i in range(len(lists[0])):
        rows.add(dict(zip(value, (each[i] for each in lists), strict=True)))
    return True


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


# -- rows and columns -------------------------------------------------------------------------------------------------


class _Rows:
    """Rows as they come, in columns."""

    def __init__(self, name: str, options: ReadOptions, known: dict[str, str | None] | None = None) -> None:
        self.name, self.n = name, 0
        self._options = options
        self._known = {} if known is None else known
        """The columns of the rows before, and what they hold."""
        self._columns: dict[str, list[Any]] = {each: [] for each in self._known}
        self._lines: list[int] = []
        self._budget = memory_budget()

    def add(self, row: Any, line: int | None = None) -> None:
        """Add an object, which stands in some line."""
        if line is not None:
            self._lines.append(line)
        if not isinstance(row, dict):
            raise DataError(
                f"Each row of {self.name} must be a JSON object. Got {short_repr(row)} in {self.place(self.n)} instead."
            )
        nested = any(isinstance(value, dict) for value in row.values())
        for key, value in self._flat(row) if nested else row.items():
            values = self._columns.setdefault(key, [])
            if len(values) <= self.n:
                values.extend([None] * (self.n + 1 - len(values)))
            values[self.n] = value
        self.n += 1
        cells = self.n * len(self._columns)
        check_memory(cells * _BYTES_A_CELL + self.n * _BYTES_A_ROW, self.name, budget=self._budget, remedy=IN_BATCHES)

    def place(self, row: int) -> str:
        """Return where a row is."""
        return f"line {self._lines[row]}" if self._lines else f"row {row + 1} (the first is 1)"

    def part(self) -> Part:
        """Return the rows as a table."""
        if not self.n or not self._columns:
            raise DataError(f"There are no examples in {self.name}.")
        names = list(self._columns)
        kinds = self._options.table.kinds(names)
        label = self._options.table.label_in(names)
        frame = {}
        for name in names:
            values = self._columns.pop(name)
            values.extend([None] * (self.n - len(values)))
            frame[name] = self._column(name, values, kinds.get(name), name == label)
            self._known.setdefault(name, None)
        about = {"lines": np.array(self._lines)} if self._lines else {}
        return Part(polars().DataFrame(frame), place=self.place, about=about)

    def _flat(self, row: dict[str, Any]) -> list[tuple[str, Any]]:
        """Return the values of an object, those within objects under names with points."""
        found: list[tuple[str, Any]] = []
        left = [("", row, 1)]
        while left:
            prefix, value, depth = left.pop()
            if depth > _DEEPEST:
                raise DataError(
                    f"Objects in {self.name} may stand within one another {_DEEPEST} deep. Got more in "
                    f"{self.place(self.n)} instead."
                )
            found += [(f"{prefix}{key}", each) for key, each in value.items() if not isinstance(each, dict)]
            left += [(f"{prefix}{key}.", each, depth + 1) for key, each in value.items() if isinstance(each, dict)]
        return found

    # -- what a column holds ------------------------------------------------------------------------------------------

    def _column(self, name: str, values: list[Any], told: str | None, is_label: bool) -> Any:
        """Return a column as the numbers, truth values, dates or texts that it holds."""
        pl = polars()
        types = {type(value) for value in values} - {type(None)}
        if list in types and told != "text":
            raise self._nested(name, values)
        before = self._known.get(name)
        if not types:
            empty = {"number": pl.Float64, "boolean": pl.Boolean, "date": pl.Date}.get(str(before), pl.String)
            return pl.Series(name, values, dtype=empty)
        if told == "text" or before == "text" or types - {int, float, bool}:
            texts = self._texts(name, values, types, told, is_label)
            return self._perhaps_dates(texts, told, is_label)
        if types == {bool}:
            self._check(name, values, "boolean")
            return pl.Series(name, values, dtype=pl.Boolean)
        if bool in types:
            at = next(i for i, value in enumerate(values) if isinstance(value, bool))
            raise self._wrong(name, "numbers alone", values, at)
        self._check(name, values, "number")
        whole = float not in types and all(value is None or value in _INT64 for value in values)
        return pl.Series(name, values, dtype=pl.Int64 if whole else pl.Float64, strict=False)

    def _texts(self, name: str, values: list[Any], types: set[type], told: str | None, is_label: bool) -> Any:
        """Return values as texts, numbers among them as they are written."""
        if types != {str} and told != "text" and not is_label and self._known.get(name) != "text":
            n_numbers = sum(isinstance(value, int | float) for value in values)
            if 2 * n_numbers > sum(value is not None for value in values):
                at = next(i for i, value in enumerate(values) if isinstance(value, str))
                raise self._wrong(name, "numbers alone, as most of its values are", values, at)
        missing = frozenset(self._options.own_missing_texts)  # where null is at hand, a word is a word
        if missing or types != {str}:
            texts = [None if value is None else _as_text(value) for value in values]
            values = [None if text in missing else text for text in texts]
        with polars_errors(f"Cannot read the column {short_repr(name)} of {self.name}"):
            return polars().Series(name, values, dtype=polars().String)

    def _perhaps_dates(self, texts: Any, told: str | None, is_label: bool) -> Any:
        """Return texts as dates, if they are dates and not told or known to be texts."""
        name, before = texts.name, self._known.get(texts.name)
        dates = None if told == "text" or before == "text" or is_label else dates_in(texts)
        if dates is not None and before in (None, "date"):
            self._known[name] = "date"
            return dates
        if before == "date" and told != "text":
            raise self._wrong(name, _WHAT["date"], texts, first_undated(texts))
        self._check(name, texts, "text")
        return texts

    def _check(self, name: str, values: Any, now: str) -> None:
        """Refuse what the rows before do not hold."""
        before = self._known.get(name)
        if before not in (None, now):
            at = next(i for i, value in enumerate(values) if value is not None)
            raise self._wrong(name, _WHAT[str(before)], values, at)
        self._known[name] = now

    # -- refusals -----------------------------------------------------------------------------------------------------

    def _wrong(self, name: str, what: str, values: Any, at: int) -> DataError:
        got = f"{short_repr(values[at])} in {self.place(at)}"
        return OddValueError(
            f"The column {name!r} of {self.name} must hold {what}. Got {got} instead: mend it, or say with ",
            Parameter("as_text"),
            " that it is a column of names.",
            column=name,
            got=got,
        )

    def _nested(self, name: str, values: list[Any]) -> DataError:
        at = next(i for i, value in enumerate(values) if isinstance(value, list))
        return DataError(
            f"The column {name!r} of {self.name} must hold numbers, text or truth values. Got a list in "
            f"{self.place(at)} instead: leave it out with ",
            Parameter("drop", name),
            ".",
        )


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
