"""The sections of a report: what their templates show."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from itertools import compress

import numpy as np

from votron import __version__
from votron._util.frames import columns_of, is_missing
from votron._util.pipelines import steps_before, summary_of, weighs_classes
from votron._util.plotting import AGAINST, FOR, STYLE, can_draw, picture, pyplot, svg_for_page
from votron._util.text import counted, duration, in_words, joined, left_out, name_of, percent, shortened, utc_now
from votron._util.types import Array, Axes, Floats, Params, RowsLike
from votron.errors import VotronError
from votron.estimators.base import VotronClassifier
from votron.evaluate.figures import PredictedRow, displays_of
from votron.explanations import Explanation, Terms, explain, strongest_features
from votron.plots import MistakesDisplay, ReliabilityDisplay
from votron.plots.predictions import RankingDisplay, images_of
from votron.plots.training import RulesOverTime, rule_words
from votron.report.findings import Findings, Origin
from votron.tables import unseen_sentences
from votron.theory.certificate import HOPELESS
from votron.theory.evidence import Measured

_SHOWN_COLUMNS, _SHOWN_WRONG = 20, 25
_MOST_CLASSES, _MOST_PAIRS = 20, 15
"""Classes up to which all confusions are shown, and pairs of labels otherwise."""
_MOST_ADVICE = 3
_TOP, _STRONGEST, _STRONGEST_CLASSES = 4, 8, 12
"""Terms for a label, and against it; strongest features of a class, and classes that have them."""
_LONGEST_CELL, _LONGEST_FACT, _LONGEST_NAME = 120, 400, 90
_LARGEST_IMAGE = 96
"""Pixels of a side up to which images are shown as they are."""
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
_NOT_SHOWN = ("verbose", "n_jobs")
"""Parameters that change no model."""


def sections_of(found: Findings, origin: Origin) -> Iterator[tuple[str, str, Params]]:
    """Yield the sections: key, which is the name of the template, heading, and what only this template shows."""
    rules = found.evaluation.rules
    yield "data", "Data", _data(found)
    yield "errors", "Errors", {}
    yield "confusions", "Confusions", _confusions(found)
    yield "probabilities", "Probabilities", _probabilities(found, origin)
    if rules is not None and can_draw():
        yield "training", "Training", _training(found, rules)
    yield "wrong", "Wrong rows", _wrong(found)
    if hasattr(found.classifier, "explain"):
        yield "reasons", "Reasons", _reasons(found)
    if isinstance(found.classifier, VotronClassifier):
        yield "certificate", "Certificate", _certificate(found, origin)
    yield "model", "Model", _model(found, origin)
    yield "made", "How it was made", _made(found, origin)


def _drawn(draw: Callable[[Axes], object], name: str, said: str, height: float = 4.1) -> str:
    """Return a figure as part of the page, of a width that can be read on a phone; screen readers read ``said``."""
    from markupsafe import Markup  # with jinja2

    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, ax = plt.subplots(figsize=(5.4, height), layout="constrained")
        draw(ax)
    return Markup(svg_for_page(figure, name, said))


def _data(found: Findings) -> Params:
    about, classes = found.description, found.counts.by_class(found.evaluation.labels)
    columns = list(about.columns.values())
    return {
        "missing": sum(column.missing for column in columns),
        "left_out": left_out(about.dropped, about.unlabelled),
        "n_features": getattr(found.classifier, "n_features_in_", None),
        "classes": sorted((entry for entry in classes if entry["rows"]), key=lambda entry: -entry["rows"]),
        "unseen": unseen_sentences(found.unseen),
        "columns": [column.cells() for column in columns[:_SHOWN_COLUMNS]],
        "more_columns": len(columns) > _SHOWN_COLUMNS,
    }


def _confusions(found: Findings) -> Params:
    most, labels = found.counts.largest(), found.evaluation.labels
    if len(labels) > _MOST_CLASSES:
        rows = [[name_of(true), name_of(given), f"{n:,}"] for true, given, n in most[:_MOST_PAIRS]]
        return {"largest": rows, "n_more": len(most) - len(rows), "matrix": []}
    pairs = [f"{name_of(true)} for {name_of(given)} ({counted(n, 'row')})" for true, given, n in most[:3]]
    counts, right = found.counts.matrix(labels), np.eye(len(labels), dtype=bool)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    strength = np.where(right, 0.06 + 0.46 * shares, 0.2 + 0.35 * np.sqrt(shares))
    names = [name_of(label, 18) for label in labels]
    matrix = [list(zip(*cells, strict=True)) for cells in zip(counts.tolist(), right, strength, strict=True)]
    said = joined(pairs) if pairs else ""
    return {"largest": [], "named": said, "names": names, "matrix": list(zip(names, matrix, strict=True))}


def _probabilities(found: Findings, origin: Origin) -> Params:
    """Return how far the probabilities can be trusted, and the curves of scores."""
    sure, right = found.evaluation.sureness()
    return {
        "sure": float(sure.mean()) if len(sure) else None,
        "right": float(right.mean()) if len(sure) else None,
        "gaps": found.evaluation.gaps(),
        "weighed": weighs_classes(found.classifier, origin.provenance),
        "figures": [_curve(display) for display in displays_of(found.evaluation)] if can_draw() else [],
    }


def _curve(display: ReliabilityDisplay | RankingDisplay) -> str:
    if isinstance(display, RankingDisplay):
        name = "ROC curve" if display.kind == "roc" else "Precision against recall"
        return _drawn(display.plot, display.kind, f"{name} of {name_of(display.label)}")
    points = zip(display.probability, display.share, strict=True)
    said = "; ".join(f"{percent(p)} probable, {percent(share)} right" for p, share in points)
    return _drawn(display.plot, "reliability", f"Reliability, in equal parts of the rows: {said}")


def _training(found: Findings, rules: RulesOverTime) -> Params:
    """Return the errors of the rules over the time of training, and mistakes and support."""
    curve, record = rules.display(), found.classifier.record_
    ends = ", ".join(f"{rule_words(rule)} {percent(errors[-1])}" for rule, errors in curve.errors.items())
    n_mistakes, n_support = len(record.time), len(np.unique(record.example))
    said = f"Mistakes against epochs of training, {n_mistakes:,} at the end, and support, {n_support:,}"
    return {
        "figures": [
            _drawn(curve.plot, "rules", f"Errors of rules against epochs of training. At the end: {ends}"),
            _drawn(lambda ax: MistakesDisplay.from_estimator(found.classifier, ax=ax), "mistakes", said),
        ]
    }


def _wrong(found: Findings) -> Params:
    """Return the rows that are wrong by the most: images as a sheet, others as a table without empty columns."""
    kept, head = found.wrong.kept, ("row", "true", "predicted", "probability", "values")
    images = [(row, _image(row, f"taken for {name_of(row.predicted)}")) for row in kept if row.image is not None]
    rows = [] if images else [_wrong_cells(row) for row in kept[:_SHOWN_WRONG]]
    some = [any(column) for column in zip(*rows, strict=True)]
    return {"images": images, "head": list(compress(head, some)), "rows": [list(compress(row, some)) for row in rows]}


def _wrong_cells(row: PredictedRow) -> list[str]:
    probability = "" if row.probability is None else percent(row.probability)
    values = ": ".join(filter(None, (row.place.capitalize(), _values(row.X))))
    return [f"{row.number:,}", name_of(row.true), name_of(row.predicted), probability, values]


def _values(X: RowsLike) -> str:
    """Return what is in the one row of a frame; nothing of numbers without names."""
    if not hasattr(X, "columns"):
        return name_of(X[0], 4 * _LONGEST_CELL) if isinstance(X[0], str) else ""
    cells = []
    for name, column in zip(X.columns, columns_of(X), strict=True):
        value = column.to_list()[0]
        if not is_missing(value):
            said = f"{value:.6g}" if isinstance(value, float) else str(value)
            cells.append(f"{name_of(name)}: {name_of(said, _LONGEST_CELL)}")
    return "; ".join(cells)


def _image(row: PredictedRow, about: str) -> Params:
    assert row.image is not None
    return _picture(row.image, f"{row.place or f'row {row.number:,}'}: {name_of(row.true)}, {about}")


def _picture(image: Array, alt: str) -> Params:
    """Return an image for the page, of a large one every other pixel or fewer."""
    step = -(-max(image.shape[:2]) // _LARGEST_IMAGE)
    return picture(image[::step, ::step], alt)


def _reasons(found: Findings) -> Params:
    """Return why a few rows have their labels: two that are most wrong, and a typical one that is right."""
    chosen: list[tuple[str, PredictedRow]] = []
    for row in found.wrong.kept:
        kinds = {(each.true, each.predicted) for _, each in chosen}
        if len(chosen) < 2 and (row.true, row.predicted) not in kinds:
            chosen.append(("Wrong by much" if chosen else "Wrong by the most", row))
    if found.typical is not None:
        chosen.append(("Typical, and right", found.typical))
    cards = [_card(found, kind, row, why) for kind, row in chosen if (why := _explained(found, row)) is not None]
    images = found.description.image_shape is not None
    strongest = {} if images else strongest_features(found.model, _STRONGEST, first=1) or {}
    bars = [(label, _bars(features)) for label, features in list(strongest.items())[:_STRONGEST_CLASSES]]
    return {"cards": cards, "strongest": bars, "n_more_classes": len(strongest) - len(bars)}


def _explained(found: Findings, row: PredictedRow) -> Explanation | None:
    against = row.true if row.true != row.predicted and row.true in found.evaluation.classes.tolist() else None
    label = None if against is None else row.predicted
    pixels = row.image is not None and getattr(found.classifier, "support_vectors_", None) is None
    try:
        return explain(found.model, row.X, label, against, top=None if pixels else _TOP, first=1)[0]
    except VotronError:  # a kernel that nobody can look into
        return None


def _card(found: Findings, kind: str, row: PredictedRow, why: Explanation) -> Params:
    """Return an explanation of a row: its columns or largest terms as bars, or its pixels as a picture."""
    image, terms = row.image, why.main_sum(as_image=row.image is not None)
    card: Params = {"kind": kind, "row": row, "why": why, "bars": [], "others": "", "pixels": None}
    card["image"] = None if image is None else _picture(image, f"Row {row.number}, {name_of(row.true)}")
    card["about"] = shortened(_values(row.X), 4 * _LONGEST_NAME)
    if why.columns and image is None:
        card["bars"] = _bars([(effect.name, effect.change) for effect in why.columns[: 2 * _TOP] if effect.change])
    elif terms is not None and terms.kind == "features" and image is not None:
        card["pixels"] = _pixels(terms, image)
    elif terms is not None:
        constant = terms.constant / terms.divisor
        bars = [("intercept", constant)] if constant else []
        images = [None] * len(bars) + _example_images(found, terms, row)
        bars += [(str(term), term.share) for term in terms.largest]
        card["bars"], card["others"] = _bars(bars, images), _others(terms)
    return card


def _bars(entries: list[tuple[str, float]], images: list[Params | None] | None = None) -> list[Params]:
    """Return bars that go to the right or to the left, with their names and values."""
    largest = max((abs(share) for _, share in entries), default=0.0) or 1.0
    return [
        {
            "name": name_of(name, _LONGEST_NAME),
            "value": _signed(share),
            "side": "for" if share > 0 else "against",
            "width": 50 * abs(share) / largest,
            "image": image,
        }
        for (name, share), image in zip(entries, images or [None] * len(entries), strict=True)
    ]


def _signed(value: float) -> str:
    return f"{value:+,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:+.3g}"


def _others(terms: Terms) -> str:
    """Return what all other terms add, and whose sum it is."""
    sides = (("for", terms.others(True)), ("against", terms.others(False)))
    said = "; ".join(f"{counted(n, 'other')} {word} it {_signed(share)}" for word, (n, share) in sides if n)
    by = "." if terms.exact else ", the mean of the vectors' scores; the label goes by their votes."
    return f"{said}{'. ' if said else ''}All together {_signed(terms.score)}{by}"


def _example_images(found: Findings, terms: Terms, row: PredictedRow) -> list[Params | None]:
    """Return the images of training examples, where rows are images."""
    support, image = getattr(found.classifier, "support_vectors_", None), row.image
    if image is None or terms.kind != "examples" or support is None or support.shape[1] != image.size:
        return [None] * len(terms.largest)
    images = images_of(support[[term.slot for term in terms.largest]], image.shape)
    names = (f"{term.name}, {name_of(term.label)}" for term in terms.largest)
    return [_picture(each, name) for each, name in zip(images, names, strict=True)]


def _pixels(terms: Terms, image: Array) -> Params:
    """Return what each pixel adds to the score: blue for the label, orange against it."""
    from matplotlib.colors import to_rgb

    shares: Floats = np.zeros(image.size)
    shares[[term.index for term in terms.largest]] = [term.share for term in terms.largest]
    shares = shares.reshape(image.shape)
    shares = shares.sum(axis=2) if shares.ndim == 3 else shares
    strength = (np.abs(shares) / max(float(np.abs(shares).max()), 1e-300))[..., None]
    ink = 255 * np.where((shares > 0)[..., None], to_rgb(FOR), to_rgb(AGAINST))
    return _picture(255 - strength * (255 - ink), "What each pixel adds")


def _certificate(found: Findings, origin: Origin) -> Params:
    """Return what the theorems guarantee, or why nothing is said about it."""
    whole = origin.certificate
    if whole is None:
        known = hasattr(found.classifier, "_for_theory")
        return {"certificate": None, "without": "" if known else type(found.classifier).__name__}
    about_us = (each for each in whole.bounds if each.applies and each.predictor == whole.predictor)
    errors = [(each, each.error) for each in about_us if each.quantity == "error" and each.error is not None]
    bounds = [(each, percent(error)) for each, error in errors if error < HOPELESS]
    here = (
        whole.measured.get(whole.predictor) if origin.trained_on else Measured((), found.counts.wrong, found.counts.n)
    )
    measured = {} if here is None else {whole.predictor: here}
    shown = replace(whole, bounds=tuple(each for each, _ in bounds), measured=measured)
    said = [f"{each.name}, {each.kind}, at most {error}" for each, error in bounds]
    if here is not None:
        most = percent(here.guaranteed(shown.delta))
        said.append(f"measured on {here.n:,} rows {percent(here.rate)}, at most {most}")
    words = f"Bounds on the error of this model: {'; '.join(said)}"
    height = 1.75 + 0.3 * (1 + len(bounds) + len(measured))
    return {
        "certificate": whole,
        "bounds": [[each.name, each.kind, error] for each, error in bounds],
        "picture": _drawn(shown.plot, "certified", words, height) if bounds and can_draw() else "",
        "advice": whole.advice()[:_MOST_ADVICE],
        "claims": "; ".join(f"{claim.name} ({claim.because})" for claim in whole.claims),
    }


def _model(found: Findings, origin: Origin) -> Params:
    """Return what the model is, its size, and its speed on these rows."""
    classifier, n = found.classifier, found.counts.n
    known = summary_of(classifier) if isinstance(classifier, VotronClassifier) else {}
    names = ("kernel", "rule", "features", "support", "examples", "mistakes", "epochs", "converged")
    facts = {"Classifier": type(classifier).__name__}
    facts["Before it"] = ", ".join(type(step).__name__ for step in steps_before(found.model))
    facts |= {name.capitalize(): in_words(known[name]) for name in names if known.get(name) is not None}
    if isinstance(each := known.get("mistakes"), list) and len(each) > 1:
        facts["Mistakes"] = f"{sum(each):,}: {in_words(each)} by class"
    given = classifier.get_params(deep=False).items()
    facts["Parameters"] = ", ".join(f"{name} {in_words(value)}" for name, value in given if name not in _NOT_SHOWN)
    facts["Size"] = origin.files.get("size", "")
    speed = float(f"{n / max(found.seconds, 1e-9):.2g}")
    facts["Speed"] = f"{counted(n, 'row')} predicted in {duration(found.seconds)}: {speed:,.0f} a second"
    return {"facts": _short(facts)}


def _made(found: Findings, origin: Origin) -> Params:
    """Return commands, versions, digests and the time."""
    trained, packages = origin.provenance, [f"{package} {version(package)}" for package in _PACKAGES]
    by = [f"{name} {trained[name]}" for name in ("votron", "python", "numpy", "scikit-learn") if name in trained]
    facts = {
        "Report": utc_now(),
        "By": ", ".join([f"Votron {__version__}", f"Python {platform.python_version()}", *packages]),
        "Trained": str(trained.get("created", "")),
        "Trained by": ", ".join(by),
    }
    data = trained.get("data")
    if isinstance(data, Mapping):
        words = {"name": "{}", "rows": "{} rows", "sha256": "SHA-256 {}"}
        facts["Trained on"] = ", ".join(text.format(data[name]) for name, text in words.items() if data.get(name))
    facts |= {name: text for name, text in origin.files.items() if name != "size"}
    commands = [str(text) for text in (trained.get("command"), origin.command) if text]
    return {"commands": [shortened(each, 4 * _LONGEST_FACT) for each in commands], "facts": _short(facts)}


def _short(facts: dict[str, str]) -> dict[str, str]:
    return {name: shortened(text, _LONGEST_FACT) for name, text in facts.items() if text}
