"""``votron predict``: labels, and scores and probabilities on request, for the rows of a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click
import numpy as np

from votron._util.text import counted
from votron._util.text_tables import as_csv
from votron._util.types import Params, RowsLike
from votron.cli import options
from votron.cli.command import command, option
from votron.cli.models import SavedModel, check_probabilities, load_model
from votron.cli.output import Notes, as_json, check_output, plain, printable, writing
from votron.cli.reading import left_out, read_batches, some_missing
from votron.errors import VotronError

_JSON = ("json", "jsonl", "ndjson")
_NOT_WRITTEN = ("tsv", "parquet", "arrow", "feather", "xlsx", "svm", "npy", "npz")

Column = tuple[str, list[Any]]


@command(
    "predict",
    examples=[
        "votron predict days.votron days.csv",
        "votron predict digits.votron digits --part test --scores -o out.csv",
        "votron predict digits.votron digits --part test --proba --json",
        "votron predict days.votron - --format csv < days.csv",
    ],
)
@options.model
@options.data
@options.output(default="-", help="File for the labels, CSV or .jsonl (default: standard output).")
@option("--scores", is_flag=True, help="Also write the score of each class (with two classes: one column, score).")
@option("--proba", is_flag=True, help="Also write the probability of each class, in columns p_CLASS.")
@options.threshold
@option("--keep", metavar="COL", multiple=True, help="Copy a column in front of the label; repeatable.")
@options.rule
@options.label(help="Column with labels, which is ignored (default: as in training).")
@options.common
@options.other_data
@options.missing(
    "refuse",
    "drop",
    "blank",
    help="Rows with missing values: refuse them, drop them, or leave their labels blank (default: fill in what "
    "training did, or refuse).",
)
def predict(
    model: str,
    data: str,
    output: str,
    scores: bool,
    proba: bool,
    threshold: float | None,
    keep: Sequence[str],
    rule: str | None,
    normalize_vectors: bool,
    label: str | None,
    as_json: bool,
    quiet: bool,
    reading: Params,
) -> None:
    """Label the rows of DATA, in order.

    A table may contain labels and other columns that the model does not use. It is read in batches, so it may be
    larger than memory.
    """
    notes, blank = Notes(quiet), reading.get("missing") == "blank"
    check_output(output, inputs=[model, data])
    as_json = as_json or _writes_json(output)
    saved = load_model(model, data, rule=rule, normalize_vectors=normalize_vectors)
    if proba or threshold is not None:
        check_probabilities(saved, "--proba" if proba else "--threshold")
    how = saved.reading(data, label, reading | ({"missing": "keep"} if blank else {}), labels="none")
    if keep:
        if saved.columns is None:
            raise click.UsageError("--keep is for tables. The model takes numbers without names.")
        how["columns"] = {**dict.fromkeys(keep, "text"), **how["columns"]}
    n = dropped = blanks = 0
    on_screen = output == "-" and sys.stdout.isatty()
    with writing(output) as file:
        for batch in read_batches(data, **how):
            notes(*batch.notes)
            gone = some_missing(batch.X[list(saved.columns)]) if blank and saved.columns else None
            found = list(_columns(saved, batch.X, gone, scores, proba, threshold))
            kept = [("file", list(batch.files))] if getattr(batch, "files", None) is not None else []
            kept += [(name, batch.X[name].to_list()) for name in keep]
            lines = _json_lines(saved, kept + found) if as_json else _csv_lines(kept + found, head=n == 0)
            file.write((printable(lines) if on_screen else lines).encode("utf-8", "backslashreplace"))
            n, dropped = n + batch.n_rows, dropped + batch.dropped
            blanks += 0 if gone is None else int(gone.sum())
        if n == 0:
            raise VotronError(f"There are no rows in {data!r} to label.")
        file.flush()
    notes(*saved.remarks())
    if dropped:
        notes(f"Left out: {left_out(dropped, 0)}. --missing blank keeps their places.")
    if blanks:
        notes(f"Without a label: {left_out(blanks, 0)}.")
    if output != "-":
        notes(f"{counted(n, 'label')} in {output}")


def _writes_json(output: str) -> bool:
    """Tell whether the name of the output says JSON; refuse other formats than CSV."""
    ending = output.rpartition(".")[2].lower() if "." in output else ""
    if ending in _NOT_WRITTEN:
        raise click.UsageError(f"-o must be CSV, or JSON lines by the name NAME.jsonl. Got {output!r} instead.")
    return ending in _JSON


def _columns(
    saved: SavedModel, X: RowsLike, gone: Any, scores: bool, proba: bool, threshold: float | None
) -> Iterator[Column]:
    """Yield the label of each row, then scores and probabilities; None for the rows that are ``gone``."""
    classes, estimator = [str(label) for label in saved.classes.tolist()], saved.estimator
    keeps_all = gone is None or not gone.any()
    rows = None if not keeps_all and gone.all() else saved.features(X if keeps_all else X.filter(~gone))

    def spread(values: Any) -> list[Any]:
        if keeps_all:
            return list(np.asarray(values).tolist())
        all_rows = np.full(len(gone), None, dtype=object)
        all_rows[~gone] = values
        return all_rows.tolist()

    wanted: dict[str, tuple[list[str], str]] = {}
    if scores:
        wanted["decision_function"] = (["score"] if len(classes) == 2 else classes, "")
    if proba:
        wanted["predict_proba"] = (classes, "p_")
    yield "label", spread([] if rows is None else _labels(saved, rows, threshold))
    for method, (names, prefix) in wanted.items():
        values = np.zeros((0, len(names))) if rows is None else np.asarray(getattr(estimator, method)(rows))
        for name, column in zip(names, values.reshape(-1, len(names)).T, strict=True):
            yield f"{prefix}{name}", spread(column)


def _labels(saved: SavedModel, rows: RowsLike, threshold: float | None) -> Any:
    """Return labels, of two classes the second where its probability reaches a threshold."""
    if threshold is None:
        return saved.estimator.predict(rows)
    if len(saved.classes) != 2:
        raise click.UsageError(f"--threshold is for two classes. The model has {len(saved.classes)}.")
    return saved.classes[(saved.estimator.predict_proba(rows)[:, 1] >= threshold).astype(int)]


def _csv_lines(columns: Sequence[Column], *, head: bool) -> str:
    names, values = zip(*columns, strict=True)
    return as_csv([*([names] if head else []), *zip(*values, strict=True)])


def _json_lines(saved: SavedModel, columns: Sequence[Column]) -> str:
    """Return an object for each row, in which scores and probabilities of classes are objects."""
    at = next(i for i, (name, _) in enumerate(columns) if name == "label")
    lines = []
    for values in zip(*(column for _, column in columns), strict=True):
        entry: Params = {}
        for i, ((name, _), value) in enumerate(zip(columns, values, strict=True)):
            if i <= at or name == "score":
                entry[name] = plain(value)
            elif name.startswith("p_"):
                entry.setdefault("probabilities", {})[name[2:]] = plain(value)
            else:
                entry.setdefault("scores", {})[name] = plain(value)
        lines.append(as_json(entry) + "\n")
    return "".join(lines)
