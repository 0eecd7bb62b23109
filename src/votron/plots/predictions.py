"""Predictions beside the true labels: confusions, reliability of probabilities, margins."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from votron._util.plotting import AGAINST, AXIS, EMPTY, FOR, INK, plain, title
from votron._util.text import shortened
from votron._util.types import Array, Axes, Estimator, Floats, Label, Labels, RowsLike
from votron.errors import VotronError
from votron.plots._base import Display, check_offers

__all__ = ["ConfusionsDisplay", "MarginsDisplay", "ReliabilityDisplay"]

_MOST_NUMBERS = 20
"""Classes up to which the counts of confusions are written into their cells, and all labels beside them."""
_LONGEST = 18
_WIDEST = 40
"""Characters that labels below one another's columns may take together, before they are turned."""


class ConfusionsDisplay(Display):
    """Confusions: how many rows of each label are given which; the right ones are blue, the wrong ones orange.

    Parameters
    ----------
    counts : array of shape (n_labels, n_labels)
        A row for each true label, and a column for each that was given.
    labels : sequence
        The labels.

    Examples
    --------
    >>> from votron.plots import ConfusionsDisplay
    >>> shown = ConfusionsDisplay.from_predictions(["a", "b", "b"], ["a", "b", "a"])
    >>> shown.counts.tolist(), shown.labels
    ([[1, 0], [1, 1]], ['a', 'b'])
    """

    def __init__(self, counts: Array, labels: Labels):
        self.counts, self.labels = np.asarray(counts), list(labels)

    @classmethod
    def from_estimator(cls, estimator: Estimator, X: RowsLike, y: Labels, *, ax: Axes = None) -> Self:
        """Draw the confusions of a fitted classifier, any of scikit-learn's, on labelled rows."""
        return cls.from_predictions(y, estimator.predict(X), ax=ax)

    @classmethod
    def from_predictions(cls, y_true: Labels, y_pred: Labels, *, labels: Labels = None, ax: Axes = None) -> Self:
        """Draw the confusions of predicted labels with the true ones; ``labels`` sets their order."""
        from sklearn.metrics import confusion_matrix

        known = np.unique(np.concatenate([np.asarray(y_true), np.asarray(y_pred)])) if labels is None else labels
        known = np.asarray(known).tolist()
        return cls(confusion_matrix(y_true, y_pred, labels=known), known).plot(ax)

    def _size(self) -> tuple[float, float]:
        side = min(9.0, 2.6 + 0.42 * len(self.labels))
        return side + 0.9, side + 0.4

    def _draw(self, ax: Axes) -> None:
        from matplotlib.colors import to_rgb

        n, of_row = len(self.labels), self.counts.sum(axis=1, keepdims=True)
        shares, right = self.counts / np.maximum(of_row, 1), np.eye(n, dtype=bool)
        colours = np.where(right[..., None], to_rgb(FOR), to_rgb(AGAINST))
        strength = np.where(right, 0.8 * shares, 0.18 + 0.8 * np.sqrt(shares))
        cells = 1 - strength[..., None] * (1 - colours)
        cells[self.counts == 0] = to_rgb(EMPTY)
        ax.imshow(cells, interpolation="nearest")
        few = n <= _MOST_NUMBERS
        if few:
            ax.hlines(np.arange(n - 1) + 0.5, -0.5, n - 0.5, color="white", linewidth=2)
            ax.vlines(np.arange(n - 1) + 0.5, -0.5, n - 0.5, color="white", linewidth=2)
        for i, j in zip(*np.nonzero(self.counts), strict=True) if few else ():
            ink = "white" if cells[i, j] @ (0.2126, 0.7152, 0.0722) < 0.5 else INK
            size = 9.5 if n <= 12 else 7.5
            ax.text(j, i, f"{self.counts[i, j]:,}", ha="center", va="center", color=ink, fontsize=size)
        self._label(ax, range(n) if few else range(0, n, -(-n // _MOST_NUMBERS)))
        wrong, rows = int(self.counts.sum() - np.trace(self.counts)), int(self.counts.sum())
        title(ax, "Confusions", f"{wrong:,} of {rows:,} rows wrong; colours by shares of each row")

    def _label(self, ax: Axes, at: range) -> None:
        names = [shortened(str(self.labels[i]), _LONGEST) for i in at]
        plain(ax)
        ax.grid(False)
        ax.set_anchor("NW")
        ax.spines[:].set_visible(False)
        ax.set_yticks(list(at), names)
        upright = max(map(len, names)) * len(names) <= _WIDEST
        ax.set_xticks(list(at), names, rotation=0 if upright else 40, ha="center" if upright else "right")
        if not upright:
            ax.tick_params(axis="x", pad=2)
        ax.set_xlabel("predicted")
        ax.set_ylabel("true")


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

    def __init__(self, probability: Floats, share: Floats, n_rows: int | None = None):
        self.probability, self.share, self.n_rows = np.asarray(probability), np.asarray(share), n_rows

    @classmethod
    def from_estimator(cls, estimator: Estimator, X: RowsLike, y: Labels, *, n_bins: int = 10, ax: Axes = None) -> Self:
        """Draw the reliability of a fitted classifier with ``predict_proba``, any of scikit-learn's."""
        check_offers(estimator, "predict_proba", cls.__name__, "classifiers that have probabilities")
        p = estimator.predict_proba(X)
        return cls.from_predictions(y, p, classes=estimator.classes_, n_bins=n_bins, ax=ax)

    @classmethod
    def from_predictions(
        cls, y_true: Labels, y_proba: ArrayLike, *, classes: Labels = None, n_bins: int = 10, ax: Axes = None
    ) -> Self:
        """Draw the reliability of probabilities, a column for each of ``classes`` (default: those that are true)."""
        p, known = np.asarray(y_proba, dtype=np.float64), np.unique(y_true) if classes is None else np.asarray(classes)
        if p.ndim != 2 or p.shape[1] != len(known):
            raise VotronError(
                f"The probabilities must have a column for each of {len(known)} classes. Got shape {p.shape} instead."
            )
        right = known[p.argmax(axis=1)] == np.asarray(y_true)
        return cls(*reliability_points(p.max(axis=1), right, n_bins), len(p)).plot(ax)

    def _size(self) -> tuple[float, float]:
        return 5.6, 5.2

    def _draw(self, ax: Axes) -> None:
        low = max(0.0, min(float(self.probability.min()), float(self.share.min())) - 0.03)
        ax.plot([0, 1], [0, 1], color=AXIS, linewidth=1, linestyle=(0, (4, 3)))
        ax.plot(self.probability, self.share, "o-", color=FOR, linewidth=1.8, markersize=5.5, clip_on=False, zorder=3)
        ax.set_xlim(low, 1.005)
        ax.set_ylim(low, 1.005)
        ax.set_xlabel("probability of the predicted class")
        ax.set_ylabel("share that is right")
        ax.locator_params(nbins=6)
        plain(ax)
        of = "rows" if self.n_rows is None else f"{self.n_rows:,} rows"
        title(ax, "Reliability", f"{of} in {len(self.share)} equal parts, by probability")


class RankingDisplay(Display):
    """The ROC or the precision-recall curve of two classes, from what rows are and their scores for the second."""

    def __init__(self, kind: Literal["roc", "precision-recall"], known: Array, scores: Floats, label: Label):
        self.kind, self.known, self.scores, self.label = kind, known, scores, label

    def _size(self) -> tuple[float, float]:
        return 5.6, 5.2

    def _draw(self, ax: Axes) -> None:
        from sklearn.metrics import PrecisionRecallDisplay, RocCurveDisplay

        curve = RocCurveDisplay if self.kind == "roc" else PrecisionRecallDisplay
        drawn = curve.from_predictions(self.known, self.scores, ax=ax, drop_intermediate=True)
        share = float(np.mean(self.known))
        if self.kind == "roc":
            name, area, chance = "ROC curve", f"area {drawn.roc_auc:.4f}", [0.0, 1.0]
            labels = "false positive rate", "true positive rate"
        else:
            name, area, chance = "Precision and recall", f"average precision {drawn.average_precision:.4f}", [share] * 2
            labels = "recall", "precision"
        ax.get_legend().remove()
        ax.lines[0].set(color=FOR, linewidth=1.8, zorder=3)
        ax.plot([0, 1], chance, color=AXIS, linewidth=1, linestyle=(0, (4, 3)))
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), xlabel=labels[0], ylabel=labels[1], aspect="auto")
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
        check_offers(estimator, "decision_function", cls.__name__, "classifiers that have scores")
        return cls.from_predictions(y, estimator.decision_function(X), classes=estimator.classes_, ax=ax)

    @classmethod
    def from_predictions(cls, y_true: Labels, y_score: ArrayLike, *, classes: Labels = None, ax: Axes = None) -> Self:
        """Draw the margins of scores as ``decision_function`` returns them, of ``classes`` (default: as in y_true)."""
        known = np.unique(y_true) if classes is None else np.asarray(classes)
        return cls(score_margins(np.asarray(y_true), np.asarray(y_score, dtype=np.float64), known)).plot(ax)

    def _draw(self, ax: Axes) -> None:
        edges = np.histogram_bin_edges(self.margins, bins=40)
        step = edges[1] - edges[0]
        edges = step * np.arange(np.floor(edges[0] / step), np.ceil(edges[-1] / step) + 1)  # 0 is an edge
        for side, colour in ((self.margins > 0, FOR), (self.margins <= 0, AGAINST)):
            ax.hist(self.margins[side], bins=edges, color=colour, rwidth=0.88)
        ax.axvline(0, color=AXIS, linewidth=1)
        ax.set_xlabel("margin: score of the true label minus the best other")
        ax.set_ylabel("rows")
        ax.yaxis.set_major_formatter("{x:,.0f}")
        plain(ax)
        ax.grid(False, axis="x")
        wrong = int((self.margins <= 0).sum())
        title(ax, "Margins", f"{len(self.margins):,} rows; {wrong:,} of them at 0 or below")


def score_margins(y: Array, scores: Floats, classes: Array) -> Floats:
    """Return by how much the true label leads; one that there is no score for is behind by the best score."""
    own = y[:, None] == classes[None, :]
    if scores.ndim == 1 or scores.shape[1] == 1:
        scores = np.stack([-scores.reshape(-1), scores.reshape(-1)], axis=1) / 2
    if scores.shape != own.shape:
        raise VotronError(
            f"The scores must have a column for each of {len(classes)} classes. Got shape {scores.shape} instead."
        )
    true = np.where(own, scores, -np.inf).max(axis=1)
    other = np.where(own, -np.inf, scores).max(axis=1)
    return np.asarray(np.where(np.isfinite(true), true, 0.0) - other)


def row_margins(estimator: Estimator, X: RowsLike, y: Array) -> Floats:
    """Return by how much the true labels of rows lead; 0 of a classifier without scores."""
    if not hasattr(estimator, "decision_function"):
        return np.zeros(len(y))
    scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
    return score_margins(y, scores, np.asarray(estimator.classes_))
