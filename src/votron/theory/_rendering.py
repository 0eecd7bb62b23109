"""Renderings of a certificate: as text and as rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from textwrap import fill, shorten
from typing import TYPE_CHECKING

from votron._util.text_tables import as_text as aligned
from votron._util.types import Params
from votron.theory.statements import ESTIMATE, FACT, GUARANTEE

if TYPE_CHECKING:
    from votron.theory.certificate import Bound, Certificate

WIDTH = 120
"""Columns of the full text."""
SHORT_WIDTH, MOST_CHANGES = 80, 3
"""Columns of the short text, and the number of changes that it advises."""


def percent(value: float | None) -> str:
    if value is None:
        return "-"
    return "vacuous" if value >= 1 else f"{100 * value:.2f} %" if value < 0.1 else f"{100 * value:.1f} %"


def _count(value: float) -> str:
    """Return the largest whole number that a bound allows."""
    return f"{math.floor(value):,}" if value < 1e9 else f"{value:.2g}"


def _span(values: Sequence[float | None], form: Callable[[float], str]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    low, high = form(min(known)), form(max(known))
    text = low if low == high else f"{low} to {high}"
    return text if len(known) == len(values) else f"{text} ({len(known)} of {len(values)})"


def in_short(found: Certificate) -> str:
    """Return the best guarantee, the measured error and the changes that would help, on one screen."""
    lines = [f"Certificate of {found.model}", f"{found.predictor}, {_training(found)}", ""]
    lines += [f"Guaranteed: {_guaranteed(found)}"]
    estimate = found.best(ESTIMATE)
    if estimate is not None and estimate.error is not None and estimate.error < 1:
        lines.append(f"Estimated: {percent(estimate.error)} ({estimate.name})")
    if found.predictor in found.measured:
        lines.append(f"Measured: {_measured(found)}")
    if (mistakes := _mistakes(found)) is not None:
        lines.append(f"Mistakes: {mistakes}")
    useful = found.useful
    limit = 0.5 if useful is None else useful.error or 0.0
    if changes := advice(found, limit)[:MOST_CHANGES]:
        lines += ["", f"For a {'better ' if useful else ''}guarantee:"]
        lines += [f"  {change}" for change in changes]
    elif not useful:
        lines += ["", "No change of parameters gives a bound below 50 % with these rows."]
    return "\n".join(fill(line, SHORT_WIDTH, subsequent_indent="    ") for line in lines)


def _training(found: Certificate) -> str:
    classes = [f"{len(found.labels)} classes"] if len(found.labels) > 1 else []
    said = found.mistakes is None or found.predictor.endswith((_epochs(found), "one epoch"))
    return ", ".join([f"{found.m:,} training rows", *classes, *([] if said else [_epochs(found)])])


def _epochs(found: Certificate) -> str:
    return f"{found.epochs:g} epoch{'' if found.epochs == 1 else 's'}"


def _guaranteed(found: Certificate) -> str:
    best = found.useful
    if best is not None:
        claims = ", ".join(a.name for a in best.claims)
        assuming = f", assuming {claims}" if claims else ""
        sure = f"with probability {1 - found.delta:g}"
        return f"an error of at most {percent(best.error)} on new rows, {sure} ({best.name}{assuming})"
    if found.best() is not None:
        return "nothing of use, since all bounds that apply are above 50 %"
    own = [bound for bound in found.bounds if bound.kind == GUARANTEE and bound.predictor == found.predictor]
    reasons = [a.because for bound in own for a in bound.failing]
    reasons = reasons or [remark for bound in own for remark in bound.remarks[:1]] or ["no theorem is about it"]
    return f"nothing, since {shorten('; '.join(dict.fromkeys(reasons)), 300)}"


def _measured(found: Certificate) -> str:
    measured = found.measured[found.predictor]
    text = f"{percent(measured.rate)}, {measured.total:,} of {measured.n:,} test rows; at most "
    text += f"{percent(measured.guaranteed(found.delta))} with probability {1 - found.delta:g}"
    # rows that were used for training, too
    repeated = "" if found.test_data is None else found.test_data.because.rpartition("; ")[0]
    return f"{text}; but {repeated}" if repeated else text


def _mistakes(found: Certificate) -> str | None:
    facts = [bound for bound in found.bounds if bound.kind == FACT and bound.quantity == "mistakes"]
    known = [bound for bound in facts if bound.total is not None and not bound.failing]
    if found.mistakes is None or not known:
        return None
    least = min(known, key=lambda bound: bound.total or 0.0)
    return f"{sum(found.mistakes):,} in training; the theory allows {_count(least.total or 0.0)} ({least.name})"


def summary(found: Certificate) -> str:
    text = f"Guaranteed: {_guaranteed(found)}."
    return f"{text} Measured: {_measured(found)}." if found.predictor in found.measured else text


def advice(found: Certificate, limit: float = 1.0) -> list[str]:
    """Return the changes that would lead to guarantees below a limit, the fewest changes first."""
    best: dict[tuple[str, ...], Bound] = {}
    for bound in found.bounds:
        if bound.kind == GUARANTEE and bound.failing and bound.error is not None and "" not in bound.changes:
            other = best.get(bound.changes)
            if other is None or bound.error < (other.error or 0.0):
                best[bound.changes] = bound
    ranked = sorted(best.items(), key=lambda item: (len(item[0]), item[1].error))
    return [f"{' + '.join(changes)}: {_promise(bound)}" for changes, bound in ranked if (bound.error or 0.0) < limit]


def _promise(bound: Bound) -> str:
    about = "about " if any(a.another_run for a in bound.failing) else ""
    return f"error at most {about}{percent(bound.error)} ({bound.name}, {bound.predictor})"


Cells = list[list[str]]


def _head(found: Certificate) -> str:
    many = f", {len(found.labels)} classes" if len(found.labels) > 1 else ""
    ran = f"{_epochs(found)} run, τ = {found.tau:g}, "
    setting = f"{'' if found.mistakes is None else ran}R = {found.radius:.4g}, δ = {found.delta:g}"
    return f"Certificate of {found.model}: {found.predictor}, {found.m:,} examples{many}\n{setting}"


def _margin_cells(found: Certificate) -> Cells:
    """Return the mistakes, support and margins of each class."""
    margins = [f"margin of {name}" for name in found.margins]
    head = ["class", *([] if found.mistakes is None else ["mistakes"]), "support", *margins]
    rows, at_most = [head], "" if found.support_known else "≤ "
    for c, label in enumerate(found.labels):
        mistakes = [] if found.mistakes is None else [_count(found.mistakes[c])]
        values = [each[c] for each in found.margins.values()]
        support = at_most + _count(found.support[c])
        rows.append([str(label), *mistakes, support, *(f"{value:.3g}" for value in values)])
    return rows


def _fact_cells(found: Certificate) -> Cells:
    rows = [["mistakes of this run", "formula", "mistakes", "at most", "by"]]
    for bound in found.bounds:
        if bound.kind != FACT:
            continue
        observed = found.support if bound.quantity == "support" else found.mistakes or ()
        remark = [bound.remarks[0]] if len(bound.values) == 1 or bound.total is None else []
        by = ", ".join([*(f"if {change}" for change in bound.changes), *remark])
        rows.append([bound.name, bound.formula, _span(observed, _count), _span(bound.values, _count), by])
    return rows


def error_groups(found: Certificate) -> list[tuple[str, list[Bound]]]:
    """Return the bounds on errors by predictor, the model's own first."""
    groups: dict[str, list[Bound]] = {found.predictor: []}
    for bound in found.bounds:
        if bound.kind != FACT:
            groups.setdefault(bound.predictor, []).append(bound)
    return list(groups.items())


def _error_cells(found: Certificate) -> Cells:
    """Return the bounds on errors, indented below their predictor."""
    many = len(found.labels) > 1
    rows = [["error on new rows", *(["each class", "all classes"] if many else ["at most"]), "kind", "applies"]]
    for predictor, bounds in error_groups(found):
        rows.append([predictor + (" (this model)" if predictor == found.predictor else ""), *[""] * (len(rows[0]) - 1)])
        for bound in bounds:
            each = [_span(bound.values, percent)] if many else []
            union = " (union)" if many and bound.joint is None and bound.error is not None else ""
            rows.append([f"  {bound.name}", *each, percent(bound.error) + union, bound.kind, _verdict(bound)])
        if predictor in found.measured:
            measured = found.measured[predictor]
            each = [_span([wrong / measured.n for wrong in measured.errors], percent)] if many else []
            limit = f"guarantee {percent(measured.guaranteed(found.delta))}"
            rows.append([f"  measured on {measured.n:,}", *each, percent(measured.rate), "test data", limit])
        elif not bounds:
            rows.append(["  no theorem here", *[""] * (len(rows[0]) - 1)])
    return rows


def _verdict(bound: Bound) -> str:
    if bound.failing:
        return "no: " + ", ".join(dict.fromkeys(a.name for a in bound.failing))
    return "-" if bound.error is None else "yes"


def _notes(found: Certificate) -> list[str]:
    """Return the assumptions that fail or are claimed, and why values are missing."""
    errors = [bound for bound in found.bounds if bound.kind != FACT]
    lines = [f"Fails: {a.name}, since {a.because}." for bound in errors for a in bound.failing if a.name != "its rule"]
    lines += [f"Assumed: {a.name}, {a.because}." for a in found.claims]
    missing: dict[str, list[str]] = {}
    for bound in errors:
        for value, remark in zip(bound.values, bound.remarks, strict=True):
            if value is None:
                missing.setdefault(remark, []).append(f"{bound.name} of the {bound.predictor}")
    for reason, names in missing.items():
        lines.append(f"No value, since {reason}: {'; '.join(dict.fromkeys(names))}.")
    return list(dict.fromkeys(lines))


def in_full(found: Certificate) -> str:
    parts = [_head(found), fill(summary(found), WIDTH), aligned(_margin_cells(found))]
    if found.mistakes is not None:
        parts.append(aligned(_fact_cells(found), left=(0, 1, 4)))
    errors = _error_cells(found)
    parts.append(aligned(errors, left=(0, len(errors[0]) - 2, len(errors[0]) - 1)))
    parts.append("\n".join(fill(line, WIDTH, subsequent_indent="  ") for line in _notes(found)))
    changes = [fill(line, WIDTH, initial_indent="  ", subsequent_indent="    ") for line in found.advice()]
    if changes:
        parts.append("\n".join(["What would earn a guarantee:", *changes]))
    return "\n\n".join(parts)


def rows(found: Certificate) -> list[Params]:
    """Return a dict for each bound and class, and one for all classes together."""
    out = []
    for bound in found.bounds:
        lines = list(zip(map(str, found.labels), bound.values, bound.remarks, strict=True))
        if len(lines) > 1:
            how = "union bound" if bound.joint is None else "together"
            lines.append(("all", bound.error, "sum" if bound.kind == FACT else how))
        out += [
            {
                "predictor": bound.predictor,
                "bound": bound.name,
                "formula": bound.formula,
                "kind": bound.kind,
                "quantity": bound.quantity,
                "label": label,
                "value": value,
                "remark": remark,
                "applies": bound.applies,
                "vacuous": bound.quantity == "error" and value is not None and value >= 1,
                "fails": ", ".join(dict.fromkeys(a.name for a in bound.failing)),
                "assumes": ", ".join(a.name for a in bound.claims),
            }
            for label, value, remark in lines
        ]
    return out
