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

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from votron._util.resources import team
from votron._util.types import Floats, Index, Rows
from votron.estimators._training import SAMPLE, Sample, class_numbers, come_grouped, evenly, room_for_sample
from votron.rules import Vectors
from votron.rules.scan import Choice

ENOUGH = 500
"""Held-out rows from which they are preferred to rows of the first pass."""
_GROUPS = 16
"""Moments at which rows of the first pass are scored, each by the vectors before the first row of its group."""
AVERAGE, LAST = "average", "last"
"""The rules of a model with weights."""
_STEEPEST = 5.0
"""The slope, in units of the mean lead of the best class, that is expected where all rows are right."""
_RANGE = 1e-3, 1e3
"""Slopes in these units that are looked at."""


# -- samples -----------------------------------------------------------------------------------------------------------


def part_of(sample: Sample, some: Index) -> Sample:
    before = {key: scores[some] for key, scores in sample.before.items()}
    return replace(sample, rows=sample.rows[some], labels=sample.labels[some], times=sample.times[some], before=before)


def joined(sample: Sample, more: Sample) -> Sample:
    """Return the rows of a sample and of a later batch, without the oldest where they are too many."""
    both = Sample(
        _stacked(sample.rows, more.rows),
        np.concatenate([sample.labels, more.labels]),
        np.concatenate([sample.times, more.times]),
        {key: np.concatenate([scores, more.before[key]]) for key, scores in sample.before.items()},
    )
    both = part_of(both, np.arange(len(both))[-room_for_sample(both.rows, SAMPLE) :])
    return replace(both, grouped=come_grouped(both.labels))


def held_out_sample(rows: Rows, codes: Index, n_vectors: int, n_steps: int) -> Sample:
    some = evenly(len(codes), SAMPLE)
    labels, times = class_numbers(codes[some], n_vectors), np.full(len(some), n_steps)
    return Sample(rows[some], labels, times, held_out=True)


def _stacked(rows: Rows, more: Rows) -> Rows:
    if sp.issparse(rows) or sp.issparse(more):
        return sp.vstack([sp.csr_matrix(rows), sp.csr_matrix(more)], format="csr")
    return np.concatenate([rows, more])


# -- the slope ---------------------------------------------------------------------------------------------------------


def columns_of(scores: Floats) -> Floats:
    """Return a score a class: of two classes the first has 0."""
    scores = scores.reshape(len(scores), -1)
    return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores


def slope_of(before: Floats, after: Floats, labels: Index) -> float:
    """Return the slope for the scores of a model, from those of rows before they were learnt, and at the end.

    A weak prior (slope times mean lead is exponentially distributed with mean 5) keeps it finite where all rows are
    right. Six digits are kept, so that the last bits of sums do not show.
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
