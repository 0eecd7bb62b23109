"""Features by name: what steps before a classifier call them, and which weigh most in a linear model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator

from votron._util.frames import is_frame
from votron._util.pipelines import classifier_of, steps_before
from votron._util.types import Floats

__all__ = ["strongest_features"]

_ROUNDING = 1e-12
"""What scaling and its inverse may leave of 0, of the offset."""


class Reader(NamedTuple):
    """Who reads the features of a column together, and where they are."""

    places: list[int]
    words: Callable[[list[float]], str]
    """Returns what the features, in the units of the data, say of the column: nothing where it was missing."""


class FeatureNames(list[str]):
    """The names of the features, which remember in which units the data came: those of scaled numbers differ.

    They may also know what values stand for, by themselves and together.

    Examples
    --------
    >>> names = FeatureNames(["Outlook=Rainy", "Temp"], scale=[1.0, 10.0], offset=[0.0, 70.0])
    >>> names[1], names.original(1, -0.5)
    ('Temp', 65.0)
    >>> FeatureNames(["noon"], values=[{-1.0: "midnight", 1.0: "noon"}]).in_words(0, -1.0)
    'midnight'
    """

    columns: list[str]
    """For each feature the column of the data that it was made of."""
    frame: Any = None
    """The rows as they came, where these were a frame: what their columns held is told by it."""
    readers: dict[str, Reader]
    """Columns whose features are read together, such as those of a date."""

    def __init__(
        self,
        names: Any,
        scale: Any = None,
        offset: Any = None,
        values: Sequence[Mapping[float, str]] | None = None,
        columns: Sequence[str] | None = None,
        readers: Mapping[str, Reader] | None = None,
    ) -> None:
        super().__init__(map(str, names))
        self.columns = list(self) if columns is None else list(columns)
        self.scale = np.ones(len(self)) if scale is None else np.asarray(scale)
        self.offset = np.zeros(len(self)) if offset is None else np.asarray(offset)
        self.values = [{}] * len(self) if values is None else list(values)
        self.readers = dict(readers or {})

    def in_words(self, i: int, value: float) -> str:
        """Return what a value of a feature stands for, if that is known, or nothing."""
        return self.values[i].get(value, "")

    def original(self, i: int, value: float) -> float:
        """Return a value as it was before scaling; what rounding alone has left of 0 is 0."""
        found = float(value * self.scale[i] + self.offset[i])
        return 0.0 if abs(found) < _ROUNDING * abs(self.offset[i]) else found

    def units_of(self, places: Any) -> tuple[Floats, Floats]:
        """Return scale and offset of the features at these places; -1 stands for one that is new."""
        there = np.asarray(places, dtype=np.int64)
        if not len(self):
            return np.ones(len(there)), np.zeros(len(there))
        return np.where(there < 0, 1.0, self.scale[there]), np.where(there < 0, 0.0, self.offset[there])


def names_after(steps: list[Any], X: Any = None, before: FeatureNames | None = None) -> FeatureNames | None:
    """Return the names of the features that fitted steps give, or None where some have none.

    Words that are hashed have no names, but those of the rows X, if they are given, are known: they are called by them.
    What the features are called before the steps, and in which units they are, may be given as well.
    """
    names, given = before, X
    for step in map(_unfrozen, steps):
        if step is None or isinstance(step, str):  # "passthrough"
            continue
        if hasattr(step, "transformers_"):
            names = _names_of_columns(step, X, names)
        elif hasattr(step, "steps"):
            names = names_after([each for _, each in step.steps], X, names)
        elif hasattr(step, "build_analyzer"):
            names = _names_of_words(step, X, names)
        else:
            names = _names_of(step, names)
        if names is None:
            return None
        X = None  # rows as the next step gets them are not at hand
    if names is not None and is_frame(given):
        names.frame = given
    return names


def _unfrozen(step: Any) -> Any:
    return step.estimator if isinstance(step, FrozenEstimator) else step


def _names_of(step: Any, before: FeatureNames | None) -> FeatureNames | None:
    given = getattr(step, "feature_names_in_", before)
    try:
        names = step.get_feature_names_out(None if given is None else np.array(given, dtype=object))
    except (AttributeError, ValueError, NotImplementedError, TypeError):
        return None
    made = list(map(str, names))
    units, values = _units(step, made, before, given), _values(step, made, before, given)
    readers = _readers(step, made, before, given)
    return FeatureNames(made, *units, values, _columns_made_of(step, made, before, given), readers)


def _columns_made_of(step: Any, names: list[str], before: FeatureNames | None, given: Any) -> list[str] | None:
    """Return for each feature that a step makes the column of the data that it was made of; None if that is unknown."""
    if given is None:
        return None
    columns = list(map(str, given)) if before is None else before.columns
    if len(columns) != len(given):
        return None
    sizes = getattr(step, "_n_features_outs", ())  # of scikit-learn's OneHotEncoder, for each column
    if sum(sizes) == len(names):
        return [column for column, n in zip(columns, sizes, strict=True) for _ in range(n)]
    known = dict(zip(map(str, given), columns, strict=True))
    return [known.get(name, name) for name in names]


def _names_of_columns(encoder: Any, X: Any, before: FeatureNames | None) -> FeatureNames:
    """Return the names of a table's encoder, part by part, since parts that hash have none."""
    parts = []
    for key, part, _ in encoder.transformers_:
        where = encoder.output_indices_[key]
        n = where.stop - where.start
        if not n:
            continue
        columns = _columns_of(encoder, key, before)
        found = _names_of_part(_unfrozen(part), columns, _texts_of(encoder, key, X))
        numbered = FeatureNames(f"{columns[0]}[{i}]" for i in range(n))
        mine = found if found is not None and len(found) == n else numbered
        mine.columns = [name if name in columns else ", ".join(columns) for name in mine.columns]
        parts.append(mine)
    names = [name for part in parts for name in part]
    scale, offset = (np.concatenate([[], *each]) for each in zip(*map(_both, parts), strict=True))
    values = [each for part in parts for each in part.values]
    made_of = [column for part in parts for column in part.columns]
    return FeatureNames(names, scale, offset, values, made_of, _readers_of_parts(parts))


def _readers_of_parts(parts: list[FeatureNames]) -> dict[str, Reader]:
    """Return who reads columns, of parts that now stand side by side."""
    found, first = {}, 0
    for part in parts:
        for column, (places, words) in part.readers.items():
            found[column] = Reader([first + i for i in places], words)
        first += len(part)
    return found


def _both(names: FeatureNames) -> tuple[Floats, Floats]:
    return names.scale, names.offset


def _columns_of(encoder: Any, key: str, before: FeatureNames | None) -> FeatureNames:
    """Return the columns that a part takes, however they were chosen: by name, number, slice, mask or function."""
    places = encoder._transformer_to_input_indices[key]
    known = getattr(encoder, "feature_names_in_", before)
    names = [f"x{i}" if known is None else known[i] for i in places]
    return FeatureNames(names) if before is None else FeatureNames(names, *before.units_of(places))


def _texts_of(encoder: Any, key: str, X: Any) -> Any:
    """Return the first column that a part takes of the rows, or None where there are no rows."""
    places = encoder._transformer_to_input_indices[key]
    if X is None or sp.issparse(X) or not places:
        return None
    if hasattr(X, "columns") and hasattr(encoder, "feature_names_in_"):
        return X[encoder.feature_names_in_[places[0]]].to_list()
    return np.asarray(X, dtype=object)[:, places[0]].tolist()


def _names_of_part(part: Any, columns: FeatureNames, texts: Any) -> FeatureNames | None:
    """Return the names that a part of an encoder gives its features."""
    steps = [step for _, step in part.steps] if hasattr(part, "steps") else [part]
    last = _unfrozen(steps[-1])
    if hasattr(last, "build_analyzer"):  # what comes before it passes texts on
        return _names_of_words(last, texts, columns)
    return names_after(steps, texts, columns)


def _names_of_words(vectorizer: Any, texts: Any, before: FeatureNames | None) -> FeatureNames:
    column = "" if before is None else f"{before[0]}: "
    return FeatureNames(f"{column}{word}" for word in _words_of(vectorizer, texts))


def _units(step: Any, names: list[str], before: FeatureNames | None, given: Any) -> tuple[Floats, Floats]:
    """Return scale and offset that take features back to the units of the data, as far as steps can be undone.

    A scaler is undone, after it what came before, and a step may say itself what its units are. Imputers and steps that
    choose features leave values as they are. After any other step its values are the data.
    """
    n = len(names)
    new = np.ones(n), np.zeros(n)
    if hasattr(step, "feature_units"):
        scale, offset = step.feature_units()
        return scale, offset
    if _is_scaler(step):
        offset, one = np.asarray(step.inverse_transform(np.array([[0.0] * n, [1.0] * n])))
        earlier, start = new if before is None else (before.scale, before.offset)
        return earlier * (one - offset), earlier * offset + start
    if before is None or not _keeps_values(step):
        return new
    places = {name: i for i, name in enumerate(given)}
    return before.units_of([places.get(name, -1) for name in names])


def _values(
    step: Any, names: list[str], before: FeatureNames | None, given: Any
) -> Sequence[Mapping[float, str]] | None:
    """Return what values stand for, as a step says, or as it was before a step that leaves values as they are."""
    if hasattr(step, "values_in_words"):
        found: Sequence[Mapping[float, str]] = step.values_in_words()
        return found
    if before is None or not _keeps_values(step):
        return None
    known = dict(zip(given, before.values, strict=True))
    return [known.get(name, {}) for name in names]


def _readers(step: Any, names: list[str], before: FeatureNames | None, given: Any) -> dict[str, Reader]:
    """Return who reads columns after a step: it may do so itself, or leave all that others read."""
    if hasattr(step, "column_in_words"):
        return {str(given[0]): Reader(list(range(len(names))), step.column_in_words)}
    if before is None or not (_is_scaler(step) or _keeps_values(step)):
        return {}
    places = {name: i for i, name in enumerate(names)}
    found = {}
    for column, (theirs, words) in before.readers.items():
        moved = [places.get(str(given[i]), -1) for i in theirs]
        if min(moved) >= 0:
            found[column] = Reader(moved, words)
    return found


def _is_scaler(step: Any) -> bool:
    return hasattr(step, "inverse_transform") and hasattr(step, "scale_")


def _keeps_values(step: Any) -> bool:
    """Tell whether a step chooses features, fills gaps, or does nothing."""
    return hasattr(step, "get_support") or hasattr(step, "indicator_") or getattr(step, "func", step) is None


def _words_of(vectorizer: Any, texts: Any) -> list[str]:
    if hasattr(vectorizer, "vocabulary_"):
        return list(vectorizer.get_feature_names_out())
    return _hashed_names(vectorizer, texts)


def _hashed_names(vectorizer: Any, texts: Any) -> list[str]:
    """Return for each hashed feature the words of these texts that it stands for, or its number."""
    names = [f"[{i}]" for i in range(vectorizer.n_features)]
    if texts is None or isinstance(texts, str):
        return names
    analyze = vectorizer.build_analyzer()
    words = sorted({word for text in texts if isinstance(text, str) for word in analyze(text)})
    found: dict[int, list[str]] = {}
    if words:
        hashed = vectorizer.__class__(**{**vectorizer.get_params(), "analyzer": _alone, "norm": None})
        for word, column in zip(words, hashed.transform(words).indices.tolist(), strict=True):
            found.setdefault(column, []).append(word)
    for column, mine in found.items():
        names[column] = "/".join(mine)
    return names


def _alone(word: str) -> list[str]:
    return [word]


def strongest_features(model: Any, top: int = 10, *, first: int = 0) -> dict[Any, list[tuple[str, float]]] | None:
    """Return the features with the largest weights of each class, if a fitted model is linear.

    Parameters
    ----------
    model : classifier of Votron, or Pipeline that ends in one
        The fitted model.
    top : int, default=10
        How many for each class.
    first : int, default=0
        Number of the first feature, where they have no names.

    Returns
    -------
    dict or None
        For each class the names of features and their weights, the largest first; of two classes the first has the
        negative ones. None for a model that has no weights: with a kernel that is not linear, or by voting.

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
    coef = _coef(classifier)
    if coef is None:
        return None
    names = names_after(steps_before(model))
    if names is None:
        names = getattr(classifier, "feature_names_in_", None)
    classes = classifier.classes_.tolist()
    signed = [-_row(coef, 0), _row(coef, 0)] if len(classes) == 2 else [_row(coef, c) for c in range(len(classes))]
    return {label: _largest(weights, names, top, first) for label, weights in zip(classes, signed, strict=True)}


def _coef(classifier: Any) -> Any:
    try:
        return classifier.coef_
    except AttributeError:
        return None


def _row(coef: Any, c: int) -> Floats:
    row: Floats = coef[[c]].toarray()[0] if sp.issparse(coef) else np.asarray(coef[c])
    return row


def _largest(weights: Floats, names: Any, top: int, first: int) -> list[tuple[str, float]]:
    order = np.argsort(-weights, kind="stable")[:top]
    shown = (int(i) for i in order if weights[i] > 0)
    return [(f"feature {i + first}" if names is None else str(names[i]), float(weights[i])) for i in shown]
