"""``votron report``: what a model does on labelled rows, as one page."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from votron._util.progress import Progress
from votron._util.text import rounded_bytes
from votron.cli import _options
from votron.cli._models import SavedModel, examples_to_evaluate, is_training_data, load_model, section
from votron.cli._output import Notes, check_output_path, print_json, writing
from votron.cli._parser import Parser, UsageError, fraction
from votron.cli._reading import base_name, file_digest, tell_left_out
from votron.errors import VotronError

_LARGE = 2_000_000
"""Bytes of a page that are remarked upon."""

EXAMPLES = [
    ("votron report digits.votron digits --part test -o report.html", "errors, confusions, wrong images, reasons"),
    ('votron report days.votron days.csv --title "Days of May" -o may.html', "with a heading of your own"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes."""
    parser.describe(
        "votron report MODEL DATA -o FILE [options]",
        "Write what a model does on the labelled rows of DATA as one HTML page: the data, errors with exact confidence "
        "intervals by class and rule, confusions, reliability, rules over the time of training, wrong rows or images, "
        "reasons, certificate, and how it was made. The page has no scripts and needs no network.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    _options.add_model(parser)
    _options.add_data(parser)
    _options.add_output(parser, "file for the page, such as report.html; - for standard output", required=True)
    parser.add_argument("--title", metavar="TEXT", help="heading of the page (default: the names of MODEL and DATA)")
    _options.add_held_out(parser)
    _options.add_label(parser, "column with the labels (default: as in training)")
    _options.add_rule(parser, arguments)
    parser.add_argument(
        "--confidence",
        type=fraction,
        default=0.95,
        metavar="P",
        help="confidence level of the intervals (default: 0.95)",
    )
    _options.add_common(parser, json="print the file and the error as JSON")
    group = _options.add_reading(parser, missing=False, for_model=True)
    group.add_argument(
        "--missing", choices=("refuse", "drop"), help="what to do with rows that have missing values (default: refuse)"
    )


def run(args: argparse.Namespace) -> int:
    """Count batch by batch, and write the page."""
    from votron.report.findings import Findings
    from votron.report.page import html, summary

    check_output_path(args.output, "the report", inputs=[args.model, args.data], replaces=False)
    if args.output == "-" and args.json:
        raise UsageError("--json and -o - both want standard output.")
    saved, notes = load_model(args), Notes(args.quiet)
    found = Findings(saved.model, args.confidence)
    with Progress(None, notes.live, label="Predicting", erase=True) as progress:
        for batch in examples_to_evaluate(saved, args, saved.reading(args, labels="required"), notes):
            found.add(replace(batch, X=saved.prepared(batch.X)))
            progress.update(found.counts.n, f"{found.counts.n:,} rows")
    if not found.counts.n:
        raise VotronError(f"There are no rows in {args.data!r} to report on.")
    origin = _origin(saved, args)
    content = html(found, origin).encode("utf-8")
    with writing(args.output) as file:
        file.write(content)
    about = found.description
    tell_left_out(notes, about.dropped, about.unlabelled)
    _say(args, notes, len(content), summary(found, origin), found.counts)
    return 0


def _say(args: argparse.Namespace, notes: Notes, size: int, words: str, counts: Any) -> None:
    """Say what was written."""
    if args.json:
        numbers = {"error": counts.error, "wrong": counts.wrong, "rows": counts.n}
        print_json({"file": args.output, "bytes": size, **numbers, "interval": counts.interval(args.confidence)})
    elif args.output != "-":
        notes(f"{args.output}, {rounded_bytes(size)}: {words}")
    if size > _LARGE:
        notes(f"The page takes {rounded_bytes(size)}, most of it pictures of rows.")


def _origin(saved: SavedModel, args: argparse.Namespace) -> Any:
    """Return what the page says of where model and data come from."""
    from votron.report.findings import Origin

    model, data, digest = base_name(args.model), base_name(args.data), file_digest(args.data)
    files = {"size": rounded_bytes(saved.manifest.n_bytes), "Model": f"{model}, SHA-256 {saved.manifest.sha256}"}
    files["Data"] = data if digest is None else f"{data}, SHA-256 {digest}"
    rule = getattr(args, "rule", None) is not None  # of another rule the certificate does not speak
    return Origin(
        f"{model} on {data}" if args.title is None else args.title,
        model=model,
        data=data,
        command=args.command_line,
        provenance=saved.provenance,
        certificate=None if rule else saved.manifest.certificate,
        files=files,
        notes=tuple(_notes(saved, args, digest)),
        trained_on=not args.held_out and is_training_data(saved, args),
    )


def _notes(saved: SavedModel, args: argparse.Namespace, digest: str | None) -> Iterator[str]:
    """Yield what readers should mind: whether the model has learnt from these rows."""
    test = section(saved.provenance, "test")
    if args.held_out:
        yield "The rows are those that training held out: the model has not learnt from them."
    elif is_training_data(saved, args):
        some = f"{100 * (1 - share):.3g} % of these rows" if isinstance(share := test.get("fraction"), float) else (
            "these rows"
        )  # fmt: skip
        tells = "" if digest is None else ", as the SHA-256 of the file tells"
        yield f"The model was trained on {some}{tells}: on new rows it errs more often than here."
