"""Values and words that a model has not seen in training: which, where, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from votron._util.frames import columns_of, in_pandas, is_frame
from votron._util.text import counted
from votron.data._columns import _Discrete, objects_of, without_blanks
from votron.data.examples import short_repr

__all__ = ["Unseen", "unseen_values"]

_SHOWN = 5


@dataclass
class Unseen:
    """What a model has not seen in training, as `unseen_values` finds it; false where there is nothing.

    Attributes
    ----------
    values : dict of str to Counter
        For each column with such values, how many rows have each of them.
    words : dict of str to int
        For each column with such words, how many there are in its texts, each counted as often as it occurs.
    n_words : dict of str to int
        For each column of texts, how many words there are.

    Examples
    --------
    >>> found = Unseen({"sky": Counter(hail=2, fog=1)})
    >>> found.update(Unseen({"sky": Counter(hail=1)}))
    >>> for sentence in found.sentences():
    ...     print(sentence)
    The column 'sky' has 2 values, in 4 rows, that are not in the training data, and sets no feature there: 'hail' (3
    rows), 'fog' (1 row).
    """

    values: dict[str, Counter[Any]] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)
    n_words: dict[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.values or self.words)

    def update(self, other: Unseen) -> None:
        """Add what was found in other rows."""
        for column, counts in other.values.items():
            self.values.setdefault(column, Counter()).update(counts)
        for mine, theirs in ((self.words, other.words), (self.n_words, other.n_words)):
            for column, n in theirs.items():
                mine[column] = mine.get(column, 0) + n

    def sentences(self) -> list[str]:
        """Return what was found, a sentence a column."""
        found = []
        for column, counts in self.values.items():
            most = sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))
            named = ", ".join(f"{short_repr(value)} ({counted(n, 'row')})" for value, n in most[:_SHOWN])
            more = f", and {len(most) - _SHOWN:,} more" if len(most) > _SHOWN else ""
            found.append(
                f"The column {column!r} has {counted(len(most), 'value')}, in {counted(counts.total(), 'row')}, that "
                f"{'is' if len(most) == 1 else 'are'} not in the training data, and sets no feature there: {named}"
                f"{more}."
            )
        for column, n in self.words.items():
            where = f"the texts of column {column!r}" if column else "the texts"
            found.append(
                f"Of the {counted(self.n_words[column], 'word')} in {where}, {n:,} {'is' if n == 1 else 'are'} not in "
                "the training data, and passed over."
            )
        return found

    def _add_values(self, column: str, values: Iterable[Any], known: Iterable[Any]) -> None:
        there = set(known)
        counts = Counter(value for value in values if value is not None and value == value and value not in there)
        if counts:
            self.values.setdefault(column, Counter()).update(counts)

    def _add_texts(self, column: str, texts: Iterable[str], vectorizer: CountVectorizer) -> None:
        analyze, known = vectorizer.build_analyzer(), vectorizer.vocabulary_
        n = unseen = 0
        for text in texts:
            words = analyze(text)
            n += len(words)
            unseen += sum(word not in known for word in words)
        self.n_words[column] = self.n_words.get(column, 0) + n
        if unseen:
            self.words[column] = self.words.get(column, 0) + unseen


def unseen_values(model: Any, X: Any) -> Unseen:
    """Find values and words of some rows that a model has not seen in training.

    They set no feature, so a prediction goes by the other columns: where there are many, labels mean little. Of hashed
    words nobody knows which there were.

    Parameters
    ----------
    model : fitted Pipeline or transformer
        Such as `votron.table_classifier` makes, or one of scikit-learn's with OneHotEncoder, OrdinalEncoder or
        vectorizers of text.
    X : DataFrame, or what else the model takes
        The rows.

    Returns
    -------
    Unseen
        What was found; false where nothing was.

    Examples
    --------
    >>> import pandas as pd
    >>> from votron import AveragedPerceptronClassifier, table_classifier
    >>> from votron.data import unseen_values
    >>> days = pd.DataFrame({"sky": ["rain", "sun", "sun"], "temp": [9, 21, 20]})
    >>> model = table_classifier(days, AveragedPerceptronClassifier(random_state=0)).fit(days, [0, 1, 1])
    >>> unseen_values(model, pd.DataFrame({"sky": ["fog", "sun", "fog"], "temp": [9, 9, 9]})).values
    {'sky': Counter({'fog': 2})}
    >>> bool(unseen_values(model, days))
    False
    """
    found = Unseen()
    _look(model, X, found, [])
    return found


def _look(step: Any, X: Any, found: Unseen, names: list[str]) -> None:
    """Look at what meets a step; ``names`` are those of the columns, as far as they have such."""
    while isinstance(step, FrozenEstimator):
        step = step.estimator
    names = [str(name) for name in X.columns] if is_frame(X) else names
    if isinstance(step, Pipeline):
        place = next((i for i, (_, each) in enumerate(step.steps) if _knows_values(each)), None)
        if place is not None:  # what comes after it are numbers
            for _, each in step.steps[:place]:
                X = each.transform(X)
            _look(step.steps[place][1], X, found, names)
    elif isinstance(step, ColumnTransformer):
        for _, part, columns in step.transformers_:
            if not isinstance(part, str) and _knows_values(part):
                _look(part, _selected(X, columns), found, [columns] if isinstance(columns, str) else [])
    elif isinstance(step, _Discrete):
        _add_column(names[0], X[X.columns[0]], step.values, found, without_blanks)
    elif isinstance(step, OneHotEncoder | OrdinalEncoder):
        columns = columns_of(X) if is_frame(X) else list(np.asarray(X, dtype=object).T)
        names = names if len(names) == len(columns) else [str(i) for i in range(len(columns))]
        for name, column, known in zip(names, columns, step.categories_, strict=True):
            _add_column(name, column, known, found)
    elif isinstance(step, CountVectorizer):
        found._add_texts(names[0] if len(names) == 1 else "", X, step)


def _knows_values(step: Any) -> bool:
    while isinstance(step, FrozenEstimator):
        step = step.estimator
    if isinstance(step, Pipeline):
        return any(_knows_values(each) for _, each in step.steps)
    if isinstance(step, ColumnTransformer):
        return any(_knows_values(part) for _, part, _ in step.transformers_ if not isinstance(part, str))
    return isinstance(step, _Discrete | OneHotEncoder | OrdinalEncoder | CountVectorizer)


def _selected(X: Any, columns: Any) -> Any:
    by_name = isinstance(columns, str) or (len(columns) and isinstance(columns[0], str))
    if by_name:
        return X[columns if isinstance(columns, str) else list(columns)]
    return X.iloc[:, columns] if in_pandas(X) else X[:, columns]


def _add_column(
    name: str, column: Any, known: Iterable[Any], found: Unseen, taken_for: Callable[[Any], Any] = lambda value: value
) -> None:
    """Add the values of a column; most columns have few different ones, and none that is not known."""
    there = set(known)
    if isinstance(column, np.ndarray):
        found._add_values(name, column, there)
        return
    different = objects_of(column.drop_duplicates() if in_pandas(column) else column.unique())
    there.update([value for value in different if taken_for(value) in there])
    if not all(value is None or value in there for value in different):
        found._add_values(name, objects_of(column), there)
