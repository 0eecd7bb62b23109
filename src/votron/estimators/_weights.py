"""Weights of rows, by ``sample_weight`` and ``class_weight``; margins by class, which are given in the same way."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from votron._util.types import Array, Classes, Estimator, Floats, Index, Label
from votron.errors import VotronError
from votron.estimators._training import outside_votron
from votron.estimators._validation import encode_labels


def learns_in_batches(model: Estimator) -> bool:
    """Tell that a model has ``partial_fit``; refuse with the reason why its ``class_weight`` allows none."""
    if isinstance(model.class_weight, str) and model.class_weight == "balanced":
        raise VotronError(
            f"The 'class_weight' parameter of {type(model).__name__} must be a dict or None for partial_fit, since "
            f"how many rows the classes have is not known yet. Got {model.class_weight!r} instead.",
            parameter="class_weight",
        )
    return True


def weighed(
    model: Estimator,
    y: Array,
    sample_weight: ArrayLike | None,
    *,
    scaled: bool,
    classes: Classes | None = None,
    least: int = 1,
) -> tuple[Index | None, Floats | None]:
    """Return the numbers of the rows with a weight above 0 (None: all), and their weights (None: all the same).

    ``scaled`` divides weights by their mean, ``least`` rows must be left. The ``classes`` are those that there are, if
    the labels may lack some.
    """
    owner, class_weight = type(model).__name__, getattr(model, "class_weight", None)
    weights = np.ones(len(y)) if sample_weight is None else _given(sample_weight, len(y), owner)
    some = np.flatnonzero(weights)
    if class_weight is not None and len(some):
        found, codes = encode_labels(y[some], classes)
        weights[some] *= _of_classes(model, found, 1 - codes if len(found) == 2 else codes)[codes]
    kept = np.flatnonzero(weights)
    if len(kept) < least:
        raise VotronError(f"The weights of {owner} must not all be zero, since no row is left to train on.")
    if len(kept) < len(y):
        weights = weights[kept]
        if classes is None:
            _check_classes_left(y, kept)
    alike = (weights == (weights[0] if scaled else 1.0)).all()
    if scaled and not alike:
        weights = _with_mean_1(weights, owner)
    return kept if len(kept) < len(y) else None, None if alike else weights


def _given(sample_weight: ArrayLike | None, n: int, owner: str) -> Floats:
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise _refusal("sample_weight", owner, "be numbers, one for each row. Got others instead.") from None
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        what = f"{len(weights)} numbers" if weights.ndim == 1 else f"an array of shape {weights.shape}"
        raise _refusal("sample_weight", owner, f"have one number for each of {n} rows. Got {what} instead.")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        got = f"Got {weights[wrong[0]]:g} for row {wrong[0]}."
        raise _refusal("sample_weight", owner, f"be finite and not negative. {got}")
    return weights


def _of_classes(model: Estimator, classes: Classes, places: Index) -> Floats:
    """Return the weight of each class, by its code; those that a dict does not name have 1."""
    class_weight, labels = model.class_weight, classes.tolist()
    if isinstance(class_weight, str):
        counts = np.maximum(1, np.bincount(places, minlength=len(labels)))
        weights = len(places) / (len(labels) * counts)
    else:
        weights = _by_class(model, "class_weight", labels, missing=1.0)
    return weights[::-1] if len(labels) == 2 else weights


def _by_class(model: Estimator, name: str, labels: list[Label], *, missing: float) -> Floats:
    """Return for each class the number that a dict has for it, or ``missing``."""
    values: Mapping[Label, Any] = getattr(model, name)
    owner = type(model).__name__
    for label, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < np.inf:
            raise _refusal(name, owner, f"have finite numbers of 0 or more. Got {value!r} for {label!r}.")
    strange = [label for label in values if label not in labels]  # of a fold, some may be missing
    if strange and not all(label in values for label in labels):
        raise _refusal(name, owner, f"name classes of the labels. Got {strange[0]!r}, which is none, instead.")
    return np.array([float(values.get(label, missing)) for label in labels])


def _refusal(name: str, owner: str, rule: str) -> VotronError:
    return VotronError(f"The {name!r} parameter of {owner} must {rule}", parameter=name)


def margins_of(model: Estimator) -> float | Floats:
    """Return τ of a model that knows its classes, or where it differs by class, for the rows of each code."""
    if not isinstance(model.margin, dict):
        return float(model.margin)
    found = _by_class(model, "margin", model.classes_.tolist(), missing=0.0)
    if (found == found[0]).all():
        return float(found[0])
    return found[::-1].copy() if len(found) == 2 else found


def _with_mean_1(weights: Floats, owner: str) -> Floats:
    scaled: Floats = np.ldexp(weights, -np.frexp(weights.max())[1])  # exact, so that weights of mean 1 stay as they are
    scaled /= scaled.mean()
    if not scaled.all():
        raise VotronError(
            f"The weights of {owner} are too far apart for float64: {weights.min():g} beside {weights.max():g}."
        )
    return scaled


def _check_classes_left(y: Array, kept: Index) -> None:
    """Say which classes have no row left, and refuse to go on with one alone."""
    left = set(y[kept].tolist())
    lost = [label for label in dict.fromkeys(y.tolist()) if label not in left]
    if lost and len(left) == 1:
        raise VotronError(f"Rows of weight above 0 must be of at least 2 classes. Got {left.pop()!r} alone instead.")
    if lost:
        names = ", ".join(map(repr, lost[:5])) + (", ..." if len(lost) > 5 else "")
        warnings.warn(
            f"No row of {names} has a weight above 0: the model will not know such a class.",
            UserWarning,
            stacklevel=outside_votron(),
        )
