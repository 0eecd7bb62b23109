"""Labels as classifiers take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron.data._budget import check_memory
from votron.data._csv_columns import shown
from votron.data.vocabulary import TRUTH
from votron.errors import DataError

_MAX_CHARACTERS = 200
_BYTES_A_TEXT = 64  # as an object of Python


def tidy_labels(y: NDArray[Any], what: str) -> NDArray[Any]:
    """Return labels as int64 where they are whole numbers, else as truth values, text or float64.

    Examples
    --------
    >>> tidy_labels(np.array([1.0, -1.0]), "The labels")
    array([ 1, -1])
    """
    if y.dtype.kind == "S":
        try:
            y = np.char.decode(_shortened(y, what), "utf-8")
        except UnicodeDecodeError:
            raise DataError(f"{what} must be text in UTF-8.") from None
    if y.dtype.kind == "U":
        return _shortened(y, what)
    if y.dtype.kind == "b":
        return y
    if y.dtype.kind not in "iuf":
        raise DataError(f"{what} must be whole numbers, text or truth values. Got values of type {y.dtype} instead.")
    if y.dtype.kind == "f":
        return _from_floats(y.astype(np.float64), what)
    if y.dtype.kind == "u" and len(y) and y.max() > np.iinfo(np.int64).max:
        raise DataError(f"{what} must fit into 64 bits, or be text. Got {y.max()} instead.")
    return y.astype(np.int64)


def _shortened(y: NDArray[Any], what: str) -> NDArray[Any]:
    """Return texts in as little space as the longest of them needs, if the space is more than labels should take."""
    kind = y.dtype.kind
    if y.dtype.itemsize // (4 if kind == "U" else 1) <= _MAX_CHARACTERS:
        return y
    longest = int(np.char.str_len(y).max()) if y.size else 0
    check_length(longest, what)
    return y.astype(f"{kind}{max(longest, 1)}")


def labels_as(y: NDArray[Any], kind: str | None, what: str) -> NDArray[Any]:
    """Return tidy labels as text, truth values or numbers, as told.

    Examples
    --------
    >>> labels_as(np.array([1, 0]), "truth", "The labels").tolist()
    [True, False]
    >>> labels_as(np.array([True, False]), "text", "The labels").tolist()
    ['true', 'false']
    """
    if kind is None or y.dtype.kind in {"text": "U", "truth": "b", "number": "iuf"}[kind]:
        return y
    if kind == "text":
        return np.where(y, "true", "false") if y.dtype.kind == "b" else y.astype(np.str_)
    values = y.tolist()
    try:
        if kind == "truth":
            return np.array([_truth(value) for value in values], dtype=np.bool_)
        return tidy_labels(np.array([_number(value) for value in values], dtype=np.float64), what)
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        rule = "true and false, or 1 and 0" if kind == "truth" else "numbers"
        raise DataError(f"{what} must be {rule}, as those that the model learnt. Got {error} instead.") from None


def _truth(value: Any) -> bool:
    found = TRUTH.get(value.strip().lower()) if isinstance(value, str) else {1: True, 0: False}.get(value)
    if found is None:
        raise ValueError(shown(value))
    return found


def _number(value: Any) -> float:
    try:
        return float("" if isinstance(value, bool) else value)
    except ValueError:
        raise ValueError(shown(value)) from None


def check_length(n_characters: int, what: str, n_labels: int = 0) -> None:
    """Refuse labels that are no names: NumPy gives every one of `n_labels` the space of the longest."""
    if n_characters > _MAX_CHARACTERS:
        raise DataError(
            f"{what} must hold names of classes, of at most {_MAX_CHARACTERS} characters. Got {n_characters} instead."
        )
    check_memory((4 * n_characters + _BYTES_A_TEXT) * n_labels, f"{what[:1].lower()}{what[1:]}")


def _from_floats(y: NDArray[np.float64], what: str) -> NDArray[Any]:
    bad = np.flatnonzero(~np.isfinite(y))
    if len(bad):
        raise DataError(f"{what} must be finite. Got {y[bad[0]]} for example {bad[0] + 1} instead.")
    if (np.abs(y) >= 2.0**53).any():
        raise DataError(f"{what} must be less than 2^53, or text. Got {y[np.argmax(np.abs(y))]:g} instead.")
    return y.astype(np.int64) if (y == np.floor(y)).all() else y
