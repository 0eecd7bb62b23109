"""Tables as examples: which column holds the labels, which are left out, and what happens where values are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._util import frames
from votron._util.text import did_you_mean
from votron.data.dates import dates_in, first_undated
from votron.data.examples import Examples, check_length, short_repr, tidy_labels, with_numbers_of
from votron.errors import DataError, Parameter, Phrase

Place = Callable[[int], str]
_MAX_LISTED = 12
_MAX_DIGITS = 20
_LOOKED_AT = 1000
_QUICK = {"String": "text", "Boolean": "boolean", "Float64": "number", "Float32": "number"} | {
    f"{sign}Int{bits}": "number" for sign in ("", "U") for bits in (8, 16, 32, 64)
}


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
    """Turn the errors of polars into ours: also its panics, which are no Exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, DataError):
        raise
    except BaseException as error:
        lines = str(error)[:_LOOKED_AT].strip().splitlines()  # it may quote a field of megabytes
        reason = " ".join((lines[0] if lines else type(error).__name__).split())[:200].rstrip(".:")
        raise DataError(f"{what}: {reason}.") from None


def kind_of(column: Any) -> str:
    """Return what a column holds, as `votron._util.frames.kind_of`, which takes a hundred times as long for polars."""
    dtype = getattr(column, "dtype", None)
    quick = None if frames.in_pandas(column) else _QUICK.get(str(dtype))
    if quick is None:
        return frames.kind_of(column)
    return quick if column.null_count() < len(column) else "nothing"


# -- what users say of a table ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableOptions:
    """What the user says about a table, checked as far as it can be without the table."""

    label: str | int | None = None
    labels: str = "required"
    label_kind: str | None = None
    drop: Sequence[str | int] = ()
    missing: str = "refuse"
    drop_unlabelled: bool = False
    columns: Mapping[str, str] | None = None
    as_text: frozenset[str] = field(default_factory=frozenset)
    may_be_empty: bool = False
    """Whether all rows may be dropped: those of a batch may."""

    def label_in(self, names: Sequence[str]) -> str | None:
        """Return the column of the labels, if it can be found."""
        with suppress(DataError):  # said later, with the table at hand
            return None if self.label is None else find_column(self.label, names, "", "")
        return None

    def kinds(self, names: Sequence[str]) -> dict[str, str]:
        """Return what columns must hold, as far as that is said; those that are left out may hold anything."""
        label = self.label_in(names)
        others = self.columns is not None
        said = {name: "text" for name in names if name in self.as_text or (others and name != label)}
        if label is not None and self.labels == "none":
            said[label] = "text"
        elif label is not None and self.label_kind is not None:
            said[label] = self.label_kind
        said |= self.columns or {}
        for key in self.drop:
            with suppress(DataError):
                said[find_column(key, names, "", "")] = "text"
        return said


def find_column(key: str | int, names: Sequence[str], what: str, name: str) -> str:
    """Return the name of a column that is given by name or number, or a number's text.

    A negative number counts from the end, without a nameless column that a delimiter at the end of each line makes.
    """
    if isinstance(key, str) and key in names:
        return key
    number = None
    is_text = isinstance(key, str) and key.removeprefix("-").isdecimal() and len(key) < _MAX_DIGITS
    if is_text or (isinstance(key, int | np.integer) and not isinstance(key, bool)):
        number = int(key)
    if number is not None and -len(names) <= number < len(names):
        n = len(names) - (1 if len(names) > 1 and is_nameless(names[-1]) else 0)
        if number >= -n:
            return names[number] if number >= 0 else names[n + number]
    raise DataError(
        f"The {what} must be a column of {name}, which has {list_names(names)}. Got {short_repr(key)} instead.",
        Phrase("meant", did_you_mean(key, names), parameter="label" if what == "label" else "drop"),
    )


def is_nameless(name: str) -> bool:
    """Tell whether a column had no name."""
    return name.startswith("<column ") and name.endswith(">")


def list_names(names: Sequence[str]) -> str:
    """Return names for a sentence, not too many."""
    more = f", ... {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(short_repr(name) for name in names[:_MAX_LISTED]) + more


# -- examples ---------------------------------------------------------------------------------------------------------


def frame_examples(frame: Any, options: TableOptions, place: Place, about: Examples, name: str) -> Examples:
    """Return the examples of a frame; `about` says where they are from, `name` is what sentences call it."""
    texts = [one for one in frame.columns if one in options.as_text and kind_of(frame[one]) in ("number", "date")]
    if texts:
        frame = frame.with_columns(polars().col(texts).cast(polars().String))
    label = _label_column(options, list(frame.columns), name)
    y = None if label is None or options.labels == "none" else frame[label]
    wanted = _feature_columns(frame, options, label, name)
    X = frame.select(wanted)
    if options.columns is not None:
        X = convert_columns(X, options.columns, place, name)
    unlabelled = None if y is None else missing_cells(y)
    kept = _rows_to_keep(X, y, unlabelled, options, place, name)
    n_dropped = n_unlabelled = 0
    if kept is not None:
        about = with_numbers_of(about, kept.to_numpy())
        n_dropped, n_unlabelled = int((~kept).sum()), 0 if unlabelled is None else int(unlabelled.sum())
        X, y = X.filter(kept), None if y is None else y.filter(kept)
    for column in frame.select(wanted).get_columns():
        check_finite_column(column, place, name)
    labels = None if y is None else tidy_labels(label_array(y, name), f"The label column {label!r} of {name}")
    return replace(
        about, X=X, y=labels, label=label if labels is not None else None, dropped=n_dropped, unlabelled=n_unlabelled
    )


class OddValueError(DataError):
    """A column has a value that is not like the others: read as text, all of them could be read."""

    def __init__(self, *parts: Any, column: str = "", got: str = "") -> None:
        super().__init__(*parts)
        self.column = column
        self.got = got
        """The value, and where it is."""


def check_finite_column(column: Any, place: Place, name: str) -> None:
    """Refuse infinite numbers."""
    infinite = column.is_infinite() if column.dtype.is_float() else None
    if infinite is not None and infinite.any():
        row = int(infinite.arg_true()[0])
        got = f"{column[row]} in {place(row)}"
        raise OddValueError(
            f"The column {column.name!r} of {name} must hold finite numbers. Got {got} instead.",
            column=column.name,
            got=got,
        )


def _label_column(options: TableOptions, names: list[str], name: str) -> str | None:
    if options.label is None:
        if options.labels == "required":
            raise DataError(
                f"Say which column of {name} holds the labels, with ",
                Parameter("label"),
                f": it has {list_names(names)}.",
            )
        return None
    if options.labels != "required":
        found = options.label_in(names)
        return None if found in (options.columns or ()) else found
    label = find_column(options.label, names, "label", name)
    if label in (options.columns or ()):
        raise DataError(
            f"The label must be another column of {name} than those that the model learns from. Got {label!r} instead."
        )
    return label


def _feature_columns(frame: Any, options: TableOptions, label: str | None, name: str) -> list[str]:
    """Return the columns that are features."""
    names = list(frame.columns)
    if options.columns is not None:
        there = set(names)
        absent = next((one for one in options.columns if one not in there), None)
        if absent is not None:
            raise DataError(
                f"There must be a column {absent!r} in {name}",
                Phrase("as in training", ", as when the model was trained", column=absent),
                f": it has {list_names(names)}.{did_you_mean(absent, names)}",
            )
        return list(options.columns)
    dropped = {find_column(key, names, "column to drop", name) for key in options.drop}
    wanted = [one for one in names if one != label and one not in dropped]
    if not wanted:
        raise DataError(f"There must be a column of features in {name}. Got {list_names(names)} instead.")
    return _without_unnamed(frame, wanted, name)


def _without_unnamed(frame: Any, names: list[str], name: str) -> list[str]:
    """Leave out a nameless last column without values, as a delimiter at the end of each line makes; refuse others."""
    for one in [one for one in names if is_nameless(one)]:
        number = list(frame.columns).index(one)
        if number == frame.width - 1 and frame[one].null_count() == frame.height:
            names.remove(one)
            continue
        raise DataError(
            f"Each column of {name} must have a name. Got none for column {number + 1} (numbers of rows, perhaps) "
            "instead: name it, or leave it out with ",
            Parameter("drop", number),
            ".",
        )
    return names


def label_array(column: Any, name: str) -> NDArray[Any]:
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
        check_length(int(texts.str.len_chars().max() or 0), f"The label column {column.name!r} of {name}", len(texts))
        return np.array(texts.to_list(), dtype=np.str_)
    return np.asarray(column.to_numpy())


class UnlabelledError(DataError):
    """No row has a label."""


def _rows_to_keep(X: Any, y: Any, unlabelled: Any, options: TableOptions, place: Place, name: str) -> Any | None:
    """Return which rows to keep, or None if all; refuse missing values if they are not to be dropped or kept."""
    kept = None
    if unlabelled is not None and unlabelled.any():
        if not options.drop_unlabelled:
            raise _missing_label(y, unlabelled, place, name)
        if unlabelled.all() and not options.may_be_empty:
            raise UnlabelledError(f"None of the {len(y):,} rows of {name} has a label in column {y.name!r}.")
        kept = ~unlabelled
    holes = [] if options.missing == "keep" else [column for column in X.get_columns() if _has_holes(column)]
    if not holes:
        return kept
    gone = missing_cells(holes[0])
    for column in holes[1:]:
        gone = gone | missing_cells(column)
    there = ~gone if kept is None else kept & ~gone
    if options.missing == "drop":
        if not there.any() and not options.may_be_empty:
            raise DataError(f"There is no row of {name} without a missing value: nothing is left after dropping them.")
        return there
    left = gone if kept is None else gone & kept
    if left.any():
        raise _missing_values(holes, left, X.height if kept is None else int(kept.sum()), place, name)
    return kept


def _has_holes(column: Any) -> bool:
    return bool(column.null_count() or (column.dtype.is_float() and column.is_nan().any()))


def missing_cells(column: Any) -> Any:
    """Tell which values of a column are missing: null, or NaN."""
    return column.is_null() | column.is_nan().fill_null(False) if column.dtype.is_float() else column.is_null()


def _missing_label(y: Any, unlabelled: Any, place: Place, name: str) -> DataError:
    row, n = int(unlabelled.arg_true()[0]), int(unlabelled.sum())
    more = "" if n == 1 else f", and in {n - 1:,} more,"
    return DataError(
        f"Every row of {name} must have a label. Got none in column {y.name!r} of {place(row)}{more} instead: add it, "
        "or leave such rows out with ",
        Parameter("drop_unlabelled", True),
        ".",
    )


def _missing_values(holes: list[Any], gone: Any, n_rows: int, place: Place, name: str) -> DataError:
    row = int(gone.arg_true()[0])
    first = next(column.name for column in holes if missing_cells(column)[row])
    n = int(gone.sum())
    return DataError(
        f"There must be no missing values in {name}, and {n} of {n_rows} rows {'has' if n == 1 else 'have'} some: "
        f"the first is in {place(row)}, column {first!r}. ",
        Phrase("missing values", "Say what to do about them with ", Parameter("missing"), "."),
    )


def convert_columns(X: Any, columns: Mapping[str, str], place: Place, name: str) -> Any:
    """Return a frame whose columns hold what they must: numbers as text where names are wanted, and the reverse."""
    pl = polars()
    changed = []
    for column in X.get_columns():
        kind, wanted = kind_of(column), columns.get(column.name)
        if wanted == "text" and kind in ("number", "boolean", "date"):
            changed.append(column.cast(pl.String))
        elif wanted == "date" and kind == "text":
            changed.append(_parse_dates(column.cast(pl.String), place, name))
        elif wanted in ("number", "truth") and kind == "text":
            changed.append(_parse_texts(column.cast(pl.String), str(wanted), place, name))
    return X.with_columns(changed) if changed else X


def _parse_dates(column: Any, place: Place, name: str) -> Any:
    """Return texts as dates."""
    found = dates_in(column)
    if found is None:
        row = first_undated(column)
        raise DataError(
            f"The column {column.name!r} of {name} must hold dates, as when the model was trained. "
            f"Got {short_repr(column[row])} in {place(row)} instead."
        )
    return found


def _parse_texts(column: Any, wanted: str, place: Place, name: str) -> Any:
    """Return texts as numbers or truth values."""
    pl = polars()
    numbers = column.cast(pl.Float64, strict=False)
    if wanted == "truth":
        lower = column.str.to_lowercase()
        numbers = pl.DataFrame({"a": lower == "true", "b": lower == "false", "c": numbers}).select(
            pl.when("a").then(1.0).when("b").then(0.0).otherwise("c").alias(column.name)
        )[column.name]
    bad = ~numbers.is_finite().fill_null(False) & column.is_not_null()
    if bad.any():
        row = int(bad.arg_true()[0])
        what = "numbers" if wanted == "number" else "true and false, or 1 and 0"
        raise DataError(
            f"The column {column.name!r} of {name} must hold {what}, as when the model was trained. "
            f"Got {short_repr(column[row])} in {place(row)} instead."
        )
    return numbers
