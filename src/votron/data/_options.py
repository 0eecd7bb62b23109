"""What users say about the data to read, checked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from votron.data._budget import MAX_BYTES
from votron.data._csv import NA_VALUES
from votron.data._frame_examples import TableOptions
from votron.data.formats import FORMATS, KINDS, LABELS, MISSING, stands_between
from votron.errors import Parameter, VotronError


@dataclass(frozen=True)
class ReadOptions:
    """The parameters of `read_examples`, as given; see there."""

    label: str | int | os.PathLike[str] | None = None
    labels: str = "required"
    label_kind: str | None = None
    format: str | None = None
    drop: Iterable[str | int] = ()
    missing: str = "refuse"
    na_values: Iterable[str] | None = None
    columns: Mapping[str, str] | None = None
    as_text: Iterable[str] = ()
    n_features: int | None = None
    zero_based: bool | None = None
    max_bytes: int = MAX_BYTES
    part: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    quote: str | None = None
    colour: bool = False
    resize: tuple[int, int] | None = None

    @classmethod
    def of(cls, owner: str, parameters: Mapping[str, Any]) -> Self:
        """Return what a function was given, of its parameters those that are meant for here; refuse what is no use."""
        given = {name: parameters[name] for name in cls.__dataclass_fields__}
        for name in ("drop", "na_values", "as_text"):
            if isinstance(given[name], Iterator):  # they are looked at more than once
                given[name] = tuple(given[name])
        options = cls(**given)
        options.check(owner)
        return options

    def check(self, owner: str) -> None:
        """Refuse what cannot be meant."""
        self._check_choice(owner, "labels", LABELS)
        self._check_choice(owner, "label_kind", (None, *KINDS))
        self._check_choice(owner, "missing", MISSING)
        self._check_choice(owner, "format", (None, *FORMATS))
        self._check_choice(owner, "part", (None, "train", "test"))
        self._check_choice(owner, "header", (None, True, False))
        self._check_choice(owner, "zero_based", (None, True, False))
        self._check_columns(owner)
        self._check_names(owner)
        self._check_characters(owner)
        for name in ("max_bytes", "n_features"):
            if getattr(self, name) is not None:
                check_count(owner, name, getattr(self, name))
        if self.resize is not None and not _is_size(self.resize):
            raise _refusal(owner, "resize", "be a height and a width, two ints in the range [1, inf)", self.resize)

    def _check_choice(self, owner: str, name: str, choices: tuple[Any, ...]) -> None:
        given = getattr(self, name)
        if not any(given is choice or (isinstance(given, str) and given == choice) for choice in choices):
            raise _refusal(owner, name, f"be one of {_listed(choices)}", given)

    def _check_columns(self, owner: str) -> None:
        rule = f"map names of columns to one of {_listed(KINDS)}"
        if self.columns is not None and not isinstance(self.columns, Mapping):
            raise _refusal(owner, "columns", rule, self.columns)
        for name, kind in (self.columns or {}).items():
            if not isinstance(name, str) or kind not in KINDS:
                raise _refusal(owner, "columns", rule, kind if isinstance(name, str) else name)

    def _check_names(self, owner: str) -> None:
        for name, types, rule in (
            ("na_values", str, "be texts"),
            ("as_text", str, "be names of columns"),
            ("drop", str | int, "be names or numbers of columns"),
        ):
            given = getattr(self, name)
            if given is None or isinstance(given, types):
                continue
            if not isinstance(given, Iterable):
                raise _refusal(owner, name, rule, given)
            for one in given:
                if not isinstance(one, types):
                    raise _refusal(owner, name, rule, one)

    def _check_characters(self, owner: str) -> None:
        for name in ("delimiter", "quote"):
            given = getattr(self, name)
            if given is None or (given == "" and name == "quote"):
                continue
            if not (isinstance(given, str) and stands_between(given)):
                raise _refusal(owner, name, "be one character, no letter or digit and not the end of a line", given)
        if self.delimiter is not None and self.delimiter in ('"', "'", self.quote):
            raise _refusal(owner, "delimiter", "be another character than that around fields", self.delimiter)

    @property
    def nothing(self) -> tuple[str, ...]:
        """The texts that mean that a value is missing."""
        given = NA_VALUES if self.na_values is None else self.na_values
        return tuple(dict.fromkeys(["", *([given] if isinstance(given, str) else given)]))

    @property
    def table(self) -> TableOptions:
        """What concerns tables."""
        return TableOptions(
            label=os.fspath(self.label) if isinstance(self.label, os.PathLike) else self.label,
            labels=self.labels,
            label_kind=self.label_kind,
            drop=(self.drop,) if isinstance(self.drop, str | int) else tuple(self.drop),
            missing=self.missing,
            columns=self.columns,
            as_text=frozenset([self.as_text] if isinstance(self.as_text, str) else self.as_text),
        )


def check_count(owner: str, name: str, given: Any) -> None:
    """Refuse what is no int from 1 on."""
    if not _is_count(given):
        raise _refusal(owner, name, "be an int in the range [1, inf)", given)


def _is_count(given: Any) -> bool:
    return isinstance(given, int | np.integer) and not isinstance(given, bool) and bool(given >= 1)


def _is_size(given: Any) -> bool:
    try:
        sides = tuple(given)
    except TypeError:
        return False
    return len(sides) == 2 and all(map(_is_count, sides))


def _listed(choices: Iterable[Any]) -> str:
    return ", ".join(map(repr, choices))


def _refusal(owner: str, name: str, rule: str, got: Any) -> VotronError:
    return VotronError(Parameter(name, of=owner), f" must {rule}. Got {got!r} instead.")
