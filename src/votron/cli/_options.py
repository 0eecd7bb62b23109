"""Options: those that several commands share, and those that are parameters of the estimators.

How data are read is described by `votron.data.options`, from which its options are made. Of an estimator's parameters
the values that are allowed come from its constraints, the default from the signature, and the words of the help text
from the docstring; kernels and rules are listed in their own words.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import Any

from votron._util.text import did_you_mean, joined
from votron.cli._parser import (
    Parser,
    UsageError,
    as_typed,
    delimiter,
    file_argument,
    height_and_width,
    list_entries,
    option_of,
    quote,
    size,
    values_typed,
    whole_number,
)
from votron.cli._read_options import READ_OPTIONS
from votron.data.formats import Format, choosable_formats, format_named
from votron.data.vocabulary import DATES, NUMERIC, STRATEGIES
from votron.errors import VotronError

MISSING = ("refuse", "drop", *STRATEGIES)
DATA = (
    "data file (CSV, TSV, JSON, JSON Lines, Parquet, Arrow, svmlight, IDX, .npy or .npz), folder of images, or one of "
    "digits, mnist and fashion; - for standard input"
)
DEFAULT_ESTIMATOR = "voted"
EVERY_ESTIMATOR = "*"
"""Stands for all estimators, whose options shells complete together."""
_NOT_OPTIONS = ("verbose",)  # the terminal and --quiet decide it
_LAST_SEED = 2**32 - 1
_SHORTEST_SENTENCE = 10
"""Characters of a sentence below which it does not stand alone."""


# -- of several commands ----------------------------------------------------------------------------------------------


def add_data(parser: Any, words: str = DATA) -> None:
    """Add the argument that is the data."""
    file_argument(parser, "data", metavar="DATA", help=words)


def add_model(parser: Any) -> None:
    """Add the argument that is a model file."""
    file_argument(parser, "model", metavar="MODEL", help="model file; - for standard input")


def add_output(parser: Any, words: str, *, required: bool = False, default: str | None = None) -> None:
    """Add -o."""
    file_argument(parser, "-o", "--output", metavar="FILE", required=required, default=default, help=words)


def add_common(parser: Any, *, json: str = "print JSON instead of text") -> None:
    """Add what every command has."""
    parser.add_argument("--json", action="store_true", help=json)
    parser.add_argument("--quiet", action="store_true", help="suppress progress and remarks on standard error")


def add_sample_weight(parser: Any, words: str) -> argparse.Action:
    """Add the column with the weights of rows to train on; return it."""
    action: argparse.Action = parser.add_argument(
        "--sample-weight",
        metavar="COL",
        help=f"column with the weights of rows, numbers of 0 or more, which is then no feature: {words}",
    )
    return action


def add_held_out(parser: Any) -> None:
    """Add the choice of those rows of the training data that training did not see."""
    parser.add_argument(
        "--held-out",
        action="store_true",
        help="of a model trained with --test FRACTION: DATA is what it was trained on, and only the rows that were "
        "held out are taken",
    )


def add_label(parser: Any, words: str) -> argparse.Action:
    """Add --label; return it."""
    action: argparse.Action = parser.add_argument("--label", metavar="COL", help=words)
    return action


def add_rule(parser: Any, arguments: Sequence[str]) -> None:
    """Add the choice of another rule for a model that is trained."""
    from votron.rules import RULES

    for name in values_typed("--rule", arguments):
        RULES.find(name)  # another package may bring it
    action = parser.add_argument(
        "--rule",
        choices=RULES,
        metavar="NAME",
        help="of a voted model: predict by another rule, without retraining",
    )
    list_entries(action, RULES)
    parser.add_argument(
        "--normalize-vectors", action="store_true", help="with --rule: divide each vector by its length first"
    )


# -- reading and encoding data ----------------------------------------------------------------------------------------


def add_reading(
    parser: Parser, *, missing: bool = True, for_model: bool = False, labels: bool = True
) -> argparse._ArgumentGroup:
    """Add how data are read, ``for_model`` as in training where nothing is said; return the group of options."""
    group = parser.add_argument_group("reading data")
    for option in READ_OPTIONS:
        if (option.main_only and for_model) or (option.name == "missing" and not missing):
            continue
        if option.of_labels and not labels:
            continue
        words = option.words(for_model).replace("{formats}", ", ".join(choosable_formats()))
        settings = _SETTINGS[option.takes] | ({} if option.metavar is None else {"metavar": option.metavar})
        group.add_argument(option.flag, help=words, **settings)
    return group


class FormatNames(list[str]):
    """Names of formats to choose from: what other packages bring is among them once it is asked for."""

    def __init__(self, names: Iterable[str], fits: Callable[[Format], bool]) -> None:
        super().__init__(names)
        self._fits = fits

    def __contains__(self, name: object) -> bool:
        found = format_named(name) if isinstance(name, str) else None
        return found is not None and self._fits(found)


def add_encoding(parser: Parser) -> argparse._ArgumentGroup:
    """Add how tables become vectors; return the group of options."""
    group = parser.add_argument_group("tables")
    group.add_argument(
        "--numeric",
        choices=NUMERIC,
        metavar="HOW",
        help="how to scale numbers: keep (not at all), standard (to unit standard deviation), minmax (to the range "
        "0 to 1) or maxabs (by the largest absolute value) (default: standard; for winnow: keep)",
    )
    add_discrete(group)
    add_columns(group, "--probabilities", "column of numbers from 0 to 1, not scaled; may be repeated")
    add_columns(group, "--text", "column of text, split into words; may be repeated")
    group.add_argument(
        "--text-features",
        choices=("auto", "hashing", "tfidf"),
        help="how words become features: tfidf (each word of the training data is one), hashing (into 2^18), or auto "
        "(tfidf unless there are more than 2^17 words, or --stream) (default: auto; for naive-bayes: tfidf)",
    )
    group.add_argument(
        "--dates",
        choices=DATES,
        help="how dates become features: cyclic (year as a number, month, weekday and hour as points on circles) or "
        "onehot (a feature for each) (default: cyclic; for winnow: onehot)",
    )
    return group


def add_discrete(group: argparse._ArgumentGroup) -> None:
    """Add which columns hold names."""
    add_columns(
        group, "--discrete", "column whose numbers are categories, such as postcodes, or the label; may be repeated"
    )


def add_columns(group: argparse._ArgumentGroup, option: str, words: str) -> None:
    """Add an option that names a column, and may be given several times."""
    group.add_argument(option, metavar="COL", action="append", default=[], help=words)


_SETTINGS: dict[str, dict[str, Any]] = {
    "format": {"choices": FormatNames(choosable_formats(), lambda format: format.choosable)},
    "text": {},
    "texts": {"action": "append"},
    "filling": {"choices": MISSING, "default": "refuse"},
    "part": {"choices": ("train", "test")},
    "yes": {"action": "store_const", "const": True},
    "yes or no": {"action": argparse.BooleanOptionalAction, "default": None},
    "count": {"type": whole_number()},
    "size": {"type": size},
    "character": {"type": delimiter},
    "quote": {"type": quote},
    "decimal mark": {"choices": (".", ",")},
    "height and width": {"type": height_and_width},
}
"""What argparse is told of an option, by what comes after it."""


# -- of the estimators ------------------------------------------------------------------------------------------------


def estimators() -> dict[str, type[Any]]:
    """Return the classifiers that can be trained, by name; they take a second to import."""
    from votron.estimators import ESTIMATORS

    return ESTIMATORS


def estimator_in(arguments: Sequence[str]) -> str:
    """Return which estimator these arguments ask for; whether there is such a one is checked when they are parsed.

    Examples
    --------
    >>> estimator_in(["train", "--estimator", "winnow"]), estimator_in(["train"]), estimator_in(["--estimator=x"])
    ('winnow', 'voted', 'voted')
    """
    typed = [DEFAULT_ESTIMATOR, *values_typed("--estimator", arguments)][-1]
    return typed if typed in (*estimators(), EVERY_ESTIMATOR) else DEFAULT_ESTIMATOR


def add_estimator(parser: Parser) -> None:
    """Add the choice of an estimator."""
    parser.add_argument(
        "--estimator",
        choices=tuple(estimators()),
        default=DEFAULT_ESTIMATOR,
        metavar="NAME",
        help=f"classifier to train: {joined(estimators(), 'or')} (default: {DEFAULT_ESTIMATOR}); --estimator NAME "
        "--help shows its options",
    )


def add_estimator_options(parser: Parser, arguments: Sequence[str]) -> None:
    """Add the choice of an estimator, and the parameters of the one that is asked for."""
    name = estimator_in(arguments)
    add_estimator(parser)
    group = parser.add_argument_group(f"options of --estimator {name}")
    for parameter in parameters_of(name):
        parameter.add_to(group, arguments)
    if not any(parameter.name == "random_state" for parameter in parameters_of(name)):
        group.add_argument(
            "--random-state",
            type=whole_number(0),
            metavar="N",
            default=argparse.SUPPRESS,
            help="seed for drawing the rows that --test holds out (default: drawn at random, and stored)",
        )
    parser.explain_unknown = lambda option: owners_of(option, name)


def owners_of(option: str, mine: str, among: Collection[str] | None = None) -> str | None:
    """Return which estimators have an option that this one does not have; only ``among`` some, where others have none.

    Examples
    --------
    >>> owners_of("--class-weight", "winnow"), owners_of("--degree", "winnow", among=["class_weight"])
    ('--class-weight is an option of --estimator voted, averaged and adatron, and not of winnow.', None)
    """
    parameter = option.removeprefix("--").removeprefix("no-").replace("-", "_")
    if among is not None and parameter not in among:
        return None
    if parameter in _NOT_OPTIONS:
        return f"There is no option {option}: progress is shown on a terminal, unless --quiet is given."
    owners = [name for name in estimators() if any(p.name == parameter for p in parameters_of(name))]
    if not owners or mine in owners:
        return None
    return f"{option} is an option of --estimator {joined(owners)}, and not of {mine}."


def typed_parameters(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that were given as options."""
    names = [parameter.name for parameter in parameters_of(args.estimator)]
    return {name: value for name, value in vars(args).items() if name in names}


def make_estimator(name: str, parameters: dict[str, Any]) -> Any:
    """Return the estimator with these parameters, which are checked: an error names the option."""
    from votron.estimators.parameters import check_parameters

    estimator = estimators()[name](**parameters)
    try:
        check_parameters(estimator)
    except VotronError as error:
        raise UsageError(error) from None
    return estimator


def check_read_by_kernel(estimator: Any, typed: dict[str, Any]) -> None:
    """Refuse an option that the kernel does not read: whoever types it means another kernel."""
    from votron.kernels import KERNELS
    from votron.kernels.base import kernel_class

    cls = kernel_class(getattr(estimator, "kernel", None))
    for name in typed if cls is not None else ():
        readers = [kernel for kernel, each in KERNELS.items() if name in each.parameters()]
        if cls is not None and readers and cls.name not in readers:
            raise UsageError(
                f"{option_of(name)} is not for --kernel {cls.name}, which does not read it: add --kernel "
                f"{' or --kernel '.join(readers)}, or leave it out."
            )


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
    def _registries(self) -> list[Any]:
        """Where the kernels or rules that it may name are registered."""
        return [one.registry for one in self.constraints if hasattr(one, "registry")]

    @property
    def _none(self) -> list[str]:
        """How None is typed, where it may be None."""
        return ["none"] if None in self.constraints or "random_state" in self.constraints else []

    @property
    def metavar(self) -> str:
        """What stands for a value in the help text."""
        if "array-like" in self.constraints:
            return "P,P,..."
        if str in self.constraints:
            return "SIZE"
        if self._registries:
            return "NAME"
        number = [] if self.numbers is None else ["N" if self.numbers is int else "X"]
        by_label = ["LABEL=X,..."] if dict in self.constraints else []
        return "|".join([*number, *self.choices, *by_label, *self._none])

    def add_to(self, group: Any, arguments: Sequence[str]) -> None:
        """Add the option; only what is given appears in the namespace."""
        settings: dict[str, Any] = {"action": argparse.BooleanOptionalAction}
        if dict in self.constraints:
            settings = {"type": self._read_or_by_label, "metavar": self.metavar}
        elif not self.is_flag:
            settings = {"type": self.read, "metavar": self.metavar}
        default = "on" if self.default is True else "off" if self.default is False else as_typed(self.default)
        if "random_state" in self.constraints:
            default += ": a seed is drawn and printed"
        self.add_option(group, arguments, option_of(self.name), default, dest=self.name, **settings)

    def add_option(self, group: Any, arguments: Sequence[str], option: str, by_default: str, **settings: Any) -> None:
        """Add an option in the words of this parameter, with those of the kernels or rules that it may name."""
        self._load(name for typed in values_typed(option, arguments) for name in typed.split(","))
        words = f"{self.words} (default: {by_default})".replace("%", "%%")
        action = group.add_argument(option, help=words, **{"default": argparse.SUPPRESS, **settings})
        list_entries(
            action, {name: known[name] for known in self._registries for name in self.choices if name in known}
        )

    def read(self, text: str) -> Any:
        """Return the value that a text stands for; the estimator checks its range."""
        if text.lower() in self._none:
            return None
        self._load([text])
        if text in self.choices:
            return text
        if "array-like" in self.constraints:
            return [self._number(part, float, text) for part in text.split(",")]
        if str in self.constraints:
            return int(text) if text.isdecimal() else text
        if self.numbers is None:
            meant = did_you_mean(text, self.choices, quoted=False)
            raise argparse.ArgumentTypeError(f"must be one of {', '.join(self.choices)}. Got {text!r} instead.{meant}")
        value = self._number(text, self.numbers, text)
        if "random_state" in self.constraints and not 0 <= value <= _LAST_SEED:
            raise self._refusal(text)
        return value

    def _read_or_by_label(self, text: str) -> Any:
        """Return the value that a text stands for, or values by label."""
        from votron.cli._weights import read_by_label

        if "=" in text:
            return read_by_label(text)
        if text.lower() in self._none or text in self.choices:
            return self.read(text)
        if self.numbers is None:
            raise self._refusal(text)
        return self._number(text, self.numbers, text)

    def _load(self, names: Iterable[str]) -> None:
        """Have other packages bring the kernels or rules of these names."""
        for registry in self._registries:
            for name in names:
                registry.find(name)

    def _number(self, part: str, kind: type, text: str) -> Any:
        for read in (int,) if kind is int else (int, float):
            with contextlib.suppress(ValueError):
                return read(part)
        raise self._refusal(text)

    def _refusal(self, text: str) -> argparse.ArgumentTypeError:
        if "array-like" in self.constraints:
            what = ["numbers such as 0.3,0.7"]
        elif "random_state" in self.constraints:
            what = [f"an int in the range [0, {_LAST_SEED}]"]
        else:
            what = [] if self.numbers is None else ["an int" if self.numbers is int else "a number"]
        by_label = ["numbers by label such as yes=5,no=0.5"] if dict in self.constraints else []
        alternatives = joined([*what, *self.choices, *by_label, *self._none], "or")
        return argparse.ArgumentTypeError(f"must be {alternatives}. Got {text!r} instead.")


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
    (3, 'Degree of the polynomial kernel (gamma x·z + coef0)^degree, which the others do not read.')
    """
    from votron.estimators.parameters import parameter_constraints

    if name == EVERY_ESTIMATOR:
        return tuple({p.name: p for each in estimators() for p in parameters_of(each)}.values())
    cls = estimators()[name]
    described, constraints = _described(cls), parameter_constraints(cls)
    parameters = []
    for each in inspect.signature(cls).parameters.values():
        if each.name not in _NOT_OPTIONS:
            allowed, words = described.get(each.name, ("", ""))
            summary = _summary(words, set(described))
            parameters.append(EstimatorParameter(each.name, each.default, constraints[each.name], allowed, summary))
    return tuple(parameters)


def _described(cls: type) -> dict[str, tuple[str, str]]:
    """Return type and description of each parameter, from its section of a numpydoc docstring."""
    text = inspect.cleandoc(cls.__doc__ or "") + "\n"
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^[^\n]+\n-+$|\Z)", text, re.MULTILINE | re.DOTALL)
    entries = re.findall(r"^(\w.*?)(?: : (.*))?\n((?: .*\n|\n)*)", section[1] if section else "", re.MULTILINE)
    found = {}
    for names, allowed, words in entries:
        other = re.match(r"As in `(\w+)`", words.strip())
        owner = next((each for each in estimators().values() if other and each.__name__ == other[1]), None)
        for name in map(str.strip, names.split(",")):
            found[name] = (allowed, " ".join(words.split())) if owner is None else _described(owner)[name]
    return found


def _summary(words: str, names: set[str]) -> str:
    """Return the first sentence, or two if the first is but a word or two, with other parameters as options."""
    sentences = re.split(r"(?<=\.)\s+(?=[A-Z\"`])", words)
    kept = sentences[0] if len(sentences[0]) >= _SHORTEST_SENTENCE else " ".join(sentences[:2])

    def plain(match: re.Match[str]) -> str:
        return option_of(match[1]) if match[1] in names else match[1]

    return re.sub(r"`+([^`]+)`+", plain, re.sub(r" \(see `[^)]*\)", "", kept))
