"""Tables as examples: which column holds the labels, which are left out, and what happens where values are missing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._util.frames import kind_of
from votron._util.text import did_you_mean
from votron._util.types import Array, Frame, Series
from votron.data.examples import Examples, check_length, short_repr, tidy_labels, with_numbers_of
from votron.data.options import ReadOptions
from votron.errors import DataError

Lines = Sequence[int] | NDArray[np.int64]
Place = Callable[[int], str]
_MAX_LISTED = 12
_LOOKED_AT = 1000
_WHAT = {"number": "numbers", "truth": "true and false, or 1 and 0", "date": "dates"}
_TRAINED = "as when the model was trained"
_BEFORE = "as in the rows before it"


# -- polars -----------------------------------------------------------------------------------------------------------


def polars() -> Any:
    """Return the library, or say what to install."""
    try:
        import polars as pl
    except ImportError:
        raise DataError('Reading tables needs polars: pip install "votron[files]".') from None
    return pl


@contextmanager
def polars_errors(what: str) -> Iterator[None]:
    """Turn the errors of polars into ours: also its panics, which are not an Exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, DataError):
        raise
    except BaseException as error:
        lines = str(error)[:_LOOKED_AT].strip().splitlines()  # it may quote a field of megabytes
        reason = " ".join((lines[0] if lines else type(error).__name__).split())[:200].rstrip(".:")
        raise DataError(f"{what}: {reason}.") from None


def select(frame: Frame, names: Iterable[str]) -> Frame:
    """Return some columns of a frame, by their names and not by what polars reads into names such as ``*``."""
    return polars().DataFrame([frame.get_column(name) for name in names])


def check_names(names: Iterable[str], name: str) -> None:
    """Refuse names of columns that polars takes for patterns."""
    for each in names:
        if each.startswith("^") and each.endswith("$"):
            raise DataError(f"The column {short_repr(each)} of {name} must have another name: it reads as a pattern.")


def place_in(lines: Lines | None, first_row: int = 0) -> Place:
    """Return what says where a row is, in the words of messages."""
    if lines is None:
        return lambda row: f"row {first_row + row + 1} (the first is 1)"
    return lambda row: f"line {lines[row]}"


# -- columns by name --------------------------------------------------------------------------------------------------


def find_column(key: str | int, names: Sequence[str], what: str, name: str) -> str:
    """Return the name of a column that is given by name or number, or a number's text.

    A negative number counts from the end, without a nameless column that a delimiter at the end of each line makes.
    """
    if isinstance(key, str) and key in names:
        return key
    with suppress(ValueError):
        number = int(key)
        n = len(names) - (len(names) > 1 and is_nameless(names[-1]))
        if -n <= number < len(names) and not isinstance(key, bool):
            return names[number] if number >= 0 else names[n + number]
    raise DataError(
        f"The {what} must be a column of {name}, which has {list_names(names)}. Got {short_repr(key)} instead."
        f"{did_you_mean(key, names)}",
        parameter="label" if what == "label" else "drop",
    )


def is_nameless(name: str) -> bool:
    """Tell whether a column had no name."""
    return name.startswith("<column ") and name.endswith(">")


def list_names(names: Sequence[str]) -> str:
    """Return names for a sentence, not too many."""
    more = f", ... {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(short_repr(name) for name in names[:_MAX_LISTED]) + more


def label_in(options: ReadOptions, names: Sequence[str]) -> str | None:
    """Return the column of the labels, if it can be found."""
    with suppress(DataError):  # raised later, where all is known
        return None if options.label is None else find_column(_label_key(options), names, "", "")
    return None


def as_written(options: ReadOptions, names: Sequence[str]) -> set[str]:
    """Return the columns whose values are read as they are written: texts, and those that nobody asks for."""
    label = label_in(options, names)
    found = {name for name in names if options.kind_of(name) == "text"}
    if options.columns is not None:
        found |= {name for name in names if name not in options.columns and name != label}
    if label is not None and (options.labels == "none" or options.label_kind is not None):
        found.add(label)
    for key in options.drop:
        with suppress(DataError):
            found.add(find_column(key, names, "", ""))
    return found


# -- examples ---------------------------------------------------------------------------------------------------------


def frame_examples(
    frame: Frame, options: ReadOptions, place: Place, about: Examples, name: str, *, may_be_empty: bool = False
) -> Examples:
    """Return the examples of a frame; `about` says where they are from, `name` is what sentences call it."""
    label = _label_column(options, list(frame.columns), name)
    y = None if label is None or options.labels == "none" else frame[label]
    if y is not None and options.label_kind in ("truth", "number"):
        y = _converted(y, options.label_kind, place, name, _TRAINED)
    X = select(frame, _feature_columns(frame, options, label, name))
    X = convert_columns(X, dict.fromkeys(options.as_text, "text") | dict(options.columns or {}), place, name)
    unlabelled = None if y is None else missing_cells(y)
    kept = _rows_to_keep(X, y, unlabelled, options, place, name, may_be_empty)
    for column in X.get_columns():
        _check_finite(column, place, name)
    n_dropped = n_unlabelled = 0
    if kept is not None:
        about = with_numbers_of(about, kept.to_numpy())
        n_dropped, n_unlabelled = int((~kept).sum()), 0 if unlabelled is None else int(unlabelled.sum())
        X, y = X.filter(kept), None if y is None else y.filter(kept)
    labels = None if y is None else tidy_labels(_label_array(y, name), f"The label column {label!r} of {name}")
    return replace(
        about, X=X, y=labels, label=label if labels is not None else None, dropped=n_dropped, unlabelled=n_unlabelled
    )


class OddValueError(DataError):
    """A column has a value that is not like the others: read as text, all of them could be read."""

    def __init__(self, *message: str, column: str = "", got: str = "", parameter: str | None = None) -> None:
        super().__init__(*message, parameter=parameter)
        self.column, self.got = column, got


class UnlabelledError(DataError):
    """No row has a label."""


def _check_finite(column: Series, place: Place, name: str) -> None:
    if not (column.dtype.is_float() and column.is_infinite().any()):
        return
    row = int(column.is_infinite().arg_true()[0])
    got = f"{column[row]} in {place(row)}"
    raise OddValueError(
        f"The column {column.name!r} of {name} must hold finite numbers. Got {got} instead.",
        column=column.name,
        got=got,
    )


def _label_key(options: ReadOptions) -> str | int:
    return options.label if isinstance(options.label, str | int) else str(options.label)


def _label_column(options: ReadOptions, names: list[str], name: str) -> str | None:
    if options.labels != "required":
        found = label_in(options, names)
        return None if found in (options.columns or ()) else found
    if options.label is None:
        raise DataError(
            f"Say which column of {name} holds the labels, with label: it has {list_names(names)}.",
            parameter="label",
        )
    label = find_column(_label_key(options), names, "label", name)
    if label in (options.columns or ()):
        raise DataError(f"The label of {name} must be another column than {label!r}, which the model learns from.")
    return label


def _feature_columns(frame: Frame, options: ReadOptions, label: str | None, name: str) -> list[str]:
    names = list(frame.columns)
    if options.columns is not None:
        absent = next((one for one in options.columns if one not in names), None)
        if absent is not None:
            raise DataError(
                f"There must be a column {absent!r} in {name}, as when the model was trained: it has "
                f"{list_names(names)}.{did_you_mean(absent, names)}"
            )
        return list(options.columns)
    dropped = {find_column(key, names, "column to drop", name) for key in options.drop}
    wanted = [one for one in names if one != label and one not in dropped]
    if not wanted:
        raise DataError(f"There must be a column of features in {name}. Got {list_names(names)} instead.")
    for one in [one for one in wanted if is_nameless(one)]:
        number = names.index(one)
        if number == frame.width - 1 and frame[one].null_count() == frame.height:
            wanted.remove(one)  # as a delimiter at the end of each line makes
            continue
        raise DataError(
            f"Each column of {name} must have a name. Got none for column {number + 1} (numbers of rows, perhaps) "
            f"instead: name it, or leave it out with drop={number!r}.",
            parameter="drop",
        )
    return wanted


def _label_array(column: Series, name: str) -> Array:
    """Return the labels of a column without missing values."""
    pl = polars()
    kind = kind_of(column)
    if not len(column):  # of a batch of which no row is left, whose type says nothing
        return np.array([], dtype=np.str_)
    if kind in ("other", "date") or isinstance(column.dtype, pl.Decimal):
        raise DataError(
            f"The label column {column.name!r} of {name} must hold whole numbers, text or truth values. "
            f"Got values of type {column.dtype} instead."
        )
    if kind == "text":
        texts = column.cast(pl.String)
        check_length(int(texts.str.len_chars().max() or 0), f"The label column {column.name!r} of {name}")
        return np.array(texts.to_list(), dtype=np.str_)
    return np.asarray(column.to_numpy())


# -- missing values ---------------------------------------------------------------------------------------------------


def missing_cells(column: Series) -> Series:
    """Tell which values of a column are missing: null, or NaN."""
    return column.is_null() | column.is_nan().fill_null(False) if column.dtype.is_float() else column.is_null()


def _rows_to_keep(
    X: Frame, y: Series | None, unlabelled: Series | None, options: ReadOptions, place: Place, name: str, empty: bool
) -> Series | None:
    """Return which rows to keep, or None if all; refuse missing values that are neither to be dropped nor kept."""
    kept = None
    if y is not None and unlabelled is not None and unlabelled.any():
        if not options.drop_unlabelled:
            row, n = int(unlabelled.arg_true()[0]), int(unlabelled.sum())
            raise DataError(
                f"Every row of {name} must have a label, and {n:,} have none, the first in {place(row)} of column "
                f"{y.name!r}: add it, or leave such rows out with drop_unlabelled=True.",
                parameter="drop_unlabelled",
            )
        if unlabelled.all() and not empty:
            raise UnlabelledError(f"None of the {len(y):,} rows of {name} has a label in column {y.name!r}.")
        kept = ~unlabelled
    gone = None
    for column in X.get_columns() if options.missing != "keep" else ():
        if (cells := missing_cells(column)).any():
            gone = cells if gone is None else gone | cells
    if gone is None:
        return kept
    there = ~gone if kept is None else kept & ~gone
    left = gone if kept is None else gone & kept
    if options.missing == "drop":
        if not there.any() and not empty:
            raise DataError(f"There is no row of {name} without a missing value: nothing is left after dropping them.")
        return there
    if left.any():
        row, n = int(left.arg_true()[0]), int(left.sum())
        first = next(column.name for column in X.get_columns() if missing_cells(column)[row])
        raise DataError(
            f"There must be no missing values in {name}, and {n} of {len(gone):,} rows {'has' if n == 1 else 'have'} "
            f"some: the first is in {place(row)}, column {first!r}. Say what to do about them with missing.",
            parameter="missing",
        )
    return kept


# -- kinds that are known ---------------------------------------------------------------------------------------------


def convert_columns(X: Frame, kinds: Mapping[str, str], place: Place, name: str, why: str = _TRAINED) -> Frame:
    """Return a frame whose columns hold what they must: numbers as text where texts are wanted, and the reverse."""
    changed = []
    for column in X.get_columns():
        wanted = kinds.get(column.name)
        changed.append(column if wanted is None else _converted(column, wanted, place, name, why))
    return polars().DataFrame(changed)


def _converted(column: Series, wanted: str, place: Place, name: str, why: str) -> Series:
    pl = polars()
    kind = kind_of(column)
    if kind == "nothing":
        types = {"number": pl.Float64, "truth": pl.Boolean, "date": pl.Date, "text": pl.String}
        return pl.Series(column.name, [None] * len(column), dtype=types[wanted])
    if wanted == "text":
        return column if kind in ("text", "other") else column.cast(pl.String)
    texts = column.cast(pl.String) if kind in ("text", "boolean") else column
    found, is_wrong = column, None
    if why == _BEFORE and {kind, wanted} in ({"boolean", "number"}, {"number", "truth"}):
        is_wrong = column.is_not_null()
    elif wanted == "date":
        is_wrong = column.is_not_null() if kind not in ("date", "text") else None
    elif wanted == "number" and kind == "text":
        found = _numbers(texts)
    elif wanted == "truth" and kind != "boolean":
        found = _truth_values(texts.str.to_lowercase() if kind == "text" else column.cast(pl.Float64))
    is_wrong = found.is_null() & column.is_not_null() if is_wrong is None else is_wrong
    if not is_wrong.any():
        return found
    bad = int(is_wrong.arg_true()[0])
    what = "true and false" if why == _BEFORE and wanted == "truth" else _WHAT[wanted]
    remedy = ": read it as text with as_text (--discrete)" if why == _BEFORE else ""
    raise DataError(
        f"The column {column.name!r} of {name} must hold {what}, {why}. Got {short_repr(column[bad])} in {place(bad)} "
        f"instead{remedy}.",
        parameter="as_text" if remedy else None,
    )


def _numbers(texts: Series) -> Series:
    pl = polars()
    found = texts.cast(pl.Float64, strict=False)
    return found.set(~found.is_finite().fill_null(True), None)


def _truth_values(column: Series) -> Series:
    """Return truth values for true, false, 1 and 0, null for other values."""
    pl = polars()
    true, false = (["true", "1"], ["false", "0"]) if column.dtype == pl.String else ([1.0], [0.0])
    truth = column.is_in(true)
    return truth.set(~(truth | column.is_in(false)).fill_null(False), None).rename(column.name)


def settled(frame: Frame, seen: dict[str, str], told: Collection[str], place: Place, name: str) -> Frame:
    """Return a part whose columns hold what they did in the parts before; remember what they hold, unless told."""
    for column in frame.get_columns():
        if seen.get(column.name) == "number" and kind_of(column) == "text" and (codes := is_code(column)).any():
            row = int(codes.arg_true()[0])
            raise DataError(
                f"The column {column.name!r} of {name} must hold numbers, {_BEFORE}. Got the code {column[row]!r} "
                f"in {place(row)} instead: read it as text with as_text (--discrete).",
                parameter="as_text",
            )
    frame = convert_columns(frame, seen, place, name, _BEFORE)
    for column in frame.get_columns():
        kind = {"boolean": "truth"}.get(kind_of(column), kind_of(column))
        if kind not in ("nothing", "other") and column.name not in told:
            seen[column.name] = kind
    return frame


def is_code(column: Series) -> Series:
    """Tell which texts begin as no number is written, such as 007."""
    return column.str.contains(r"^[+-]?0\d").fill_null(False)
