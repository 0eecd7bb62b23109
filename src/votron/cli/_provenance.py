"""Provenance of models: what a file of data was, and what was made of it, when and with which versions."""

from __future__ import annotations

import argparse
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from votron import __version__
from votron.cli._loading import base_name, file_digest, reading
from votron.data.options import options_of
from votron.errors import VotronError


def now() -> str:
    """Return the time in UTC; that of ``SOURCE_DATE_EPOCH`` where it is set, so that builds can be repeated.

    Examples
    --------
    >>> os.environ["SOURCE_DATE_EPOCH"] = "0"
    >>> now()
    '1970-01-01T00:00:00Z'
    >>> del os.environ["SOURCE_DATE_EPOCH"]
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is not None and not (epoch.isascii() and epoch.isdecimal() and int(epoch) < 253402300800):
        raise VotronError(f"SOURCE_DATE_EPOCH must be seconds since 1970, as a whole number. Got {epoch!r} instead.")
    moment = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def of_data(path: str, format: str, rows: int) -> dict[str, Any]:
    """Return what data were, without the place where they are."""
    found = {"name": base_name(path), "format": format, "rows": rows, "sha256": file_digest(path)}
    return {name: value for name, value in found.items() if value is not None}


def of_command(args: argparse.Namespace, data: Any) -> dict[str, Any]:
    """Return which command it was, when, with which versions, and how it read its data."""
    how = reading(args)
    how["missing"] = None if args.missing == "refuse" else args.missing
    kept = [name for name, option in options_of().items() if option.kept]
    how |= {name: getattr(data, name) for name in kept if hasattr(data, name)}  # as it was found to be
    recorded = [name for name, option in options_of().items() if option.recorded]
    return {
        "votron": __version__,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scikit-learn": version("scikit-learn"),
        "created": now(),
        "command": args.command_line,
        "reading": {name: _for_json(how[name]) for name in recorded if how.get(name) is not None},
    }


def _for_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
