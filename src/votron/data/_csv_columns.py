"""Contents of a column of a text file: numbers, truth values, or text.

What a column must hold is either told, or was seen in the rows before. The rows before bind more tightly, so that a
file read in parts is the file read at once, or is refused: 1 and 0 are no truth values after true and false, and 007 is
no number after 7 and 8, since all rows together would have been text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from votron._sentences import on_one_line, shortened
from votron.data._polars import polars
from votron.errors import DataError, Parameter, Phrase

if TYPE_CHECKING:
    from votron.data._csv import Layout

Place = Callable[[int], str]

EXACT = 2.0**53
"""Whole numbers below are exact as floats."""
_SHOWN = 40
_LOOKED_AT = 400
_ZERO_LED = r"^[+-]?0\d"
_COMMA = r"^([+-]?\d+),(\d+)$"
_PERHAPS_THOUSANDS = r"^[+-]?[1-9]\d{0,2},\d{3}$"
_WHAT = {"number": "numbers", "truth": "true and false, or 1 and 0", "text": "text"}


def typed(column: Any, layout: Layout, place: Place) -> Any:
    """Return a column as the numbers, truth values or texts that it holds, as narrow as is exact."""
    pl = polars()
    kind = layout.kind_of(column.name)
    if column.dtype == pl.String:
        column = _cleaned(column, layout.na_values)
        if kind != "text":
            column = _from_text(column, kind, layout, place)
    if column.dtype == pl.Boolean and kind == "number":
        _refuse(column.is_not_null(), column.cast(pl.String), layout, place)
    if column.dtype.is_numeric():
        column = _narrow(_finite(column, layout.name, place))
        if kind == "truth":
            _check_truth(column, layout, place)
    return column


def shown(value: Any) -> str:
    """Return a value for a sentence, on one line and not too long."""
    text = repr(value[:_LOOKED_AT] if isinstance(value, str) else value)
    return shortened(on_one_line(text[:_LOOKED_AT]), _SHOWN)


def zero_led(column: Any) -> Any:
    """Tell which texts begin as no number is written, such as 007: they are codes."""
    return column.str.contains(_ZERO_LED).fill_null(False)


def has_commas(column: Any) -> bool:
    """Tell whether there is a text with a decimal comma, or what looks like one."""
    return bool(column.str.strip_chars().str.contains(_COMMA).any())


def _cleaned(column: Any, na_values: tuple[str, ...]) -> Any:
    """Return texts without spaces around them, and null where they mean that nothing is there."""
    stripped = column.str.strip_chars()
    return stripped.set(stripped.is_in(list(na_values)).fill_null(False), None)


def _from_text(column: Any, kind: str | None, layout: Layout, place: Place) -> Any:
    """Return texts as truth values or numbers, if all of them are."""
    n = len(column) - column.null_count()
    lower = column.str.to_lowercase()
    if n and kind != "number" and lower.is_in(["true", "false"]).sum() == n:
        return lower == "true"
    told = layout.kinds.get(column.name)
    if n and told == "truth" and lower.is_in(["true", "false", "1", "0"]).sum() == n:
        return lower.is_in(["true", "1"])
    numbers = _numbers(column, layout, place)
    there = numbers.is_finite().fill_null(False)
    codes = there & zero_led(column)
    if told is None and codes.any():
        if kind is not None:
            _refuse(codes, column, layout, place)
        return column
    n_numbers = int(there.sum())
    if n_numbers == n:
        return numbers if n or kind is not None else column
    if kind is not None:
        _refuse(~there & column.is_not_null(), column, layout, place)
    if 2 * n_numbers > n and column.name != layout.label:  # classes may well be called 1, 2 and other
        raise _almost_numbers(column, ~there & column.is_not_null(), layout, place)
    return column


# -- numbers ----------------------------------------------------------------------------------------------------------


def _numbers(column: Any, layout: Layout, place: Place) -> Any:
    """Return texts as numbers, null where they are none; with a decimal comma, where commas separate nothing else."""
    pl = polars()
    integers = column.cast(pl.Int64, strict=False)
    if integers.null_count() == column.null_count():
        return integers
    numbers = column.cast(pl.Float64, strict=False)
    if layout.dialect.delimiter == ",":
        return numbers
    commas = column.str.contains(_COMMA).fill_null(False)
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
    remedy = Phrase(
        "decimal mark",
        "write numbers with a point and without thousands, or say with ",
        Parameter("as_text"),
        " that it is a column of names",
    )
    if points.any():
        with_point = int(points.arg_true()[0])
        other = "decimal commas before it"
        if commas.any():
            row = int(commas.arg_true()[0])
            other = f"{shown(column[row])} in {place(row)}"
        raise DataError(
            f"{head} one decimal mark. Got {shown(column[with_point])} in {place(with_point)} and {other} instead: ",
            remedy,
            ".",
        )
    if column.name not in layout.commas and commas.any():
        thousands = column.str.contains(_PERHAPS_THOUSANDS).fill_null(False)
        if bool((commas == thousands).all()):
            row = int(commas.arg_true()[0])
            raise DataError(
                f"{head} numbers that can be read in one way. Got {shown(column[row])} in {place(row)} instead, whose "
                f"comma may be a decimal comma or separate thousands: ",
                remedy,
                ".",
            )


def _finite(column: Any, name: str, place: Place) -> Any:
    """Return numbers, null where they are NaN; refuse infinite ones."""
    if not column.dtype.is_float():
        return column
    infinite = column.is_infinite()
    if infinite.any():
        row = int(infinite.arg_true()[0])
        raise DataError(
            f"The column {column.name!r} of {name} must hold finite numbers. Got {column[row]} in {place(row)} instead."
        )
    return column.fill_nan(None)


def _narrow(column: Any) -> Any:
    """Return whole numbers in the smallest of four types that holds them, and numbers beyond 64 bits as floats."""
    pl = polars()
    low, high = column.min(), column.max()
    if low is None:
        return column.cast(pl.Float64)
    if column.dtype.is_float() and (max(-low, high) >= EXACT or not (column == column.floor()).all()):
        return column.cast(pl.Float64)
    types = [(pl.UInt8, 0, 2**8)]
    types += [(dtype, -(2**bits), 2**bits) for dtype, bits in ((pl.Int16, 15), (pl.Int32, 31), (pl.Int64, 63))]
    dtype = next((dtype for dtype, first, beyond in types if first <= low and high < beyond), pl.Float64)
    return column.cast(dtype)


# -- refusals ---------------------------------------------------------------------------------------------------------


def _check_truth(column: Any, layout: Layout, place: Place) -> None:
    """Refuse numbers but 1 and 0 among truth values, and these too if the rows before have true and false."""
    if layout.kinds.get(column.name) == "truth":
        _refuse(((column != 0) & (column != 1)).fill_null(False), column, layout, place)
    else:
        _refuse(column.is_not_null(), column, layout, place)


def _refuse(bad: Any, column: Any, layout: Layout, place: Place) -> None:
    """Refuse values that are not what the column must hold, if there are any."""
    if not bad.any():
        return
    row = int(bad.arg_true()[0])
    told = layout.kinds.get(column.name)
    what = _WHAT[told] if told is not None else _WHAT[layout.kinds_before[column.name]].removesuffix(", or 1 and 0")
    before = Phrase("before", "as in the rows before it (", Parameter("as_text"), " says that a column holds names)")
    raise DataError(
        f"The column {column.name!r} of {layout.name} must hold {what}, ",
        layout.authority if told is not None else before,
        f". Got {shown(column[row])} in {place(row)} instead.",
    )


def _almost_numbers(column: Any, bad: Any, layout: Layout, place: Place) -> DataError:
    """Return the error of a column of numbers with something else among them."""
    row = int(bad.arg_true()[0])
    return DataError(
        f"The column {column.name!r} of {layout.name} must hold numbers alone, as most of its values are. Got "
        f"{shown(column[row])} in {place(row)} instead: mend it, name it in ",
        Parameter("na_values"),
        " if it means that nothing is there, or say with ",
        Parameter("as_text"),
        " that it is a column of names.",
    )
