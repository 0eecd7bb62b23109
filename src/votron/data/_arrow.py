"""The sizes that an Arrow file or stream claims, found before polars takes memory for them.

Both are messages: a description in FlatBuffers, and a body of buffers. Buffers may be compressed, each by itself, with
the length that they expand to before them; not every version of polars heeds that, so the blocks of LZ4 and zstd are
counted as well, each of which expands to so much at most. Every byte is looked at once: where parts of a file overlap,
so that it could be expanded again and again, it is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from votron.data._parquet import Claim, DamagedError

MAGIC = b"ARROW1"
_CONTINUED = b"\xff\xff\xff\xff"
_SCHEMA, _DICTIONARY, _RECORDS = 1, 2, 3
_MAX_DEPTH = 64
_MAX_FIELDS = 1 << 20
_RAW = (1 << 64) - 1  # in place of the length of a buffer that is not compressed after all
_ZSTD, _LZ4 = b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18"
_ZSTD_BLOCK = 1 << 17
_LZ4_RATIO = 255


def arrow_claims(file: IO[bytes]) -> list[Claim]:
    """Return what the batches of an Arrow file or stream claim; DamagedError if they cannot be."""
    size = file.seek(0, 2)
    file.seek(0)
    is_file = file.read(len(MAGIC)) == MAGIC
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
    if end[4:] != MAGIC or n > size - 18:
        raise DamagedError("its end is not that of an Arrow file")
    file.seek(size - 10 - n)
    footer = _Table.root(file.read(n))
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
        n_body = _Table.root(file.read(n)).integer(3, "<q")
        if n_body < 0 or begin + n + n_body > size:
            raise DamagedError("it ends within a batch")
        at = begin + n + n_body


def _claim(file: IO[bytes], place: _Place) -> Claim | None:
    """Return what a message claims; None for a schema."""
    file.seek(place.begin)
    description = file.read(place.n_bytes)
    if place.n_body is not None:  # of a file, with its length before it
        description = description[8 if description[:4] == _CONTINUED else 4 :]
    message = _Table.root(description)
    kind, n_body = message.integer(1, "<B"), message.integer(3, "<q")
    if place.n_body is not None and n_body > place.n_body:
        raise DamagedError("a batch is longer than it says")
    if kind == _SCHEMA:
        _check_schema(message.table(2))
    if kind not in (_DICTIONARY, _RECORDS):
        return None
    batch = message.table(2)
    return _batch_claim(file, batch if kind == _RECORDS else batch.table(1), place.body, n_body)


def _batch_claim(file: IO[bytes], batch: _Table, body: int, n_body: int) -> Claim:
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
        if compressed and length > 8:
            file.seek(body + offset)
            n_bytes += _expanded(file.read(length))
        else:
            n_bytes += length
    if n_rows < 0:
        raise DamagedError("a batch has a negative number of rows")
    return Claim(n_rows, max(n_rows, n_values), n_bytes)


# -- FlatBuffers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """A table: fields by number, each perhaps absent. struct.error or IndexError where it is not in the data."""

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> _Table:
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

    def table(self, number: int) -> _Table:
        at = self._place(number)
        if not at:
            raise IndexError
        return _Table(self.data, at + self.number("<I", at))

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

    def tables(self, number: int) -> Iterator[_Table]:
        for at in self.vector(number, 4):
            yield _Table(self.data, at + self.number("<I", at))


def _check_schema(schema: _Table) -> None:
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


# -- compressed buffers -----------------------------------------------------------------------------------------------


def _expanded(buffer: bytes) -> int:
    """Return the bytes that a buffer may expand to: what it says, or what its blocks allow, if that is more."""
    claim = int.from_bytes(buffer[:8], "little")
    if claim == _RAW:
        return len(buffer)
    n, at = 0, 8
    try:
        while at < len(buffer):
            magic = buffer[at : at + 4]
            if magic == _ZSTD:
                more, at = _zstd_frame(buffer, at + 4)
            elif magic == _LZ4:
                more, at = _lz4_frame(buffer, at + 4)
            elif magic[1:] == b"\x2a\x4d\x18" and magic[0] >> 4 == 5:  # to be skipped
                more, at = 0, at + 8 + struct.unpack_from("<I", buffer, at + 4)[0]
            else:
                break
            n += more
    except (struct.error, IndexError):  # damaged from here on, and no reader expands it further
        n += _ZSTD_BLOCK
    return max(n, claim)


def _zstd_frame(data: bytes, at: int) -> tuple[int, int]:
    """Return the bytes that a frame expands to at most, and where it ends."""
    flags = data[at]
    single = flags >> 5 & 1
    at += 1
    block = _ZSTD_BLOCK
    if not single:
        window = data[at]
        block = min(block, (1 << (10 + (window >> 3))) * (8 + (window & 7)) // 8)
        at += 1
    at += (0, 1, 2, 4)[flags & 3]
    width = (single, 2, 4, 8)[flags >> 6]
    if single:
        size = int.from_bytes(data[at : at + width], "little") + (256 if width == 2 else 0)
        block = min(block, size)
    at += width
    n, last = 0, 0
    while not last:
        head = data[at] | data[at + 1] << 8 | data[at + 2] << 16
        last, kind, size = head & 1, head >> 1 & 3, head >> 3
        n += block if kind == 2 else min(size, _ZSTD_BLOCK)
        at += 3 + (1 if kind == 1 else size)
    return n, at + (4 if flags & 4 else 0)


def _lz4_frame(data: bytes, at: int) -> tuple[int, int]:
    """Return the bytes that a frame expands to at most, and where it ends."""
    flags, block = data[at], 1 << (8 + 2 * (data[at + 1] >> 4 & 7))
    at += 3 + (8 if flags & 8 else 0) + (4 if flags & 1 else 0)
    n = 0
    while size := struct.unpack_from("<I", data, at)[0]:
        stored = size & 0x7FFFFFFF
        n += stored if size >> 31 else min(block, _LZ4_RATIO * stored)
        at += 4 + stored + (4 if flags & 16 else 0)
    return n, at + 4 + (4 if flags & 4 else 0)
