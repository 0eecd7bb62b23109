"""Parameters of the estimators: their constraints, and checks of given values."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints

from votron._util.resources import effective_threads, parse_memory_limit
from votron._util.text import did_you_mean
from votron._util.types import Estimator
from votron.errors import VotronError

__all__ = ["check_parameters", "parameter_constraints"]


def parameter_constraints(cls: Any) -> dict[str, tuple[Any, ...]]:
    """Return what each parameter of an estimator may be, in scikit-learn's terms."""
    return {name: tuple(allowed) for name, allowed in cls._parameter_constraints.items()}


def meant_among(allowed: Iterable[Any], value: Any) -> str:
    """Return the question whether another of the names that constraints allow was meant; nothing if none is near."""
    return did_you_mean(value, [name for each in allowed for name in getattr(each, "options", ())])


def check_parameters(estimator: Estimator) -> None:
    """Refuse parameters that ``fit`` would refuse, with a `VotronError` that has the parameter."""
    owner, params = type(estimator).__name__, estimator.get_params(deep=False)
    for name, allowed in parameter_constraints(type(estimator)).items():
        if name not in params:
            continue
        value = params[name]
        number = isinstance(value, Real)  # which wants a sentence on numbers
        fitting = [each for each in allowed if each is not dict or not number]
        try:
            validate_parameter_constraints({name: fitting}, {name: value}, owner)
        except InvalidParameterError as error:
            rule = str(error).removeprefix(f"The {name!r} parameter of {owner}")
            raise VotronError(
                f"The {name!r} parameter of {owner}{rule}{meant_among(allowed, value)}",
                parameter=name,
            ) from None
    if "memory_limit" in params:
        parse_memory_limit(params["memory_limit"], owner)
    if "n_jobs" in params:
        effective_threads(params["n_jobs"], owner)
