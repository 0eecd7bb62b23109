"""The commands, and the parser of one of them, or of all."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence

from votron import __version__
from votron.cli._parser import Parser, epilog

COMMANDS = {
    "train": "learn from a file of data, and write a model",
    "predict": "label rows with a model",
    "evaluate": "the error of a model on labelled rows, with its confidence interval",
    "certify": "what the theorems guarantee of a model",
    "inspect": "what is in a model file",
    "tune": "choose degree, gamma, margin, epochs and rule by cross-validation",
    "data": "list, fetch, convert and describe data",
    "export": "write a model as ONNX, or without what its rule does not need",
    "reproduce": "the papers' tables and figures, ours beside theirs",
    "completion": "print the completions for a shell",
}

EXAMPLES = [
    ("votron train digits -o digits.votron", "learn from scikit-learn's digits"),
    ("votron evaluate digits.votron digits --part test", "error on others, with its interval"),
    ("votron train days.csv --label Play -o days.votron", "learn from a table"),
    ("votron predict days.votron days.csv -o labels.csv", "label its rows"),
]


def command_in(arguments: Sequence[str]) -> str | None:
    """Return the command that is asked for, if there is one.

    Examples
    --------
    >>> command_in(["train", "--help"])
    'train'
    >>> command_in(["--version"])
    """
    name = next((argument for argument in arguments if not argument.startswith("-")), None)
    return name if name in COMMANDS else None


def build(arguments: Sequence[str]) -> Parser:
    """Return the parser for these arguments: of other commands it has but the names, whose options take a second."""
    return _parser({command_in(arguments)}, arguments)


def build_all(arguments: Sequence[str] = ()) -> Parser:
    """Return the parser with all commands."""
    return _parser(set(COMMANDS), arguments)


def _parser(wanted: set[str | None], arguments: Sequence[str]) -> Parser:
    made = Parser(
        prog="votron",
        usage="votron COMMAND [options]",
        description="Large-margin classification with perceptrons.",
        epilog=epilog(EXAMPLES) + "\n\nvotron COMMAND --help tells more of a command.",
    )
    made.add_argument("--version", action="version", version=f"votron {__version__}", help="print the version")
    commands = made.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)
    for name, words in COMMANDS.items():
        _add(commands, name, words, name in wanted, arguments)
    return made


def _add(
    commands: argparse._SubParsersAction[Parser], name: str, words: str, wanted: bool, arguments: Sequence[str]
) -> None:
    made = commands.add_parser(name, help=words, prog=f"votron {name}")
    if wanted:
        importlib.import_module(f"votron.cli._{name}").add(made, arguments)
