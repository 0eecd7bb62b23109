"""Winnow, the perceptron's multiplicative counterpart, as a scikit-learn classifier.

Conventions: weights start at 1, the score is w·x − θ, and a score of 0 predicts the positive class. A *mistake* is a
wrong prediction. The perceptron's is y · score ≤ 0, a score of 0 included whatever the label, since its vector starts
at 0 and would never leave it otherwise; Winnow starts at 1, and its bounds count wrong predictions.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from votron._loops import winnow as _loops
from votron.engine import TrainingRun
from votron.errors import NotRepresentableError, VotronError
from votron.estimators import _inputs
from votron.estimators._epochs import EpochClassifier
from votron.estimators._watch import watching
from votron.products import Floats, Index, Rows, chunks, rows_in_bytes

__all__ = ["WinnowClassifier", "disjunction_mistake_bound"]

_LEAST_POSITIVE = float(np.finfo(np.float64).tiny)

_VISITS_AT_ONCE = 1 << 22
"""Weights that are looked at between two looks at the clock and the keyboard: some milliseconds."""

_CONSTRAINTS: dict[str, list[Any]] = {
    "promotion": [Interval(Real, 1, None, closed="neither")],
    "threshold": [Interval(Real, 0, None, closed="neither"), None],
    "demotion": [StrOptions({"divide", "eliminate"})],
}

_FIXED = ("promotion", "threshold", "demotion", "complement", "binarize")
"""The parameters that make weights what they are, and may not change between calls of partial_fit."""


class WinnowClassifier(EpochClassifier):
    """Winnow: linear thresholds over Boolean features, learnt by multiplication (Littlestone, 1988).

    Training presents the examples in turn. Where a positive example is missed, the weights of its active features
    (those that are 1) are multiplied by ``promotion``; where a negative one is taken for positive they are divided by
    it, or eliminated. Where few of very many features matter this makes far fewer mistakes than the perceptron's
    additions: for a disjunction of k of n features in the order of k log n (`disjunction_mistake_bound`) instead of n.
    Several classes are handled one against the rest.

    Parameters
    ----------
    promotion : float, default=2.0
        α > 1, the factor of promotions.
    threshold : float or None, default=None
        θ > 0. A sum of active weights of at least θ predicts positive. None: half the number of features, counted twice
        with ``complement``.
    demotion : {"divide", "eliminate"}, default="divide"
        What a false positive does to the weights of its active features: "divide" by ``promotion`` (Winnow2), which
        recovers from noise, or "eliminate", set to 0 for good (Winnow1).
    complement : bool, default=False
        Give each feature's negation a weight as well, so that disjunctions of negated literals can be learnt, and
        features whose presence speaks against a class. An example then costs time in all features, not in its active
        ones; no memory.
    binarize : float or None, default=None
        Take values above this number for 1 and others for 0. None: data are 0 and 1 already, and others are refused.
    epochs : float or None, default=10
        Passes through the data; a fraction stops within a pass. Training ends early when a pass makes no mistake. None
        trains until then, for 1000 passes at most.
    shuffle : bool, default=True
        Shuffle the examples once, before the first pass.
    random_state : int, RandomState instance or None, default=None
        For the shuffle.
    verbose : int, default=0
        1 shows a progress bar on a terminal and plain lines elsewhere, on standard error.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    coef_ : array of shape (n_vectors, n_features)
        Coefficients of the features: their weights, less those of their negations if there are any. Two classes have
        one vector, for the second of them.
    intercept_ : array of shape (n_vectors,)
        What is added: −θ, and the sum of the negations' weights if there are any.
    weights_ : array of shape (n_vectors, n_features), or (n_vectors, 2 n_features) with ``complement``
        The weights, those of the negations last. None is negative.
    threshold_ : float
        θ.
    n_mistakes_ : int array of shape (n_vectors,)
        Mistakes of each vector.
    n_promotions_, n_demotions_ : int arrays of shape (n_vectors,)
        The same, by kind: missed positives and false positives.
    n_epochs_ : float
        Passes that were run; calls of `partial_fit` count as one each.
    converged_ : bool
        Whether `fit` ended with a whole pass without a mistake: the final weights make none on the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Names of the features, where the data have names.

    Examples
    --------
    >>> import numpy as np
    >>> from votron import WinnowClassifier
    >>> from votron.estimators.winnow import disjunction_mistake_bound
    >>> X = np.random.default_rng(0).integers(0, 2, (2000, 500))
    >>> y = X[:, 7] | X[:, 77]  # two of 500 features matter
    >>> model = WinnowClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y), model.converged_
    (1.0, True)
    >>> np.argsort(model.coef_[0])[-2:]
    array([ 7, 77])
    >>> model.n_mistakes_ <= disjunction_mistake_bound(n_features=500, n_literals=2)
    array([ True])

    Notes
    -----
    A mistake is a wrong prediction, and a score of 0 predicts the second class. The perceptron's mistakes, y · score ≤
    0, include a score of 0 whatever the label, since a vector that starts at 0 would never leave it otherwise; these
    weights start at 1. In Winnow2 no weight falls below 2.2e-308, the least normal number, so that each can rise again.
    A positive example without any active feature scores −θ, whatever the weights: it is a mistake in every pass.
    Ctrl-C during `fit` raises KeyboardInterrupt as usual, but leaves a fitted model of what was learnt until then; a
    second one breaks off at once, and leaves the model as it was before.

    References
    ----------
    N. Littlestone (1988). Learning quickly when irrelevant attributes abound: a new linear-threshold algorithm. Machine
    Learning 2, 285-318.
    """

    n_features_in_: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CONSTRAINTS,
        "complement": ["boolean"],
        "binarize": [Interval(Real, None, None, closed="neither"), None],
        "epochs": [Interval(Real, 0, None, closed="neither"), None],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        promotion: float = 2.0,
        threshold: float | None = None,
        demotion: str = "divide",
        complement: bool = False,
        binarize: float | None = None,
        epochs: float | None = 10,
        shuffle: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.promotion = promotion
        self.threshold = threshold
        self.demotion = demotion
        self.complement = complement
        self.binarize = binarize
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.verbose = verbose

    # -- training -----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> WinnowClassifier:
        """Train on data and labels.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The examples, of values 0 and 1, or any numbers if ``binarize`` says where to cut.
        y : array of shape (n_samples,)
            The labels, of any type.

        Returns
        -------
        self : WinnowClassifier
            The fitted model.
        """
        with _inputs.unchanged_on_error(self):
            rows, codes = self._checked(X, y, first=True)
            n = len(codes)
            order = check_random_state(self.random_state).permutation(n) if self.shuffle else np.arange(n)
            self._start()
            run = self._train(rows, codes, order, self._n_steps(n))
            self.n_epochs_, self.converged_ = run.steps / n, run.converged
        self._raise_if(run.interrupted, run.steps)
        self._warn_if(
            not run.converged,
            "it may be that no threshold over these features tells the classes apart; give a number of epochs, or try "
            "complement=True",
        )
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> WinnowClassifier:
        """Go on learning: one pass over new data, in their order, from the weights there are.

        One call after another gives exactly the weights and counts of one unshuffled pass over all of the data.

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
        self : WinnowClassifier
            The model.
        """
        with _inputs.unchanged_on_error(self):
            first = not hasattr(self, "weights_")
            rows, codes = self._checked(X, y, first=first, classes=classes)
            if first:
                self._start()
            run = self._train(rows, codes, np.arange(len(codes)), len(codes))
            self.n_epochs_, self.converged_ = 1.0 if first else self.n_epochs_ + 1.0, False
        self._raise_if(run.interrupted, run.steps)
        return self

    def _checked(self, X: Any, y: Any, *, first: bool, classes: Any = None) -> tuple[_ActiveRows, NDArray[np.int64]]:
        """Validate parameters and data; set ``classes_`` and what may not change from here on."""
        self._validate_params()
        if not first:
            self._check_same(classes)
        X, y = _inputs.validated(self, X, y, kernel=None, reset=first)
        rows = _active_rows(X, self.binarize, type(self).__name__)
        self.classes_, codes = _inputs.encode_labels(y, classes if first else self.classes_)
        _inputs.check_two_classes(self.classes_, X.shape)
        self._fixed = {name: getattr(self, name) for name in _FIXED}
        return rows, codes

    def _check_same(self, classes: Any) -> None:
        """Refuse to go on from weights of other classes or made in another way."""
        self._check_same_classes(classes)
        for name, value in self._fixed.items():
            if getattr(self, name) != value:
                raise VotronError(
                    f"The '{name}' parameter of {type(self).__name__} must be the same at every call of partial_fit: "
                    f"{value!r}. Got {getattr(self, name)!r} instead."
                )

    def _start(self) -> None:
        """Set the weights and counts that training starts from."""
        n_vectors, n_literals = self._n_vectors, self.n_features_in_ * (2 if self.complement else 1)
        self.threshold_ = n_literals / 2 if self.threshold is None else float(self.threshold)
        if not math.isfinite(float(self.promotion) * self.threshold_ * n_literals):
            raise NotRepresentableError(
                f"The 'promotion' and 'threshold' parameters of {type(self).__name__} must be such that the sum of "
                f"{n_literals} weights of promotion · threshold each fits into a float64. "
                f"Got {self.promotion!r} and {self.threshold_!r} instead."
            )
        self.weights_ = np.ones((n_vectors, n_literals))
        self.n_promotions_ = np.zeros(n_vectors, dtype=np.int64)
        self.n_demotions_ = np.zeros(n_vectors, dtype=np.int64)

    def _train(self, rows: _ActiveRows, codes: NDArray[np.int64], order: Index, n_steps: int) -> TrainingRun:
        """Present rows, on copies of weights and counts that become the model's at the end."""
        w, up, down = self.weights_.copy(), self.n_promotions_.copy(), self.n_demotions_.copy()
        divisor, least = (math.inf, 0.0) if self.demotion == "eliminate" else (float(self.promotion), _LEAST_POSITIVE)
        n, per_row = len(order), self.n_features_in_ if self.complement else len(rows.indices) // len(codes)
        at_once = max(1, _VISITS_AT_ONCE // (len(w) * (per_row + 8)))  # 8: a row without features takes time as well
        steps = last_mistake = 0
        with watching(n_steps, bool(self.verbose)) as watch:
            while steps < n_steps and not watch.should_stop():
                start = steps % n
                part = order[start : start + min(at_once, n_steps - steps)]
                how = self.threshold_, float(self.promotion), divisor, least
                mistake = _loops.walk(*rows, codes, part, w, *how, up, down)
                last_mistake = steps + mistake if mistake else last_mistake
                steps += len(part)
                watch.update(steps, (steps - 1) // n + 1, int(up.sum() + down.sum()))
                if steps % n == 0 and steps - last_mistake >= n:
                    break
        self._keep(w, up, down)
        return TrainingRun(steps, steps - last_mistake >= n, watch.interrupted)

    def _keep(self, weights: Floats, promotions: Index, demotions: Index) -> None:
        """Set the attributes."""
        n = self.n_features_in_
        self.weights_, self.n_promotions_, self.n_demotions_ = weights, promotions, demotions
        self.n_mistakes_ = promotions + demotions
        negated = weights[:, n:] if weights.shape[1] > n else np.zeros((len(weights), 1))
        self.coef_ = weights[:, :n] - negated
        self.intercept_ = negated.sum(axis=1) - self.threshold_

    # -- prediction ---------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Return the scores: sums of active weights, less the threshold.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        array of shape (n_samples,) for two classes, else (n_samples, n_classes)
            Positive for the second class; the largest for the predicted one. Of two classes, a score of 0 predicts the
            second: it is returned as 2.2e-308, so that the sign always tells the label.
        """
        check_is_fitted(self)
        X, _ = _inputs.validated(self, X, kernel=None, reset=False)
        rows = _active_rows(X, self._fixed["binarize"], type(self).__name__)
        scores = np.empty((X.shape[0], len(self.weights_)))
        _loops.score(*rows, self.weights_, self.threshold_, scores)
        return self._shaped(scores)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # The checks measure accuracy on blobs with two real features; of those, cut into a bit each, too little is left
        # to tell three classes apart.
        tags.classifier_tags.poor_score = True
        return tags


# -- Boolean data -----------------------------------------------------------------------------------------------------


class _ActiveRows(NamedTuple):
    """Rows of Boolean features as CSR without values, as the loops take them."""

    indptr: NDArray[np.int64]
    indices: NDArray[Any]
    n_features: int


def _active_rows(X: Rows, binarize: float | None, owner: str) -> _ActiveRows:
    """Return which features are active in each row."""
    n, d = map(int, X.shape)
    index = np.int32 if 2 * d < 2**31 else np.int64  # numbers of literals, negated ones included
    counts, found = np.zeros(n + 1, dtype=np.int64), []
    if sp.issparse(X):
        if binarize is not None and binarize < 0:
            raise VotronError(
                f"The 'binarize' parameter of {owner} must be a number in the range [0, inf) for sparse data, since "
                f"the zeros that they leave out would all be above it. Got {binarize!r} instead."
            )
        rows = np.repeat(np.arange(n), np.diff(X.indptr))
        on = _is_on(X.data, binarize, owner, lambda k: (int(rows[k[0]]), int(X.indices[k[0]])))
        counts[1:] = np.bincount(rows[on], minlength=n)
        found.append(X.indices[on].astype(index))
    else:
        for part in chunks(n, rows_in_bytes(X)):
            on = _is_on(X[part], binarize, owner, lambda k, start=part.start: (start + int(k[0]), int(k[1])))
            counts[part.start + 1 : part.stop + 1] = on.sum(axis=1)
            found.append(np.nonzero(on)[1].astype(index))
    return _ActiveRows(np.cumsum(counts), np.concatenate(found), d)


def _is_on(values: NDArray[Any], binarize: float | None, owner: str, where: Any) -> NDArray[np.bool_]:
    """Tell which values are 1, or above the cut; ``where`` gives the row and column of a value to complain of."""
    if binarize is not None:
        return np.asarray(values > binarize)
    on = np.asarray(values == 1)
    bad = ~on & (values != 0)
    if bad.any():
        at = np.unravel_index(int(bad.argmax()), bad.shape)
        row, column = where(at)
        raise VotronError(
            f"The features of X must be Boolean, 0 or 1, unless the 'binarize' parameter of {owner} says where to cut "
            f"(binarize=0.5 takes what is above 0.5 for 1). Got {values[at].item()!r} at row {row}, column {column} "
            "instead."
        )
    return on


# -- theory -----------------------------------------------------------------------------------------------------------


def disjunction_mistake_bound(
    n_features: int,
    n_literals: int,
    promotion: float = 2.0,
    threshold: float | None = None,
    demotion: str = "divide",
) -> float:
    """Return the most mistakes that Winnow makes on any examples of a disjunction (Littlestone, 1988).

    The examples are labelled by a disjunction of k of n features, in any number and any order. With α the promotion and
    θ the threshold, Winnow2 (``demotion="divide"``) makes at most

        (1 + α) k ⌈log_α θ⌉ + α n / ((α − 1) θ)

    mistakes, and Winnow1 (``demotion="eliminate"``) at most

        α k ⌈log_α θ⌉ + n / θ.

    At the defaults, α = 2 and θ = n/2, that is 3k⌈log₂(n/2)⌉ + 4 and 2k⌈log₂(n/2)⌉ + 2.

    Parameters
    ----------
    n_features : int
        n; with ``complement=True`` twice the number of features.
    n_literals : int
        k, how many of them are in the disjunction.
    promotion : float, default=2.0
        α.
    threshold : float or None, default=None
        θ; None is n/2. For θ ≤ 1 the logarithm counts as 0: a literal that starts at 1 is never missed.
    demotion : {"divide", "eliminate"}, default="divide"
        What a false positive does.

    Returns
    -------
    float
        The bound; for two classes it bounds ``WinnowClassifier.n_mistakes_``.

    Notes
    -----
    A promotion happens on a positive example, which has a literal of the disjunction active, at a sum of active weights
    below θ. So it multiplies the weight of such a literal, which was below θ. A false positive has none of them active,
    so these weights never fall: each is 1, α, α², ... and is promoted at most ⌈log_α θ⌉ times. Hence there are
    p ≤ k⌈log_α θ⌉ promotions. The sum of all n weights starts at n and never becomes negative. A promotion adds less
    than (α − 1)θ to it. A demotion happens at a sum of active weights of at least θ, and so takes at least (1 − 1/α)θ
    away, an elimination at least θ. Hence there are at most (n/θ + (α − 1)p) / (1 − 1/α) demotions, or
    n/θ + (α − 1)p eliminations. Add the two.

    Examples
    --------
    >>> from votron.estimators.winnow import disjunction_mistake_bound
    >>> disjunction_mistake_bound(n_features=1024, n_literals=3)
    85.0
    >>> disjunction_mistake_bound(n_features=2048, n_literals=3)  # twice as many features: nine more
    94.0
    """
    given = {"promotion": promotion, "threshold": threshold, "demotion": demotion}
    _check_bound(n_features, n_literals, given)
    alpha = float(promotion)
    theta = n_features / 2 if threshold is None else float(threshold)
    promotions = n_literals * _promotions_of_a_literal(alpha, theta)
    if demotion == "eliminate":
        return alpha * promotions + n_features / theta
    return (1 + alpha) * promotions + n_features / theta * (alpha / (alpha - 1))


def _check_bound(n_features: int, n_literals: int, given: dict[str, Any]) -> None:
    owner = "disjunction_mistake_bound"
    constraints = _CONSTRAINTS | {"n_features": [Interval(Integral, 1, 2**62, closed="both")]}
    validate_parameter_constraints(constraints, given | {"n_features": n_features}, owner)
    constraints = {"n_literals": [Interval(Integral, 0, n_features, closed="both")]}
    validate_parameter_constraints(constraints, {"n_literals": n_literals}, owner)


def _promotions_of_a_literal(alpha: float, theta: float) -> int:
    """Return ⌈log_α θ⌉, 0 for θ ≤ 1."""
    estimate = math.log(theta) / math.log(alpha)
    if estimate > 1e6:  # too many to count; one more, for the rounding of logarithms and products
        return math.ceil(estimate * (1 + 1e-9)) + 1
    n, weight = 0, 1.0
    while weight < theta:  # counted as training multiplies, so that a rounded power is not held against it
        n, weight = n + 1, weight * alpha
    return n
