"""Rows that were scored before they were learnt, and the slope for probabilities that follows from them.

Problem: the probabilities of classes shall be softmax(slope · scores), for two classes the sigmoid of slope · score:
temperature scaling (C. Guo et al., ICML 2017), with 1 / slope as temperature. Input: training. Output: the slope.

A row of the first pass is scored before it is learnt, so the scores that the rule gave it then, by the vectors before
it, are scores of a row that the model has not seen (**progressive** scores; A. Blum, A. Kalai and J. Langford, COLT
1999). The slope that makes the labels of a sample of such rows most likely is that of the model at that time. Training
goes on, and scores grow: how much is measured on the same rows, on those alone that were right then by more than half
of them, since what is learnt later of a row that is right adds little to its own score. The slope is divided by that
growth. Rows that were held out need no such step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from votron._util.arrays import n_bytes
from votron._util.resources import team
from votron._util.types import Floats, Index, Rows
from votron.rules import Vectors
from votron.rules.scan import Choice

SAMPLE = 1024
"""Rows that are kept; fewer, where these would take more than `SAMPLE_BYTES`."""
SAMPLE_ON_THE_WAY = 512
"""The same, where they are scored in training."""
SAMPLE_BYTES = 16 << 20
ENOUGH = 500
"""Held-out rows from which they are preferred to rows of the first pass."""
_GROUPS = 16
"""Moments at which rows of the first pass are scored, each by the vectors before the first row of its group."""
_PAUSES = 4
"""Moments at which training pauses to score rows that come next, where its vectors are not kept."""
AVERAGE, LAST = "average", "last"
"""What predicts, where there are weights."""
_STEEPEST = 5.0
"""The slope, in units of the mean lead of the best class, that is expected where all rows are right."""
_RANGE = 1e-3, 1e3
"""Slopes in these units that are looked at."""


# -- rows that were scored before they were learnt ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows, and when they were not learnt yet.

    Attributes
    ----------
    rows : array or CSR matrix
        They are.
    labels : int array
        The class of each, by its number.
    times : int array
        The steps of training before each was presented; of rows that were held out, all.
    before : dict
        Their scores at that time, by choice of the predictor, where they cannot be computed later.
    grouped : bool
        Whether classes were presented one after another, so that the sample lacks some.
    held_out : bool
        Whether the rows were held out from training.
    """

    rows: Rows
    labels: NDArray[np.int64]
    times: Index
    before: Mapping[Any, Floats] = field(default_factory=dict)
    grouped: bool = False
    held_out: bool = False

    def __len__(self) -> int:
        return len(self.labels)

    def groups(self) -> list[tuple[int, Index]]:
        """Return times, and the numbers of the rows that are scored by the vectors of each: those that come next."""
        order = np.argsort(self.times, kind="stable")
        return [(int(self.times[part[0]]), part) for part in np.array_split(order, _GROUPS) if len(part)]

    def then(self, more: Sample | None) -> Sample:
        """Return these rows and those of a later batch, without the oldest where they are too many.

        Rows that were held out stay alone: they are better than rows that were learnt.
        """
        if not more or self.held_out:
            return self
        both = Sample(
            _stacked(self.rows, more.rows),
            np.concatenate([self.labels, more.labels]),
            np.concatenate([self.times, more.times]),
            {key: np.concatenate([scores, more.before[key]]) for key, scores in self.before.items()},
        )
        both = both.part(np.arange(len(both))[-_room(both.rows, SAMPLE) :])
        return replace(both, grouped=come_grouped(both.labels))

    def part(self, rows: Index) -> Sample:
        """Return some of the rows."""
        before = {key: scores[rows] for key, scores in self.before.items()}
        return replace(self, rows=self.rows[rows], labels=self.labels[rows], times=self.times[rows], before=before)


class SampleOnTheWay:
    """Rows that are scored in training, by weights that are gone when it ends.

    Parameters
    ----------
    trainer : PrimalTrainer
        What is trained.
    rows, codes : data
        The rows, and the code of each in training.
    order, at : int arrays
        Rows as they will be presented, and the steps before which some of them are scored.

    Attributes
    ----------
    pauses : dict
        What to call after so many steps.
    """

    def __init__(self, trainer: Any, rows: Rows, codes: NDArray[Any], order: Index, at: Index) -> None:
        self._trainer, self._rows, self._codes, self._order = trainer, rows, codes, order
        self._first, self._scored = trainer.time, list[tuple[Index, Floats, Floats]]()
        self.pauses = {int(part[0]): partial(self._score, part) for part in np.array_split(at, _PAUSES) if len(part)}

    def _score(self, at: Index) -> None:
        average, last = self._trainer.scores(self._rows[self._order[at]])
        self._scored.append((at, average, last))

    def sample(self) -> Sample | None:
        """Return the rows that were scored; None if training was broken off before there were any."""
        if not self._scored:
            return None
        at, average, last = (np.concatenate(parts) for parts in zip(*self._scored, strict=True))
        mine = self._order[at]
        labels = class_numbers(self._codes[mine], self._trainer.n_vectors)
        before = {AVERAGE: average, LAST: last}
        return Sample(self._rows[mine], labels, self._first + at, before, come_grouped(self._codes[self._order]))


def evenly(n: int, most: int) -> Index:
    """Return at most so many of the numbers below n, from first to last, equally far from one another.

    Examples
    --------
    >>> evenly(3, 10), evenly(10, 4)
    (array([0, 1, 2]), array([0, 2, 5, 7]))
    """
    return np.arange(n) if n <= most else np.arange(most) * n // most


def second_half(order: Index, presented: int, rows: Rows, most: int = SAMPLE) -> Index:
    """Return the steps before which rows are sampled: of those presented in the first pass, the second half."""
    n = min(presented, len(order))
    return n // 2 + evenly(n - n // 2, _room(rows, most))


def _room(rows: Rows, most: int) -> int:
    """Return how many such rows a sample may have."""
    size: int = max(1, n_bytes(rows) // max(1, rows.shape[0]))
    return max(1, min(most, SAMPLE_BYTES // size))


def class_numbers(codes: NDArray[Any], n_vectors: int) -> NDArray[np.int64]:
    """Return the numbers of the classes, of which training calls the second of two 0."""
    return np.asarray(1 - codes if n_vectors == 1 else codes, dtype=np.int64)


def come_grouped(codes: NDArray[Any]) -> bool:
    """Tell whether labels come class after class.

    Examples
    --------
    >>> come_grouped(np.array([1, 1, 1, 0, 0])), come_grouped(np.array([1, 0, 1, 1]))
    (True, False)
    """
    changes = np.count_nonzero(codes[1:] != codes[:-1])
    if len(codes) < 2 or changes > codes.max():
        return False  # more changes than classes: there is no need to count these
    return bool(changes + 1 == len(np.unique(codes)) < len(codes))


def _stacked(rows: Rows, more: Rows) -> Rows:
    if sp.issparse(rows) or sp.issparse(more):
        return sp.vstack([sp.csr_matrix(rows), sp.csr_matrix(more)], format="csr")
    return np.concatenate([rows, more])


# -- the slope ---------------------------------------------------------------------------------------------------------


def columns_of(scores: Floats) -> Floats:
    """Return a score a class: of two classes the first has 0."""
    scores = scores.reshape(len(scores), -1)
    return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores


def slope_of(before: Floats, after: Floats, labels: NDArray[np.int64]) -> float:
    """Return the slope for the scores of a model, from those of rows before they were learnt, and at the end.

    A weak prior (the slope, times the mean lead of the best class, is exponentially distributed with mean 5) keeps it
    finite where all rows are right. The loss is convex in the slope. Six digits are kept, so that the last bits of sums
    do not show.

    Examples
    --------
    >>> scores = np.array([[2.0], [1.0], [-1.0], [-2.0]])
    >>> slope_of(scores, scores, np.array([1, 0, 1, 0])), slope_of(scores, 3 * scores, np.array([1, 0, 1, 0]))
    (0.286458, 0.0954859)
    """
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
    """Return by how much the best class of each row leads."""
    best = np.partition(scores, -2, axis=1)[:, -2:]
    return np.asarray(best[:, 1] - best[:, 0])


def _growth(before: Floats, after: Floats, labels: NDArray[np.int64], lead: Floats) -> float:
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
        threads.each(sample.groups(), work)
    return found
