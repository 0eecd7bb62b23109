"""Counts of an evaluation, added up batch by batch: confusions and probabilities, and how sure they make one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron._util.text import counted, on_one_line, shortened

_MOST_PROBABILITIES = 1 << 24
"""Numbers, rows times classes, up to which they are kept for the area under the curve."""
_RARE = 0.1
"""Share of the rows below which a class may be rare; of many classes, below half of what each would have."""
_BY_CHANCE = 3.0
"""Standard deviations up to which the mean probability of a class may differ from its share by chance."""


@dataclass(frozen=True)
class ClassGap:
    """A class whose mean probability is not its share of the rows."""

    label: Any
    probability: float
    share: float

    @property
    def size(self) -> float:
        """The difference."""
        return abs(self.probability - self.share)

    @property
    def matters(self) -> bool:
        """Whether it is above 3 points; of a rare class, above half a point and half of its share."""
        return self.size > 0.03 or self.size > max(0.005, self.share / 2)


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
    log_loss: float = 0.0
    """The sum over rows of minus the logarithm of the true label's probability; 0 where there are none."""
    logs: list[NDArray[np.float64]] = field(default_factory=list)
    """Logarithms of probabilities, batch by batch: of two classes of the second, of more of each; while they are few
    enough."""
    known: list[NDArray[np.bool_]] = field(default_factory=list)
    """Beside them, whether that is the true label."""
    drawn: bool = False
    """Whether to keep what reliability is drawn of."""
    certain: list[tuple[NDArray[np.float64], NDArray[np.bool_]]] = field(default_factory=list)
    """The probability of the predicted label, and whether it is right."""
    given: NDArray[np.float64] | None = None
    """The sum over rows of the probability of each class, and that of its variance, p(1 - p)."""

    def add_probabilities(self, logs: NDArray[np.float64], known: NDArray[np.bool_]) -> None:
        """Keep the probabilities of a batch."""
        shares = np.exp(logs)
        sums = np.stack([shares.sum(axis=0), (shares * (1 - shares)).sum(axis=0)])
        self.given = sums if self.given is None else self.given + sums
        if self.drawn:
            best = logs.argmax(axis=1)[:, None]
            right = np.take_along_axis(known, best, axis=1)[:, 0]
            self.certain.append((np.exp(np.take_along_axis(logs, best, axis=1)[:, 0]), right))
        columns = slice(1, None) if logs.shape[1] == 2 else slice(None)
        self.logs.append(logs[:, columns])
        self.known.append(known[:, columns])
        if sum(each.size for each in self.logs) > _MOST_PROBABILITIES:
            self.logs[:] = [np.zeros((0, each.shape[1])) for each in self.logs[:1]]
            self.known[:] = [np.zeros(each.shape, dtype=np.bool_) for each in self.logs]

    def count(self, estimator: Any, X: Any, y: NDArray[Any]) -> NDArray[Any]:
        """Predict a batch, count it with its probabilities, where there are any, and return the labels."""
        if not hasattr(estimator, "predict_log_proba"):
            predicted = np.asarray(estimator.predict(X))
        else:
            classes = np.asarray(estimator.classes_)
            logs = estimator.predict_log_proba(X)  # the largest is that of the predicted label
            known = y[:, None] == classes[None, :]
            self.log_loss -= float(logs[known].sum()) if known.any(axis=1).all() else -np.inf
            self.add_probabilities(logs, known)
            predicted = np.asarray(classes[logs.argmax(axis=1)])
        self.add(y, predicted)
        return predicted

    @property
    def mean_log_loss(self) -> float | None:
        """The mean log-loss, where there are probabilities, of labels that the model knows."""
        return self.log_loss / self.n if self.log_loss and np.isfinite(self.log_loss) else None

    def labels(self, classes: NDArray[Any]) -> list[Any]:
        """Return a model's labels, and those of the data that it has never seen."""
        known: list[Any] = classes.tolist()
        return known + sorted({true for true, _ in self.counts} - set(known), key=str)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the exact interval for the error."""
        return clopper_pearson(self.wrong, self.n, confidence)

    def sure(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the probability of each predicted label, and whether it is right; nothing without probabilities."""
        if not self.certain:
            return np.zeros(0), np.zeros(0, dtype=np.bool_)
        sure, right = zip(*self.certain, strict=True)
        return np.concatenate(sure), np.concatenate(right)

    def gaps(self, classes: NDArray[Any]) -> list[ClassGap]:
        """Return the classes whose mean probability differs from their share of the rows, the furthest first.

        Problem: are the probabilities of a class too high, or too low, everywhere? Were they right, the number of its
        rows would have the mean Σp and the variance Σp(1 - p); a class is returned if it is further off than that
        allows, and by as much as matters. Of two classes, which are off by the same, the rarer one stands for both.
        Reference: D. Spiegelhalter, Statistics in Medicine 5 (1986), 421-433.

        Examples
        --------
        >>> found = Confusion()
        >>> found.add_probabilities(np.log(np.full((100, 2), 0.5)), np.eye(2, dtype=bool)[[0] * 95 + [1] * 5])
        >>> found.add(np.array(["no"] * 95 + ["yes"] * 5), np.array(["no"] * 100))
        >>> found.gaps(np.array(["no", "yes"]))
        [ClassGap(label='yes', probability=0.5, share=0.05)]
        """
        if self.given is None:
            return []
        rows = {entry["label"]: entry["rows"] for entry in self.by_class(self.labels(classes))}
        gaps = []
        for label, total, variance in zip(classes.tolist(), *self.given.tolist(), strict=True):
            gap = ClassGap(label, total / self.n, rows[label] / self.n)
            if gap.matters and gap.size * self.n > _BY_CHANCE * variance**0.5:
                gaps.append(gap)
        if len(classes) == 2:
            return sorted(gaps, key=lambda gap: gap.share)[:1]
        return sorted(gaps, key=lambda gap: -gap.size)

    @property
    def auc(self) -> float | None:
        """The area under the ROC curve: of several classes the mean of each that occurs, against the rest."""
        from sklearn.metrics import roc_auc_score

        if not self.logs or sum(map(len, self.logs)) != self.n:
            return None
        logs, known = np.concatenate(self.logs), np.concatenate(self.known)
        both = [j for j in range(known.shape[1]) if 0 < np.count_nonzero(known[:, j]) < len(known)]
        areas = [float(roc_auc_score(known[:, j], logs[:, j])) for j in both]
        return float(np.mean(areas)) if areas else None

    def means(self, labels: list[Any]) -> dict[str, float]:
        """Return balanced accuracy and macro F1: means of recall and F1 over the labels that have one."""
        rows = self.by_class(labels)
        names = {"balanced_accuracy": "recall", "macro_f1": "f1"}
        return {
            name: float(np.mean([row[each] for row in rows if row[each] is not None])) for name, each in names.items()
        }

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

    @property
    def majority(self) -> dict[str, Any]:
        """The most frequent label, and how often one errs who always says so."""
        counts: dict[Any, int] = {}
        for (true, _), count in self.counts.items():
            counts[true] = counts.get(true, 0) + count
        return majority_of(counts)

    @property
    def rarest(self) -> dict[str, Any]:
        """The label with the fewest rows, how many it has, how many of these are found, and whether that is rare."""
        rows: dict[Any, int] = {}
        for (true, _), count in self.counts.items():
            rows[true] = rows.get(true, 0) + count
        label = min(rows, key=lambda each: (rows[each], str(each)))
        rare = rows[label] < self.n * min(_RARE, 0.5 / len(rows))
        return {"label": label, "rows": rows[label], "found": self.counts.get((label, label), 0), "rare": rare}

    def largest(self) -> list[tuple[Any, Any, int]]:
        """Return true label, predicted label and how often, of wrong predictions, the most frequent first."""
        found = [(*key, count) for key, count in self.counts.items() if key[0] != key[1]]
        return sorted(found, key=lambda entry: (-entry[2], str(entry[0]), str(entry[1])))

    def matrix(self, labels: list[Any]) -> NDArray[np.int64]:
        """Return the counts, a row for each true label and a column for each predicted one."""
        place = {label: i for i, label in enumerate(labels)}
        counts = np.zeros((len(labels), len(labels)), dtype=np.int64)
        for (true, predicted), n in self.counts.items():
            counts[place[true], place[predicted]] += n
        return counts

    def by_class(self, labels: list[Any]) -> list[dict[str, Any]]:
        """Return precision, recall, F1 and the number of rows of each label; None for 0/0."""
        counts = self.matrix(labels)
        rows = []
        for i, label in enumerate(labels):
            hits, predicted, actual = int(counts[i, i]), int(counts[:, i].sum()), int(counts[i].sum())
            rows.append(
                {
                    "label": label,
                    "precision": hits / predicted if predicted else None,
                    "recall": hits / actual if actual else None,
                    "f1": 2 * hits / (predicted + actual) if predicted + actual else None,
                    "rows": actual,
                }
            )
        return rows


def majority_of(counts: Mapping[Any, int]) -> dict[str, Any]:
    """Return the most frequent label, of several the first by name, and how often one errs who always says so.

    Examples
    --------
    >>> majority_of({"no": 5, "yes": 9})
    {'label': 'yes', 'wrong': 5, 'error': 0.35714285714285715}
    >>> majority_of({"yes": 4, "no": 4})["label"]
    'no'
    """
    label = min(counts, key=lambda each: (-counts[each], str(each)))
    n = sum(counts.values())
    wrong = n - counts[label]
    return {"label": label, "wrong": wrong, "error": wrong / n}


def rarest_in_words(rarest: Mapping[str, Any], *, weighed: bool) -> str:
    """Return how many rows of the rarest class are found, where it is rare, or classes were ``weighed``; else "".

    The error of all rows says little then: it is small for whoever never names that class.

    Examples
    --------
    >>> found = Confusion({("no", "no"): 900, ("no", "yes"): 80, ("yes", "yes"): 15, ("yes", "no"): 5})
    >>> rarest_in_words(found.rarest, weighed=False)
    "15 of 20 rows of 'yes', the rarest class, are found"
    >>> rarest_in_words({"label": "yes", "rows": 480, "found": 400, "rare": False}, weighed=False)
    ''
    """
    if not (rarest["rare"] or weighed):
        return ""
    found, rows, name = rarest["found"], rarest["rows"], shortened(on_one_line(str(rarest["label"])))
    return f"{found:,} of {counted(rows, 'row')} of '{name}', the rarest class, {'is' if rows == 1 else 'are'} found"


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
