"""NumPy's files, ``.npy`` and ``.npz``, without pickle; and CSR matrices as SciPy keeps them in ``.npz``.

A header is a claim: nothing is allocated before the size of the file, or of the member of the archive, makes the claim
possible.
"""

from __future__ import annotations

import io
import lzma
import math
import struct
import warnings
import zipfile
import zlib
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron.data._csv_columns import shown
from votron.data._labels import tidy_labels
from votron.data._sources import Source, shown_bytes
from votron.data.examples import Examples
from votron.errors import DataError

_FEATURES = ("X", "data", "features", "x_train", "x")
_LABELS = ("y", "labels", "label", "target", "targets", "y_train")
_CSR = ("data", "indices", "indptr", "shape", "format")
_MAX_COLUMNS = 2**31 - 1
_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)


# -- arrays -----------------------------------------------------------------------------------------------------------


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


def read_array(file: IO[bytes], n_bytes: int, what: str) -> NDArray[Any]:
    """Return the array of a file of so many bytes."""
    shape, fortran, dtype = read_header(file, what)
    wanted = math.prod(shape) * dtype.itemsize
    promise = f"The header of {what} promises {' x '.join(map(str, shape)) or 'one'} values of type {dtype}"
    left = n_bytes - file.tell()
    if wanted != left:
        raise DataError(f"{promise}, {wanted} bytes, but {left} bytes follow.")
    data = file.read(wanted)
    if len(data) != wanted:
        raise DataError(f"{promise}, {wanted} bytes, but the file ends after {len(data)} of them.")
    flat = np.frombuffer(bytearray(data), dtype=dtype)
    array = flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return np.ascontiguousarray(array) if array.ndim else array


def read_npy(source: Source, about: Examples, *, label: Any, labels: str) -> Examples:
    """Return the examples of an ``.npy`` file, whose labels are one of its columns, if any."""
    data = source.read()
    X = read_array(io.BytesIO(data), len(data), f"NumPy file {source.name}")
    del data
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
        raise DataError(f"Say which column of {name} holds the labels, with label: a number, -1 for the last one.")
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


# -- archives ---------------------------------------------------------------------------------------------------------


def read_npz(source: Source, about: Examples, *, label: Any, labels: str, max_bytes: int) -> Examples:
    """Return the examples of an ``.npz`` file."""
    try:
        file: Any = source.plain_path or io.BytesIO(source.read())
        with zipfile.ZipFile(file) as archive:
            arrays = _members(archive, source.name, max_bytes)
    except DataError:
        raise
    except _ZIP_ERRORS as error:
        raise _damaged(source.name, error) from None
    X, key = _features(arrays, label, source.name)
    y, label_key = _labels(arrays, key, label, labels, source.name)
    return array_examples(X, y if labels != "none" else None, about, source.name, label_key)


def _damaged(name: str, error: Exception) -> DataError:
    reason = " ".join(str(error).split())[:150].rstrip(".") or type(error).__name__
    return DataError(f"The archive {name} is damaged: {reason}.")


def _members(archive: zipfile.ZipFile, name: str, max_bytes: int) -> dict[str, NDArray[Any]]:
    members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    if sum(info.file_size for info in members) > max_bytes:
        raise DataError(
            f"The archive {name} expands to more than the {shown_bytes(max_bytes)} that max_bytes allows: raise it if "
            "that is right."
        )
    arrays: dict[str, NDArray[Any]] = {}
    for info in members:
        with archive.open(info) as file:
            key = info.filename.removesuffix(".npy")
            if key in arrays:
                raise DataError(f"The archive {name} has two arrays called {shown(key)}.")
            arrays[key] = read_array(file, info.file_size, f"array {shown(key)} in {name}")
    if not arrays:
        raise DataError(f"The archive {name} has no array in it.")
    return arrays


def _features(arrays: dict[str, NDArray[Any]], label: Any, name: str) -> tuple[Any, str]:
    if set(_CSR) <= set(arrays):
        return _csr(arrays, name), "data"
    for key in _FEATURES:
        if key in arrays and key != label:
            return arrays[key], key
    matrices = [key for key, array in arrays.items() if array.ndim >= 2 and array.dtype.kind in "biuf" and key != label]
    if len(matrices) == 1:
        return arrays[matrices[0]], matrices[0]
    found = ", ".join(f"{shown(key)} of shape {array.shape}" for key, array in list(arrays.items())[:6])
    raise DataError(f"The archive {name} must have the features as 'X', or as its only matrix. Got {found} instead.")


def _labels(
    arrays: dict[str, NDArray[Any]], features: str, label: Any, labels: str, name: str
) -> tuple[NDArray[Any] | None, str | None]:
    taken = {features, *(_CSR if set(_CSR) <= set(arrays) else ())}
    if label is not None:
        if str(label) in arrays and str(label) not in taken:
            return arrays[str(label)], str(label)
        if labels == "required":
            others = ", ".join(shown(key) for key in arrays if key not in taken) or "none"
            raise DataError(
                f"The label must be the key of an array in {name}, of {others}. Got {shown(label)} instead."
            )
        return None, None
    for key in _LABELS:
        if key in arrays and key not in taken:
            return arrays[key], key
    if labels == "required":
        others = ", ".join(shown(key) for key in arrays if key not in taken) or "none"
        raise DataError(f"The archive {name} must have the labels as 'y', or say which array with label, of {others}.")
    return None, None


def _csr(arrays: dict[str, NDArray[Any]], name: str) -> Any:
    """Return the matrix that `scipy.sparse.save_npz` wrote, checked before it is used."""
    data, indices, indptr, shape, kind = (arrays[key] for key in _CSR)
    if kind.ndim != 0 or kind.item() not in ("csr", b"csr"):
        raise DataError(f"The sparse matrix in {name} must be of format 'csr'. Got {shown(kind.tolist())} instead.")
    sound = (
        all(array.ndim == 1 for array in (data, indices, indptr, shape))
        and all(array.dtype.kind in "iu" for array in (indices, indptr, shape))
        and data.dtype.kind in "biuf"
        and len(shape) == 2
        and len(data) == len(indices)
        and 0 <= int(shape[1]) <= _MAX_COLUMNS
        and len(indptr) == int(shape[0]) + 1
        and int(indptr[0]) == 0
        and int(indptr[-1]) == len(data)
        and bool((indptr[1:] >= indptr[:-1]).all())
        and (not len(indices) or (int(indices.min()) >= 0 and int(indices.max()) < int(shape[1])))
    )
    if not sound:
        raise DataError(f"The sparse matrix in {name} is damaged: its indices and its shape do not fit together.")
    if data.dtype.kind == "b":
        data = data.astype(np.uint8)
    index = np.int32 if max(len(data), int(shape[1])) < 2**31 else np.int64
    X = sp.csr_matrix((data, indices.astype(index), indptr.astype(index)), shape=(int(shape[0]), int(shape[1])))
    X.sum_duplicates()
    return X
