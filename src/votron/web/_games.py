"""The games that are going on: so many at once, each forgotten when nobody has asked for it for a while."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable

from fastapi import HTTPException

from votron.web._game import PlaneGame
from votron.web._schemas import Limits

__all__ = ["Games"]


class Games:
    """Games by their id, those asked for last at the end."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits, self._clock = limits, clock
        self._games: OrderedDict[str, tuple[float, PlaneGame]] = OrderedDict()

    def __len__(self) -> int:
        self._forget()
        return len(self._games)

    def __getitem__(self, name: str) -> PlaneGame:
        self._forget()
        if name not in self._games:
            raise HTTPException(404, "There is no such game, or it has been forgotten: begin it again from its moves.")
        game = self._games[name][1]
        self[name] = game
        return game

    def __setitem__(self, name: str, game: PlaneGame) -> None:
        self._games[name] = self._clock(), game
        self._games.move_to_end(name)

    def add(self, game: PlaneGame) -> str:
        """Keep a new game; return its id, which cannot be guessed."""
        self._forget()
        if len(self._games) >= self.limits.games:
            raise HTTPException(503, "There are too many games at once: try again in a few minutes.")
        name = secrets.token_urlsafe(12)
        self[name] = game
        return name

    def end(self, name: str) -> None:
        """Forget a game."""
        self._games.pop(name, None)

    def _forget(self) -> None:
        """Forget what nobody has asked for in a while."""
        oldest = self._clock() - self.limits.idle
        while self._games and next(iter(self._games.values()))[0] < oldest:
            self._games.popitem(last=False)
