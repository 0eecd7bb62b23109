"""The models of the page: given ones, and bundled ones that a background thread trains when the server starts."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from votron._util.frames import dense
from votron._util.types import Array, Estimator, Floats, Labels, RowsLike
from votron.errors import VotronError
from votron.estimators import VotedPerceptronClassifier
from votron.rules import Vectors

__all__ = ["Piece", "Trained", "Workshop", "bundled_pieces", "given_piece"]

Kind = Literal["plane", "images", "other"]
MOST_TEST_ROWS = 1000
"""Rows to measure the errors of a run on."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model, and rows to measure it on, if there are any."""

    model: VotedPerceptronClassifier
    X: RowsLike = None
    y: Labels = None
    measured_on: str | None = None
    shape: tuple[int, int] | None = None
    points: tuple[Floats, Array] | None = None

    @property
    def vectors(self) -> Vectors:
        return Vectors(self.model.record_, self.model.kernel_, self.model.support_vectors_)


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
        except VotronError as error:
            self.problem = str(error)


class Workshop:
    """The pieces, and the thread that makes them."""

    def __init__(self, pieces: list[Piece]) -> None:
        self.pieces = {piece.id: piece for piece in pieces}

    def start(self) -> None:
        threading.Thread(target=self._work, daemon=True, name="votron-workshop").start()

    def _work(self) -> None:
        for piece in self.pieces.values():
            piece.work()

    @property
    def digit(self) -> Piece | None:
        """The model for drawings: the last one that takes images, of ready ones if there are any."""
        fit = [piece for piece in self.pieces.values() if piece.kind == "images" and piece.problem is None]
        ready = [piece for piece in fit if piece.trained is not None]
        return ready[-1] if ready else fit[-1] if fit else None


# -- what there is ----------------------------------------------------------------------------------------------------


def bundled_pieces() -> list[Piece]:
    pieces = [
        Piece("moons", "Two moons, Gaussian kernel", "plane", _moons),
        Piece("clouds", "Two clouds that overlap, a line", "plane", _clouds),
        Piece("digits", "scikit-learn's digits, (1 + x·z)⁴", "images", partial(_images, "digits", 10)),
    ]
    if os.environ.get("VOTRON_DATA"):
        pieces.append(Piece("mnist", "MNIST, (1 + x·z)⁴", "images", partial(_images, "mnist", 2)))
    return pieces


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


def given_piece(model: Estimator, title: str, X: RowsLike = None, y: Labels = None, *, raw: bool = True) -> Piece:
    if not isinstance(model, VotedPerceptronClassifier) or model.support_vectors_.shape[1] == 0:
        raise VotronError(
            "votron play shows models of VotedPerceptronClassifier, without a precomputed kernel. "
            f"Got a {type(model).__name__} instead."
        )
    n_features = int(model.n_features_in_)
    side = round(n_features**0.5)
    shape = (side, side) if raw and side * side == n_features and side >= 8 else None
    kind: Kind = "plane" if n_features == 2 and len(model.classes_) == 2 else "other" if shape is None else "images"
    measured_on = None if X is None else f"{min(X.shape[0], MOST_TEST_ROWS)} rows"

    def make() -> Trained:
        rows = None if X is None else X[:MOST_TEST_ROWS]
        labels = None if y is None else y[:MOST_TEST_ROWS]
        points = None
        if kind == "plane":
            signs = np.zeros(len(model.support_))
            signs[model.record_.slot] = model.record_.sign
            points = dense(model.support_vectors_).astype(np.float64), model.classes_[(signs > 0).astype(int)]
        return Trained(model, rows, labels, measured_on, shape, points)

    return Piece("model", title, kind, make)
