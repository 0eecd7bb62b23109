"""Errors on the held-out part of a fold, of every rule and moment of training that one fit has."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from votron.estimators import ESTIMATORS
from votron.estimators._validation import resolved_gamma, validated
from votron.record import labels_of
from votron.rules import RULES
from votron.tuning._grid import Grid, Params, multiple_of_scale

Fold = tuple[Any, NDArray[Any], Any, NDArray[Any]]
"""Rows and labels to train on, rows and labels held out."""


def errors_of(estimator: str, setting: Params, free: Grid, fold: Fold, seed: int) -> tuple[list[float], float]:
    """Return the held-out error of each combination of what is free, in the order of `free_params`; and seconds."""
    X, y, X_test, y_test = fold
    model = ESTIMATORS[estimator](**with_number(setting, estimator, X))
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    if "epochs" in free:
        model.set_params(epochs=max(free["epochs"]))
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the held-out error tells what that cost
        model.fit(X, y)
    seconds = time.perf_counter() - start
    wanted = free_params(estimator, free, len(np.unique(y)))
    found = {_key(params): predicted for params, predicted in _predictions(estimator, model, X_test, wanted)}
    return [float(np.mean(found[_key(params)] != y_test)) for params in wanted], seconds


def free_params(estimator: str, free: Grid, n_classes: int) -> list[Params]:
    """Return the combinations of what is free, without those that predict as another does."""
    combinations = [dict(zip(free, values, strict=True)) for values in itertools.product(*free.values())]
    if estimator != "voted" or False not in free["normalize_vectors"]:
        return combinations

    def differs(params: Params) -> bool:
        n_vectors = 1 if n_classes == 2 else n_classes
        return RULES[params["rule"]].lengths_matter(n_vectors) or not params["normalize_vectors"]

    return [params for params in combinations if differs(params)]


def _key(params: Params) -> tuple[Any, ...]:
    return tuple(sorted(params.items()))


def _predictions(
    estimator: str, model: Any, X_test: Any, wanted: list[Params]
) -> Iterator[tuple[Params, NDArray[Any]]]:
    if estimator != "voted":
        for params in wanted:
            yield params, model.set_params(**params).predict(X_test)
        return
    pairs = list(dict.fromkeys((params["rule"], params["normalize_vectors"]) for params in wanted))
    moments = {params["epochs"] for params in wanted}
    for epochs, scores in model.staged_decision_function(X_test, at=moments, rules=pairs):
        for (rule, normalized), each in scores.items():
            yield {"epochs": epochs, "rule": rule, "normalize_vectors": normalized}, model.classes_[labels_of(each)]


def with_number(setting: Params, estimator: str, X: Any) -> Params:
    """Return a setting as the estimator takes it: a multiple of the scale of these data as a number."""
    factor = multiple_of_scale(setting.get("gamma"))
    if factor is None:
        return setting
    kernel = setting.get("kernel")
    rows, _ = validated(ESTIMATORS[estimator](), X, kernel=kernel, reset=True)
    return setting | {"gamma": factor * resolved_gamma("scale", rows)}
