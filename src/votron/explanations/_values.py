"""Values in words: of a row as it came, where that is known, and else as far as its features tell.

Rows that are explained came in a frame, or they did not; of training rows a model keeps the features alone. So a date
of the first is a day, and one of the others what its features are: a weekday in a month of a year.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from votron._util.frames import cell, columns_of, empty_cells, in_words
from votron._util.text import first_of, shortened
from votron._util.types import Floats, Index, Rows
from votron.explanations._sums import dense_row

_SHOWN = 4
"""Columns of a training row that are shown."""
_UNKNOWN = object()


def number(value: float) -> str:
    """Return the value of a feature in four digits, or as a whole number where it is large.

    Examples
    --------
    >>> number(0.123456), number(17391.0), number(6.02e23)
    ('0.1235', '17,391', '6.02e+23')
    """
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.4g}"


def original(names: Any, i: int, value: float) -> float:
    """Return the value of a feature in the unit of the data, where the names know it."""
    return float(names.original(i, value)) if hasattr(names, "original") else float(value)


def meaning(names: Any, i: int, value: float) -> str:
    """Return what a value of a feature stands for, where the names know it."""
    return str(names.in_words(i, value)) if hasattr(names, "in_words") else ""


def with_value(name: str, value: float, *, about: str = "", missing: bool = False, column: str = "") -> str:
    """Return a feature with its value: what it stands for, if that is known; of 0/1 features that are 1 the name.

    What is called as a column of the frame is no 0/1 feature of one.

    Examples
    --------
    >>> with_value("Temp", 65.0), with_value("Temp", 65.0, missing=True), with_value("Outlook=Rainy", 1.0)
    ('Temp = 65', 'Temp missing, taken as 65', 'Outlook=Rainy')
    >>> with_value("Children", 1.0, column="Children")
    'Children = 1'
    >>> with_value("month of day (sine)", 0.5, about="February or June")
    'month of day (sine): February or June'
    """
    if missing:
        return _missing(name, number(value))
    if about:
        return f"{name}: {about}"
    return name if value == 1 and name != column else f"{name} = {number(value)}"


def column_of(names: Any, i: int) -> str:
    """Return the column of the frame of rows that a feature was made of; nothing where they came in none."""
    frame, column = getattr(names, "frame", None), names.columns[i] if hasattr(names, "columns") else ""
    return str(column) if frame is not None and column in frame.columns else ""


def is_missing_in(names: Any, i: int, row: int) -> bool:
    """Tell whether the value that a feature was made of is known to be missing in a row of those that came."""
    return bool(column := column_of(names, i)) and cell(names.frame, column, row) is None


def column_in_words(names: Any, column: str, places: Index, own: Floats, row: int) -> str:
    """Return a column with its value in a row that is explained: as it came, or as far as its features tell."""
    came = _came(names, column, row)
    alone = int(places[0]) if len(places) == 1 else None
    value = 0.0 if alone is None else original(names, alone, float(own[alone]))
    if came is None:
        return _missing(column, "" if alone is None else number(value))
    if alone is not None:
        name = str(names[alone])
        return name if own[alone] == 1 and name != column else f"{name} = {number(value)}"
    read = read_together(names, column, own) if came is _UNKNOWN else ""
    if read:
        return read
    there = places[own[places] != 0]
    if len(there) == 1 and own[there[0]] == 1:
        return str(names[int(there[0])])
    return column if came is _UNKNOWN else f"{column} = {shortened(in_words(came))}"


class Holes:
    """What the rows of a frame lack, and what was filled in."""

    def __init__(self, names: Any) -> None:
        self.names = names
        frame = getattr(names, "frame", None)
        used = {} if frame is None else places_of_columns(names)
        columns = () if frame is None else zip(frame.columns, columns_of(frame), strict=True)
        cells = {name: (np.array(used[name]), empty_cells(column)) for name, column in columns if name in used}
        self._columns = {name: found for name, found in cells.items() if found[1].any()}

    def of(self, row: Rows, i: int) -> dict[str, str]:
        """Return the columns that are missing in row ``i``, each with what it was taken as, if that is one number."""
        missing = {name: places for name, (places, empty) in self._columns.items() if empty[i]}
        own = dense_row(row) if missing else np.empty(0)
        return {name: column_in_words(self.names, name, places, own, i) for name, places in missing.items()}


def places_of_columns(names: Any) -> dict[str, list[int]]:
    """Return which features each column of the data became; without columns each feature is one."""
    found: dict[str, list[int]] = {}
    for i, column in enumerate(getattr(names, "columns", names)):
        found.setdefault(str(column), []).append(i)
    return found


def described(row: Rows, names: Any) -> str:
    """Return the columns that are largest in a training row, with their values as far as the features tell.

    Examples
    --------
    >>> described(np.array([[1.0, 0.0, -0.5]]), ["Outlook=Rainy", "Outlook=Sunny", "Temp"])
    'Outlook=Rainy, Temp = -0.5'
    """
    own = dense_row(row)
    columns, readers = getattr(names, "columns", names), getattr(names, "readers", {})
    shown: dict[str, None] = {}
    for i in np.argsort(-np.abs(own), kind="stable").tolist():
        if not own[i] or len(shown) > _SHOWN:
            break
        whole = read_together(names, columns[i], own) if columns[i] in readers else ""
        shown[whole or _feature(names, i, float(own[i]))] = None
    return first_of(list(shown), _SHOWN)


def read_together(names: Any, column: str, own: Floats) -> str:
    """Return a column whose features are read together, such as those of a date; nothing where there are no such."""
    reader = getattr(names, "readers", {}).get(column)
    if reader is None:
        return ""
    value = reader.words([original(names, i, float(own[i])) for i in reader.places])
    return f"{column} = {value}" if value else _missing(column, "")


def _feature(names: Any, i: int, value: float) -> str:
    unit = original(names, i, value)
    return with_value(str(names[i]), unit, about=meaning(names, i, value), column=column_of(names, i))


def _missing(name: str, taken_as: str) -> str:
    return f"{name} missing{taken_as and f', taken as {taken_as}'}"


def _came(names: Any, column: str, row: int) -> Any:
    """Return what a row held in a column, None where it was missing, and `_UNKNOWN` where it came in no frame."""
    frame = getattr(names, "frame", None)
    return _UNKNOWN if frame is None or column not in frame.columns else cell(frame, column, row)
