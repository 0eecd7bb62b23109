"""What a column of a text file holds: numbers, truth values, or text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from votron.data._polars import polars
from votron.errors import DataError

if TYPE_CHECKING:
    from votron.data._csv import Layout

_EXACT = 2.0**53
_SHOWN = 40


def typed(column: Any, layout: Layout, place: Callable[[int], str]) -> Any:
    """Return a column as the numbers, truth values or texts that it holds, as narrow as is exact."""
    pl = polars()
    kind = layout.kinds.get(column.name)
    if column.dtype == pl.String:
        column = _cleaned(column, layout.na_values)
        if kind != "text":
            column = _from_text(column, kind, layout, place)
    if column.dtype.is_numeric():
        column = _narrow(_finite(column, layout.name, place))
    if kind == "truth" and column.dtype.is_numeric():
        _check_truth(column, layout, place)
    return column


def shown(value: Any) -> str:
    """Return a value for a sentence, on one line and not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _cleaned(column: Any, na_values: tuple[str, ...]) -> Any:
    """Return texts without spaces around them, and null where they mean that nothing is there."""
    pl = polars()
    stripped = column.str.strip_chars()
    return (
        stripped.set(stripped.is_in(list(na_values)).fill_null(False), None) if na_values else stripped.cast(pl.String)
    )


def _from_text(column: Any, kind: str | None, layout: Layout, place: Callable[[int], str]) -> Any:
    """Return texts as truth values or numbers, if all of them are."""
    n = len(column) - column.null_count()
    lower = column.str.to_lowercase()
    if n and kind != "number" and lower.is_in(["true", "false"]).sum() == n:
        return lower == "true"
    numbers = _numbers(column, layout.dialect.delimiter)
    n_numbers = int(numbers.is_finite().sum() or 0)
    if n_numbers == n:
        return numbers if n or kind is not None else column
    if kind is not None or 2 * n_numbers > n:
        raise _not_numbers(column, numbers, kind, layout, place)
    return column


def _numbers(column: Any, delimiter: str) -> Any:
    """Return texts as numbers, null where they are none; with a decimal comma, where commas separate nothing else."""
    pl = polars()
    integers = column.cast(pl.Int64, strict=False)
    if integers.null_count() == column.null_count():
        return integers
    numbers = column.cast(pl.Float64, strict=False)
    if delimiter != "," and numbers.null_count() > column.null_count():
        pointed = column.str.replace(r"^([+-]?\d+),(\d+)$", "${1}.${2}").cast(pl.Float64, strict=False)
        if pointed.null_count() < numbers.null_count():
            return pointed
    return numbers


def _not_numbers(column: Any, numbers: Any, kind: str | None, layout: Layout, place: Callable[[int], str]) -> DataError:
    """Return the error of a column of numbers with something else among them."""
    bad = (~numbers.is_finite().fill_null(False)) & column.is_not_null()
    row = int(bad.arg_true()[0])
    got = f"Got {shown(column[row])} in {place(row)} instead"
    if kind is not None:
        what = "numbers" if kind == "number" else "true and false, or 1 and 0"
        return DataError(f"The column {column.name!r} of {layout.name} must hold {what}, {layout.authority}. {got}.")
    return DataError(
        f"The column {column.name!r} of {layout.name} must hold numbers alone, as most of its values are. {got}: mend "
        "it, name it in na_values if it means that nothing is there, or say with as_text that it is a column of names."
    )


def _finite(column: Any, name: str, place: Callable[[int], str]) -> Any:
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
    if column.dtype.is_float() and (max(-low, high) >= _EXACT or not (column == column.floor()).all()):
        return column.cast(pl.Float64)
    types = [(pl.UInt8, 0, 2**8)]
    types += [(dtype, -(2**bits), 2**bits) for dtype, bits in ((pl.Int16, 15), (pl.Int32, 31), (pl.Int64, 63))]
    dtype = next((dtype for dtype, first, beyond in types if first <= low and high < beyond), pl.Float64)
    return column.cast(dtype)


def _check_truth(column: Any, layout: Layout, place: Callable[[int], str]) -> None:
    odd = ((column != 0) & (column != 1)).fill_null(False)
    if odd.any():
        row = int(odd.arg_true()[0])
        raise DataError(
            f"The column {column.name!r} of {layout.name} must hold true and false, or 1 and 0, {layout.authority}. "
            f"Got {column[row]} in {place(row)} instead."
        )
