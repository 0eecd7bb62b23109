"""Things that are known by name, and can be added to from outside the package."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any, TypeVar

from votron.errors import VotronError

Thing = TypeVar("Thing")

REGISTRIES: list[Registry[Any]] = []
"""All there are."""


class Registry(dict[str, Thing]):
    """A dict of things by name, in the order in which they were registered.

    Other packages add to it when they are imported; or they name what they bring as entry points of a group, which are
    looked at only where a name that is not known is asked for: by ``find``, or by ``registry[name]``. ``name in
    registry`` looks at nothing, and so do model files.

    Parameters
    ----------
    what : str
        What such a thing is called in a sentence.
    group : str
        The group of entry points.
    admit : callable
        Takes what is to be registered, checks it, and returns its name and the thing to keep.
    origin : callable, optional
        Returns of a thing what tells whether it is the same one, defined again as when a notebook's cell is run twice;
        by default the place where its class is defined.

    Examples
    --------
    >>> shapes = Registry("shape", "votron.no-such-group", lambda shape: (shape["name"], shape), id)
    >>> circle = shapes.register({"name": "round", "sides": 1})
    >>> shapes.find("round") is circle, shapes.find("square")
    (True, None)
    >>> shapes.register({"name": "round", "sides": 2})
    Traceback (most recent call last):
        ...
    votron.errors.VotronError: There is a shape of the name 'round' already: {'name': 'round', 'sides': 1}.
    """

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

    def register(self, candidate: Any) -> Thing:
        """Check a candidate and add it; return what is kept of it."""
        return self._keep(*self._admit(candidate))

    def _keep(self, name: str, thing: Thing) -> Thing:
        known = self.get(name)
        if known is not None and self._origin(known) != self._origin(thing):
            raise VotronError(f"There is a {self.what} of the name {name!r} already: {known!r}.")
        self[name] = thing
        return thing

    def find(self, name: str) -> Thing | None:
        """Return the thing of a name, one that another package brings if need be; None if there is none."""
        if name not in self:
            for entry in importlib.metadata.entry_points(group=self.group, name=name):
                brought, thing = self._admit(entry.load())
                if brought != name:
                    raise VotronError(
                        f"The {self.what} that the entry point {name!r} of {self.group} brings is called {brought!r}: "
                        "both names must be the same."
                    )
                self._keep(name, thing)
        return self.get(name)

    def __missing__(self, name: str) -> Thing:
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        return found


def _place_of_class(thing: Any) -> tuple[str, str]:
    cls = thing if isinstance(thing, type) else type(thing)
    return cls.__module__, cls.__qualname__
