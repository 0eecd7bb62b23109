"""Classifiers of tables: an encoder and a classifier, made in one way for Python and for the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils import get_tags

from votron._util.frames import in_pandas, is_frame
from votron._util.types import Estimator, Floats, Frame, Label, Labels, Params, RowsLike
from votron.errors import NotAvailableError
from votron.estimators._data import M, available_unless
from votron.estimators.base import VotronClassifier
from votron.tables import TableEncoder

if TYPE_CHECKING:
    from votron.explanations import Explanations, Suspects

__all__ = ["ClassifierPipeline", "encoder_for", "table_classifier", "table_options"]

_SCALERS = {"standard": StandardScaler, "robust": RobustScaler, "minmax": MinMaxScaler, "maxabs": MaxAbsScaler}


def _if_classifier_has(name: str) -> Callable[[M], M]:
    def check(model: Pipeline) -> None:
        if not hasattr(model.steps[-1][1], name):
            kind = type(model.steps[-1][1]).__name__
            raise NotAvailableError(f"This {type(model).__name__} has no {name!r}, since {kind} has none.")

    return available_unless(check)


class ClassifierPipeline(Pipeline):
    """A pipeline that also has the methods of its classifier: their rows go through the steps first.

    `votron.table_classifier` returns it, and `votron.load` for files of pipelines. ``model[-1]`` is the classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import StandardScaler
    >>> from votron import VotedPerceptronClassifier
    >>> from votron.estimators import ClassifierPipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> steps = [("scale", StandardScaler()), ("model", VotedPerceptronClassifier(random_state=0))]
    >>> model = ClassifierPipeline(steps).fit(X, y)
    >>> model.with_rule("last")[-1].rule
    'last'
    """

    save = VotronClassifier.save

    def fit(self, X: RowsLike, y: Labels = None, **params: Any) -> Self:
        """Fit the steps, as those of scikit-learn's Pipeline; a model that keeps rows calls them as the index of X."""
        super().fit(X, y, **params)
        classifier = getattr(self[-1], "best_estimator_", self[-1])  # that of a search
        if in_pandas(X) and hasattr(classifier, "_name_rows_as"):  # it has seen arrays
            classifier._name_rows_as(X, y)
        return self

    def explain(
        self, X: RowsLike, label: Label = None, against: Label = None, *, top: int | None = 5, first: int = 0
    ) -> Explanations:
        """Explain the scores of rows, as `votron.explain` does, with features called as the steps call them."""
        from votron.explanations import explain

        return explain(self, X, label, against, top=top, first=first)

    @_if_classifier_has("compact")
    def compact(self) -> Self:
        """Return a pipeline whose classifier only predicts, as `VotedPerceptronClassifier.compact` returns it."""
        return self._with(self[-1].compact())

    @_if_classifier_has("with_rule")
    def with_rule(
        self, rule: str, normalize_vectors: bool = False, *, X_val: RowsLike | None = None, y_val: Labels | None = None
    ) -> Self:
        """Return a pipeline that predicts by another rule, as `VotedPerceptronClassifier.with_rule` does."""
        rows = None if X_val is None else self[:-1].transform(X_val)
        return self._with(self[-1].with_rule(rule, normalize_vectors, X_val=rows, y_val=y_val))

    @_if_classifier_has("with_best_moment")
    def with_best_moment(self, X_val: RowsLike, y_val: Labels, rule: str | None = None) -> Self:
        """Return a pipeline whose training ends at the moment that predicts given data best."""
        return self._with(self[-1].with_best_moment(self[:-1].transform(X_val), y_val, rule))

    @_if_classifier_has("staged_decision_function")
    def staged_decision_function(self, X: RowsLike, at: Any = None, rules: Any = None) -> Any:
        """Yield the scores of any rules at any moments of training."""
        return self[-1].staged_decision_function(self[:-1].transform(X), at, rules)

    @_if_classifier_has("agreement")
    def agreement(self, X: RowsLike) -> Floats:
        """Return which share of the votes the predicted label has."""
        found: Floats = self[-1].agreement(self[:-1].transform(X))
        return found

    @_if_classifier_has("suspects")
    def suspects(self, top: int | None = None, *, first: int = 0) -> Suspects:
        """Return the training rows that were mistaken often, by much, and late."""
        found: Suspects = self[-1].suspects(top, first=first)
        return found

    def _with(self, classifier: Estimator) -> Self:
        return type(self)([*self.steps[:-1], (self.steps[-1][0], classifier)])


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
        The scaling of numbers; by default what suits the classifier, as for the next two.
    text_features : {"auto", "hashing", "tfidf"}, optional
        How words become features.
    dates : {"cyclic", "onehot"}, optional
        How dates become features.
    **options
        More parameters of `votron.tables.TableEncoder`, such as ``missing="mean"`` or ``text=["body"]``.

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
    """Return a `TableEncoder` for a frame, or the scaler that ``numeric`` asks for; None where neither is needed."""
    if is_frame(X):
        return TableEncoder(**table_options(estimator, options))
    scaler = _SCALERS.get(options.get("numeric") or "keep")
    return None if scaler is None else scaler()


def table_options(estimator: Estimator, given: Mapping[str, object]) -> Params:
    """Return parameters of `TableEncoder`, with what suits a classifier where they are None or not given."""
    suited = getattr(estimator, "_encoder_defaults", {})
    wishes = {"numeric": "standard", "text_features": "auto", "dates": "cyclic", **suited}
    return wishes | {name: value for name, value in given.items() if value is not None}
