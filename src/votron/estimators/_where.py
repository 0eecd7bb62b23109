"""Methods that an object has only where they make sense."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any


class WhereItMakesSense:
    """A method that an object has only where ``why_not`` finds no reason against it; asking elsewhere tells the reason.

    scikit-learn's ``available_if`` does the same, but says only that there is no such attribute.

    Examples
    --------
    >>> class Bird:
    ...     wings = 0
    ...     fly = WhereItMakesSense(lambda bird: None if bird.wings else "It takes wings to fly.", lambda bird: "up")
    >>> hasattr(Bird(), "fly")
    False
    >>> Bird().fly
    Traceback (most recent call last):
        ...
    AttributeError: It takes wings to fly.
    """

    def __init__(self, why_not: Callable[[Any], str | None], method: Callable[..., Any]) -> None:
        self._why_not, self._method = why_not, method
        update_wrapper(self, method)  # type: ignore[arg-type]  # it is no callable: that is the point

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        if obj is None:
            return self._method
        reason = self._why_not(obj)
        if reason is not None:
            raise AttributeError(reason)
        return self._method.__get__(obj, owner)
