"""The part of a report that says why: what made the labels of a few rows, and the strongest features."""

from __future__ import annotations

import numpy as np

from votron._util.pages import Picture, name_of
from votron._util.text import counted, on_one_line, shortened
from votron._util.types import Array, Floats, Params
from votron.errors import VotronError
from votron.explanations import Explanation, Terms, explain, strongest_features
from votron.plots.batches import PredictedRow
from votron.plots.images import images_of
from votron.report._rows import picture, values_of
from votron.report.findings import Findings

_TOP = 4
"""Terms for a label, and against it."""
_STRONGEST, _STRONGEST_CLASSES = 8, 12
_NAME = 90

_Entry = tuple[str, float, Picture | None]
"""Name, value and image of a bar."""


def reasons(found: Findings) -> Params:
    """Return why a few rows have their labels: two that are most wrong, and a typical one that is right."""
    chosen: list[tuple[str, PredictedRow]] = []
    for row in found.wrong.kept:
        kinds = {(each.true, each.predicted) for _, each in chosen}
        if len(chosen) < 2 and (row.true, row.predicted) not in kinds:
            chosen.append(("Wrong by the most" if not chosen else "Wrong by much", row))
    if found.typical is not None:
        chosen.append(("Typical, and right", found.typical))
    cards = [_card(found, kind, row, why) for kind, row in chosen if (why := _explained(found, row)) is not None]
    images = found.description.image_shape is not None
    strongest = {} if images else strongest_features(found.model, _STRONGEST, first=1) or {}
    shown = [
        (label, _bars([(name, weight, None) for name, weight in features]))
        for label, features in list(strongest.items())[:_STRONGEST_CLASSES]
    ]
    return {"cards": cards, "strongest": shown, "n_more_classes": len(strongest) - len(shown)}


def _explained(found: Findings, row: PredictedRow) -> Explanation | None:
    against = row.true if row.true != row.predicted and row.true in found.classes.tolist() else None
    label = None if against is None else row.predicted
    pixels = row.image is not None and getattr(found.classifier, "support_vectors_", None) is None
    try:
        return explain(found.model, row.X, label, against, top=None if pixels else _TOP, first=1)[0]
    except VotronError:  # a kernel that nobody can look into
        return None


def _card(found: Findings, kind: str, row: PredictedRow, why: Explanation) -> Params:
    """Return an explanation of a row: its columns or largest terms as bars, or its pixels as a picture."""
    card: Params = {"kind": kind, "row": row, "against": why.against, "bars": [], "sum": "", "pixels": None}
    card["image"] = None if row.image is None else picture(row.image, f"Row {row.number}, {name_of(row.true)}")
    card["about"] = shortened(values_of(row.X), 4 * _NAME)
    card["votes"] = _votes(why)
    if why.columns and row.image is None:
        shown = [effect for effect in why.columns[: 2 * _TOP] if effect.change]
        card["bars"] = _bars([(effect.name, effect.change, None) for effect in shown])
        card["sum"] = f"The bars: how much the score, {why.score:+.4g}, would fall on average with another row's value."
        return card
    terms = why.main_sum(as_image=row.image is not None)
    if terms is not None and terms.kind == "features" and row.image is not None:
        card["pixels"] = _pixels(terms, row.image)
    elif terms is not None:
        images = _example_images(found, terms, row)
        constant = terms.constant / terms.divisor
        entries: list[_Entry] = [("intercept", constant, None)] if constant else []
        entries += [(str(term), term.share, images.get(term.slot)) for term in terms.largest]
        card["bars"], card["sum"] = _bars(entries), _rest(terms)
    return card


def _bars(entries: list[_Entry]) -> list[Params]:
    """Return bars that go to the right or to the left, with their names and values."""
    largest = max((abs(share) for _, share, _ in entries), default=0.0) or 1.0
    return [
        {
            "name": shortened(on_one_line(name), _NAME),
            "value": _signed(share),
            "side": "for" if share > 0 else "against",
            "width": 50 * abs(share) / largest,
            "image": image,
        }
        for name, share, image in entries
    ]


def _signed(value: float) -> str:
    return f"{value:+,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:+.3g}"


def _rest(terms: Terms) -> str:
    """Return what all other terms add, and whose sum it is."""
    sides = [
        f"{counted(n, 'other')} {word} it {_signed(share)}"
        for word, (n, share) in (("for", terms.others(True)), ("against", terms.others(False)))
        if n
    ]
    whole = f"All together {_signed(terms.score)}"
    whole += "." if terms.exact else ", the mean of the vectors' scores; the label goes by their votes."
    return f"{'; '.join(sides)}. {whole}" if sides else whole


def _votes(why: Explanation) -> str:
    if not why.history:
        return ""
    said = " and ".join(f"{100 * each.share_for:.0f} % for {name_of(each.label)}" for each in why.history)
    return f"{said}, each class by vectors of its own" if len(why.history) > 1 else said


def _example_images(found: Findings, terms: Terms, row: PredictedRow) -> dict[int, Picture]:
    """Return the images of training examples, where rows are images."""
    support = getattr(found.classifier, "support_vectors_", None)
    if row.image is None or terms.kind != "examples" or support is None or support.shape[1] != row.image.size:
        return {}
    shape = row.image.shape
    return {
        term.slot: picture(images_of(support[[term.slot]], shape)[0], f"{term.name}, {name_of(term.label)}")
        for term in terms.largest
    }


def _pixels(terms: Terms, image: Array) -> Picture:
    """Return what each pixel adds to the score: blue for the label, orange against it."""
    shares: Floats = np.zeros(image.size)
    for term in terms.largest:
        if term.index < len(shares):
            shares[term.index] = term.share
    shares = shares.reshape(image.shape)
    shares = shares.sum(axis=2) if shares.ndim == 3 else shares
    strength = (np.abs(shares) / max(float(np.abs(shares).max()), 1e-300))[..., None]
    ink = np.where((shares > 0)[..., None], (31.0, 78.0, 156.0), (200.0, 100.0, 27.0))
    return picture(255 - strength * (255 - ink), "What each pixel adds")
