"""Displays: plots of models and of what they predict, as scikit-learn has them.

Each has ``from_estimator``, and ``from_predictions`` where predictions are all that it needs; both draw at once, on
``ax`` or on a new figure, and return the display, whose ``figure_`` and ``ax_`` are matplotlib's. Its numbers are its
attributes, and ``plot(ax=...)`` draws it again. Shapes of images are ``(height, width)``, or ``(height, width, 3)`` in
colour, and known for rows of 64 and 784 features. matplotlib is imported when something is drawn.
"""

from votron.plots.predictions import (
    ConfusionsDisplay,
    MarginsDisplay,
    ReliabilityDisplay,
    SupportImagesDisplay,
    WrongImagesDisplay,
)
from votron.plots.training import ComparisonDisplay, MistakesDisplay, RulesDisplay, VotesDisplay

__all__ = [
    "ComparisonDisplay",
    "ConfusionsDisplay",
    "MarginsDisplay",
    "MistakesDisplay",
    "ReliabilityDisplay",
    "RulesDisplay",
    "SupportImagesDisplay",
    "VotesDisplay",
    "WrongImagesDisplay",
]
