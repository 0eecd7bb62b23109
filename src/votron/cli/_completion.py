"""``votron completion``: what a shell needs to complete commands, options and names of files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from votron.cli._parser import Parser
from votron.errors import MissingPackageError

SHELLS = ("bash", "zsh", "tcsh")

EXAMPLES = [
    ("votron completion bash > votron.bash", "then source votron.bash in ~/.bashrc"),
    ("votron completion zsh > _votron", "in a folder of $fpath"),
    ("votron completion tcsh > votron.csh", "then source votron.csh in ~/.tcshrc"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes."""
    parser.describe(
        "votron completion SHELL",
        "Print a script that lets a shell complete commands, options and file names.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    try:
        import shtab
    except ImportError:
        raise MissingPackageError('Completions need shtab: pip install "votron[cli]".') from None
    from votron.cli import build_all
    from votron.cli._options import EVERY_ESTIMATOR

    print(shtab.complete(build_all([f"--estimator={EVERY_ESTIMATOR}"]), shell=args.shell))
    return 0
