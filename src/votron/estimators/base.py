"""Base classes of the classifiers: for all, for those that score, are watched in training, and learn in epochs."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from numbers import Integral
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import check_is_fitted

from votron._util.forecast import Forecast
from votron._util.progress import Progress
from votron._util.resources import available_memory
from votron._util.text import rounded_bytes
from votron._util.types import Floats, Index, Rows
from votron.engine import TrainingRun
from votron.errors import Parameter, VotronError
from votron.estimators._collections import on_collections
from votron.estimators._explanations import ExplainedClassifier
from votron.estimators._validation import (
    check_same_classes,
    encode_labels,
    gamma_from,
    read_classes,
    unchanged_on_error,
    validated,
    validation_split,
)
from votron.estimators.parameters import meant_among
from votron.history import TrainingHistory
from votron.record import labels_of

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks
    CallbackSupportMixin, with_callbacks = type("CallbackSupportMixin", (), {}), lambda method: method

if TYPE_CHECKING:
    from votron.estimators._score_functions import Form
    from votron.estimators._weights import RowWeights
    from votron.estimators.compact import CompactClassifier

LEAST_POSITIVE = float(np.finfo(np.float64).tiny)
"""The score that stands for 0, of two classes: its sign tells the label."""
_WORTH_ASKING = 64 << 20
"""Bytes of weights from which it is asked whether there is room for them."""
_LONGEST = 2**62
"""Steps that can be counted."""

T = TypeVar("T")


class SavableClassifier(ExplainedClassifier):
    """A classifier of Votron: it can be explained, saved in a file, and made compact."""

    _tables: ClassVar[dict[str, str]] = {}
    """What suits it of the options of `votron.data.make_encoder`, where that is not what suits most."""

    def save(self, path: str | os.PathLike[str], *, certificate: Any = None, provenance: Any = None) -> None:
        """Save the fitted model in one file, which `votron.load` opens.

        Parameters
        ----------
        path : str or path-like
            The file; by custom its name ends in ``.votron``. What was there is replaced when all is written.
        certificate : Certificate, optional
            What `votron.certify` found, to go with the model.
        provenance : dict, optional
            Where the model comes from, as text, numbers, lists and dicts.
        """
        from votron.saving.models import save  # most models are never saved

        save(self, path, certificate=certificate, provenance=provenance)

    def compact(self) -> CompactClassifier:
        """Return a model that scores as this one does, up to rounding, and keeps nothing else.

        Returns
        -------
        CompactClassifier
            The model; its ``gave_up_`` says what it cannot do any more.
        """
        from votron.estimators.compact import compacted

        return compacted(self._for_file()[0])

    def _for_file(self) -> tuple[Any, dict[str, Any]]:
        """Return the classifier that a file holds, this one or one that it has found; and what to say of where from."""
        return self, {}

    def _form(self) -> tuple[Form, tuple[str, ...]]:
        """Return what the model predicts with, and what is given up by keeping no more."""
        raise NotImplementedError


class ScoreClassifier(SavableClassifier, ClassifierMixin, BaseEstimator):
    """A classifier with one score for two classes, or one a class."""

    classes_: NDArray[Any]
    n_features_in_: int
    _ties_to_first: bool = False
    """True if of two classes a score of 0 predicts the first."""

    n_jobs: int | None

    # -- training and prediction ---------------------------------------------------------------------------------------

    def _validate_params(self) -> None:
        """Refuse what is out of range, as scikit-learn does, and ask whether a name that is nearly right was meant."""
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            for name, allowed in self._parameter_constraints.items():
                if str(error).startswith(f"The {name!r} parameter of"):
                    raise InvalidParameterError(f"{error}{meant_among(allowed, getattr(self, name))}") from None
            raise

    def fit(self, X: Any, y: Any) -> Self:
        """Train on data and labels.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The examples; with ``kernel="precomputed"`` their kernel values with each other.
        y : array of shape (n_samples,)
            The labels: whole numbers, text, or anything else that can be sorted.

        Returns
        -------
        self
            The fitted model.
        """
        return self._fit(X, y)

    def _fit(self, X: Any, y: Any, **more: Any) -> Self:
        """Train on data, labels, and what else there is."""
        with unchanged_on_error(self):
            run = self._learn(*self._checked(X, y, **more))
            self._name_rows_as(X, y)
        self._after_fit(run)
        return self

    @on_collections
    def decision_function(self, X: Any) -> Floats:
        """Return the scores of rows: the class says what they are.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to score; with ``kernel="precomputed"`` their kernel values with the training examples.

        Returns
        -------
        array of shape (n_samples,) for two classes, else (n_samples, n_classes)
            Positive for the second class; the largest for the predicted one. Of two classes, a score of 0 predicts the
            second: it is returned as 2.2e-308, so that the sign always tells the label.
        """
        check_is_fitted(self)
        rows, _ = validated(self, X, kernel=getattr(self, "kernel_", None), reset=False)
        return self._shaped(self._scores(rows))

    @on_collections
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_samples,)
            The predicted labels; of classes with equal scores the first.
        """
        codes = labels_of(self.decision_function(X), ties_to_first=self._ties_to_first)
        return np.asarray(self.classes_[codes])

    def _checked(self, X: Any, y: Any) -> tuple[Any, ...]:
        """Validate parameters and data; return rows, and for each the number of the vector that it is positive for.

        A class that takes weights also returns these.
        """
        raise NotImplementedError

    def _learn(self, *checked: Any, **more: Any) -> TrainingRun:
        """Train on what `_checked` returns, and set the attributes."""
        raise NotImplementedError

    def _after_fit(self, run: TrainingRun) -> None:
        """Tell what happened, now that the model is fitted."""
        raise NotImplementedError

    def _scores(self, rows: Any) -> Floats:
        """Return the scores, (n_rows, n_vectors)."""
        raise NotImplementedError

    # -- vectors -------------------------------------------------------------------------------------------------------

    def _kernel_of_space(self) -> Any:
        """Return the kernel of the feature space that the vectors are in."""
        return getattr(self, "kernel_", None)

    @property
    def _n_vectors(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _labelled(self, X: Any, y: Any) -> tuple[Rows, NDArray[np.int64]]:
        """Return rows, and for each the number of the vector that it is positive for, as a fitted model takes them."""
        rows, labels = validated(self, X, y, kernel=getattr(self, "kernel_", None), reset=False)
        return rows, encode_labels(labels, self.classes_)[1]

    def _signs(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each row and vector +1 if the vector shall score it positively, else -1."""
        return np.where(codes[:, None] == np.arange(self._n_vectors), 1, -1)

    def _learnable_of(self, rows: Rows, learnable: Index, at_least: int, why_not: str, whose: str = "X") -> Index:
        """Return the numbers of the rows that can be learnt, and tell of the others."""
        n = rows.shape[0]
        if len(learnable) < at_least:
            raise VotronError(f"No row of X can be learnt: {whose} has {why_not} for each of the {n}.")
        if len(learnable) < n:
            warnings.warn(
                f"{n - len(learnable)} of {n} rows have {why_not}, can never be learnt, and are left out.",
                UserWarning,
                stacklevel=outside_votron(),
            )
        return learnable

    def _shaped(self, scores: Floats) -> Floats:
        """Return scores as users get them: of two classes one, never 0, whose sign tells the label."""
        if len(self.classes_) > 2:
            return scores
        return np.where(scores[:, 0] == 0, LEAST_POSITIVE, scores[:, 0])


class WatchedClassifier(CallbackSupportMixin, ScoreClassifier):
    """A classifier whose training is watched: a progress bar and callbacks hear of it, and Ctrl-C ends it early."""

    verbose: int

    def _watched(
        self,
        train: Callable[[Watch], T],
        total_steps: int,
        size: int,
        *,
        part: str = "epoch",
        known: bool = True,
        unit: str = "examples",
        words: Callable[[int, int], str] = "epoch {}, {:,} mistakes".format,
        forecast: Forecast | None = None,
    ) -> tuple[T, bool]:
        """Train, and return what comes of it and whether Ctrl-C or a `Deadline` ended it, after a block.

        Callbacks hear of parts of ``size`` steps; unless it is ``known`` how many parts there are, ``total_steps`` has
        the most. ``words`` says what the bar shows of an epoch and its mistakes, ``forecast`` how long it still takes.
        """

        def work(_: Any) -> tuple[T, bool]:
            tasks = _Tasks(self, part, total_steps, size, known) if hasattr(self, "_skl_callbacks") else None
            with Progress(total_steps, True, unit=unit) if self.verbose else nullcontext() as progress:
                watch = Watch(progress, words, None if tasks is None else tasks.reach, forecast)
                with _ctrl_c(watch):
                    found = train(watch)
            if tasks is not None:
                tasks.end()
            return found, watch.interrupted or watch.late

        return cast("tuple[T, bool]", with_callbacks(work)(self))


class EpochClassifier(WatchedClassifier):
    """A classifier that learns in ``epochs`` passes."""

    MAX_EPOCHS: ClassVar[int] = 1000
    """Passes after which ``epochs=None`` gives up, with a warning."""

    _REMEDY: ClassVar[str]
    """Advice where ``epochs=None`` gives up."""

    epochs: float | None
    shuffle: bool
    validation_fraction: float
    random_state: Any
    n_epochs_: float
    converged_: bool
    history_: TrainingHistory

    def _n_steps(self, n_examples: int) -> int:
        """Return how many examples to present."""
        if self.epochs is None:
            return self.MAX_EPOCHS * n_examples
        n_steps = round(float(self.epochs) * n_examples)
        if not 1 <= n_steps <= _LONGEST:
            raise VotronError(
                Parameter("epochs", of=type(self).__name__),
                f" must present between 1 and 2^62 examples, of {n_examples} in an epoch. Got {self.epochs!r} instead.",
            )
        return n_steps

    def _presentation(
        self, learnable: Index, codes: NDArray[np.int64], rng: Any, *, hold_out: bool
    ) -> tuple[Index, Index]:
        """Return the rows to present, in order, and the rows held out."""
        order, held_out = learnable, learnable[:0].copy()  # a view would keep all of them in memory
        if hold_out:
            order, held_out = validation_split(learnable, codes, self.validation_fraction, type(self).__name__, rng)
        return rng.permutation(order) if self.shuffle else order, held_out

    def _history_of_fit(self, given: RowWeights, order: Index, held_out: Index, run: TrainingRun) -> TrainingHistory:
        """Return the history of a call of `fit`."""
        early, seed = getattr(self, "early_stopping", False), self.random_state
        return TrainingHistory(
            n_rows=given.n_given,
            n_zero_weight=given.n_left_out,
            n_unlearnable=given.n_given - given.n_left_out - len(order) - len(held_out),
            n_numbered=given.n_given,
            fingerprint=given.fingerprint,
            n_epochs=run.steps / len(order),
            rows_repeated=run.steps > len(order),
            shuffled=bool(self.shuffle),
            seed=int(seed) if self.shuffle and isinstance(seed, Integral) else None,
            weighted=given.each is not None,
            converged=run.converged,
            interrupted=run.interrupted,
            gamma_from=gamma_from(self),
            n_held_out=len(held_out),
            end_chosen_by="early_stopping" if early else None,
        )

    def _history_with_batch(self, given: RowWeights, order: Index, run: TrainingRun, *, first: bool) -> TrainingHistory:
        """Return the history after a call of ``partial_fit``."""
        batch = TrainingHistory(
            n_rows=given.n_given,
            n_zero_weight=given.n_left_out,
            n_unlearnable=given.n_given - given.n_left_out - len(order),
            fingerprint=given.fingerprint,
            n_epochs=1.0,
            n_batches=1,
            weighted=given.each is not None,
            interrupted=run.interrupted,
        )
        return batch if first else self.history_.then(batch)

    def _in_epochs(self, n_steps: int, n_examples: int, train: Callable[[Watch], TrainingRun]) -> TrainingRun:
        """Train under watch, and return what happened."""
        known = self.epochs is not None
        forecast = Forecast(n_examples, n_steps) if known else None
        run, interrupted = self._watched(train, n_steps, n_examples, known=known, forecast=forecast)
        return replace(run, interrupted=interrupted)

    def _check_trained(self) -> None:
        """Refuse to show what a trainer has learnt before there is one."""
        if not hasattr(self, "_trainer"):
            raise AttributeError(f"This {type(self).__name__} is not fitted yet: call fit or partial_fit first.")

    def _check_room(self, n_bytes: int) -> None:
        """Refuse weights for which there is no memory, before the system finds out in its own way."""
        if n_bytes > _WORTH_ASKING and n_bytes > (free := available_memory()):
            raise VotronError(
                f"The weights of {self.n_features_in_:,} features and {len(self.classes_):,} classes take "
                f"{rounded_bytes(n_bytes)} in training, and {rounded_bytes(free)} are free: select or hash features, "
                "or take fewer classes."
            )

    def _check_same_classes(self, classes: Any) -> None:
        """Refuse other classes than those of the first call of ``partial_fit``."""
        if classes is not None:
            check_same_classes(read_classes(classes), self.classes_)

    def _after_fit(self, run: TrainingRun) -> None:
        """Tell of Ctrl-C, or that training did not converge where it was to go on until then."""
        self._raise_if(run.interrupted, run.steps)
        if self.epochs is None and not run.converged:
            warnings.warn(
                f"Training made mistakes in each of {self.MAX_EPOCHS} epochs, the most that epochs=None allows: "
                f"{self._REMEDY}.",
                ConvergenceWarning,
                stacklevel=outside_votron(),
            )

    def _raise_if(self, interrupted: bool, steps: int) -> None:
        """Hand the user's Ctrl-C on, now that the model is fitted."""
        if interrupted and not Deadline.ended_training():
            raise KeyboardInterrupt(
                f"Training stopped after {steps:,} examples; the model has what it learnt until then."
            )


def outside_votron() -> int:
    """Return the stack level of the first caller outside the package: the one whose line a warning is to name."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("votron."):
        frame, level = frame.f_back, level + 1
    return level


# -- training under watch ----------------------------------------------------------------------------------------------


class OutOfTime(Exception):  # no error: whoever set the deadline goes on with what there is
    """A training was given up since its `Deadline` was over."""


class Deadline:
    """The moment at which a training that begins in this block of code, in this thread, comes to an end.

    Parameters
    ----------
    at : float
        The moment, as `time.monotonic` counts.
    gives_up : bool, default=False
        Raise `OutOfTime` then, and leave the model as it was; otherwise it keeps what it has learnt.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron import VotedPerceptronClassifier
    >>> with Deadline(time.monotonic()) as deadline:
    ...     model = VotedPerceptronClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> deadline.passed, model.n_epochs_ < 10
    (True, True)
    """

    def __init__(self, at: float, *, gives_up: bool = False) -> None:
        self.at, self.gives_up = at, gives_up
        self.passed = False
        """Whether it ended a training."""

    def __enter__(self) -> Self:
        self._token = _DEADLINE.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _DEADLINE.reset(self._token)

    def is_over(self) -> bool:
        """Tell whether training is to end."""
        if time.monotonic() > self.at:
            self.passed = True
            if self.gives_up:
                raise OutOfTime
        return self.passed

    @staticmethod
    def ended_training() -> bool:
        """Tell whether a deadline, and not the user, has ended training."""
        current = _DEADLINE.get()
        return current is not None and current.passed


_DEADLINE: ContextVar[Deadline | None] = ContextVar("votron_deadline", default=None)


class Watch:
    """Tells a progress bar and callbacks where training is, and training whether the user wants it to stop."""

    def __init__(
        self,
        progress: Progress | None,
        words: Callable[[int, int], str],
        reach: Callable[[int], None] | None,
        forecast: Forecast | None = None,
    ) -> None:
        self._progress, self._words, self._reach, self._forecast = progress, words, reach, forecast
        self._deadline = _DEADLINE.get()
        self.interrupted, self.late = False, False
        self.before = 0
        """Steps of the parts before, where each counts its own."""

    def update(self, step: int, epoch: int, mistakes: int) -> None:
        """Pass the news on."""
        step += self.before
        if self._forecast is not None:
            self._forecast.update(step, mistakes)
            self._announce(self._forecast)
        if self._progress is not None:
            left = None if self._forecast is None else self._forecast.left
            self._progress.update(step, self._words(epoch, mistakes), left)
        if self._reach is not None:
            self._reach(step)

    def _announce(self, forecast: Forecast) -> None:
        """Have it said if this takes long."""
        if (say := forecast.long()) is not None:
            if self._progress is not None:
                self._progress.clear()
            say()

    def should_stop(self) -> bool:
        """Tell whether Ctrl-C was pressed, or time is over."""
        self.late = self._deadline is not None and self._deadline.is_over()
        return self.interrupted or self.late

    def interrupt(self, signum: int, frame: FrameType | None) -> None:
        """Stop after this block; at a second Ctrl-C, at once."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True


@contextmanager
def _ctrl_c(watch: Watch) -> Iterator[None]:
    """Let Ctrl-C ask for an end, unless somebody else handles it, or nobody can from this thread."""
    mine = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if mine else None
    if before is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, watch.interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Tasks:
    """The parts of a run, one as long as another, as the tasks that scikit-learn's callbacks hear of."""

    def __init__(self, estimator: Any, name: str, total_steps: int, size: int, known: bool) -> None:
        self._estimator, self._name, self._total, self._size = estimator, name, total_steps, size
        self._fit = estimator._init_callback_context(max_subtasks=-(-total_steps // size) if known else None)
        self._fit.call_on_fit_task_begin(estimator=estimator)
        self._done = 0
        self._part = self._begun()

    def _begun(self) -> Any:
        part = self._fit.subcontext(task_name=self._name)
        part.call_on_fit_task_begin(estimator=self._estimator)
        return part

    def reach(self, step: int) -> None:
        """Hear how far it is."""
        while self._done < step // self._size:
            self._end_part()
            if step < self._total:
                self._part = self._begun()
            self._done += 1

    def end(self) -> None:
        """Hear that training is over."""
        self._end_part()
        self._fit.call_on_fit_task_end(estimator=self._estimator)

    def _end_part(self) -> None:
        if self._part is not None:
            self._part.call_on_fit_task_end(estimator=self._estimator)
            self._part = None
