"""``votron predict``: labels, and scores on request, for the rows of a file."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._sentences import counted
from votron.cli import _options
from votron.cli._models import SavedModel, load_model
from votron.cli._output import Notes, as_json, check_output_path, plain, printable, writing
from votron.cli._parser import Parser, UsageError, rewording
from votron.cli._reading import left_out, read_batches
from votron.data.formats import FORMATS
from votron.data.tables import missing_cells
from votron.errors import VotronError

_WORDS = {
    "missing values": "Leave the labels of such rows blank with --missing blank, or train with --missing mean, median "
    "or most-frequent."
}
"""What to do about missing values, which have to be known in training."""

Kept = dict[str, list[Any]]

EXAMPLES = [
    ("votron predict days.votron days.csv", "labels as CSV, on standard output"),
    ("votron predict digits.votron digits --part test --scores -o out.csv", "labels and scores, to a file"),
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
    reading = saved.reading(args, labels="none")
    if args.missing == "blank":
        reading["missing"] = "keep"
    if args.keep:
        _keep_columns(args, saved, reading)
    source = read_batches(args.data, **reading)
    left = Left()
    n, on_screen = 0, args.output == "-" and sys.stdout.isatty()
    with writing(args.output) as file, rewording(_WORDS):
        for text, rows in _texts(saved, source, args, notes, left):
            file.write((printable(text, keep="\n") if on_screen else text).encode("utf-8", "backslashreplace"))
            n += rows
        if n == 0:
            raise VotronError(f"There are no rows in {args.data!r} to label.")
        file.flush()
    for remark in saved.unseen.sentences():
        notes(remark)
    if left.dropped:
        notes(f"Left out: {left_out(left.dropped, 0)}.")
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
    names = _names(saved.classes) if args.scores else []
    first = True
    for batch in source:
        notes.once(batch.notes)
        labels, scores = (_with_blanks if args.missing == "blank" else _predicted)(saved, batch.X, args.scores)
        left.dropped += batch.dropped
        left.blank += sum(label is None for label in labels.tolist()) if args.missing == "blank" else 0
        kept = _copied_columns(batch, args.keep)
        lines = _json_lines if args.json else _csv_lines
        text = lines(labels, scores, names, kept, head=first)
        yield text, len(labels)
        first = False


def _predicted(saved: SavedModel, X: Any, with_scores: bool) -> tuple[NDArray[Any], Any]:
    rows = saved.transformed(X)
    labels = saved.estimator.predict(rows)
    if not with_scores:
        return labels, None
    scores = np.asarray(saved.estimator.decision_function(rows), dtype=np.float64)
    return labels, scores.reshape(len(labels), -1)


def _with_blanks(saved: SavedModel, X: Any, with_scores: bool) -> tuple[NDArray[Any], Any]:
    """Return labels and scores of rows that have all values, and None for the others."""
    if saved.columns is None:
        return _predicted(saved, X, with_scores)
    gone = np.any([missing_cells(X[name]).to_numpy() for name in saved.columns], axis=0)
    labels = np.full(len(gone), None, dtype=object)
    n_scores = 1 if len(saved.classes) == 2 else len(saved.classes)
    scores = np.full((len(gone), n_scores), None, dtype=object) if with_scores else None
    if not gone.all():
        found, found_scores = _predicted(saved, X.filter(~gone), with_scores)
        labels[~gone] = found
        if scores is not None:
            scores[~gone] = found_scores
    return labels, scores


def _names(classes: NDArray[Any]) -> list[str]:
    """Return what the columns of scores are called; of two classes there is one score, for the second."""
    return ["score"] if len(classes) == 2 else [str(label) for label in classes.tolist()]


def _copied_columns(batch: Any, names: list[str]) -> dict[str, list[Any]]:
    """Return what stands before the labels: columns that were asked for, and of images their names."""
    kept = {name: batch.X[name].to_list() for name in names}
    files = getattr(batch, "files", None)
    return {"file": list(files), **kept} if files is not None else kept


def _csv_lines(labels: NDArray[Any], scores: Any, names: list[str], kept: Kept, *, head: bool) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if head:
        writer.writerow([*kept, "label", *names])
    columns = [*kept.values(), labels.tolist()] + ([] if scores is None else scores.T.tolist())
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue()


def _json_lines(labels: NDArray[Any], scores: Any, names: list[str], kept: Kept, *, head: bool) -> str:
    lines = []
    for i, label in enumerate(labels.tolist()):
        entry = {**{name: values[i] for name, values in kept.items()}, "label": label}
        if scores is not None:
            values = plain(scores[i])
            entry |= {"score": values[0]} if names == ["score"] else {"scores": dict(zip(names, values, strict=True))}
        lines.append(as_json(entry) + "\n")
    return "".join(lines)
