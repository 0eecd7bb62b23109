"""Finished results in a folder, one file each, so that an interrupted command can resume."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from votron._util.files import write_bytes
from votron._util.types import Array

__all__ = ["Store"]

T = TypeVar("T")


class Store:
    """A folder of results; each is written whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, name: str, kind: type[T]) -> T | None:
        """Return a result, or None if there is none or its file is damaged."""
        try:
            return msgspec.msgpack.decode(self._path(name).read_bytes(), type=kind, dec_hook=_array_from)
        except (OSError, msgspec.DecodeError):
            return None

    def put(self, name: str, result: object) -> None:
        """Store a dataclass of numbers, texts and arrays."""
        content = msgspec.msgpack.encode(result, enc_hook=_as_parts)
        write_bytes(self._path(name), content, make_folders=True)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.msgpack"


def _as_parts(array: Array) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, array.tobytes()


def _array_from(_: type, parts: tuple[str, tuple[int, ...], bytes]) -> Array:
    kind, shape, content = parts
    return np.frombuffer(content, dtype=kind).reshape(shape)
