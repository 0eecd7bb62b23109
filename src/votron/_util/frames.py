"""Data frames of pandas and polars, distinguished without importing either library."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.types import Array, Floats, Frame, Label, Labels, RowsLike, Series

_PANDAS_KINDS = {
    **dict.fromkeys(("decimal", "floating", "integer", "mixed-integer-float"), "number"),
    **dict.fromkeys(("date", "datetime", "datetime64"), "date"),
    **dict.fromkeys(("string", "categorical"), "text"),
    "boolean": "boolean",
}


def is_frame(thing: object) -> bool:
    return _is_a("DataFrame", thing, "pandas") or _is_a("DataFrame", thing, "polars")


def in_pandas(thing: object) -> bool:
    return _is_a("DataFrame", thing, "pandas") or _is_a("Series", thing, "pandas")


def is_named_series(thing: Series) -> bool:
    """Tell whether it is a Series of pandas whose index has names, as a row of a frame has."""
    return _is_a("Series", thing, "pandas") and thing.index.inferred_type not in ("integer", "empty")


def is_index(thing: object) -> bool:
    return _is_a("Index", thing, "pandas")


def labels_of_rows(*data: RowsLike) -> Any | None:
    """Return the index of the first of these data that pandas made; None without one, or where it counts from 0."""
    index = next((each.index for each in data if in_pandas(each)), None)
    if index is None or (index.inferred_type == "integer" and np.array_equal(index, np.arange(len(index)))):
        return None
    return index


def names_by_labels(index: Any, word: str = "index") -> list[str]:
    """Return names of rows by their labels: texts and dates as they are, other labels after a word."""

    def name(label: Label) -> str:
        if isinstance(label, tuple):  # of an index of several levels
            return ", ".join(map(value_text, label))
        text = value_text(label)
        return text if text and isinstance(label, str | date) else f"{word} {text}"

    return [name(label) for label in index.tolist()]


def value_text(value: object) -> str:
    """Return a value as text on one line: whole numbers without decimals, dates at midnight without a time."""
    text = " ".join(str(value).split())
    if isinstance(value, float):
        return text.removesuffix(".0")
    clock = isinstance(value, datetime) and value.tzinfo is None  # seconds are what such a text ends in
    return text.removesuffix(":00").removesuffix(" 00:00") if clock else text


def columns_of(frame: Frame) -> list[Series]:
    """Return the columns as series, also those that share a name."""
    if in_pandas(frame):
        return [frame.iloc[:, i] for i in range(frame.shape[1])]
    return list(frame.get_columns())


def kind_of(column: Series) -> str:
    """Return what a column holds: "text", "number", "boolean", "date", "nothing" or "other"."""
    n_missing = column.isna().sum() if in_pandas(column) else column.null_count()
    return "nothing" if n_missing == len(column) and _categories_of(column) is None else _kind_but_for_missing(column)


def columns_of_words(frame: Frame) -> Iterator[str]:
    for i, (name, dtype) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        if not _is_number(dtype):  # which is quick where a frame is wide
            column = frame.iloc[:, i] if in_pandas(frame) else frame.to_series(i)
            if _kind_but_for_missing(column) == "text":
                yield name


def missing_in(column: Series) -> NDArray[np.bool_]:
    if in_pandas(column):
        return np.asarray(column.isna(), dtype=np.bool_)
    return np.asarray((column.fill_nan(None) if column.dtype.is_float() else column).is_null(), dtype=np.bool_)


def floats_of(column: Series) -> Floats:
    """Return numbers or truth values as float64, missing ones as NaN."""
    if in_pandas(column):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column.cast(sys.modules["polars"].Float64).to_numpy())


def objects_of(column: Series) -> list[Any]:
    """Return a column's values as Python objects, None where missing."""
    if not in_pandas(column):
        return [None if isinstance(value, float) and value != value else value for value in column.to_list()]
    objects: Array = column.to_numpy(dtype=object, copy=True)
    objects[column.isna().to_numpy()] = None
    return list(objects)


def declared_values(column: Series) -> list[Label]:
    """Return the values that a Categorical of pandas or an Enum of polars declares; none for other types."""
    categories = _categories_of(column)
    return [] if categories is None else list(categories.to_list())


def moments_in(column: Series) -> NDArray[np.datetime64]:
    """Return dates, with or without times of day, in local time; NaT where missing."""
    if in_pandas(column) and column.dtype.kind == "M":
        column = column.dt.tz_localize(None)
    elif not in_pandas(column) and column.dtype == sys.modules["polars"].Datetime:
        column = column.dt.replace_time_zone(None)
    else:
        column = [each.replace(tzinfo=None) if isinstance(each, datetime) else each for each in objects_of(column)]
    return np.asarray(column, dtype="datetime64[s]")


def _kind_but_for_missing(column: Series) -> str:
    """Return what a column holds, or by its type would hold, if there were values."""
    if in_pandas(column):
        return _PANDAS_KINDS.get(sys.modules["pandas"].api.types.infer_dtype(column, skipna=True), "other")
    pl: Any = sys.modules["polars"]
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    if column.dtype in (pl.Date, pl.Datetime):
        return "date"
    return "boolean" if column.dtype == pl.Boolean else "number" if column.dtype.is_numeric() else "other"


def _categories_of(column: Series) -> Any | None:
    if in_pandas(column):
        return getattr(column.dtype, "categories", None)
    return getattr(column.dtype, "categories", None) if isinstance(column.dtype, sys.modules["polars"].Enum) else None


def _is_number(dtype: Any) -> bool:
    if hasattr(dtype, "kind"):  # numpy's or one of pandas
        return dtype.kind in "biuf"
    return bool(dtype.is_numeric() or dtype == sys.modules["polars"].Boolean)


def _is_a(kind: str, thing: object, library: str) -> bool:
    found = getattr(sys.modules.get(library), kind, None)
    return found is not None and isinstance(thing, found)


def is_missing(value: object) -> bool:
    """Tell whether a value is None, NaN or a missing value of pandas."""
    known = type(value).__name__ in ("NoneType", "NAType", "NaTType")
    return known or (isinstance(value, float) and value != value)


def cell(frame: Frame, name: str, row: int) -> Any:
    """Return a value of a frame; None where it is missing."""
    column = frame[name]
    value = column.iloc[row] if in_pandas(column) else column[row]
    return None if is_missing(value) else value


def plain_labels(labels: Labels) -> Array:
    """Return labels as an array of text, numbers or truth values, even if they came as objects."""
    found = np.asarray(labels)
    return np.array(found.tolist()) if found.dtype.kind == "O" else found


def dense(X: RowsLike) -> Array:
    """Return rows as an array, sparse ones with their zeros."""
    return X.toarray() if sp.issparse(X) else np.asarray(X)
