"""Categorical columns: one-hot features, or counts of character trigrams if there are many values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.frames import kind_of
from votron._util.text import counted, first_of
from votron._util.types import Floats, Rows, Series
from votron.errors import DataError, VotronError
from votron.tables.base import Column, Graph
from votron.tables.survey import Survey, Value, refusal, values_in

if TYPE_CHECKING:
    from votron.tables.encoder import TableEncoder

RARE = 5
"""Rows that a category needs with ``rare="auto"``; small tables require fewer."""
_RARE_SHARE = 200
MOST_TRIGRAMS = 300
"""Number of trigrams that become features: the most frequent ones."""


@dataclass
class CategoryColumn(Column):
    """A few categories: a 0/1 feature each, and one for all rare categories.

    Attributes
    ----------
    values : tuple
        The categories that have their own feature.
    rare : tuple
        The categories that share the last feature.
    """

    values: tuple[Value, ...]
    rare: tuple[Value, ...] = ()

    few_set: ClassVar[bool] = True

    @classmethod
    def recognise(cls, survey: Survey, encoder: TableEncoder) -> Self | None:
        """Accept text with at most ``max_categories`` values, and every column in ``discrete``."""
        if survey.as_text or not (survey.as_values or survey.kind == "text"):
            return None
        most = encoder.max_categories
        if most is not None and len(survey.counts) > most and survey.kind == "text" and not survey.as_values:
            return None
        least = min(RARE, survey.n_rows / _RARE_SHARE) if encoder.rare == "auto" else int(encoder.rare)
        rare = tuple(value for value, n in survey.counts.items() if 0 < n < least)
        rare = rare if len(rare) > 1 else ()
        values = tuple(value for value in survey.counts if value not in set(rare))
        return cls(survey.name, bool(encoder.add_indicator and survey.n_missing), values=values, rare=rare)

    @property
    def holds(self) -> str:  # type: ignore[override]
        if all(isinstance(value, str) for value in self.values):
            return "text"
        return "truth" if all(isinstance(value, bool) for value in self.values) else "number"

    @property
    def own_names(self) -> list[str]:
        return [f"{self.name}={value}" for value in self.values] + [f"{self.name}=(rare)"] * bool(self.rare)

    @cached_property
    def _places(self) -> dict[Value, int]:
        return {value: i for i, value in enumerate(self.values)}

    def features(self, column: Series) -> Rows:
        """Return the 0/1 features: none is set for missing values; unseen values count as rare."""
        found = _values_of(column, self.name)
        other = len(self.values) if self.rare else -1
        places = np.array([-1 if value is None else self._places.get(value, other) for value in found], dtype=np.int64)
        rows = np.flatnonzero(places >= 0)
        shape = len(places), len(self.values) + bool(self.rare)
        return sp.csr_matrix((np.ones(len(rows)), (rows, places[rows])), shape=shape)

    def missing(self, column: Series) -> NDArray[np.bool_]:
        return np.array([value is None for value in _values_of(column, self.name)])

    def unseen(self, column: Series) -> Counter[str]:
        known = {*self.values, *self.rare}
        return Counter(str(v) for v in _values_of(column, self.name) if v is not None and v not in known)

    def value_of(self, features: Floats) -> str:
        own = features[: len(self.own_names)]
        if not (own > 0.5).any():
            return ""
        place = int(own.argmax())
        return "a rare value" if place == len(self.values) else str(self.values[place])

    @property
    def remark(self) -> str:
        """Count rare categories, and list those that differ only in case or blanks."""
        alike: dict[str, list[str]] = {}
        for value in (*self.values, *self.rare):
            if isinstance(value, str):
                alike.setdefault("".join(value.casefold().split()), []).append(repr(value))
        twins = [" and ".join(each) for each in alike.values() if len(each) > 1]
        parts = [f"{counted(len(self.rare), 'rare value')} taken together"] * bool(self.rare)
        parts += [f"values that differ only in case or blanks: {first_of(twins, 3)}"] * bool(twins)
        return "; ".join(parts)

    def check(self) -> None:
        known = (*self.values, *self.rare)
        if len(set(known)) < len(known):
            raise ValueError("its values must differ.")

    def to_onnx(self, graph: Graph) -> str:
        if self.rare or self.indicator:
            raise VotronError(
                f"The column {self.name!r} has {'rare values taken together' if self.rare else 'an indicator'}, which "
                "cannot be exported to ONNX: encode it with rare=1 and add_indicator=False."
            )
        if all(isinstance(value, str) for value in self.values):
            name = graph.input(self.name, "string", 1)
            codes = graph.node("OneHotEncoder", name, domain="ai.onnx.ml", cats_strings=list(self.values), zeros=1)
            return graph.double(
                graph.node("Reshape", codes, graph.constant(np.array([-1, len(self.values)], dtype=np.int64)))
            )
        numbers = np.array([float(value) for value in self.values])
        return graph.double(graph.node("Equal", graph.input(self.name, "double", 1), graph.constant(numbers[None, :])))


@dataclass
class SpeltColumn(Column):
    """Many categories: counts of the most frequent character trigrams, so that similar values have similar features.

    Counts are divided by a power of two, which keeps sums exact and gives a value about the weight of a 0/1 feature.

    Attributes
    ----------
    trigrams : tuple of str
        The trigrams that have a feature, of lower-case values padded with blanks.
    scale : float
        The power of two nearest to the mean length of the count vectors.
    n_values : int
        Number of distinct values in training.
    """

    trigrams: tuple[str, ...]
    scale: float
    n_values: int

    holds: ClassVar[str] = "text"
    few_set: ClassVar[bool] = True

    @classmethod
    def recognise(cls, survey: Survey, encoder: TableEncoder) -> Self | None:
        """Accept any other text."""
        if survey.kind != "text" or survey.as_text:
            return None
        rows: Counter[str] = Counter()
        squares = 0
        for value, n in survey.counts.items():
            counts = Counter(trigrams_of(str(value)))
            squares += n * sum(count**2 for count in counts.values())
            rows.update(dict.fromkeys(counts, n))
        most = sorted(rows, key=lambda trigram: (-rows[trigram], trigram))[:MOST_TRIGRAMS]
        indicator = bool(encoder.add_indicator and survey.n_missing)
        scale = 2.0 ** round(math.log2(squares / max(1, sum(survey.counts.values()))) / 2)
        return cls(survey.name, indicator, trigrams=tuple(sorted(most)), scale=scale, n_values=len(survey.counts))

    @property
    def own_names(self) -> list[str]:
        return [f"{self.name}~{trigram}" for trigram in self.trigrams]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {trigram: i for i, trigram in enumerate(self.trigrams)}

    def features(self, column: Series) -> Rows:
        """Return the counts, divided."""
        known: dict[Value, tuple[list[int], list[int]]] = {}
        indptr, indices, counts = [0], [], []
        for value in _values_of(column, self.name):
            if value is not None:
                if value not in known:
                    places = Counter(self._places[t] for t in trigrams_of(str(value)) if t in self._places)
                    known[value] = list(places), list(places.values())
                indices += known[value][0]
                counts += known[value][1]
            indptr.append(len(indices))
        return sp.csr_matrix(
            (np.array(counts) / self.scale, np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int64)),
            shape=(len(indptr) - 1, len(self.trigrams)),
        )

    def missing(self, column: Series) -> NDArray[np.bool_]:
        return np.array([value is None for value in _values_of(column, self.name)])

    def check(self) -> None:
        known = set(self.trigrams)
        if len(known) < len(self.trigrams) or not all(isinstance(each, str) for each in known) or not self.scale > 0:
            raise ValueError("its trigrams must be different texts, and its scale positive.")

    @property
    def remark(self) -> str:
        """Count the values."""
        return f"{self.n_values:,} values, as counts of {len(self.trigrams):,} trigrams"


def trigrams_of(value: str) -> Iterable[str]:
    """Return the trigrams of a value in lower case, padded with blanks."""
    padded = f" {' '.join(value.casefold().split())} "
    return (padded[i : i + 3] for i in range(max(1, len(padded) - 2)))


def _values_of(column: Series, name: str) -> list[Value | None]:
    if kind_of(column) in ("other", "date"):
        raise refusal(column, name, "values as in training")
    return values_in(column)


def check_has_values(survey: Survey) -> None:
    """Raise an error if a column has no value at all."""
    if survey.kind == "nothing" or (survey.n_missing == survey.n_rows and not survey.counts):
        raise DataError(f"The column {survey.name!r} has no value in any row: leave it out.")
