"""Files that hold tables column by column, read by polars after what they claim was compared with what may be expanded.

polars is written in Rust: where memory cannot be had it ends the process, and no error can be caught.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from votron._util.text import exact_bytes
from votron.data._sources import EXPAND, IN_BATCHES, Source, check_expanded, check_memory
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.data.tables import list_names, polars, polars_errors
from votron.errors import DataError, Parameter, Phrase

_BYTES_A_VALUE = 8
_MEMORY_A_VALUE = 16
_FIRST_ROWS = 1000
_GROWTH = 64
_INDEX = re.compile(r"__index_level_\d+__")
_SMALLER = "write it with fewer rows to a group"


class DamagedError(ValueError):
    """What a file says of itself cannot be; the message says what, as part of a sentence."""


@dataclass(frozen=True)
class Claim:
    """What a part of a file says of itself: its rows, the values of all columns, and their bytes, once expanded."""

    n_rows: int
    n_values: int
    n_bytes: int


class ColumnFile(Format):
    """Files that hold tables column by column, and say of themselves how much that is."""

    options = ("as_text",)
    needs_end = True

    def claims(self, file: IO[bytes]) -> list[Claim]:
        """Return what the parts of a file say of themselves."""
        raise NotImplementedError

    def frame_of(self, file: Any, source: Source) -> Any:
        """Return the frame of a file, by its path or its bytes."""
        raise NotImplementedError

    def scan(self, source: Source) -> Any:
        """Return the lazy frame of a plain file."""
        raise NotImplementedError

    def in_bounded_memory(self, source: Source) -> bool:
        """Tell whether it is a plain file."""
        return source.size is not None

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield the table, or as many rows as those before let expect to fit."""
        frames = [self._whole(source, options.max_bytes)] if batch_bytes is None else self._slices(source, batch_bytes)
        for frame in frames:
            if 0 in frame.shape:
                raise DataError(
                    f"There must be rows and columns in {source.name}. Got {frame.height} rows of {frame.width} "
                    "instead."
                )
            hidden = hidden_indexes(frame.columns, options)
            yield Part(frame.drop(hidden), about={"notes": _left_out(hidden, source.name, options)})

    def _whole(self, source: Source, max_bytes: int) -> Any:
        file: Any = source.plain_path
        if file is None:
            file = io.BytesIO(source.read(2, EXPAND))
            _check_claims(self._claims(file, source.name), source.name, max_bytes, EXPAND)
        else:
            with open(file, "rb") as opened:
                found = self._claims(opened, source.name)
            _check_claims(found, source.name, max_bytes)
        polars()
        with polars_errors(f"Cannot read {source.name} as {self.name}"):
            frame = self.frame_of(file, source)
        n_text = _bytes_of_texts(frame)
        check_expanded(n_text, max_bytes, f"What is in {source.name}")
        check_memory(2 * n_text, source.name)
        return frame

    def _slices(self, source: Source, batch_bytes: int) -> Iterator[Any]:
        pl = polars()
        if source.path is not None:
            with open(source.path, "rb") as file:
                parts = self._claims(file, source.name)
            # Of a part, polars expands all pages, or buffers, for any of its rows.
            check_memory(max((part.n_bytes for part in parts), default=0), source.name, remedy=_SMALLER)
        with polars_errors(f"Cannot read {source.name} as {self.name}"):
            scan = self.scan(source)
            n_rows = int(scan.select(pl.len()).collect().item())
            width = max(1, len(scan.collect_schema()))
        n, begin = max(1, min(_FIRST_ROWS, batch_bytes // (8 * width))), 0
        while begin < n_rows:
            with polars_errors(f"Cannot read {source.name} as {self.name}"):
                frame = scan.slice(begin, n).collect()
            begin += frame.height
            bytes_a_row = max(1.0, frame.estimated_size() / max(1, frame.height))
            n = max(1, min(int(batch_bytes / bytes_a_row), _GROWTH * n))  # texts may become longer
            check_memory(2 * _bytes_of_texts(frame), source.name, remedy=_SMALLER)
            yield frame

    def _claims(self, file: IO[bytes], name: str) -> list[Claim]:
        try:
            return self.claims(file)
        except DamagedError as error:
            raise DataError(f"Cannot read {name} as {self.name}: {error}.") from None
        finally:
            file.seek(0)


def hidden_indexes(names: Sequence[str], options: ReadOptions) -> list[str]:
    """Return the columns that pandas made of an index without a name, but those that are asked for by name.

    They number the rows as they were before they were sampled or sorted, which may tell the labels, and other files of
    the same columns have none.

    Examples
    --------
    >>> hidden_indexes(["a", "__index_level_0__"], ReadOptions())
    ['__index_level_0__']
    >>> hidden_indexes(["a", "__index_level_0__"], ReadOptions(columns={"__index_level_0__": "number"}))
    []
    """
    table = options.table
    asked = {table.label, *table.drop, *table.as_text, *(table.columns or ())}
    found = [name for name in names if _INDEX.fullmatch(name) and name not in asked]
    return found if len(found) < len(names) else []


def _left_out(hidden: list[str], name: str, options: ReadOptions) -> tuple[str, ...]:
    """Return the remark on columns that were left out; data of a model are without columns that it does not know."""
    if not hidden or options.columns is not None:
        return ()
    word = "column" if len(hidden) == 1 else "columns"
    return (f"Left out of {name}: the {word} {list_names(hidden)}, an index of pandas that says where rows once were.",)


def _bytes_of_texts(frame: Any) -> int:
    """Return the bytes of all texts, each counted for itself: many rows may share one, and then take little so far."""
    pl = polars()
    lengths = frame.select((pl.col(pl.String, pl.Categorical).cast(pl.String)).str.len_bytes().sum())
    return sum(int(n or 0) for n in lengths.row(0)) if lengths.width else 0


def _check_claims(parts: Sequence[Claim], name: str, max_bytes: int, remedy: str | Phrase = IN_BATCHES) -> None:
    """Refuse what is too large, once expanded, for the limit or for the memory that is free."""
    n_rows, n_values = sum(part.n_rows for part in parts), sum(part.n_values for part in parts)
    if n_values * _BYTES_A_VALUE > max_bytes:
        raise DataError(
            f"There are {n_rows:,} rows with {n_values:,} values in {name}, more than the {exact_bytes(max_bytes)} "
            "that ",
            Parameter("max_bytes"),
            " allows: raise it if that is right.",
        )
    n_bytes = sum(part.n_bytes for part in parts)
    check_expanded(n_bytes, max_bytes, f"What is in {name}")
    check_memory(n_bytes + n_values * _MEMORY_A_VALUE, name, remedy=remedy)
