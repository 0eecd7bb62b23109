"""The arrays of a model file by name.

CSR matrices are stored as three arrays, and lists of texts and other plain values as the bytes of their JSON. An array
is taken once, and none may be left at the end.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import scipy.sparse as sp

from votron._util.types import Array, Rows
from votron.errors import ModelFileError
from votron.saving.container import Arrays

NUMBERS = "b1 u1 i1 u2 i2 u4 i4 u8 i8 f4 f8"
"""Types of rows."""
WIDEST = 1 << 26
"""Features of sparse rows: predicting takes some bytes for each, whatever the size of the file."""
_SLACK, _MULTIPLE = 32 << 20, 6
"""Memory allowed beyond the arrays: bytes, and bytes per byte of the file."""
_A_VALUE = 72
"""Bytes that Python takes for a text or number beside its letters."""
_AT_ONCE = 1 << 22

Scalar = None | bool | int | float | str


def plain(value: Any) -> Any:
    """Convert a number of NumPy to one of Python; other values stay."""
    return value.item() if isinstance(value, np.bool_ | np.number | np.str_) else value


def objects(values: Sequence[object]) -> Array:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


class Tensors:
    """Arrays by name, below a prefix."""

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
