"""Renderings of a certificate: as text, as HTML, as rows and as a dict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

from votron._util.text_tables import as_text as aligned
from votron.theory.evidence import Assumption, Measured
from votron.theory.statements import FACT, GUARANTEE

if TYPE_CHECKING:
    from votron.theory.certificate import Bound, Certificate

WIDTH = 120
"""Columns within which sentences are printed."""
MOST_CLASSES = 20
"""Classes that the printed table of margins has rows for."""


_JOINTLY = (
    "Classes were trained together: an update changes two vectors, and a row's margin is (w_y − w_r)·x / (√2 ‖w‖) for "
    "the best other class r, ‖w‖ that of all vectors as one. So there are at most (1 + τ)(R/γ)² mistakes in all; of "
    "one class against the rest the bounds on mistakes do not hold."
)
"""What the bounds are about, where several classes are one vector."""


# -- numbers ----------------------------------------------------------------------------------------------------------


def percent(value: float) -> str:
    """Return an error as text.

    Examples
    --------
    >>> percent(0.01234), percent(0.1234), percent(1.3), percent(math.nan)
    ('1.23 %', '12.3 %', 'vacuous', '-')
    """
    if math.isnan(value):
        return "-"
    return "vacuous" if value >= 1 else f"{100 * value:.2f} %" if value < 0.1 else f"{100 * value:.1f} %"


def _count(value: float) -> str:
    """Return a bound on a whole number as the largest that it allows."""
    if math.isnan(value):
        return "-"
    return f"{math.floor(value):,}" if value < 1e9 else f"{value:.2g}"


def _span(values: Sequence[float], form: Any) -> str:
    """Return the least and the most of several values, or the one."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return "-"
    low, high = form(min(known)), form(max(known))
    text = low if low == high else f"{low} to {high}"
    return text if len(known) == len(values) else f"{text} ({len(known)} of {len(values)})"


# -- the three tables -------------------------------------------------------------------------------------------------


def head(found: Certificate) -> str:
    """Return of what it is."""
    many = f", {len(found.labels)} classes" if len(found.labels) > 1 else ""
    return f"Certificate of {found.model}: {found.predictor}, {found.m:,} examples{many}"


def _setting(found: Certificate) -> str:
    ran = f"{found.epochs:g} epoch{'' if found.epochs == 1 else 's'} run, τ = {found.tau:g}, "
    return f"{'' if found.mistakes is None else ran}R = {found.radius:.4g}, δ = {found.delta:g}"


def margin_cells(found: Certificate) -> list[list[str]]:
    """Return mistakes, support and margins of each class."""
    names = list(found.margins)
    counts = [] if found.mistakes is None else ["mistakes"]
    margins = [[f"{kind}: {names[0]}", *names[1:]] for kind in ("margin", "normalised")]
    head = ["class", *counts, "support", *margins[0], *margins[1]]
    rows, at_most = [head], "" if found.support_known else "≤ "
    for c, label in enumerate(found.labels[:MOST_CLASSES]):
        mistakes = [] if found.mistakes is None else [_count(found.mistakes[c])]
        values = [table[name][c] for table in (found.margins, found.normalized_margins) for name in names]
        support = at_most + _count(found.support[c])
        rows.append([str(label), *mistakes, support, *(f"{value:.3g}" for value in values)])
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


def error_groups(found: Certificate) -> list[tuple[str, list[Bound]]]:
    """Return the bounds on errors by predictor, the model's own first, also where it has none."""
    groups: dict[str, list[Bound]] = {found.predictor: []}
    for bound in found.bounds:
        if bound.kind != FACT:
            groups.setdefault(bound.predictor, []).append(bound)
    return list(groups.items())


def error_cells(found: Certificate) -> list[list[str]]:
    """Return the bounds on errors, below the predictor they speak of; rows of bounds begin with a space."""
    many = len(found.labels) > 1
    rows = [["error on examples to come", *(["each class", "all classes"] if many else ["at most"]), "kind", "applies"]]
    for predictor, bounds in error_groups(found):
        rows.append([predictor + (" (this model)" if predictor == found.predictor else ""), *[""] * (len(rows[0]) - 1)])
        for bound in bounds:
            each = [_span(bound.values, percent)] if many else []
            union = " (union)" if many and bound.joint is None and math.isfinite(bound.error) else ""
            rows.append([f"  {bound.name}", *each, percent(bound.error) + union, bound.kind, _verdict(bound)])
        if predictor in found.measured:
            rows.append(_measured_cells(found.measured[predictor], found.delta, many))
        elif not bounds:
            rows.append(["  no theorem here", *[""] * (len(rows[0]) - 1)])
    return rows


def _measured_cells(measured: Measured, delta: float, many: bool) -> list[str]:
    each = [_span([wrong / measured.n for wrong in measured.errors], percent)] if many else []
    limit = percent(measured.guaranteed(delta))
    return [f"  measured on {measured.n:,}", *each, percent(measured.rate), "test data", f"guarantee {limit}"]


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
    lines = [_JOINTLY] if found.trained_jointly else []
    lines += [f"Fails: {a.name}, since {a.because}." for a in fails]
    lines += [f"Assumed: {a.name}, {a.because}." for a in found.claims]
    return lines + _missing(found, errors)


def _missing(found: Certificate, errors: list[Bound]) -> list[str]:
    """Return why bounds have no value, those with the same reason together; of several classes the first's."""
    reasons: dict[str, list[str]] = {}
    for bound in errors:
        missing = [c for c, value in enumerate(bound.values) if math.isnan(value)]
        if missing:
            others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            which = f" (class {found.labels[missing[0]]}{others})" if len(bound.values) > 1 else ""
            reasons.setdefault(bound.remarks[missing[0]] + which, []).append(f"{bound.name} of the {bound.predictor}")
    return [f"No value, since {reason}: {'; '.join(names)}." for reason, names in reasons.items()]


def summary(found: Certificate) -> str:
    """Return the best guarantee that this model has, by theorem and by test data."""
    best, level = found.best(), f"With probability {1 - found.delta:g}"
    if best is None:
        text = "No theorem here speaks of this model as it is."
    elif best.vacuous:
        text = f"What applies to this model is vacuous: the least guarantee is {best.error:.2f}, by {best.name}."
    else:
        claims = ", ".join(a.name for a in best.claims)
        assuming = f", assuming {claims}" if claims else ""
        text = f"{level} the error of this model is at most {percent(best.error)} ({best.name}{assuming})."
        others = {b.event for b in found.bounds if b.kind == GUARANTEE and b.applies and not b.vacuous}
        if len(others) > 1:
            text += f" It is the least of {len(others)} guarantees, each of which holds with this probability."
    if found.predictor in found.measured:
        measured = found.measured[found.predictor]
        limit = percent(measured.guaranteed(found.delta))
        errors = f"{measured.total:,} errors on {measured.n:,} test examples"
        text += f" By its {errors} its error is at most {limit}, with probability {1 - found.delta:g}"
        # how many of them are rows of training too, where some are: there it may be a guarantee of nothing
        repeated = "" if found.test_data is None else found.test_data.because.rpartition("; ")[0]
        text += f"; but {repeated}." if repeated else "."
    return text


def advice(found: Certificate) -> list[str]:
    """Return which changes would earn which guarantees, the fewest changes first."""
    best: dict[tuple[str, ...], Bound] = {}
    for bound in found.bounds:
        known = math.isfinite(bound.error) or any(a.before_value for a in bound.failing)
        if bound.kind != GUARANTEE or not bound.failing or not known or "" in bound.changes:
            continue  # the last: nothing that one could change would earn it
        other = best.get(bound.changes)
        if other is None or _order(bound) < _order(other):
            best[bound.changes] = bound
    ranked = sorted(best.items(), key=lambda item: (len(item[0]), *_order(item[1])))
    return [f"{' + '.join(changes)}: {_promise(bound, found.delta)}" for changes, bound in ranked]


def _order(bound: Bound) -> tuple[bool, float]:
    return math.isnan(bound.error), bound.error


def _promise(bound: Bound, delta: float) -> str:
    by = f"({bound.name}, {bound.predictor})"
    # with another kernel it is another run, of which this one's numbers can say no more than the order of magnitude
    about = "about " if any(a.another_run for a in bound.failing) else ""
    if math.isnan(bound.error):
        return f"a guarantee whose value is not known yet {by}"
    if bound.vacuous:
        return f"a guarantee, but a vacuous one, {about}{bound.error:.2f} {by}"
    return f"error at most {about}{percent(bound.error)} with probability {1 - delta:g} {by}"


# -- the whole --------------------------------------------------------------------------------------------------------


def as_text(found: Certificate) -> str:
    """Return the certificate as text."""
    parts = [f"{head(found)}\n{_setting(found)}", fill(summary(found), WIDTH), aligned(margin_cells(found))]
    if found.mistakes is not None:
        parts.append(aligned(fact_cells(found), left=(0, 1, 4)))
    cells = error_cells(found)
    parts.append(aligned(cells, left=(0, len(cells[0]) - 2, len(cells[0]) - 1)))
    parts.append("\n".join(fill(line, WIDTH, subsequent_indent="  ") for line in notes(found)))
    changes = found.advice()
    if changes:
        parts.append(
            "\n".join(
                [
                    "What would earn a guarantee:",
                    *(fill(line, WIDTH, initial_indent="  ", subsequent_indent="    ") for line in changes),
                ]
            )
        )
    return "\n\n".join(parts)


def as_html(found: Certificate) -> str:
    """Return the certificate as HTML, without scripts, and with no more style than alignment and grey."""
    items = "".join(f"<li>{escape(line)}</li>" for line in found.advice())
    facts = "" if found.mistakes is None else _html_table(fact_cells(found), left=(0, 1, 4))
    errors = error_cells(found)
    return "".join(
        [
            f"<div><p><strong>{escape(head(found))}</strong><br>{escape(_setting(found))}</p>",
            f"<p>{escape(summary(found))}</p>",
            _html_table(margin_cells(found), left=(0,)),
            facts,
            _html_table(errors, left=(0, len(errors[0]) - 2, len(errors[0]) - 1)),
            "<p>" + "<br>".join(escape(line) for line in notes(found)) + "</p>",
            f"<p>What would earn a guarantee:</p><ul>{items}</ul>" if items else "",
            "</div>",
        ]
    )


def _html_table(cells: list[list[str]], left: Sequence[int]) -> str:
    """Return a table; a row with nothing but its first cell is a heading, and one that does not apply is grey."""

    def row(texts: list[str], tag: str) -> str:
        sides = ["left" if i in left else "right" for i in range(len(texts))]
        grey = ";color:gray" if texts[-1].startswith("no: ") else ""
        inner = "".join(
            f'<{tag} style="text-align:{side}{grey}">{escape(text.strip())}</{tag}>'
            for side, text in zip(sides, texts, strict=True)
        )
        return f"<tr>{inner}</tr>"

    def body(texts: list[str]) -> str:
        if not any(texts[1:]):
            return f'<tr><th colspan="{len(texts)}" style="text-align:left">{escape(texts[0].strip())}</th></tr>'
        return row(texts, "td")

    first, *others = cells
    return f"<table><thead>{row(first, 'th')}</thead><tbody>{''.join(body(texts) for texts in others)}</tbody></table>"


def rows(found: Certificate) -> list[dict[str, Any]]:
    """Return a dict for each bound and class, one for all classes together, and those of measured errors."""
    out = []
    for bound in found.bounds:
        lines = list(zip(found.labels, bound.values, bound.remarks, strict=True))
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
                "label": str(label),
                "value": value,
                "remark": remark,
                "applies": bound.applies,
                "vacuous": bound.quantity == "error" and value >= 1,
                "fails": ", ".join(a.name for a in bound.failing),
                "assumes": ", ".join(a.name for a in bound.claims),
            }
            for label, value, remark in lines
        ]
    return out + [line for name, measured in found.measured.items() for line in _measured_rows(found, name, measured)]


def _measured_rows(found: Certificate, predictor: str, measured: Measured) -> list[dict[str, Any]]:
    label = "all" if len(found.labels) > 1 else str(found.labels[0])
    mine = predictor == found.predictor
    common = {"predictor": predictor, "quantity": "error", "label": label, "vacuous": False}
    common |= {"applies": mine, "fails": "" if mine else "its rule", "assumes": "test data"}
    remark = f"{measured.total} of {measured.n} test examples"
    limit = measured.guaranteed(found.delta)
    return [
        {**common, "bound": "measured", "formula": "", "kind": "measured", "value": measured.rate, "remark": remark},
        {**common, "bound": "Clopper & Pearson", "formula": "P(Bin(n, p) ≤ errors) = δ", "kind": GUARANTEE,
         "value": limit, "remark": remark},
    ]  # fmt: skip


def as_dict(found: Certificate) -> dict[str, Any]:
    """Return everything as plain numbers, text, lists and dicts."""
    plain = _plain(asdict(found))
    for bound, entry in zip(found.bounds, plain["bounds"], strict=True):
        error = None if bound.kind == FACT else _plain(bound.error)
        entry.update(applies=bound.applies, vacuous=bound.vacuous, error=error, changes=list(bound.changes))
    for name, measured in found.measured.items():
        plain["measured"][name].update(rate=measured.rate, guaranteed=measured.guaranteed(found.delta))
    claims = [{"name": a.name, "because": a.because} for a in found.claims]
    return {**plain, "claims": claims, "advice": found.advice(), "summary": summary(found)}


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
