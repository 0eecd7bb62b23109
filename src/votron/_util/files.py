"""Writing files whole or not at all.

A file is written under another name first. Whoever is killed on the way leaves that file behind, and the next one who
writes to the same place removes it: such files have names that nobody else gives (a dot, the name, and a digest of the
name), and whoever is still writing to one holds a lock on it (flock), which the system lets go when a process ends.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

try:
    import fcntl as _fcntl
except ImportError:  # a system without such locks, where what is left behind stays
    _LOCKS: Any = None
else:
    _LOCKS = _fcntl

_LONGEST_NAME = 100
"""Bytes of a file's name that stand in the other one: names have at most 255."""
_LOOKED_AT = 16
"""Names at which something may have been left behind: so many write to one place at once, at most, and are killed."""


def write_bytes(path: Path, content: bytes, *, make_folders: bool = False) -> None:
    """Write a file; a reader, or a crash, finds the old file or the new one."""
    if make_folders:
        Path(os.path.realpath(path)).parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, content: str, *, make_folders: bool = False) -> None:
    """Write a text file, in UTF-8, whole or not at all."""
    write_bytes(path, content.encode("utf-8"), make_folders=make_folders)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give an empty file to write to, beside the one to be written, which it becomes when all has gone well."""
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "It is there, and no file", os.fspath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"There is no folder {os.fspath(path.parent)!r}", os.fspath(path))
    temporary, descriptor = _new_temporary(path)
    try:
        mode = stat.S_IMODE((path if path.is_file() else temporary).stat().st_mode)
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(mode)
        os.replace(temporary, path)
    except BaseException:
        if _is_at(temporary, descriptor):  # not once it is in place: the name may be another writer's by then
            temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)  # and so the lock is gone


def _new_temporary(path: Path) -> tuple[Path, int]:
    """Return a new file beside the given one, locked; what others have left there is removed."""
    for temporary in _removed_if_left_behind(path):
        try:
            descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        except FileExistsError:  # another process is writing to the same place
            continue
        if _locked(descriptor) is not False and _is_at(temporary, descriptor):
            return temporary, descriptor
        os.close(descriptor)  # another took it for left behind, before it was locked
    raise AssertionError("there are always more names")


def _removed_if_left_behind(path: Path) -> Iterator[Path]:
    """Yield names of temporary files, at first those that are free now because nobody writes to them any more."""
    name = os.fsencode(path.name)
    known = hashlib.sha256(name).hexdigest()[:12]
    prefix = f".{os.fsdecode(name[:_LONGEST_NAME])}.{known}."
    names = (path.parent / f"{prefix}{number}" for number in itertools.count())
    first = list(itertools.islice(names, _LOOKED_AT))
    for temporary in first:
        _remove_if_left_behind(temporary)
    yield from first
    yield from names


def _remove_if_left_behind(temporary: Path) -> None:
    """Remove a file whose writer is gone: nobody holds the lock on it."""
    try:
        descriptor = os.open(temporary, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:  # there is none, or it is not ours
        return
    try:
        status = os.fstat(descriptor)
        ours = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
        if ours and _locked(descriptor) and _is_at(temporary, descriptor):
            with suppress(OSError):  # in a folder where only owners may
                temporary.unlink()
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool | None:
    """Lock a file; return whether that was possible, or None where files cannot be locked."""
    if _LOCKS is None:
        return None
    try:
        _LOCKS.flock(descriptor, _LOCKS.LOCK_EX | _LOCKS.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except OSError:
        return False
