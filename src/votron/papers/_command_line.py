"""Options and exits that the commands of the experiments share, and the machine they ran on."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from votron._util.resources import effective_threads
from votron.errors import VotronError


def at_least_one(text: str) -> int:
    """Return the value of an option that counts something."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an int in the range [1, inf). Got {text!r} instead.")
    return int(text)


def seed_number(text: str) -> int:
    """Return the value of an option that is a seed."""
    if not text.isdecimal() or int(text) >= 2**31:
        raise argparse.ArgumentTypeError(f"must be an int in the range [0, 2^31). Got {text!r} instead.")
    return int(text)


def epochs_number(text: str) -> float:
    """Return the value of an option that counts passes."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number in the range (0, inf). Got {text!r} instead.")
    return value


def add_out(options: argparse.ArgumentParser, default: str) -> None:
    """Give a command the option that says where its figure goes."""
    options.add_argument(
        "--out",
        type=Path,
        default=Path(default),
        metavar="FILE",
        help="the two files, without .svg and .png (default: %(default)s)",
    )


def ended(work: Callable[[], int]) -> int:
    """Run a command; return its exit status. An error that Votron raises on purpose is one sentence and status 2."""
    try:
        return work()
    except (VotronError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130


def environment() -> dict[str, str]:
    """Return what a report must say about where it was made."""
    packages = {name: version(name) for name in ("votron", "numpy", "scipy", "scikit-learn", "numba")}
    machine = f"{platform.system()} {platform.machine()}, {_processor()}, {effective_threads(None)} threads"
    return {"Python": platform.python_version(), **packages, "Machine": machine}


def _processor() -> str:
    """Return the name of the processor, as far as the system tells."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return (names or [platform.processor() or "unknown processor"])[0]
