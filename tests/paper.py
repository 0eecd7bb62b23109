"""The perceptrons of the papers, with no margin: what theorems and textbooks speak of, whatever the defaults are."""

from __future__ import annotations

from typing import Any

from votron import AveragedPerceptronClassifier, VotedPerceptronClassifier


def paper_perceptron(kernel: Any = "poly", **parameters: Any) -> VotedPerceptronClassifier:
    """Return Freund and Schapire's: a polynomial kernel unless told otherwise, and of a Gaussian one no threshold."""
    coef0 = {"coef0": 0.0} if kernel == "rbf" else {}
    return VotedPerceptronClassifier(kernel, **{"margin": 0.0, **coef0, **parameters})


def paper_averaged(**parameters: Any) -> AveragedPerceptronClassifier:
    """Return Cohen's: each class against the rest."""
    return AveragedPerceptronClassifier(**{"epochs": 5, "margin": 0.0, "multiclass": "ovr", **parameters})
