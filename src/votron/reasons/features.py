"""Features by name: what steps before a classifier call them, and which weigh most in a linear model."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from votron._types import Floats
from votron.errors import VotronError

__all__ = ["strongest_features"]


def names_after(steps: list[Any], X: Any = None) -> Any:
    """Return the names of the features that fitted steps give, or None where some have none.

    Words that are hashed have no names, but those of the rows X, if they are given, are known: they are called by them.
    """
    names: Any = None
    for step in steps:
        names = _names_of(step, names, X)
        X = None  # rows as the next step gets them are not at hand
        if names is None:
            return None
    return names


def _names_of(step: Any, before: Any, X: Any) -> Any:
    inner = getattr(step, "estimator", step) if type(step).__name__ == "FrozenEstimator" else step
    if hasattr(inner, "transformers_"):
        return _names_of_columns(inner, X)
    if hasattr(inner, "steps"):
        return names_after([each for _, each in inner.steps], X)
    if not hasattr(inner, "get_feature_names_out"):
        return _hashed_names(inner, X) if hasattr(inner, "build_analyzer") else None
    try:
        return list(inner.get_feature_names_out() if before is None else inner.get_feature_names_out(before))
    except (AttributeError, ValueError, NotImplementedError, TypeError):
        return None


def _names_of_columns(encoder: Any, X: Any) -> Any:
    """Return the names of a table's encoder, part by part, since parts that hash have none."""
    out: list[str] = []
    for name, part, columns in encoder.transformers_:
        width = encoder.output_indices_[name]
        n = width.stop - width.start
        if not n:
            continue
        texts = X[columns[0]].to_list() if hasattr(X, "columns") and hasattr(X[columns[0]], "to_list") else None
        found = _part_names(part, list(columns), texts)
        out += found if found is not None and len(found) == n else [f"{columns[0]}[{i}]" for i in range(n)]
    return out


def _part_names(part: Any, columns: list[str], texts: list[Any] | None) -> list[str] | None:
    part = getattr(part, "estimator", part) if type(part).__name__ == "FrozenEstimator" else part
    last = part.steps[-1][1] if hasattr(part, "steps") else part
    if hasattr(last, "build_analyzer"):
        if hasattr(last, "vocabulary_"):
            return [f"{columns[0]}: {word}" for word in last.get_feature_names_out()]
        named = _hashed_names(last, texts)
        return [f"{columns[0]}: {word}" for word in named]
    try:
        return list(part.get_feature_names_out(np.array(columns, dtype=object)))
    except (AttributeError, ValueError, NotImplementedError, TypeError):
        return None



def _hashed_names(vectorizer: Any, texts: Any) -> list[str]:
    """Return for each hashed feature the words of these texts that it stands for, or its number."""
    names = [f"[{i}]" for i in range(vectorizer.n_features)]
    if texts is None or hasattr(texts, "shape"):
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
    >>> texts = ["rain and wind", "wind, then rain", "sun all day", "a day of sun"]
    >>> model = make_pipeline(TfidfVectorizer(), AveragedPerceptronClassifier(random_state=0))
    >>> found = strongest_features(model.fit(texts, ["wet", "wet", "dry", "dry"]), top=2)
    >>> {label: [name for name, _ in features] for label, features in found.items()}
    {'dry': ['sun', 'day'], 'wet': ['rain', 'wind']}
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
    except (AttributeError, VotronError):
        return None


def _row(coef: Any, c: int) -> Floats:
    row: Floats = coef[[c]].toarray()[0] if sp.issparse(coef) else np.asarray(coef[c])
    return row


def _largest(weights: Floats, names: Any, top: int) -> list[tuple[str, float]]:
    order = np.argsort(-weights, kind="stable")[:top]
    return [(f"feature {i}" if names is None else str(names[i]), float(weights[i])) for i in order if weights[i] > 0]
