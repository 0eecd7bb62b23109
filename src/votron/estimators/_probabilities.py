"""Classifiers with probabilities: what `votron.estimators._progressive` finds out, as `predict_proba`.

One positive slope cannot change the order of the classes, so the most probable one is what `predict` says. Rows are
kept in `fit`, and what they tell is computed when it is first asked for, so that training takes no longer.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from votron._util.resources import effective_threads
from votron._util.types import Floats, Index, Rows
from votron.errors import VotronError
from votron.estimators._collections import on_collections
from votron.estimators._progressive import (
    AVERAGE,
    ENOUGH,
    LAST,
    SAMPLE,
    SAMPLE_ON_THE_WAY,
    Sample,
    SampleOnTheWay,
    class_numbers,
    columns_of,
    come_grouped,
    evenly,
    progressive_scores,
    second_half,
    slope_of,
)
from votron.estimators._score_functions import linear_scores
from votron.estimators._validation import AvailableWhere, rows_at, validated
from votron.estimators.base import ScoreClassifier, outside_votron
from votron.record import labels_of
from votron.rules import RULES, Vectors

_UNIT = ", vectors of length 1"


def _why_none(model: Any) -> VotronError | None:
    return model._why_no_probabilities() if hasattr(model, "classes_") else None


class WithProbabilities(ScoreClassifier):
    """A classifier that knows the slope of its scores."""

    _sample: Sample | None = None
    """Rows from which slopes can be computed."""
    shuffle: bool = False
    _slopes: dict[Any, float] = {}  # noqa: RUF012 - written to only where there is a sample, which comes with its own
    """Those that were, by choice of the predictor."""

    @partial(AvailableWhere, _why_none)
    @on_collections
    def predict_proba(self, X: Any) -> Floats:
        """Return how probable each class is, by temperature scaling of the scores.

        The one number that this takes comes from training, without training again: from the scores that rows of the
        first pass had before they were learnt, or from rows that were held out. It is computed when it is first
        needed.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities, in the order of ``classes_``; the largest is that of the label that `predict` returns,
            where several are equal by a last bit.
        """
        scores = self.decision_function(X)
        return _favoured(np.exp(self._log_probabilities(scores)), self._numbers(scores))

    @partial(AvailableWhere, _why_none)
    @on_collections
    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the probabilities.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_samples, n_classes)
            What `predict_proba` returns the exponentials of; no probability is too small for it.
        """
        scores = self.decision_function(X)
        return _favoured(self._log_probabilities(scores), self._numbers(scores))

    def _log_probabilities(self, scores: Floats) -> Floats:
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

    def _numbers(self, scores: Floats) -> NDArray[np.int64]:
        return labels_of(scores, ties_to_first=self._ties_to_first)

    def _slope(self) -> float:
        """Return the slope of the scores by which the model predicts."""
        check_is_fitted(self)
        key = self._predictor_key()
        if key not in self._slopes:
            assert self._sample is not None
            self._slopes.update(self._computed_slopes([key]))
        return self._slopes[key]

    def _all_slopes(self) -> dict[Any, float]:
        """Return the slopes of all predictors that the model may be asked for, as a file keeps them."""
        known = dict(self._slopes)
        if self._sample is not None:
            known |= self._computed_slopes([key for key in self._predictor_keys() if key not in known])
        return dict(sorted(known.items()))  # whatever was asked for first

    def _take_sample(self, sample: Sample | None) -> None:
        """Have slopes computed from these rows from now on, if there are any."""
        self._sample, self._slopes = sample or None, {}

    def _take_pass(self, sample: Sample | None) -> None:
        """Have slopes computed from rows of the first pass; what was shuffled came in no order but by chance."""
        self._take_sample(sample and replace(sample, grouped=sample.grouped and not self.shuffle))

    def _sample_held_out(self, rows: Rows, codes: NDArray[Any]) -> Self:
        """Have slopes computed from rows that were held out, if they are enough; or from those that there are."""
        n_steps, n_vectors = self._n_steps_and_vectors()
        if len(codes) < ENOUGH:
            if self._sample is None:
                return self  # what a file says stays
            before = self._sample.part(np.flatnonzero(self._sample.times <= n_steps))
            if len(before):
                self._take_sample(before)
                return self
        some = evenly(len(codes), SAMPLE)
        labels, times = class_numbers(codes[some], n_vectors), np.full(len(some), n_steps)
        self._take_sample(Sample(rows[some], labels, times, held_out=True))
        return self

    def _n_steps_and_vectors(self) -> tuple[int, int]:
        """Return how long training was, and how many vectors there are."""
        raise NotImplementedError

    def _add_to_sample(self, sample: Sample | None) -> None:
        """Have slopes computed from rows of a further batch too; what a file says stays until there are enough."""
        if self._sample is not None:
            self._take_sample(self._sample.then(sample))
        elif not self._slopes or (sample and len(sample) >= ENOUGH):
            self._take_sample(sample)

    def _why_no_probabilities(self) -> VotronError | None:
        if self._sample is not None or self._predictor_key() in self._slopes:
            return None
        trained = "_sample" in vars(self)  # training sets it, even to None
        why = "no row was scored before it was learnt" if trained else "it comes from a file or a model without them"
        return VotronError(
            f"This {type(self).__name__} has no probabilities, since {why}: fit it again, or give held-out rows to "
            "CalibratedClassifierCV(FrozenEstimator(model), method='temperature')."
        )

    def _predictor_key(self) -> Any:
        """Return by what the model predicts, of all that it may be asked for."""
        raise NotImplementedError

    def _predictor_keys(self) -> list[Any]:
        """Return all that it may be asked for."""
        raise NotImplementedError

    def _computed_slopes(self, keys: list[Any]) -> dict[Any, float]:
        """Return slopes from the sample."""
        raise NotImplementedError


def _favoured(values: Floats, numbers: NDArray[np.int64]) -> Floats:
    """Raise what belongs to the predicted class by one bit, where rounding, or a tie, left another in front."""
    behind = np.flatnonzero(values.argmax(axis=1) != numbers)
    values[behind, numbers[behind]] = np.nextafter(values[behind].max(axis=1), np.inf)
    return values


class RecordProbabilities(WithProbabilities):
    """A classifier whose record tells how each row fared before it was learnt."""

    n_jobs: int | None
    normalize_vectors: bool
    _vectors: Vectors

    def agreement(self, X: Any) -> Floats:
        """Return which share of the votes the predicted label has: how much the vectors of training agree on it.

        A measure of doubt by the record alone. Whatever the rule, it is the votes that are counted: of two classes,
        those for the predicted one; of more, those of the predicted class's own vectors, each of which says yes or no.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_samples,)
            Shares, from 0 to 1; 1 where all vectors since the first mistake agree.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from votron import VotedPerceptronClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> model = VotedPerceptronClassifier(random_state=0).fit(X[:1000], y[:1000])
        >>> sure = model.agreement(X[1000:]) > 0.9
        >>> wrong = model.predict(X[1000:]) != y[1000:]
        >>> bool(wrong[sure].mean() < 0.03 < 0.15 < wrong[~sure].mean())
        True
        """
        check_is_fitted(self)
        rows, _ = validated(self, X, kernel=self.kernel_, reset=False)
        numbers, votes = self._numbers(self._shaped(self._scores(rows))), ("vote", False)
        [stage] = self._vectors.staged(
            rows, [self._vectors.record.n_steps], [votes], n_threads=effective_threads(self.n_jobs)
        )
        scores = stage.scores[votes]
        signed = np.where(numbers == 1, 1, -1) * scores[:, 0] if scores.shape[1] == 1 else None
        return (1 + (scores[np.arange(len(numbers)), numbers] if signed is None else signed)) / 2

    def _predictor_key(self) -> str:
        return _key(self._predicting_rule(), bool(self.normalize_vectors))

    def _predicting_rule(self) -> str:
        """Return the rule that predicts."""
        raise NotImplementedError

    def _predictor_keys(self) -> list[str]:
        names = [name for name, rule in RULES.items() if self._vectors.holdout is not None or not rule.needs_held_out]
        quick = [name for name in names if getattr(RULES[name], "compiled", ()) is not None]  # the others take long
        every = [_key(name, normalized) for name in quick for normalized in (False, True)]
        return list(dict.fromkeys([*every, self._predictor_key()]))

    def _computed_slopes(self, keys: list[str]) -> dict[str, float]:
        assert self._sample is not None
        choices = {key: (key.removesuffix(_UNIT), key.endswith(_UNIT)) for key in keys}
        n_threads = effective_threads(self.n_jobs)
        found = progressive_scores(self._vectors, self._sample, choices.values(), n_threads) if keys else {}
        return {key: slope_of(*found[choice], self._sample.labels) for key, choice in choices.items()}

    def _sample_pass(self, rows: Rows, codes: NDArray[Any], order: Index, steps: int, *, first: int = 0) -> Sample:
        """Return a sample of rows presented in this order, when so many steps of training were over."""
        at = second_half(order, steps, rows) if not first else evenly(min(steps, len(order)), SAMPLE)
        labels = class_numbers(codes[order[at]], self._vectors.record.n_vectors)
        return Sample(rows_at(rows, order[at]), labels, first + at, grouped=come_grouped(codes[order]))

    def _n_steps_and_vectors(self) -> tuple[int, int]:
        return self._vectors.record.n_steps, self._vectors.record.n_vectors


def _key(rule: str, normalized: bool) -> str:
    """Return the name of a rule, and whether normalising vectors makes another of it."""
    return rule + _UNIT if normalized and RULES[rule].needs_lengths else rule


class WeightProbabilities(WithProbabilities):
    """A classifier that keeps weights, and so scores rows before they are learnt in training."""

    average: bool
    _trainer: Any

    def _predictor_key(self) -> str:
        return AVERAGE if self.average else LAST

    def _predictor_keys(self) -> list[str]:
        return [AVERAGE, LAST]

    def _computed_slopes(self, keys: list[str]) -> dict[str, float]:
        assert self._sample is not None
        made = {AVERAGE: self._trainer.average, LAST: self._trainer.last}
        after = {key: linear_scores(self._sample.rows, *made[key]()) for key in keys}
        return {
            key: slope_of(self._sample.before.get(key, after[key]), after[key], self._sample.labels) for key in keys
        }

    def _sampling(self, trainer: Any, rows: Rows, codes: NDArray[Any], order: Index, n_steps: int) -> SampleOnTheWay:
        """Return what scores rows in the first pass: of a first batch the second half, of a further one all along."""
        at = (
            evenly(n_steps, SAMPLE_ON_THE_WAY) if trainer.time else second_half(order, n_steps, rows, SAMPLE_ON_THE_WAY)
        )
        return SampleOnTheWay(trainer, rows, codes, order, at)

    def _n_steps_and_vectors(self) -> tuple[int, int]:
        return self._trainer.time, self._trainer.n_vectors
