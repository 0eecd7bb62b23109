"""Pages of several displays: an evaluation, and a training run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from votron._util.plotting import MUTED, STYLE, pyplot
from votron._util.types import Array, Estimator, RowsLike
from votron.data import Examples
from votron.evaluate.evaluation import Evaluation
from votron.plots import ConfusionsDisplay, MistakesDisplay, ReliabilityDisplay, RulesDisplay
from votron.plots._base import Display
from votron.plots.batches import WrongRows
from votron.plots.predictions import RankingDisplay, reliability_points
from votron.plots.training import RulesOverTime, has_moments

_MOST_IMAGES = 40
_COLUMNS = 20
"""Images in a line."""


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
        plt, images = pyplot(), self.wrong.images(_COLUMNS)
        beside: list[Display] = [*displays_of(found), *([] if self.rules is None else [self.rules.display()])]
        columns = 1 if len(beside) <= 2 else 2
        lines = math.ceil(len(beside) / columns)
        top = 7.4 if lines == 2 else 5.2
        below = 0.0 if images is None else 0.8 + 0.78 * math.ceil(len(images.images) / _COLUMNS)
        width = 7.0 if not beside else 12.5 if columns == 1 else 15.0
        with plt.rc_context(STYLE):
            figure = plt.figure(figsize=(width, top + below + 0.6), layout="constrained")
            figure.get_layout_engine().set(w_pad=0.15, h_pad=0.15, hspace=0.03, wspace=0.03)
            ratios = [top, below] if images is not None else [top]
            grid = figure.add_gridspec(len(ratios), 1, height_ratios=ratios)
            upper = grid[0].subgridspec(max(1, lines), 1 + columns * bool(beside))
            ConfusionsDisplay(found.counts.matrix(found.labels), found.labels).plot(figure.add_subplot(upper[:, 0]))
            for place, display in enumerate(beside):
                line, column = divmod(place, columns)
                display.plot(figure.add_subplot(upper[line, 1 + column]))
            if images is not None:
                images.plot(figure.add_subplot(grid[1]))
            figure.suptitle(heading, x=0.012, ha="left", fontsize=11, color=MUTED)
        return figure


def displays_of(found: Evaluation) -> list[ReliabilityDisplay | RankingDisplay]:
    """Return what can be drawn of the scores: reliability, and of two classes ROC and precision-recall curves."""
    sure, right = found.sureness()
    displays: list[ReliabilityDisplay | RankingDisplay] = (
        [ReliabilityDisplay(*reliability_points(sure, right), len(sure))] if len(sure) else []
    )
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
