"""Arrow files, which are Feather's too, and Arrow streams, by polars, after the sizes that they claim were found.

Both are messages: a description in FlatBuffers, and a body of buffers. Buffers may be compressed, each by itself, with
the length that they expand to before them, which polars allocates: it expands no further than that, or than the rows
of a column need. Every byte is looked at once: where parts of a file overlap, so that it could be expanded again and
again, it is refused.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from votron.data._sources import Source
from votron.data.conversion import as_table
from votron.data.examples import Examples
from votron.data.formats._column_files import Claim, ColumnFile, DamagedError
from votron.data.tables import polars, polars_errors
from votron.errors import DataError

_MAGIC = b"ARROW1"
_CONTINUED = b"\xff\xff\xff\xff"
_SCHEMA, _DICTIONARY, _RECORDS = 1, 2, 3
_MAX_DEPTH = 64
_MAX_FIELDS = 1 << 20
_NOT_COMPRESSED = (1 << 64) - 1  # in place of a length
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


class Arrow(ColumnFile):
    """Arrow."""

    name = "arrow"
    suffixes = (".arrow", ".feather", ".ipc")
    magic = (_MAGIC, b"\xff\xff\xff\xff")

    def claims(self, file: IO[bytes]) -> list[Claim]:
        """Return what the batches of records say of themselves."""
        return arrow_claims(file)

    def in_bounded_memory(self, source: Source) -> bool:
        """Tell whether it is a plain file, and no stream."""
        return source.size is not None and source.head.startswith(_MAGIC)

    def frame_of(self, file: Any, source: Source) -> Any:
        """Return the frame."""
        return polars().read_ipc(file) if source.head.startswith(_MAGIC) else _read_stream(file, source.name)

    def scan(self, source: Source) -> Any:
        """Return the lazy frame."""
        return polars().scan_ipc(source.path, glob=False)

    def write(self, examples: Examples) -> bytes:
        """Return a table."""
        buffer = io.BytesIO()
        with polars_errors(f"Cannot write {examples.source!r} as {self.name}"):
            as_table(examples).write_ipc(buffer)
        return buffer.getvalue()


def _read_stream(file: Any, name: str) -> Any:
    """Return the frame of an Arrow stream, which must have its end: without it, rows at the end may be lost."""
    data = file.getvalue() if isinstance(file, io.BytesIO) else file.read_bytes()
    if not data.endswith(_END_OF_STREAM):
        raise DataError(f"Cannot read {name} as arrow: the stream ends before its end mark.")
    return polars().read_ipc_stream(io.BytesIO(data))


def arrow_claims(file: IO[bytes]) -> list[Claim]:
    """Return what the batches of an Arrow file or stream claim; DamagedError if they cannot be."""
    size = file.seek(0, 2)
    file.seek(0)
    is_file = file.read(len(_MAGIC)) == _MAGIC
    try:
        places = _places_in_file(file, size) if is_file else _places_in_stream(file, size)
        return [claim for place in places if (claim := _claim(file, place)) is not None]
    except (struct.error, IndexError):
        raise DamagedError("its metadata are damaged") from None


@dataclass(frozen=True)
class _Place:
    """Where a message is: its description, and its body."""

    begin: int
    n_bytes: int
    body: int
    n_body: int | None  # as the description says, of a stream


def _places_in_file(file: IO[bytes], size: int) -> Iterator[_Place]:
    file.seek(max(0, size - 10))
    end = file.read(10)
    n = int.from_bytes(end[:4], "little")
    if end[4:] != _MAGIC or n > size - 18:
        raise DamagedError("its end is not that of an Arrow file")
    file.seek(size - 10 - n)
    footer = _FlatTable.root(file.read(n))
    _check_schema(footer.table(1))
    used = 0
    for number in (2, 3):
        for at in footer.vector(number, 24):
            begin, n_description, n_body = (
                footer.number("<q", at),
                footer.number("<i", at + 8),
                footer.number("<q", at + 16),
            )
            used += n_description + n_body
            if min(begin, n_description, n_body) < 0 or begin + n_description + n_body > size or used > size:
                raise DamagedError("its batches overlap, or are not in it")
            yield _Place(begin, n_description, begin + n_description, n_body)


def _places_in_stream(file: IO[bytes], size: int) -> Iterator[_Place]:
    at = 0
    while at < size:
        file.seek(at)
        head = file.read(8)
        if len(head) == 8 and head[:4] == _CONTINUED:
            n, begin = int.from_bytes(head[4:], "little"), at + 8
        else:
            n, begin = int.from_bytes(head[:4], "little"), at + 4
        if n == 0:
            return
        if begin + n > size:
            raise DamagedError("it ends within a batch")
        yield _Place(begin, n, begin + n, None)
        file.seek(begin)
        n_body = _FlatTable.root(file.read(n)).integer(3, "<q")
        if n_body < 0 or begin + n + n_body > size:
            raise DamagedError("it ends within a batch")
        at = begin + n + n_body


def _claim(file: IO[bytes], place: _Place) -> Claim | None:
    """Return what a message claims; None for a schema."""
    file.seek(place.begin)
    description = file.read(place.n_bytes)
    if place.n_body is not None:  # of a file, with its length before it
        description = description[8 if description[:4] == _CONTINUED else 4 :]
    message = _FlatTable.root(description)
    kind, n_body = message.integer(1, "<B"), message.integer(3, "<q")
    if place.n_body is not None and n_body > place.n_body:
        raise DamagedError("a batch is longer than it says")
    if kind == _SCHEMA:
        _check_schema(message.table(2))
    if kind not in (_DICTIONARY, _RECORDS):
        return None
    batch = message.table(2)
    return _batch_claim(file, batch if kind == _RECORDS else batch.table(1), place.body, n_body)


def _batch_claim(file: IO[bytes], batch: _FlatTable, body: int, n_body: int) -> Claim:
    n_rows, n_values = batch.integer(0, "<q"), 0
    for at in batch.vector(1, 16):
        n_values += batch.number("<q", at)
        if batch.number("<q", at) < 0:
            raise DamagedError("a column has a negative length")
    compressed = batch.has(3)
    n_bytes = used = 0
    for at in batch.vector(2, 16):
        offset, length = batch.number("<q", at), batch.number("<q", at + 8)
        used += length
        if offset < 0 or length < 0 or offset + length > n_body or used > n_body:
            raise DamagedError("its columns overlap, or are not in it")
        n_bytes += _expanded(file, body + offset, length) if compressed else length
    if n_rows < 0:
        raise DamagedError("a batch has a negative number of rows")
    return Claim(n_rows, max(n_rows, n_values), n_bytes)


def _expanded(file: IO[bytes], at: int, length: int) -> int:
    """Return what a compressed buffer says that it expands to."""
    file.seek(at)
    claim = int.from_bytes(file.read(min(8, length)), "little")
    return length if claim == _NOT_COMPRESSED else max(claim, length)


# -- FlatBuffers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _FlatTable:
    """A table: fields by number, each perhaps absent. struct.error or IndexError where it is not in the data."""

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> _FlatTable:
        return cls(data, int(struct.unpack_from("<I", data, 0)[0]))

    def number(self, format: str, at: int) -> int:
        if at < 0:
            raise IndexError
        return int(struct.unpack_from(format, self.data, at)[0])

    def _place(self, number: int) -> int:
        """Return where a field is, or 0."""
        table = self.at - self.number("<i", self.at)
        if 4 + 2 * number >= self.number("<H", table):
            return 0
        offset = self.number("<H", table + 4 + 2 * number)
        return self.at + offset if offset else 0

    def has(self, number: int) -> bool:
        return self._place(number) > 0

    def integer(self, number: int, format: str) -> int:
        at = self._place(number)
        return self.number(format, at) if at else 0

    def table(self, number: int) -> _FlatTable:
        at = self._place(number)
        if not at:
            raise IndexError
        return _FlatTable(self.data, at + self.number("<I", at))

    def vector(self, number: int, width: int) -> range:
        """Return where the items of a vector are."""
        at = self._place(number)
        if not at:
            return range(0)
        begin = at + self.number("<I", at)
        n = self.number("<I", begin)
        if begin + 4 + n * width > len(self.data):
            raise IndexError
        return range(begin + 4, begin + 4 + n * width, width)

    def tables(self, number: int) -> Iterator[_FlatTable]:
        for at in self.vector(number, 4):
            yield _FlatTable(self.data, at + self.number("<I", at))


def _check_schema(schema: _FlatTable) -> None:
    """Refuse columns within columns within columns, which polars follows by recursion, and which may be shared."""
    left = [(field, 1) for field in schema.tables(1)]
    n_fields = len(left)
    while left:
        field, depth = left.pop()
        inner = [(one, depth + 1) for one in field.tables(5)]
        n_fields += len(inner)
        if depth > _MAX_DEPTH or n_fields > _MAX_FIELDS:
            raise DamagedError("its columns are nested too deeply, or too many")
        left += inner
