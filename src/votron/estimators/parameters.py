"""Parameters of the estimators: their constraints, and checks of given values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)

from votron._util.registry import Registry
from votron._util.resources import effective_threads, parse_memory_limit
from votron._util.text import did_you_mean
from votron.errors import Parameter, VotronError
from votron.kernels import KERNELS, Kernel
from votron.kernels.base import kernel_class

__all__ = ["check_parameters", "parameter_constraints"]


class NameIn(StrOptions):
    """The constraint that a text be a name in a registry, or of something that another package brings to it.

    ``also`` are words that leave the choice to the model,
    ``for_rows`` tells whether a thing can predict rows to come.
    """

    def __init__(
        self,
        registry: Registry[Any],
        for_rows: Callable[[Any], bool] = lambda thing: True,
        also: tuple[str, ...] = (),
    ) -> None:
        self.registry, self._for_rows, self.also = registry, for_rows, also
        super().__init__(set())

    @property
    def options(self) -> set[str]:
        """The names that are known now."""
        return {*self.registry, *self.also}

    @options.setter
    def options(self, names: set[str]) -> None:
        """Names are registered elsewhere."""

    @property
    def options_for_rows(self) -> set[str]:
        """Those of things that can predict rows to come."""
        return {name for name, thing in self.registry.items() if self._for_rows(thing)} | set(self.also)

    def is_satisfied_by(self, val: Any) -> bool:
        """Tell whether it is such a name."""
        return isinstance(val, str) and (val in self.also or self.registry.find(val) is not None)

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, [*self.registry, *self.also]))}}}"


KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [NameIn(KERNELS, for_rows=lambda cls: not cls.pairwise), Kernel, callable],
    "degree": [Interval(Integral, 1, 2**31 - 1, closed="both")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "normalize_kernel": ["boolean"],
}
"""Values that the parameters ``kernel``, ``degree``, ``gamma``, ``coef0`` and ``normalize_kernel`` may have."""


def reads_gamma(kernel: Any) -> bool:
    """Tell whether a model's ``gamma`` matters to what its parameter ``kernel`` stands for."""
    cls = kernel_class(kernel)
    return cls is not None and "gamma" in cls.parameters()


def parameter_constraints(cls: Any) -> dict[str, tuple[Any, ...]]:
    """Return what each parameter of an estimator may be, in scikit-learn's terms."""
    return {name: tuple(allowed) for name, allowed in cls._parameter_constraints.items()}


def meant_among(allowed: Iterable[Any], value: Any) -> str:
    """Return the question whether another of the names that constraints allow was meant; nothing if none is near."""
    return did_you_mean(value, [name for each in allowed for name in getattr(each, "options", ())])


def check_parameters(estimator: Any) -> None:
    """Refuse parameters that ``fit`` would refuse, with a `VotronError` that has the parameter."""
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
