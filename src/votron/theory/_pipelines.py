"""Models inside pipelines and searches: the model itself, what its data go through first, and what that breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags

from votron.errors import VotronError
from votron.theory.evidence import Assumption


def unwrapped(model: Any, method: str) -> tuple[Any, Callable[[Any], Any], list[Assumption]]:
    """Return the model, which has a method, a function that transforms data for it, and which assumptions that touches.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from votron import VotedPerceptronClassifier
    >>> model, _, broken = unwrapped(make_pipeline(StandardScaler(), VotedPerceptronClassifier()), "_evidence")
    >>> type(model).__name__, broken[0].because
    ('VotedPerceptronClassifier', "the step 'standardscaler' of the pipeline learns from the data that it is fitted to")
    """
    if hasattr(model, "best_estimator_"):
        estimator, transform, broken = unwrapped(model.best_estimator_, method)
        because = f"{type(model).__name__} chose parameters by these data"
        return (
            estimator,
            transform,
            [*broken, Assumption("kernel fixed", False, because, "parameters chosen on others", another_run=True)],
        )
    if hasattr(model, "steps") and hasattr(model, "named_steps"):
        estimator, inner, broken = unwrapped(model.steps[-1][1], method)
        if len(model.steps) == 1:
            return estimator, inner, broken
        return estimator, lambda X: inner(model[:-1].transform(X)), [*_fitted(model), *broken]
    if not hasattr(model, method) or isinstance(model, type):
        what = f"the class {model.__name__}" if isinstance(model, type) else f"an object of type {type(model).__name__}"
        raise VotronError(
            "Margins and certificates are those of a fitted VotedPerceptronClassifier, AveragedPerceptronClassifier or "
            f"KernelAdatronClassifier, or of a Pipeline or search around one. Got {what} instead."
        )
    return model, lambda X: X, []


def _fitted(pipeline: Any) -> list[Assumption]:
    """Return what the steps break that learn from data, or claim of themselves."""
    found = (_of_step(name, step) for name, step in pipeline.steps[:-1] if hasattr(step, "fit"))
    return [assumption for assumption in found if assumption is not None]


def _of_step(name: str, step: Any) -> Assumption | None:
    """Return what a step breaks or claims; None of scikit-learn's that learn nothing.

    A FrozenEstimator was fitted before the pipeline was, to which data cannot be told; it counts as one if it is
    scikit-learn's own, whose ``fit`` is known to learn nothing.
    """
    learns = get_tags(step).requires_fit
    if learns and type(step) is FrozenEstimator:
        because = f"what the frozen step {name!r} of the pipeline was fitted to are other data than these: your claim"
        return Assumption("frozen step", None, because)
    if learns:
        because = f"the step {name!r} of the pipeline learns from the data that it is fitted to"
        change = f"a FrozenEstimator, fitted to others, for {name!r}"
        return Assumption("kernel fixed", False, because, change, another_run=True)
    if type(step).__module__.split(".")[0] not in ("sklearn", "votron"):
        because = f"the step {name!r} of the pipeline learns nothing from data, as its class says: taken on its word"
        return Assumption("fixed step", None, because)
    return None
