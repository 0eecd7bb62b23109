"""Categorical columns: one-hot features, or counts of character trigrams if there are many values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from votron._util.frames import kind_of
from votron._util.text import counted, first_of
from votron._util.types import Floats, Rows, Series
from votron.errors import VotronError
from votron.tables.column import Column, Graph, Survey, Value, refusal, values_in

if TYPE_CHECKING:
    from votron.tables.encoder import TableEncoder

RARE = 5
"""Rows that a category needs with ``rare="auto"``; small tables require fewer."""
_RARE_SHARE = 200
MOST_TRIGRAMS = 300
"""Number of trigrams that become features: the most frequent ones."""


@dataclass
class _ValuesColumn(Column):
    few_set: ClassVar[bool] = True

    def read(self, column: Series) -> list[Value | None]:
        if kind_of(column) in ("other", "date"):
            raise refusal(column, self.name, "values as in training")
        return values_in(column)


@dataclass
class CategoryColumn(_ValuesColumn):
    """A few categories: a 0/1 feature each, and a last one for all rare categories."""

    values: tuple[Value, ...]
    rare: tuple[Value, ...] = ()

    @classmethod
    def recognise(cls, survey: Survey, encoder: TableEncoder) -> Self | None:
        """Accept text with at most ``max_categories`` values, and every column in ``discrete``."""
        most = encoder.max_categories
        few = survey.kind == "text" and (most is None or len(survey.counts) <= most)
        if not few and survey.kind != "category":
            return None
        least = min(RARE, survey.n_rows / _RARE_SHARE) if encoder.rare == "auto" else int(encoder.rare)
        rare = tuple(value for value, n in survey.counts.items() if 0 < n < least)
        rare = rare if len(rare) > 1 else ()
        values = tuple(value for value in survey.counts if value not in set(rare))
        return cls(survey.name, values=values, rare=rare)

    @property
    def holds(self) -> str:
        if all(isinstance(value, str) for value in self.values):
            return "text"
        return "truth" if all(isinstance(value, bool) for value in self.values) else "number"

    @property
    def own_names(self) -> list[str]:
        return [f"{self.name}={value}" for value in self.values] + [f"{self.name}=(rare)"] * bool(self.rare)

    def features(self, values: list[Value | None]) -> Rows:
        """Return the 0/1 features: none is set for missing values; unseen values count as rare."""
        other = len(self.values) if self.rare else -1
        known: dict[Value | None, int] = {value: i for i, value in enumerate(self.values)} | {None: -1}
        places = np.array([known.get(value, other) for value in values], dtype=np.int64)
        rows = np.flatnonzero(places >= 0)
        shape = len(places), len(self.values) + bool(self.rare)
        return sp.csr_matrix((np.ones(len(rows)), (rows, places[rows])), shape=shape)

    def unseen(self, column: Series) -> Iterable[str]:
        known = {None, *self.values, *self.rare}
        return (str(value) for value in self.read(column) if value not in known)

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
        if self.holds == "text":
            name = graph.input(self.name, "string", 1)
            codes = graph.node("OneHotEncoder", name, domain="ai.onnx.ml", cats_strings=list(self.values), zeros=1)
            shape = graph.constant(np.array([-1, len(self.values)], dtype=np.int64))
            return graph.double(graph.node("Reshape", codes, shape))
        numbers = np.array([float(value) for value in self.values])
        return graph.double(graph.node("Equal", graph.input(self.name, "double", 1), graph.constant(numbers[None, :])))


@dataclass
class SpeltColumn(_ValuesColumn):
    """Many categories: counts of the most frequent character trigrams, so that similar values have similar features.

    Counts are divided by a power of two, which keeps sums exact and gives a value about the weight of a 0/1 feature.
    """

    trigrams: tuple[str, ...]
    """The trigrams that have a feature, of lower-case values padded with blanks."""
    scale: float
    """The power of two nearest to the mean length of the count vectors."""
    n_values: int
    """Number of distinct values in training."""

    holds: ClassVar[str] = "text"

    @classmethod
    def recognise(cls, survey: Survey, encoder: TableEncoder) -> Self | None:
        """Accept any other text."""
        rows: Counter[str] = Counter()
        squares = 0
        for value, n in survey.counts.items():
            counts = Counter(_trigrams_of(str(value)))
            squares += n * sum(count**2 for count in counts.values())
            rows.update(dict.fromkeys(counts, n))
        most = sorted(rows, key=lambda trigram: (-rows[trigram], trigram))[:MOST_TRIGRAMS]
        scale = 2.0 ** round(math.log2(squares / max(1, sum(survey.counts.values()))) / 2)
        return cls(survey.name, trigrams=tuple(sorted(most)), scale=scale, n_values=len(survey.counts))

    @property
    def own_names(self) -> list[str]:
        return [f"{self.name}~{trigram}" for trigram in self.trigrams]

    def features(self, values: list[Value | None]) -> Rows:
        places = {trigram: i for i, trigram in enumerate(self.trigrams)}
        known: dict[Value | None, Counter[int]] = {None: Counter()}
        for value in dict.fromkeys(values):
            if value is not None:
                known[value] = Counter(places[t] for t in _trigrams_of(str(value)) if t in places)
        indices = [place for value in values for place in known[value]]
        counts = [count for value in values for count in known[value].values()]
        ends = np.cumsum([0, *(len(known[value]) for value in values)])
        data = np.array(counts, dtype=np.float64) / self.scale
        return sp.csr_matrix((data, np.array(indices, dtype=np.int32), ends), shape=(len(values), len(self.trigrams)))

    def check(self) -> None:
        known = set(self.trigrams)
        if len(known) < len(self.trigrams) or not all(isinstance(each, str) for each in known) or not self.scale > 0:
            raise ValueError("its trigrams must be different texts, and its scale positive.")

    @property
    def remark(self) -> str:
        return f"{self.n_values:,} values, as counts of {len(self.trigrams):,} trigrams"


def _trigrams_of(value: str) -> list[str]:
    """Return the trigrams of a value in lower case, padded with blanks."""
    padded = f" {' '.join(value.casefold().split())} "
    return [padded[i : i + 3] for i in range(max(1, len(padded) - 2))]
