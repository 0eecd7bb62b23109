"""Writing files whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, with the folders above it; a reader, or a crash, finds the old file or the new one.

    Examples
    --------
    >>> import tempfile
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
    """Give an empty file to write to, beside the one to be written, which it becomes when all has gone well.

    A file that is there keeps its permissions, and a link keeps pointing to it.
    """
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{path.name[:100]}.{secrets.token_hex(6)}"
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
    mode = stat.S_IMODE((path if path.is_file() else temporary).stat().st_mode)
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(mode)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
