"""``votron certify``: what the theorems guarantee of a model, computed on its training data."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from votron.cli import _options
from votron.cli._models import (
    SavedModel,
    load_model,
    note_other_data,
    read_training_data,
    save_model,
    section,
    without_dropped_rows,
)
from votron.cli._output import Notes, check_figure, check_output_path, print_json, printable, write_figure
from votron.cli._parser import Parser, UsageError, file_argument, fraction
from votron.cli._reading import read_labelled
from votron.errors import VotronError

EXAMPLES = [
    ("votron certify digits.votron digits", "what is guaranteed, and what would have to change"),
    ("votron certify digits.votron digits --verbose", "all bounds, with their assumptions"),
    ("votron certify days.votron days.csv --save", "and store them in the model file"),
    ("votron certify digits.votron digits --figure bounds.svg", "and plot them"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes."""
    parser.describe(
        "votron certify MODEL DATA [options]",
        "Compute what the theorems guarantee about a model's error on new rows. DATA is what the model was trained on; "
        "it is read, and rows are held out, as in training.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    _options.add_model(parser)
    _options.add_data(parser, "the training data")
    parser.add_argument(
        "--delta",
        type=fraction,
        default=0.05,
        metavar="P",
        help="probability that a guarantee fails (default: 0.05)",
    )
    file_argument(
        parser,
        "--test",
        metavar="FILE",
        help="data not used in training, to measure errors on (default: the rows that training held out)",
    )
    parser.add_argument(
        "--bound",
        action="append",
        default=[],
        metavar="NAME",
        help="also apply a bound from another package (entry points votron.bounds); may be repeated",
    )
    file_argument(parser, "--figure", metavar="FILE", help="plot the bounds to an .svg, .png or .pdf file")
    parser.add_argument("--verbose", action="store_true", help="print all bounds with their assumptions")
    parser.add_argument("--save", action="store_true", help="store the certificate in the model file")
    _options.add_label(parser, "column with the labels (default: as in training)")
    _options.add_common(parser)
    _options.add_reading(parser, missing=False, for_model=True)


def _find_bounds(names: list[str]) -> None:
    """Look for bounds that other packages bring."""
    from votron.theory.statements import REGISTERED_BOUNDS

    for name in names:
        if REGISTERED_BOUNDS.find(name) is None:
            known = f" Those that are there: {', '.join(map(repr, REGISTERED_BOUNDS))}." if REGISTERED_BOUNDS else ""
            raise UsageError(f"No package that is installed brings a bound {name!r}.{known}")


def run(args: argparse.Namespace) -> int:
    """Read the training data again, certify, and print."""
    from votron.theory import certify

    notes = Notes(args.quiet)
    if args.figure:
        check_figure(args.figure)
    _find_bounds(args.bound)
    if args.save:
        if args.model == "-":
            raise UsageError("--save needs a model file, and not standard input.")
        check_output_path(args.model, "the model", "MODEL")
    saved = load_model(args)
    _refuse_passes(saved)
    X, y, X_test, y_test = _data(saved, args)
    found = certify(saved.model, X, y, args.delta, X_test=X_test, y_test=y_test)
    note_other_data(saved, args.data, notes)
    if args.figure:
        write_figure(lambda: found.plot().figure, Path(args.figure))
    if args.save:
        save_model(saved.model, args.model, saved.provenance, found)
        notes(f"The certificate is in {args.model} now.")
    if args.json:
        print_json(found.to_dict())
    else:
        print(printable(found.describe(verbose=args.verbose), keep="\n"))
        if not args.verbose:
            print("\n--verbose lists all bounds with their assumptions.")
    return 0


def _refuse_passes(saved: SavedModel) -> None:
    """Refuse a run that no theorem here speaks of: over rows that come again, and not in epochs of one call."""
    passes = section(saved.provenance, "stream").get("passes")
    if isinstance(passes, int) and passes > 1:
        raise VotronError(
            f"There is no certificate for {saved.path!r}, which learnt from {passes} passes over a stream: train with "
            "--passes 1, or without --stream."
        )


def _data(saved: SavedModel, args: argparse.Namespace) -> tuple[Any, Any, Any, Any]:
    """Return the rows that the model was trained on, and rows to test with."""
    found = read_training_data(saved, args)
    X, y, X_test, y_test = found.X, found.y, None, None
    if found.kept is not None:
        X, X_test, y, y_test = X[found.kept], X[found.held_out], y[found.kept], y[found.held_out]
    if args.test:
        reading = without_dropped_rows(saved, saved.reading(args, labels="required", test=args.test))
        others, y_test = read_labelled(args.test, **reading)
        X_test = others.X
    return X, y, X_test, y_test
