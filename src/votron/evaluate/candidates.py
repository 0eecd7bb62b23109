"""Classifiers that can be compared by name: Votron's, scikit-learn's usual ones, and the majority as a baseline."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import import_module

import numpy as np
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier
from sklearn.preprocessing import FunctionTransformer

from votron._util.frames import columns_of_words, dense, is_frame
from votron._util.types import Estimator, RowsLike
from votron.estimators import (
    AveragedPerceptronClassifier,
    KernelAdatronClassifier,
    NaiveBayesLinearClassifier,
    VotedPerceptronClassifier,
    VotedPerceptronClassifierCV,
    WinnowClassifier,
)

__all__ = ["CANDIDATES", "Candidate", "DataFacts", "facts_of"]


@dataclass(frozen=True)
class DataFacts:
    """Facts that decide which candidates suit data."""

    n_rows: int
    n_features: int
    is_sparse: bool = False
    has_text: bool = False
    is_counts: bool = False
    """Whether most values are 0, or most columns are categories."""


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
        text = {text} if isinstance(text, str) else set(text)
        words = len(set(columns_of_words(X)) | text)
        return DataFacts(len(X), len(X.columns), has_text=bool(text), is_counts=words > len(X.columns) / 2)
    if sp.issparse(X):
        return DataFacts(X.shape[0], X.shape[1], is_sparse=True, is_counts=X.nnz == 0 or bool(X.data.min() >= 0))
    rows = np.atleast_2d(X)
    counts = rows.dtype.kind in "biuf" and rows.min(initial=0) >= 0 and np.mean(rows == 0) > 0.5
    return DataFacts(len(rows), rows.shape[1], is_counts=bool(counts))


@dataclass(frozen=True)
class Candidate:
    """A classifier that can be compared by name.

    Examples
    --------
    >>> from votron.evaluate import CANDIDATES
    >>> CANDIDATES["voted-poly"].new(random_state=3).kernel
    'poly'
    """

    make: Callable[[], Estimator]
    """Returns the classifier, unfitted."""
    suits: Callable[[DataFacts], bool] = lambda facts: True
    """Returns of `DataFacts` whether it is compared unless it is named."""
    of_sklearn: bool = False
    """Whether it comes from scikit-learn."""
    wants_dense: bool = False
    """Whether it takes no sparse rows."""

    def new(self, **settings: object) -> Estimator:
        """Return the classifier, unfitted, with those settings that it has."""
        made = self.make()
        return made.set_params(**{name: value for name, value in settings.items() if name in made.get_params()})

    def steps(self) -> list[tuple[str, Estimator]]:
        """Return the steps of a pipeline that it needs before it."""
        return [("dense", FunctionTransformer(dense, accept_sparse=True))] if self.wants_dense else []


def _of_sklearn(
    module: str,
    cls: str,
    suits: Callable[[DataFacts], bool] = lambda facts: True,
    wants_dense: bool = False,
    **params: object,
) -> Candidate:
    """Return a classifier of scikit-learn, imported when it is made."""

    def make() -> Estimator:
        return getattr(import_module(f"sklearn.{module}"), cls)(**params)

    return Candidate(make, suits, True, wants_dense)


CANDIDATES: dict[str, Candidate] = {
    "majority": Candidate(DummyClassifier),
    "averaged": Candidate(AveragedPerceptronClassifier),
    "naive-bayes": Candidate(NaiveBayesLinearClassifier, lambda facts: facts.is_counts or facts.has_text),
    "winnow": Candidate(WinnowClassifier, lambda facts: False),
    "voted": Candidate(VotedPerceptronClassifier),
    "voted-poly": Candidate(lambda: VotedPerceptronClassifier(kernel="poly")),
    "adatron": Candidate(
        lambda: KernelAdatronClassifier(kernel="rbf", normalize_kernel=True, C=10.0),
        lambda facts: facts.n_rows <= 1_000,
    ),
    "voted-cv": Candidate(VotedPerceptronClassifierCV, lambda facts: False),
    "logistic": _of_sklearn("linear_model", "LogisticRegression", max_iter=1000),
    "linear-svc": _of_sklearn("svm", "LinearSVC"),
    "sgd": _of_sklearn(
        "linear_model", "SGDClassifier", lambda facts: facts.n_rows > 10_000 or facts.is_sparse or facts.has_text
    ),
    "neighbours": _of_sklearn("neighbors", "KNeighborsClassifier"),
    "svc": _of_sklearn("svm", "SVC", lambda facts: facts.n_rows <= 20_000),
    "forest": _of_sklearn("ensemble", "RandomForestClassifier"),
    "boosting": _of_sklearn(
        "ensemble",
        "HistGradientBoostingClassifier",
        lambda facts: not facts.has_text and facts.n_features <= 2_000,
        wants_dense=True,
    ),
}
"""All candidates by name, the quick ones first, since Ctrl-C and a time limit leave what is finished."""
