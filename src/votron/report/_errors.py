"""The parts of a report about errors: by class and rule, confusions, probabilities, and rules over time."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from votron._util.pages import table_html
from votron._util.pipelines import weighs_classes
from votron._util.plotting import STYLE, can_draw, pyplot, svg_for_page
from votron._util.text import counted, joined, on_one_line, percent, percent_range, shortened
from votron.evaluate.confusion import clopper_pearson
from votron.plots import MistakesDisplay, ReliabilityDisplay
from votron.plots.predictions import reliability_points
from votron.plots.training import rule_words
from votron.report._figures import SIZE, drawn
from votron.report.findings import Findings, Origin

MOST_CLASSES = 20
"""Classes up to which all confusions are shown."""
_MOST_LISTED = 50
_MOST_PAIRS = 15
_LONGEST = 32
_MOST_GAPS = 3
_BY_WEIGHTS = (
    " The model was trained with weights or with margins by class, which do this: its probabilities are those of "
    "classes in other shares."
)
_CALIBRATE = (
    "To have them right, calibrate the model on rows that training has not seen, by "
    "<code>CalibratedClassifierCV(FrozenEstimator(model))</code> of scikit-learn; to choose rows, the order of the "
    "probabilities is enough, with a threshold of its own."
)
_COLOURS = "Blue is right, orange is wrong; the stronger the colour, the larger the share of the true label's rows."


def name_of(label: Any, longest: int = _LONGEST) -> str:
    """Return a label as a page shows it."""
    return shortened(on_one_line(str(label)), longest)


def errors(found: Findings) -> str:
    """Return the errors by class, and by rule."""
    return f'<div class="beside">{_by_class(found)}\n{_by_rule(found)}</div>'


def _by_class(found: Findings) -> str:
    labels, matrix = found.labels, found.counts.matrix(found.labels)
    rows = []
    for i, entry in enumerate(found.counts.by_class(labels)):
        n, wrong = entry["rows"], entry["rows"] - int(matrix[i, i])
        shares = ["" if entry[name] is None else f"{entry[name]:.3f}" for name in ("precision", "recall", "f1")]
        error = [percent(wrong / n), _interval(wrong, n, found.confidence)] if n else ["", ""]
        rows.append((wrong, [name_of(entry["label"]), f"{n:,}", f"{wrong:,}", *error, *shares]))
    caption = "Errors of each class."
    if len(rows) > _MOST_LISTED:
        rows = sorted(rows, key=lambda row: -row[0])[:_MOST_LISTED]
        caption = f"Errors of the {_MOST_LISTED} classes, of {len(labels):,}, with the most wrong rows."
    unknown = labels[len(found.classes) :]
    if unknown:
        named = ", ".join(name_of(label) for label in unknown[:5]) + (", ..." if len(unknown) > 5 else "")
        caption += f" Of these labels the model has never seen any, so all their rows are wrong: {named}."
    head = ["class", "rows", "wrong", "error", _interval_words(found), "precision", "recall", "F1"]
    return table_html(caption, head, [row for _, row in rows], numbers=range(1, 8))


def _by_rule(found: Findings) -> str:
    """Return the errors of all rules that the record has, if there is one."""
    if found.rules is None:
        return ""
    rows = []
    mine = getattr(found.classifier, "rule_", getattr(found.classifier, "rule", None))
    mine = mine, bool(getattr(found.classifier, "normalize_vectors", False))
    for rule, counts in found.rules.wrong.items():
        wrong, n = int(counts[-1]), found.rules.n
        mark = " (this model)" if rule == mine else ""
        rows.append([rule_words(rule) + mark, f"{wrong:,}", percent(wrong / n), _interval(wrong, n, found.confidence)])
    caption = "Errors of the rules by which the one training can predict."
    return table_html(caption, ["rule", "wrong", "error", _interval_words(found)], rows, numbers=range(1, 4))


def _interval(wrong: int, n: int, confidence: float) -> str:
    return percent_range(clopper_pearson(wrong, n, confidence))


def _interval_words(found: Findings) -> str:
    return f"{100 * found.confidence:g} % interval"


# -- confusions -------------------------------------------------------------------------------------------------------


def confusions(found: Findings) -> str:
    """Return which label is taken for which: all of them, or the most frequent."""
    most = found.counts.largest()
    if not most:
        return "<p>No row is wrong.</p>" if len(found.labels) > MOST_CLASSES else _matrix(found)
    if len(found.labels) > MOST_CLASSES:
        rows = [[name_of(true), name_of(given), f"{n:,}"] for true, given, n in most[:_MOST_PAIRS]]
        more = len(most) - len(rows)
        rest = f" {counted(more, 'other pair')} of labels are left out." if more > 0 else ""
        return table_html(f"The largest confusions.{rest}", ["true", "predicted as", "rows"], rows, numbers=(2,))
    named = joined(f"{name_of(true)} for {name_of(given)} ({counted(n, 'row')})" for true, given, n in most[:3])
    return f"<p>Most often the model takes {escape(named)}. {_COLOURS}</p>\n{_matrix(found)}"


def _matrix(found: Findings) -> str:
    """Return all confusions as a table whose colours are the shares of each true label."""
    labels, counts = found.labels, found.counts.matrix(found.labels)
    names = [escape(name_of(label, 18)) for label in labels]
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    lines = []
    for i, (name, row) in enumerate(zip(names, counts.tolist(), strict=True)):
        total, cells = max(sum(row), 1), []
        for j, n in enumerate(row):
            share = n / total
            strength = 0.06 + 0.46 * share if i == j else 0.2 + 0.35 * share**0.5
            style = f' class="{"right" if i == j else "wrong"}" style="--share: {strength:.2f}"' if n else ""
            cells.append(f"<td{style}>{f'{n:,}' if n else '·'}</td>")
        lines.append(f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>')
    caption = "True labels at the left, predicted ones above."
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Confusions"><table class="confusion">'
        f"<caption><span>{caption}</span></caption>\n<thead><tr><td></td>{heads}</tr></thead>\n"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


# -- figures ----------------------------------------------------------------------------------------------------------


def probabilities(found: Findings, origin: Origin) -> str:
    """Return how far the probabilities can be trusted, or why there are none."""
    sure, right = found.evaluation.sureness()
    if not len(sure):
        return "<p>This model has scores and no probabilities.</p>"
    log_loss = found.evaluation.log_loss
    loss = "" if log_loss is None else f" The log-loss is {log_loss:.4g}."
    text = f"<p>{_sureness(found, float(sure.mean()), float(right.mean()))}{loss}</p>{_off_by_class(found, origin)}"
    if not can_draw():
        return text
    points = reliability_points(sure, right)
    said = "; ".join(f"{percent(p)} probable, {percent(share)} right" for p, share in zip(*points, strict=True))
    svg = drawn(
        ReliabilityDisplay(*points, len(sure)), "reliability", f"Reliability, in equal parts of the rows: {said}"
    )
    n = len(sure)
    parts = [len(part) for part in np.array_split(np.arange(n), len(points[0]))]
    rows = [[f"{k:,}", percent(p), percent(share)] for k, p, share in zip(parts, *points, strict=True)]
    caption = "The same in numbers: rows by the probability of their label, and how many are right."
    table = table_html(caption, ["rows", "mean probability", "right"], rows, numbers=range(3))
    return f'{text}\n<div class="panels two">{svg}{table}</div>'


def _sureness(found: Findings, sure: float, right: float) -> str:
    """Return whether the model is as sure of its answers as it is right; all is well only if its classes are too."""
    kind = (
        "too sure" if sure - right > 0.03 else "not sure enough" if sure - right < -0.03 else "as sure as it should be"
    )
    verdict = f"gives its answers a probability of {percent(sure)}, and {percent(right)} are right."
    if kind == "as sure as it should be" and found.evaluation.gaps():
        return f"On average the model {verdict}"
    return f"By these rows the model is {kind}: on average the model {verdict}"


def _off_by_class(found: Findings, origin: Origin) -> str:
    """Return which classes are given too much or too little probability, and what may be done; nothing without one."""
    gaps = found.evaluation.gaps()
    if not gaps:
        return ""
    said = "; ".join(
        f"'{name_of(gap.label)}' {percent(gap.probability)}, and {percent(gap.share)} of the rows are "
        f"'{name_of(gap.label)}'"
        for gap in gaps[:_MOST_GAPS]
    )
    more = f"; and so for {counted(len(gaps) - _MOST_GAPS, 'more class', 'more classes')}" if gaps[_MOST_GAPS:] else ""
    text = escape(f"By class the probabilities are not right: on average it gives {said}{more}.")
    because = _BY_WEIGHTS if weighs_classes(found.classifier, origin.provenance) else ""
    return f"\n<p>{text}{because} {_CALIBRATE}</p>"


def training(found: Findings) -> str:
    """Return the errors of the rules over the time of training, and mistakes and support."""
    curve = found.curve()
    ends = ", ".join(f"{rule_words(rule)} {percent(wrong[-1] / curve.n)}" for rule, wrong in curve.wrong.items())
    rules = drawn(curve.display(), "rules", f"Errors of rules against epochs of training. At the end: {ends}")
    some = f"<p>The errors are of {curve.n:,} of {found.counts.n:,} rows, drawn at random.</p>\n"
    some = some if curve.n < found.counts.n else ""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, ax = plt.subplots(figsize=SIZE, layout="constrained")
        counts = MistakesDisplay.from_estimator(found.classifier, ax=ax)
    said = (
        f"Mistakes against epochs of training, {counts.mistakes[-1]:,} at the end, and support, {counts.support[-1]:,}"
    )
    return f'{some}<div class="panels two">{rules}\n{svg_for_page(figure, "mistakes", said)}</div>'
