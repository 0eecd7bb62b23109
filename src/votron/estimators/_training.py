"""Steps of `fit` and ``partial_fit`` that classifiers share: data, order of presentation, and history."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from votron._util.arrays import n_bytes
from votron._util.resources import available_memory
from votron._util.text import rounded_bytes
from votron._util.types import Array, Estimator, Floats, Index, Labels, Rows, RowsLike
from votron.cluster.rows import SpreadRows
from votron.engine import TrainingRun
from votron.errors import VotronError
from votron.estimators._kernels import gamma_from
from votron.estimators._validation import (
    check_same_classes,
    check_two_classes,
    encode_labels,
    read_classes,
    validated,
)
from votron.estimators._watching import Watch, watched
from votron.history import Fingerprint, TrainingHistory
from votron.kernels.base import is_precomputed
from votron.kernels.precomputed import check_gram
from votron.record import MistakeRecord

if TYPE_CHECKING:
    from votron.estimators.base import VotronClassifier

SAMPLE = 1024
"""Rows of the first pass that are kept for probabilities; fewer, where these would take more than `_SAMPLE_BYTES`."""
_SAMPLE_BYTES = 16 << 20
_WORTH_ASKING = 64 << 20
"""Bytes of weights from which on free memory is looked up."""
_LONGEST = 2**62
"""Steps that can be counted."""


@contextmanager
def unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Leave the estimator as it was if fitting fails or is broken off."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def outside_votron() -> int:
    """Return the stack level of the first caller outside the package, whose line a warning is to name."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("votron."):
        frame, level = frame.f_back, level + 1
    return level


# -- data --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowWeights:
    """The weights of rows: how many were given, which of them have a weight above 0, and these weights.

    ``kept`` is None if all have one, ``each`` if all that have one count the same.
    """

    n_given: int
    kept: Index | None = None
    each: Floats | None = None

    def of(self, rows: Rows, labels: Array, kernel: Any) -> tuple[Rows, Array]:
        """Return the rows and labels to train on; of kernel values, those of such rows with each other."""
        if self.kept is None:
            return rows, labels
        if is_precomputed(kernel):
            check_gram(rows)
            return rows[np.ix_(self.kept, self.kept)], labels[self.kept]
        return rows[self.kept], labels[self.kept]


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows to train on, the code of each (the number of the vector that it is positive for), and their weights."""

    rows: Rows | SpreadRows
    codes: Index
    weights: RowWeights
    fingerprint: Fingerprint | None

    def with_all_columns(self, rows: Rows, kernel: Any) -> Rows:
        """Return rows with a column for every row that was given, where columns are kernel values with rows."""
        kept = self.weights.kept
        if kept is None or not is_precomputed(kernel):
            return rows
        wide = np.zeros((rows.shape[0], self.weights.n_given), dtype=rows.dtype)
        wide[:, kept] = rows
        return wide

    def as_given(self, record: MistakeRecord) -> MistakeRecord:
        """Return a record of these rows with the numbers that they had among those given."""
        kept = self.weights.kept
        return record if kept is None else replace(record, example=kept[record.example])


def training_data(
    model: VotronClassifier,
    X: RowsLike,
    y: Labels,
    sample_weight: ArrayLike | None = None,
    *,
    kernel: Any = None,
    scaled: bool = True,
    batch: bool = False,
    classes: Labels = None,
    fixed: Mapping[str, Any] | None = None,
) -> TrainingData:
    """Validate what `fit` or, with ``batch``, ``partial_fit`` was given, and set ``classes_``.

    Weights are ``scaled`` to a mean of 1. Parameters that are ``fixed`` must have the values of the first batch.
    """
    first = not (batch and hasattr(model, "history_"))
    rows, labels = validated(model, X, y, kernel=kernel, reset=first)
    known = classes
    if not first:
        known = model.classes_
        if classes is not None:
            check_same_classes(read_classes(classes), known)
        check_unchanged(model, fixed or {})
    weights = RowWeights(len(labels))
    if sample_weight is not None or getattr(model, "class_weight", None) is not None:
        from votron.estimators._weights import weighed  # most rows have no weights

        weights = weighed(
            model, labels, sample_weight, scaled=scaled and not batch, classes=known, least=int(not batch)
        )
    some, labels = weights.of(rows, labels, kernel)
    model.classes_, codes = encode_labels(labels, known)
    check_two_classes(model.classes_, some.shape)
    return TrainingData(some, codes, weights, _fingerprint(rows, codes, weights, 0 if first else model.history_.n_rows))


def _fingerprint(rows: Rows | SpreadRows, codes: Index, weights: RowWeights, first: int) -> Fingerprint | None:
    """Return the fingerprint of the rows as given; the classes of rows of weight 0 do not count."""
    if isinstance(rows, SpreadRows):
        return None
    if weights.kept is not None:
        given = np.full(weights.n_given, -1)
        given[weights.kept] = codes
        codes = given
    return Fingerprint.of(rows, codes, first=first)


def check_unchanged(estimator: BaseEstimator, fixed: Mapping[str, Any]) -> None:
    """Refuse to go on from what was learnt with other values of these parameters."""
    for name, value in fixed.items():
        if getattr(estimator, name) != value:
            raise VotronError(
                f"The {name!r} parameter of {type(estimator).__name__} must be the same at every call of "
                f"partial_fit: {value!r}. Got {getattr(estimator, name)!r} instead.",
                parameter=name,
            )


def check_learnable(n: int, learnable: Index, at_least: int, why_not: str, whose: str = "X") -> Index:
    """Return the numbers of the rows that can be learnt; warn of the others."""
    if len(learnable) < at_least:
        raise VotronError(f"No row of X can be learnt: {whose} has {why_not} for each of the {n}.")
    if len(learnable) < n:
        warnings.warn(
            f"{n - len(learnable)} of {n} rows have {why_not}, can never be learnt, and are left out.",
            UserWarning,
            stacklevel=outside_votron(),
        )
    return learnable


# -- order -------------------------------------------------------------------------------------------------------------


def n_steps_of(model: Estimator, n_examples: int) -> int:
    """Return how many examples ``epochs`` presents."""
    if model.epochs is None:
        return int(model.MAX_EPOCHS) * n_examples
    n_steps = round(float(model.epochs) * n_examples)
    if not 1 <= n_steps <= _LONGEST:
        raise VotronError(
            f"The 'epochs' parameter of {type(model).__name__} must present between 1 and 2^62 examples, of "
            f"{n_examples} in an epoch. Got {model.epochs!r} instead.",
            parameter="epochs",
        )
    return n_steps


def presentation(model: Estimator, learnable: Index, codes: Index, rng: Any, *, hold_out: bool) -> tuple[Index, Index]:
    """Return the rows to present, in order, and the rows held out."""
    order, held_out = learnable, learnable[:0].copy()  # a view would keep all of them in memory
    if hold_out:
        order, held_out = validation_split(learnable, codes, model.validation_fraction, type(model).__name__, rng)
    return rng.permutation(order) if model.shuffle else order, held_out


def held_out_split(labels: Array, n_held: int, rng: Any, *, every_class_trained: bool) -> tuple[Index, Index]:
    """Return the numbers of the rows to train on and of those set aside: a share of every class, if all have enough.

    Otherwise, with ``every_class_trained``, one row of every class stays, whatever the shares: a class that is not
    trained would never be predicted. Without it rows are drawn whatever their class, as ``votron train --test`` does:
    what the seed in a model file held out must be found again.

    Examples
    --------
    >>> from votron.estimators import held_out_split
    >>> kept, held = held_out_split(np.array(list("aaaabbbb")), 2, np.random.RandomState(0), every_class_trained=True)
    >>> len(kept), len(held)
    (6, 2)
    """
    rows = np.arange(len(labels))
    counts = np.unique(labels, return_counts=True)[1]
    enough = counts.min() >= 2 and min(n_held, len(rows) - n_held) >= len(counts)
    kept = held = rows[:0]
    if enough or not every_class_trained:
        kept, held = train_test_split(rows, test_size=n_held, stratify=labels if enough else None, random_state=rng)
    if every_class_trained and len(np.unique(labels[kept])) < len(counts):
        shuffled = rng.permutation(rows)
        stays = np.unique(labels[shuffled], return_index=True)[1]
        others = np.delete(shuffled, stays)
        kept, held = np.append(shuffled[stays], others[n_held:]), others[:n_held]
    return np.sort(kept), np.sort(held)


def validation_split(order: Index, codes: Index, fraction: float, owner: str, rng: Any) -> tuple[Index, Index]:
    """Return the rows to train on, some of every class, and those set aside, a share of every class that has enough."""
    n_held = int(np.ceil(fraction * len(order)))
    if n_held >= len(order):
        raise VotronError(
            f"The 'validation_fraction' parameter of {owner} must leave an example to train on, of {len(order)} "
            f"that can be learnt. Got {fraction!r} instead.",
            parameter="validation_fraction",
        )
    kept, held = held_out_split(codes[order], n_held, rng, every_class_trained=True)
    if not len(held):
        raise VotronError(
            f"Too few examples for {owner} to hold some out, since every class keeps one to train on. "
            f"Got {len(order)} example(s) of {len(np.unique(codes[order]))} class(es)."
        )
    return order[kept], order[held]


# -- the run -----------------------------------------------------------------------------------------------------------


def check_is_trained(model: Estimator) -> None:
    """Refuse to show what a trainer has learnt before there is one."""
    if not hasattr(model, "_trainer"):
        raise AttributeError(f"This {type(model).__name__} is not fitted yet: call fit or partial_fit first.")


def check_room(model: Estimator, needed: int) -> None:
    """Refuse weights for which there is no memory."""
    if needed > _WORTH_ASKING and needed > (free := available_memory()):
        raise VotronError(
            f"The weights of {model.n_features_in_:,} features and {len(model.classes_):,} classes take "
            f"{rounded_bytes(needed)} in training, and {rounded_bytes(free)} are free: select or hash features, "
            "or take fewer classes."
        )


def in_epochs(model: Estimator, n_steps: int, n_examples: int, train: Callable[[Watch], TrainingRun]) -> TrainingRun:
    """Train under watch, and return what happened."""
    known = model.epochs is not None
    run, interrupted = watched(model, train, n_steps, n_examples, known=known, forecast=known)
    return replace(run, interrupted=interrupted)


def history_of_fit(
    model: Estimator, data: TrainingData, order: Index, held_out: Index, run: TrainingRun
) -> TrainingHistory:
    """Return the history of a call of `fit`."""
    seed = model.random_state
    return replace(
        _history(data, len(order) + len(held_out), run),
        n_epochs=run.steps / len(order),
        rows_repeated=run.steps > len(order),
        shuffled=bool(model.shuffle),
        seed=int(seed) if model.shuffle and isinstance(seed, Integral) else None,
        converged=run.converged,
        gamma_from=gamma_from(model),
        n_held_out=len(held_out),
        end_chosen_by="early_stopping" if getattr(model, "early_stopping", False) else None,
    )


def history_with_batch(model: Estimator, data: TrainingData, order: Index, run: TrainingRun) -> TrainingHistory:
    """Return the history after a call of ``partial_fit``."""
    batch = replace(_history(data, len(order), run), n_epochs=1.0, n_batches=1)
    return model.history_.then(batch) if hasattr(model, "history_") else batch


def _history(data: TrainingData, n_learnable: int, run: TrainingRun) -> TrainingHistory:
    n_given = data.weights.n_given
    return TrainingHistory(
        n_rows=n_given,
        n_zero_weight=n_given - len(data.codes),
        n_unlearnable=len(data.codes) - n_learnable,
        n_numbered=n_given,
        fingerprint=data.fingerprint,
        weighted=data.weights.each is not None,
        interrupted=run.interrupted,
    )


def hand_on_ctrl_c(run: TrainingRun, n_steps: int) -> None:
    """Raise KeyboardInterrupt for a Ctrl-C that ended training, now that the model is fitted."""
    if run.interrupted:
        raise KeyboardInterrupt(
            f"Training stopped after {n_steps:,} examples; the model has what it learnt until then."
        )


def tell_of_end(model: Estimator, run: TrainingRun, remedy: str) -> None:
    """Hand Ctrl-C on; warn if ``epochs=None`` did not converge."""
    hand_on_ctrl_c(run, run.steps)
    if model.epochs is None and not run.converged and not getattr(model, "early_stopping", False):
        warnings.warn(
            f"Training made mistakes in each of {model.MAX_EPOCHS} epochs, the most that epochs=None allows: {remedy}.",
            ConvergenceWarning,
            stacklevel=outside_votron(),
        )


# -- rows for probabilities --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows for probabilities: their classes, and the steps of training before each was presented.

    ``before`` has their scores at that time, by predictor, where they cannot be computed later. ``grouped`` says that
    classes came one after another, so that the sample lacks some; ``held_out`` that training did not see the rows.
    """

    rows: Rows
    labels: Index
    times: Index
    before: Mapping[Any, Floats] = field(default_factory=dict)
    grouped: bool = False
    held_out: bool = False

    def __len__(self) -> int:
        return len(self.labels)


def evenly(n: int, most: int) -> Index:
    """Return at most so many of the numbers below n, from first to last, equally far from one another."""
    return np.arange(n) if n <= most else np.arange(most) * n // most


def second_half(order: Index, presented: int, rows: Rows, most: int = SAMPLE) -> Index:
    """Return the steps before which rows are sampled: of those presented in the first pass, the second half."""
    n = min(presented, len(order))
    return n // 2 + evenly(n - n // 2, room_for_sample(rows, most))


def room_for_sample(rows: Rows | SpreadRows, most: int) -> int:
    """Return how many such rows a sample may have."""
    size: int = max(1, n_bytes(rows) // max(1, rows.shape[0]))
    return max(1, min(most, _SAMPLE_BYTES // size))


def class_numbers(codes: Index, n_vectors: int) -> Index:
    """Return the numbers of the classes, of which training calls the second of two 0."""
    return np.asarray(1 - codes if n_vectors == 1 else codes, dtype=np.int64)


def come_grouped(codes: Index) -> bool:
    """Tell whether labels come class after class."""
    changes = np.count_nonzero(codes[1:] != codes[:-1])
    if len(codes) < 2 or changes > codes.max():
        return False  # more changes than classes: there is no need to count these
    return bool(changes + 1 == len(np.unique(codes)) < len(codes))
