"""Statistics of a column, gathered batch by batch, from which it is recognised and fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from votron._util.frames import (
    declared_values,
    floats_of,
    kind_of,
    missing_in,
    moments_in,
    objects_of,
)
from votron._util.text import shortened
from votron._util.types import Floats, Series
from votron.errors import DataError, VotronError

Value = str | int | float | bool

_FEW_TEXTS, _LOOKED_AT = 10, 500
"""Distinct texts up to which any may be a category, and those that are looked at for numbers and dates."""
MOST_VALUES = 100_000
"""Distinct values that a column may have when rows come in batches."""


@dataclass
class Moments:
    """Count, mean, sum of squared deviations and range of numbers (Chan, Golub & LeVeque, 1983)."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf

    def add(self, numbers: Floats) -> None:
        """Add numbers, none of them NaN."""
        if not len(numbers):
            return
        mean = float(numbers.mean())
        self._join(len(numbers), mean, float(np.square(numbers - mean).sum()))
        self.low, self.high = min(self.low, float(numbers.min())), max(self.high, float(numbers.max()))

    def with_copies(self, value: float, n: int) -> Moments:
        """Return the moments after adding a number n times."""
        found = Moments(self.n, self.mean, self.squares, min(self.low, value), max(self.high, value))
        if n:
            found._join(n, value, 0.0)
        return found

    @property
    def deviation(self) -> float:
        """The standard deviation; 0 if it is within rounding error."""
        variance = self.squares / max(1, self.n)
        rounding = self.n * np.finfo(np.float64).eps
        return 0.0 if variance <= rounding * variance + (rounding * self.mean) ** 2 else float(np.sqrt(variance))

    def _join(self, n: int, mean: float, squares: float) -> None:
        step, total = mean - self.mean, self.n + n
        self.squares += squares + step**2 * self.n * n / total
        self.mean += step * n / total
        self.n = total


@dataclass
class Survey:
    """Statistics of a column.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"nothing", "number", "boolean", "text", "date"}
        The type of its values.
    as_values : bool
        Whether every value is a category, whatever its type.
    whole : bool
        Whether all rows come at once, so that medians are available.
    counts : dict
        Number of occurrences of each value, in order of first appearance or as declared by a categorical type.
    moments : Moments
        Of numbers, booleans and days.
    hours : bool
        Whether dates have times of day.
    """

    name: str
    as_values: bool = False
    as_text: bool = False
    whole: bool = True
    kind: str = "nothing"
    n_rows: int = 0
    n_missing: int = 0
    counts: dict[Value, int] = field(default_factory=dict)
    moments: Moments = field(default_factory=Moments)
    hours: bool = False
    given: list[Floats] = field(default_factory=list)
    """The numbers, if all rows come at once."""
    texts: list[str] = field(default_factory=list)
    """The texts, if all rows come at once and words become features."""

    def add(self, column: Series) -> None:
        """Add rows."""
        kind = kind_of(column)
        if kind == "other":
            raise refusal(column, self.name, "numbers, text, truth values or dates")
        if "nothing" not in (kind, self.kind) and kind != self.kind:
            raise DataError(f"The column {self.name!r} must hold {self.kind} in every batch. Got {kind} instead.")
        self.kind = self.kind if kind == "nothing" else kind
        self.n_rows += len(column)
        if self.as_text:
            self.n_missing += int(np.count_nonzero(missing_in(column)))
            if kind not in ("text", "nothing"):
                raise refusal(column, self.name, "texts")
            self.texts += [value or "" for value in objects_of(column)] if self.whole else []
            return
        if self.as_values or kind == "text":
            self._count(column)
        elif kind == "date":
            self._add_dates(column)
        else:
            numbers = floats_of(column)
            numbers = numbers[~np.isnan(numbers)]
            self.n_missing += len(column) - len(numbers)
            self.moments.add(numbers)
            self.given += [numbers] if self.whole else []

    def numbers(self, why: str) -> Floats:
        """Return all numbers that are not missing; an error if rows came in batches."""
        if not self.whole:
            raise VotronError(
                f"{why} needs all rows at once, and these come in batches: use missing='mean' and numeric='standard', "
                "'minmax', 'maxabs' or 'keep'."
            )
        return np.concatenate(self.given)

    def _count(self, column: Series) -> None:
        for value in declared_values(column):
            self.counts.setdefault(_plain(value), 0)
        for value in values_in(column):
            if value is None:
                self.n_missing += 1
            else:
                self.counts[value] = self.counts.get(value, 0) + 1
        if not self.whole and len(self.counts) > MOST_VALUES:
            raise DataError(
                f"The column {self.name!r} has more than {MOST_VALUES:,} distinct values: "
                "take it as text, or leave it out."
            )
        if len({str if isinstance(value, str) else float for value in self.counts}) > 1:
            raise refusal(column, self.name, "values of one type")

    def _add_dates(self, column: Series) -> None:
        moments = moments_in(column)
        moments = moments[~np.isnat(moments)]
        self.n_missing += len(column) - len(moments)
        days = moments.astype("datetime64[D]")
        self.moments.add(days.astype(np.float64))
        self.hours = self.hours or bool((moments != days).any())


def values_in(column: Series) -> list[Value | None]:
    """Return the normalised values of a column, None for missing values and blank text."""
    return [None if value is None or value == "" else value for value in map(_plain, objects_of(column))]


def _plain(value: Value) -> Value:
    """Strip text, and turn whole floats into integers."""
    if isinstance(value, str):
        return value.strip()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def refusal(column: Series, name: str, what: str) -> DataError:
    """Return the error for a column of the wrong type, showing one of its values."""
    odd = next((repr(value) for value in reversed(objects_of(column)) if value is not None), "no value")
    return DataError(
        f"The column {name!r} must hold {what}: convert it, or leave it out. Got {shortened(' '.join(odd.split()))} "
        f"(type {column.dtype}) instead."
    )


def refuse_unreadable(name: str, values: Sequence[object], unread: NDArray[np.bool_], what: str) -> None:
    """Raise an error if a value that is not missing could not be read."""
    for row in np.flatnonzero(unread).tolist():
        text = values[row]
        if isinstance(text, str) and text.strip():
            raise DataError(
                f"The column {name!r} must hold {what}, as in training. Got {shortened(repr(text))} in row {row} "
                "instead: correct it, or declare it a missing-value marker."
            )


def refuse_if_nearly_all(
    survey: Survey, what: str, is_one: Callable[[str], object], are_all: Callable[[list[str]], object]
) -> None:
    """Raise an error if at least nine in ten of many texts can be read, and name one that cannot."""
    texts = [str(value) for value in survey.counts]
    if len(texts) <= _FEW_TEXTS:
        return
    sample = texts[:: -(-len(texts) // _LOOKED_AT)]
    readable = [text for text in sample if is_one(text)]
    odd = next((text for text in texts if not is_one(text)), None)
    if odd is not None and len(readable) >= 0.9 * len(sample) and are_all(readable):
        raise DataError(
            f"The column {survey.name!r} must hold {what} alone, as most of its values are. Got "
            f"{shortened(repr(odd))} instead: correct it, declare it a missing-value marker, or list the column in "
            "'discrete' to keep all values as categories."
        )
