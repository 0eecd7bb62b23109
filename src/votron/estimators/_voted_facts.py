"""What the record of a voted perceptron tells `votron.theory.certify`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from votron._resources import effective_threads
from votron.errors import VotronError
from votron.estimators import _validation
from votron.estimators._certified import (
    around,
    check_number_of_rows,
    check_training_data,
    kernel_fixed,
    measured,
    most_repeated,
    not_independent,
    other_data,
    planned_end,
    same_rows,
    vector_labels,
    wrong_labels,
)
from votron.estimators._comparators import Comparators
from votron.estimators._same_run import Sample, check_run
from votron.kernels.registry import is_precomputed
from votron.products import Floats, Index, Rows
from votron.rules import RULES
from votron.theory.facts import AVERAGE, LAST, ONE_RANDOM, ONE_VOTE, Assumption, Facts, Measured, Run
from votron.theory.geometry import Margins

if TYPE_CHECKING:
    from votron.estimators.voted import VotedPerceptronClassifier

SWITCHES = {
    ONE_VOTE: "rule='vote'",
    ONE_RANDOM: "rule='random'",
    LAST: "rule='last'",
    AVERAGE: "rule='average'",
    "τ = 0": "margin=0",
    "consistent": "epochs=None with a kernel that separates the data",
    "unit length": "normalize_kernel=True",
    "R known": "normalize_kernel=True",
    "K(x, x) > 0": "kernel='poly' with coef0=1",
}
"""What to set for which predictor or assumption."""


def facts_of(model: VotedPerceptronClassifier, X: Any, y: Any, comparators: Any) -> Facts:
    """Return the facts about a fitted model's training."""
    check_is_fitted(model)
    if model._mixed:
        raise VotronError(
            "A model that was trained by fit for several epochs and then by partial_fit has no certificate: its "
            "examples were presented unequally often. Train it by one of the two."
        )
    rows, labels = _validation.validated(model, X, y, kernel=model.kernel_, reset=False)
    last = model._in_feature_space(rows, labels, "last")
    average = model._in_feature_space(rows, labels, "average")
    sample = _sample(model, rows, labels, last)
    data = _check_same_run(model, sample, last)
    separable = bool(np.maximum(last.unnormalized, average.unnormalized).min() > 0)
    compare = Comparators(model.kernel_, rows, labels, model.classes_, last.signs, effective_threads(model.n_jobs))
    each = {"last": last.each, "average": average.each, **compare.margins(comparators, separable=separable)}
    record, kept = model.record_, sample.kept
    m = min(record.n_examples, int(kept.sum()))
    first_m = min(m, record.n_steps)
    own = _own_scores(model, sample)
    return Facts(
        model=type(model).__name__,
        uses=_predictor(model),
        m=m,
        left_out=int((~kept).sum()),
        first_m=first_m,
        epochs=model._passes,
        presentations=1 if model._once else math.ceil(model.n_epochs_),
        tau=_tau(model, last, sample),
        lengths=last.lengths[kept],
        lengths_known=model.kernel_.unit_length,
        candidates={name: values[kept] for name, values in each.items()},
        runs=_runs(model, sample, last, own, first_m),
        together=_together(model, sample, last, own, first_m) if record.n_vectors > 1 else None,
        assumptions=_assumptions(model, m < int(kept.sum())),
        switches=SWITCHES,
        most_repeated=None if is_precomputed(model.kernel_) else most_repeated(rows[kept]),
        around=around(model, data),
    )


def measured_of(model: VotedPerceptronClassifier, X: Any, y: Any) -> dict[str, Measured]:
    """Return the errors of all predictors on test data, from one scan over the record."""
    rows, labels = _validation.validated(model, X, y, kernel=model.kernel_, reset=False)
    signs = model._signs(_validation.encode_labels(labels, model.classes_)[1])
    record, unit = model.record_, bool(model.normalize_vectors)
    first_m = min(record.n_examples, record.n_steps)
    own = model.rule, unit
    choices = list(dict.fromkeys([("vote", unit), ("random", unit), ("last", unit), ("average", False), own]))
    times = [first_m, record.n_steps]
    first, end = model._vectors.staged(rows, times, choices, n_threads=effective_threads(model.n_jobs))
    found = {
        ONE_VOTE: first.scores["vote", unit],
        ONE_RANDOM: first.scores["random", unit],
        LAST: end.scores["last", unit],
        AVERAGE: end.scores["average", False],
        _predictor(model): end.scores[own],
    }
    return {name: measured(scores, signs) for name, scores in found.items()}


def _predictor(model: VotedPerceptronClassifier) -> str:
    """Return what ``predict`` predicts by."""
    training = "one epoch" if model._once else f"{model.record_.n_steps / model.record_.n_examples:g} epochs"
    return RULES[model.rule].predictor(training, bool(model.normalize_vectors))


def _own_scores(model: VotedPerceptronClassifier, sample: Sample) -> Floats | None:
    """Return the training examples' scores by the model's own rule; None where its support does not determine that."""
    if RULES[model.rule].needs_held_out:
        return None
    unit = bool(model.normalize_vectors)
    scores = model._vectors.scores(sample.rows, model.rule, unit, n_threads=effective_threads(model.n_jobs))
    return scores[sample.kept]


def _sample(model: VotedPerceptronClassifier, rows: Rows, labels: Any, found: Margins) -> Sample:
    """Find the examples of the record among the rows, which must be those that it was made from."""
    record, kept = model.record_, found.lengths > 0
    learnable = np.flatnonzero(kept)
    check_number_of_rows(rows.shape[0], model._n_named, model._n_named + rows.shape[0] - len(learnable))
    # fit names examples by their rows, partial_fit by when they came, for which rows that cannot be learnt do not count
    for row_of in (np.arange(rows.shape[0]), learnable):
        if len(record) and int(record.example.max()) >= len(row_of):
            continue
        at = row_of[record.example]
        right = np.array_equal(found.signs[at, record.vector], record.sign)
        if right and (is_precomputed(model.kernel_) or same_rows(model.support_vectors_, rows[row_of[record.support]])):
            place = np.cumsum(kept) - 1
            return Sample(rows, labels, found.signs, kept, place[at])
    raise other_data("rows of the support, or their labels, are not those of training")


def _check_same_run(model: VotedPerceptronClassifier, sample: Sample, last: Margins) -> Assumption:
    """Refuse data on which this record could not have come about, though its support is there."""
    consistent = bool((last.each[sample.kept] > 0).all())
    some_held_out = model.record_.n_examples < int(sample.kept.sum())
    check_training_data(
        consistent or some_held_out or not model.converged_, "training converged, and its last vector errs on them"
    )
    record = model.record_
    for c in range(record.n_vectors):
        lengths = record.norm2[record.vector == c]
        if len(lengths):
            check_training_data(
                math.isclose(last.norms[c] ** 2, lengths[-1], rel_tol=1e-5), "its vectors have other lengths with them"
            )
    return check_run(model, sample)


def _tau(model: VotedPerceptronClassifier, last: Margins, sample: Sample) -> float:
    """Return τ: the parameter, or more if it was lowered after training."""
    record = model.record_
    if not len(record):
        return float(model.margin)
    squares = np.square(last.lengths[sample.kept][sample.example])
    return max(float(model.margin), float((record.sign * record.score / squares).max()))


def _runs(
    model: VotedPerceptronClassifier, sample: Sample, last: Margins, own: Floats | None, first_m: int
) -> tuple[Run, ...]:
    record, signs = model.record_, last.signs[sample.kept]
    errs = last.each[sample.kept] <= 0
    own_errs = None if own is None else np.where(own >= 0, 1, -1) != signs
    runs = []
    for c, label in enumerate(vector_labels(model.classes_)):
        mine = record.vector == c
        wrong, times = np.unique(sample.example[mine], return_counts=True)
        early = np.unique(sample.example[mine & (record.time <= first_m)])
        runs.append(
            Run(
                label=label,
                support=len(wrong),
                consistent=not errs[:, c].any(),
                outside=_outside(errs[:, c], wrong),
                own_outside=None if own_errs is None else _outside(own_errs[:, c], wrong),
                mistakes=int(mine.sum()),
                first_pass=len(early),
                wrong=wrong,
                times=times,
                first_wrong=early,
            )
        )
    return tuple(runs)


def _outside(errs: NDArray[np.bool_], support: Index) -> int:
    """Return how many errors are not in the support."""
    return int(errs.sum() - errs[support].sum())


def _together(model: VotedPerceptronClassifier, sample: Sample, last: Margins, own: Floats | None, first_m: int) -> Run:
    """Return the run of all vectors as one predictor."""
    record, signs = model.record_, last.signs[sample.kept]
    scores = last.scores / np.where(last.norms > 0, last.norms, 1.0) if model.normalize_vectors else last.scores
    support = np.unique(sample.example)
    return Run(
        label="all",
        support=len(support),
        consistent=not (last.each[sample.kept] <= 0).any(),
        outside=_outside(wrong_labels(scores[sample.kept], signs), support),
        own_outside=None if own is None else _outside(wrong_labels(own, signs), support),
        mistakes=len(record.event_starts) - 1,
        first_pass=len(np.unique(record.time[record.time <= first_m])),
    )


def _assumptions(model: VotedPerceptronClassifier, some_held_out: bool) -> dict[str, Assumption]:
    epochs = model.n_epochs_
    ran = "no example was presented twice" if model._once else f"{epochs:g} epochs were run"
    once = Assumption("one epoch", model._once, ran, "" if model._once else "epochs=1")
    found = [kernel_fixed(model), once, planned_end(model)]
    if some_held_out:
        found.append(not_independent("another rule in training"))
    return {a.name: a for a in found}
