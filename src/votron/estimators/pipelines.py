"""Classifiers of tables: an encoder and a classifier after it, made in one way for Python and for the command line.

The recipe: missing numbers are filled in, then numbers are scaled; words and dates become features; the classifier says
what suits it where nothing is asked for (`table_options`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from votron._util.frames import in_pandas
from votron._util.text import counted
from votron.data.encoding import make_encoder, unfilled_holes
from votron.errors import DataError, VotronError
from votron.estimators.base import VotronClassifier

if TYPE_CHECKING:
    from votron.explanations import Explanations

__all__ = ["ClassifierPipeline", "table_classifier", "table_encoder", "table_options"]

_LEARNING = ("fit", "partial_fit")


@contextmanager
def _naming_columns(model: Pipeline, X: Any, of: str) -> Iterator[None]:
    """Name the columns that rows lack, and those with missing values, of which the classifier knows no names."""
    from votron.explanations.models import check_table

    check_table(model, X, of=of)
    try:
        yield
    except ValueError as error:
        if isinstance(error, VotronError) or get_tags(model.steps[-1][1]).input_tags.allow_nan:
            raise
        holes = unfilled_holes(model.steps[0][1], X)
        if not holes:
            raise
        name, n = next(iter(holes.items()))
        others = f", and {counted(len(holes) - 1, 'more column')} some" if len(holes) > 1 else ""
        raise DataError(
            "There must be no missing values in columns of numbers and dates, nor texts that are neither, and "
            f"{name!r} has {n:,}{others}: fill them in, as table_classifier does with missing='mean', or leave "
            "such rows out.",
            parameter="missing",
        ) from None


def _naming_columns_in(name: str) -> Any:
    """Return a method of pipelines, which they have where their classifier has it, and which names columns."""

    def has(model: Pipeline) -> bool:
        return hasattr(model.steps[-1][1], name)

    @functools.wraps(getattr(Pipeline, name))
    def method(self: ClassifierPipeline, X: Any, *args: Any, **params: Any) -> Any:
        with _naming_columns(self, X, name):
            return getattr(super(ClassifierPipeline, self), name)(X, *args, **params)

    return available_if(has)(method)


class ClassifierPipeline(Pipeline):
    """A pipeline that has what its classifier has: attributes, and methods, whose rows go through the steps first.

    It is what `votron.table_classifier` returns, and `votron.load` for files of pipelines. A method that returns
    another classifier, such as ``with_rule``, returns a pipeline with it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import StandardScaler
    >>> from votron import VotedPerceptronClassifier
    >>> from votron.estimators import ClassifierPipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> steps = [("scale", StandardScaler()), ("model", VotedPerceptronClassifier(random_state=0))]
    >>> model = ClassifierPipeline(steps).fit(X, y)
    >>> model.record_.n_examples
    150
    >>> type(model.with_rule("last")).__name__, model.with_rule("last").rule
    ('ClassifierPipeline', 'last')
    """

    save = VotronClassifier.save

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit the steps, as those of scikit-learn's Pipeline; a model that keeps rows calls them as the index of X."""
        with _naming_columns(self, X, "fit"):
            super().fit(X, y, **params)
        classifier = self.steps[-1][1]
        if in_pandas(X) and hasattr(classifier, "_name_rows_as"):  # it has seen arrays
            classifier._name_rows_as(X, y)
        return self

    def predict(self, X: Any, **params: Any) -> Any:
        """Return the labels of rows."""
        with _naming_columns(self, X, "predict"):
            return super().predict(X, **params)

    decision_function, predict_proba, predict_log_proba, score = map(
        _naming_columns_in, ("decision_function", "predict_proba", "predict_log_proba", "score")
    )

    def explain(
        self, X: Any, label: Any = None, against: Any = None, *, top: int | None = 5, first: int = 0
    ) -> Explanations:
        """Explain the scores of rows, as `votron.explain` does, with features called as the steps call them."""
        from votron.explanations import explain

        with _naming_columns(self, X, "explain"):
            return explain(self, X, label, against, top=top, first=first)

    def __getattr__(self, name: str) -> Any:
        steps = self.__dict__.get("steps")
        if not steps or name.startswith("_") or name in _LEARNING or hasattr(Pipeline, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = getattr(steps[-1][1], name)
        return self._through_steps(value) if inspect.ismethod(value) else value

    def _through_steps(self, method: Any) -> Any:
        """Return a method of the classifier that takes rows as the pipeline does."""
        signature = inspect.signature(method)

        @functools.wraps(method)
        def taking(*args: Any, **given: Any) -> Any:
            bound = signature.bind(*args, **given)
            X = bound.arguments.get("X")
            with nullcontext() if X is None else _naming_columns(self, X, method.__name__):
                if X is not None:
                    bound.arguments["X"] = self[:-1].transform(X)
                result = method(*bound.args, **bound.kwargs)
            changed = isinstance(result, BaseEstimator) and is_classifier(result)
            return type(self)([*self.steps[:-1], (self.steps[-1][0], result)]) if changed else result

        return taking


def table_classifier(
    frame: Any,
    estimator: Any,
    *,
    numeric: str | None = None,
    discrete: Iterable[str] = (),
    probabilities: Iterable[str] = (),
    text: Iterable[str] = (),
    text_features: str | None = None,
    dates: str | None = None,
    missing: str = "refuse",
) -> ClassifierPipeline:
    """Return a classifier of tables like this one, not fitted: the one that ``votron train`` trains.

    Missing numbers are filled in if ``missing`` says with what, then numbers are scaled; discrete values, words and
    dates become features of their own.

    Parameters
    ----------
    frame : DataFrame of pandas or polars
        The features of the examples, without the label. It decides types and values; nothing else of it is kept.
    estimator : classifier
        The classifier, not fitted.
    numeric, discrete, probabilities, text, text_features, dates, missing
        As in `votron.data.make_encoder`; by default what suits the classifier.

    Returns
    -------
    ClassifierPipeline
        The steps "encoder" and "model".

    Examples
    --------
    >>> import pandas as pd
    >>> from votron import VotedPerceptronClassifier, table_classifier
    >>> days = pd.DataFrame({"Outlook": ["Rainy", "Sunny", "Sunny", None], "Temp": [75.0, 87.0, None, 85.0]})
    >>> model = table_classifier(days, VotedPerceptronClassifier(random_state=0), missing="mean")
    >>> model.fit(days, ["no", "yes", "yes", "no"]).predict(days).tolist()
    ['no', 'yes', 'yes', 'no']
    """
    options = {"numeric": numeric, "discrete": discrete, "probabilities": probabilities, "text": text}
    options |= {"text_features": text_features, "dates": dates, "missing": missing}
    encoder = table_encoder(frame, estimator, **options)
    return ClassifierPipeline([("encoder", encoder), ("model", estimator)])


def table_encoder(frame: Any, estimator: Any, **options: Any) -> Any:
    """Return the encoder of tables like this one for a classifier, or for a class of them; options may be None."""
    return make_encoder(frame, **table_options(estimator, options))


def table_options(estimator: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of `votron.data.make_encoder`, with what suits a classifier where they are None."""
    wishes = {"numeric": "standard", "text_features": "auto", "dates": "cyclic", **getattr(estimator, "_tables", {})}
    return {name: wishes[name] if value is None else value for name, value in given.items()}
