"""NumPy's files of one array, ``.npy``, without pickle.

A header is a claim: nothing is allocated before the size of the file, or of the member of the archive, makes the claim
possible, and nothing is expanded that the header does not promise, or that there is no memory for.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from votron.data._sources import EXPAND, IN_BATCHES, Source, check_expanded, check_memory, read_exactly
from votron.data.examples import short_repr
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.errors import DataError, Parameter

_HEADER = 1 << 14  # more than NumPy takes for one, and more than it writes
_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_header(file: IO[bytes], what: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether the order is Fortran's, and type; the file is left where the numbers begin."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of files that Python 2 wrote, and of odd literals
            version = np.lib.format.read_magic(file)
            # Version 3 differs in the encoding of the names of fields, which are refused below.
            reader = _READERS[(2, 0) if version == (3, 0) else version]
            shape, fortran, dtype = reader(file)
    except DataError:
        raise
    except Exception:  # NumPy parses it as Python, which fails in a dozen ways, MemoryError among them
        raise DataError(f"The header of {what} is damaged: it does not say type and shape.") from None
    if dtype.hasobject:
        raise DataError(
            f"The {what} must hold numbers or text. Got Python objects instead, which only pickle could read, and it "
            "could run code: save it with a plain type."
        )
    if dtype.names is not None or dtype.subdtype is not None or dtype.kind not in "biufUS" or dtype.itemsize == 0:
        raise DataError(f"The {what} must hold numbers or text. Got values of type {short_repr(str(dtype))} instead.")
    if any(not isinstance(n, int) or isinstance(n, bool) or not 0 <= n < 2**62 for n in shape) or len(shape) > 8:
        raise DataError(f"The header of {what} has a shape that no array has: {short_repr(shape)}.")
    return shape, fortran, dtype


@dataclass(frozen=True)
class Header:
    """What the header of an array says, where the numbers begin, and the first of them, read with it."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    offset: int
    first: bytes

    @property
    def n_bytes(self) -> int:
        """The bytes of all numbers."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def memory(self) -> int:
        """The bytes that reading them takes: a copy, in another order or type, and labels as int64 included."""
        return 2 * self.n_bytes + 8 * math.prod(self.shape[:1])


def read_start(file: IO[bytes], what: str) -> Header:
    """Return the header of a file, of which nothing was read yet."""
    # NumPy would first read as many bytes as a header claims to have, which may be 4 GB, and then find it too long.
    start = io.BytesIO(file.read(_HEADER))
    shape, fortran, dtype = read_header(start, what)
    return Header(shape, fortran, dtype, start.tell(), start.read())


def read_array(file: IO[bytes], n_bytes: int | None, what: str, check: Callable[[Header], None]) -> NDArray[Any]:
    """Return the array of a file of so many bytes, if that is known. `check` may refuse it when the header is read."""
    header = read_start(file, what)
    wanted = header.n_bytes
    shape = " x ".join(map(str, header.shape)) or "one"
    promise = f"The header of {what} promises {shape} values of type {header.dtype}, {wanted} bytes"
    left = wanted if n_bytes is None else n_bytes - header.offset
    if wanted != left:
        raise DataError(f"{promise}, but {left} bytes follow.")
    check(header)
    return _shaped(read_exactly(file, wanted, promise, header.first), header, promise)


def _shaped(buffer: NDArray[np.uint8], header: Header, promise: str) -> NDArray[Any]:
    shape, flat = header.shape, buffer.view(header.dtype)
    try:
        array = flat.reshape(shape[::-1]).T if header.fortran else flat.reshape(shape)
    except ValueError:  # no numbers, and dimensions that overflow all the same
        raise DataError(f"{promise}, which is no shape that an array can have.") from None
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return np.ascontiguousarray(array) if array.ndim else array


class Npy(Format):
    """One array, whose labels are one of its columns, if any."""

    name = "npy"
    suffixes = (".npy",)
    magic = (b"\x93NUMPY",)
    label_by = "number"

    def in_bounded_memory(self, source: Source) -> bool:
        """Tell whether it is a plain file, which can be mapped into memory."""
        return source.size is not None

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield the array, or so many bytes of it."""
        for X in [_whole(source)] if batch_bytes is None else _mapped(source, batch_bytes):
            yield _part(X, source.name, options)
            del X  # not to be in memory while the next are read


def _whole(source: Source) -> NDArray[Any]:
    plain = source.size is not None

    def check(header: Header) -> None:
        if not plain:
            check_expanded(header.n_bytes, source.max_bytes, f"The NumPy file {source.name}")
        check_memory(header.memory, source.name, remedy=IN_BATCHES if plain else EXPAND)

    with source.open() as file:
        return read_array(file, source.size, f"NumPy file {source.name}", check)


def _mapped(source: Source, batch_bytes: int) -> Iterator[NDArray[Any]]:
    """Yield rows of a plain file, which is mapped into memory."""
    what = f"NumPy file {source.name}"
    with source.open() as file:
        header = read_start(file, what)
    shape, dtype, wanted, left = header.shape, header.dtype, header.n_bytes, (source.size or 0) - header.offset
    if wanted != left or not wanted:
        raise DataError(f"The header of {what} promises {wanted} bytes of numbers, but {left} bytes follow.")
    mapped = np.memmap(
        str(source.path), dtype=dtype, mode="r", offset=header.offset, shape=shape, order="F" if header.fortran else "C"
    )
    width = wanted // shape[0] if shape else wanted
    check_memory(3 * width, source.name, remedy="its examples are too long: give it shorter ones")
    if len(shape) < 2:  # of which nothing can be made, as is said there
        yield np.array(mapped)
        return
    n = max(1, batch_bytes // max(1, width))
    for begin in range(0, shape[0], n):
        yield np.array(mapped[begin : begin + n], dtype=dtype.newbyteorder("="), order="C")


def _part(X: NDArray[Any], name: str, options: ReadOptions) -> Part:
    """Return features and labels."""
    label = options.label
    if label is None:
        if options.labels == "required":
            raise DataError(
                f"Say which column of {name} holds the labels, with ",
                Parameter("label"),
                ": a number, -1 for the last one.",
            )
        return Part(X)
    if X.ndim != 2:
        raise DataError(f"The label can be a column of {name} only if it has two dimensions. Got {X.ndim} instead.")
    column = _column_number(label, X.shape[1], name)
    return Part(np.delete(X, column, axis=1), X[:, column], str(label))


def _column_number(label: Any, n: int, name: str) -> int:
    try:
        number = int(label)
    except (TypeError, ValueError):
        number = n
    if isinstance(label, bool) or not -n <= number < n:
        raise DataError(
            f"The label must be the number of one of the {n} columns of {name}. Got {short_repr(label)} instead."
        )
    return number % n
