"""Archives of NumPy's arrays, ``.npz``; and CSR matrices as SciPy keeps them there.

Their directory and the header of each array are read before anything is expanded.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron.data._sources import EXPAND, Source, check_expanded, check_memory
from votron.data.conversion import as_matrix
from votron.data.examples import Examples, short_repr
from votron.data.formats.base import Format, Part
from votron.data.formats.npy import read_array, read_start
from votron.data.options import ReadOptions
from votron.errors import DataError, Parameter, Phrase

_FEATURES = ("X", "data", "features", "x_train", "x")
_LABELS = ("y", "labels", "label", "target", "targets", "y_train")
_CSR = ("data", "indices", "indptr", "shape", "format")
_MAX_COLUMNS = 2**31 - 1
_AS_FILES = Phrase(
    "files", "save its arrays as .npy files, which ", Phrase("batches", "open_batches"), " reads in batches"
)
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)


class Npz(Format):
    """Archives of arrays: the features, and the labels by a key of their own."""

    name = "npz"
    suffixes = (".npz",)
    magic = (b"PK\x03\x04",)
    label_by = "key"
    needs_end = True

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield all."""
        try:
            file: Any = source.plain_path or io.BytesIO(source.read(2, EXPAND))
            with zipfile.ZipFile(file) as archive:
                arrays = _arrays(archive, source.name, options.max_bytes)
        except DataError:
            raise
        except _ZIP_ERRORS as error:
            raise _damaged(source.name, error) from None
        X, key = _features(arrays, options.label, source.name)
        y, label = _labels(arrays, key, options.label, options.labels, source.name)
        yield Part(X, y, label)

    def write(self, examples: Examples) -> bytes:
        """Return the arrays ``X`` and ``y``, or those of `scipy.sparse.save_npz` and ``y``."""
        X = as_matrix(examples, self.name)
        arrays: dict[str, Any] = {}
        if sp.issparse(X):
            X = X.tocsr()
            arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape, "format": b"csr"}
        else:
            shape = examples.image_shape
            arrays["X"] = X if shape is None else X.reshape(len(X), *shape)
        if examples.y is not None:
            arrays["y"] = examples.y
        buffer = io.BytesIO()
        save: Any = np.savez_compressed
        save(buffer, **{name: np.asarray(array) for name, array in arrays.items()})
        return buffer.getvalue()


def _damaged(name: str, error: Exception) -> DataError:
    reason = " ".join(str(error).split())[:150].rstrip(".") or type(error).__name__
    return DataError(f"The archive {name} is damaged: {reason}.")


def _arrays(archive: zipfile.ZipFile, name: str, max_bytes: int) -> dict[str, NDArray[Any]]:
    members = _members(archive, name)
    check_expanded(sum(info.file_size for info in members.values()), max_bytes, f"The archive {name}")
    memory = 0
    for key, info in members.items():
        with archive.open(info) as file:
            header = read_start(file, _what(key, name))
            if header.offset + header.n_bytes == info.file_size:  # else it is refused below
                memory += header.memory
    check_memory(memory, name, remedy=_AS_FILES)
    arrays = {}
    for key, info in members.items():
        with archive.open(info) as file:
            arrays[key] = read_array(file, info.file_size, _what(key, name), lambda _: None)
    return arrays


def _what(key: str, name: str) -> str:
    return f"array {short_repr(key)} in {name}"


def _members(archive: zipfile.ZipFile, name: str) -> dict[str, zipfile.ZipInfo]:
    """Return the arrays of an archive by name, unread."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        if not info.filename.endswith(".npy"):
            continue
        key = info.filename.removesuffix(".npy")
        if key in members:
            raise DataError(f"The archive {name} has two arrays called {short_repr(key)}.")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # which Python expands without a limit
            raise DataError(
                f"The array {short_repr(key)} in {name} must be stored, or compressed by deflate, as NumPy does it. "
                f"Got method {info.compress_type} instead."
            )
        members[key] = info
    if not members:
        raise DataError(f"The archive {name} has no array in it.")
    return members


def _features(arrays: dict[str, NDArray[Any]], label: Any, name: str) -> tuple[Any, str]:
    if set(_CSR) <= set(arrays):
        return _csr(arrays, name), "data"
    for key in _FEATURES:
        if key in arrays and key != label:
            return arrays[key], key
    matrices = [key for key, array in arrays.items() if array.ndim >= 2 and array.dtype.kind in "biuf" and key != label]
    if len(matrices) == 1:
        return arrays[matrices[0]], matrices[0]
    found = ", ".join(f"{short_repr(key)} of shape {array.shape}" for key, array in list(arrays.items())[:6])
    raise DataError(f"The archive {name} must have the features as 'X', or as its only matrix. Got {found} instead.")


def _labels(
    arrays: dict[str, NDArray[Any]], features: str, label: Any, labels: str, name: str
) -> tuple[NDArray[Any] | None, str | None]:
    taken = {features, *(_CSR if set(_CSR) <= set(arrays) else ())}
    if label is not None:
        if str(label) in arrays and str(label) not in taken:
            return arrays[str(label)], str(label)
        if labels == "required":
            others = ", ".join(short_repr(key) for key in arrays if key not in taken) or "none"
            raise DataError(
                f"The label must be the key of an array in {name}, of {others}. Got {short_repr(label)} instead."
            )
        return None, None
    for key in _LABELS:
        if key in arrays and key not in taken:
            return arrays[key], key
    if labels == "required":
        others = ", ".join(short_repr(key) for key in arrays if key not in taken) or "none"
        raise DataError(
            f"The archive {name} must have the labels as 'y', or say which array with ",
            Parameter("label"),
            f", of {others}.",
        )
    return None, None


def _csr(arrays: dict[str, NDArray[Any]], name: str) -> Any:
    """Return the matrix that `scipy.sparse.save_npz` wrote, checked before it is used."""
    data, indices, indptr, shape, kind = (arrays[key] for key in _CSR)
    if kind.ndim != 0 or kind.item() not in ("csr", b"csr"):
        raise DataError(
            f"The sparse matrix in {name} must be of format 'csr'. Got {short_repr(kind.tolist())} instead."
        )
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
