"""``votron data``: which data there are; fetched, converted, described; labels that may be wrong."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from votron._util.text import counted, on_one_line, percent, plain_number, shortened
from votron._util.types import Params
from votron.cli import options
from votron.cli.command import argument, command, option
from votron.cli.models import load_model, read_training_data
from votron.cli.output import Notes, check_output, pairs, print_json, printable, table
from votron.cli.reading import base_name, file_digest, left_out, reading_options
from votron.data.formats import KNOWN_SETS
from votron.errors import DataError, VotronError

if TYPE_CHECKING:
    from votron.data import Examples

KNOWN = dict(zip(KNOWN_SETS, ("8 x 8", "28 x 28", "28 x 28"), strict=True))
"""The sets that are known by name, and the pixels of their images."""
_COLUMNS, _CLASSES = 50, 25
_LONGEST = 40


@click.group("data", invoke_without_command=True)
@click.pass_context
def data(ctx: click.Context) -> None:
    """List, fetch, convert and describe data, and find labels that may be wrong."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@command("list", examples=["votron data list"])
@options.common
def list_sets(as_json: bool, quiet: bool) -> None:
    """List the data sets known by name, and where they are."""
    from votron.data import load_image_set

    found: list[Params] = []
    for name, pixels in KNOWN.items():
        entry: Params = {"name": name, "pixels": pixels, "train": None, "test": None, "where": None}
        with contextlib.suppress(DataError):  # it is not here
            images = load_image_set(name, fetch=False)
            entry |= {"train": len(images.X), "test": len(images.X_test), "where": images.source}
        found.append(entry)
    if as_json:
        print_json(found)
        return
    rows = [["name", "pixels", "train", "test", "where"]]
    for entry in found:
        counts = ["" if entry[part] is None else f"{entry[part]:,}" for part in ("train", "test")]
        where = entry["where"] or f"not here: votron data fetch {entry['name']}"
        rows.append([entry["name"], entry["pixels"], *counts, where])
    print(table(rows, left=(0, 4)))


@command("fetch", examples=["votron data fetch digits"])
@click.argument("name", metavar="NAME", type=click.Choice(list(KNOWN)))
@options.common
def fetch(name: str, as_json: bool, quiet: bool) -> None:
    """Download digits, mnist or fashion from OpenML, check it, and keep it in scikit-learn's data home.

    A data set that is in VOTRON_DATA or in the cache is not downloaded again.
    """
    from votron.data import load_image_set

    images = load_image_set(name)
    if as_json:
        print_json({"name": name, "rows": [len(images.X), len(images.X_test)], "where": images.source})
    else:
        rows = f"{len(images.X):,} rows to train on, {len(images.X_test):,} to test with"
        print(printable(f"{name}: {rows}; {images.source}"))


@command("convert", examples=["votron data convert days.csv days.parquet --label Play"])
@options.data
@argument("out", type=options.FILE, help="File to write; - for standard output.")
@option("--to", metavar="NAME", help="Format of OUT (default: by its suffix).")
@options.label(help="Column with the labels, if there are any.")
@options.common
@options.drop_unlabelled
@options.n_features
@options.other_data
@options.missing("keep", "drop", help="Rows with missing values: keep or drop them (default: keep).")
@options.discrete(group="Reading data", into="table")
def convert(
    data: str,
    out: str,
    to: str | None,
    label: str | None,
    as_json: bool,
    quiet: bool,
    reading: Params,
    table: Params,
) -> None:
    """Read data, and write it as .csv, .tsv, .json, .jsonl, .parquet, .arrow, .svm or .npz, by the suffix of OUT."""
    from votron.data import read_examples, write_examples

    check_output(out, "OUT", inputs=[data])
    if out == "-" and to is None:
        raise click.UsageError("--to must say which format standard output gets.")
    how: Params = {"missing": "keep"} | reading_options(reading, table) | _labels(label)
    examples = read_examples(data, **how)
    notes = Notes(quiet)
    notes(*examples.notes)
    if out == "-":
        with tempfile.TemporaryDirectory() as folder:
            kept = os.path.join(folder, "data")
            write_examples(examples, kept, to)
            sys.stdout.buffer.write(Path(kept).read_bytes())
        return
    write_examples(examples, os.path.realpath(out), to)
    if as_json:
        print_json({"file": out, "rows": examples.n_rows, "dropped": examples.dropped})
    else:
        without = f", without {left_out(examples.dropped, examples.unlabelled)}" if examples.dropped else ""
        notes(f"{counted(examples.n_rows, 'row')} of {base_name(data)} in {out}{without}")


@command("describe", examples=["votron data describe days.csv --label Play"])
@options.data
@options.label(help="Column with the labels, if there are any.")
@options.common
@options.verbose
@options.n_features
@options.other_data
@options.discrete(group="Reading data", into="table")
def describe(
    data: str,
    label: str | None,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    reading: Params,
    table: Params,
) -> None:
    """Summarise columns (kind, missing and distinct values, range) and the rows of each class.

    Rows without a label are counted, and left out.
    """
    from votron.data import describe_examples

    notes = Notes(quiet)
    how = reading_options(reading, table) | {"missing": "keep", "drop_unlabelled": True} | _labels(label)
    examples = _read_odd_values(data, how, notes)
    notes(*examples.notes)
    found = describe_examples(examples, discrete=list(table.get("discrete", ())))
    if as_json:
        print_json(found)
    else:
        print(_described(found, verbose))


def _labels(label: str | None) -> Params:
    return {"labels": "optional"} if label is None else {"label": label}


def _read_odd_values(path: str, how: Params, notes: Notes) -> Examples:
    """Read data; a column with a value unlike the others is read as text, and the value is named."""
    from votron.data import read_examples
    from votron.data.tables import OddValueError, UnlabelledError

    texts = list(how.get("as_text", ()))
    while True:
        try:
            return read_examples(path, **how | {"as_text": tuple(texts)})
        except UnlabelledError as error:
            notes(str(error))
            how = {name: value for name, value in how.items() if name != "label"} | {"labels": "none"}
        except OddValueError as error:
            if error.column in texts or not os.path.isfile(path):  # a pipe can be read once only
                raise
            notes(f"The column {error.column!r} is described as text because of {error.got}.")
            texts.append(error.column)


def _described(found: Mapping[str, Any], verbose: bool) -> str:
    without = f"; left out: {left_out(found['dropped'], found['unlabelled'])}" if found["dropped"] else ""
    head = {
        "data": f"{base_name(found['source'])}, {found['format']}",
        "rows": f"{found['rows']:,}{without}",
        "columns" if "columns" in found else "features": f"{found['features']:,}",
    }
    if "columns" not in found:
        head |= {"type": found["type"] + (", sparse" if found["sparse"] else ""), "not 0": percent(found["density"])}
        head |= {} if found["min"] is None else {"range": _range(found)}
        shape = found["image_shape"]
        head |= {"images": " x ".join(map(str, shape)) + " pixels"} if shape else {}
    parts = [pairs(head)]
    if found.get("columns"):
        parts.append(_columns(found["columns"], len(found["columns"]) if verbose else _COLUMNS))
    if found["classes"]:
        parts.append(_classes(found["classes"], found["label"], len(found["classes"]) if verbose else _CLASSES))
    return "\n\n".join(parts)


def _columns(columns: Sequence[Mapping[str, Any]], n: int) -> str:
    rows = [["column", "kind", "missing", "distinct", "range or values"]]
    for column in columns[:n]:
        counts = [f"{column['missing']:,}" if column["missing"] else "", f"{column['distinct']:,}"]
        rows.append([_short(column["name"]), column["kind"], *counts, _range(column)])
    more = len(columns) - n
    return table(rows, left=(0, 1, 4)) + (f"\n... and {counted(more, 'more column')} (--verbose)" if more > 0 else "")


def _range(column: Mapping[str, Any]) -> str:
    if column.get("min") is not None:
        return " to ".join(
            end if isinstance(end, str) else plain_number(end) for end in (column["min"], column["max"])
        )  # fmt: skip
    values = [str(value) for value in column.get("values", [])]
    return _short(", ".join(values) + (", ..." if column["distinct"] > len(values) > 0 else ""))


def _classes(classes: Sequence[Mapping[str, Any]], label: str | None, n: int) -> str:
    total = sum(entry["count"] for entry in classes)
    rows = [["class" if label is None else f"class ({label})", "rows", "share"]]
    for entry in classes[:n]:
        rows.append([_short(entry["label"]), f"{entry['count']:,}", percent(entry["count"] / total)])
    more = len(classes) - n
    return table(rows) + (f"\n... and {counted(more, 'more class', 'more classes')} (--verbose)" if more > 0 else "")


def _short(value: Any) -> str:
    return shortened(on_one_line(str(value)), _LONGEST)


@command("suspects", examples=["votron data suspects digits.votron digits --top 20"])
@options.model
@options.data
@option("--top", metavar="K", type=options.COUNT, default=20, help="Rows to show (default: 20).")
@options.label(help="Column with the labels (default: as in training).")
@options.common
@options.drop_unlabelled
@options.other_data
def suspects(model: str, data: str, top: int, label: str | None, as_json: bool, quiet: bool, reading: Params) -> None:
    """Rank the training rows of a voted model by how much their labels are in doubt.

    These rows were mistaken again and again, by much, and late. DATA is what the model was trained on; rows are
    numbered as in the file, from 1. Models trained with --margin 2 and three epochs or more find most.
    """
    from votron.explanations import suspects as suspects_of

    notes = Notes(quiet)
    saved = load_model(model, data)
    found = suspects_of(saved.model, top)
    examples = read_training_data(saved, data, label, reading)
    numbers, y = examples.row_numbers, examples.y[examples.kept]
    if len(found) and int(found.row.max()) >= len(y):
        raise VotronError(
            f"{data!r} is not what the model was trained on: it has {counted(len(y), 'row')}, and the model's record "
            f"row {int(found.row.max()) + 1:,}."
        )
    known = saved.said("data").get("sha256")
    if known and file_digest(data) not in (None, known):
        notes(f"{data} is not the file that the model was trained on, by its SHA-256.")
    named = getattr(saved.estimator, "row_names_", {})
    rows = []
    for each in found.rows():
        at, number = each["row"], int(numbers[each["row"]])
        rows.append({**each, "row": number, "name": named.get(at, f"row {number}"), "label": y[at]})
        if hasattr(examples.X, "columns"):
            place = int(examples.kept[at])
            rows[-1]["values"] = {name: examples.X[name][place] for name in examples.X.columns}
    if as_json:
        print_json({"suspects": rows})
    else:
        print(_suspected(rows) if rows else "No row was ever mistaken.")


def _suspected(found: Sequence[Mapping[str, Any]]) -> str:
    lines = [["row", "label", "taken for", "mistakes", "last in epoch", "suspicion", "values"]]
    for each in found:
        taken = "" if each["taken_for"] is None else _short(each["taken_for"])
        numbers = [f"{each['mistakes']:,}", f"{math.ceil(each['last'])}", f"{each['suspicion']:.3g}"]
        values = _short(", ".join(map(str, each.get("values", {}).values())))
        lines.append([_short(each["name"]), _short(each["label"]), taken, *numbers, values])
    if not any(line[-1] for line in lines[1:]):
        lines = [line[:-1] for line in lines]
    return table(lines, left=(0, 1, 2, 6))


for each in (list_sets, fetch, convert, describe, suspects):
    data.add_command(each)
