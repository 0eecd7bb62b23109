"""``votron explain``: why rows of a file have their labels."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from votron._util.text import did_you_mean, joined
from votron.cli import _options
from votron.cli._models import SavedModel, load_model, section
from votron.cli._output import Notes, check_figure, print_json, printable, write_figure
from votron.cli._parser import Parser, UsageError, file_argument, whole_number
from votron.cli._reading import read_batches
from votron.errors import VotronError

_LONGEST_RANGE = 100_000

EXAMPLES = [
    ("votron explain digits.votron digits --part test --row 7", "the examples that made the label of row 7"),
    ("votron explain digits.votron digits --part test --row 7 --figure why.png", "the same, with their images"),
    ("votron explain days.votron days.csv --row 1,3-5 --top 3 --json", "several rows, as JSON"),
    ("votron explain days.votron days.csv --row 1 --of no", "the score of a class of your choice"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes."""
    parser.describe(
        "votron explain MODEL DATA --row N [options]",
        "Show which training examples, and with a linear kernel or a linear model which features, make the score of a "
        "row, for its label and against it; of a vote also how the vectors voted over the time of training. The "
        "predicted class is compared with the runner-up.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    _options.add_model(parser)
    _options.add_data(parser)
    parser.add_argument(
        "--row",
        type=_rows,
        action="append",
        required=True,
        metavar="N",
        help="row of DATA to explain, counted from 1; several as 1,3-5; may be repeated",
    )
    parser.add_argument(
        "--top", type=whole_number(), default=5, metavar="K", help="terms to show for and against (default: 5)"
    )
    parser.add_argument("--of", metavar="CLASS", help="explain the score of this class (default: the predicted one)")
    parser.add_argument(
        "--against", metavar="CLASS", help="with --of: the class to compare with (default: none, the score itself)"
    )
    file_argument(parser, "--figure", metavar="FILE", help="draw one row to an .svg, .png or .pdf file")
    _options.add_rule(parser, arguments)
    _options.add_label(parser, "column with labels, which is ignored (default: as in training, if present)")
    _options.add_common(parser)
    _options.add_reading(parser, missing=False, for_model=True, labels=False)


def _rows(text: str) -> list[int]:
    """Return the numbers of rows, such as 1,3-5.

    Examples
    --------
    >>> _rows("1,3-5")
    [1, 3, 4, 5]
    """
    out: list[int] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        ends = [low, high] if dash else [low, low]
        if (
            not all(end.isdecimal() and int(end) >= 1 for end in ends)
            or not 0 <= int(ends[1]) - int(low) < _LONGEST_RANGE
        ):
            raise argparse.ArgumentTypeError(
                f"must be numbers of rows from 1 on, such as 7 or 1,3-5. Got {text!r} instead."
            )
        out += range(int(low), int(ends[1]) + 1)
    return out


def run(args: argparse.Namespace) -> int:
    """Find the rows, explain them, and print."""
    notes = Notes(args.quiet)
    wanted = list(dict.fromkeys(row for rows in args.row for row in rows))
    if args.figure:
        check_figure(args.figure)
        if len(wanted) > 1:
            raise UsageError(f"--figure draws one row. Got {len(wanted)} instead.")
    if args.against is not None and args.of is None:
        raise UsageError("--against goes with --of, which was not given.")
    saved = load_model(args)
    found = _explained(saved, args, wanted, notes)
    for remark in saved.unseen.sentences():
        notes(remark)
    _note_numbers(saved, notes)
    if args.figure:
        each, shape = found[0]
        write_figure(lambda: each.plot(image_shape=shape).figure, Path(args.figure))
    if args.json:
        print_json({"rows": [each.to_dict() for each, _ in found]})
    else:
        print(printable("\n\n".join(str(each) for each, _ in found), keep="\n"))
    return 0


def _explained(saved: SavedModel, args: argparse.Namespace, wanted: list[int], notes: Notes) -> list[tuple[Any, Any]]:
    """Return an explanation of each row, in the order asked for, and the shape of its image, if it is one."""
    of, against = (None if text is None else _class(saved, text) for text in (args.of, args.against))
    found: dict[int, tuple[Any, Any]] = {}
    reading = saved.reading(args, labels="none")
    holes = reading["missing"] == "refuse"  # of the rows that are asked for, and not of others
    n, last = 0, max(wanted)
    for batch in read_batches(args.data, **reading | ({"missing": "drop"} if holes else {})):
        notes.once(batch.notes)
        n += batch.n_rows + batch.dropped
        numbers = batch.row_numbers
        for i in np.flatnonzero(np.isin(numbers, wanted)).tolist():
            row = int(numbers[i])
            each = saved.explained(batch.X[i : i + 1], of, against, top=args.top, names=[f"row {row}"])
            shape = batch.image_shape
            found[row] = each, shape if shape is not None and len(shape) == 2 else None
        if n >= last:
            break
    missing = next((row for row in wanted if row not in found), None)
    if missing is not None and missing <= n:
        raise VotronError(
            f"Row {missing:,} of {args.data!r} has missing values, which the model cannot fill in: train with "
            "--missing mean, median or most-frequent."
        )
    if missing is not None:
        raise VotronError(f"There are {n:,} rows in {args.data!r}. --row asks for {missing:,}.")
    return [found[row] for row in wanted]


def _class(saved: SavedModel, text: str) -> Any:
    """Return the class that was typed."""
    known = {str(label): label for label in saved.classes.tolist()}
    if text not in known:
        meant = did_you_mean(text, known)
        raise UsageError(f"The class must be one of {', '.join(known)}. Got {text!r} instead.{meant}")
    return known[text]


def _note_numbers(saved: SavedModel, notes: Notes) -> None:
    """Say what numbers of training rows mean where they are not those of the file."""
    if not hasattr(saved.estimator, "support_") or getattr(saved.estimator, "row_names_", None):
        return
    reading = section(saved.provenance, "reading")
    left_out = (
        ["were not held out for --test"] if isinstance(section(saved.provenance, "test").get("fraction"), float) else []
    )
    left_out += ["have no missing values"] if reading.get("missing") == "drop" else []
    left_out += ["have a label"] if reading.get("drop_unlabelled") is True else []
    left_out += ["have a weight other than 0"] if section(saved.provenance, "sample_weight").get("left_out") else []
    if left_out:
        notes(
            f"Training rows are counted among those that {joined(left_out)}: train with --keep-names to have them by "
            "the rows of the file."
        )
