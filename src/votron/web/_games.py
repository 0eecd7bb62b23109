"""The games that are going on: so many at once, of which those that nobody has asked for longest are forgotten."""

from __future__ import annotations

import secrets
from collections import OrderedDict

from fastapi import HTTPException

from votron.web._game import PlaneGame

__all__ = ["Games"]


class Games(OrderedDict[str, PlaneGame]):
    """Games by their id, those asked for last at the end."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __getitem__(self, name: str) -> PlaneGame:
        if name not in self:
            raise HTTPException(404, "There is no such game, or it has been forgotten: begin it again from its moves.")
        self.move_to_end(name)
        return super().__getitem__(name)

    def add(self, game: PlaneGame) -> str:
        """Keep a new game; return its id, which cannot be guessed."""
        name = secrets.token_urlsafe(12)
        self[name] = game
        if len(self) > self.most:
            self.popitem(last=False)
        return name
