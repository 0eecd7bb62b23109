"""The parts of a report about errors: by class and rule, confusions, probabilities, and rules over time."""

from __future__ import annotations

import numpy as np

from votron._util.pages import markup, name_of
from votron._util.pipelines import weighs_classes
from votron._util.plotting import can_draw
from votron._util.text import counted, joined, percent, percent_range
from votron._util.types import Params
from votron.evaluate.confusion import clopper_pearson
from votron.evaluate.figures import displays_of
from votron.plots import MistakesDisplay, ReliabilityDisplay
from votron.plots.predictions import reliability_points
from votron.plots.training import rule_words
from votron.report._figures import drawn
from votron.report.findings import Findings, Origin

_MOST_CLASSES = 20
"""Classes up to which all confusions are shown."""
_MOST_LISTED = 50
_MOST_PAIRS = 15
_MOST_GAPS = 3


def errors(found: Findings) -> Params:
    """Return the errors by class, and by rule."""
    labels = found.labels
    right = np.diag(found.counts.matrix(labels)).tolist()
    rows = []
    for hits, entry in zip(right, found.counts.by_class(labels), strict=True):
        n, wrong = entry["rows"], entry["rows"] - hits
        shares = ["" if entry[name] is None else f"{entry[name]:.3f}" for name in ("precision", "recall", "f1")]
        error = _error_cells(wrong, n, found.confidence) if n else ["", ""]
        rows.append((wrong, [name_of(entry["label"]), f"{n:,}", f"{wrong:,}", *error, *shares]))
    caption = "Errors of each class."
    if len(rows) > _MOST_LISTED:
        rows = sorted(rows, key=lambda row: -row[0])[:_MOST_LISTED]
        caption = f"Errors of the {_MOST_LISTED} classes, of {len(labels):,}, with the most wrong rows."
    if unknown := labels[len(found.classes) :]:
        named = ", ".join(map(name_of, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
        caption += f" Of these labels the model has never seen any, so all their rows are wrong: {named}."
    interval = f"{100 * found.confidence:g} % interval"
    return {"caption": caption, "classes": [row for _, row in rows], "rules": _by_rule(found), "interval": interval}


def _error_cells(wrong: int, n: int, confidence: float) -> list[str]:
    return [percent(wrong / n), percent_range(clopper_pearson(wrong, n, confidence))]


def _by_rule(found: Findings) -> list[list[str]]:
    """Return the errors of all rules that the record has, if there is one."""
    if found.rules is None:
        return []
    mine = getattr(found.classifier, "rule_", getattr(found.classifier, "rule", None))
    mine = mine, bool(getattr(found.classifier, "normalize_vectors", False))
    return [
        [
            rule_words(rule) + (" (this model)" if rule == mine else ""),
            f"{wrong[-1]:,}",
            *_error_cells(int(wrong[-1]), found.rules.n, found.confidence),
        ]
        for rule, wrong in found.rules.wrong.items()
    ]


def confusions(found: Findings) -> Params:
    """Return which label is taken for which: all of them, or the most frequent."""
    most, labels = found.counts.largest(), found.labels
    if len(labels) > _MOST_CLASSES:
        rows = [[name_of(true), name_of(given), f"{n:,}"] for true, given, n in most[:_MOST_PAIRS]]
        return {"largest": rows, "n_more": len(most) - len(rows), "matrix": []}
    named = [f"{name_of(true)} for {name_of(given)} ({counted(n, 'row')})" for true, given, n in most[:3]]
    names = [name_of(label, 18) for label in labels]
    cells = [_cells(i, row) for i, row in enumerate(found.counts.matrix(labels).tolist())]
    matrix = list(zip(names, cells, strict=True))
    return {"largest": [], "named": joined(named) if named else "", "names": names, "matrix": matrix}


def _cells(i: int, counts: list[int]) -> list[Params]:
    """Return a row of the confusions, with the strength of the colours by shares of the true label."""
    cells = []
    for j, n in enumerate(counts):
        share = n / max(sum(counts), 1)
        strength = 0.06 + 0.46 * share if i == j else 0.2 + 0.35 * share**0.5
        cells.append({"n": n, "side": "right" if i == j else "wrong", "strength": strength})
    return cells


def probabilities(found: Findings, origin: Origin) -> Params:
    """Return how far the probabilities can be trusted, and the curves of scores."""
    (sure, right), gaps = found.evaluation.sureness(), found.evaluation.gaps()
    part: Params = {"sure": None, "bins": [], **_figures(found)}
    if not len(sure):
        return part
    mean, share = float(sure.mean()), float(right.mean())
    verdict = "overconfident" if mean - share > 0.03 else "underconfident" if mean - share < -0.03 else ""
    if not verdict and not gaps:
        verdict = "well calibrated"
    points = reliability_points(sure, right)
    sizes = [len(each) for each in np.array_split(sure, len(points[0]))]
    return part | {
        "sure": mean,
        "right": share,
        "verdict": verdict,
        "bins": [[f"{n:,}", percent(p), percent(q)] for n, p, q in zip(sizes, *points, strict=True)],
        "log_loss": found.evaluation.log_loss,
        "gaps": gaps[:_MOST_GAPS],
        "n_more_gaps": len(gaps[_MOST_GAPS:]),
        "weighed": weighs_classes(found.classifier, origin.provenance),
    }


def _figures(found: Findings) -> Params:
    """Return reliability, and of two classes the ROC and the precision-recall curve."""
    figures: Params = {"reliability": "", "curves": []}
    for display in displays_of(found.evaluation) if can_draw() else ():
        if isinstance(display, ReliabilityDisplay):
            points = zip(display.probability, display.share, strict=True)
            said = "; ".join(f"{percent(p)} probable, {percent(share)} right" for p, share in points)
            said = f"Reliability, in equal parts of the rows: {said}"
            figures["reliability"] = markup(drawn(display, "reliability", said))
        else:
            name = {"roc": "ROC curve", "precision-recall": "Precision against recall"}[display.kind]
            figures["curves"].append(markup(drawn(display, display.kind, f"{name} of {name_of(display.label)}")))
    return figures


def training(found: Findings) -> dict[str, str]:
    """Return the errors of the rules over the time of training, and mistakes and support."""
    assert found.rules is not None
    curve, counts = found.rules.display(), MistakesDisplay.of(found.classifier)
    ends = ", ".join(f"{rule_words(rule)} {percent(errors[-1])}" for rule, errors in curve.errors.items())
    rules = drawn(curve, "rules", f"Errors of rules against epochs of training. At the end: {ends}")
    said = (
        f"Mistakes against epochs of training, {counts.mistakes[-1]:,} at the end, and support, {counts.support[-1]:,}"
    )
    return {"rules": markup(rules), "mistakes": markup(drawn(counts, "mistakes", said))}
