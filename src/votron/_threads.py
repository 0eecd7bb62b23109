"""Teams of threads, which are in `votron._resources`, for the modules that still look for them here."""

from votron._resources import Team, pieces, team

__all__ = ["Team", "pieces", "team"]
