"""Sources of bytes and of text: files and standard input, plain or compressed, expanded up to a limit and no further.

Compression is recognised by the first bytes, not by the name. What a compressed file expands to is never known before
it is expanded, so limits hold while it is; and what expands as nothing does that somebody wrote is measured before any
of it is kept. There are two limits: `max_bytes` is about the file, how long it may be, once expanded; a share of the
free memory is about the machine, and no option raises it.
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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._util.resources import available_memory
from votron._util.text import exact_bytes, rounded_bytes
from votron.errors import DataError, Parameter, Phrase

MAX_BYTES = 4 << 30
"""What compressed input, standard input or an archive may expand to, if not told otherwise: 4 GiB."""
SHARE = 0.8
"""The part of the free memory that reading may take."""
IN_BATCHES = Phrase("in batches", "read it in batches with open_batches")
"""What to do about data that are too large, where reading in batches helps."""
EXPAND = Phrase("expand", "expand it on disk and ", IN_BATCHES)
"""What to do where it helps with plain files only."""
STDIN = "-"
BOM = b"\xef\xbb\xbf"
MAX_RECORD = 1 << 26
"""The bytes that a record may have."""
MAX_SPLIT = 4
"""The bytes that a character has at most: so many at the end of a part of a text may be half of one."""
HEAD = 1 << 20
"""How many bytes are looked at before reading begins."""
_CHUNK = 1 << 20
_PIECE = 1 << 13  # of compressed bytes: what a member leaves of it is copied, and members may be of a few bytes
_PLAUSIBLE_RATIO = 16  # between what is compressed and what it expands to
_PLAUSIBLE_BYTES = 64 << 20  # whatever the ratio
_XZ_MEMORY = 256 << 20  # the largest preset of xz wants 65 MB to expand; a hostile header may claim 4 GB
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
_WINDOW = 1 << 27  # what zstd itself expands without being told to


# -- memory -----------------------------------------------------------------------------------------------------------


def memory_budget() -> int:
    """Return how many bytes reading may take now."""
    return int(SHARE * available_memory())


def check_memory(n: float, name: str, *, budget: int | None = None, remedy: str | Phrase = IN_BATCHES) -> None:
    """Refuse what would take so many bytes of memory, if that is more than the budget: by default that of now."""
    allowed = memory_budget() if budget is None else budget
    if n > allowed:
        raise DataError(
            f"Reading {name} would take {rounded_bytes(n)} of memory or more, and the limit is "
            f"{rounded_bytes(allowed)}, {SHARE:.0%} of what is free: ",
            remedy,
            ", or where more memory is free.",
        )


def check_expanded(n: int, max_bytes: int, what: str, verb: str = "expands to") -> None:
    """Refuse what expands to so many bytes, if that is more than the limit."""
    if n > max_bytes:
        raise DataError(
            f"{what} {verb} more than the {exact_bytes(max_bytes)} that ",
            Parameter("max_bytes"),
            " allows: raise it if that is right.",
        )


# -- files and standard input -----------------------------------------------------------------------------------------


class Location:
    """Where data are: a file, a folder, standard input, or a name that stands for data.

    Attributes
    ----------
    location : str
        As it was given.
    name : str
        What it is called in sentences, quoted.
    path : Path or None
        The file or folder; None for standard input.
    """

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

    Attributes
    ----------
    compression : str or None
        How it is compressed.
    head : bytes
        Its first bytes, expanded.
    max_bytes : int
        What it may expand to, if it is not a plain file.
    encoding : str or None
        How a text is encoded that is given out in UTF-8.
    """

    def __init__(self, location: str, max_bytes: int = MAX_BYTES, encoding: str | None = None) -> None:
        super().__init__(location)
        self.max_bytes, self.encoding = max_bytes, encoding
        # What is no file, such as a pipe, can be read once only: it stays open, and its first bytes are put back.
        self._once = self.path is None or (self.path.exists() and not self.path.is_file())
        self._pipe: Any = None
        self.compression: str | None = None
        with self.open() as file:
            self.head = file.read(HEAD)
        if self._once:
            self._pipe = io.BufferedReader(_Prefixed(self.head, file), _CHUNK)

    @property
    def suffix(self) -> str:
        """The end of its name in lower case, that of the compression apart."""
        if self.path is None:
            return ""
        path = self.path
        if path.suffix.lower() in _SUFFIXES:
            path = path.with_suffix("")
        return path.suffix.lower()

    @property
    def rewindable(self) -> bool:  # type: ignore[override]  # known when it is opened
        """Whether it can be read more than once."""
        return not self._once

    @property
    def plain_path(self) -> Path | None:
        """The file, if a library can open it by itself: not if it is compressed, or a pipe, whose head was read."""
        as_it_is = self.compression is None and self.encoding is None
        return self.path if as_it_is and not self._once else None

    @property
    def size(self) -> int | None:  # type: ignore[override]
        """Its size in bytes, if that is known before reading: that of a plain file."""
        return None if self.plain_path is None else self.plain_path.stat().st_size

    def open(self) -> Any:
        """Return a buffered reader of its bytes, expanded. Standard input, or a pipe, can be read to its end once."""
        if self._once:
            looking = self._pipe is None
            if looking:
                self._pipe = self._opened()
            return _Unclosed(self._pipe) if looking or self.path is None else self._pipe
        return self._opened()

    def _opened(self) -> io.BufferedReader:
        if self.path is None:
            return self._expanded(sys.stdin.buffer)
        try:
            file = open(self.path, "rb")  # noqa: SIM115  # closed with the reader
        except (OSError, ValueError) as error:  # a name with a NUL character is a ValueError
            raise unreadable(self.name, error) from None
        try:
            return self._expanded(file)
        except BaseException:
            file.close()
            raise

    def read(
        self, multiple: float, remedy: str | Phrase = IN_BATCHES, more: Callable[[bytes], int] | None = None
    ) -> bytes:
        """Return all of its bytes; refuse what would take too much memory.

        That is `multiple` times as many bytes, and what `more` says of each chunk of them.
        """
        budget = memory_budget()
        check_memory((self.size or 0) * multiple, self.name, budget=budget, remedy=remedy)

        def check(n: int, memory: int) -> None:
            check_memory(n * multiple + memory, self.name, budget=budget, remedy=remedy)

        most = None
        if self.path is not None and self.rewindable and self.compression is not None:
            most = _PLAUSIBLE_BYTES + _PLAUSIBLE_RATIO * self.path.stat().st_size
        data = self._collected(check, more, most)
        return self._collected(check, None, None) or b"" if data is None else data

    def _collected(
        self, check: Callable[[int, int], None], more: Callable[[bytes], int] | None, most: int | None
    ) -> bytes | None:
        """Return all bytes, or None if there are more than `most`: then they are counted, and not kept."""
        chunks: list[bytes] = []
        n = memory = 0
        with self.open() as file:
            while chunk := file.read(_CHUNK):
                n += len(chunk)
                memory += 0 if more is None else more(chunk)
                check(n, memory)
                if most is None or n <= most:
                    chunks.append(chunk)
                else:
                    chunks.clear()
        return None if n and not chunks else b"".join(chunks)

    def _expanded(self, file: Any) -> io.BufferedReader:
        reader = file if isinstance(file, io.BufferedReader) else io.BufferedReader(file)
        try:
            first = reader.peek(8)[:8]
        except OSError as error:
            raise unreadable(self.name, error) from None
        self.compression = next((kind for magic, kind in _MAGIC.items() if first.startswith(magic)), None)
        inner = reader if self.compression is None else _OPENERS[self.compression](reader, self.name)
        if self.encoding is not None:
            inner = _Recoded(inner, self.encoding, self.name)
        return io.BufferedReader(_Bounded(inner, reader, self), _CHUNK)


def unreadable(name: str, error: Exception) -> DataError:
    """Return the error of a file that the system does not let us read."""
    return DataError(f"Cannot read {name}: {getattr(error, 'strerror', None) or error}.")


class _Unclosed:
    """Standard input, or the beginning of a pipe, in a with-statement, which leaves it open."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file

    def __enter__(self) -> io.BufferedReader:
        return self._file

    def __exit__(self, *_: object) -> None:
        return None


class _Bounded(io.RawIOBase):
    """What a file expands to, up to a limit; damage is an error with a sentence."""

    def __init__(self, inner: Any, file: Any, source: Source) -> None:
        self._inner, self._file, self._source = inner, file, source
        self._n = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            chunk = self._inner.read(len(buffer))
        except (MemoryError, DataError):
            raise
        except Exception as error:  # each library of compression has errors of its own
            raise self._damaged(error) from None
        self._n += len(chunk)
        source = self._source
        if self._n > source.max_bytes and source.size is None:
            if source.compression is None:
                check_expanded(self._n, source.max_bytes, f"What is in {source.name}", "has")
            check_expanded(self._n, source.max_bytes, f"The {source.compression} compression of {source.name}")
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def _damaged(self, error: Exception) -> DataError:
        source = self._source
        if source.compression is None:
            return unreadable(source.name, error)
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        return DataError(f"The {source.compression} compression of {source.name} is damaged: {reason}.")

    def close(self) -> None:
        if not self.closed:
            with suppress(Exception):  # what is left of a damaged stream
                self._inner.close()
            self._file.close()
        super().close()


class _Recoded:
    """A text in UTF-8 instead of how it is encoded."""

    def __init__(self, file: Any, encoding: str, name: str) -> None:
        self._file, self._encoding, self._name = file, encoding, name
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._line, self._rest, self._ended = 1, b"", False

    def read(self, n: int) -> bytes:
        while not self._rest and not self._ended:
            chunk = self._file.read(_CHUNK)
            self._ended = not chunk
            try:
                text = self._decoder.decode(chunk, final=self._ended)
            except UnicodeError as error:
                at = getattr(error, "start", 0)
                line = self._line + chunk[:at].count(b"\n")
                raise DataError(
                    f"{with_capital(self._name)} must be text in {self._encoding}, and what stands about line {line} "
                    "is not."
                ) from None
            self._line += text.count("\n")
            self._rest = text.removeprefix("\ufeff").encode("utf-8", "replace")
        found, self._rest = self._rest[:n], self._rest[n:]
        return found

    def close(self) -> None:
        self._file.close()


class _Expander:
    """Reads bzip2 or xz with Python's decompressors, member after member."""

    def __init__(self, file: Any, make: Callable[[], Any]) -> None:
        self._file, self._make = file, make
        self._one = make()

    def read(self, n: int) -> bytes:
        while True:
            if self._one.eof:
                rest = self._one.unused_data or self._file.read1(_PIECE)
                if not rest:
                    return b""
                self._one = self._make()
            elif self._one.needs_input:
                rest = self._file.read1(_PIECE)
                if not rest:
                    raise EOFError("it ends before the end of the stream")
            else:
                rest = b""
            if chunk := self._one.decompress(rest, max_length=n):
                return bytes(chunk)

    def close(self) -> None:
        self._file.close()


class _Prefixed(io.RawIOBase):
    """Bytes that were read already, and then the rest."""

    def __init__(self, prefix: bytes, rest: io.BufferedReader) -> None:
        self._prefix, self._rest = prefix, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._prefix[: len(buffer)] or self._rest.read1(len(buffer))
        self._prefix = self._prefix[len(buffer) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        if not self.closed:
            self._rest.close()
        super().close()


def _open_zstd(file: Any, name: str) -> Any:
    try:
        zstd: Any = importlib.import_module("compression.zstd")  # since Python 3.14
        return _Expander(file, zstd.ZstdDecompressor)
    except ImportError:
        pass
    try:
        zstandard: Any = importlib.import_module("zstandard")
    except ImportError:
        raise DataError(
            f"Reading {name}, which is compressed with zstd, needs Python 3.14 or zstandard: pip install zstandard."
        ) from None
    return zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(file, read_across_frames=True)


_OPENERS: dict[str, Callable[[Any, str], Any]] = {
    "gzip": lambda file, _: gzip.GzipFile(fileobj=file),
    "bzip2": lambda file, _: _Expander(file, bz2.BZ2Decompressor),
    "xz": lambda file, _: _Expander(file, lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY)),
    "zstd": _open_zstd,
}


def read_exactly(file: Any, n_bytes: int, promise: str, first: bytes = b"") -> NDArray[np.uint8]:
    """Return what must be all that is left of a file, a piece at a time, after the first bytes, read already."""
    buffer, n_read = np.empty(n_bytes, dtype=np.uint8), min(len(first), n_bytes)
    buffer[:n_read] = np.frombuffer(first, dtype=np.uint8, count=n_read)
    while n_read < n_bytes and (piece := file.read(min(_CHUNK, n_bytes - n_read))):
        buffer[n_read : n_read + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        n_read += len(piece)
    if n_read < n_bytes:
        raise DataError(f"{promise}, but the file ends after {n_read} of them.")
    if len(first) > n_bytes or file.read(1):
        raise DataError(f"{promise}, but the file goes on after them.")
    return buffer


# -- text -------------------------------------------------------------------------------------------------------------


def with_newlines(data: bytes) -> bytes:
    """Return bytes without a byte order mark, and with line ends that have a newline."""
    data = data.removeprefix(BOM)
    return data.replace(b"\r", b"\n") if uses_carriage_returns(data, True) else data


def uses_carriage_returns(head: bytes, whole: bool) -> bool:
    """Tell whether lines end with a carriage return alone. `whole`: there are no more bytes, such as a newline."""
    return b"\n" not in head and head.find(b"\r", 0, None if whole else -1) >= 0


def check_text(data: bytes, name: str, first_line: int = 1) -> None:
    """Refuse what is no text in UTF-8."""
    at = data.find(b"\0")
    if at >= 0:
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff") or data[1:2] == b"\0"
        line = first_line + data.count(b"\n", 0, at)
        head = f"{with_capital(name)} must be text in UTF-8: line {line} has a NUL byte"
        raise DataError(head, *([" (", Parameter("encoding", "utf-16"), ", perhaps)."] if wide else ["."]))
    if data.isascii():
        return
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start)
        raise DataError(
            f"{with_capital(name)} must be text in UTF-8, and line {line} is not (byte {data[error.start]:#04x}): "
            "save it in UTF-8, or say how it is encoded, such as with ",
            Parameter("encoding", "latin-1"),
            ".",
        ) from None


def with_capital(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}"


def too_long(line: int, name: str) -> DataError:
    """Return the error of a record that does not end."""
    return DataError(
        f"The record that begins on line {line} of {name} does not end within {MAX_RECORD >> 20} MiB: a quote may not "
        "be closed."
    )


def text_parts(source: Source, batch_bytes: int, ends: Callable[[bytes], int]) -> Iterator[tuple[bytes, int]]:
    """Yield whole records, and the line that they begin on; `ends` says where the last whole record ends."""
    old = uses_carriage_returns(source.head, len(source.head) < HEAD)
    with source.open() as file:
        data, line, first = b"", 1, True
        while chunk := file.read(max(batch_bytes, len(data))):  # a record without an end is not looked at too often
            if first and len(chunk) < len(BOM):  # of tiny batches
                chunk += file.read(len(BOM))
            chunk, first = chunk.removeprefix(BOM) if first else chunk, False
            data += chunk.replace(b"\r", b"\n") if old else chunk
            cut = ends(data)
            if cut:
                part, data, begin = data[:cut], data[cut:], line
                line += part.count(b"\n")
                yield part, begin
                del part
            elif len(data) > MAX_RECORD:
                raise too_long(line, source.name)
        if data:
            yield data, line
