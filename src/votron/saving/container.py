"""The file: arrays in the safetensors format, and beside them a JSON manifest and a digest.

A model file is a safetensors file: eight bytes with the length of a header, the header in JSON, and the bytes of the
arrays. Its ``__metadata__`` has one entry, ``votron``: the manifest, in JSON again. The manifest's ``sha256`` is the
digest of the manifest, with zeros in the digest's place, and of all arrays. So every tool that knows safetensors can
open the file, nothing in it is code, and the same model makes the same file.

Reading trusts nothing. The header is a claim until sizes, types and offsets agree with the file, which is then mapped
into memory, not read; the digest is that of what is mapped. (The safetensors package writes; it has no way to map
arrays of numpy, so reading is done here.)

Formats: 1 (the first).
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._files import replacing
from votron.errors import MissingPackageError, ModelFileError

__all__ = ["FORMAT", "Container", "read_container", "write_container"]

FORMAT = 1
"""The number of the format that is written."""
_LONGEST_HEADER = 100_000_000  # that of safetensors
_LONGEST_MANIFEST = 48_000_000  # which may be twice as long in the header, where its quotes are escaped
_MOST_BUT_TEXT = {"header": 1_000_000, "manifest": 8_000_000}
"""Bytes that JSON may have beside its texts: lists of nothing take twenty times their bytes in memory."""
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_TYPES = {
    "BOOL": "b1",
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F32": "<f4",
    "F64": "<f8",
}
_CHUNK = 1 << 24
_SHA256 = re.compile("[0-9a-f]{64}")
_ZEROS = "0" * 64


@dataclass(frozen=True, eq=False)
class Container:
    """What is in a file.

    Attributes
    ----------
    manifest : dict
        What the model is.
    arrays : dict
        Its arrays, by name; they cannot be written to.
    sha256 : str
        The digest of both.
    n_bytes : int
        Size of the file.

    Examples
    --------
    >>> Container({"format": 1}, {}, "0" * 64, 200).manifest["format"]
    1
    """

    manifest: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    sha256: str
    n_bytes: int


def write_container(
    path: str | os.PathLike[str],
    manifest: Mapping[str, Any],
    arrays: Mapping[str, Any],
    check: Callable[[Path], Any] | None = None,
) -> None:
    """Write a file, whole or not at all.

    Parameters
    ----------
    path : str or path-like
        The file.
    manifest : dict
        What JSON can hold; the number of the format is added.
    arrays : dict
        Arrays of numbers or truth values, by name.
    check : callable, optional
        Called with the written file before it is put in place; what it raises keeps it from that.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "x.votron")
    ...     write_container(path, {"what": "a test"}, {"a": np.arange(3)})
    ...     read_container(path, mapped=False).arrays["a"]
    array([0, 1, 2])
    """
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import save_file
    except ImportError as error:
        raise MissingPackageError('Model files need safetensors: pip install "votron[files]".') from error
    content = {"format": FORMAT, "sha256": _ZEROS, **manifest}
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    plain = {name: np.ascontiguousarray(a, dtype=a.dtype.newbyteorder("<")) for name, a in arrays.items()}
    for name, array in plain.items():
        if array.dtype.str.replace("|", "") not in _TYPES.values():
            raise ModelFileError(f"A model file cannot hold numbers of type {array.dtype}. Got some in {name!r}.")
    if len(text) > _LONGEST_MANIFEST:
        raise ModelFileError(
            f"The labels, names and words of this model take {len(text):,} bytes, more than the {_LONGEST_MANIFEST:,} "
            "that a file can have."
        )
    text = text.replace(_ZEROS, _digest(text, plain), 1)
    with replacing(Path(path)) as temporary:
        try:
            save_file(plain, temporary, metadata={"votron": text})
        except SafetensorError as error:  # the disk is full, say
            raise OSError(str(error).rpartition("error: ")[2]) from error
        if check is not None:
            check(temporary)


def read_container(path: str | os.PathLike[str], *, mapped: bool = True) -> Container:
    """Read a file, and check that it is whole and unaltered.

    Parameters
    ----------
    path : str or path-like
        The file.
    mapped : bool, default=True
        Map the arrays into memory, which costs none until they are used, instead of reading them.

    Returns
    -------
    Container
        What is in it.

    Raises
    ------
    ModelFileError
        If there is no such file, or it is no model file, is damaged, or is of a later format.

    Examples
    --------
    >>> read_container("/")
    Traceback (most recent call last):
        ...
    votron.errors.ModelFileError: Cannot read the model file '/': Is a directory.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            header, start = _read_header(file, size, name)
            text = _manifest_text(header.pop("__metadata__", None), name)
            layout = _layout(header, size - start, name)
            buffer: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if mapped else _whole(file, size)
    except (OSError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).rstrip(".")
        raise ModelFileError(f"Cannot read the model file {name!r}: {reason}.") from error
    if len(buffer) != size:
        raise ModelFileError(f"The model file {name!r} changed while it was read: try again.")
    arrays = {key: _array(buffer, start, *place) for key, place in layout.items()}
    manifest = _manifest(text, name)
    sha256 = manifest.pop("sha256")
    if _digest(text.replace(sha256, _ZEROS, 1), arrays) != sha256:
        raise ModelFileError(
            f"The model file {name!r} is damaged or was altered: its content does not have the SHA-256 that it states."
        )
    return Container(manifest, arrays, sha256, size)


def _whole(file: Any, size: int) -> bytes:
    file.seek(0)
    content: bytes = file.read(size)
    return content


def _digest(text: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of the manifest, and of names, types, shapes and bytes of all arrays."""
    sha = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        sha.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        flat = array.reshape(-1).view(np.uint8) if array.size else array.reshape(-1)
        for begin in range(0, flat.size, _CHUNK):
            sha.update(flat[begin : begin + _CHUNK].data)
    return sha.hexdigest()


# -- the header -------------------------------------------------------------------------------------------------------


def _foreign(name: str, why: str = "") -> ModelFileError:
    return ModelFileError(f"{name!r} is not a model file of Votron{why}.")


def _read_header(file: Any, size: int, name: str) -> tuple[dict[str, Any], int]:
    """Return the header, and where the arrays start."""
    first = file.read(8)
    length = struct.unpack("<Q", first)[0] if len(first) == 8 else 0
    if not 2 <= length <= _LONGEST_HEADER:
        raise _foreign(name)
    text = file.read(length) if 8 + length <= size else file.read(1)
    if text[:1] != b"{":
        raise _foreign(name)
    if len(text) < length:
        raise ModelFileError(f"The model file {name!r} is cut off within its header.")
    return _parsed(text, name, "header"), 8 + length


def _manifest_text(found: Any, name: str) -> str:
    if not isinstance(found, dict) or "votron" not in found:
        raise _foreign(name, ", but another safetensors file")
    if set(found) != {"votron"} or not isinstance(found["votron"], str):
        raise _wrong(name, "metadata are not a manifest")
    return str(found["votron"])


def _wrong(name: str, what: str) -> ModelFileError:
    return ModelFileError(f"The model file {name!r} is damaged: its {what}.")


def _parsed(text: str | bytes, name: str, what: str) -> dict[str, Any]:
    """Return a JSON object that has nothing in it that JSON itself does not have."""
    try:
        raw = text if isinstance(text, bytes) else text.encode()
        if len(_TEXT.sub(b"", raw)) > _MOST_BUT_TEXT[what]:
            raise ValueError("too long")
        found = parsed(raw)
    except (ValueError, RecursionError):
        raise _wrong(name, f"{what} is not valid JSON") from None
    if not isinstance(found, dict):
        raise _wrong(name, f"{what} is no JSON object")
    return found


def parsed(text: str | bytes) -> Any:
    """Return what JSON says; ValueError where it says what JSON itself does not have, or numbers beyond 64 bits."""
    return json.loads(
        text,
        object_pairs_hook=_without_doubles,
        parse_constant=_no_constant,
        parse_float=_finite,
        parse_int=_whole_number,
    )


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name twice")
    return found


def _no_constant(text: str) -> float:
    raise ValueError(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _whole_number(text: str) -> int:
    if len(text) > 20:  # beyond 64 bits
        raise ValueError(text)
    return int(text)


def _layout(header: dict[str, Any], n_bytes: int, name: str) -> dict[str, tuple[str, tuple[int, ...], int]]:
    """Return type, shape and offset of each array, if together they are all there is."""
    found, ends = {}, []
    for key, entry in header.items():
        if not (isinstance(entry, dict) and set(entry) == {"dtype", "shape", "data_offsets"}):
            raise _wrong(name, f"array {key!r} has no type, shape and place")
        dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not (isinstance(dtype, str) and dtype in _TYPES):
            raise _wrong(name, f"array {key!r} is of a type that Votron does not write")
        if not (_are_sizes(shape) and len(shape) <= 2 and _are_sizes(offsets) and len(offsets) == 2):
            raise _wrong(name, f"array {key!r} has no shape or place that an array can have")
        if math.prod(max(1, n) for n in shape) >= 2**58:  # also where there are none of them: numpy counts them all
            raise _wrong(name, f"array {key!r} has no shape that an array can have")
        if offsets[1] - offsets[0] != math.prod(shape) * np.dtype(_TYPES[dtype]).itemsize:
            raise _wrong(name, f"array {key!r} has another size than its shape")
        found[key] = _TYPES[dtype], tuple(shape), offsets[0]
        ends.append((offsets[0], offsets[1]))
    at = 0
    for begin, end in sorted(ends):
        if begin != at:
            raise _wrong(name, "arrays overlap, or leave gaps")
        at = end
    if at > n_bytes:
        raise ModelFileError(f"The model file {name!r} is cut off: {at - n_bytes:,} of {at:,} bytes are missing.")
    if at < n_bytes:
        raise _wrong(name, "arrays end before the file does")
    return found


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**62 for value in values)


def _array(buffer: Any, start: int, dtype: str, shape: tuple[int, ...], offset: int) -> NDArray[Any]:
    count = math.prod(shape)
    if not count:
        array = np.empty(shape, dtype=dtype)
    else:
        array = np.frombuffer(buffer, dtype=dtype, count=count, offset=start + offset).reshape(shape)
        array = array if array.flags.aligned else array.copy()
    array.flags.writeable = False
    return array


def _manifest(text: str, name: str) -> dict[str, Any]:
    manifest = _parsed(text, name, "manifest")
    number = manifest.get("format")
    if type(number) is not int or number < 1:
        raise _wrong(name, "manifest has no format number")
    if number > FORMAT:
        raise ModelFileError(
            f"The model file {name!r} is of format {number}, of a later version of Votron; this one reads formats up "
            f"to {FORMAT}: upgrade Votron."
        )
    sha256 = manifest.get("sha256")
    if not (isinstance(sha256, str) and _SHA256.fullmatch(sha256)):
        raise _wrong(name, "manifest has no SHA-256")
    return manifest
