"""The file: arrays in the safetensors format, a manifest in JSON in its metadata, and a digest of both.

A safetensors file is eight bytes with the length of a header, the header in JSON, and the bytes of the arrays. CSR
matrices are stored as three arrays, and lists of texts and other plain values as the bytes of their JSON.

Reading trusts nothing: the header must agree with the file, and JSON is limited in length and in the number of its
values before it is parsed, since an empty list takes two bytes in a file and some hundred in memory. The package
safetensors limits neither, and reads no pipes, so it is used for writing only.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, BinaryIO, Literal, TypeVar

import msgspec
import numpy as np
import safetensors.numpy
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.resources import available_memory
from votron._util.types import Array, Rows
from votron.errors import ModelFileError

Arrays = dict[str, Array]
_Path = str | bytes | os.PathLike[str]
Source = _Path | BinaryIO
T = TypeVar("T")

MOST_MANIFEST, _MOST_HEADER = 4 << 20, 12 << 20  # bytes of the manifest, and of the header that contains it
_MOST_VALUES = 150_000  # values in JSON: each takes up to two hundred bytes in memory
_TYPES = {
    **{"BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4"},
    **{"U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8"},
}
_DIGEST = "sha256"
NUMBERS = "b1 u1 i1 u2 i2 u4 i4 u8 i8 f4 f8"  # types of rows
WIDEST = 1 << 26  # features of sparse rows: predicting takes some bytes for each, whatever the size of the file
_SLACK, _MULTIPLE = 32 << 20, 6  # memory allowed beyond the arrays: bytes, and bytes per byte of the file
_A_VALUE = 72  # bytes that Python takes for a text or number beside its letters
_AT_ONCE = 1 << 22

Scalar = None | bool | int | float | str


@dataclass(frozen=True, eq=False)
class Content:
    manifest: bytes
    arrays: Arrays
    sha256: str
    n_bytes: int


def packed(manifest: bytes, arrays: Mapping[str, Array]) -> bytes:
    if len(manifest) > MOST_MANIFEST:
        raise ModelFileError(
            f"This model cannot be saved: its parameters, steps and provenance take {len(manifest):,} bytes, and a "
            f"model file has at most {MOST_MANIFEST:,}. Encode columns of one kind together, as table_classifier does."
        )
    plain = {name: np.asarray(a, dtype=a.dtype.newbyteorder("<"), order="C") for name, a in arrays.items()}
    digest = np.frombuffer(bytes.fromhex(_digest(manifest, plain)), dtype=np.uint8)
    return bytes(safetensors.numpy.save({**plain, _DIGEST: digest}, {"votron": manifest.decode()}))


def read_content(source: Source, name: str, *, mmap: bool = False) -> Content:
    """Read a file or a stream, called ``name`` in errors, and check that it is whole and unaltered."""
    try:
        if not isinstance(source, str | bytes | os.PathLike):
            return _read(source, name)
        with open(source, "rb") as file:
            status = os.fstat(file.fileno())
            size = status.st_size if stat.S_ISREG(status.st_mode) else None
            return _read(file, name, size, source if mmap and size else None)
    except OSError as error:
        raise ModelFileError(f"Cannot read the model file {name}: {error.strerror or error}.") from error


def decoded(text: bytes, kind: type[T], what: str) -> T:
    """Decode JSON as values of this type, or refuse it."""
    if sum(map(text.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise ModelFileError(f"its {what} has more than {_MOST_VALUES:,} values.")
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise ModelFileError(f"its {what} is not what Votron writes: {error}.") from None


def _read(file: BinaryIO, name: str, size: int | None = None, to_map: _Path | None = None) -> Content:
    header = _header(file, name)
    start = 8 + len(header)
    try:
        manifest, layout, n_bytes = _layout(header)
    except ModelFileError as error:
        raise ModelFileError(f"The model file {name} is damaged: {error}") from None
    if manifest is None:
        raise ModelFileError(f"{name} is not a model file of Votron, but another safetensors file.")
    if size is not None:
        _check_size(n_bytes, size - start, name)
    if to_map is not None:
        content = np.asarray(np.memmap(to_map, np.uint8, mode="r"))[start:]
    elif n_bytes > (free := available_memory()):
        raise ModelFileError(
            f"The model file {name} has arrays of {n_bytes / 1e9:,.1f} GB, and {free / 1e9:.1f} GB are free. Free some "
            "memory, or map the file with mmap=True."
        )
    else:
        content = _exactly(file, n_bytes)
        _check_size(n_bytes, len(content) + len(file.read(1)), name)
    arrays = {key: _array(content, *place) for key, place in layout.items()}
    stated = arrays.pop(_DIGEST, np.empty(0)).tobytes().hex()
    if stated != _digest(manifest, arrays):
        raise ModelFileError(
            f"The model file {name} is damaged or was altered: its SHA-256 does not match its content. Copy it again."
        )
    return Content(manifest, arrays, stated, start + n_bytes)


def _header(file: BinaryIO, name: str) -> bytes:
    first = file.read(9)
    length = int.from_bytes(first[:8], "little")
    if not (2 <= length <= _MOST_HEADER and first[8:] == b"{"):
        raise ModelFileError(f"{name} is not a model file of Votron.")
    return b"{" + _exactly(file, length - 1).tobytes()


def _exactly(file: BinaryIO, n: int) -> NDArray[np.uint8]:
    """Return n bytes, or all there are; a pipe gives them in parts."""
    content, at = np.empty(n, dtype=np.uint8), 0
    while at < n and (more := file.readinto(content[at:].data)):  # type: ignore[attr-defined]
        at += more
    return content[:at]


def _check_size(stated: int, found: int, name: str) -> None:
    if stated > found:
        missing = f"{stated - found:,} of {stated:,} bytes are missing"
        raise ModelFileError(f"The model file {name} is cut off: {missing}. Copy it again.")
    if stated < found:
        raise ModelFileError(f"The model file {name} is damaged: it is longer than its arrays. Copy it again.")


def _digest(manifest: bytes, arrays: Mapping[str, Array]) -> str:
    sha = hashlib.sha256(manifest)
    for name in sorted(arrays):
        sha.update(f"\n{name} {arrays[name].dtype.str} {arrays[name].shape}\n".encode())
        sha.update(arrays[name].reshape(-1).data)
    return sha.hexdigest()


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    dtype: Literal[tuple(_TYPES)]  # type: ignore[valid-type]
    shape: Annotated[tuple[Annotated[int, msgspec.Meta(ge=0, le=2**40)], ...], msgspec.Meta(max_length=2)]
    data_offsets: tuple[int, int]


_Layout = dict[str, tuple[str, tuple[int, ...], int]]  # type, shape and offset of each array


def _layout(header: bytes) -> tuple[bytes | None, _Layout, int]:
    """Return the manifest, if there is one, the layout of the arrays, and their total size."""
    entries = decoded(header, dict[str, msgspec.Raw], "header")
    metadata = decoded(bytes(entries.pop("__metadata__", b"{}")), dict[str, str], "header")
    known = {key: decoded(bytes(raw), _Entry, "header") for key, raw in entries.items()}
    found, at = {}, 0
    for key, entry in sorted(known.items(), key=lambda item: item[1].data_offsets):
        begin, end = entry.data_offsets
        if end - begin != math.prod(entry.shape) * np.dtype(_TYPES[entry.dtype]).itemsize:
            raise ModelFileError("its header gives an array another size than its shape.")
        if begin != at:
            raise ModelFileError("its arrays overlap, or leave gaps.")
        found[key], at = (_TYPES[entry.dtype], entry.shape, begin), end
    manifest = metadata.get("votron")
    return None if manifest is None else manifest.encode(), found, at


def _array(content: NDArray[np.uint8], dtype: str, shape: tuple[int, ...], offset: int) -> Array:
    size = math.prod(shape) * np.dtype(dtype).itemsize
    array: Array = content[offset : offset + size].view(dtype).reshape(shape)
    array = array if array.flags.aligned else array.copy()
    array.flags.writeable = False
    return array


def called(source: Source) -> str:
    return repr(os.fspath(source)) if isinstance(source, str | bytes | os.PathLike) else "the stream"


def plain(value: Any) -> Any:
    """Convert a number of NumPy to one of Python; other values stay."""
    return value.item() if isinstance(value, np.bool_ | np.number | np.str_) else value


def objects(values: Sequence[object]) -> Array:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


class Tensors:
    def __init__(self, arrays: Arrays, n_bytes: int = 0) -> None:
        self.arrays, self._prefix = arrays, ""
        self._room = [_SLACK + _MULTIPLE * n_bytes]

    def at(self, name: str) -> Tensors:
        other = Tensors(self.arrays)
        other._prefix, other._room = f"{self._prefix}{name}.", self._room
        return other

    def wrong(self, name: str, what: str) -> ModelFileError:
        return ModelFileError(f"its array {self._prefix + name!r} must have {what}.")

    def spend(self, n_bytes: int) -> None:
        """Refuse to take more memory than a file of this size may."""
        self._room[0] -= n_bytes
        if self._room[0] < 0:
            raise ModelFileError("it would take much more memory than the file has bytes.")

    def put(self, name: str, value: Rows) -> None:
        if sp.issparse(value):
            for part in ("data", "indices", "indptr"):
                self.put(f"{name}.{part}", getattr(value, part))
        else:
            self.arrays[self._prefix + name] = np.asarray(value)

    def put_all(self, source: object, *names: str) -> None:
        for name in names:
            self.put(name, getattr(source, name))

    def put_values(self, name: str, values: Array) -> None:
        """Add labels or categories: numbers, truth values or texts, or a mixture as objects."""
        if values.dtype.kind in "biuf":
            self.put(name, values)
        elif values.dtype.kind == "U":
            self.put_list(f"{name}.texts", values.tolist())
        else:
            self.put_list(f"{name}.objects", list(values))

    def put_list(self, name: str, values: Sequence[object]) -> None:
        odd = [each for each in values if not isinstance(plain(each), Scalar)]
        if odd:
            raise ModelFileError(
                f"Labels and categories in a model file must be numbers, truth values or text. Got {odd[0]!r} instead."
            )
        self.put(name, np.frombuffer(msgspec.json.encode([plain(each) for each in values]), dtype=np.uint8))

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self.arrays or f"{self._prefix}{name}.indptr" in self.arrays

    def take(
        self, name: str, types: str, shape: tuple[int | None, ...], *, least: float = -np.inf, finite: bool = True
    ) -> Array:
        """Return an array of one of several types and of a shape (None: any size)."""
        found = self.arrays.pop(self._prefix + name, np.empty((0, 0, 0)))
        if len(shape) != found.ndim or not all(n in (None, m) for n, m in zip(shape, found.shape, strict=True)):
            sizes = " x ".join("any" if n is None else str(n) for n in shape)
            raise self.wrong(name, f"the shape {sizes}")
        if found.dtype.str[1:] not in types.split():
            raise self.wrong(name, f"numbers of type {types}, and not {found.dtype.str[1:]}")
        flat = found.reshape(-1)
        for i in range(0, flat.size if finite and found.dtype.kind == "f" else 0, _AT_ONCE):
            if not np.isfinite(flat[i : i + _AT_ONCE]).all():
                raise self.wrong(name, "finite numbers")
        if least > -np.inf and found.size and found.min() < least:
            raise self.wrong(name, f"no numbers below {least:g}")
        return found

    def rows(self, name: str, shape: tuple[int, int], types: str = NUMBERS) -> Rows:
        if f"{self._prefix}{name}.indptr" not in self.arrays:
            return self.take(name, types, shape)
        indptr = self.take(f"{name}.indptr", "i4 i8", (shape[0] + 1,))
        data = self.take(f"{name}.data", types, (None,))
        indices = self.take(f"{name}.indices", indptr.dtype.str[1:], (len(data),))
        starts_well = indptr[0] == 0 and indptr[-1] == len(data) and (indptr[1:] >= indptr[:-1]).all()
        inside = not len(indices) or (indices.min() >= 0 and indices.max() < shape[1])
        if not (starts_well and inside and shape[1] < WIDEST):
            raise self.wrong(name, f"row starts and columns of a CSR matrix of shape {shape[0]} x {shape[1]}")
        rising = indices[1:] > indices[:-1]
        starts = indptr[1:-1]
        rising[starts[(starts > 0) & (starts < len(data))] - 1] = True  # another row begins there
        if not rising.all():
            raise self.wrong(name, "columns in rising order")
        made = sp.csr_matrix(shape, dtype=data.dtype)  # its constructor may copy mapped arrays
        made.data, made.indices, made.indptr = data, indices, indptr
        made.has_sorted_indices = made.has_canonical_format = True
        return made

    def listed(self, name: str, kind: Any = str, n: int | None = None) -> list[Any]:
        content = self.take(name, "u1", (None,)).tobytes()
        self.spend(_A_VALUE * content.count(b","))
        try:
            found: list[Any] = msgspec.json.decode(content, type=list[kind])
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise self.wrong(name, f"a list in JSON: {error}") from None
        if n not in (None, len(found)):
            raise self.wrong(name, f"a list of {n}")
        return found

    def values(self, name: str) -> Array:
        if f"{name}.objects" in self:
            return objects(self.listed(f"{name}.objects", Scalar))
        if f"{name}.texts" not in self:
            return self.take(name, NUMBERS, (None,))
        texts = self.listed(f"{name}.texts")
        self.spend(4 * len(texts) * max(map(len, texts), default=0))
        return np.array(texts, dtype=str)

    def labels(self, name: str) -> Array:
        found = self.values(name)
        try:
            fits = len(found) >= 2 and all(a < b for a, b in itertools.pairwise(found.tolist()))
        except TypeError:
            fits = False
        if not fits:
            raise self.wrong(name, "two or more labels in rising order")
        return found

    def none_left(self) -> None:
        if self.arrays:
            raise ModelFileError(f"its array {next(iter(self.arrays))[:60]!r} is not one that Votron knows.")
