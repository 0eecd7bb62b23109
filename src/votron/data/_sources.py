"""Sources of bytes: files and standard input, plain or compressed, expanded up to a limit and no further.

Compression is recognised by the first bytes, not by the name.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import importlib
import io
import lzma
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from votron._util.text import exact_bytes
from votron.errors import DataError

MAX_BYTES = 4 << 30
"""The most that compressed input, standard input or an archive may expand to by default: 4 GiB."""
STDIN = "-"
HEAD = 1 << 20
"""The number of bytes to look at before reading begins."""
_CHUNK = 1 << 20
_MAX_RECORD = 1 << 26
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")


class Location:
    """A file, a folder, standard input, or a name that stands for data; ``name`` is how messages refer to it."""

    head = b""
    rewindable = True
    size: int | None = None

    def __init__(self, location: str) -> None:
        self.location = location
        self.path = None if location == STDIN else Path(os.path.expanduser(location))
        self.name = "standard input" if self.path is None else repr(location)
        self.is_folder = self.path is not None and self.path.is_dir()


class Source(Location):
    """A file, or standard input, to read bytes from.

    ``head`` are its first bytes, expanded; ``plain_path`` is the file, if a library can open it by itself: not if it is
    compressed, or a pipe; ``size`` is that of such a file in bytes.
    """

    def __init__(self, location: str, max_bytes: int = MAX_BYTES, encoding: str | None = None) -> None:
        super().__init__(location)
        self.max_bytes, self.encoding = max_bytes, encoding
        self.compression: str | None = None
        self.rewindable = self.path is not None and (self.path.is_file() or not self.path.exists())
        self._once: IO[bytes] | None = self._opened()
        try:
            self.head = self._once.read(HEAD)
        except DataError:
            self._once.close()
            raise
        if self.rewindable:
            self._once.close()
        is_plain = self.rewindable and self.compression is None and encoding is None
        self.plain_path = self.path if is_plain else None
        self.size = None if self.plain_path is None else self.plain_path.stat().st_size

    @property
    def suffix(self) -> str:
        """The suffix of its name in lower case, without that of the compression."""
        path = Path("") if self.path is None else self.path
        return (path.with_suffix("") if path.suffix.lower() in _SUFFIXES else path).suffix.lower()

    def open(self) -> IO[bytes]:
        """Return a reader of its bytes, expanded."""
        if self.rewindable:
            return self._opened()
        if self._once is None:
            raise DataError("Standard input, or a pipe, can be read only once: give a file.")
        rest, self._once = self._once, None
        return io.BufferedReader(_Reader(self, rest, rest, prefix=self.head), _CHUNK)

    def read(self) -> bytes:
        """Return all of its bytes, expanded."""
        if self.plain_path is not None:
            return self.plain_path.read_bytes()
        with self.open() as file:
            return b"".join(iter(lambda: file.read(_CHUNK), b""))

    def _opened(self) -> IO[bytes]:
        try:
            file: Any = sys.stdin.buffer if self.path is None else open(self.path, "rb")  # noqa: SIM115
            reader = io.BufferedReader(file, _CHUNK)
            first = reader.peek(8)[:8]
        except (OSError, ValueError) as error:  # a name with a NUL character is a ValueError
            raise DataError(f"Cannot read {self.name}: {getattr(error, 'strerror', None) or error}.") from None
        self.compression = next((kind for magic, kind in _MAGIC.items() if first.startswith(magic)), None)
        try:
            inner: Any = reader if self.compression is None else _OPENERS[self.compression](reader)
        except DataError:
            reader.close()
            raise
        if self.encoding is not None:
            inner = codecs.EncodedFile(inner, "utf-8", self.encoding)
        return io.BufferedReader(_Reader(self, inner, reader), _CHUNK)


class _Reader(io.RawIOBase):
    """The expanded bytes of a source, up to its limit; damage is an error with a sentence."""

    def __init__(self, source: Source, inner: Any, file: IO[bytes], prefix: bytes = b"") -> None:
        self._source, self._inner, self._file, self._rest = source, inner, file, prefix
        self._n = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._rest or self._next(len(buffer))
        self._rest = chunk[len(buffer) :]  # a recoded chunk may be longer than was asked for
        chunk = chunk[: len(buffer)]
        buffer[: len(chunk)] = chunk
        self._n += len(chunk)
        if self._source.size is None and self._source.head:
            check_expanded(self._n, self._source, self._source.max_bytes)
        return len(chunk)

    def _next(self, n: int) -> bytes:
        source = self._source
        try:
            return bytes(self._inner.read(n))
        except (MemoryError, DataError):
            raise
        except UnicodeError:
            raise DataError(
                f"{with_capital(source.name)} is not text in {source.encoding}: say how it is encoded with encoding.",
                parameter="encoding",
            ) from None
        except Exception as error:  # each library of compression has errors of its own
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            how = source.compression
            what = f"The {how} compression of {source.name} is damaged" if how else f"Cannot read {source.name}"
            raise DataError(f"{what}: {reason}.") from None

    def close(self) -> None:
        if not self.closed:
            with suppress(Exception):  # what is left of a damaged stream
                self._inner.close()
            self._file.close()
        super().close()


def _open_zstd(file: IO[bytes]) -> Any:
    with suppress(ImportError):
        return importlib.import_module("compression.zstd").open(file)  # since Python 3.14
    try:
        zstandard: Any = importlib.import_module("zstandard")
    except ImportError:
        raise DataError("Files compressed with zstd need Python 3.14 or zstandard: pip install zstandard.") from None
    return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)


_OPENERS: dict[str, Callable[[IO[bytes]], Any]] = {
    "gzip": lambda file: gzip.GzipFile(fileobj=file),
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zstd": _open_zstd,
}


def check_expanded(n: int, source: Source, max_bytes: int) -> None:
    """Refuse what expands to more than the limit."""
    if n > max_bytes:
        how = f"the {source.compression} compression of " if source.compression else ""
        raise DataError(
            f"{with_capital(how + source.name)} expands to more than the {exact_bytes(max_bytes)} that "
            "max_bytes allows: raise it if that is right.",
            parameter="max_bytes",
        )


# -- text -------------------------------------------------------------------------------------------------------------


def with_capital(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}"


def check_text(data: bytes, name: str, first_line: int = 1) -> None:
    """Refuse what is not text in UTF-8."""
    at = data.find(b"\0")
    if at < 0:
        try:
            if not data.isascii():
                data.decode("utf-8")
            return
        except UnicodeDecodeError as error:
            at = error.start
    line = first_line + data.count(b"\n", 0, at)
    perhaps = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") or data[1:2] == b"\0" else "latin-1"
    raise DataError(
        f"{with_capital(name)} is not text in UTF-8: line {line} has the byte {data[at]:#04x}. Save it in UTF-8, or "
        f"say how it is encoded, such as with encoding={perhaps!r}.",
        parameter="encoding",
    ) from None


def whole_text(source: Source) -> bytes:
    """Return the text of a source, checked, without a byte order mark."""
    beginning(source)
    data = source.read().removeprefix(codecs.BOM_UTF8)
    check_text(data, source.name)
    return data


def text_parts(source: Source, batch_bytes: int | None, ends: Callable[[bytes], int]) -> Iterator[tuple[bytes, int]]:
    """Yield whole records, and the line that they begin on; `ends` says where the last whole record ends."""
    if batch_bytes is None:
        yield whole_text(source), 1
        return
    beginning(source)
    with source.open() as file:
        data, line = file.read(max(batch_bytes, 8)).removeprefix(codecs.BOM_UTF8), 1
        more = bool(data)
        while more:
            chunk = file.read(max(batch_bytes, len(data)))  # a record without an end is not looked at too often
            more = bool(chunk)
            cut = ends(data) if more else len(data)
            if cut:
                part, data = data[:cut], data[cut:]
                check_text(part, source.name, line)
                yield part, line
                line += part.count(b"\n")
                del part
            elif len(data) > _MAX_RECORD:
                raise DataError(
                    f"The record that begins on line {line} of {source.name} does not end within "
                    f"{_MAX_RECORD >> 20} MiB: a quote may not be closed."
                )
            data += chunk


def beginning(source: Source) -> bytes:
    """Return the first bytes of a text, up to the end of a line; refuse a device that gives zeros for ever."""
    head = source.head.removeprefix(codecs.BOM_UTF8)
    if len(source.head) == HEAD:
        head = head[: head.rfind(b"\n") + 1] or head[:-4]  # where a character may be cut
    check_text(head, source.name)
    return head


def lines_of_rows(data: bytes, n_rows: int, first_line: int) -> range | None:
    """Return the line of each row where each has one line; None where there are other lines."""
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    return range(first_line, first_line + n_rows) if n_lines == n_rows else None
