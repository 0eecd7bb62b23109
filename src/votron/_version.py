"""The version of Votron."""

__version__ = "0.1.0"
