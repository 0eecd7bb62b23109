"""The models of the page, given ones and bundled ones, and the moments of their training runs."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from votron._util.frames import dense
from votron._util.types import Array, Estimator, Floats, Index, Labels, Params, RowsLike
from votron.errors import VotronError
from votron.estimators import VotedPerceptronClassifier
from votron.record import labels_of
from votron.rules import RULES, Vectors
from votron.web._game import EXTENT, Field2D, field_of

MOST_MOMENTS = 240
MOST_IMAGES = 36
MOST_TEST_ROWS = 1000
"""Rows to measure the errors of a run on."""
RULE_NAMES = [name for name, rule in RULES.items() if not rule.needs_held_out]

Kind = Literal["plane", "images", "other"]


class RunTitle(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: str
    title: str
    kind: Kind
    ready: bool
    problem: str | None = None


class PlanePoints(BaseModel):
    x: list[list[float]]
    y: list[int]
    extent: float


class RunOverview(RunTitle):
    """A run as a whole: its moments, each a mistake, with the survival of the vector born there; the rules' errors."""

    classes: list[str]
    n_examples: int
    n_steps: int
    n_mistakes: int
    kernel: str
    times: list[int]
    mistakes: list[int]
    survival: list[int]
    measured_on: str | None
    errors: dict[str, list[float]]
    points: PlanePoints | None
    shape: list[int] | None


class Alive(BaseModel):
    """The vector of a class that is alive: when it was born, and how many examples it survives in all."""

    of: str
    born: int
    survival: int


class Mistake(BaseModel):
    """A mistake: of which class's vector, on which example, with which label."""

    of: str
    example: int
    sign: int


class MistakeMade(Mistake):
    score: float


class SupportImage(Mistake):
    """An example as an image: pixels from 0 to 255, in base64."""

    pixels: str


class RunMoment(BaseModel):
    index: int
    time: int
    epoch: float
    made: list[MistakeMade]
    alive: list[Alive]
    errors: dict[str, float]
    point: list[float] | None
    support: list[list[float]]
    images: list[SupportImage]
    field: Field2D | None


class Trained:
    """A trained model, rows to measure it on and points of the plane, if there are any; and its run."""

    def __init__(
        self,
        model: VotedPerceptronClassifier,
        X: RowsLike = None,
        y: Labels = None,
        measured_on: str | None = None,
        shape: tuple[int, int] | None = None,
        points: tuple[Floats, Array] | None = None,
    ) -> None:
        self.model, self.X, self.y, self.measured_on = model, X, y, measured_on
        self.shape, self.points = shape, points
        self.record, self.classes = model.record_, [str(label) for label in model.classes_.tolist()]
        self.vectors = Vectors(model.record_, model.kernel_, model.support_vectors_)
        n_events = len(self.record.event_starts) - 1
        some = np.linspace(0, max(n_events - 1, 0), min(n_events, MOST_MOMENTS))
        self.events = np.unique(some.round().astype(int))
        self.times: Index = self.record.time[self.record.event_starts[self.events]]

    @cached_property
    def errors(self) -> dict[str, list[float]]:
        """The share of wrong labels by each rule at each moment."""
        if self.X is None or not len(self.times):
            return {}
        codes, at = np.searchsorted(self.model.classes_, self.y), (self.times / self.record.n_examples).tolist()
        found: dict[str, list[float]] = {rule: [] for rule in RULE_NAMES}
        for _, scores in self.model.staged_decision_function(self.X, at=at, rules=RULE_NAMES):
            for rule, each in scores.items():
                found[rule].append(float(np.mean(labels_of(each) != codes)))
        return found

    @property
    def extent(self) -> float:
        """Half the side of the plane that is shown."""
        return EXTENT if self.points is None else max(EXTENT, 1.1 * float(np.abs(self.points[0]).max()))

    def overview(self, piece: Piece) -> RunOverview:
        record, points = self.record, None
        starts, ends = record.event_starts[self.events].tolist(), record.event_starts[self.events + 1].tolist()
        if self.points is not None:
            X, y = self.points
            signs = np.where(y == self.model.classes_[1], 1, -1)
            points = PlanePoints(x=X.tolist(), y=signs.tolist(), extent=self.extent)
        return RunOverview(
            **RunTitle.model_validate(piece).model_dump(),
            classes=self.classes,
            n_examples=record.n_examples,
            n_steps=record.n_steps,
            n_mistakes=len(record),
            kernel=repr(self.model.kernel_),
            times=self.times.tolist(),
            mistakes=ends,
            survival=[int(record.survival[a:b].max()) for a, b in zip(starts, ends, strict=True)],
            measured_on=self.measured_on,
            errors=self.errors,
            points=points,
            shape=None if self.shape is None else list(self.shape),
        )

    def moment(self, index: int, rule: str) -> RunMoment:
        record, time, event = self.record, int(self.times[index]), int(self.events[index])
        start, end = record.event_starts[event : event + 2].tolist()
        rows = None if self.points is None else np.asarray(self.vectors.support_rows)
        return RunMoment(
            index=index,
            time=time,
            epoch=time / record.n_examples,
            made=[MistakeMade(score=float(record.score[j]), **self._mistake(j)) for j in range(start, end)],
            alive=self._alive(time),
            errors={name: each[index] for name, each in self.errors.items()},
            point=None if rows is None else rows[record.slot[start]].tolist(),
            support=[] if rows is None else rows[: int(record.slot[:end].max()) + 1].tolist(),
            images=[] if self.shape is None else self._images(end),
            field=None if rows is None else field_of(self.vectors, rule, None, self.extent, time),
        )

    def _mistake(self, j: int) -> Params:
        return {"of": self._name(j), "example": int(self.record.example[j]), "sign": int(self.record.sign[j])}

    def _name(self, j: int) -> str:
        """Return whose vector it was; the only vector of two classes is that of the second."""
        return self.classes[int(self.record.vector[j])] if self.record.n_vectors > 1 else self.classes[-1]

    def _alive(self, time: int) -> list[Alive]:
        record, found = self.record, []
        for mine in record.of_each_vector.values():
            n = int(np.searchsorted(record.time[mine], time, side="right"))
            if n:
                j = int(mine[n - 1])
                found.append(Alive(of=self._name(j), born=int(record.time[j]), survival=int(record.survival[j])))
        return found

    def _images(self, end: int) -> list[SupportImage]:
        """Return the examples of the last mistakes up to ``end``, the newest first."""
        slots, at = np.unique(self.record.slot[:end][::-1], return_index=True)
        newest = np.argsort(at)[:MOST_IMAGES]
        return [
            SupportImage(pixels=self.support_pixels(slot), **self._mistake(j))
            for slot, j in zip(slots[newest].tolist(), (end - 1 - at[newest]).tolist(), strict=True)
        ]

    def support_pixels(self, slot: int) -> str:
        """Return a support vector as grey values, in base64."""
        rows = self.model.support_vectors_
        return encoded(dense(rows[[slot]]), float(rows.max()))


def encoded(row: Array, top: float) -> str:
    """Return grey values as bytes, ``top`` as 255, in base64."""
    scaled = np.clip(255.0 * np.asarray(row, dtype=np.float64) / (top or 1.0), 0, 255)
    return base64.b64encode(scaled.round().astype(np.uint8).tobytes()).decode("ascii")


@dataclass(eq=False)
class Piece:
    """A model of the page: how to train it, and the result or the problem."""

    id: str
    title: str
    kind: Kind
    make: Callable[[], Trained]
    trained: Trained | None = None
    problem: str | None = None

    @property
    def ready(self) -> bool:
        return self.trained is not None

    def work(self) -> None:
        """Train it; keep the message of an error."""
        try:
            self.trained = self.make()
        except Exception as error:  # without its thread the page would wait for ever
            self.problem = str(error)


def for_drawings(pieces: Iterable[Piece]) -> Piece | None:
    """Return the model for drawings: the last one that takes images, of ready ones if there are any."""
    fit = [piece for piece in pieces if piece.kind == "images" and piece.problem is None]
    return max(fit[::-1], key=lambda piece: piece.ready, default=None)


def pieces(
    model: Estimator = None, title: str = "your model", X: RowsLike = None, y: Labels = None, *, raw: bool = True
) -> list[Piece]:
    """Return the models of the page: bundled ones, which are trained when `votron.web.play` starts, and yours.

    Parameters
    ----------
    model : VotedPerceptronClassifier, optional
        Your model, with its title.
    X, y : rows as the model takes them, and labels, optional
        Data to measure its errors on.
    raw : bool, default=True
        Whether the rows may be pixels, and are not the output of an encoder.

    Examples
    --------
    >>> from votron.web import pieces
    >>> [piece.id for piece in pieces()][:3]
    ['moons', 'clouds', 'digits']
    """
    shown = [
        Piece("moons", "Two moons, Gaussian kernel", "plane", _moons),
        Piece("clouds", "Two clouds that overlap, a line", "plane", _clouds),
        Piece("digits", "scikit-learn's digits, (1 + x·z)⁴", "images", partial(_images, "digits", 10)),
    ]
    if os.environ.get("VOTRON_DATA"):
        shown.append(Piece("mnist", "MNIST, (1 + x·z)⁴", "images", partial(_images, "mnist", 2)))
    return shown if model is None else [*shown, _given(model, title, X, y, raw=raw)]


def _moons() -> Trained:
    from sklearn.datasets import make_moons

    X, y = make_moons(600, noise=0.2, random_state=0)
    X = (X - X.mean(axis=0)) * 0.75
    model = VotedPerceptronClassifier("rbf", gamma=4.0, coef0=0.0, margin=0.0, epochs=10, random_state=0)
    return _in_the_plane(model, X, y)


def _clouds() -> Trained:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = 0.42 * rng.standard_normal((600, 2)) + np.where(y[:, None] == 1, 0.4, -0.4) * np.array([1.0, 0.6])
    model = VotedPerceptronClassifier("poly", degree=1, gamma=1.0, coef0=1.0, margin=0.0, epochs=5, random_state=0)
    return _in_the_plane(model, np.clip(X, -1.55, 1.55), y)


def _in_the_plane(model: Estimator, X: Floats, y: Array) -> Trained:
    n = 200
    return Trained(model.fit(X[:n], y[:n]), X[n:], y[n:], f"{len(X) - n} other points", points=(X[:n], y[:n]))


def _images(name: str, epochs: int) -> Trained:
    from votron.data import load_image_set

    found = load_image_set(name, fetch=False)
    model = VotedPerceptronClassifier("poly", degree=4, gamma=1.0, coef0=1.0, margin=0.0, epochs=epochs, random_state=0)
    n = min(len(found.X_test), MOST_TEST_ROWS)
    return Trained(model.fit(found.X, found.y), found.X_test[:n], found.y_test[:n], f"{n} test digits", found.shape)


def _given(model: Estimator, title: str, X: RowsLike, y: Labels, *, raw: bool = True) -> Piece:
    if not isinstance(model, VotedPerceptronClassifier) or model.support_vectors_.shape[1] == 0:
        raise VotronError(
            "votron play shows models of VotedPerceptronClassifier, without a precomputed kernel. "
            f"Got a {type(model).__name__} instead."
        )
    n_features = int(model.n_features_in_)
    side = round(n_features**0.5)
    shape = (side, side) if raw and side * side == n_features and side >= 8 else None
    kind: Kind = "plane" if n_features == 2 and len(model.classes_) == 2 else "other" if shape is None else "images"

    def make() -> Trained:
        points = None
        if kind == "plane":
            signs = np.zeros(len(model.support_))
            signs[model.record_.slot] = model.record_.sign
            points = dense(model.support_vectors_).astype(np.float64), model.classes_[(signs > 0).astype(int)]
        if X is None:
            return Trained(model, shape=shape, points=points)
        measured_on = f"{min(X.shape[0], MOST_TEST_ROWS)} rows"
        return Trained(model, X[:MOST_TEST_ROWS], y[:MOST_TEST_ROWS], measured_on, shape, points)

    return Piece("model", title, kind, make)
