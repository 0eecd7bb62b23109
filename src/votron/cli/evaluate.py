"""``votron evaluate``: how often a model is wrong, where, and by which rule."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from votron._util.pipelines import weighs_classes
from votron._util.text import as_csv
from votron._util.types import Array, Params, RowsLike
from votron.cli import options
from votron.cli.command import NewFile, command, flag, option
from votron.cli.models import SavedModel, check_probabilities, examples_to_evaluate, scores_of
from votron.cli.output import Output, printable, width, write_figure, writing
from votron.cli.reading import DataArgument, base_name

if TYPE_CHECKING:
    from votron.data import Examples


@command("evaluate", examples=["votron evaluate digits.votron digits --part test --all-rules --figure errors.png"])
@options.model
@options.data
@options.label("Column with the labels (default: as in training).")
@options.held_out
@flag("--all-rules", "Compare all rules of a voted model.")
@options.rule
@options.threshold
@options.confidence
@options.figure("Draw confusions, reliability, rules over time and wrong images.")
@option("--wrong", "FILE", "Write the wrong rows to this CSV file.", NewFile())
@options.common
@options.drop_unlabelled
@options.other_data
@options.missing("refuse", "drop", default="fill in what training did, or refuse")
def evaluate(
    saved: SavedModel,
    data: DataArgument,
    held_out: bool,
    all_rules: bool,
    threshold: float | None,
    confidence: float,
    figure: str | None,
    wrong: str | None,
    out: Output,
) -> None:
    """Compare a model's predictions with the labels of DATA, which should be rows that it was not trained on.

    Prints the error with an exact confidence interval (Clopper and Pearson), balanced accuracy, macro F1, AUC and
    log-loss where the model has probabilities, the confusion matrix, and precision, recall and F1 of each class.
    """
    from votron.evaluate import Evaluation
    from votron.evaluate.figures import EvaluationFigure

    if threshold is not None:
        check_probabilities(saved, "--threshold")
    found = Evaluation(saved.estimator, all_rules=all_rules, threshold=threshold)
    drawn = None if figure is None else EvaluationFigure(saved.estimator)
    with ExitStack() as files:
        listed = None if wrong is None else files.enter_context(writing(wrong))
        for batch in examples_to_evaluate(saved, data, out, held_out=held_out):
            X, is_first = saved.features(batch.X), not found.counts.n
            predicted = found.add(X, batch.y)
            if drawn is not None:
                drawn.add(batch, X, predicted)
            if listed is not None:
                _write_wrong(listed, saved, batch, X, predicted, head=is_first)
    out.note(*saved.remarks())
    weighed, rarest = weighs_classes(saved.estimator, saved.provenance), found.counts.rarest
    if rarest["rare"] and rarest["found"] < 0.5 * rarest["rows"] and not weighed:
        out.note("Training with --class-weight balanced finds more rows of the rarest class.")
    if drawn is not None and figure is not None:
        heading = f"{base_name(saved.path)} on {data.name}: {found.error_in_words(confidence)}"
        write_figure(lambda: drawn.draw(heading, found), figure)
    out.show(found.to_dict(confidence), printable(found.to_text(confidence, width(), weighed=weighed)))


def _write_wrong(
    file: BinaryIO, saved: SavedModel, batch: Examples, X: RowsLike, predicted: Array, *, head: bool
) -> None:
    """Write the wrong rows of a batch as CSV: number, line or file, labels, scores, probabilities and columns."""
    wrong = np.flatnonzero(predicted != batch.y)
    rows = batch.take(wrong)
    columns: Params = {"row": rows.row_numbers.tolist()}
    columns |= {} if rows.lines is None else {"line": list(rows.lines)}
    columns |= {} if rows.files is None else {"file": list(rows.files)}
    columns |= {"true": np.asarray(rows.y).tolist(), "predicted": predicted[wrong].tolist()}
    for method, prefix in (("decision_function", "score_"), ("predict_proba", "p_")):
        if hasattr(saved.estimator, method):
            scores = scores_of(saved, method, X[wrong])
            columns |= {prefix * bool(group) + name: values for (group, name), values in scores.items()}
    for name in rows.columns or ():
        columns[f"{name} (data)" if name in columns else name] = rows.X[name].to_list()
    text = as_csv([*[columns] * head, *zip(*columns.values(), strict=True)])
    file.write(text.encode("utf-8", "backslashreplace"))
