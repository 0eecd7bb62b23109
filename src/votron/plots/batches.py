"""The rows that are wrong, batch by batch, of which sheets of images and reports are made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import _safe_indexing

from votron._util.types import Array, Estimator, Floats, Index, Label, RowsLike
from votron.data import Examples
from votron.plots.images import WrongImagesDisplay, images_of
from votron.plots.predictions import row_margins


@dataclass(frozen=True)
class PredictedRow:
    """A row that was predicted, and where it stands."""

    margin: float
    """The score of the true label minus the best other one."""
    probability: float | None
    """Of the predicted label, where there are probabilities."""
    number: int
    """Among all rows, counted from 1."""
    place: str
    """The line or the file that it is in, where that is known."""
    true: Label
    predicted: Label
    X: RowsLike
    """The row, as the data have it: an array, matrix or frame of one."""
    image: Array | None
    """The row as an image, if it is one."""


class WrongRows:
    """The rows that are wrong by the most, of all batches with labels."""

    def __init__(self, estimator: Estimator, most: int) -> None:
        self.estimator, self.most, self.n_wrong = estimator, most, 0
        self.kept: list[PredictedRow] = []

    def add(self, batch: Examples, X: RowsLike, predicted: Array) -> None:
        """Keep those of a batch, of which X are the rows as the classifier takes them."""
        y = np.asarray(batch.y)
        wrong = np.flatnonzero(predicted != y)
        if not len(wrong):
            return
        self.n_wrong += len(wrong)
        margins = row_margins(self.estimator, rows_at(X, wrong), y[wrong])
        most = np.argsort(margins, kind="stable")[: self.most]
        self.kept += predicted_rows(self.estimator, batch, X, predicted, wrong[most], margins[most])
        self.kept = sorted(self.kept, key=lambda each: each.margin)[: self.most]

    def images(self, columns: int | None = None) -> WrongImagesDisplay | None:
        """Return the sheet of images, if there is anything on it."""
        shown = [row for row in self.kept if row.image is not None]
        if not shown:
            return None
        images = np.array([row.image for row in shown])
        labels = [row.true for row in shown], [row.predicted for row in shown]
        return WrongImagesDisplay(images, *labels, self.n_wrong, columns=columns)


def predicted_rows(
    estimator: Estimator, batch: Examples, X: RowsLike, predicted: Array, at: Array, margins: Floats
) -> list[PredictedRow]:
    """Return rows of a batch at these places, whose margins are known."""
    with_sure = hasattr(estimator, "predict_proba")
    sure = estimator.predict_proba(rows_at(X, at)).max(axis=1).tolist() if with_sure else [None] * len(at)
    found = []
    for i, row in enumerate(at.tolist()):
        data, place = rows_at(batch.X, [row]), ""
        if batch.files is not None:
            place = str(batch.files[row])
        elif batch.lines is not None:
            place = f"line {int(batch.lines[row]):,}"
        found.append(
            PredictedRow(
                margin=float(margins[i]),
                probability=sure[i],
                number=int(batch.row_numbers[row]),
                place=place,
                true=np.asarray(batch.y)[[row]].tolist()[0],
                predicted=predicted[[row]].tolist()[0],
                X=data,
                image=None if batch.image_shape is None else images_of(data, batch.image_shape)[0],
            )
        )
    return found


def rows_at(X: RowsLike, at: Index | slice | list[int]) -> RowsLike:
    """Return rows of an array, matrix or frame."""
    return _safe_indexing(X, at)
