"""Features by name: what steps before a classifier call them, and which weigh most in a linear model."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator

from votron._types import Floats

__all__ = ["strongest_features"]


class FeatureNames(list[str]):
    """The names of the features, which remember in which units the data came: those of scaled numbers differ.

    Examples
    --------
    >>> names = FeatureNames(["Outlook=Rainy", "Temp"], scale=[1.0, 10.0], offset=[0.0, 70.0])
    >>> names[1], names.original(1, -0.5)
    ('Temp', 65.0)
    """

    def __init__(self, names: Any, scale: Any = None, offset: Any = None) -> None:
        super().__init__(map(str, names))
        self.scale = np.ones(len(self)) if scale is None else np.asarray(scale)
        self.offset = np.zeros(len(self)) if offset is None else np.asarray(offset)

    def original(self, i: int, value: float) -> float:
        """Return a value as it was before scaling."""
        return float(value * self.scale[i] + self.offset[i])


def names_after(steps: list[Any], X: Any = None) -> FeatureNames | None:
    """Return the names of the features that fitted steps give, or None where some have none.

    Words that are hashed have no names, but those of the rows X, if they are given, are known: they are called by them.
    """
    names: FeatureNames | None = None
    for step in map(_unfrozen, steps):
        if hasattr(step, "transformers_"):
            names = _names_of_columns(step, X)
        elif hasattr(step, "steps"):
            names = names_after([each for _, each in step.steps], X)
        elif hasattr(step, "build_analyzer"):
            names = FeatureNames(_words_of(step, X))
        else:
            names = _names_of(step, names)
        if names is None:
            return None
        X = None  # rows as the next step gets them are not at hand
    return names


def _unfrozen(step: Any) -> Any:
    return step.estimator if isinstance(step, FrozenEstimator) else step


def _names_of(step: Any, before: Any) -> FeatureNames | None:
    try:
        names = step.get_feature_names_out() if before is None else step.get_feature_names_out(list(before))
    except (AttributeError, ValueError, NotImplementedError, TypeError):
        return None
    return FeatureNames(names, *_units(step, len(names)))


def _names_of_columns(encoder: Any, X: Any) -> FeatureNames:
    """Return the names of a table's encoder, part by part, since parts that hash have none."""
    names: list[str] = []
    scales, offsets = [], []
    for key, part, columns in encoder.transformers_:
        where = encoder.output_indices_[key]
        n = where.stop - where.start
        if not n:
            continue
        found, last = _part_names(_unfrozen(part), list(columns), X)
        names += found if found is not None and len(found) == n else [f"{columns[0]}[{i}]" for i in range(n)]
        scale, offset = _units(last, n)
        scales.append(scale)
        offsets.append(offset)
    return FeatureNames(names, np.concatenate(scales), np.concatenate(offsets))


def _part_names(part: Any, columns: list[str], X: Any) -> tuple[list[str] | None, Any]:
    """Return the names that a part of an encoder gives its features, and its last step."""
    last = _unfrozen(part.steps[-1][1]) if hasattr(part, "steps") else part
    if hasattr(last, "build_analyzer"):
        texts = X[columns[0]].to_list() if hasattr(X, "columns") else None
        return [f"{columns[0]}: {word}" for word in _words_of(last, texts)], last
    try:
        return list(part.get_feature_names_out(np.array(columns, dtype=object))), last
    except (AttributeError, ValueError, NotImplementedError, TypeError):
        return None, last


def _units(step: Any, n: int) -> tuple[Floats, Floats]:
    """Return scale and offset that take features back to the units of the data, if the step is one that scales."""
    if not hasattr(step, "inverse_transform") or not hasattr(step, "scale_"):
        return np.ones(n), np.zeros(n)
    offset, one = np.asarray(step.inverse_transform(np.array([[0.0] * n, [1.0] * n])))
    return one - offset, offset


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


def strongest_features(model: Any, top: int = 10) -> dict[Any, list[tuple[str, float]]] | None:
    """Return the features with the largest weights of each class, if a fitted model is linear.

    Parameters
    ----------
    model : classifier of Votron, or Pipeline that ends in one
        The fitted model.
    top : int, default=10
        How many for each class.

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
    before, classifier = ([], model) if not hasattr(model, "steps") else (model.steps[:-1], model.steps[-1][1])
    coef = _coef(classifier)
    if coef is None:
        return None
    names = names_after([step for _, step in before]) if before else None
    if names is None:
        names = getattr(classifier, "feature_names_in_", None)
    classes = classifier.classes_.tolist()
    signed = [-_row(coef, 0), _row(coef, 0)] if len(classes) == 2 else [_row(coef, c) for c in range(len(classes))]
    return {label: _largest(weights, names, top) for label, weights in zip(classes, signed, strict=True)}


def _coef(classifier: Any) -> Any:
    try:
        return classifier.coef_
    except AttributeError:
        return None


def _row(coef: Any, c: int) -> Floats:
    row: Floats = coef[[c]].toarray()[0] if sp.issparse(coef) else np.asarray(coef[c])
    return row


def _largest(weights: Floats, names: Any, top: int) -> list[tuple[str, float]]:
    order = np.argsort(-weights, kind="stable")[:top]
    return [(f"feature {i}" if names is None else str(names[i]), float(weights[i])) for i in order if weights[i] > 0]
