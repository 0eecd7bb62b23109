"""``votron evaluate``: how often a model is wrong, where, and by which rule."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, BinaryIO

import numpy as np

from votron._util.frames import plain_labels
from votron._util.pipelines import weighs_classes
from votron._util.text import percent
from votron._util.text_tables import as_csv
from votron._util.types import Array, Estimator, Index, Params, Rows, RowsLike
from votron.cli import options
from votron.cli.command import command, option
from votron.cli.models import SavedModel, check_probabilities, examples_to_evaluate, load_model
from votron.cli.output import (
    Notes,
    check_different,
    check_figure,
    check_named,
    check_output,
    print_json,
    printable,
    width,
    wrapped,
    write_figure,
    writing,
)
from votron.cli.reading import base_name, left_out
from votron.cli.training import weights_words
from votron.cli.weights import WeightColumn
from votron.errors import VotronError


@command(
    "evaluate",
    examples=[
        "votron evaluate digits.votron digits --part test",
        "votron evaluate digits.votron digits --part test --all-rules",
        "votron evaluate digits.votron digits --part test --figure errors.png --wrong wrong.csv",
        "votron evaluate days.votron days.csv --label Play --json",
    ],
)
@options.model
@options.data
@options.label(help="Column with the labels (default: as in training).")
@options.held_out
@option("--all-rules", is_flag=True, help="Compare all rules of a voted model.")
@options.rule
@options.threshold
@option("--sample-weight", metavar="COL", help="Column with weights of rows: also print the weighted error.")
@options.confidence
@options.figure(help="Draw confusions, reliability, rules over time and wrong images (.svg, .png or .pdf).")
@option("--wrong", metavar="FILE", type=options.FILE, help="Write the wrong rows to this CSV file.")
@options.common
@options.drop_unlabelled
@options.other_data
@options.missing(
    "refuse",
    "drop",
    help="Rows with missing values: refuse or drop them (default: as training did, or refuse).",
)
def evaluate(
    model: str,
    data: str,
    label: str | None,
    held_out: bool,
    all_rules: bool,
    rule: str | None,
    normalize_vectors: bool,
    threshold: float | None,
    sample_weight: str | None,
    confidence: float,
    figure: str | None,
    wrong: str | None,
    as_json: bool,
    quiet: bool,
    reading: Params,
) -> None:
    """Compare a model's predictions with the labels of DATA, which should be rows that it was not trained on.

    Prints the error with an exact confidence interval (Clopper and Pearson), balanced accuracy, macro F1, AUC and
    log-loss where the model has probabilities, the confusion matrix, and precision, recall and F1 of each class.
    """
    from votron.evaluate import Evaluation
    from votron.evaluate.figures import EvaluationFigure

    check_figure(figure)
    check_named(wrong, "--wrong")
    check_output(wrong, "--wrong", inputs=[model, data])
    check_different(wrong=wrong, figure=figure)
    saved, notes = load_model(model, data, rule=rule, normalize_vectors=normalize_vectors), Notes(quiet)
    estimator, column = saved.estimator, None if sample_weight is None else WeightColumn(sample_weight)
    if all_rules and not hasattr(estimator, "staged_decision_function"):
        raise VotronError(f"--all-rules is for models of --estimator voted. {model!r} holds another.")
    if threshold is not None:
        check_probabilities(saved, "--threshold")
    how = saved.reading(data, label, reading)
    how |= {} if column is None else column.beside(how)
    found = Evaluation(estimator, all_rules=all_rules, threshold=threshold)
    drawn = None if figure is None else EvaluationFigure(estimator)
    dropped = unlabelled = 0
    weights_of_wrong, all_weights = 0.0, 0.0
    with ExitStack() as files:
        listed = None if wrong is None else WrongRowsFile(files.enter_context(writing(wrong)), estimator)
        for batch in examples_to_evaluate(saved, data, label, reading, how, notes, held_out):
            X, y = saved.features(batch.X), np.asarray(batch.y)
            predicted = found.add(X, y)
            if column is not None:
                weights = column.taken(batch)[1]
                weights_of_wrong += float(weights[predicted != y].sum())
                all_weights += float(weights.sum())
            if listed is not None:
                listed.add(batch, X, predicted)
            if drawn is not None:
                drawn.add(batch, X, predicted)
            dropped, unlabelled = dropped + batch.dropped, unlabelled + batch.unlabelled
        if not found.counts.n:
            raise VotronError(f"There are no rows in {data!r} to evaluate on.")
    notes(*saved.remarks())
    if dropped:
        notes(f"Left out: {left_out(dropped, unlabelled)}.")
    weighed = weighs_classes(estimator, saved.provenance)
    if found.counts.rarest["rare"] and not weighed:
        notes("Training with --class-weight balanced finds more rows of the rarest class.")
    if drawn is not None and figure is not None:
        heading = f"{base_name(model)} on {base_name(data)}: {found.error_in_words(confidence)}"
        write_figure(lambda: drawn.draw(heading, found), figure)
    trained = _trained_with(saved)
    weighted = weights_of_wrong / (all_weights or 1)
    if as_json:
        more: Params = {"trained_with": trained or None}
        more["weighted"] = None if column is None else {"column": column.name, "error": weighted}
        print_json(found.to_dict(confidence) | {name: value for name, value in more.items() if value is not None})
        return
    print(printable(found.to_text(confidence, width(), weighed=weighed)))
    if column is not None:
        print(printable(f"\nweighted error {percent(weighted)}: rows count by {column.name}"))
    if trained:
        print("\n" + wrapped(f"Trained with {trained}."))


def _trained_with(saved: SavedModel) -> str:
    """Return the weights that the model was trained with, and margins by class; nothing without them."""
    column = saved.said("sample_weight").get("column")
    found = weights_words(f"of rows by {column}" if isinstance(column, str) else "", saved.estimator)
    return "; ".join(f"{name} {words}" for name, words in found.items())


class WrongRowsFile:
    """Writes the rows that a model gets wrong, batch by batch, as CSV."""

    def __init__(self, file: BinaryIO, classifier: Estimator) -> None:
        self.file, self.classifier = file, classifier
        self._begun = False

    def add(self, batch: Any, X: RowsLike, predicted: Array) -> None:
        """Write those of a batch."""
        wrong = np.flatnonzero(predicted != batch.y)
        columns = self._places(batch, wrong)
        columns |= {"true": batch.y[wrong].tolist(), "predicted": predicted[wrong].tolist()}
        columns |= self._scores(X[wrong])
        for name in batch.columns or ():
            columns[f"{name} (data)" if name in columns else name] = batch.X[name].gather(wrong).to_list()
        head = [] if self._begun else [columns]
        text = as_csv([*head, *zip(*columns.values(), strict=True)])
        self.file.write(text.encode("utf-8", "backslashreplace"))
        self._begun = True

    def _places(self, batch: Any, wrong: Index) -> dict[str, list[Any]]:
        """Return the number of each row, as `votron explain --row` takes it, and its line or file."""
        columns: dict[str, list[Any]] = {"row": batch.row_numbers[wrong].tolist()}
        if batch.lines is not None:
            columns["line"] = np.asarray(batch.lines)[wrong].tolist()
        if batch.files is not None:
            columns["file"] = [batch.files[row] for row in wrong]
        return columns

    def _scores(self, X: Rows) -> dict[str, list[Any]]:
        """Return the scores of the classes, of two a single one, and their probabilities, where there are any."""
        classes = [str(label) for label in plain_labels(self.classifier.classes_).tolist()]
        wanted = {
            "decision_function": ["score"] if len(classes) == 2 else [f"score_{name}" for name in classes],
            "predict_proba": [f"p_{name}" for name in classes],
        }
        columns: dict[str, list[Any]] = {}
        for method, heads in wanted.items():
            if hasattr(self.classifier, method):
                none = np.zeros((0, len(heads)))
                values = getattr(self.classifier, method)(X) if X.shape[0] else none
                columns |= dict(zip(heads, np.reshape(values, (-1, len(heads))).T.tolist(), strict=True))
        return columns
