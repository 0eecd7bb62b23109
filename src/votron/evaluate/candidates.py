"""Classifiers that can be compared by name: Votron's, scikit-learn's usual ones, and the majority as a baseline."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.preprocessing import FunctionTransformer

from votron._util.frames import columns_of_words, is_frame
from votron._util.types import Params, RowsLike
from votron.estimators import (
    AveragedPerceptronClassifier,
    KernelAdatronClassifier,
    NaiveBayesLinearClassifier,
    VotedPerceptronClassifier,
    VotedPerceptronClassifierCV,
    WinnowClassifier,
)

__all__ = ["CANDIDATES", "Candidate", "DataFacts", "candidates_for", "dense", "facts_of"]


@dataclass(frozen=True)
class DataFacts:
    """What decides which candidates suit data.

    Attributes
    ----------
    n_rows, n_features : int
        Rows and columns.
    is_sparse : bool
        Whether the rows are a sparse matrix.
    has_text : bool
        Whether there are columns whose words become features.
    is_counts : bool
        Whether most values are 0, or most columns are categories.

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


def facts_of(X: RowsLike, text: str | Collection[str] = ()) -> DataFacts:
    """Return what decides which candidates suit these rows; ``text`` names columns of texts.

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
        return DataFacts(len(X), len(X.columns), has_text=bool(text), is_counts=words > len(X.columns) / 2)
    if sp.issparse(X):
        return DataFacts(X.shape[0], X.shape[1], is_sparse=True, is_counts=X.nnz == 0 or bool(X.data.min() >= 0))
    rows = np.asarray(X)
    n_features = rows.shape[1] if rows.ndim == 2 else 1
    counts = rows.dtype.kind in "biuf" and rows.min(initial=0) >= 0 and np.mean(rows == 0) > 0.5
    return DataFacts(len(rows), n_features, is_counts=bool(counts))


@dataclass(frozen=True)
class Candidate:
    """A classifier that can be compared by name.

    Attributes
    ----------
    name, words : str
        The name and a short description.
    make : callable
        Returns the classifier, unfitted.
    suits : callable
        Returns of `DataFacts` whether it is compared unless it is named.
    why_not : str
        Why it is not, where it does not suit the data.
    of_sklearn : bool
        Whether it comes from scikit-learn.
    wants_dense : bool
        Whether it takes no sparse rows.

    Examples
    --------
    >>> from votron.evaluate import CANDIDATES
    >>> CANDIDATES["voted-poly"].new(random_state=3).kernel
    'poly'
    """

    name: str
    words: str
    make: Callable[[], ClassifierMixin]
    suits: Callable[[DataFacts], bool] = lambda facts: True
    why_not: str = ""
    of_sklearn: bool = False
    wants_dense: bool = False

    def new(self, **settings: Any) -> Any:
        """Return the classifier, unfitted, with those settings that it has."""
        made: Any = self.make()
        return made.set_params(**{name: value for name, value in settings.items() if name in made.get_params()})

    def steps(self) -> list[tuple[str, Any]]:
        """Return the steps of a pipeline that it needs before it."""
        return [("dense", FunctionTransformer(dense, accept_sparse=True))] if self.wants_dense else []


def dense(X: RowsLike) -> RowsLike:
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
    """Return the names of the candidates that suit data, and why others do not.

    Examples
    --------
    >>> from votron.evaluate.candidates import DataFacts, candidates_for
    >>> names, left_out = candidates_for(DataFacts(n_rows=20_000, n_features=10))
    >>> names
    ['majority', 'averaged', 'voted', 'voted-poly']
    >>> left_out["adatron"]
    'it takes long with more than 1,000 rows'
    """
    usual = [each for each in CANDIDATES.values() if sklearn or not each.of_sklearn]
    suitable = [each.name for each in usual if each.suits(facts)]
    return suitable, {each.name: each.why_not for each in usual if each.why_not and each.name not in suitable}


def _of_sklearn(name: str, module: str, cls: str, params: Params | None = None, **how: Any) -> Candidate:
    """Return a classifier of scikit-learn, imported when it is made."""

    def make() -> ClassifierMixin:
        made: ClassifierMixin = getattr(import_module(f"sklearn.{module}"), cls)(**(params or {}))
        return made

    return Candidate(name, f"scikit-learn's {cls}", make, of_sklearn=True, **how)


CANDIDATES: dict[str, Candidate] = {
    each.name: each
    for each in (
        Candidate("majority", "always the most frequent class", DummyClassifier),
        Candidate("averaged", "averaged perceptron, linear", AveragedPerceptronClassifier),
        Candidate(
            "naive-bayes",
            "naive Bayes as a linear classifier",
            NaiveBayesLinearClassifier,
            lambda facts: facts.is_counts or facts.has_text,
            "it is for words, counts and categories",
        ),
        Candidate("winnow", "Winnow, for features of 0 and 1", WinnowClassifier, lambda facts: False),
        Candidate("voted", "voted perceptron, Gaussian kernel", VotedPerceptronClassifier),
        Candidate("voted-poly", "voted perceptron, cubic kernel", lambda: VotedPerceptronClassifier(kernel="poly")),
        Candidate(
            "adatron",
            "kernel Adatron, Gaussian kernel, C = 10",
            lambda: KernelAdatronClassifier(kernel="rbf", normalize_kernel=True, C=10.0),
            lambda facts: facts.n_rows <= 1_000,
            "it takes long with more than 1,000 rows",
        ),
        Candidate(
            "voted-cv",
            "voted perceptron, parameters chosen in each fold",
            VotedPerceptronClassifierCV,
            lambda facts: False,
        ),
        _of_sklearn("logistic", "linear_model", "LogisticRegression", {"max_iter": 1000}),
        _of_sklearn("linear-svc", "svm", "LinearSVC"),
        _of_sklearn(
            "sgd",
            "linear_model",
            "SGDClassifier",
            suits=lambda facts: facts.n_rows > 10_000 or facts.is_sparse or facts.has_text,
            why_not="it is for sparse data, or more than 10,000 rows",
        ),
        _of_sklearn("neighbours", "neighbors", "KNeighborsClassifier"),
        _of_sklearn(
            "svc",
            "svm",
            "SVC",
            suits=lambda facts: facts.n_rows <= 20_000,
            why_not="it takes long with more than 20,000 rows",
        ),
        _of_sklearn("forest", "ensemble", "RandomForestClassifier"),
        _of_sklearn(
            "boosting",
            "ensemble",
            "HistGradientBoostingClassifier",
            suits=lambda facts: not facts.has_text and facts.n_features <= 2_000,
            why_not="it takes no sparse rows, and dense ones of 2,000 features at most",
            wants_dense=True,
        ),
    )
}
"""All candidates by name, the quick ones first, since Ctrl-C and a time limit leave what is finished."""
