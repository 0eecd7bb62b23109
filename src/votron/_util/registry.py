"""Things that are known by name, and can be added to from outside the package: kernels, rules, formats and bounds.

Each of them has a registry, and a function ``register_...`` that adds to it and can stand above a class as a decorator.
A package that brings such things names them as entry points of the registry's group, by their names; then they are
found without that call wherever users ask for them (but not where a model file does, which imports nothing).
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any, TypeVar

from votron.errors import VotronError

Candidate = TypeVar("Candidate")
Thing = TypeVar("Thing")

REGISTRIES: list[Registry[Any]] = []
"""All there are."""


class Registry(dict[str, Thing]):
    """A dict of things by name, in the order in which they were registered."""

    def __init__(
        self,
        what: str,
        group: str,
        admit: Callable[[Any], tuple[str, Thing]],
        origin: Callable[[Thing], Any] | None = None,
    ) -> None:
        super().__init__()
        self.what, self.group = what, group
        self._admit, self._origin = admit, origin or _place_of_class
        REGISTRIES.append(self)

    def register(self, candidate: Candidate) -> Candidate:
        """Check a candidate and add it, or refuse it; return it."""
        self._add(candidate)
        return candidate

    def bring(self, name: str) -> list[str]:
        """Register what other packages bring as entry points of this name; return what these things are called."""
        return [self._add(entry.load()) for entry in importlib.metadata.entry_points(group=self.group, name=name)]

    def _add(self, candidate: Any) -> str:
        name, thing = self._admit(candidate)
        known = self.get(name)
        if known is not None and self._origin(known) != self._origin(thing):
            raise VotronError(f"There is a {self.what} of the name {name!r} already: {known!r}.")
        self[name] = thing
        return name

    def find(self, name: str) -> Thing | None:
        """Return the thing of a name, one that another package brings if need be; None if there is none."""
        for brought in self.bring(name) if name not in self else ():
            if brought != name:
                raise VotronError(
                    f"The {self.what} that the entry point {name!r} of {self.group} brings is called {brought!r}: "
                    "both names must be the same."
                )
        return self.get(name)

    def __missing__(self, name: str) -> Thing:
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        return found


def objects_of(what: str, *bases: type[Any]) -> Callable[[Any], tuple[str, Any]]:
    """Return a check that admits named subclasses of ``bases``, or instances, and returns the name and the instance."""
    *others, last = (base.__name__ for base in bases)
    derived = f"{', '.join(others)} or {last}" if others else last

    def admit(candidate: Any) -> tuple[str, Any]:
        cls: Any = candidate if isinstance(candidate, type) else type(candidate)
        if not (issubclass(cls, bases) and cls.name):
            raise VotronError(
                f"A {what} to register must be a class derived from {derived}, with a name. Got {candidate!r} instead."
            )
        return cls.name, candidate() if isinstance(candidate, type) else candidate

    return admit


def _place_of_class(thing: Any) -> tuple[str, str]:
    cls = thing if isinstance(thing, type) else type(thing)
    return cls.__module__, cls.__qualname__
