"""Classifiers of tables: an encoder and a classifier, made in one way for Python and for the command line."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils import get_tags

from votron._util.frames import in_pandas, is_frame
from votron._util.types import Estimator, Frame, Label, Labels, Params, RowsLike
from votron.estimators.base import VotronClassifier
from votron.tables import TableEncoder

if TYPE_CHECKING:
    from votron.explanations import Explanations

__all__ = ["ClassifierPipeline", "encoder_for", "table_classifier", "table_options"]

_SCALERS = {"standard": StandardScaler, "robust": RobustScaler, "minmax": MinMaxScaler, "maxabs": MaxAbsScaler}
_LEARNING = ("fit", "partial_fit")


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

    def fit(self, X: RowsLike, y: Labels = None, **params: Any) -> Self:
        """Fit the steps, as those of scikit-learn's Pipeline; a model that keeps rows calls them as the index of X."""
        super().fit(X, y, **params)
        classifier = getattr(self.steps[-1][1], "best_estimator_", self.steps[-1][1])  # that of a search
        if in_pandas(X) and hasattr(classifier, "_name_rows_as"):  # it has seen arrays
            classifier._name_rows_as(X, y)
        return self

    def explain(
        self, X: RowsLike, label: Label = None, against: Label = None, *, top: int | None = 5, first: int = 0
    ) -> Explanations:
        """Explain the scores of rows, as `votron.explain` does, with features called as the steps call them."""
        from votron.explanations import explain

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
            for rows in ("X", "X_val"):
                if bound.arguments.get(rows) is not None:
                    bound.arguments[rows] = self[:-1].transform(bound.arguments[rows])
            result = method(*bound.args, **bound.kwargs)
            changed = isinstance(result, BaseEstimator) and is_classifier(result)
            return type(self)([*self.steps[:-1], (self.steps[-1][0], result)]) if changed else result

        return taking


def table_classifier(
    frame: Frame,
    estimator: Estimator,
    *,
    numeric: str | None = None,
    text_features: str | None = None,
    dates: str | None = None,
    **options: Any,
) -> ClassifierPipeline:
    """Return a classifier of tables like this one, not fitted: the one that ``votron train`` trains.

    Parameters
    ----------
    frame : DataFrame of pandas or polars
        A table such as the classifier will be fitted to, without the label.
    estimator : classifier
        The classifier, not fitted.
    numeric : {"standard", "robust", "minmax", "maxabs", "keep"}, optional
        The scaling of numbers. By default "standard", and "keep" for `WinnowClassifier`, which wants 0 and 1.
    text_features : {"auto", "hashing", "tfidf"}, optional
        How words become features. By default "auto", and "tfidf" for `NaiveBayesLinearClassifier`.
    dates : {"cyclic", "onehot"}, optional
        How dates become features. By default "cyclic", and "onehot" for classifiers of 0 and 1.
    **options
        More parameters of `votron.tables.TableEncoder`, such as ``missing="mean"``, ``text=["body"]`` or
        ``discrete=["zip"]``.

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
    choices = {"numeric": numeric, "text_features": text_features, "dates": dates}
    options.setdefault("missing", "keep" if get_tags(estimator).input_tags.allow_nan else "refuse")
    encoder = TableEncoder(**table_options(estimator, choices), **options)
    encoder.check(frame)
    return ClassifierPipeline([("encoder", encoder), ("model", estimator)])


def encoder_for(X: RowsLike, estimator: Estimator, **options: Any) -> Any:
    """Return what turns rows into vectors for a classifier, not fitted; None where nothing needs to.

    Of frames it is a `TableEncoder`, whose parameters the options are; of numbers without names a scaler, if
    ``numeric`` asks for one.
    """
    if is_frame(X):
        return TableEncoder(**table_options(estimator, options))
    scaler = _SCALERS.get(options.get("numeric") or "keep")
    return None if scaler is None else scaler()


def table_options(estimator: Estimator, given: Mapping[str, object]) -> Params:
    """Return parameters of `TableEncoder`, with what suits a classifier where they are None."""
    suited = getattr(estimator, "_encoder_defaults", {})
    wishes = {"numeric": "standard", "text_features": "auto", "dates": "cyclic", **suited}
    return {name: wishes[name] if value is None else value for name, value in given.items()}
