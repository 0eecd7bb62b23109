"""Methods that an object has only where nothing speaks against them."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from votron.errors import VotronError


class AvailableUnless:
    """A method that an object has only where ``why_not`` finds no reason against it; asking elsewhere tells the reason.

    scikit-learn's ``available_if`` does the same, but says only that there is no such attribute. The `AttributeError`
    has the reason, which is an error with its parameter, as its cause.

    Examples
    --------
    >>> class Bird:
    ...     wings = 0
    ...     def _why_not(self):
    ...         return None if self.wings else VotronError("It takes wings to fly.")
    ...     fly = AvailableUnless(_why_not, lambda bird: "up")
    >>> hasattr(Bird(), "fly")
    False
    >>> Bird().fly
    Traceback (most recent call last):
        ...
    AttributeError: It takes wings to fly.
    """

    def __init__(self, why_not: Callable[[Any], VotronError | None], method: Callable[..., Any]) -> None:
        self._why_not, self._method = why_not, method
        update_wrapper(self, method)  # type: ignore[arg-type]  # it is no callable: that is the point

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        if obj is None:
            return self._method
        reason = self._why_not(obj)
        if reason is not None:
            raise AttributeError(str(reason)) from reason
        return self._method.__get__(obj, owner)
