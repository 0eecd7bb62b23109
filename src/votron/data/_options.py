"""What users say about the data to read, checked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from votron.data._csv import NA_VALUES
from votron.data._frame_examples import TableOptions
from votron.data._sources import MAX_BYTES
from votron.errors import VotronError

FORMATS = ("csv", "tsv", "parquet", "arrow", "svmlight", "idx", "npy", "npz", "images")
TABLES = ("csv", "tsv", "parquet", "arrow")
LABELS = ("required", "optional", "none")
MISSING = ("refuse", "drop", "keep")
KINDS = ("number", "text", "truth")


@dataclass(frozen=True)
class ReadOptions:
    """The parameters of `read_examples`, as given; see there."""

    label: str | int | os.PathLike[str] | None = None
    labels: str = "required"
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

    def check(self, owner: str) -> None:
        """Refuse what cannot be meant."""
        self._check_choice(owner, "labels", LABELS)
        self._check_choice(owner, "missing", MISSING)
        self._check_choice(owner, "format", (None, *FORMATS))
        self._check_choice(owner, "part", (None, "train", "test"))
        self._check_choice(owner, "header", (None, True, False))
        for kind in (self.columns or {}).values():
            if kind not in KINDS:
                raise _refusal(owner, "columns", f"map columns to one of {_listed(KINDS)}", kind)
        for name in ("delimiter", "quote"):
            given = getattr(self, name)
            plain = isinstance(given, str) and given.isascii() and given not in ("\r", "\n") and len(given) <= 1
            if given is not None and not (plain and (given or name == "quote")):
                raise _refusal(owner, name, "be one character, and not the end of a line", given)
        for name, least in (("max_bytes", 1), ("n_features", 1)):
            given = getattr(self, name)
            if given is not None and (not isinstance(given, int) or isinstance(given, bool) or given < least):
                raise _refusal(owner, name, f"be an int in the range [{least}, inf)", given)

    def _check_choice(self, owner: str, name: str, choices: tuple[Any, ...]) -> None:
        given = getattr(self, name)
        if not any(given is choice or (isinstance(given, str) and given == choice) for choice in choices):
            raise _refusal(owner, name, f"be one of {_listed(choices)}", given)

    @property
    def nothing(self) -> tuple[str, ...]:
        """The texts that mean that a value is missing."""
        given = NA_VALUES if self.na_values is None else self.na_values
        return tuple(dict.fromkeys(["", *([given] if isinstance(given, str) else given)]))

    @property
    def table(self) -> TableOptions:
        """What concerns tables."""
        label = os.fspath(self.label) if isinstance(self.label, os.PathLike) else self.label
        drop = (self.drop,) if isinstance(self.drop, str | int) else tuple(self.drop)
        texts = frozenset([self.as_text] if isinstance(self.as_text, str) else self.as_text)
        return TableOptions(label, self.labels, drop, self.missing, self.columns, texts)


def _listed(choices: Iterable[Any]) -> str:
    return ", ".join(map(repr, choices))


def _refusal(owner: str, name: str, rule: str, got: Any) -> VotronError:
    return VotronError(f"The {name!r} parameter of {owner} must {rule}. Got {got!r} instead.")
