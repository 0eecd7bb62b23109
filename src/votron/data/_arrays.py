"""Arrays of numbers as examples, and NumPy's files of them, ``.npy``, without pickle.

A header is a claim: nothing is allocated before the size of the file, or of the member of the archive, makes the claim
possible, and nothing is expanded that the header does not promise, or that there is no memory for.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron.data._budget import EXPAND, IN_BATCHES, check_expanded, check_memory
from votron.data._csv_columns import shown
from votron.data._labels import tidy_labels
from votron.data._sources import Source
from votron.data.examples import Examples
from votron.errors import DataError, Parameter

_HEADER = 1 << 14  # more than NumPy takes for one, and more than it writes
_PIECE = 1 << 20
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
        raise DataError(f"The {what} must hold numbers or text. Got values of type {shown(str(dtype))} instead.")
    if any(not isinstance(n, int) or isinstance(n, bool) or not 0 <= n < 2**62 for n in shape) or len(shape) > 8:
        raise DataError(f"The header of {what} has a shape that no array has: {shown(shape)}.")
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
    buffer = np.empty(wanted, dtype=np.uint8)
    n_read = min(len(header.first), wanted)
    buffer[:n_read] = np.frombuffer(header.first, dtype=np.uint8, count=n_read)
    while n_read < wanted and (piece := file.read(min(_PIECE, wanted - n_read))):
        buffer[n_read : n_read + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        n_read += len(piece)
    if n_read < wanted:
        raise DataError(f"{promise}, but the file ends after {n_read} of them.")
    if len(header.first) > wanted or file.read(1):
        raise DataError(f"{promise}, but the file goes on after them.")
    return _shaped(buffer, header, promise)


def _shaped(buffer: NDArray[np.uint8], header: Header, promise: str) -> NDArray[Any]:
    shape, flat = header.shape, buffer.view(header.dtype)
    try:
        array = flat.reshape(shape[::-1]).T if header.fortran else flat.reshape(shape)
    except ValueError:  # no numbers, and dimensions that overflow all the same
        raise DataError(f"{promise}, which is no shape that an array can have.") from None
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return np.ascontiguousarray(array) if array.ndim else array


def read_npy(source: Source, about: Examples, *, label: Any, labels: str) -> Examples:
    """Return the examples of an ``.npy`` file, whose labels are one of its columns, if any."""
    plain = source.size is not None

    def check(header: Header) -> None:
        if not plain:
            check_expanded(header.n_bytes, source.max_bytes, f"The NumPy file {source.name}")
        check_memory(header.memory, source.name, remedy=IN_BATCHES if plain else EXPAND)

    with source.open() as file:
        X = read_array(file, source.size, f"NumPy file {source.name}", check)
    return npy_examples(X, about, source.name, label=label, labels=labels)


def npy_examples(X: NDArray[Any], about: Examples, name: str, *, label: Any, labels: str) -> Examples:
    """Return the examples of an array."""
    y = None
    if label is not None:
        if X.ndim != 2:
            raise DataError(f"The label can be a column of {name} only if it has two dimensions. Got {X.ndim} instead.")
        column = _column_number(label, X.shape[1], name)
        y = X[:, column]
        X = np.delete(X, column, axis=1)
    elif labels == "required":
        raise DataError(
            f"Say which column of {name} holds the labels, with ",
            Parameter("label"),
            ": a number, -1 for the last one.",
        )
    return array_examples(X, y if labels != "none" else None, about, name, str(label) if label is not None else None)


def _column_number(label: Any, n: int, name: str) -> int:
    try:
        number = int(label)
    except (TypeError, ValueError):
        number = n
    if isinstance(label, bool) or not -n <= number < n:
        raise DataError(
            f"The label must be the number of one of the {n} columns of {name}. Got {shown(label)} instead."
        )
    return number % n


def array_examples(X: Any, y: NDArray[Any] | None, about: Examples, name: str, label: str | None) -> Examples:
    """Return checked examples of an array, or CSR matrix, and labels."""
    shape: tuple[int, ...] | None = None
    if not sp.issparse(X):
        X, shape = _flat(X, name)
    if 0 in X.shape:
        raise DataError(f"There must be examples and features in {name}. Got an array of shape {X.shape} instead.")
    check_finite(X, name, about.first_row)
    if y is not None:
        y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        if y.ndim != 1 or len(y) != X.shape[0]:
            got = " x ".join(map(str, y.shape))
            raise DataError(
                f"There must be one label for each of the {X.shape[0]} examples of {name}. Got {got} instead."
            )
        y = tidy_labels(y, f"The labels of {name}")
    return Examples(
        X,
        y,
        about.format,
        about.source,
        label=label if y is not None else None,
        image_shape=shape,
        first_row=about.first_row,
    )


def _flat(X: NDArray[Any], name: str) -> tuple[NDArray[Any], tuple[int, ...] | None]:
    """Return numbers with an example to a row, and the shape of an example that has one: an image."""
    if X.dtype.kind not in "biuf":
        raise DataError(f"The features in {name} must be numbers. Got values of type {X.dtype} instead.")
    if X.ndim < 2:
        raise DataError(f"The features in {name} must have two dimensions or more. Got {X.ndim} instead.")
    if X.dtype.kind == "b":
        X = X.astype(np.uint8)
    if X.dtype.kind == "f" and X.dtype.itemsize > 8:
        X = X.astype(np.float64)
    if X.ndim == 2:
        return X, None
    return X.reshape(X.shape[0], math.prod(X.shape[1:])), X.shape[1:]


def check_finite(X: Any, name: str, first_row: int = 0) -> None:
    """Refuse NaN and infinity, and say where they are; rows and columns are counted from 1."""
    values = X.data if sp.issparse(X) else X
    if values.dtype.kind != "f":
        return
    with np.errstate(all="ignore"):
        total = values.sum(dtype=np.float64)  # finite only if all are: cheaper than an array of answers
    if np.isfinite(total) or np.isfinite(values).all():
        return
    at = int(np.argmin(np.isfinite(values)))
    if sp.issparse(X):
        row, column = int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at])
    else:
        row, column = divmod(at, X.shape[1])
    raise DataError(
        f"The features in {name} must be finite numbers. Got {values.flat[at]} in row {first_row + row + 1}, "
        f"column {column + 1}, instead, counted from 1."
    )
