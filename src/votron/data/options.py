"""Options of reading: what users can say about data, spelled once.

Each option has its name, type and default here, and beside them its description, what it may be, how it is typed on the
command line, and whether a model file keeps it for the data that come after. Signatures, docstrings, commands, what
model files say of their training and "read as in training" are made of these.
"""

# ruff: noqa: RUF009  # option() returns the field of a dataclass, as field() does

import codecs
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self, TypeVar

import numpy as np

from votron.data._sources import MAX_BYTES
from votron.data.tables import TableOptions
from votron.data.vocabulary import KINDS, LABEL_KINDS, LABELS, MISSING
from votron.errors import Parameter, VotronError

__all__ = ["BatchOptions", "ReadOptions"]

BATCH_BYTES = 32 << 20
NA_VALUES = ("", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "null", "?")
"""Texts that mean that a value is missing, if not told otherwise."""
_NO_ENCODINGS = ("idna", "punycode", "undefined", "unicode_escape", "unicode-escape", "raw_unicode_escape", "utf-7")
"""Encodings of Python's that no files have."""
AS_IN_TRAINING = "default: as in training"

Default = TypeVar("Default")
BrokenRule = tuple[str, Any] | None
"""The rule that a value breaks, and the value, or the part of it, that does; None if it is as it must be."""


@dataclass(frozen=True)
class Command:
    """How an option is typed.

    Attributes
    ----------
    flag : str
        Such as ``--format``.
    help : str
        What it is; ``{default}`` stands for what holds if it is not typed.
    takes : str
        What comes after it: "text", "texts" (it may be typed several times), "yes" (nothing: it is a switch), "yes or
        no", "count", "size", "character", "quote" or "height and width".
    metavar : str
        What that is called.
    default : str
        What holds if it is not typed and there is no training to go by.
    main_only : bool
        Whether it is about data to learn from, and not about data for a model.
    of_labels : bool
        Whether it is about labels, and has no meaning where none are read.
    """

    flag: str
    help: str
    takes: str = "text"
    metavar: str | None = None
    default: str = ""
    main_only: bool = False
    of_labels: bool = False

    def words(self, kept: bool) -> str:
        """Return the help, for data of a model if what held in training is ``kept``."""
        default = AS_IN_TRAINING if kept else self.default
        return self.help.replace("{default}", default)

    @property
    def dest(self) -> str:
        """The name of the attribute that argparse gives it."""
        return self.flag.lstrip("-").replace("-", "_")


@dataclass(frozen=True)
class Option:
    """What there is to know about an option beside its name, type and default.

    Attributes
    ----------
    kind : str
        Its type, in words.
    words : str
        What it is.
    check : function
        What says which rule a value breaks.
    command : Command or None
        How it is typed.
    recorded : bool
        Whether a model file says which it was.
    kept : bool
        Whether it holds for data of the model as it held in training, unless something else is said.
    """

    kind: str
    words: str
    check: Callable[[Any], BrokenRule] = lambda value: None
    command: Command | None = None
    recorded: bool = False
    kept: bool = False

    def fits(self, value: Any) -> bool:
        """Tell whether a value may be meant; model files may come from strangers."""
        return value is not None and self.check(value) is None


def option(default: Default, *about: Any, **more: Any) -> Default:
    """Return the field of an option, of which the rest is what `Option` takes."""
    return field(default=default, metadata={"option": Option(*about, **more)})


# -- what options may be ----------------------------------------------------------------------------------------------


def _one_of(*choices: Any) -> Callable[[Any], BrokenRule]:
    def check(value: Any) -> BrokenRule:
        if any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
            return None
        return f"be one of {', '.join(map(repr, choices))}", value

    return check


def _format(value: Any) -> BrokenRule:
    from votron.data.formats import choosable_formats, format_named

    found = format_named(value) if isinstance(value, str) else None
    return None if found is not None and found.choosable else _one_of(None, *choosable_formats())(value)


def _all_are(types: Any, rule: str) -> Callable[[Any], BrokenRule]:
    def check(value: Any) -> BrokenRule:
        if value is None or isinstance(value, types):
            return None
        if not isinstance(value, Iterable):
            return rule, value
        return next(((rule, one) for one in value if not isinstance(one, types)), None)

    return check


def _kinds_of_columns(value: Any) -> BrokenRule:
    rule = f"map names of columns to one of {', '.join(map(repr, KINDS))}"
    if value is not None and not isinstance(value, Mapping):
        return rule, value
    for name, kind in (value or {}).items():
        if not isinstance(name, str) or kind not in KINDS:
            return rule, kind if isinstance(name, str) else name
    return None


def _count(value: Any) -> BrokenRule:
    fits = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1
    return None if fits else ("be an int in the range [1, inf)", value)


def stands_between(text: str) -> bool:
    """Tell whether it can stand between the fields of a line, or around them: one character that is part of neither.

    Examples
    --------
    >>> stands_between(";"), stands_between("a"), stands_between("::")
    (True, False, False)
    """
    return len(text) == 1 and text.isascii() and not text.isalnum() and text not in "\r\n\0"


def _character(value: Any) -> BrokenRule:
    if isinstance(value, str) and stands_between(value):
        return None
    return "be one character, no letter or digit and not the end of a line", value


def _encoding(value: Any) -> BrokenRule:
    try:
        found = codecs.lookup(value) if isinstance(value, str) else None
    except LookupError:
        found = None
    fits = found is not None and getattr(found, "_is_text_encoding", True) and found.name not in _NO_ENCODINGS
    return None if fits else ("be an encoding of text that Python knows, such as latin-1", value)


def _truth(value: Any) -> BrokenRule:
    return None if isinstance(value, int | np.bool_) and value in (0, 1) else ("be True or False", value)


def _quote(value: Any) -> BrokenRule:
    return None if value == "" else _character(value)


def _height_and_width(value: Any) -> BrokenRule:
    sides = tuple(value) if isinstance(value, Iterable) else ()
    fits = len(sides) == 2 and not any(map(_count, sides))
    return None if fits else ("be a height and a width, two ints in the range [1, inf)", value)


# -- the options ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """The parameters of `read_examples`, as given.

    Examples
    --------
    >>> ReadOptions(label="Play", na_values="none").missing_texts
    ('', 'none')
    >>> ReadOptions(label="Play", na_values="none", only_na_values=False).missing_texts[-2:]
    ('?', 'none')
    """

    label: str | int | os.PathLike[str] | None = option(
        None,
        "str, int or path-like, optional",
        "Where the labels are: a column, by name or number (-1 is the last), of a table or an ``.npy`` file; the key "
        'of an array in an ``.npz`` file, "y" by default; the file of labels that belongs to IDX images, by default '
        "the one beside them. Files of svmlight and folders of images have their labels in one place, and need none.",
    )
    labels: str = option(
        "required",
        '{"required", "optional", "none"}, default="required"',
        "Whether there must be labels, may be, or are left out.",
        _one_of(*LABELS),
    )
    label_kind: str | None = option(
        None,
        '{"text", "truth", "number"}, optional',
        'What labels are read as: texts, as they are written ("01" stays "01", and "true" stays "true"); truth values, '
        "which are true and false, or 1 and 0; or numbers. By default what the labels look like, and numbers among "
        "words are words.",
        _one_of(None, *LABEL_KINDS),
    )
    format: str | None = option(
        None,
        "str, optional",
        '"csv", "tsv", "json", "jsonl", "parquet", "arrow", "svmlight", "idx", "npy", "npz" or "images", or one that '
        "another package brings, if it cannot be recognised.",
        _format,
        Command("--format", "{formats} (default: by the name and the first bytes)", "format", "NAME"),
        recorded=True,
    )
    drop: Iterable[str | int] = option(
        (),
        "names or numbers of columns",
        "Columns of a table to leave out.",
        _all_are(str | int, "be names or numbers of columns"),
        Command("--drop", "column to leave out; may be repeated", "texts", "COL"),
        recorded=True,
    )
    missing: str = option(
        "refuse",
        '{"refuse", "drop", "keep"}, default="refuse"',
        "What to do about missing values in tables: refuse them, with a sentence that says where the first is, drop "
        "the rows that have some, or keep them, for an imputer. This is about features: rows without a label are for "
        "``drop_unlabelled``.",
        _one_of(*MISSING),
        Command(
            "--missing",
            "where values are missing: refuse, drop the rows, or fill in the mean, median or most-frequent value "
            "(default: refuse)",
            "filling",
            "HOW",
        ),
        recorded=True,
    )
    drop_unlabelled: bool = option(
        False,
        "bool, default=False",
        "Whether rows without a label are left out, and counted in ``unlabelled`` of the result, instead of being "
        "refused; values that are missing elsewhere are another matter, for ``missing``.",
        _truth,
        Command("--drop-unlabelled", "leave out rows without a label, and count them", "yes", of_labels=True),
        recorded=True,
    )
    na_values: Iterable[str] | None = option(
        None,
        "texts, optional",
        "What means that a value is missing, beside an empty field: by default NA, N/A, #N/A, n/a, NaN, nan, NULL, "
        'null and "?".',
        _all_are(str, "be texts"),
        Command(
            "--na-values",
            "text that marks a missing value, beside empty, NA, NaN, null, ? and the like; may be repeated ({default})",
            "texts",
            "TEXT",
            "default: these alone",
        ),
        recorded=True,
        kept=True,
    )
    only_na_values: bool = option(
        True,
        "bool, default=True",
        "Whether ``na_values`` stand for themselves, beside an empty field. If False, they are added to the default "
        "ones, as pandas does and the command line; in JSON, where null is what is missing, there are no default ones.",
        _truth,
        Command(
            "--only-na-values",
            "nothing but empty fields and the texts of --na-values marks a missing value ({default})",
            "yes",
            default="default: NA and the like do too",
        ),
        recorded=True,
        kept=True,
    )
    columns: Mapping[str, str] | None = option(
        None,
        'mapping of str to {"number", "text", "truth", "date"}, optional',
        "The columns to read and what they hold, others being left out: what `encoder_columns` says of a fitted "
        "encoder.",
        _kinds_of_columns,
    )
    as_text: Iterable[str] = option(
        (),
        "names of columns",
        "Columns whose values are names, or texts, even if they look like numbers or dates. Columns with numbers such "
        "as 007 are taken for such without being named.",
        _all_are(str, "be names of columns"),
    )
    n_features: int | None = option(
        None,
        "int, optional",
        "For svmlight, how many features there are. Features beyond, which a model does not know, are passed over, as "
        "by svm-predict, and a note in the result says how many.",
        _count,
        Command(
            "--features",
            "svmlight: number of features (default: as many as occur)",
            "count",
            "N",
            main_only=True,
        ),
    )
    zero_based: bool | None = option(
        None,
        "bool, optional",
        "For svmlight, whether the first feature is number 0. By default it is 1, as in libsvm, unless there is a 0.",
        _one_of(None, True, False),
        Command(
            "--zero-based",
            "svmlight: features are numbered from 0 ({default})",
            "yes",
            default="default: if there is a feature 0",
        ),
        recorded=True,
        kept=True,
    )
    max_bytes: int = option(
        MAX_BYTES,
        "int, default=4 GiB",
        "What compressed input, an archive or standard input may expand to. Nothing is expanded beyond. Whatever this "
        "says, and for plain files too, reading takes at most 80 % of the memory that is free; what would take more is "
        "refused before memory is taken for it. Text takes about eight times its length while it is read, and up to "
        "forty times if its fields are of a character each: for large files there is `open_batches`.",
        _count,
        Command(
            "--max-expanded",
            "largest size that compressed input may expand to, such as 10GB (default: 4GiB); never more than free "
            "memory allows",
            "size",
            "SIZE",
        ),
    )
    part: str | None = option(
        None,
        '{"train", "test"}, optional',
        "Which part of an image set, or of a folder with the four files of MNIST; by default the one to train on.",
        _one_of(None, "train", "test"),
        Command("--part", "which part of digits, mnist or fashion (default: train)", "part"),
        recorded=True,
    )
    encoding: str | None = option(
        None,
        "str, optional",
        'How a text file is encoded, such as "latin-1", "cp1252" or "utf-16"; by default UTF-8.',
        _encoding,
        Command("--encoding", "encoding of text files, such as latin-1 ({default})", "text", "NAME", "default: utf-8"),
        recorded=True,
        kept=True,
    )
    header: bool | None = option(
        None,
        "bool, optional",
        "Whether the first line of a text file names its columns. By default it must, and is refused if it looks like "
        "data: if a number stands over a column of numbers, say. If not, columns are called c0, c1, and so on.",
        _one_of(None, True, False),
        Command(
            "--header",
            "whether the first line of CSV names the columns; without such a line they are called c0, c1, and so on "
            "({default})",
            "yes or no",
            default="default: yes, and an error if that line looks like data",
        ),
        recorded=True,
        kept=True,
    )
    delimiter: str | None = option(
        None,
        "str, optional",
        "The character between fields, by default the one of comma, tab, semicolon and bar that fits.",
        _character,
        Command("--delimiter", "character between CSV fields (default: detected)", "character", "C"),
    )
    quote: str | None = option(
        None,
        "str, optional",
        'The character around fields that contain the delimiter, by default found as well; ``quote=""`` for none.',
        _quote,
        Command(
            "--quote",
            "character around CSV fields; '' for none ({default})",
            "quote",
            "C",
            "default: detected",
        ),
        recorded=True,
        kept=True,
    )
    rgb: bool = option(
        False,
        "bool, default=False",
        "Whether images are read as red, green and blue instead of grey.",
        _truth,
        Command("--rgb", "read images in colour instead of grey", "yes"),
        recorded=True,
        kept=True,
    )
    resize: tuple[int, int] | None = option(
        None,
        "tuple of int, optional",
        "Height and width to bring images in folders to. By default all must be of one size.",
        _height_and_width,
        Command("--resize", "resize images to this height and width", "height and width", "HxW"),
        recorded=True,
        kept=True,
    )

    @classmethod
    def of(cls, owner: str, given: Mapping[str, Any]) -> Self:
        """Return what a function was given, checked; ``owner`` is the function."""
        known = options_of(cls)
        found: dict[str, Any] = {}
        for name, value in given.items():
            if name not in known:
                raise TypeError(f"{owner}() got an unexpected keyword argument {name!r}")
            found[name] = tuple(value) if isinstance(value, Iterator) else value  # they are looked at more than once
        options = cls(**found)
        options.check(owner)
        return options

    def check(self, owner: str) -> None:
        """Refuse what cannot be meant."""
        for each in fields(self):
            value = getattr(self, each.name)
            broken = None if value is None and each.default is None else each.metadata["option"].check(value)
            if broken is not None:
                raise _refusal(owner, each.name, *broken)
        if self.delimiter is not None and self.delimiter in ('"', "'", self.quote):
            raise _refusal(owner, "delimiter", "be another character than that around fields", self.delimiter)

    @property
    def missing_texts(self) -> tuple[str, ...]:
        """The texts that mean that a value is missing."""
        if self.na_values is None:
            return NA_VALUES
        return tuple(dict.fromkeys((*(() if self.only_na_values else NA_VALUES), *self.own_missing_texts)))

    @property
    def own_missing_texts(self) -> tuple[str, ...]:
        """The texts that are said to mean that a value is missing, an empty one among them; none if nothing is said."""
        if self.na_values is None:
            return ()
        return tuple(dict.fromkeys(["", *([self.na_values] if isinstance(self.na_values, str) else self.na_values)]))

    @property
    def table(self) -> TableOptions:
        """What concerns tables."""
        return TableOptions(
            label=os.fspath(self.label) if isinstance(self.label, os.PathLike) else self.label,
            labels=self.labels,
            label_kind=self.label_kind,
            drop=(self.drop,) if isinstance(self.drop, str | int) else tuple(self.drop),
            missing=self.missing,
            drop_unlabelled=bool(self.drop_unlabelled),
            columns=self.columns,
            as_text=frozenset([self.as_text] if isinstance(self.as_text, str) else self.as_text),
        )


@dataclass(frozen=True, kw_only=True)
class BatchOptions(ReadOptions):
    """The parameters of `open_batches`, as given.

    Examples
    --------
    >>> BatchOptions().batch_bytes
    33554432
    """

    batch_bytes: int = option(
        BATCH_BYTES,
        "int, default=32 MiB",
        "How many bytes of text, or of numbers, a batch has, about. While text is read it takes about twelve times as "
        "much in memory, and up to forty times if its fields are of a character each.",
        _count,
    )


def options_of(cls: Any = ReadOptions) -> dict[str, Option]:
    """Return the options, by name.

    Examples
    --------
    >>> [name for name, option in options_of().items() if option.kept]
    ['na_values', 'only_na_values', 'zero_based', 'encoding', 'header', 'quote', 'rgb', 'resize']
    """
    return {each.name: each.metadata["option"] for each in fields(cls)}


def _refusal(owner: str, name: str, rule: str, got: Any) -> VotronError:
    return VotronError(Parameter(name, of=owner), f" must {rule}. Got {got!r} instead.")
