"""Parquet and Arrow (also called Feather): tables column by column, read by polars."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from votron._util.types import Frame
from votron.data._sources import Source, check_expanded
from votron.data.examples import Examples
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.data.tables import check_names, list_names, polars, polars_errors, table_bytes
from votron.errors import DataError

_BYTES_A_VALUE = 8
_FIRST_ROWS = 1000
_INDEX = re.compile(r"__index_level_\d+__")
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


class Parquet(Format):
    """Parquet."""

    name = "parquet"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    magic: ClassVar[tuple[bytes, ...]] = (b"PAR1",)

    def in_bounded_memory(self, source: Source) -> bool:
        return source.plain_path is not None

    def scan(self, file: Path | io.BytesIO) -> Frame:
        """Return the lazy frame of a file, given its path or its bytes."""
        return polars().scan_parquet(file, glob=False)

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        if not source.head.startswith(self.magic):
            raise DataError(f"Cannot read {source.name} as {self.name}: it does not begin like that.")
        with polars_errors(f"Cannot read {source.name} as {self.name}"):
            scan = self.scan(source.plain_path or io.BytesIO(source.read()))
            n_rows, names = int(scan.select(polars().len()).collect().item()), scan.collect_schema().names()
        if not (n_rows and names):
            raise DataError(f"There must be rows and columns in {source.name}. Got {n_rows} of {len(names)} instead.")
        check_names(names, source.name)
        if batch_bytes is None:
            check_expanded(n_rows * len(names) * _BYTES_A_VALUE, source, options.max_bytes)
        # pandas keeps an index without a name in such columns, which may reveal the labels.
        asked = {options.label, *options.drop, *options.as_text, *(options.columns or ())}
        hidden = [name for name in names if _INDEX.fullmatch(name) and name not in asked]
        notes = (f"Left out of {source.name}: {list_names(hidden)}, an index of pandas.",) if hidden else ()
        begin, n = 0, n_rows if batch_bytes is None else min(_FIRST_ROWS, batch_bytes // (8 * len(names)) + 1)
        while begin < n_rows:
            with polars_errors(f"Cannot read {source.name} as {self.name}"):
                frame = scan.slice(begin, n).collect()
            begin += frame.height
            n = max(1, int((batch_bytes or 0) * frame.height / max(1, frame.estimated_size())))
            yield Part(frame.drop(hidden), about={"notes": () if options.columns is not None else notes})
            del frame  # not to be in memory while the next is read

    def write(self, examples: Examples) -> bytes:
        return table_bytes(examples, "parquet")


class Arrow(Parquet):
    """Arrow files and streams."""

    name = "arrow"
    suffixes = (".arrow", ".feather", ".ipc")
    magic = (b"ARROW1", b"\xff\xff\xff\xff")

    def in_bounded_memory(self, source: Source) -> bool:
        return source.plain_path is not None and source.head.startswith(self.magic[0])

    def scan(self, file: Path | io.BytesIO) -> Frame:
        """Return the lazy frame; a stream must have its end, without which rows may be lost."""
        with file.open("rb") if isinstance(file, Path) else io.BytesIO(file.getvalue()) as opened:
            if opened.read(len(self.magic[0])) == self.magic[0]:
                return polars().scan_ipc(file, **({"glob": False} if isinstance(file, Path) else {}))
            opened.seek(0)
            stream = opened.read()
        if not stream.endswith(_END_OF_STREAM):
            raise DataError("Cannot read the Arrow stream: it ends before its end mark.")
        return polars().read_ipc_stream(io.BytesIO(stream)).lazy()

    def write(self, examples: Examples) -> bytes:
        return table_bytes(examples, "ipc")
