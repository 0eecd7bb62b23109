"""``votron export``: models for other runtimes, and models that only predict."""

from __future__ import annotations

import os

import click

from votron._util.text import rounded_bytes
from votron.cli import options
from votron.cli.command import NewFile, command, flag, option
from votron.cli.models import SavedModel, save_model
from votron.cli.output import Output, printable, wrapped


@command(
    "export",
    examples=[
        "votron export digits.votron --rule average --onnx digits.onnx",
        "votron export digits.votron --rule last --compact small.votron",
    ],
)
@options.model
@option("--onnx", "FILE", "Write an ONNX file.", NewFile())
@option("--compact", "FILE", "Write a compact model file, which only predicts.", NewFile())
@flag("--proba", "With --onnx: also have the probability of each class.")
@options.rule
@options.common
def export(saved: SavedModel, onnx: str | None, compact: str | None, proba: bool, out: Output) -> None:
    """Write a model as ONNX, or as a model file that holds only what its rule needs.

    ONNX is for linear models, and for voted models whose rule predicts by one vector per class: average, last, pocket
    or holdout.
    """
    if onnx is None and compact is None:
        raise click.UsageError("--onnx FILE or --compact FILE must be given.")
    if proba and onnx is None:
        raise click.UsageError("--proba goes with --onnx.")
    assert saved.manifest is not None
    written: dict[str, dict[str, object]] = {}
    lines = []
    if onnx is not None:
        from votron.export import write_onnx

        write_onnx(saved.model, onnx, probabilities=proba)
        size = os.path.getsize(onnx)
        written["onnx"] = {"file": onnx, "bytes": size}
        lines.append(printable(f"onnx: {onnx}, {rounded_bytes(size)}"))
    if compact is not None:
        small, before = saved.estimator.compact(), saved.manifest.n_bytes
        size, dropped = save_model(saved.with_estimator(small).model, compact, saved.provenance), list(small.dropped_)
        written["compact"] = {"file": compact, "bytes": size, "bytes_before": before, "dropped": dropped}
        lines.append(printable(f"compact: {compact}, {rounded_bytes(size)} (it was {rounded_bytes(before)})"))
        lines += [wrapped(f"It can no longer: {'; '.join(dropped)}.")] if dropped else []
    out.show(written, "\n".join(lines))
