"""The errors that Votron raises on purpose, and the parameters that their sentences speak of.

All are a `ValueError`, so code that does not know Votron handles them as it handles scikit-learn's.

A sentence is made of parts: texts, and references to what another interface calls otherwise, a `Parameter` or a
`Phrase`. Python reads ``missing='drop'`` where the command line reads ``--missing drop``. What users wrote, such as the
name of a column, is text, and is never taken for a reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = [
    "BoundViolatedError",
    "DataError",
    "IndefiniteKernelError",
    "MissingPackageError",
    "ModelFileError",
    "NotRepresentableError",
    "Parameter",
    "Phrase",
    "VotronError",
]


# -- what sentences refer to ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """A parameter, as a part of a sentence.

    Parameters
    ----------
    name : str
        What it is called in Python.
    value : object, optional
        The value that the sentence speaks of.
    of : str, optional
        The class or function whose parameter it is, where the sentence says so.
    short : bool, default=False
        Whether the word "parameter" is left out there.

    Examples
    --------
    >>> from votron.errors import Parameter
    >>> print(Parameter("missing"), Parameter("missing", "drop"), Parameter("degree", of="PolynomialKernel"), sep="; ")
    missing; missing='drop'; the 'degree' parameter of PolynomialKernel
    """

    name: str
    value: Any = ...
    of: str | None = None
    short: bool = False

    def __str__(self) -> str:
        if self.of is not None:
            return f"the {self.name!r} {'' if self.short else 'parameter '}of {self.of}"
        return self.name if self.value is ... else f"{self.name}={self.value!r}"


class Phrase:
    """Words of a sentence that another interface may replace by its own, known by a name.

    Parameters
    ----------
    name : str
        What the words are about.
    *parts : str, Parameter or Phrase
        The words in Python.
    **facts : object
        What other words may need to know; ``parameter`` is the name of the one that these are about.

    Examples
    --------
    >>> from votron.errors import Phrase
    >>> print(Phrase("in batches", "read it in batches with open_batches"))
    read it in batches with open_batches
    """

    def __init__(self, name: str, *parts: Part, **facts: Any) -> None:
        self.name, self.parts, self.facts = name, parts, facts

    def __str__(self) -> str:
        return _worded(self.parts, _as_in_python)


# -- errors -----------------------------------------------------------------------------------------------------------


class VotronError(ValueError):
    """Base of all errors that Votron raises on purpose.

    Parameters
    ----------
    *parts : str, Parameter, Phrase or VotronError
        What the sentence consists of, one after the other.
    parameter : str, optional
        The parameter that the sentence is about. The command line puts its option in front of the message.

    Examples
    --------
    >>> from votron.errors import DataError, Parameter, VotronError
    >>> try:
    ...     raise DataError("Say which column of 'label.csv' holds the labels, with ", Parameter("label"), ".")
    ... except VotronError as error:
    ...     print(error)
    ...     print(error.parameter)
    ...     print(error.worded(lambda reference: f"--{reference.name}"))
    Say which column of 'label.csv' holds the labels, with label.
    label
    Say which column of 'label.csv' holds the labels, with --label.
    """

    def __init__(self, *parts: Part, parameter: str | None = None) -> None:
        super().__init__(*([_worded(parts, _as_in_python)] if parts else []))
        self._parameter = parameter
        self._parts = parts  # beside the arguments, so that copies and pickles have them too

    @property
    def parameter(self) -> str | None:
        """The name of the parameter that the sentence is about, the first of several; None if it names none."""
        return self._parameter or next(_parameters(self._parts), None)

    def worded(self, spell: Speller) -> str:
        """Return the sentence with references as ``spell`` writes them, or as in Python where that returns None."""
        return _worded(self._parts, spell)


class DataError(VotronError):
    """Data, or a file of data, that cannot be what it should be."""


class NotRepresentableError(VotronError):
    """A number that training or prediction needs does not fit into a float64.

    A polynomial kernel of a high degree on unscaled data is the usual way to get there.
    """


class IndefiniteKernelError(VotronError):
    """A kernel gave values that no inner product can give, such as K(x, x) < 0."""


class ModelFileError(VotronError):
    """A file that cannot be the model file it should be, or a model that cannot be put into one."""


class MissingPackageError(VotronError, ImportError):
    """A package is not installed that this part of Votron needs."""


class BoundViolatedError(VotronError):
    """A training run breaks a mistake bound, which no run can: an error in Votron, not in what it was given."""


# -- sentences --------------------------------------------------------------------------------------------------------

Part = str | Parameter | Phrase | VotronError
Speller = Callable[[Parameter | Phrase], str | None]


def _as_in_python(reference: Parameter | Phrase) -> None:
    return None


def _worded(parts: tuple[Part, ...], spell: Speller) -> str:
    text = "".join(_spelled(part, spell) for part in parts)
    begins = parts and isinstance(parts[0], Parameter) and parts[0].of is not None
    return text[:1].upper() + text[1:] if begins else text


def _spelled(part: Part, spell: Speller) -> str:
    if isinstance(part, VotronError):
        return part.worded(spell)
    other = spell(part) if isinstance(part, Parameter | Phrase) else None
    if other is not None:
        return other
    return _worded(part.parts, spell) if isinstance(part, Phrase) else str(part)


def _parameters(parts: tuple[Part, ...]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Parameter):
            yield part.name
        elif isinstance(part, Phrase):
            yield from [part.facts["parameter"]] if "parameter" in part.facts else _parameters(part.parts)
        elif isinstance(part, VotronError):
            yield from _parameters(part._parts)
