"""``votron reproduce``: the papers' tables and figures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from votron._util.text import wants_colour
from votron.cli import options
from votron.cli.command import argument, command, option
from votron.cli.output import Output
from votron.papers import WHAT, Settings, parse_degrees


@command("reproduce", examples=["votron reproduce table1 --degrees 2 --permutations 1"])
@argument(
    "what",
    "[WHAT]...",
    f"One or more of all, {', '.join(WHAT)} (default: all).",
    click.Choice(["all", *WHAT]),
    nargs=-1,
)
@option("--data", "DATA", "digits, mnist, fashion or a folder of IDX files (default: digits).", default="digits")
@option("--permutations", "N", "Runs per degree, averaged (default: 10).", options.COUNT, default=10)
@option("--epochs", "T", "Passes over the data; degree 1 stops at 10 (default: 30).", options.SECONDS, default=30.0)
@option("--degrees", "D", "Degrees of (1 + x.z)^d, such as 4 or 2,4-5 (default: 1-6).", default="1-6")
@option("--out folder", "DIR", "Folder for report and runs (default: reports/DATA).", click.Path(file_okay=False))
@option("--jobs", "N", "Runs at a time (default: as processors and memory allow).", options.COUNT)
@option("--dask", "ADDRESS|local[:N]", "Run on the workers of a Dask cluster, or on N processes here.")
@options.quiet
@click.pass_obj
def reproduce(
    command_line: str,
    /,
    what: Sequence[str],
    data: str,
    degrees: str,
    folder: str | None,
    dask: str | None,
    out: Output,
    **how: Any,
) -> None:
    """Run the papers' experiments, print our results beside the published ones, and write a report."""
    wanted = WHAT if not what or "all" in what else tuple(each for each in WHAT if each in what)
    settings = Settings(wanted, parse_degrees(degrees), **how)  # before anything heavy
    if dask is not None and how["jobs"] is not None:
        raise click.UsageError("--jobs is for processes of this machine: leave it out with --dask.")
    from votron.cli.large import cluster
    from votron.data import load_image_set
    from votron.papers import report
    from votron.papers.reproduce import reproduce as run

    images = load_image_set(data)
    place = Path("reports") / images.name if folder is None else Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    with nullcontext() if dask is None else cluster(dask, out) as client:
        made = run(settings, images, place / "runs", command=command_line, client=client, quiet=out.quiet)
    written = report.write(made, place)
    if not out.quiet:
        print(made.as_text(colour=wants_colour(sys.stdout)))
        print("Figures: " + ", ".join(sorted(path.name for path in written if path.suffix == ".svg")))
    print(f"Report: {place / 'report.html'}")
