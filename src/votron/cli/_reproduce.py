"""``votron reproduce``: the papers' tables and figures."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from votron._util.text_tables import wants_colour
from votron.cli._output import Notes
from votron.cli._parser import Parser, UsageError
from votron.errors import VotronError
from votron.papers.settings import WHAT, Settings, parse_degrees

EXAMPLES = [
    ("votron reproduce", "everything, on scikit-learn's digits; under two minutes"),
    ("votron reproduce table1 --degrees 2 --permutations 1", "a part of it"),
    ("votron reproduce --data mnist", "on MNIST: the folder in VOTRON_DATA, or fetched from OpenML"),
    ("votron reproduce --data folder --permutations 1", "on your own four IDX files"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes."""
    parser.describe(
        "votron reproduce [WHAT ...] [options]",
        "Run the papers' experiments, print our results beside the published ones, and write a report.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("what", nargs="*", default=[], metavar="WHAT", help=f"one or more of all, {', '.join(WHAT)} (default: all)")
    add(
        "--data",
        default="digits",
        metavar="DATA",
        help="digits, mnist, fashion or a folder of IDX files (default: digits)",
    )
    add(
        "--permutations",
        type=int,
        default=10,
        metavar="N",
        help="number of runs per degree, to be averaged (default: 10)",
    )
    add(
        "--epochs",
        type=float,
        default=30.0,
        metavar="T",
        help="passes over the data, may be a fraction; degree 1 stops at 10 (default: 30)",
    )
    add(
        "--degrees",
        default="1-6",
        metavar="D",
        help="degrees of the kernel (1 + x.z)^d, such as 4 or 2,4-5 (default: 1-6)",
    )
    add("--out", type=Path, metavar="DIR", help="folder for the report and finished runs (default: reports/DATA)")
    add(
        "--jobs",
        type=int,
        metavar="N",
        help="number of runs at a time (default: as many as processors and memory allow)",
    )
    add(
        "--dask",
        metavar="ADDRESS|local[:N]",
        help="run on the workers of a Dask cluster, by the address of its scheduler, or on N processes of this machine",
    )
    add("--resume", action="store_true", help="continue from finished runs in DIR, which is the default")
    add("--quiet", action="store_true", help="print only where the report is")


def run(args: argparse.Namespace) -> int:
    """Run the experiments, print and write what they found."""
    settings = _settings(args)  # before anything heavy
    from votron.data import load_image_set
    from votron.papers import report
    from votron.papers.reproduce import reproduce

    data = load_image_set(args.data)
    out = args.out or Path("reports") / data.name
    _check_out(out)
    with _workers(args) as client:
        made = reproduce(settings, data, out / "runs", command=args.command_line, client=client, quiet=args.quiet)
    written = report.write(made, out)
    if not args.quiet:
        print(made.as_text(colour=wants_colour(sys.stdout)))
        print("Figures: " + ", ".join(sorted(path.name for path in written if path.suffix == ".svg")))
    print(f"Report: {out / 'report.html'}")
    return 0


def _workers(args: argparse.Namespace) -> AbstractContextManager[Any]:
    """Return the client of the cluster that does the runs, if one was asked for."""
    if args.dask is None:
        return nullcontext()
    if args.jobs is not None:
        raise UsageError("--jobs is for processes of this machine: leave it out with --dask.")
    from votron.cli._cluster import cluster

    return cluster(args.dask, Notes(args.quiet))


def _settings(args: argparse.Namespace) -> Settings:
    unknown = [what for what in args.what if what not in ("all", *WHAT)]
    if unknown:
        raise UsageError(f"WHAT must be among all, {', '.join(WHAT)}. Got {unknown[0]!r} instead.")
    if args.permutations < 1:
        raise UsageError(f"--permutations must be an int in the range [1, inf). Got {args.permutations} instead.")
    if not 0 < args.epochs <= 1000:
        raise UsageError(f"--epochs must be a number in the range (0, 1000]. Got {args.epochs:g} instead.")
    if args.jobs is not None and args.jobs < 1:
        raise UsageError(f"--jobs must be an int in the range [1, inf). Got {args.jobs} instead.")
    try:
        degrees = parse_degrees(args.degrees)
    except VotronError as error:
        raise UsageError(f"--{error}") from None
    what = WHAT if not args.what or "all" in args.what else tuple(w for w in WHAT if w in args.what)
    return Settings(what, degrees, args.permutations, float(args.epochs), args.jobs)


def _check_out(out: Path) -> None:
    """Refuse a place that cannot be written to before hours of work."""
    if out.exists() and not out.is_dir():
        raise VotronError(f"--out must be a folder. Got the file {out} instead.")
    out.mkdir(parents=True, exist_ok=True)
    if not os.access(out, os.W_OK):
        raise VotronError(f"Cannot write to {out}: choose another folder with --out.")
