"""``votron evaluate``: how often a model is wrong, where, and by which rule."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._util.pipelines import weighs_classes
from votron._util.text import counted, first_of, percent, percent_range
from votron._util.text_tables import as_text
from votron.cli import _options
from votron.cli._models import (
    SavedModel,
    beside_majority,
    examples_to_evaluate,
    load_model,
    section,
)
from votron.cli._output import (
    Notes,
    bold,
    check_figure_and,
    print_json,
    printable,
    table,
    width,
    wrapped,
    write_figure,
    writing,
)
from votron.cli._parser import Parser, Words, asked_by, file_argument, fraction, rewording
from votron.cli._reading import base_name, tell_left_out
from votron.cli._weights import WeightColumn, WeightedError, weights_in_words
from votron.errors import VotronError
from votron.evaluate.confusion import Confusion, rarest_in_words
from votron.plots.training import rule_words
from votron.record import labels_of
from votron.rules.base import rules_that_differ
from votron.rules.scan import Choice

MOST_CLASSES = 20
"""Classes up to which the confusion matrix is printed, where it is not too wide."""
_SHOWN = 15

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
        help="draw confusions, reliability of the probabilities, rules over the time of training, and images that are "
        "wrong, as far as there are any, on one page: an .svg, .png or .pdf file",
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
    inputs = [args.model, args.data]
    check_figure_and(args.wrong, "the wrong rows", "--wrong", figure=args.figure, printed="the errors", inputs=inputs)
    saved = load_model(args)
    notes = Notes(args.quiet)
    if args.all_rules:
        _check_rules(saved)
    reading = saved.reading(args, labels="required")
    weights = None if args.sample_weight is None else WeightedError(WeightColumn(args.sample_weight))
    if weights is not None:
        reading |= weights.column.beside(reading)
    found, page = Confusion(drawn=args.figure is not None), _page(args, saved)
    rules = {rule: Confusion() for rule in rules_that_differ(len(saved.classes))} if args.all_rules else {}
    dropped = unlabelled = 0
    with ExitStack() as files, rewording(_WORDS | asked_by("--sample-weight", [args.sample_weight or ""])):
        wrong = _wrong_rows(args, saved, files)
        for batch in examples_to_evaluate(saved, args, reading, notes):
            rows, y = batch.X, np.asarray(batch.y)
            X = saved.transformed(rows)
            predicted = found.count(saved.estimator, X, y)
            if weights is not None:
                weights.add(predicted != y, weights.column.taken(batch)[1])
            for rule, labels in _by_rule(saved, X, list(rules)):
                rules[rule].add(y, labels)
            for each in filter(None, (wrong, page)):
                each.add(batch, X, predicted)
            dropped, unlabelled = dropped + batch.dropped, unlabelled + batch.unlabelled
        if not found.n:
            raise VotronError(f"There are no rows in {args.data!r} to evaluate on.")
    for remark in saved.remarks():
        notes(remark)
    tell_left_out(notes, dropped, unlabelled)
    if page is not None:
        heading = f"{base_name(args.model)} on {base_name(args.data)}: {_error_words(found, args.confidence)}"
        write_figure(lambda: page.drawn(heading, found, found.labels(saved.classes)), Path(args.figure))
    if args.json:
        print_json(_document(saved, found, rules, args.confidence, weights))
    else:
        print(_text(saved, found, rules, args, weights))
    return 0


def _wrong_rows(args: argparse.Namespace, saved: SavedModel, files: ExitStack) -> Any:
    """Return what writes the wrong rows, if they are asked for."""
    if args.wrong is None:
        return None
    from votron.cli._wrong import WrongRows

    return WrongRows(files.enter_context(writing(args.wrong)), saved)


def _page(args: argparse.Namespace, saved: SavedModel) -> Any:
    """Return what is drawn, if it is asked for."""
    if args.figure is None:
        return None
    from votron.cli._figures import EvaluationPage

    return EvaluationPage(saved.estimator)


# -- rules ------------------------------------------------------------------------------------------------------------


def _check_rules(saved: SavedModel) -> None:
    if not hasattr(saved.estimator, "staged_decision_function"):
        kind = type(saved.estimator).__name__
        raise VotronError(f"--all-rules is for models of --estimator voted. Got a {kind} in {saved.path!r} instead.")


def _by_rule(saved: SavedModel, X: Any, rules: list[Choice]) -> Iterator[tuple[Choice, NDArray[Any]]]:
    """Yield the labels by each rule, all from one scan over the record."""
    if not rules:
        return
    record = saved.estimator.record_
    [(_, scores)] = saved.estimator.staged_decision_function(X, at=[record.n_steps / record.n_examples], rules=rules)
    for rule, found in scores.items():
        yield rule, saved.classes[labels_of(found)]


# -- what is printed --------------------------------------------------------------------------------------------------


def _text(
    saved: SavedModel,
    found: Confusion,
    rules: dict[Choice, Confusion],
    args: argparse.Namespace,
    weights: WeightedError | None,
) -> str:
    labels = found.labels(saved.classes)
    weighed = weighs_classes(saved.estimator, saved.provenance)
    about_rarest = rarest_in_words(found.rarest, weighed=weighed)
    lines = [
        _error_words(found, args.confidence, "\n"),
        beside_majority(found.wrong, found.majority, by_error=bool(about_rarest)),
        printable(about_rarest),
        _mean_words(found, labels),
    ]
    parts = ["\n".join(filter(None, lines))]
    if (log_loss := found.mean_log_loss) is not None:
        parts[0] += f"\nlog-loss {log_loss:.4g} by the probabilities of the labels"
    if weights is not None:
        parts[0] += f"\nweighted error {percent(weights.error)}: rows count by {printable(weights.column.name)}"
    trained = _trained_with(saved)
    if trained:
        parts.append(wrapped(f"Trained with {trained}."))
    unknown = labels[len(saved.classes) :]
    if unknown:
        named = first_of(list(map(str, unknown)), 5)
        parts.append(wrapped(f"Of these labels the model has never seen any, so all their rows are wrong: {named}"))
    if rules:
        parts.append(_rule_table(rules, args.confidence))
    parts += [_confusion_text(found, labels), _class_table(found, labels)]
    return "\n\n".join(filter(None, parts))


def _error_words(found: Confusion, confidence: float, between: str = "; ") -> str:
    return (
        f"error {percent(found.error)}: {found.wrong:,} of {counted(found.n, 'row')} wrong{between}"
        f"{100 * confidence:g} % interval {percent_range(found.interval(confidence))}"
    )


def _mean_words(found: Confusion, labels: list[Any]) -> str:
    means, area = found.means(labels), found.auc
    words = f"balanced accuracy {percent(means['balanced_accuracy'])}, macro F1 {means['macro_f1']:.3f}"
    return words if area is None else f"{words}, AUC {area:.4f}"


def _trained_with(saved: SavedModel) -> str:
    """Return the weights that the model was trained with, and margins by class, in words; nothing without them."""
    column = section(saved.provenance, "sample_weight").get("column")
    rows = f"of rows by {printable(column)}" if isinstance(column, str) else ""
    found = weights_in_words(rows, saved.estimator)
    return "; ".join(f"{name} {words}" for name, words in found.items())


def _rule_table(rules: dict[Choice, Confusion], confidence: float) -> str:
    rows = [["rule", "error", "wrong", f"{100 * confidence:g} % interval"]]
    for rule, found in rules.items():
        interval = percent_range(found.interval(confidence))
        rows.append([rule_words(rule), percent(found.error), f"{found.wrong:,}", interval])
    return table(rows)


def _confusion_text(found: Confusion, labels: list[Any]) -> str:
    """Return the matrix, or where that would be too wide the most frequent confusions."""
    names = [printable(str(label)) for label in labels]
    rows = [["true \\ predicted", *names]]
    for name, counts in zip(names, found.matrix(labels).tolist(), strict=True):
        rows.append([name, *(f"{count:,}" if count else "." for count in counts)])
    matrix = table(rows) if len(labels) <= MOST_CLASSES else ""
    if matrix and max(map(len, as_text(rows).split("\n"))) <= width():
        return matrix
    most = found.largest()
    if not most:
        return ""
    rows = [["true", "predicted as", "rows"], *([str(a), str(b), f"{n:,}"] for a, b, n in most[:_SHOWN])]
    more = f"\n... and {counted(len(most) - _SHOWN, 'other pair')} of labels" if len(most) > _SHOWN else ""
    return bold("The largest confusions") + "\n" + table(rows, left=(0, 1)) + more


def _class_table(found: Confusion, labels: list[Any]) -> str:
    rows = [["class", "precision", "recall", "F1", "rows"]]
    for entry in found.by_class(labels):
        shares = ["-" if entry[name] is None else f"{entry[name]:.3f}" for name in ("precision", "recall", "f1")]
        rows.append([str(entry["label"]), *shares, f"{entry['rows']:,}"])
    return table(rows)


def _document(
    saved: SavedModel,
    found: Confusion,
    rules: dict[Choice, Confusion],
    confidence: float,
    weights: WeightedError | None,
) -> dict[str, Any]:
    labels = found.labels(saved.classes)
    document = {
        **_numbers(found, confidence),
        "confidence": confidence,
        "majority": found.majority,
        **found.means(labels),
        "rarest": found.rarest,
        **({} if (area := found.auc) is None else {"auc": area}),
        **({} if (log_loss := found.mean_log_loss) is None else {"log_loss": log_loss}),
        "classes": found.by_class(labels),
        "labels": labels,
        "confusion": found.matrix(labels),
    }
    if weights is not None:
        document["weighted"] = {"column": weights.column.name, "error": weights.error}
    if _trained_with(saved):
        document["trained_with"] = _trained_with(saved)
    if rules:
        document["rules"] = [
            {"rule": rule, "normalize_vectors": normalised, **_numbers(each, confidence)}
            for (rule, normalised), each in rules.items()
        ]
    return document


def _numbers(found: Confusion, confidence: float) -> dict[str, Any]:
    interval = list(found.interval(confidence))
    return {"error": found.error, "wrong": found.wrong, "rows": found.n, "interval": interval}
