"""What the commands of the experiments share: options, a line that tells how far they are, and how they end."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import TextIO

import numpy as np

from votron._resources import effective_threads
from votron.errors import VotronError
from votron.experiments._table import MOMENTS, Setting


def parser(module: str, description: str, *, permutations: int) -> argparse.ArgumentParser:
    """Return a parser with the options of every experiment."""
    made = argparse.ArgumentParser(
        prog=f"python -m votron.experiments.{module}",
        description=description,
        allow_abbrev=False,
    )
    made.add_argument(
        "--degree",
        type=at_least_one,
        default=4,
        metavar="D",
        help="degree of the kernel (1 + x.z)^D (default: %(default)s)",
    )
    made.add_argument(
        "--epochs",
        type=epochs_number,
        default=30.0,
        metavar="T",
        help="passes through the data; may be a fraction (default: %(default)s)",
    )
    made.add_argument(
        "--seed",
        type=seed_number,
        default=0,
        metavar="N",
        help="seed of the first permutation; the next has N + 1 (default: %(default)s)",
    )
    made.add_argument(
        "--permutations",
        type=at_least_one,
        default=permutations,
        metavar="N",
        help="how many, for the mean (default: %(default)s)",
    )
    return made


def setting_of(args: argparse.Namespace, moments: tuple[float, ...] = MOMENTS) -> Setting:
    """Return what the options ask for."""
    return Setting(args.degree, args.epochs, args.seed, args.permutations, moments)


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


class Counter:
    """Tells how many permutations are done: one line that is redrawn on a terminal, a single line elsewhere.

    Examples
    --------
    >>> count = Counter(3, stream=sys.stdout)
    >>> for done in range(4):
    ...     count(done)
    Training 3 permutations
    """

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._total, self._stream = total, sys.stderr if stream is None else stream
        self._redraws = self._stream.isatty() and os.environ.get("TERM") != "dumb"

    def __call__(self, done: int) -> None:
        """Hear that so many are done."""
        if self._redraws:
            text = f"Training permutation {done + 1} of {self._total}" if done < self._total else ""
            self._stream.write("\r" + text.ljust(50) + ("" if text else "\r"))
        elif done == 0:
            self._stream.write(f"Training {self._total} permutation{'s' if self._total > 1 else ''}\n")
        self._stream.flush()


def wants_colour(stream: TextIO) -> bool:
    """Tell whether this is a terminal whose user has not asked for plain text."""
    return (
        stream.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
        and sys.platform != "win32"
    )


def seconds(values: Sequence[float]) -> str:
    """Return times as text: the mean, and how many it is the mean of.

    Examples
    --------
    >>> seconds([0.25]), seconds([0.2, 0.4])
    ('0.25 s', '0.30 s (mean of 2)')
    """
    return f"{np.mean(values):.2f} s" + (f" (mean of {len(values)})" if len(values) > 1 else "")


def command_line(module: str, arguments: Sequence[str]) -> str:
    """Return the command as one would type it.

    Examples
    --------
    >>> command_line("digits", ["--out", "my report.md"])
    "python -m votron.experiments.digits --out 'my report.md'"
    """
    return shlex.join(["python", "-m", f"votron.experiments.{module}", *arguments])


def environment() -> dict[str, str]:
    """Return what a report must say about where it was made."""
    packages = {name: version(name) for name in ("votron", "numpy", "scipy", "scikit-learn", "numba")}
    machine = f"{platform.system()} {platform.machine()}, {effective_threads(None)} threads"
    return {"Python": platform.python_version(), **packages, "Machine": machine}
