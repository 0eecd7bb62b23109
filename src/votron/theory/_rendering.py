"""Renderings of a certificate: as text and as rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from textwrap import fill, shorten
from typing import TYPE_CHECKING

from votron._util.text_tables import as_text as aligned
from votron._util.types import Params
from votron.theory.evidence import Assumption, Measured
from votron.theory.statements import ESTIMATE, FACT, GUARANTEE

if TYPE_CHECKING:
    from votron.theory.certificate import Bound, Certificate

WIDTH = 120
"""Columns within which sentences are printed in full."""
SHORT_WIDTH, MOST_CHANGES = 80, 3
"""Columns of the short text, and changes that it advises."""
MOST_CLASSES = 20
"""Classes that the printed table of margins has rows for."""

_JOINTLY = (
    "Classes were trained together: an update changes two vectors, and a row's margin is (w_y − w_r)·x / (√2 ‖w‖) for "
    "the best other class r, ‖w‖ that of all vectors as one. So there are at most (1 + τ)(R/γ)² mistakes in all; for "
    "one class against the rest the bounds on mistakes do not hold."
)

# -- numbers ----------------------------------------------------------------------------------------------------------


def percent(value: float | None) -> str:
    """Return an error as text."""
    if value is None:
        return "-"
    return "vacuous" if value >= 1 else f"{100 * value:.2f} %" if value < 0.1 else f"{100 * value:.1f} %"


def _count(value: float) -> str:
    """Return a bound on a whole number as the largest that it allows."""
    return f"{math.floor(value):,}" if value < 1e9 else f"{value:.2g}"


def _span(values: Sequence[float | None], form: Callable[[float], str]) -> str:
    """Return the least and the most of several values, or the one."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    low, high = form(min(known)), form(max(known))
    text = low if low == high else f"{low} to {high}"
    return text if len(known) == len(values) else f"{text} ({len(known)} of {len(values)})"


# -- the short text ---------------------------------------------------------------------------------------------------


def in_short(found: Certificate) -> str:
    """Return what is guaranteed, what was measured, and what would have to change, on one screen."""
    lines = [f"Certificate of {found.model}", f"{found.predictor}, {_training(found)}", ""]
    lines += [f"Guaranteed: {_guaranteed(found)}"]
    estimate = found.best(ESTIMATE)
    if estimate is not None and estimate.error is not None and estimate.error < 1:
        lines.append(f"Estimated: {percent(estimate.error)} ({estimate.name})")
    if found.predictor in found.measured:
        lines.append(f"Measured: {_measured(found)}")
    if (mistakes := _mistakes(found)) is not None:
        lines.append(f"Mistakes: {mistakes}")
    changes = _better(found)
    if changes:
        lines += ["", f"For a {'better ' if found.useful else ''}guarantee:"]
        lines += [f"  {change}" for change in changes]
    return "\n".join(fill(line, SHORT_WIDTH, subsequent_indent="    ") for line in lines)


def _training(found: Certificate) -> str:
    classes = [f"{len(found.labels)} classes"] if len(found.labels) > 1 else []
    return ", ".join([f"{found.m:,} training rows", *classes, *([] if found.mistakes is None else [_epochs(found)])])


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
    # how many of them are rows of training too, where some are: there it may be a guarantee of nothing
    repeated = "" if found.test_data is None else found.test_data.because.rpartition("; ")[0]
    return f"{text}; but {repeated}" if repeated else text


def _mistakes(found: Certificate) -> str | None:
    """Return the mistakes of the run beside the least bound on them."""
    facts = [bound for bound in found.bounds if bound.kind == FACT and bound.quantity == "mistakes"]
    known = [bound for bound in facts if bound.total is not None and not bound.failing]
    if found.mistakes is None or not known:
        return None
    least = min(known, key=lambda bound: bound.total or 0.0)
    return f"{sum(found.mistakes):,} in training; the theory allows {_count(least.total or 0.0)} ({least.name})"


def _better(found: Certificate) -> list[str]:
    """Return the first changes that earn a guarantee of use that the model does not have."""
    limit = 0.5 if found.useful is None else found.useful.error or 0.0
    ranked = [(changes, bound) for changes, bound in _advised(found) if bound.error is None or bound.error < limit]
    return [f"{' + '.join(changes)}: {_promise(bound)}" for changes, bound in ranked[:MOST_CHANGES]]


def summary(found: Certificate) -> str:
    """Return what is guaranteed by theorem and by test data, in a sentence or two."""
    text = f"Guaranteed: {_guaranteed(found)}."
    return f"{text} Measured: {_measured(found)}." if found.predictor in found.measured else text


# -- advice -----------------------------------------------------------------------------------------------------------


def advice(found: Certificate) -> list[str]:
    """Return which changes would earn which guarantees, the fewest changes first."""
    return [f"{' + '.join(changes)}: {_promise(bound)}" for changes, bound in _advised(found)]


def _advised(found: Certificate) -> list[tuple[tuple[str, ...], Bound]]:
    best: dict[tuple[str, ...], Bound] = {}
    for bound in found.bounds:
        known = bound.error is not None or any(a.before_value for a in bound.failing)
        if bound.kind != GUARANTEE or not bound.failing or not known or "" in bound.changes:
            continue  # the last: nothing that one could change would earn it
        other = best.get(bound.changes)
        if other is None or _order(bound) < _order(other):
            best[bound.changes] = bound
    return sorted(best.items(), key=lambda item: (len(item[0]), _order(item[1])))


def _order(bound: Bound) -> float:
    return math.inf if bound.error is None else bound.error


def _promise(bound: Bound) -> str:
    by = f"({bound.name}, {bound.predictor})"
    if bound.error is None:
        return f"a guarantee whose value is not known yet {by}"
    # with another kernel it is another run, and this one's numbers say no more than the order of magnitude
    about = "about " if any(a.another_run for a in bound.failing) else ""
    if bound.vacuous:
        return f"a guarantee, but a vacuous one, {about}{bound.error:.2f} {by}"
    return f"error at most {about}{percent(bound.error)} {by}"


# -- the tables -------------------------------------------------------------------------------------------------------

Cells = list[list[str]]


def _head(found: Certificate) -> str:
    """Return what it is about."""
    many = f", {len(found.labels)} classes" if len(found.labels) > 1 else ""
    ran = f"{_epochs(found)} run, τ = {found.tau:g}, "
    setting = f"{'' if found.mistakes is None else ran}R = {found.radius:.4g}, δ = {found.delta:g}"
    return f"Certificate of {found.model}: {found.predictor}, {found.m:,} examples{many}\n{setting}"


def _margin_cells(found: Certificate) -> Cells:
    """Return mistakes, support and margins of each class."""
    names = list(found.margins)
    margins = [[f"{kind}: {names[0]}", *names[1:]] for kind in ("margin", "normalised")]
    head = ["class", *([] if found.mistakes is None else ["mistakes"]), "support", *margins[0], *margins[1]]
    rows, at_most = [head], "" if found.support_known else "≤ "
    for c, label in enumerate(found.labels[:MOST_CLASSES]):
        mistakes = [] if found.mistakes is None else [_count(found.mistakes[c])]
        values = [table[name][c] for table in (found.margins, found.normalized_margins) for name in names]
        support = at_most + _count(found.support[c])
        rows.append([str(label), *mistakes, support, *(f"{value:.3g}" for value in values)])
    if len(found.labels) > MOST_CLASSES:
        rows.append([f"... {len(found.labels) - MOST_CLASSES} more", *[""] * (len(head) - 1)])
    return rows


def _fact_cells(found: Certificate) -> Cells:
    """Return the bounds on mistakes beside the mistakes."""
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
    """Return the bounds on errors by predictor, the model's own first, also where it has none."""
    groups: dict[str, list[Bound]] = {found.predictor: []}
    for bound in found.bounds:
        if bound.kind != FACT:
            groups.setdefault(bound.predictor, []).append(bound)
    return list(groups.items())


def _error_cells(found: Certificate) -> Cells:
    """Return the bounds on errors, below the predictor they speak of; rows of bounds begin with a space."""
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
    """Return what fails, what is claimed, and why values are missing."""
    errors = [bound for bound in found.bounds if bound.kind != FACT]
    fails = _distinct(a for bound in errors for a in bound.failing if a.name != "its rule")
    lines = [_JOINTLY] if found.trained_jointly else []
    lines += [f"Fails: {a.name}, since {a.because}." for a in fails]
    lines += [f"Assumed: {a.name}, {a.because}." for a in found.claims]
    return lines + _missing(found, errors)


def _distinct(assumptions: Iterable[Assumption]) -> list[Assumption]:
    return list({(a.name, a.because): a for a in assumptions}.values())


def _missing(found: Certificate, errors: list[Bound]) -> list[str]:
    """Return why bounds have no value, those with the same reason together; of several classes the first's."""
    reasons: dict[str, list[str]] = {}
    for bound in errors:
        missing = [c for c, value in enumerate(bound.values) if value is None]
        if missing:
            others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            which = f" (class {found.labels[missing[0]]}{others})" if len(bound.values) > 1 else ""
            reasons.setdefault(bound.remarks[missing[0]] + which, []).append(f"{bound.name} of the {bound.predictor}")
    return [f"No value, since {reason}: {'; '.join(names)}." for reason, names in reasons.items()]


def in_full(found: Certificate) -> str:
    """Return the certificate as text, with all bounds and their assumptions."""
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


# -- rows -------------------------------------------------------------------------------------------------------------


def rows(found: Certificate) -> list[Params]:
    """Return a dict for each bound and class, one for all classes together, and those of measured errors."""
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
    return out + [line for name, measured in found.measured.items() for line in _measured_rows(found, name, measured)]


def _measured_rows(found: Certificate, predictor: str, measured: Measured) -> list[Params]:
    label = "all" if len(found.labels) > 1 else str(found.labels[0])
    mine = predictor == found.predictor
    common = {"predictor": predictor, "quantity": "error", "label": label, "vacuous": False}
    common |= {"applies": mine, "fails": "" if mine else "its rule", "assumes": "test data"}
    common |= {"remark": f"{measured.total} of {measured.n} test examples"}
    limit = measured.guaranteed(found.delta)
    return [
        {**common, "bound": "measured", "formula": "", "kind": "measured", "value": measured.rate},
        {**common, "bound": "Clopper & Pearson", "formula": "P(Bin(n, p) ≤ errors) = δ", "kind": GUARANTEE,
         "value": limit},
    ]  # fmt: skip
