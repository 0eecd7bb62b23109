"""Options that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

from votron.cli._parser import Parser, file_argument, size, whole
from votron.data.formats import Format, choosable_formats, format_named
from votron.data.options import OLD_NAMES, Command, options_of, stands_between
from votron.data.vocabulary import NUMERIC, STRATEGIES

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
    group = parser.add_argument_group("reading data")
    for name, option in options_of().items():
        command = option.command
        if command is None or (command.main_only and for_model) or (name == "missing" and not missing):
            continue
        words = command.words(kept=for_model and option.kept).replace("{formats}", ", ".join(choosable_formats()))
        group.add_argument(command.flag, help=words, **_AS_TYPED[command.takes], **_metavar(command))
        for old in (old for old, new in OLD_NAMES.items() if new == name):
            _add_old_flag(parser, old, command)
    return group


def _add_old_flag(parser: Parser, old: str, command: Command) -> None:
    hidden = argparse.SUPPRESS
    parser.add_argument(f"--{old}", action=_OldFlag, const=command, nargs=0, default=hidden, help=hidden)


class _OldFlag(argparse.Action):
    """The switch that an option was called, which works on, and is remarked upon."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Set what the new name sets."""
        setattr(namespace, self.const.dest, True)
        namespace.remark = f"{option_string} is now called {self.const.flag}."


class FormatNames(list[str]):
    """Names of formats to choose from: what other packages bring is among them once it is asked for."""

    def __init__(self, names: Iterable[str], fits: Callable[[Format], bool]) -> None:
        super().__init__(names)
        self._fits = fits

    def __contains__(self, name: object) -> bool:
        found = format_named(name) if isinstance(name, str) else None
        return found is not None and self._fits(found)


def _metavar(command: Command) -> dict[str, Any]:
    return {} if command.metavar is None else {"metavar": command.metavar}


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


_AS_TYPED: dict[str, dict[str, Any]] = {
    "format": {"choices": FormatNames(choosable_formats(), lambda format: format.choosable)},
    "texts": {"action": "append"},
    "filling": {"choices": MISSING, "default": "refuse"},
    "part": {"choices": ("train", "test")},
    "yes": {"action": "store_const", "const": True},
    "yes or no": {"action": argparse.BooleanOptionalAction, "default": None},
    "count": {"type": whole()},
    "size": {"type": size},
    "character": {"type": _character},
    "quote": {"type": _quote},
    "height and width": {"type": _height_and_width},
}
"""What argparse is told of an option, by what comes after it."""
