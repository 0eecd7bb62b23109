"""``votron export``: models for other runtimes, and models that only predict."""

from __future__ import annotations

import os

import click

from votron._util.text import rounded_bytes
from votron.cli import options
from votron.cli.command import command, option
from votron.cli.models import load_model, save_model
from votron.cli.output import check_different, check_named, check_output, print_json, printable, wrapped


@command(
    "export",
    examples=[
        "votron export digits.votron --rule average --onnx digits.onnx",
        "votron export digits.votron --rule last --compact small.votron",
    ],
)
@options.model
@option("--onnx", metavar="FILE", type=options.FILE, help="Write an ONNX file.")
@option("--compact", metavar="FILE", type=options.FILE, help="Write a compact model file, which only predicts.")
@option("--proba", is_flag=True, help="With --onnx: also have the probability of each class.")
@options.rule
@options.common
def export(
    model: str,
    onnx: str | None,
    compact: str | None,
    proba: bool,
    rule: str | None,
    normalize_vectors: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write a model as ONNX, or as a model file that holds only what its rule needs.

    ONNX is for linear models, and for voted models whose rule predicts by one vector per class: average, last, pocket
    or holdout.
    """
    if onnx is None and compact is None:
        raise click.UsageError("--onnx FILE or --compact FILE must be given.")
    if proba and onnx is None:
        raise click.UsageError("--proba goes with --onnx.")
    check_different(onnx=onnx, compact=compact)
    for name, path in (("--onnx", onnx), ("--compact", compact)):
        check_named(path, name)
        check_output(path, name, inputs=[model])
    saved = load_model(model, rule=rule, normalize_vectors=normalize_vectors)
    written: dict[str, dict[str, object]] = {}
    if onnx is not None:
        from votron.export import write_onnx

        write_onnx(saved.model, onnx, probabilities=proba)
        written["onnx"] = {"file": onnx, "bytes": os.path.getsize(onnx)}
    if compact is not None:
        small = saved.estimator.compact()
        size = save_model(saved.with_estimator(small).model, compact, saved.provenance)
        before = saved.manifest.n_bytes
        written["compact"] = {
            "file": compact, "bytes": size, "bytes_before": before, "dropped": list(small.gave_up_)
        }  # fmt: skip
    if as_json:
        print_json(written)
        return
    for kind, path in (("onnx", onnx), ("compact", compact)):
        if path is not None:
            was = f" (it was {rounded_bytes(saved.manifest.n_bytes)})" if kind == "compact" else ""
            print(printable(f"{kind}: {path}, {rounded_bytes(os.path.getsize(path))}{was}"))
    if compact is not None and small.gave_up_:
        print(wrapped(f"It can no longer: {'; '.join(small.gave_up_)}."))
