"""Labels as classifiers take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron.errors import DataError

_MAX_CHARACTERS = 1000


def tidy_labels(y: NDArray[Any], what: str) -> NDArray[Any]:
    """Return labels as int64 where they are whole numbers, else as truth values, text or float64.

    Examples
    --------
    >>> tidy_labels(np.array([1.0, -1.0]), "The labels")
    array([ 1, -1])
    """
    if y.dtype.kind == "S":
        try:
            y = np.char.decode(y, "utf-8")
        except UnicodeDecodeError:
            raise DataError(f"{what} must be text in UTF-8.") from None
    if y.dtype.kind == "U":
        check_length(y.dtype.itemsize // 4, what)
        return y
    if y.dtype.kind == "b":
        return y
    if y.dtype.kind not in "iuf":
        raise DataError(f"{what} must be whole numbers, text or truth values. Got values of type {y.dtype} instead.")
    if y.dtype.kind == "f":
        return _from_floats(y.astype(np.float64), what)
    if y.dtype.kind == "u" and len(y) and y.max() > np.iinfo(np.int64).max:
        raise DataError(f"{what} must fit into 64 bits, or be text. Got {y.max()} instead.")
    return y.astype(np.int64)


def check_length(n_characters: int, what: str) -> None:
    """Refuse labels that are no names: NumPy would give every label the space of the longest."""
    if n_characters > _MAX_CHARACTERS:
        raise DataError(
            f"{what} must hold names of classes, of at most {_MAX_CHARACTERS} characters. Got {n_characters} instead."
        )


def _from_floats(y: NDArray[np.float64], what: str) -> NDArray[Any]:
    bad = np.flatnonzero(~np.isfinite(y))
    if len(bad):
        raise DataError(f"{what} must be finite. Got {y[bad[0]]} for example {bad[0] + 1} instead.")
    if (np.abs(y) >= 2.0**53).any():
        raise DataError(f"{what} must be less than 2^53, or text. Got {y[np.argmax(np.abs(y))]:g} instead.")
    return y.astype(np.int64) if (y == np.floor(y)).all() else y
