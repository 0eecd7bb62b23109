"""Options of reading: what users can say about data, checked in one place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypedDict

import numpy as np

from votron.data._sources import MAX_BYTES
from votron.errors import VotronError

__all__ = ["BatchKeywords", "ReadKeywords", "ReadOptions"]

BATCH_BYTES = 32 << 20
LABELS = ("required", "optional", "none")
MISSING = ("refuse", "drop", "keep")
STRATEGIES = {"mean": "mean", "median": "median", "most-frequent": "most_frequent"}
"""Values that can be filled in for missing numbers, and scikit-learn's names for them."""
LABEL_KINDS = ("number", "text", "truth")
KINDS = (*LABEL_KINDS, "date")
"""The kinds of columns that can be asked for."""
NA_VALUES = ("", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "null", "?")
"""Texts that mark a missing value by default."""
KEPT = ("na_values", "only_na_values", "zero_based", "encoding", "header", "quote", "decimal", "rgb", "resize")
"""Options that hold for the data of a model as they held in training, unless something else is given."""
RECORDED = (*KEPT, "format", "drop", "missing", "drop_unlabelled", "part")
"""Options that a model file records."""
_CHOICES: dict[str, tuple[object, ...]] = {
    "labels": LABELS,
    "label_kind": (None, *LABEL_KINDS),
    "missing": MISSING,
    "part": (None, "train", "test"),
    "decimal": (None, ".", ","),
    "zero_based": (None, True, False),
    "header": (None, True, False),
    "only_na_values": (True, False),
    "drop_unlabelled": (True, False),
    "rgb": (True, False),
}
_TEXTS = {"na_values": str, "as_text": str, "optional": str, "drop": str | int}


class ReadKeywords(TypedDict, total=False):
    """The keyword arguments of `read_examples`: see `ReadOptions`."""

    label: str | int | os.PathLike[str] | None
    labels: str
    label_kind: str | None
    format: str | None
    drop: Iterable[str | int]
    missing: str
    drop_unlabelled: bool
    na_values: Iterable[str] | None
    only_na_values: bool
    columns: Mapping[str, str] | None
    as_text: Iterable[str]
    n_features: int | None
    zero_based: bool | None
    max_bytes: int
    part: str | None
    encoding: str | None
    header: bool | None
    delimiter: str | None
    quote: str | None
    decimal: str | None
    rgb: bool
    resize: tuple[int, int] | None
    optional: Iterable[str]


class BatchKeywords(ReadKeywords, total=False):
    """The keyword arguments of `open_batches`: those of `read_examples`, and the size of a batch."""

    batch_bytes: int


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Options for reading data: the keyword arguments of `read_examples` and `open_batches`.

    Parameters
    ----------
    label : str, int or path-like, optional
        Where the labels are: a column, by name or number (-1 is the last), of a table or an ``.npy`` file; the key of
        an array in an ``.npz`` file, "y" by default; the file of labels that belongs to IDX images, by default the one
        beside them. svmlight and folders of images need none.
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
        What to do about missing values in tables: refuse them, drop the rows that have some, or keep them, for an
        imputer.
    drop_unlabelled : bool, default=False
        Whether rows without a label are left out, and counted in ``unlabelled``, instead of being refused.
    na_values : texts, optional
        What marks a missing value, beside an empty field; by default NA, N/A, #N/A, n/a, NaN, nan, NULL, null and "?".
    only_na_values : bool, default=True
        If False, ``na_values`` are added to the default ones.
    columns : mapping of str to {"number", "text", "truth", "date"}, optional
        The columns to read and what they hold; others are left out. ``column_kinds_`` of a TableEncoder has them.
    as_text : names of columns
        Columns whose values are categories or texts, even if they look like numbers or dates.
    n_features : int, optional
        For svmlight, the number of features. Features beyond it are left out, and ``notes`` says how many.
    zero_based : bool, optional
        For svmlight, whether the first feature has number 0. By default it has number 1, unless there is a 0.
    max_bytes : int, default=4 GiB
        What compressed input, an archive, Parquet, Arrow or standard input may expand to.
    part : {"train", "test"}, optional
        Which part of an image set, or of a folder with the four files of MNIST; by default the one to train on.
    encoding : str, optional
        How a text file is encoded, such as "latin-1" or "utf-16"; by default UTF-8.
    header : bool, optional
        Whether the first line of a text file names its columns. By default it must, and is refused if it looks like
        data. If not, columns are called c0, c1, and so on.
    delimiter : str, optional
        The character between fields, by default the one of comma, tab, semicolon and bar that fits.
    quote : str, optional
        The character around fields that contain the delimiter, by default ``"``; ``quote=""`` for none.
    decimal : {".", ","}, optional
        The decimal mark of CSV and TSV. By default a point, and in files whose delimiter is not a comma also a comma,
        as the numbers of each column show.
    rgb : bool, default=False
        Whether images are read as red, green and blue instead of grey.
    resize : tuple of int, optional
        Height and width to bring images in folders to. By default all must have the same size.
    optional : names of options
        Options to ignore, instead of refusing them, where the format does not have them.
    batch_bytes : int, default=32 MiB
        For `open_batches`, roughly how many bytes of text, or of numbers, a batch has.

    Examples
    --------
    >>> from votron.data.options import ReadOptions
    >>> ReadOptions(label="Play", na_values=["none"]).missing_texts
    ('', 'none')
    >>> ReadOptions(delimiter="ab")
    Traceback (most recent call last):
        ...
    votron.errors.VotronError: The 'delimiter' parameter of read_examples must be one character. Got 'ab' instead.
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
    optional: Iterable[str] = ()
    batch_bytes: int = BATCH_BYTES

    def __post_init__(self) -> None:
        for name, kind in _TEXTS.items():
            object.__setattr__(self, name, _several(name, getattr(self, name), kind))
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices or getattr(self, name).__class__ in (int, float):
                raise _refused(name, f"be one of {', '.join(map(repr, choices))}", getattr(self, name))
        for name in ("n_features", "max_bytes", "batch_bytes"):
            value = getattr(self, name)
            if not (_is_count(value) or (value is None and name == "n_features")):
                raise _refused(name, "be an int in the range [1, inf)", value)
        size = self.resize
        if size is not None and not (isinstance(size, tuple | list) and len(size) == 2 and all(map(_is_count, size))):
            raise _refused("resize", "be a height and a width, two ints in the range [1, inf)", size)
        for name in ("delimiter", "quote"):
            value = getattr(self, name)
            if not (value is None or _is_separator(value) or (name == "quote" and value == "")):
                raise _refused(name, "be one character", value)
        if self.delimiter is not None and self.delimiter in ('"', "'", self.quote):
            raise _refused("delimiter", "differ from the character around fields", self.delimiter)
        if self.encoding is not None and not _is_encoding(self.encoding):
            raise _refused("encoding", "be an encoding of text that Python knows, such as latin-1", self.encoding)
        self._check_format()
        kinds = self.columns if isinstance(self.columns, Mapping) else {None: None} if self.columns is not None else {}
        if not all(isinstance(name, str) and kind in KINDS for name, kind in kinds.items()):
            raise _refused("columns", f"map names of columns to one of {', '.join(map(repr, KINDS))}", self.columns)

    def _check_format(self) -> None:
        from votron.data.formats import choosable_formats, format_named

        found = format_named(self.format) if isinstance(self.format, str) else None
        if self.format is not None and not (found and found.choosable):
            raise _refused("format", f"be one of {', '.join(map(repr, choosable_formats()))}", self.format)

    def given(self) -> dict[str, object]:
        """Return the options that differ from their defaults."""
        values = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}

    @property
    def missing_texts(self) -> tuple[str, ...]:
        """The texts that mark a missing value in text files."""
        defaults = NA_VALUES if self.na_values is None or not self.only_na_values else ("",)
        return tuple(dict.fromkeys([*defaults, *(self.na_values or ())]))

    def kind_of(self, name: str) -> str | None:
        """Return what a column must hold, if that is given."""
        return "text" if name in self.as_text else None if self.columns is None else self.columns.get(name)


def _several(name: str, given: Any, kind: Any) -> tuple[Any, ...] | None:
    """Return one value or several as a tuple."""
    if given is None and name == "na_values":
        return None
    values = (given,) if isinstance(given, kind) else tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(value, kind) for value in values):
        raise _refused(name, "be texts" if kind is str else "be names or numbers of columns", given)
    return values


def _is_count(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 1)


def _is_separator(text: object) -> bool:
    return isinstance(text, str) and len(text) == 1 and text.isascii() and not text.isalnum() and text not in "\r\n\0"


def _is_encoding(name: object) -> bool:
    try:
        return isinstance(name, str) and isinstance(b"  ".decode(name), str)
    except (LookupError, UnicodeError):
        return False


def _refused(name: str, rule: str, got: object) -> VotronError:
    return VotronError(
        f"The {name!r} parameter of read_examples must {rule}. Got {got!r} instead.",
        parameter=name,
    )
