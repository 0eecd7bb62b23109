"""Tables as examples: which column holds the labels, which are left out, and what happens where values are missing."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from votron._util.frames import kind_of, missing_in
from votron._util.text import did_you_mean
from votron._util.types import Frame, Series
from votron.data.examples import TRUTH, Examples, short_repr, tidy_labels
from votron.data.options import ReadOptions
from votron.errors import DataError

if TYPE_CHECKING:
    from votron.data.formats.base import Part

_MAX_LISTED = 12
_MAX_CELLS = 1 << 28
_WHAT = {"number": "numbers", "truth": "true and false", "date": "dates"}


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
    except DataError:
        raise
    except (Exception, polars().exceptions.PanicException) as error:
        first = str(error).strip()[:1000].partition("\n")[0]  # it may quote a field of megabytes
        reason = " ".join(first.split())[:200].rstrip(".:") or type(error).__name__
        raise DataError(f"{what}: {reason}.") from None


def check_names(names: Iterable[str], name: str) -> None:
    """Refuse names of columns that are the same, or that polars takes for patterns."""
    for each, n in Counter(filter(None, names)).items():
        if n > 1:
            raise DataError(f"The names of the columns of {name} must differ. Got {short_repr(each)} twice instead.")
        if each.startswith("^") and each.endswith("$"):
            raise DataError(f"The column {short_repr(each)} of {name} must have another name: it reads as a pattern.")


def find_column(key: object, names: Sequence[str], what: str, name: str) -> str:
    """Return the name of a column that is given by name or number, or a number's text."""
    if isinstance(key, str) and key in names:
        return key
    with suppress(ValueError, IndexError):
        return names[int(str(key))]
    raise DataError(
        f"The {what} must be a column of {name}, which has {list_names(names)}. Got {short_repr(key)} instead."
        f"{did_you_mean(key, names)}",
        parameter="label" if what == "label" else "drop",
    )


def is_nameless(name: str) -> bool:
    return name.startswith("<column ") and name.endswith(">")


def list_names(names: Sequence[str]) -> str:
    more = f", ... {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(short_repr(name) for name in names[:_MAX_LISTED]) + more


def label_in(options: ReadOptions, names: Sequence[str]) -> str | None:
    """Return the column of the labels, if it can be found."""
    with suppress(DataError):  # raised later, where all is known
        return None if options.label is None else find_column(options.label, names, "", "")
    return None


class _Table:
    """A table, or a part of one, on its way to become examples."""

    def __init__(self, part: Part, options: ReadOptions, about: Examples, name: str) -> None:
        self.part, self.options, self.about, self.name = part, options, about, name
        self.frame, self.columns = part.X, list(part.X.columns)
        self.label = self._label_column()

    def _label_column(self) -> str | None:
        label, model = label_in(self.options, self.columns), self.options.columns or ()
        if self.options.labels != "required":
            return None if label in model else label
        if self.options.label is None:
            raise DataError(
                f"Say which column of {self.name} holds the labels, with label: it has {list_names(self.columns)}.",
                parameter="label",
            )
        label = find_column(self.options.label, self.columns, "label", self.name)
        if label in model:
            raise DataError(f"The label of {self.name} must be another column than {label!r}, a feature of the model.")
        return label

    def features(self) -> list[str]:
        """Return the names of the columns that hold features."""
        names = self.columns
        if self.options.columns is not None:
            for one in self.options.columns:
                if one not in names:
                    raise DataError(
                        f"There must be a column {one!r} in {self.name}, as when the model was trained: it has "
                        f"{list_names(names)}.{did_you_mean(one, names)}"
                    )
            return list(self.options.columns)
        dropped = {find_column(key, names, "column to drop", self.name) for key in self.options.drop}
        wanted = [one for one in names if one != self.label and one not in dropped]
        if not wanted:
            raise DataError(f"There must be a column of features in {self.name}. Got {list_names(names)} instead.")
        for number in (names.index(one) for one in wanted if is_nameless(one)):
            raise DataError(
                f"Each column of {self.name} must have a name. Got none for column {number + 1} (numbers of rows, "
                f"perhaps) instead: name it, or leave it out with drop={number!r}.",
                parameter="drop",
            )
        return wanted

    def read(self, name: str) -> Series:
        """Return a column that holds what is asked for, or what it held in the parts before."""
        column, seen, is_label = self.frame.get_column(name), self.part.seen or {}, name == self.label
        told = "text" if is_label and self.options.label_kind else self.options.kind_of(name)
        wanted = told or seen.get(name)
        if self.part.typed is not None:
            column = self.part.typed(column, wanted or ("label" if is_label else None), self.about.place)
        if wanted is not None:
            column = self._converted(column, wanted, in_batches=told is None)
        kind = kind_of(column)
        if self.part.seen is not None and kind not in ("nothing", "other"):
            self.part.seen[name] = "truth" if kind == "boolean" else kind
        if column.dtype.is_float() and column.is_infinite().any():
            row = int(column.is_infinite().arg_true()[0])
            got = f"{column[row]} in {self.about.place(row)}"
            raise DataError(f"The column {name!r} of {self.name} must hold finite numbers. Got {got}.")
        return column

    def _converted(self, column: Series, wanted: str, *, in_batches: bool) -> Series:
        pl, kind = polars(), kind_of(column)
        types = {"number": pl.Float64, "truth": pl.Boolean, "date": pl.Date, "text": pl.String}
        if wanted == "text" and kind not in ("nothing", "other"):
            return column.cast(pl.String)
        found = column
        if kind == "nothing" or (wanted == "date" and kind not in ("date", "text")):
            found = pl.Series(column.name, [None] * len(column), dtype=types[wanted])
        elif wanted == "number" and kind in ("text", "boolean"):
            found = column.cast(pl.Float64, strict=False)
            found = found.set(~found.is_finite().fill_null(True), None)
        elif wanted == "truth" and kind != "boolean":
            texts = column.cast(pl.String).str.to_lowercase()
            found = texts.replace_strict(TRUTH, default=None, return_dtype=pl.Boolean)
        wrong = found.is_null() & column.is_not_null()
        if not wrong.any():
            return found
        row = int(wrong.arg_true()[0])
        why = "as in the rows before it" if in_batches else "as when the model was trained"
        remedy = ": read it as text with as_text (--discrete)" if in_batches else ""
        raise DataError(
            f"The column {column.name!r} of {self.name} must hold {_WHAT[wanted]}, {why}. Got "
            f"{short_repr(column[row])} in {self.about.place(row)} instead{remedy}.",
            parameter="as_text" if remedy else None,
        )

    def kept(self, X: Frame, unlabelled: NDArray[np.bool_], *, may_be_empty: bool) -> NDArray[np.bool_]:
        """Tell which rows to keep; refuse missing values that are neither to be dropped nor kept."""
        options, name, n = self.options, self.name, int(unlabelled.sum())
        if n and not options.drop_unlabelled:
            raise DataError(
                f"Every row of {name} must have a label, and {n:,} have none, the first in "
                f"{self.about.place(int(unlabelled.argmax()))} of column {self.label!r}: add it, or leave such rows "
                "out with drop_unlabelled=True.",
                parameter="drop_unlabelled",
            )
        if n == X.height and not may_be_empty:
            raise DataError(f"None of the {n:,} rows of {name} has a label in column {self.label!r}.")
        complete = np.ones(X.height, dtype=bool)
        for column in X.get_columns() if options.missing != "keep" else ():
            if column.null_count() or column.dtype.is_float():
                complete &= ~missing_in(column)
        wrong = ~complete & ~unlabelled
        if options.missing == "refuse" and wrong.any():
            row, n = int(wrong.argmax()), int(wrong.sum())
            first = next(column.name for column in X.get_columns() if missing_in(column)[row])
            raise DataError(
                f"There must be no missing values in {name}, and {n} of {X.height:,} rows "
                f"{'has' if n == 1 else 'have'} some: the first is in {self.about.place(row)}, column {first!r}. Say "
                "what to do about them with missing.",
                parameter="missing",
            )
        kept: NDArray[np.bool_] = complete & ~unlabelled
        if not kept.any() and not may_be_empty:
            raise DataError(f"There is no row of {name} without a missing value: nothing is left after dropping them.")
        return kept


def frame_examples(part: Part, options: ReadOptions, about: Examples, name: str, *, may_be_empty: bool) -> Examples:
    """Return the examples of a table; `about` says where they are from, `name` is what sentences call it."""
    table = _Table(part, options, about, name)
    with ThreadPoolExecutor() as pool:  # polars works on one column without the interpreter's lock
        X = polars().DataFrame(list(pool.map(table.read, table.features())))
    y = None if table.label is None or options.labels == "none" else table.read(table.label)
    unlabelled = np.zeros(X.height, bool) if y is None else missing_in(y)
    kept = table.kept(X, unlabelled, may_be_empty=may_be_empty)
    found = replace(about, X=X, dropped=int((~kept).sum()), unlabelled=int(unlabelled.sum()))
    found = found if kept.all() else found.take(kept)
    if y is None:
        return found
    labels = y.filter(kept)
    if kind_of(labels) in ("text", "nothing"):
        array = np.array(labels.cast(polars().String).to_list(), dtype=np.str_)
    else:
        array = np.asarray(labels.to_numpy())
    return replace(found, y=tidy_labels(array, f"The label column {table.label!r} of {name}"), label=table.label)


def is_code(column: Series) -> Series:
    """Tell which texts begin as no number is written, such as 007."""
    return column.str.contains(r"^[+-]?0\d").fill_null(False)


def table_bytes(examples: Examples, format: str, **options: Any) -> bytes:
    """Return examples as polars writes them in a format, the labels, if there are any, in the last column."""
    pl, X, y = polars(), examples.X, examples.y
    if examples.columns is None:
        if X.shape[0] * X.shape[1] > _MAX_CELLS:
            raise DataError(f"A table of {X.shape[0]:,} x {X.shape[1]:,} cells is too large: write svmlight or npz.")
        dense = X.toarray() if sp.issparse(X) else X
        X = pl.DataFrame({f"x{i}": np.ascontiguousarray(dense[:, i]) for i in range(dense.shape[1])})
    if y is not None:
        name = examples.label if examples.columns is not None and examples.label else "label"
        while name in X.columns:
            name += "_"
        X = X.with_columns(pl.Series(name, y.tolist() if y.dtype.kind == "U" else y))
    buffer = io.BytesIO()
    with polars_errors(f"Cannot write {examples.source!r} as {format}"):
        getattr(X, f"write_{format}")(buffer, **options)
    return buffer.getvalue()


def as_matrix(examples: Examples, format: str) -> Any:
    """Return the features as an array or CSR matrix; refuse texts, which a format of numbers does not hold."""
    if examples.columns is None:
        return examples.X
    for column in examples.X.get_columns():
        if kind_of(column) not in ("number", "boolean") or column.null_count():
            raise DataError(
                f"The format {format!r} holds numbers alone, and column {column.name!r} of {examples.source!r} has "
                "texts or missing values: write csv, parquet or arrow, or leave the column out."
            )
    return examples.X.cast({polars().Boolean: polars().UInt8}).to_numpy()
