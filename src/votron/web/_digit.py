"""A drawing as a model sees it, and the model's answer.

Problem: drawings have any place, size and thickness; the images of a data set are normalised. MNIST's fit into a box of
20 pixels, with their centre of mass in the middle of 28 x 28. scikit-learn's 8 x 8 digits fill a square of 32 pixels,
and count the dark ones in each block of 4 x 4. Other images are taken to be like one of these, by their size.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel, Field
from scipy import ndimage

from votron._util.frames import dense
from votron._util.types import Floats, RowsLike, Scores
from votron.record import labels_of
from votron.web._game import Sent
from votron.web._models import RULE_NAMES, Piece, Trained, encoded

PAD = 28
MOST_BIRTHS = 200
MOST_REASONS = 10
_SMALL = 16
"""Images below this side are counts of dark pixels in blocks, as scikit-learn's digits are."""


class Drawing(Sent):
    """A drawing of 28 × 28 pixels, row by row, 0 to 255."""

    pixels: Annotated[list[Annotated[int, Field(ge=0, le=255)]], Field(min_length=784, max_length=784)]


class DigitModel(BaseModel):
    ready: bool
    title: str
    classes: list[str] = []
    n_mistakes: int = 0
    n_support: int = 0


class Sample(BaseModel):
    pixels: list[int]
    label: str


class RuleScores(BaseModel):
    """The answer of one rule: its label, and the score of each class."""

    rule: str
    label: str
    scores: list[float]


class VoteHistory(BaseModel):
    """The votes of the perceptrons, in order of birth: for each class a string of "+" and "-".

    ``births`` are the mistakes after which they were born (a selection, where there are many), ``leaders`` the class
    that leads the vote at each of them.
    """

    births: list[int]
    votes: list[str]
    leaders: list[int]


class Reason(BaseModel):
    """A training image with a large say: its part of the score of the class that won, and its class if known."""

    example: int
    weight: float
    label: str
    pixels: str


class DigitAnswer(BaseModel):
    """The model's answer to a drawing; ``seen`` is the drawing as it sees it."""

    label: str
    rules: list[RuleScores]
    history: VoteHistory
    reasons: list[Reason]
    probabilities: list[float] | None
    seen: str
    shape: list[int]


def described(piece: Piece) -> DigitModel:
    """Return what the page says of a model before there is a drawing."""
    if piece.trained is None:
        return DigitModel(ready=False, title=piece.title)
    model, classes = piece.trained.model, piece.trained.classes
    counts = {"n_mistakes": len(model.record_), "n_support": len(model.support_)}
    return DigitModel(ready=True, title=piece.title, classes=classes, **counts)


def as_seen(pixels: ArrayLike, shape: tuple[int, int], top: float) -> Floats:
    """Return a drawing as an image of a data set: cropped, scaled, in the middle, of the right size and brightness."""
    image = np.asarray(pixels, dtype=np.float64).reshape(PAD, PAD) / 255.0
    rows, columns = (np.flatnonzero(image.max(axis=axis) > 0.05) for axis in (1, 0))
    if not (len(rows) and len(columns)):
        return np.zeros(shape[0] * shape[1])
    ink = image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    small = max(shape) < _SMALL
    side = 4 * max(shape) if small else max(shape)
    box = side if small else round(side * 20 / 28)
    scaled = _resized(ink, box / max(ink.shape))
    placed = _placed(scaled, side, by_mass=True)
    if small:
        placed = placed.reshape(shape[0], 4, shape[1], 4).mean(axis=(1, 3))
    return np.asarray(np.round(np.clip(placed, 0, 1) * top).reshape(-1))


def _resized(ink: Floats, scale: float) -> Floats:
    shape = [max(1, round(n * scale)) for n in ink.shape]
    if scale < 1:
        ink = ndimage.gaussian_filter(ink, 0.3 / scale)
    factors = [new / old for new, old in zip(shape, ink.shape, strict=True)]
    return np.asarray(ndimage.zoom(ink, factors, order=1, grid_mode=True, mode="grid-constant"))


def _placed(ink: Floats, side: int, *, by_mass: bool) -> Floats:
    """Return ink in the middle of a square, by its centre of mass or of its box."""
    out = np.zeros((side, side))
    middle = ndimage.center_of_mass(ink) if by_mass else [(n - 1) / 2 for n in ink.shape]
    at = [int(np.clip(round((side - 1) / 2 - c), 0, side - n)) for c, n in zip(middle, ink.shape, strict=True)]
    out[at[0] : at[0] + ink.shape[0], at[1] : at[1] + ink.shape[1]] = ink
    return out


def sample(trained: Trained, seed: int) -> Sample:
    """Return a test digit as a drawing."""
    assert trained.X is not None
    assert trained.shape is not None
    i = int(np.random.default_rng(seed).integers(trained.X.shape[0]))
    image = dense(trained.X[[i]]).astype(np.float64).reshape(trained.shape)
    image = image / (image.max() or 1.0)
    if max(image.shape) != PAD:
        image = ndimage.zoom(image, (PAD - 4) / max(image.shape), order=0, grid_mode=True, mode="grid-constant")
        image = _placed(np.clip(image, 0, 1), PAD, by_mass=False)
    return Sample(pixels=np.round(255 * image).astype(int).ravel().tolist(), label=str(trained.y[i]))


def answer(trained: Trained, pixels: ArrayLike) -> DigitAnswer:
    """Return what a model says of a drawing, by all rules."""
    assert trained.shape is not None
    model, classes = trained.model, trained.classes
    top = float(model.support_vectors_.max())
    row = as_seen(pixels, trained.shape, top)
    X = row[None].astype(model.support_vectors_.dtype)
    end = [model.record_.n_steps / model.record_.n_examples]
    _, scores = next(iter(model.staged_decision_function(X, at=end, rules=RULE_NAMES)))
    by_rule = [
        RuleScores(rule=name, label=classes[int(labels_of(each)[0])], scores=_per_class(each)[0].tolist())
        for name, each in scores.items()
    ]
    own = int(labels_of(np.asarray(model.decision_function(X)))[0])
    return DigitAnswer(
        label=classes[own],
        rules=by_rule,
        history=_history(trained, X),
        reasons=_reasons(trained, X, own),
        probabilities=model.predict_proba(X)[0].tolist() if hasattr(model, "predict_proba") else None,
        seen=encoded(row, top),
        shape=list(trained.shape),
    )


def _per_class(scores: Scores) -> Floats:
    """Return scores with a column for each class; the one score of two classes is the second's."""
    each = np.asarray(scores, dtype=np.float64)
    return each if each.ndim == 2 and each.shape[1] > 1 else np.stack([-each.reshape(-1), each.reshape(-1)], axis=1)


def _history(trained: Trained, X: RowsLike) -> VoteHistory:
    """Return the votes of vectors in order of birth."""
    record = trained.model.record_
    n_events = len(record.event_starts) - 1
    events = np.unique(np.linspace(0, n_events - 1, min(n_events, MOST_BIRTHS)).round().astype(int))
    at = (record.time[record.event_starts[events]] / record.n_examples).tolist()
    stages = list(trained.model.staged_decision_function(X, at=at, rules=["last", "vote"]))
    last = np.stack([_per_class(scores["last"])[0] for _, scores in stages])
    return VoteHistory(
        births=record.event_starts[events + 1].tolist(),
        votes=["".join("+" if score >= 0 else "-" for score in column) for column in last.T],
        leaders=[int(labels_of(scores["vote"])[0]) for _, scores in stages],
    )


def _reasons(trained: Trained, X: RowsLike, own: int) -> list[Reason]:
    """Return the training images that change the score of a class most."""
    terms = trained.model.explain(X, label=trained.model.classes_[own], top=MOST_REASONS // 2)[0].examples
    if terms is None:
        return []
    whole = terms.amount_for - terms.amount_against or 1.0
    found = []
    for term in sorted(terms.largest, key=lambda term: -abs(term.amount)):
        weight, pixels = float(term.amount / whole), trained.support_pixels(term.slot)
        found.append(Reason(example=term.index, weight=weight, label=term.label, pixels=pixels))
    return found
