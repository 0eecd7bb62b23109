"""Files of svmlight and libsvm: a label, and then number:value for each feature that is not 0.

scikit-learn reads them. What it refuses, or would misread, is looked for again line by line, so that the sentence can
say where it is. In libsvm the first feature has number 1; a file that has a feature 0 counts from 0.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron.data._sources import Source, check_memory, text_parts
from votron.data.conversion import as_matrix
from votron.data.examples import Examples, short_repr
from votron.data.formats.base import Format, Part
from votron.data.options import ReadOptions
from votron.errors import DataError, Parameter

MAX_INDEX = 2**31 - 2
"""The highest number that a feature may have: svm-train keeps them in 32 bits."""
_DENSE_ABOVE = 0.3
BYTES_A_BYTE = 3
"""The memory that a byte of text takes, at least, while it is read; features and lines take some beside it."""
_BYTES_A_FEATURE = 56
_BYTES_A_LINE = 32
# What is matched is not given back (++): else a long line that fails at its end would be tried again at every digit.
_NUMBER = rb"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?"
_LABEL = re.compile(_NUMBER)
_FEATURE = re.compile(rb"\+?(\d++):(" + _NUMBER + rb")")
_WORD = re.compile(rb"\S++")
_SAMPLE = 1 << 16
_MAX_SHOWN = 200
LOOKS_LIKE = re.compile(rb"\s*+" + _NUMBER + rb"(?:[ \t]++\d++:" + _NUMBER + rb")++[ \t]*+(?:#[^\n]*+)?\r?(?:\n|$)")
"""A first line that can be nothing else."""


class Svmlight(Format):
    """Lines of a label and the features that are not 0."""

    name = "svmlight"
    suffixes = (".svm", ".svmlight", ".libsvm")
    options = ("n_features", "zero_based", "encoding")
    label_by, labels_at = "place", "at the beginning of each line"
    sequential = True

    def looks_like(self, head: bytes) -> bool:
        """Tell whether the first line with something on it can be nothing else."""
        lines = (line for line in head.split(b"\n") if line.split(b"#")[0].strip())
        return LOOKS_LIKE.fullmatch(next(lines, b"")) is not None

    def read(self, source: Source, options: ReadOptions, batch_bytes: int | None) -> Iterator[Part]:
        """Yield CSR matrices; an array if all is read at once and much of it is not 0."""
        check_beginning(source)
        whole, row, zero_based = batch_bytes is None, 0, options.zero_based
        for data, line in _whole_text(source) if batch_bytes is None else text_parts(source, batch_bytes, _last_line):
            if not whole and not has_examples(data):
                continue
            X, y = read_svmlight_part(data, source.name, line)
            if not len(y):
                raise DataError(f"Cannot read {source.name} as svmlight: it has no examples.")
            zero_based = _numbered(X, zero_based, source.name, row)
            X, notes = _with_width(X, 0 if zero_based else 1, options.n_features, source.name)
            row += len(y)
            yield Part(
                _dense_enough(X, options.max_bytes) if whole else X, y, about={"zero_based": zero_based, "notes": notes}
            )
            del X, y, data  # not to be in memory while the next are read

    def write(self, examples: Examples) -> bytes:
        """Return lines as svm-train takes them."""
        X = sp.csr_matrix(as_matrix(examples, self.name), copy=True)  # which is tidied, and not ours
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


def _whole_text(source: Source) -> Iterator[tuple[bytes, int]]:
    yield source.read(BYTES_A_BYTE, more=_memory), 1


def _last_line(data: bytes) -> int:
    return data.rfind(b"\n") + 1


def check_beginning(source: Source) -> None:
    """Refuse what is something else by its first words, such as a device that gives zeros for ever."""
    sample = source.head[:_SAMPLE]
    if b"\n" not in sample:
        sample = sample.replace(b"\r", b"\n")
    cut = max(sample.rfind(b" "), sample.rfind(b"\n"), sample.rfind(b"\t"))
    find_fault(sample[:cut] if cut > 0 else sample, source.name, 1)


def _memory(data: bytes) -> int:
    """Return the bytes that the features and lines of some text take in memory, beside the text."""
    return _BYTES_A_FEATURE * data.count(b":") + _BYTES_A_LINE * data.count(b"\n")


def read_svmlight_part(data: bytes, name: str, first_line: int = 1) -> tuple[Any, NDArray[np.float64]]:
    """Return features as CSR, numbered as in the file, with feature 0 in column 0, and labels."""
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    check_memory((BYTES_A_BYTE - 1) * len(data) + _memory(data), name)
    if b"\0" in data or b"_" in data or b"qid" in data:  # some of which Python would take for part of a number
        find_fault(data, name, first_line)
    from sklearn.datasets import load_svmlight_file  # what `votron predict --help` does without

    try:
        X, y = load_svmlight_file(io.BytesIO(data), zero_based=True)
    except (ValueError, OverflowError, IndexError, TypeError) as error:
        find_fault(data, name, first_line)
        reason = " ".join(str(error).split()).rstrip(".")
        raise DataError(f"Cannot read {name} as svmlight: {reason}.") from None
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()) or X.shape[1] > MAX_INDEX + 1:
        find_fault(data, name, first_line)
    return X, y


def find_fault(data: bytes, name: str, first_line: int) -> None:
    """Raise the error of the first line that is not as it must be, if there is one."""
    for number, line in enumerate(io.BytesIO(data), start=first_line):
        end = line.find(b"#")
        words = _WORD.finditer(line, 0, end if end >= 0 else len(line))
        where = f"line {number} of {name}"
        label = next(words, None)
        if label is not None and not (_LABEL.fullmatch(label[0]) and np.isfinite(float(label[0]))):
            raise DataError(
                f"The {where} must begin with a label, a number (0 where it is not known). "
                f"Got {_text(label[0])} instead."
            )
        before = -1
        for word in words:
            before = _checked_feature(word[0], before, where)


def _checked_feature(part: bytes, before: int, where: str) -> int:
    if part.startswith(b"qid:"):
        raise DataError(f"The {where} has {_text(part)}: rankings with queries are not for classifiers. Take it out.")
    match = _FEATURE.fullmatch(part)
    if match is None:
        raise DataError(
            f"The {where} must have number:value for each feature, both numbers, after the label. "
            f"Got {_text(part)} instead."
        )
    index = int(match[1]) if len(match[1]) < 20 else MAX_INDEX + 1
    if index > MAX_INDEX:
        raise DataError(f"The features in {where} must have numbers up to {MAX_INDEX}. Got {_text(part)} instead.")
    if index <= before:
        raise DataError(
            f"The features in {where} must be in ascending order, each once. Got {index} after {before} instead."
        )
    if not np.isfinite(float(match[2])):
        raise DataError(f"The values in {where} must be finite numbers. Got {_text(part)} instead.")
    return index


def _text(part: bytes) -> str:
    return short_repr(part[:_MAX_SHOWN].decode("utf-8", errors="replace"))


def has_examples(data: bytes) -> bool:
    """Tell whether there is more than comments and blank lines."""
    return any(line.split(b"#", 1)[0].strip() for line in io.BytesIO(data))


def _numbered(X: Any, zero_based: bool | None, name: str, first_row: int) -> bool:
    """Return whether the first feature is number 0: as told, or if there is one."""
    has_zero = bool(X.shape[1]) and bool((X.indices == 0).any())
    if has_zero and zero_based is False:
        row = int(np.searchsorted(X.indptr, np.flatnonzero(X.indices == 0)[0], side="right"))
        raise DataError(
            f"The features of {name} must be numbered from 1, as those before or of the model are. Got a feature 0 in "
            f"example {first_row + row} instead: say ",
            Parameter("zero_based", True),
            " if they count from 0.",
        )
    return has_zero if zero_based is None else zero_based


def _with_width(X: Any, first: int, n_features: int | None, name: str) -> tuple[Any, tuple[str, ...]]:
    """Return the features from the first on, as many as asked for; what a model does not know is passed over."""
    indices = X.indices - first
    found = int(indices.max()) + 1 if len(indices) else 0
    width = max(found, 1) if n_features is None else int(n_features)
    X = sp.csr_matrix((X.data, indices, X.indptr), shape=(X.shape[0], max(width, found)))
    if found <= width:
        return X, ()
    note = (
        f"{found - width} features of {name}, those beyond {width}, are not known to the model and were passed over, "
        "as svm-predict does."
    )
    return X[:, :width], (note,)


def _dense_enough(X: Any, max_bytes: int) -> Any:
    """Return an array if a good part of the numbers is not 0, else the CSR matrix."""
    n_numbers = X.shape[0] * X.shape[1]
    return X.toarray() if X.nnz > _DENSE_ABOVE * n_numbers and 8 * n_numbers <= max_bytes else X


def _are_whole(numbers: NDArray[Any]) -> bool:
    """Tell whether they are truth values, or floats that int64 holds; what is whole already stays as it is."""
    if numbers.dtype.kind == "f":
        return bool((numbers == np.floor(numbers)).all() and (np.abs(numbers) < 2.0**53).all())
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
