"""``votron evaluate``: how often a model is wrong, where, and by which rule."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from votron._util.pipelines import weighs_classes
from votron._util.text import percent
from votron._util.text_tables import as_csv
from votron._util.types import Array, Params, RowsLike
from votron.cli import options
from votron.cli.command import NewFile, command, flag, option
from votron.cli.models import SavedModel, check_probabilities, examples_to_evaluate, load_model, score_columns
from votron.cli.output import Output, printable, width, wrapped, write_figure, writing
from votron.cli.reading import WeightColumn, base_name
from votron.cli.training import weights_words

if TYPE_CHECKING:
    from votron.data import Examples


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
@options.label("Column with the labels (default: as in training).")
@options.held_out
@flag("--all-rules", "Compare all rules of a voted model.")
@options.rule
@options.threshold
@options.sample_weight("Column with weights of rows: also print the weighted error.")
@options.confidence
@options.figure("Draw confusions, reliability, rules over time and wrong images")
@option("--wrong", "FILE", "Write the wrong rows to this CSV file.", NewFile())
@options.common
@options.drop_unlabelled
@options.other_data
@options.missing("refuse", "drop", default="fill in what training did, or refuse")
def evaluate(
    model: str,
    data: str,
    label: str | None,
    held_out: bool,
    all_rules: bool,
    rules: Params,
    threshold: float | None,
    sample_weight: str | None,
    confidence: float,
    figure: str | None,
    wrong: str | None,
    reading: Params,
    out: Output,
) -> None:
    """Compare a model's predictions with the labels of DATA, which should be rows that it was not trained on.

    Prints the error with an exact confidence interval (Clopper and Pearson), balanced accuracy, macro F1, AUC and
    log-loss where the model has probabilities, the confusion matrix, and precision, recall and F1 of each class.
    """
    from votron.evaluate import Evaluation
    from votron.evaluate.figures import EvaluationFigure

    saved = load_model(model, data, **rules)
    if threshold is not None:
        check_probabilities(saved, "--threshold")
    found = Evaluation(saved.estimator, all_rules=all_rules, threshold=threshold)
    drawn = None if figure is None else EvaluationFigure(saved.estimator)
    weighted = None if sample_weight is None else _WeightedError(sample_weight)
    more = {} if weighted is None else weighted.column.read_beside(saved.known)
    with ExitStack() as files:
        listed = None if wrong is None else _WrongRows(files.enter_context(writing(wrong)), saved)
        for batch in examples_to_evaluate(saved, data, label, reading, out, held_out=held_out, **more):
            X = saved.features(batch.X)
            predicted = found.add(X, batch.y)
            for each in (drawn, weighted, listed):
                if each is not None:
                    each.add(batch, X, predicted)
    out.note(*saved.remarks())
    weighed = weighs_classes(saved.estimator, saved.provenance)
    rarest = found.counts.rarest
    if rarest["rare"] and rarest["found"] < 0.5 * rarest["rows"] and not weighed:
        out.note("Training with --class-weight balanced finds more rows of the rarest class.")
    if drawn is not None and figure is not None:
        heading = f"{base_name(model)} on {base_name(data)}: {found.error_in_words(confidence)}"
        write_figure(lambda: drawn.draw(heading, found), figure)
    facts, parts = found.to_dict(confidence), [found.to_text(confidence, width(), weighed=weighed)]
    if weighted is not None:
        facts["weighted"] = {"column": weighted.column.name, "error": weighted.error}
        parts.append(f"weighted error {percent(weighted.error)}: rows count by {weighted.column.name}")
    if trained := _trained_with(saved):
        facts["trained_with"] = trained
        parts.append(wrapped(f"Trained with {trained}."))
    out.show(facts, printable("\n\n".join(parts)))


def _trained_with(saved: SavedModel) -> str:
    """Return the weights that the model was trained with, and margins by class; nothing without them."""
    column = saved.part("sample_weight").get("column")
    found = weights_words(f"of rows by {column}" if isinstance(column, str) else "", saved.estimator)
    return "; ".join(f"{name} {words}" for name, words in found.items())


class _WeightedError:
    """The share of the weights that wrong rows have."""

    def __init__(self, name: str) -> None:
        self.column, self.wrong, self.all = WeightColumn(name), 0.0, 0.0

    @property
    def error(self) -> float:
        """The error."""
        return self.wrong / (self.all or 1)

    def add(self, batch: Examples, X: RowsLike, predicted: Array) -> None:
        """Count a batch."""
        _, weights = self.column.taken(batch)
        self.wrong += float(weights[predicted != batch.y].sum())
        self.all += float(weights.sum())


class _WrongRows:
    """Writes the rows that a model gets wrong, batch by batch, as CSV."""

    def __init__(self, file: BinaryIO, saved: SavedModel) -> None:
        self.file, self.saved, self.begun = file, saved, False

    def add(self, batch: Examples, X: RowsLike, predicted: Array) -> None:
        """Write those of a batch: number, line or file, labels, scores, probabilities and columns."""
        wrong = np.flatnonzero(predicted != batch.y)
        rows = batch.take(wrong)
        columns: Params = {"row": rows.row_numbers.tolist()}
        columns |= {} if rows.lines is None else {"line": list(rows.lines)}
        columns |= {} if rows.files is None else {"file": list(rows.files)}
        columns |= {"true": np.asarray(rows.y).tolist(), "predicted": predicted[wrong].tolist()}
        for method, prefix in (("decision_function", "score_"), ("predict_proba", "p_")):
            if hasattr(self.saved.estimator, method):
                columns |= score_columns(self.saved, method, X[wrong], prefix)
        for name in rows.columns or ():
            columns[f"{name} (data)" if name in columns else name] = rows.X[name].to_list()
        head = [] if self.begun else [columns]
        text = as_csv([*head, *zip(*columns.values(), strict=True)])
        self.file.write(text.encode("utf-8", "backslashreplace"))
        self.begun = True
