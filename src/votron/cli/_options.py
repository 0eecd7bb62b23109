"""Options that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from votron.cli._parser import Parser, file_argument, size, whole
from votron.data.formats import FORMATS, NUMERIC, STRATEGIES, stands_between

MISSING = ("refuse", "drop", *STRATEGIES)
DATA = "a file (CSV, TSV, Parquet, Arrow, svmlight, IDX, .npy, .npz), a folder of images, digits, mnist, fashion, or -"


def add_data(parser: Any, words: str = DATA) -> None:
    """Add the argument that is the data."""
    file_argument(parser, "data", metavar="DATA", help=words)


def add_model(parser: Any) -> None:
    """Add the argument that is a model file."""
    file_argument(parser, "model", metavar="MODEL", help="a model file")


def add_output(parser: Any, words: str, *, required: bool = False, default: str | None = None) -> None:
    """Add -o."""
    file_argument(parser, "-o", "--output", metavar="FILE", required=required, default=default, help=words)


def add_common(parser: Any, *, json: str = "print one JSON document instead of text") -> None:
    """Add what every command has."""
    parser.add_argument("--json", action="store_true", help=json)
    parser.add_argument("--quiet", action="store_true", help="print no progress and no remarks on standard error")


def add_label(parser: Any, words: str) -> argparse.Action:
    """Add --label; return it."""
    made: argparse.Action = parser.add_argument("--label", metavar="COL", help=words)
    return made


def add_reading(parser: Parser, *, missing: bool = True, for_model: bool = False) -> argparse._ArgumentGroup:
    """Add how data are read, ``for_model`` as in training where nothing is said; return the group of options."""
    before = "default: as in training" if for_model else ""
    group = parser.add_argument_group("reading data")
    add = group.add_argument
    add(
        "--format",
        choices=FORMATS,
        metavar="NAME",
        help=f"{', '.join(FORMATS)} (default: judged by the name and the first bytes)",
    )
    add("--drop", metavar="COL", action="append", default=[], help="a column to leave out; may be given several times")
    if missing:
        add(
            "--missing",
            choices=MISSING,
            default="refuse",
            metavar="HOW",
            help="where values are missing: refuse, drop the rows, or fill in the mean, median or most-frequent value "
            "(default: refuse)",
        )
    add(
        "--na-values",
        metavar="TEXT",
        action="append",
        help="a text that stands for a missing value; may be given several times "
        f"({before or 'default: empty, NA, NaN, null, ? and the like'})",
    )
    add("--part", choices=("train", "test"), help="which part of digits, mnist or fashion to read (default: train)")
    columns = "columns are called c0, c1, ..." + (f" ({before})" if before else "")
    add(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether the first line of CSV names the columns (default: it has to, and is refused if it looks like "
        f"data); without such a line {columns}",
    )
    add("--delimiter", type=_character, metavar="C", help="the character between the fields of CSV (default: detected)")
    fits = before or "default: detected"
    add("--quote", type=_quote, metavar="C", help=f"the character around fields of CSV; '' for none ({fits})")
    if not for_model:  # which knows how many it takes
        add(
            "--features",
            type=whole(),
            metavar="N",
            help="number of features of svmlight data (default: as many as occur)",
        )
    add(
        "--zero-based",
        action="store_const",
        const=True,
        help=f"svmlight data number their features from 0 ({before or 'default: if there is a feature 0'})",
    )
    add("--colour", action="store_true", help="read images in colour: red, green and blue instead of grey")
    add("--resize", type=_height_and_width, metavar="HxW", help="resize images to this height and width")
    add(
        "--max-expanded",
        type=size,
        metavar="SIZE",
        help="limit on what compressed input expands to, such as 10GB (default: 4GiB); free memory is another limit",
    )
    return group


def add_encoding(parser: Parser) -> argparse._ArgumentGroup:
    """Add how tables become vectors; return the group of options."""
    group = parser.add_argument_group("tables")
    add = group.add_argument
    add(
        "--numeric",
        choices=NUMERIC,
        metavar="HOW",
        help="how to scale numbers: keep (not at all), standard (to standard deviation 1), minmax (to 0..1) or maxabs "
        "(by the largest) (default: standard; for winnow keep)",
    )
    add_discrete(group)
    add(
        "--probabilities",
        metavar="COL",
        action="append",
        default=[],
        help="a column of numbers from 0 to 1, kept as they are",
    )
    add("--text", metavar="COL", action="append", default=[], help="a column of text, split into words")
    add(
        "--text-features",
        choices=("hashing", "tfidf"),
        help="how words become features: hashing or tfidf (default: hashing; for naive-bayes tfidf)",
    )
    return group


def add_discrete(group: argparse._ArgumentGroup) -> None:
    """Add which columns hold names."""
    group.add_argument(
        "--discrete",
        metavar="COL",
        action="append",
        default=[],
        help="a column whose numbers are names, such as postcodes",
    )


def as_typed(actions: Iterable[argparse.Action], args: argparse.Namespace) -> list[str]:
    """Return the options that were given, as one would type them.

    Examples
    --------
    >>> from votron.cli._parser import Parser
    >>> parser = Parser()
    >>> group = add_reading(parser)
    >>> args = parser.parse_args(["--delimiter", "tab", "--quote", "", "--resize", "8x6", "--drop", "a", "--drop=-b"])
    >>> as_typed(group._group_actions, args)
    ['--drop', 'a', '--drop=-b', '--delimiter', 'tab', '--quote', '', '--resize', '8x6']
    """
    typed: list[str] = []
    for action in actions:
        found = getattr(args, action.dest)
        if found == action.default:
            continue
        if action.nargs == 0:  # the last name of --header and --no-header is the one that says no
            typed.append(action.option_strings[-1 if found is False else 0])
            continue
        for value in found if isinstance(found, list) else [found]:
            typed += _pair(action.option_strings[-1], _shown(value))
    return typed


def _pair(option: str, text: str) -> list[str]:
    return [f"{option}={text}"] if text.startswith("-") else [option, text]


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    return "tab" if value == "\t" else str(value)


def _character(text: str) -> str:
    """Return the value of --delimiter, where a tab may be written as one types it."""
    found = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if not stands_between(found) or found in "\"'":
        raise argparse.ArgumentTypeError(f"must be one character such as ; or tab. Got {text!r} instead.")
    return found


def _quote(text: str) -> str:
    if text and not stands_between(text):
        raise argparse.ArgumentTypeError(f"must be one character, or '' for none. Got {text!r} instead.")
    return text


def _height_and_width(text: str) -> tuple[int, int]:
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(f"must be height and width, such as 28x28. Got {text!r} instead.")
    return int(parts[0]), int(parts[1])
