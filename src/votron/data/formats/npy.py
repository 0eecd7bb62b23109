"""NumPy's files: one array, ``.npy``, or an archive of arrays, ``.npz``, read without pickle."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from votron._util.types import Params
from votron.data._sources import Source, check_expanded
from votron.data.examples import Examples
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.data.tables import as_matrix, list_names
from votron.errors import DataError

_FEATURES = ("X", "data", "features", "x_train", "x")
_LABELS = ("y", "labels", "label", "target", "targets", "y_train")


@contextmanager
def _numpy_errors(name: str) -> Iterator[None]:
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # a damaged header or archive fails in a dozen ways
        reason = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
        if "allow_pickle" in reason:
            reason = "it holds Python objects, which only pickle could read, and it could run code"
        raise DataError(f"Cannot read {name} as NumPy's: {reason}.") from None


class Npy(Format):
    """One array, whose labels are one of its columns, if any."""

    name = "npy"
    suffixes = (".npy",)
    magic = (b"\x93NUMPY",)

    def in_bounded_memory(self, source: Source) -> bool:
        return source.plain_path is not None

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        mapped = batch_bytes is not None and source.plain_path is not None
        with _numpy_errors(source.name):
            file: Any = source.plain_path if mapped else io.BytesIO(source.read())
            array = np.atleast_1d(np.load(file, mmap_mode="r" if mapped else None, allow_pickle=False))
        label = options.label
        try:
            columns = range(array.shape[1] if array.ndim == 2 else 0)
            column = None if label is None and options.labels != "required" else columns[int(str(label))]
        except (ValueError, IndexError):
            raise DataError(
                f"Say which column of {source.name} holds the labels, with label: a number, -1 for the last one, of an "
                f"array of two dimensions. Got {label!r} for the shape {array.shape}.",
                parameter="label",
            ) from None
        n = max(1, len(array) if batch_bytes is None else batch_bytes * len(array) // max(1, array.nbytes))
        for begin in range(0, len(array) or 1, n):
            X = np.array(array[begin : begin + n], dtype=array.dtype.newbyteorder("="), order="C")
            yield Part(X) if column is None else Part(np.delete(X, column, axis=1), X[:, column], str(label))


class Npz(Format):
    """Archives of arrays: the features, and the labels by a key of their own; sparse matrices as SciPy keeps them."""

    name = "npz"
    suffixes = (".npz",)
    magic = (b"PK\x03\x04",)

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        with _numpy_errors(source.name):
            file: Any = source.plain_path or io.BytesIO(source.read())
            with zipfile.ZipFile(file) as archive:
                check_expanded(sum(info.file_size for info in archive.infolist()), source, options.max_bytes)
            with np.load(file, allow_pickle=False) as found:
                arrays: dict[str, Any] = dict(found)
            X = None
            if "indptr" in arrays:  # as scipy.sparse.save_npz writes it
                X = sp.load_npz(file)
                X.check_format(full_check=True)
                X.sum_duplicates()
        if X is None:
            given = [key for key in _FEATURES if key in arrays and key != options.label]
            matrices = [key for key, array in arrays.items() if np.ndim(array) >= 2 and key != options.label]
            if not given and len(matrices) != 1:
                raise DataError(
                    f"The archive {source.name} must have the features as 'X', or as its only matrix. Got "
                    f"{list_names(list(arrays))} instead."
                )
            X = arrays.pop((given or matrices)[0])
        asked = _LABELS if options.label is None else (str(options.label),)
        label = next((key for key in asked if key in arrays), None)
        if label is None and options.labels == "required":
            raise DataError(
                f"The archive {source.name} must have the labels as {asked[0]!r}, or say with label which array, of "
                f"{list_names(list(arrays)) or 'none'}.",
                parameter="label",
            )
        yield Part(X, None if label is None else arrays[label], label)

    def write(self, examples: Examples) -> bytes:
        X = as_matrix(examples, self.name)
        arrays: Params = {}
        if sp.issparse(X):
            X = X.tocsr()
            arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape, "format": b"csr"}
        else:
            arrays["X"] = X if examples.image_shape is None else X.reshape(len(X), *examples.image_shape)
        if examples.y is not None:
            arrays["y"] = examples.y
        content = io.BytesIO()
        np.savez_compressed(content, **arrays)
        return content.getvalue()
