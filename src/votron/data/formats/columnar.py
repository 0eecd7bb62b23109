"""Parquet and Arrow (also called Feather): tables column by column, read by polars."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from votron._util.types import Frame
from votron.data._sources import Source, check_expanded
from votron.data.conversion import as_table
from votron.data.examples import Examples
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.data.tables import check_names, list_names, polars, polars_errors
from votron.errors import DataError

_BYTES_A_VALUE = 8
_FIRST_ROWS = 1000
_INDEX = re.compile(r"__index_level_\d+__")
_ARROW = b"ARROW1"
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


class _Columnar(Format):
    """Tables column by column."""

    def in_bounded_memory(self, source: Source) -> bool:
        """Tell whether it is a plain file."""
        return source.size is not None

    def scan(self, file: Path | io.BytesIO) -> Frame:
        """Return the lazy frame of a file, given its path or its bytes."""
        raise NotImplementedError

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield the table, or as many rows as those before let expect to fit."""
        pl = polars()
        if not source.head.startswith(self.magic):
            raise DataError(f"Cannot read {source.name} as {self.name}: it does not begin like that.")
        file = source.plain_path or io.BytesIO(source.read())
        with polars_errors(f"Cannot read {source.name} as {self.name}"):
            scan = self.scan(file)
            n_rows, names = int(scan.select(pl.len()).collect().item()), scan.collect_schema().names()
        if not (n_rows and names):
            raise DataError(f"There must be rows and columns in {source.name}. Got {n_rows} of {len(names)} instead.")
        check_names(names, source.name)
        hidden = _hidden_indexes(names, options)
        if batch_bytes is None:
            check_expanded(n_rows * len(names) * _BYTES_A_VALUE, source, options.max_bytes)
        begin, n = 0, n_rows if batch_bytes is None else min(_FIRST_ROWS, batch_bytes // (8 * len(names)) + 1)
        while begin < n_rows:
            with polars_errors(f"Cannot read {source.name} as {self.name}"):
                frame = scan.slice(begin, n).collect()
            begin += frame.height
            n = max(1, int((batch_bytes or 0) * frame.height / max(1, frame.estimated_size())))
            yield Part(frame.drop(hidden), about={"notes": _left_out(hidden, source.name, options)})
            del frame  # not to be in memory while the next is read


class Parquet(_Columnar):
    """Parquet."""

    name = "parquet"
    suffixes = (".parquet", ".pq")
    magic = (b"PAR1",)

    def scan(self, file: Path | io.BytesIO) -> Frame:
        """Return the lazy frame."""
        return polars().scan_parquet(file, glob=False)

    def write(self, examples: Examples) -> bytes:
        """Return a table."""
        buffer = io.BytesIO()
        with polars_errors(f"Cannot write {examples.source!r} as {self.name}"):
            as_table(examples).write_parquet(buffer)
        return buffer.getvalue()


class Arrow(_Columnar):
    """Arrow files and streams."""

    name = "arrow"
    suffixes = (".arrow", ".feather", ".ipc")
    magic = (_ARROW, b"\xff\xff\xff\xff")

    def in_bounded_memory(self, source: Source) -> bool:
        """Tell whether it is a plain file, and not a stream."""
        return source.size is not None and source.head.startswith(_ARROW)

    def scan(self, file: Path | io.BytesIO) -> Frame:
        """Return the lazy frame; a stream must have its end, without which rows may be lost."""
        is_path = isinstance(file, Path)
        with open(file, "rb") if isinstance(file, Path) else io.BytesIO(file.getvalue()) as opened:
            if opened.read(len(_ARROW)) == _ARROW:
                return polars().scan_ipc(file, **({"glob": False} if is_path else {}))
            opened.seek(0)
            stream = opened.read()
        if not stream.endswith(_END_OF_STREAM):
            raise DataError("Cannot read the Arrow stream: it ends before its end mark.")
        return polars().read_ipc_stream(io.BytesIO(stream)).lazy()

    def write(self, examples: Examples) -> bytes:
        """Return a table."""
        buffer = io.BytesIO()
        with polars_errors(f"Cannot write {examples.source!r} as {self.name}"):
            as_table(examples).write_ipc(buffer)
        return buffer.getvalue()


def _hidden_indexes(names: Sequence[str], options: ReadOptions) -> list[str]:
    """Return the columns that pandas made of an index without a name, except those that are asked for by name.

    They number the rows as they were before they were sampled or sorted, which may reveal the labels, and other files
    of the same columns have none.
    """
    asked = {options.label, *options.drop, *options.as_text, *(options.columns or ())}
    found = [name for name in names if _INDEX.fullmatch(name) and name not in asked]
    return found if len(found) < len(names) else []


def _left_out(hidden: list[str], name: str, options: ReadOptions) -> tuple[str, ...]:
    """Return the remark on columns that were left out; data of a model are without columns that it does not know."""
    if not hidden or options.columns is not None:
        return ()
    word = "column" if len(hidden) == 1 else "columns"
    return (f"Left out of {name}: the {word} {list_names(hidden)}, an index of pandas that says where rows once were.",)
