"""Test images on which the rules disagree, the most telling first."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from votron.papers.results import Results
from votron.papers.runs import LINES, RULES
from votron.papers.settings import LABEL_DEGREE

__all__ = ["SHOWN_RULES", "Disagreement", "disagreements", "shown_degree"]

SHOWN_RULES = tuple(reversed(LINES))
"""The rules of Figure 2, the vote first."""


@dataclass(frozen=True, eq=False)
class Disagreement:
    """A test image, what each rule predicts, and the share of the votes for each label."""

    index: int
    truth: int
    labels: dict[str, int]
    shares: dict[int, float]

    @property
    def right(self) -> tuple[bool, ...]:
        return tuple(label == self.truth for label in self.labels.values())

    @property
    def closeness(self) -> tuple[int, float]:
        """Sort key: most different predictions first, then the two best classes closest in votes."""
        first, second = sorted(self.shares.values(), reverse=True)[:2]
        return -len(set(self.labels.values())), first - second


def shown_degree(results: Results) -> int:
    """Return the degree of Table 2, or the greatest if it was not run."""
    return LABEL_DEGREE if LABEL_DEGREE in results.runs else max(results.runs)


def disagreements(results: Results) -> list[Disagreement]:
    """Return the test images on which the rules of Figure 2 disagree at the end of the first permutation.

    They are taken in turn from each combination of rules that are right.
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
    turns = zip_longest(*(kinds[kind] for kind in sorted(kinds, reverse=True)))
    return [case for turn in turns for case in turn if case is not None]
