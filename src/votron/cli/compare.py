"""``votron compare``: estimators on the same folds, with intervals, times and sizes; which differences are noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from votron._util.progress import Progress
from votron._util.text import as_csv
from votron._util.types import Params
from votron.cli import options
from votron.cli.command import NewFile, command, flag, option
from votron.cli.output import Output, printable, width, write_figure, writing
from votron.cli.reading import DataArgument, by_label, remarks_on, rows_to_train_on

_ESTIMATORS = (
    "Compare this one; repeatable: majority, averaged, naive-bayes, winnow, voted, voted-poly, adatron, voted-cv, and "
    "scikit-learn's logistic, linear-svc, sgd, neighbours, svc, forest, boosting (default: Votron's that suit)."
)
_NOT_IN_CSV = ("scores", "remarks")


@command("compare", examples=["votron compare days.csv --label Play --with-sklearn --figure compared.png"])
@options.data
@options.label("Column with the labels, as in `votron train`.")
@option("--estimator estimators", "NAME", _ESTIMATORS, multiple=True)
@flag("--with-sklearn sklearn", "Also compare scikit-learn's classifiers, with their defaults.")
@options.score
@options.folds
@option("--repeats", "N", "How often rows are split anew (default: 2).", options.COUNT, default=2)
@options.seed
@options.max_rows
@option("--max-seconds", "S", "End in this time, with the estimators that are finished.", options.SECONDS)
@options.confidence
@options.sample_weight("Column with weights of rows, for training and the score.")
@options.figure("Draw scores, intervals and times.")
@options.output("Write the table to this .csv file.", NewFile(".csv"))
@options.common
@options.class_weight
@options.n_jobs
@options.training_data
@options.tables
def compare(
    data: DataArgument,
    estimators: Sequence[str],
    sample_weight: str | None,
    figure: str | None,
    output: str | None,
    params: Params,
    out: Output,
    **how: Any,
) -> int:
    """Train several estimators on the same folds, and print which is best and which differences are noise.

    The table has scores with intervals, the time to train and to predict 1,000 rows, and the size of the model. Ctrl-C
    ends the comparison with what is finished.
    """
    from votron.evaluate import compare as compare_on_folds

    rows = rows_to_train_on(data, sample_weight, out)
    out.note(*remarks_on(rows, weighed="class_weight" in params or how["score"] != "accuracy"))
    with Progress(None, out.live, label="Comparing", erase=True) as progress:

        def tell(done: int, total: int, name: str) -> None:
            progress.total = total
            progress.update(done, f"{name}, {done} of {total} fits")

        how |= params | by_label(params, rows.y)
        how |= {"encoding": data.encoding(rows.examples.label), "sample_weight": rows.weights, "callback": tell}
        result = compare_on_folds(rows.X, rows.y, list(estimators) or None, **how)
    found = {"data": data.name, "label": rows.examples.label, **result.to_dict()}
    out.show(found, printable(result.to_text(width())))
    if result.stopped == "interrupted":
        out.note("Stopped: this is what was finished until then, and no file was written.")
        return 130
    if output is not None:
        lines = [{name: value for name, value in row.items() if name not in _NOT_IN_CSV} for row in result.records()]
        with writing(output) as file:
            file.write(as_csv([lines[0], *(line.values() for line in lines)]).encode())
    if figure is not None:
        write_figure(lambda: result.plot().figure_, figure)
    return 0
