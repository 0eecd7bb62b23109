"""The table of classifiers that can stand in a model file, what is written down of all of them, and how they are read.

What follows from the rest is not written down.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from votron._types import Rows
from votron.errors import ModelFileError
from votron.saving.fields import Fields
from votron.saving.values import labels_from, labels_state, params_from, params_state

State = dict[str, Any]
_MOST_THREADS = 4096


class StoredClassifier(ABC):
    """How the classifiers of one class are stored; `stored` makes it known.

    Attributes
    ----------
    cls : type
        The class; its name stands in the file.

    Examples
    --------
    >>> CLASSIFIERS["WinnowClassifier"].cls
    <class 'votron.estimators.winnow.WinnowClassifier'>
    """

    cls: Any

    @abstractmethod
    def state(self, model: Any) -> State:
        """Return what is written down of a fitted model, as `votron.saving.fields.packed` takes it.

        Parameters, classes, and number and names of features are written down for all classes.
        """

    @abstractmethod
    def build(self, model: Any, fields: Fields) -> None:
        """Give a model, which has its parameters, classes and features, the rest of what it had."""


CLASSIFIERS: dict[str, StoredClassifier] = {}
"""How each class is stored, by its name."""


def stored(kind: type[StoredClassifier]) -> type[StoredClassifier]:
    """Make known how a class is stored: a decorator of classes derived from `StoredClassifier`.

    Examples
    --------
    >>> from votron.saving.classifiers.linear import Winnow
    >>> stored(Winnow) is Winnow
    True
    """
    CLASSIFIERS[kind.cls.__name__] = kind()
    return kind


def classifier_state(model: Any) -> State:
    """Return what is written down of a fitted classifier.

    Examples
    --------
    >>> from votron import AveragedPerceptronClassifier
    >>> state = classifier_state(AveragedPerceptronClassifier().fit([[0, 1], [1, 0]], ["no", "yes"]))
    >>> state["class"], state["classes"], state["n_features"]
    ('AveragedPerceptronClassifier', {'dtype': '<U3', 'values': ['no', 'yes']}, 2)
    """
    name = type(model).__name__
    if name not in CLASSIFIERS or type(model) is not CLASSIFIERS[name].cls:
        raise ModelFileError(
            "A model file holds a fitted classifier of Votron, or a Pipeline that ends in one. Got an object of type "
            f"{name} instead."
        )
    check_is_fitted(model)
    model._validate_params()
    names = model.feature_names_in_.tolist() if hasattr(model, "feature_names_in_") else None
    return {
        "class": name,
        "params": params_state(model),
        "classes": labels_state(model.classes_),
        "n_features": int(model.n_features_in_),
        "feature_names": names,
        **CLASSIFIERS[name].state(model),
    }


def classifier_from(fields: Fields) -> Any:
    """Return the classifier that was written down.

    Examples
    --------
    >>> classifier_from(Fields({"class": "Forest"}, {}, "model"))
    Traceback (most recent call last):
        ...
    votron.errors.ModelFileError: The field 'model.class' must be one of 'AveragedPerceptronClassifier',
    'CompactClassifier', 'KernelAdatronClassifier', 'NaiveBayesLinearClassifier', 'VotedPerceptronClassifier',
    'WinnowClassifier'. Got Forest instead.
    """
    kind = CLASSIFIERS[fields.text("class", sorted(CLASSIFIERS))]
    model = params_from(fields.part("params"), kind.cls)
    n_jobs = getattr(model, "n_jobs", None)
    if n_jobs is not None and (type(n_jobs) is not int or not 0 < abs(n_jobs) <= _MOST_THREADS):
        raise fields.wrong("params.n_jobs", f"a number of threads, of at most {_MOST_THREADS:,}", n_jobs)
    model.classes_ = labels_from(fields.part("classes"))
    model.n_features_in_ = fields.count("n_features", 1, 2**48)
    if fields.has("feature_names"):
        model.feature_names_in_ = np.array(fields.texts("feature_names", model.n_features_in_), dtype=object)
    kind.build(model, fields)
    fields.end()
    model._from_file = True
    return model


# -- what several have ------------------------------------------------------------------------------------------------


def n_vectors(model: Any) -> int:
    """Return how many vectors a model has: one for two classes."""
    return 1 if len(model.classes_) == 2 else len(model.classes_)


def float_rows(fields: Fields, name: str, shape: tuple[int, int]) -> Rows:
    """Return a matrix of weights, dense or CSR."""
    rows = fields.rows(name, shape)
    if rows.dtype != np.float64:
        raise fields.wrong(name, "weights of type float64", rows.dtype)
    return rows


def counts(fields: Fields, name: str, n: int) -> NDArray[np.int64]:
    """Return so many counts."""
    found = fields.exactly(name, "<i8", (n,))
    if (found < 0).any():
        raise fields.wrong(name, "counts", "negative numbers")
    return found
