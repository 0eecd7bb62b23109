"""``votron compare``: estimators on the same folds, with intervals, times and sizes; which differences are noise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from votron._util.progress import Progress
from votron._util.text_tables import as_csv
from votron._util.types import Params
from votron.cli import options
from votron.cli.command import command, option
from votron.cli.output import (
    Notes,
    check_different,
    check_figure,
    check_named,
    check_output,
    print_json,
    printable,
    width,
    write_figure,
    writing,
)
from votron.cli.reading import (
    base_name,
    check_label,
    check_options_of_tables,
    left_out,
    rare_class,
    read_labelled,
    reading_options,
    remarks_on_columns,
    typed_encoding,
)
from votron.cli.weights import WeightColumn, by_label

_INTERRUPTED = 130
_NOT_IN_CSV = ("scores", "remarks")


@command(
    "compare",
    examples=[
        "votron compare days.csv --label Play --folds 3",
        "votron compare digits --estimator averaged --estimator voted --repeats 1",
        "votron compare days.csv --label Play --folds 3 --with-sklearn --figure compared.png",
    ],
)
@options.data
@options.label(help="Column with the labels, as in `votron train`.")
@option(
    "--estimator",
    metavar="NAME",
    multiple=True,
    help="Compare this one; repeatable: majority, averaged, naive-bayes, winnow, voted, voted-poly, adatron, voted-cv, "
    "and scikit-learn's logistic, linear-svc, sgd, neighbours, svc, forest, boosting (default: those of Votron that "
    "suit the data).",
)
@option("--with-sklearn", is_flag=True, help="Also compare scikit-learn's classifiers, with their defaults.")
@options.score(help="accuracy, balanced_accuracy, f1, auc or log_loss (default: accuracy).")
@option("--folds", metavar="N", type=click.IntRange(min=2), default=5, help="Number of folds (default: 5).")
@option("--repeats", metavar="N", type=options.COUNT, default=2, help="How often rows are split anew (default: 2).")
@option("--random-state", metavar="N", type=click.IntRange(min=0), default=0, help="Seed (default: 0).")
@option(
    "--max-rows",
    metavar="N",
    type=click.IntRange(min=4),
    default=20_000,
    help="Compare on at most this many rows, drawn at random (default: 20000).",
)
@option(
    "--max-seconds",
    metavar="S",
    type=options.SECONDS,
    help="End after this time, once a fit is over, with the estimators that have finished a repeat.",
)
@options.confidence
@option("--sample-weight", metavar="COL", help="Column with weights of rows, for training and the score.")
@options.figure(help="Draw scores, intervals and times to an .svg, .png or .pdf file.")
@options.output(help="Write the table to this .csv file.")
@options.common
@options.class_weight
@options.n_jobs
@options.training_data
@options.tables
def compare(
    data: str,
    label: str | None,
    estimator: Sequence[str],
    with_sklearn: bool,
    score: str,
    folds: int,
    repeats: int,
    random_state: int,
    max_rows: int,
    max_seconds: float | None,
    confidence: float,
    sample_weight: str | None,
    figure: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
    params: Params,
    reading: Params,
    table: Params,
) -> int:
    """Train several estimators on the same folds, and print which is best and which differences are noise.

    The table has scores with intervals, the time to train and to predict 1,000 rows, and the size of the model. Ctrl-C
    ends the comparison with what is finished.
    """
    from votron.evaluate import compare as compare_on_folds

    notes = Notes(quiet)
    check_figure(figure)
    check_named(output, "-o")
    check_output(output, inputs=[data])
    check_different(o=output, figure=figure)
    if output is not None and Path(output).suffix.lower() != ".csv":
        raise click.UsageError(f"-o must be a file that ends in .csv. Got {output!r} instead.")
    examples, y = read_labelled(data, **reading_options(reading, table) | ({} if label is None else {"label": label}))
    notes(*check_label(y, examples.label, is_table=examples.columns is not None))
    X, weights = examples.X, None
    if sample_weight is not None:
        column = WeightColumn(sample_weight)
        X, kept, weights = column.split(examples)
        column.check_some()
        y = y[kept]
    notes(*examples.notes, *remarks_on_columns(X))
    if score == "accuracy" and "class_weight" not in params:
        notes(*rare_class(y))
    if examples.dropped:
        notes(f"Left out: {left_out(examples.dropped, examples.unlabelled)}.")
    check_options_of_tables(X, table)
    with Progress(None, notes.live, label="Comparing", erase=True) as progress:

        def tell(done: int, total: int, name: str) -> None:
            progress.total = total
            progress.update(done, f"{name}, {done} of {total} fits")

        result = compare_on_folds(
            X,
            y,
            list(estimator) or None,
            sklearn=with_sklearn,
            score=score,
            folds=folds,
            repeats=repeats,
            random_state=random_state,
            max_rows=max_rows,
            max_seconds=max_seconds,
            encoding=typed_encoding(reading, table, examples.label),
            sample_weight=weights,
            confidence=confidence,
            callback=tell,
            **by_label(params, y),
        )
    if as_json:
        print_json({"data": base_name(data), "label": examples.label, **result.to_dict()})
    else:
        print(printable(result.to_text(width())))
    if result.stopped == "interrupted":
        notes("Stopped: this is what was finished until then, and no file was written.")
        return _INTERRUPTED
    if output is not None:
        rows = [{name: value for name, value in row.items() if name not in _NOT_IN_CSV} for row in result.records()]
        with writing(output) as file:
            file.write(as_csv([rows[0], *(row.values() for row in rows)]).encode())
    if figure is not None:
        write_figure(lambda: result.plot().figure_, figure)
    return 0
