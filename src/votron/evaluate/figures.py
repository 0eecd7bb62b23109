"""Figures of evaluations and of training, and the rows that are wrong by the most."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from votron._util.plotting import MUTED, STYLE, Display, pyplot
from votron._util.types import Array, Estimator, Floats, Index, Label, RowsLike
from votron.data import Examples
from votron.evaluate.evaluation import Evaluation
from votron.plots import ConfusionsDisplay, MistakesDisplay, ReliabilityDisplay, RulesDisplay, WrongImagesDisplay
from votron.plots.predictions import RankingDisplay, images_of, reliability_points, row_margins
from votron.plots.training import RulesOverTime, has_moments

_MOST_IMAGES, _COLUMNS = 40, 20
"""Images of a figure, and of a line."""


@dataclass(frozen=True)
class PredictedRow:
    """A row that was predicted, and where it stands."""

    margin: float
    probability: float | None
    """Of the predicted label, where there are probabilities."""
    number: int
    place: str
    """Its number among all rows, counted from 1, and the line or the file that it is in, where that is known."""
    true: Label
    predicted: Label
    X: RowsLike
    """The row, as the data have it: an array, matrix or frame of one."""
    image: Array | None


def predicted_rows(
    classifier: Estimator, batch: Examples, X: RowsLike, predicted: Array, at: Index, margins: Floats
) -> list[PredictedRow]:
    """Return rows of a batch at these places, whose margins are known; X has them as the classifier takes them."""
    sure = [None] * len(at)
    if hasattr(classifier, "predict_proba"):
        sure = classifier.predict_proba(_safe_indexing(X, at)).max(axis=1).tolist()
    places = batch.files if batch.lines is None else [f"line {line:,}" for line in batch.lines]
    found = []
    for i, margin, probability in zip(at.tolist(), margins.tolist(), sure, strict=True):
        place, row = "" if places is None else str(places[i]), _safe_indexing(batch.X, [i])
        image = None if batch.image_shape is None else images_of(row, batch.image_shape)[0]
        [true], [given] = np.asarray(batch.y)[[i]].tolist(), predicted[[i]].tolist()
        found.append(PredictedRow(margin, probability, int(batch.row_numbers[i]), place, true, given, row, image))
    return found


class WrongRows:
    """The rows that are wrong by the most, of all batches with labels."""

    def __init__(self, classifier: Estimator, most: int) -> None:
        self.classifier, self.most, self.n_wrong = classifier, most, 0
        self.kept: list[PredictedRow] = []

    def add(self, batch: Examples, X: RowsLike, predicted: Array) -> None:
        """Keep those of a batch, of which X are the rows as the classifier takes them."""
        y = np.asarray(batch.y)
        wrong = np.flatnonzero(predicted != y)
        if len(wrong):
            self.n_wrong += len(wrong)
            margins = row_margins(self.classifier, _safe_indexing(X, wrong), y[wrong])
            most = np.argsort(margins, kind="stable")[: self.most]
            self.kept += predicted_rows(self.classifier, batch, X, predicted, wrong[most], margins[most])
            self.kept = sorted(self.kept, key=lambda each: each.margin)[: self.most]


class EvaluationFigure:
    """The figure of an evaluation: what is drawn beside its counts, collected batch by batch."""

    def __init__(self, classifier: Estimator) -> None:
        self.rules = RulesOverTime(classifier) if has_moments(classifier) else None
        self.wrong = WrongRows(classifier, _MOST_IMAGES)

    def add(self, batch: Examples, X: RowsLike, predicted: Array) -> None:
        """Collect a batch, of which X are the rows as the classifier takes them."""
        if self.rules is not None:
            self.rules.add(X, np.asarray(batch.y))
        if batch.image_shape is not None:
            self.wrong.add(batch, X, predicted)

    def draw(self, heading: str, found: Evaluation) -> Any:
        """Draw confusions at the left, the other displays beside them, wrong images below."""
        plt, wrong = pyplot(), self.wrong.kept
        beside: list[Display] = [*displays_of(found), *([] if self.rules is None else [self.rules.display()])]
        columns = 0 if not beside else 1 if len(beside) <= 2 else 2
        lines = max(1, math.ceil(len(beside) / max(1, columns)))
        keys = [*range(len(beside)), *["."] * (lines * columns - len(beside))]
        mosaic = [["confusions", *keys[i * columns : (i + 1) * columns]] for i in range(lines)]
        heights = [7.4 / 2] * 2 if lines == 2 else [5.2]
        if wrong:
            mosaic.append(["wrong"] * (1 + columns))
            heights.append(0.8 + 0.78 * math.ceil(len(wrong) / _COLUMNS))
        with plt.rc_context(STYLE):
            size = (7.0, 12.5, 15.0)[columns], sum(heights) + 0.6
            figure, axes = plt.subplot_mosaic(mosaic, figsize=size, height_ratios=heights, layout="constrained")
            figure.get_layout_engine().set(w_pad=0.15, h_pad=0.15, hspace=0.03, wspace=0.03)
            ConfusionsDisplay(found.counts.matrix(found.labels), found.labels).plot(axes["confusions"])
            for place, display in enumerate(beside):
                display.plot(axes[place])
            if wrong:
                images = np.array([row.image for row in wrong])
                labels = [row.true for row in wrong], [row.predicted for row in wrong]
                WrongImagesDisplay(images, *labels, self.wrong.n_wrong, columns=_COLUMNS).plot(axes["wrong"])
            figure.suptitle(heading, x=0.012, ha="left", fontsize=11, color=MUTED)
        return figure


def displays_of(found: Evaluation) -> list[ReliabilityDisplay | RankingDisplay]:
    """Return what can be drawn of the scores: reliability, and of two classes ROC and precision-recall curves."""
    sure, right = found.sureness()
    displays: list[ReliabilityDisplay | RankingDisplay] = []
    if len(sure):
        displays.append(ReliabilityDisplay(*reliability_points(sure, right), len(sure)))
    if (ranking := found.ranking()) is not None:
        displays += [RankingDisplay(kind, *ranking, found.classes[1]) for kind in ("roc", "precision-recall")]
    return displays


def training_figure(rules: RulesDisplay, estimator: Estimator, heading: str) -> Any:
    """Draw the errors of the rules, and beside them mistakes and support, of one training."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 4.9), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.15, h_pad=0.12, wspace=0.05)
        rules.plot(left)
        MistakesDisplay.from_estimator(estimator, ax=right)
        figure.suptitle(heading, x=0.012, ha="left", fontsize=11, color=MUTED)
    return figure
