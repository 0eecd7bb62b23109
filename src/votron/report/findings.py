"""Findings on a model and labelled rows, counted batch by batch, so that data may exceed memory."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from votron._util.frames import is_frame, plain_labels
from votron._util.pipelines import classifier_of, rows_for_classifier
from votron._util.types import Array, Estimator, Labels, RowsLike
from votron.data import Examples
from votron.errors import VotronError
from votron.evaluate.evaluation import Evaluation
from votron.plots.batches import PredictedRow, WrongRows, predicted_rows, rows_at
from votron.plots.predictions import row_margins
from votron.plots.training import RulesOverTime, has_moments
from votron.report._description import Description
from votron.rules.base import rules_that_differ
from votron.tables import encoder_of
from votron.tables.date import DateColumn
from votron.theory import Certificate

MOST_WRONG = 40
"""Wrong rows that are kept: those that are wrong by the most."""
_RIGHT_SAMPLE = 200
"""Right rows of a batch among which a typical one is looked for."""
_BATCH = 20_000
"""Rows of data in memory that are predicted at a time."""


@dataclass(frozen=True)
class Origin:
    """The origin of model and data, as the page shows it."""

    title: str
    model: str = "the model"
    data: str = "the data"
    command: str = ""
    """The command that makes the page, where there is one."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """The provenance in the model file."""
    certificate: Certificate | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """Digests and sizes of files, in words."""
    notes: tuple[str, ...] = ()
    """Remarks for readers, in sentences."""
    trained_on: bool = False
    """Whether the model is known to be trained on these rows: their errors say little of others then."""


class Findings:
    """The results of a model on labelled rows, counted batch by batch."""

    def __init__(self, model: Estimator, confidence: float = 0.95) -> None:
        self.model, self.confidence = model, confidence
        self.classifier = classifier_of(model)
        check_is_fitted(self.classifier)
        self.classes: Array = np.asarray(self.classifier.classes_)
        self.evaluation = Evaluation(self.classifier)
        self.counts = self.evaluation.counts
        self.rules: RulesOverTime | None = None
        if has_moments(self.classifier):
            self.rules = RulesOverTime(self.classifier, rules_that_differ(len(self.classes)))
        self.encoder = encoder_of(model)
        self.unseen: Counter[tuple[str, str]] = Counter()
        columns = [] if self.encoder is None else self.encoder.columns_
        dates = {each.name for each in columns if isinstance(each, DateColumn) and each.order == "year first"}
        self.description = Description(dates)
        self.wrong = WrongRows(self.classifier, MOST_WRONG)
        self.typical: PredictedRow | None = None
        """A right row that is as sure as most."""
        self.seconds = 0.0
        """The seconds that preparing and predicting the rows took."""
        self.started = time.monotonic()

    def add(self, batch: Examples) -> None:
        """Count a batch of labelled rows, as the model takes them."""
        if not batch.n_rows:
            return
        y = np.asarray(batch.y)
        self.description.add(batch)
        if not self.counts.n:  # what is loaded and compiled for the first rows is not counted
            first = rows_for_classifier(self.model, rows_at(batch.X, slice(1)))
            Evaluation(self.classifier).add(first, y[:1])
        start = time.perf_counter()
        X = rows_for_classifier(self.model, batch.X)
        predicted = self.evaluation.add(X, y)
        self.seconds += time.perf_counter() - start
        if self.encoder is not None:
            self.unseen.update(self.encoder.unseen(batch.X))
        if self.rules is not None:
            self.rules.add(X, y)
        self.wrong.add(batch, X, predicted)
        self.typical = self.typical or self._typical(batch, X, predicted)

    def _typical(self, batch: Examples, X: RowsLike, predicted: Array) -> PredictedRow | None:
        """Return a right row of a batch whose margin is in the middle."""
        y = np.asarray(batch.y)
        right = np.flatnonzero(predicted == y)[:_RIGHT_SAMPLE]
        if not len(right):
            return None
        margins = row_margins(self.classifier, rows_at(X, right), y[right])
        middle = np.argsort(margins, kind="stable")[[len(right) // 2]]
        return predicted_rows(self.classifier, batch, X, predicted, right[middle], margins[middle])[0]

    @property
    def labels(self) -> list[Any]:
        """The model's labels, and those of the data that it has never seen."""
        return self.counts.labels(self.classes)


def batches_of(X: RowsLike, y: Labels, image_shape: tuple[int, ...] | None = None) -> Iterator[Examples]:
    """Yield data in memory as batches."""
    rows: RowsLike = X if hasattr(X, "shape") else np.asarray(X)
    rows = rows.tocsr() if sp.issparse(rows) else rows
    labels = plain_labels(y)
    if labels.ndim != 1 or len(labels) != rows.shape[0]:
        raise VotronError(f"There must be a label for each of {rows.shape[0]:,} rows. Got {labels.shape} instead.")
    kind = "frame" if is_frame(rows) else "array"
    for first in range(0, len(labels), _BATCH):
        at = slice(first, first + _BATCH)
        part = rows_at(rows, at)
        yield Examples(part, labels[at], kind, kind, image_shape=image_shape, first_row=first)
