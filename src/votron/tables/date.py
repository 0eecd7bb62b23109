"""Date columns: days since the first date, day of the year, weekday and hour."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from votron._util.frames import kind_of, moments_in
from votron._util.types import Floats, Series
from votron.tables.column import Column, Survey, parsed, refusal
from votron.tables.number import FILLINGS

if TYPE_CHECKING:
    from votron.tables.encoder import TableEncoder

Moments = NDArray[np.datetime64]

WAYS = ("cyclic", "onehot")
_DAYS, _SECONDS = "datetime64[D]", "datetime64[s]"
_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September"]
_MONTHS += ["October", "November", "December"]
_PERIODS = {"day of year": 366, "weekday": 7, "hour": 24}

_TIME = (
    r"(?:[T ,]\s*(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,][0-9]+)?)?"
    r"\s?(?P<half>[AaPp]\.?[Mm]\.?)?\s?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_DAY, _YEAR = r"(?P<day>[0-9]{1,2})", r"(?P<year>[0-9]{4}|[0-9]{2})"
_MONTH = rf"(?P<month>{'|'.join(month[:3] for month in _MONTHS)})[a-z]*\.?"
_PATTERNS = {
    "year first": r"(?P<year>[0-9]{4})(?P<mark>[-/.])(?P<month>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})",
    "month first": rf"(?P<month>[0-9]{{1,2}})(?P<mark>[-/]){_DAY}(?P=mark){_YEAR}",
    "day first": rf"{_DAY}(?P<mark>[-/.])(?P<month>[0-9]{{1,2}})(?P=mark){_YEAR}",
    "day, month by name": rf"{_DAY}(?:st|nd|rd|th)?[- ]{_MONTH}[-, ]\s?{_YEAR}",
    "month by name, day": rf"{_MONTH}[- ]{_DAY}(?:st|nd|rd|th)?,?\s{_YEAR}",
}
"""Regular expressions for the orders of day, month and year."""
_ORDERS = {order: re.compile(pattern + _TIME, re.IGNORECASE) for order, pattern in _PATTERNS.items()}
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""The days of the years 1 to 9999."""


@dataclass
class DateColumn(Column):
    """Dates, as cyclic or one-hot features.

    Cyclic features are the days since the first date, divided by the span, and sine and cosine of the day of the year,
    the weekday and the hour; one-hot features are 0 or 1 for each year, month, weekday and hour.
    """

    way: str
    order: str
    """The order of day, month and year in text; "" for date types."""
    assumed: bool
    """Whether another order was possible too."""
    first: int
    last: int
    """Days from 1970-01-01 to the first and the last date."""
    hours: bool
    """Whether there are times of day."""
    fill: float
    """The day that replaces missing dates, NaN for none."""

    @property
    def holds(self) -> str:
        return "text" if self.order else "date"

    @classmethod
    def recognise(cls, survey: Survey, encoder: TableEncoder) -> Self | None:
        """Accept dates, and text in which every value is a date."""
        order, assumed, hours = "", False, survey.hours
        if survey.kind == "text":
            texts, day_first = [str(text) for text in survey.counts], encoder.day_first
            order, assumed = order_of(texts, day_first)
            if not order:
                survey.refuse_if_nearly_all(
                    "dates", lambda text: order_of([text], day_first)[0], lambda some: order_of(some, day_first)[0]
                )
                return None
            found = np.array([_date_in(text, order) for text in texts], dtype=_SECONDS)
            days = found.astype(_DAYS)
            survey, hours = survey.as_numbers(days.astype(np.float64).tolist()), bool((found != days).any())
        elif survey.kind != "date":
            return None
        way, moments = encoder.dates, survey.moments
        first, last, fill = int(moments.low), int(moments.high), moments.mean if encoder.missing in FILLINGS else np.nan
        return cls(survey.name, way=way, order=order, assumed=assumed, first=first, last=last, hours=hours, fill=fill)

    @property
    def own_names(self) -> list[str]:
        if self.way == "onehot":
            return [f"{part} of {self.name}: {word}" for part, _, words in self._indicated for word in words]
        circles = [f"{part} of {self.name} ({axis})" for part in self._circles for axis in ("sine", "cosine")]
        return [f"days since the first {self.name}", *circles]

    def read(self, column: Series) -> Moments:
        kind, order = kind_of(column), self.order or "year first"
        if kind in ("date", "nothing"):
            return moments_in(column)
        if kind == "text":
            found = parsed(column, self.name, lambda text: _date_in(text, order), f"dates, {order}")
            return np.array(found, dtype=_SECONDS)
        raise refusal(column, self.name, "dates, as in training")

    def features(self, values: Moments) -> Floats:
        """Return the features. A missing date is NaN, or the mean day and the centre of each circle."""
        parts = _parts(values)
        if self.way == "onehot":
            known = [(parts[part][:, None], first + np.arange(len(words))) for part, first, words in self._indicated]
            return np.hstack([(found == each).astype(np.float64) for found, each in known])
        days = np.where(np.isnan(parts["day"]), self.fill, parts["day"])
        columns = [(days - self.first) / max(1, self.last - self.first)]
        for part, n in self._circles.items():
            columns += [np.where(np.isnan(days), np.nan, axis) for axis in _on_circle(parts[part], n)]
        return np.column_stack(columns)

    @property
    def passes_missing(self) -> bool:
        return self.way == "cyclic" and bool(np.isnan(self.fill))

    @property
    def filling(self) -> str:
        return super().filling if self.way == "onehot" or np.isnan(self.fill) else f"as {self._date(self.fill)}"

    def in_units(self, feature: int, value: float) -> float:
        return value * max(1, self.last - self.first) if self.way == "cyclic" and feature == 0 else value

    def value_of(self, features: Floats) -> str:
        if np.isnan(features).any() or (self.indicator and features[-1]):
            return ""
        if self.way == "cyclic":
            if not features[1:3].any():  # the centre of a circle
                return ""
            date = self._date(self.first + self.in_units(0, float(features[0])))
            hour = round(np.arctan2(features[5], features[6]) * 12 / np.pi) % 24 if self.hours else 0
            return f"{date}, hour {hour}" if self.hours else date
        words = (word for _, _, words in self._indicated for word in words)
        return " ".join(word for word, value in zip(words, features, strict=False) if value > 0.5)

    @property
    def remark(self) -> str:
        other = "day_first=True" if self.order == "month first" else "day_first=False"
        assumed = f" (assumed: {other} reads them the other way)" if self.assumed else ""
        return f"dates, {self.order}{assumed}" if self.order else ""

    def check(self) -> None:
        known = self.way in WAYS and self.order in ("", *_ORDERS)
        if not (known and _FIRST_DAY <= self.first <= self.last <= _LAST_DAY and not abs(self.fill) > _LAST_DAY):
            raise ValueError("its way, order or days cannot be.")

    @property
    def _circles(self) -> dict[str, int]:
        """The cyclic parts, and their periods."""
        return {part: n for part, n in _PERIODS.items() if part != "hour" or self.hours}

    @property
    def _indicated(self) -> list[tuple[str, int, list[str]]]:
        """The one-hot parts: name, first value and names of the values."""
        first, last = (int(self._date(day)[:4]) for day in (self.first, self.last))
        years = [str(year) for year in range(first, last + 1)]
        hours = [("hour", 0, [str(hour) for hour in range(24)])] if self.hours else []
        return [("year", first, years), ("month", 1, _MONTHS), ("weekday", 0, _WEEKDAYS), *hours]

    def _date(self, day: float) -> str:
        return str(np.datetime64(round(day), "D"))


def order_of(texts: Iterable[str], day_first: bool | None = None) -> tuple[str, bool]:
    """Return the order of day, month and year that fits all texts, "" if none does, and whether it is assumed."""
    orders = list(_ORDERS)
    if day_first is not None:
        orders.remove("month first" if day_first else "day first")
    for text in texts:
        orders = [order for order in orders if _date_in(text, order) is not None]
        if not orders:
            return "", False
    return orders[0], len(orders) > 1


def _date_in(text: str, order: str) -> datetime | None:
    match = _ORDERS[order].fullmatch(text.strip())
    if match is None:
        return None
    month, year, hour = match["month"], int(match["year"]), int(match["hour"] or 0)
    if len(match["year"]) == 2:
        year += 1900 if year > 68 else 2000
    if match["half"]:
        hour = hour % 12 + (12 if match["half"][0] in "Pp" else 0)
    number = int(month) if month.isdecimal() else 1 + [name[:3] for name in _MONTHS].index(month.title())
    try:
        return datetime(year, number, int(match["day"]), hour, int(match["minute"] or 0), int(match["second"] or 0))
    except ValueError:  # such as the 30th of February
        return None


def _parts(moments: Moments) -> dict[str, Floats]:
    """Return the parts of dates as numbers, NaN for missing dates."""
    days, months, years = (moments.astype(f"datetime64[{unit}]") for unit in "DMY")
    whole = days.astype(np.int64)
    parts: dict[str, NDArray[np.int64]] = {
        "day": whole,
        "year": years.astype(np.int64) + 1970,
        "month": months.astype(np.int64) % 12 + 1,
        "weekday": (whole + 3) % 7,  # 1970-01-01 was a Thursday
        "day of year": (days - years.astype(_DAYS)).astype(np.int64),
        "hour": (moments.astype(_SECONDS) - days.astype(_SECONDS)).astype(np.int64) // 3600,
    }
    return {part: np.where(np.isnat(moments), np.nan, numbers) for part, numbers in parts.items()}


def _on_circle(turns: Floats, n: int) -> list[Floats]:
    """Return sine and cosine, rounded to be the same on every processor; 0 for NaN."""
    places = np.where(np.isnan(turns), n, turns).astype(np.int64)
    angles = 2 * np.pi * np.arange(n) / n
    return [np.append(np.round(axis, 12), 0.0)[places] for axis in (np.sin(angles), np.cos(angles))]
