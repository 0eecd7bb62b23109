"""Options that are parameters of the estimators: names, defaults, what they may be and what they mean, all from there.

What a parameter may be is read from the estimator's constraints, its default from the signature, and the words of the
help text from the docstring.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import Any

from votron._sentences import joined
from votron.cli._docstrings import documented, first_sentence
from votron.cli._parser import Parser, UsageError, whole
from votron.cli._wording import as_typed, option_of
from votron.errors import VotronError
from votron.estimators import ESTIMATORS
from votron.estimators.parameters import check_parameters, parameter_constraints

DEFAULT = "voted"
EVERY = "*"
"""Stands for all estimators, whose options shells complete together."""
_NOT_HERE = ("verbose",)  # the terminal and --quiet decide it
_LAST_SEED = 2**32 - 1


def estimator_in(arguments: Sequence[str]) -> str:
    """Return which estimator these arguments ask for; whether there is such a one is checked when they are parsed.

    Examples
    --------
    >>> estimator_in(["train", "--estimator", "winnow"]), estimator_in(["train"]), estimator_in(["--estimator=x"])
    ('winnow', 'voted', 'voted')
    """
    found = DEFAULT
    for i, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument.startswith("--estimator"):
            name, equals, value = argument.partition("=")
            if name == "--estimator":
                found = value if equals else " ".join(arguments[i + 1 : i + 2])
    return found if found in (*ESTIMATORS, EVERY) else DEFAULT


def add_estimator(parser: Parser) -> None:
    """Add the choice of an estimator."""
    parser.add_argument(
        "--estimator",
        choices=tuple(ESTIMATORS),
        default=DEFAULT,
        metavar="NAME",
        help=f"{', '.join(ESTIMATORS)} (default: {DEFAULT}); --estimator NAME --help has the options of each",
    )


def add_estimator_options(parser: Parser, name: str) -> None:
    """Add the choice of an estimator, and the parameters of one."""
    add_estimator(parser)
    group = parser.add_argument_group(f"options of --estimator {name}")
    for parameter in parameters_of(name):
        parameter.add_to(group)
    if not any(parameter.name == "random_state" for parameter in parameters_of(name)):
        add_seed(group)
    parser.explain_unknown = lambda option: _owners_of(option, name)


def add_seed(group: Any) -> None:
    """Add the seed for estimators that draw nothing themselves."""
    group.add_argument(
        "--random-state",
        type=whole(0),
        metavar="N",
        default=argparse.SUPPRESS,
        help="seed of the rows that --test holds out (default: one is drawn and kept)",
    )


def typed_params(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that were given as options."""
    names = [parameter.name for parameter in parameters_of(args.estimator)]
    return {name: value for name, value in vars(args).items() if name in names}


def make_estimator(name: str, params: dict[str, Any]) -> Any:
    """Return the estimator with these parameters, which are checked: an error names the option."""
    estimator = ESTIMATORS[name](**params)
    try:
        check_parameters(estimator)
    except VotronError as error:
        raise UsageError(error) from None
    return estimator


def _owners_of(option: str, mine: str) -> str | None:
    """Return which estimators have an option that this one does not have."""
    plain = option[5:] if option.startswith("--no-") else option[2:]
    parameter = plain.replace("-", "_")
    if parameter in _NOT_HERE:
        return f"There is no option {option}: progress is shown on a terminal, unless --quiet is given."
    owners = [name for name in ESTIMATORS if any(p.name == parameter for p in parameters_of(name))]
    if not owners or mine in owners:
        return None
    return f"{option} is an option of --estimator {joined(owners)}, and not of {mine}."


# -- parameters -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EstimatorParameter:
    """A parameter of an estimator, as an option.

    Attributes
    ----------
    name : str
        What the estimator calls it.
    default : object
        Its default.
    constraints : tuple
        What the estimator says that it may be.
    allowed : str
        The same in words, from the docstring.
    words : str
        What it means, in a sentence.
    """

    name: str
    default: Any
    constraints: tuple[Any, ...]
    allowed: str
    words: str

    @property
    def is_flag(self) -> bool:
        """Whether it is on or off."""
        return "boolean" in self.constraints or isinstance(self.default, bool)

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it may be, in the order of the docstring."""
        known = {word for one in self.constraints for word in _options_of(one)}
        order = dict.fromkeys(word for word in re.findall(r'"([^"]+)"', self.allowed) if word in known)
        return (*order, *sorted(known - set(order)))

    @property
    def numbers(self) -> type | None:
        """The type of numbers that it may be, if any."""
        types = [getattr(one, "type", one) for one in self.constraints]
        if any(t in (Integral, "random_state") for t in types):
            return int
        return float if any(isinstance(t, type) and issubclass(float, t) for t in types if t is not str) else None

    @property
    def metavar(self) -> str:
        """What stands for a value in the help text."""
        if "array-like" in self.constraints:
            return "P,P,..."
        words = [*self.choices, *(["none"] if self._may_be_none else [])]
        if self.numbers:
            words.insert(0, "N" if self.numbers is int else "X")
        elif str in self.constraints:
            words.insert(0, "SIZE")
        if str in self.constraints:
            words = ["SIZE"]
        return "|".join(words)

    @property
    def _may_be_none(self) -> bool:
        return None in self.constraints or "random_state" in self.constraints

    def add_to(self, group: Any) -> None:
        """Add the option; only what is given appears in the namespace."""
        default = "on" if self.default is True else "off" if self.default is False else as_typed(self.default)
        if "random_state" in self.constraints:
            default += ", which draws a seed and prints it"
        words = f"{self.words} (default: {default})".replace("%", "%%")
        settings: dict[str, Any] = {"dest": self.name, "default": argparse.SUPPRESS, "help": words}
        if self.is_flag:
            group.add_argument(option_of(self.name), action=argparse.BooleanOptionalAction, **settings)
        else:
            group.add_argument(option_of(self.name), type=self.read, metavar=self.metavar, **settings)

    def read(self, text: str) -> Any:
        """Return the value that a text stands for; the estimator checks its range."""
        if self._may_be_none and text.lower() == "none":
            return None
        if text in self.choices or self._comes_from_a_package(text):
            return text
        if "array-like" in self.constraints:
            return [self._number(part, float, text) for part in text.split(",")]
        if str in self.constraints:
            return int(text) if text.isdecimal() else text
        if self.numbers is None:
            raise argparse.ArgumentTypeError(f"must be one of {', '.join(self.choices)}. Got {text!r} instead.")
        value = self._number(text, self.numbers, text)
        if "random_state" in self.constraints and not 0 <= value <= _LAST_SEED:
            raise self._refusal(text)
        return value

    def _comes_from_a_package(self, text: str) -> bool:
        """Tell whether it is a name that another package brings, which asking for it loads."""
        names = [one for one in self.constraints if hasattr(one, "options") and one.is_satisfied_by(text)]
        return any(text in _options_of(one) for one in names)

    def _number(self, part: str, kind: type, text: str) -> Any:
        for read in (int, float)[: 1 if kind is int else 2]:
            try:
                return read(part)
            except ValueError:
                continue
        raise self._refusal(text)

    def _refusal(self, text: str) -> argparse.ArgumentTypeError:
        if "array-like" in self.constraints:
            what = ["numbers such as 0.3,0.7"]
        elif "random_state" in self.constraints:
            what = [f"an int in the range [0, {_LAST_SEED}]"]
        else:
            what = ["an int" if self.numbers is int else "a number"]
        what += [*self.choices, *(["none"] if self._may_be_none else [])]
        return argparse.ArgumentTypeError(f"must be {joined(what, 'or')}. Got {text!r} instead.")


def _options_of(constraint: Any) -> Collection[str]:
    """Return the words that a constraint allows; of kernels not a matrix, which is no property of rows to come."""
    found: Collection[str] = getattr(constraint, "options_for_rows", getattr(constraint, "options", ()))
    return found


@cache
def parameters_of(name: str) -> tuple[EstimatorParameter, ...]:
    """Return the parameters of an estimator that can be given as options.

    Examples
    --------
    >>> degree = next(p for p in parameters_of("voted") if p.name == "degree")
    >>> degree.default, degree.words
    (3, 'Degree of the polynomial kernel (gamma x·z + coef0)^degree.')
    """
    if name == EVERY:
        return tuple({p.name: p for each in ESTIMATORS for p in parameters_of(each)}.values())
    cls = ESTIMATORS[name]
    found, allowed = documented(cls, ESTIMATORS.values()), parameter_constraints(cls)
    return tuple(
        EstimatorParameter(
            parameter.name,
            parameter.default,
            allowed[parameter.name],
            *first_sentence(found.get(parameter.name, ("", "")), set(found), option_of),
        )
        for parameter in inspect.signature(cls).parameters.values()
        if parameter.name not in _NOT_HERE
    )


def why_no_stream(estimator: Any) -> UsageError | None:
    """Return why an estimator cannot learn batch by batch, or None."""
    try:
        estimator.partial_fit  # noqa: B018  # asking tells the reason
    except AttributeError as error:
        if isinstance(error.__cause__, VotronError):
            return UsageError(error.__cause__)
        return UsageError(f"--stream is not for {type(estimator).__name__}, which needs all data at once.")
    return None
