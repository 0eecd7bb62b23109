"""Things that are known by name, and can be added to from outside the package."""

from __future__ import annotations

import importlib.metadata
from typing import Any, TypeVar

from votron.errors import VotronError

Thing = TypeVar("Thing")

REGISTRIES: list[Registry[Any]] = []
"""All there are."""


class Registry(dict[str, Thing]):
    """A dict of things by name, in the order in which they were registered.

    Other packages add to it when they are imported; or they name what they bring as entry points of a group, which are
    looked at only for a name that is not known.

    Parameters
    ----------
    what : str
        What such a thing is called in a sentence.
    group : str
        The group of entry points.

    Examples
    --------
    >>> shapes = Registry("shape", "votron.no-such-group")
    >>> shapes.register("round", "a circle")
    >>> shapes.find("round"), shapes.find("square")
    ('a circle', None)
    >>> shapes.register("round", "a ball")
    Traceback (most recent call last):
        ...
    votron.errors.VotronError: There is a shape of the name 'round' already: 'a circle'.
    """

    def __init__(self, what: str, group: str) -> None:
        super().__init__()
        self.what, self.group = what, group
        REGISTRIES.append(self)

    def register(self, name: str, thing: Thing) -> None:
        """Add a thing; the same one may be added again, as when a notebook's cell is run twice."""
        known = self.get(name)
        if known is not None and _origin(known) != _origin(thing):
            raise VotronError(f"There is a {self.what} of the name {name!r} already: {known!r}.")
        self[name] = thing

    def find(self, name: str) -> Thing | None:
        """Return the thing of a name, one that another package brings if need be; None if there is none."""
        if name not in self:
            for entry in importlib.metadata.entry_points(group=self.group, name=name):
                self.register(name, entry.load())
        return self.get(name)


def _origin(thing: Any) -> Any:
    """Return where a class, or the class of an object, was defined; of other things the thing itself."""
    cls = thing if isinstance(thing, type) else type(thing)
    return thing if cls.__module__ == "builtins" else (cls.__module__, cls.__qualname__)
