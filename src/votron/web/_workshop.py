"""The models of the page: trained on bundled data when the server starts, with progress, or from a file.

They are made one after another by one thread in the background, so that the page is there at once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from votron._util.frames import dense
from votron._util.types import Array, Estimator, Floats, Labels, RowsLike
from votron.errors import VotronError
from votron.estimators import VotedPerceptronClassifier
from votron.rules import Vectors

if TYPE_CHECKING:
    from sklearn.callback import CallbackContext

__all__ = ["Piece", "Trained", "Workshop", "bundled_pieces", "given_piece"]

Kind = Literal["plane", "images", "other"]
MOST_TEST_ROWS = 1000
"""Rows on which the errors of a run are measured at every moment."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model, with rows to measure it on, as its classifier takes them, if there are any."""

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
    """A model that is made, or will be: how, and how far it is."""

    id: str
    title: str
    kind: Kind
    make: Callable[[Callable[[float], None]], Trained]
    progress: float = 0.0
    trained: Trained | None = None
    problem: str | None = None

    @property
    def ready(self) -> bool:
        return self.trained is not None

    def work(self) -> None:
        """Make it; what goes wrong is kept as a sentence."""

        def tell(share: float) -> None:
            self.progress = share

        try:
            self.trained = self.make(tell)
        except VotronError as error:
            self.problem = str(error)
        finally:
            self.progress = 1.0


class Workshop:
    """The pieces, and the thread that makes them."""

    def __init__(self, pieces: list[Piece]) -> None:
        self.pieces = {piece.id: piece for piece in pieces}

    def start(self) -> None:
        """Begin; the thread ends with the process."""
        threading.Thread(target=self._work, daemon=True, name="votron-workshop").start()

    def _work(self) -> None:
        for piece in self.pieces.values():
            piece.work()

    @property
    def digit(self) -> Piece | None:
        """The model that answers for drawings: the last that takes images, and is ready or may become so."""
        fit = [piece for piece in self.pieces.values() if piece.kind == "images" and piece.problem is None]
        ready = [piece for piece in fit if piece.trained is not None]
        return ready[-1] if ready else fit[-1] if fit else None


class _EpochsHeard:
    """A callback of scikit-learn's that tells how many epochs are done."""

    def __init__(self, tell: Callable[[float], None], epochs: int) -> None:
        self._tell, self._epochs, self._done = tell, epochs, 0

    def setup(self, estimator: Estimator, context: CallbackContext) -> None: ...

    def on_fit_task_begin(self, estimator: Estimator, context: CallbackContext) -> None: ...

    def on_fit_task_end(self, estimator: Estimator, context: CallbackContext) -> None:
        self._done += context.task_name == "epoch"
        self._tell(min(1.0, self._done / self._epochs))

    def teardown(self, estimator: Estimator, context: CallbackContext) -> None: ...


def _fit(
    model: VotedPerceptronClassifier, X: RowsLike, y: Labels, tell: Callable[[float], None]
) -> VotedPerceptronClassifier:
    try:
        import sklearn.callback  # noqa: F401  # from scikit-learn 1.9 on; before, progress is 0 and then 1
    except ImportError:
        return model.fit(X, y)
    heard = _EpochsHeard(tell, int(model.epochs or 1))
    fitted: VotedPerceptronClassifier = model.set_callbacks(heard).fit(X, y)
    fitted.set_callbacks()
    return fitted


# -- what there is ----------------------------------------------------------------------------------------------------


def bundled_pieces() -> list[Piece]:
    """Return the runs that need no file: two in the plane, digits, and MNIST where VOTRON_DATA is set."""
    pieces = [
        Piece("moons", "Two moons, Gaussian kernel", "plane", _moons),
        Piece("clouds", "Two clouds that overlap, a line", "plane", _clouds),
        Piece("digits", "scikit-learn's digits, (1 + x·z)⁴", "images", partial(_images, "digits", 10)),
    ]
    if os.environ.get("VOTRON_DATA"):
        pieces.append(Piece("mnist", "MNIST, (1 + x·z)⁴", "images", partial(_images, "mnist", 2)))
    return pieces


def _moons(tell: Callable[[float], None]) -> Trained:
    from sklearn.datasets import make_moons

    X, y = make_moons(600, noise=0.2, random_state=0)
    X = (X - X.mean(axis=0)) * 0.75
    model = VotedPerceptronClassifier("rbf", gamma=4.0, coef0=0.0, margin=0.0, epochs=10, random_state=0)
    return _in_the_plane(model, X, y, tell)


def _clouds(tell: Callable[[float], None]) -> Trained:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = 0.42 * rng.standard_normal((600, 2)) + np.where(y[:, None] == 1, 0.4, -0.4) * np.array([1.0, 0.6])
    model = VotedPerceptronClassifier("poly", degree=1, gamma=1.0, coef0=1.0, margin=0.0, epochs=5, random_state=0)
    return _in_the_plane(model, np.clip(X, -1.55, 1.55), y, tell)


def _in_the_plane(model: Estimator, X: Floats, y: Array, tell: Callable[[float], None]) -> Trained:
    n = 200
    fitted = _fit(model, X[:n], y[:n], tell)
    return Trained(fitted, X[n:], y[n:], f"{len(X) - n} other points", points=(X[:n], y[:n]))


def _images(name: str, epochs: int, tell: Callable[[float], None]) -> Trained:
    from votron.data import load_image_set

    found = load_image_set(name, fetch=False)
    model = VotedPerceptronClassifier("poly", degree=4, gamma=1.0, coef0=1.0, margin=0.0, epochs=epochs, random_state=0)
    fitted = _fit(model, found.X, found.y, tell)
    n = min(len(found.X_test), MOST_TEST_ROWS)
    return Trained(fitted, found.X_test[:n], found.y_test[:n], f"{n} test digits", found.shape)


def given_piece(model: Estimator, title: str, X: RowsLike = None, y: Labels = None, *, raw: bool = True) -> Piece:
    """Return a model of the user's as a piece, with rows to measure it on, if there are any."""
    if not isinstance(model, VotedPerceptronClassifier) or model.support_vectors_.shape[1] == 0:
        raise VotronError(
            "votron play shows models of VotedPerceptronClassifier, whose files have the record of their training, "
            f"and not with a precomputed kernel. Got a {type(model).__name__} instead."
        )
    n_features = int(model.n_features_in_)
    side = round(n_features**0.5)
    shape = (side, side) if raw and side * side == n_features and side >= 8 else None
    kind: Kind = "plane" if n_features == 2 and len(model.classes_) == 2 else "other" if shape is None else "images"
    measured_on = None if X is None else f"{min(X.shape[0], MOST_TEST_ROWS)} rows"

    def make(tell: Callable[[float], None]) -> Trained:
        rows = None if X is None else X[:MOST_TEST_ROWS]
        labels = None if y is None else y[:MOST_TEST_ROWS]
        points = None
        if kind == "plane":
            signs = np.zeros(len(model.support_))
            signs[model.record_.slot] = model.record_.sign
            points = dense(model.support_vectors_).astype(np.float64), model.classes_[(signs > 0).astype(int)]
        return Trained(model, rows, labels, measured_on, shape, points)

    return Piece("model", title, kind, make)
