"""Whether a training run came about on the data at hand: what is compared with its record, and what is not.

The record has the support: its rows and labels are compared one by one. Of the other rows it says that they were no
mistake whenever they were presented. Where the order of presentation is known, and they are not too many, the run is
repeated. Otherwise no row may be such that every vector of a whole pass errs on it: it was presented to one of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from votron._resources import effective_threads, parse_memory_limit
from votron.engine import DualTrainer
from votron.estimators import _validation
from votron.estimators._certified import check_training_data, same_data
from votron.products import Floats, Index, Rows
from votron.record import MistakeRecord
from votron.theory.facts import Assumption

if TYPE_CHECKING:
    from votron.estimators.averaged import AveragedPerceptronClassifier
    from votron.estimators.voted import VotedPerceptronClassifier

MOST_STEPS = 200_000
"""Presentations up to which a run is repeated."""
REPEATED = "trained on them again, the model makes the same mistakes"


@dataclass(frozen=True)
class Sample:
    """Training data, and where the examples of the record are among the rows that can be learnt."""

    rows: Rows
    labels: Any
    signs: NDArray[Any]
    kept: NDArray[np.bool_]
    example: Index


def check_run(model: VotedPerceptronClassifier, sample: Sample) -> Assumption:
    """Refuse data on which this record cannot have come about; return what was compared."""
    record = model.record_
    all_presented = record.n_examples == int(sample.kept.sum())
    order = _order(model, sample) if all_presented and model.n_epochs_ * record.n_examples <= MOST_STEPS else None
    if order is not None and _repeats(model, sample, order):
        return Assumption("same data", True, f"{REPEATED} at the same steps")
    if all_presented and not model.converged_:
        _check_last_pass(model, sample)
    return same_data(
        f"the number of rows, and the {len(record.support):,} rows of the support with their labels, agree"
    )


def _order(model: VotedPerceptronClassifier, sample: Sample) -> Index | None:
    """Return the rows as they were presented, if that is one of the two orders that there may have been."""
    record, learnable = model.record_, np.flatnonzero(sample.kept)
    place = np.cumsum(sample.kept) - 1
    for order in _orders(model, learnable):
        presented = place[order][(record.time - 1) % record.n_examples]
        if np.array_equal(presented, sample.example):
            return order
    return None


def _orders(model: Any, learnable: Index) -> list[Index]:
    """Return as given, as partial_fit has it, and as shuffled by the seed, if there is one."""
    orders = [learnable]
    if model.shuffle and isinstance(model.random_state, Integral):
        orders.append(check_random_state(model.random_state).permutation(learnable))
    return orders


def _repeats(model: VotedPerceptronClassifier, sample: Sample, order: Index) -> bool:
    """Train again; tell whether the mistakes are the same, and refuse data that have one which the record lacks."""
    old, codes = model.record_, _validation.encode_labels(sample.labels, model.classes_)[1]
    trainer = model._new_trainer(sample.rows, old.n_steps)
    how: dict[str, Any] = {"n_threads": effective_threads(model.n_jobs)}
    if isinstance(trainer, DualTrainer):
        how["memory"] = parse_memory_limit(model.memory_limit)
    trainer.run(sample.rows, codes, order, old.n_steps, **how)
    new = trainer.record(old.n_examples, old.n_steps)
    at, other = _moments(old), _moments(new)
    if np.array_equal(at, other) and np.array_equal(old.sign, new.sign):
        return True
    n = min(len(at), len(other))
    first = int(np.append(np.flatnonzero(at[:n] != other[:n]), n)[0])
    extra = first < len(other) and (first >= len(at) or other[first] < at[first])
    check_training_data(
        not (extra and _is_mistake(new, first)), "trained on them again, the model errs where it did not in training"
    )
    return False  # by rounding, or since parameters were changed after training: nothing is known


def _moments(record: MistakeRecord) -> NDArray[np.int64]:
    return record.time * record.n_vectors + record.vector


def _is_mistake(record: MistakeRecord, i: int) -> bool:
    """Tell whether a mistake is one for every τ, and not for rounding."""
    wrong = float(record.sign[i] * record.score[i])
    return wrong == 0 or wrong < -1e-9 * float(np.abs(record.score[: i + 1]).max())


def _check_last_pass(model: VotedPerceptronClassifier, sample: Sample) -> None:
    """Refuse rows on which every vector of the last whole pass errs, though training never did."""
    record = model.record_
    n = record.n_examples
    end = min(record.n_steps, math.floor(model.n_epochs_ * n + 0.5)) // n * n if not model._once else record.n_steps
    start = max(0, end - n)
    if end < n:
        return
    choices = [("vote", False), ("last", False)]
    times = [start, end] if start else [end]
    stages = list(
        model._vectors.staged(sample.rows[sample.kept], times, choices, n_threads=effective_threads(model.n_jobs))
    )
    signs = sample.signs[sample.kept]
    votes: Floats = np.round(stages[-1].scores["vote", False] * end)
    never = signs * votes == -end
    if start:
        before = stages[0].scores
        never = signs * (votes - np.round(before["vote", False] * start)) == -n
        never &= signs * before["last", False] <= 0
    never[sample.example, record.vector] = False
    rows = np.flatnonzero(sample.kept)[never.any(axis=1)]
    check_training_data(
        not len(rows),
        f"row {rows[0] if len(rows) else 0} had no mistake in training, and every vector of a whole pass errs on it",
    )


def check_weights(model: AveragedPerceptronClassifier, rows: Rows, labels: Any, kept: NDArray[np.bool_]) -> Assumption:
    """Return what was compared, of a model that keeps its weights alone."""
    compared = same_data("the number of rows agrees")
    steps, learnable = round(model.n_epochs_ * model._n_seen), np.flatnonzero(kept)
    steps = model._n_seen if model._once and model.n_epochs_ > 1 else steps
    whole = len(learnable) == model._n_seen and not hasattr(model, "validation_scores_")
    if not whole or steps > MOST_STEPS:
        return compared
    codes = _validation.encode_labels(labels, model.classes_)[1]
    orders = _orders(model, learnable)
    if any(_same_weights(model, rows, codes, order, steps) for order in orders):
        return Assumption("same data", True, f"{REPEATED}, and has the same weights")
    known = not model.shuffle or len(orders) > 1
    if known and (model.converged_ or model._trainer.time == steps) and not (model._once and model.n_epochs_ > 1):
        return Assumption("same data", False, "trained on them again with its parameters, the model comes out another")
    return compared


def _same_weights(
    model: AveragedPerceptronClassifier, rows: Rows, codes: NDArray[np.int64], order: Index, steps: int
) -> bool:
    trainer = model._new_trainer()
    trainer.run(rows, codes, order, steps, n_threads=effective_threads(model.n_jobs))
    if not np.array_equal(trainer.n_mistakes, model.n_mistakes_):
        return False
    for mine, theirs in zip(trainer.last(), model._trainer.last(), strict=True):
        gap, scale = abs(mine - theirs), abs(theirs).max()
        if gap.max() > 1e-9 * scale:
            return False
    return True
