"""How a certificate looks: as text, as HTML, as rows and as a dict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING, Any

from votron._cells import as_text as aligned
from votron.theory.bounds import held_out_bound
from votron.theory.facts import Assumption, Measured
from votron.theory.statements import FACT, GUARANTEE

if TYPE_CHECKING:
    from votron.theory.certificate import Bound, Certificate

MOST_CLASSES = 20
"""Classes that the printed table of margins has rows for."""


# -- numbers ----------------------------------------------------------------------------------------------------------


def _percent(value: float) -> str:
    if math.isnan(value):
        return "-"
    return "vacuous" if value >= 1 else f"{100 * value:.2f} %" if value < 0.1 else f"{100 * value:.1f} %"


def _count(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if value < 1e9 else f"{value:.2g}"


def _span(values: Sequence[float], form: Any) -> str:
    """Return the least and the most of several values, or the one."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return "-"
    low, high = form(min(known)), form(max(known))
    text = low if low == high else f"{low} to {high}"
    return text if len(known) == len(values) else f"{text} ({len(known)} of {len(values)})"


# -- the three tables -------------------------------------------------------------------------------------------------


def _head(found: Certificate) -> str:
    many = f", {len(found.labels)} classes" if len(found.labels) > 1 else ""
    return f"Certificate of {found.model}: {found.predictor}, {found.m:,} examples{many}"


def _setting(found: Certificate) -> str:
    epochs = "" if found.mistakes is None else f"{found.epochs:g} epochs, τ = {found.tau:g}, "
    return f"{epochs}R = {found.radius:.4g}, δ = {found.delta:g}"


def margin_cells(found: Certificate) -> list[list[str]]:
    """Return mistakes, support and margins of each class."""
    names = list(found.margins)
    counts = [] if found.mistakes is None else ["mistakes"]
    margins = [[f"{kind}: {names[0]}", *names[1:]] for kind in ("margin", "normalised")]
    head = ["class", *counts, "support", *margins[0], *margins[1]]
    rows = [head]
    for c, label in enumerate(found.labels[:MOST_CLASSES]):
        mistakes = [] if found.mistakes is None else [_count(found.mistakes[c])]
        values = [table[name][c] for table in (found.margins, found.normalized_margins) for name in names]
        rows.append([str(label), *mistakes, _count(found.support[c]), *(f"{value:.3g}" for value in values)])
    if len(found.labels) > MOST_CLASSES:
        rows.append([f"... {len(found.labels) - MOST_CLASSES} more", *[""] * (len(head) - 1)])
    return rows


def fact_cells(found: Certificate) -> list[list[str]]:
    """Return the bounds on mistakes beside the mistakes."""
    rows = [["mistakes of this run", "formula", "mistakes", "at most", "by"]]
    for bound in found.bounds:
        if bound.kind != FACT:
            continue
        observed = found.support if bound.quantity == "support" else found.mistakes or ()
        remark = bound.remarks[0] if len(bound.values) == 1 or math.isnan(bound.total) else ""
        by = ", ".join([*(f"if {change}" for change in bound.changes), *([remark] if remark else [])])
        rows.append([bound.name, bound.formula, _span(observed, _count), _span(bound.values, _count), by])
    return rows


def error_cells(found: Certificate) -> list[list[str]]:
    """Return the bounds on errors, below the predictor they speak of."""
    many = len(found.labels) > 1
    rows = [["error on examples to come", *(["each class", "all classes"] if many else ["at most"]), "kind", "applies"]]
    for predictor, bounds in _by_predictor(found):
        mine = predictor == found.predictor
        rows.append([predictor + (" (this model)" if mine else ""), *[""] * (len(rows[0]) - 1)])
        for bound in bounds:
            each = [_span(bound.values, _percent)] if many else []
            union = " (union)" if many and bound.joint is None and math.isfinite(bound.error) else ""
            rows.append([f"  {bound.name}", *each, _percent(bound.error) + union, bound.kind, _verdict(bound)])
        if predictor in found.measured:
            rows.append(_measured_cells(found.measured[predictor], found.delta, many))
    if found.predictor in found.measured and found.predictor not in dict(_by_predictor(found)):
        rows.append([f"{found.predictor} (this model)", *[""] * (len(rows[0]) - 1)])
        rows.append(_measured_cells(found.measured[found.predictor], found.delta, many))
    return rows


def _measured_cells(measured: Measured, delta: float, many: bool) -> list[str]:
    each = [_span([wrong / measured.n for wrong in measured.errors], _percent)] if many else []
    limit = _percent(held_out_bound(measured.total, measured.n, delta))
    return ["  measured", *each, _percent(measured.rate), "test data", f"guarantees {limit}"]


def _by_predictor(found: Certificate) -> list[tuple[str, list[Bound]]]:
    groups: dict[str, list[Bound]] = {}
    for bound in found.bounds:
        if bound.kind != FACT:
            groups.setdefault(bound.predictor, []).append(bound)
    return list(groups.items())


def _verdict(bound: Bound) -> str:
    if bound.failing:
        return "no: " + ", ".join(a.name for a in bound.failing)
    return "-" if math.isnan(bound.error) else "yes"


# -- the words below --------------------------------------------------------------------------------------------------


def _distinct(assumptions: Iterable[Assumption]) -> list[Assumption]:
    return list({(a.name, a.because): a for a in assumptions}.values())


def notes(found: Certificate) -> list[str]:
    """Return what fails, what is claimed, and why values are missing."""
    errors = [bound for bound in found.bounds if bound.kind != FACT]
    fails = _distinct(a for bound in errors for a in bound.failing if a.name != "its rule")
    claims = _distinct(a for bound in errors for a in bound.claims)
    lines = [f"Fails: {a.name}, since {a.because}." for a in fails]
    lines += [f"Assumed: {a.name}, {a.because}." for a in claims]
    return lines + [line for bound in errors if (line := _missing(found, bound))]


def _missing(found: Certificate, bound: Bound) -> str:
    """Return why a bound has no value, for the first class that has none."""
    missing = [c for c, value in enumerate(bound.values) if math.isnan(value)]
    if not missing:
        return ""
    others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    which = f" (class {found.labels[missing[0]]}{others})" if len(bound.values) > 1 else ""
    return f"No value: {bound.name} of the {bound.predictor}, {bound.remarks[missing[0]]}{which}."


def summary(found: Certificate) -> str:
    """Return the best guarantee that this model has, in a sentence."""
    best = found.best()
    if best is None:
        return "No theorem here guarantees anything of this model as it is."
    if best.vacuous:
        return f"What applies to this model is vacuous: the least guarantee is {best.error:.2f}, by {best.name}."
    claims = ", ".join(a.name for a in best.claims)
    return (
        f"With probability {1 - found.delta:g} the error of this model is at most {_percent(best.error)} "
        f"({best.name}{', assuming ' + claims if claims else ''})."
    )


def advice(found: Certificate) -> list[str]:
    """Return which changes would earn which guarantees, the fewest changes first."""
    best: dict[tuple[str, ...], Bound] = {}
    for bound in found.bounds:
        known = math.isfinite(bound.error) or any(a.name == "consistent" for a in bound.failing)
        if bound.kind != GUARANTEE or not bound.failing or not known:
            continue
        other = best.get(bound.changes)
        if other is None or _order(bound) < _order(other):
            best[bound.changes] = bound
    ranked = sorted(best.items(), key=lambda item: (len(item[0]), *_order(item[1])))
    return [f"{' + '.join(changes)}: {_promise(bound, found.delta)}" for changes, bound in ranked]


def _order(bound: Bound) -> tuple[bool, float]:
    return math.isnan(bound.error), bound.error


def _promise(bound: Bound, delta: float) -> str:
    by = f"({bound.name}, {bound.predictor})"
    if math.isnan(bound.error):
        return f"a guarantee whose value is not known yet {by}"
    if bound.vacuous:
        return f"a guarantee, but a vacuous one, {bound.error:.2f} {by}"
    return f"error at most {_percent(bound.error)} with probability {1 - delta:g} {by}"


# -- the whole --------------------------------------------------------------------------------------------------------


def as_text(found: Certificate) -> str:
    """Return the certificate as text."""
    parts = [f"{_head(found)}\n{_setting(found)}", aligned(margin_cells(found))]
    if found.mistakes is not None:
        parts.append(aligned(fact_cells(found), left=(0, 1, 4)))
    cells = error_cells(found)
    parts.append(aligned(cells, left=(0, len(cells[0]) - 2, len(cells[0]) - 1)))
    parts.append("\n".join([summary(found), *notes(found)]))
    changes = found.advice()
    if changes:
        parts.append("\n".join(["What would earn a guarantee:", *(f"  {line}" for line in changes)]))
    return "\n\n".join(parts)


def as_html(found: Certificate) -> str:
    """Return the certificate as HTML, without scripts and styles of its own but alignment."""
    tables = [margin_cells(found), error_cells(found)]
    if found.mistakes is not None:
        tables.insert(1, fact_cells(found))
    items = "".join(f"<li>{escape(line)}</li>" for line in found.advice())
    return "".join(
        [
            f"<div><p><strong>{escape(_head(found))}</strong><br>{escape(_setting(found))}</p>",
            *(_html_table(cells) for cells in tables),
            f"<p>{escape(summary(found))}</p>",
            "<p>" + "<br>".join(escape(line) for line in notes(found)) + "</p>",
            f"<p>What would earn a guarantee:</p><ul>{items}</ul>" if items else "",
            "</div>",
        ]
    )


def _html_table(cells: list[list[str]]) -> str:
    head, *body = cells
    lines = ["<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>"]
    for first, *rest in body:
        indent = ' style="text-align:left;padding-left:2em"' if first.startswith(" ") else ' style="text-align:left"'
        lines.append(f"<tr><td{indent}>{escape(first)}</td>" + "".join(f"<td>{escape(c)}</td>" for c in rest) + "</tr>")
    return f"<table>{''.join(lines)}</table>"


def rows(found: Certificate) -> list[dict[str, Any]]:
    """Return a dict for each bound and class, and one for all classes together."""
    out = []
    for bound in found.bounds:
        pairs = list(zip(found.labels, bound.values, bound.remarks, strict=True))
        if len(pairs) > 1:
            how = "union bound" if bound.joint is None else "together"
            pairs.append(("all", bound.error, "sum" if bound.kind == FACT else how))
        for label, value, remark in pairs:
            out.append(
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
                    "vacuous": bound.quantity == "error" and value >= 1,
                    "fails": ", ".join(a.name for a in bound.failing),
                }
            )
    return out


def as_dict(found: Certificate) -> dict[str, Any]:
    """Return everything as plain numbers, text, lists and dicts."""
    plain = _plain(asdict(found))
    for bound, entry in zip(found.bounds, plain["bounds"], strict=True):
        entry.update(
            applies=bound.applies, vacuous=bound.vacuous, error=_plain(bound.error), changes=list(bound.changes)
        )
    return {**plain, "advice": found.advice(), "summary": summary(found)}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
