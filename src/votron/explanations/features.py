"""Features by name: the columns that they were made of, their effects on a score, and their weights in linear models.

The effect of a column on the score of a kernel model, which is a sum over examples and not over features, is the score
of the row less the mean of its scores with that column's value taken from other rows, those that the model keeps: what
a value of no particular row would leave. Effects do not add up to the score, for a kernel lets columns work together.
Reference: E. Strumbelj and I. Kononenko, Knowledge and Information Systems 41 (2014), 647-665, of which this is the
first term.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator

from votron._util.frames import cell, columns_of, dense, is_frame, missing_in, value_text
from votron._util.pipelines import classifier_of, steps_before
from votron._util.text import first_of, shortened
from votron._util.types import Classes, Estimator, Floats, Frame, Index, Label, Rows, RowsLike
from votron.tables.text import hashed_words

if TYPE_CHECKING:
    from votron.tables import Column

__all__ = ["strongest_features"]

MOST_COLUMNS = 200  # columns beyond which there are no effects: of texts and images each is next to nothing
_SHOWN = 4  # columns of a training row that are shown
_MOST_ROWS = 64


def dense_row(row: Rows) -> Floats:
    return dense(row).astype(np.float64).reshape(-1)


@dataclass(eq=False)
class Features:
    """The features of rows: their names, their columns, and how to undo what was done to their values."""

    names: list[str]
    columns: list[str]  # for each feature the column of the data that it was made of
    scale: Floats
    offset: Floats  # factors and offsets that undo the scaling of values
    encoded: list[tuple[Column, int] | None]  # the column of a TableEncoder, and which of its features it is
    frame: Frame | None = None  # the rows as they came

    @classmethod
    def called(cls, names: Sequence[str]) -> Features:
        """Return features with names alone."""
        named, n = list(map(str, names)), len(names)
        return cls(named, list(named), np.ones(n), np.zeros(n), [None] * n)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def places(self) -> dict[str, Index]:
        found: dict[str, list[int]] = {}
        for i, column in enumerate(self.columns):
            found.setdefault(column, []).append(i)
        return {column: np.array(places) for column, places in found.items()}

    def value(self, i: int, value: float) -> float:
        """Return the value of a feature in the units of the data; what rounding alone has left of 0 is 0."""
        found = float(value * self.scale[i] + self.offset[i])
        found = 0.0 if abs(found) < 1e-12 * abs(self.offset[i]) else found
        encoded = self.encoded[i]
        return found if encoded is None else encoded[0].in_units(encoded[1], found)

    def of_frame(self, i: int) -> str:
        """Return the column of the frame of rows that a feature was made of, or nothing."""
        column = self.columns[i]
        return column if self.frame is not None and column in self.frame.columns else ""

    def is_missing(self, i: int, row: int) -> bool:
        """Tell whether the value that a feature was made of is known to be missing in a row."""
        column = self.of_frame(i)
        return bool(column) and cell(self.frame, column, row) is None

    def in_words(self, column: str, own: Floats, row: int | None = None) -> str:
        """Return a column with its value in a row: as it came, or as far as its features tell."""
        places = self.places[column]
        if row is not None and self.of_frame(int(places[0])):
            came = cell(self.frame, column, row)
            if isinstance(came, float) and came.is_integer():  # a frame has floats where some are missing
                came = int(came)
            return self._missing(column, own) if came is None else f"{column} = {shortened(value_text(came))}"
        encoded = self.encoded[int(places[0])]
        if encoded is None or len(places) < len(encoded[0].feature_names):
            i = next((int(i) for i in places if own[i]), int(places[0]))
            return with_value(self.names[i], self.value(i, float(own[i])), column)
        found = encoded[0].value_of(own[places] * self.scale[places] + self.offset[places])
        return f"{column} = {found}" if found else f"{column} missing"

    def missing_in(self, rows: Rows) -> list[dict[str, str]]:
        found: list[dict[str, str]] = [{} for _ in range(rows.shape[0])]
        if self.frame is not None:
            for name, column in zip(self.frame.columns, columns_of(self.frame), strict=True):
                for i in np.flatnonzero(missing_in(column)) if name in self.places else ():
                    found[i][name] = self._missing(name, dense_row(rows[[i]]))
        return found

    def described(self, row: Rows) -> str:
        """Return the columns that are largest in a training row, with their values."""
        own = dense_row(row)
        shown: dict[str, None] = {}
        for i in np.argsort(-np.abs(own), kind="stable").tolist():
            if not own[i] or len(shown) > _SHOWN:
                break
            shown[self.in_words(self.columns[i], own)] = None
        return first_of(list(shown), _SHOWN)

    def _missing(self, column: str, own: Floats) -> str:
        i = int(self.places[column][0])
        encoded, alone = self.encoded[i], len(self.places[column]) == 1
        taken = encoded[0].filling if encoded else f"as {number(self.value(i, float(own[i])))}" if alone else ""
        return f"{column} missing" + (f", taken {taken}" if taken.startswith("as ") else "")


def number(value: float) -> str:
    """Return the value of a feature in four digits, or as a whole number where it is large."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.4g}"


def with_value(name: str, value: float, column: str = "", missing: bool = False) -> str:
    """Return a feature with its value; of 0/1 features that are 1 the name alone."""
    if missing:
        return f"{name} missing, taken as {number(value)}"
    return name if value == 1 and name != column else f"{name} = {number(value)}"


def features_after(steps: Sequence[Estimator], X: RowsLike | None = None) -> Features | None:
    """Return the features that fitted steps make of rows X, in the units of the data; None where some have no names."""
    found, given = None, X
    for step in steps:
        step = step.estimator if isinstance(step, FrozenEstimator) else step
        if step is None or step == "passthrough":
            continue
        found = _after(step, found, given)
        if found is None:
            return None
        given = None  # rows as the next step gets them are not at hand
    if found is not None and is_frame(X):
        found.frame = X
    return found


def _after(step: Estimator, before: Features | None, X: RowsLike | None) -> Features | None:
    if hasattr(step, "columns_"):
        return _encoded(step, X)
    if hasattr(step, "steps"):
        return features_after([each for _, each in step.steps], X)
    if hasattr(step, "build_analyzer") and not hasattr(step, "vocabulary_"):
        words = {} if X is None else hashed_words(step, X)
        return Features.called([words.get(i, f"[{i}]") for i in range(step.n_features)])
    known = getattr(step, "feature_names_in_", None if before is None else before.names)
    try:
        names = step.get_feature_names_out(None if known is None else np.array(known, dtype=object))
    except (AttributeError, ValueError, NotImplementedError, TypeError):
        return None
    found = Features.called(names)
    if before is None and known is not None:
        before = Features.called(known)
    scaler = hasattr(step, "inverse_transform") and hasattr(step, "scale_")
    if before is None or not (scaler or hasattr(step, "get_support") or hasattr(step, "indicator_")):
        return found
    where = {name: i for i, name in enumerate(before.names)}
    for i, j in enumerate(where.get(name, -1) for name in found.names):
        if j >= 0:
            found.columns[i], found.encoded[i] = before.columns[j], before.encoded[j]
            found.scale[i], found.offset[i] = before.scale[j], before.offset[j]
    if scaler:
        offset, one = np.asarray(step.inverse_transform(np.vstack([np.zeros(len(found)), np.ones(len(found))])))
        found.scale, found.offset = found.scale * (one - offset), found.scale * offset + found.offset
    return found


def _encoded(encoder: Estimator, X: RowsLike | None) -> Features:
    """Return the features of a table; hashed words are called by those of the rows X that they stand for."""
    names: list[str] = []
    encoded: list[tuple[Column, int] | None] = []
    for column in encoder.columns_:
        own = column.feature_names
        if X is not None and is_frame(X) and hasattr(column, "words_in"):
            for i, words in column.words_in(X[column.name]).items():
                own[i] = f"{column.name}: {words}"
        names += own
        encoded += [(column, i) for i in range(len(own))]
    found = Features.called(names)
    found.encoded, found.columns = encoded, [each[0].name for each in encoded if each is not None]
    return found


@dataclass(frozen=True)
class Effect:
    """The effect of the value of one column on a score.

    Examples
    --------
    >>> import pandas as pd
    >>> from votron import VotedPerceptronClassifier
    >>> X = pd.DataFrame({"width": [1.0, 1.2, 3.0, 3.3], "noise": [0.1, 0.0, 0.1, 0.0]})
    >>> model = VotedPerceptronClassifier(random_state=0).fit(X, ["thin", "thin", "wide", "wide"])
    >>> [(effect.column, effect.change > 0) for effect in model.explain(X[:1])[0].columns][0]
    ('width', True)
    """

    name: str  # the column with its value, as far as that is known
    column: str  # the column alone
    change: float  # by how much the score would fall, in the mean, with the value of another row


class ColumnEffects:
    """The effects of columns on the scores of rows, with what is the same for all rows made once."""

    def __init__(self, others: Rows, features: Features | None, scores: Callable[[Rows], Floats]) -> None:
        self.features, self._scores = features, scores
        places = {} if features is None else features.places
        # With a precomputed kernel no rows are kept, and the features are training examples.
        known = features is not None and others.shape[0] and others.shape[1] == len(features)
        self.columns = places if known and 1 < len(places) <= MOST_COLUMNS else {}
        spread = np.unique(np.linspace(0, others.shape[0] - 1, _MOST_ROWS).round().astype(np.int64))
        self._others: Rows = others[spread] if self.columns else others[:0]

    def of(self, row: Rows, mix: Floats, i: int) -> tuple[Effect, ...]:
        """Return the effects on the score of row ``i``, the largest first; none where columns are unknown."""
        if self.features is None or not self.columns:
            return ()
        own, whole = dense_row(row), self._mixed(row, mix)[0]
        found = []
        for column, places in self.columns.items():
            others = self._mixed(self._changed(row, places), mix)
            change = float((whole - others).mean())  # exactly 0 where no value makes a difference
            found.append(Effect(self.features.in_words(column, own, i), column, change))
        return tuple(sorted(found, key=lambda effect: -abs(effect.change)))

    def _mixed(self, rows: Rows, mix: Floats) -> Floats:
        return np.asarray(self._scores(rows).reshape(rows.shape[0], -1) @ mix)

    def _changed(self, row: Rows, places: Index) -> Rows:
        """Return the row once for each of the others, with their values at these places."""
        n = self._others.shape[0]
        if not sp.issparse(row):
            theirs = dense(self._others[:, places])
            changed = np.repeat(np.asarray(row), n, axis=0)
            changed = changed.astype(np.result_type(changed, theirs))  # whole numbers would cut off their fractions
            changed[:, places] = theirs
            return changed
        here = np.zeros(row.shape[1])
        here[places] = 1.0
        # As many features as words, of which a row has few: no array has a cell for each.
        theirs = sp.csr_matrix(self._others) @ sp.diags(here, format="csr")
        changed = sp.csr_matrix(np.ones((n, 1))) @ (row @ sp.diags(1.0 - here, format="csr")) + theirs
        changed = sp.csr_matrix(changed)
        changed.eliminate_zeros()
        changed.sort_indices()
        return changed


def strongest_features(
    model: Estimator, top: int = 10, *, first: int = 0
) -> dict[Label, list[tuple[str, float]]] | None:
    """Return the features with the largest weights of each class, and the weights, the largest first.

    None for a model without weights: with a kernel that is not linear, or by voting. Of two classes the first has the
    negative weights. ``first`` is the number of the first feature, where they have no names.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from votron import AveragedPerceptronClassifier
    >>> texts = ["rain, rain, wind", "wind, rain", "sun, sun, day", "day, sun"]
    >>> model = make_pipeline(TfidfVectorizer(), AveragedPerceptronClassifier(random_state=0))
    >>> found = strongest_features(model.fit(texts, ["wet", "wet", "dry", "dry"]), top=2)
    >>> {label: sorted(name for name, _ in features) for label, features in found.items()}
    {'dry': ['day', 'sun'], 'wet': ['rain', 'wind']}
    """
    classifier = classifier_of(model)
    coef = getattr(classifier, "coef_", None)
    if coef is None:
        return None
    features = features_after(steps_before(model))
    names = getattr(classifier, "feature_names_in_", None) if features is None else features.names
    classes: Classes = classifier.classes_
    weights = dense(coef)
    signed = [-weights[0], weights[0]] if len(classes) == 2 else list(weights)

    def strongest(weights: Floats) -> list[tuple[str, float]]:
        order = np.argsort(-weights, kind="stable")[:top]
        shown = [int(i) for i in order if weights[i] > 0]
        return [(f"feature {i + first}" if names is None else str(names[i]), float(weights[i])) for i in shown]

    return {label: strongest(each) for label, each in zip(classes.tolist(), signed, strict=True)}
