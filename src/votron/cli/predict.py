"""``votron predict``: labels, and scores and probabilities on request, for the rows of a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
import numpy as np

from votron._util.frames import missing_in
from votron._util.text import as_csv, counted, left_out
from votron._util.types import Array, Params, Rows, RowsLike
from votron.cli import options
from votron.cli.command import NewFile, command, flag, option
from votron.cli.models import SavedModel, check_probabilities, scores_of
from votron.cli.output import Output, as_json, plain, printable, writing
from votron.cli.reading import DataArgument, read_batches

_JSON = (".json", ".jsonl", ".ndjson")
_OWN = ("file", "label", "score", "scores", "probabilities")
_NOT_WRITTEN = (".tsv", ".parquet", ".arrow", ".feather", ".xlsx", ".svm", ".npy", ".npz")

Columns = dict[tuple[str, str], Sequence[object]]
"""Values of rows, by the object of JSON that they belong to, if any, and their name there."""


@command("predict", examples=["votron predict days.votron days.csv --proba -o out.csv"])
@options.model
@options.data
@options.output("File for the labels, CSV or .jsonl (default: standard output).", NewFile(dash=True), default="-")
@flag("--scores", "Also write the score of each class (with two classes: one column, score).")
@flag("--proba", "Also write the probability of each class, in columns p_CLASS.")
@options.threshold
@option("--keep", "COL", "Copy a column in front of the label; repeatable.", multiple=True)
@options.rule
@options.label("Column with labels, which is ignored (default: as in training).")
@options.common
@options.other_data
@options.missing("refuse", "drop", "blank", default="fill in what training did, or refuse")
def predict(
    saved: SavedModel,
    data: DataArgument,
    output: str,
    scores: bool,
    proba: bool,
    threshold: float | None,
    keep: Sequence[str],
    out: Output,
) -> None:
    """Label the rows of DATA, in order.

    A table may contain labels and other columns that the model does not use. It is read in batches, so it may be
    larger than memory.
    """
    if output.endswith(_NOT_WRITTEN):
        raise click.UsageError(f"-o must be CSV, or JSON lines by the name NAME.jsonl. Got {output!r} instead.")
    if proba or threshold is not None:
        check_probabilities(saved, "--proba" if proba else "--threshold")
    if threshold is not None and len(saved.classes) != 2:
        raise click.UsageError(f"--threshold is for two classes. The model has {len(saved.classes)}.")
    blank = data.reading.get("missing") == "blank"
    if saved.columns is None and (blank or keep):
        asked = "--keep" if keep else "--missing blank"
        raise click.UsageError(f"{asked} is for tables. The model takes numbers without names.")
    how = saved.reading(data, labels="none") | ({"missing": "keep"} if blank else {})
    if keep:
        how["columns"] = {**dict.fromkeys(keep, "text"), **(saved.columns or {})}
    methods = ["decision_function"] * scores + ["predict_proba"] * proba
    n = dropped = blanks = 0
    on_screen = output == "-" and sys.stdout.isatty()
    with writing(output) as file:
        for batch in read_batches(data.path, how):
            out.note(*batch.notes)
            found: Columns = {} if batch.files is None else {("", "file"): batch.files}
            for name in keep:
                found["", f"{name} (data)" if name in _OWN else name] = batch.X[name].to_list()
            gone = np.zeros(batch.n_rows, dtype=bool)
            for name in saved.columns or () if blank else ():
                gone |= missing_in(batch.X[name])
            found |= _predicted(saved, batch.X, gone, threshold, methods)
            if out.json or output.endswith(_JSON):
                lines = _json_lines(found)
            else:
                names = ["p_" * (group == "probabilities") + name for group, name in found]
                lines = as_csv([*[names] * (n == 0), *zip(*found.values(), strict=True)])
            file.write((printable(lines) if on_screen else lines).encode("utf-8", "backslashreplace"))
            n, dropped, blanks = n + batch.n_rows, dropped + batch.dropped, blanks + int(gone.sum())
        file.flush()
    out.note(*saved.remarks())
    if dropped:
        out.note(f"Left out: {left_out(dropped, 0)}. --missing blank keeps their places.")
    if blanks:
        out.note(f"Without a label: {left_out(blanks, 0)}.")
    if output != "-":
        out.note(f"{counted(n, 'label')} in {output}")


def _predicted(saved: SavedModel, X: RowsLike, gone: Array, threshold: float | None, methods: Sequence[str]) -> Columns:
    """Return the label of each row, then scores and probabilities; None for the rows that are ``gone``."""
    rows = None if gone.all() else saved.features(X.filter(~gone) if gone.any() else X)
    columns: Columns = {("", "label"): [] if rows is None else _labels(saved, rows, threshold).tolist()}
    for method in methods:
        columns |= scores_of(saved, method, rows)
    if not gone.any():
        return columns
    rest = {name: iter(values) for name, values in columns.items()}
    return {name: [None if each else next(values) for each in gone.tolist()] for name, values in rest.items()}


def _labels(saved: SavedModel, rows: Rows, threshold: float | None) -> Array:
    if threshold is None:
        return np.asarray(saved.estimator.predict(rows))
    second = np.asarray(saved.estimator.predict_proba(rows))[:, 1] >= threshold
    return np.asarray(saved.classes[second.astype(int)])


def _json_lines(columns: Columns) -> str:
    """Return an object for each row, in which scores and probabilities of classes are objects."""
    lines = []
    for values in zip(*columns.values(), strict=True):
        entry: Params = {}
        for (group, name), value in zip(columns, values, strict=True):
            place = entry.setdefault(group, {}) if group else entry
            place[name] = plain(value)
        lines.append(as_json(entry) + "\n")
    return "".join(lines)
