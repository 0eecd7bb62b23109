"""Models that may be pipelines of scikit-learn, told by their steps: the classifier, and what rows go through first."""

from __future__ import annotations

from collections.abc import Mapping
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


def weighs_classes(classifier: Any, provenance: Mapping[str, Any]) -> bool:
    """Tell whether a classifier was trained with weights, or with margins by class, as far as it or its file knows."""
    by_class = getattr(classifier, "class_weight", None) is not None
    uneven = isinstance(getattr(classifier, "margin", None), dict)
    kept = getattr(getattr(classifier, "record_", None), "weight", None)  # what a model keeps of weights given to fit
    return by_class or uneven or kept is not None or bool(provenance.get("sample_weight"))
