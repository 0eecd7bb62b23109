"""Columns of frames: what they hold, and the transformers that turn one column into features.

The transformers look at the column alone, never at names or the library of the frame that they were fitted on: a
frame of polars can be encoded by what was fitted on one of pandas.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from votron._util.frames import columns_of, floats_of, in_pandas
from votron._util.text import on_one_line, shortened
from votron.data.dates import date_in_words, part_of_date, parts_of_dates
from votron.data.tables import kind_of
from votron.errors import DataError

FEATURES = ("text", "number", "boolean", "date")
"""The kinds of values that can be features."""
_NUMBERS = ("number", "boolean")
_VALUES = ("text", *_NUMBERS)
_AS_BEFORE = "as in the frame that made the encoder"
_ROUNDING = 1e-6
"""What scaling and its inverse may have left of a part of a date."""
_SHOWN = 60
"""Characters of a value, or of a list of values, that are shown."""

# -- what columns hold ------------------------------------------------------------------------------------------------


def objects_of(column: Any) -> list[Any]:
    """Return a column's values as Python objects, None where missing."""
    if not in_pandas(column):
        return [None if isinstance(value, float) and value != value else value for value in column.to_list()]
    objects: NDArray[Any] = column.to_numpy(dtype=object, copy=True)
    objects[column.isna().to_numpy()] = None
    return list(objects)


def numbers_of(column: Any, name: str, what: str, remedy: str = "convert it") -> NDArray[np.float64]:
    """Return numbers or truth values as floats, missing ones as NaN."""
    if kind_of(column) not in (*_NUMBERS, "nothing"):
        raise refusal(column, name, what, remedy, _NUMBERS)
    return floats_of(column)


def probabilities_of(column: Any, name: str) -> NDArray[np.float64]:
    """Return probabilities as floats, missing ones as NaN."""
    what = "probabilities, from 0 to 1"
    numbers = numbers_of(column, name, what, "convert it, or leave it out")
    _refuse_rows((numbers < 0) | (numbers > 1), column, name, what)
    return numbers


def without_blanks(value: Any) -> Any:
    """Return a word without blanks at its ends, as it is read from a file; what is no word, or blanks alone, as it is.

    Examples
    --------
    >>> without_blanks("Lyon "), without_blanks(" "), without_blanks(3)
    ('Lyon', ' ', 3)
    """
    return (value.strip() or value) if isinstance(value, str) else value


# -- refusals ---------------------------------------------------------------------------------------------------------


def refusal(column: Any, name: str, what: str, remedy: str = "", wanted: Collection[str] = FEATURES) -> DataError:
    """Return the error of a column that does not hold what it must, with the first value that shows it."""
    found = [(row, value) for row, value in enumerate(objects_of(column)) if value is not None]
    odd = next(((row, value) for row, value in found if _kind_of_value(value) not in wanted), None)
    if odd is not None:
        got = f"{_shown(odd[1])} in row {odd[0]}"
    else:
        got = _mixture(found) or f"values of type {column.dtype}"
    return DataError(f"The column {name!r} must hold {what}: {remedy or _remedy(odd)}. Got {got} instead.")


def _mixture(found: list[tuple[int, Any]]) -> str:
    """Return the first value that is of another kind than the first of all, or of another type; "" if none is."""
    for key in (_kind_of_value, type):
        for row, value in found:
            if key(value) != key(found[0][1]):
                return f"{_shown(value)} in row {row}, after {_shown(found[0][1])} in row {found[0][0]},"
    return ""


def _remedy(odd: tuple[int, Any] | None) -> str:
    if odd is not None and isinstance(odd[1], date | np.datetime64):
        return "turn it into numbers, such as the day of the year or the days since a date, or leave it out"
    if odd is not None and isinstance(odd[1], time | timedelta | np.timedelta64):
        return "turn it into numbers, such as hours or seconds, or leave it out"
    return "convert it, or leave it out"


def _refuse_rows(bad: NDArray[np.bool_], column: Any, name: str, what: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"The column {name!r} must hold {what}. Got {_shown(objects_of(column)[row])} in row {row} instead."
        )


def _kind_of_value(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, Real | Decimal):
        return "number"
    if isinstance(value, date | np.datetime64):  # datetimes are dates
        return "date"
    return "text" if isinstance(value, str) else "other"


def _shown(value: Any) -> str:
    return shortened(on_one_line(repr(value)), _SHOWN)


# -- transformers -----------------------------------------------------------------------------------------------------


class Values(tuple[Any, ...]):
    """The values that get a feature each, shown as a list that is not too long."""

    __slots__ = ()

    def __repr__(self) -> str:
        shown: list[str] = []
        for value in self:
            text = _shown(value)
            if shown and sum(map(len, shown)) + len(text) > _SHOWN:
                return f"[{', '.join(shown)}, ... {len(self) - len(shown)} more]"
            shown.append(text)
        return f"[{', '.join(shown)}]"


class _Column(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A transformer of a frame of one column. It learns the column's name alone, for the names of the features."""

    def fit(self, X: Any, y: Any = None) -> Self:
        self._features(X[X.columns[0]], X.columns[0])  # refuses what it cannot take
        self.n_features_in_ = 1
        self.feature_names_in_ = np.array(list(X.columns), dtype=object)
        return self

    def transform(self, X: Any) -> Any:
        return self._features(X[X.columns[0]], X.columns[0])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        return self.feature_names_in_.copy()

    def _features(self, column: Any, name: str) -> Any:
        raise NotImplementedError


class _Number(_Column):
    """Numbers, of one column or of several side by side."""

    _what = f"numbers, {_AS_BEFORE}"

    def fit(self, X: Any, y: Any = None) -> Self:
        for name, column in zip(X.columns, columns_of(X), strict=True):
            numbers_of(column, name, self._what)  # refuses what it cannot take
        self.n_features_in_ = len(X.columns)
        self.feature_names_in_ = np.array(list(X.columns), dtype=object)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        numbers = np.empty(X.shape)
        for i, (name, column) in enumerate(zip(X.columns, columns_of(X), strict=True)):
            numbers[:, i] = numbers_of(column, name, self._what)
        return numbers


class _Chance(_Column):
    """Probabilities."""

    def _features(self, column: Any, name: str) -> NDArray[np.float64]:
        return probabilities_of(column, name)[:, None]


class _Truth(_Column):
    """True and False, which may also be given as 1 and 0."""

    def _features(self, column: Any, name: str) -> NDArray[np.float64]:
        what = f"True and False, {_AS_BEFORE}, or 1 and 0"
        numbers = numbers_of(column, name, what)
        _refuse_rows(~((numbers == 0) | (numbers == 1) | np.isnan(numbers)), column, name, what)
        return numbers[:, None]


class _Discrete(_Column):
    """Discrete values: a 0/1 feature each. What is missing or unknown sets none."""

    def __init__(self, values: Values, sparse: bool = False) -> None:
        self.values = values
        self.sparse = sparse

    def names(self, column: str) -> list[str]:
        """Return the names of the features of a column."""
        return [feature_name(column, value) for value in self.values]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        return np.array(self.names(self.feature_names_in_[0]), dtype=object)

    def _features(self, column: Any, name: str) -> Any:
        if kind_of(column) in ("other", "date"):
            raise refusal(column, name, f"discrete values, {_AS_BEFORE}", "convert it", _VALUES)
        places = {value: i for i, value in enumerate(self.values)}
        there = (value if value in places else without_blanks(value) for value in objects_of(column))
        features = np.array([places.get(value, -1) for value in there], dtype=np.int64)
        rows = np.flatnonzero(features >= 0)
        shape = len(features), len(self.values)
        if self.sparse:
            return sp.csr_matrix((np.ones(len(rows)), (rows, features[rows])), shape=shape)
        vectors = np.zeros(shape)
        vectors[rows, features[rows]] = 1.0
        return vectors


class _Date(_Column):
    """Dates: year, month, weekday and, where ``hours``, hour, as points on circles or as 0/1 features.

    Of circles there are sine and cosine, and the year is a number, 0 for the first and 1 for the last. A 0/1 feature
    there is for each year, month, weekday and hour; what is missing, or is another year, sets none.
    """

    def __init__(self, how: str = "cyclic", first_year: int = 1970, last_year: int = 1970, hours: bool = False) -> None:
        self.how = how
        self.first_year = first_year
        self.last_year = last_year
        self.hours = hours

    @property
    def _cycles(self) -> tuple[tuple[str, int, int], ...]:
        """What comes again and again: its name, the first number and how many there are."""
        return (("month", 1, 12), ("weekday", 0, 7), *((("hour", 0, 24),) if self.hours else ()))

    @property
    def _indicated(self) -> tuple[tuple[str, int, int], ...]:
        """What has a 0/1 feature for each number: its name, the first number and how many there are."""
        return (("year", self.first_year, self.last_year - self.first_year + 1), *self._cycles)

    def names(self, column: str) -> list[str]:
        """Return the names of the features of a column, such as "month of day: March" and "month of day (sine)".

        Examples
        --------
        >>> _Date(first_year=2012, last_year=2015).names("day")[:3]
        ['year of day', 'month of day (sine)', 'month of day (cosine)']
        >>> _Date("onehot", 2012, 2012).names("day")[:2]
        ['year of day: 2012', 'month of day: January']
        """
        if self.how == "cyclic":
            turns = [f"{part} of {column} ({axis})" for part, _, _ in self._cycles for axis in ("sine", "cosine")]
            return [f"year of {column}", *turns]
        return [
            f"{part} of {column}: {part_of_date(part, i)}"
            for part, first, n in self._indicated
            for i in range(first, first + n)
        ]

    def feature_units(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return scale and offset that make years of the features that are years."""
        n = len(self.names(""))
        scale, offset = np.ones(n), np.zeros(n)
        if self.how == "cyclic":
            scale[0], offset[0] = max(1, self.last_year - self.first_year), self.first_year
        return scale, offset

    def values_in_words(self) -> list[dict[float, str]]:
        """Return for each feature what its values stand for: a sine of 0.5 is that of February, and of June.

        Examples
        --------
        >>> _Date().values_in_words()[1][0.5]
        'February or June'
        """
        if self.how != "cyclic":
            return [{} for _ in self.names("")]
        found: list[dict[float, str]] = [{}]
        for part, first, n in self._cycles:
            for axis in _on_circle(np.arange(n, dtype=np.float64), n):
                words: dict[float, list[str]] = {}
                for i, value in enumerate(axis.tolist()):
                    words.setdefault(value, []).append(part_of_date(part, first + i))
                found.append({value: " or ".join(each) for value, each in words.items()})
        return found

    def column_in_words(self, features: Sequence[float]) -> str:
        """Return what the features of one date, years as years, tell of it: which is not the day of the month.

        Nothing where there is none: no feature is set, or they are no date's, such as means that were filled in.

        Examples
        --------
        >>> import pandas as pd
        >>> dates = _Date("onehot", 2012, 2013)
        >>> dates.column_in_words(dates._features(pd.Series(["2013-02-01"]), "day")[0])
        'Friday in February 2013'
        """
        if self.how == "cyclic":
            year, *rest = features
            found = {"year": _whole(year)}
            for i, (part, first, n) in enumerate(self._cycles):
                found[part] = _turn(rest[2 * i], rest[2 * i + 1], first, n)
            return "" if None in found.values() else date_in_words(**found)
        found, start = {}, 0
        for part, first, n in self._indicated:
            there = np.flatnonzero(np.asarray(features[start : start + n]) > 0.5)
            found[part] = first + int(there[0]) if len(there) == 1 else None
            start += n
        return date_in_words(**found)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        return np.array(self.names(self.feature_names_in_[0]), dtype=object)

    def _features(self, column: Any, name: str) -> NDArray[np.float64]:
        kind = kind_of(column)
        parts = parts_of_dates(column) if kind in ("date", "text", "nothing") else None
        if parts is None:
            raise refusal(column, name, f"dates, {_AS_BEFORE}", "convert it", ("date",))
        year, *turns = parts
        if self.how == "cyclic":
            found = [(year - self.first_year) / max(1, self.last_year - self.first_year)]
            for values, (_, first, n) in zip(turns, self._cycles, strict=False):
                found += _on_circle(values - first, n)
            return np.column_stack(found)
        n_years = self.last_year - self.first_year + 1
        years = _indicators(year - self.first_year, n_years)
        return np.hstack([years, *(_indicators(v - f, n) for v, (_, f, n) in zip(turns, self._cycles, strict=False))])


def _on_circle(turns: NDArray[np.float64], n: int) -> list[NDArray[np.float64]]:
    """Return sine and cosine, from a table of rounded values: the same on every processor."""
    angles = [2 * math.pi * i / n for i in range(n)]
    table = np.array([[round(f(angle), 12) for angle in angles] + [np.nan] for f in (math.sin, math.cos)])
    return list(table[:, np.where(np.isnan(turns), n, turns).astype(np.int64)])


def _whole(value: float) -> int | None:
    """Return a number that is whole but for rounding; None where it is not."""
    return round(value) if math.isfinite(value) and abs(value - round(value)) < _ROUNDING else None


def _turn(sine: float, cosine: float, first: int, n: int) -> int | None:
    """Return which of the points on a circle this is; None where it is none, as the mean of several."""
    points = np.array(_on_circle(np.arange(n, dtype=np.float64), n))
    away = np.abs(points - [[sine], [cosine]]).max(axis=0)
    return first + int(away.argmin()) if away.min() < _ROUNDING else None


def _indicators(values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return a 0/1 column for each number from 0 on; what is not among them, or NaN, sets none."""
    found: NDArray[np.float64] = (values[:, None] == np.arange(n)).astype(np.float64)
    return found


class _Text(_Column):
    """Texts as a vectorizer takes them: what is missing is empty."""

    def _features(self, column: Any, name: str) -> NDArray[Any]:
        if kind_of(column) not in ("text", "nothing"):
            raise refusal(column, name, "texts", "leave it out, or take it as discrete", ("text",))
        return np.array([value or "" for value in objects_of(column)], dtype=object)


def feature_name(column: str, value: Any) -> str:
    """Return the name of the feature of a value."""
    return f"{column}={value}"
