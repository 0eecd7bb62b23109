"""Columns of numbers, also as text with currency signs, percent signs and thousands separators, and of booleans."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from votron._util.frames import floats_of, kind_of
from votron._util.text import plain_number
from votron._util.types import Floats, Series
from votron.errors import DataError
from votron.tables.column import Column, Graph, Moments, Survey, parsed, refusal

if TYPE_CHECKING:
    from votron.tables.encoder import TableEncoder

SCALES = ("standard", "robust", "minmax", "maxabs", "keep")
FILLINGS = ("mean", "median", "most-frequent")
_NORMAL_IQR = 1.3489795003921634
"""The distance of the quartiles of a normal distribution, in standard deviations."""
_SQUASHED_FROM = 3.0
"""Deviations beyond which "robust" squashes numbers; none becomes larger than this."""

_UNITS = r"[$€£¥₹%]|USD|EUR|GBP|CHF|JPY"
_BLANKS = r" \u00a0\u202f"


def _pattern(decimal: str, groups: str) -> re.Pattern[str]:
    """Return the pattern of numbers with this decimal mark, whose thousands one of the other marks may separate."""
    return re.compile(
        rf"(?P<open>\()?(?P<sign>[-+−]?)\s?(?P<before>{_UNITS})?\s?(?P<sign2>[-−]?)(?=[.,]?\d)"
        rf"(?P<whole>0|[1-9]\d*|[1-9]\d{{0,2}}(?P<mark>[{groups}])(?:\d{{2,3}}(?P=mark))*\d{{3}})?"
        rf"(?:[{decimal}](?P<fraction>\d*))?\s*(?P<after>{_UNITS})?(?(open)\))"
    )


_PATTERNS = {".": _pattern(".", f",'’{_BLANKS}"), ",": _pattern(",", f".'’{_BLANKS}")}

_CHANCES = "The column {!r} must hold probabilities, from 0 to 1. Got {} instead."
_MARKS = {".": "a decimal point", ",": "a decimal comma"}


@dataclass
class NumberColumn(Column):
    """Scaled numbers."""

    decimal: str
    """The decimal mark of numbers written as text, "." or ","; "" for numeric types."""
    center: float
    scale: float
    squash: bool
    """Whether z becomes z / √(1 + (z / 3)²), which limits outliers."""
    fill: float
    """Replacement for missing numbers; NaN for none."""
    chances: bool = False
    """Whether they are probabilities, from 0 to 1."""

    @property
    def holds(self) -> str:
        return "text" if self.decimal else "number"

    @classmethod
    def recognise(cls, survey: Survey, encoder: TableEncoder) -> Self | None:
        """Accept numbers, and text in which every value is a number."""
        chances, decimal = survey.role == "probabilities", ""
        if survey.kind == "text":
            decimal = decimal_mark(map(str, survey.counts), encoder.decimal) or ""
            if decimal:
                survey = survey.as_numbers([_number(str(text), decimal) for text in survey.counts])
            else:
                survey.refuse_if_nearly_all("numbers", _is_number, lambda texts: decimal_mark(texts, encoder.decimal))
        low, high = survey.moments.low, survey.moments.high
        if chances and (survey.kind != "number" or low < 0 or high > 1):
            got = f"{low if low < 0 else high:g}" if survey.kind == "number" else survey.kind
            raise DataError(_CHANCES.format(survey.name, got))
        if survey.kind != "number":
            return None
        fill, known = filling(survey, encoder.missing)
        numeric = "keep" if chances else encoder.numeric
        center, scale, squash = *_scaling(numeric, survey, known), numeric == "robust"
        return cls(survey.name, decimal=decimal, center=center, scale=scale, squash=squash, fill=fill, chances=chances)

    @property
    def own_names(self) -> list[str]:
        return [self.name]

    def read(self, column: Series) -> Floats:
        kind = kind_of(column)
        if kind == "text" and self.decimal:
            what = f"numbers with {_MARKS[self.decimal]}"
            return np.array(parsed(column, self.name, lambda text: _number(text, self.decimal), what), dtype=np.float64)
        if kind not in ("number", "boolean", "nothing"):
            raise refusal(column, self.name, "numbers, as in training")
        numbers = floats_of(column)
        for odd in numbers[(numbers < 0) | (numbers > 1)] if self.chances else ():
            raise DataError(_CHANCES.format(self.name, f"{odd:g}"))
        return numbers

    def features(self, values: Floats) -> Floats:
        z = (np.where(np.isnan(values), self.fill, values) - self.center) / self.scale
        return (z / np.sqrt(1 + np.square(z / _SQUASHED_FROM)) if self.squash else z)[:, None]

    @property
    def passes_missing(self) -> bool:
        return bool(np.isnan(self.fill))

    @property
    def filling(self) -> str:
        return "" if self.passes_missing else f"as {plain_number(float(f'{self.fill:.4g}'))}"

    def in_units(self, feature: int, value: float) -> float:
        if feature:
            return value
        if self.squash:
            value = value / np.sqrt(max(1e-12, 1 - (value / _SQUASHED_FROM) ** 2))
        found = float(value * self.scale + self.center)
        return 0.0 if abs(found) < 1e-12 * abs(self.center) else found

    def value_of(self, features: Floats) -> str:
        if np.isnan(features[0]) or (self.indicator and features[-1]):
            return ""
        return f"{self.in_units(0, float(features[0])):.6g}"

    @property
    def remark(self) -> str:
        return f"numbers written as text, with {_MARKS[self.decimal]}" if self.decimal else ""

    def check(self) -> None:
        if self.decimal not in ("", *_PATTERNS) or not (np.isfinite(self.scale) and self.scale > 0):
            raise ValueError("its decimal mark or scale cannot be.")

    def to_onnx(self, graph: Graph) -> str:
        if self.decimal:
            return super().to_onnx(graph)
        name = graph.input(self.name, "double", 1)
        gone = graph.node("IsNaN", name) if self.indicator or not self.passes_missing else ""
        found = name if self.passes_missing else graph.node("Where", gone, graph.constant(np.float64(self.fill)), name)
        found = graph.node("Sub", found, graph.constant(np.float64(self.center)))
        found = graph.node("Div", found, graph.constant(np.float64(self.scale)))
        if self.squash:
            part = graph.node("Div", found, graph.constant(np.float64(_SQUASHED_FROM)))
            one = graph.constant(np.float64(1.0))
            found = graph.node("Div", found, graph.node("Sqrt", graph.node("Add", graph.node("Mul", part, part), one)))
        return graph.node("Concat", found, graph.double(gone), axis=1) if self.indicator else found


@dataclass
class BooleanColumn(NumberColumn):
    """True and False, as 1 and 0, which they may also be given as."""

    holds: ClassVar[str] = "truth"

    @classmethod
    def recognise(cls, survey: Survey, encoder: TableEncoder) -> Self | None:
        """Accept booleans."""
        if survey.kind != "boolean":
            return None
        fill, _ = filling(survey, encoder.missing)
        return cls(survey.name, decimal="", center=0.0, scale=1.0, squash=False, fill=fill)

    def read(self, column: Series) -> Floats:
        found = super().read(column)
        if not ((found == 0) | (found == 1) | np.isnan(found)).all():
            raise refusal(column, self.name, "True and False, or 1 and 0, as in training")
        return found

    def value_of(self, features: Floats) -> str:
        return {0.0: "False", 1.0: "True"}.get(float(features[0]), "")


def filling(survey: Survey, missing: str) -> tuple[float, Moments]:
    """Return the replacement for missing numbers (NaN for none) and the moments after imputation."""
    if missing not in FILLINGS:
        return np.nan, survey.moments
    if missing == "mean":
        fill = survey.moments.mean
    elif missing == "median":
        fill = float(np.median(survey.numbers("missing='median'")))
    else:
        values, counts = np.unique(survey.numbers("missing='most-frequent'"), return_counts=True)
        fill = float(values[counts.argmax()])
    return fill, survey.moments + Moments(survey.n_missing, fill, 0.0, fill, fill)


def _scaling(how: str, survey: Survey, known: Moments) -> tuple[float, float]:
    """Return the center and the scale of numbers."""
    if how == "standard":
        return known.mean, known.deviation or 1.0
    if how == "robust":  # the normalised interquartile range, or the deviation if that is 0
        low, middle, high = np.quantile(survey.numbers("numeric='robust'"), [0.25, 0.5, 0.75])
        return float(middle), float(high - low) / _NORMAL_IQR or known.deviation or 1.0
    if how == "minmax":
        return known.low, known.high - known.low or 1.0
    return 0.0, (max(abs(known.low), abs(known.high)) or 1.0) if how == "maxabs" else 1.0


def decimal_mark(texts: Iterable[str], given: str | None = None) -> str | None:
    """Return the decimal mark with which all texts are numbers of one unit; the point if both marks would do.

    Texts of digits alone, such as postcodes, are not numbers.
    """
    stripped = [text.strip() for text in texts]
    if not all(text.isdecimal() for text in stripped):
        for mark in [given] if given else _PATTERNS:
            matches = [_PATTERNS[mark].fullmatch(text) for text in stripped]
            units = {unit for match in matches if match for unit in match.group("before", "after") if unit}
            if all(matches) and len(units) <= 1:
                return mark
    return None


def _is_number(text: str) -> bool:
    return any(pattern.fullmatch(text.strip()) for pattern in _PATTERNS.values())


def _number(text: str, decimal: str) -> float | None:
    """Parse a number; None if it is not one with this decimal mark."""
    match = _PATTERNS[decimal].fullmatch(text.strip())
    if match is None:
        return None
    digits = re.sub(r"\D", "", match["whole"] or "0")
    found = float(f"{digits}.{match['fraction'] or '0'}")
    return -found if match["open"] or match["sign"] in ("-", "−") or match["sign2"] else found
