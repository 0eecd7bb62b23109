"""Conversions of online learners to batch learners, which predict with all vectors of one pass.

The vector alive at time t is the one after example t; at time 0 it is v = 0. The sources count different times:

================  ==============  ==================================================================================
slices            times           who
================  ==============  ==================================================================================
"voted"           {1, ..., m}     Freund & Schapire, Figure 1: a vector has a vote for every example it survived,
                                  including the one at which it was born
"leave-one-out"   {0, ..., m}     Helmbold & Warmuth: one vote for every prefix of the sample, including the empty one
"mixture"         {0, ..., m-1}   Cohen, section 3.5: a vector has a vote for every example it predicted, including
                                  failures
================  ==============  ==================================================================================

The first example is always a mistake, so "voted" and "leave-one-out" differ by the one vote of v = 0, which is for +1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from votron._util.types import Label, RowsLike
from votron.errors import VotronError

SLICES = ("voted", "leave-one-out", "mixture")


class OnlineLearner(Protocol):
    """An online learner, such as `OnlinePerceptron`, which predicts +1 or -1."""

    def predict(self, x: RowsLike) -> int: ...

    def update(self, x: RowsLike, y: Label) -> object: ...


def randomized_leave_one_out(
    make_learner: Callable[[], OnlineLearner],
    X: Sequence[RowsLike],
    y: Sequence[int],
    x: RowsLike,
    random_state: int | None = None,
) -> int:
    """Predict by a learner trained on a random prefix of the sample (Helmbold & Warmuth).

    The sample has m examples and labels +1 and -1, and the length of the prefix is drawn uniformly from {0, ..., m}.
    ``make_learner`` returns a new learner, such as `OnlinePerceptron`. The expected error is at most E[k]/(m + 1), k
    the learner's mistakes in one pass over m + 1 random examples.

    Examples
    --------
    >>> from votron import OnlinePerceptron
    >>> randomized_leave_one_out(OnlinePerceptron, [[1, 0], [0, 1]], [1, -1], [0, 3], random_state=0)
    -1
    """
    r = int(np.random.default_rng(random_state).integers(0, len(X) + 1))
    learner = make_learner()
    for example, label in zip(X[:r], y[:r], strict=True):
        learner.update(example, label)
    return int(learner.predict(x))


def deterministic_leave_one_out(
    make_learner: Callable[[], OnlineLearner], X: Sequence[RowsLike], y: Sequence[int], x: RowsLike
) -> int:
    """Predict by the majority of the learners trained on all prefixes of the sample, of 0 to m examples.

    Its expected error is at most 2E[k]/(m + 1). For the perceptron it is the voted perceptron after one epoch, except
    for the vote of v = 0. A tie is +1.

    Examples
    --------
    >>> from votron import OnlinePerceptron
    >>> deterministic_leave_one_out(OnlinePerceptron, [[1, 0], [0, 1], [0, 2]], [1, -1, -1], [0, 3])
    1
    """
    learner = make_learner()
    votes = int(learner.predict(x))
    for example, label in zip(X, y, strict=True):
        learner.update(example, label)
        votes += int(learner.predict(x))
    return 1 if votes >= 0 else -1


def survival_counts(mistake_times: ArrayLike, m: int, slices: str = "voted") -> NDArray[np.int64]:
    """Return the number of time slices at which each of v_0, v_1, ..., v_k is alive.

    ``mistake_times`` are the steps of the mistakes among m, counted from 1, rising: v_j is born at the j-th. For vector
    c of a record they are ``record.time[record.vector == c]``. ``slices`` are "voted", "leave-one-out" or "mixture".

    Examples
    --------
    >>> survival_counts([1, 4, 8, 10], m=10, slices="mixture")  # the table of Cohen's section 3.5
    array([1, 3, 4, 2, 0])
    >>> survival_counts([1, 4, 8, 10], m=10)
    array([0, 3, 4, 2, 1])
    """
    times = np.asarray(mistake_times, dtype=np.int64).reshape(-1)
    if slices not in SLICES:
        raise VotronError(f"The 'slices' must be one of {', '.join(map(repr, SLICES))}. Got {slices!r} instead.")
    if len(times) and not (times[0] >= 1 and times[-1] <= m and (np.diff(times) > 0).all()):
        raise VotronError(
            f"The 'mistake_times' must rise from 1 or more to m = {m} at most. Got {times.tolist()} instead."
        )
    first, last = (0 if slices != "voted" else 1), (m if slices != "mixture" else m - 1)
    born = np.append(0, times)
    ends = np.append(times - 1, m)
    return np.asarray(np.maximum(0, np.minimum(ends, last) - np.maximum(born, first) + 1))
