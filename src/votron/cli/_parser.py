"""What is typed: parsers that answer in sentences, values of options, and errors in the words of options.

Help texts look the same in every version of Python.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from votron._util.text import did_you_mean, joined, nearest
from votron.errors import Parameter, Phrase, VotronError

FILE = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}
"""What an argument's attribute ``complete`` is where a shell shall complete names of files; shtab's own constant."""

_WIDEST = 100
_NEGATIVE = re.compile(r"-(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:,.*)?$|-inf$")
"""A number below 0, or several with commas between them: a value, and no option."""
_ARGUMENT = re.compile(r"argument (?P<name>[^:]+): (?P<words>.*)", re.DOTALL)
_OTHER_NAMES = {"as_text": "discrete", "max_bytes": "max_expanded", "n_features": "features"}
"""Parameters whose options are called otherwise."""
_PHRASES = {
    "batches": "--stream",
    "cell": "in row {row}, feature {feature} (the first is 1)",
    "certified": "models of --estimator voted, averaged and adatron",
    "classes": "",
    "data": "",
    "folder of tables": "name one of its files, join them into one, or train on all of them with --dask local",
    "frame": "the table",
    "held-out data": "train with --rule {rule}",
    "in batches": "train from it with --stream",
    "in parts": "with --stream",
    "rows": "in {rows}",
    "shared": "--probabilities and --discrete",
    "training data": "DATA must be what the model was trained on",
    "weights in parts": "give weights by label, such as yes=5,no=1, with --stream",
}
"""What the command line says instead of words about functions, with what it needs of their facts."""


_NEARLY = 0.75
"""How alike two names of options must be for one to be taken for the other."""
_CALLED_ELSEWHERE = {
    "--c": ("--C",),
    "--class": ("--label",),
    "--class-weights": ("--class-weight",),
    "--cores": ("--n-jobs",),
    "--cv": ("--folds",),
    "--iterations": ("--epochs",),
    "--jobs": ("--n-jobs",),
    "--max-iter": ("--epochs",),
    "--model": ("--estimator",),
    "--na": ("--na-values",),
    "--out": ("--output",),
    "--proba": ("--probabilities", "--scores"),
    "--scale": ("--numeric",),
    "--seed": ("--random-state",),
    "--sep": ("--delimiter",),
    "--separator": ("--delimiter",),
    "--target": ("--label",),
    "--threads": ("--n-jobs",),
    "--weights": ("--class-weight", "--sample-weight"),
    "--workers": ("--n-jobs",),
    "-y": ("--label",),
}
"""Names that other programs have for these options."""


class UsageError(VotronError):
    """What was typed cannot be meant."""


def with_dashes(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with names of options as they are listed: ``--memory_limit`` is ``--memory-limit``.

    Examples
    --------
    >>> with_dashes(["--memory_limit=1_000", "a_b", "--", "--c_d"])
    ['--memory-limit=1_000', 'a_b', '--', '--c_d']
    """
    found = list(arguments)
    last = found.index("--") if "--" in found else len(found)
    for i, argument in enumerate(found[:last]):
        if argument.startswith("--"):
            name, equals, value = argument.partition("=")
            found[i] = name.replace("_", "-") + equals + value
    return found


def values_typed(option: str, arguments: Sequence[str]) -> list[str]:
    """Return what stands after an option, before anything is parsed.

    Examples
    --------
    >>> values_typed("--rule", ["predict", "--rule=last", "--rule", "vote", "--", "--rule", "x"])
    ['last', 'vote']
    """
    before = list(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    pairs = [(*argument.partition("="), after) for argument, after in zip(before, [*before[1:], ""], strict=True)]
    return [value if equals else after for name, equals, value, after in pairs if name == option]


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
    """Help texts no wider than 100 columns, with the value of an option named once, and what it may name listed."""

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

    def _expand_help(self, action: argparse.Action) -> str:
        entries: dict[str, str] = getattr(action, "entries", {})
        wide = max(map(len, entries), default=0)
        return "\n".join([super()._expand_help(action), *(f"{name:<{wide}}  {e}" for name, e in entries.items())])

    def _split_lines(self, text: str, width: int) -> list[str]:
        words, *entries = text.split("\n")
        lines = super()._split_lines(words, width)
        for entry in entries:
            hanging = " " * (2 + len(entry) - len(entry.partition("  ")[2].lstrip()))
            lines += textwrap.wrap(entry, width, initial_indent="  ", subsequent_indent=hanging)
        return lines

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}".rstrip()


class Parser(argparse.ArgumentParser):
    """A parser whose errors are `UsageError`, with a sentence."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"formatter_class": Help, "allow_abbrev": False, "add_help": False, **settings})
        self.add_argument("-h", "--help", action="help", help="show this help")
        self._positionals.title = "arguments"
        self._negative_number_matcher = _NEGATIVE  # before Python 3.14 argparse takes -1e-3 for an option
        self.explain_unknown: Callable[[str], str | None] = lambda option: None
        """What to say of an option that the parser does not have, if it is known elsewhere."""

    def describe(self, usage: str, description: str, examples: Iterable[tuple[str, str]]) -> None:
        """Set what stands above and below the options."""
        self.usage, self.description, self.epilog = usage, description, epilog(examples)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse has to say."""
        raise UsageError(_argparse_message(message))

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
        meant = _option_meant(option, names) or f" {self.prog} --help lists those there are."
        return f"There is no option {option}.{meant}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        if action.option_strings:
            meant = did_you_mean(value, choices, quoted=False)
            raise argparse.ArgumentError(action, f"must be one of {', '.join(choices)}. Got {value!r} instead.{meant}")
        near = nearest(value, choices)
        meant = f"it must be one of {', '.join(choices)}." if near is None else f"did you mean {near}?"
        raise UsageError(f"{value!r} is an invalid choice of {(action.metavar or action.dest)!s}: {meant}")


def file_argument(parser: Any, *names: str, **settings: Any) -> argparse.Action:
    """Add an argument that is the name of a file, which shells complete."""
    action: argparse.Action = parser.add_argument(*names, **settings)
    action.complete = FILE  # type: ignore[attr-defined]  # where shtab looks for it
    return action


def list_entries(action: argparse.Action, things: Mapping[str, Any]) -> None:
    """List, below the help text of an option, what it may name, in the words of each."""
    action.entries = {name: thing.words for name, thing in things.items()}  # type: ignore[attr-defined]  # for Help


def _argparse_message(message: str) -> str:
    """Return a message of argparse as a sentence.

    Examples
    --------
    >>> _argparse_message("argument --degree: expected one argument")
    '--degree needs a value.'
    >>> _argparse_message("argument --folds: must be an int. Got 'x' instead.")
    "--folds must be an int. Got 'x' instead."
    >>> _argparse_message("the following arguments are required: DATA, -o/--output")
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


def whole_number(least: int = 1) -> Callable[[str], int]:
    """Return the type of options that count something."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be an int in the range [{least}, inf). Got {text!r} instead.")
        return int(text)

    return read


def number_below(most: float) -> Callable[[str], float]:
    """Return the type of options that are a number between 0 and another."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 < value < most:
            raise argparse.ArgumentTypeError(f"must be a number in the range (0, {most:g}). Got {text!r} instead.")
        return value

    return read


positive, fraction = number_below(float("inf")), number_below(1)


def size(text: str) -> int:
    """Return the value of an option that is a number of bytes, such as 2GB."""
    from votron._util.resources import parse_memory_limit

    try:
        if not text.strip()[:1].isdecimal():
            raise VotronError
        return parse_memory_limit(int(text) if text.isdecimal() else text)
    except VotronError:
        raise argparse.ArgumentTypeError(f"must be a size such as 500MB or 2GB. Got {text!r} instead.") from None


def delimiter(text: str) -> str:
    """Return the value of --delimiter, where a tab may be written as one types it."""
    from votron.data.options import is_separator

    found = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if not is_separator(found) or found in "\"'":
        raise argparse.ArgumentTypeError(f"must be one character such as ; or tab. Got {text!r} instead.")
    return found


def quote(text: str) -> str:
    """Return the value of --quote."""
    from votron.data.options import is_separator

    if text and not is_separator(text):
        raise argparse.ArgumentTypeError(f"must be one character, or '' for none. Got {text!r} instead.")
    return text


def height_and_width(text: str) -> tuple[int, int]:
    """Return the value of --resize."""
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(f"must be height and width, such as 28x28. Got {text!r} instead.")
    return int(parts[0]), int(parts[1])


# -- errors in the words of options -----------------------------------------------------------------------------------


Words = str | Callable[[Any], str]
"""What replaces a parameter or a phrase: words, or what makes them of it."""


def message_of(error: VotronError, words: Mapping[str, Words] | None = None) -> str:
    """Return what an error says in the words of options; ``words`` replace those of some parameters and phrases.

    Examples
    --------
    >>> error = VotronError("The column 'label' is there: leave ", Parameter("label"), " out.")
    >>> message_of(error), message_of(error, {"label": "--target"})
    ("The column 'label' is there: leave --label out.", "The column 'label' is there: leave --target out.")
    """
    other = words or {}

    def spell(reference: Parameter | Phrase) -> str | None:
        if reference.name in other:
            own = other[reference.name]
            return own if isinstance(own, str) else own(reference)
        return _as_option(reference) if isinstance(reference, Parameter) else _phrase(reference)

    return error.worded(spell)


@contextmanager
def rewording(words: Mapping[str, Words]) -> Iterator[None]:
    """Let errors say some things otherwise than other commands do."""
    try:
        yield
    except VotronError as error:
        raise type(error)(message_of(error, words)) from None


def asked_by(option: str, names: Collection[str]) -> dict[str, Words]:
    """Return what errors say of columns that an option asks for, and not the model; see `rewording`."""

    def words(phrase: Phrase) -> str:
        return f", which {option} asks for" if phrase.facts["column"] in names else str(phrase)

    return {"as in training": words}


def option_of(parameter: str) -> str:
    """Return the option for a parameter.

    Examples
    --------
    >>> option_of("na_values"), option_of("max_bytes")
    ('--na-values', '--max-expanded')
    """
    return "--" + _OTHER_NAMES.get(parameter, parameter).replace("_", "-")


def as_arguments(params: Mapping[str, Any]) -> list[str]:
    """Return parameters as one would type them.

    Examples
    --------
    >>> as_arguments({"degree": 3, "normalize_kernel": True, "shuffle": False, "epochs": None})
    ['--degree', '3', '--normalize-kernel', '--no-shuffle', '--epochs', 'none']
    """
    typed: list[str] = []
    for name, value in params.items():
        option = option_of(name)
        if isinstance(value, bool):
            typed.append(option if value else f"--no-{option[2:]}")
        else:
            typed += [option, as_typed(value)]
    return typed


def as_typed(value: Any) -> str:
    """Return a value as one would type it.

    Examples
    --------
    >>> as_typed(None), as_typed((0.25, 0.75)), as_typed(1 / 3), as_typed({"yes": 5.0, "x, y": 0.5})
    ('none', '0.25,0.75', '0.3333333333333333', 'yes=5,"x, y"=0.5')
    """
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return ",".join(map(as_typed, value))
    if isinstance(value, dict):
        return ",".join(f"{_quoted(str(label))}={as_typed(number)}" for label, number in value.items())
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)  # to be read back to the last bit
    return str(value)


def _quoted(label: str) -> str:
    """Return a label in quotes, where those who read a list of them would stumble over it."""
    return '"' + label.replace('"', '""') + '"' if set(label) & set(',"\r\n') else label


def _option_meant(typed: str, known: Sequence[str]) -> str:
    """Return the question whether another option was meant: what others call so, a longer name, or nearly the same.

    Examples
    --------
    >>> _option_meant("--seed", ["--test", "--random-state"]), _option_meant("--norm", ["--normalize-kernel", "-o"])
    (' Did you mean --random-state?', ' Did you mean --normalize-kernel?')
    >>> _option_meant("--folds", ["--label", "--drop"])
    ''
    """
    called = [name for name in _CALLED_ELSEWHERE.get(typed, ()) if name in known]
    longer = [name for name in known if len(typed) > len("--x") and name.startswith(typed)]
    words = [name for name in known if len(typed) > len("--xx") and typed[2:] in name[2:].split("-")]
    near = nearest(typed, known, _NEARLY)
    found = [*called, *longer, *([] if near is None else [near]), *words][:1]
    return f" Did you mean {found[0]}?" if found else ""


def _as_option(parameter: Parameter) -> str | None:
    if parameter.short:  # of a bound, a step of a model file and the like, which have no options
        return None
    if parameter.value is ...:
        return option_of(parameter.name)
    return shlex.join(as_arguments({parameter.name: parameter.value}))


def _phrase(phrase: Phrase) -> str | None:
    words = _PHRASES.get(phrase.name)
    return None if words is None else words.format(**phrase.facts)
