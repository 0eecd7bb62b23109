"""``votron certify``: what the theorems guarantee of a model, computed on its training data."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from votron.cli import _options
from votron.cli._models import SavedModel, load_model, save_model, section
from votron.cli._output import Notes, check_output_path, print_json, printable
from votron.cli._parser import Parser, UsageError, file_argument, fraction
from votron.cli._reading import base_name, file_digest, hold_out, read_labelled
from votron.cli._weights import WeightColumn, without_weight_0
from votron.errors import MissingPackageError, VotronError

_FIGURES = (".svg", ".png", ".pdf")

EXAMPLES = [
    ("votron certify digits.votron digits", "the bounds, with their assumptions"),
    ("votron certify days.votron days.csv --save", "and store them in the model file"),
    ("votron certify digits.votron digits --figure bounds.svg", "and plot them"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes."""
    parser.describe(
        "votron certify MODEL DATA [options]",
        "Compute what the theorems say about a model's mistakes and about its error on new rows. DATA is what the "
        "model was trained on; it is read, and rows are held out, as in training.",
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
    _check_figure(args.figure)
    _find_bounds(args.bound)
    if args.save:
        if args.model == "-":
            raise UsageError("--save needs a model file, and not standard input.")
        check_output_path(args.model, "the model", "MODEL")
    saved = load_model(args)
    _refuse_passes(saved)
    X, y, X_test, y_test = _data(saved, args)
    found = certify(saved.model, X, y, args.delta, X_test=X_test, y_test=y_test)
    _note_other_data(saved, args.data, notes)
    if args.figure:
        _draw(found, args.figure)
    if args.save:
        save_model(saved.model, args.model, saved.provenance, found)
        notes(f"The certificate is in {args.model} now.")
    if args.json:
        print_json(found.to_dict())
    else:
        print(printable(str(found), keep="\n"))
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
    reading = _without_dropped_rows(saved, saved.reading(args, labels="required"))
    before = section(saved.provenance, "reading")
    if "part" not in reading and before.get("part") in ("train", "test"):
        reading["part"] = before["part"]
    weights = section(saved.provenance, "sample_weight")
    if isinstance(weights.get("column"), str) and weights.get("left_out"):
        reading |= WeightColumn(weights["column"]).beside(reading)
    data, y = read_labelled(args.data, **reading)
    X, y = without_weight_0(data.X, y, weights, base_name(args.data))
    X_test, y_test = None, None
    test = section(saved.provenance, "test")
    if isinstance(test.get("fraction"), float) and isinstance(test.get("seed"), int):
        kept, tested = hold_out(y, test["fraction"], test["seed"])
        X, X_test, y, y_test = X[kept], X[tested], y[kept], y[tested]
    if args.test:
        reading = _without_dropped_rows(saved, saved.reading(args, labels="required", test=args.test))
        others, y_test = read_labelled(args.test, **reading)
        X_test = others.X
    return X, y, X_test, y_test


def _without_dropped_rows(saved: SavedModel, reading: dict[str, Any]) -> dict[str, Any]:
    """Return how to read, with rows left out that training left out."""
    dropped = section(saved.provenance, "reading").get("missing") == "drop"
    return reading | ({"missing": "drop"} if dropped else {})


def _note_other_data(saved: SavedModel, path: str, notes: Notes) -> None:
    """Say that the file is not the one of training, though the run could have come about on it."""
    known = section(saved.provenance, "data").get("sha256")
    if known and file_digest(path) not in (None, known):
        notes(f"{path} is not the file that the model was trained on, as its SHA-256 tells.")


def _check_figure(path: str | None) -> None:
    if path is None:
        return
    if Path(path).suffix.lower() not in _FIGURES:
        raise UsageError(f"--figure must be a file that ends in {', '.join(_FIGURES)}. Got {path!r} instead.")
    check_output_path(path, "the figure", "--figure")
    try:
        import matplotlib
    except ImportError:
        raise MissingPackageError('Figures need matplotlib: pip install "votron[cli]".') from None
    matplotlib.use("agg")


def _draw(found: Any, path: str) -> None:
    from votron._files import write_bytes
    from votron._plotting import as_bytes, pyplot

    figure = found.plot().figure
    try:
        write_bytes(Path(path), as_bytes(figure, Path(path).suffix[1:].lower()))
    finally:
        pyplot().close(figure)
