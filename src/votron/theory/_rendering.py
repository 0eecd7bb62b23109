"""Renderings of a certificate: text, rows of a frame, and the picture of its bounds on errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from textwrap import fill, shorten
from typing import TYPE_CHECKING, TypeAlias

from votron._util.plotting import INK, MUTED, STYLE, plain, pyplot, title
from votron._util.text import as_text as aligned
from votron._util.text import percent as percent_of
from votron._util.types import Axes, Params
from votron.theory.evidence import Measured
from votron.theory.statements import ESTIMATE, FACT, GUARANTEE

if TYPE_CHECKING:
    from matplotlib.artist import Artist

    from votron.theory.certificate import Bound, Certificate

WIDTH, SHORT_WIDTH = 120, 80
MOST_CHANGES = 3
Cells: TypeAlias = "list[list[str]]"


def percent(value: float | None) -> str:
    return "-" if value is None else "vacuous" if value >= 1 else percent_of(value)


def _count(value: float) -> str:
    """Return the largest whole number that a bound allows."""
    return f"{math.floor(value):,}" if value < 1e9 else f"{value:.2g}"


def _span(values: Sequence[float | None], form: Callable[[float], str]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    low, high = form(min(known)), form(max(known))
    span = low if low == high else f"{low} to {high}"
    return span if len(known) == len(values) else f"{span} ({len(known)} of {len(values)})"


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
    said = f"{percent(measured.rate)}, {measured.total:,} of {measured.n:,} test rows; at most "
    said += f"{percent(measured.guaranteed(found.delta))} with probability {1 - found.delta:g}"
    # rows that were used for training, too
    repeated = "" if found.test_data is None else found.test_data.because.rpartition("; ")[0]
    return f"{said}; but {repeated}" if repeated else said


def summary(found: Certificate) -> str:
    said = f"Guaranteed: {_guaranteed(found)}."
    return f"{said} Measured: {_measured(found)}." if found.predictor in found.measured else said


def advice(found: Certificate, limit: float = 1.0) -> list[str]:
    """Return the changes that would lead to guarantees below a limit, the fewest changes first."""
    best: dict[tuple[str, ...], Bound] = {}
    for bound in sorted(found.bounds, key=lambda bound: bound.error or 0.0):
        known = bound.error is not None and bound.error < limit
        if known and bound.kind == GUARANTEE and bound.failing and "" not in bound.changes:
            best.setdefault(bound.changes, bound)
    lines = []
    for changes, bound in sorted(best.items(), key=lambda item: (len(item[0]), item[1].error)):
        about = "about " if any(a.another_run for a in bound.failing) else ""
        promise = f"error at most {about}{percent(bound.error)} ({bound.name}, {bound.predictor})"
        lines.append(f"{' + '.join(changes)}: {promise}")
    return lines


def in_short(found: Certificate) -> str:
    """Return the best guarantee, the measured error and the changes that would help, on one screen."""
    several = [f"{len(found.labels)} classes"] if len(found.labels) > 1 else []
    said = found.mistakes is None or any(each in found.predictor for each in (f" {_epochs(found)}", "one epoch"))
    ran = [] if said else ["converged after " * ("epochs" in found.predictor) + _epochs(found)]
    training = ", ".join([f"{found.m:,} training rows", *several, *ran])
    lines = [f"Certificate of {found.model}", f"{found.predictor}, {training}", "", f"Guaranteed: {_guaranteed(found)}"]
    estimate = found.best(ESTIMATE)
    if estimate is not None and not estimate.vacuous:
        lines.append(f"Estimated: {percent(estimate.error)} ({estimate.name})")
    if found.predictor in found.measured:
        lines.append(f"Measured: {_measured(found)}")
    facts = [b for b in found.bounds if b.quantity == "mistakes" and b.total is not None and not b.failing]
    if found.mistakes is not None and facts:
        least = min(facts, key=lambda bound: bound.total or 0.0)
        allowed = f"the theory allows {_count(least.total or 0.0)} ({least.name})"
        lines.append(f"Mistakes: {sum(found.mistakes):,} in training; {allowed}")
    useful = found.useful
    limit = 0.5 if useful is None else useful.error or 0.0
    if changes := advice(found, limit)[:MOST_CHANGES]:
        lines += ["", f"For a {'better ' if useful else ''}guarantee:", *(f"  {change}" for change in changes)]
    elif not useful:
        lines += ["", "No change of parameters gives a bound below 50 % with these rows."]
    return "\n".join(fill(line, SHORT_WIDTH, subsequent_indent="    ") for line in lines)


def in_full(found: Certificate) -> str:
    """Return all bounds in tables, with the assumptions that fail or are claimed."""
    n = len(found.labels)
    many = f", {n} classes" if n > 1 else f", {found.labels[0]}" if found.trained_jointly else ""
    ran = "" if found.mistakes is None else f"{_epochs(found)} run, τ = {found.tau:g}, "
    head = [
        f"Certificate of {found.model}: {found.predictor}, {found.m:,} examples{many}",
        f"{ran}R = {found.radius:.4g}, δ = {found.delta:g}",
        fill(f"Guaranteed: {_guaranteed(found)}.", WIDTH),
    ]
    errors = _error_cells(found)
    parts = ["\n".join(head), aligned(_vector_cells(found), left=())]
    if found.mistakes is not None:
        parts.append(aligned(_fact_cells(found), left=(0, 1, 4)))
    parts.append(aligned(errors, left=(0, len(errors[0]) - 2, len(errors[0]) - 1)))
    notes = [*_notes(found), *(f"For a guarantee: {change}." for change in found.advice()[:2])]
    parts.append("\n".join(fill(line, WIDTH, subsequent_indent="  ") for line in notes))
    return "\n\n".join(parts)


def _vector_cells(found: Certificate) -> Cells:
    """Return mistakes, support and margins, of several classes from the least to the largest."""
    columns = {} if found.mistakes is None else {"mistakes": _span(found.mistakes, _count)}
    columns["support"] = ("" if found.support_known else "≤ ") + _span(found.support, _count)
    columns |= {f"margin of {name}": _span(values, "{:.3g}".format) for name, values in found.margins.items()}
    return [list(columns), list(columns.values())]


def _fact_cells(found: Certificate) -> Cells:
    rows = [["mistakes of this run", "formula", "mistakes", "at most", "by"]]
    for bound in found.bounds:
        if bound.kind == FACT and not bound.failing:
            observed = found.support if bound.quantity == "support" else found.mistakes or ()
            by = bound.remarks[0] if len(bound.values) == 1 or bound.total is None else ""
            rows.append([bound.name, bound.formula, _span(observed, _count), _span(bound.values, _count), by])
    return rows


def _error_groups(found: Certificate) -> list[tuple[str, list[Bound], Measured | None]]:
    """Return the predictors with their bounds and measured errors, the model's own first."""
    groups: dict[str, list[Bound]] = {found.predictor: []}
    for bound in found.bounds:
        if bound.kind != FACT:
            groups.setdefault(bound.predictor, []).append(bound)
    return [(predictor, bounds, found.measured.get(predictor)) for predictor, bounds in groups.items()]


def _error_cells(found: Certificate) -> Cells:
    """Return the bounds on errors that have a value, indented below their predictor and its measured error."""
    many = len(found.labels) > 1
    rows = [["error on new rows", *(["each class", "all classes"] if many else ["at most"]), "kind", "applies"]]
    for predictor, bounds, measured in _error_groups(found):
        known = [bound for bound in bounds if any(value is not None for value in bound.values)]
        mine = predictor == found.predictor
        cells = [""] * (len(rows[0]) - 1)
        if measured is not None:
            each = [_span([wrong / measured.n for wrong in measured.errors], percent)] if many else []
            limit = f"at most {percent(measured.guaranteed(found.delta))}"
            cells = [*each, percent(measured.rate), f"{measured.n:,} test rows", limit]
        elif mine and not bounds:
            cells[-1] = "no theorem is about it"
        if known or mine or measured:
            rows.append([predictor + (" (this model)" if mine else ""), *cells])
        for bound in known:
            each = [_span(bound.values, percent)] if many else []
            union = " (union)" if many and bound.joint is None and bound.error is not None else ""
            failing = ", ".join(dict.fromkeys(a.name for a in bound.failing))
            verdict = f"no: {failing}" if failing else "-" if bound.error is None else "yes"
            rows.append([f"  {bound.name}", *each, percent(bound.error) + union, bound.kind, verdict])
    return rows


def _notes(found: Certificate) -> list[str]:
    """Return the assumptions that fail or are claimed, and why values are missing."""
    errors = [bound for bound in found.bounds if bound.kind != FACT]
    lines = []
    failing = [f"{a.name} ({a.because})" for bound in errors for a in bound.failing if a.name != "its rule"]
    if failing:
        lines.append(f"Fails: {'; '.join(dict.fromkeys(failing))}.")
    if found.claims:
        claims = "; ".join(f"{a.name} ({a.because.rpartition(':')[0] or a.because})" for a in found.claims)
        lines.append(f"Assumed, not verified: {claims}.")
    missing = {bound.name: bound.remarks[0] for bound in errors if set(bound.values) == {None}}
    for reason in dict.fromkeys(missing.values()):
        names = "; ".join(name for name, why in missing.items() if why == reason)
        lines.append(f"No value: {names}, since {reason}.")
    return lines


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


COLOURS = {GUARANTEE: "#1f4e9c", ESTIMATE: "#c8641b"}
MEASURED = "#2b8a3e"
FADED = 0.3
"""Opacity of bounds that do not apply to the model."""

Lines: TypeAlias = "list[tuple[str, Bound | Measured | None]]"
"""Names with their bounds or measured errors; None for the name of a predictor."""


def draw(found: Certificate, ax: Axes = None) -> Axes:
    plt = pyplot(screen=True)
    lines, low = _lines(found), _lowest(found)
    with plt.rc_context(STYLE):
        own = ax is None
        if ax is None:
            _, ax = plt.subplots(figsize=(10, 2.2 + 0.3 * len(lines)), layout="constrained")
        for y, (_, entry) in enumerate(lines):
            if isinstance(entry, Measured):
                _draw_measured(ax, y, entry, found.delta, low)
            elif entry is not None:
                _draw_bound(ax, y, entry, low)
        _frame(ax, lines, low)
        _head(ax, found, lines, of=f" of this {found.model}" if own else "")
        marks = _marks(lines, found.delta)
        if own:
            ax.figure.legend(handles=marks, loc="outside lower center", ncols=len(marks), frameon=False)
        else:  # below the ticks and the name of the axis
            below = {"bbox_to_anchor": (0.5, 0), "borderaxespad": 5.75, "fontsize": 8}
            ax.legend(handles=marks, loc="upper center", frameon=False, **below)
    return ax


def _lines(found: Certificate) -> Lines:
    out: Lines = []
    for predictor, bounds, measured in _error_groups(found):
        known = [bound for bound in bounds if bound.error is not None]
        mine = predictor == found.predictor
        if not (known or mine or measured):
            continue
        out.append((predictor + (" (this model)" if mine else ""), None))
        out += [(bound.name, bound) for bound in known]
        if measured:
            out.append((f"measured on {measured.n:,}", measured))
        elif not known:
            out.append(("no bound", None))
    return out


def _lowest(found: Certificate) -> float:
    """Return the start of the axis, a power of ten."""
    values = [bound.error for bound in found.bounds if bound.kind != FACT and bound.error]
    values += [each.rate or each.guaranteed(found.delta) for each in found.measured.values()]
    return float(min(0.01, 10.0 ** math.floor(math.log10(min(values, default=0.1)))))


def _draw_bound(ax: Axes, y: int, bound: Bound, low: float) -> None:
    strength = 1.0 if bound.applies else FADED
    colour = COLOURS[bound.kind]
    filled = colour if bound.kind == GUARANTEE else "white"
    x, mark = (1.0, ">") if bound.vacuous or bound.error is None else (bound.error, "o")
    ax.plot([low, x], [y, y], color=colour, alpha=0.35 * strength, linewidth=2)
    ax.plot([x], [y], mark, color=colour, markerfacecolor=filled, alpha=strength, markersize=7, clip_on=False)
    _note(ax, x, y, percent(bound.error), INK if bound.applies else MUTED)


def _draw_measured(ax: Axes, y: int, measured: Measured, delta: float, low: float) -> None:
    """Draw a measured error with its upper limit as a whisker; an error of 0 is an arrow off the axis."""
    limit = measured.guaranteed(delta)
    ax.plot([max(measured.rate, low), limit], [y, y], color=MEASURED, linewidth=1.2)
    ax.plot([limit], [y], "|", color=MEASURED, markersize=9)
    mark = "D" if measured.rate >= low else "<"
    ax.plot([max(measured.rate, low)], [y], mark, color=MEASURED, markersize=6.5, clip_on=False)
    _note(ax, limit, y, f"{percent(measured.rate)}, at most {percent(limit)}", INK)


def _note(ax: Axes, x: float, y: int, text: str, colour: str) -> None:
    ax.annotate(
        text, (x, y), (9, 0), fontsize=9, color=colour, textcoords="offset points", va="center", annotation_clip=False
    )


def _frame(ax: Axes, lines: Lines, low: float) -> None:
    plain(ax)
    ax.set_xscale("log")
    ax.set_xlim(low, 1.0)
    ax.set_ylim(len(lines) - 0.4, -0.6)
    ticks = [10.0**k for k in range(round(math.log10(low)), 1)]
    ax.set_xticks(ticks, [f"{100 * tick:g} %" for tick in ticks])
    ax.minorticks_off()
    ax.set_yticks(range(len(lines)), [text if entry is None else f"{text}   " for text, entry in lines])
    for label, (text, entry) in zip(ax.get_yticklabels(), lines, strict=True):
        label.set(fontsize=10, fontweight="bold" if entry is None and text != "no bound" else "normal")
    ax.grid(False, axis="y")
    ax.set_xlabel("error on new rows, at most")


def _head(ax: Axes, found: Certificate, lines: Lines, of: str) -> None:
    classes = f", {len(found.labels)} classes together" if len(found.labels) > 1 else ""
    pale = any(getattr(entry, "failing", ()) for _, entry in lines)
    note = f"{found.m:,} examples{classes}{'; pale: does not apply to the model as it is' if pale else ''}"
    title(ax, f"What the theorems say{of}", note)


def _marks(lines: Lines, delta: float) -> list[Artist]:
    """Return the legend's entries."""
    from matplotlib.lines import Line2D

    def mark(shape: str, colour: str, filled: str, label: str) -> Artist:
        return Line2D([], [], marker=shape, linestyle="", color=colour, markerfacecolor=filled, label=label)

    guarantee, estimate = COLOURS[GUARANTEE], COLOURS[ESTIMATE]
    known = {
        GUARANTEE: mark("o", guarantee, guarantee, f"guarantee (δ = {delta:g})"),
        ESTIMATE: mark("o", estimate, "white", "estimate"),
        "measured": mark("D", MEASURED, MEASURED, "measured on test data"),
    }
    drawn = {getattr(entry, "kind", "measured") for _, entry in lines if entry is not None}
    return [each for kind, each in known.items() if kind in drawn]
