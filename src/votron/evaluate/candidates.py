"""The learners that can be compared by name: Votron's, scikit-learn's usual ones, and the least that all should beat.

Each says how it is made, and of which data it is left out unless it is asked for by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import FunctionTransformer

from votron._util.frames import columns_of_words, is_frame
from votron.estimators import (
    AveragedPerceptronClassifier,
    KernelAdatronClassifier,
    NaiveBayesLinearClassifier,
    VotedPerceptronClassifier,
    VotedPerceptronClassifierCV,
    WinnowClassifier,
)

__all__ = ["BASELINE", "CANDIDATES", "Candidate", "DataFacts", "candidates_for", "dense", "facts_of"]

BASELINE = "majority"
"""The candidate that always says the most frequent class."""
_MOST_ADATRON, _MOST_SVC = 1_000, 20_000
"""Rows up to which these are solved in seconds, on noisy data too."""
_MANY_ROWS, _MANY_FEATURES = 10_000, 2_000
"""From here on a plain stochastic descent is worth a try; up to so many features trees take rows that are full."""
_HALF = 0.5


@dataclass(frozen=True)
class DataFacts:
    """What candidates ask of data.

    Attributes
    ----------
    n_rows, n_features : int
        Rows, and columns as they are given.
    is_sparse : bool
        Whether most values are 0, and not kept.
    has_text : bool
        Whether there are columns whose words become features.
    is_counts : bool
        Whether it matters most of the features whether they are 0: words, counts, categories.

    Examples
    --------
    >>> import numpy as np
    >>> from votron.evaluate.candidates import facts_of
    >>> facts_of(np.array([[0, 1, 0], [2, 0, 0]])).is_counts, facts_of(np.array([[0.5, -1.0]])).is_counts
    (True, False)
    """

    n_rows: int
    n_features: int
    is_sparse: bool = False
    has_text: bool = False
    is_counts: bool = False


def facts_of(X: Any, text: Any = ()) -> DataFacts:
    """Return what candidates ask of these rows; ``text`` names columns of texts, or one of them.

    Examples
    --------
    >>> import pandas as pd
    >>> from votron.evaluate.candidates import facts_of
    >>> facts_of(pd.DataFrame({"town": ["Oslo", "Rome"], "size": [1.5, 2.5], "sky": ["grey", "blue"]}))
    DataFacts(n_rows=2, n_features=3, is_sparse=False, has_text=False, is_counts=True)
    """
    if is_frame(X):
        text = [text] if isinstance(text, str) else text
        words = len(set(columns_of_words(X)) | set(text))
        return DataFacts(len(X), len(X.columns), False, bool(text), words > _HALF * len(X.columns))
    if sp.issparse(X):
        return DataFacts(X.shape[0], X.shape[1], is_sparse=True, is_counts=bool(X.nnz == 0 or X.data.min() >= 0))
    rows = np.asarray(X)
    n_features = rows.shape[1] if rows.ndim == 2 else 1
    counts = rows.dtype.kind in "biuf" and bool(rows.min(initial=0) >= 0 and np.mean(rows == 0) > _HALF)
    return DataFacts(len(rows), n_features, is_counts=counts)


@dataclass(frozen=True)
class Candidate:
    """A learner that can be compared by name.

    Attributes
    ----------
    name : str
        What it is called.
    words : str
        What it is, in a few words.
    make : callable
        Returns the classifier, not fitted.
    unfit : callable
        Returns of `DataFacts` why it is left out unless it is asked for, or nothing.
    of_sklearn : bool
        Whether it comes from scikit-learn.
    wants_dense, wants_vectors : bool
        Whether it takes no sparse rows, and whether it looks at rows at all.

    Examples
    --------
    >>> from votron.evaluate import CANDIDATES
    >>> CANDIDATES["voted-poly"].new(random_state=3).kernel
    'poly'
    """

    name: str
    words: str
    make: Callable[[], Any]
    unfit: Callable[[DataFacts], str] = lambda facts: ""
    of_sklearn: bool = False
    wants_dense: bool = False
    wants_vectors: bool = True

    def new(self, **settings: Any) -> Any:
        """Return the classifier, not fitted, with those settings that it has."""
        made = self.make()
        return made.set_params(**{name: value for name, value in settings.items() if name in made.get_params()})

    def steps(self) -> list[tuple[str, Any]]:
        """Return what rows go through before it."""
        return [("dense", FunctionTransformer(dense, accept_sparse=True))] if self.wants_dense else []


def dense(X: Any) -> Any:
    """Return rows as an array, which trees want.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from votron.evaluate.candidates import dense
    >>> dense(sp.eye_array(2))
    array([[1., 0.],
           [0., 1.]])
    """
    return X.toarray() if hasattr(X, "toarray") else X


def candidates_for(facts: DataFacts, *, sklearn: bool = False) -> tuple[list[str], dict[str, str]]:
    """Return the candidates that suit data, by name, and why the others of the usual ones do not.

    Examples
    --------
    >>> from votron.evaluate.candidates import DataFacts, candidates_for
    >>> names, left_out = candidates_for(DataFacts(n_rows=20_000, n_features=10))
    >>> names
    ['majority', 'averaged', 'voted', 'voted-poly']
    >>> left_out["adatron"]
    'it takes long with more than 1,000 rows'
    """
    usual = [each for each in CANDIDATES.values() if each.name not in _ON_REQUEST and (sklearn or not each.of_sklearn)]
    reasons = {each.name: each.unfit(facts) for each in usual}
    return [name for name, why in reasons.items() if not why], {name: why for name, why in reasons.items() if why}


# -- what suits which data --------------------------------------------------------------------------------------------


def _up_to(n_rows: int) -> Callable[[DataFacts], str]:
    return lambda facts: "" if facts.n_rows <= n_rows else f"it takes long with more than {n_rows:,} rows"


def _counts(facts: DataFacts) -> str:
    return "" if facts.is_counts or facts.has_text else "it is for words, counts and categories"


def _narrow(facts: DataFacts) -> str:
    wide = facts.has_text or facts.n_features > _MANY_FEATURES
    return f"it takes no sparse rows, and full ones of {_MANY_FEATURES:,} features at most" if wide else ""


def _large(facts: DataFacts) -> str:
    wide = facts.n_rows > _MANY_ROWS or facts.is_sparse or facts.has_text
    return "" if wide else f"it is for sparse data, or more than {_MANY_ROWS:,} rows"


# -- the candidates ---------------------------------------------------------------------------------------------------


def _of_sklearn(module: str, name: str, **params: Any) -> Callable[[], Any]:
    """Return what makes a classifier of scikit-learn, imported when it is asked for."""

    def make() -> Any:
        from importlib import import_module

        return getattr(import_module(f"sklearn.{module}"), name)(**params)

    return make


_ON_REQUEST = ("winnow", "voted-cv")
"""Candidates that are compared only if they are named."""

CANDIDATES: dict[str, Candidate] = {
    each.name: each
    for each in (
        Candidate(
            BASELINE, "always the most frequent class", _of_sklearn("dummy", "DummyClassifier"), wants_vectors=False
        ),
        Candidate("averaged", "averaged perceptron, linear", AveragedPerceptronClassifier),
        Candidate("naive-bayes", "naive Bayes as a linear classifier", NaiveBayesLinearClassifier, _counts),
        Candidate("winnow", "Winnow, for features of 0 and 1", WinnowClassifier),
        Candidate("voted", "voted perceptron, Gaussian kernel", VotedPerceptronClassifier),
        Candidate("voted-poly", "voted perceptron, cubic kernel", lambda: VotedPerceptronClassifier(kernel="poly")),
        Candidate(
            "adatron",
            "kernel Adatron, Gaussian kernel, C = 10",
            lambda: KernelAdatronClassifier(kernel="rbf", normalize_kernel=True, C=10.0),
            _up_to(_MOST_ADATRON),
        ),
        Candidate("voted-cv", "voted perceptron, parameters chosen in each fold", VotedPerceptronClassifierCV),
        *(
            Candidate(name, f"scikit-learn's {cls}", _of_sklearn(module, cls, **params), of_sklearn=True, **how)
            for name, module, cls, params, how in (
                ("logistic", "linear_model", "LogisticRegression", {"max_iter": 1000}, {}),
                ("linear-svc", "svm", "LinearSVC", {}, {}),
                ("sgd", "linear_model", "SGDClassifier", {}, {"unfit": _large}),
                ("neighbours", "neighbors", "KNeighborsClassifier", {}, {}),
                ("svc", "svm", "SVC", {}, {"unfit": _up_to(_MOST_SVC)}),
                ("forest", "ensemble", "RandomForestClassifier", {}, {}),
                ("boosting", "ensemble", "HistGradientBoostingClassifier", {}, {"unfit": _narrow, "wants_dense": True}),
            )
        ),
    )
}
"""All that can be named, the quick ones first, since Ctrl-C leaves what is finished."""
