"""Steps of `fit` and ``partial_fit`` that classifiers share: data, kernel, order of presentation, run and history."""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from votron._util.resources import available_memory, chunks, n_bytes, rows_in_bytes
from votron._util.text import rounded_bytes
from votron._util.types import Array, Estimator, Floats, Index, Labels, Rows, RowsLike
from votron.cluster.rows import SpreadRows
from votron.engine import TrainingRun
from votron.errors import NotRepresentableError, VotronError
from votron.estimators._validation import (
    check_two_classes,
    encode_labels,
    examples_of,
    is_collection,
    read_classes,
    validated,
)
from votron.history import Fingerprint, TrainingHistory
from votron.kernels import Kernel, make_kernel
from votron.kernels.base import is_precomputed, kernel_class, negative_diagonal
from votron.kernels.precomputed import check_gram
from votron.products import describe
from votron.record import MistakeRecord

if TYPE_CHECKING:
    from votron.estimators.base import VotronClassifier

T = TypeVar("T")

SAMPLE = 1024
"""Rows of the first pass that are kept for probabilities; fewer, where these would take more than `_SAMPLE_BYTES`."""
_SAMPLE_BYTES = 16 << 20
_WORTH_ASKING = 64 << 20
"""Bytes of weights from which on free memory is looked up."""
_LONGEST = 2**62
"""Steps that can be counted."""
_OF_ONE_RUN = ("cluster_account_", "validation_moments_", "validation_scores_")
"""Attributes that further training does not keep."""


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
class TrainingData:
    """Rows to train on, and the code of each: the number of the vector that it is positive for."""

    rows: Rows | SpreadRows
    codes: Index
    n_given: int
    kept: Index | None
    """The numbers of the rows with a weight above 0; None: all."""
    weights: Floats | None
    """None: all the same."""
    fingerprint: Fingerprint | None

    def held_out(self, some: Index, kernel: Kernel) -> tuple[Rows, Index, Floats | None]:
        """Return some rows as a fitted model takes them, with their codes and weights."""
        rows = self.with_all_columns(self.rows[some], kernel)
        return rows, self.codes[some], None if self.weights is None else self.weights[some]

    def with_all_columns(self, rows: Rows, kernel: Kernel) -> Rows:
        """Return rows with a column for every row that was given, where columns are kernel values with rows."""
        if self.kept is None or not is_precomputed(kernel):
            return rows
        wide = np.zeros((rows.shape[0], self.n_given), dtype=rows.dtype)
        wide[:, self.kept] = rows
        return wide

    def as_given(self, record: MistakeRecord) -> MistakeRecord:
        """Return a record of these rows with the numbers that they had among those given."""
        return record if self.kept is None else replace(record, example=self.kept[record.example])


def training_data(
    model: VotronClassifier,
    X: RowsLike,
    y: Labels,
    sample_weight: ArrayLike | None = None,
    *,
    scaled: bool = True,
    batch: bool = False,
    classes: Labels = None,
) -> TrainingData:
    """Validate what `fit` or, with ``batch``, ``partial_fit`` was given, and set ``classes_``.

    Weights are ``scaled`` to a mean of 1, but not those of a batch.
    """
    first, kernel = not (batch and hasattr(model, "history_")), getattr(model, "kernel", None)
    rows: Rows
    for name in _OF_ONE_RUN:
        model.__dict__.pop(name, None)
    if model._takes_collections and is_collection(X):
        from votron.estimators._collections import gathered, spread

        rows, labels = spread(model, X, y, kernel=kernel, reset=first)
        sample_weight = None if sample_weight is None else gathered(sample_weight, rows, "sample_weight")
    else:
        rows, labels = validated(model, X, y, kernel=kernel, reset=first)
    known = classes
    if not first:
        known = model.classes_
        if classes is not None and not np.array_equal(named := read_classes(classes), known):
            raise _changed("The 'classes'", known.tolist(), named.tolist(), "classes")
        for name, value in model._fixed.items():
            if (now := getattr(model, name)) != value:
                raise _changed(f"The {name!r} parameter of {type(model).__name__}", value, now, name)
    model._fixed = {name: getattr(model, name) for name in model._FIXED_IN_BATCHES}
    n, some, kept, weights = len(labels), rows, None, None
    if sample_weight is not None or getattr(model, "class_weight", None) is not None:
        from votron.estimators._weights import weighed  # most rows have no weights

        scaled = scaled and not batch
        kept, weights = weighed(model, labels, sample_weight, scaled=scaled, classes=known, least=int(not batch))
    if kept is not None:
        labels = labels[kept]
        if is_precomputed(kernel):
            check_gram(rows)
            some = rows[np.ix_(kept, kept)]
        else:
            some = rows[kept]
    model.classes_, codes = encode_labels(labels, known)
    check_two_classes(model.classes_, some.shape)
    fingerprint = None
    if not isinstance(rows, SpreadRows):
        given = codes
        if kept is not None:  # the classes of rows of weight 0 do not count
            given = np.full(n, -1)
            given[kept] = codes
        fingerprint = Fingerprint.of(rows, given, first=0 if first else model.history_.n_rows)
    return TrainingData(some, codes, n, kept, weights, fingerprint)


def _changed(what: str, before: object, now: object, parameter: str) -> VotronError:
    return VotronError(
        f"{what} must be the same at every call of partial_fit: {before!r}. Got {now!r} instead.", parameter=parameter
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


# -- kernel ------------------------------------------------------------------------------------------------------------


def reads_gamma(kernel: object) -> bool:
    """Tell whether a model's ``gamma`` matters to what its parameter ``kernel`` stands for."""
    cls = kernel_class(kernel)
    return cls is not None and "gamma" in cls.parameters()


def kernel_on(model: Estimator, X: Rows | SpreadRows) -> Kernel:
    if is_precomputed(model.kernel):
        check_gram(examples_of(X))
    gamma = model.gamma
    if isinstance(gamma, str):
        gamma = resolved_gamma(gamma, X) if reads_gamma(model.kernel) else 1.0
    kernel = make_kernel(
        model.kernel,
        degree=int(model.degree),
        gamma=float(gamma),
        coef0=float(model.coef0),
        normalize=bool(model.normalize_kernel),
    )
    kernel.check(examples_of(X))
    return kernel


def resolved_gamma(gamma: str, rows: Rows | SpreadRows) -> float:
    """Return the number that "scale" or "auto" stands for, as in scikit-learn's SVC."""
    n_features = int(rows.shape[1])
    if gamma == "auto":
        return 1.0 / n_features
    n, integer = rows.shape[0] * n_features, describe(examples_of(rows)).integer
    if isinstance(rows, SpreadRows):
        n_stored, sums = rows.n_stored, rows.sums
    else:
        values = rows.data if sp.issparse(rows) else rows
        n_stored, sums = values.size, partial(_sums, values)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.sum(sums(None)) / n
        centre = np.rint(mean) if integer else mean  # sums of integers are exact, dense or sparse
        variance = (np.sum(sums(centre)) + (n - n_stored) * centre**2) / n - (mean - centre) ** 2
    if not np.isfinite(variance):
        raise NotRepresentableError(
            "The variance of X, which gamma='scale' divides by, exceeds the largest float64: scale the data down."
        )
    return float(1.0 / (n_features * variance)) if variance > 0 else 1.0


def _sums(values: Array, centre: float | None) -> list[float]:
    """Return the sums of parts of the values, or of their squared distances from a centre."""
    parts = chunks(len(values), rows_in_bytes(values))
    if centre is None:
        return [values[part].sum(dtype=np.float64) for part in parts]
    return [np.square(values[part].astype(np.float64) - centre).sum() for part in parts]


def learnable_rows(rows: Rows | SpreadRows, kernel: Kernel, *, at_least: int = 1) -> Index:
    """Return the numbers of the rows with K(x, x) > 0; warn of the others."""
    spread = isinstance(rows, SpreadRows)
    diagonal = kernel.finite(kernel.diagonal(rows.squares(kernel))) if spread else kernel.diag(rows)
    if (diagonal < 0).any():
        raise negative_diagonal(kernel, diagonal)
    return check_learnable(rows.shape[0], np.flatnonzero(diagonal != 0), at_least, "K(x, x) = 0", repr(kernel))


# -- order -------------------------------------------------------------------------------------------------------------


def n_steps_of(model: Estimator, n_examples: int) -> int:
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


def presentation(
    model: Estimator, learnable: Index, data: TrainingData, rng: np.random.RandomState, *, hold_out: bool
) -> tuple[Index, Index]:
    """Return the rows to present, in order, and those held out: a share of every class that has enough of them."""
    order, held_out = learnable, learnable[:0].copy()  # a view would keep all of them in memory
    if hold_out:
        if isinstance(data.rows, SpreadRows):
            raise VotronError(
                "No rows can be held out of Dask collections: train without early stopping, by another rule."
            )
        n, owner, codes = len(learnable), type(model).__name__, data.codes[learnable]
        n_held = int(np.ceil(model.validation_fraction * n))
        if n_held >= n:
            raise VotronError(
                f"The 'validation_fraction' parameter of {owner} must leave an example to train on, of {n} that can "
                f"be learnt. Got {model.validation_fraction!r} instead.",
                parameter="validation_fraction",
            )
        kept, held = held_out_split(codes, n_held, rng, every_class_trained=True)
        if not len(held):
            raise VotronError(
                f"Too few examples for {owner} to hold some out, since every class keeps one to train on. "
                f"Got {n} example(s) of {len(np.unique(codes))} class(es)."
            )
        order, held_out = learnable[kept], learnable[held]
    return rng.permutation(order) if model.shuffle else order, held_out


def held_out_split(
    labels: Array, n_held: int, random_state: np.random.RandomState | int, *, every_class_trained: bool
) -> tuple[Index, Index]:
    """Return the numbers of the rows to train on and of those set aside: a share of every class, if all have enough.

    Otherwise rows are drawn whatever their class; with ``every_class_trained`` one row of every class stays.
    """
    rows, rng = np.arange(len(labels)), check_random_state(random_state)
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


# -- the run -----------------------------------------------------------------------------------------------------------


def check_room(model: Estimator, needed: int) -> None:
    if needed > _WORTH_ASKING and needed > (free := available_memory()):
        raise VotronError(
            f"The weights of {model.n_features_in_:,} features and {len(model.classes_):,} classes take "
            f"{rounded_bytes(needed)} in training, and {rounded_bytes(free)} are free: select or hash features, "
            "or take fewer classes."
        )


class Watch:
    """Hands progress on, and tells the engine to stop after this block when Ctrl-C is pressed; at a second one, now."""

    def __init__(self) -> None:
        self.report: Callable[[int, int, int], None] | None = None
        self.interrupted = False
        self.before = 0
        """Steps of earlier parts, where each counts its own."""

    def update(self, step: int, epoch: int, mistakes: int) -> None:
        if self.report is not None:
            self.report(self.before + step, epoch, mistakes)

    def should_stop(self) -> bool:
        return self.interrupted

    def interrupt(self, signum: int, frame: FrameType | None) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True

    @contextmanager
    def minding_ctrl_c(self) -> Iterator[None]:
        """Handle Ctrl-C, unless somebody else does, or nobody can from this thread."""
        mine = threading.current_thread() is threading.main_thread()
        if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self.interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def watched(model: Estimator, train: Callable[[Watch], T], n_steps: int, **shown: Any) -> tuple[T, bool]:
    """Train, and return the outcome and whether Ctrl-C ended training."""
    watch = Watch()

    def work() -> T:
        with watch.minding_ctrl_c():
            return train(watch)

    if model.verbose or hasattr(model, "_deadline"):
        from votron.estimators._watching import listened_to  # most training runs unheard

        return listened_to(model, work, watch, n_steps, **shown), watch.interrupted
    return work(), watch.interrupted


def in_epochs(model: Estimator, n_steps: int, train: Callable[[Watch], TrainingRun]) -> TrainingRun:
    run, interrupted = watched(model, train, n_steps)
    return replace(run, interrupted=interrupted)


def history_of_fit(
    model: Estimator, data: TrainingData, order: Index, held_out: Index, run: TrainingRun
) -> TrainingHistory:
    seed = model.random_state
    return replace(
        history_of(model, data, len(order) + len(held_out), run.interrupted),
        n_epochs=run.steps / len(order),
        rows_repeated=run.steps > len(order),
        shuffled=bool(model.shuffle),
        seed=int(seed) if model.shuffle and isinstance(seed, Integral) else None,
        converged=run.converged,
        n_held_out=len(held_out),
        end_chosen_by="early_stopping" if getattr(model, "early_stopping", False) else None,
    )


def history_with_batch(model: Estimator, data: TrainingData, order: Index, run: TrainingRun) -> TrainingHistory:
    batch = replace(history_of(model, data, len(order), run.interrupted), n_epochs=1.0, n_batches=1)
    return model.history_.then(batch) if hasattr(model, "history_") else batch


def history_of(model: Estimator, data: TrainingData, n_learnable: int, interrupted: bool = False) -> TrainingHistory:
    """Return what any training has in its history."""
    gamma = model.gamma if reads_gamma(getattr(model, "kernel", None)) else None
    return TrainingHistory(
        n_rows=data.n_given,
        n_zero_weight=data.n_given - len(data.codes),
        n_unlearnable=len(data.codes) - n_learnable,
        n_numbered=data.n_given,
        fingerprint=data.fingerprint,
        weighted=data.weights is not None,
        interrupted=interrupted,
        gamma_from=gamma if isinstance(gamma, str) else None,
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
    """Rows for probabilities: their classes, and the steps of training before each was presented."""

    rows: Rows
    labels: Index
    times: Index
    before: Mapping[str, Floats] = field(default_factory=dict)
    """Their scores at that time, by predictor, where they cannot be computed later."""
    grouped: bool = False
    """Whether classes came one after another, so that the sample lacks some."""
    held_out: bool = False

    def __len__(self) -> int:
        return len(self.labels)


def evenly(n: int, most: int) -> Index:
    """Return at most so many of the numbers below n, from first to last, equally far from one another."""
    return np.arange(n) if n <= most else np.arange(most) * n // most


def second_half(order: Index, presented: int, rows: Rows, most: int = SAMPLE, *, later: bool = False) -> Index:
    """Return the steps before which rows are sampled: of the first pass the second half, of a later batch all along."""
    n = min(presented, len(order))
    if later:
        return evenly(n, most)
    return n // 2 + evenly(n - n // 2, room_for_sample(rows, most))


def room_for_sample(rows: Rows | SpreadRows, most: int) -> int:
    size: int = max(1, n_bytes(rows) // max(1, rows.shape[0]))
    return max(1, min(most, _SAMPLE_BYTES // size))


def class_numbers(codes: Index, n_vectors: int) -> Index:
    """Return the numbers of the classes, of which training calls the second of two 0."""
    return np.asarray(1 - codes if n_vectors == 1 else codes, dtype=np.int64)


def come_grouped(codes: Index) -> bool:
    """Tell whether labels come class after class."""
    runs = 1 + np.count_nonzero(codes[1:] != codes[:-1])
    few = len(codes) > 1 and runs <= 1 + codes.max()  # if not, there is no need to count classes
    return bool(few and runs == len(np.unique(codes)) < len(codes))
