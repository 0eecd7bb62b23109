"""From on-line to batch: predicting with all the vectors that an on-line learner had on its way through a sample.

The vector alive at time t is the one after example t; at time 0 it is v = 0. The sources count different times:

================  ==============  ==================================================================================
slices            times           who
================  ==============  ==================================================================================
"voted"           {1, ..., m}     Freund & Schapire, Figure 1: a vector has a vote for every example it survived, the
                                  one that it was born at included
"leave-one-out"   {0, ..., m}     Helmbold & Warmuth: one vote for every prefix of the sample, the empty one included
"mixture"         {0, ..., m-1}   Cohen, section 3.5: a vector has a vote for every example it predicted, failures
                                  included
================  ==============  ==================================================================================

The first example is always a mistake, so "voted" and "leave-one-out" differ by the one vote of v = 0, which is for +1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from votron._util.types import Labels
from votron.errors import VotronError

__all__ = ["SLICES", "deterministic_leave_one_out", "prefix_votes", "randomized_leave_one_out", "survival_counts"]

SLICES = ("voted", "leave-one-out", "mixture")
"""The sets of time slices."""


class OnlineLearner(Protocol):
    """An on-line learner: `OnlinePerceptron`, or any other."""

    def predict(self, x: Any) -> Any:
        """Return +1 or -1."""

    def update(self, x: Any, y: Labels) -> Any:
        """Accept an example."""


def randomized_leave_one_out(
    make_learner: Callable[[], OnlineLearner], X: Sequence[Any], y: Sequence[int], x: Any, random_state: Any = None
) -> int:
    """Predict by a learner that saw a random beginning of the sample (Helmbold & Warmuth).

    Its expected error is at most E[k]/(m + 1), k the learner's mistakes in one pass over m + 1 random examples.

    Parameters
    ----------
    make_learner : callable
        Returns a new learner, such as `OnlinePerceptron`.
    X, y : examples and labels +1, -1
        The sample, of m examples.
    x : example
        What to predict.
    random_state : int or None
        Seed; the prefix has a length drawn uniformly from {0, ..., m}.

    Examples
    --------
    >>> from votron import OnlinePerceptron
    >>> randomized_leave_one_out(OnlinePerceptron, [[1, 0], [0, 1]], [1, -1], [0, 3], random_state=0)
    -1
    """
    m = _checked_sample(X, y)
    r = int(np.random.default_rng(random_state).integers(0, m + 1))
    learner = make_learner()
    for i in range(r):
        learner.update(X[i], y[i])
    return int(learner.predict(x))


def deterministic_leave_one_out(
    make_learner: Callable[[], OnlineLearner], X: Sequence[Any], y: Sequence[int], x: Any
) -> int:
    """Predict by the majority of the learners that saw the beginnings of the sample, of 0 to m examples.

    Its expected error is at most 2E[k]/(m + 1). Of the perceptron it is the voted perceptron after one epoch, but for
    the vote of v = 0. It is +1 if there are as many votes for it as against it.

    Examples
    --------
    >>> from votron import OnlinePerceptron
    >>> deterministic_leave_one_out(OnlinePerceptron, [[1, 0], [0, 1], [0, 2]], [1, -1, -1], [0, 3])
    1
    """
    return 1 if sum(prefix_votes(make_learner, X, y, x)) >= 0 else -1


def prefix_votes(make_learner: Callable[[], OnlineLearner], X: Sequence[Any], y: Sequence[int], x: Any) -> list[int]:
    """Return the predictions for x after each beginning of the sample, of 0, 1, ..., m examples.

    Examples
    --------
    >>> from votron import OnlinePerceptron
    >>> prefix_votes(OnlinePerceptron, [[1, 0], [0, 1], [0, 2]], [1, -1, -1], [0, 3])
    [1, 1, -1, -1]
    """
    m = _checked_sample(X, y)
    learner = make_learner()
    votes = [int(learner.predict(x))]
    for i in range(m):
        learner.update(X[i], y[i])
        votes.append(int(learner.predict(x)))
    return votes


def survival_counts(mistake_times: Any, m: int, slices: str = "voted") -> NDArray[np.int64]:
    """Return for v_0, v_1, ..., v_k at how many of the time slices each is alive.

    Parameters
    ----------
    mistake_times : int array of shape (k,)
        When the mistakes were made, counted from 1, rising: v_j is born at the j-th. Of a record's vector c they are
        ``record.time[record.vector == c]``.
    m : int
        Length of training.
    slices : {"voted", "leave-one-out", "mixture"}, default="voted"
        Which times count.

    Notes
    -----
    Cohen's mixture errs on the sample's examples, as they come, with probability k/m: a vector errs on one of the
    examples that it is counted for, the last, if another was born there.

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


def _checked_sample(X: Sequence[Any], y: Sequence[int]) -> int:
    if len(X) != len(y):
        raise VotronError(f"A sample has as many labels as examples. Got {len(X)} examples and {len(y)} labels.")
    return len(X)
