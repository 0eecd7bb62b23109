"""Kernels, rules, formats and bounds by name, open to other packages.

A package names what it brings as entry points of the registry's group; they are loaded when a name is not known.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any, TypeVar

from votron._util.text import did_you_mean
from votron.errors import VotronError

Candidate = TypeVar("Candidate")
Thing = TypeVar("Thing")


class Registry(dict[str, Thing]):
    """A dict of things by name; ``registry[name]`` also looks among the entry points of installed packages."""

    def __init__(
        self,
        what: str,
        group: str,
        admit: Callable[[Any], tuple[str, Thing]],
        origin: Callable[[Thing], object] | None = None,
    ) -> None:
        super().__init__()
        self.what, self.group = what, group
        self._admit, self._origin = admit, origin or _place_of_class

    def register(self, candidate: Candidate) -> Candidate:
        """Check a candidate, add it and return it; a name is taken once, except to define the same thing again."""
        name, thing = self._admit(candidate)
        known = self.get(name)
        if known is not None and self._origin(known) != self._origin(thing):
            raise VotronError(f"There is a {self.what} of the name {name!r} already: {known!r}.")
        self[name] = thing
        return candidate

    def load(self, name: str) -> bool:
        """Register what installed packages bring under this name; tell whether the name is known now."""
        for entry in importlib.metadata.entry_points(group=self.group, name=name):
            self.register(entry.load())
        return name in self

    def __missing__(self, name: str) -> Thing:
        if self.load(name):
            return self[name]
        known = ", ".join(map(repr, self))
        raise VotronError(f"The {self.what} must be one of {known}. Got {name!r} instead.{did_you_mean(name, self)}")


def objects_of(what: str, *bases: type[Any]) -> Callable[[Any], tuple[str, Any]]:
    """Return a check that admits named subclasses of ``bases``, or instances, and returns the name and the instance."""

    def admit(candidate: Any) -> tuple[str, Any]:
        thing = candidate() if isinstance(candidate, type) and issubclass(candidate, bases) else candidate
        if not (isinstance(thing, bases) and thing.name):
            known = " or ".join(base.__name__ for base in bases)
            raise VotronError(
                f"A {what} to register must be a class derived from {known}, with a name. Got {candidate!r} instead."
            )
        return thing.name, thing

    return admit


def _place_of_class(thing: object) -> tuple[str, str]:
    cls = thing if isinstance(thing, type) else type(thing)
    return cls.__module__, cls.__qualname__
