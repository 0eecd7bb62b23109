"""The command line: `votron --help` lists the commands, each of which is imported when it is run."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Sequence

import click

from votron import __version__
from votron.cli.output import printable, warnings_as_sentences
from votron.errors import BoundViolatedError, VotronError

__all__ = ["main"]

COMMANDS = {
    "train": "Train a model on a data file.",
    "predict": "Label new rows with a model.",
    "evaluate": "Measure a model's error on labelled rows.",
    "report": "Write a page on what a model does on labelled rows.",
    "certify": "Compute what the theorems guarantee about a model.",
    "explain": "Show which examples and features made the label of a row.",
    "inspect": "Show what is in a model file.",
    "tune": "Choose parameters by cross-validation.",
    "compare": "Compare estimators on the same folds.",
    "data": "Fetch, convert and describe data; find labels that may be wrong.",
    "export": "Write a model as ONNX, or as a smaller model file.",
    "reproduce": "Reproduce the papers' tables and figures.",
    "play": "Play the perceptron game and look into a training run, in the browser.",
}

EXAMPLES = (
    "votron train days.csv --label Play -o days.votron    # train a model",
    "votron evaluate days.votron more-days.csv            # measure its error",
    "votron predict days.votron tomorrow.csv -o out.csv   # label new rows",
)

ABOUT_DATA = ("Input X contains", "X has ", "Found array with", "Found unknown categories", "could not convert string")
"""The beginnings of scikit-learn's errors about data."""


class Commands(click.Group):
    """The commands, each imported when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"votron.cli.{'inspect' if name == 'export' else name}")
        found: click.Command = getattr(module, name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in EXAMPLES))


_SETTINGS = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,
    "token_normalize_func": lambda name: name.replace("_", "-"),
}


@click.group(cls=Commands, invoke_without_command=True, context_settings=_SETTINGS)
@click.version_option(__version__, message="votron %(version)s", help="Show the version.")
@click.pass_context
def votron(ctx: click.Context) -> None:
    """Large-margin classification with perceptrons.

    Run `votron COMMAND --help` for the options of a command.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command with these arguments, or with those of the process.

    Returns
    -------
    int
        The exit status: 0 on success, 1 if the command failed, 2 if it was used wrongly, 130 after Ctrl-C.

    Examples
    --------
    >>> from votron.cli import main
    >>> main(["--version"])
    votron 0.1.0
    0
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    at = next((i for i, each in enumerate(arguments) if each in COMMANDS), len(arguments))
    n_words = 2 if arguments[at : at + 1] == ["data"] else 1
    prog = " ".join(["votron", *arguments[at : at + n_words]])
    with contextlib.suppress(ValueError):  # only the main thread can; SIGTERM ends workers as well, as Ctrl-C does
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        with warnings_as_sentences(prog):
            if isinstance(sys.stdout, io.TextIOWrapper):  # what its encoding lacks is escaped
                sys.stdout.reconfigure(errors="backslashreplace")
            obj = shlex.join(["votron", *arguments])
            status = votron.main(arguments, prog_name="votron", standalone_mode=False, obj=obj)
            sys.stdout.flush()
        return int(status or 0)
    except (BrokenPipeError, SystemExit):  # nobody reads on, as after `votron ... | head`
        with contextlib.suppress(OSError, ValueError):  # the interpreter must not fail on the rest when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except BaseException as error:
        message, status = _failure(error)
        print(printable(f"{prog}: {message}"), file=sys.stderr)
        return status


def _failure(error: BaseException) -> tuple[str, int]:
    message = " ".join(str(error).split())
    if isinstance(error, click.ClickException):
        message = " ".join(error.format_message().split())
        if isinstance(error, click.BadParameter) and error.param is not None:
            from votron.cli.command import name_of

            missing = isinstance(error, click.MissingParameter)
            message = name_of(error.param) + (" must be given" if missing else f": {error.message}")
        return message if message.endswith((".", "?", ")")) else f"{message}.", error.exit_code
    if _was_interrupted(error):
        return "Stopped. No file was written.", 130
    if isinstance(error, MemoryError):
        return "There is not enough memory; `votron train --stream` reads data in batches.", 1
    if isinstance(error, OSError):
        where = f"{os.fspath(error.filename)!s}: " if isinstance(error.filename, str | os.PathLike) else ""
        return f"{where}{error.strerror or error}.", 1
    about_data = isinstance(error, ValueError) and message.startswith(ABOUT_DATA)
    if about_data or (isinstance(error, VotronError) and not isinstance(error, BoundViolatedError)):
        return message, 1
    if os.environ.get("VOTRON_DEBUG"):
        traceback.print_exception(error)
    where = "This is an error in Votron, please report it; VOTRON_DEBUG=1 shows where."
    return f"{where} {type(error).__name__}: {message}", 1


def _was_interrupted(error: BaseException | None) -> bool:
    """Tell whether Ctrl-C is behind an error: it may come at any line of a library, whose clean-up then fails."""
    while error is not None and not isinstance(error, KeyboardInterrupt | click.Abort):
        error = error.__context__
    return error is not None
