"""``votron predict``: labels, and scores on request, for the rows of a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from votron._util.text import counted
from votron._util.text_tables import as_csv
from votron.cli import _options
from votron.cli._models import SavedModel, check_probabilities, load_model
from votron.cli._output import Notes, as_json, check_output_path, plain, printable, writing
from votron.cli._parser import Parser, UsageError, Words, asked_by, rewording
from votron.cli._reading import left_out, read_batches
from votron.data.formats import FORMATS
from votron.data.tables import missing_cells
from votron.errors import VotronError

_WORDS: dict[str, Words] = {
    "missing values": "Leave the labels of such rows blank with --missing blank, or train with --missing mean, median "
    "or most-frequent."
}
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


@dataclass
class Left:
    """Rows that were left out, or without a label."""

    dropped: int = 0
    blank: int = 0


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
    group = _options.add_reading(parser, missing=False, for_model=True, labels=False)
    group.add_argument(
        "--missing",
        choices=("refuse", "drop", "blank"),
        help="what to do with rows that have missing values: refuse them, drop them, or leave their labels blank "
        "(default: fill in what training did, or refuse)",
    )


def run(args: argparse.Namespace) -> int:
    """Predict batch by batch, and write."""
    notes = Notes(args.quiet)
    check_output_path(args.output, "labels", inputs=[args.model, args.data], replaces=False)
    _check_ending(args)
    saved = load_model(args)
    if args.proba:
        check_probabilities(saved)
    reading = saved.reading(args, labels="none")
    if args.missing == "blank":
        reading["missing"] = "keep"
    if args.keep:
        _keep_columns(args, saved, reading)
    source = read_batches(args.data, **reading)
    left = Left()
    n, on_screen = 0, args.output == "-" and sys.stdout.isatty()
    with writing(args.output) as file, rewording(_WORDS | asked_by("--keep", args.keep)):
        for text, rows in _texts(saved, source, args, notes, left):
            file.write((printable(text, keep="\n") if on_screen else text).encode("utf-8", "backslashreplace"))
            n += rows
        if n == 0:
            raise VotronError(f"There are no rows in {args.data!r} to label.")
        file.flush()
    for remark in saved.remarks():
        notes(remark)
    if left.dropped:
        notes(f"Left out: {left_out(left.dropped, 0)}. --missing blank keeps their places.")
    if left.blank:
        notes(f"Without a label: {left_out(left.blank, 0)}.")
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


def _texts(
    saved: SavedModel, source: Any, args: argparse.Namespace, notes: Notes, left: Left
) -> Iterator[tuple[str, int]]:
    """Yield the lines of each batch; the head comes with the first, when it is known to go well."""
    first = True
    for batch in source:
        notes.once(batch.notes)
        labels, numbers = (_with_blanks if args.missing == "blank" else _predicted)(saved, batch.X, args)
        left.dropped += batch.dropped
        left.blank += sum(label is None for label in labels.tolist()) if args.missing == "blank" else 0
        kept = _copied_columns(batch, args.keep)
        lines = _json_lines if args.json else _csv_lines
        text = lines(labels, numbers, kept, head=first)
        yield text, len(labels)
        first = False


class Numbers(NamedTuple):
    """Numbers beside the labels: their columns, in CSV and within JSON, and what JSON calls them."""

    columns: list[str]
    keys: list[str]
    name: str
    method: str
    """What makes them."""
    values: Any = None


def _numbers(saved: SavedModel, args: argparse.Namespace) -> list[Numbers]:
    """Return scores and probabilities, where they are asked for; of two classes there is one score, for the second."""
    classes = [str(label) for label in saved.classes.tolist()]
    names = ["score"] if len(classes) == 2 else classes
    scores = [Numbers(names, names, "scores", "decision_function")] if args.scores else []
    shares = [f"p_{name}" for name in classes]
    return scores + ([Numbers(shares, classes, "probabilities", "predict_proba")] if args.proba else [])


def _predicted(saved: SavedModel, X: Any, args: argparse.Namespace) -> tuple[NDArray[Any], list[Numbers]]:
    rows = saved.transformed(X)
    labels = saved.estimator.predict(rows)
    found = []
    for each in _numbers(saved, args):
        values = np.asarray(getattr(saved.estimator, each.method)(rows), dtype=np.float64)
        found.append(each._replace(values=values.reshape(len(labels), -1)))
    return labels, found


def _with_blanks(saved: SavedModel, X: Any, args: argparse.Namespace) -> tuple[NDArray[Any], list[Numbers]]:
    """Return labels and numbers of rows that have all values, and None for the others."""
    if saved.columns is None:
        return _predicted(saved, X, args)
    gone = np.any([missing_cells(X[name]).to_numpy() for name in saved.columns], axis=0)
    labels = np.full(len(gone), None, dtype=object)
    blanks = [
        each._replace(values=np.full((len(gone), len(each.columns)), None, dtype=object))
        for each in _numbers(saved, args)
    ]
    if not gone.all():
        labels[~gone], numbers = _predicted(saved, X.filter(~gone), args)
        for blank, each in zip(blanks, numbers, strict=True):
            blank.values[~gone] = each.values
    return labels, blanks


def _copied_columns(batch: Any, names: list[str]) -> dict[str, list[Any]]:
    """Return what stands before the labels: columns that were asked for, and of images their names."""
    kept = {name: batch.X[name].to_list() for name in names}
    files = getattr(batch, "files", None)
    return {"file": list(files), **kept} if files is not None else kept


def _csv_lines(labels: NDArray[Any], numbers: list[Numbers], kept: Kept, *, head: bool) -> str:
    names = [*kept, "label", *(name for each in numbers for name in each.columns)]
    columns = [*kept.values(), labels.tolist(), *(column for each in numbers for column in each.values.T.tolist())]
    return as_csv([*([names] if head else []), *zip(*columns, strict=True)])


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
