"""The voted perceptron with kernels, as a scikit-learn classifier."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from votron._util.resources import n_bytes, parse_memory_limit
from votron._util.types import Array, Estimator, Floats, Index, Label, Labels, Params, Rows, RowsLike, Scores
from votron.cluster.rows import SpreadRows
from votron.engine import DualTrainer, LinearTrainer, TrainingRun
from votron.errors import NotAvailableError, VotronError
from votron.estimators import _training as training
from votron.estimators._data import (
    CLASS_WEIGHT_CONSTRAINTS,
    KERNEL_CONSTRAINTS,
    MARGIN_CONSTRAINTS,
    NameIn,
    TrainingData,
    available_unless,
    check_learns_in_batches,
    examples_of,
    is_collection,
    margins_of,
    training_data,
    validated,
)
from votron.estimators._probabilities import ProbabilisticClassifier, progressive_scores, slope_of
from votron.estimators._training import EarlyStop, Sample, Watch, class_numbers, come_grouped, second_half
from votron.estimators.base import SupportVectorMixin
from votron.kernels.base import Kernel, is_precomputed
from votron.record import MistakeRecord
from votron.rules import RULES, Vectors, forms
from votron.rules.scan import Choice
from votron.rules.vectors import (
    HeldOutRows,
    choices_of,
    first_best,
    moments_of,
    moments_within,
    n_right,
    validation_table,
)

if TYPE_CHECKING:
    from votron.estimators._evidence import RecordView
    from votron.explanations import Suspects

__all__ = ["VotedPerceptronClassifier"]

Trainer = DualTrainer | LinearTrainer
_UNIT = ", vectors of length 1"
_REMEDY = "the data may not be separable with this kernel; give a number of epochs, or raise the degree"


def _check_learns_in_batches(model: Estimator) -> None:
    name = type(model).__name__
    if is_precomputed(model.kernel):
        raise NotAvailableError(
            f"{name} has no partial_fit with kernel='precomputed', "
            "since rows that arrive later have no kernel values with earlier ones."
        )
    if isinstance(model.gamma, str) and training.reads_gamma(model.kernel):
        raise NotAvailableError(
            f"The 'gamma' parameter of {name} must be a number for partial_fit. Got {model.gamma!r} instead.",
            parameter="gamma",
        )
    check_learns_in_batches(model)


@dataclass(eq=False, repr=False)
class VotedPerceptronClassifier(SupportVectorMixin, ProbabilisticClassifier):
    """Voted perceptron with kernels (Freund & Schapire, 1999).

    Training presents the examples in turn; each mistake adds the example to its class's vector. One run yields a
    sequence of vectors, and ``rule`` says how they predict; it can be changed without training again. Several classes
    are handled one against the rest, sharing all kernel values.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear", "conjunction", "precomputed"}, Kernel or callable, default="rbf"
        The kernel. A callable gets two matrices of rows and returns the matrix of kernel values; threads share it.
    degree : int, default=3
        Degree of the polynomial kernel (gamma x·z + coef0)^degree.
    gamma : float or {"scale", "auto"}, default="scale"
        Factor of the dot product ("poly") or of the squared distance ("rbf"). "scale" is 1 / (n_features · variance of
        X), "auto" 1 / n_features.
    coef0 : float, default=1.0
        Constant of the polynomial and of the Gaussian kernel, which gives vectors a threshold.
    normalize_kernel : bool, default=False
        Use K(x, z) / √(K(x, x) K(z, z)).
    epochs : float or None, default=10
        Passes through the data; a fraction stops within a pass. Training ends early when a pass makes no mistake, and
        the rules count the remaining steps as if it had not. None trains until then, for 1000 passes at most.
    rule : {"vote", "average", "last", "random", "pocket", "holdout", "auto"}, default="vote"
        How the vectors predict (see `votron.rules`); "auto": by vote, average or last, whichever errs least on held-out
        rows. "holdout" and "auto" set aside ``validation_fraction`` of the data.
    normalize_vectors : bool, default=False
        Divide each vector by its length in feature space before it predicts.
    margin : float or dict, default=0.5
        τ: update where y · score ≤ τ K(x, x). The papers' perceptron has 0, and most theorems want it; noisy data want
        more (docs/accuracy.md). A dict has τ by label, 0 for those not named (uneven margins; Li et al., 2002).
    shuffle : bool, default=True
        Shuffle the examples once, before the first pass.
    validation_fraction : float, default=0.1
        Share of the data that ``early_stopping`` and the rules "holdout" and "auto" set aside in ``fit``.
    random_state : int, RandomState instance or None, default=None
        For the shuffle, the held-out part and the random rule.
    memory_limit : int or str, default="auto"
        Memory that training may use beside the data, in bytes or as "2GB". "auto" is a quarter of what is free, and at
        most the larger of 16 times the data and 1 GiB.
    n_jobs : int or None, default=None
        Threads. None: as many as this process may use.
    verbose : int, default=0
        1 shows progress on standard error.
    class_weight : dict or "balanced", default=None
        Weights of classes by label, 1 for those not named; "balanced" weighs each by n_samples / (n_classes · its
        rows). They multiply the weights of rows, and all are then divided by their mean.
    early_stopping : bool, default=False
        In `fit`, set ``validation_fraction`` of the data aside, end training after three passes without a better
        prediction of it, and keep the record up to the best moment, four to a pass.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    support_ : int array of shape (n_support,)
        Rows (in `partial_fit`: presentation numbers) of the examples with a mistake, in order of their first.
    support_vectors_ : array or CSR matrix of shape (n_support, n_features)
        Those examples; no columns for precomputed kernels.
    dual_coef_ : array of shape (n_vectors, n_support)
        The final vectors, as coefficients of the support vectors. Two classes have one vector, for the second of them.
    n_support_, n_mistakes_ : int arrays of shape (n_vectors,)
        Examples on which each vector made a mistake, and its mistakes.
    n_epochs_ : float
        Passes that were run; calls of `partial_fit` count as one each.
    converged_ : bool
        Whether `fit` ended with a whole pass without a mistake.
    record_ : MistakeRecord
        All mistakes in order.
    rule_ : str
        The rule that predicts: ``rule``, or what "auto" has chosen.
    validation_moments_, validation_scores_ : lists of float
        With early stopping: moments, in epochs, and the accuracy at each on the part set aside.
    kernel_ : Kernel
        The kernel, with its numbers.
    cluster_account_ : ClusterAccount
        After training on Dask collections: messages, and the work of each worker.
    history_ : TrainingHistory
        How the model came about: data, order of presentation, passes and choices.
    n_features_in_, feature_names_in_ : int and array of str
        Number of features, and their names where the data have names.

    Notes
    -----
    With weights a mistake adds weight times the example; a vector still has a vote for each example that it survives.
    `fit` divides weights by their mean; `partial_fit` takes them as they are.

    A mistake is y · score ≤ 0 and a score of 0 predicts the second class; `votron.record` states all conventions.
    Ctrl-C during `fit` raises KeyboardInterrupt, but leaves a fitted model of what was learnt until then; a second one
    leaves the model as it was before.

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
    """

    kernel: str | Kernel | Callable[[Rows, Rows], Array] = "rbf"
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 1.0
    normalize_kernel: bool = False
    epochs: float | None = 10
    rule: str = "vote"
    normalize_vectors: bool = False
    margin: float | dict[Label, float] = 0.5
    shuffle: bool = True
    validation_fraction: float = 0.1
    random_state: int | np.random.RandomState | None = None
    memory_limit: int | str = "auto"
    n_jobs: int | None = None
    verbose: int = 0
    class_weight: Mapping[Label, float] | str | None = None
    early_stopping: bool = False

    _takes_collections = True
    AUTO_RULES: ClassVar[tuple[str, ...]] = ("vote", "average", "last")
    """The rules that ``rule="auto"`` chooses among; of equally good ones the first."""

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **KERNEL_CONSTRAINTS,
        "epochs": [Interval(Real, 0, None, closed="neither"), None],
        "rule": [NameIn(RULES, "auto")],
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

    def fit(self, X: RowsLike, y: Labels, sample_weight: ArrayLike | None = None) -> Self:
        with training.unchanged_on_error(self):
            self._validate_params()
            data = training_data(self, X, y, sample_weight)
            self.kernel_ = self._suited_kernel(data.rows)
            rng = check_random_state(self.random_state)
            learnable = training.learnable_rows(data.rows, self.kernel_)
            hold_out = bool(self.early_stopping or needs_held_out(self.rule))
            order, held_out = training.presentation(self, learnable, data, rng, hold_out=hold_out)
            n_steps, seed = training.n_steps_of(self, len(order)), _new_seed(rng)
            trainer, rule = self._new_trainer(data.rows, n_steps, weighted=data.weights is not None), None
            if self.early_stopping:
                run, record, rule = self._train_until_best(trainer, data, order, held_out, n_steps, seed)
            else:
                run = self._train(trainer, data, order, n_steps)
                record = trainer.record(len(order), run.steps if self.epochs is None or run.interrupted else n_steps)
            rows = trainer.support_rows[: len(record.support)]
            self._keep(Vectors(data.as_given(record), self.kernel_, rows, seed))
            presented = min(run.steps, record.n_steps)
            history = training.history_of_fit(self, data, order, held_out, run)
            self.history_ = replace(history, rows_repeated=presented > len(order), chosen_rule=rule)
            at = second_half(order, presented, data.rows)
            self._sample, self._slopes = self._sample_of(data, order, at, 0, grouped=not self.shuffle), {}
            if len(held_out):
                unseen, codes, weights = data.held_out(held_out, self.kernel_)
                if rule is None:
                    self._choose(unseen, codes, weights)
                self._take_held_out(unseen, codes, self.record_.n_steps)
            self._name_rows_as(X, y)
        training.tell_of_end(self, run, _REMEDY)
        return self

    @available_unless(_check_learns_in_batches)
    def partial_fit(
        self, X: RowsLike, y: Labels, classes: Labels = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Go on learning: one pass over new data, in their order, from where the record ends.

        One call after another gives exactly the record of one unshuffled pass over all of the data. A call costs time
        in the number of support vectors, so give rows in batches where you can.

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
            first = not hasattr(self, "history_")
            self._validate_params()
            data = training_data(self, X, y, sample_weight, batch=True, classes=classes)
            self.kernel_ = self._suited_kernel(data.rows, first=first)
            order = training.learnable_rows(data.rows, self.kernel_, at_least=0)
            trainer = self._resumed(data.rows)
            steps, numbered = trainer.time, 0 if first else max(trainer.time, self.history_.n_numbered)
            ids = np.zeros(data.rows.shape[0], dtype=np.int64)
            ids[order] = numbered + np.arange(len(order))
            run = self._train(trainer, data, order, len(order), ids)
            seed = _new_seed(check_random_state(self.random_state)) if first else self._vectors.seed
            self._keep(Vectors(trainer.record(max(1, trainer.time)), self.kernel_, trainer.support_rows, seed))
            at = second_half(order, run.steps, data.rows, later=steps > 0)
            self._add_to_sample(self._sample_of(data, order, at, steps, grouped=True))
            history = training.history_with_batch(self, data, order, interrupted=run.interrupted)
            self.history_ = replace(history, n_numbered=numbered + len(order))
        training.hand_on_ctrl_c(run, self.record_.n_steps)
        return self

    def _suited_kernel(self, rows: Rows | SpreadRows, *, first: bool = True) -> Kernel:
        kernel = training.kernel_on(self, rows)
        if not first and kernel != self.kernel_:  # its vectors are in another feature space
            raise VotronError(
                f"The kernel must be the same at every call of partial_fit: {self.kernel_!r}. Got {kernel!r} instead."
            )
        if isinstance(self.kernel, Kernel):  # one that was given is taken as it is
            return kernel
        some = examples_of(rows)
        return kernel.suited_to(some) if first else self.kernel_.still_suited_to(some)

    def _new_trainer(self, rows: Rows | SpreadRows, n_steps: int, *, weighted: bool) -> Trainer:
        """Return the engine that is fastest on these data; the record is the same. The linear one knows no weights."""
        # early stopping asks for the record on the way, which the linear engine has at the end only
        exact = not (self.early_stopping or self._largest_margin or weighted or isinstance(rows, SpreadRows))
        linear = exact and self.kernel_.affine() is not None
        if linear and LinearTrainer.suits(self.kernel_, rows, self._n_vectors, n_steps):
            return LinearTrainer(self.kernel_, self._n_vectors)
        return DualTrainer(self.kernel_, self._n_vectors, margins_of(self))

    @property
    def _largest_margin(self) -> float:
        return float(np.max(margins_of(self)))

    def _resumed(self, rows: Rows | SpreadRows) -> DualTrainer:
        if hasattr(self, "record_"):
            return DualTrainer.resume(self.kernel_, margins_of(self), self.record_, self.support_vectors_)
        trainer = DualTrainer(self.kernel_, self._n_vectors, margins_of(self))
        trainer.support_rows = examples_of(rows)[:0]
        return trainer

    def _train(
        self,
        trainer: Trainer,
        data: TrainingData,
        order: Index,
        n_steps: int,
        ids: Index | None = None,
        stop: EarlyStop | None = None,
    ) -> TrainingRun:
        if not n_steps:
            return TrainingRun(0, False, False)
        rows = data.rows
        options: Params = {"n_threads": self._n_threads}
        run: Callable[..., TrainingRun] = trainer.run
        if isinstance(trainer, DualTrainer):
            options |= {"ids": ids, "weights": data.weights}
            if isinstance(rows, SpreadRows):
                run = SpreadRows.run
                options |= {"trainer": trainer, "memory_limit": self.memory_limit}
            else:
                again = n_steps > len(order) or trainer.n_events > trainer.n_support
                options["memory"] = parse_memory_limit(self.memory_limit, data_bytes=n_bytes(rows)) if again else 0

        def train(watch: Watch) -> TrainingRun:
            watch.early_stop = stop
            return run(rows, data.codes, order, n_steps, watcher=watch, **options)

        done = training.in_epochs(self, n_steps, train)
        if isinstance(rows, SpreadRows):
            self.cluster_account_ = rows.account
        return done

    def _train_until_best(
        self, trainer: Trainer, data: TrainingData, order: Index, held_out: Index, n_steps: int, seed: int
    ) -> tuple[TrainingRun, MistakeRecord, str | None]:
        """Return the run, the record until held-out rows were predicted best, and the rule."""
        n, looks_for_itself = len(order), self.rule != "auto" and RULES[self.rule].needs_held_out
        unseen = HeldOutRows(
            self.kernel_,
            data.rows,
            data.rows[held_out],
            data.codes[held_out],
            self._choices("last" if looks_for_itself else self.rule),
            seed,
            self._n_threads,
            None if data.weights is None else data.weights[held_out],
        )
        stop = EarlyStop(unseen, partial(trainer.record, n), n, n_steps, self.PATIENCE)
        run = self._train(trainer, data, order, n_steps, stop=stop)
        stop.look(run.steps)
        if self.epochs is not None and run.converged and not run.interrupted:
            stop.look_on(n_steps)
        whole = trainer.record(n, stop.looked)
        record = whole if looks_for_itself else whole.until(unseen.times[unseen.best[0]])
        self.validation_moments_, self.validation_scores_ = validation_table(unseen, n)
        rule = unseen.choices[unseen.best[1]][0] if self.rule == "auto" else None
        return replace(run, converged=run.converged and len(record) == len(whole)), record, rule

    def _keep(self, vectors: Vectors) -> None:
        self._vectors, self.kernel_, self.record_ = vectors, vectors.kernel, vectors.record
        record, rows = vectors.record, vectors.support_rows
        self.support_ = record.support
        self.support_vectors_ = rows[:, :0] if is_precomputed(self.kernel_) else rows
        used = np.unique(record.vector.astype(np.int64) * (len(record.support) + 1) + record.slot)
        self.n_support_ = np.bincount(used // (len(record.support) + 1), minlength=record.n_vectors)
        self.n_mistakes_ = record.n_mistakes

    def _choices(self, rule: str) -> list[Choice]:
        return [(name, bool(self.normalize_vectors)) for name in (self.AUTO_RULES if rule == "auto" else (rule,))]

    def _choose(self, rows: Rows, codes: Index, weights: Floats | None = None) -> None:
        if self.rule == "auto":
            chosen = self._best_by(rows, codes, [self.record_.n_steps], "auto", weights)[1]
            self.history_ = replace(self.history_, chosen_rule=chosen)
        elif RULES[self.rule].needs_held_out:
            curve = self._vectors.holdout_curve(rows, codes, n_threads=self._n_threads)
            self._vectors = replace(self._vectors, holdout=curve)

    def _best_by(
        self, rows: Rows, codes: Index, times: list[int], rule: str, weights: Floats | None = None
    ) -> tuple[int, str]:
        choices, right = self._choices(rule), []
        for stage in self._vectors.staged(rows, times, choices, n_threads=self._n_threads):
            right.append([n_right(stage.scores[choice], codes, weights) for choice in choices])
        i, j = first_best(right)
        return times[i], choices[j][0]

    def _sample_of(self, data: TrainingData, order: Index, at: Index, first: int, *, grouped: bool) -> Sample | None:
        """Return rows presented at some steps, when ``first`` steps were over before; ``grouped`` if classes may be."""
        if not len(at):
            return None
        some = order[at]
        rows = data.rows.brought(some) if isinstance(data.rows, SpreadRows) else data.rows[some]
        rows, labels = data.with_all_columns(rows, self.kernel_), class_numbers(data.codes[some], self._n_vectors)
        return Sample(rows, labels, first + at, grouped=grouped and come_grouped(data.codes[order]))

    def _predictor_key(self) -> str:
        return _key(*self._choice)

    def _predictor_keys(self) -> list[str]:
        names = [name for name, rule in RULES.items() if self._vectors.holdout is not None or not rule.needs_held_out]
        quick = [name for name in names if RULES[name].compiled is not None]  # the others take long
        every = [_key(name, normalized) for name in quick for normalized in (False, True)]
        return list(dict.fromkeys([*every, self._predictor_key()]))

    def _computed_slopes(self, keys: list[str]) -> dict[str, float]:
        assert self._sample is not None
        choices = {key: (key.removesuffix(_UNIT), key.endswith(_UNIT)) for key in keys}
        n_threads = self._n_threads
        found = progressive_scores(self._vectors, self._sample, choices.values(), n_threads) if keys else {}
        return {key: slope_of(*found[choice], self._sample.labels) for key, choice in choices.items()}

    @property
    def dual_coef_(self) -> Floats:
        """Coefficients of the support vectors, from the record: for many classes they take more room than it does."""
        return self.record_.dual_coef()

    @property
    def rule_(self) -> str:
        """The rule that predicts: ``rule``, or what "auto" has chosen."""
        if self.rule != "auto":
            return self.rule
        if not hasattr(self, "history_") or self.history_.chosen_rule is None:
            raise NotAvailableError(
                "The rule 'auto' needs held-out data: fit with rule='auto', or give X_val and y_val to "
                "with_rule('auto', ...)."
            )
        return self.history_.chosen_rule

    @property
    def _choice(self) -> Choice:
        return self.rule_, bool(self.normalize_vectors)

    def _scores(self, rows: Rows) -> Floats:
        self._validate_params()
        return self._vectors.scores(rows, *self._choice, n_threads=self._n_threads)

    def agreement(self, X: RowsLike) -> Floats:
        """Return which share of the votes the predicted label has, from 0 to 1: how much the vectors agree on it.

        Votes are counted whatever the rule; of more than two classes, those of the predicted class's own vectors.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to classify.
        """
        check_is_fitted(self)
        rows, _ = validated(self, X, kernel=self.kernel_, reset=False)
        numbers = self._numbers(self._shaped(self._scores(rows)))
        votes = self._vectors.scores(rows, "vote", n_threads=self._n_threads)
        if votes.shape[1] == 1:
            return (1 + np.where(numbers == 1, 1, -1) * votes[:, 0]) / 2
        return (1 + votes[np.arange(len(numbers)), numbers]) / 2

    def suspects(self, top: int | None = None, *, first: int = 0) -> Suspects:
        """Return the training rows that were mistaken often, by much, and late: their labels may be wrong.

        `votron.explanations.Suspects` says how rows are ranked; a margin and some ten epochs help, such as
        ``VotedPerceptronClassifier(margin=2.0, epochs=10)``.

        Parameters
        ----------
        top : int, optional
            How many, the most suspicious; by default all that were ever mistaken.
        first : int, default=0
            Number of the first row, where rows have no names.
        """
        from votron.explanations.suspicion import suspects_of

        check_is_fitted(self)
        return suspects_of(self.record_, self.classes_, top, getattr(self, "row_names_", {}), first)

    def with_rule(
        self, rule: str, normalize_vectors: bool = False, *, X_val: RowsLike | None = None, y_val: Labels | None = None
    ) -> Self:
        """Return a shallow copy of the fitted model that predicts by another rule from the same record.

        Parameters
        ----------
        rule : str
            One of the rules.
        normalize_vectors : bool, default=False
            Whether vectors are divided by their lengths.
        X_val, y_val : data and labels, optional
            For "holdout": choose the vectors that err least on these data. For "auto": choose the rule that does.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from votron import VotedPerceptronClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = VotedPerceptronClassifier(random_state=0).fit(X[::2], y[::2])
        >>> model.with_rule("holdout", X_val=X[1::2], y_val=y[1::2]).rule_
        'holdout'
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other.rule, other.normalize_vectors = rule, normalize_vectors
        other._validate_params()
        if X_val is not None and not needs_held_out(rule):
            raise VotronError(
                f"X_val and y_val are for the rules 'holdout' and 'auto' only. Got the rule {rule!r} instead."
            )
        if X_val is not None:
            held_out = self._labelled(X_val, y_val)
            other._choose(*held_out)
            if rule != "auto":
                other._take_held_out(*held_out, self.record_.n_steps)
        elif RULES[other.rule_].needs_held_out and self._vectors.holdout is None:
            raise VotronError(f"The rule {rule!r} needs held-out data: give X_val and y_val, or fit with that rule.")
        return other

    def with_best_moment(self, X_val: RowsLike, y_val: Labels, rule: str | None = None) -> Self:
        """Return a shallow copy of the fitted model whose training ends at the moment that predicts given data best.

        As ``early_stopping`` does: of all moments, four to a pass, the first with the fewest errors.

        Parameters
        ----------
        X_val, y_val : data and labels
            What to predict; they should not be among the training data.
        rule : str, optional
            The rule; "auto" chooses one too. By default the model's own.
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
        time, chosen = other._best_by(*held_out, times, other.rule)
        record = self.record_.until(time)
        rows = self._vectors.support_rows[: len(record.support)]
        other._keep(Vectors(record, self.kernel_, rows, self._vectors.seed))
        other.history_ = replace(
            self.history_,
            rows_repeated=self.history_.rows_repeated and time > m,
            converged=self.converged_ and len(record) == len(self.record_),
            end_chosen_by=self.history_.end_chosen_by or "with_best_moment",
            chosen_rule=chosen if other.rule == "auto" else self.history_.chosen_rule,
        )
        other._take_held_out(*held_out, record.n_steps)
        return other

    def staged_decision_function(
        self, X: RowsLike, at: Iterable[float] | None = None, rules: Sequence[str | tuple[str, bool]] | None = None
    ) -> Iterator[tuple[float, dict[Any, Scores]]]:
        """Yield the scores of any rules at any moments of training, from one scan over the record.

        Parameters
        ----------
        X : array, CSR matrix or data frame
            Rows to score.
        at : sequence of float, optional
            Moments in epochs, such as [0.1, 1, 2], visited in rising order; by default the end of each epoch run.
        rules : sequence, optional
            Rule names, or pairs (name, normalize_vectors); by default the model's own rule.

        Yields
        ------
        epochs, scores : float and dict
            The moment, and for each entry of ``rules`` its scores, as `decision_function` returns them.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from votron import VotedPerceptronClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = VotedPerceptronClassifier(random_state=0).fit(X, y)
        >>> [(epoch, scores["last"].shape) for epoch, scores in model.staged_decision_function(X, [0.1, 10], ["last"])]
        [(0.1, (150, 3)), (10, (150, 3))]
        """
        check_is_fitted(self)
        if is_collection(X):
            from votron.cluster.client import staged

            return staged(self, X, at, rules)
        rows, _ = validated(self, X, kernel=self.kernel_, reset=False)
        moments = moments_of(self.record_, self.n_epochs_, at)
        times = [round(moment * self.record_.n_examples) for moment in moments]
        choices = choices_of([self._choice] if rules is None else rules)
        stages = self._vectors.staged(rows, times, list(choices.values()), n_threads=self._n_threads)
        return (
            (moment, {entry: self._shaped(stage.scores[choice]) for entry, choice in choices.items()})
            for moment, stage in zip(moments, stages, strict=True)
        )

    def _explained_form(self) -> forms.Form:
        self._validate_params()
        return forms.Sequence(self._vectors, *self._choice)

    def _form(self) -> tuple[forms.Form, tuple[str, ...]]:
        self._validate_params()
        others = ", ".join(rule for rule in RULES if rule != self.rule_)
        return forms.form_of_vectors(self._vectors, *self._choice), (
            "learning on (partial_fit)",
            f"the other rules ({others}) and earlier moments of training (staged_decision_function)",
            "margins and the certificate (votron.certify)",
        )

    def _for_theory(self) -> RecordView:
        from votron.estimators._evidence import RecordView  # most models are never certified

        return RecordView(self)


def needs_held_out(rule: str) -> bool:
    return rule == "auto" or RULES[rule].needs_held_out


def _key(rule: str, normalized: bool) -> str:
    return rule + _UNIT if normalized and RULES[rule].needs_lengths else rule


def _new_seed(rng: np.random.RandomState) -> int:
    return int(rng.randint(2**31 - 1))
