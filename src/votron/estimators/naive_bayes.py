"""Naive Bayes as a linear classifier: weights whose w·x + w_0 is the log-odds of the classes.

Reference: W. Cohen's notes on linear classifiers, section 2, whose symbols are these:

    p_i = log P(x_i = 1 | y = +1) / P(x_i = 1 | y = -1)     what the presence of feature i says
    q_i = log P(x_i = 0 | y = +1) / P(x_i = 0 | y = -1)     what its absence says
    w_i = p_i - q_i
    w_0 = Σ_i q_i + log P(y = +1) / P(y = -1)

The probabilities are those of scikit-learn's BernoulliNB, and so are the predictions.
"""

from __future__ import annotations

from numbers import Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.naive_bayes import BernoulliNB
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from votron._util.types import Array, Floats, Labels, Rows, RowsLike
from votron.errors import VotronError
from votron.estimators._data import TrainingData, training_data, validated
from votron.estimators._training import history_of, history_with_batch, unchanged_on_error
from votron.estimators.base import VotronClassifier
from votron.rules.forms import Form, Linear, binarized

__all__ = ["NaiveBayesLinearClassifier"]


class NaiveBayesLinearClassifier(VotronClassifier, BernoulliNB):
    """Naive Bayes for binary features, with the weights of the linear classifier that it is.

    Learning, probabilities and predictions are those of scikit-learn's `BernoulliNB`; this class adds the weights.

    Parameters
    ----------
    alpha, force_alpha, fit_prior, class_prior
        As in BernoulliNB.
    binarize : float or None, default=0.0
        A feature is present where its value is above this number. None takes data of 0 and 1 only.

    Attributes
    ----------
    coef_ : array of shape (n_vectors, n_features)
        The weights w. Two classes have one vector, for the second of them.
    intercept_ : array of shape (n_vectors,)
        The weight w_0, of a feature that is always 1.
    presence_log_ratio_, absence_log_ratio_ : arrays of the shape of coef_
        The log-ratios p and q of the presence and the absence of a feature; for more than two classes
        log P(x_i = 1 | y) and log P(x_i = 0 | y).
    class_log_odds_ : array of the shape of intercept_
        log P(y = +1) / P(y = -1); for more than two classes log P(y).
    class_count_, class_log_prior_, feature_count_, feature_log_prob_ : arrays
        As in BernoulliNB.
    classes_, history_, n_features_in_, feature_names_in_
        As in `VotedPerceptronClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from votron import NaiveBayesLinearClassifier
    >>> X = np.array([[1, 0], [1, 1], [0, 1], [0, 0], [0, 1]])
    >>> y = np.array(["spam", "spam", "ham", "ham", "ham"])
    >>> model = NaiveBayesLinearClassifier().fit(X, y)
    >>> model.classes_
    array(['ham', 'spam'], dtype='<U4')
    >>> model.coef_.round(3)  # log (3/4)/(1/5) - log (1/4)/(4/5), and log (2/4)/(3/5) - log (2/4)/(2/5)
    array([[ 2.485, -0.405]])
    >>> bool(np.allclose(X @ model.coef_[0] + model.intercept_, model.decision_function(X)))
    True
    >>> model.predict([[1, 1]])
    array(['spam'], dtype='<U4')

    Notes
    -----
    Scores are the log-odds of the second of two classes; of more classes log P(x, y), where the difference of two
    columns is the log-odds of their classes. Of two classes a score of 0 predicts the first, as in BernoulliNB.
    """

    class_count_: Floats
    class_log_prior_: Floats
    feature_count_: Floats
    feature_log_prob_: Floats
    _ties_to_first = True
    _FIXED_IN_BATCHES = ("alpha", "binarize")

    # The absence of each of many hashed features would say something, and of a number only whether it is above 0 does.
    _encoder_defaults: ClassVar[dict[str, str]] = {"text_features": "tfidf", "dates": "onehot"}
    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **BernoulliNB._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],  # BernoulliNB takes an array for one alpha a class
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
    ) -> None:
        super().__init__(
            alpha=alpha, force_alpha=force_alpha, binarize=binarize, fit_prior=fit_prior, class_prior=class_prior
        )

    def fit(self, X: RowsLike, y: Labels, sample_weight: ArrayLike | None = None) -> Self:
        with unchanged_on_error(self), np.errstate(all="ignore"):  # what is no number is refused in words
            self._validate_params()
            data = training_data(self, X, y, sample_weight, scaled=False)
            BernoulliNB.fit(self, self._binary(data.rows), self._labels_in(data), data.weights)
            self._check_finite()
            self.history_ = history_of(self, data, len(data.codes), n_epochs=1.0, converged=None)
        return self

    def partial_fit(
        self, X: RowsLike, y: Labels, classes: Labels = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Go on counting, with new examples.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array, optional
            All labels that will ever come; needed at the first call unless its y has them all.
        """
        with unchanged_on_error(self), np.errstate(all="ignore"):
            self._validate_params()
            first = not hasattr(self, "history_")
            data = training_data(self, X, y, sample_weight, batch=True, classes=classes)
            if not first:  # BernoulliNB adds to these in place, and they are to be as before if something fails
                self.feature_count_, self.class_count_ = self.feature_count_.copy(), self.class_count_.copy()
            rows, labels = self._binary(data.rows), self._labels_in(data)
            if first or len(labels):
                known = self.__dict__.pop("classes_") if first else None  # without them BernoulliNB begins anew
                super().partial_fit(rows, labels, known, data.weights)
            self._check_finite()
            self.history_ = history_with_batch(self, data, np.arange(len(labels)), converged=None)
        return self

    def _labels_in(self, data: TrainingData) -> Array:
        return self.classes_[1 - data.codes if self._n_vectors == 1 else data.codes]

    def _check_X_y(self, X: RowsLike, y: Labels, reset: bool = True) -> tuple[Rows, Labels]:
        """Keep BernoulliNB from a second look at the data, which would warn a second time."""
        return X, y

    def _check_finite(self) -> None:
        present, absent = self._log_probabilities()
        bad = np.argwhere(~np.isfinite(present) | ~np.isfinite(absent))
        if len(bad):
            c, i = map(int, bad[0])
            raise VotronError(
                f"The 'alpha' parameter of {type(self).__name__} must keep the probability of each feature in each "
                f"class between 0 and 1, or a weight is infinite, and the probability of feature {i} in class "
                f"{self.classes_.tolist()[c]!r} is {np.exp(present[c, i]):g}. Got {self.alpha!r} instead.",
                parameter="alpha",
            )

    def _log_probabilities(self) -> tuple[Floats, Floats]:
        """Return log P(x_i = 1 | y) and log P(x_i = 0 | y), for each class y, as BernoulliNB computes them."""
        check_is_fitted(self)
        present = self.feature_log_prob_
        return present, np.log(1 - np.exp(present))

    def _against_the_first(self, by_class: Floats) -> Floats:
        return by_class[1:] - by_class[:1] if len(by_class) == 2 else by_class

    @property
    def presence_log_ratio_(self) -> Floats:
        """Log-ratio p of each feature's presence."""
        return self._against_the_first(self._log_probabilities()[0])

    @property
    def absence_log_ratio_(self) -> Floats:
        """Log-ratio q of each feature's absence."""
        return self._against_the_first(self._log_probabilities()[1])

    @property
    def class_log_odds_(self) -> Floats:
        """Log-odds of the classes before any feature is seen."""
        check_is_fitted(self)
        return self._against_the_first(self.class_log_prior_)

    @property
    def coef_(self) -> Floats:
        """The weight of each feature."""
        present, absent = self._log_probabilities()
        return self._against_the_first(present - absent)

    @property
    def intercept_(self) -> Floats:
        """The weight of a feature that is always 1."""
        _, absent = self._log_probabilities()
        return self._against_the_first(self.class_log_prior_ + absent.sum(axis=1))

    predict = BernoulliNB.predict

    def _scores(self, rows: Rows) -> Floats:
        return np.asarray(self._binary(rows) @ self.coef_.T + self.intercept_)

    def _form(self) -> tuple[Form, tuple[str, ...]]:
        if not np.isfinite(self.intercept_).all():
            raise VotronError(
                "Compact weights need an example of every class. Got none of "
                f"{self.classes_[~np.isfinite(self.class_log_prior_)].tolist()[0]!r} so far."
            )
        dropped = ("learning on (partial_fit)", "probabilities (predict_proba), counts and log-ratios")
        return Linear(self.coef_, self.intercept_, True, self.binarize), dropped

    def _check_X(self, X: RowsLike) -> Rows:
        """Return data to predict as 0/1 data; BernoulliNB asks here as well, whatever it predicts."""
        check_is_fitted(self)
        return self._binary(validated(self, X, kernel=None, reset=False)[0])

    def _binary(self, rows: Rows) -> Rows:
        return binarized(rows, self.binarize)
