"""How much of everything a visitor may have: one place, so that they can be read and tested together."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Limits of the server.

    Attributes
    ----------
    body : int
        Bytes of a request.
    examples : int
        Examples that a game may have.
    games : int
        Games at once.
    idle : float
        Seconds after which a game that nobody has asked for is forgotten.
    request : float
        Seconds that a request may take to arrive, and to be answered.
    connections : int
        Connections at once; more are answered with status 503.

    Examples
    --------
    >>> Limits().examples
    300
    """

    body: int = 64 * 1024
    examples: int = 300
    games: int = 1000
    idle: float = 1800.0
    request: float = 20.0
    connections: int = 512
