"""``votron compare``: estimators on the same folds, with intervals, times and sizes; which differences are noise."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from votron._util.progress import Progress
from votron._util.text_tables import as_csv
from votron.cli import _options
from votron.cli._advice import remark_on_label
from votron.cli._output import Notes, check_figure_and, print_json, printable, width, write_figure, writing
from votron.cli._parser import (
    Parser,
    UsageError,
    file_argument,
    fraction,
    list_entries,
    positive,
    rewording,
    whole_number,
)
from votron.cli._reading import (
    base_name,
    matrix_encoder,
    read_labelled,
    remarks_on_columns,
    tell_left_out,
    typed_encoding,
    typed_reading,
)
from votron.cli._weights import about_holes, settle_labels, weight_column

_INTERRUPTED = 130
_NOT_IN_CSV = ("scores", "remarks")

EXAMPLES = [
    ("votron compare days.csv --label Play --folds 3", "what suits this table"),
    ("votron compare digits --estimator averaged --estimator voted --repeats 1", "two of them"),
    ("votron compare days.csv --label Play --folds 3 --with-sklearn --figure compared.png", "beside others, drawn"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes."""
    from votron.evaluate import CANDIDATES, SCORES

    parser.describe(
        "votron compare DATA --label COL [options]",
        "Train several estimators on the same folds of DATA, each as `votron train` would, and print their scores with "
        "intervals, the best first, by how much each is behind the best or whether that is noise, the time to train "
        "and to predict 1,000 rows, and the size of the model.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    _options.add_data(parser)
    _options.add_label(parser, "column with the labels, as in `votron train`")
    add = parser.add_argument
    named = add(
        "--estimator",
        action="append",
        choices=tuple(CANDIDATES),
        metavar="NAME",
        help="compare this one; may be repeated (default: those of Votron that suit the data, and majority)",
    )
    list_entries(named, CANDIDATES)
    add(
        "--with-sklearn",
        action="store_true",
        help="compare with scikit-learn's usual classifiers that suit the data as well, with their defaults",
    )
    score = add(
        "--score",
        choices=tuple(SCORES),
        default="accuracy",
        metavar="NAME",
        help="what to compare by (default: accuracy)",
    )
    list_entries(score, SCORES)
    add("--folds", type=whole_number(2), default=5, metavar="N", help="number of folds (default: 5)")
    add(
        "--repeats",
        type=whole_number(),
        default=2,
        metavar="N",
        help="how often rows are split into folds anew; more of them tell smaller differences from noise (default: 2)",
    )
    add("--random-state", type=whole_number(0), default=0, metavar="N", help="seed for folds and fits (default: 0)")
    add(
        "--max-rows",
        type=whole_number(4),
        default=20_000,
        metavar="N",
        help="compare on at most this many rows, drawn at random (default: 20000)",
    )
    add(
        "--max-seconds",
        type=positive,
        metavar="S",
        help="end after this many seconds, once a fit is over, with the estimators that have finished a repeat "
        "(default: no limit)",
    )
    add(
        "--confidence",
        type=fraction,
        default=0.95,
        metavar="P",
        help="confidence level of the intervals, of the verdicts on all pairs together, and of those on majority by "
        "themselves (default: 0.95)",
    )
    add(
        "--sample-weight",
        metavar="COL",
        help="column with the weights of rows, numbers of 0 or more, which is then no feature: they count in training "
        "and in the score, and estimators that take none are left out",
    )
    for parameter in _options.parameters_of(_options.DEFAULT_ESTIMATOR):
        if parameter.name in ("class_weight", "n_jobs"):
            parameter.add_to(parser, arguments)
    file_argument(
        parser,
        "--figure",
        metavar="FILE",
        help="draw the scores with their intervals, and the times beside them: an .svg, .png or .pdf file",
    )
    _options.add_output(parser, "write the table to this .csv file")
    _options.add_common(parser)
    _options.add_reading(parser)
    _options.add_encoding(parser)


# -- the command ------------------------------------------------------------------------------------------------------


def run(args: argparse.Namespace) -> int:
    """Read, compare, print, and write what is asked for."""
    from votron.evaluate import compare

    notes = Notes(args.quiet)
    check_figure_and(args.output, "the table", figure=args.figure, printed="the table", inputs=[args.data])
    if args.output is not None and Path(args.output).suffix.lower() != ".csv":
        raise UsageError(f"-o must be a file that ends in .csv. Got {args.output!r} instead.")
    X, y, weights, label = _read(args, notes)
    with Progress(None, notes.live, label="Comparing", erase=True) as progress:

        def tell(done: int, total: int, name: str) -> None:
            progress.total = total
            progress.update(done, f"{name}, {done} of {total} fits")

        result = compare(
            X,
            y,
            args.estimator,
            sklearn=args.with_sklearn,
            score=args.score,
            folds=args.folds,
            repeats=args.repeats,
            random_state=args.random_state,
            max_rows=args.max_rows,
            max_seconds=args.max_seconds,
            n_jobs=getattr(args, "n_jobs", None),
            encoding=typed_encoding(args, label),
            class_weight=getattr(args, "class_weight", None),
            sample_weight=weights,
            confidence=args.confidence,
            callback=tell,
        )
    if args.json:
        print_json({"data": base_name(args.data), "label": label, **result.to_dict()})
    else:
        print(printable(result.to_text(width()), keep="\n"))
    if result.stopped == "interrupted":
        notes("Stopped: this is what was finished until then, and no file was written.")
        return _INTERRUPTED
    if args.output is not None:
        rows = [{name: value for name, value in row.items() if name not in _NOT_IN_CSV} for row in result.records()]
        with writing(args.output) as file:
            file.write(as_csv([rows[0], *(row.values() for row in rows)]).encode())
    if args.figure is not None:
        write_figure(lambda: result.plot().figure_, Path(args.figure))
    return 0


def _read(args: argparse.Namespace, notes: Notes) -> tuple[Any, Any, Any, str | None]:
    """Return rows, labels, weights of rows where there are any, and the column of the labels."""
    with rewording(about_holes(args)):
        data, y = read_labelled(args.data, **typed_reading(args))
    if (remark := remark_on_label(y, data.label, is_table=data.columns is not None)) is not None:
        notes(remark)
    usual = _options.make_estimator(_options.DEFAULT_ESTIMATOR, {})
    settle_labels(args, usual, y)
    X, weights = data.X, None
    if (column := weight_column(args, usual)) is not None:
        X, kept, weights = column.split(data)
        y = y[kept]
        column.check_some()
    for remark in (*data.notes, *remarks_on_columns(args, X)):
        notes(remark)
    tell_left_out(notes, data.dropped, data.unlabelled)
    if not hasattr(X, "columns"):
        matrix_encoder(args, X)  # refuses options of tables
    return X, y, weights, data.label
