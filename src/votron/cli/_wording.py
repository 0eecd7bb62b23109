"""Errors in the words of the command line: a parameter is an option, and ``open_batches`` is ``--stream``."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from votron.errors import Parameter, Phrase, VotronError

_OTHER_NAMES = {"as_text": "discrete", "max_bytes": "max_expanded", "n_features": "features"}
"""Parameters whose options are called otherwise."""
_PHRASES = {
    "batches": "--stream",
    "classes": "",
    "in batches": "train from it with --stream",
    "rows": " in {n} rows",
    "shared": "--probabilities and --discrete",
}
"""What the command line says instead of words about functions, with what it needs of their facts."""


def sentence(error: VotronError, words: Mapping[str, str] | None = None) -> str:
    """Return what an error says in the words of options; ``words`` replace those of some parameters and phrases.

    Examples
    --------
    >>> error = VotronError("The column 'label' is there: leave ", Parameter("label"), " out.")
    >>> sentence(error), sentence(error, {"label": "--target"})
    ("The column 'label' is there: leave --label out.", "The column 'label' is there: leave --target out.")
    """
    other = words or {}

    def spell(reference: Parameter | Phrase) -> str | None:
        if reference.name in other:
            return other[reference.name]
        return _as_option(reference) if isinstance(reference, Parameter) else _phrase(reference)

    return error.worded(spell)


@contextmanager
def worded(words: Mapping[str, str]) -> Iterator[None]:
    """Let errors say some things otherwise than other commands do."""
    try:
        yield
    except VotronError as error:
        raise type(error)(sentence(error, words)) from None


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
    >>> as_typed(None), as_typed((0.25, 0.75)), as_typed(1 / 3)
    ('none', '0.25,0.75', '0.3333333333333333')
    """
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return ",".join(map(as_typed, value))
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)  # to be read back to the last bit
    return str(value)


def did_you_mean(typed: str, known: Sequence[str], *, quoted: bool = False) -> str:
    """Return the question whether a name like the one typed was meant; nothing if there is none.

    Examples
    --------
    >>> did_you_mean("Ply", ["Temp", "Play"], quoted=True), did_you_mean("--jsn", ["--json"]), did_you_mean("x", [])
    (" Did you mean 'Play'?", ' Did you mean --json?', '')
    """
    near = difflib.get_close_matches(typed, known, n=1)
    return f" Did you mean {repr(near[0]) if quoted else near[0]}?" if near else ""


def _as_option(parameter: Parameter) -> str | None:
    if parameter.short:  # of a bound, a step of a model file and the like, which have no options
        return None
    if parameter.value is ...:
        return option_of(parameter.name)
    return shlex.join(as_arguments({parameter.name: parameter.value}))


def _phrase(phrase: Phrase) -> str | None:
    if phrase.name == "meant":
        return did_you_mean(str(phrase.facts["got"]), phrase.facts["names"], quoted=True)
    words = _PHRASES.get(phrase.name)
    return None if words is None else words.format(**phrase.facts)
