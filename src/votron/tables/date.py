"""Date columns: days since the first date, day of the year, weekday and hour."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from votron._util.frames import kind_of, moments_in, objects_of
from votron._util.types import Floats, Series
from votron.tables.base import Column
from votron.tables.survey import Survey, refusal, refuse_if_nearly_all, refuse_unreadable

if TYPE_CHECKING:
    from votron.tables.encoder import TableEncoder

Moments = NDArray[np.datetime64]

WAYS = ("cyclic", "onehot")
_DAYS, _SECONDS = "datetime64[D]", "datetime64[s]"
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_TIME = (
    r"(?:[T ,]\s*(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,][0-9]+)?)?"
    r"\s?(?P<half>[AaPp]\.?[Mm]\.?)?\s?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_MONTH = rf"(?P<month>{'|'.join(month[:3] for month in _MONTHS)})[a-z]*\.?"
_D, _Y = r"(?P<day>[0-9]{1,2})", r"(?P<year>[0-9]{4}|[0-9]{2})"
_PATTERNS = {
    "year first": r"(?P<year>[0-9]{4})(?P<mark>[-/.])(?P<month>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})",
    "month first": rf"(?P<month>[0-9]{{1,2}})(?P<mark>[-/]){_D}(?P=mark){_Y}",
    "day first": rf"{_D}(?P<mark>[-/.])(?P<month>[0-9]{{1,2}})(?P=mark){_Y}",
    "day, month by name": rf"{_D}(?:st|nd|rd|th)?[- ]{_MONTH}[-, ]\s?{_Y}",
    "month by name, day": rf"{_MONTH}[- ]{_D}(?:st|nd|rd|th)?,?\s{_Y}",
}
"""Regular expressions for the orders of day, month and year."""
_ORDERS = {order: re.compile(pattern + _TIME, re.IGNORECASE) for order, pattern in _PATTERNS.items()}
_LONGEST = 60
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""The days of the years 1 to 9999."""


@dataclass
class DateColumn(Column):
    """Dates, as cyclic or one-hot features.

    Attributes
    ----------
    way : {"cyclic", "onehot"}
        "cyclic": days since the first date, divided by the span; sine and cosine of the day of the year, the weekday
        and the hour. "onehot": a 0/1 feature for each year, month, weekday and hour.
    order : str
        The order of day, month and year in text; "" for date types.
    assumed : bool
        Whether another order was possible too.
    first, last : int
        Days from 1970-01-01 to the first and the last date.
    hours : bool
        Whether there are times of day.
    fill : float
        The day that replaces missing dates, NaN for none.
    """

    way: str
    order: str
    assumed: bool
    first: int
    last: int
    hours: bool
    fill: float

    @property
    def holds(self) -> str:  # type: ignore[override]
        return "text" if self.order else "date"

    @classmethod
    def recognise(cls, survey: Survey, encoder: TableEncoder) -> Self | None:
        """Accept dates, and text in which every value is a date."""
        if survey.as_values or survey.as_text or survey.kind not in ("date", "text"):
            return None
        order, assumed, moments, hours = "", False, survey.moments, survey.hours
        if survey.kind == "text":
            found = order_of(map(str, survey.counts), encoder.day_first)
            if found is None:
                refuse_if_nearly_all(
                    survey,
                    "dates",
                    lambda text: order_of([text], encoder.day_first),
                    lambda texts: order_of(texts, encoder.day_first),
                )
                return None
            order, assumed = found
            read = _read(list(survey.counts), order)
            days = read.astype(_DAYS)
            moments, hours = type(moments)(), bool((read != days).any())
            moments.add(np.repeat(days.astype(np.float64), list(survey.counts.values())))
        filled = encoder.missing in ("mean", "median", "most-frequent") and moments.n
        return cls(
            survey.name,
            bool(encoder.add_indicator and survey.n_missing),
            way=encoder.dates,
            order=order,
            assumed=assumed,
            first=int(moments.low) if moments.n else 0,
            last=int(moments.high) if moments.n else 0,
            hours=hours,
            fill=moments.mean if filled else np.nan,
        )

    @property
    def own_names(self) -> list[str]:
        if self.way == "onehot":
            return [f"{part} of {self.name}: {word}" for part, _, words in self._indicated for word in words]
        turns = ["day of year", "weekday", *(["hour"] if self.hours else [])]
        circles = [f"{turn} of {self.name} ({axis})" for turn in turns for axis in ("sine", "cosine")]
        return [f"days since the first {self.name}", *circles]

    def features(self, column: Series) -> Floats:
        """Return the features. A missing date is NaN, or the mean day and the centre of each circle."""
        parts = _parts(self._moments(column))
        if self.way == "onehot":
            return np.hstack(
                [
                    (parts[part][:, None] == np.arange(first, first + len(words))).astype(np.float64)
                    for part, first, words in self._indicated
                ]
            )
        days = np.where(np.isnan(parts["day"]), self.fill, parts["day"])
        found = [(days - self.first) / max(1, self.last - self.first)]
        for part, first, n in self._circles:
            found += [np.where(np.isnan(days), np.nan, axis) for axis in _on_circle(parts[part] - first, n)]
        return np.column_stack(found)

    def missing(self, column: Series) -> NDArray[np.bool_]:
        return np.isnat(self._moments(column))

    @property
    def passes_missing(self) -> bool:
        return self.way == "cyclic" and bool(np.isnan(self.fill))

    @property
    def filling(self) -> str:
        """The mean date."""
        return "no feature is set" if self.way == "onehot" else f"as {self._date(self.fill)}"

    def in_units(self, feature: int, value: float) -> float:
        return value * max(1, self.last - self.first) if self.way == "cyclic" and feature == 0 else value

    def value_of(self, features: Floats) -> str:
        if np.isnan(features).any() or (self.indicator and features[-1]):
            return ""
        if self.way == "cyclic":
            if not features[1:3].any():
                return ""
            hour = _turn(features[5], features[6], 24) if self.hours else None
            return self._date(self.first + self.in_units(0, float(features[0]))) + (
                f", hour {hour}" if hour is not None else ""
            )
        words, start = {}, 0
        for part, _, names in self._indicated:
            here = features[start : start + len(names)]
            words[part] = names[int(here.argmax())] if (here > 0.5).any() else ""
            start += len(names)
        when = f"{words['month']} {words['year']}".strip()
        return " in ".join(filter(None, [words["weekday"], when]))

    @property
    def remark(self) -> str:
        """Name the order of day, month and year."""
        if not self.order:
            return ""
        other = "day_first=True" if self.order == "month first" else "day_first=False"
        return f"dates, {self.order}" + (f" (assumed: {other} reads them the other way)" if self.assumed else "")

    def check(self) -> None:
        known = self.way in WAYS and self.order in ("", *_ORDERS)
        if not (known and _FIRST_DAY <= self.first <= self.last <= _LAST_DAY and not abs(self.fill) > _LAST_DAY):
            raise ValueError("its way, order or days cannot be.")

    @property
    def _circles(self) -> list[tuple[str, int, int]]:
        """The cyclic parts: name, first value and period."""
        return [("day of year", 0, 366), ("weekday", 0, 7), *([("hour", 0, 24)] if self.hours else [])]

    @property
    def _indicated(self) -> list[tuple[str, int, list[str]]]:
        """The one-hot parts: name, first value and names of the values."""
        first, last = (int(str(np.datetime64(day, "D"))[:4]) for day in (self.first, self.last))
        years = [str(year) for year in range(first, last + 1)]
        hours = [("hour", 0, [str(hour) for hour in range(24)])] if self.hours else []
        return [("year", first, years), ("month", 1, list(_MONTHS)), ("weekday", 0, list(_WEEKDAYS)), *hours]

    def _moments(self, column: Series) -> Moments:
        kind = kind_of(column)
        if kind in ("date", "nothing"):
            return moments_in(column)
        if kind == "text":
            texts = objects_of(column)
            order = self.order or (order_of([text for text in texts if text]) or ("year first",))[0]
            found = _read(texts, order)
            refuse_unreadable(self.name, texts, np.isnat(found), f"dates, {order}")
            return found
        raise refusal(column, self.name, "dates, as in training")

    def _date(self, day: float) -> str:
        return str(np.datetime64(round(day), "D"))


def order_of(texts: Iterable[str], day_first: bool | None = None) -> tuple[str, bool] | None:
    """Return the order of day, month and year that fits all texts, and whether it is assumed; None if none fits."""
    given = list(texts)
    orders = list(_ORDERS)
    if day_first is not None:
        orders.remove("month first" if day_first else "day first")
    for text in given:
        orders = [order for order in orders if _date_in(text, order) is not None]
        if not orders:
            return None
    return (orders[0], len(orders) > 1) if given else None


def _date_in(text: str, order: str) -> datetime | None:
    match = _ORDERS[order].fullmatch(text.strip()) if len(text) < _LONGEST else None
    if match is None:
        return None
    month, year, hour = match["month"], int(match["year"]), int(match["hour"] or 0)
    if len(match["year"]) == 2:
        year += 1900 if year > 68 else 2000
    if match["half"]:
        hour = hour % 12 + (12 if match["half"][0] in "Pp" else 0)
    number = int(month) if month.isdecimal() else 1 + [name[:3] for name in _MONTHS].index(month[:3].title())
    try:
        return datetime(year, number, int(match["day"]), hour, int(match["minute"] or 0), int(match["second"] or 0))
    except ValueError:  # such as the 30th of February
        return None


def _read(texts: Iterable[object], order: str) -> Moments:
    """Parse dates, each distinct text once."""
    known: dict[object, datetime | None] = {None: None}
    found = []
    for text in texts:
        if text not in known:
            known[text] = _date_in(str(text), order)
        found.append(known[text])
    return np.array(found, dtype=_SECONDS)


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
    functions: tuple[Callable[[Floats], Floats], ...] = (np.sin, np.cos)
    angles = 2 * np.pi * np.arange(n) / n
    return [np.append(np.round(function(angles), 12), 0.0)[places] for function in functions]


def _turn(sine: float, cosine: float, n: int) -> int | None:
    """Return the index of one of n points on a circle; None if it is not one of them."""
    away = np.abs(np.array(_on_circle(np.arange(n, dtype=np.float64), n)) - [[sine], [cosine]]).max(axis=0)
    return int(away.argmin()) if away.min() < 1e-6 else None
