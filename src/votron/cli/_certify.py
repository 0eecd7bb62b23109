"""``votron certify``: what the theorems guarantee of a model, computed on its training data."""

from __future__ import annotations

import argparse
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from votron.cli import _options
from votron.cli._loading import base_name, file_digest, held_out, in_words_of_options, read_labelled, rows_of
from votron.cli._models import Saved, labels_like, load_model
from votron.cli._output import Notes, checked_output, print_json
from votron.cli._parser import Parser, UsageError, file_argument, share
from votron.cli._predict import how_to_read
from votron.errors import MissingPackageError

_FIGURES = (".svg", ".png", ".pdf")

EXAMPLES = [
    ("votron certify digits.votron digits", "the bounds, with their assumptions"),
    ("votron certify days.votron days.csv --save", "and keep them in the model file"),
    ("votron certify digits.votron digits --figure bounds.svg", "and draw them"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes."""
    parser.describe(
        "votron certify MODEL DATA [options]",
        "Compute what the theorems say of a model's mistakes and of its error on rows to come. DATA are those that it "
        "was trained on; they are read, and rows are held out, as in training.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    _options.add_model(parser)
    _options.add_data(parser, "the training data")
    parser.add_argument(
        "--delta", type=share, default=0.05, metavar="P", help="how often a guarantee may fail (default: 0.05)"
    )
    file_argument(
        parser,
        "--test",
        metavar="FILE",
        help="data that had no part in training, to measure errors on (default: what training held out)",
    )
    file_argument(parser, "--figure", metavar="FILE", help="draw the bounds to an .svg, .png or .pdf file")
    parser.add_argument("--save", action="store_true", help="keep the certificate in the model file")
    _options.add_label(parser, "the column with the labels (default: as in training)")
    _options.add_common(parser)
    _options.add_reading(parser, missing=False)


def run(args: argparse.Namespace) -> int:
    """Read the training data again, certify, and print."""
    from votron.theory import certify

    notes = Notes(args.quiet)
    _check_figure(args.figure)
    if args.save:
        if args.model == "-":
            raise UsageError("--save needs a model file, and not standard input.")
        checked_output(args.model, "the model", "MODEL")
    saved = load_model(args.model, args.data)
    X, y, X_test, y_test = _data(saved, args)
    with in_words_of_options():
        found = certify(saved.model, X, y, args.delta, X_test=X_test, y_test=y_test)
    _tell_if_other(saved, args.data, notes)
    if args.figure:
        _draw(found, args.figure)
    if args.save:
        from votron import save

        save(saved.model, os.path.realpath(args.model), certificate=found, provenance=saved.provenance)
        notes(f"The certificate is in {args.model} now.")
    if args.json:
        print_json(found.to_dict())
    else:
        print(found)
    return 0


def _data(saved: Saved, args: argparse.Namespace) -> tuple[Any, Any, Any, Any]:
    """Return the rows that the model was trained on, and rows to test with."""
    how = how_to_read(saved, args, labels="required")
    before = saved.provenance.get("reading", {})
    if before.get("missing") == "drop":
        how["missing"] = "drop"
    if "part" not in how and before.get("part"):
        how["part"] = before["part"]
    data, given = read_labelled(args.data, **how)
    y = labels_like(given, saved.classes, base_name(args.data))
    test = saved.provenance.get("test") or {}
    X, X_test, y_test = data.X, None, None
    if "fraction" in test:
        kept, tested = held_out(given, float(test["fraction"]), int(test["seed"]))
        X, X_test, y, y_test = rows_of(X, kept), rows_of(X, tested), y[kept], y[tested]
    if args.test:
        how.pop("part", None)
        others, given = read_labelled(args.test, **how)
        X_test, y_test = others.X, labels_like(given, saved.classes, base_name(args.test))
    return X, y, X_test, y_test


def _tell_if_other(saved: Saved, path: str, notes: Notes) -> None:
    """Say that the file is not the one of training, though the run could have come about on it."""
    known = saved.provenance.get("data", {}).get("sha256")
    if known and file_digest(path) not in (None, known):
        notes(f"{path} is not the file that the model was trained on, as its SHA-256 tells.")


def _check_figure(path: str | None) -> None:
    if path is None:
        return
    if Path(path).suffix.lower() not in _FIGURES:
        raise UsageError(f"--figure must be a file that ends in {', '.join(_FIGURES)}. Got {path!r} instead.")
    checked_output(path, "the figure", "--figure")
    try:
        import matplotlib
    except ImportError:
        raise MissingPackageError('Figures need matplotlib: pip install "votron[cli]".') from None
    matplotlib.use("agg")


def _draw(found: Any, path: str) -> None:
    from votron._files import write_bytes

    drawn = io.BytesIO()
    figure = found.plot().figure
    figure.savefig(drawn, format=Path(path).suffix[1:].lower())
    write_bytes(Path(os.path.realpath(path)), drawn.getvalue())
