"""``votron play``: the page in the browser, or as one file."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence
from typing import Any

from votron.cli._models import SavedModel, load_model, section
from votron.cli._output import Notes, check_output_path
from votron.cli._parser import Parser, UsageError, file_argument
from votron.cli._reading import base_name, read_labelled
from votron.errors import VotronError

EXAMPLES = [
    ("votron play", "the game, a training run, a digit to draw"),
    ("votron play --model digits.votron --test digits", "with a model of your own, and rows to measure it on"),
    ("votron play --no-browser --port 8000", "print the address, and open nothing"),
    ("votron play --export lecture.html", "recorded games and a run in one file, without a server"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes."""
    parser.describe(
        "votron play [options]",
        "Open a page in the browser: the perceptron game between you and B, a training run to move through, and a pad "
        "to draw a digit on. The server can be reached from this machine only; Ctrl-C ends it.",
        EXAMPLES,
    )
    parser.set_defaults(run=run, data="", label=None, format=None)
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="port to listen on (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and do not open it")
    file_argument(parser, "--model", metavar="MODEL", help="model file of --estimator voted, to show beside the others")
    file_argument(parser, "--test", metavar="FILE", help="labelled rows to measure the errors of MODEL on")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on; one that other machines can reach prints an address with a token, without which "
        "nothing is answered (default: 127.0.0.1)",
    )
    file_argument(parser, "--export", metavar="FILE", help="write an HTML file that replays games and a run, and end")
    parser.add_argument(
        "--game",
        action="append",
        default=[],
        metavar="LINK",
        help="with --export: a game to replay, as the page's Copy link gives it; may be repeated",
    )
    parser.add_argument("--quiet", action="store_true", help="print the address only")


def _port(text: str) -> int:
    if text.isdecimal() and int(text) <= 65535:
        return int(text)
    raise argparse.ArgumentTypeError(f"must be an int in the range [0, 65535]. Got {text!r} instead.")


def run(args: argparse.Namespace) -> int:
    """Serve the page until it is stopped, or write the file."""
    if args.game and args.export is None:
        raise UsageError("--game goes with --export, which was not given.")
    if args.test and args.model is None:
        raise UsageError("--test goes with --model, which was not given.")
    notes = Notes(args.quiet)
    if args.export is not None:
        return _export(args, notes)
    from votron.web import play

    def say(address: str) -> None:
        print(address, flush=True)
        notes("Open it in a browser; Ctrl-C ends the server." if args.no_browser else "Ctrl-C ends the server.")

    with contextlib.suppress(KeyboardInterrupt):  # how a server ends
        play(_pieces(args), host=args.host, port=args.port, open_browser=not args.no_browser, say=say)
    return 0


def _export(args: argparse.Namespace, notes: Notes) -> int:
    from votron.web import export_lecture

    check_output_path(args.export, "the page", "--export")
    shown = _pieces(args)
    size = export_lecture(args.export, shown[0 if args.model is None else -1], args.game)
    notes(f"Wrote {args.export}, {size / 1e6:.1f} MB.")
    return 0


def _pieces(args: argparse.Namespace) -> list[Any]:
    """Return what the page shows: bundled models, and that of --model with rows to measure it on, if there are any."""
    from votron.web import pieces

    if args.model is None:
        return pieces()
    saved = load_model(args)
    X, y = _test_rows(saved, args)
    try:
        return pieces(saved.estimator, base_name(args.model), X, y, raw=saved.estimator is saved.model)
    except VotronError as error:
        raise VotronError(f"{args.model}: ", error) from None


def _test_rows(saved: SavedModel, args: argparse.Namespace) -> tuple[Any, Any]:
    """Return rows and labels: those of --test, or the test part of a known set that the model was trained on."""
    from votron.data.formats.image_sets import KNOWN_SETS

    trained_on = section(saved.provenance, "data").get("name")
    test = args.test or (trained_on if trained_on in KNOWN_SETS else None)
    if test is None:
        return None, None
    reading = saved.reading(args, "required", test=test)
    if test in KNOWN_SETS:
        reading["part"] = "test"
    examples, y = read_labelled(test, **reading)
    return saved.transformed(examples.X), y
