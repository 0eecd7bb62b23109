"""Sheets of images: those that a model keeps, and those that it gets wrong."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np

from votron._util.frames import dense, is_frame
from votron._util.pipelines import classifier_of
from votron._util.plotting import AGAINST, AXIS, FOR, IMAGE_SHAPES, MUTED, title
from votron._util.text import shortened
from votron._util.types import Array, Axes, Estimator, Label, Labels, RowsLike
from votron.errors import VotronError
from votron.plots._base import Display, check_offers
from votron.plots.predictions import row_margins

__all__ = ["SupportImagesDisplay", "WrongImagesDisplay"]

_COLUMNS, _FEWEST_COLUMNS = 10, 5
_LONGEST = 11


class ImagesDisplay(Display):
    """A sheet of images on one pair of axes, each with two words beneath it, in colours of their own."""

    heading, note = "", ""

    def __init__(self, images: Array, columns: int | None = None):
        self.images = np.asarray(images)
        self.columns = min(_COLUMNS, max(_FEWEST_COLUMNS, len(self.images))) if columns is None else columns

    @abstractmethod
    def _words(self, i: int) -> list[tuple[str, str]]:
        """Return what stands beneath an image, at the left and at the right, with its colour."""

    def _size(self) -> tuple[float, float]:
        return 0.86 * self.columns + 0.4, 1.12 * self._n_lines + 0.9

    @property
    def _n_lines(self) -> int:
        return max(1, math.ceil(len(self.images) / self.columns))

    def _draw(self, ax: Axes) -> None:
        for i, image in enumerate(self.images):
            line, column = divmod(i, self.columns)
            x, y = 1.16 * column, 1.5 * line
            grey = {"cmap": "gray_r", "vmin": min(0.0, float(image.min())), "vmax": max(1e-300, float(image.max()))}
            shown = image if image.ndim == 2 else image / max(1.0, float(image.max()))
            ax.imshow(shown, extent=(x, x + 1, y + 1, y), interpolation="nearest", **(grey if image.ndim == 2 else {}))
            ax.plot([x, x + 1, x + 1, x, x], [y, y, y + 1, y + 1, y], color=AXIS, linewidth=0.6)
            for at, ha, (text, colour) in zip((x, x + 1), ("left", "right"), self._words(i), strict=True):
                ax.text(at, y + 1.06, text, color=colour, fontsize=8.5, fontweight="bold", ha=ha, va="top")
        ax.set_xlim(-0.02, 1.16 * self.columns - 0.12)
        ax.set_ylim(1.5 * self._n_lines - 0.05, -0.02)
        ax.set_aspect("equal")
        ax.set_axis_off()
        title(ax, self.heading, self.note)


def images_of(rows: RowsLike, image_shape: tuple[int, ...] | None) -> Array:
    """Return rows as images of this shape, or of one that so many features are known to have."""
    n = rows.shape[1]
    shape = IMAGE_SHAPES.get(n) if image_shape is None else tuple(image_shape)
    if shape is None or math.prod(shape) != n:
        raise VotronError(
            f"Rows must be images, and 'image_shape' have as many pixels as rows have features, {n}, such as (28, 28). "
            f"Got {image_shape} instead."
        )
    return dense(rows).astype(np.float64).reshape(-1, *shape)


class SupportImagesDisplay(ImagesDisplay):
    """Support images: the training examples with the most mistakes, with their labels and how many there were.

    Parameters
    ----------
    images : array of shape (n, height, width)
        The images; with a fourth axis, in colour.
    labels : sequence
        The label of each.
    mistakes : sequence of int
        How many were made on it.
    columns : int, optional
        Images in a line; by default 10 at most.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from votron import VotedPerceptronClassifier
    >>> from votron.plots import SupportImagesDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> model = VotedPerceptronClassifier(random_state=0).fit(X[:600], y[:600])
    >>> shown = SupportImagesDisplay.from_estimator(model, n=20)
    >>> shown.images.shape, shown.mistakes[0] >= shown.mistakes[-1]
    ((20, 8, 8), True)
    """

    heading, note = "Support images", "their labels, and how many mistakes of all vectors were made on them"

    def __init__(self, images: Array, labels: Sequence[Label], mistakes: Sequence[int], columns: int | None = None):
        super().__init__(images, columns)
        self.labels, self.mistakes = list(labels), list(mistakes)

    @classmethod
    def from_estimator(
        cls, estimator: Estimator, *, n: int = 40, image_shape: tuple[int, ...] | None = None, ax: Axes = None
    ) -> Self:
        """Draw the ``n`` support images of a fitted `votron.VotedPerceptronClassifier` with the most mistakes."""
        from votron.explanations.models import support_labels

        model = classifier_of(estimator)
        check_offers(model, "record_", cls.__name__, "models that keep their record")
        counts = np.bincount(model.record_.example)[model.support_]
        first = np.argsort(-counts, kind="stable")[:n]
        labels = support_labels(model.dual_coef_[:, first], model.classes_)
        return cls(images_of(model.support_vectors_[first], image_shape), labels, counts[first].tolist()).plot(ax)

    def _words(self, i: int) -> list[tuple[str, str]]:
        return [(shortened(str(self.labels[i]), _LONGEST), FOR), (f"{self.mistakes[i]:,}", MUTED)]


class WrongImagesDisplay(ImagesDisplay):
    """Wrong images, each with its true label (blue, left) and the one that it was given (orange, right).

    Parameters
    ----------
    images : array of shape (n, height, width)
        The images; with a fourth axis, in colour.
    true, given : sequences
        True labels, and those that were given.
    n_wrong : int, optional
        How many there are in all, where not all are shown.
    columns : int, optional
        Images in a line; by default 10 at most.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from votron.plots import WrongImagesDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> shown = WrongImagesDisplay.from_predictions(y[:3], [0, 7, 2], X[:3])
    >>> shown.true, shown.given
    ([1], [7])
    """

    heading = "Wrong images"

    def __init__(
        self,
        images: Array,
        true: Sequence[Label],
        given: Sequence[Label],
        n_wrong: int | None = None,
        columns: int | None = None,
    ):
        super().__init__(images, columns)
        self.true, self.given = list(true), list(given)
        self.n_wrong = len(self.images) if n_wrong is None else n_wrong
        shown = "" if self.n_wrong == len(self.images) else f"{len(self.images)} of {self.n_wrong:,}; "
        self.note = f"{shown}left the true label, right the one given"

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: RowsLike,
        y: Labels,
        *,
        n: int = 40,
        image_shape: tuple[int, ...] | None = None,
        ax: Axes = None,
    ) -> Self:
        """Draw the images that a fitted classifier gets wrong, the most wrong first where it has scores."""
        labels = np.asarray(y)
        given = np.asarray(estimator.predict(X))
        order = np.argsort(row_margins(estimator, X, labels), kind="stable")
        pixels = np.asarray(X) if is_frame(X) else X
        return cls.from_predictions(labels[order], given[order], pixels[order], n=n, image_shape=image_shape, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: Labels,
        y_pred: Labels,
        X: RowsLike,
        *,
        n: int = 40,
        image_shape: tuple[int, ...] | None = None,
        ax: Axes = None,
    ) -> Self:
        """Draw the first ``n`` images whose predicted label is wrong."""
        true, given = np.asarray(y_true), np.asarray(y_pred)
        wrong = np.flatnonzero(true != given)
        shown = wrong[:n]
        images = images_of((np.asarray(X) if is_frame(X) else X)[shown], image_shape)
        return cls(images, true[shown].tolist(), given[shown].tolist(), len(wrong)).plot(ax)

    def _words(self, i: int) -> list[tuple[str, str]]:
        return [
            (shortened(str(self.true[i]), _LONGEST), FOR),
            (shortened(str(self.given[i]), _LONGEST), AGAINST),
        ]
