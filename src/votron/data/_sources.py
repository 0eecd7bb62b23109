"""Sources of bytes: files and standard input, plain or compressed."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import sys
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from votron._util.text import exact_bytes
from votron.errors import DataError

MAX_BYTES = 4 << 30
"""The most that compressed input, standard input or an archive may expand to by default: 4 GiB."""
_HEAD = 1 << 20
_COMPRESSIONS: dict[bytes, tuple[str, Callable[[Path], Any]]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\0": ("xz", lzma.open),
}
_SUFFIXES = (".gz", ".bz2", ".xz")


class Source:
    """A file, a folder, standard input or the name of known data; nothing is opened before it is asked for.

    ``name`` is how messages refer to it. Standard input and pipes are copied to a temporary file.
    """

    def __init__(self, location: str, max_bytes: int = MAX_BYTES, encoding: str | None = None) -> None:
        self.location, self.max_bytes, self.encoding = location, max_bytes, encoding
        self.path = None if location == "-" else Path(os.path.expanduser(location))
        self.name = "standard input" if self.path is None else repr(location)
        self.is_folder = self.path is not None and self.path.is_dir()

    @cached_property
    def head(self) -> bytes:
        """The first bytes, expanded."""
        with self.open() as file:
            return file.read(_HEAD)

    @cached_property
    def compression(self) -> str | None:
        """The kind of compression, by the first bytes and not by the name."""
        with self._file.open("rb") as file:
            first = file.read(8)
        return next((kind for magic, (kind, _) in _COMPRESSIONS.items() if first.startswith(magic)), None)

    @cached_property
    def plain_path(self) -> Path | None:
        """The file, if it is not compressed, so that a library can open it by itself."""
        return self._file if self.compression is None else None

    @property
    def suffix(self) -> str:
        """The suffix of its name in lower case, without that of the compression."""
        path = Path("") if self.path is None else self.path
        return (path.with_suffix("") if path.suffix.lower() in _SUFFIXES else path).suffix.lower()

    def open(self) -> IO[bytes]:
        """Return a reader of its bytes, expanded."""
        openers = dict(_COMPRESSIONS.values())
        file: IO[bytes] = self._file.open("rb") if self.compression is None else openers[self.compression](self._file)
        return file

    def open_text(self) -> IO[bytes]:
        """Return a reader of its text, in UTF-8."""
        file: Any = self.open()
        return file if self.encoding is None else codecs.EncodedFile(file, "utf-8", self.encoding)

    def read(self, *, text: bool = False) -> bytes:
        """Return all of its bytes, expanded up to the limit, or its text in UTF-8."""
        chunks, n = [], 0
        with source_errors(self), self.open_text() if text else self.open() as file:
            if self.compression is None:
                return file.read()
            while chunk := file.read(_HEAD):
                chunks.append(chunk)
                n += len(chunk)
                check_expanded(n, self, self.max_bytes)
        return b"".join(chunks)

    @cached_property
    def _file(self) -> Path:
        if self.path is not None and (self.path.is_file() or not self.path.exists()):
            return self.path
        file, name = tempfile.mkstemp(prefix="votron")
        weakref.finalize(self, os.remove, name)
        given: Any = nullcontext(sys.stdin.buffer) if self.path is None else self.path.open("rb")
        with given as rest, open(file, "wb") as copy:
            while chunk := rest.read(_HEAD):
                copy.write(chunk)
                check_expanded(copy.tell(), self, self.max_bytes)
        return Path(name)


@contextmanager
def source_errors(source: Source) -> Iterator[None]:
    """Turn what is wrong with a file, its compression or its encoding into one sentence."""
    try:
        yield
    except UnicodeError:
        raise DataError(
            f"Cannot read {source.name}, which is not text in {source.encoding}: say how it is encoded with encoding.",
            parameter="encoding",
        ) from None
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        reason = (getattr(error, "strerror", None) or " ".join(str(error).split())).rstrip(".")
        how = source.__dict__.get("compression")  # of a file that could be opened
        what = f"The {how} compression of {source.name} is damaged" if how else f"Cannot read {source.name}"
        raise DataError(f"{what}: {reason}.") from None


def check_expanded(n: int, source: Source, max_bytes: int) -> None:
    """Refuse what expands to more than the limit."""
    if n > max_bytes:
        raise DataError(
            f"Cannot read {source.name}: it expands to more than the {exact_bytes(max_bytes)} that max_bytes allows. "
            "Raise it if that is right.",
            parameter="max_bytes",
        )


def _check_text(data: bytes, name: str, first_line: int = 1) -> None:
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
        f"Cannot read {name}, which is not text in UTF-8: line {line} has the byte {data[at]:#04x}. Say how it is "
        "encoded, with encoding='latin-1' or encoding='utf-16' for example.",
        parameter="encoding",
    )


def text_head(source: Source) -> bytes:
    """Return the first lines of a text in UTF-8."""
    with source.open_text() as file:
        head = file.read(_HEAD).removeprefix(codecs.BOM_UTF8)
    if len(source.head) == _HEAD:
        head = head[: head.rfind(b"\n") + 1] or head[:-4]  # where a character may be cut
    _check_text(head, source.name)
    return head


def whole_text(source: Source) -> bytes:
    """Return a text in UTF-8, without a byte order mark."""
    text_head(source)  # what is no text is refused before all of it is read
    data = source.read(text=True).removeprefix(codecs.BOM_UTF8)
    _check_text(data, source.name)
    return data


def text_parts(source: Source, batch_bytes: int | None, ends: Callable[[bytes], int]) -> Iterator[tuple[bytes, int]]:
    """Yield whole records, and the line that they begin on; `ends` says where the last whole record ends."""
    if batch_bytes is None:
        yield whole_text(source), 1
        return
    text_head(source)
    line = 1
    with source.open_text() as file:
        data = file.read(max(batch_bytes, 8)).removeprefix(codecs.BOM_UTF8)
        more = bool(data)
        while more:
            chunk = file.read(max(batch_bytes, len(data)))  # a record without an end is not looked at too often
            more = bool(chunk)
            cut = ends(data) if more else len(data)
            if cut:
                part, data = data[:cut], data[cut:]
                _check_text(part, source.name, line)
                yield part, line
                line += part.count(b"\n")
                del part
            data += chunk
