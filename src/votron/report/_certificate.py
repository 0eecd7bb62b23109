"""The part of a report about what the theorems guarantee."""

from __future__ import annotations

from dataclasses import replace

from votron._util.pages import markup
from votron._util.plotting import can_draw, pyplot
from votron._util.text import percent, shortened
from votron._util.types import Params
from votron.plots import CertificateDisplay
from votron.report._figures import drawn
from votron.report.findings import Findings, Origin
from votron.theory import Certificate
from votron.theory.certificate import HOPELESS, Bound
from votron.theory.evidence import Measured

_LONGEST, _LONGEST_NAME = 400, 32
_MOST_ADVICE = 3
_MOST_BOUNDS = 20
"""Bounds of a picture: the theorems here give a predictor fewer."""


def certificate(of: Findings, origin: Origin) -> Params:
    """Return what the theorems guarantee, or why nothing is said about it."""
    if not hasattr(of.classifier, "_evidence"):
        return {"found": False, "without": type(of.classifier).__name__}
    found = origin.certificate
    if found is None:
        return {"found": False, "without": ""}
    bounds = [each for each in found.bounds if _is_useful(each, found.predictor)][:_MOST_BOUNDS]
    claims = "; ".join(f"{claim.name} ({claim.because})" for claim in found.claims)
    return {
        "found": True,
        "summary": shortened(found.summary, 4 * _LONGEST),
        "predictor": shortened(found.predictor, _LONGEST_NAME),
        "bounds": [[shortened(each.name, _LONGEST), each.kind, percent(each.error or 0.0)] for each in bounds],
        "picture": markup(_picture(found, bounds, of, origin)),
        "advice": [shortened(line, _LONGEST) for line in found.advice()[:_MOST_ADVICE]],
        "claims": shortened(claims, 4 * _LONGEST),
    }


def _is_useful(bound: Bound, predictor: str) -> bool:
    own = bound.applies and bound.quantity == "error" and bound.predictor == predictor
    return own and bound.error is not None and bound.error < HOPELESS


def _picture(whole: Certificate, bounds: list[Bound], of: Findings, origin: Origin) -> str:
    """Return the bounds that apply, beside what was measured on rows that training had not."""
    if not bounds or not can_draw():
        return ""
    name = shortened(whole.predictor, _LONGEST_NAME)
    here = whole.measured.get(whole.predictor) if origin.trained_on else Measured((), of.counts.wrong, of.counts.n)
    shown = replace(
        whole,
        predictor=name,
        bounds=tuple(replace(each, name=shortened(each.name, _LONGEST_NAME), predictor=name) for each in bounds),
        measured={} if here is None else {name: here},
    )
    with pyplot().rc_context({"text.parse_math": False}):  # a name is no formula, whatever is in it
        height = 1.75 + 0.3 * (1 + len(shown.bounds) + len(shown.measured))
        return drawn(CertificateDisplay(shown), "certified", _said(shown), height=height)


def _said(shown: Certificate) -> str:
    """Return the picture in words."""
    bounds = [f"{bound.name}, {bound.kind}, at most {percent(bound.error or 0.0)}" for bound in shown.bounds]
    bounds += [
        f"measured on {each.n:,} rows {percent(each.rate)}, at most {percent(each.guaranteed(shown.delta))}"
        for each in shown.measured.values()
    ]
    return f"Bounds on the error of this model: {'; '.join(bounds)}"
