"""Explanations as text, rows and dicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from votron._util.text import counted, shortened
from votron._util.text_tables import as_text as table
from votron._util.types import Label, Params
from votron.explanations.features import with_value

if TYPE_CHECKING:
    from votron.explanations.explanation import Explanation, History, Term, Terms

_SPANS = 10
_LONGEST_NAME = 84
_SHOWN_COLUMNS = 10


def headline(found: Explanation) -> str:
    """Return what is explained, in words."""
    what = f"{found.label}" if found.against is None else f"{found.label} rather than {found.against}"
    by = f"score {found.score:.4g}" if found.against is None else f"by {found.score:.4g}"
    return f"{what}, {by}" + ("" if found.predicted == found.label else f"; predicted is {found.predicted}")


def terms_to_draw(found: Explanation, *, as_image: bool) -> Terms | None:
    """Return the sum to draw: over examples, unless there is none; of features that are no pixels, over these."""
    if found.features is not None and (found.examples is None or (not as_image and found.features.exact)):
        return found.features
    return found.examples


def as_text(found: Explanation, verbose: bool) -> str:
    """Return an explanation as lines: columns, else features, else examples; ``verbose``: all of these, and votes."""
    parts = [f"{found.name}: {headline(found)} ({found.rule})"]
    if found.columns:
        parts.append(_effects(found))
    if verbose:
        parts += [_history(found.history)] if found.history else []
        parts += map(_terms, found.sums)
    elif not found.columns:
        parts += map(_terms, found.sums[-1:])
    shown = {effect.column for effect in found.columns[:_SHOWN_COLUMNS] if effect.change}
    shown |= {term.column for term in found.features.largest} if found.features is not None else set()
    # A mean, once scaled, is 0 and adds nothing: a missing value need not be among the terms.
    if unsaid := [words for column, words in found.missing.items() if column not in shown]:
        parts.append(f"not shown above: {'; '.join(unsaid)}")
    return "\n".join(parts)


def _effects(found: Explanation) -> str:
    """Return what columns do to the score, the largest effects first."""
    shown = [effect for effect in found.columns[:_SHOWN_COLUMNS] if effect.change]
    lines = [["column", "effect on the score"]]
    lines += [[shortened(effect.name, _LONGEST_NAME), f"{effect.change:+.4g}"] for effect in shown]
    more = len(found.columns) - len(shown)
    lines += [[counted(more, "other column"), f"less than {abs(shown[-1].change):.4g} each"]] if shown and more else []
    return table(lines)


def _history(each: tuple[History, ...]) -> str:
    """Return how the vectors voted, over spans of training: epochs, if there are few."""
    spans = [history.spans(_n_spans(history)) for history in each]
    head = ["mean vote by epoch", *(f"{low:.3g}-{high:.3g}" for low, high, _ in spans[0]), "all"]
    lines = [head]
    for history, means in zip(each, spans, strict=True):
        cells = [f"{mean:+.2f}" for _, _, mean in means]
        lines.append([f"{history.label}: {100 * history.share_for:.0f} % in favour", *cells, f"{history.score:+.2f}"])
    return table(lines)


def _n_spans(history: History) -> int:
    epochs = history.n_steps / history.n_examples
    return round(epochs) if epochs == round(epochs) and 2 <= epochs <= _SPANS else min(_SPANS, max(1, history.n_steps))


def _terms(found: Terms) -> str:
    n = found.n_for + found.n_against
    over = counted(n, found.kind.removesuffix("s"))
    of = f"Contributions of {over} to the score {found.score:.4g} ({found.words})"
    if not found.exact:
        of = f"Contributions of {over} to the mean score of the vectors, {found.score:.4g}; votes count only its sign"
    lines = [[found.kind.removesuffix("s"), "contribution"]]
    for positive in (True, False):
        for term in found.side(positive):
            name = shortened(named(term, found.kind), _LONGEST_NAME)
            lines.append([name, f"{term.share:+.4g}"])
        n, share = found.others(positive)
        if n:
            lines.append([f"{counted(n, 'other')} {'for' if positive else 'against'}", f"{share:+.4g}"])
    if found.constant:
        lines.append(["intercept", f"{found.constant / found.divisor:+.4g}"])
    return f"{of}\n{table(lines)}"


def named(term: Term, kind: str) -> str:
    """Return what a term is called, with the value of a feature, or what is known of an example."""
    if kind == "features":
        return with_value(term.name, term.value, term.column, term.missing)
    about = f": {term.about}" if term.about else ""
    return f"{term.name} ({term.label}){about}" if term.label else f"{term.name}{about}"


# -- for machines -----------------------------------------------------------------------------------------------------


def rows_of(found: Explanation) -> list[Params]:
    """Return a dict for each term, for the others together, and for each span of training that vectors voted in."""
    head = {"row": found.name, "label": plain(found.label), "against": plain(found.against)}
    out: list[Params] = []

    def add(kind: str, name: str, share: float, **known: object) -> None:
        side = "for" if share > 0 else "against"
        usual = {"index": -1, "of_label": "", "value": float("nan"), "missing": False}
        out.append({**head, "kind": kind, "side": side, "name": name, **usual, **known, "share": share})

    for terms in found.sums:
        for positive in (True, False):
            for term in terms.side(positive):
                known = {"index": term.index, "of_label": term.label, "value": term.value, "missing": term.missing}
                add(terms.kind, term.name, term.share, **known)
            n, share = terms.others(positive)
            if n:
                add(terms.kind, "others", share)
        if terms.constant:
            add(terms.kind, "intercept", terms.constant / terms.divisor, value=1.0)
    for effect in found.columns:
        add("columns", effect.name, effect.change, missing=effect.missing)
    for history in found.history:
        n = _n_spans(history)
        for low, high, mean in history.spans(n):
            share = history.sign * mean / n
            add("vectors", f"epochs {low:.3g} to {high:.3g}", share, of_label=str(history.label), value=mean)
    return out


def as_dict(found: Explanation) -> Params:
    """Return an explanation as JSON takes it."""
    return {
        "row": found.name,
        "label": plain(found.label),
        "against": plain(found.against),
        "predicted": plain(found.predicted),
        "score": found.score,
        "rule": found.rule,
        **{terms.kind: _terms_dict(terms) for terms in found.sums},
        "missing": dict(found.missing),
        "columns": [{"name": each.name, "column": each.column, "change": each.change} for each in found.columns],
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


def _terms_dict(terms: Terms) -> Params:
    sides: Params = {}
    for name, positive in (("for", True), ("against", False)):
        n, share = terms.others(positive)
        sides[name] = [_term_dict(term, terms.kind) for term in terms.side(positive)]
        sides[f"others_{name}"] = {"number": n, "share": share}
    constant = {"intercept": terms.constant / terms.divisor} if terms.kind == "features" else {}
    return {"of": terms.words, "exact": terms.exact, "score": terms.score, **sides, **constant}


def _term_dict(term: Term, kind: str) -> Params:
    head = {"name": term.name, "index": term.index, "share": term.share}
    about = ({"about": term.about} if term.about else {}) | ({"missing": True} if term.missing else {})
    if kind == "features":
        return {**head, "value": term.value} | about
    return {**head, "kernel": term.value, "label": term.label} | about


def plain(value: Label) -> Label:
    """Return a label as Python has it."""
    return value.item() if isinstance(value, np.generic) else value
