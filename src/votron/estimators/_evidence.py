"""Evidence for certificates: what classifiers tell `votron.theory`, most of it those that keep their record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from votron._util.resources import effective_threads
from votron._util.types import Floats, Index, Rows
from votron.engine import DualTrainer, LinearTrainer, TrainingRun
from votron.errors import VotronError
from votron.estimators._explanations import RecordReasons
from votron.estimators._validation import encode_labels, typed_as, validated
from votron.estimators.base import EpochClassifier, ScoreClassifier
from votron.kernels import Kernel
from votron.kernels.base import is_precomputed
from votron.record import MistakeRecord
from votron.rules import RULES, Vectors, row_draws
from votron.theory.evidence import AVERAGE, LAST, ONE_RANDOM, ONE_VOTE, Evidence, Measured
from votron.theory.evidence.gathering import (
    RecordedRun,
    TrainedModel,
    evidence_of_record,
    not_independent,
    planned_end,
)
from votron.theory.evidence.training import Assumption, Passes
from votron.theory.geometry import Comparators, Margins, lengths_of

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


def trained_model(
    model: ScoreClassifier, rows: Rows, labels: Any, vectors: Mapping[str, Margins], comparators: Any, **more: Any
) -> TrainedModel:
    """Return a model as `votron.theory.certify` takes it, its training data and its own vectors on them."""
    from votron.estimators.adatron import maximal_margins

    kernel, n_threads = model._kernel_of_space(), effective_threads(model.n_jobs)
    compare = Comparators(
        kernel,
        rows,
        labels,
        classes=model.classes_,
        signs=next(iter(vectors.values())).signs,
        n_threads=n_threads,
        maximize=partial(maximal_margins, kernel, rows, labels, n_threads),
    )
    return TrainedModel(
        name=type(model).__name__,
        classes=model.classes_,
        rows=rows,
        vectors=vectors,
        comparators=partial(compare.margins, comparators),
        gamma_from_data=model.history_.gamma_from == "scale",
        has_kernel=hasattr(model, "kernel"),
        from_file=model.history_.from_file,
        **more,
    )


def check_none_left_out(n: int) -> None:
    """Refuse a certificate of a model that was given rows of weight 0: which they were, it does not know any more."""
    if n:
        raise VotronError(
            f"A model that was given rows of weight 0, here {n:,}, has no certificate: train it without them, for the "
            "same model, which then has one."
        )


def passes_of(model: EpochClassifier) -> Passes:
    """Return how training went, for the certificate."""
    return Passes(
        epochs=model.history_.passes,
        n_epochs=model.history_.n_epochs,
        once=not model.history_.rows_repeated,
        converged=bool(model.history_.converged),
        interrupted=model.history_.interrupted,
        shuffle=model.history_.shuffled,
        random_state=model.history_.seed,
    )


class RecordClassifier(RecordReasons, EpochClassifier):
    """A classifier whose vectors, all of them, are in its record."""

    rule: str
    normalize_vectors: bool
    margin: Any
    class_weight: Any
    kernel_: Kernel
    record_: MistakeRecord
    support_: Index
    support_vectors_: Rows
    _vectors: Vectors

    @property
    def _largest_margin(self) -> float:
        """The largest τ of a class."""
        raise NotImplementedError

    def _new_trainer(self, rows: Rows, n_steps: int, weighted: bool = False) -> DualTrainer | LinearTrainer:
        """Return the engine to train with on these data."""
        raise NotImplementedError

    def _runner(
        self,
        trainer: DualTrainer | LinearTrainer,
        rows: Rows,
        order: Index,
        n_steps: int,
        ids: Index | None = None,
        weights: Floats | None = None,
    ) -> Callable[..., TrainingRun]:
        """Return the engine's ``run``, with the threads and the memory that it may use."""
        raise NotImplementedError

    def _predicting_rule(self) -> str:
        """Return the rule that predicts."""
        return self.rule

    def _chosen_by_held_out(self) -> tuple[str, str] | None:
        """Return what, beside the vectors of a rule, held-out data chose, and how to have it otherwise; or None."""
        return None

    def _predictor_name(self) -> str:
        """Return what ``predict`` predicts by, in words."""
        n_epochs = self.record_.n_steps / self.record_.n_examples
        training = f"{n_epochs:g} epochs" if self.history_.rows_repeated else "one epoch"
        return RULES[self._predicting_rule()].predictor(training, bool(self.normalize_vectors))

    def _in_feature_space(self, X: Any, y: Any, vector: str) -> Margins:
        """Return what `votron.theory.margins` asks for."""
        return margins_of_record(self, X, y, vector)

    def _evidence(self, X: Any, y: Any, comparators: Any) -> Evidence:
        """Return what `votron.theory.certify` asks for."""
        return recorded_evidence(self, X, y, comparators)

    def _measured(self, X: Any, y: Any) -> dict[str, Measured]:
        """Return the errors of all predictors on test data."""
        return recorded_errors(self, X, y)


def margins_of_record(model: RecordClassifier, X: Any, y: Any, vector: str) -> Margins:
    """Return what `votron.theory.margins` asks for."""
    check_is_fitted(model)
    rows, codes = model._labelled(X, y)
    lengths, factor = lengths_of(model.kernel_, rows)
    n_threads = effective_threads(model.n_jobs)
    scores = factor[:, None] * model._vectors.scores(rows, vector, n_threads=n_threads)
    if is_precomputed(model.kernel_):
        own = scores[model.support_]
    else:
        own = model._vectors.scores(model.support_vectors_, vector, n_threads=n_threads)
    coefficients = model.record_.dual_coef(average=vector == "average")
    norm2 = np.einsum("cs,sc->c", coefficients, own)  # ‖w‖² is the sum of its scores on its own examples
    return Margins(scores, model._signs(codes), np.sqrt(np.maximum(norm2, 0.0)), lengths)


def recorded_evidence(model: RecordClassifier, X: Any, y: Any, comparators: Any) -> Evidence:
    """Return what `votron.theory.certify` asks for."""
    check_is_fitted(model)
    if model.history_.presented_unequally:
        raise VotronError(
            "A model that was trained by fit for several epochs and then by partial_fit has no certificate: its "
            "examples were presented unequally often. Train it by one of the two."
        )
    check_none_left_out(model.history_.n_zero_weight)
    rows, labels = validated(model, X, y, kernel=model.kernel_, reset=False)
    precomputed = is_precomputed(model.kernel_)
    if not precomputed:
        rows = typed_as(model.support_vectors_, rows)
    trained = trained_model(
        model,
        rows,
        labels,
        {name: margins_of_record(model, rows, labels, name) for name in ("last", "average")},
        comparators,
        predictor=model._predictor_name(),
        n_rows=model.history_.n_rows,
        lengths_known=model.kernel_.unit_length,
        switches=_SWITCHES,
        row_hashes=None if precomputed else row_draws(rows, 0),
    )
    run = RecordedRun(
        record=model.record_,
        support_rows=None if precomputed else model.support_vectors_,
        retrain=partial(_retrained, model, rows, encode_labels(labels, model.classes_)[1]),
        scores_at=partial(_scores_at, model, rows),
    )
    rule, chosen = model._predicting_rule(), model._chosen_by_held_out()
    found = evidence_of_record(
        trained,
        passes_of(model),
        run,
        tau=model._largest_margin,
        balanced=isinstance(model.class_weight, str),
        own_scores=None if chosen or RULES[rule].needs_held_out else model._scores(rows),
        unit_vectors=bool(model.normalize_vectors),
    )
    broken = []
    if chosen:
        what, change = chosen
        broken = [planned_end(passes_of(model), f"the {what} chosen by held-out data", change)]
        broken.append(not_independent(change))
    if model.history_.n_settings:
        because = "kernel and parameters were chosen by cross-validation on these data"
        remedy = "parameters that were chosen without these data"
        broken.append(Assumption("kernel fixed", False, because, remedy, another_run=True))
    return replace(found, assumptions={**found.assumptions, **{each.name: each for each in broken}})


def _retrained(
    model: RecordClassifier, rows: Rows, codes: NDArray[np.int64], order: Index, weights: Floats | None = None
) -> MistakeRecord:
    """Return the record of another run, of as many steps."""
    n_examples, n_steps = model.record_.n_examples, model.record_.n_steps
    trainer = model._new_trainer(rows, n_steps, weighted=weights is not None)
    model._runner(trainer, rows, order, n_steps, weights=weights)(rows, codes, order, n_steps)
    return trainer.record(n_examples, n_steps)


def _scores_at(model: RecordClassifier, rows: Rows, times: list[int]) -> list[dict[str, Floats]]:
    """Return the scores by two rules at some moments of training."""
    rules = ("vote", "last")
    stages = model._vectors.staged(
        rows, times, [(rule, False) for rule in rules], n_threads=effective_threads(model.n_jobs)
    )
    return [{rule: stage.scores[rule, False] for rule in rules} for stage in stages]


def recorded_errors(model: RecordClassifier, X: Any, y: Any) -> dict[str, Measured]:
    """Return the errors of all predictors on test data, from one scan over the record."""
    rows, codes = model._labelled(X, y)
    signs = model._signs(codes)
    record, unit = model.record_, bool(model.normalize_vectors)
    own = model._predicting_rule(), unit
    choices = list(dict.fromkeys([("vote", unit), ("random", unit), ("last", unit), ("average", False), own]))
    times = [min(record.n_examples, record.n_steps), record.n_steps]
    first, end = model._vectors.staged(rows, times, choices, n_threads=effective_threads(model.n_jobs))
    found = {
        ONE_VOTE: first.scores["vote", unit],
        ONE_RANDOM: first.scores["random", unit],
        LAST: end.scores["last", unit],
        AVERAGE: end.scores["average", False],
        model._predictor_name(): end.scores[own],
    }
    return {name: Measured.of(scores, signs) for name, scores in found.items()}
