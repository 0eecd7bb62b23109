"""``votron data``: data fetched, converted and described; labels that may be wrong."""

from __future__ import annotations

import math
import os

import click

from votron._util.text import counted, left_out, on_one_line, percent, plain_number, shortened
from votron._util.types import Params
from votron.cli import options
from votron.cli.command import NewFile, argument, command, option
from votron.cli.models import SavedModel
from votron.cli.output import Output, file_for, pairs, table
from votron.cli.reading import DataArgument, base_name
from votron.data.formats import KNOWN_SETS
from votron.errors import VotronError

_COLUMNS, _CLASSES = 50, 25
_LONGEST = 40


@click.group("data", invoke_without_command=True)
@click.pass_context
def data(ctx: click.Context) -> None:
    """Fetch, convert and describe data, and find labels that may be wrong."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@command("fetch", examples=["votron data fetch digits"])
@argument("name", "NAME", "Data set: digits, mnist or fashion.", click.Choice(list(KNOWN_SETS)))
@options.quiet
def fetch(name: str, out: Output) -> None:
    """Download digits, mnist or fashion from OpenML, check it, and keep it in scikit-learn's data home.

    A data set that is in VOTRON_DATA or in the cache is not downloaded again.
    """
    from votron.data import load_image_set

    images = load_image_set(name)
    rows = f"{len(images.X):,} rows to train on, {len(images.X_test):,} to test with"
    out.note(f"{name}: {rows}; {images.source}")


@command("convert", examples=["votron data convert days.csv days.parquet --label Play"])
@options.data
@argument("to_file", "TO_FILE", "File to write; - for standard output.", NewFile(dash=True))
@option("--to", "NAME", "Format of TO_FILE (default: by its suffix).")
@options.label("Column with the labels, if there are any.")
@options.quiet
@options.drop_unlabelled
@options.n_features
@options.other_data
@options.missing("keep", "drop", default="keep")
@options.discrete(group="Reading data")
def convert(data: DataArgument, to_file: str, to: str | None, out: Output) -> None:
    """Read data, and write it as .csv, .tsv, .json, .jsonl, .parquet, .arrow, .svm or .npz, by the suffix."""
    from votron.data import read_examples, write_examples

    if to_file == "-" and to is None:
        raise click.UsageError("--to must say which format standard output gets.")
    how: Params = {"missing": "keep"} | ({"labels": "optional"} if data.label is None else {})
    examples = read_examples(data.path, **how | data.options)
    out.note(*examples.notes)
    with file_for(to_file) as path:
        write_examples(examples, os.path.realpath(path), to)
    if to_file == "-":
        return
    without = f", without {left_out(examples.dropped, examples.unlabelled)}" if examples.dropped else ""
    out.note(f"{counted(examples.n_rows, 'row')} of {data.name} in {to_file}{without}")


@command("describe", examples=["votron data describe days.csv --label Play"])
@options.data
@options.label("Column with the labels, if there are any.")
@options.common
@options.verbose
@options.n_features
@options.other_data
@options.discrete(group="Reading data")
def describe(data: DataArgument, out: Output) -> None:
    """Summarise columns (kind, missing and distinct values, range) and the rows of each class.

    Rows without a label are counted, and left out.
    """
    from votron.data import describe_examples, read_examples

    labels = {"labels": "optional"} if data.label is None else {}
    examples = read_examples(data.path, **data.options | {"missing": "keep", "drop_unlabelled": True} | labels)
    out.note(*examples.notes)
    found = describe_examples(examples, discrete=list(data.table.get("discrete", ())))
    out.show(found, _described(found, out.verbose))


def _described(found: Params, verbose: bool) -> str:
    without = f"; left out: {left_out(found['dropped'], found['unlabelled'])}" if found["dropped"] else ""
    head = {"data": f"{base_name(found['source'])}, {found['format']}", "rows": f"{found['rows']:,}{without}"}
    columns, classes, label = found.get("columns"), found["classes"], found["label"]
    if columns is not None:
        head["columns"] = f"{len(columns):,}"
    else:
        head |= {"features": f"{found['features']:,}", "type": found["type"] + ", sparse" * found["sparse"]}
        head |= {"not 0": percent(found["density"]), "range": _range(found)}
        shape = found["image_shape"]
        head |= {"images": " x ".join(map(str, shape)) + " pixels"} if shape else {}
    parts = [pairs(head)]
    if columns:
        names = ["column", "kind", "missing", "distinct", "range or values"]
        rows = [
            [*map(_short, (each["name"], each["kind"], each["missing"] or "", each["distinct"])), _range(each)]
            for each in columns
        ]
        parts.append(table([names, *rows], left=(0, 1, 4), most=None if verbose else _COLUMNS))
    if classes:
        names = ["class" if label is None else f"class ({label})", "rows", "share"]
        rows = [
            [_short(str(each["label"])), _short(each["count"]), percent(each["count"] / found["rows"])]
            for each in classes
        ]
        parts.append(table([names, *rows], most=None if verbose else _CLASSES))
    return "\n\n".join(parts)


def _range(column: Params) -> str:
    if column.get("min") is not None:
        ends = column["min"], column["max"]
        return " to ".join(end if isinstance(end, str) else plain_number(end) for end in ends)
    values = [str(value) for value in column.get("values", [])]
    return _short(", ".join(values) + ", ..." * (column.get("distinct", 0) > len(values) > 0))


def _short(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else shortened(on_one_line(str(value)), _LONGEST)


@command("suspects", examples=["votron data suspects digits.votron digits --top 20"])
@options.model
@options.data
@option("--top", "K", "Rows to show (default: 20).", options.COUNT, default=20)
@options.label("Column with the labels (default: as in training).")
@options.common
@options.drop_unlabelled
@options.other_data
def suspects(saved: SavedModel, data: DataArgument, top: int, out: Output) -> None:
    """Rank the training rows of a voted model by how much their labels are in doubt.

    These rows were misclassified repeatedly, by much, and late. DATA is what the model was trained on; rows are
    numbered as in the file, from 1. Models trained with --margin 2 and three epochs or more find most.
    """
    if not hasattr(saved.estimator, "suspects"):
        raise VotronError(f"{saved.path!r} has no record of mistakes: train with --estimator voted.")
    found = saved.estimator.suspects(top)
    rows, _ = saved.training_data(data)
    if len(found) and int(found.row.max()) >= len(rows.y):
        raise VotronError(
            f"{data.path!r} is not what the model was trained on: it has {counted(len(rows.y), 'row')}, and the "
            f"model's record row {int(found.row.max()) + 1:,}."
        )
    if saved.part("data").get("sha256") and not saved.is_training_data(data):
        out.note(f"{data.path} is not the file that the model was trained on, by its SHA-256.")
    named = getattr(saved.estimator, "row_names_", {})
    listed: list[Params] = []
    lines = [["row", "label", "taken for", "mistakes", "last in epoch", "suspicion", "values"]]
    for each in found.rows():
        at, number = each["row"], int(rows.examples.row_numbers[each["row"]])
        each |= {"row": number, "name": named.get(at, f"row {number}"), "label": rows.y[at]}
        if hasattr(rows.X, "columns"):
            each["values"] = dict(zip(rows.X.columns, rows.X.row(at), strict=True))
        listed.append(each)
        taken = "" if each["taken_for"] is None else str(each["taken_for"])
        numbers = [f"{each['mistakes']:,}", f"{math.ceil(each['last'])}", f"{each['suspicion']:.3g}"]
        values = ", ".join(map(str, each.get("values", {}).values()))
        lines.append([*map(_short, (each["name"], str(each["label"]), taken)), *numbers, _short(values)])
    out.show({"suspects": listed}, table(lines, left=(0, 1, 2, 6)) if listed else "No row was ever mistaken.")


for each in (fetch, convert, describe, suspects):
    data.add_command(each)
