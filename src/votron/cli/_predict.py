"""``votron predict``: labels, and scores on request, for the rows of a file."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from votron._sentences import counted
from votron.cli import _options
from votron.cli._models import SavedModel, check_probabilities, load_model
from votron.cli._output import Notes, as_json, check_output_path, plain, printable, writing
from votron.cli._parser import Parser, UsageError, rewording
from votron.cli._reading import read_batches
from votron.data.formats import FORMATS
from votron.errors import VotronError

_WORDS = {"missing values": "Fill them in, or train with --missing mean, median or most-frequent."}
"""What to do about missing values, which have to be known in training."""

Kept = dict[str, list[Any]]

EXAMPLES = [
    ("votron predict days.votron days.csv", "labels as CSV, on standard output"),
    ("votron predict digits.votron digits --part test --scores -o out.csv", "labels and scores, to a file"),
    ("votron predict digits.votron digits --part test --proba", "labels, and how probable each class is"),
    (
        "votron predict digits.votron digits --part test --rule last --json",
        "another rule, and one JSON object per line",
    ),
    ("votron predict days.votron - --format csv < days.csv", "rows from standard input"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes."""
    parser.describe(
        "votron predict MODEL DATA [-o FILE] [options]",
        "Label the rows of DATA, in order. A table may contain labels and other columns that the model does not use. "
        "It is read in batches, so it may be larger than memory.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    _options.add_model(parser)
    _options.add_data(parser)
    _options.add_output(parser, "file for the labels (default: -, standard output)", default="-")
    parser.add_argument(
        "--scores",
        action="store_true",
        help="also write the score of each class (for two classes a single column, score)",
    )
    parser.add_argument(
        "--proba",
        action="store_true",
        help="also write the probability of each class, in columns p_CLASS",
    )
    parser.add_argument(
        "--keep",
        metavar="COL",
        action="append",
        default=[],
        help="column of the table to copy in front of the label, such as a customer number; may be repeated",
    )
    _options.add_rule(parser, arguments)
    _options.add_label(parser, "column with labels, which is ignored (default: as in training, if present)")
    _options.add_common(parser, json="write one JSON object per line instead of CSV")
    _options.add_reading(parser, missing=False, for_model=True)


def run(args: argparse.Namespace) -> int:
    """Predict batch by batch, and write."""
    notes = Notes(args.quiet)
    check_output_path(args.output, "labels", inputs=[args.model, args.data], replaces=False)
    _check_ending(args)
    saved = load_model(args)
    if args.proba:
        check_probabilities(saved)
    reading = saved.reading(args, labels="none")
    if args.keep:
        _keep_columns(args, saved, reading)
    source = read_batches(args.data, **reading)
    n, on_screen = 0, args.output == "-" and sys.stdout.isatty()
    with writing(args.output) as file, rewording(_WORDS):
        for text, rows in _texts(saved, source, args, notes):
            file.write((printable(text, keep="\n") if on_screen else text).encode("utf-8", "backslashreplace"))
            n += rows
        if n == 0:
            raise VotronError(f"There are no rows in {args.data!r} to label.")
        file.flush()
    if args.output != "-":
        notes(f"{counted(n, 'label')} in {args.output}")
    return 0


def _check_ending(args: argparse.Namespace) -> None:
    """Go by the name of the output where it says JSON, and refuse one that says what is not written."""
    ending = args.output.rpartition(".")[2].lower()
    if ending in ("json", "jsonl", "ndjson"):
        args.json = True
    elif "." in args.output and ending in (*FORMATS, "feather", "xlsx", "pq") and ending != "csv":
        raise UsageError(f"-o must be CSV, or JSON lines by the name NAME.jsonl. Got {args.output!r} instead.")


def _keep_columns(args: argparse.Namespace, saved: SavedModel, reading: dict[str, Any]) -> None:
    """Have columns read that the model does not know, as they are written."""
    if saved.columns is None:
        raise UsageError(
            "--keep is for tables, whose columns have names. Got a model of numbers without names instead."
        )
    reading["columns"] = {**dict.fromkeys(args.keep, "text"), **reading["columns"]}


def _texts(saved: SavedModel, source: Any, args: argparse.Namespace, notes: Notes) -> Iterator[tuple[str, int]]:
    """Yield the lines of each batch; the head comes with the first, when it is known to go well."""
    first = True
    for batch in source:
        notes.once(batch.notes)
        rows = saved.transformed(batch.X)
        labels = saved.estimator.predict(rows)
        kept = _copied_columns(batch, args.keep)
        lines = _json_lines if args.json else _csv_lines
        text = lines(labels, _numbers(saved, rows, args), kept, head=first)
        yield text, len(labels)
        first = False


class Numbers(NamedTuple):
    """Numbers beside the labels: their columns, in CSV and within JSON, and what JSON calls them."""

    columns: list[str]
    keys: list[str]
    name: str
    values: NDArray[np.float64]


def _numbers(saved: SavedModel, rows: Any, args: argparse.Namespace) -> list[Numbers]:
    """Return scores and probabilities, where they are asked for; of two classes there is one score, for the second."""
    classes = [str(label) for label in saved.classes.tolist()]
    found = []
    if args.scores:
        scores = np.asarray(saved.estimator.decision_function(rows), dtype=np.float64)
        names = ["score"] if len(classes) == 2 else classes
        found.append(Numbers(names, names, "scores", scores.reshape(len(scores), -1)))
    if args.proba:
        shares = np.asarray(saved.estimator.predict_proba(rows), dtype=np.float64)
        found.append(Numbers([f"p_{name}" for name in classes], classes, "probabilities", shares))
    return found


def _copied_columns(batch: Any, names: list[str]) -> dict[str, list[Any]]:
    """Return what stands before the labels: columns that were asked for, and of images their names."""
    kept = {name: batch.X[name].to_list() for name in names}
    files = getattr(batch, "files", None)
    return {"file": list(files), **kept} if files is not None else kept


def _csv_lines(labels: NDArray[Any], numbers: list[Numbers], kept: Kept, *, head: bool) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if head:
        writer.writerow([*kept, "label", *(name for each in numbers for name in each.columns)])
    columns = [*kept.values(), labels.tolist(), *(column for each in numbers for column in each.values.T.tolist())]
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue()


def _json_lines(labels: NDArray[Any], numbers: list[Numbers], kept: Kept, *, head: bool) -> str:
    lines = []
    for i, label in enumerate(labels.tolist()):
        entry = {**{name: values[i] for name, values in kept.items()}, "label": label}
        for each in numbers:
            values = plain(each.values[i])
            alone = each.keys == ["score"]
            entry |= {"score": values[0]} if alone else {each.name: dict(zip(each.keys, values, strict=True))}
        lines.append(as_json(entry) + "\n")
    return "".join(lines)
