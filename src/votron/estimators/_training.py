"""Steps of `fit` and ``partial_fit`` that classifiers share: kernel, order of presentation, run and history."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral
from types import FrameType
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from votron._util.progress import Progress
from votron._util.resources import chunks, n_bytes, rows_in_bytes
from votron._util.types import Array, Estimator, Floats, Index, Rows
from votron.cluster.rows import SpreadRows
from votron.engine import TrainingRun
from votron.errors import NotRepresentableError, VotronError
from votron.estimators._data import TrainingData, examples_of, warn
from votron.history import TrainingHistory
from votron.kernels import Kernel, make_kernel
from votron.kernels.base import is_precomputed, kernel_class, negative_diagonal
from votron.kernels.precomputed import check_gram
from votron.products import describe
from votron.record import MistakeRecord
from votron.rules.vectors import HeldOutRows, moments_within

T = TypeVar("T")

_LONGEST = 2**62
"""Steps that can be counted."""
MOST_SAMPLED = 1024
"""Rows that are kept for probabilities; fewer, where these would take more than `_MOST_BYTES`."""
_MOST_BYTES = 16 << 20


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
    """Return what "scale" or "auto" stands for, as in scikit-learn's SVC."""
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
    n, learnable = rows.shape[0], np.flatnonzero(diagonal != 0)
    if len(learnable) < at_least:
        raise VotronError(f"No row of X can be learnt: {kernel!r} has K(x, x) = 0 for each of the {n}.")
    if len(learnable) < n:
        warn(f"{n - len(learnable)} of {n} rows have K(x, x) = 0, can never be learnt, and are left out.")
    return learnable


def n_steps_of(model: Estimator, n_examples: int) -> int:
    if model.epochs is None:
        return int(model.MAX_EPOCHS) * n_examples
    return min(max(1, round(float(model.epochs) * n_examples)), _LONGEST)


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


class EarlyStop:
    """Ends training when ``patience`` passes have brought no better prediction of held-out rows."""

    def __init__(
        self, held_out: HeldOutRows, record_at: Callable[[int], MistakeRecord], n: int, n_steps: int, patience: int
    ) -> None:
        self.held_out, self.record_at, self.n, self.n_steps, self.patience = held_out, record_at, n, n_steps, patience
        self.looked, self.over = 0, False

    def look(self, step: int) -> None:
        """Look at the moments up to this step, and judge whether that was long enough."""
        if step <= self.looked:
            return
        self.held_out.look(self.record_at(step), moments_within(self.looked, step, self.n))
        self.looked = step
        best = self.held_out.times[self.held_out.best[0]]
        self.over = -(-step // self.n) - -(-best // self.n) >= self.patience

    def look_on(self, steps: int) -> None:
        """Look at the passes that were left out since the last made no mistake: sums go on to grow in them."""
        while not self.over and self.looked < steps:
            self.look(min(self.looked - self.looked % self.n + self.n, steps))


class OutOfTime(Exception):  # not an error: whoever set the deadline goes on with what there is
    """Training was given up at its deadline."""


class Watch:
    """A watcher of the engine: hands progress on, and ends training when it is time or Ctrl-C is pressed.

    It ends after this block of rows; at a second Ctrl-C at once.
    """

    early_stop: EarlyStop | None = None
    interrupted = False
    before = 0
    """Steps of earlier parts, where each counts its own."""

    def __init__(self, bar: Progress | None, words: Callable[[int, int], str], deadline: float) -> None:
        self.bar, self.words, self.deadline = bar, words, deadline

    def update(self, step: int, epoch: int, mistakes: int) -> None:
        if self.bar is not None:
            self.bar.update(self.before + step, self.words(epoch, mistakes))
        if time.monotonic() > self.deadline:
            raise OutOfTime
        stop = self.early_stop
        if stop is not None and (step % stop.n == 0 or step >= stop.n_steps):
            stop.look(step)

    def should_stop(self) -> bool:
        return self.interrupted or (self.early_stop is not None and self.early_stop.over)

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


def watched(
    model: Estimator,
    train: Callable[[Watch], T],
    n_steps: int,
    *,
    unit: str = "examples",
    words: Callable[[int, int], str] = "epoch {}, {:,} mistakes".format,
) -> tuple[T, bool]:
    """Return the outcome of training, and whether Ctrl-C ended it."""
    with Progress(n_steps, True, unit=unit) if model.verbose else nullcontext() as bar:
        watch = Watch(bar, words, model._deadline)
        with watch.minding_ctrl_c():
            return train(watch), watch.interrupted


def in_epochs(model: Estimator, n_steps: int, train: Callable[[Watch], TrainingRun]) -> TrainingRun:
    run, interrupted = watched(model, train, n_steps)
    return replace(run, interrupted=interrupted)


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

    def part(self, some: Index) -> Sample:
        before = {key: scores[some] for key, scores in self.before.items()}
        return replace(self, rows=self.rows[some], labels=self.labels[some], times=self.times[some], before=before)

    def joined(self, more: Sample) -> Sample:
        """Return these rows and those of a later batch, without the oldest where they are too many."""
        sparse = sp.issparse(self.rows) or sp.issparse(more.rows)
        pair = [sp.csr_matrix(rows) if sparse else rows for rows in (self.rows, more.rows)]
        both = Sample(
            sp.vstack(pair, format="csr") if sparse else np.concatenate(pair),
            np.concatenate([self.labels, more.labels]),
            np.concatenate([self.times, more.times]),
            {key: np.concatenate([scores, more.before[key]]) for key, scores in self.before.items()},
        )
        both = both.part(np.arange(len(both))[-_room(both.rows, MOST_SAMPLED) :])
        return replace(both, grouped=come_grouped(both.labels))


def second_half(order: Index, presented: int, rows: Rows, most: int = MOST_SAMPLED, *, later: bool = False) -> Index:
    """Return the steps before which rows are sampled: of the first pass the second half, of a later batch all along."""
    n = min(presented, len(order))
    if later:
        return evenly(n, most)
    return n // 2 + evenly(n - n // 2, _room(rows, most))


def evenly(n: int, most: int) -> Index:
    """Return at most so many of the numbers below n, from first to last, equally far from one another."""
    return np.arange(n) if n <= most else np.arange(most) * n // most


def _room(rows: Rows | SpreadRows, most: int) -> int:
    size: int = max(1, n_bytes(rows) // max(1, rows.shape[0]))
    return max(1, min(most, _MOST_BYTES // size))


def class_numbers(codes: Index, n_vectors: int) -> Index:
    """Return the numbers of the classes, of which training calls the second of two 0."""
    return np.asarray(1 - codes if n_vectors == 1 else codes, dtype=np.int64)


def come_grouped(codes: Index) -> bool:
    runs = 1 + np.count_nonzero(codes[1:] != codes[:-1])
    few = len(codes) > 1 and runs <= 1 + codes.max()  # if not, there is no need to count classes
    return bool(few and runs == len(np.unique(codes)) < len(codes))


def history_of(model: Estimator, data: TrainingData, n_learnable: int, **more: Any) -> TrainingHistory:
    gamma = model.gamma if reads_gamma(getattr(model, "kernel", None)) else None
    return TrainingHistory(
        n_rows=data.n_given,
        n_zero_weight=data.n_given - len(data.codes),
        n_unlearnable=len(data.codes) - n_learnable,
        n_numbered=data.n_given,
        fingerprint=data.fingerprint,
        weighted=data.weights is not None,
        gamma_from=gamma if isinstance(gamma, str) else None,
        **more,
    )


def history_of_fit(
    model: Estimator, data: TrainingData, order: Index, held_out: Index, run: TrainingRun
) -> TrainingHistory:
    seed = model.random_state
    return history_of(
        model,
        data,
        len(order) + len(held_out),
        interrupted=run.interrupted,
        n_epochs=run.steps / len(order),
        rows_repeated=run.steps > len(order),
        shuffled=bool(model.shuffle),
        seed=int(seed) if model.shuffle and isinstance(seed, Integral) else None,
        converged=run.converged,
        n_held_out=len(held_out),
        end_chosen_by="early_stopping" if getattr(model, "early_stopping", False) else None,
    )


def history_with_batch(model: Estimator, data: TrainingData, order: Index, **more: Any) -> TrainingHistory:
    batch = history_of(model, data, len(order), n_epochs=1.0, n_batches=1, **more)
    return model.history_.then(batch) if hasattr(model, "history_") else batch


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
        warn(
            f"Training made mistakes in each of {model.MAX_EPOCHS} epochs, the most that epochs=None allows: {remedy}.",
            ConvergenceWarning,
        )
