"""Tables as examples: which column holds the labels, which are left out, and what happens where values are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.frames import columns_of, floats_of, kind_of
from votron._util.text import did_you_mean
from votron._util.types import Array, Frame, Series
from votron.data.examples import Examples, Lines, check_length, short_repr, tidy_labels
from votron.data.options import ReadOptions
from votron.errors import DataError

if TYPE_CHECKING:
    from votron.data.formats.base import Part

Place = Callable[[int], str]
_MAX_LISTED = 12
_LOOKED_AT = 1000
_MAX_CELLS = 1 << 28
_WHAT = {"number": "numbers", "truth": "true and false, or 1 and 0", "date": "dates"}
_TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
_TRAINED = "as when the model was trained"
_BEFORE = "as in the rows before it"


def polars() -> Any:
    """Return the library, or say what to install."""
    try:
        import polars as pl
    except ImportError:
        raise DataError('Reading tables needs polars: pip install "votron[files]".') from None
    return pl


@contextmanager
def polars_errors(what: str) -> Iterator[None]:
    """Turn the errors of polars into ours, and its panics, which are not an Exception."""
    try:
        yield
    except (MemoryError, DataError):
        raise
    except (Exception, polars().exceptions.PanicException) as error:
        lines = str(error)[:_LOOKED_AT].strip().splitlines()  # it may quote a field of megabytes
        reason = " ".join((lines[0] if lines else type(error).__name__).split())[:200].rstrip(".:")
        raise DataError(f"{what}: {reason}.") from None


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


class OddValueError(DataError):
    """A column has a value that is not like the others: read as text, all of them could be read."""

    def __init__(self, message: str, column: str, got: str, parameter: str | None = None) -> None:
        super().__init__(message, parameter=parameter)
        self.column, self.got = column, got


class UnlabelledError(DataError):
    """No row has a label."""


# -- columns by name --------------------------------------------------------------------------------------------------


def find_column(key: object, names: Sequence[str], what: str, name: str) -> str:
    """Return the name of a column that is given by name or number, or a number's text.

    A negative number counts from the end, without a nameless column that a delimiter at the end of each line makes.
    """
    if isinstance(key, str) and key in names:
        return key
    n = len(names) - (len(names) > 1 and is_nameless(names[-1]))
    with suppress(ValueError):
        number = int(str(key))
        if -n <= number < len(names):
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
        return None if options.label is None else find_column(options.label, names, "", "")
    return None


def _label_column(options: ReadOptions, names: list[str], name: str) -> str | None:
    if options.labels != "required":
        found = label_in(options, names)
        return None if found in (options.columns or ()) else found
    if options.label is None:
        raise DataError(
            f"Say which column of {name} holds the labels, with label: it has {list_names(names)}.",
            parameter="label",
        )
    label = find_column(options.label, names, "label", name)
    if label in (options.columns or ()):
        raise DataError(f"The label of {name} must be another column than {label!r}, which the model learns from.")
    return label


def _feature_columns(frame: Frame, options: ReadOptions, label: str | None, name: str) -> list[str]:
    names = list(frame.columns)
    if options.columns is not None:
        absent = next((one for one in options.columns if one not in names), None)
        if absent is not None:
            raise DataError(
                f"There must be a column {absent!r} in {name}, {_TRAINED}: it has {list_names(names)}."
                f"{did_you_mean(absent, names)}"
            )
        return list(options.columns)
    dropped = {find_column(key, names, "column to drop", name) for key in options.drop}
    wanted = [one for one in names if one != label and one not in dropped]
    if wanted and wanted[-1] == names[-1] and is_nameless(names[-1]) and frame[names[-1]].null_count() == frame.height:
        wanted.pop()  # as a delimiter at the end of each line makes
    if not wanted:
        raise DataError(f"There must be a column of features in {name}. Got {list_names(names)} instead.")
    for one in filter(is_nameless, wanted):
        number = names.index(one)
        raise DataError(
            f"Each column of {name} must have a name. Got none for column {number + 1} (numbers of rows, perhaps) "
            f"instead: name it, or leave it out with drop={number!r}.",
            parameter="drop",
        )
    return wanted


# -- examples ---------------------------------------------------------------------------------------------------------


def frame_examples(part: Part, options: ReadOptions, about: Examples, name: str, *, may_be_empty: bool) -> Examples:
    """Return the examples of a table; `about` says where they are from, `name` is what sentences call it."""
    frame, place = part.X, place_in(part.lines, about.first_row)
    label = _label_column(options, list(frame.columns), name)
    names = _feature_columns(frame, options, label, name)

    def read(column: Series) -> Series:
        return _read_column(column, part, options, column.name == label, place, name)

    with ThreadPoolExecutor() as pool:  # polars works on one column without the interpreter's lock
        X = polars().DataFrame(list(pool.map(read, [frame.get_column(one) for one in names])))
    y = None if label is None or options.labels == "none" else read(frame.get_column(label))
    unlabelled = np.zeros(X.height, bool) if y is None else missing_cells(y)
    kept = _rows_to_keep(X, y, unlabelled, options, place, name, may_be_empty)
    for column in X.get_columns():
        _check_finite(column, place, name)
    found = replace(about, X=X)
    if not kept.all():
        found, y = found.take(kept), None if y is None else y.filter(kept)
    return replace(
        found,
        y=None if y is None else tidy_labels(_label_array(y, name), f"The label column {label!r} of {name}"),
        label=label if y is not None else None,
        dropped=int((~kept).sum()),
        unlabelled=int(unlabelled.sum()),
    )


def _read_column(column: Series, part: Part, options: ReadOptions, is_label: bool, place: Place, name: str) -> Series:
    """Return a column that holds what is asked for, or what it held in the parts before."""
    told = options.label_kind if is_label else options.kind_of(column.name)
    before = None if part.seen is None or told is not None else part.seen.get(column.name)
    if part.typed is not None:
        column = part.typed(
            column, "text" if is_label and told else told or before or ("label" if is_label else None), place
        )
    if told is not None or before is not None:
        column = _converted(column, told or before or "", place, name, _BEFORE if told is None else _TRAINED)
    kind = kind_of(column)
    if part.seen is not None and kind not in ("nothing", "other"):
        part.seen[column.name] = "truth" if kind == "boolean" else kind
    return column


def _check_finite(column: Series, place: Place, name: str) -> None:
    if column.dtype.is_float() and column.is_infinite().any():
        row = int(column.is_infinite().arg_true()[0])
        got = f"{column[row]} in {place(row)}"
        message = f"The column {column.name!r} of {name} must hold finite numbers. Got {got} instead."
        raise OddValueError(message, column.name, got)


def _label_array(column: Series, name: str) -> Array:
    """Return the labels of a column without missing values."""
    if kind_of(column) not in ("text", "nothing"):
        return np.asarray(column.to_numpy())
    texts = column.cast(polars().String)
    check_length(int(texts.str.len_chars().max() or 0), f"The label column {column.name!r} of {name}")
    return np.array(texts.to_list(), dtype=np.str_)


def missing_cells(column: Series) -> NDArray[np.bool_]:
    """Tell which values of a column are missing: null, or NaN."""
    cells = column.is_null() | column.is_nan().fill_null(False) if column.dtype.is_float() else column.is_null()
    return np.asarray(cells.to_numpy())


def _rows_to_keep(
    X: Frame,
    y: Series | None,
    unlabelled: NDArray[np.bool_],
    options: ReadOptions,
    place: Place,
    name: str,
    may_be_empty: bool,
) -> NDArray[np.bool_]:
    """Tell which rows to keep; refuse missing values that are neither to be dropped nor kept."""
    if y is not None and unlabelled.any() and not options.drop_unlabelled:
        raise DataError(
            f"Every row of {name} must have a label, and {unlabelled.sum():,} have none, the first in "
            f"{place(int(unlabelled.argmax()))} of column {y.name!r}: add it, or leave such rows out with "
            "drop_unlabelled=True.",
            parameter="drop_unlabelled",
        )
    if y is not None and unlabelled.all() and not may_be_empty:
        raise UnlabelledError(f"None of the {len(y):,} rows of {name} has a label in column {y.name!r}.")
    kept = ~unlabelled
    for column in X.get_columns() if options.missing != "keep" else ():
        if column.null_count() or column.dtype.is_float():
            kept &= ~missing_cells(column)
    incomplete = ~kept & ~unlabelled
    if options.missing == "refuse" and incomplete.any():
        row, n = int(incomplete.argmax()), int(incomplete.sum())
        first = next(column.name for column in X.get_columns() if missing_cells(column)[row])
        raise DataError(
            f"There must be no missing values in {name}, and {n} of {len(kept):,} rows {'has' if n == 1 else 'have'} "
            f"some: the first is in {place(row)}, column {first!r}. Say what to do about them with missing.",
            parameter="missing",
        )
    if not kept.any() and not may_be_empty:
        raise DataError(f"There is no row of {name} without a missing value: nothing is left after dropping them.")
    return kept


def _converted(column: Series, wanted: str, place: Place, name: str, why: str) -> Series:
    pl, kind = polars(), kind_of(column)
    types = {"number": pl.Float64, "truth": pl.Boolean, "date": pl.Date, "text": pl.String}
    nothing = pl.Series(column.name, [None] * len(column), dtype=types[wanted])
    if kind == "nothing":
        return nothing
    if wanted == "text":
        return column if kind in ("text", "other") else column.cast(pl.String)
    found = column
    if (wanted == "date" and kind not in ("date", "text")) or (
        why == _BEFORE and {kind, wanted} in ({"boolean", "number"}, {"number", "truth"})
    ):
        found = nothing
    elif wanted == "number" and kind == "text":
        found = column.cast(pl.String).cast(pl.Float64, strict=False)
        odd = ~found.is_finite().fill_null(True) | (is_code(column) if why == _BEFORE else False)
        found = found.set(odd, None)
    elif wanted == "truth" and kind != "boolean":
        texts = column.cast(pl.String).str.to_lowercase()
        found = texts.replace_strict(_TRUTH, default=None, return_dtype=pl.Boolean)
    wrong = found.is_null() & column.is_not_null()
    if not wrong.any():
        return found
    row = int(wrong.arg_true()[0])
    what = "true and false" if why == _BEFORE and wanted == "truth" else _WHAT[wanted]
    remedy = ": read it as text with as_text (--discrete)" if why == _BEFORE else ""
    raise DataError(
        f"The column {column.name!r} of {name} must hold {what}, {why}. Got {short_repr(column[row])} in {place(row)} "
        f"instead{remedy}.",
        parameter="as_text" if remedy else None,
    )


def is_code(column: Series) -> Series:
    """Tell which texts begin as no number is written, such as 007."""
    return column.str.contains(r"^[+-]?0\d").fill_null(False)


# -- examples as a table and as a matrix ------------------------------------------------------------------------------


def as_table(examples: Examples) -> Frame:
    """Return examples as a frame of polars, the labels, if there are any, in its last column."""
    pl, X = polars(), examples.X
    if examples.columns is None:
        if X.shape[0] * X.shape[1] > _MAX_CELLS:
            raise DataError(f"A table of {X.shape[0]:,} x {X.shape[1]:,} cells is too large: write svmlight or npz.")
        dense = X.toarray() if sp.issparse(X) else X
        X = pl.DataFrame({f"x{i}": np.ascontiguousarray(dense[:, i]) for i in range(dense.shape[1])})
    if examples.y is None:
        return X
    name = examples.label if examples.columns is not None and examples.label else "label"
    while name in X.columns:
        name += "_"
    y = examples.y.tolist() if examples.y.dtype.kind == "U" else examples.y
    return X.with_columns(pl.Series(name, y))


def as_matrix(examples: Examples, format: str) -> Any:
    """Return the features as an array or CSR matrix; refuse texts, which a format of numbers does not hold."""
    if examples.columns is None:
        return examples.X
    columns = columns_of(examples.X)
    for column in columns:
        if kind_of(column) not in ("number", "boolean") or column.null_count():
            raise DataError(
                f"The format {format!r} holds numbers alone, and column {column.name!r} of {examples.source!r} has "
                "texts or missing values: write csv, parquet or arrow, or leave the column out."
            )
    if len({column.dtype for column in columns}) == 1 and kind_of(columns[0]) == "number":
        return examples.X.to_numpy()
    return np.column_stack([floats_of(column) for column in columns])
