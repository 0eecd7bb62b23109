"""Writing examples in the formats of others, whole or not at all."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._files import write_bytes
from votron._frames import columns_of, floats_of
from votron.data._csv_columns import EXACT
from votron.data._polars import kind_of, polars, sentences
from votron.data.examples import Examples
from votron.data.formats import SUFFIXES, WRITTEN_FORMATS
from votron.errors import DataError, Parameter, Phrase, VotronError

__all__ = ["write_examples"]

_MAX_CELLS = 1 << 28


def write_examples(examples: Examples, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write examples to a file in a format of choice, for `read_examples` and for others.

    Tables get the labels as their last column, called as it was, or "label"; features without a name are called
    x0, x1, and so on. An ``.npz`` file has the arrays ``X`` and ``y``, or those of `scipy.sparse.save_npz` and ``y``.
    svmlight is as svm-train takes it: features count from 1, labels are numbers, truth values become 1 and -1, and
    labels that are not known 0. A last feature that is always 0 is written once, so that it is not lost.

    Parquet, Arrow and ``.npz`` are read again as they were. svmlight is read as float64, exact to 2^53. CSV and TSV are
    text, and say of no text that it is one: if all texts of a column look like numbers or truth values, they are read
    as such unless the column is named in ``as_text`` (of labels, unless ``label_kind="text"``); texts such as "NA" are
    missing unless ``na_values=()``, and an empty one always is; spaces around texts are lost; and names of columns
    that are numbers need ``header=True``.

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
    chosen = format if format is not None else SUFFIXES.get(target.suffix.lower())
    if chosen not in WRITTEN_FORMATS:
        rule = ", ".join(map(repr, WRITTEN_FORMATS))
        raise VotronError(
            Parameter("format", of="write_examples"),
            f" must be one of {rule}, or the name of the file must say. Got ",
            Phrase("format of a file", f"{format!r} for "),
            f"{target.name!r} instead.",
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
            style = "non_numeric" if _looks_quoted(frame) else "necessary"
            frame.write_csv(buffer, separator="," if format == "csv" else "\t", quote_style=style)
        elif format == "parquet":
            frame.write_parquet(buffer)
        else:
            frame.write_ipc(buffer)
    return buffer.getvalue()


def _looks_quoted(frame: Any) -> bool:
    """Tell whether some text begins with a single quote, which would be taken for one around the field."""
    text = polars().String
    texts = [column for column in frame.get_columns() if column.dtype == text]
    return any(column.str.starts_with("'").any() for column in texts) or any(one[:1] == "'" for one in frame.columns)


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
    X = sp.csr_matrix(numbers_of_table(examples, "svmlight"), copy=True)  # which is tidied, and not ours
    X.sum_duplicates()
    X.eliminate_zeros()
    labels = _svmlight_labels(examples)
    n_features = X.shape[1]
    data = (X.data.astype(np.int64) if _are_whole(X.data) else X.data).tolist()
    indices, ends = (X.indices + 1).tolist(), X.indptr.tolist()
    lines = []
    for row, label in enumerate(labels):
        pairs = [(indices[i], data[i]) for i in range(ends[row], ends[row + 1])]
        if row == 0 and not (X.indices == n_features - 1).any():
            pairs.append((n_features, 0))
        lines.append(" ".join([label, *(f"{index}:{_short(value)}" for index, value in pairs)]))
    return ("\n".join(lines) + "\n").encode("ascii")


def _are_whole(numbers: NDArray[Any]) -> bool:
    """Tell whether they are truth values, or floats that int64 holds; what is whole already stays as it is."""
    if numbers.dtype.kind == "f":
        return bool((numbers == np.floor(numbers)).all() and (np.abs(numbers) < EXACT).all())
    return numbers.dtype.kind == "b"


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
