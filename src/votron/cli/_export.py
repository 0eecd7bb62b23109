"""``votron export``: models for other runtimes, and models that only predict."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from votron._util.text import joined, rounded_bytes
from votron.cli import _options
from votron.cli._models import SavedModel, load_model, save_model
from votron.cli._output import check_output_path, print_json, printable, refuse_one_file_for_two, wrapped
from votron.cli._parser import Parser, UsageError, file_argument
from votron.errors import VotronError
from votron.rules import RULES

EXAMPLES = [
    ("votron export digits.votron --rule average --onnx digits.onnx", "for ONNX runtimes"),
    ("votron export digits.votron --rule last --compact small.votron", "only what the rule needs"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes."""
    parser.describe(
        "votron export MODEL (--onnx FILE | --compact FILE) [options]",
        "Write a model as ONNX (linear models, and those whose rule predicts by one vector per class: "
        f"{joined((name for name, rule in RULES.items() if rule.one_vector), 'or')}), or as a model file that holds "
        "only what its rule needs.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    parser.explain_unknown = _explain_unknown
    _options.add_model(parser)
    file_argument(parser, "--onnx", metavar="FILE", help="write an ONNX file")
    file_argument(
        parser, "--compact", metavar="FILE", help="write a compact model file, and say what it can no longer do"
    )
    parser.add_argument("--proba", action="store_true", help="of ONNX: also have the probability of each class")
    _options.add_rule(parser, arguments)
    _options.add_common(parser)


def _explain_unknown(option: str) -> str | None:
    """Return what to type instead of the option for a file that other commands have, which says no kind."""
    if option in ("-o", "--output"):
        return f"There is no option {option}: --onnx FILE or --compact FILE says which kind of file to write."
    return None


def run(args: argparse.Namespace) -> int:
    """Load, convert, write, and say what was written."""
    if args.onnx is None and args.compact is None:
        raise UsageError("--onnx FILE or --compact FILE must be given.")
    if args.proba and args.onnx is None:
        raise UsageError("--proba goes with --onnx, which was not given.")
    refuse_one_file_for_two(onnx=args.onnx, compact=args.compact)
    for option, path in (("--onnx", args.onnx), ("--compact", args.compact)):
        if path is not None:
            if path == "-":
                raise UsageError(f"{option} must be the name of a file. Got '-' instead.")
            check_output_path(path, "the model", option, inputs=[args.model])
    saved = load_model(args)
    written: dict[str, object] = {}
    if args.onnx is not None:
        written["onnx"] = _onnx(saved, args.onnx, args.proba)
    if args.compact is not None:
        written["compact"] = _compact(saved, args.compact)
    if args.json:
        print_json(written)
    else:
        print("\n".join(_lines(written)))
    return 0


def _onnx(saved: SavedModel, path: str, proba: bool) -> dict[str, object]:
    from votron.export import write_onnx

    try:
        write_onnx(saved.model, path, probabilities=proba)
    except VotronError as error:
        # what Python calls model.with_rule('average') is an option here
        words = str(error).replace("export model.with_rule('average')", "export it with --rule average")
        raise type(error)(words.replace("model.with_rule('last')", "--rule last")) from None
    return {"file": path, "bytes": os.path.getsize(path)}


def _compact(saved: SavedModel, path: str) -> dict[str, object]:
    small = saved.estimator.compact()
    size = save_model(saved.with_estimator(small).model, path, saved.provenance)
    return {"file": path, "bytes": size, "bytes_before": saved.manifest.n_bytes, "gave_up": list(small.gave_up_)}


def _lines(written: dict[str, object]) -> list[str]:
    lines = []
    for kind, found in written.items():
        assert isinstance(found, dict)
        was = f" (it was {rounded_bytes(found['bytes_before'])})" if "bytes_before" in found else ""
        lines.append(printable(f"{kind}: {found['file']}, {rounded_bytes(found['bytes'])}{was}"))
        if found.get("gave_up"):
            lines.append(wrapped(f"It gave up: {'; '.join(found['gave_up'])}."))
    return lines
