"""Parameters of the estimators: what they may be, and whether those that were given are."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints

from votron._util.resources import effective_threads, parse_memory_limit
from votron._util.text import did_you_mean
from votron.errors import Parameter, VotronError

__all__ = ["check_parameters", "parameter_constraints"]


def parameter_constraints(cls: Any) -> dict[str, tuple[Any, ...]]:
    """Return what each parameter of an estimator may be, in scikit-learn's terms.

    Parameters
    ----------
    cls : type
        The class of the estimator.

    Returns
    -------
    dict of str to tuple
        The alternatives of each parameter.

    Examples
    --------
    >>> from votron import VotedPerceptronClassifier
    >>> from votron.estimators.parameters import parameter_constraints
    >>> parameter_constraints(VotedPerceptronClassifier)["shuffle"]
    ('boolean',)
    """
    return {name: tuple(allowed) for name, allowed in cls._parameter_constraints.items()}


def meant_among(allowed: Iterable[Any], value: Any) -> str:
    """Return the question whether another of the names that constraints allow was meant; nothing if none is near.

    Examples
    --------
    >>> from votron import VotedPerceptronClassifier
    >>> meant_among(parameter_constraints(VotedPerceptronClassifier)["kernel"], "polly")
    " Did you mean 'poly'?"
    """
    return did_you_mean(value, [name for each in allowed for name in getattr(each, "options", ())])


def check_parameters(estimator: Any) -> None:
    """Refuse parameters that ``fit`` would refuse, with an error that carries the parameter.

    Parameters
    ----------
    estimator : estimator
        An estimator of Votron, fitted or not.

    Raises
    ------
    VotronError
        If one is out of its range, or of another type.

    Examples
    --------
    >>> from votron import VotedPerceptronClassifier, VotronError
    >>> from votron.estimators.parameters import check_parameters
    >>> try:
    ...     check_parameters(VotedPerceptronClassifier(kernel="poly", margin=0.0, degree=0))
    ... except VotronError as error:
    ...     print(error.parameter)
    degree
    """
    owner, params = type(estimator).__name__, estimator.get_params(deep=False)
    for name, allowed in parameter_constraints(type(estimator)).items():
        if name not in params:
            continue
        value = params[name]
        fitting = [
            each for each in allowed if each is not dict or not isinstance(value, Real)
        ]  # numbers want a sentence on numbers
        try:
            validate_parameter_constraints({name: fitting}, {name: value}, owner)
        except InvalidParameterError as error:
            rule = str(error).removeprefix(f"The {name!r} parameter of {owner}")
            raise VotronError(Parameter(name, of=owner), rule, meant_among(allowed, value)) from None
    if "memory_limit" in params:
        parse_memory_limit(params["memory_limit"], owner)
    if "n_jobs" in params:
        effective_threads(params["n_jobs"], owner)
