"""The constraint on parameters that are names of kernels, rules and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.utils._param_validation import StrOptions

from votron._registry import Registry


class NameIn(StrOptions):
    """The constraint that a text be a name in a registry, or of something that another package brings to it.

    Parameters
    ----------
    registry : Registry
        The registry; what is registered later counts as well.
    for_rows : callable, optional
        Tells of a thing whether it can predict rows to come.
    """

    def __init__(self, registry: Registry[Any], for_rows: Callable[[Any], bool] = lambda thing: True) -> None:
        self.registry, self._for_rows = registry, for_rows
        super().__init__(set())

    @property
    def options(self) -> set[str]:
        """The names that are known now."""
        return set(self.registry)

    @options.setter
    def options(self, names: set[str]) -> None:
        """Names are registered elsewhere."""

    @property
    def options_for_rows(self) -> set[str]:
        """Those of things that can predict rows to come."""
        return {name for name, thing in self.registry.items() if self._for_rows(thing)}

    def is_satisfied_by(self, val: Any) -> bool:
        """Tell whether it is such a name."""
        return isinstance(val, str) and self.registry.find(val) is not None

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, self.registry))}}}"
