"""Writing files whole or not at all: under another name beside their place, which begins with ".votron-"."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_bytes(path: Path, content: bytes, *, make_folders: bool = False) -> None:
    """Write a file; a reader, or a crash, finds the old file or the new one."""
    if make_folders:
        Path(os.path.realpath(path)).parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, content: str, *, make_folders: bool = False) -> None:
    write_bytes(path, content.encode("utf-8"), make_folders=make_folders)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give an empty file to write to, beside the one to be written, which it becomes when all has gone well."""
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "It is there, and no file", os.fspath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"There is no folder {os.fspath(path.parent)!r}", os.fspath(path))
    temporary = path.parent / f".votron-{secrets.token_hex(8)}"
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        if path.is_file():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
