"""Files of svmlight and libsvm: lines of a label and the features that are not 0, read by scikit-learn."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from votron._util.types import Floats, RowsLike
from votron.data._sources import Source, text_parts
from votron.data.examples import Examples, short_repr
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.data.tables import as_matrix
from votron.errors import DataError

_MAX_INDEX = 2**31 - 2
"""The highest number that a feature may have: svm-train keeps them in 32 bits."""
_DENSE_ABOVE = 0.3
_NUMBER = rb"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?"
_LOOKS_LIKE = re.compile(rb"\s*+" + _NUMBER + rb"(?:[ \t]++\d++:" + _NUMBER + rb")++[ \t]*+(?:#[^\n]*+)?\r?(?:\n|$)")


class Svmlight(Format):
    """Lines of a label and the features that are not 0."""

    name = "svmlight"
    suffixes = (".svm", ".svmlight", ".libsvm")
    options = ("n_features", "zero_based", "encoding")
    labels_at = "at the beginning of each line"
    sequential = True

    def looks_like(self, head: bytes) -> bool:
        """Tell whether the first line with something on it can be nothing else."""
        lines = (line for line in head.split(b"\n") if line.split(b"#")[0].strip())
        return _LOOKS_LIKE.fullmatch(next(lines, b"")) is not None

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield CSR matrices; an array if all is read at once and much of it is not 0."""
        row, zero_based = 0, options.zero_based
        for data, line in text_parts(source, batch_bytes, lambda data: data.rfind(b"\n") + 1):
            X, y = _read(data, source.name, line)
            if not len(y):
                if batch_bytes is None:
                    raise DataError(f"Cannot read {source.name} as svmlight: it has no examples.")
                continue
            zero_based = _is_zero_based(X, zero_based, source.name, row)
            X, notes = _with_width(X, 0 if zero_based else 1, options.n_features, source.name)
            row += len(y)
            if batch_bytes is None:
                X = _dense_enough(X, options.max_bytes)
            yield Part(X, y, about={"zero_based": zero_based, "notes": notes})
            del X, y, data  # not to be in memory while the next are read

    def write(self, examples: Examples) -> bytes:
        """Return lines as svm-train takes them."""
        X = sp.csr_matrix(as_matrix(examples, self.name), copy=True)  # which is tidied, and not ours
        X.sum_duplicates()
        X.eliminate_zeros()
        labels = _labels_to_write(examples)
        whole = X.data.dtype.kind == "b" or ((np.floor(X.data) == X.data).all() and (np.abs(X.data) < 2.0**53).all())
        data = (X.data.astype(np.int64) if whole else X.data).tolist()
        indices, ends = (X.indices + 1).tolist(), X.indptr.tolist()
        lines = []
        for row, label in enumerate(labels):
            pairs = [(indices[i], data[i]) for i in range(ends[row], ends[row + 1])]
            if row == 0 and not (X.indices == X.shape[1] - 1).any():
                pairs.append((X.shape[1], 0))
            lines.append(" ".join([label, *(f"{index}:{_short(value)}" for index, value in pairs)]))
        return ("\n".join(lines) + "\n").encode("ascii")


def _read(data: bytes, name: str, first_line: int) -> tuple[Any, Floats]:
    """Return features as CSR, with feature 0 in column 0, and labels."""
    from sklearn.datasets import load_svmlight_file  # what `votron predict --help` does without

    try:
        X, y = load_svmlight_file(io.BytesIO(data), zero_based=True)
        if X.shape[1] > _MAX_INDEX + 1:
            raise ValueError(f"features must have numbers up to {_MAX_INDEX}")
    except (ValueError, OverflowError, IndexError, TypeError) as error:
        _find_fault(data, name, first_line)
        reason = " ".join(str(error).split()).rstrip(".")
        raise DataError(f"Cannot read {name} as svmlight: {reason}.") from None
    return X, y


def _find_fault(data: bytes, name: str, first_line: int) -> None:
    """Raise the error of the first line that is not as it must be, if there is one."""
    for line, text in enumerate(data.split(b"\n"), start=first_line):
        label, *features = text.split(b"#")[0].split() or [b"0"]
        if re.fullmatch(_NUMBER, label) is None:
            raise DataError(
                f"Line {line} of {name} must begin with a label, a number (0 where it is not known). "
                f"Got {short_repr(label.decode(errors='replace'))} instead."
            )
        before = -1
        for feature in features:
            match = re.fullmatch(rb"\+?(\d{1,20}):" + _NUMBER, feature)
            if match is None or int(match[1]) > _MAX_INDEX:
                raise DataError(
                    f"Line {line} of {name} must have number:value for each feature after the label, with numbers up "
                    f"to {_MAX_INDEX}. Got {short_repr(feature.decode(errors='replace'))} instead."
                )
            if int(match[1]) <= before:
                raise DataError(
                    f"The features in line {line} of {name} must be in ascending order, each once. "
                    f"Got {int(match[1])} after {before} instead."
                )
            before = int(match[1])


def _is_zero_based(X: RowsLike, zero_based: bool | None, name: str, first_row: int) -> bool:
    """Return whether the first feature is number 0: as told, or if there is one."""
    has_zero = bool((X.indices == 0).any())
    if has_zero and zero_based is False:
        row = int(np.searchsorted(X.indptr, np.flatnonzero(X.indices == 0)[0], side="right"))
        raise DataError(
            f"The features of {name} must be numbered from 1, as those before or of the model are. Got a feature 0 "
            f"in example {first_row + row} instead: say zero_based=True if they count from 0.",
            parameter="zero_based",
        )
    return has_zero if zero_based is None else zero_based


def _with_width(X: RowsLike, first: int, n_features: int | None, name: str) -> tuple[Any, tuple[str, ...]]:
    """Return the features from the first on, as many as asked for; those that a model does not know are left out."""
    indices = X.indices - first
    found = int(indices.max()) + 1 if len(indices) else 0
    width = max(found, 1) if n_features is None else int(n_features)
    X = sp.csr_matrix((X.data, indices, X.indptr), shape=(X.shape[0], max(width, found)))
    if found <= width:
        return X, ()
    note = f"{found - width} features of {name}, those beyond {width}, are not known to the model and were left out."
    return X[:, :width], (note,)


def _dense_enough(X: RowsLike, max_bytes: int) -> Any:
    """Return an array if a good part of the numbers is not 0, else the CSR matrix."""
    n_numbers = X.shape[0] * X.shape[1]
    return X.toarray() if X.nnz > _DENSE_ABOVE * n_numbers and 8 * n_numbers <= max_bytes else X


def _short(value: float) -> str:
    return repr(value).removesuffix(".0")


def _labels_to_write(examples: Examples) -> list[str]:
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
