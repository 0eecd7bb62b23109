"""Classifiers with probabilities: `predict_proba` by the slope that `votron.estimators._progressive` computes.

One positive slope does not change the order of the classes, so the most probable one is what `predict` says. `fit`
keeps rows; the slope is computed when it is first asked for.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from votron._util.types import Floats, Index, Rows, RowsLike
from votron.errors import VotronError
from votron.estimators._training import Sample, outside_votron
from votron.estimators._validation import is_collection
from votron.estimators.base import VotronClassifier


def _has_probabilities(model: ProbabilisticClassifier) -> bool:
    """Tell whether a model knows the slope of its scores, or can compute it; refuse with the reason if it is fitted."""
    if not hasattr(model, "classes_") or model._has_slope():
        return True
    trained = "_sample" in vars(model)  # training sets it, even to None
    why = "no row was scored before it was learnt" if trained else "it comes from a file or a model without them"
    raise VotronError(
        f"This {type(model).__name__} has no probabilities, since {why}: fit it again, or give held-out rows to "
        "CalibratedClassifierCV(FrozenEstimator(model), method='sigmoid')."
    )


class ProbabilisticClassifier(VotronClassifier):
    """A classifier that knows the slope of its scores."""

    _sample: Sample | None = None
    _slopes: dict[str, float] = {}  # noqa: RUF012 - written to only where there is a sample, which comes with its own

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: RowsLike) -> Floats:
        """Return the probability of each class, by temperature scaling of the scores.

        The temperature comes from the scores that rows of the first pass had before they were learnt, or from rows that
        were held out.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities, in the order of ``classes_``; the largest is that of the label that `predict` returns.
        """
        if is_collection(X):
            return self._lazily("predict_proba", X)  # type: ignore[no-any-return]
        scores = self.decision_function(X)
        return _favoured(np.exp(self._log_probabilities(scores)), self._numbers(scores))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: RowsLike) -> Floats:
        """Return the logarithms of the probabilities.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The logarithms, in the order of ``classes_``; no probability is too small for them.
        """
        if is_collection(X):
            return self._lazily("predict_log_proba", X)  # type: ignore[no-any-return]
        scores = self.decision_function(X)
        return _favoured(self._log_probabilities(scores), self._numbers(scores))

    def _log_probabilities(self, scores: Floats) -> Floats:
        from scipy.special import log_softmax

        from votron.estimators._progressive import columns_of

        if self._sample is not None and self._sample.grouped:
            warnings.warn(
                "Classes were presented one after another, so rows that were scored before they were learnt say little "
                "of how sure the model is: present them in random order (in fit: shuffle=True), or calibrate on "
                "held-out rows.",
                UserWarning,
                stacklevel=outside_votron(),
            )
        columns = columns_of(scores)
        with np.errstate(over="ignore"):  # a class that is behind by more than any number has probability 0
            behind = self._slope() * (columns - columns.max(axis=1, keepdims=True))
        return np.asarray(log_softmax(behind, axis=1))

    def _has_slope(self) -> bool:
        return self._sample is not None or self._predictor_key() in self._slopes

    def _slope(self) -> float:
        check_is_fitted(self)
        key = self._predictor_key()
        if key not in self._slopes:
            self._slopes.update(self._computed_slopes([key]))
        return self._slopes[key]

    def _all_slopes(self) -> dict[str, float]:
        """Return the slopes of all predictors that the model may be asked for, as a file keeps them."""
        known = dict(self._slopes)
        if self._sample is not None:
            known |= self._computed_slopes([key for key in self._predictor_keys() if key not in known])
        return dict(sorted(known.items()))  # whatever was asked for first

    def _take_sample(self, sample: Sample | None) -> None:
        self._sample, self._slopes = sample or None, {}

    def _take_held_out(self, rows: Rows, codes: Index, n_steps: int) -> None:
        """Have slopes computed from rows that were held out, if they are enough; or from those that there are."""
        from votron.estimators._progressive import ENOUGH, held_out_sample, part_of

        if len(codes) < ENOUGH:
            if self._sample is None:
                return  # what a file says stays
            before = part_of(self._sample, np.flatnonzero(self._sample.times <= n_steps))
            if len(before):
                self._take_sample(before)
                return
        self._take_sample(held_out_sample(rows, codes, self._n_vectors, n_steps))

    def _add_to_sample(self, sample: Sample | None) -> None:
        """Have slopes computed from rows of a further batch too; what a file says stays until there are enough."""
        from votron.estimators._progressive import ENOUGH, joined

        known = self._sample
        if known is None:
            if not self._slopes or (sample and len(sample) >= ENOUGH):
                self._take_sample(sample)
        elif sample and not known.held_out:  # held-out rows are better than rows that were learnt
            self._take_sample(joined(known, sample))
        else:
            self._take_sample(known)  # whose slopes are others by now

    def _predictor_key(self) -> str:
        raise NotImplementedError

    def _predictor_keys(self) -> list[str]:
        raise NotImplementedError

    def _computed_slopes(self, keys: list[str]) -> dict[str, float]:
        raise NotImplementedError


def _favoured(values: Floats, numbers: Index) -> Floats:
    """Raise what belongs to the predicted class by one bit, where rounding, or a tie, left another in front."""
    behind = np.flatnonzero(values.argmax(axis=1) != numbers)
    values[behind, numbers[behind]] = np.nextafter(values[behind].max(axis=1), np.inf)
    return values
