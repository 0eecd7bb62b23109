"""``votron evaluate``: how often a model is wrong, where, and by which rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import click
import numpy as np

from votron._util.pipelines import weighs_classes
from votron._util.text import counted, first_of, percent, percent_range
from votron._util.text_tables import as_text
from votron._util.types import Array, Rows
from votron.cli import options
from votron.cli.command import command, option
from votron.cli.models import SavedModel, check_probabilities, examples_to_evaluate, load_model
from votron.cli.output import (
    Notes,
    bold,
    check_different,
    check_figure,
    check_named,
    check_output,
    print_json,
    printable,
    table,
    width,
    wrapped,
    write_figure,
    writing,
)
from votron.cli.predict import labels_of
from votron.cli.reading import base_name, left_out
from votron.cli.training import majority_words, weights_words
from votron.cli.weights import WeightColumn
from votron.errors import VotronError
from votron.evaluate.confusion import Confusion, rarest_in_words
from votron.plots.training import rule_words
from votron.record import labels_of as labels_by_score
from votron.rules.base import rules_that_differ
from votron.rules.scan import Choice

_MOST_CLASSES = 20
"""Classes up to which the confusion matrix is printed, if it is not too wide."""
_SHOWN = 15


@dataclass
class _Measured:
    """What was counted, batch by batch."""

    counts: Confusion
    rules: dict[Choice, Confusion] = field(default_factory=dict)
    column: WeightColumn | None = None
    wrong_weight: float = 0.0
    weight: float = 0.0
    dropped: int = 0
    unlabelled: int = 0

    @property
    def weighted_error(self) -> float | None:
        """The share of the weights of rows that is wrong."""
        return self.wrong_weight / self.weight if self.weight else None


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
@option("--sample-weight", metavar="COL", help="Column with weights of rows: also print the share of them that is wrong.")
@options.confidence
@options.figure(help="Draw confusions, reliability, rules over time and wrong images (.svg, .png or .pdf).")
@option("--wrong", metavar="FILE", type=options.FILE, help="Write the wrong rows to this CSV file.")
@options.common
@options.verbose
@options.drop_unlabelled
@options.other_data
@options.missing(
    "refuse", "drop", help="Rows with missing values: refuse or drop them (default: fill in what training did, or refuse)."
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
    verbose: bool,
    reading: dict[str, Any],
) -> None:
    """Compare a model's predictions with the labels of DATA, which should be rows that it was not trained on.

    Prints the error with an exact confidence interval (Clopper and Pearson), balanced accuracy, macro F1, AUC and
    log-loss where the model has probabilities, the confusion matrix, and precision, recall and F1 of each class.
    """
    check_figure(figure)
    check_named(wrong, "--wrong")
    check_output(wrong, "--wrong", inputs=[model, data])
    check_different(wrong=wrong, figure=figure)
    saved, notes = load_model(model, data, rule=rule, normalize_vectors=normalize_vectors), Notes(quiet)
    if threshold is not None:
        check_probabilities(saved, "--threshold")
    if all_rules and not hasattr(saved.estimator, "staged_decision_function"):
        raise VotronError(f"--all-rules is for models of --estimator voted. {model!r} holds another.")
    how = saved.reading(data, label, reading)
    found = _Measured(Confusion(drawn=figure is not None))
    if sample_weight is not None:
        found.column = WeightColumn(sample_weight)
        how |= found.column.beside(how)
    found.rules = {each: Confusion() for each in rules_that_differ(len(saved.classes))} if all_rules else {}
    page = None
    if figure is not None:
        from votron.cli.figures import EvaluationPage

        page = EvaluationPage(saved.estimator)
    with ExitStack() as files:
        listed = None
        if wrong is not None:
            from votron.cli.wrong_rows import WrongRows

            listed = WrongRows(files.enter_context(writing(wrong)), saved)
        for batch in examples_to_evaluate(saved, data, label, reading, how, notes, held_out):
            X, y = saved.features(batch.X), np.asarray(batch.y)
            predicted = found.counts.count(saved.estimator, X, y)
            if threshold is not None:
                found.counts.counts, before = {}, _without(found.counts.counts, y, predicted)
                predicted = labels_of(saved, X, threshold)
                found.counts.add(y, predicted)
                for key, n in before.items():
                    found.counts.counts[key] = found.counts.counts.get(key, 0) + n
            _count_more(found, saved, batch, X, y, predicted)
            for each in filter(None, (listed, page)):
                each.add(batch, X, predicted)
        if not found.counts.n:
            raise VotronError(f"There are no rows in {data!r} to evaluate on.")
    notes(*saved.remarks())
    if found.dropped:
        notes(f"Left out: {left_out(found.dropped, found.unlabelled)}.")
    if page is not None and figure is not None:
        heading = f"{base_name(model)} on {base_name(data)}: {_error_words(found.counts, confidence)}"
        write_figure(lambda: page.drawn(heading, found.counts, found.counts.labels(saved.classes)), figure)
    if as_json:
        print_json(_document(saved, found, confidence))
    else:
        print("\n\n".join(filter(None, _parts(saved, found, confidence, verbose))))


def _count_more(found: _Measured, saved: SavedModel, batch: Any, X: Rows, y: Array, predicted: Array) -> None:
    """Count a batch by weights and by rules, and the rows that were left out."""
    if found.column is not None:
        weights = found.column.taken(batch)[1]
        found.wrong_weight += float(weights[predicted != y].sum())
        found.weight += float(weights.sum())
    for rule, labels in _by_rule(saved, X, list(found.rules)):
        found.rules[rule].add(y, labels)
    found.dropped, found.unlabelled = found.dropped + batch.dropped, found.unlabelled + batch.unlabelled


def _by_rule(saved: SavedModel, X: Rows, rules: list[Choice]) -> Iterator[tuple[Choice, Array]]:
    """Yield the labels by each rule, all from one scan over the record."""
    if rules:
        record = saved.estimator.record_
        at = [record.n_steps / record.n_examples]
        [(_, scores)] = saved.estimator.staged_decision_function(X, at=at, rules=rules)
        for rule, found in scores.items():
            yield rule, saved.classes[labels_by_score(found)]


# -- what is printed --------------------------------------------------------------------------------------------------


def _parts(saved: SavedModel, found: _Measured, confidence: float, verbose: bool) -> Iterator[str]:
    """Yield the paragraphs of the text."""
    counts = found.counts
    labels = counts.labels(saved.classes)
    weighed = weighs_classes(saved.estimator, saved.provenance)
    rarest = rarest_in_words(counts.rarest, weighed=weighed)
    if rarest and not weighed:
        rarest += "; training with --class-weight balanced finds more of them"
    lines = [
        _error_words(counts, confidence, "\n"),
        majority_words(counts.wrong, counts.majority),
        rarest,
        _mean_words(counts, labels),
        "" if counts.mean_log_loss is None else f"log-loss {counts.mean_log_loss:.4g}",
    ]
    if found.column is not None and found.weighted_error is not None:
        lines.append(f"weighted error {percent(found.weighted_error)}: rows count by {found.column.name}")
    yield printable("\n".join(filter(None, lines)))
    trained = _trained_with(saved)
    yield wrapped(f"Trained with {trained}.") if trained else ""
    unknown = list(map(str, labels[len(saved.classes) :]))
    yield wrapped(f"Labels that the model does not know: {first_of(unknown, 5)}") if unknown else ""
    yield _rule_table(found.rules, confidence) if found.rules else ""
    yield _confusion_text(counts, labels)
    if len(labels) <= _SHOWN or verbose:
        yield _class_table(counts, labels)


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
    """Return the weights that the model was trained with, and margins by class; nothing without them."""
    column = saved.said("sample_weight").get("column")
    found = weights_words(f"of rows by {column}" if isinstance(column, str) else "", saved.estimator)
    return "; ".join(f"{name} {words}" for name, words in found.items())


def _rule_table(rules: Mapping[Choice, Confusion], confidence: float) -> str:
    rows = [["rule", "error", "wrong", f"{100 * confidence:g} % interval"]]
    for rule, found in rules.items():
        interval = percent_range(found.interval(confidence))
        rows.append([rule_words(rule), percent(found.error), f"{found.wrong:,}", interval])
    return table(rows)


def _confusion_text(found: Confusion, labels: list[Any]) -> str:
    """Return the matrix, or if that is too wide the most frequent confusions."""
    names = [printable(str(label), keep="") for label in labels]
    rows = [["true \\ predicted", *names]]
    for name, counts in zip(names, found.matrix(labels).tolist(), strict=True):
        rows.append([name, *(f"{count:,}" if count else "." for count in counts)])
    if len(labels) <= _MOST_CLASSES and max(map(len, as_text(rows).split("\n"))) <= width():
        return table(rows)
    most = found.largest()
    rows = [["true", "predicted as", "rows"], *([str(a), str(b), f"{n:,}"] for a, b, n in most[:_SHOWN])]
    more = f"\n... and {counted(len(most) - _SHOWN, 'other pair')} of labels" if len(most) > _SHOWN else ""
    return bold("The largest confusions") + "\n" + table(rows, left=(0, 1)) + more if most else ""


def _class_table(found: Confusion, labels: list[Any]) -> str:
    rows = [["class", "precision", "recall", "F1", "rows"]]
    for entry in found.by_class(labels):
        shares = ["-" if entry[name] is None else f"{entry[name]:.3f}" for name in ("precision", "recall", "f1")]
        rows.append([str(entry["label"]), *shares, f"{entry['rows']:,}"])
    return table(rows)


def _document(saved: SavedModel, found: _Measured, confidence: float) -> dict[str, Any]:
    counts = found.counts
    labels = counts.labels(saved.classes)
    document = {
        **_numbers(counts, confidence),
        "confidence": confidence,
        "majority": counts.majority,
        **counts.means(labels),
        "rarest": counts.rarest,
        **({} if counts.auc is None else {"auc": counts.auc}),
        **({} if counts.mean_log_loss is None else {"log_loss": counts.mean_log_loss}),
        "classes": counts.by_class(labels),
        "labels": labels,
        "confusion": counts.matrix(labels),
    }
    if found.column is not None:
        document["weighted"] = {"column": found.column.name, "error": found.weighted_error}
    if _trained_with(saved):
        document["trained_with"] = _trained_with(saved)
    if found.rules:
        document["rules"] = [
            {"rule": rule, "normalize_vectors": normalised, **_numbers(each, confidence)}
            for (rule, normalised), each in found.rules.items()
        ]
    return document


def _numbers(found: Confusion, confidence: float) -> dict[str, Any]:
    return {"error": found.error, "wrong": found.wrong, "rows": found.n, "interval": list(found.interval(confidence))}
