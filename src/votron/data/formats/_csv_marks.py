"""Decimal marks of a file of separated values: where a comma is one, and what may separate thousands instead.

A comma is decimal where it separates no fields. That is a matter of the whole file: where `0,76` stands in one column,
the point of `6.511` in another may separate thousands, and is not taken for a decimal one. It is read as such if some
number of its column has a point that cannot separate thousands, such as `12.5`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from votron.data.examples import short_repr
from votron.data.tables import OddValueError, Place, polars
from votron.errors import Parameter

if TYPE_CHECKING:
    from votron.data.formats._csv_layout import Layout

_COMMA = r"^([+-]?\d+),(\d+)$"
_PERHAPS_THOUSANDS = r"^[+-]?[1-9]\d{0,2},\d{3}$"
_PLAIN = r"^[+-]?\d+(?:,\d+)?$"
_POINTED = r"^[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?$"
_SURELY_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(?:\.\d{3}){2,}$|\.\d{3},\d+$"
_ROUNDING = 1e-6
_LOOKED_AT = 100


@dataclass(frozen=True)
class Marks:
    """What was seen of the decimal marks of a file so far."""

    comma: str = ""
    """A number with a decimal comma, and where it is; nothing if there was none."""
    points: Mapping[str, str] = field(default_factory=dict)
    """Of columns whose points may all separate thousands, the first such number; nothing of those with other points."""


# -- commas -----------------------------------------------------------------------------------------------------------


def has_commas(column: Any) -> bool:
    """Tell whether there is a text with a decimal comma, or what looks like one."""
    return bool(column.str.strip_chars().str.contains(_COMMA).any())


def numbers_in(column: Any, layout: Layout, place: Place) -> Any:
    """Return texts as numbers, null where they are none; with a decimal comma, where commas separate nothing else."""
    pl = polars()
    integers = column.cast(pl.Int64, strict=False)
    if integers.null_count() == column.null_count():
        return integers
    numbers = column.cast(pl.Float64, strict=False)
    if layout.dialect.delimiter == ",":
        return numbers
    commas = _matches(column, _COMMA)
    if not commas.any() and column.name not in layout.commas:
        return numbers
    with_commas = column.str.replace(_COMMA, "${1}.${2}").cast(pl.Float64, strict=False)
    if with_commas.null_count() == column.null_count():
        _check_commas(column, commas, layout, place)
    return with_commas


def _check_commas(column: Any, commas: Any, layout: Layout, place: Place) -> None:
    """Refuse commas that may separate thousands: 1,234 beside 1234.5, or where all are followed by three digits."""
    points = column.str.contains(".", literal=True).fill_null(False)
    head = f"The column {column.name!r} of {layout.name} must have"
    remedy = _remedy("write numbers with a point and without thousands", column.name, layout)
    if points.any():
        other = _first(column, commas, place) if commas.any() else "decimal commas before it"
        got = f"{_first(column, points, place)} and {other}"
        raise OddValueError(f"{head} one decimal mark. Got {got} instead: ", *remedy, column=column.name, got=got)
    if (
        column.name not in layout.commas
        and commas.any()
        and bool((commas == _matches(column, _PERHAPS_THOUSANDS)).all())
    ):
        got = _first(column, commas, place)
        raise OddValueError(
            f"{head} numbers that can be read in one way. Got {got} instead, whose comma may be a decimal comma or "
            "separate thousands: ",
            *remedy,
            column=column.name,
            got=got,
        )


# -- points -----------------------------------------------------------------------------------------------------------


def may_have_points(column: Any) -> bool:
    """Tell whether all numbers of a column may have been written as 6.511 is, as far as numbers tell.

    Examples
    --------
    >>> import polars as pl
    >>> [may_have_points(pl.Series(numbers)) for numbers in ([6.511, 430.0], [6.5114, 1.0], [0.511], [1234.5])]
    [True, False, False, False]
    """
    numbers = np.abs(column.drop_nulls().to_numpy())
    fractions = numbers[numbers != np.floor(numbers)]
    thousandths = 1000 * fractions
    exact = np.abs(thousandths - np.rint(thousandths)) < _ROUNDING
    return bool(len(numbers) and (exact & (fractions > 1) & (fractions < 1000)).all())


def check_points(columns: Iterable[Any], layout: Layout, place: Place) -> Marks:
    """Return the marks that were seen, with those of these columns; refuse points that may separate thousands.

    Texts are without spaces around them, and null where nothing is there. Columns of names count as well where commas
    are looked for: those that a model does not read are taken for names.
    """
    comma, points = layout.marks.comma, dict(layout.marks.points)
    for column in columns:
        text = column.dtype == polars().String
        alike = text and _all_numbers(column.head(_LOOKED_AT)) and _all_numbers(column)
        if alike and not comma:
            comma = _decimal_comma(column, place)
        if layout.kind_of(column.name) in ("text", "date"):
            continue
        if alike:
            pointed = _matches(column, _POINTED)
            if pointed.any() and not _has_two_marks(column):
                points.setdefault(column.name, _first(column, pointed, place))
        elif text or column.dtype.is_float():
            points[column.name] = ""
    doubtful = next((name for name, got in points.items() if comma and got), None)
    if doubtful is not None:
        raise _may_be_thousands(doubtful, points[doubtful], comma, layout)
    return Marks(comma, points)


def _all_numbers(column: Any) -> bool:
    """Tell whether all texts are numbers, if commas are decimal and points separate thousands."""
    return bool((_matches(column, _PLAIN) | _matches(column, _POINTED) | column.is_null()).all())


def _decimal_comma(column: Any, place: Place) -> str:
    """Return the first number with a comma that can only be decimal, and where it is; nothing if there is none."""
    commas = column.str.contains(",", literal=True).fill_null(False) & ~_matches(column, _PERHAPS_THOUSANDS)
    return f"{_first(column, commas, place)}, column {column.name!r}" if commas.any() else ""


def _has_two_marks(column: Any) -> bool:
    """Tell whether numbers have a point, others a comma, and none has several: that is refused as two decimal marks."""
    return bool(_matches(column, _COMMA).any() and not _matches(column, _SURELY_THOUSANDS).any())


def _may_be_thousands(name: str, got: str, comma: str, layout: Layout) -> OddValueError:
    return OddValueError(
        f"The column {name!r} of {layout.name} must have numbers that can be read in one way. Got {got} instead, whose "
        "point may separate thousands",
        "" if comma.startswith(got) else f", since there is a decimal comma in {comma}",
        ": ",
        *_remedy("write numbers with one decimal mark and nothing between thousands", name, layout),
        column=name,
        got=got,
    )


# -- words ------------------------------------------------------------------------------------------------------------


def _remedy(words: str, name: str, layout: Layout) -> tuple[str | Parameter, ...]:
    """Return what to do; a column of a model's numbers cannot be one of names."""
    if layout.kinds.get(name) is not None:
        return words, "."
    return f"{words}, or say with ", Parameter("as_text"), " that it is a column of names."


def _matches(column: Any, pattern: str) -> Any:
    return column.str.contains(pattern).fill_null(False)


def _first(column: Any, which: Any, place: Place) -> str:
    """Return the first of some values, and where it is."""
    row = int(which.arg_true()[0])
    return f"{short_repr(column[row])} in {place(row)}"
