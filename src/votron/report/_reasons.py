"""The part of a report that says why: what made the labels of a few rows, and the strongest features."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from votron._util.text import on_one_line, percent, shortened
from votron.errors import VotronError
from votron.explanations import Explanation, Terms, explain, strongest_features
from votron.explanations._text import named, terms_to_draw
from votron.plots.batches import PredictedRow
from votron.plots.images import images_of
from votron.report._errors import name_of
from votron.report._rows import picture, values_of
from votron.report.findings import Findings

_TOP = 4
"""Terms for a label, and against it."""
_STRONGEST, _STRONGEST_CLASSES = 8, 12
_NAME = 90


def reasons(found: Findings) -> str:
    """Return why a few rows have their labels: two that are most wrong, and a typical one that is right."""
    chosen: list[tuple[str, PredictedRow]] = []
    for row in found.wrong.kept:
        kinds = {(each.true, each.predicted) for _, each in chosen}
        if len(chosen) < 2 and (row.true, row.predicted) not in kinds:
            chosen.append(("Wrong by the most" if not chosen else "Wrong by much", row))
    if found.typical is not None:
        chosen.append(("Typical, and right", found.typical))
    cards = [card for kind, row in chosen if (card := _card(found, kind, row))]
    about = (
        "<p>What speaks for the predicted label (to the right), and for the one that it is compared with (to the "
        "left): of linear models their features; of kernel models the columns of a table, by what the score would lose "
        "with the value of another row, or else training examples, counted from 1 among the rows that were learnt "
        "from.</p>"
    )
    parts = [about, f'<div class="cards">{"".join(cards)}</div>'] if cards else []
    parts.append(_strongest(found))
    return "\n".join(filter(None, parts)) or "<p>This model does not explain itself.</p>"


def _card(found: Findings, kind: str, row: PredictedRow) -> str:
    """Return an explanation of a row; nothing where the model has none."""
    why = _explained(found, row)
    if why is None:
        return ""
    right = row.true == row.predicted
    truth = "which is right" if right else f"truly {name_of(row.true)}"
    said = f"{name_of(row.predicted)}, {truth}"
    sure = "" if row.probability is None else f", probability {percent(row.probability)}"
    image = "" if row.image is None else picture(row.image, f"Row {row.number}, {name_of(row.true)}")
    values = shortened(values_of(row.X), 4 * _NAME)
    about = f'<p class="muted">{escape(values)}</p>' if values else ""
    return (
        f'<article class="card"><h3>{kind}: row {row.number:,}</h3>{image}'
        f"<p>Predicted {escape(said)}{sure}; compared with {escape(name_of(why.against))}.</p>"
        f"{about}{_terms_html(found, why, row)}{_votes(why)}</article>"
    )


def _explained(found: Findings, row: PredictedRow) -> Explanation | None:
    if not hasattr(found.classifier, "explain"):
        return None
    against = row.true if row.true != row.predicted and row.true in found.classes.tolist() else None
    label = None if against is None else row.predicted
    pixels = row.image is not None and getattr(found.classifier, "support_vectors_", None) is None
    try:
        return explain(found.model, row.X, label, against, top=None if pixels else _TOP, first=1)[0]
    except VotronError:  # a kernel that nobody can look into
        return None


def _terms_html(found: Findings, why: Explanation, row: PredictedRow) -> str:
    """Return the columns or the largest terms of a score as bars; of the pixels of an image, as a picture."""
    if why.columns and row.image is None:
        return _columns_html(why)
    terms = terms_to_draw(why, as_image=row.image is not None)
    if terms is None:
        return ""
    if terms.kind == "features" and row.image is not None:
        return _pixels_html(terms, row)
    images = _example_images(found, terms, row)
    constant = terms.constant / terms.divisor
    largest = max(abs(share) for share in (constant, *(term.share for term in terms.largest)))
    bars = [bar_html("intercept", constant, largest)] if constant else []
    for term in terms.largest:
        text = shortened(on_one_line(named(term, terms.kind)), _NAME)
        bars.append(bar_html(text, term.share, largest, images.get(term.slot, "")))
    return f'<ul class="bars">{"".join(bars)}</ul><p class="muted">{escape(_rest(terms))}</p>'


def _columns_html(why: Explanation) -> str:
    """Return what the largest columns do to a score as bars."""
    shown = [effect for effect in why.columns[: 2 * _TOP] if effect.change]
    largest = max((abs(effect.change) for effect in shown), default=1.0)
    bars = [bar_html(shortened(on_one_line(effect.name), _NAME), effect.change, largest) for effect in shown]
    said = f"The score, {why.score:+.3g}, would lose so much, on average, with another row's value in the column."
    return f'<ul class="bars">{"".join(bars)}</ul><p class="muted">{escape(said)}</p>'


def bar_html(name: str, share: float, largest: float, image: str = "") -> str:
    """Return a bar that goes to the right or to the left, with its name and its value."""
    side, width = ("for" if share > 0 else "against"), 50 * abs(share) / (largest or 1.0)
    return (
        f'<li>{image}<span>{escape(name)}</span><b class="{side}">{signed(share)}</b>'
        f'<i class="{side}" style="--width: {width:.1f}%"></i></li>'
    )


def signed(value: float) -> str:
    """Return a share with its sign.

    Examples
    --------
    >>> signed(-0.1234), signed(1066.3), signed(3e9)
    ('-0.123', '+1,066', '+3e+09')
    """
    return f"{value:+,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:+.3g}"


def _rest(terms: Terms) -> str:
    """Return what all other terms add, and whose sum it is."""
    sides = [f"{n:,} other{'s' if n > 1 else ''} {word} it {signed(share)}"
             for word, (n, share) in (("for", terms.others(True)), ("against", terms.others(False))) if n]  # fmt: skip
    whole = f"All together {signed(terms.score)}"
    whole += "." if terms.exact else ", the mean of the vectors' scores; the label goes by their votes."
    return f"{'; '.join(sides)}. {whole}" if sides else whole


def _votes(why: Explanation) -> str:
    if not why.history:
        return ""
    said = " and ".join(f"{100 * each.share_for:.0f} % for {name_of(each.label)}" for each in why.history)
    own = ", each class by vectors of its own" if len(why.history) > 1 else ""
    return f'<p class="muted">Votes: {escape(said)}{own}.</p>'


def _example_images(found: Findings, terms: Terms, row: PredictedRow) -> dict[int, str]:
    """Return the images of training examples, where rows are images."""
    support = getattr(found.classifier, "support_vectors_", None)
    if row.image is None or terms.kind != "examples" or support is None or support.shape[1] != row.image.size:
        return {}
    shape = row.image.shape
    return {
        term.slot: picture(images_of(support[[term.slot]], shape)[0], f"{term.name}, {name_of(term.label)}")
        for term in terms.largest
    }


def _pixels_html(terms: Terms, row: PredictedRow) -> str:
    """Return what each pixel adds to the score: blue for the label, orange against it."""
    assert row.image is not None
    shares: NDArray[np.float64] = np.zeros(row.image.size)
    for term in terms.largest:
        if term.index < len(shares):
            shares[term.index] = term.share
    shares = shares.reshape(row.image.shape)
    shares = shares.sum(axis=2) if shares.ndim == 3 else shares
    strength = (np.abs(shares) / max(float(np.abs(shares).max()), 1e-300))[..., None]
    ink = np.where((shares > 0)[..., None], (31.0, 78.0, 156.0), (200.0, 100.0, 27.0))
    shown = 255 - strength * (255 - ink)
    return (
        picture(shown, "What each pixel adds")
        + '<p class="muted">Blue pixels speak for the label, orange ones against it.</p>'
    )


def _strongest(found: Findings) -> str:
    """Return the features with the largest weights of each class, of a linear model."""
    if not hasattr(found.classifier, "explain") or found.description.image_shape is not None:
        return ""
    strongest = strongest_features(found.model, _STRONGEST, first=1)
    if not strongest:
        return ""
    cards = []
    for label, features in list(strongest.items())[:_STRONGEST_CLASSES]:
        largest = max((abs(weight) for _, weight in features), default=0.0)
        bars = "".join(bar_html(shortened(on_one_line(name), _NAME), w, largest) for name, w in features)
        cards.append(
            f'<article class="card"><h3>{escape(name_of(label))}</h3><ul class="bars whole">{bars}</ul></article>'
        )
    more = len(strongest) - len(cards)
    rest = f" {more:,} more classes are left out." if more > 0 else ""
    return (
        f'<h3>Strongest features</h3><p>The weights of each class.{rest}</p><div class="cards">{"".join(cards)}</div>'
    )
