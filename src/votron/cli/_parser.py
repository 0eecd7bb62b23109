"""Parsers that answer in sentences, and help texts that look the same in every version of Python."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from votron._sentences import joined
from votron.cli._wording import did_you_mean
from votron.errors import VotronError

FILE = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}
"""What an argument's attribute ``complete`` is where a shell shall complete names of files; shtab's own constant."""

_WIDEST = 100
_NEGATIVE = re.compile(r"-(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:,.*)?$|-inf$")
"""A number below 0, or several with commas between them: a value, and no option."""
_ARGUMENT = re.compile(r"argument (?P<name>[^:]+): (?P<words>.*)", re.DOTALL)


class UsageError(VotronError):
    """What was typed cannot be meant."""


def normalised(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with names of options as they are listed: ``--memory_limit`` is ``--memory-limit``.

    Examples
    --------
    >>> normalised(["--memory_limit=1_000", "a_b", "--", "--c_d"])
    ['--memory-limit=1_000', 'a_b', '--', '--c_d']
    """
    found = list(arguments)
    last = found.index("--") if "--" in found else len(found)
    for i, argument in enumerate(found[:last]):
        if argument.startswith("--"):
            name, equals, value = argument.partition("=")
            found[i] = name.replace("_", "-") + equals + value
    return found


def epilog(examples: Iterable[tuple[str, str]]) -> str:
    """Return the examples that end a help text: commands, each with what it does beside it, or above if that is long.

    Examples
    --------
    >>> print(epilog([("votron data list", "what there is")]))
    examples:
      votron data list    what there is
    """
    pairs = list(examples)
    width = max(len(command) for command, _ in pairs)
    if all(width + len(words) + 6 < 80 for _, words in pairs):
        return "\n".join(["examples:", *(f"  {command:<{width}}    {words}" for command, words in pairs)])
    return "\n".join(["examples:", *(f"  # {words}\n  {command}" for command, words in pairs)])


class Help(argparse.HelpFormatter):
    """Help texts no wider than 100 columns, with the value of an option named once."""

    def __init__(self, prog: str) -> None:
        width = min(shutil.get_terminal_size().columns - 2, _WIDEST - 2)
        super().__init__(prog, max_help_position=26, width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("examples:"):  # commands are to be copied, so their lines stay as they are
            return text
        return super()._fill_text(text, width, indent)

    def _format_action(self, action: argparse.Action) -> str:
        if isinstance(action, argparse._SubParsersAction):  # the commands alone, without a line for their name
            return "".join(map(self._format_action, action._get_subactions()))
        return super()._format_action(action)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}".rstrip()


class Parser(argparse.ArgumentParser):
    """A parser whose errors are `UsageError`, with a sentence."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"formatter_class": Help, "allow_abbrev": False, "add_help": False, **settings})
        self.add_argument("-h", "--help", action="help", help="print this text")
        self._positionals.title = "arguments"
        self._negative_number_matcher = _NEGATIVE  # before Python 3.14 argparse takes -1e-3 for an option
        self.explain_unknown: Callable[[str], str | None] = lambda option: None
        """What to say of an option that the parser does not have, if it is known elsewhere."""

    def describe(self, usage: str, description: str, examples: Iterable[tuple[str, str]]) -> None:
        """Set what stands above and below the options."""
        self.usage, self.description, self.epilog = usage, description, epilog(examples)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse has to say."""
        raise UsageError(_sentence(message))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and refuse what is not known here: each command answers for its own options."""
        if args is not None and self._subparsers is None:
            self._refuse_unknown(args)  # before anything that is missing
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            raise UsageError(self._unknown(unknown))
        return found, unknown

    def _refuse_unknown(self, args: Sequence[str]) -> None:
        for argument in args:
            if argument == "--":
                break
            if argument.startswith("--") and argument.partition("=")[0] not in self._option_string_actions:
                raise UsageError(self._unknown([argument]))

    def _unknown(self, unknown: list[str]) -> str:
        option = unknown[0].partition("=")[0]
        if not option.startswith("-"):
            return f"There is one argument too many. Got {unknown[0]!r} beyond those that {self.prog} takes."
        known = self.explain_unknown(option)
        if known:
            return known
        names = [name for action in self._actions for name in action.option_strings]
        meant = did_you_mean(option, names) or f" {self.prog} --help lists those there are."
        return f"There is no option {option}.{meant}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        if action.option_strings:
            raise argparse.ArgumentError(action, f"must be one of {', '.join(choices)}. Got {value!r} instead.")
        near = difflib.get_close_matches(str(value), choices, n=1)
        meant = f"did you mean {near[0]}?" if near else f"it must be one of {', '.join(choices)}."
        raise UsageError(f"{value!r} is an invalid choice of {(action.metavar or action.dest)!s}: {meant}")


def file_argument(parser: Any, *names: str, **settings: Any) -> argparse.Action:
    """Add an argument that is the name of a file, which shells complete."""
    action: argparse.Action = parser.add_argument(*names, **settings)
    action.complete = FILE  # type: ignore[attr-defined]  # where shtab looks for it
    return action


def _sentence(message: str) -> str:
    """Return a message of argparse as a sentence.

    Examples
    --------
    >>> _sentence("argument --degree: expected one argument")
    '--degree needs a value.'
    >>> _sentence("argument --folds: must be an int. Got 'x' instead.")
    "--folds must be an int. Got 'x' instead."
    >>> _sentence("the following arguments are required: DATA, -o/--output")
    'DATA and -o/--output must be given.'
    """
    required = "the following arguments are required: "
    if message.startswith(required):
        names = message[len(required) :].split(", ")
        return f"{joined(names)} must be given."
    match = _ARGUMENT.fullmatch(message)
    if match:
        name, words = match["name"].replace("/", ", "), match["words"]
        if words.startswith("expected"):
            many = "values" if "at least" in words else "a value"
            message = f"{name} needs {many}"
        elif words.startswith("not allowed with argument"):
            message = f"{name} and {words.rpartition(' ')[2]} exclude each other"
        elif words.startswith("must "):
            message = f"{name} {words}"
        else:
            message = f"{name}: {words}"
    return message if message.endswith((".", "?")) else f"{message}."


# -- values of options ------------------------------------------------------------------------------------------------


def whole(least: int = 1) -> Callable[[str], int]:
    """Return the type of options that count something."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be an int in the range [{least}, inf). Got {text!r} instead.")
        return int(text)

    return read


def positive(text: str) -> float:
    """Return the value of an option that is a positive number."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number in the range (0, inf). Got {text!r} instead.")
    return value


def share(text: str) -> float:
    """Return the value of an option that is a part of one."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be a number in the range (0, 1). Got {text!r} instead.")
    return value


def size(text: str) -> int:
    """Return the value of an option that is a number of bytes, such as 2GB."""
    from votron._resources import parse_memory_limit

    try:
        if not text.strip()[:1].isdecimal():
            raise VotronError
        return parse_memory_limit(int(text) if text.isdecimal() else text)
    except VotronError:
        raise argparse.ArgumentTypeError(f"must be a size such as 500MB or 2GB. Got {text!r} instead.") from None


def shown_path(path: str | os.PathLike[str]) -> str:
    """Return what to call a file, for people."""
    return "standard input" if os.fspath(path) == "-" else os.fspath(path)
