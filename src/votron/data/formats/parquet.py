"""Parquet files, by polars, after the sizes that they claim were found.

A file ends with a footer: its columns, and for each group of rows where the pages of each column are. A page begins
with a header that says how long it is, once expanded, and readers allocate that at once. Footer and headers are in
Thrift's compact protocol, of which the few fields that matter are read here and the others passed over. Every byte is
looked at once: where parts of a file overlap, so that it could be expanded again and again, it is refused.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from votron.data._sources import Source
from votron.data.conversion import as_table
from votron.data.examples import Examples
from votron.data.formats._column_files import Claim, ColumnFile, DamagedError
from votron.data.tables import polars, polars_errors

_MAGIC = b"PAR1"
_MAX_DEPTH = 64
# Bytes to look for the header of a page in: statistics make it long. They double, so that all together are no more
# than some times the header.
_PAGE_HEADERS = tuple(1 << power for power in range(9, 25))
_DELTA_BYTE_ARRAY = 7
_BYTES_OF_ENTRY = 8  # room that polars makes for each entry of a dictionary
_INTEGERS = (3, 4, 5, 6)  # the kinds of numbers and what follows, of the compact protocol
_DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 7, 8, 9, 10, 11, 12


class Parquet(ColumnFile):
    """Parquet."""

    name = "parquet"
    suffixes = (".parquet", ".pq")
    magic = (b"PAR1",)

    def claims(self, file: IO[bytes]) -> list[Claim]:
        """Return what the groups of rows say of themselves."""
        return parquet_claims(file)

    def frame_of(self, file: Any, source: Source) -> Any:
        """Return the frame."""
        return polars().read_parquet(file, glob=False)

    def scan(self, source: Source) -> Any:
        """Return the lazy frame."""
        return polars().scan_parquet(source.path, glob=False)

    def write(self, examples: Examples) -> bytes:
        """Return a table."""
        buffer = io.BytesIO()
        with polars_errors(f"Cannot write {examples.source!r} as {self.name}"):
            as_table(examples).write_parquet(buffer)
        return buffer.getvalue()


def parquet_claims(file: IO[bytes]) -> list[Claim]:
    """Return what the groups of rows of a Parquet file claim; DamagedError if they cannot be."""
    size = file.seek(0, 2)
    file.seek(max(0, size - 8))
    end = file.read(8)
    n = int.from_bytes(end[:4], "little")
    if end[4:] != _MAGIC or n > size - 12:
        raise DamagedError("its end is not that of a Parquet file")
    file.seek(size - 8 - n)
    try:
        groups = _groups(_Compact(file.read(n)))
    except (IndexError, KeyError):
        raise DamagedError("its footer is damaged") from None
    chunks = [chunk for _, columns in groups for chunk in columns]
    if sum(chunk.n_bytes for chunk in chunks) > size or any(chunk.begin + chunk.n_bytes > size for chunk in chunks):
        raise DamagedError("its columns overlap, or are not in it")
    return [_claim(file, n_rows, chunks) for n_rows, chunks in groups]


@dataclass(frozen=True)
class _Chunk:
    """Where the pages of a column are, in a group of rows."""

    begin: int
    n_bytes: int
    n_values: int


# -- the compact protocol ---------------------------------------------------------------------------------------------


class _Compact:
    """Reads structures field by field; IndexError where they end too early."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def varint(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise IndexError

    def structure(self, wanted: dict[int, Callable[[int], Any]], depth: int = 0) -> dict[int, Any]:
        """Return the wanted fields by number, each by the function that is given for it, and pass over the others."""
        found: dict[int, Any] = {}
        number = 0
        while head := self.data[self.at]:
            self.at += 1
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            if number in wanted:
                if number in found:  # which of the two counts?
                    raise IndexError
                found[number] = wanted[number](head & 15)
            else:
                self._skip(head & 15, depth, in_list=False)
        self.at += 1
        return found

    def integer(self, kind: int) -> int:
        """Return a number, which must not be negative."""
        if kind not in _INTEGERS:
            raise IndexError
        value = self._zigzag()
        if value < 0:
            raise IndexError
        return value

    def items(self, kind: int) -> Iterator[None]:
        """Go through a list of structures; who iterates reads them."""
        if kind != _LIST:
            raise IndexError
        n, inner = self._list_head()
        if inner != _STRUCT:
            raise IndexError
        for _ in range(n):
            yield

    def _zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def _list_head(self) -> tuple[int, int]:
        head = self.data[self.at]
        self.at += 1
        return (head >> 4 if head >> 4 < 15 else self.varint()), head & 15

    def _skip(self, kind: int, depth: int, in_list: bool) -> None:
        if depth > _MAX_DEPTH:
            raise IndexError
        if kind in _INTEGERS[1:]:
            self.varint()
        elif kind == _BINARY:
            self._step(self.varint())
        elif kind == _DOUBLE:
            self._step(8)
        elif kind == _STRUCT:
            self.structure({}, depth + 1)
        elif kind in (_LIST, _SET):
            n, inner = self._list_head()
            for _ in range(n):
                self._skip(inner, depth + 1, in_list=True)
        elif kind == _MAP:
            n = self.varint()
            kinds = self.data[self.at] if n else 0
            self._step(1 if n else 0)
            for _ in range(n):
                self._skip(kinds >> 4, depth + 1, in_list=True)
                self._skip(kinds & 15, depth + 1, in_list=True)
        elif kind == 3 or (kind in (1, 2) and in_list):
            self._step(1)
        elif kind not in (1, 2):  # true and false, which are their own value
            raise IndexError

    def _step(self, n: int) -> None:
        self.at += n
        if self.at > len(self.data):
            raise IndexError


# -- Parquet ----------------------------------------------------------------------------------------------------------


def _groups(footer: _Compact) -> list[tuple[int, list[_Chunk]]]:
    """Return the rows of each group, and its columns."""
    read = footer.integer

    def schema(kind: int) -> list[int]:
        return [footer.structure({5: read}).get(5, 0) for _ in footer.items(kind)]

    def chunk(_: int) -> _Chunk:
        said = footer.structure({5: read, 7: read, 9: read, 11: read})
        return _Chunk(said.get(11, said[9]), said[7], said[5])

    def chunks(kind: int) -> list[_Chunk]:
        return [footer.structure({3: chunk})[3] for _ in footer.items(kind)]

    def groups(kind: int) -> list[tuple[int, list[_Chunk]]]:
        said = [footer.structure({1: chunks, 3: read}) for _ in footer.items(kind)]
        return [(one[3], one[1]) for one in said]

    found = footer.structure({2: schema, 3: read, 4: groups})
    _check_depth(found[2])
    if found[3] != sum(n_rows for n_rows, _ in found[4]):
        raise DamagedError("its parts do not have the rows that it promises")
    return list(found[4])


def _check_depth(n_children: list[int]) -> None:
    """Refuse columns within columns within columns, which polars follows by recursion."""
    left: list[int] = []
    for n in n_children:
        while left and left[-1] == 0:
            left.pop()
        if left:
            left[-1] -= 1
        if n:
            left.append(n)
        if len(left) > _MAX_DEPTH:
            raise DamagedError("its columns are nested too deeply")


def _claim(file: IO[bytes], n_rows: int, chunks: list[_Chunk]) -> Claim:
    n_values = n_bytes = 0
    for chunk in chunks:
        values, expanded = _pages(file, chunk)
        n_values += max(values, chunk.n_values, n_rows)
        n_bytes += expanded
    return Claim(n_rows, n_values, n_bytes)


def _pages(file: IO[bytes], chunk: _Chunk) -> tuple[int, int]:
    """Return how many values the pages of a column have, and how many bytes they say they expand to."""
    n_values = n_bytes = 0
    at, end = chunk.begin, chunk.begin + chunk.n_bytes
    while at < end:
        try:
            header, n_header = _page_header(file, at, end)
        except (IndexError, KeyError):
            if n_values >= chunk.n_values:  # all pages were seen; what comes after them is not read
                break
            raise DamagedError("the header of a page is damaged") from None
        n_bytes += max(header[2], header[3], _BYTES_OF_ENTRY * header.get(7, 0))
        n_values += header.get(5, 0) + header.get(8, 0)
        at += n_header + header[3]
    return n_values, n_bytes


def _page_header(file: IO[bytes], at: int, end: int) -> tuple[dict[int, int], int]:
    """Return what the header of a page says, and how long it is."""
    for length in _PAGE_HEADERS:
        file.seek(at)
        reader = _Compact(file.read(min(length, end - at)))
        try:
            return _said(reader), reader.at
        except IndexError:
            if length > end - at or length == _PAGE_HEADERS[-1]:
                raise
    raise IndexError


def _said(reader: _Compact) -> dict[int, int]:
    read = reader.integer

    def n_values(encoding: int) -> Callable[[int], int]:
        """Return how to read the number of values of a page whose encoding is the field of this number."""

        def of_page(_: int) -> int:
            page = reader.structure({1: read, encoding: read})
            if page.get(encoding) == _DELTA_BYTE_ARRAY:
                raise DamagedError(
                    "its texts are stored as changes to one another (DELTA_BYTE_ARRAY), and nothing tells how long "
                    "that makes them: write it with another encoding"
                )
            return int(page[1])

        return of_page

    said = reader.structure({2: read, 3: read, 5: n_values(2), 7: n_values(2), 8: n_values(4)})
    if 2 not in said or 3 not in said:
        raise KeyError
    return said
