"""``votron report``: what a model does on labelled rows, as one page."""

from __future__ import annotations

from dataclasses import replace

import click

from votron._util.progress import Progress
from votron._util.text import rounded_bytes
from votron.cli import options
from votron.cli.command import NewFile, command, option
from votron.cli.models import SavedModel, examples_to_evaluate
from votron.cli.output import Output, writing
from votron.cli.reading import DataArgument, base_name, file_digest


@command("report", examples=["votron report digits.votron digits --part test -o report.html"])
@options.model
@options.data
@options.output("File for the page, such as report.html; - for standard output.", NewFile(dash=True), required=True)
@option("--title", "TEXT", "Heading of the page (default: the names of MODEL and DATA).")
@options.held_out
@options.label("Column with the labels (default: as in training).")
@options.rule
@options.confidence
@options.common
@options.drop_unlabelled
@options.other_data
@options.missing("refuse", "drop", default="fill in what training did, or refuse")
@click.pass_obj
def report(
    command_line: str,
    saved: SavedModel,
    data: DataArgument,
    output: str,
    title: str | None,
    held_out: bool,
    confidence: float,
    out: Output,
) -> None:
    """Write what a model does on labelled rows as one HTML page, without scripts, that needs no network.

    It shows the data, errors with exact confidence intervals by class and rule, confusions, reliability, rules over
    the time of training, wrong rows or images, reasons, certificate, and how the model was made.
    """
    from votron.report import html, summary
    from votron.report.findings import Findings, Origin

    found, manifest = Findings(saved.model, confidence), saved.manifest
    assert manifest is not None
    with Progress(None, out.live, label="Predicting", erase=True) as progress:
        for batch in examples_to_evaluate(saved, data, out, held_out=held_out):
            found.add(replace(batch, X=saved.prepared(batch.X)))
            progress.update(found.counts.n, f"{found.counts.n:,} rows")
    digest, trained_on = file_digest(data.path), saved.is_training_data(data)
    notes = ["The rows are those that were held out, and not used for training."] if held_out else []
    if trained_on and not held_out:
        some = "these rows" if saved.split is None else f"{100 * (1 - saved.split[0]):.3g} % of these rows"
        notes = [f"The model was trained on {some}: on new rows it errs more often than here."]
    name, size = base_name(saved.path), rounded_bytes(manifest.n_bytes)
    origin = Origin(
        title or f"{name} on {data.name}",
        model=name,
        data=data.name,
        command=command_line,
        provenance=saved.provenance,
        certificate=None if saved.rule else manifest.certificate,  # which is not about another rule
        files={
            "size": size,
            "Model": f"{name}, SHA-256 {manifest.sha256}",
            "Data": data.name if digest is None else f"{data.name}, SHA-256 {digest}",
        },
        notes=tuple(notes),
        trained_on=trained_on and not held_out,
    )
    content = html(found, origin).encode("utf-8")
    with writing(output) as file:
        file.write(content)
    counts = found.counts
    numbers = {"error": counts.error, "wrong": counts.wrong, "rows": counts.n}
    if out.json:
        out.show({"file": output, "bytes": len(content), **numbers, "interval": counts.interval(confidence)}, "")
    elif output != "-":
        out.note(f"{output}, {rounded_bytes(len(content))}: {summary(found, origin)}")
