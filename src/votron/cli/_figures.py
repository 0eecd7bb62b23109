"""Pages of figures that commands draw, made of displays."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from votron._util.plotting import MUTED, STYLE, pyplot
from votron.evaluate.confusion import Confusion
from votron.plots import ConfusionsDisplay, MistakesDisplay, ReliabilityDisplay, RulesDisplay, WrongImagesDisplay
from votron.plots.batches import WrongRows
from votron.plots.predictions import reliability_points
from votron.plots.training import RulesOverTime

MOST_IMAGES = 40
"""Wrong images on a page."""
_COLUMNS = 20
"""Images in a line of it."""


class EvaluationPage:
    """What is drawn of an evaluation, counted batch by batch."""

    def __init__(self, estimator: Any) -> None:
        self.rules = RulesOverTime(estimator) if hasattr(estimator, "staged_decision_function") else None
        self.wrong = WrongRows(estimator, MOST_IMAGES)

    def add(self, batch: Any, X: Any, predicted: NDArray[Any]) -> None:
        """Count a batch, of which X are the rows as the classifier takes them."""
        if self.rules is not None:
            self.rules.add(X, batch.y)
        if batch.image_shape is not None:
            self.wrong.add(batch, X, predicted)

    def drawn(self, heading: str, found: Confusion, labels: list[Any]) -> Any:
        """Return the figure."""
        sure, right = found.sure()
        return evaluation_page(
            heading,
            ConfusionsDisplay(found.matrix(labels), labels),
            ReliabilityDisplay(*reliability_points(sure, right), len(sure)) if len(sure) else None,
            None if self.rules is None else self.rules.display(),
            self.wrong.images(_COLUMNS),
        )


def evaluation_page(
    heading: str,
    confusions: ConfusionsDisplay,
    reliability: ReliabilityDisplay | None,
    rules: RulesDisplay | None,
    images: WrongImagesDisplay | None,
) -> Any:
    """Draw what there is on one page: confusions at the left, the others beside them, images below."""
    plt = pyplot()
    beside = [each for each in (reliability, rules) if each is not None]
    top = 7.4 if len(beside) == 2 else 5.2
    below = 0.0 if images is None else 0.8 + 0.78 * math.ceil(len(images.images) / _COLUMNS)
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(12.5 if beside else 7.0, top + below + 0.6), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.15, h_pad=0.15, hspace=0.03, wspace=0.03)
        ratios = [top, below] if images is not None else [top]
        grid = figure.add_gridspec(len(ratios), 1, height_ratios=ratios)
        upper = grid[0].subgridspec(max(1, len(beside)), 2 if beside else 1)
        confusions.plot(figure.add_subplot(upper[:, 0]))
        for line, display in enumerate(beside):
            display.plot(figure.add_subplot(upper[line, 1]))
        if images is not None:
            images.plot(figure.add_subplot(grid[1]))
        figure.suptitle(heading, x=0.012, ha="left", fontsize=11, color=MUTED)
    return figure


def training_page(rules: RulesDisplay, estimator: Any, heading: str) -> Any:
    """Draw the errors of the rules, and beside them mistakes and support, of one training."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 4.9), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.15, h_pad=0.12, wspace=0.05)
        rules.plot(left)
        MistakesDisplay.from_estimator(estimator, ax=right)
        figure.suptitle(heading, x=0.012, ha="left", fontsize=11, color=MUTED)
    return figure
