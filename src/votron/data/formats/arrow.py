"""Arrow files, which are Feather's too, and Arrow streams."""

from __future__ import annotations

import io
from typing import IO, Any

from votron.data._arrow import MAGIC, arrow_claims
from votron.data._parquet import Claim
from votron.data._polars import polars, sentences
from votron.data._sources import Source
from votron.data.conversion import as_table
from votron.data.examples import Examples
from votron.data.formats.parquet import ColumnFile
from votron.errors import DataError

_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


class Arrow(ColumnFile):
    """Arrow."""

    name = "arrow"
    suffixes = (".arrow", ".feather", ".ipc")
    magic = (MAGIC, b"\xff\xff\xff\xff")

    def claims(self, file: IO[bytes]) -> list[Claim]:
        """Return what the batches of records say of themselves."""
        return arrow_claims(file)

    def in_bounded_memory(self, source: Source) -> bool:
        """Tell whether it is a plain file, and no stream."""
        return source.size is not None and source.head.startswith(MAGIC)

    def frame_of(self, file: Any, source: Source) -> Any:
        """Return the frame."""
        return polars().read_ipc(file) if source.head.startswith(MAGIC) else _read_stream(file, source.name)

    def scan(self, source: Source) -> Any:
        """Return the lazy frame."""
        return polars().scan_ipc(source.path, glob=False)

    def write(self, examples: Examples) -> bytes:
        """Return a table."""
        buffer = io.BytesIO()
        with sentences(f"Cannot write {examples.source!r} as {self.name}"):
            as_table(examples).write_ipc(buffer)
        return buffer.getvalue()


def _read_stream(file: Any, name: str) -> Any:
    """Return the frame of an Arrow stream, which must have its end: without it, rows at the end may be lost."""
    data = file.getvalue() if isinstance(file, io.BytesIO) else file.read_bytes()
    if not data.endswith(_END_OF_STREAM):
        raise DataError(f"Cannot read {name} as arrow: the stream ends before its end mark.")
    return polars().read_ipc_stream(io.BytesIO(data))
