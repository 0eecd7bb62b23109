"""Models that may be pipelines of scikit-learn: their classifier, and the steps before it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from votron._util.types import Estimator, Params, RowsLike


def classifier_of(model: Estimator) -> Estimator:
    return model.steps[-1][1] if hasattr(model, "steps") else model


def steps_before(model: Estimator) -> list[Estimator]:
    return [step for _, step in model.steps[:-1]] if hasattr(model, "steps") else []


def rows_for_classifier(model: Estimator, X: RowsLike) -> RowsLike:
    return model[:-1].transform(X) if hasattr(model, "steps") else X


def weighs_classes(classifier: Estimator, provenance: Mapping[str, object]) -> bool:
    """Tell whether a classifier was trained with weights or with margins by class, as far as is known."""
    by_class = getattr(classifier, "class_weight", None) is not None
    uneven = isinstance(getattr(classifier, "margin", None), dict)
    kept = getattr(getattr(classifier, "record_", None), "weight", None)  # what a model keeps of weights given to fit
    typed = "--class-weight" in str(provenance.get("command"))  # compact models have lost the parameter
    return by_class or uneven or kept is not None or typed or bool(provenance.get("sample_weight"))


def summary_of(model: Estimator) -> Params:
    n_classes = len(model.classes_)
    found: Params = {"features": int(model.n_features_in_), "vectors": 1 if n_classes == 2 else n_classes}
    if hasattr(model, "kernel_"):
        found["kernel"] = re.sub(r"\d+\.\d{4,}(e[-+]\d+)?", lambda one: f"{float(one[0]):.4g}", repr(model.kernel_))
    rule = getattr(model, "rule_", getattr(model, "rule", None))
    if rule is not None:
        found["rule"] = str(rule)
    if hasattr(model, "support_"):
        found["support"] = len(model.support_)
    if hasattr(model, "n_epochs_"):
        found["epochs"] = float(model.history_.passes)
    if hasattr(model, "converged_"):
        found["converged"] = bool(model.converged_)
    for key in ("n_mistakes", "n_support", "margin", "best_margin"):
        if hasattr(model, f"{key}_"):
            found["mistakes" if key == "n_mistakes" else key] = getattr(model, f"{key}_").tolist()
    if hasattr(model, "record_"):
        found["examples"], found["steps"] = int(model.record_.n_examples), int(model.record_.n_steps)
        found["record"] = model.record_.digest()
    if hasattr(model, "made_from_"):
        found.update(made_from=model.made_from_, form=model.form_, dropped=list(model.dropped_))
    return found
