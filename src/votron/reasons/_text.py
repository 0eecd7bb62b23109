"""Explanations as text, rows and dicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from votron._sentences import counted
from votron._text_tables import as_text as table
from votron._types import Rows

if TYPE_CHECKING:
    from votron.reasons.explanation import Explanation, History, Terms

_SPANS = 10
_SHOWN_FEATURES = 4


def headline(found: Explanation) -> str:
    """Return what is explained, in words."""
    what = f"{found.label}" if found.against is None else f"{found.label} rather than {found.against}"
    by = f"score {found.score:.3g}" if found.against is None else f"by {found.score:.3g}"
    return f"{what}, {by}" + ("" if found.predicted == found.label else f"; predicted is {found.predicted}")


def as_text(found: Explanation) -> str:
    """Return an explanation as lines."""
    parts = [f"{found.name}: {headline(found)} ({found.rule})"]
    if found.history:
        parts.append(_history(found.history))
    parts += [_terms(each) for each in found.sums]
    return "\n".join(parts)


def _history(each: tuple[History, ...]) -> str:
    """Return how the vectors voted, over spans of training: epochs, if there are few."""
    spans = [history.spans(_n_spans(history)) for history in each]
    head = ["the vectors, by epoch", *(f"{low:.3g}-{high:.3g}" for low, high, _ in spans[0]), "all"]
    lines = [head]
    for history, means in zip(each, spans, strict=True):
        cells = [f"{mean:+.2f}" for _, _, mean in means]
        lines.append([f"{history.label}, for {100 * history.share_for:.0f} %", *cells, f"{history.score:+.2f}"])
    return table(lines)


def _n_spans(history: History) -> int:
    epochs = history.n_steps / history.n_examples
    return round(epochs) if epochs == round(epochs) and 2 <= epochs <= _SPANS else min(_SPANS, max(1, history.n_steps))


def _terms(found: Terms) -> str:
    n = found.n_for + found.n_against
    of = f"{found.words}, as a sum over {counted(n, found.kind.removesuffix('s'), found.kind)}: {found.score:.3g}"
    if not found.exact:
        of += f"; the score itself is a sum over vectors, and none over {found.kind}"
    lines = [["", "share", "of all for or against"]]
    for positive in (True, False):
        total = found.amount_for if positive else found.amount_against
        for term in found.side(positive):
            lines.append([_named(term, found.kind), f"{term.share:+.3g}", _part(term.amount, total)])
        n, share = found.others(positive)
        if n:
            words = f"{n:,} other{'s' if n > 1 else ''} {'for' if positive else 'against'}"
            lines.append([words, f"{share:+.3g}", _part(share * found.divisor, total)])
    if found.constant:
        lines.append(["intercept", f"{found.constant / found.divisor:+.3g}", ""])
    return f"{of}\n{table(lines)}"


def _part(amount: float, total: float) -> str:
    return f"{100 * amount / total:.1f} %" if total else ""


def _named(term: Any, kind: str) -> str:
    if kind == "features":
        return term.name if term.value == 1 else f"{term.name} = {term.value:.4g}"
    about = f": {term.about}" if term.about else ""
    return f"{term.name} ({term.label}){about}" if term.label else f"{term.name}{about}"


def described(row: Rows, names: Any) -> str:
    """Return the features that are largest in a row, by name: those that are 1 alone, the others with their values.

    Examples
    --------
    >>> described(np.array([[1.0, 0.0, -0.5]]), ["Outlook=Rainy", "Outlook=Sunny", "Temp"])
    'Outlook=Rainy, Temp -0.5'
    """
    dense = np.asarray(row.toarray() if sp.issparse(row) else row, dtype=np.float64).reshape(-1)
    order = np.argsort(-np.abs(dense), kind="stable")[:_SHOWN_FEATURES]
    shown = [
        str(names[i]) if dense[i] == 1 else f"{names[i]} {original(names, i, dense[i]):.4g}" for i in order if dense[i]
    ]
    more = int(np.count_nonzero(dense)) - len(shown)
    return ", ".join(shown) + (", ..." if more > 0 else "")


def original(names: Any, i: int, value: float) -> float:
    """Return the value of a feature in the unit of the data, where the names know it."""
    return float(names.original(i, value)) if hasattr(names, "original") else float(value)


# -- for machines -----------------------------------------------------------------------------------------------------


def rows_of(found: Explanation) -> list[dict[str, Any]]:
    """Return a dict for each term, for the others together, and for each span of training that vectors voted in."""
    head = {"row": found.name, "label": plain(found.label), "against": plain(found.against)}
    out = []
    for terms in found.sums:
        for positive in (True, False):
            side = {"kind": terms.kind, "side": "for" if positive else "against"}
            for term in terms.side(positive):
                known = {"name": term.name, "index": term.index, "of_label": term.label, "value": term.value}
                out.append({**head, **side, **known, "share": term.share})
            n, share = terms.others(positive)
            if n:
                rest = {"name": "others", "index": -1, "of_label": "", "value": float("nan")}
                out.append({**head, **side, **rest, "share": share})
        if terms.constant:
            side = {"kind": terms.kind, "side": "for" if terms.constant > 0 else "against"}
            rest = {"name": "intercept", "index": -1, "of_label": "", "value": 1.0}
            out.append({**head, **side, **rest, "share": terms.constant / terms.divisor})
    for history in found.history:
        n = _n_spans(history)
        for low, high, mean in history.spans(n):
            share = history.sign * mean / n
            known = {
                "name": f"epochs {low:.3g} to {high:.3g}",
                "index": -1,
                "of_label": str(history.label),
                "value": mean,
            }
            out.append({**head, "kind": "vectors", "side": "for" if share > 0 else "against", **known, "share": share})
    return out


def as_dict(found: Explanation) -> dict[str, Any]:
    """Return an explanation as JSON takes it."""
    return {
        "row": found.name,
        "label": plain(found.label),
        "against": plain(found.against),
        "predicted": plain(found.predicted),
        "score": found.score,
        "rule": found.rule,
        **{terms.kind: _terms_dict(terms) for terms in found.sums},
        "vectors": [
            {
                "label": plain(each.label),
                "sign": each.sign,
                "score": each.score,
                "share_for": each.share_for,
                "spans": [{"from": low, "to": high, "mean": mean} for low, high, mean in each.spans(_n_spans(each))],
            }
            for each in found.history
        ],
    }


def _terms_dict(terms: Terms) -> dict[str, Any]:
    sides: dict[str, Any] = {}
    for name, positive in (("for", True), ("against", False)):
        n, share = terms.others(positive)
        sides[name] = [_term_dict(term, terms.kind) for term in terms.side(positive)]
        sides[f"others_{name}"] = {"number": n, "share": share}
    constant = {"intercept": terms.constant / terms.divisor} if terms.kind == "features" else {}
    return {"of": terms.words, "exact": terms.exact, "score": terms.score, **sides, **constant}


def _term_dict(term: Any, kind: str) -> dict[str, Any]:
    head = {"name": term.name, "index": term.index, "share": term.share}
    if kind == "features":
        return {**head, "value": term.value}
    return {**head, "kernel": term.value, "label": term.label} | ({"about": term.about} if term.about else {})


def plain(value: Any) -> Any:
    """Return a label as Python has it."""
    return value.item() if isinstance(value, np.generic) else value
