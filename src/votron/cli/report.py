"""``votron report``: what a model does on labelled rows, as one page."""

from __future__ import annotations

from dataclasses import replace

import click

from votron._util.progress import Progress
from votron._util.text import rounded_bytes
from votron._util.types import Params
from votron.cli import options
from votron.cli.command import NewFile, command, option
from votron.cli.models import SavedModel, examples_to_evaluate, file_digest, load_model
from votron.cli.output import Output, writing
from votron.cli.reading import base_name


@command(
    "report",
    examples=[
        "votron report digits.votron digits --part test -o report.html",
        'votron report days.votron days.csv --title "Days of May" -o may.html',
    ],
)
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
    model: str,
    data: str,
    output: str,
    title: str | None,
    held_out: bool,
    label: str | None,
    rules: Params,
    confidence: float,
    reading: Params,
    out: Output,
) -> None:
    """Write what a model does on labelled rows as one HTML page, without scripts, that needs no network.

    It shows the data, errors with exact confidence intervals by class and rule, confusions, reliability, rules over
    the time of training, wrong rows or images, reasons, certificate, and how the model was made.
    """
    from votron.report.findings import Findings, Origin
    from votron.report.page import html, summary

    if output == "-" and out.json:
        raise click.UsageError("--json and -o - both want standard output.")
    saved = load_model(model, data, **rules)
    found, manifest = Findings(saved.model, confidence), saved.manifest
    assert manifest is not None
    with Progress(None, out.live, label="Predicting", erase=True) as progress:
        for batch in examples_to_evaluate(saved, data, label, reading, out, held_out=held_out):
            found.add(replace(batch, X=saved.prepared(batch.X)))
            progress.update(found.counts.n, f"{found.counts.n:,} rows")
    digest, trained_on = file_digest(data), saved.is_training_data(data, reading.get("part"))
    origin = Origin(
        title or f"{base_name(model)} on {base_name(data)}",
        model=base_name(model),
        data=base_name(data),
        command=command_line,
        provenance=saved.provenance,
        certificate=None if rules.get("rule") else manifest.certificate,  # which is not about another rule
        files={
            "size": rounded_bytes(manifest.n_bytes),
            "Model": f"{base_name(model)}, SHA-256 {manifest.sha256}",
            "Data": base_name(data) if digest is None else f"{base_name(data)}, SHA-256 {digest}",
        },
        notes=_notes(saved, trained_on, held_out),
        trained_on=trained_on and not held_out,
    )
    content = html(found, origin).encode("utf-8")
    with writing(output) as file:
        file.write(content)
    counts, size = found.counts, rounded_bytes(len(content))
    if out.json:
        numbers = {"error": counts.error, "wrong": counts.wrong, "rows": counts.n}
        out.show({"file": output, "bytes": len(content), **numbers, "interval": counts.interval(confidence)}, "")
    elif output != "-":
        out.note(f"{output}, {size}: {summary(found, origin)}")


def _notes(saved: SavedModel, trained_on: bool, held_out: bool) -> tuple[str, ...]:
    """Return what readers should know: whether the model was trained on these rows."""
    if held_out:
        return ("The rows are those that were held out, and not used for training.",)
    some = "these rows" if saved.split is None else f"{100 * (1 - saved.split[0]):.3g} % of these rows"
    return (f"The model was trained on {some}: on new rows it errs more often than here.",) if trained_on else ()
