"""The part of a report about what the theorems guarantee: in words, as a picture where it says something, in numbers.

Certificates come from model files, which may come from strangers: nothing in them is taken for what it should be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import Any

from votron._util.pages import table_html
from votron._util.plotting import can_draw, pyplot
from votron._util.text import percent, shortened
from votron.errors import VotronError
from votron.plots import CertificateDisplay
from votron.report._figures import drawn
from votron.report.findings import Findings, Origin
from votron.theory import Certificate
from votron.theory.evidence import Measured

_LONGEST, _LONGEST_NAME = 400, 32
_MOST_ADVICE = 3
_MOST_BOUNDS = 20
"""Bounds of a picture: the theorems here give a predictor fewer."""


def certificate(of: Findings, origin: Origin) -> str:
    """Return what the theorems guarantee, or why nothing is said of it."""
    found = origin.certificate
    if not hasattr(of.classifier, "_evidence"):
        return f"<p>No theorem here speaks of a {type(of.classifier).__name__}.</p>"
    if not found or not isinstance(found.get("summary"), str):
        return (
            "<p>There is no certificate for this model as it predicts here: <code>votron certify MODEL TRAINING-DATA "
            "--save</code> adds to the model file what the theorems guarantee.</p>"
        )
    picture, table = _picture(found, of, origin), _bounds(found)
    parts = [
        "<p>What the theorems say of the error on rows to come, from the training data alone; the errors above are "
        "measured instead.</p>",
        f'<p class="summary">{escape(shortened(found["summary"], 4 * _LONGEST))}</p>',
        f'<div class="panels two">{picture}{table}</div>' if picture else table,
        _advice(found),
        _claims(found),
    ]
    return "\n".join(filter(None, parts))


def _advice(found: Mapping[str, Any]) -> str:
    """Return what would earn a guarantee, if anything would."""
    lines = [line for line in _listed(found, "advice") if isinstance(line, str)][:_MOST_ADVICE]
    items = "".join(f"<li>{escape(shortened(line, _LONGEST))}</li>" for line in lines)
    return f"<p>What would earn a guarantee, in another training:</p><ul>{items}</ul>" if lines else ""


def _claims(found: Mapping[str, Any]) -> str:
    """Return what was taken on trust."""
    claims = [claim for claim in _listed(found, "claims") if isinstance(claim, Mapping)]
    named = "; ".join(f"{claim.get('name')} ({claim.get('because')})" for claim in claims)
    return f'<p class="muted">Taken on trust: {escape(shortened(named, 4 * _LONGEST))}.</p>' if claims else ""


def _bounds(found: Mapping[str, Any]) -> str:
    """Return the bounds that apply to the model as a table."""
    rows = []
    for bound in _listed(found, "bounds"):
        if isinstance(bound, Mapping) and bound.get("applies") is True and isinstance(bound.get("error"), float | int):
            value = "vacuous" if bound["error"] >= 1 else percent(float(bound["error"]))
            rows.append([str(bound.get("name")), str(bound.get("kind")), value])
    by = shortened(str(found.get("predictor")), _LONGEST_NAME)
    caption = f"Bounds on the error that apply to this model, which predicts by: {by}."
    return table_html(caption, ["bound", "kind", "error at most"], rows, numbers=(2,)) if rows else ""


def _listed(found: Mapping[str, Any], name: str) -> list[Any]:
    value = found.get(name)
    return value if isinstance(value, list) else []


# -- the picture ------------------------------------------------------------------------------------------------------


def _picture(found: Mapping[str, Any], of: Findings, origin: Origin) -> str:
    """Return the bounds that apply, beside what was measured; nothing where they say nothing, or cannot be read."""
    if not can_draw():
        return ""
    try:
        whole = Certificate.from_dict(found)
    except VotronError:  # of another version, or of a stranger: the words stay
        return ""
    shown = _of_this_model(whole, of, origin)
    if not any(not bound.vacuous for bound in shown.bounds) or len(shown.bounds) > _MOST_BOUNDS:
        return ""
    lines = 1 + len(shown.bounds) + len(shown.measured)
    with pyplot().rc_context({"text.parse_math": False}):  # a name is no formula, whatever is in it
        return drawn(CertificateDisplay(shown), "certified", _said(shown), height=1.75 + 0.3 * lines)


def _of_this_model(whole: Certificate, of: Findings, origin: Origin) -> Certificate:
    """Return what applies to the model as it is, and its error on the rows of the report if training had none."""
    name = shortened(whole.predictor, _LONGEST_NAME)
    bounds = tuple(
        replace(bound, name=shortened(bound.name, _LONGEST_NAME), predictor=name)
        for bound in whole.bounds
        if bound.applies and bound.quantity == "error" and bound.predictor == whole.predictor
    )
    here = whole.measured.get(whole.predictor) if origin.trained_on else Measured((), of.counts.wrong, of.counts.n)
    return replace(whole, predictor=name, bounds=bounds, measured={} if here is None else {name: here})


def _said(shown: Certificate) -> str:
    """Return the picture in words."""
    bounds = [f"{bound.name}, {bound.kind}, {_value(bound.error)}" for bound in shown.bounds]
    bounds += [
        f"measured on {each.n:,} rows {percent(each.rate)}, at most {percent(each.guaranteed(shown.delta))}"
        for each in shown.measured.values()
    ]
    return f"Bounds on the error of this model: {'; '.join(bounds)}"


def _value(error: float) -> str:
    return "vacuous" if error >= 1 else f"at most {percent(error)}"
