"""NumPy's files: one array, ``.npy``, or an archive of arrays, ``.npz``, read without pickle."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from votron._util.types import Array, Label, Params
from votron.data._sources import Source, check_expanded
from votron.data.examples import Examples, short_repr
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.data.tables import as_matrix, list_names
from votron.errors import DataError

_FEATURES = ("X", "data", "features", "x_train", "x")
_LABELS = ("y", "labels", "label", "target", "targets", "y_train")
_CSR = ("data", "indices", "indptr", "shape", "format")
_LONGEST = 200


@contextmanager
def _numpy_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (DataError, MemoryError):
        raise
    except Exception as error:  # a damaged header or archive fails in a dozen ways
        if "allow_pickle" in str(error):
            raise DataError(
                f"{name} holds Python objects, which only pickle could read, and it could run code: save it with a "
                "plain type."
            ) from None
        reason = " ".join(str(error).split())[:_LONGEST].rstrip(".") or type(error).__name__
        raise DataError(f"Cannot read {name} as NumPy's: {reason}.") from None


class Npy(Format):
    """One array, whose labels are one of its columns, if any."""

    name = "npy"
    suffixes = (".npy",)
    magic = (b"\x93NUMPY",)

    def in_bounded_memory(self, source: Source) -> bool:
        """Tell whether it is a plain file, which can be mapped into memory."""
        return source.size is not None

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield the array, or so many bytes of it."""
        in_batches = batch_bytes is not None and source.plain_path is not None
        with _numpy_errors(source.name):
            file: Any = source.plain_path or io.BytesIO(source.read())
            array = np.load(file, mmap_mode="r" if in_batches else None, allow_pickle=False)
        n = max(1, len(array) if array.ndim else 1)
        if batch_bytes is not None and array.ndim > 1:
            n = max(1, batch_bytes * n // max(1, array.nbytes))
        for begin in range(0, max(1, len(array) if array.ndim else 1), n):
            rows = array[begin : begin + n] if array.ndim else array
            yield _part(np.array(rows, dtype=array.dtype.newbyteorder("="), order="C"), source.name, options)


def _part(X: Array, name: str, options: ReadOptions) -> Part:
    """Return features and labels."""
    label = options.label
    if label is None:
        if options.labels == "required":
            raise DataError(
                f"Say which column of {name} holds the labels, with label: a number, -1 for the last one.",
                parameter="label",
            )
        return Part(X)
    if X.ndim != 2:
        raise DataError(f"The label can be a column of {name} only if it has two dimensions. Got {X.ndim} instead.")
    try:
        column = range(X.shape[1])[int(str(label))]
    except (ValueError, IndexError):
        raise DataError(
            f"The label must be the number of one of the {X.shape[1]} columns of {name}. Got {short_repr(label)} "
            "instead."
        ) from None
    return Part(np.delete(X, column, axis=1), X[:, column], str(label))


class Npz(Format):
    """Archives of arrays: the features, and the labels by a key of their own; CSR matrices as SciPy keeps them."""

    name = "npz"
    suffixes = (".npz",)
    magic = (b"PK\x03\x04",)

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield all."""
        with _numpy_errors(source.name):
            file: Any = source.plain_path or io.BytesIO(source.read())
            with zipfile.ZipFile(file) as archive:
                n_bytes = sum(info.file_size for info in archive.infolist())
            check_expanded(n_bytes, source, options.max_bytes)
            with np.load(file, allow_pickle=False) as archive_of_arrays:
                found = dict(archive_of_arrays)
            arrays = {key: array for key, array in found.items() if isinstance(array, np.ndarray)}
            matrix = _csr(arrays) if set(_CSR) <= set(arrays) else None
        X, key = (matrix, "data") if matrix is not None else _features(arrays, options.label, source.name)
        taken = {key, *(_CSR if matrix is not None else ())}
        others = {key: array for key, array in arrays.items() if key not in taken}
        yield Part(X, *_labels(others, options, source.name))

    def write(self, examples: Examples) -> bytes:
        """Return the arrays ``X`` and ``y``, or those of `scipy.sparse.save_npz` and ``y``."""
        X = as_matrix(examples, self.name)
        arrays: Params = {}
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


def _features(arrays: Mapping[str, Array], label: Label, name: str) -> tuple[Array, str]:
    known = [key for key in _FEATURES if key in arrays and key != label]
    matrices = [key for key, array in arrays.items() if array.ndim >= 2 and array.dtype.kind in "biuf" and key != label]
    if known or len(matrices) == 1:
        key = (known or matrices)[0]
        return arrays[key], key
    raise DataError(
        f"The archive {name} must have the features as 'X', or as its only matrix. Got {list_names(list(arrays))} "
        "instead."
    )


def _labels(arrays: Mapping[str, Array], options: ReadOptions, name: str) -> tuple[Array | None, str | None]:
    asked = _LABELS if options.label is None else (str(options.label),)
    key = next((key for key in asked if key in arrays), None)
    if key is not None or options.labels != "required":
        return (None, None) if key is None else (arrays[key], key)
    raise DataError(
        f"The archive {name} must have the labels as {asked[0]!r}, or say with label which array, of "
        f"{list_names(list(arrays)) or 'none'}.",
        parameter="label",
    )


def _csr(arrays: Mapping[str, Array]) -> Any:
    """Return the matrix that `scipy.sparse.save_npz` wrote, checked before it is used."""
    data, indices, indptr, shape, kind = (arrays[key] for key in _CSR)
    if kind.item() not in ("csr", b"csr"):
        raise ValueError(f"the sparse matrix must be of format 'csr', and it is {short_repr(kind.tolist())}")
    X = sp.csr_matrix((data.astype(np.uint8) if data.dtype.kind == "b" else data, indices, indptr), shape=tuple(shape))
    X.check_format(full_check=True)
    X.sum_duplicates()
    return X
