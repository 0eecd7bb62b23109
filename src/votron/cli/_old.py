"""The command line: ``votron train``, ``predict``, ``evaluate`` and the rest; ``votron --help`` lists them.

Everything heavy is imported by the command that needs it, so that ``votron --help`` is quick. Exit status: 0 where all
went well, 1 where a command could not do what it was asked, 2 where it was asked wrongly, 130 after Ctrl-C. Whatever
goes wrong is one sentence on standard error; a traceback appears only for an error in Votron itself, and only where the
environment variable ``VOTRON_DEBUG`` is set.

Each command is the module of its name (``_train``, ``_predict``, ...): ``add`` adds its options to a parser, ``run``
does the work. Beneath them are ``_models`` (model files, and data for a model), ``_reading`` (data), ``_options``,
``_output`` and ``_parser``. Commands do what users of Python can do: of the rest of Votron they import public modules,
and beside these only the leaves that all of Votron shares, such as ``votron._util.text``; a test lists them.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Sequence

from votron import __version__
from votron.cli._output import discard_stdout, escaping_stdout, printable, warnings_as_sentences
from votron.cli._parser import Parser, UsageError, epilog, message_of, with_dashes
from votron.errors import BoundViolatedError, VotronError

__all__ = ["main"]

COMMANDS = {
    "train": "train a model on a data file",
    "evaluate": "measure a model's error on labelled rows, with a confidence interval",
    "report": "write what a model does on labelled rows as one page to read, print and send",
    "certify": "compute what the theorems guarantee about a model",
    "tune": "choose parameters by cross-validation",
    "compare": "compare estimators on the same folds, and say which differences are noise",
    "data": "list, fetch, convert and describe data, and find labels that may be wrong",
    "reproduce": "reproduce the papers' tables and figures",
}

EXAMPLES = [
    ("votron train digits -o digits.votron", "train on scikit-learn's digits"),
    ("votron evaluate digits.votron digits --part test", "measure the error on other rows"),
    ("votron train days.csv --label Play -o days.votron", "train on a table"),
    ("votron predict days.votron days.csv -o labels.csv", "label its rows"),
]

ABOUT_DATA = (
    "Input X contains",
    "Input y contains",
    "X has ",
    "Found array with",
    "Found unknown categories",
    "could not convert string to float",
)
"""How scikit-learn begins to speak of data that it does not take."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        The exit status.

    Examples
    --------
    >>> main(["reproduce", "--degrees", "0"])
    2
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    prog = " ".join(filter(None, ["votron", command_in(arguments)]))
    try:
        with warnings_as_sentences(prog), escaping_stdout():
            status = _run(with_dashes(arguments), shlex.join(["votron", *arguments]))
            sys.stdout.flush()
        return status
    except SystemExit as stop:  # argparse has printed a help text or the version
        return int(stop.code or 0)
    except BrokenPipeError:  # nobody reads on, as after `votron ... | head`
        discard_stdout()
        return 1
    except BaseException as error:
        return _explain_failure(prog, error)


def _run(arguments: list[str], command: str) -> int:
    parser = build(arguments)
    args = parser.parse_args(arguments)
    if args.command is None:
        parser.print_help()
        return 0
    with contextlib.suppress(ValueError):  # only the main thread can; SIGTERM ends workers as well, as Ctrl-C does
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    args.command_line = command
    if getattr(args, "remark", None) and not getattr(args, "quiet", False):
        _say(f"votron: {args.remark}", 0)
    status: int = args.run(args)
    return status


def _explain_failure(prog: str, error: BaseException) -> int:
    """Say in a sentence what went wrong; return the exit status."""
    if isinstance(error, UsageError):
        return _say(f"{prog}: {message_of(error)}", 2)
    if _was_interrupted(error):
        kept = "What is finished is kept; the same command goes on from there."
        line = "\n" if sys.stderr.isatty() else ""  # a terminal shows ^C, and perhaps a bar
        return _say(f"{line}{prog}: Stopped. {kept if prog.endswith(' reproduce') else 'No file was written.'}", 130)
    if isinstance(error, MemoryError):
        return _say(f"{prog}: There is not enough memory{_remedy(prog)}.", 1)
    if isinstance(error, OSError):
        return _say(f"{prog}: {_os_sentence(error)}", 1)
    if isinstance(error, VotronError) and not isinstance(error, BoundViolatedError):
        return _say(f"{prog}: {message_of(error)}", 1)
    if isinstance(error, ValueError) and str(error).startswith(ABOUT_DATA):
        return _say(f"{prog}: {' '.join(str(error).split())}", 1)
    return _unexpected(prog, error)


def _was_interrupted(error: BaseException | None) -> bool:
    """Tell whether Ctrl-C is at the bottom of it: it may come at any line of a library, whose tidying up then fails."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _unexpected(prog: str, error: BaseException) -> int:
    if os.environ.get("VOTRON_DEBUG"):
        traceback.print_exception(error)
    words = " ".join(str(error).split())
    hint = "" if os.environ.get("VOTRON_DEBUG") else "; VOTRON_DEBUG=1 shows where"
    return _say(f"{prog}: This is an error in Votron, please report it{hint}. {type(error).__name__}: {words}", 1)


def _say(text: str, status: int) -> int:
    print(printable(text, keep="\n"), file=sys.stderr)
    return status


def _os_sentence(error: OSError) -> str:
    """Return which file it is about, and what the system says of it."""
    where = f"{os.fspath(error.filename)!s}: " if isinstance(error.filename, str | os.PathLike) else ""
    return f"{where}{error.strerror or error}."


def _remedy(prog: str) -> str:
    if prog.endswith(" reproduce"):
        return ": try --jobs 1"
    return ": try --stream" if prog.endswith(" train") else ""


# -- parsers ----------------------------------------------------------------------------------------------------------


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
    return _make_parser({command_in(arguments)}, arguments)


def build_all(arguments: Sequence[str] = ()) -> Parser:
    """Return the parser with all commands."""
    return _make_parser(set(COMMANDS), arguments)


def _make_parser(wanted: set[str | None], arguments: Sequence[str]) -> Parser:
    parser = Parser(
        prog="votron",
        usage="votron COMMAND [options]",
        description="Large-margin classification with perceptrons.",
        epilog=epilog(EXAMPLES) + "\n\nRun votron COMMAND --help for the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"votron {__version__}", help="show the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)
    for name, words in COMMANDS.items():
        command = commands.add_parser(name, help=words, prog=f"votron {name}")
        if name in wanted:
            importlib.import_module(f"votron.cli._{name}").add(command, arguments)
    return parser
