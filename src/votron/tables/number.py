"""Numeric columns: numbers, or text with currency signs, percent signs and thousands separators."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from votron._util.frames import floats_of, kind_of, objects_of
from votron._util.text import plain_number
from votron._util.types import Floats, Series
from votron.errors import DataError
from votron.tables.base import Column, Graph
from votron.tables.survey import Moments, Survey, refusal, refuse_if_nearly_all, refuse_unreadable

if TYPE_CHECKING:
    from votron.tables.encoder import TableEncoder

SCALES = ("standard", "robust", "minmax", "maxabs", "keep")
FILLINGS = ("mean", "median", "most-frequent")
_NORMAL_IQR = 1.3489795003921634
"""The distance of the quartiles of a normal distribution, in standard deviations."""
_SQUASHED_FROM = 3.0
"""Deviations beyond which "robust" squashes numbers; none becomes larger than this."""

_UNITS = r"[$€£¥₹%]|USD|EUR|GBP|CHF|JPY"
_NUMBER = re.compile(
    rf"(?P<open>\()?(?P<sign>[-+−]?)\s?(?P<before>{_UNITS})?\s?(?P<sign2>[-−]?)"
    rf"(?P<digits>\d[\d.,'’ \u00a0\u202f]*|[.,]\d+)\s?(?P<after>{_UNITS})?(?P<close>\))?"
)
_WHOLE = re.compile(r"(?:0|[1-9]\d*|[1-9]\d{0,2}(?P<mark>[.,'’ \u00a0\u202f])(?:\d{2,3}(?P=mark))*\d{3})?")
"""The digits before the decimal mark, perhaps in groups."""
_MARKS = re.compile(r"[.,'’ \u00a0\u202f]")


@dataclass
class NumberColumn(Column):
    """Scaled numbers.

    Attributes
    ----------
    decimal : str
        The decimal mark of numbers written as text, "." or ","; "" for numeric types.
    center, scale : float
        Subtracted, then divided by.
    squash : bool
        Whether z becomes z / √(1 + (z / 3)²), which limits outliers.
    fill : float
        Replacement for missing numbers; NaN for none.
    low, high : float
        The range of valid numbers.
    """

    decimal: str
    center: float
    scale: float
    squash: bool
    fill: float
    low: float = -np.inf
    high: float = np.inf

    @property
    def holds(self) -> str:  # type: ignore[override]
        return "text" if self.decimal else "number"

    @classmethod
    def recognise(cls, survey: Survey, encoder: TableEncoder) -> Self | None:
        """Accept numbers, and text in which every value is a number."""
        chances, decimal = survey.name in encoder.names_in("probabilities"), ""
        if survey.kind == "text" and not (survey.as_values or survey.as_text):
            decimal = decimal_mark(map(str, survey.counts), encoder.decimal) or ""
            if not decimal:
                refuse_if_nearly_all(
                    survey,
                    "numbers",
                    lambda text: _NUMBER.fullmatch(text.strip()),
                    lambda texts: decimal_mark(texts, encoder.decimal),
                )
        if survey.as_values or survey.as_text or not (survey.kind == "number" or decimal or chances):
            return None
        if decimal:
            survey = _read_as_numbers(survey, decimal)
        if chances and (survey.kind != "number" or survey.moments.low < 0 or survey.moments.high > 1):
            raise DataError(
                f"The column {survey.name!r} must hold probabilities, from 0 to 1. Got {_got(survey)} instead."
            )
        fill, known = filling(survey, encoder.missing)
        center, scale = 0.0, 1.0
        if not chances:
            center, scale = _SCALERS[encoder.numeric](survey, known)
        return cls(
            survey.name,
            bool(encoder.add_indicator and survey.n_missing),
            decimal=decimal,
            center=center,
            scale=scale,
            squash=encoder.numeric == "robust" and not chances,
            fill=fill,
            **({"low": 0.0, "high": 1.0} if chances else {}),
        )

    @property
    def own_names(self) -> list[str]:
        return [self.name]

    def numbers(self, column: Series) -> Floats:
        """Return the numbers, NaN for missing values."""
        kind = kind_of(column)
        if kind == "text" and self.decimal:
            texts = objects_of(column)
            found = np.array([_float(value, self.decimal) for value in texts])
            mark = {".": "point", ",": "comma"}[self.decimal]
            refuse_unreadable(self.name, texts, np.isnan(found), f"numbers with a decimal {mark}")
            return found
        if kind not in ("number", "boolean", "nothing"):
            raise refusal(column, self.name, "numbers, as in training")
        found = floats_of(column)
        bad = (found < self.low) | (found > self.high)
        if bad.any():
            row = int(bad.argmax())
            raise DataError(
                f"The column {self.name!r} must hold numbers from {self.low:g} to {self.high:g}. Got {found[row]:g} "
                f"in row {row} instead."
            )
        return found

    def features(self, column: Series) -> Floats:
        """Return the numbers, filled in and scaled."""
        found = self.numbers(column)
        z = (np.where(np.isnan(found), self.fill, found) - self.center) / self.scale
        return (z / np.sqrt(1 + np.square(z / _SQUASHED_FROM)) if self.squash else z)[:, None]

    def missing(self, column: Series) -> NDArray[np.bool_]:
        return np.isnan(self.numbers(column))

    @property
    def passes_missing(self) -> bool:
        return bool(np.isnan(self.fill))

    @property
    def filling(self) -> str:
        """The value that is filled in, in words."""
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
        """Name the decimal mark found in text."""
        mark = {"": "", ".": "a decimal point", ",": "a decimal comma"}[self.decimal]
        return f"numbers written as text, with {mark}" if mark else ""

    def check(self) -> None:
        if self.decimal not in ("", ".", ",") or not (np.isfinite(self.scale) and self.scale > 0):
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


# -- scaling and filling ----------------------------------------------------------------------------------------------


def filling(survey: Survey, missing: str) -> tuple[float, Moments]:
    """Return the replacement for missing numbers (NaN for none) and the moments after imputation."""
    if missing not in FILLINGS:
        return np.nan, survey.moments
    if not survey.moments.n:
        fill = 0.0
    elif missing == "mean":
        fill = survey.moments.mean
    elif missing == "median":
        fill = float(np.median(survey.numbers("missing='median'")))
    else:
        values, counts = np.unique(survey.numbers("missing='most-frequent'"), return_counts=True)
        fill = float(values[counts.argmax()])
    return fill, survey.moments.with_copies(fill, survey.n_missing)


def _standard(survey: Survey, known: Moments) -> tuple[float, float]:
    return known.mean, known.deviation or 1.0


def _robust(survey: Survey, known: Moments) -> tuple[float, float]:
    """Return the median and the normalised interquartile range, or the deviation if that is 0."""
    low, middle, high = np.quantile(survey.numbers("numeric='robust'"), [0.25, 0.5, 0.75])
    return float(middle), float(high - low) / _NORMAL_IQR or known.deviation or 1.0


def _minmax(survey: Survey, known: Moments) -> tuple[float, float]:
    return known.low, known.high - known.low or 1.0


def _maxabs(survey: Survey, known: Moments) -> tuple[float, float]:
    return 0.0, max(abs(known.low), abs(known.high)) or 1.0


def _keep(survey: Survey, known: Moments) -> tuple[float, float]:
    return 0.0, 1.0


_SCALERS = dict(zip(SCALES, (_standard, _robust, _minmax, _maxabs, _keep), strict=True))


# -- numbers written as text ------------------------------------------------------------------------------------------


def decimal_mark(texts: Iterable[str], given: str | None = None) -> str | None:
    """Return the decimal mark of texts that are all numbers, None if they are not.

    All texts settle it together: a mark is decimal if it follows the other mark, or does not precede three digits. If
    nothing settles it, the point is. Texts of digits alone, such as postcodes, are not numbers.
    """
    marks: set[str] = set()
    units: set[str] = set()
    numbers: list[str] = []
    plain = True
    for text in texts:
        match = _NUMBER.fullmatch(text.strip())
        if match is None or bool(match["open"]) != bool(match["close"]):
            return None
        digits = match["digits"].strip()
        numbers.append(digits)
        units |= {unit for unit in (match["before"], match["after"]) if unit}
        plain = plain and text.strip() == digits and digits.isdecimal()
        marks |= _decimal_marks(digits)
    mark = next(iter(marks), given or ".")
    if plain or len(marks) > 1 or len(units) > 1 or given not in (None, mark):
        return None
    return mark if all(_is_written_with(mark, digits) for digits in numbers) else None


def _is_written_with(decimal: str, digits: str) -> bool:
    whole, _, fraction = digits.partition(decimal)
    return bool(_WHOLE.fullmatch(whole)) and not _MARKS.search(fraction)


def _decimal_marks(digits: str) -> set[str]:
    """Return the decimal mark of this number; empty if it could also separate thousands."""
    found = _MARKS.findall(digits)
    if not found or found[-1] not in ".,":
        return set()
    last = found[-1]
    if len(set(found)) > 1 or (len(found) == 1 and not re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", digits)):
        return {last}
    return {"." if last == "," else ","} if len(found) > 1 else set()


def _float(value: object, decimal: str) -> float:
    """Parse a number, NaN if it is not one with this decimal mark."""
    match = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or not _is_written_with(decimal, match["digits"].strip()):
        return np.nan
    whole, _, fraction = match["digits"].partition(decimal)
    found = float(f"{_MARKS.sub('', whole) or '0'}.{fraction.strip() or '0'}")
    return -found if match["open"] or match["sign"] in ("-", "−") or match["sign2"] else found


def _read_as_numbers(survey: Survey, decimal: str) -> Survey:
    """Return the survey of a text column as a numeric one."""
    numbers = np.array([_float(text, decimal) for text in survey.counts])
    repeated = np.repeat(numbers, list(survey.counts.values()))
    found = Survey(survey.name, kind="number", n_rows=survey.n_rows, n_missing=survey.n_missing)
    found.moments.add(repeated)
    found.given = [repeated]
    return found


def _got(survey: Survey) -> str:
    if survey.kind != "number":
        return survey.kind
    return f"{survey.moments.low if survey.moments.low < 0 else survey.moments.high:g}"
