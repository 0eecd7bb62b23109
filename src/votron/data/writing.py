"""Writing examples in the formats of others, whole or not at all."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from votron._files import write_bytes
from votron._frames import columns_of, floats_of, kind_of
from votron.data._polars import polars, sentences
from votron.data.examples import Examples
from votron.errors import DataError, VotronError

__all__ = ["write_examples"]

WRITABLE = ("csv", "tsv", "parquet", "arrow", "svmlight", "npz")
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".npz": "npz",
}
_MAX_CELLS = 1 << 28


def write_examples(examples: Examples, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write examples to a file in a format of choice; `read_examples` reads them again as they are.

    Tables get the labels as their last column, called as it was, or "label"; features without a name are called
    x0, x1, and so on. An ``.npz`` file has the arrays ``X`` and ``y``, or those of `scipy.sparse.save_npz` and ``y``.
    svmlight is as svm-train takes it: features count from 1, labels are numbers, truth values become 1 and -1, and
    labels that are not known 0. A last feature that is always 0 is written once, so that it is not lost.

    Parameters
    ----------
    examples : Examples
        The examples.
    path : str or path-like
        The file. It is the old one or the new one at any moment, never half of it.
    format : {"csv", "tsv", "parquet", "arrow", "svmlight", "npz"}, optional
        By default what the name of the file says.

    Raises
    ------
    DataError
        If the format cannot hold the examples, such as words in svmlight.
    VotronError
        If there is no such format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from votron.data import Examples, write_examples
    >>> examples = Examples(np.array([[0.5, 0.0], [0.0, 2.0]]), np.array([1, -1]), "npy", "two.npy")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two.svm")
    ...     write_examples(examples, path)
    ...     print(path.read_text(), end="")
    1 1:0.5
    -1 2:2
    """
    target = Path(os.path.expanduser(path))
    chosen = format if format is not None else _SUFFIXES.get(target.suffix.lower())
    if chosen not in WRITABLE:
        rule = ", ".join(map(repr, WRITABLE))
        raise VotronError(
            f"The 'format' parameter of write_examples must be one of {rule}, or the name of the file must say. "
            f"Got {format!r} for {target.name!r} instead."
        )
    if chosen == "svmlight":
        content = _svmlight(examples)
    elif chosen == "npz":
        content = _npz(examples)
    else:
        content = _table(examples, chosen)
    try:
        write_bytes(target, content)
    except OSError as error:
        raise DataError(f"Cannot write '{target}': {error.strerror or error}.") from None


# -- tables -----------------------------------------------------------------------------------------------------------


def _table(examples: Examples, format: str) -> bytes:
    frame = _frame(examples)
    buffer = io.BytesIO()
    with sentences(f"Cannot write {examples.source!r} as {format}"):
        if format in ("csv", "tsv"):
            frame.write_csv(buffer, separator="," if format == "csv" else "\t")
        elif format == "parquet":
            frame.write_parquet(buffer)
        else:
            frame.write_ipc(buffer)
    return buffer.getvalue()


def _frame(examples: Examples) -> Any:
    pl = polars()
    X = examples.X
    if examples.columns is None:
        if X.shape[0] * X.shape[1] > _MAX_CELLS:
            raise DataError(f"A table of {X.shape[0]:,} x {X.shape[1]:,} cells is too large: write svmlight or npz.")
        dense = X.toarray() if sp.issparse(X) else X
        X = pl.DataFrame({f"x{i}": np.ascontiguousarray(dense[:, i]) for i in range(dense.shape[1])})
    if examples.y is None:
        return X
    name = examples.label if examples.columns is not None and examples.label else "label"
    while name in X.columns:
        name += "_"
    y = examples.y.tolist() if examples.y.dtype.kind == "U" else examples.y
    return X.with_columns(pl.Series(name, y))


# -- arrays -----------------------------------------------------------------------------------------------------------


def numbers_of_table(examples: Examples, format: str) -> Any:
    """Return the features as an array or CSR matrix; refuse words."""
    if examples.columns is None:
        return examples.X
    for column in columns_of(examples.X):
        if kind_of(column) not in ("number", "boolean"):
            raise DataError(
                f"The format {format!r} holds numbers alone, and column {column.name!r} of {examples.source!r} has none"
                ": write csv, parquet or arrow, or leave the column out."
            )
        if column.null_count():
            raise DataError(
                f"The format {format!r} has no missing values, and column {column.name!r} of {examples.source!r} has "
                "some."
            )
    types = {str(column.dtype) for column in columns_of(examples.X)}
    if len(types) == 1 and "Boolean" not in types:
        return examples.X.to_numpy()
    return np.column_stack([floats_of(column) for column in columns_of(examples.X)])


def _npz(examples: Examples) -> bytes:
    X = numbers_of_table(examples, "npz")
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


def _svmlight(examples: Examples) -> bytes:
    X = sp.csr_matrix(numbers_of_table(examples, "svmlight"))
    X.sum_duplicates()
    labels = _svmlight_labels(examples)
    n_features = X.shape[1]
    whole = X.data.dtype.kind in "iub" or bool((X.data == np.floor(X.data)).all() and (np.abs(X.data) < 2.0**53).all())
    data = (X.data.astype(np.int64) if whole else X.data.astype(np.float64)).tolist()
    indices, ends = (X.indices + 1).tolist(), X.indptr.tolist()
    lines = []
    for row, label in enumerate(labels):
        pairs = [(indices[i], data[i]) for i in range(ends[row], ends[row + 1]) if data[i]]
        if row == 0 and (not pairs or pairs[-1][0] < n_features) and not (X.indices == n_features - 1).any():
            pairs.append((n_features, 0))
        lines.append(" ".join([label, *(f"{index}:{_short(value)}" for index, value in pairs)]))
    return ("\n".join(lines) + "\n").encode("ascii")


def _short(value: float) -> str:
    text = repr(value)
    return text.removesuffix(".0")


def _svmlight_labels(examples: Examples) -> list[str]:
    y = examples.y
    if y is None:
        return ["0"] * examples.n_rows
    if y.dtype.kind == "U":
        raise DataError(
            f"Labels in svmlight are numbers, and those of {examples.source!r} are text, such as {str(y[0])!r}: number "
            "the classes, or write csv, parquet, arrow or npz."
        )
    if y.dtype.kind == "b":
        return ["1" if value else "-1" for value in y.tolist()]
    return [_short(value) for value in y.tolist()]
