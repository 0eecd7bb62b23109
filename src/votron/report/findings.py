"""Findings on a model and labelled rows, counted batch by batch, so that data may exceed memory."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from votron._util.frames import columns_of, in_pandas, is_frame, kind_of, missing_in, plain_labels
from votron._util.pipelines import classifier_of, rows_for_classifier
from votron._util.plotting import IMAGE_SHAPES
from votron._util.text import name_of, plain_number
from votron._util.types import Array, Estimator, Labels, RowsLike, Series
from votron.data import Examples
from votron.errors import VotronError
from votron.evaluate.evaluation import Evaluation
from votron.evaluate.figures import PredictedRow, WrongRows, predicted_rows
from votron.plots.predictions import row_margins
from votron.plots.training import RulesOverTime, has_moments
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
_MOST_VALUES = 10_000
"""Different values of a column up to which they are counted."""
_SHOWN, _LONGEST = 3, 24


@dataclass(frozen=True)
class Origin:
    """The origin of model and data, as the page shows it."""

    title: str
    model: str = "the model"
    data: str = "the data"
    command: str = ""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """The provenance in the model file."""
    certificate: Certificate | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """Digests and sizes of files, in words."""
    notes: tuple[str, ...] = ()
    trained_on: bool = False
    """Whether the model is known to be trained on these rows: their errors say little of others then."""


class Findings:
    """The results of a model on labelled rows, counted batch by batch."""

    def __init__(self, model: Estimator, confidence: float = 0.95) -> None:
        self.model, self.confidence = model, confidence
        self.classifier = classifier_of(model)
        check_is_fitted(self.classifier)
        self.evaluation = Evaluation(self.classifier)
        self.counts = self.evaluation.counts
        if has_moments(self.classifier):
            rules = rules_that_differ(len(self.classifier.classes_))
            self.evaluation.rules = RulesOverTime(self.classifier, rules)
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

    def add(self, batch: Examples) -> None:
        """Count a batch of labelled rows, as the model takes them."""
        if not batch.n_rows:
            return
        self.description.add(batch)
        if not self.counts.n:  # what is loaded and compiled for the first rows is not timed
            first = rows_for_classifier(self.model, _safe_indexing(batch.X, slice(1)))
            Evaluation(self.classifier).add(first, np.asarray(batch.y)[:1])
        start = time.perf_counter()
        X = rows_for_classifier(self.model, batch.X)
        predicted = self.evaluation.add(X, batch.y)
        self.seconds += time.perf_counter() - start
        if self.encoder is not None:
            self.unseen.update(self.encoder.unseen(batch.X))
        self.wrong.add(batch, X, predicted)
        self.typical = self.typical or self._typical(batch, X, predicted)

    def _typical(self, batch: Examples, X: RowsLike, predicted: Array) -> PredictedRow | None:
        """Return a right row of a batch whose margin is in the middle."""
        y = np.asarray(batch.y)
        right = np.flatnonzero(predicted == y)[:_RIGHT_SAMPLE]
        if not len(right):
            return None
        margins = row_margins(self.classifier, _safe_indexing(X, right), y[right])
        middle = np.argsort(margins, kind="stable")[[len(right) // 2]]
        return predicted_rows(self.classifier, batch, X, predicted, right[middle], margins[middle])[0]


def batches_of(X: RowsLike, y: Labels, image_shape: tuple[int, ...] | None = None) -> Iterator[Examples]:
    """Yield data in memory as batches."""
    rows: RowsLike = X if hasattr(X, "shape") else np.asarray(X)
    if image_shape is None and not hasattr(rows, "columns") and len(rows.shape) == 2:
        image_shape = IMAGE_SHAPES.get(rows.shape[1])
    rows = rows.tocsr() if sp.issparse(rows) else rows
    labels = plain_labels(y)
    if labels.ndim != 1 or len(labels) != rows.shape[0]:
        raise VotronError(f"There must be a label for each of {rows.shape[0]:,} rows. Got {labels.shape} instead.")
    kind = "frame" if is_frame(rows) else "array"
    for first in range(0, len(labels), _BATCH):
        at = slice(first, first + _BATCH)
        yield Examples(_safe_indexing(rows, at), labels[at], kind, kind, image_shape=image_shape, first_row=first)


@dataclass
class Column:
    """A column of a table, as far as it was seen."""

    name: str
    is_date: bool
    """Whether the model's encoder reads its texts as dates, the year first, so that they sort as dates."""
    kind: str = "nothing"
    missing: int = 0
    ends: tuple[Any, ...] = ()
    """The least and the largest number or date."""
    values: Counter[Any] | None = field(default_factory=Counter)
    """The number of times that each value occurs; None where there are too many."""

    def add(self, column: Series) -> None:
        gone = missing_in(column)
        self.missing += int(gone.sum())
        self.kind = kind_of(column) if self.kind == "nothing" else self.kind
        if gone.all():
            return
        listed = (column.dropna() if in_pandas(column) else column.drop_nulls()).to_list()
        if self.kind in ("number", "date") or self.is_date:
            ends = [*self.ends, *((min(listed), max(listed)) if self.is_date else (column.min(), column.max()))]
            self.ends = min(ends), max(ends)
        if self.values is not None:
            self.values.update(map(str, listed) if self.kind == "other" else listed)
            self.values = self.values if len(self.values) <= _MOST_VALUES else None

    @property
    def kind_in_words(self) -> str:
        return "date" if self.is_date else self.kind

    def cells(self) -> list[str]:
        """Return name, kind, missing values, different values, and which these are."""
        distinct = f"over {_MOST_VALUES:,}" if self.values is None else f"{len(self.values):,}"
        missing = f"{self.missing:,}" if self.missing else ""
        return [name_of(self.name, 2 * _LONGEST), self.kind_in_words, missing, distinct, self._range()]

    def _range(self) -> str:
        if self.ends:
            ends = map(plain_number if self.kind == "number" else str, self.ends)
            return " to ".join(end.removesuffix(" 00:00:00") for end in ends)
        most = self.values.most_common(_SHOWN) if self.values else []
        if not self.values or (len(self.values) > _SHOWN and most[0][1] == 1):
            return ""  # texts, each by itself
        listed = ", ".join(f"{name_of(value, _LONGEST)} ({n:,})" for value, n in most)
        return listed + (", ..." if len(self.values) > _SHOWN else "")


@dataclass
class Description:
    """A description of rows, collected batch by batch."""

    dates: set[str]
    rows: int = 0
    dropped: int = 0
    unlabelled: int = 0
    features: int = 0
    label: str | None = None
    image_shape: tuple[int, ...] | None = None
    columns: dict[str, Column] = field(default_factory=dict)
    sparse: bool = False
    ends: tuple[float, ...] = ()

    def add(self, batch: Examples) -> None:
        self.rows, self.dropped = self.rows + batch.n_rows, self.dropped + batch.dropped
        self.unlabelled += batch.unlabelled
        self.features = int(batch.X.shape[1]) if len(batch.X.shape) > 1 else 0  # texts, one a row
        self.label, self.image_shape, self.sparse = batch.label, batch.image_shape, sp.issparse(batch.X)
        if batch.columns is not None:
            for name, column in zip(map(str, batch.columns), columns_of(batch.X), strict=True):
                self.columns.setdefault(name, Column(name, name in self.dates)).add(column)
        elif batch.X.dtype.kind in "biuf" and self.features:
            ends = [*self.ends, float(batch.X.min()), float(batch.X.max())]
            self.ends = min(ends), max(ends)

    def kinds(self) -> Counter[str]:
        return Counter(column.kind_in_words for column in self.columns.values())
