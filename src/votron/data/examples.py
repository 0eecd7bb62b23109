"""Examples, wherever they came from: features and labels, checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.text import on_one_line, shortened
from votron._util.types import Array, RowsLike
from votron.errors import DataError

if TYPE_CHECKING:
    from votron.data.formats.base import Part
    from votron.data.options import ReadOptions

__all__ = ["Examples"]

Lines = Sequence[int] | NDArray[np.int64]
TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
_SHOWN = 40


@dataclass(frozen=True, eq=False, repr=False)
class Examples:
    """Examples that were read: features, labels if there are any, and where they came from.

    Attributes
    ----------
    X : DataFrame of polars, ndarray or CSR matrix
        A row an example: a frame where the source is a table, numbers otherwise.
    y : ndarray or None
        Their labels: int64, text, truth values, or float64 if some are not whole; None where they are not known.
    format, source : str
        What the source is, such as "csv", and the source as it was given.
    label : str or None
        The name of the column, key or file that the labels were in.
    image_shape : tuple of int or None
        Height and width of the images, and the number of colours if there are several.
    dropped, unlabelled : int
        How many rows were left out since something was missing in them, and how many of these have no label.
    zero_based : bool or None
        For svmlight, whether the first feature has number 0.
    files : tuple of str or None
        For folders of images, the file of each row, from the folder on.
    first_row : int
        How many examples of the source come before these, those left out included: not 0 for later batches.
    notes : tuple of str
        Remarks on the reading, in sentences.
    rows : int array or None
        The number of each row in the source, counted from 0, if they are not numbered from ``first_row`` on.
    lines : sequence of int or None
        For CSV, TSV and JSON Lines, the line of the source in which each begins, counted from 1.

    Examples
    --------
    >>> from votron.data import read_examples
    >>> read_examples("digits")
    <Examples of 'digits': 1,200 rows, 64 features, 10 classes>
    """

    X: RowsLike
    y: Array | None
    format: str
    source: str
    label: str | None = None
    image_shape: tuple[int, ...] | None = None
    dropped: int = 0
    zero_based: bool | None = None
    files: tuple[str, ...] | None = None
    first_row: int = 0
    notes: tuple[str, ...] = ()
    unlabelled: int = 0
    rows: NDArray[np.int64] | None = None
    lines: Lines | None = None

    @property
    def row_numbers(self) -> NDArray[np.int64]:
        """The number of each example among all of the source, counted from 1, those left out included."""
        return 1 + (np.arange(self.first_row, self.first_row + self.n_rows) if self.rows is None else self.rows)

    def place(self, i: int) -> str:
        """Return where the i-th of these is in the source, in the words of error messages: its line, or its number."""
        if self.lines is not None:
            return f"line {self.lines[i]}"
        return f"row {self.row_numbers[i]} (the first is 1)"

    @property
    def n_rows(self) -> int:
        """The number of examples."""
        return int(self.X.shape[0])

    @property
    def columns(self) -> list[str] | None:
        """The names of the columns of a table; None for what is no table."""
        return list(self.X.columns) if hasattr(self.X, "columns") else None

    def take(self, rows: RowsLike) -> Examples:
        """Return some of these, by their places here or by a mask, with what is known of each."""
        places = np.flatnonzero(rows) if np.asarray(rows).dtype == bool else np.asarray(rows, dtype=np.int64)
        return replace(
            self,
            X=self.X[places],
            y=None if self.y is None else self.y[places],
            files=None if self.files is None else tuple(self.files[i] for i in places),
            lines=None if self.lines is None else np.asarray(self.lines)[places],
            rows=self.row_numbers[places] - 1,
        )

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        what = "features" if self.columns is None else "columns"
        classes = "no labels" if self.y is None else f"{len(np.unique(self.y)):,} classes"
        return f"<Examples of {self.source!r}: {self.n_rows:,} rows, {self.X.shape[1]:,} {what}, {classes}>"


def array_examples(part: Part, options: ReadOptions, about: Examples, name: str) -> Examples:
    """Return checked examples of an array, or CSR matrix, and labels; of images, with a row for each."""
    for option in (option for option in ("as_text", "drop") if getattr(options, option)):
        raise DataError(f"The option {option!r} is for tables. {name} is not one: leave it out.", parameter=option)
    X, y = part.X, None if options.labels == "none" else part.y
    if y is None and options.labels == "required":
        raise DataError(f"There are no labels in {name}.")
    if X.dtype.kind not in "biuf" or X.ndim < 2:
        raise DataError(
            f"The features in {name} must be numbers in two dimensions or more. Got values of type {X.dtype} in "
            f"{X.ndim} instead."
        )
    shape = X.shape[1:] if X.ndim > 2 else None
    X = X.reshape(X.shape[0], math.prod(shape)) if shape else X
    if X.dtype.kind == "b" or X.dtype.itemsize > 8:
        X = X.astype(np.uint8 if X.dtype.kind == "b" else np.float64)
    if 0 in X.shape:
        raise DataError(f"There must be examples and features in {name}. Got an array of shape {X.shape} instead.")
    _check_finite(X, name, about.first_row)
    about = replace(about, X=X, image_shape=shape)
    if y is None:
        return about
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.shape != (X.shape[0],):
        got = " x ".join(map(str, y.shape))
        raise DataError(f"There must be one label for each of the {X.shape[0]} examples of {name}. Got {got} instead.")
    if options.drop_unlabelled and y.dtype.kind == "f" and np.isnan(y).any():
        n = int(np.isnan(y).sum())
        about, y = replace(about.take(~np.isnan(y)), dropped=n, unlabelled=n), y[~np.isnan(y)]
    return replace(about, y=tidy_labels(y, f"The labels of {name}"), label=part.label)


def _check_finite(X: RowsLike, name: str, first_row: int) -> None:
    values = X.data if sp.issparse(X) else X
    with np.errstate(all="ignore"):
        total = values.sum(dtype=np.float64)  # finite only if all are: cheaper than an array of answers
    if np.isfinite(total) or np.isfinite(values).all():
        return
    at = int(np.argmin(np.isfinite(values)))
    if sp.issparse(X):
        cells = X.tocoo()
        row, column = cells.row[at], cells.col[at]
    else:
        row, column = divmod(at, X.shape[1])
    raise DataError(
        f"The features in {name} must be finite numbers. Got {values.flat[at]} in row {first_row + row + 1}, "
        f"column {column + 1}, instead, counted from 1."
    )


def tidy_labels(y: Array, what: str) -> Array:
    """Return labels as int64 where they are whole numbers, else as truth values, text or float64."""
    if y.dtype.kind in "SU":
        y = np.char.decode(y, "utf-8", "replace") if y.dtype.kind == "S" else y
        return y.astype(f"U{max(1, np.char.str_len(y).max(initial=1))}", copy=False)
    if y.dtype.kind in "bi":
        return y if y.dtype.kind == "b" else y.astype(np.int64)
    if y.dtype.kind not in "uf":
        raise DataError(f"{what} must be whole numbers, text or truth values. Got values of type {y.dtype} instead.")
    wrong = np.flatnonzero(~(np.abs(y.astype(np.float64)) < 2.0**53))
    if len(wrong):
        raise DataError(
            f"{what} must be finite, and less than 2^53, or text. Got {y[wrong[0]]:g} for example {wrong[0] + 1} "
            "instead."
        )
    return y.astype(np.int64) if (y == np.floor(y)).all() else y.astype(np.float64)


def convert_labels(y: Array, kind: str | None, what: str, place: Callable[[int], str] | None = None) -> Array:
    """Return tidy labels as text, truth values or numbers, as told."""
    if kind is None or y.dtype.kind in {"text": "U", "truth": "b", "number": "iuf"}[kind]:
        return y
    if kind == "text":
        return np.where(y, "true", "false") if y.dtype.kind == "b" else y.astype(np.str_)
    found: list[float] = []
    for i, value in enumerate(y.tolist()):
        try:
            found.append(TRUTH[str(value).strip().lower()] if kind == "truth" else float(value))
        except (KeyError, ValueError):
            rule = "true and false, or 1 and 0" if kind == "truth" else "numbers"
            got = short_repr(value) + (f" in {place(i)}" if place else "")
            raise DataError(f"{what} must be {rule}, as those that the model learnt. Got {got} instead.") from None
    return np.array(found, dtype=np.bool_) if kind == "truth" else tidy_labels(np.array(found, dtype=float), what)


def short_repr(value: object) -> str:
    """Return a value for a sentence, on one line and not too long."""
    return shortened(on_one_line(repr(value)), _SHOWN)
