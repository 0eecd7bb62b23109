"""Counts of true and predicted labels, added up batch by batch, and the metrics that follow from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from scipy.special import betaincinv
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from votron._util.text import counted, on_one_line, percent, shortened
from votron._util.types import Array, Classes, Floats, Index, Label, Params

_RARE = 0.1
"""Share of the rows below which a class may be rare; of many classes, below half of what each would have."""


class Confusion:
    """Counts of true and predicted labels.

    Examples
    --------
    >>> import numpy as np
    >>> from votron.evaluate.confusion import Confusion
    >>> found = Confusion()
    >>> found.add(np.array(["a", "b", "b"]), np.array(["a", "b", "a"]))
    >>> found.n, found.wrong
    (3, 1)
    >>> found.largest()
    [('b', 'a', 1)]
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[Label, Label]] = Counter()

    def add(self, true: Array, predicted: Array) -> None:
        """Count a batch."""
        self.counts.update(zip(true.tolist(), predicted.tolist(), strict=True))

    @property
    def n(self) -> int:
        """Rows."""
        return self.counts.total()

    @property
    def wrong(self) -> int:
        """Rows with a wrong prediction."""
        return sum(count for _, _, count in self.largest())

    @property
    def error(self) -> float:
        """The share of wrong predictions."""
        return self.wrong / self.n

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the exact interval for the error."""
        return clopper_pearson(self.wrong, self.n, confidence)

    def labels(self, classes: Classes) -> list[Label]:
        """Return a model's labels, and those of the data that it has never seen."""
        known: list[Label] = classes.tolist()
        return known + sorted({true for true, _ in self.counts} - set(known), key=str)

    def matrix(self, labels: list[Label]) -> Index:
        """Return the counts, a row for each true label and a column for each predicted one."""
        return np.asarray(confusion_matrix(*self._as_rows(), labels=labels, sample_weight=list(self.counts.values())))

    def by_class(self, labels: list[Label]) -> list[Params]:
        """Return precision, recall, F1 and the number of rows of each label; None for 0/0."""
        columns: list[Floats] = precision_recall_fscore_support(
            *self._as_rows(), labels=labels, sample_weight=list(self.counts.values()), zero_division=np.nan
        )
        found = []
        for label, *shares, rows in zip(labels, *(column.tolist() for column in columns), strict=True):
            named = zip(("precision", "recall", "f1"), shares, strict=True)
            known = {name: None if np.isnan(share) else share for name, share in named}
            found.append({"label": label, **known, "rows": int(rows)})
        return found

    def _as_rows(self) -> tuple[list[Label], list[Label]]:
        """Return true and predicted labels, each pair once, as scikit-learn's metrics take them with weights."""
        true, predicted = zip(*self.counts, strict=True)
        return list(true), list(predicted)

    def means(self, labels: list[Label]) -> dict[str, float]:
        """Return balanced accuracy and macro F1: means of recall and F1 over the labels that have one."""
        rows = self.by_class(labels)
        names = {"balanced_accuracy": "recall", "macro_f1": "f1"}
        return {
            name: float(np.mean([row[each] for row in rows if row[each] is not None])) for name, each in names.items()
        }

    def largest(self) -> list[tuple[Label, Label, int]]:
        """Return true label, predicted label and count of wrong predictions, the most frequent first."""
        found = [(*key, count) for key, count in self.counts.items() if key[0] != key[1]]
        return sorted(found, key=lambda entry: (-entry[2], str(entry[0]), str(entry[1])))

    def _rows_of_labels(self) -> Counter[Label]:
        rows: Counter[Label] = Counter()
        for (true, _), count in self.counts.items():
            rows[true] += count
        return rows

    @property
    def majority(self) -> Params:
        """The most frequent label, of several the first by name, and the error of always saying it."""
        rows = self._rows_of_labels()
        label = min(rows, key=lambda each: (-rows[each], str(each)))
        wrong = self.n - rows[label]
        return {"label": label, "wrong": wrong, "error": wrong / self.n}

    @property
    def rarest(self) -> Params:
        """The label with the fewest rows, how many it has, how many of these are found, and whether that is rare."""
        rows = self._rows_of_labels()
        label = min(rows, key=lambda each: (rows[each], str(each)))
        rare = rows[label] < self.n * min(_RARE, 0.5 / len(rows))
        return {"label": label, "rows": rows[label], "found": self.counts[label, label], "rare": rare}


def rarest_in_words(rarest: Mapping[str, Label], *, weighed: bool, of: str = "") -> str:
    """Return how many rows of the rarest class are found, where it is rare, or classes were ``weighed``; else ""."""
    if not (rarest["rare"] or weighed):
        return ""
    found, rows, name = rarest["found"], rarest["rows"], shortened(on_one_line(str(rarest["label"])))
    return (
        f"{found:,} of {counted(rows, 'row')} of '{name}', the rarest class{of}, {'is' if rows == 1 else 'are'} found"
    )


def beside_majority(wrong: int, majority: Mapping[str, Label], *, by_error: bool = False) -> str:
    """Return the majority's error in words, and whether a model with so many errors is no better.

    Where more is said than the error, it is no better ``by_error`` alone.
    """
    words = f"always saying {majority['label']} would be wrong on {percent(majority['error'])}"
    return words if wrong < majority["wrong"] else f"{words}: {'by error ' if by_error else ''}this model is no better"


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
    tail = (1 - confidence) / 2
    low = 0.0 if wrong == 0 else float(betaincinv(wrong, n - wrong + 1, tail))
    high = 1.0 if wrong == n else float(betaincinv(wrong + 1, n - wrong, 1 - tail))
    return low, high
