"""Fitted classifiers as `votron.theory` sees them: their margins, the evidence for bounds, their measured errors."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from votron._util.types import Estimator, Floats, Labels, Rows, RowsLike
from votron.estimators._data import encode_labels, validated
from votron.kernels import Kernel, LinearKernel, PolynomialKernel
from votron.kernels.base import is_precomputed
from votron.products import squares
from votron.rules import RULES
from votron.rules.forms import linear_scores
from votron.rules.scan import row_draws
from votron.theory.evidence import AVERAGE, LAST, MAXIMAL, ONE_RANDOM, ONE_VOTE, Evidence, Measured
from votron.theory.geometry import Comparators, Margins, comparator_margins, lengths_of
from votron.theory.trained import (
    Trained,
    check_training_data,
    evidence_of_maximal_margin,
    evidence_of_record,
    evidence_of_weights,
)


class TheoryView:
    """What a classifier answers to `votron.theory`, which asks it for one by its method ``_for_theory``."""

    vectors: tuple[str, ...] = ("last", "average")
    """The classifier's own vectors, by name."""
    switches: Mapping[str, str]
    """Parameters to set for predictors and assumptions of bounds."""

    def __init__(self, model: Estimator) -> None:
        check_is_fitted(model)
        self.model = model

    @property
    def kernel(self) -> Kernel:
        found: Kernel = self.model.kernel_
        return found

    @property
    def predictor(self) -> str:
        """What the classifier predicts by, in the words of the bounds."""
        raise NotImplementedError

    def margins(self, X: RowsLike, y: Labels, vector: str) -> Margins:
        """Return the margins of one of the vectors on these data."""
        raise NotImplementedError

    def measured(self, X: RowsLike, y: Labels) -> dict[str, Measured]:
        """Return the errors of the predictors on test data."""
        rows, codes = self.model._labelled(X, y)
        signs = self.model._signs(codes)
        return {name: Measured.of(scores, signs) for name, scores in self._scores_by_predictor(rows).items()}

    def _scores_by_predictor(self, rows: Rows) -> dict[str, Floats]:
        raise NotImplementedError

    def _trained(self, X: RowsLike, y: Labels, comparators: Comparators) -> Trained:
        """Return the classifier and its vectors on its training data; refuse other data."""
        model, kernel = self.model, self.kernel
        rows, labels = validated(model, X, y, kernel=getattr(model, "kernel_", None), reset=False)
        check_training_data(model.history_, rows, encode_labels(labels, model.classes_)[1])
        precomputed = is_precomputed(kernel)
        if hasattr(model, "support_vectors_") and not precomputed:
            rows = _typed_as(model.support_vectors_, rows)
        compare = partial(
            comparator_margins,
            comparators,
            kernel=kernel,
            rows=rows,
            labels=labels,
            classes=model.classes_,
            maximize=partial(_maximal_margins, kernel, rows, labels, model._n_threads),
        )
        return Trained(
            name=type(model).__name__,
            predictor=self.predictor,
            classes=model.classes_,
            history=model.history_,
            vectors={name: self.margins(rows, labels, name) for name in self.vectors},
            comparators=compare,
            lengths_known=kernel.unit_length,
            switches=self.switches,
            row_hashes=None if precomputed else row_draws(rows, 0),
        )


def _typed_as(kept: Rows, rows: Rows) -> Rows:
    """Return rows of the type of those that a model kept, if they are the same numbers: arithmetic goes by the type."""
    if kept.dtype == rows.dtype or kept.dtype.kind != "f" or rows.dtype.kind != "f":
        return rows
    with np.errstate(over="ignore"):
        same = rows.astype(kept.dtype)
    return same if not (same != rows).sum() else rows


def _maximal_margins(kernel: Kernel, rows: Rows, labels: Labels, n_threads: int, **params: Any) -> Margins:
    """Return the margins of the adatron's vectors on these data; ones that are not quite the best will do."""
    from votron.estimators.adatron import KernelAdatronClassifier

    model = KernelAdatronClassifier(kernel=kernel, n_jobs=n_threads, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(rows, labels)
    return MaximalMarginView(model).margins(rows, labels, "last")


class RecordView(TheoryView):
    """A voted perceptron, by its record."""

    switches = {  # noqa: RUF012
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

    @property
    def predictor(self) -> str:
        record = self.model.record_
        training = (
            f"{record.n_steps / record.n_examples:g} epochs" if self.model.history_.rows_repeated else "one epoch"
        )
        return RULES[self.model.rule_].predictor(training, bool(self.model.normalize_vectors))

    def margins(self, X: RowsLike, y: Labels, vector: str) -> Margins:
        model = self.model
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

    def evidence(self, X: RowsLike, y: Labels, comparators: Comparators) -> Evidence:
        model, chosen = self.model, self._chosen_by_held_out()
        trained = self._trained(X, y, comparators)
        by_support = not (chosen[0] or RULES[model.rule_].needs_held_out)
        return evidence_of_record(
            trained,
            model.record_,
            tau=model._largest_margin,
            own_scores=model._scores(model._labelled(X, y)[0]) if by_support else None,
            unit_vectors=bool(model.normalize_vectors),
            balanced=isinstance(model.class_weight, str),
            chosen=chosen,
        )

    def _chosen_by_held_out(self) -> tuple[str, str]:
        """Return what held-out rows chose beside the vectors of a rule, and how to have it otherwise."""
        auto, end = self.model.rule == "auto", self.model.history_.end_chosen_by
        if end == "early_stopping":
            return "moment and the rule were" if auto else "moment was", "early_stopping=False"
        if end is not None:
            return "moment was", "the model without with_best_moment"
        return ("rule was", "rule='vote'") if auto else ("", "")

    def _scores_by_predictor(self, rows: Rows) -> dict[str, Floats]:
        model, record, unit = self.model, self.model.record_, bool(self.model.normalize_vectors)
        own = model.rule_, unit
        choices = list(dict.fromkeys([("vote", unit), ("random", unit), ("last", unit), ("average", False), own]))
        times = [min(record.n_examples, record.n_steps), record.n_steps]
        first, end = model._vectors.staged(rows, times, choices, n_threads=model._n_threads)
        return {
            ONE_VOTE: first.scores["vote", unit],
            ONE_RANDOM: first.scores["random", unit],
            LAST: end.scores["last", unit],
            AVERAGE: end.scores["average", False],
            self.predictor: end.scores[own],
        }


class WeightsView(TheoryView):
    """An averaged perceptron, by its weights."""

    switches = {  # noqa: RUF012
        ONE_VOTE: "VotedPerceptronClassifier(kernel='linear', rule='vote')",
        ONE_RANDOM: "VotedPerceptronClassifier(kernel='linear', rule='random')",
        LAST: "average=False",
        AVERAGE: "average=True",
        "τ = 0": "margin=0",
        "unweighted": "no sample_weight and class_weight=None",
        "consistent": "epochs=None with features that separate the data",
        "unit length": "examples of length 1",
        "R known": "examples of length 1",
        "K(x, x) > 0": "fit_intercept=True",
    }

    def __init__(self, model: Estimator) -> None:
        super().__init__(model)
        self.trainer = model._trainer
        self.jointly = self.trainer.joint and model._n_vectors > 1
        if self.jointly:
            self.switches = {name: how for name, how in self.switches.items() if name not in (ONE_VOTE, ONE_RANDOM)}

    @property
    def kernel(self) -> Kernel:
        return PolynomialKernel(1) if self.trainer.bias else LinearKernel()

    @property
    def predictor(self) -> str:
        return AVERAGE if self.model.average else LAST

    def margins(self, X: RowsLike, y: Labels, vector: str) -> Margins:
        rows, codes = self.model._labelled(X, y)
        made = self.trainer.average() if vector == "average" else self.trainer.last()
        lengths = np.sqrt(squares(rows) + bool(self.trainer.bias))
        norms = np.sqrt(row_norms(made[0], squared=True) + made[1] ** 2)
        return Margins(linear_scores(rows, *made), self.model._signs(codes), norms, lengths)

    def evidence(self, X: RowsLike, y: Labels, comparators: Comparators) -> Evidence:
        return evidence_of_weights(
            self._trained(X, y, comparators),
            self.model.n_mistakes_,
            own_vector="average" if self.model.average else "last",
            tau=float(np.max(self.trainer.margin)),
            jointly=self.jointly,
            balanced=isinstance(self.model.class_weight, str),
        )

    def _scores_by_predictor(self, rows: Rows) -> dict[str, Floats]:
        made = {LAST: self.trainer.last(), AVERAGE: self.trainer.average()}
        return {name: linear_scores(rows, *weights) for name, weights in made.items()}


class MaximalMarginView(TheoryView):
    """An adatron, by the margins that it found."""

    vectors = ("its own",)
    predictor = MAXIMAL
    switches = {  # noqa: RUF012
        "consistent": "C=None with a kernel that separates the data",
        "R known": "normalize_kernel=True",
        "K(x, x) > 0": "kernel='poly' with coef0=1",
    }

    def margins(self, X: RowsLike, y: Labels, vector: str) -> Margins:
        rows, codes = self.model._labelled(X, y)
        lengths, factor = lengths_of(self.kernel, rows)
        return Margins(factor[:, None] * self.model._scores(rows), self.model._signs(codes), self.model.norm_, lengths)

    def evidence(self, X: RowsLike, y: Labels, comparators: Comparators) -> Evidence:
        if isinstance(comparators, str) and comparators == "auto":  # no other is compared: its own margin is the best
            comparators = ()
        return evidence_of_maximal_margin(
            self._trained(X, y, comparators),
            self.model.support_,
            self.model.dual_coef_,
            tolerance=self.model.tol,
            converged=self.model.converged_,
            balanced=isinstance(self.model.class_weight, str),
        )

    def _scores_by_predictor(self, rows: Rows) -> dict[str, Floats]:
        return {MAXIMAL: self.model._scores(rows)}
