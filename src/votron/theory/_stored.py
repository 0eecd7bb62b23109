"""Certificates read back from what `Certificate.to_dict` returned.

It may have been in the model file of a stranger, so nothing is taken for what it should be: each value is read by
what its field allows, and numbers that no certificate has are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from votron._util.text import shortened
from votron.errors import VotronError
from votron.theory.evidence import Assumption, Measured
from votron.theory.statements import ESTIMATE, FACT, GUARANTEE

if TYPE_CHECKING:
    from votron.theory.certificate import Bound, Certificate

Reader = Callable[[Any], Any]

_MOST = 100_000
"""Entries of a list: a class each, at most."""
_LARGEST = 2**53
"""Of whole numbers, which are counts of rows and mistakes."""


def certificate_from(found: Any) -> Certificate:
    """Return the certificate of a dict; see `Certificate.from_dict`."""
    from votron.theory.certificate import Certificate

    return Certificate(**_fields(found, _CERTIFICATE, "A certificate"))


def _fields(found: Any, readers: Mapping[str, Reader], what: str) -> dict[str, Any]:
    """Return the fields of a dict, each read by its reader; others are passed over."""
    if not isinstance(found, Mapping):
        raise VotronError(f"{what} must be a dict, as to_dict returns it. Got {shortened(repr(found))} instead.")
    read = {}
    for name, reader in readers.items():
        if name not in found:
            raise VotronError(f"{what} must have {name!r}, as to_dict returns it.")
        try:
            read[name] = reader(found[name])
        except VotronError:  # of what is within it
            raise
        except (TypeError, ValueError, OverflowError):
            got = shortened(repr(found[name]))
            raise VotronError(f"{what} must have {name!r} as to_dict returns it. Got {got} instead.") from None
    return read


# -- readers: of what is not theirs they raise ValueError -------------------------------------------------------------


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError


def _text(value: Any) -> str:
    _require(isinstance(value, str))
    return str(value)


def _truth(value: Any) -> bool:
    _require(isinstance(value, bool))
    return bool(value)


def _number(value: Any) -> float:
    """Return a number; None is one that there is not."""
    _require(value is None or (isinstance(value, int | float) and not isinstance(value, bool)))
    return math.nan if value is None else float(value)


def _bound_or_none(value: Any) -> float:
    """Return a bound, which is 0 or more; None is one that there is not."""
    _require(not _number(value) < 0)
    return _number(value)


def _share(value: Any) -> float:
    _require(0 < _number(value) < 1)
    return float(value)


def _count(value: Any) -> int:
    _require(isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST)
    return int(value)


def _label(value: Any) -> Any:
    _require(value is None or isinstance(value, str | int | float))
    return value


def _one_of(*allowed: str) -> Reader:
    def read(value: Any) -> str:
        _require(value in allowed)
        return str(value)

    return read


def _or_none(reader: Reader) -> Reader:
    return lambda value: None if value is None else reader(value)


def _listed(reader: Reader) -> Reader:
    def read(value: Any) -> tuple[Any, ...]:
        _require(isinstance(value, list | tuple) and len(value) <= _MOST)
        return tuple(map(reader, value))

    return read


def _by_name(reader: Reader) -> Reader:
    def read(value: Any) -> dict[str, Any]:
        _require(isinstance(value, Mapping) and len(value) <= _MOST)
        return {_text(name): reader(each) for name, each in value.items()}

    return read


# -- what certificates are made of ------------------------------------------------------------------------------------


def _assumption(found: Any) -> Assumption:
    return Assumption(**_fields(found, _ASSUMPTION, "An assumption"))


def _bound(found: Any) -> Bound:
    from votron.theory.certificate import Bound

    read = _fields(found, _BOUND, "A bound")
    if read["joint"] is None and found.get("error") is None and read["kind"] != FACT:
        read["joint"] = math.nan  # for all classes together there is no value, and the sum of theirs is none
    return Bound(**read)


def _measured(found: Any) -> Measured:
    read = _fields(found, _MEASURED, "A measured error")
    _require(0 < read["n"] >= read["total"])
    return Measured(**read)


_ASSUMPTION: dict[str, Reader] = {
    "name": _text,
    "holds": _or_none(_truth),
    "because": _text,
    "change": _text,
    "another_run": _truth,
    "before_value": _truth,
}
_BOUND: dict[str, Reader] = {
    "name": _text,
    "formula": _text,
    "kind": _one_of(FACT, GUARANTEE, ESTIMATE),
    "quantity": _one_of("mistakes", "support", "error"),
    "predictor": _text,
    "values": _listed(_number),
    "remarks": _listed(_text),
    "total": _bound_or_none,
    "assumptions": _listed(_assumption),
    "joint": _or_none(_bound_or_none),
    "event": _text,
}
_MEASURED: dict[str, Reader] = {"errors": _listed(_count), "total": _count, "n": _count}
_CERTIFICATE: dict[str, Reader] = {
    "model": _text,
    "predictor": _text,
    "labels": _listed(_label),
    "m": _count,
    "epochs": _number,
    "delta": _share,
    "tau": _number,
    "radius": _number,
    "mistakes": _or_none(_listed(_count)),
    "support": _listed(_count),
    "support_known": _truth,
    "margins": _by_name(_listed(_number)),
    "normalized_margins": _by_name(_listed(_number)),
    "bounds": _listed(_bound),
    "measured": _by_name(_measured),
    "test_data": _or_none(_assumption),
    "trained_jointly": _truth,
}
