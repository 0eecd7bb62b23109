"""The averaged perceptron on explicit weights, as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from votron._util.types import Floats, Index, Label, Labels, Params, Rows, RowsLike
from votron.cluster.rows import SpreadRows
from votron.engine import PrimalTrainer, TrainingRun
from votron.estimators import _training as training
from votron.estimators._data import (
    CLASS_WEIGHT_CONSTRAINTS,
    MARGIN_CONSTRAINTS,
    TrainingData,
    available_unless,
    check_learns_in_batches,
    margins_of,
    training_data,
)
from votron.estimators._probabilities import ProbabilisticClassifier, slope_of
from votron.estimators._training import Sample, class_numbers, come_grouped, second_half
from votron.kernels import LinearKernel
from votron.rules.forms import Form, Linear, linear_scores
from votron.rules.vectors import n_right

if TYPE_CHECKING:
    from votron.estimators._evidence import WeightsView

__all__ = ["AveragedPerceptronClassifier"]

_SCORED, _PAUSES = 512, 4
"""Rows that are scored before they are learnt, and moments at which training pauses for that."""


@dataclass(eq=False, repr=False)
class AveragedPerceptronClassifier(ProbabilisticClassifier):
    """Averaged perceptron for dense and sparse data, many features and many classes.

    The perceptron adds an example to its class's weight vector where it made a mistake; the average of its vectors over
    all steps of training predicts better than the last of them. All classes share one pass over a row.

    Parameters
    ----------
    epochs : float or None, default=10
        Passes through the data; a fraction stops within a pass. Training ends early when a pass makes no mistake, and
        the average counts the remaining steps as if it had not. None trains until then, for 1000 passes at most.
    average : bool, default=True
        Predict by the mean of all vectors; otherwise by the last. It can be changed after training with ``set_params``.
    fit_intercept : bool, default=True
        Give every example one more feature that is always one. Its weight is the intercept.
    early_stopping : bool, default=False
        In `fit`, set ``validation_fraction`` of the data aside, stop after three passes without improvement on it, and
        keep the vectors of the best.
    margin : float or dict, default=0.5
        τ: update also where a row is right by no more than τ ‖x‖², the feature that is always one included. Large on
        noisy data, small on clean ones. A dict has τ by label, 0 for those not named (uneven margins; Li et al., 2002).
    multiclass : {"joint", "ovr"}, default="joint"
        Train three classes or more together, or each against the rest. "joint": where the score of a row's class
        exceeds the best of the others by no more than τ ‖x‖², it gains the row and that other loses it, in one thread.
    shuffle, validation_fraction, random_state, verbose, n_jobs, class_weight
        As in `VotedPerceptronClassifier`.

    Attributes
    ----------
    coef_ : array or CSR matrix of shape (n_vectors, n_features)
        Weights of the features, read-only. Two classes have one vector, for the second of them.
    intercept_ : array of shape (n_vectors,)
        Weights of the feature that is always one, read-only.
    n_mistakes_ : int array of shape (n_vectors,)
        Updates of each vector in training; with ``multiclass="joint"`` an update counts for both classes.
    validation_scores_ : list of float
        With early stopping: the accuracy on the held-out part after each pass.
    classes_, n_epochs_, converged_, history_, n_features_in_, feature_names_in_
        As in `VotedPerceptronClassifier`.

    See Also
    --------
    VotedPerceptronClassifier : With kernels, and with more rules of prediction.
    OnlinePerceptron : One example at a time.

    Notes
    -----
    Weights of rows and classes, and Ctrl-C, are as in `VotedPerceptronClassifier`. A score of 0 predicts the second of
    two classes. Dense and sparse data give the same weights to the last bit.

    References
    ----------
    Y. Freund and R. E. Schapire, *Large Margin Classification Using the Perceptron Algorithm*, Machine Learning 37
    (1999). For ``multiclass="joint"``: M. Collins, *Discriminative Training Methods for Hidden Markov Models*, EMNLP
    2002; K. Crammer and Y. Singer, *Ultraconservative Online Algorithms for Multiclass Problems*, JMLR 3 (2003). For
    margins by class: Y. Li et al., *The Perceptron Algorithm with Uneven Margins*, ICML 2002.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from votron import AveragedPerceptronClassifier
    >>> texts = ["rain and wind", "wind, then rain", "sun all day", "a day of sun", "snow, no wind", "snow, more snow"]
    >>> labels = ["rain", "rain", "sun", "sun", "snow", "snow"]
    >>> model = make_pipeline(TfidfVectorizer(), AveragedPerceptronClassifier(random_state=0)).fit(texts, labels)
    >>> model.predict(["more rain", "a little sun"]).tolist()
    ['rain', 'sun']
    """

    epochs: float | None = 10
    average: bool = True
    fit_intercept: bool = True
    shuffle: bool = True
    early_stopping: bool = False
    validation_fraction: float = 0.1
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0
    n_jobs: int | None = None
    margin: float | dict[Label, float] = 0.5
    multiclass: str = "joint"
    class_weight: Mapping[Label, float] | str | None = None

    _takes_collections = True
    _FIXED_IN_BATCHES = ("fit_intercept", "margin", "multiclass")
    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "epochs": [Interval(Real, 0, None, closed="neither"), None],
        "average": ["boolean"],
        "fit_intercept": ["boolean"],
        "shuffle": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
        "margin": MARGIN_CONSTRAINTS,
        "multiclass": [StrOptions({"ovr", "joint"})],
        "class_weight": CLASS_WEIGHT_CONSTRAINTS,
    }

    def fit(self, X: RowsLike, y: Labels, sample_weight: ArrayLike | None = None) -> Self:
        with training.unchanged_on_error(self):
            self._validate_params()
            data = training_data(self, X, y, sample_weight)
            rng, hold_out = check_random_state(self.random_state), bool(self.early_stopping)
            order, held_out = training.presentation(
                self, self._learnable(data.rows, at_least=1), data, rng, hold_out=hold_out
            )
            n_steps, trainer = training.n_steps_of(self, len(order)), self._new_trainer()
            scored = ScoredRows(trainer, data, order, min(n_steps, len(order)))
            if self.early_stopping:
                run, trainer = self._train_until_best(trainer, data, order, n_steps, held_out, scored)
            else:
                run = self._train(trainer, data, order, n_steps, scored)
                if self.epochs is not None and not run.interrupted:
                    trainer.time = n_steps  # after convergence the vectors only grow older
            self._keep(trainer)
            self.history_ = training.history_of_fit(self, data, order, held_out, run)
            self._sample, self._slopes = scored.sample(grouped=not self.shuffle), {}
            if len(held_out):
                self._take_held_out(data.rows[held_out], data.codes[held_out], trainer.time)
        training.tell_of_end(self, run, "the data may not be separable; give a number of epochs")
        return self

    @available_unless(check_learns_in_batches)
    def partial_fit(
        self, X: RowsLike, y: Labels, classes: Labels = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Go on learning: one pass over new data, in their order.

        One call after another gives exactly the weights of one unshuffled pass over all of the data.

        Parameters
        ----------
        X, y : data and labels
            New examples.
        classes : array, optional
            All labels that will ever come; needed at the first call unless its y has them all.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows, taken as they are; rows of weight 0 are left out.
        """
        with training.unchanged_on_error(self):
            first = not hasattr(self, "_trainer")
            self._validate_params()
            data = training_data(self, X, y, sample_weight, batch=True, classes=classes)
            order = self._learnable(data.rows, at_least=0)
            trainer = self._new_trainer() if first else self._trainer
            run, sample = TrainingRun(0, False, False), None
            if len(order):
                on_cluster = isinstance(data.rows, SpreadRows)  # where copies learn, until one is taken over
                with nullcontext() if on_cluster else trainer.undone_on_error(data.rows):
                    scored = ScoredRows(trainer, data, order, len(order))
                    run = self._train(trainer, data, order, len(order), scored)
                sample = scored.sample(grouped=True)
            self._add_to_sample(sample)
            self._keep(trainer)
            self.history_ = training.history_with_batch(self, data, order, interrupted=run.interrupted)
        training.hand_on_ctrl_c(run, run.steps)
        return self

    def _new_trainer(self) -> PrimalTrainer:
        return PrimalTrainer(
            self.n_features_in_,
            self._n_vectors,
            bias=bool(self.fit_intercept),
            margin=margins_of(self),
            joint=self.multiclass == "joint",
        )

    def _learnable(self, rows: Rows | SpreadRows, at_least: int) -> Index:
        if self.fit_intercept:
            return np.arange(rows.shape[0])
        return training.learnable_rows(rows, LinearKernel(), at_least=at_least)

    def _train(
        self,
        trainer: PrimalTrainer,
        data: TrainingData,
        order: Index,
        n_steps: int,
        scored: ScoredRows,
        after_pass: Callable[[], bool] | None = None,
    ) -> TrainingRun:
        rows, weights = data.rows, data.weights
        if isinstance(rows, SpreadRows):
            run: Callable[..., TrainingRun] = partial(SpreadRows.present, trainer=trainer, weights=weights)
        else:
            options: Params = {"n_threads": self._n_threads, "after_pass": after_pass, "pauses": scored.pauses}
            run = partial(trainer.run, weights=weights, **options)
        train = partial(run, rows, data.codes, order, n_steps)
        return training.in_epochs(self, n_steps, lambda watch: train(watcher=watch))

    def _train_until_best(
        self,
        trainer: PrimalTrainer,
        data: TrainingData,
        order: Index,
        n_steps: int,
        held_out: Index,
        scored: ScoredRows,
    ) -> tuple[TrainingRun, PrimalTrainer]:
        """Return the run, and the trainer where the held-out part was predicted best."""
        unseen, answers, weights = data.rows[held_out], data.codes[held_out], data.weights
        count = None if weights is None else weights[held_out]
        in_all = len(answers) if count is None else float(count.sum())
        scores: list[float] = []
        best = [trainer]

        def no_better() -> bool:
            right = n_right(linear_scores(unseen, *self._linear(trainer)), answers, count)
            scores.append(min(right / in_all, 1.0))
            if scores[-1] > max(scores[:-1], default=-1.0):
                best[0] = trainer.copy()
            return len(scores) - 1 - scores.index(max(scores)) >= self.PATIENCE

        run = self._train(trainer, data, order, n_steps, scored, no_better)
        self.validation_scores_ = scores
        return replace(run, converged=run.converged and best[0].time == trainer.time), best[0]

    def _keep(self, trainer: PrimalTrainer) -> None:
        self._trainer, self.n_mistakes_ = trainer, trainer.n_mistakes

    def _predictor_key(self) -> str:
        return "average" if self.average else "last"

    def _predictor_keys(self) -> list[str]:
        return ["average", "last"]

    def _computed_slopes(self, keys: list[str]) -> dict[str, float]:
        assert self._sample is not None
        made = {"average": self._trainer.average, "last": self._trainer.last}
        after = {key: linear_scores(self._sample.rows, *made[key]()) for key in keys}
        before = {key: self._sample.before.get(key, after[key]) for key in keys}
        return {key: slope_of(before[key], after[key], self._sample.labels) for key in keys}

    @property
    def coef_(self) -> Rows:
        """Weights of the features."""
        return self._linear()[0]

    @property
    def intercept_(self) -> Floats:
        """Weights of the feature that is always one."""
        return self._linear()[1]

    def _linear(self, trainer: PrimalTrainer | None = None) -> tuple[Rows, Floats]:
        trainer = trainer or self._trainer
        return trainer.average() if self.average else trainer.last()

    def _scores(self, rows: Rows) -> Floats:
        self._validate_params()
        return linear_scores(rows, *self._linear())

    def _for_theory(self) -> WeightsView:
        from votron.estimators._evidence import WeightsView  # most models are never certified

        return WeightsView(self)

    def _form(self) -> tuple[Form, tuple[str, ...]]:
        dropped = (
            "learning on (partial_fit)",
            f"the {'last vector' if self.average else 'average'} (set_params(average={not self.average}))",
            "margins and the certificate (votron.certify)",
        )
        return Linear(*self._linear()), dropped

    def sparsify(self) -> AveragedPerceptronClassifier:
        """Keep the nonzero weights only, with ``coef_`` as a CSR matrix, until `densify` or further training."""
        check_is_fitted(self)
        self._trainer.sparsify()
        return self

    def densify(self) -> AveragedPerceptronClassifier:
        """Keep all weights, with ``coef_`` as an array, as after training."""
        check_is_fitted(self)
        self._trainer.densify()
        return self


class ScoredRows:
    """Rows that are scored before they are learnt, in the first pass, by weights that are gone when it ends.

    Of a first batch the second half is scored, of a further one rows all along.
    """

    def __init__(self, trainer: PrimalTrainer, data: TrainingData, order: Index, n_steps: int) -> None:
        self._trainer, self._data, self._order, self._first = trainer, data, order, trainer.time
        self._scored: list[tuple[Index, Floats, Floats]] = []
        at = second_half(order, n_steps, data.rows, _SCORED, later=trainer.time > 0)
        self.pauses = {int(part[0]): partial(self._score, part) for part in np.array_split(at, _PAUSES) if len(part)}

    def _score(self, at: Index) -> None:
        average, last = self._trainer.scores(self._data.rows[self._order[at]])
        self._scored.append((at, average, last))

    def sample(self, *, grouped: bool) -> Sample | None:
        """Return the rows that were scored, ``grouped`` if their classes are; None if training ended before."""
        if not self._scored:
            return None
        at, average, last = (np.concatenate(parts) for parts in zip(*self._scored, strict=True))
        rows, codes = self._order[at], self._data.codes
        labels = class_numbers(codes[rows], self._trainer.n_vectors)
        grouped = grouped and come_grouped(codes[self._order])
        return Sample(self._data.rows[rows], labels, self._first + at, {"average": average, "last": last}, grouped)
