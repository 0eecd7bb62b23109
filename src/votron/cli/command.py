"""Commands of click with grouped options, examples, and errors that name the option."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from votron.errors import BoundViolatedError, VotronError

NONE = "none"
"""What is typed for None."""

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]


class Failed(click.ClickException):
    """A command that could not do what it was asked: exit status 1."""


class Option(click.Option):
    """An option with a heading in the help; ``into`` names the argument of the command that collects it, if any."""

    def __init__(self, *names: Any, group: str = "Options", into: str | None = None, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.group, self.into = group, into


class Argument(click.Argument):
    """An argument with a help text."""

    def __init__(self, *names: Any, help: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.help = help

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return the argument and its help."""
        return self.metavar or self.human_readable_name, self.help or ""


class Command(click.Command):
    """A command whose help groups options and ends with examples, and whose errors name the option."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.examples = examples

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, with the options of each group collected in a dict of those that were given."""
        for param in self.params:
            if isinstance(param, Option) and param.into is not None and param.name is not None:
                value = ctx.params.pop(param.name)
                collected = ctx.params.setdefault(param.into, {})
                if value is not None and value != ():
                    collected[param.name] = None if value == NONE else value
        try:
            return super().invoke(ctx)
        except BoundViolatedError:
            raise
        except VotronError as error:
            raise self._failure(error) from error

    def _failure(self, error: VotronError) -> click.ClickException:
        """Return the error with the option that it is about in front."""
        name = {"as_text": "discrete"}.get(error.parameter or "", error.parameter)
        for param in self.params:
            if isinstance(param, Option) and param.name == name:
                message = re.sub(r"^The '\w+' (parameter )?of \w+ ", "", str(error))
                kind = click.UsageError if param.into == "params" else Failed
                return kind(f"{param.opts[-1]}: {message}")
        return Failed(str(error))

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Leave arguments to `format_options`, as all versions of click do."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write arguments and options under their headings."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            heading = "Arguments" if isinstance(param, click.Argument) else getattr(param, "group", "Options")
            record = param.get_help_record(ctx)
            if record is not None:
                groups.setdefault(heading, []).append(record)
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records, col_max=26)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, unchanged, so that they can be copied."""
        if self.examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in self.examples))


def command(name: str, *, examples: Sequence[str] = ()) -> Callable[[Function], Command]:
    """Return a decorator that makes a command of a function; its docstring is the help."""
    return click.command(name, cls=Command, examples=examples)


def option(*names: str, **settings: Any) -> Decorator:
    """Return a decorator that adds an option."""
    return click.option(*names, cls=Option, **settings)


def argument(name: str, *, help: str, **settings: Any) -> Decorator:
    """Return a decorator that adds an argument."""
    return click.argument(name, cls=Argument, metavar=name.upper(), help=help, **settings)


def grouped(*options: Decorator) -> Decorator:
    """Return a decorator that adds several options, in this order."""

    def decorate(function: Function) -> Function:
        for each in reversed(options):
            function = each(function)
        return function

    return decorate
