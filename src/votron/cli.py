"""The command line: ``votron reproduce``.

Everything heavy is imported by the command that needs it, so that ``votron --help`` is quick. Exit status: 0 where all
went well, 1 where a command could not do what it was asked, 2 where it was asked wrongly, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from votron import __version__
from votron.errors import VotronError
from votron.experiments._settings import WHAT, Settings, parse_degrees

if TYPE_CHECKING:
    from votron.experiments.reproduce import Reproduction

__all__ = ["main"]

EXAMPLES = """examples:
  votron reproduce                                    everything, on scikit-learn's digits; under two minutes
  votron reproduce table1 figure2 --degrees 2-4       some of it
  votron reproduce --data mnist                       on MNIST: the folder in VOTRON_DATA, or fetched from OpenML
  votron reproduce --data folder --permutations 1     on four IDX files of yours
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        The exit status.

    Examples
    --------
    >>> main(["reproduce", "--degrees", "0"])
    2
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = _parser()
    try:
        args = options.parse_args(arguments)
    except SystemExit as stop:  # argparse has said why
        return int(stop.code or 0)
    if args.command is None:
        options.print_help()
        return 0
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))  # so that workers end as well
    try:
        return _reproduce(args, shlex.join(["votron", *arguments]))
    except _UsageError as error:
        print(f"votron {args.command}: {error}", file=sys.stderr)
        return 2
    except MemoryError:
        print(f"votron {args.command}: There is not enough memory: try --jobs 1.", file=sys.stderr)
        return 1
    except (VotronError, OSError) as error:
        print(f"votron {args.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. What is finished is kept; the same command goes on from there.", file=sys.stderr)
        return 130


class _UsageError(VotronError):
    """What was typed cannot be meant."""


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="votron", description="Large-margin classification with perceptrons.", allow_abbrev=False
    )
    made.add_argument("--version", action="version", version=f"votron {__version__}")
    commands = made.add_subparsers(dest="command", metavar="command", title="commands")
    _add_reproduce(commands)
    return made


def _add_reproduce(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    made = commands.add_parser(
        "reproduce",
        help="the papers' tables and figures, ours beside theirs",
        description="Run the papers' experiments; print their tables, ours beside theirs, and write a report.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = made.add_argument
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
        help="runs of each degree, for mean and error (default: 10)",
    )
    add(
        "--epochs",
        type=float,
        default=30.0,
        metavar="T",
        help="passes, may be a fraction; degree 1 stops at 10 (default: 30)",
    )
    add(
        "--degrees",
        default="1-6",
        metavar="D",
        help="degrees of the kernel (1 + x.z)^d, such as 4 or 2,4-5 (default: 1-6)",
    )
    add("--out", type=Path, metavar="DIR", help="where the report and finished runs go (default: reports/DATA)")
    add("--jobs", type=int, metavar="N", help="runs at a time (default: as processors and memory allow)")
    add("--resume", action="store_true", help="go on from finished runs in DIR; the same command does so anyway")
    add("--quiet", action="store_true", help="print no tables and no progress, only where the report is")


def _reproduce(args: argparse.Namespace, command: str) -> int:
    settings = _settings(args)  # before anything heavy
    from votron.data import load_image_set
    from votron.experiments.report import write_report
    from votron.experiments.reproduce import remove_stale, reproduce, write_tables
    from votron.experiments.runs import RunStore

    data = load_image_set(args.data, progress=None if args.quiet else _downloading)
    out = args.out or Path("reports") / data.name
    _check_out(out)
    made = reproduce(settings, data, RunStore(out / "runs"), command=command, quiet=args.quiet)
    written = [*write_tables(made, out), *write_report(made, out)]
    remove_stale(out, written)
    if not args.quiet:
        _show(made)
    if not args.quiet:
        print("Figures: " + ", ".join(sorted({path.name for path in written if path.suffix == ".svg"})))
    print(f"Report: {next(path for path in written if path.name == 'report.html')}")
    return 0


def _settings(args: argparse.Namespace) -> Settings:
    unknown = [what for what in args.what if what not in ("all", *WHAT)]
    if unknown:
        raise _UsageError(f"WHAT must be among all, {', '.join(WHAT)}. Got {unknown[0]!r} instead.")
    if args.permutations < 1:
        raise _UsageError(f"--permutations must be an int in the range [1, inf). Got {args.permutations} instead.")
    if not 0 < args.epochs <= 1000:
        raise _UsageError(f"--epochs must be a number in the range (0, 1000]. Got {args.epochs:g} instead.")
    if args.jobs is not None and args.jobs < 1:
        raise _UsageError(f"--jobs must be an int in the range [1, inf). Got {args.jobs} instead.")
    try:
        degrees = parse_degrees(args.degrees)
    except VotronError as error:
        raise _UsageError(str(error)) from None
    what = WHAT if not args.what or "all" in args.what else tuple(w for w in WHAT if w in args.what)
    return Settings(what, degrees, args.permutations, float(args.epochs), args.jobs)


def _check_out(out: Path) -> None:
    """Refuse a place that cannot be written to before hours of work."""
    if out.exists() and not out.is_dir():
        raise VotronError(f"--out must be a folder. Got the file {out} instead.")
    out.mkdir(parents=True, exist_ok=True)
    if not os.access(out, os.W_OK):
        raise VotronError(f"Cannot write to {out}: choose another folder with --out.")


def _show(made: Reproduction) -> None:
    """Print tables and claims."""
    from votron.experiments._command import wants_colour

    colour = wants_colour(sys.stdout)
    for table in made.tables:
        print(f"\n{table.as_text(colour=colour)}")
    if made.claims:
        print("\nWhat the papers say, and what these runs say of it\n")
        for claim in made.claims:
            print(claim)
    compared = sum(table.n_compared for table in made.tables)
    if compared:
        off = sum(len(table.disagreements) for table in made.tables)
        print(f"\n{compared - off} of {compared} published numbers agree with ours.")
    if not made.is_mnist:
        print("\nThese are not the papers' data, so there are no published numbers beside ours.")
    if made.claims:
        print(f"\n{sum(claim.holds is True for claim in made.claims)} of {len(made.claims)} claims hold.")
    for note in made.notes:
        print(note)
    print(f"\nTook {made.seconds:.0f} s.")


def _downloading(done: int, total: int | None) -> None:
    """Tell how far a download is."""
    stream = sys.stderr
    if stream.isatty():
        of = f" of {total / 1e6:.0f}" if total else ""
        stream.write(f"\rDownloading: {done / 1e6:.0f}{of} MB ")
        if total and done >= total:
            stream.write("\n")
        stream.flush()


if __name__ == "__main__":
    sys.exit(main())
