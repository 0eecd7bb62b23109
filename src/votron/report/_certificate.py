"""The part of a report about what the theorems guarantee."""

from __future__ import annotations

from dataclasses import replace

from votron._util.pages import markup
from votron._util.plotting import can_draw
from votron._util.text import percent
from votron._util.types import Params
from votron.plots import CertificateDisplay
from votron.report._figures import drawn
from votron.report.findings import Findings, Origin
from votron.theory import Certificate
from votron.theory.certificate import HOPELESS, Bound
from votron.theory.evidence import Measured

_MOST_ADVICE = 3


def certificate(of: Findings, origin: Origin) -> Params:
    """Return what the theorems guarantee, or why nothing is said about it."""
    found = origin.certificate
    if found is None:
        known = hasattr(of.classifier, "_evidence")
        return {"found": False, "without": "" if known else type(of.classifier).__name__}
    bounds = [each for each in found.bounds if _is_useful(each, found.predictor)]
    return {
        "found": True,
        "summary": found.summary,
        "predictor": found.predictor,
        "bounds": [[each.name, each.kind, percent(each.error or 0.0)] for each in bounds],
        "picture": markup(_picture(found, bounds, of, origin)),
        "advice": found.advice()[:_MOST_ADVICE],
        "claims": "; ".join(f"{claim.name} ({claim.because})" for claim in found.claims),
    }


def _is_useful(bound: Bound, predictor: str) -> bool:
    own = bound.applies and bound.quantity == "error" and bound.predictor == predictor
    return own and bound.error is not None and bound.error < HOPELESS


def _picture(whole: Certificate, bounds: list[Bound], of: Findings, origin: Origin) -> str:
    """Return the bounds that apply, beside what was measured on rows that training had not."""
    if not bounds or not can_draw():
        return ""
    name = whole.predictor
    here = whole.measured.get(name) if origin.trained_on else Measured((), of.counts.wrong, of.counts.n)
    measured = {} if here is None else {name: here}
    shown = replace(whole, bounds=tuple(bounds), measured=measured)
    said = [f"{bound.name}, {bound.kind}, at most {percent(bound.error or 0.0)}" for bound in bounds]
    said += [
        f"measured on {each.n:,} rows {percent(each.rate)}, at most {percent(each.guaranteed(shown.delta))}"
        for each in measured.values()
    ]
    words = f"Bounds on the error of this model: {'; '.join(said)}"
    height = 1.75 + 0.3 * (1 + len(bounds) + len(measured))
    return drawn(CertificateDisplay(shown), "certified", words, height=height)
