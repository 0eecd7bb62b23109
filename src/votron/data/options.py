"""Options of reading, checked in one place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from votron.data._sources import MAX_BYTES
from votron.errors import VotronError

__all__ = ["ReadOptions"]

STRATEGIES = {"mean": "mean", "median": "median", "most-frequent": "most_frequent"}
"""Values that can be filled in for missing numbers, and scikit-learn's names for them."""
KINDS = ("number", "text", "truth", "date")
"""The kinds of columns that can be asked for."""
NA_VALUES = ("", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "null", "?")
"""Texts that mark a missing value by default."""
KEPT = ("na_values", "only_na_values", "zero_based", "encoding", "header", "quote", "decimal", "rgb", "resize")
"""Options that hold for the data of a model as they held in training, unless something else is given."""
RECORDED = (*KEPT, "format", "drop", "missing", "drop_unlabelled", "part")
"""Options that a model file records."""


def _one_of(*choices: str) -> tuple[str, Callable[[Any], bool]]:
    return f"be one of {', '.join(map(repr, choices))}", lambda value: value in choices


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 1)


def _is_separator(text: object) -> bool:
    return isinstance(text, str) and len(text) == 1 and text.isascii() and not text.isalnum() and text not in "\r\n\0"


def _is_encoding(name: Any) -> bool:
    try:
        return "".encode(name) is not None
    except (LookupError, TypeError):
        return False


def _are_all(*kinds: type) -> Callable[[Any], bool]:
    return lambda values: isinstance(values, tuple) and all(isinstance(value, kinds) for value in values)


_TRUTH = ("be True or False", lambda value: isinstance(value, bool))
_COUNT = ("be an int in the range [1, inf)", _is_count)
_TEXTS = ("be texts", _are_all(str))
_RULES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "labels": _one_of("required", "optional", "none"),
    "label_kind": _one_of("number", "text", "truth"),
    "drop": ("be names or numbers of columns", _are_all(str, int)),
    "missing": _one_of("refuse", "drop", "keep"),
    "drop_unlabelled": _TRUTH,
    "na_values": _TEXTS,
    "only_na_values": _TRUTH,
    "columns": (
        f"map names of columns to one of {', '.join(map(repr, KINDS))}",
        lambda columns: (
            isinstance(columns, Mapping) and {*map(type, columns)} <= {str} and {*columns.values()} <= {*KINDS}
        ),
    ),
    "as_text": _TEXTS,
    "n_features": _COUNT,
    "zero_based": _TRUTH,
    "max_bytes": _COUNT,
    "part": _one_of("train", "test"),
    "encoding": ("be an encoding of text that Python knows, such as latin-1", _is_encoding),
    "header": _TRUTH,
    "delimiter": ("be one character, and no quote", lambda value: _is_separator(value) and value not in "\"'"),
    "quote": ("be one character, or empty", lambda value: value == "" or _is_separator(value)),
    "decimal": _one_of(".", ","),
    "rgb": _TRUTH,
    "resize": (
        "be a height and a width, two ints in the range [1, inf)",
        lambda size: isinstance(size, tuple | list) and len(size) == 2 and all(map(_is_count, size)),
    ),
    "batch_bytes": _COUNT,
}


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Options for reading data: the keyword arguments of `read_examples` and `open_batches`.

    Options for other formats than that of the data are ignored.

    Parameters
    ----------
    label : str, int or path-like, optional
        Where the labels are: a column of a table or ``.npy`` file, by name or number (-1 is the last); the key of an
        array in an ``.npz`` file, by default "y"; the file of labels of IDX images, by default the one beside them.
    labels : {"required", "optional", "none"}, default="required"
        Whether there must be labels, may be, or are left out.
    label_kind : {"text", "truth", "number"}, optional
        What labels are read as: texts as written ("01" stays "01"), truth values (true and false, or 1 and 0) or
        numbers. By default what they look like.
    format : str, optional
        "csv", "tsv", "json", "jsonl", "parquet", "arrow", "svmlight", "idx", "npy", "npz" or "images", or one that
        another package brings. By default recognised by the first bytes, the name and the first line.
    drop : names or numbers of columns
        Columns of a table to leave out.
    missing : {"refuse", "drop", "keep"}, default="refuse"
        Whether missing values in tables are refused, the rows that have some are dropped, or they are kept.
    drop_unlabelled : bool, default=False
        Whether rows without a label are left out, and counted in ``unlabelled``, instead of being refused.
    na_values : texts, optional
        What marks a missing value, beside an empty field; by default NA, N/A, #N/A, n/a, NaN, nan, NULL, null and "?".
    only_na_values : bool, default=True
        If False, ``na_values`` are added to the default ones.
    columns : mapping of str to {"number", "text", "truth", "date"}, optional
        The columns to read and what they hold, such as ``column_kinds_`` of a TableEncoder; others are left out.
    as_text : names of columns
        Columns whose values are categories or texts, even if they look like numbers or dates.
    n_features : int, optional
        For svmlight, the number of features; those beyond it are left out.
    zero_based : bool, optional
        For svmlight, whether the first feature has number 0. By default it has number 1, unless there is a 0.
    max_bytes : int, default=4 GiB
        What compressed input, an archive, Parquet, Arrow or standard input may expand to.
    part : {"train", "test"}, optional
        Which part of an image set, or of a folder with the four files of MNIST; by default the one to train on.
    encoding : str, optional
        How a text file is encoded, such as "latin-1" or "utf-16"; by default UTF-8.
    header : bool, optional
        Whether the first line of CSV names the columns. By default it must, and is refused if it looks like data.
        If not, columns are called c0, c1, and so on.
    delimiter : str, optional
        The character between fields, by default the one of comma, tab, semicolon and bar that fits.
    quote : str, optional
        The character around fields that contain the delimiter, by default ``"``; ``quote=""`` for none.
    decimal : {".", ","}, optional
        The decimal mark of CSV. By default a point, and in files whose delimiter is not a comma also a comma, as the
        numbers of each column show.
    rgb : bool, default=False
        Whether images are read as red, green and blue instead of grey.
    resize : tuple of int, optional
        Height and width to bring images in folders to. By default all must have the same size.
    batch_bytes : int, default=32 MiB
        For `open_batches`, roughly how many bytes of text, or of numbers, a batch has.

    Examples
    --------
    >>> from votron.data.options import ReadOptions
    >>> ReadOptions(label="Play", na_values=["none"]).missing_texts
    ('', 'none')
    """

    label: str | int | os.PathLike[str] | None = None
    labels: str = "required"
    label_kind: str | None = None
    format: str | None = None
    drop: Iterable[str | int] = ()
    missing: str = "refuse"
    drop_unlabelled: bool = False
    na_values: Iterable[str] | None = None
    only_na_values: bool = True
    columns: Mapping[str, str] | None = None
    as_text: Iterable[str] = ()
    n_features: int | None = None
    zero_based: bool | None = None
    max_bytes: int = MAX_BYTES
    part: str | None = None
    encoding: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    quote: str | None = None
    decimal: str | None = None
    rgb: bool = False
    resize: tuple[int, int] | None = None
    batch_bytes: int = 32 << 20

    def __post_init__(self) -> None:
        for name, one in {"na_values": str, "as_text": str, "drop": str | int}.items():
            given = getattr(self, name)
            values = (given,) if isinstance(given, one) else tuple(given) if isinstance(given, Iterable) else given
            object.__setattr__(self, name, values)
        from votron.data.formats import FORMATS, format_named

        formats = (
            f"be one of {', '.join(map(repr, FORMATS))}",
            lambda name: isinstance(name, str) and format_named(name),
        )
        for name, (rule, holds) in {**_RULES, "format": formats}.items():
            value = getattr(self, name)
            if value != self.__dataclass_fields__[name].default and not holds(value):
                raise VotronError(
                    f"The {name!r} parameter of read_examples must {rule}. Got {value!r} instead.", parameter=name
                )

    @property
    def missing_texts(self) -> tuple[str, ...]:
        """The texts that mark a missing value in text files."""
        defaults = NA_VALUES if self.na_values is None or not self.only_na_values else ("",)
        return tuple(dict.fromkeys([*defaults, *(self.na_values or ())]))

    def kind_of(self, name: str) -> str | None:
        """Return what a column must hold, if that is given."""
        return "text" if name in self.as_text else None if self.columns is None else self.columns.get(name)
