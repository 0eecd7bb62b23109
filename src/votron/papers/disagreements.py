"""Test images that the rules disagree on, the most telling first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from votron.papers.results import Results
from votron.papers.runs import LINES, RULES
from votron.papers.settings import LABEL_DEGREE

__all__ = ["SHOWN_RULES", "Disagreement", "disagreements", "shown_degree"]

SHOWN_RULES = tuple(reversed(LINES))
"""The rules of Figure 2, the vote first."""


@dataclass(frozen=True, eq=False)
class Disagreement:
    """A test image that the rules disagree on.

    Examples
    --------
    >>> case = Disagreement(7, 3, {"Vote": 3, "Last (unnorm)": 5}, {3: 0.9, 5: 0.4})
    >>> case.right
    (True, False)
    """

    index: int
    """Its place among the test images."""
    truth: int
    """Its label."""
    labels: dict[str, int]
    """What each rule says, by the paper's name of the rule."""
    shares: dict[int, float]
    """For each label, the part of the votes that are for it, from 0 to 1."""

    @property
    def right(self) -> tuple[bool, ...]:
        """Whether each rule is right."""
        return tuple(label == self.truth for label in self.labels.values())

    @property
    def closeness(self) -> tuple[int, float]:
        """How telling the case is, the most telling first: many answers, then the two best classes close in votes."""
        first, second = sorted(self.shares.values(), reverse=True)[:2]
        return -len(set(self.labels.values())), first - second


def shown_degree(results: Results) -> int:
    """Return the degree whose disagreements are shown: that of Table 2, or the greatest if it was not run."""
    return LABEL_DEGREE if LABEL_DEGREE in results.runs else max(results.runs)


def disagreements(results: Results) -> list[Disagreement]:
    """Return the test images on which the rules of Figure 2 disagree at the end of the first permutation.

    Cases of every kind come before a second of the same: a kind is which rules are right. Within a kind, images with
    more different answers come first, then those where the two best classes are closest in votes.
    """
    run, data = results.runs[shown_degree(results)][0], results.data
    classes = np.unique(data.y)
    answers = classes[run.predicted[[list(RULES).index(rule) for rule in SHOWN_RULES]]]
    shares = (1.0 + run.votes.astype(np.float64)) / 2.0
    if shares.shape[1] == 1:  # one vector's votes are for two classes
        shares = np.hstack([1.0 - shares, shares])
    found = [
        Disagreement(
            int(i),
            int(data.y_test[i]),
            dict(zip(SHOWN_RULES, answers[:, i].tolist(), strict=True)),
            dict(zip(classes.tolist(), shares[i].tolist(), strict=True)),
        )
        for i in np.flatnonzero((answers != answers[0]).any(axis=0))
    ]
    kinds: dict[tuple[bool, ...], list[Disagreement]] = {}
    for case in sorted(found, key=lambda case: case.closeness):
        kinds.setdefault(case.right, []).append(case)
    queues = [kinds[kind] for kind in sorted(kinds, reverse=True)]
    longest = max(map(len, queues), default=0)
    return [queue[i] for i in range(longest) for queue in queues if i < len(queue)]
