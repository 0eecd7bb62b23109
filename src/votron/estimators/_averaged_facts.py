"""What an averaged perceptron tells `votron.theory.certify`; which examples had mistakes it did not keep."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from votron._resources import effective_threads
from votron.estimators import _validation
from votron.estimators._certified import (
    around,
    check_number_of_rows,
    check_training_data,
    kernel_fixed,
    measured,
    most_repeated,
    not_independent,
    planned_end,
    vector_labels,
)
from votron.estimators._comparators import Comparators
from votron.estimators._same_run import check_weights
from votron.estimators._score_functions import linear_scores
from votron.theory.facts import AVERAGE, LAST, ONE_RANDOM, ONE_VOTE, Assumption, Facts, Measured, Run

if TYPE_CHECKING:
    from votron.estimators.averaged import AveragedPerceptronClassifier

SWITCHES = {
    ONE_VOTE: "VotedPerceptronClassifier(kernel='linear', rule='vote')",
    ONE_RANDOM: "VotedPerceptronClassifier(kernel='linear', rule='random')",
    LAST: "average=False",
    AVERAGE: "average=True",
    "consistent": "epochs=None with features that separate the data",
    "unit length": "examples of length 1",
    "R known": "examples of length 1",
    "K(x, x) > 0": "fit_intercept=True",
}
"""What to set for which predictor or assumption."""


def facts_of(model: AveragedPerceptronClassifier, X: Any, y: Any, comparators: Any) -> Facts:
    """Return the facts about a fitted model's training."""
    check_is_fitted(model)
    rows, labels = _validation.validated(model, X, y, kernel=None, reset=False)
    last, average = (model._in_feature_space(rows, labels, vector) for vector in ("last", "average"))
    kept = last.lengths > 0
    check_number_of_rows(rows.shape[0], model._n_given)
    consistent = bool((last.each[kept] > 0).all())
    check_training_data(consistent or not model.converged_, "training converged, and its last vector errs on them")
    separable = bool(np.maximum(last.unnormalized, average.unnormalized).min() > 0)
    space = model._kernel_of_space()
    compare = Comparators(space, rows, labels, model.classes_, last.signs, effective_threads(model.n_jobs))
    each = {"last": last.each, "average": average.each, **compare.margins(comparators, separable=separable)}
    candidates = {name: values[kept] for name, values in each.items()}
    return Facts(
        model=type(model).__name__,
        uses=AVERAGE if model.average else LAST,
        m=model._n_seen,
        left_out=int((~kept).sum()),
        first_m=model._n_seen,
        epochs=model._passes,
        presentations=1 if model._once else math.ceil(model.n_epochs_),
        tau=0.0,
        lengths=last.lengths[kept],
        lengths_known=False,
        candidates=candidates,
        runs=_runs(model, candidates["last"] <= 0, candidates["average"] <= 0),
        together=None,
        assumptions=_assumptions(model),
        switches=SWITCHES,
        most_repeated=most_repeated(rows[kept]),
        around=around(model, check_weights(model, rows, labels, kept)),
    )


def _runs(model: AveragedPerceptronClassifier, last: NDArray[np.bool_], average: NDArray[np.bool_]) -> tuple[Run, ...]:
    """Return the run of each class, given on which examples either vector is wrong."""
    return tuple(
        Run(
            label=label,
            support=min(int(k), model._n_seen),
            consistent=not last[:, c].any(),
            outside=int(last[:, c].sum()),
            support_known=False,
            own_outside=int((average if model.average else last)[:, c].sum()),
            mistakes=int(k),
            first_pass=int(k) if model._once else None,
        )
        for c, (label, k) in enumerate(zip(vector_labels(model.classes_), model.n_mistakes_, strict=True))
    )


def _assumptions(model: AveragedPerceptronClassifier) -> dict[str, Assumption]:
    ran = "no example was presented twice" if model._once else f"{model.n_epochs_:g} epochs were run"
    once = Assumption("one epoch", model._once, ran, "" if model._once else "epochs=1")
    found = [kernel_fixed(model), once, planned_end(model)]
    if hasattr(model, "validation_scores_"):
        change = "early_stopping=False"
        found[2:] = [planned_end(model, "the pass was chosen by held-out data", change), not_independent(change)]
    return {a.name: a for a in found}


def measured_of(model: AveragedPerceptronClassifier, X: Any, y: Any) -> dict[str, Measured]:
    """Return the errors of both predictors on test data."""
    rows, labels = _validation.validated(model, X, y, kernel=None, reset=False)
    signs = model._signs(_validation.encode_labels(labels, model.classes_)[1])
    made = {LAST: model._trainer.last(), AVERAGE: model._trainer.average()}
    return {name: measured(linear_scores(rows, *weights), signs) for name, weights in made.items()}
