"""How much of everything a visitor may have: one place, so that they can be read and tested together."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Limits of the server."""

    body: int = 64 * 1024
    examples: int = 300
    games: int = 1000
    idle: float = 1800.0
    request: float = 20.0
    connections: int = 512
