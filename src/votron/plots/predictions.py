"""Displays of predictions beside the true labels, and of the images among the rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from votron._util.frames import dense
from votron._util.pipelines import classifier_of
from votron._util.plotting import AGAINST, AXIS, EMPTY, FOR, IMAGE_SHAPES, INK, MUTED, Display, plain, title
from votron._util.text import shortened
from votron._util.types import Array, Axes, Estimator, Floats, Label, Labels, RowsLike
from votron.errors import VotronError

_MOST_NUMBERS = 20
"""Classes up to which the counts of confusions are written into their cells, and all labels beside them."""
_LONGEST, _LONGEST_BELOW_IMAGE = 18, 11
_WIDEST = 40
"""Characters that labels below one another's columns may take together, before they are turned."""
_COLUMNS, _FEWEST_COLUMNS = 10, 5

Shape: TypeAlias = tuple[int, ...] | None
"""Height and width of images, and the number of colours if there are several; None: one that is known."""


class ConfusionsDisplay(Display):
    """Confusions: how many rows of each label are given which; the right ones are blue, the wrong ones orange.

    Parameters
    ----------
    counts, labels : array of shape (n_labels, n_labels), and sequence
        A row for each true label, and a column for each that was given.

    Examples
    --------
    >>> from votron.plots import ConfusionsDisplay
    >>> shown = ConfusionsDisplay.from_predictions(["a", "b", "b"], ["a", "b", "a"])
    >>> shown.counts.tolist(), shown.labels
    ([[1, 0], [1, 1]], ['a', 'b'])
    """

    def __init__(self, counts: Array, labels: Labels):
        self.counts, self.labels = np.asarray(counts), list(labels)
        side = min(9.0, 2.6 + 0.42 * len(self.labels))
        self.size = side + 0.9, side + 0.4

    @classmethod
    def from_estimator(cls, estimator: Estimator, X: RowsLike, y: Labels, *, ax: Axes = None) -> Self:
        """Draw the confusions of a fitted classifier, any of scikit-learn's, on labelled rows."""
        return cls.from_predictions(y, estimator.predict(X), ax=ax)

    @classmethod
    def from_predictions(cls, y_true: Labels, y_pred: Labels, *, labels: Labels = None, ax: Axes = None) -> Self:
        """Draw the confusions of predicted labels with the true ones; ``labels`` sets their order."""
        from sklearn.metrics import confusion_matrix
        from sklearn.utils.multiclass import unique_labels

        known = unique_labels(y_true, y_pred) if labels is None else np.asarray(labels)
        return cls(confusion_matrix(y_true, y_pred, labels=known), known.tolist()).plot(ax)

    def _draw(self, ax: Axes) -> None:
        from matplotlib.colors import to_rgb

        n, names = len(self.labels), [shortened(str(label), _LONGEST) for label in self.labels]
        upright = max(map(len, names)) * n <= _WIDEST
        shares, right = self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1), np.eye(n, dtype=bool)
        colours = np.where(right[..., None], to_rgb(FOR), to_rgb(AGAINST))
        strength = np.where(right, 0.8 * shares, 0.18 + 0.8 * np.sqrt(shares))
        cells = 1 - strength[..., None] * (1 - colours)
        cells[self.counts == 0] = to_rgb(EMPTY)
        ax.imshow(cells, interpolation="nearest")
        plain(ax)
        ax.grid(False)
        ax.set_anchor("NW")
        ax.spines[:].set_visible(False)
        ax.set(xlabel="predicted", ylabel="true")
        some = range(0, n, -(-n // _MOST_NUMBERS))
        ax.set_yticks(some, [names[i] for i in some])
        ax.set_xticks(some, [names[i] for i in some])
        if not upright:
            ax.tick_params(axis="x", pad=2, labelrotation=40)
            for label in ax.get_xticklabels():
                label.set_ha("right")
        if n <= _MOST_NUMBERS:
            ax.hlines(np.arange(n - 1) + 0.5, -0.5, n - 0.5, color="white", linewidth=2)
            ax.vlines(np.arange(n - 1) + 0.5, -0.5, n - 0.5, color="white", linewidth=2)
            dark = cells @ (0.2126, 0.7152, 0.0722) < 0.6
            for row, column in np.argwhere(self.counts):
                ink, count = "white" if dark[row, column] else INK, f"{self.counts[row, column]:,}"
                ax.text(column, row, count, color=ink, fontsize=9.5 if n <= 12 else 7.5, ha="center", va="center")
        wrong, rows = int(self.counts.sum() - np.trace(self.counts)), int(self.counts.sum())
        title(ax, "Confusions", f"{wrong:,} of {rows:,} rows wrong; colours by shares of each row")


def reliability_points(sure: Floats, right: Array, bins: int = 10) -> tuple[Floats, Floats]:
    """Return mean probability, and the share that is right, in bins with equally many rows, by probability."""
    parts = np.array_split(np.argsort(sure, kind="stable"), min(bins, len(sure)))
    return np.array([sure[part].mean() for part in parts]), np.array([right[part].mean() for part in parts])


class ReliabilityDisplay(Display):
    """Reliability: of rows with about this probability of their label, how many are right; on the line, all is well.

    Parameters
    ----------
    probability, share : arrays of shape (n_bins,)
        The mean probability of the predicted label in each bin, and the share of its rows that is right.
    n_rows : int, optional
        How many rows there are in all.

    Examples
    --------
    >>> from votron.plots import ReliabilityDisplay
    >>> p = [[0.9, 0.1], [0.4, 0.6], [0.0, 1.0], [0.5, 0.5]]
    >>> shown = ReliabilityDisplay.from_predictions(["a", "b", "b", "b"], p, classes=["a", "b"], n_bins=2)
    >>> shown.probability.tolist(), shown.share.tolist()
    ([0.55, 0.95], [0.5, 1.0])
    """

    size = 5.6, 5.2

    def __init__(self, probability: Floats, share: Floats, n_rows: int | None = None):
        self.probability, self.share, self.n_rows = np.asarray(probability), np.asarray(share), n_rows

    @classmethod
    def from_estimator(cls, estimator: Estimator, X: RowsLike, y: Labels, *, n_bins: int = 10, ax: Axes = None) -> Self:
        """Draw the reliability of a fitted classifier with ``predict_proba``, any of scikit-learn's."""
        p = estimator.predict_proba(X)
        return cls.from_predictions(y, p, classes=estimator.classes_, n_bins=n_bins, ax=ax)

    @classmethod
    def from_predictions(
        cls, y_true: Labels, y_proba: ArrayLike, *, classes: Labels = None, n_bins: int = 10, ax: Axes = None
    ) -> Self:
        """Draw the reliability of probabilities, a column for each of ``classes`` (default: those that are true)."""
        p, known = np.asarray(y_proba, dtype=np.float64), np.unique(y_true) if classes is None else np.asarray(classes)
        right = known[p.argmax(axis=1)] == np.asarray(y_true)
        return cls(*reliability_points(p.max(axis=1), right, n_bins), len(p)).plot(ax)

    def _draw(self, ax: Axes) -> None:
        low = max(0.0, min(float(self.probability.min()), float(self.share.min())) - 0.03)
        ax.plot([0, 1], [0, 1], color=AXIS, linewidth=1, linestyle=(0, (4, 3)))
        ax.plot(self.probability, self.share, "o-", color=FOR, linewidth=1.8, markersize=5.5, clip_on=False, zorder=3)
        ax.set(xlim=(low, 1.005), ylim=(low, 1.005), xlabel="probability of the predicted class")
        ax.set_ylabel("share that is right")
        ax.locator_params(nbins=6)
        plain(ax)
        of = "rows" if self.n_rows is None else f"{self.n_rows:,} rows"
        title(ax, "Reliability", f"{of} in {len(self.share)} equal parts, by probability")


class RankingDisplay(Display):
    """The ROC or the precision-recall curve of two classes, from what rows are and their scores for the second."""

    def __init__(self, kind: Literal["roc", "precision-recall"], known: Array, scores: Floats, label: Label):
        self.kind, self.known, self.scores, self.label = kind, known, scores, label

    def _draw(self, ax: Axes) -> None:
        from sklearn.metrics import PrecisionRecallDisplay, RocCurveDisplay

        share = float(np.mean(self.known))
        if self.kind == "roc":
            area = f"area {RocCurveDisplay.from_predictions(self.known, self.scores, ax=ax).roc_auc:.4f}"
            name, chance, labels = "ROC curve", [0.0, 1.0], ("false positive rate", "true positive rate")
        else:
            curve = PrecisionRecallDisplay.from_predictions(self.known, self.scores, ax=ax, drop_intermediate=True)
            area = f"average precision {curve.average_precision:.4f}"
            name, chance, labels = "Precision and recall", [share, share], ("recall", "precision")
        ax.get_legend().remove()
        ax.lines[0].set(color=FOR, linewidth=1.8, zorder=3)
        ax.plot([0, 1], chance, color=AXIS, linewidth=1, linestyle=(0, (4, 3)))
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="auto", xlabel=labels[0], ylabel=labels[1])
        plain(ax)
        of = f"{np.count_nonzero(self.known):,} of {len(self.known):,} rows are {shortened(str(self.label), _LONGEST)}"
        title(ax, name, f"{of}; {area}")


class MarginsDisplay(Display):
    """Margins: by how much rows are right, or wrong; the score of the true label minus the best other one.

    Parameters
    ----------
    margins : array of shape (n_samples,)
        The margins; of two classes the score, signed by the true label.

    Examples
    --------
    >>> from votron.plots import MarginsDisplay
    >>> shown = MarginsDisplay.from_predictions(["a", "b", "b"], [-2.0, 1.0, -0.5])
    >>> shown.margins.tolist()
    [2.0, 1.0, -0.5]
    """

    def __init__(self, margins: Floats):
        self.margins = np.asarray(margins, dtype=np.float64)

    @classmethod
    def from_estimator(cls, estimator: Estimator, X: RowsLike, y: Labels, *, ax: Axes = None) -> Self:
        """Draw the margins of a fitted classifier with ``decision_function`` on labelled rows."""
        return cls.from_predictions(y, estimator.decision_function(X), classes=estimator.classes_, ax=ax)

    @classmethod
    def from_predictions(cls, y_true: Labels, y_score: ArrayLike, *, classes: Labels = None, ax: Axes = None) -> Self:
        """Draw the margins of scores as ``decision_function`` returns them, of ``classes`` (default: as in y_true)."""
        known = np.unique(y_true) if classes is None else np.asarray(classes)
        return cls(_margins(np.asarray(y_true), np.asarray(y_score, dtype=np.float64), known)).plot(ax)

    def _draw(self, ax: Axes) -> None:
        edges = np.histogram_bin_edges(self.margins, bins=40)
        step = edges[1] - edges[0]
        edges = step * np.arange(np.floor(edges[0] / step), np.ceil(edges[-1] / step) + 1)  # 0 is an edge
        for side, colour in ((self.margins > 0, FOR), (self.margins <= 0, AGAINST)):
            ax.hist(self.margins[side], bins=edges, color=colour, rwidth=0.88)
        ax.axvline(0, color=AXIS, linewidth=1)
        ax.set(xlabel="margin: score of the true label minus the best other", ylabel="rows")
        ax.yaxis.set_major_formatter("{x:,.0f}")
        plain(ax)
        ax.grid(False, axis="x")
        wrong = int((self.margins <= 0).sum())
        title(ax, "Margins", f"{len(self.margins):,} rows; {wrong:,} of them at 0 or below")


def row_margins(estimator: Estimator, X: RowsLike, y: Array) -> Floats:
    """Return by how much the true labels of rows lead; 0 of a classifier without scores."""
    if not hasattr(estimator, "decision_function"):
        return np.zeros(len(y))
    scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
    return _margins(y, scores, np.asarray(estimator.classes_))


def _margins(y: Array, scores: Floats, classes: Array) -> Floats:
    """Return by how much the true label leads; one that there is no score for is behind by the best score."""
    if scores.ndim == 1 or scores.shape[1] == 1:
        scores = np.stack([-scores.reshape(-1), scores.reshape(-1)], axis=1) / 2
    own = y[:, None] == classes[None, :]
    true = np.where(own, scores, -np.inf).max(axis=1)
    other = np.where(own, -np.inf, scores).max(axis=1)
    return np.asarray(np.where(np.isfinite(true), true, 0.0) - other)


class _ImagesDisplay(Display):
    """A sheet of images on one pair of axes, each with two words beneath it, in colours of their own."""

    heading, note = "", ""
    colours = FOR, MUTED
    """Of the word at the left, and of that at the right."""

    def __init__(self, images: Array, left: Labels, right: Labels, columns: int | None = None):
        self.images = np.asarray(images)
        self.columns = min(_COLUMNS, max(_FEWEST_COLUMNS, len(self.images))) if columns is None else columns
        self._words = list(zip(map(str, left), map(str, right), strict=True))
        self._n_lines = max(1, math.ceil(len(self.images) / self.columns))
        self.size = 0.86 * self.columns + 0.4, 1.12 * self._n_lines + 0.9

    def _draw(self, ax: Axes) -> None:
        for i, (image, words) in enumerate(zip(self.images, self._words, strict=True)):
            x, y = 1.16 * (i % self.columns), 1.5 * (i // self.columns)
            most, least = float(image.max()), min(0.0, float(image.min()))
            shown = image if image.ndim == 2 else image / max(1.0, most)
            grey = {"cmap": "gray_r", "vmin": least, "vmax": max(1e-300, most)}  # not used for colours
            ax.imshow(shown, extent=(x, x + 1, y + 1, y), interpolation="nearest", **grey)
            ax.plot([x, x + 1, x + 1, x, x], [y, y, y + 1, y + 1, y], color=AXIS, linewidth=0.6)
            for at, ha, word, colour in zip((x, x + 1), ("left", "right"), words, self.colours, strict=True):
                text = shortened(word, _LONGEST_BELOW_IMAGE)
                ax.text(at, y + 1.06, text, color=colour, fontsize=8.5, fontweight="bold", ha=ha, va="top")
        ax.set_xlim(-0.02, 1.16 * self.columns - 0.12)
        ax.set_ylim(1.5 * self._n_lines - 0.05, -0.02)
        ax.set_aspect("equal")
        ax.set_axis_off()
        title(ax, self.heading, self.note)


def images_of(rows: RowsLike, image_shape: Shape) -> Array:
    """Return rows as images of this shape, or of one that so many features are known to have."""
    n = rows.shape[1]
    shape = IMAGE_SHAPES.get(n) if image_shape is None else tuple(image_shape)
    if shape is None or math.prod(shape) != n:
        raise VotronError(
            f"Rows must be images, and 'image_shape' have as many pixels as rows have features, {n}, such as (28, 28). "
            f"Got {image_shape} instead."
        )
    return dense(rows).astype(np.float64).reshape(-1, *shape)


class SupportImagesDisplay(_ImagesDisplay):
    """Support images: the training examples with the most mistakes, with their labels and how many there were.

    Parameters
    ----------
    images : array of shape (n, height, width)
        The images; with a fourth axis, in colour.
    labels, mistakes : sequences
        The label of each, and how many mistakes were made on it.

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

    def __init__(self, images: Array, labels: Labels, mistakes: Sequence[int]):
        self.labels, self.mistakes = list(labels), list(mistakes)
        super().__init__(images, self.labels, [f"{n:,}" for n in self.mistakes])

    @classmethod
    def from_estimator(cls, estimator: Estimator, *, n: int = 40, image_shape: Shape = None, ax: Axes = None) -> Self:
        """Draw the ``n`` support images of a fitted `votron.VotedPerceptronClassifier` with the most mistakes."""
        from votron.explanations.models import support_labels

        model = classifier_of(estimator)
        counts = np.bincount(model.record_.example)[model.support_]
        first = np.argsort(-counts, kind="stable")[:n]
        labels = support_labels(model.dual_coef_[:, first], model.classes_)
        return cls(images_of(model.support_vectors_[first], image_shape), labels, counts[first].tolist()).plot(ax)


class WrongImagesDisplay(_ImagesDisplay):
    """Wrong images, each with its true label (blue, left) and the one that it was given (orange, right).

    Parameters
    ----------
    images : array of shape (n, height, width)
        The images; with a fourth axis, in colour.
    true, given : sequences
        True labels, and those that were given.
    n_wrong, columns : int, optional
        How many there are in all, where not all are shown, and images in a line; by default 10 at most.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from votron.plots import WrongImagesDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> shown = WrongImagesDisplay.from_predictions(y[:3], [0, 7, 2], X[:3])
    >>> shown.true, shown.given
    ([1], [7])
    """

    heading, colours = "Wrong images", (FOR, AGAINST)

    def __init__(
        self, images: Array, true: Labels, given: Labels, n_wrong: int | None = None, columns: int | None = None
    ):
        self.true, self.given = list(true), list(given)
        super().__init__(images, self.true, self.given, columns)
        self.n_wrong = len(self.images) if n_wrong is None else n_wrong
        shown = "" if self.n_wrong == len(self.images) else f"{len(self.images)} of {self.n_wrong:,}; "
        self.note = f"{shown}true label on the left, predicted label on the right"

    @classmethod
    def from_estimator(
        cls, estimator: Estimator, X: RowsLike, y: Labels, *, n: int = 40, image_shape: Shape = None, ax: Axes = None
    ) -> Self:
        """Draw the images that a fitted classifier gets wrong, the most wrong first where it has scores."""
        labels, given = np.asarray(y), np.asarray(estimator.predict(X))
        order = np.argsort(row_margins(estimator, X, labels), kind="stable")
        rows = _safe_indexing(X, order)
        return cls.from_predictions(labels[order], given[order], rows, n=n, image_shape=image_shape, ax=ax)

    @classmethod
    def from_predictions(
        cls, y_true: Labels, y_pred: Labels, X: RowsLike, *, n: int = 40, image_shape: Shape = None, ax: Axes = None
    ) -> Self:
        """Draw the first ``n`` images whose predicted label is wrong."""
        true, given = np.asarray(y_true), np.asarray(y_pred)
        wrong = np.flatnonzero(true != given)
        shown = wrong[:n]
        images = images_of(_safe_indexing(X, shown), image_shape)
        return cls(images, true[shown].tolist(), given[shown].tolist(), len(wrong)).plot(ax)
