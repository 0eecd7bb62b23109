"""Checks of the parameters of bounds, each with its sentence."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from votron.errors import Parameter, VotronError


def _number(name: str, value: Any, kind: Any, what: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool) or not math.isfinite(value):
        raise VotronError(Parameter(name, of="a bound", short=True), f" must be {what}. Got {value!r} instead.")
    return value


def count(name: str, value: Any, least: int) -> int:
    """Return a whole number, or say that it is none."""
    what = f"an int in the range [{least}, inf)"
    if _number(name, value, Integral, what) < least:
        raise VotronError(Parameter(name, of="a bound", short=True), f" must be {what}. Got {value!r} instead.")
    return int(value)


def not_negative(name: str, value: Any) -> float:
    """Return a number that is not negative, or say that it is none."""
    what = "a number in the range [0, inf)"
    if _number(name, value, Real, what) < 0:
        raise VotronError(Parameter(name, of="a bound", short=True), f" must be {what}. Got {value!r} instead.")
    return float(value)


def share(name: str, value: Any) -> float:
    """Return a number above 0 and up to 1, or say that it is none."""
    what = "a number in the range (0, 1]"
    if not 0 < _number(name, value, Real, what) <= 1:
        raise VotronError(Parameter(name, of="a bound", short=True), f" must be {what}. Got {value!r} instead.")
    return float(value)


def positive_margin(owner: str, value: Any) -> float:
    """Return a margin, or say that it is none."""
    if _number("margin", value, Real, "a positive number") <= 0:
        raise VotronError(
            Parameter("margin", of=owner, short=True),
            f" must be a positive number: a vector that does not separate the examples has no "
            f"margin, and inseparable_bound is for those. Got {value!r} instead.",
        )
    return float(value)


def probability(value: Any) -> float:
    """Return δ, or say that it is none."""
    if not 0 < _number("delta", value, Real, "a number in the range (0, 1)") < 1:
        raise VotronError(
            Parameter("delta", of="a bound", short=True),
            f" must be a number in the range (0, 1). Got {value!r} instead.",
        )
    return float(value)
