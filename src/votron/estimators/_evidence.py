"""Evidence that classifiers hand over to `votron.theory` for margins and certificates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from votron._util.types import Estimator, Labels, Rows, RowsLike
from votron.estimators._data import encode_labels, validated
from votron.kernels.base import is_precomputed
from votron.rules import RULES
from votron.rules.scan import row_draws
from votron.theory.evidence import AVERAGE, LAST, ONE_RANDOM, ONE_VOTE, Evidence, Measured
from votron.theory.geometry import Comparators, Margins, comparator_margins, lengths_of
from votron.theory.trained import Trained, check_training_data, evidence_of_record

if TYPE_CHECKING:
    from votron.estimators.voted import VotedPerceptronClassifier

_SWITCHES = {
    ONE_VOTE: "rule='vote'",
    ONE_RANDOM: "rule='random'",
    LAST: "rule='last'",
    AVERAGE: "rule='average'",
    "τ = 0": "margin=0",
    "unweighted": "no sample_weight and class_weight=None",
    "consistent": "epochs=None with a kernel that separates the data",
    "unit length": "normalize_kernel=True",
    "R known": "normalize_kernel=True",
    "K(x, x) > 0": "kernel='poly' with coef0=1",
}
"""Parameters to set for predictors and assumptions of bounds."""


def trained_on(
    model: Estimator,
    X: RowsLike,
    y: Labels,
    *,
    vectors: tuple[str, ...],
    comparators: Comparators,
    predictor: str,
    switches: Mapping[str, str],
) -> Trained:
    """Return a model and its vectors on its training data; refuse other data."""
    from votron.estimators.adatron import maximal_margins

    rows, labels = validated(model, X, y, kernel=getattr(model, "kernel_", None), reset=False)
    check_training_data(model.history_, rows, encode_labels(labels, model.classes_)[1])
    kernel, n_threads = model._kernel_of_space(), model._n_threads
    precomputed = is_precomputed(kernel)
    if hasattr(model, "support_vectors_") and not precomputed:
        rows = _typed_as(model.support_vectors_, rows)
    found = {name: model._in_feature_space(rows, labels, name) for name in vectors}
    compare = partial(
        comparator_margins,
        comparators,
        kernel=kernel,
        rows=rows,
        labels=labels,
        classes=model.classes_,
        maximize=partial(maximal_margins, kernel, rows, labels, n_threads),
    )
    return Trained(
        name=type(model).__name__,
        predictor=predictor,
        classes=model.classes_,
        history=model.history_,
        vectors=found,
        comparators=compare,
        lengths_known=kernel is not None and kernel.unit_length,
        switches=switches,
        row_hashes=None if precomputed else row_draws(rows, 0),
    )


def _typed_as(kept: Rows, rows: Rows) -> Rows:
    """Return rows of the type of those that a model kept, if they are the same numbers: arithmetic goes by the type."""
    if kept.dtype == rows.dtype or kept.dtype.kind != "f" or rows.dtype.kind != "f":
        return rows
    with np.errstate(over="ignore"):
        same = rows.astype(kept.dtype)
    return same if not (same != rows).sum() else rows


# -- models that keep their record ------------------------------------------------------------------------------------


def predictor_name(model: VotedPerceptronClassifier) -> str:
    n_epochs = model.record_.n_steps / model.record_.n_examples
    training = f"{n_epochs:g} epochs" if model.history_.rows_repeated else "one epoch"
    return RULES[model.rule_].predictor(training, bool(model.normalize_vectors))


def recorded_margins(model: VotedPerceptronClassifier, X: RowsLike, y: Labels, vector: str) -> Margins:
    check_is_fitted(model)
    rows, codes = model._labelled(X, y)
    lengths, factor = lengths_of(model.kernel_, rows)
    n_threads = model._n_threads
    scores = factor[:, None] * model._vectors.scores(rows, vector, n_threads=n_threads)
    if is_precomputed(model.kernel_):
        own = scores[model.support_]
    else:
        own = model._vectors.scores(model.support_vectors_, vector, n_threads=n_threads)
    coefficients = model.record_.dual_coef(average=vector == "average")
    norm2 = np.einsum("cs,sc->c", coefficients, own)  # ‖w‖² is the sum of its scores on its own examples
    return Margins(scores, model._signs(codes), np.sqrt(np.maximum(norm2, 0.0)), lengths)


def recorded_evidence(model: VotedPerceptronClassifier, X: RowsLike, y: Labels, comparators: Comparators) -> Evidence:
    check_is_fitted(model)
    trained = trained_on(
        model,
        X,
        y,
        vectors=("last", "average"),
        comparators=comparators,
        predictor=predictor_name(model),
        switches=_SWITCHES,
    )
    rule, chosen = model.rule_, _chosen_by_held_out(model)
    by_support = not (chosen[0] or RULES[rule].needs_held_out)
    return evidence_of_record(
        trained,
        model.record_,
        tau=model._largest_margin,
        own_scores=model._scores(model._labelled(X, y)[0]) if by_support else None,
        unit_vectors=bool(model.normalize_vectors),
        balanced=isinstance(model.class_weight, str),
        chosen=chosen,
    )


def _chosen_by_held_out(model: VotedPerceptronClassifier) -> tuple[str, str]:
    """Return what, beside the vectors of a rule, held-out rows chose, and how to have it otherwise."""
    end = model.history_.end_chosen_by
    if end == "early_stopping":
        return "moment and the rule were" if model.rule == "auto" else "moment was", "early_stopping=False"
    if end is not None:
        return "moment was", "the model without with_best_moment"
    return ("rule was", "rule='vote'") if model.rule == "auto" else ("", "")


def recorded_errors(model: VotedPerceptronClassifier, X: RowsLike, y: Labels) -> dict[str, Measured]:
    rows, codes = model._labelled(X, y)
    signs = model._signs(codes)
    record, unit = model.record_, bool(model.normalize_vectors)
    own = model.rule_, unit
    choices = list(dict.fromkeys([("vote", unit), ("random", unit), ("last", unit), ("average", False), own]))
    times = [min(record.n_examples, record.n_steps), record.n_steps]
    first, end = model._vectors.staged(rows, times, choices, n_threads=model._n_threads)
    found = {
        ONE_VOTE: first.scores["vote", unit],
        ONE_RANDOM: first.scores["random", unit],
        LAST: end.scores["last", unit],
        AVERAGE: end.scores["average", False],
        predictor_name(model): end.scores[own],
    }
    return {name: Measured.of(scores, signs) for name, scores in found.items()}
