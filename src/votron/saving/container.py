"""The file itself: arrays in the safetensors format, and beside them a JSON manifest and a digest.

A model file is a safetensors file: eight bytes with the length of a header, the header in JSON, and the bytes of the
arrays. Its ``__metadata__`` has one entry, ``votron``: the manifest, in JSON again. The manifest's ``sha256`` is the
digest of the manifest, with zeros in the digest's place, and of all arrays. So every tool that knows safetensors can
open the file, nothing in it is code, and the same model makes the same file.

Reading trusts nothing. The header is a claim until sizes, types and offsets agree with the file; of what has no size,
such as a pipe, no more is read than the header says. All work is linear in the bytes that are there, and so is memory:
JSON is measured before it is parsed, since a list of nothing takes twenty times its bytes.

Both directions are done here and not by the package safetensors: it writes under names of its own, which a process that
is killed leaves behind, and what it reads it has to be trusted with.

Formats: 1 (the first), 2 (a manifest of named sections: `votron.saving.models`).
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import re
import stat
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from votron._util.files import replacing
from votron.errors import ModelFileError
from votron.saving.fields import measured, parsed

__all__ = ["FORMAT", "Container", "read_container", "write_container"]

FORMAT = 2
"""The number of the format that is written."""
_LONGEST_HEADER = 100_000_000  # that of safetensors
_LONGEST_MANIFEST = 48_000_000  # which may be twice as long in the header, where its quotes are escaped
_MOST_BUT_TEXT = {"header": 1_000_000, "manifest": 8_000_000}
"""Bytes that JSON may have beside its texts."""
_MOST_PARTS, _BYTES_A_PART = 100_000, 10
"""Lists, objects and names of fields that JSON may have: so many, and one for so many bytes."""
_DEEPEST = 100
"""Lists and objects that may stand within one another."""
_TYPES = {
    "BOOL": "b1",
    "U8": "u1",
    "I8": "i1",
    "I16": "<i2",
    "U16": "<u2",
    "I32": "<i4",
    "U32": "<u4",
    "F32": "<f4",
    "F64": "<f8",
    "I64": "<i8",
    "U64": "<u8",
}
"""In the order of safetensors, which puts the arrays of the last type first."""
_CHUNK = 1 << 22
_LONGEST_NAME = 30
_SHA256 = re.compile("[0-9a-f]{64}")
_ZEROS = "0" * 64
_Layout = dict[str, tuple[str, tuple[int, ...], int]]
"""Type, shape and offset of each array."""


@dataclass(frozen=True, eq=False)
class Container:
    """What is in a file.

    Attributes
    ----------
    manifest : dict
        What the model is.
    arrays : dict
        Its arrays, by name; they cannot be written to. Empty where they were not asked for.
    sha256 : str
        The digest of both.
    n_bytes : int
        Size of the file.

    Examples
    --------
    >>> Container({"format": 2}, {}, "0" * 64, 200).manifest["format"]
    2
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
    ...     read_container(path).arrays["a"]
    array([0, 1, 2])
    """
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
    header, ordered = _header_of(text, plain)
    with replacing(Path(path)) as temporary:
        with open(temporary, "wb") as file:
            file.write(header)
            for array in ordered:
                for part in _chunks(array):
                    file.write(part)
        if check is not None:
            check(temporary)


def _header_of(text: str, arrays: Mapping[str, NDArray[Any]]) -> tuple[bytes, list[NDArray[Any]]]:
    """Return the first bytes of a file, and the arrays in the order in which they follow: as safetensors has them."""
    names = {dtype: name for name, dtype in _TYPES.items()}
    kinds = {key: names[array.dtype.str.replace("|", "")] for key, array in arrays.items()}
    rank = {name: -i for i, name in enumerate(_TYPES)}
    order = sorted(arrays, key=lambda key: (rank[kinds[key]], key))
    entries: dict[str, Any] = {"__metadata__": {"votron": text}}
    at = 0
    for key in order:
        end = at + arrays[key].nbytes
        entries[key] = {"dtype": kinds[key], "shape": list(arrays[key].shape), "data_offsets": [at, end]}
        at = end
    header = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header, [arrays[key] for key in order]


def read_container(
    source: str | os.PathLike[str] | BinaryIO, *, mapped: bool = False, arrays: bool = True, name: str | None = None
) -> Container:
    """Read a file, and check that it is whole and unaltered.

    Parameters
    ----------
    source : str, path-like or binary file
        The file, or what gives its bytes one after another, such as a pipe.
    mapped : bool, default=False
        Map the arrays of a file into memory, which costs none until they are used, instead of reading them. If the file
        is cut short later, using them ends the process.
    arrays : bool, default=True
        Whether to keep the arrays, and not just to look at them for the digest.
    name : str, optional
        What to call the file in errors; by default its path, in quotes.

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
    name = called(source) if name is None else name
    try:
        if not isinstance(source, str | bytes | os.PathLike):
            return _read(source, None, name, mapped=False, keep=arrays)
        with open(source, "rb") as file:
            status = os.fstat(file.fileno())
            size = status.st_size if stat.S_ISREG(status.st_mode) else None
            return _read(file, size, name, mapped=mapped, keep=arrays)
    except (OSError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).rstrip(".")
        raise ModelFileError(f"Cannot read the model file {name}: {reason}.") from error


def called(source: Any) -> str:
    """Return what to call a file in errors."""
    return repr(os.fspath(source)) if isinstance(source, str | bytes | os.PathLike) else "the stream"


def _read(file: BinaryIO, size: int | None, name: str, *, mapped: bool, keep: bool) -> Container:
    """Read what is in a file, of which the size is known or not."""
    header, start = _read_header(file, size, name)
    text = _manifest_text(header.pop("__metadata__", None), name)
    layout, n_bytes = _layout(header, name)
    del header
    if size is not None:
        _check_size(n_bytes, size - start, name)
    manifest = _manifest(text, name)
    sha256 = manifest.pop("sha256")
    found: dict[str, NDArray[Any]] = {}
    if keep or size is None:
        buffer = (
            _mapped(file, start + n_bytes, name)[start:] if mapped and size else _content(file, n_bytes, size, name)
        )
        found = {key: _array(buffer, *place) for key, place in layout.items()}
        digest = _digest(text.replace(sha256, _ZEROS, 1), found)
    else:
        digest = _digest_of_file(text.replace(sha256, _ZEROS, 1), file, start, layout)
    if digest != sha256:
        raise ModelFileError(
            f"The model file {name} is damaged or was altered: its content does not have the SHA-256 that it states."
        )
    return Container(manifest, found, sha256, start + n_bytes)


def _mapped(file: BinaryIO, n_bytes: int, name: str) -> NDArray[np.uint8]:
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if len(mapped) != n_bytes:
        raise _changed(name)
    return np.frombuffer(mapped, dtype=np.uint8)


def _changed(name: str) -> ModelFileError:
    return ModelFileError(f"The model file {name} changed while it was read: try again.")


def _content(file: BinaryIO, n_bytes: int, size: int | None, name: str) -> NDArray[np.uint8]:
    """Read as many bytes as the header says, if there are so many and no more."""
    from votron._util.resources import (
        available_memory,  # with joblib, which whoever only looks at a manifest can do without
    )

    if n_bytes > (free := available_memory()):
        how = "" if size is None else " Free some, or map the file (mmap=True)."
        raise ModelFileError(
            f"The model file {name} says that its arrays take {n_bytes / 1e9:,.1f} GB, and {free / 1e9:.1f} GB are "
            f"free.{how}"
        )
    content = np.empty(n_bytes, dtype=np.uint8)
    view, at = content.data, 0
    while at < n_bytes and (n := file.readinto(view[at : at + _CHUNK])):  # type: ignore[attr-defined]  # as all have it
        at += n
    if size is None:
        _check_size(n_bytes, at + len(file.read(1)), name)
    elif at < n_bytes:
        raise _changed(name)
    return content


def _check_size(stated: int, found: int, name: str) -> None:
    if stated > found:
        raise ModelFileError(f"The model file {name} is cut off: {stated - found:,} of {stated:,} bytes are missing.")
    if stated < found:
        raise _wrong(name, "arrays end before the file does")


def _chunks(array: NDArray[Any]) -> Iterator[Any]:
    flat = array.reshape(-1).view(np.uint8) if array.size else array.reshape(-1)
    for begin in range(0, flat.size, _CHUNK):
        yield flat[begin : begin + _CHUNK].data


def _digest(text: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of the manifest, and of names, types, shapes and bytes of all arrays."""
    sha = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        sha.update(_digest_head(name, arrays[name].dtype, arrays[name].shape))
        for part in _chunks(arrays[name]):
            sha.update(part)
    return sha.hexdigest()


def _digest_of_file(text: str, file: BinaryIO, start: int, layout: _Layout) -> str:
    """Return the same of arrays that are in a file, without having them all in memory."""
    sha = hashlib.sha256(text.encode())
    for name in sorted(layout):
        dtype, shape, offset = np.dtype(layout[name][0]), layout[name][1], layout[name][2]
        sha.update(_digest_head(name, dtype, shape))
        file.seek(start + offset)
        left = math.prod(shape) * dtype.itemsize
        while left and (part := file.read(min(_CHUNK, left))):  # what is missing shows in the digest
            sha.update(part)
            left -= len(part)
    return sha.hexdigest()


def _digest_head(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    return f"\n{name} {dtype.str} {shape}\n".encode()


# -- the header -------------------------------------------------------------------------------------------------------


def _foreign(name: str, why: str = "") -> ModelFileError:
    return ModelFileError(f"{name} is not a model file of Votron{why}.")


def _read_header(file: BinaryIO, size: int | None, name: str) -> tuple[dict[str, Any], int]:
    """Return the header, and where the arrays start."""
    first = _exactly(file, 8)
    length = struct.unpack("<Q", first)[0] if len(first) == 8 else 0
    if not 2 <= length <= _LONGEST_HEADER:
        raise _foreign(name)
    text = file.read(1)
    if text != b"{":
        raise _foreign(name)
    if size is None or 8 + length <= size:
        text += _exactly(file, length - 1)
    if len(text) < length:
        raise ModelFileError(f"The model file {name} is cut off within its header.")
    return _parsed(text, name, "header"), 8 + length


def _exactly(file: BinaryIO, n: int) -> bytes:
    """Return so many bytes, or what there is: a pipe may give them in parts."""
    parts: list[bytes] = []
    while n and (part := file.read(min(n, _CHUNK))):
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def _manifest_text(found: Any, name: str) -> str:
    if not isinstance(found, dict) or "votron" not in found:
        raise _foreign(name, ", but another safetensors file")
    if set(found) != {"votron"} or not isinstance(found["votron"], str):
        raise _wrong(name, "metadata are not a manifest")
    return str(found["votron"])


def _wrong(name: str, what: str) -> ModelFileError:
    return ModelFileError(f"The model file {name} is damaged: its {what}.")


def _parsed(text: str | bytes, name: str, what: str) -> dict[str, Any]:
    """Return a JSON object that has nothing in it that JSON itself does not have."""
    try:
        size = measured(text if isinstance(text, bytes) else text.encode())
        too_many = size.n_beside > _MOST_BUT_TEXT[what] or size.n_parts > _MOST_PARTS + len(text) // _BYTES_A_PART
        if too_many or size.deepest > _DEEPEST:
            more = f"{what} has more lists, objects and numbers, or more of them within one another,"
            raise _wrong(name, f"{more} than one that Votron writes")
        found = parsed(text.decode() if isinstance(text, bytes) else text)
    except ModelFileError:
        raise
    except (ValueError, RecursionError):
        raise _wrong(name, f"{what} is not valid JSON") from None
    if not isinstance(found, dict):
        raise _wrong(name, f"{what} is no JSON object")
    return found


def _layout(header: dict[str, Any], name: str) -> tuple[_Layout, int]:
    """Return type, shape and offset of each array, if they can follow one another, and how many bytes they take."""
    found: _Layout = {}
    ends = []
    for key, entry in header.items():
        array = f"array {key[:_LONGEST_NAME]!r}"
        if not (isinstance(entry, dict) and set(entry) == {"dtype", "shape", "data_offsets"}):
            raise _wrong(name, f"{array} has no type, shape and place")
        dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not (isinstance(dtype, str) and dtype in _TYPES):
            raise _wrong(name, f"{array} is of a type that Votron does not write")
        if not (_are_sizes(shape) and len(shape) <= 2 and _are_sizes(offsets) and len(offsets) == 2):
            raise _wrong(name, f"{array} has no shape or place that an array can have")
        if math.prod(max(1, n) for n in shape) >= 2**58:  # also where there are none of them: numpy counts them all
            raise _wrong(name, f"{array} has no shape that an array can have")
        if offsets[1] - offsets[0] != math.prod(shape) * np.dtype(_TYPES[dtype]).itemsize:
            raise _wrong(name, f"{array} has another size than its shape")
        found[key] = _TYPES[dtype], tuple(shape), offsets[0]
        ends.append((offsets[0], offsets[1]))
    at = 0
    for begin, end in sorted(ends):
        if begin != at:
            raise _wrong(name, "arrays overlap, or leave gaps")
        at = end
    return found, at


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**62 for value in values)


def _array(content: NDArray[np.uint8], dtype: str, shape: tuple[int, ...], offset: int) -> NDArray[Any]:
    count = math.prod(shape)
    if not count:
        array = np.empty(shape, dtype=dtype)
    else:
        array = np.frombuffer(content, dtype=dtype, count=count, offset=offset).reshape(shape)
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
            f"The model file {name} is of format {number}, of a later version of Votron; this one reads formats up "
            f"to {FORMAT}: upgrade Votron."
        )
    sha256 = manifest.get("sha256")
    if not (isinstance(sha256, str) and _SHA256.fullmatch(sha256)):
        raise _wrong(name, "manifest has no SHA-256")
    return manifest
