"""``votron data``: which data there are, fetched, converted and described."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from votron._util.text import counted, on_one_line, percent, plain_number, shortened
from votron.cli import _options
from votron.cli._output import Notes, check_output_path, pairs, print_json, printable, table
from votron.cli._parser import Parser, UsageError, file_argument, rewording, whole_number
from votron.cli._reading import base_name, left_out, typed_reading
from votron.data.formats import KNOWN_SETS, written_formats
from votron.errors import DataError, VotronError

KNOWN = dict(zip(KNOWN_SETS, ("8 x 8", "28 x 28", "28 x 28"), strict=True))
"""The sets that are known by name, and the pixels of their images."""
_SHOWN_COLUMNS = 50
_SHOWN_CLASSES = 25
_LONGEST = 40

EXAMPLES = [
    ("votron data list", "data sets known by name"),
    ("votron data fetch digits", "download a data set, unless it is here already"),
    ("votron data convert days.csv days.parquet --label Play", "from one format to another"),
    ("votron data describe days.csv --label Play", "columns, missing values, classes"),
    ("votron data suspects digits.votron digits --top 20", "training rows whose labels may be wrong"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add the commands beneath this one."""
    parser.describe(
        "votron data (list | fetch NAME | convert IN OUT | describe DATA | suspects MODEL DATA) [options]",
        "List the known data sets, fetch one, convert data from one format to another, describe it, or find training "
        "rows whose labels may be wrong.",
        EXAMPLES,
    )
    parser.set_defaults(run=lambda args: _help(parser))
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", parser_class=Parser)
    _add_list(actions)
    _add_fetch(actions)
    _add_convert(actions)
    _add_describe(actions)
    _add_suspects(actions)


def _help(parser: Parser) -> int:
    parser.print_help()
    return 0


def _add_action(actions: Any, name: str, run: Any, words: str, usage: str, description: str) -> Parser:
    """Add a command beneath `votron data`, with its example."""
    parser: Parser = actions.add_parser(name, help=words, prog=f"votron data {name}")
    command = f"votron data {name}"
    parser.describe(f"{command} {usage}", description, [each for each in EXAMPLES if each[0].startswith(command)])
    parser.set_defaults(run=run)
    return parser


def _add_list(actions: Any) -> None:
    words = "list the data sets known by name, and where they are"
    parser = _add_action(actions, "list", run_list, words, "[--json]", "List the data sets known by name.")
    _options.add_common(parser)


def _add_fetch(actions: Any) -> None:
    parser = _add_action(
        actions,
        "fetch",
        run_fetch,
        "download a data set, unless it is here already",
        "NAME [options]",
        "Download a data set from OpenML, check it, and keep it in scikit-learn's data home. A data set that is in "
        "VOTRON_DATA or in the cache is not downloaded again.",
    )
    parser.add_argument("name", metavar="NAME", choices=tuple(KNOWN), help=", ".join(KNOWN))
    _options.add_common(parser)


def _add_convert(actions: Any) -> None:
    parser = _add_action(
        actions,
        "convert",
        run_convert,
        "write data in another format",
        "IN OUT [options]",
        "Read data, and write it in the format given by the suffix of OUT: .csv, .tsv, .json, .jsonl, .parquet, "
        ".arrow, .svm or .npz.",
    )
    _options.add_data(parser)
    file_argument(parser, "output", metavar="OUT", help="file to write; - for standard output")
    parser.add_argument(
        "--to",
        choices=_options.FormatNames(written_formats(), lambda format: format.is_written),
        metavar="NAME",
        help=f"format of OUT (default: by its suffix): {', '.join(written_formats())}",
    )
    group = _add_reading(parser)
    group.add_argument(
        "--missing",
        choices=("keep", "drop"),
        default="keep",
        help="what to do with rows that have missing values (default: keep)",
    )
    _options.add_discrete(group)


def _add_describe(actions: Any) -> None:
    parser = _add_action(
        actions,
        "describe",
        run_describe,
        "summarise columns, missing values and classes",
        "DATA [options]",
        "Summarise data: of each column its kind, the number of missing and of distinct values, and their range; the "
        "number of rows of each class. Rows without a label are counted, and left out.",
    )
    _options.add_data(parser)
    _options.add_discrete(_add_reading(parser, drops=False))


def _add_suspects(actions: Any) -> None:
    parser = _add_action(
        actions,
        "suspects",
        run_suspects,
        "rank the rows that a model was trained on by how much their labels are in doubt",
        "MODEL DATA [options]",
        "Rank the training rows of a voted model that were mistaken again and again, by much, and late: their labels "
        "may be wrong. DATA is what the model was trained on; its labels are shown, and rows are counted from 1. "
        "Models trained with --margin 2 and three epochs or more find most.",
    )
    _options.add_model(parser)
    _options.add_data(parser, "the training data")
    parser.add_argument("--top", type=whole_number(), default=20, metavar="K", help="rows to show (default: 20)")
    _options.add_label(parser, "column with the labels (default: as in training)")
    _options.add_common(parser)
    _options.add_reading(parser, missing=False, for_model=True)


def _add_reading(parser: Parser, *, drops: bool = True) -> Any:
    _options.add_label(parser, "column with the labels, if there are any")
    _options.add_common(parser)
    return _options.add_reading(parser, missing=False, labels=drops)


# -- list and fetch ---------------------------------------------------------------------------------------------------


def run_list(args: argparse.Namespace) -> int:
    """Print the known sets, and where they are."""
    from votron.data import load_image_set

    found: list[dict[str, Any]] = []
    for name, pixels in KNOWN.items():
        entry: dict[str, Any] = {"name": name, "pixels": pixels, "train": None, "test": None, "where": None}
        with contextlib.suppress(DataError):  # it is not here
            images = load_image_set(name, fetch=False)
            entry |= {"train": len(images.X), "test": len(images.X_test), "where": images.source}
        found.append(entry)
    if args.json:
        print_json(found)
        return 0
    rows = [["name", "pixels", "train", "test", "where"]]
    for entry in found:
        counts = ["" if entry[part] is None else f"{entry[part]:,}" for part in ("train", "test")]
        where = entry["where"] or f"not here: votron data fetch {entry['name']}"
        rows.append([entry["name"], entry["pixels"], *counts, where])
    print(table(rows, left=(0, 4)))
    return 0


def run_fetch(args: argparse.Namespace) -> int:
    """Load a known set, which fetches it where it is not there."""
    from votron.data import load_image_set

    images = load_image_set(args.name)
    if args.json:
        print_json({"name": args.name, "rows": [len(images.X), len(images.X_test)], "where": images.source})
    else:
        rows = f"{len(images.X):,} rows to train on, {len(images.X_test):,} to test with"
        print(printable(f"{args.name}: {rows}; {images.source}"))
    return 0


# -- convert and describe ---------------------------------------------------------------------------------------------


def run_convert(args: argparse.Namespace) -> int:
    """Read, and write in another format."""
    from votron.data import read_examples, write_examples

    check_output_path(args.output, "the data", "OUT", inputs=[args.data])
    if args.output == "-" and args.to is None:
        raise UsageError("--to must say which format standard output gets.")
    data = read_examples(args.data, **{**typed_reading(args), "labels": "required" if args.label else "optional"})
    notes = Notes(args.quiet)
    notes.once(data.notes)
    with rewording({"format": "--to", "format of a file": ""}), tempfile.TemporaryDirectory() as folder:
        kept = os.path.join(folder, "data")
        write_examples(data, kept if args.output == "-" else os.path.realpath(args.output), args.to)
        if args.output == "-":
            sys.stdout.buffer.write(Path(kept).read_bytes())
            return 0
    if args.json:
        print_json({"file": args.output, "rows": data.n_rows, "dropped": data.dropped})
    else:
        without = f", without {left_out(data.dropped, data.unlabelled)}" if data.dropped else ""
        notes(f"{counted(data.n_rows, 'row')} of {base_name(args.data)} in {args.output}{without}")
    return 0


def run_describe(args: argparse.Namespace) -> int:
    """Read, and print what is there."""
    from votron.data import describe_examples
    from votron.data.tables import UnlabelledError

    notes = Notes(args.quiet)
    reading = typed_reading(args) | {"missing": "keep", "drop_unlabelled": True}
    try:
        examples = _read_odd_values(args.data, reading, "required" if args.label else "optional", notes)
    except UnlabelledError as error:
        notes(str(error))
        examples = _read_odd_values(args.data, reading, "none", notes)
    notes.once(examples.notes)
    found = describe_examples(examples, discrete=[*args.discrete])
    if args.json:
        print_json(found)
    else:
        print(_described(found))
    return 0


def _read_odd_values(path: str, reading: dict[str, Any], labels: str, notes: Notes) -> Any:
    """Read data, as text those columns that have a value unlike the others, and say which value."""
    from votron.data import read_examples
    from votron.data.tables import OddValueError

    texts = list(reading.get("as_text", ()))
    while True:
        try:
            return read_examples(path, **{**reading, "as_text": tuple(texts)}, labels=labels)
        except OddValueError as error:
            if error.column in texts or not os.path.isfile(path):  # a pipe can be read once only
                raise
            notes.once([_odd_value(error.column, error.got)])
            texts.append(error.column)


def _odd_value(column: str, got: str) -> str:
    return (
        f"The column {column!r} is described as text because of {got}, since numbers must be written so that they "
        "can be read in one way: mend the data, or name a text in --na-values if it means that nothing is there."
    )


def _described(found: dict[str, Any]) -> str:
    features = "column" if "columns" in found else "feature"
    head = {
        "data": f"{base_name(found['source'])}, {found['format']}",
        "rows": f"{found['rows']:,}"
        + (f"; left out: {left_out(found['dropped'], found['unlabelled'])}" if found["dropped"] else ""),
        f"{features}s": f"{found['features']:,}",
    }
    if "columns" not in found:
        head |= _numbers(found)
    parts = [pairs(head)]
    if found.get("columns"):
        parts.append(_columns(found["columns"]))
    if found["classes"]:
        parts.append(_classes(found["classes"], found["label"]))
    return "\n\n".join(parts)


def _numbers(found: dict[str, Any]) -> dict[str, str]:
    words = {"type": found["type"] + (", sparse" if found["sparse"] else "")}
    words["not 0"] = percent(found["density"])
    words["range"] = "" if found["min"] is None else f"{plain_number(found['min'])} to {plain_number(found['max'])}"
    if found["image_shape"]:
        words["images"] = " x ".join(map(str, found["image_shape"])) + " pixels"
    return words


def _columns(columns: list[dict[str, Any]]) -> str:
    rows = [["column", "kind", "missing", "distinct", "range or values"]]
    for column in columns[:_SHOWN_COLUMNS]:
        counts = [f"{column['missing']:,}" if column["missing"] else "", f"{column['distinct']:,}"]
        rows.append([shortened(on_one_line(column["name"]), _LONGEST), column["kind"], *counts, _range(column)])
    more = len(columns) - _SHOWN_COLUMNS
    return table(rows, left=(0, 1, 4)) + (f"\n... and {counted(more, 'more column')}" if more > 0 else "")


def _range(column: dict[str, Any]) -> str:
    if column.get("min") is not None:
        ends = [end if isinstance(end, str) else plain_number(end) for end in (column["min"], column["max"])]
        return " to ".join(ends)
    values = [str(value) for value in column.get("values", [])]
    listed = ", ".join(values) + (", ..." if column["distinct"] > len(values) > 0 else "")
    return shortened(on_one_line(listed), _LONGEST)


def _classes(classes: list[dict[str, Any]], label: str | None) -> str:
    total = sum(entry["count"] for entry in classes)
    rows = [["class" if label is None else f"class ({label})", "rows", "share"]]
    for entry in classes[:_SHOWN_CLASSES]:
        rows.append(
            [
                shortened(on_one_line(str(entry["label"])), _LONGEST),
                f"{entry['count']:,}",
                percent(entry["count"] / total),
            ]
        )
    more = len(classes) - _SHOWN_CLASSES
    return table(rows) + (f"\n... and {counted(more, 'more class', 'more classes')}" if more > 0 else "")


# -- suspects ---------------------------------------------------------------------------------------------------------


def run_suspects(args: argparse.Namespace) -> int:
    """Rank the rows by the model's record, and show them as they are in the data."""
    from votron.cli._models import load_model, note_other_data, read_training_data
    from votron.explanations import suspects

    notes = Notes(args.quiet)
    saved = load_model(args)
    found = suspects(saved.model, args.top)
    data = read_training_data(saved, args)
    kept = range(len(data.y)) if data.kept is None else data.kept
    if len(found) and int(found.row.max()) >= len(kept):
        raise VotronError(
            f"DATA must be what the model was trained on. Got {counted(len(kept), 'row')}, and the model's record has "
            f"row {int(found.row.max()) + 1:,}."
        )
    note_other_data(saved, args.data, notes)
    named = getattr(saved.estimator, "row_names_", {})
    rows = []
    for each in found.rows():
        at = int(kept[each["row"]])
        number = int(data.rows[at])
        rows.append({**each, "row": number, "name": named.get(each["row"], f"row {number}"), "label": data.y[at]})
        if hasattr(data.X, "columns"):
            rows[-1]["values"] = {name: data.X[name][at] for name in data.X.columns}
    if args.json:
        print_json({"suspects": rows})
    else:
        print(_suspected(rows) if rows else "No row was ever mistaken.")
    return 0


def _suspected(found: list[dict[str, Any]]) -> str:
    lines = [["row", "label", "taken for", "mistakes", "last in epoch", "suspicion", "values"]]
    for each in found:
        names = [shortened(on_one_line(str(each[key])), _LONGEST) for key in ("name", "label")]
        taken = "" if each["taken_for"] is None else shortened(on_one_line(str(each["taken_for"])), _LONGEST)
        numbers = [f"{each['mistakes']:,}", f"{math.ceil(each['last'])}", f"{each['suspicion']:.3g}"]
        values = shortened(on_one_line(", ".join(map(str, each.get("values", {}).values()))), _LONGEST)
        lines.append([*names, taken, *numbers, values])
    if not any(line[-1] for line in lines[1:]):
        lines = [line[:-1] for line in lines]
    return table(lines, left=(0, 1, 2, 6))
