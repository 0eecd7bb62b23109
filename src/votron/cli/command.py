"""Commands of click with grouped options and examples, errors that name the option, and the types of values."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from votron._util.text import joined
from votron.cli.output import Output
from votron.errors import BoundViolatedError, VotronError

if TYPE_CHECKING:
    from votron._util.types import Params

NONE = "none"
"""The word to type for None."""

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]


class Option(click.Option):
    """An option with a heading in the help; ``into`` names the argument of the command that collects it, if any."""

    def __init__(self, *names: Any, group: str = "Options", into: str | None = None, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.group, self.into = group, into


class Argument(click.Argument):
    """An argument with a help text."""

    group = "Arguments"

    def __init__(self, *names: Any, help: str, into: str | None = None, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.help, self.into = help, into

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        return self.metavar or self.human_readable_name, self.help or ""


class Command(click.Command):
    """A command whose help groups options and ends with examples, and whose errors name the option."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.examples = examples

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, with the options of each group collected: those that were given."""
        self._check_files(ctx.params)
        for param in self.params:
            into = getattr(param, "into", None)
            if into is not None and param.name is not None:
                value = ctx.params.pop(param.name)
                collected = ctx.params.setdefault(into, {})
                if value is not None and value != ():
                    collected[param.name] = None if value == NONE else value
        if "out" in ctx.params:
            ctx.params["out"] = Output(**ctx.params["out"])
        try:
            self._open(ctx.params)
            return super().invoke(ctx)
        except BoundViolatedError:
            raise
        except VotronError as error:
            raise self._failure(error, getattr(ctx.params.get("data"), "table", {})) from error

    def _open(self, params: Params) -> None:
        """Put DATA with its options, and the model in MODEL, in the place of what was typed."""
        data = params.get("data")
        if isinstance(data, dict):
            from votron.cli.reading import DataArgument

            groups = {name: params.pop(name, {}) for name in ("reading", "table")}
            params["data"] = data = DataArgument(**data, **groups)
        if "saved" in params:
            from votron.cli.models import load_model

            path = None if data is None else data.path
            params["saved"] = load_model(params["saved"], path, **params.pop("rules", {}))

    def _check_files(self, given: Params) -> None:
        """Refuse to write a file that is also read, or written twice."""
        seen: dict[str, str] = {}
        for param in sorted(self.params, key=lambda each: isinstance(each.type, NewFile)):
            path = given.get(param.name or "")
            if not isinstance(param.type, click.Path) or not isinstance(path, str) or path == "-":
                continue
            other = seen.setdefault(os.path.realpath(path), name_of(param))
            if isinstance(param.type, NewFile) and other != name_of(param):
                raise click.UsageError(f"{name_of(param)} must be another file than {other}. Got {path!r} for both.")

    def _failure(self, error: VotronError, table: Params) -> click.ClickException:
        """Return the error with the option that it is about in front."""
        if error.parameter == "missing":
            advice = "Say what to do about them with missing."
            return click.ClickException(str(error).replace(advice, "Training with --missing mean fills them in."))
        as_text = "discrete" if table.get("discrete") or not table.get("text") else "text"
        name = {"as_text": as_text, "cv": "folds"}.get(error.parameter or "", error.parameter)
        for param in self.params:
            if isinstance(param, Option) and param.name in (name, f"{name}s"):
                message = re.sub(r"^The '\w+' (parameter )?of \w+ ", "", str(error))
                kind = click.UsageError if param.into == "params" else click.ClickException
                return kind(f"{name_of(param)}: {message}")
        return click.ClickException(str(error))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                groups.setdefault(getattr(param, "group", "Options"), []).append(record)
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records, col_max=26)

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Leave arguments to `format_options`, as all versions of click do."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in self.examples))


def name_of(param: click.Parameter) -> str:
    """Return what users call a parameter: its longest option, or the argument in capitals."""
    return param.opts[-1] if isinstance(param, click.Option) else param.metavar or str(param.name)


def command(name: str, *, examples: Sequence[str] = ()) -> Callable[[Function], Command]:
    """Return a decorator that makes a command of a function; its docstring is the help."""
    return click.command(name, cls=Command, examples=examples)


def option(names: str, metavar: str, help: str, type: Any = None, **settings: Any) -> Decorator:
    """Return a decorator that adds an option, by its names separated by blanks."""
    return click.option(*names.split(), cls=Option, metavar=metavar, help=help, type=type, **settings)


def flag(names: str, help: str, **settings: Any) -> Decorator:
    """Return a decorator that adds an option without a value."""
    return click.option(*names.split(), cls=Option, is_flag=True, help=help, **settings)


def switch(name: str, help: str, default: bool | None = None, **settings: Any) -> Decorator:
    """Return a decorator that adds an option with an opposite, ``--no-`` and the name."""
    return click.option(f"--{name}/--no-{name}", cls=Option, default=default, help=help, **settings)


def argument(name: str, metavar: str, help: str, type: Any = None, **settings: Any) -> Decorator:
    """Return a decorator that adds an argument."""
    return click.argument(name, cls=Argument, metavar=metavar, help=help, type=type, **settings)


def grouped(*options: Decorator) -> Decorator:
    """Return a decorator that adds several options, in this order."""

    def decorate(function: Function) -> Function:
        for each in reversed(options):
            function = each(function)
        return function

    return decorate


class NewFile(click.Path):
    """A file to write, checked before the work; a drawing needs matplotlib."""

    def __init__(self, *endings: str, dash: bool = False) -> None:
        super().__init__(dir_okay=False, writable=True, readable=False, allow_dash=dash)
        self.endings = endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        folder, ending = os.path.dirname(os.path.realpath(value)), os.path.splitext(value)[1].lower()
        if value == "-" and not self.allow_dash:
            self.fail("must be the name of a file. Got '-' instead.", param, ctx)
        if self.endings and ending not in self.endings:
            self.fail(f"must be a file that ends in {', '.join(self.endings)}. Got {value!r} instead.", param, ctx)
        if value != "-" and not os.path.isdir(folder):
            self.fail(f"there is no folder {folder!r}.", param, ctx)
        if value != "-" and not os.path.exists(value) and not os.access(folder, os.W_OK):
            self.fail(f"{folder!r} is write-protected.", param, ctx)
        if ".svg" in self.endings:
            from votron._util.plotting import pyplot

            pyplot()
        return super().convert(value, param, ctx)


def number(*words: str, by_label: bool = False) -> Function:
    """Return the type of a number, one of some words, or ``by_label`` numbers such as yes=5,no=0.5."""

    def convert(value: str) -> object:
        if value in words:
            return value
        try:
            if by_label and "=" in value:
                pairs = (entry.rpartition("=") for entry in next(csv.reader([value])))
                return {label: float(each) for label, _, each in pairs}
            return int(value) if value.lstrip("+-").isdecimal() else float(value)
        except ValueError:
            kinds = ["a number", *words, *["numbers by label such as yes=5,no=0.5"] * by_label]
            raise click.BadParameter(f"must be {joined(kinds, 'or')}. Got {value!r}.") from None

    return convert


def values(kind: Function = str) -> Function:
    """Return the type of values separated by commas, of whole numbers also ranges such as 2-4."""

    def convert(value: str) -> list[object]:
        found: list[object] = []
        for part in filter(None, map(str.strip, value.split(","))):
            low, _, high = part.partition("-")
            if low.isdecimal() and high.isdecimal() and int(low) <= int(high) < int(low) + 100_000:
                found += range(int(low), int(high) + 1)
            else:
                found.append(part if part.startswith("scale*") else kind(part))
        if not found:
            raise click.BadParameter(f"must be values separated by commas. Got {value!r}.")
        return found

    return convert


def size(value: str) -> int:
    """Return a number of bytes, such as 2GB."""
    from votron._util.resources import parse_memory_limit

    try:
        return parse_memory_limit(int(value) if value.isdecimal() else value)
    except VotronError:
        raise click.BadParameter(f"must be a size such as 500MB or 2GB. Got {value!r}.") from None


def height_and_width(value: str) -> tuple[int, ...]:
    """Return two numbers such as 28x28."""
    found = re.fullmatch("([1-9][0-9]*)[xX]([1-9][0-9]*)", value)
    if found is None:
        raise click.BadParameter(f"must be height and width, such as 28x28. Got {value!r}.")
    return tuple(map(int, found.groups()))
