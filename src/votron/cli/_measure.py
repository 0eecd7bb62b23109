"""Measures of predictions: errors with their intervals, confusions, and a table by class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


def clopper_pearson(wrong: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact interval for a share of which ``wrong`` of ``n`` were seen.

    Problem: which probabilities of an error are not refuted by what was seen? Output: all p for which neither so many
    errors nor so few have a probability below (1 − confidence)/2. Reference: C. Clopper and E. Pearson, Biometrika 26
    (1934), 404-413.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 100)
    >>> low, round(high, 4)
    (0.0, 0.0362)
    """
    # binomtest(wrong, n).proportion_ci(confidence, "exact") searches for the same ends, slower and less exactly.
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = 0.0 if wrong == 0 else float(betaincinv(wrong, n - wrong + 1, tail))
    high = 1.0 if wrong == n else float(betaincinv(wrong + 1, n - wrong, 1 - tail))
    return low, high


@dataclass
class Confusion:
    """Counts of true and predicted labels, added up batch by batch.

    Examples
    --------
    >>> found = Confusion()
    >>> found.add(np.array(["a", "b", "b"]), np.array(["a", "b", "a"]))
    >>> found.n, found.wrong
    (3, 1)
    >>> found.largest()
    [('b', 'a', 1)]
    """

    counts: dict[tuple[Any, Any], int] = field(default_factory=dict)

    def add(self, true: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Count a batch."""
        labels, codes = np.unique(np.concatenate([true, predicted]), return_inverse=True)
        names, m = labels.tolist(), len(labels)
        found, counts = np.unique(codes[: len(true)] * m + codes[len(true) :], return_counts=True)
        for code, count in zip(found.tolist(), counts.tolist(), strict=True):
            key = names[code // m], names[code % m]
            self.counts[key] = self.counts.get(key, 0) + count

    @property
    def n(self) -> int:
        """Rows."""
        return sum(self.counts.values())

    @property
    def wrong(self) -> int:
        """Rows with a wrong prediction."""
        return sum(count for (true, predicted), count in self.counts.items() if true != predicted)

    @property
    def error(self) -> float:
        """Their share."""
        return self.wrong / self.n

    def largest(self) -> list[tuple[Any, Any, int]]:
        """Return true label, predicted label and how often, of wrong predictions, the most frequent first."""
        found = [(*key, count) for key, count in self.counts.items() if key[0] != key[1]]
        return sorted(found, key=lambda entry: (-entry[2], str(entry[0]), str(entry[1])))

    def matrix(self, labels: list[Any]) -> NDArray[np.int64]:
        """Return the counts, a row for each true label and a column for each predicted one."""
        place = {label: i for i, label in enumerate(labels)}
        made = np.zeros((len(labels), len(labels)), dtype=np.int64)
        for (true, predicted), count in self.counts.items():
            made[place[true], place[predicted]] += count
        return made

    def by_class(self, labels: list[Any]) -> list[dict[str, Any]]:
        """Return precision, recall, F1 and the number of rows of each label; None for 0/0."""
        made = self.matrix(labels)
        rows = []
        for i, label in enumerate(labels):
            hits, said, there = int(made[i, i]), int(made[:, i].sum()), int(made[i].sum())
            rows.append(
                {
                    "label": label,
                    "precision": hits / said if said else None,
                    "recall": hits / there if there else None,
                    "f1": 2 * hits / (said + there) if said + there else None,
                    "rows": there,
                }
            )
        return rows
