"""Models that may be pipelines of scikit-learn, told by their steps: the classifier, and what rows go through first."""

from __future__ import annotations

from typing import Any


def classifier_of(model: Any) -> Any:
    """Return the classifier of a model: itself, or the last step of a pipeline."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def steps_before(model: Any) -> list[Any]:
    """Return the steps of a pipeline before its classifier; none where there is no pipeline."""
    return [step for _, step in model.steps[:-1]] if hasattr(model, "steps") else []


def rows_for_classifier(model: Any, X: Any) -> Any:
    """Return rows as the classifier of a model takes them."""
    return model[:-1].transform(X) if hasattr(model, "steps") else X
