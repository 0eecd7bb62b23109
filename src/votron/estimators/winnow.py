"""Winnow, the perceptron's multiplicative counterpart, as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Self

import numpy as np
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval

from votron._util.types import Floats, Index, Labels, Rows, RowsLike
from votron.engine import TrainingRun, WinnowTrainer
from votron.engine.winnow import active_rows
from votron.errors import NotRepresentableError
from votron.estimators import _training as training
from votron.estimators._data import TrainingData, training_data
from votron.estimators.base import VotronClassifier
from votron.rules.forms import Form, Linear
from votron.theory.bounds import WINNOW_CONSTRAINTS

__all__ = ["WinnowClassifier"]

_REMEDY = (
    "it may be that no threshold over these features tells the classes apart; give a number of epochs, or try "
    "complement=True"
)


@dataclass(eq=False, repr=False)
class WinnowClassifier(VotronClassifier):
    """Winnow: linear thresholds over Boolean features, learnt by multiplication (Littlestone, 1988).

    A missed positive example multiplies the weights of its active features (those that are 1) by ``promotion``; a false
    positive divides or eliminates them. Where few of many features matter this makes far fewer mistakes than the
    perceptron: for a disjunction of k of n features in the order of k log n instead of n. Several classes are handled
    one against the rest.

    Parameters
    ----------
    promotion : float, default=2.0
        α > 1, the factor of promotions.
    threshold : float or None, default=None
        θ > 0. A sum of active weights of at least θ predicts positive. None: half the number of features, counted twice
        with ``complement``.
    demotion : {"divide", "eliminate"}, default="divide"
        What a false positive does to the weights of its active features: "divide" by ``promotion`` (Winnow2), or
        "eliminate", set to 0 for good (Winnow1).
    complement : bool, default=False
        Give each feature's negation a weight as well.
    binarize : float or None, default=None
        Take values above this number for 1 and others for 0. None refuses data other than 0 and 1.
    epochs, shuffle, random_state, verbose
        As in `VotedPerceptronClassifier`.

    Attributes
    ----------
    coef_ : array of shape (n_vectors, n_features)
        Coefficients of the features: their weights, less those of their negations if there are any. Two classes have
        one vector, for the second of them.
    intercept_ : array of shape (n_vectors,)
        What is added: −θ, and the sum of the negations' weights if there are any.
    weights_ : array of shape (n_vectors, n_features), or (n_vectors, 2 n_features) with ``complement``
        The weights, those of the negations last. None is negative.
    threshold_ : float
        θ.
    n_mistakes_, n_promotions_, n_demotions_ : int arrays of shape (n_vectors,)
        Mistakes of each vector, and which of them were missed positives and false positives.
    classes_, n_epochs_, converged_, history_, n_features_in_, feature_names_in_
        As in `VotedPerceptronClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from votron import WinnowClassifier
    >>> from votron.theory import disjunction_mistake_bound
    >>> X = np.random.default_rng(0).integers(0, 2, (2000, 500))
    >>> y = X[:, 7] | X[:, 77]  # two of 500 features matter
    >>> model = WinnowClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y), model.converged_
    (1.0, True)
    >>> np.argsort(model.coef_[0], kind="stable")[-2:]  # they weigh the most, both the same
    array([ 7, 77])
    >>> model.n_mistakes_ <= disjunction_mistake_bound(n_features=500, n_literals=2)
    array([ True])

    Notes
    -----
    Scores are sums of active weights, less the threshold. A mistake is a wrong prediction, and a score of 0 predicts
    the second class. A positive example without any active feature scores −θ: it is a mistake in every pass. Ctrl-C is
    as in `VotedPerceptronClassifier`.

    References
    ----------
    N. Littlestone, *Learning quickly when irrelevant attributes abound*, Machine Learning 2 (1988).
    """

    promotion: float = 2.0
    threshold: float | None = None
    demotion: str = "divide"
    complement: bool = False
    binarize: float | None = None
    epochs: float | None = 10
    shuffle: bool = True
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    _FIXED_IN_BATCHES = ("promotion", "threshold", "demotion", "complement", "binarize")
    _encoder_defaults: ClassVar[dict[str, str]] = {"numeric": "keep", "dates": "onehot"}  # it wants 0 and 1
    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **WINNOW_CONSTRAINTS,
        "complement": ["boolean"],
        "binarize": [Interval(Real, None, None, closed="neither"), None],
        "epochs": [Interval(Real, 0, None, closed="neither"), None],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def fit(self, X: RowsLike, y: Labels) -> Self:  # type: ignore[override]  # it knows no weights
        with training.unchanged_on_error(self):
            self._validate_params()
            data = training_data(self, X, y)
            n = len(data.codes)
            order = check_random_state(self.random_state).permutation(n) if self.shuffle else np.arange(n)
            run = self._train(self._new_trainer(), data, order, training.n_steps_of(self, n))
            self.history_ = training.history_of_fit(self, data, order, order[:0], run)
        training.tell_of_end(self, run, _REMEDY)
        return self

    def partial_fit(self, X: RowsLike, y: Labels, classes: Labels = None) -> Self:
        """Go on learning: one pass over new data, in their order.

        One call after another gives exactly the weights of one unshuffled pass over all of the data.

        Parameters
        ----------
        X, y : data and labels
            New examples.
        classes : array, optional
            All labels that will ever come; needed at the first call unless its y has them all.
        """
        with training.unchanged_on_error(self):
            first = not hasattr(self, "_trainer")
            self._validate_params()
            data = training_data(self, X, y, batch=True, classes=classes)
            order = np.arange(len(data.codes))
            run = self._train(self._new_trainer() if first else self._trainer.copy(), data, order, len(order))
            self.history_ = training.history_with_batch(self, data, order, interrupted=run.interrupted)
        training.hand_on_ctrl_c(run, run.steps)
        return self

    def _new_trainer(self) -> WinnowTrainer:
        return WinnowTrainer(
            self.n_features_in_,
            self._n_vectors,
            promotion=self.promotion,
            threshold=self.threshold,
            eliminate=self.demotion == "eliminate",
            complement=bool(self.complement),
        )

    def _train(self, trainer: WinnowTrainer, data: TrainingData, order: Index, n_steps: int) -> TrainingRun:
        rows = active_rows(data.rows, self.binarize)
        run = training.in_epochs(
            self, n_steps, lambda watch: trainer.run(rows, data.codes, order, n_steps, watcher=watch)
        )
        self._keep(trainer)
        return run

    def _keep(self, trainer: WinnowTrainer) -> None:
        self._trainer, self.threshold_ = trainer, trainer.threshold
        self.n_promotions_, self.n_demotions_ = trainer.promotions, trainer.demotions
        self.n_mistakes_ = trainer.promotions + trainer.demotions

    @property
    def weights_(self) -> Floats:
        """The weights, those of the negations last."""
        return self._trainer.weights

    @property
    def coef_(self) -> Floats:
        """Coefficients of the features."""
        return self._trainer.linear()[0]

    @property
    def intercept_(self) -> Floats:
        """Constants that are added to scores."""
        return self._trainer.linear()[1]

    def _scores(self, rows: Rows) -> Floats:
        scores = self._trainer.scores(active_rows(rows, self._fixed["binarize"]))
        if not np.isfinite(scores).all():
            raise NotRepresentableError("Scores exceed the largest float64 on these rows: lower 'promotion'.")
        return scores

    def _form(self) -> tuple[Form, tuple[str, ...]]:
        dropped = ("learning on (partial_fit)", "the weights of negations, and the counts of promotions and demotions")
        coefficients, intercept = self._trainer.linear()
        return Linear(coefficients, intercept, True, self._fixed["binarize"]), dropped

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # the checks' blobs are real numbers, of which it sees a bit each
        return tags
