"""Sources of bytes: files and standard input, plain or compressed, expanded up to a limit.

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
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from votron._util.text import exact_bytes
from votron.errors import DataError

MAX_BYTES = 4 << 30
"""The most that compressed input, standard input or an archive may expand to by default: 4 GiB."""
_HEAD = _CHUNK = 1 << 20
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")


class Source:
    """A file, a folder, standard input or the name of known data; nothing is opened before it is asked for.

    ``name`` is how messages refer to it. Standard input and pipes are copied to a temporary file.
    """

    def __init__(self, location: str, max_bytes: int = MAX_BYTES, encoding: str | None = None) -> None:
        self.location, self.max_bytes, self.encoding = location, max_bytes, encoding
        self.path = None if location == "-" else Path(os.path.expanduser(location))
        self.name = "standard input" if self.path is None else repr(location)
        self.is_folder = self.path is not None and self.path.is_dir()
        self.compression: str | None = None

    @cached_property
    def head(self) -> bytes:
        """The first bytes, expanded."""
        with self.open() as file:
            return file.read(_HEAD)

    @cached_property
    def plain_path(self) -> Path | None:
        """The file, if it is not compressed, so that a library can open it by itself."""
        self.open().close()
        return self._file if self.compression is None else None

    @cached_property
    def size(self) -> int | None:
        """The bytes of a file that is not compressed."""
        return None if self.plain_path is None else self.plain_path.stat().st_size

    @property
    def suffix(self) -> str:
        """The suffix of its name in lower case, without that of the compression."""
        path = Path("") if self.path is None else self.path
        return (path.with_suffix("") if path.suffix.lower() in _SUFFIXES else path).suffix.lower()

    def open(self) -> IO[bytes]:
        """Return a reader of its bytes, expanded."""
        try:
            file = self._file.open("rb")
        except (OSError, ValueError) as error:  # a name with a NUL character is a ValueError
            raise DataError(f"Cannot read {self.name}: {getattr(error, 'strerror', None) or error}.") from None
        first = file.peek(8)
        self.compression = next((kind for magic, kind in _MAGIC.items() if first.startswith(magic)), None)
        if self.compression is None:
            return file
        try:
            return io.BufferedReader(_Expanded(self, file), _CHUNK)
        except DataError:
            file.close()
            raise

    def read(self) -> bytes:
        """Return all of its bytes, expanded."""
        with self.open() as file:
            return file.read()

    @cached_property
    def _file(self) -> Path:
        if self.path is not None and (self.path.is_file() or not self.path.exists()):
            return self.path
        file, name = tempfile.mkstemp(prefix="votron")
        weakref.finalize(self, os.remove, name)
        given: Any = nullcontext(sys.stdin.buffer) if self.path is None else self.path.open("rb")
        with given as rest, open(file, "wb") as copy:
            while chunk := rest.read(_CHUNK):
                copy.write(chunk)
                check_expanded(copy.tell(), self, self.max_bytes)
        return Path(name)


class _Expanded(io.RawIOBase):
    """The expanded bytes of a compressed file, up to the limit."""

    def __init__(self, source: Source, file: IO[bytes]) -> None:
        self._source, self._file, self._n = source, file, 0
        self._inner = _OPENERS[source.compression or ""](file)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        source = self._source
        try:
            chunk = self._inner.read(len(buffer))
        except MemoryError:
            raise
        except Exception as error:  # each library of compression has errors of its own
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise DataError(f"The {source.compression} compression of {source.name} is damaged: {reason}.") from None
        buffer[: len(chunk)] = chunk
        self._n += len(chunk)
        check_expanded(self._n, source, source.max_bytes)
        return len(chunk)

    def close(self) -> None:
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
    raise DataError(
        f"{with_capital(name)} is not text in UTF-8: line {line} has the byte {data[at]:#04x}. Save it in UTF-8, or "
        "say how it is encoded, with encoding='latin-1' or encoding='utf-16' for example.",
        parameter="encoding",
    )


def _recoder(source: Source) -> Callable[[bytes], bytes]:
    """Return a function that brings one chunk of a text after another into UTF-8; the last one is empty."""
    if source.encoding is None:
        return lambda chunk: chunk
    decoder = codecs.getincrementaldecoder(source.encoding)()

    def recoded(chunk: bytes) -> bytes:
        try:
            return decoder.decode(chunk, final=not chunk).encode()
        except UnicodeError:
            raise DataError(
                f"{with_capital(source.name)} is not text in {source.encoding}: say how it is encoded with encoding.",
                parameter="encoding",
            ) from None

    return recoded


def beginning(source: Source) -> bytes:
    """Return the first lines of a text in UTF-8."""
    head = _recoder(source)(source.head).removeprefix(codecs.BOM_UTF8)
    if len(source.head) == _HEAD:
        head = head[: head.rfind(b"\n") + 1] or head[:-4]  # where a character may be cut
    check_text(head, source.name)
    return head


def whole_text(source: Source) -> bytes:
    """Return a text in UTF-8, without a byte order mark."""
    beginning(source)  # what is no text is refused before all of it is read
    recoded = _recoder(source)
    data = (recoded(source.read()) + recoded(b"")).removeprefix(codecs.BOM_UTF8)
    check_text(data, source.name)
    return data


def text_parts(source: Source, batch_bytes: int | None, ends: Callable[[bytes], int]) -> Iterator[tuple[bytes, int]]:
    """Yield whole records, and the line that they begin on; `ends` says where the last whole record ends."""
    if batch_bytes is None:
        yield whole_text(source), 1
        return
    beginning(source)
    recoded, line = _recoder(source), 1
    with source.open() as file:
        data = recoded(file.read(max(batch_bytes, 8))).removeprefix(codecs.BOM_UTF8)
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
            data += recoded(chunk)
