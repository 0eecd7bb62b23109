"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_UMASK = os.umask(0)
os.umask(_UMASK)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, with the folders above it; a reader, or a crash, finds the old file or the new one.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes(Path(folder) / "new" / "a.txt", b"whole")
    ...     [path.name for path in (Path(folder) / "new").iterdir()]
    ['a.txt']
    """
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, content: str) -> None:
    """Write a text file, in UTF-8, whole or not at all."""
    write_bytes(path, content.encode("utf-8"))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give an empty file to write to, beside the one to be written, which it becomes when all has gone well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        yield Path(name)
        with open(name, "rb+") as file:
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_UMASK)  # mkstemp makes files that nobody else may read
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
