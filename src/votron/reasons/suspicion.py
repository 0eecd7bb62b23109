"""Suspects: training rows that were mistaken again and again, by much, and late, as rows with wrong labels are.

Problem: which labels of the training data may be wrong? Input: a record. Output: the rows with a mistake, ranked by

    suspicion = (Σ wrongness of each of its mistakes) · (the epoch of the last of them),

where the wrongness of a mistake is how far the score was on the wrong side, max(0, −y v·x), over the length of the
vector v that made it. The sum grows with how often a row is mistaken and by how much; rows that are right after the
first pass have little of either. Counting mistakes alone cannot tell a row near the border from one deep in another
class; nor can the last mistake alone. ``python -m benchmarks.suspects`` measures it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from votron._text_tables import as_text
from votron._types import Floats, Index
from votron.record import MistakeRecord
from votron.reasons.explanation import framed

__all__ = ["Suspects"]


@dataclass(frozen=True, eq=False)
class Suspects:
    """Training rows whose labels the record casts doubt on, the most suspicious first.

    Attributes
    ----------
    row : int array
        Rows of the training data (in `partial_fit`: presentation numbers).
    suspicion : float array
        How far their mistakes were on the wrong side, in all, times the epoch of the last.
    mistakes : int array
        How often each was presented and mistaken, by its own class's vector or another's.
    last : float array
        When the last time was, in epochs.
    labels : list
        The label of each row, as far as its mistakes tell: None where only others' vectors were mistaken.
    taken_for : list
        The class that most often claimed the row by mistake; None where none did.
    names : list of str
        What users call the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from votron import VotedPerceptronClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> y[[100, 200]] = 7  # a 4, and a 1
    >>> model = VotedPerceptronClassifier(kernel="rbf", margin=0.5, random_state=0).fit(X, y)
    >>> print(model.suspects(top=2))
    row      label  taken for  mistakes  last in epoch  suspicion
    row 100      7          4        10             10         67
    row 200      7          1        10             10         59
    """

    row: Index
    suspicion: Floats
    mistakes: Index
    last: Floats
    labels: list[Any]
    taken_for: list[Any]
    names: list[str]

    def __len__(self) -> int:
        return len(self.row)

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict for each row: the rows of `to_frame`."""
        return [
            {
                "row": int(self.row[i]),
                "name": self.names[i],
                "label": self.labels[i],
                "taken_for": self.taken_for[i],
                "mistakes": int(self.mistakes[i]),
                "last": float(self.last[i]),
                "suspicion": float(self.suspicion[i]),
            }
            for i in range(len(self))
        ]

    def to_frame(self) -> Any:
        """Return the rows as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            With columns row, name, label, taken_for, mistakes, last and suspicion, the most suspicious row first.
        """
        return framed(self.rows())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, text, lists and dicts, as JSON takes them."""
        return {"suspects": self.rows()}

    def __str__(self) -> str:
        lines = [["row", "label", "taken for", "mistakes", "last in epoch", "suspicion"]]
        for each in self.rows():
            named = ["" if each[key] is None else str(each[key]) for key in ("label", "taken_for")]
            numbers = [f"{each['mistakes']:,}", f"{np.ceil(each['last']):.0f}", f"{each['suspicion']:.3g}"]
            lines.append([each["name"], *named, *numbers])
        return as_text(lines)

    def __repr__(self) -> str:
        return f"<Suspects: {len(self)} rows>"


def suspects_of(
    record: MistakeRecord, classes: Any, top: int | None, row_names: dict[int, str], first: int = 0
) -> Suspects:
    """Return the rows of a record, ranked by suspicion."""
    support, slot, n = record.support, record.slot, len(record.support)
    wrongness = np.zeros(n)
    np.add.at(wrongness, slot, _wrongness(record))
    last = np.zeros(n)
    np.maximum.at(last, slot, record.time / record.n_examples)
    mistakes = np.bincount(slot[record.event_starts[:-1]], minlength=n)
    suspicion = wrongness * last
    order = np.lexsort((support, -mistakes, -suspicion))[:top]
    own, other = _votes(record, len(classes))
    return Suspects(
        row=support[order],
        suspicion=suspicion[order],
        mistakes=mistakes[order],
        last=last[order],
        labels=[_class(own[j], classes) for j in order],
        taken_for=[_class(other[j], classes) for j in order],
        names=[row_names.get(int(row), f"row {row + first}") for row in support[order]],
    )


def _wrongness(record: MistakeRecord) -> Floats:
    """Return for each mistake how far the score was on the wrong side, over the length of the vector that made it."""
    before = np.zeros(len(record))
    for mine in record.of_each_vector.values():
        before[mine[1:]] = record.lengths[mine[:-1]]
    wrong = np.maximum(0.0, -record.sign * record.score)
    return np.divide(wrong, before, out=np.zeros(len(record)), where=before > 0)


def _votes(record: MistakeRecord, n_classes: int) -> tuple[Index, Index]:
    """Return for each support example how often its own vector erred, and others' did, by class."""
    n = len(record.support)
    own, other = np.zeros((n, n_classes), dtype=np.int64), np.zeros((n, n_classes), dtype=np.int64)
    vector, sign = record.vector.astype(np.int64), record.sign
    if n_classes == 2:  # one vector, whose +1 is the second class
        label = (sign > 0).astype(np.int64)
        np.add.at(own, (record.slot, label), 1)
        np.add.at(other, (record.slot, 1 - label), 1)
        return own, other
    claimed = (sign < 0) & (record.score >= 0)
    np.add.at(own, (record.slot[sign > 0], vector[sign > 0]), 1)
    np.add.at(other, (record.slot[claimed], vector[claimed]), 1)
    return own, other


def _class(votes: Index, classes: Any) -> Any:
    if not votes.any():
        return None
    found = classes[int(votes.argmax())]
    return found.item() if isinstance(found, np.generic) else found
