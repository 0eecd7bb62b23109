"""The voted perceptron with kernels, as a scikit-learn classifier."""

from __future__ import annotations

import copy
import dataclasses
from collections import abc
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from votron._util.arrays import n_bytes
from votron._util.resources import effective_threads, parse_memory_limit
from votron._util.types import Floats, Index, Labels, Rows, RowsLike
from votron.cluster.client import is_collection
from votron.cluster.rows import SpreadRows
from votron.engine import DualTrainer, LinearTrainer, TrainingRun
from votron.errors import Parameter, Phrase, VotronError
from votron.estimators import _validation
from votron.estimators._best_moment import (
    EarlyStop,
    HeldOutRows,
    codes_of,
    counted,
    first_best,
    moments_within,
    validation_table,
)
from votron.estimators._collections import staged
from votron.estimators._evidence import recorded_errors, recorded_evidence, recorded_margins
from votron.estimators._explanations import RecordReasons
from votron.estimators._probabilities import RecordProbabilities
from votron.estimators._score_functions import Form, Sequence, form_of_vectors
from votron.estimators._weights import (
    CLASS_WEIGHT_CONSTRAINTS,
    MARGIN_CONSTRAINTS,
    RowWeights,
    WeightedFit,
    margins_of,
    weighed,
    why_not_in_parts,
)
from votron.estimators.base import EpochClassifier, Watch
from votron.kernels.base import Kernel, is_precomputed
from votron.record import MistakeRecord
from votron.rules import RULES, Vectors
from votron.rules.vectors import choices_of, moments_of
from votron.theory.evidence import Evidence, Measured
from votron.theory.geometry import Margins

__all__ = ["VotedPerceptronClassifier"]


def _why_no_partial_fit(model: Any) -> VotronError | None:
    name = type(model).__name__
    if is_precomputed(model.kernel):
        return VotronError(
            f"{name} has no partial_fit with kernel='precomputed', "
            "since rows that arrive later have no kernel values with earlier ones."
        )
    if isinstance(model.gamma, str) and _validation.reads_gamma(model.kernel):
        return VotronError(
            Parameter("gamma", of=name),
            " must be a number ",
            Phrase("in parts", "for partial_fit"),
            f", since the data that decide what {model.gamma!r} stands for are not all there. Got {model.gamma!r} "
            "instead.",
        )
    return why_not_in_parts(model)


class VotedPerceptronClassifier(RecordProbabilities, WeightedFit, RecordReasons, EpochClassifier):
    """Voted perceptron with kernels (Freund & Schapire, 1999).

    Training presents the examples in turn; each mistake adds the example to its class's vector. One training run yields
    a whole sequence of vectors, and ``rule`` says how they predict; the rule can be changed afterwards, without
    training again. Several classes are handled one against the rest, sharing all kernel values.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear", "conjunction", "precomputed"}, Kernel or callable, default="rbf"
        The kernel; the papers' experiments have "poly". A callable gets two matrices of rows, float32 or float64, and
        returns the matrix of kernel values; several threads may call it at once, unless ``n_jobs=1``.
    degree : int, default=3
        Degree of the polynomial kernel (gamma x·z + coef0)^degree, which the others do not read.
    gamma : float or {"scale", "auto"}, default="scale"
        Factor of the dot product ("poly") or of the squared distance ("rbf"). "scale" is 1 / (n_features · variance of
        X), "auto" 1 / n_features. The papers' experiments have 1.0.
    coef0 : float, default=1.0
        Constant of the polynomial and of the Gaussian kernel: what gives a vector its threshold.
    normalize_kernel : bool, default=False
        Use K(x, z) / √(K(x, x) K(z, z)). With "precomputed", where K(x, x) of a row to predict is not known, its scores
        lack the factor 1 / √K(x, x); labels are the same.
    epochs : float or None, default=10
        Passes through the data, T; a fraction stops within a pass. Training ends early when a pass makes no mistake,
        and the rules count the remaining steps as if it had not. None trains until then, for 1000 passes at most.
    rule : {"vote", "average", "last", "random", "pocket", "holdout", "auto"}, default="vote"
        How the vectors predict; "auto": by vote, average or last, whichever errs least on held-out rows. "holdout" and
        "auto" set aside ``validation_fraction`` of the data. Rules are described in `votron.rules`.
    normalize_vectors : bool, default=False
        Divide each vector by its length in feature space before it predicts.
    margin : float or dict, default=0.5
        τ: update where y · score ≤ τ K(x, x). The papers' perceptron has 0, and most theorems want it; data that are
        not clean want more, very noisy ones 2 to 8 (docs/accuracy.md). A larger τ brings the last vector closer to the
        maximal margin, for at most (1 + 2τ)(R/γ)² updates where margin γ can be had. A dict has τ by label, 0 for those
        not named: a row's is that of its own class (uneven margins; Li et al., 2002).
    shuffle : bool, default=True
        Shuffle the examples once, before the first pass.
    validation_fraction : float, default=0.1
        Share of the data that ``early_stopping`` and the rules "holdout" and "auto" set aside in ``fit``.
    random_state : int, RandomState instance or None, default=None
        For the shuffle, the held-out part and the random rule.
    memory_limit : int or str, default="auto"
        Memory that training may use beside the data: bytes, or "2GB". What is not needed otherwise keeps dot products
        for later passes; 0 keeps none. "auto" is a quarter of what is free, and at most the larger of 16 times
        the size of the data and 1 GiB: more would not pay. The result does not depend on it.
    n_jobs : int or None, default=None
        Threads. None: as many as this process may use. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar on a terminal and plain lines elsewhere, on standard error.
    class_weight : dict or "balanced", default=None
        Weights of classes by label, 1 for those not named; "balanced" weighs each by n_samples / (n_classes · its
        rows). They multiply the weights of rows, and all are then divided by their mean.
    early_stopping : bool, default=False
        In `fit`, set ``validation_fraction`` of the data aside (the same share of every class where there are enough),
        end training after three passes in a row without a better prediction of it, and keep the record up to the best
        moment, four to a pass, the first among equals. With ``rule="auto"`` moment and rule are chosen together. The
        rows set aside are not learnt afterwards: the model is that of the other rows. Where rows or classes have
        weights, those set aside count by them. `partial_fit` makes its one pass over all it is given.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    support_ : int array of shape (n_support,)
        Rows (in `partial_fit`: presentation numbers) of the examples with a mistake, in order of their first.
    support_vectors_ : array or CSR matrix of shape (n_support, n_features)
        Those examples, in the type they came in. Without columns for precomputed kernels.
    dual_coef_ : array of shape (n_vectors, n_support)
        The final vectors, as coefficients of the support vectors. Two classes have one vector, for the second of them.
    n_support_ : int array of shape (n_vectors,)
        Examples on which each vector made a mistake, once or more often.
    n_mistakes_ : int array of shape (n_vectors,)
        Mistakes of each vector.
    n_epochs_ : float
        Passes that were run; calls of `partial_fit` count as one each.
    converged_ : bool
        Whether `fit` ended with a whole pass without a mistake: the final vectors make none on the training data.
    record_ : MistakeRecord
        All mistakes in order.
    rule_ : str
        The rule that predicts: ``rule``, or what "auto" has chosen.
    validation_moments_ : list of float
        With early stopping: the moments, in epochs, at which the part set aside was predicted.
    validation_scores_ : list of float
        With early stopping: the accuracy on it at each of them, by ``rule_``. ``record_`` ends at the moment of the
        highest, the first among equals (with the rule "holdout", which knows its moment, at the end of training).
    kernel_ : Kernel
        The kernel, with its numbers.
    cluster_account_ : Account
        After training on Dask collections: where time and bytes went.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Names of the features, where the data have names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron import VotedPerceptronClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = VotedPerceptronClassifier(kernel="poly", margin=0.0, degree=2, epochs=30, random_state=0).fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    >>> average = model.with_rule("average")  # the same training, another rule
    >>> average.predict(X[[0, 60, 120]])
    array([0, 1, 2])

    Of few examples of one class among many of another, more are found with weights, or with a margin for that class:

    >>> rare = y == 1
    >>> few = np.flatnonzero(~rare | (np.arange(150) % 10 == 0))
    >>> plain = VotedPerceptronClassifier(random_state=0)
    >>> weighted = VotedPerceptronClassifier(class_weight="balanced", random_state=0)
    >>> uneven = VotedPerceptronClassifier(margin={True: 1.0}, random_state=0)
    >>> [int(m.fit(X[few], rare[few]).predict(X[rare]).sum()) for m in (plain, weighted, uneven)]
    [1, 42, 23]

    Notes
    -----
    With weights, by ``sample_weight`` or ``class_weight``, a mistake adds weight times the example; a vector still has
    a vote for each example that it survives. Rows of weight 0 are left out, as if they had not been given. `fit`
    divides the others by their mean, since with a margin their scale matters; `partial_fit` takes them as they are. A
    weight of 2 is not the row twice: that would be presented twice, and be a mistake once, twice or never.

    A mistake is y · score ≤ 0 and a score of 0 predicts the second class; `votron.record` states all conventions.
    Scores are by the model's rule: those of "vote" are mean votes, from -1 to 1.
    Ctrl-C during `fit` raises KeyboardInterrupt as usual, but leaves a fitted model of what was learnt until then; a
    second one breaks off at once, and leaves the model as it was before.
    """

    PATIENCE: ClassVar[int] = 3
    """Passes without a better prediction of the held-out part after which ``early_stopping`` ends training."""

    AUTO_RULES: ClassVar[tuple[str, ...]] = ("vote", "average", "last")
    """What ``rule="auto"`` chooses among; of equally good ones the first."""

    _REMEDY = "the data may not be separable with this kernel; give a number of epochs, or raise the degree"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_validation.KERNEL_CONSTRAINTS,
        "epochs": [Interval(Real, 0, None, closed="neither"), None],
        "rule": [_validation.NameIn(RULES, also=("auto",))],
        "normalize_vectors": ["boolean"],
        "margin": MARGIN_CONSTRAINTS,
        "class_weight": CLASS_WEIGHT_CONSTRAINTS,
        "shuffle": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
        "memory_limit": [Interval(Integral, 0, None, closed="left"), str],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "early_stopping": ["boolean"],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 1.0,
        normalize_kernel: bool = False,
        epochs: float | None = 10,
        rule: str = "vote",
        normalize_vectors: bool = False,
        margin: Any = 0.5,
        shuffle: bool = True,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        memory_limit: int | str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        class_weight: Any = None,
        early_stopping: bool = False,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.normalize_kernel = normalize_kernel
        self.epochs = epochs
        self.rule = rule
        self.normalize_vectors = normalize_vectors
        self.margin = margin
        self.shuffle = shuffle
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.class_weight = class_weight
        self.early_stopping = early_stopping

    kernel_: Kernel
    record_: MistakeRecord

    # -- training -----------------------------------------------------------------------------------------------------

    def _learn(self, rows: Rows, codes: NDArray[np.int64], weights: RowWeights) -> TrainingRun:
        """Train, and set the attributes."""
        rng = check_random_state(self.random_state)
        learnable, hold_out = self._learnable(rows, at_least=1), self.early_stopping or needs_held_out(self.rule)
        if hold_out:
            _validation.refuse_spread(rows, "Early stopping and the rules 'holdout' and 'auto'")
        order, held_out = self._presentation(learnable, codes, rng, hold_out=hold_out)
        n_steps, seed = self._n_steps(len(order)), _new_seed(rng)
        trainer = self._new_trainer(rows, n_steps, weighted=weights.each is not None)
        self._forget_choices()
        chosen_rule = None
        if self.early_stopping:
            run, record, chosen_rule = self._train_until_best(
                trainer, rows, codes, order, n_steps, held_out, seed, weights.each
            )
            self._keep(trainer.support_rows[: len(record.support)], weights.named(record), seed)
        else:
            run = self._train(trainer, rows, codes, order, n_steps, weights=weights.each)
            length = run.steps if self.epochs is None or run.interrupted else n_steps
            self._keep(trainer.support_rows, weights.named(trainer.record(len(order), length)), seed)
        self.n_epochs_, self.converged_ = run.steps / len(order), run.converged
        history = self._history_of_fit(weights, order, held_out, run)
        repeated = min(run.steps, self.record_.n_steps) > len(order)
        self.history_ = dataclasses.replace(history, rows_repeated=repeated, chosen_rule=chosen_rule)
        if self.rule == "auto" and not self.early_stopping:
            of_held_out = None if weights.each is None else weights.each[held_out]
            self._choose_rule(weights.widened(rows[held_out], self.kernel_), codes[held_out], of_held_out)
        elif needs_held_out(self.rule) and self.rule != "auto":
            self._set_holdout(weights.widened(rows[held_out], self.kernel_), codes[held_out])
        sample = self._sample_pass(rows, codes, order, min(run.steps, self.record_.n_steps))
        self._take_pass(dataclasses.replace(sample, rows=weights.widened(sample.rows, self.kernel_)))
        if len(held_out):
            self._sample_held_out(weights.widened(rows[held_out], self.kernel_), codes[held_out])
        return run

    def _after_fit(self, run: TrainingRun) -> None:
        """Tell what happened; early stopping is no failure to converge."""
        super()._after_fit(dataclasses.replace(run, converged=run.converged or bool(self.early_stopping)))

    @partial(_validation.AvailableWhere, _why_no_partial_fit)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> VotedPerceptronClassifier:
        """Go on learning: one pass over new data, in their order, from where the record ends.

        Earlier data need not be kept. One call after another gives exactly the record of one unshuffled pass over all
        of the data (to rounding only, if float32 data are whole numbers in some batches and fractions in others, or
        short rows in some and so long ones in others that a Gaussian kernel must multiply them in float64). A call
        costs time in the number of support vectors, so give rows in batches where you can. The rule "holdout" then
        needs data of its own, given to `with_rule`.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            New examples.
        y : array of shape (n_samples,)
            Their labels.
        classes : array, optional
            All labels that will ever come; needed at the first call unless its y has them all.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows, taken as they are, since the mean over all calls is not known; rows of weight 0 are
            left out. With weights of mean 1 an update is as large as in `fit`.

        Returns
        -------
        self : VotedPerceptronClassifier
            The model.
        """
        with _validation.unchanged_on_error(self):
            first = not hasattr(self, "record_")
            rows, codes, weights = self._checked(
                X, y, sample_weight=sample_weight, classes=classes, first=first, whole=False
            )
            order = self._learnable(rows, at_least=0)
            trainer = self._resumed(rows)
            steps = trainer.time
            first_id = 0 if first else max(trainer.time, self.history_.n_numbered)
            ids = np.zeros(rows.shape[0], dtype=np.int64)
            ids[order] = first_id + np.arange(len(order))
            run = self._train(trainer, rows, codes, order, len(order), ids, weights.each)
            seed = _new_seed(check_random_state(self.random_state)) if first else self._vectors.seed
            self._keep(trainer.support_rows, trainer.record(max(1, trainer.time)), seed)
            self._add_to_sample(self._sample_pass(rows, codes, order, run.steps, first=steps))
            self.n_epochs_, self.converged_ = 1.0 if first else self.n_epochs_ + 1.0, False
            history = self._history_with_batch(weights, order, run, first=first)
            self.history_ = dataclasses.replace(history, n_numbered=first_id + len(order))
        self._raise_if(run.interrupted, self.record_.n_steps)
        return self

    def _new_trainer(self, rows: Rows, n_steps: int, weighted: bool = False) -> DualTrainer | LinearTrainer:
        """Return the engine that is fastest on these data; the record is the same. The linear one knows no weights."""
        # early stopping asks for the record on the way, which the linear engine has at the end only
        exact = not (self.early_stopping or self._largest_margin or weighted or isinstance(rows, SpreadRows))
        linear = exact and self.kernel_.affine() is not None
        if linear and LinearTrainer.suits(self.kernel_, rows, self._n_vectors, n_steps):
            return LinearTrainer(self.kernel_, self._n_vectors)
        return DualTrainer(self.kernel_, self._n_vectors, self._margins)

    @property
    def _margins(self) -> float | Floats:
        """τ, or where it differs by class, for the rows of each code."""
        return margins_of(self)

    @property
    def _largest_margin(self) -> float:
        """The largest τ of a class."""
        return float(np.max(self._margins))

    def _resumed(self, rows: Rows) -> DualTrainer:
        """Return a trainer that stands where the record ends, if there is one."""
        if hasattr(self, "record_"):
            return DualTrainer.resume(self.kernel_, self._margins, self.record_, self.support_vectors_)
        trainer = DualTrainer(self.kernel_, self._n_vectors, self._margins)
        trainer.support_rows = _validation.examples_of(rows)[:0]
        return trainer

    def _checked(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        classes: Any = None,
        first: bool = True,
        whole: bool = True,
    ) -> tuple[Rows, NDArray[np.int64], RowWeights]:
        """Validate parameters and data, the ``whole`` or a part; set ``classes_`` and ``kernel_``."""
        self._validate_params()
        parse_memory_limit(self.memory_limit, type(self).__name__)
        effective_threads(self.n_jobs, type(self).__name__)
        X, y = _validation.validated(self, X, y, kernel=self.kernel, reset=first)
        if not first:
            self._check_same_classes(classes)
        known = classes if first else self.classes_
        weights = weighed(self, y, sample_weight, scaled=whole, classes=known, least=int(whole))
        given = X
        X, y = weights.of(X, y, self.kernel)
        kernel = _validation.kernel_on(self, X)
        if not first and kernel != self.kernel_:  # its vectors are in another feature space
            raise VotronError(
                f"The kernel must be the same at every call of partial_fit: {self.kernel_!r}. Got {kernel!r} instead."
            )
        self.classes_, codes = _validation.encode_labels(y, classes if first else self.classes_)
        _validation.check_two_classes(self.classes_, X.shape)
        if not isinstance(self.kernel, Kernel):  # one that was given is taken as it is
            some = _validation.examples_of(X)
            kernel = kernel.suited_to(some) if first else self.kernel_.still_suited_to(some)
        self.kernel_ = kernel
        return X, codes, weights.recognising(given, codes, first=0 if first else self.history_.n_rows)

    def _learnable(self, rows: Rows, at_least: int) -> Index:
        """Return the numbers of the rows that can be learnt, and tell of the others."""
        learnable = _validation.learnable_rows(rows, self.kernel_)
        return self._learnable_of(rows, learnable, at_least, "K(x, x) = 0", repr(self.kernel_))

    def _train(
        self,
        trainer: DualTrainer | LinearTrainer,
        rows: Rows,
        codes: NDArray[np.int64],
        order: Index,
        n_steps: int,
        ids: Index | None = None,
        weights: Floats | None = None,
        stop: EarlyStop | None = None,
    ) -> TrainingRun:
        """Run the engine, which may be told to stop early."""
        if not n_steps:
            return TrainingRun(0, False, False)
        run = self._runner(trainer, rows, order, n_steps, ids, weights)

        def train(watch: Watch) -> TrainingRun:
            return run(rows, codes, order, n_steps, watcher=watch if stop is None else stop.beside(watch))

        done = self._in_epochs(n_steps, len(order), train)
        if isinstance(rows, SpreadRows):
            self.cluster_account_ = rows.account
        return done

    def _train_until_best(
        self,
        trainer: DualTrainer | LinearTrainer,
        rows: Rows,
        codes: NDArray[np.int64],
        order: Index,
        n_steps: int,
        held_out: Index,
        seed: int,
        weights: Floats | None,
    ) -> tuple[TrainingRun, MistakeRecord, str | None]:
        """Run the engine; return what happened, the record until the best moment by held-out rows, and the rule."""
        n, looks_for_itself = len(order), self.rule != "auto" and RULES[self.rule].needs_held_out
        unseen = HeldOutRows(
            self.kernel_,
            rows,
            rows[held_out],
            codes[held_out],
            self._choices("last" if looks_for_itself else self.rule),
            seed,
            effective_threads(self.n_jobs),
            None if weights is None else weights[held_out],
        )
        stop = EarlyStop(unseen, partial(trainer.record, n), n, n_steps, self.PATIENCE)
        run = self._train(trainer, rows, codes, order, n_steps, weights=weights, stop=stop)
        stop.look(run.steps)
        if self.epochs is not None and run.converged and not run.interrupted:
            stop.look_on(n_steps)
        whole = trainer.record(n, stop.looked)
        record = whole if looks_for_itself else whole.until(unseen.times[unseen.best[0]])
        self.validation_moments_, self.validation_scores_ = validation_table(unseen, n)
        chosen = unseen.choices[unseen.best[1]][0] if self.rule == "auto" else None
        return dataclasses.replace(run, converged=run.converged and len(record) == len(whole)), record, chosen

    def _choices(self, rule: str) -> list[tuple[str, bool]]:
        """Return what may predict, by rule: one, or those that "auto" stands for."""
        return [(name, bool(self.normalize_vectors)) for name in (self.AUTO_RULES if rule == "auto" else (rule,))]

    def _choose_rule(self, rows: Rows, codes: NDArray[np.int64], weights: Floats | None = None) -> None:
        """Choose what "auto" stands for, by held-out rows at the end of training."""
        chosen = self._looked_at(rows, codes, [self.record_.n_steps], "auto", weights)[1]
        self.history_ = dataclasses.replace(self.history_, chosen_rule=chosen)

    def _looked_at(
        self, rows: Rows, codes: NDArray[np.int64], times: list[int], rule: str, weights: Floats | None = None
    ) -> tuple[int, str]:
        """Return of some moments and rules the best by held-out rows, from one scan over the record."""
        choices, right = self._choices(rule), []
        for stage in self._vectors.staged(rows, times, choices, n_threads=effective_threads(self.n_jobs)):
            right.append([counted(codes_of(stage.scores[choice]) == codes, weights) for choice in choices])
        i, j = first_best(right)
        return times[i], choices[j][0]

    def _forget_choices(self) -> None:
        """Forget what an earlier fit chose by held-out rows."""
        for name in ("validation_moments_", "validation_scores_"):
            self.__dict__.pop(name, None)

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
        n_threads = effective_threads(self.n_jobs)
        if isinstance(rows, SpreadRows):
            assert isinstance(trainer, DualTrainer)
            return rows.runner(trainer, ids=ids, weights=weights, memory_limit=self.memory_limit, n_threads=n_threads)
        run = partial(trainer.run, n_threads=n_threads)
        if isinstance(trainer, DualTrainer):
            repeats = n_steps > len(order) or trainer.n_events > trainer.n_support
            memory = parse_memory_limit(self.memory_limit, data_bytes=n_bytes(rows)) if repeats else 0
            run = partial(run, ids=ids, weights=weights, memory=memory)
        return run

    def _keep(self, rows: Rows, record: MistakeRecord, seed: int) -> None:
        """Set the attributes that follow from the record and its examples."""
        self.record_ = record
        self.support_ = record.support
        self.support_vectors_ = rows[:, :0] if is_precomputed(self.kernel_) else rows
        used = np.unique(record.vector.astype(np.int64) * (len(record.support) + 1) + record.slot)
        self.n_support_ = np.bincount(used // (len(record.support) + 1), minlength=record.n_vectors)
        self.n_mistakes_ = record.n_mistakes
        self._vectors = Vectors(record, self.kernel_, rows, seed)

    @property
    def dual_coef_(self) -> Floats:
        """Coefficients of the support vectors, from the record: for many classes they take more room than it does."""
        return self.record_.dual_coef()

    # -- prediction ---------------------------------------------------------------------------------------------------

    @property
    def rule_(self) -> str:
        """The rule that predicts: ``rule``, or what "auto" has chosen."""
        if self.rule != "auto":
            return self.rule
        if "history_" not in self.__dict__ or self.history_.chosen_rule is None:
            raise AttributeError(f"This {type(self).__name__} has chosen no rule: call fit with rule='auto' first.")
        return self.history_.chosen_rule

    def _predicting_rule(self) -> str:
        """Return the rule that predicts, or tell what it takes to choose one."""
        if self.rule == "auto" and self.history_.chosen_rule is None:
            raise VotronError(
                "The rule 'auto' needs held-out data: fit with rule='auto', or give X_val and y_val to "
                "with_rule('auto', ...)."
            )
        return self.rule_

    def _scores(self, rows: Rows) -> Floats:
        """Return the scores by the model's rule."""
        self._validate_params()
        choice = self._predicting_rule(), bool(self.normalize_vectors)
        return self._vectors.scores(rows, *choice, n_threads=effective_threads(self.n_jobs))

    def with_rule(
        self,
        rule: str,
        normalize_vectors: bool = False,
        *,
        X_val: Any = None,
        y_val: Any = None,
    ) -> VotedPerceptronClassifier:
        """Return a shallow copy of the fitted model that predicts by another rule from the same record.

        Parameters
        ----------
        rule : str
            One of the rules.
        normalize_vectors : bool, default=False
            Whether vectors are divided by their lengths.
        X_val, y_val : data and labels, optional
            For "holdout": choose the vectors that err least on these data. For "auto": choose the rule that does.

        Returns
        -------
        VotedPerceptronClassifier
            The copy.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from votron import VotedPerceptronClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = VotedPerceptronClassifier(random_state=0).fit(X[::2], y[::2])
        >>> best = model.with_rule("holdout", X_val=X[1::2], y_val=y[1::2])
        >>> bool(best.score(X[1::2], y[1::2]) >= model.with_rule("last").score(X[1::2], y[1::2]))
        True
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other.rule, other.normalize_vectors = rule, normalize_vectors
        other._validate_params()
        if (X_val is None) != (y_val is None):
            raise VotronError(
                f"X_val and y_val go together. Got {'y_val' if X_val is None else 'X_val'} alone instead."
            )
        if X_val is not None and not needs_held_out(rule):
            raise VotronError(
                f"X_val and y_val are for the rules 'holdout' and 'auto' only. Got the rule {rule!r} instead."
            )
        if rule == "auto":
            if X_val is not None:
                other._choose_rule(*self._labelled(X_val, y_val))
            other._predicting_rule()  # refuses where none was chosen
        elif X_val is not None:
            held_out = self._labelled(X_val, y_val)
            other._set_holdout(*held_out)
            other._sample_held_out(*held_out)
        elif RULES[rule].needs_held_out and self._vectors.holdout is None:
            raise VotronError(
                f"The rule {rule!r} needs held-out data: ",
                Phrase("held-out data", "give X_val and y_val, or fit with that rule", rule=rule),
                ".",
            )
        return other

    def with_best_moment(self, X_val: Any, y_val: Any, rule: str | None = None) -> VotedPerceptronClassifier:
        """Return a shallow copy of the fitted model whose training ends at the moment that predicts given data best.

        What ``early_stopping`` does with rows that it sets aside, for data at hand: of all moments, four to a pass, the
        first with the fewest errors. Training is not repeated.

        Parameters
        ----------
        X_val, y_val : data and labels
            What to predict; they should not be among the training data.
        rule : str, optional
            The rule; "auto" chooses one too. By default the model's own.

        Returns
        -------
        VotedPerceptronClassifier
            The copy.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from votron import VotedPerceptronClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> model = VotedPerceptronClassifier(random_state=0).fit(X[:1000], y[:1000])
        >>> best = model.with_best_moment(X[1000:1400], y[1000:1400], rule="auto")
        >>> bool(best.score(X[1000:1400], y[1000:1400]) >= model.score(X[1000:1400], y[1000:1400]))
        True
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other.rule = self.rule if rule is None else rule
        other._validate_params()
        if other.rule != "auto" and RULES[other.rule].needs_held_out:
            return self.with_rule(other.rule, bool(self.normalize_vectors), X_val=X_val, y_val=y_val)
        m = self.record_.n_examples
        times = moments_within(0, min(self.record_.n_steps, round(max(1.0, self.n_epochs_) * m)), m)
        held_out = self._labelled(X_val, y_val)
        time, chosen = other._looked_at(*held_out, times, other.rule)
        record, rows, seed = self.record_.until(time), self._vectors.support_rows, self._vectors.seed
        other._keep(rows[: len(record.support)], record, seed)
        other.converged_ = self.converged_ and len(record) == len(self.record_)
        other.history_ = dataclasses.replace(
            self.history_,
            rows_repeated=self.history_.rows_repeated and time > m,
            converged=other.converged_,
            end_chosen_by=self.history_.end_chosen_by or "with_best_moment",
            chosen_rule=chosen if other.rule == "auto" else self.history_.chosen_rule,
        )
        return other._sample_held_out(*held_out)

    def _in_feature_space(self, X: RowsLike, y: Labels, vector: str) -> Margins:
        """Return what `votron.theory.margins` asks for."""
        return recorded_margins(self, X, y, vector)

    def _evidence(self, X: RowsLike, y: Labels, comparators: Any) -> Evidence:
        """Return what `votron.theory.certify` asks for."""
        return recorded_evidence(self, X, y, comparators)

    def _measured(self, X: RowsLike, y: Labels) -> dict[str, Measured]:
        """Return the errors of all predictors on test data."""
        return recorded_errors(self, X, y)

    def _set_holdout(self, rows: Rows, codes: NDArray[np.int64]) -> None:
        curve = self._vectors.holdout_curve(rows, codes, n_threads=effective_threads(self.n_jobs))
        self._vectors = dataclasses.replace(self._vectors, holdout=curve)

    def _explained_form(self) -> Form:
        """Return all vectors, and the rule, which knows what makes its scores."""
        self._validate_params()
        return Sequence(self._vectors, self._predicting_rule(), bool(self.normalize_vectors))

    def _form(self) -> tuple[Form, tuple[str, ...]]:
        """Return what the model's rule needs, and what is given up by keeping no more."""
        self._validate_params()
        chosen = self._predicting_rule()
        others = [rule for rule in RULES if rule != chosen]
        gave_up = (
            "learning on (partial_fit)",
            f"the other rules ({', '.join(others)}) and earlier moments of training (staged_decision_function)",
            "margins and the certificate (votron.certify)",
        )
        return form_of_vectors(self._vectors, chosen, bool(self.normalize_vectors)), gave_up

    def staged_decision_function(
        self,
        X: Any,
        at: Iterable[float] | None = None,
        rules: abc.Sequence[str | tuple[str, bool]] | None = None,
    ) -> Iterator[tuple[float, dict[Any, Floats]]]:
        """Yield the scores of any rules at any moments of training, from one scan over the record.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to score.
        at : sequence of float, optional
            Moments in epochs, such as [0.1, 1, 2], visited in rising order; by default the end of each epoch run.
        rules : sequence, optional
            Rule names, or pairs (name, normalize_vectors); by default the model's own rule.

        Yields
        ------
        epochs : float
            The moment.
        scores : dict
            For each entry of ``rules`` its scores, as `decision_function` returns them.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from votron import VotedPerceptronClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = VotedPerceptronClassifier(random_state=0).fit(X, y)
        >>> for epoch, scores in model.staged_decision_function(X, at=[0.1, 10], rules=["vote", ("last", True)]):
        ...     print(epoch, {rule: s.shape for rule, s in scores.items()})
        0.1 {'vote': (150, 3), ('last', True): (150, 3)}
        10 {'vote': (150, 3), ('last', True): (150, 3)}
        """
        check_is_fitted(self)
        if is_collection(X):
            return staged(self, X, at, rules)
        rows, _ = _validation.validated(self, X, kernel=self.kernel_, reset=False)
        moments = moments_of(self.record_, self.n_epochs_, at)
        times = [round(moment * self.record_.n_examples) for moment in moments]
        choices = choices_of([(self._predicting_rule(), bool(self.normalize_vectors))] if rules is None else rules)
        stages = self._vectors.staged(rows, times, list(choices.values()), n_threads=effective_threads(self.n_jobs))
        return (
            (moment, {entry: self._shaped(stage.scores[choice]) for entry, choice in choices.items()})
            for moment, stage in zip(moments, stages, strict=True)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The last vector of a linear kernel gets 0.8 to 0.9 of the checks' data right; the other rules do better.
        _validation.set_tags(tags, self.kernel, poor_if_linear=self.rule in RULES and RULES[self.rule].unsteady)
        return tags


def needs_held_out(rule: str) -> bool:
    """Tell whether a rule, or the choice of one, is by rows that training has not seen."""
    return rule == "auto" or RULES[rule].needs_held_out


def _new_seed(rng: np.random.RandomState) -> int:
    return int(rng.randint(2**31 - 1))
