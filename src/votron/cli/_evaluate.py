"""``votron evaluate``: how often a model is wrong, where, and by which rule."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from votron._util.pipelines import weighs_classes
from votron._util.text import percent
from votron.cli import _options
from votron.cli._models import SavedModel, examples_to_evaluate, load_model, section
from votron.cli._output import Notes, check_figure_and, print_json, printable, width, wrapped, write_figure, writing
from votron.cli._parser import Parser, Words, asked_by, file_argument, fraction, rewording
from votron.cli._reading import base_name, tell_left_out
from votron.cli._weights import WeightColumn, WeightedError, weights_in_words
from votron.cli._wrong import WrongRowsFile
from votron.errors import VotronError

_WORDS: dict[str, Words] = {
    "missing values": "Leave such rows out with --missing drop, or train with --missing mean, median or most-frequent."
}
"""What to do about missing values."""

EXAMPLES = [
    ("votron evaluate digits.votron digits --part test", "error, confusion matrix, classes"),
    ("votron evaluate digits.votron digits --part test --all-rules", "every rule of a voted model"),
    ("votron evaluate digits.votron digits --part test --figure errors.png --wrong wrong.csv", "seen, and listed"),
    ("votron evaluate days.votron days.csv --label Play --json", "as JSON"),
]


def add(parser: Parser, arguments: Sequence[str]) -> None:
    """Add what the command takes."""
    parser.describe(
        "votron evaluate MODEL DATA [--label COL] [options]",
        "Compare a model's predictions with the labels of DATA: the error with an exact confidence interval (Clopper "
        "and Pearson), balanced accuracy, macro F1 and, where the model has probabilities, log-loss and the area under "
        "the ROC curve (AUC; of several classes the mean of each against the rest), the confusion matrix, and "
        "precision, recall and F1 of each class. DATA should be rows that the model was not trained on: errors on "
        "those of training are too good, and a remark says so where DATA is the file of training.",
        EXAMPLES,
    )
    parser.set_defaults(run=run)
    _options.add_model(parser)
    _options.add_data(parser)
    _options.add_label(parser, "column with the labels (default: as in training)")
    _options.add_held_out(parser)
    parser.add_argument("--all-rules", action="store_true", help="of a voted model: compare all rules")
    _options.add_rule(parser, arguments)
    parser.add_argument(
        "--sample-weight", metavar="COL", help="column with weights of rows: also print the share of them that is wrong"
    )
    parser.add_argument(
        "--confidence",
        type=fraction,
        default=0.95,
        metavar="P",
        help="confidence level of the interval (default: 0.95)",
    )
    file_argument(
        parser,
        "--figure",
        metavar="FILE",
        help="draw confusions, reliability of the probabilities, of two classes the ROC and the precision-recall "
        "curve, rules over the time of training, and wrong images, as far as there are any, on one page: an .svg, "
        ".png or .pdf file",
    )
    file_argument(
        parser,
        "--wrong",
        metavar="FILE",
        help="write the wrong rows as CSV: number of the row, line or file of images, true and predicted label, scores "
        "and probabilities, and the columns of a table",
    )
    _options.add_common(parser)
    group = _options.add_reading(parser, missing=False, for_model=True)
    group.add_argument(
        "--missing",
        choices=("refuse", "drop"),
        help="what to do with rows that have missing values: refuse them, or drop them (default: fill in what training "
        "did, or refuse)",
    )


def run(args: argparse.Namespace) -> int:
    """Predict batch by batch, count, and print."""
    from votron.evaluate import Evaluation
    from votron.evaluate.figures import EvaluationFigure

    inputs = [args.model, args.data]
    check_figure_and(args.wrong, "the wrong rows", "--wrong", figure=args.figure, printed="the errors", inputs=inputs)
    saved = load_model(args)
    if args.all_rules and not hasattr(saved.estimator, "staged_decision_function"):
        kind = type(saved.estimator).__name__
        raise VotronError(f"--all-rules is for models of --estimator voted. Got a {kind} in {saved.path!r} instead.")
    notes, reading = Notes(args.quiet), saved.reading(args, labels="required")
    weights = None if args.sample_weight is None else WeightedError(WeightColumn(args.sample_weight))
    if weights is not None:
        reading |= weights.column.beside(reading)
    found = Evaluation(saved.estimator, all_rules=args.all_rules)
    figure = None if args.figure is None else EvaluationFigure(saved.estimator)
    dropped = unlabelled = 0
    with ExitStack() as files, rewording(_WORDS | asked_by("--sample-weight", [args.sample_weight or ""])):
        wrong = None if args.wrong is None else WrongRowsFile(files.enter_context(writing(args.wrong)), saved.estimator)
        for batch in examples_to_evaluate(saved, args, reading, notes):
            y, X = np.asarray(batch.y), saved.transformed(batch.X)
            predicted = found.add(X, y)
            if weights is not None:
                weights.add(predicted != y, weights.column.taken(batch)[1])
            if wrong is not None:
                wrong.add(batch, X, predicted)
            if figure is not None:
                figure.add(batch, X, predicted)
            dropped, unlabelled = dropped + batch.dropped, unlabelled + batch.unlabelled
        if not found.counts.n:
            raise VotronError(f"There are no rows in {args.data!r} to evaluate on.")
    for remark in saved.remarks():
        notes(remark)
    tell_left_out(notes, dropped, unlabelled)
    if figure is not None:
        heading = f"{base_name(args.model)} on {base_name(args.data)}: {found.error_in_words(args.confidence)}"
        write_figure(lambda: figure.draw(heading, found), Path(args.figure))
    trained = _trained_with(saved)
    if args.json:
        document = found.to_dict(args.confidence)
        if weights is not None:
            document["weighted"] = {"column": weights.column.name, "error": weights.error}
        print_json(document | ({"trained_with": trained} if trained else {}))
        return 0
    text = found.to_text(args.confidence, width(), weighed=weighs_classes(saved.estimator, saved.provenance))
    print(printable(text, keep="\n"))
    if weights is not None:
        print(f"\nweighted error {percent(weights.error)}: rows count by {printable(weights.column.name)}")
    if trained:
        print("\n" + wrapped(f"Trained with {trained}."))
    return 0


def _trained_with(saved: SavedModel) -> str:
    """Return the weights that the model was trained with, and margins by class, in words; nothing without them."""
    column = section(saved.provenance, "sample_weight").get("column")
    rows = f"of rows by {printable(column)}" if isinstance(column, str) else ""
    found = weights_in_words(rows, saved.estimator)
    return "; ".join(f"{name} {words}" for name, words in found.items())
