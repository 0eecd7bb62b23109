"""Test images that the rules disagree on, the most telling first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from votron.papers.runs import LINES, RULES, RunResult

if TYPE_CHECKING:
    from votron.papers.reproduce import Reproduction


@dataclass(frozen=True, eq=False)
class Disagreement:
    """A test image that the rules disagree on.

    Attributes
    ----------
    index : int
        Its place among the test images.
    truth : object
        Its label.
    labels : dict
        What each rule says, by the paper's name of the rule.
    shares : dict
        For each label, the part of the votes that are for it, from 0 to 1.

    Examples
    --------
    >>> case = Disagreement(7, 3, {"Vote": 3, "Last (unnorm)": 5}, {3: 0.9, 5: 0.4})
    >>> case.right
    (True, False)
    """

    index: int
    truth: Any
    labels: dict[str, Any]
    shares: dict[Any, float]

    @property
    def right(self) -> tuple[bool, ...]:
        """Whether each rule is right."""
        return tuple(label == self.truth for label in self.labels.values())


SHOWN_RULES = tuple(reversed(LINES))
"""The rules of Figure 2, the vote first."""


def disagreements(made: Reproduction, n: int | None = 12, degree: int | None = None) -> list[Disagreement]:
    """Return test images on which the four rules of Figure 2 disagree at the end of training, the first permutation's.

    Cases of every kind come before a second of the same: a kind is which rules are right. Within a kind, images with
    more different answers come first, then those where the two best classes are closest in votes.

    Parameters
    ----------
    made : Reproduction
        The runs and their data.
    n : int or None
        How many; None: all.
    degree : int, optional
        Of which degree; by default that of Table 2, or the greatest if it was not run.

    Returns
    -------
    list of Disagreement
        At most n.

    Examples
    --------
    >>> from votron.data import load_image_set
    >>> from votron.papers.reproduce import Settings, reproduce
    >>> from votron.papers.runs import RunStore
    >>> import tempfile
    >>> settings = Settings(what=("table3",), degrees=(2,), permutations=1, epochs=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = reproduce(settings, load_image_set("digits"), RunStore(folder), quiet=True)
    >>> first = disagreements(made)[0]
    >>> len(set(first.labels.values())) > 1
    True
    """
    if not made.runs:
        return []
    run = made.runs[shown_degree(made) if degree is None else degree][0]
    classes, rows = np.unique(made.data.y), [list(RULES).index(rule) for rule in SHOWN_RULES]
    answers = run.predicted[rows]
    differing = np.flatnonzero((answers != answers[0]).any(axis=0))
    shares = _shares(run)
    found = [
        Disagreement(
            int(i),
            made.data.y_test[i].item(),
            {rule: classes[answers[r, i]].item() for r, rule in enumerate(SHOWN_RULES)},
            {label.item(): float(share) for label, share in zip(classes, shares[i], strict=True)},
        )
        for i in differing
    ]
    return _by_turns(found)[:n]


def shown_degree(made: Reproduction) -> int:
    """Return the degree whose disagreements are shown."""
    return made.settings.label_degree if made.settings.label_degree in made.runs else max(made.runs)


def _shares(run: RunResult) -> NDArray[np.float64]:
    """Return for each test image and class the part of the votes for it; one vector's votes are for two classes."""
    share = (1.0 + run.votes.astype(np.float64)) / 2.0
    return np.hstack([1.0 - share, share]) if share.shape[1] == 1 else share


def _by_turns(found: Sequence[Disagreement]) -> list[Disagreement]:
    def telling(case: Disagreement) -> tuple[int, float]:
        first, second = sorted(case.shares.values(), reverse=True)[:2]
        return -len(set(case.labels.values())), first - second

    kinds: dict[tuple[bool, ...], list[Disagreement]] = {}
    for case in sorted(found, key=telling):
        kinds.setdefault(case.right, []).append(case)
    queues = [kinds[kind] for kind in sorted(kinds, reverse=True)]
    longest = max(map(len, queues), default=0)
    return [queue[i] for i in range(longest) for queue in queues if i < len(queue)]
