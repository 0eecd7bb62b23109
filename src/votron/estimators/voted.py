"""The voted perceptron with kernels, as a scikit-learn classifier."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import update_wrapper
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from votron._resources import effective_threads, parse_memory_limit
from votron.engine import DualTrainer, TrainingRun
from votron.errors import VotronError
from votron.estimators._inputs import check_gram, encode_labels, engine_codes, plain_rows, unchanged_on_error
from votron.estimators._watch import watching
from votron.kernels import KERNELS, Kernel, PrecomputedKernel, make_kernel
from votron.products import Floats, Index, Rows
from votron.record import MistakeRecord
from votron.rules import RULES, HoldoutCurve, Vectors

__all__ = ["VotedPerceptronClassifier"]


class _WhereItMakesSense:
    """A method that an object has only where ``why_not`` finds nothing against it; asking for it elsewhere tells the reason."""

    def __init__(self, why_not: Callable[[Any], str | None], method: Callable[..., Any]) -> None:
        self._why_not, self._method = why_not, method
        update_wrapper(self, method)  # type: ignore[arg-type]  # it is no callable: that is the point

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        if obj is None:
            return self._method
        reason = self._why_not(obj)
        if reason is not None:
            raise AttributeError(reason)
        return self._method.__get__(obj, owner)


def _why_no_partial_fit(model: Any) -> str | None:
    name = type(model).__name__
    if model._is_precomputed:
        return f"{name} has no partial_fit with kernel='precomputed': rows that arrive later have no kernel values with earlier ones."
    if isinstance(model.gamma, str) and model.kernel in ("poly", "rbf"):
        return (
            f"The 'gamma' parameter of {name} must be a number for partial_fit, since {model.gamma!r} depends on data "
            f"not seen yet. Got {model.gamma!r} instead."
        )
    return None


class VotedPerceptronClassifier(ClassifierMixin, BaseEstimator):
    """Voted perceptron with kernels (Freund & Schapire, 1999).

    Training presents the examples in turn; each mistake adds the example to its class's vector. One training run yields a whole
    sequence of vectors, and ``rule`` says how they predict; the rule can be changed afterwards, without training again. Several classes are
    handled one against the rest, sharing all kernel values.

    Parameters
    ----------
    kernel : {"poly", "linear", "rbf", "conjunction", "precomputed"}, Kernel or callable, default="poly"
        The kernel. A callable gets two matrices of rows and returns the matrix of kernel values.
    degree : int, default=3
        Degree of the polynomial kernel (gamma x·z + coef0)^degree.
    gamma : float or {"scale", "auto"}, default="scale"
        Factor of the dot product ("poly") or of the squared distance ("rbf"). "scale" is 1 / (n_features · variance of X),
        "auto" 1 / n_features. The papers' experiments have 1.0.
    coef0 : float, default=1.0
        Constant of the polynomial kernel.
    normalize_kernel : bool, default=False
        Use K(x, z) / √(K(x, x) K(z, z)).
    epochs : float or None, default=10
        Passes through the data, T; a fraction stops within a pass. Training ends early when a pass makes no mistake, and the rules count the
        remaining steps as if it had not. None trains until then, for 1000 passes at most.
    rule : {"vote", "average", "last", "random", "pocket", "holdout"}, default="vote"
        How the vectors predict (see `votron.rules`). "holdout" sets aside ``validation_fraction`` of the data.
    normalize_vectors : bool, default=False
        Divide each vector by its length in feature space before it predicts.
    margin : float, default=0.0
        τ: update where y · score ≤ τ K(x, x). A larger τ brings the last vector closer to the maximal margin, at most (1 + 2τ) times
        as many updates guaranteed.
    shuffle : bool, default=True
        Shuffle the examples once, before the first pass.
    validation_fraction : float, default=0.1
        Share of the data that rule "holdout" sets aside in ``fit``.
    random_state : int, RandomState instance or None, default=None
        For the shuffle, the held-out part and the random rule.
    memory_limit : int or str, default="auto"
        Memory that training may use beside the data: bytes, or "2GB". What is not needed otherwise keeps dot products for later passes; 0
        keeps none. "auto" is half of what is free. The result does not depend on it.
    n_jobs : int or None, default=None
        Threads. None: as many as this process may use. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar on a terminal and plain lines elsewhere.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    support_ : int array of shape (n_support,)
        Rows (in `partial_fit`: presentation numbers) of the examples with a mistake, in order of their first.
    support_vectors_ : array or CSR matrix of shape (n_support, n_features)
        Those examples, in the type they came in. Without columns for precomputed kernels.
    dual_coef_ : array of shape (n_vectors, n_support)
        The final vectors, as coefficients of the support vectors. Binary problems have one vector, for the second class.
    n_support_ : int array of shape (n_vectors,)
        Support vectors of each final or earlier vector.
    n_mistakes_ : int array of shape (n_vectors,)
        Mistakes of each vector.
    n_epochs_ : float
        Passes that were run.
    converged_ : bool
        Whether the final vectors make no mistake on the training data.
    record_ : MistakeRecord
        All mistakes in order.
    kernel_ : Kernel
        The kernel, with its numbers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Names of the features, where the data have names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron import VotedPerceptronClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = VotedPerceptronClassifier(degree=2, epochs=30, random_state=0).fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    >>> average = model.with_rule("average")  # the same training, another rule
    >>> average.predict(X[[0, 60, 120]])
    array([0, 1, 2])

    Notes
    -----
    A mistake is y · score ≤ 0 and a score of 0 predicts the second class; `votron.record` states all conventions. Ctrl-C during `fit`
    raises KeyboardInterrupt as usual, but leaves a fitted model of what was learnt until then.
    """

    MAX_EPOCHS: ClassVar[int] = 1000
    """Passes after which ``epochs=None`` gives up, with a warning."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(KERNELS)), Kernel, callable],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "normalize_kernel": ["boolean"],
        "epochs": [Interval(Real, 0, None, closed="neither"), None],
        "rule": [StrOptions(set(RULES))],
        "normalize_vectors": ["boolean"],
        "margin": [Interval(Real, 0, None, closed="left")],
        "shuffle": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
        "memory_limit": [Interval(Integral, 0, None, closed="left"), str],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        kernel: Any = "poly",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 1.0,
        normalize_kernel: bool = False,
        epochs: float | None = 10,
        rule: str = "vote",
        normalize_vectors: bool = False,
        margin: float = 0.0,
        shuffle: bool = True,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        memory_limit: int | str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
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

    # -- training -----------------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> VotedPerceptronClassifier:
        """Train on data and labels.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The examples; with ``kernel="precomputed"`` their kernel values with each other.
        y : array of shape (n_samples,)
            The labels, of any type.

        Returns
        -------
        self : VotedPerceptronClassifier
            The fitted model.
        """
        with unchanged_on_error(self):
            rows, classes, codes, kernel = self._checked(X, y)
            rng = check_random_state(self.random_state)
            order, held_out = self._presentation(rows, codes, kernel, rng)
            trainer = DualTrainer(kernel, 1 if len(classes) == 2 else len(classes), float(self.margin))
            run, n_steps = self._train(trainer, rows, engine_codes(codes, len(classes)), order)
            seed = int(rng.randint(np.iinfo(np.int32).max))
            self._adopt(trainer, trainer.record(len(order), n_steps), classes, seed)
            self.n_epochs_, self.converged_ = run.steps / len(order), run.converged
            if len(held_out):
                self._set_holdout(rows[held_out], engine_codes(codes, len(classes))[held_out])
        if run.interrupted:
            raise KeyboardInterrupt(
                f"Training stopped after {self.n_epochs_:.2f} epochs; the model is fitted with what it learnt so far."
            )
        return self

    def _partial_fit(self, X: Any, y: Any, classes: Any = None) -> VotedPerceptronClassifier:
        """Go on learning: one pass over new data, in their order, from where the record ends.

        Earlier data need not be kept. One call after another gives exactly the record of one unshuffled pass over all of the data.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            New examples.
        y : array of shape (n_samples,)
            Their labels.
        classes : array, optional
            All labels that will ever come; needed at the first call unless its y has them all.

        Returns
        -------
        self : VotedPerceptronClassifier
            The model.
        """
        with unchanged_on_error(self):
            first = not hasattr(self, "record_")
            rows, found, codes, kernel = self._checked(X, y, classes=classes, first=first)
            n_vectors = 1 if len(found) == 2 else len(found)
            trainer = DualTrainer(kernel, n_vectors, float(self.margin)) if first else self._resumed()
            start = trainer.time
            order = self._learnable(rows, kernel)
            ids = start + np.cumsum(np.isin(np.arange(rows.shape[0]), order)) - 1
            run = TrainingRun(0, False, False)
            if len(order):
                run, _ = self._train(trainer, rows, engine_codes(codes, len(found)), order, ids=ids, n_steps=len(order))
            seed = self._vectors.seed if not first else int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            self._adopt(trainer, trainer.record(max(1, trainer.time)), found, seed)
            self._trainer: DualTrainer | None = trainer
            self.n_epochs_ = float(getattr(self, "n_epochs_", 0.0) + 1) if not first else 1.0
            self.converged_ = False
        if run.interrupted:
            raise KeyboardInterrupt("Training stopped within this batch; the model is fitted with what it learnt so far.")
        return self

    partial_fit = _WhereItMakesSense(_why_no_partial_fit, _partial_fit)

    def _resumed(self) -> DualTrainer:
        """Return the trainer of the last partial_fit, or one that stands where the record ends."""
        kept: DualTrainer | None = getattr(self, "_trainer", None)
        if kept is not None and kept.time == self.record_.n_steps:
            return copy.deepcopy(kept)
        return DualTrainer.resume(self.kernel_, float(self.margin), self.record_, self.support_vectors_)

    def _checked(
        self, X: Any, y: Any, *, classes: Any = None, first: bool = True
    ) -> tuple[Rows, NDArray[Any], NDArray[np.int64], Kernel]:
        """Validate parameters and data."""
        self._validate_params()
        parse_memory_limit(self.memory_limit, type(self).__name__)
        X, y = validate_data(
            self, X, y, accept_sparse="csr" if not self._is_precomputed else False, reset=first, ensure_min_samples=1
        )
        rows = plain_rows(X)
        if first:
            found, codes = encode_labels(y, classes)
            kernel = self._make_kernel(rows)
        else:
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise VotronError(
                    f"The classes of partial_fit cannot change: they are {self.classes_.tolist()}. Got {np.unique(classes).tolist()} instead."
                )
            (found, codes), kernel = encode_labels(y, self.classes_), self.kernel_
        if self._is_precomputed:
            check_gram(rows)
        kernel.check(rows)
        return rows, found, codes, kernel

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, PrecomputedKernel) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _make_kernel(self, rows: Rows) -> Kernel:
        gamma = self.gamma
        if isinstance(gamma, str):
            needed = self.kernel in ("poly", "rbf") if isinstance(self.kernel, str) else False
            gamma = _resolved_gamma(gamma, rows) if needed else 1.0
        return make_kernel(
            self.kernel,
            degree=int(self.degree),
            gamma=float(gamma),
            coef0=float(self.coef0),
            normalize=bool(self.normalize_kernel),
        )

    def _presentation(self, rows: Rows, codes: NDArray[np.int64], kernel: Kernel, rng: Any) -> tuple[Index, Index]:
        """Return the rows to present, in order, and the rows held out."""
        order, held_out = self._learnable(rows, kernel), np.empty(0, dtype=np.int64)
        if not len(order):
            raise VotronError("No example can be learnt: K(x, x) = 0 for every row, so every score stays 0.")
        if self.rule == "holdout":
            order, held_out = self._split(order, codes, rng)
        if self.shuffle:
            order = rng.permutation(order)
        return order, held_out

    def _learnable(self, rows: Rows, kernel: Kernel) -> Index:
        diagonal = kernel.diag(rows)
        if (diagonal < 0).any():
            i = int(np.argmin(diagonal))
            raise VotronError(
                f"{kernel!r} is not positive semi-definite on these data: K(x, x) = {diagonal[i]:g} for row {i}. "
                "A kernel's diagonal must not be negative."
            )
        zero = np.count_nonzero(diagonal == 0)
        if zero:
            warnings.warn(f"{zero} row(s) have K(x, x) = 0, can never be learnt, and are left out.", UserWarning, stacklevel=4)
        return np.flatnonzero(diagonal != 0)

    def _split(self, order: Index, codes: NDArray[np.int64], rng: Any) -> tuple[Index, Index]:
        """Set a part aside, the same share of every class where there are enough examples."""
        n_held = int(np.ceil(self.validation_fraction * len(order)))
        if n_held >= len(order):
            raise VotronError(
                f"The 'validation_fraction' parameter of {type(self).__name__} must leave an example to train on: "
                f"{self.validation_fraction} of {len(order)} examples is {n_held}. Got {self.validation_fraction} instead."
            )
        counts = np.bincount(codes[order])
        stratify = codes[order] if counts[counts > 0].min() >= 2 and n_held >= len(counts) else None
        kept, held = train_test_split(order, test_size=n_held, stratify=stratify, random_state=rng)
        return np.sort(kept), np.sort(held)

    def _train(
        self,
        trainer: DualTrainer,
        rows: Rows,
        codes: NDArray[np.int64],
        order: Index,
        *,
        ids: Index | None = None,
        n_steps: int | None = None,
    ) -> tuple[TrainingRun, int]:
        """Run the engine; return what it did and how many steps the rules count."""
        m = len(order)
        until_clean = self.epochs is None and n_steps is None
        if n_steps is None:
            n_steps = self.MAX_EPOCHS * m if self.epochs is None else round(float(self.epochs) * m)
            if n_steps < 1:
                raise VotronError(
                    f"The 'epochs' parameter of {type(self).__name__} must present at least one example: {self.epochs} epochs of {m} "
                    f"examples is none. Got {self.epochs} instead."
                )
        repeats = n_steps > m or trainer.n_events > trainer.n_support
        with watching(n_steps, bool(self.verbose)) as watch:
            run = trainer.run(
                rows, codes, order, n_steps, ids=ids, n_threads=effective_threads(self.n_jobs, type(self).__name__),
                memory=parse_memory_limit(self.memory_limit) if repeats else 0, watcher=watch,
            )  # fmt: skip
        if until_clean and not (run.converged or run.interrupted):
            warnings.warn(
                f"Training made mistakes in every one of {self.MAX_EPOCHS} epochs, the most that epochs=None allows: the data may not be "
                "separable with this kernel. Give a number of epochs, or raise the degree.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return run, trainer.time if until_clean or run.interrupted else n_steps

    def _adopt(self, trainer: DualTrainer, record: MistakeRecord, classes: NDArray[Any], seed: int) -> None:
        """Set the attributes."""
        self.classes_, self.kernel_, self.record_ = classes, trainer.kernel, record
        rows = trainer.support_rows
        self.support_ = record.support
        self.support_vectors_ = rows[:, :0] if self._is_precomputed else rows
        self.dual_coef_ = record.dual_coef()
        used = np.unique(np.stack([record.vector.astype(np.int64), record.slot]), axis=1)
        self.n_support_ = np.bincount(used[0], minlength=record.n_vectors)
        self.n_mistakes_ = record.n_mistakes
        self._vectors = Vectors(record, trainer.kernel, rows, seed)
        self._trainer = None

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {key: None if key == "_trainer" else value for key, value in state.items()}

    # -- prediction ---------------------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Return the scores by the model's rule.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to score; with ``kernel="precomputed"`` their kernel values with the training examples.

        Returns
        -------
        array of shape (n_samples,) for two classes, else (n_samples, n_classes)
            Positive for the second class; the largest for the predicted one. The scores of "vote" are mean votes, from -1 to 1.
        """
        rows = self._rows_to_score(X)
        self._validate_params()
        scores = self._vectors.scores(rows, self.rule, bool(self.normalize_vectors), n_threads=effective_threads(self.n_jobs))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels by the model's rule.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_samples,)
            The predicted labels.
        """
        return self._labels(self.decision_function(X))

    def _labels(self, scores: Floats) -> NDArray[Any]:
        codes = (scores >= 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def _rows_to_score(self, X: Any) -> Rows:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr" if not self._is_precomputed else False, reset=False)
        rows = plain_rows(X)
        self.kernel_.check(rows)
        return rows

    def with_rule(
        self, rule: str, normalize_vectors: bool = False, *, X_val: Any = None, y_val: Any = None
    ) -> VotedPerceptronClassifier:
        """Return a shallow copy of the fitted model that predicts by another rule from the same record.

        Parameters
        ----------
        rule : str
            One of the rules.
        normalize_vectors : bool, default=False
            Whether vectors are divided by their lengths.
        X_val, y_val : data and labels, optional
            For "holdout": choose the vectors that err least on these data.

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
        if (X_val is None) != (y_val is None) or (X_val is not None and rule != "holdout"):
            raise VotronError("X_val and y_val go together, and with the rule 'holdout' only.")
        if X_val is not None:
            rows = self._rows_to_score(X_val)
            y_val = np.asarray(y_val)
            if y_val.shape != (rows.shape[0],):
                raise VotronError(
                    f"y_val must have one label for each of the {rows.shape[0]} rows of X_val. Got shape {y_val.shape}."
                )
            _, codes = encode_labels(y_val, self.classes_)
            other._set_holdout(rows, engine_codes(codes, len(self.classes_)))
        elif rule == "holdout" and self._vectors.holdout is None:
            raise VotronError("The rule 'holdout' needs held-out data: give X_val and y_val, or fit with rule='holdout'.")
        return other

    def _set_holdout(self, rows: Rows, codes: NDArray[np.int64]) -> None:
        old = self._vectors
        curve: HoldoutCurve = old.holdout_curve(rows, codes, n_threads=effective_threads(self.n_jobs))
        self._vectors = Vectors(old.record, old.kernel, old.support_rows, old.seed, curve)

    def staged_decision_function(
        self, X: Any, at: Sequence[float] | None = None, rules: Sequence[str | tuple[str, bool]] | None = None
    ) -> Iterator[tuple[float, dict[Any, Floats]]]:
        """Yield the scores of any rules at any moments of training, from one scan over the record.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to score.
        at : sequence of float, optional
            Moments in epochs, such as [0.1, 1, 2]; by default the end of each epoch that was run. They are visited in rising order.
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
        rows = self._rows_to_score(X)
        m, n_steps = self.record_.n_examples, self.record_.n_steps
        moments = (
            sorted(at) if at is not None else [min(e, n_steps / m) for e in range(1, max(1, int(np.ceil(self.n_epochs_))) + 1)]
        )
        asked = list(rules) if rules is not None else [(self.rule, bool(self.normalize_vectors))]
        choices = [(entry, False) if isinstance(entry, str) else (entry[0], bool(entry[1])) for entry in asked]
        times = [round(float(e) * m) for e in moments]
        if times and not 1 <= times[0] <= times[-1] <= n_steps:
            raise VotronError(
                f"The moments 'at' must lie within training, from one example to {n_steps / m:g} epochs. Got {list(moments)}."
            )
        return self._staged(rows, moments, times, asked, choices)

    def _staged(
        self, rows: Rows, moments: Sequence[float], times: list[int], asked: list[Any], choices: list[tuple[str, bool]]
    ) -> Iterator[tuple[float, dict[Any, Floats]]]:
        binary = len(self.classes_) == 2
        stages = self._vectors.staged(rows, times, choices, n_threads=effective_threads(self.n_jobs))
        for moment, stage in zip(moments, stages, strict=True):
            found = {a: stage.scores[c][:, 0] if binary else stage.scores[c] for a, c in zip(asked, choices, strict=True)}
            yield moment, found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._is_precomputed
        tags.input_tags.pairwise = self._is_precomputed
        return tags


def _resolved_gamma(gamma: str, rows: Rows) -> float:
    """Return the number that "scale" or "auto" stands for, as in scikit-learn's SVC."""
    n_features = int(rows.shape[1])
    if gamma == "auto":
        return 1.0 / n_features
    if hasattr(rows, "multiply"):
        n = rows.shape[0] * n_features
        data = rows.data.astype(np.float64)
        variance = float((data**2).sum() / n - (data.sum() / n) ** 2)
    else:
        variance = float(np.var(rows, dtype=np.float64))
    return float(1.0 / (n_features * variance)) if variance > 0 else 1.0
