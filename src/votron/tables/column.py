"""The base class of the kinds of columns, and the statistics by which columns are recognised and fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from votron._util.frames import declared_values, floats_of, kind_of, moments_in, objects_of
from votron._util.text import shortened
from votron._util.types import Floats, Rows, Series
from votron.errors import DataError, VotronError

if TYPE_CHECKING:
    from votron.tables.encoder import TableEncoder

Value = str | int | float | bool
Parsed = TypeVar("Parsed")

MOST_VALUES = 100_000
"""Distinct values that a column may have when rows come in batches."""


class Graph(Protocol):
    """An ONNX graph under construction. Each method adds an element and returns its name."""

    def input(self, name: str, kind: str, width: int | None) -> str: ...
    def node(self, op: str, *inputs: str, **attributes: Any) -> str: ...
    def constant(self, values: ArrayLike) -> str: ...
    def double(self, name: str) -> str: ...


@dataclass
class Column:
    """A fitted column of a table. Each subclass is one kind of column, and its fields are everything it has learnt."""

    name: str
    indicator: bool = field(default=False, kw_only=True)
    """Whether the last feature indicates a missing value."""
    few_set: ClassVar[bool] = False
    """Whether most features are 0."""

    @classmethod
    def recognise(cls, survey: Survey, encoder: TableEncoder) -> Self | None:
        """Return the fitted column if the surveyed values are of this kind, else None."""
        raise NotImplementedError

    @property
    def holds(self) -> str:
        """The type as which readers should read the column: "number", "text", "truth" or "date"."""
        raise NotImplementedError

    @property
    def own_names(self) -> list[str]:
        """The names of the features, without the indicator."""
        raise NotImplementedError

    def read(self, column: Series) -> Any:
        """Return the values: an array of numbers or dates, NaN where missing, or a list with None where missing."""
        raise NotImplementedError

    def features(self, values: Any) -> Rows:
        """Return the features of values, without the indicator."""
        raise NotImplementedError

    @property
    def passes_missing(self) -> bool:
        """Whether the features of a missing value are NaN."""
        return False

    @property
    def filling(self) -> str:
        """The value that is filled in for a missing one, for messages."""
        return "no feature is set"

    @property
    def remark(self) -> str:
        """The interpretation of the column, as a clause; empty if there is nothing to say."""
        return ""

    def unseen(self, column: Series) -> Iterable[str]:
        """Return the values that were not in the training data."""
        return ()

    def in_units(self, feature: int, value: float) -> float:
        """Convert the value of a feature to the units of the data."""
        return value

    def value_of(self, features: Floats) -> str:
        """Return the value that the features encode; "" if it was missing."""
        return ""

    def check(self) -> None:
        """Raise ValueError if the fields, which may come from a file, are inconsistent."""

    def to_onnx(self, graph: Graph) -> str:
        """Add the column to an ONNX graph and return the name of its features."""
        raise VotronError(
            f"ONNX has no operators for the column {self.name!r}, which holds {self.remark or f'{self.holds}s'}: "
            "export a model without it."
        )

    @property
    def feature_names(self) -> list[str]:
        """The names of all features."""
        return [*self.own_names, *([f"{self.name} is missing"] if self.indicator else [])]

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.own_names) + self.indicator

    def transform(self, column: Series) -> Rows:
        """Return all features."""
        values = self.read(column)
        own = self.features(values)
        if not self.indicator:
            return own
        missing = [value is None for value in values] if isinstance(values, list) else np.isnan(values)
        last = np.asarray(missing, dtype=np.float64)[:, None]
        return sp.hstack([own, last], format="csr") if sp.issparse(own) else np.hstack([own, last])


@dataclass(frozen=True)
class Moments:
    """Count, mean, sum of squared deviations and range of numbers (Chan, Golub & LeVeque, 1983)."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf

    @classmethod
    def of(cls, x: Floats) -> Moments:
        """Return the moments of numbers, none of them NaN."""
        mean = float(x.mean()) if len(x) else 0.0
        low, high = float(x.min(initial=np.inf)), float(x.max(initial=-np.inf))
        return cls(len(x), mean, float(np.square(x - mean).sum()), low, high)

    def __add__(self, other: Moments) -> Moments:
        n, step = self.n + other.n, other.mean - self.mean
        squares = self.squares + (other.squares + step**2 * self.n * other.n / max(1, n))
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Moments(n, self.mean + step * other.n / max(1, n), squares, low, high)

    @property
    def deviation(self) -> float:
        """The standard deviation; 0 if it is within rounding error."""
        variance = self.squares / max(1, self.n)
        rounding = self.n * np.finfo(np.float64).eps
        return 0.0 if variance <= rounding * variance + (rounding * self.mean) ** 2 else float(np.sqrt(variance))


@dataclass
class Survey:
    """Statistics of a column, gathered batch by batch."""

    name: str
    role: str = ""
    """The parameter of the encoder that lists it: "discrete", "probabilities", "text" or none."""
    whole: bool = True
    """Whether all rows come at once, so that medians are available."""
    kind: str = "nothing"
    """What it holds: "number", "boolean", "date", "text"; "category" and "words" in the roles "discrete" and "text"."""
    n_rows: int = 0
    n_missing: int = 0
    counts: dict[Value, int] = field(default_factory=dict)
    """Number of occurrences of each value, in order of first appearance or as declared by a categorical type."""
    moments: Moments = field(default_factory=Moments)
    """Moments of numbers, booleans and days."""
    hours: bool = False
    """Whether dates have times of day."""
    given: list[Floats] = field(default_factory=list)
    """The numbers, if all rows come at once."""
    texts: list[str] = field(default_factory=list)
    """The texts, if all rows come at once and words become features."""

    def add(self, column: Series) -> None:
        """Add rows."""
        found = kind_of(column)
        if found == "other" or (self.role == "text" and found not in ("text", "nothing")):
            what = "texts" if self.role == "text" else "numbers, text, truth values or dates"
            raise refusal(column, self.name, what)
        kind = {"discrete": "category", "text": "words"}.get(self.role, found) if found != "nothing" else self.kind
        if self.kind not in ("nothing", kind):
            raise DataError(f"The column {self.name!r} must hold {self.kind} in every batch. Got {kind} instead.")
        self.kind = kind
        self.n_rows += len(column)
        if self.role == "text":
            values = objects_of(column)
            self.n_missing += values.count(None)
            self.texts += [value or "" for value in values] if self.whole else []
        elif found == "nothing":
            self.n_missing += len(column)
        elif kind in ("category", "text"):
            self._count(column)
        elif kind == "date":
            moments = moments_in(column)
            days = moments.astype("datetime64[D]")
            self.hours = self.hours or bool((moments != days)[~np.isnat(moments)].any())
            self._add_numbers(np.where(np.isnat(moments), np.nan, days.astype(np.float64)))
        else:
            self._add_numbers(floats_of(column))

    def numbers(self, why: str) -> Floats:
        """Return all numbers that are not missing; an error if rows came in batches."""
        if not self.whole:
            how = "missing='mean' and numeric='standard', 'minmax', 'maxabs' or 'keep'"
            raise VotronError(f"{why} needs all rows at once, and these come in batches: use {how}.")
        return np.concatenate(self.given)

    def as_numbers(self, numbers: Sequence[float | None]) -> Survey:
        """Return the survey of a column with these numbers in place of its distinct texts."""
        found = Survey(self.name, self.role, kind="number", n_rows=self.n_rows, n_missing=self.n_missing)
        found._add_numbers(np.repeat(np.asarray(numbers, dtype=np.float64), list(self.counts.values())))
        return found

    def refuse_if_nearly_all(
        self, what: str, is_one: Callable[[str], object], are_all: Callable[[list[str]], object]
    ) -> None:
        """Raise an error if at least nine in ten of many texts can be parsed, and name one that cannot."""
        texts = [str(value) for value in self.counts]
        most = len(texts) // 10
        odd = dict.fromkeys(islice((text for text in texts if not is_one(text)), most + 1))
        if 0 < len(odd) <= most and are_all([text for text in texts if text not in odd]):
            got = shortened(repr(next(iter(odd))))
            raise DataError(
                f"The column {self.name!r} must hold {what} alone, as most of its values are. Got {got} instead: "
                "correct it, declare it a missing-value marker, or list the column in 'discrete' to keep categories."
            )

    def _add_numbers(self, numbers: Floats) -> None:
        there = numbers[~np.isnan(numbers)]
        self.n_missing += len(numbers) - len(there)
        self.moments += Moments.of(there)
        self.given += [there] if self.whole else []

    def _count(self, column: Series) -> None:
        for value in declared_values(column):
            self.counts.setdefault(_plain(value), 0)
        for value in values_in(column):
            if value is None:
                self.n_missing += 1
            else:
                self.counts[value] = self.counts.get(value, 0) + 1
        if not self.whole and len(self.counts) > MOST_VALUES:
            n = f"{MOST_VALUES:,}"
            raise DataError(f"The column {self.name!r} has more than {n} values: take it as text, or leave it out.")
        if len({isinstance(value, str) for value in self.counts}) > 1:
            raise refusal(column, self.name, "values of one type")


def values_in(column: Series) -> list[Value | None]:
    """Return the normalised values of a column, None for missing values and blank text."""
    return [None if value is None or value == "" else value for value in map(_plain, objects_of(column))]


def _plain(value: Value) -> Value:
    """Strip text, and turn whole floats into integers."""
    if isinstance(value, str):
        return value.strip()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def parsed(column: Series, name: str, parse: Callable[[str], Parsed | None], what: str) -> list[Parsed | None]:
    """Parse texts, each distinct one once; None for missing ones, and an error if one cannot be parsed."""
    texts: list[str | None] = objects_of(column)
    known: dict[str | None, Parsed | None] = {None: None}
    for text in dict.fromkeys(texts):
        if text is not None:
            known[text] = parse(text)
            if known[text] is None and text.strip():
                raise DataError(
                    f"The column {name!r} must hold {what}, as in training. Got {shortened(repr(text))} instead: "
                    "correct it, or declare it a missing-value marker."
                )
    return [known[text] for text in texts]


def refusal(column: Series, name: str, what: str) -> DataError:
    """Return the error for a column of the wrong type, showing one of its values."""
    odd = next((repr(value) for value in reversed(objects_of(column)) if value is not None), "no value")
    return DataError(
        f"The column {name!r} must hold {what}: convert it, or leave it out. Got {shortened(' '.join(odd.split()))} "
        f"(type {column.dtype}) instead."
    )
