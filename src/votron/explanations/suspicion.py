"""Suspects: training rows that were mistaken again and again, by much, and late, as rows with wrong labels are.

Problem: which labels of the training data may be wrong? Input: a record. Output: the rows with a mistake, ranked by

    suspicion = Σ over its mistakes of wrongness · √epoch, where wrongness = max(0, −y v·x / (‖v‖ ‖x‖)),

the cosine of the angle between the row and the vector v that got it wrong, and the epoch is when that was, in passes
over the data. Each factor alone does worse: counts cannot tell a row near the border from one deep in another class,
and first passes err on everything. Updates within the margin have no wrongness. ``python -m benchmarks.suspects``
measures it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from votron._util.text import as_text
from votron._util.types import Floats, Frame, Index, Label, Labels, Params
from votron.record import MistakeRecord

__all__ = ["Suspects"]


@dataclass(frozen=True, eq=False)
class Suspects:
    """Training rows whose labels the record casts doubt on, the most suspicious first.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from votron import VotedPerceptronClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> y[[100, 200]] = 7  # a 4, and a 1
    >>> model = VotedPerceptronClassifier(kernel="rbf", margin=2.0, random_state=0).fit(X, y)
    >>> print(model.suspects(top=2))
    row      label  taken for  mistakes  last in epoch  suspicion
    row 100      7          4        10             10       4.62
    row 200      7          1        10             10       3.92
    """

    row: Index  # rows of the training data (in `partial_fit`: presentation numbers)
    suspicion: Floats
    mistakes: Index  # how often each was presented and mistaken, by its own class's vector or another's
    last: Floats  # when the last time was, in passes of `fit`; all calls of `partial_fit` alone are one
    labels: list[Label | None]  # as far as the mistakes tell: None where only others' vectors were mistaken
    taken_for: list[Label | None]  # the class whose vectors claimed the row by mistake, if there is one
    names: list[str]  # the names of the rows, as users know them

    def __len__(self) -> int:
        return len(self.row)

    def rows(self) -> list[Params]:
        """Return a dict for each row: the rows of `to_frame`."""
        names = ("row", "name", "label", "taken_for", "mistakes", "last", "suspicion")
        numbers = self.mistakes.tolist(), self.last.tolist(), self.suspicion.tolist()
        lines = zip(self.row.tolist(), self.names, self.labels, self.taken_for, *numbers, strict=True)
        return [dict(zip(names, line, strict=True)) for line in lines]

    def to_frame(self) -> Frame:
        """Return the rows as a pandas DataFrame, the most suspicious first."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def to_dict(self) -> Params:
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
    record: MistakeRecord, classes: Labels, top: int | None, row_names: dict[int, str], first: int = 0
) -> Suspects:
    support, slot, n = record.support, record.slot, len(record.support)
    epoch = record.time / _epoch_length(record)
    each = wrongness(record) * np.sqrt(epoch)
    suspicion, last = np.zeros(n), np.zeros(n)
    np.add.at(suspicion, slot, each)
    np.maximum.at(last, slot, epoch)
    mistakes = np.bincount(slot[record.event_starts[:-1]], minlength=n)
    order = np.lexsort((support, -mistakes, -suspicion))[:top]
    own, other = _claims(record, each, len(classes))
    return Suspects(
        row=support[order],
        suspicion=suspicion[order],
        mistakes=mistakes[order],
        last=last[order],
        labels=_largest(own[order], classes),
        taken_for=_largest(other[order], classes),
        names=[row_names.get(int(row), f"row {row + first}") for row in support[order]],
    )


def _epoch_length(record: MistakeRecord) -> int:
    """Return the steps of a pass, also of a record that `partial_fit` went on with, which counts all steps as one."""
    # All passes have the same order: whole passes lie between two mistakes on a row.
    if record.n_examples < record.n_steps or not len(record):
        return record.n_examples
    first = np.full(len(record.support), record.n_steps + 1)
    np.minimum.at(first, record.slot, record.time)
    return int(np.gcd.reduce(record.time - first[record.slot])) or record.n_examples


def wrongness(record: MistakeRecord) -> Floats:
    """Return for each mistake the cosine of the angle by which it was on the wrong side; 0 where it was not."""
    # ‖x‖ follows from the record: ‖v + w y x‖² = ‖v‖² + 2 w y v·x + w² ‖x‖².
    before = np.zeros(len(record))
    for mine in record.of_each_vector.values():
        before[mine[1:]] = np.maximum(0.0, record.norm2[mine[:-1]])
    weight = 1.0 if record.weight is None else record.weight
    with np.errstate(all="ignore"):
        squares = (record.norm2 - before) / weight**2 - 2 * record.sign * record.score / weight
        cosine = -record.sign * record.score / (np.sqrt(before) * np.sqrt(np.maximum(squares, 0.0)))
    return np.clip(np.where(np.isfinite(cosine), cosine, 0.0), 0.0, 1.0)


def _claims(record: MistakeRecord, each: Floats, n_classes: int) -> tuple[Floats, Floats]:
    """Return for each support example how much its own class's vectors erred on it, and others' did, by class."""
    own, other = np.zeros((2, len(record.support), n_classes))
    vector, positive = record.vector.astype(np.int64), record.sign > 0
    each = each + np.finfo(np.float64).tiny  # a score of 0 is a mistake too
    if n_classes == 2:  # one vector, whose +1 is the second class
        vector, claimed = positive.astype(np.int64), record.sign * record.score <= 0
        np.add.at(own, (record.slot, vector), each)
        np.add.at(other, (record.slot[claimed], 1 - vector[claimed]), each[claimed])
        return own, other
    claimed = ~positive & (record.score >= 0)
    np.add.at(own, (record.slot[positive], vector[positive]), each[positive])
    np.add.at(other, (record.slot[claimed], vector[claimed]), each[claimed])
    return own, other


def _largest(claims: Floats, classes: Labels) -> list[Label | None]:
    known = classes.tolist()
    return [known[int(each.argmax())] if each.any() else None for each in claims]
