"""Probabilities by temperature scaling, from rows that were scored before they were learnt.

Problem: the probabilities of classes shall be softmax(slope · scores), for two classes the sigmoid of slope · score:
temperature scaling (C. Guo et al., ICML 2017), with 1 / slope as temperature. Input: training. Output: the slope.

A row of the first pass is scored before it is learnt, so the scores that the rule gave it then, by the vectors before
it, are scores of a row that the model has not seen (**progressive** scores; A. Blum, A. Kalai and J. Langford, COLT
1999). The slope that makes the labels of a sample of such rows most likely is that of the model at that time. Training
goes on, and scores grow: how much is measured on the same rows, on those alone that were right then by more than half
of them, since what is learnt later of a row that is right adds little to its own score. The slope is divided by that
growth. Rows that were held out need no such step.

`fit` keeps the rows; the slope is computed when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from sklearn.utils.validation import check_is_fitted

from votron._util.resources import team
from votron._util.types import Floats, Index, Rows, RowsLike
from votron.errors import NotAvailableError
from votron.estimators._data import available_unless, is_collection, warn
from votron.estimators._training import MOST_SAMPLED, Sample, class_numbers, evenly
from votron.estimators.base import VotronClassifier
from votron.rules import Vectors
from votron.rules.scan import Choice

ENOUGH = 500
"""Held-out rows from which they are preferred to rows of the first pass."""
_GROUPS = 16
"""Moments at which rows of the first pass are scored, each by the vectors before the first row of its group."""
_STEEPEST = 5.0
"""The slope, in units of the mean lead of the best class, that is expected where all rows are right."""
_RANGE = 1e-3, 1e3
"""Slopes in these units that are looked at."""


def columns_of(scores: Floats) -> Floats:
    """Return a score a class: of two classes the first has 0."""
    scores = scores.reshape(len(scores), -1)
    return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores


def slope_of(before: Floats, after: Floats, labels: Index) -> float:
    """Return the slope for the scores of a model, from those of rows before they were learnt, and at the end.

    A weak prior (slope times mean lead is exponentially distributed with mean 5) keeps it finite where all rows are
    right. Six digits are kept, so that the last bits of sums do not show.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import logsumexp

    before, after = columns_of(before), columns_of(after)
    lead = _lead(before)
    unit = float(lead.mean()) or float(_lead(after).mean()) or 1.0
    with np.errstate(over="ignore"):
        excess = (before - before[np.arange(len(labels)), labels][:, None]) / unit

    def loss(log_slope: float) -> float:
        slope = np.exp(log_slope)
        return float(logsumexp(slope * excess, axis=1).sum() + slope / _STEEPEST)

    low, high = np.log(_RANGE)
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-7})
    slope = float(np.exp(found.x)) / unit / _growth(before, after, labels, lead)
    return float(f"{slope:.6g}")


def _lead(scores: Floats) -> Floats:
    best = np.partition(scores, -2, axis=1)[:, -2:]
    return np.asarray(best[:, 1] - best[:, 0])


def _growth(before: Floats, after: Floats, labels: Index, lead: Floats) -> float:
    """Return how much larger scores have become, on rows that were right by a wide lead."""
    easy = (before.argmax(axis=1) == labels) & (lead >= np.median(lead))
    spread = [np.abs(s - s.mean(axis=1, keepdims=True))[easy if easy.any() else ...].mean() for s in (before, after)]
    return float(spread[1] / spread[0]) if spread[0] > 0 and spread[1] > 0 else 1.0


def progressive_scores(
    vectors: Vectors, sample: Sample, choices: Iterable[Choice], n_threads: int
) -> dict[Choice, tuple[Floats, Floats]]:
    """Return the scores of rows before they were learnt, and at the end, by choice of the rule."""
    choices, end = list(choices), vectors.record.n_steps
    shape = len(sample), vectors.record.n_vectors
    found = {choice: (np.zeros(shape), np.zeros(shape)) for choice in choices}

    def work(group: tuple[int, Index]) -> None:
        time, mine = group
        for stage in vectors.staged(sample.rows[mine], sorted({time, end}), choices):
            for choice, scores in stage.scores.items():
                for k, moment in enumerate((time, end)):
                    if stage.time == moment:
                        found[choice][k][mine] = scores

    with team(n_threads) as threads:
        threads.each(groups_of(sample), work)
    return found


def groups_of(sample: Sample) -> list[tuple[int, Index]]:
    """Return times, and the numbers of the rows that are scored by the vectors of each: those that come next."""
    order = np.argsort(sample.times, kind="stable")
    return [(int(sample.times[part[0]]), part) for part in np.array_split(order, _GROUPS) if len(part)]


def _check_probabilities(model: ProbabilisticClassifier) -> None:
    if hasattr(model, "classes_") and not model._has_slope():
        raise NotAvailableError(
            f"This {type(model).__name__} has no probabilities, since no row was scored before it was learnt: fit it "
            "again, or give held-out rows to CalibratedClassifierCV(FrozenEstimator(model), method='sigmoid')."
        )


class ProbabilisticClassifier(VotronClassifier):
    """A classifier that knows the slope of its scores, by predictor."""

    _sample: Sample | None = None
    _slopes: dict[str, float] = {}  # noqa: RUF012 - written to only beside a sample, which brings its own

    @available_unless(_check_probabilities)
    def predict_proba(self, X: RowsLike) -> Floats:
        """Return the probability of each class, by temperature scaling of the scores (docs/probabilities.md).

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

    @available_unless(_check_probabilities)
    def predict_log_proba(self, X: RowsLike) -> Floats:
        """Return the logarithms of the probabilities, as `predict_proba` has them; none is too small for a float."""
        if is_collection(X):
            return self._lazily("predict_log_proba", X)  # type: ignore[no-any-return]
        scores = self.decision_function(X)
        return _favoured(self._log_probabilities(scores), self._numbers(scores))

    def _log_probabilities(self, scores: Floats) -> Floats:
        from scipy.special import log_softmax

        if self._sample is not None and self._sample.grouped:
            warn(
                "Classes were presented one after another, so these probabilities mean little: present rows in random "
                "order (in fit: shuffle=True), or calibrate on held-out rows."
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
            self._slopes.update(self._computed_slopes([key]))  # in place: no attribute changes in prediction
        return self._slopes[key]

    def _all_slopes(self) -> dict[str, float]:
        """Return the slopes of all predictors that the model may be asked for, as a file keeps them."""
        known = dict(self._slopes)
        if self._sample is not None:
            known |= self._computed_slopes([key for key in self._predictor_keys() if key not in known])
        return dict(sorted(known.items()))  # whatever was asked for first

    def _take_held_out(self, rows: Rows, codes: Index, n_steps: int) -> None:
        """Have slopes computed from rows that were held out, if they are enough; or from those that there are."""
        if len(codes) < ENOUGH:
            if self._sample is None:
                return  # what a file says stays
            before = self._sample.part(np.flatnonzero(self._sample.times <= n_steps))
            if len(before):
                self._sample, self._slopes = before, {}
                return
        some = evenly(len(codes), MOST_SAMPLED)
        labels, times = class_numbers(codes[some], self._n_vectors), np.full(len(some), n_steps)
        self._sample, self._slopes = Sample(rows[some], labels, times, held_out=True), {}

    def _add_to_sample(self, sample: Sample | None) -> None:
        """Have slopes computed from rows of a further batch too; what a file says stays until there are enough."""
        known = self._sample
        if known is None:
            if self._slopes and (sample is None or len(sample) < ENOUGH):
                return
            self._sample = sample
        elif sample is not None and not known.held_out:  # held-out rows are better than rows that were learnt
            self._sample = known.joined(sample)
        self._slopes = {}

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
