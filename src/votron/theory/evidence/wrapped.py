"""Models inside pipelines and searches, and the assumptions that these affect."""

from __future__ import annotations

from collections.abc import Callable

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from votron._util.types import Estimator, RowsLike
from votron.errors import VotronError
from votron.theory.evidence import Assumption


def unwrapped(model: Estimator, method: str) -> tuple[Estimator, Callable[[RowsLike], RowsLike], list[Assumption]]:
    """Return the model with a method, the transformation of its data, and the assumptions that the wrapping affects."""
    if hasattr(model, "best_estimator_"):
        estimator, transform, touched = unwrapped(model.best_estimator_, method)
        because = f"{type(model).__name__} chose parameters by these data"
        chosen = Assumption("kernel fixed", False, because, "parameters chosen without these data", another_run=True)
        return estimator, transform, [*touched, chosen]
    if isinstance(model, Pipeline):
        estimator, inner, touched = unwrapped(model.steps[-1][1], method)
        if len(model.steps) == 1:
            return estimator, inner, touched
        steps = [_of_step(name, step) for name, step in model.steps[:-1] if hasattr(step, "fit")]
        return estimator, lambda X: inner(model[:-1].transform(X)), [*filter(None, steps), *touched]
    if not hasattr(model, method):
        raise VotronError(
            "Margins and certificates need a fitted voted or averaged perceptron or kernel adatron, or a Pipeline or "
            f"search around one. Got an object of type {type(model).__name__} instead."
        )
    return model, lambda X: X, []


def _of_step(name: str, step: object) -> Assumption | None:
    """Return what a step breaks or claims; None for those of scikit-learn that learn nothing."""
    learns = get_tags(step).requires_fit
    if learns and type(step) is FrozenEstimator:  # not a subclass, which may learn
        because = f"the frozen step {name!r} of the pipeline was fitted on other data than these: your claim"
        return Assumption("frozen step", None, because)
    if learns:
        because = f"the step {name!r} of the pipeline learns from the data that it is fitted to"
        change = f"a step {name!r} fitted on other data (FrozenEstimator)"
        return Assumption("kernel fixed", False, because, change, another_run=True)
    if type(step).__module__.split(".")[0] not in ("sklearn", "votron"):
        because = f"the step {name!r} of the pipeline learns nothing from data, as its class says: not verified"
        return Assumption("fixed step", None, because)
    return None
