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
_ERRORS = (ValueError, OverflowError, IndexError, TypeError)
"""What scikit-learn raises for lines that it cannot read."""
_NUMBER = rb"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?"
_LOOKS_LIKE = re.compile(rb"\s*+" + _NUMBER + rb"(?:[ \t]++\d++:" + _NUMBER + rb")++[ \t]*+(?:#[^\n]*+)?\r?(?:\n|$)")


class Svmlight(Format):
    """Lines of a label and the features that are not 0."""

    name = "svmlight"
    suffixes = (".svm", ".svmlight", ".libsvm")
    sequential = True

    def looks_like(self, head: bytes) -> bool:
        lines = (line for line in head.split(b"\n") if line.split(b"#")[0].strip())
        return _LOOKS_LIKE.fullmatch(next(lines, b"")) is not None

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        zero_based, found = options.zero_based, 0
        for data, line in text_parts(source, batch_bytes, lambda data: data.rfind(b"\n") + 1):
            X, y = _read(data, source.name, line)
            found += len(y)
            if len(y):
                X, zero_based, note = _numbered(X, options, zero_based, source.name)
                if batch_bytes is None and X.nnz > _DENSE_ABOVE * X.shape[0] * X.shape[1]:
                    X = X.toarray() if 8 * X.shape[0] * X.shape[1] <= options.max_bytes else X
                yield Part(X, y, about={"zero_based": zero_based, "notes": (note,) if note else ()})
            del X, y, data  # not to be in memory while the next are read
        if not found:
            raise DataError(f"Cannot read {source.name} as svmlight: it has no examples.")

    def write(self, examples: Examples) -> bytes:
        X = sp.csr_matrix(as_matrix(examples, self.name), copy=True)  # which is tidied, and not ours
        X.sum_duplicates()
        X.eliminate_zeros()
        pairs = zip((X.indices + 1).tolist(), (X.data + 0).tolist(), strict=True)  # where True is 1
        features = [f"{i}:{_shortest(value)}" for i, value in pairs]
        y = np.zeros(examples.n_rows) if examples.y is None else examples.y
        if y.dtype.kind == "U":
            raise DataError(f"Labels in svmlight are numbers. Got {str(y[0])!r}: number the classes, or write csv.")
        labels = map(_shortest, (np.where(y, 1, -1) if y.dtype.kind == "b" else y).tolist())
        lines = [[label, *features[X.indptr[i] : X.indptr[i + 1]]] for i, label in enumerate(labels)]
        if not (X.indices == X.shape[1] - 1).any():
            lines[0].append(f"{X.shape[1]}:0")
        return "".join(f"{' '.join(line)}\n" for line in lines).encode("ascii")


def _read(data: bytes, name: str, first_line: int) -> tuple[Any, Floats]:
    """Return features as CSR, with feature 0 in column 0, and labels."""
    try:
        return _parse(data)
    except _ERRORS:
        lines = data.split(b"\n")
    low, high = 0, len(lines)
    while high - low > 1:  # lines before `low` can be read, those before `high` cannot
        middle = (low + high) // 2
        try:
            _parse(b"\n".join(lines[low:middle]))
            low = middle
        except _ERRORS:
            high = middle
    raise DataError(
        f"Line {first_line + low} of {name} must have a label, a number, and number:value for each feature, in "
        f"ascending order up to {_MAX_INDEX}. Got {short_repr(lines[low].decode(errors='replace'))} instead."
    )


def _parse(data: bytes) -> tuple[Any, Floats]:
    from sklearn.datasets import load_svmlight_file  # what `votron predict --help` does without

    X, y = load_svmlight_file(io.BytesIO(data), zero_based=True)
    if X.shape[1] > _MAX_INDEX + 1:
        raise ValueError("a feature has too high a number")
    return X, y


def _numbered(X: RowsLike, options: ReadOptions, zero_based: bool | None, name: str) -> tuple[Any, bool, str]:
    """Return the features from number 0 or 1 on, as many as a model knows; whether from 0, and what was left out."""
    has_zero = bool((X.indices == 0).any())
    if has_zero and zero_based is False:
        raise DataError(
            f"The features of {name} must be numbered from 1, as those before or of the model are. Got a feature 0: "
            "say zero_based=True if they count from 0.",
            parameter="zero_based",
        )
    zero_based = has_zero if zero_based is None else zero_based
    indices = X.indices if zero_based else X.indices - 1
    found = int(indices.max(initial=0)) + 1
    width = options.n_features or found
    X = sp.csr_matrix((X.data, indices, X.indptr), shape=(X.shape[0], max(width, found)))
    if found <= width:
        return X, zero_based, ""
    beyond = f"{found - width} features of {name}, those beyond {width}"
    return X[:, :width], zero_based, f"{beyond}, are not known to the model and were left out."


def _shortest(value: float) -> str:
    return repr(value).removesuffix(".0")
