"""Dates: recognised in texts, and taken apart into numbers.

A text is a date where it can be read in one way only: 2024-01-31 and 2024/1/31, 31.1.2024, Jan 31 2024 and 31 Jan 2024,
each with a time of day after it or without. (1/2/2024 is none: it may be in January or in February.) Times are those of
the clock where they were written down: what a text says of its time zone is passed over, as are blanks at its ends.
"""

from __future__ import annotations

import re
import sys
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from votron._util.frames import in_pandas
from votron._util.types import Floats, Series

__all__ = ["are_dates", "dates_in", "parts_of_dates"]

_TIME = r"(?:[T ]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:[.,][0-9]+)?)? ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})?)?"
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_MONTH_NAMES = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ORDERS = {
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})" + _TIME: "%Y %m %d",
    r"([0-9]{4})/([0-9]{1,2})/([0-9]{1,2})" + _TIME: "%Y %m %d",
    r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})" + _TIME: "%d %m %Y",
    rf"({_MONTHS})[a-z]* ([0-9]{{1,2}}),? ([0-9]{{4}})" + _TIME: "%b %d %Y",
    rf"([0-9]{{1,2}}) ({_MONTHS})[a-z]* ([0-9]{{4}})" + _TIME: "%d %b %Y",
}
"""How dates are written, and the order of their parts."""
_LONGEST = 60
"""Characters that a date has at most."""
Floats = Floats


def dates_in(column: Series) -> Any | None:
    """Return a polars column of texts as dates, or as dates with times, null where there is no text; None if it is not.

    All texts must be dates, and written in one order.

    Examples
    --------
    >>> import polars as pl
    >>> dates_in(pl.Series("day", ["2024-01-31", None, "2024-2-1"])).to_list()
    [datetime.date(2024, 1, 31), None, datetime.date(2024, 2, 1)]
    >>> dates_in(pl.Series("day", ["2024-01-31", "2024-01-32"])) is None
    True
    """
    pl: Any = sys.modules["polars"]
    column = column.str.strip_chars()
    first = column.drop_nulls()[:1].to_list()
    if not first:
        return column.cast(pl.Date)
    order = _order_of(first[0])
    if order is None or not column.str.contains(f"^{order}$").fill_null(True).all():
        return None
    parts = column.str.extract_groups(f"^{order}$").struct.unnest()
    texts = pl.concat_str([pl.col(name).fill_null("0") for name in parts.columns], separator=" ")
    form = f"{_ORDERS[order]} %H %M %S"
    found = parts.select(texts.str.to_datetime(form, strict=False, time_unit="us"))[parts.columns[0]]
    found = found.rename(column.name)
    if found.null_count() != column.null_count():  # such as the 30th of February
        return None
    with_time = parts[parts.columns[3]].is_not_null().any()
    return found if with_time else found.cast(pl.Date)


def are_dates(column: Series) -> bool:
    """Tell whether a column of a frame holds texts that are dates, all of them and in one order, as in `dates_in`.

    A column whose type says which values there may be, as a Categorical does, holds these and no dates.

    Examples
    --------
    >>> import pandas as pd
    >>> are_dates(pd.Series(["2024-01-31", None, "2024-2-1"])), are_dates(pd.Series(["2024-01-31", "1.2.2024"]))
    (True, False)
    """
    if not in_pandas(column):
        dtype: DTypeLike = sys.modules["polars"].String
        return column.dtype == dtype and column.null_count() < len(column) and dates_in(column) is not None
    if column.dtype.kind != "O" or hasattr(column, "cat"):
        return False
    texts = column.dropna().unique().tolist()
    order = _order_of(texts[0]) if texts and isinstance(texts[0], str) else None
    return order is not None and all(isinstance(text, str) and _date_in_order(text, order) for text in texts)


def first_undated(column: Series) -> int:
    """Return the first row whose text is no date, or none in the order of those before.

    Examples
    --------
    >>> import polars as pl
    >>> first_undated(pl.Series(["2024-01-31", None, "soon"]))
    2
    """
    low, high = 0, len(column)  # of which the first rows are dates, and the first rows are not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if dates_in(column[:middle]) is None else (middle, high)
    return low


def date_in(text: str) -> datetime | None:
    """Return the date that a text is, if it is one.

    Examples
    --------
    >>> date_in("31.1.2024 9:30"), date_in("1/2/2024")
    (datetime.datetime(2024, 1, 31, 9, 30), None)
    """
    order = _order_of(text)
    return None if order is None else _date_in_order(text, order)


def _order_of(text: str) -> str | None:
    """Return in which order a text is written, if it looks like a date."""
    return next((order for order in _ORDERS if len(text) < _LONGEST and re.fullmatch(order, text.strip())), None)


def _date_in_order(text: str, order: str) -> datetime | None:
    match = re.fullmatch(order, text.strip()) if len(text) < _LONGEST else None
    if match is None:
        return None
    try:
        return datetime.strptime(" ".join(part or "0" for part in match.groups()), f"{_ORDERS[order]} %H %M %S")
    except ValueError:  # such as the 30th of February
        return None


def part_of_date(part: str, number: int) -> str:
    """Return what a part of a date is called, where it has a name.

    Examples
    --------
    >>> part_of_date("month", 3), part_of_date("weekday", 0), part_of_date("hour", 9)
    ('March', 'Monday', '9')
    """
    if part == "month":
        return _MONTH_NAMES[number - 1]
    return _WEEKDAYS[number] if part == "weekday" else str(number)


def date_in_words(
    year: int | None = None, month: int | None = None, weekday: int | None = None, hour: int | None = None
) -> str:
    """Return the parts of a date that are known, in words.

    Examples
    --------
    >>> date_in_words(2012, 1, 4), date_in_words(2012, 1, 4, 9), date_in_words(month=1), date_in_words()
    ('Friday in January 2012', 'Friday in January 2012, hour 9', 'January', '')
    """
    months = [part_of_date("month", month)] if month is not None else []
    when = " ".join([*months, *([str(year)] if year is not None else [])])
    if weekday is not None:
        when = f"{part_of_date('weekday', weekday)} in {when}" if when else part_of_date("weekday", weekday)
    return ", ".join(part for part in (when, f"hour {hour}" if hour is not None else "") if part)


def parts_of_dates(column: Series) -> tuple[Floats, Floats, Floats, Floats] | None:
    """Return year, month, weekday (Monday is 0) and hour of dates, NaN where one is missing; None if they are none.

    Of texts, one that is no date counts as missing.

    Examples
    --------
    >>> import polars as pl
    >>> [part.tolist() for part in parts_of_dates(pl.Series(["2024-01-31 09:30", None, "soon"]))]
    [[2024.0, nan, nan], [1.0, nan, nan], [2.0, nan, nan], [9.0, nan, nan]]
    """
    if in_pandas(column):
        if column.dtype.kind == "M":
            return _with_accessor(column.dt)
        return _from_objects(column.tolist(), column.isna().to_numpy())
    pl: Any = sys.modules["polars"]
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        texts = column.cast(pl.String)
        column = dates_in(texts)
        if column is None:
            return _from_objects(texts.to_list(), texts.is_null().to_numpy())
    if column.dtype == pl.Null:
        column = column.cast(pl.Date)
    return _with_polars(column.dt, column.dtype != pl.Date) if column.dtype in (pl.Date, pl.Datetime) else None


def _with_polars(dt: Any, with_time: bool) -> tuple[Floats, Floats, Floats, Floats]:
    pl: Any = sys.modules["polars"]
    year, month, weekday = (part.cast(pl.Float64).to_numpy() for part in (dt.year(), dt.month(), dt.weekday()))
    hour = dt.hour().cast(pl.Float64).to_numpy() if with_time else np.where(np.isnan(year), np.nan, 0.0)
    return year, month, weekday - 1, hour


def _with_accessor(dt: Any) -> tuple[Floats, Floats, Floats, Floats]:
    year, month, weekday, hour = (
        part.to_numpy(dtype=np.float64, na_value=np.nan) for part in (dt.year, dt.month, dt.day_of_week, dt.hour)
    )
    return year, month, weekday, hour


def _from_objects(values: list[Any], missing: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats, Floats] | None:
    """Take apart dates of Python, and texts, each different one once."""
    found = np.full((4, len(values)), np.nan)
    known: dict[str, date | None] = {}
    for i in np.flatnonzero(~missing).tolist():
        value = values[i]
        if isinstance(value, str):
            if value not in known:
                known[value] = date_in(value)
            value = known[value]
        elif not isinstance(value, date):
            return None
        if value is not None:
            found[:, i] = value.year, value.month, value.weekday(), getattr(value, "hour", 0)
    return found[0], found[1], found[2], found[3]
