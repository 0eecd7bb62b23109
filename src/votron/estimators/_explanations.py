"""Reasons of classifiers: what they tell `votron.explanations`, and the methods that return what it finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from votron._util.frames import in_pandas, is_index, labels_of_rows, names_by_labels
from votron._util.resources import effective_threads
from votron._util.types import Floats
from votron.errors import Parameter, VotronError
from votron.estimators._validation import validated

if TYPE_CHECKING:
    from votron.estimators._score_functions import Form
    from votron.explanations import Explanations, Suspects
    from votron.record import MistakeRecord


class ExplainedClassifier:
    """A classifier that says why a row has its score."""

    classes_: Any
    _ties_to_first: bool

    def explain(
        self,
        X: Any,
        label: Any = None,
        against: Any = None,
        *,
        top: int | None = 5,
        first: int = 0,
        feature_names: Any = None,
        names: Any = None,
    ) -> Explanations:
        """Explain scores: which training examples and features make them, and how vectors voted.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows; with ``kernel="precomputed"`` their kernel values with the training examples.
        label : object, optional
            The class whose score is explained; by default the predicted one, against the runner-up.
        against : object, optional
            The class to compare with: the difference of the two scores is explained.
        top : int or None, default=5
            How many terms are named one by one, for the class and against it; None: all.
        first : int, default=0
            Number of the first row, of the training data as of X, and of the first feature, where they have no names.
        feature_names : sequence of str, optional
            What to call the features; by default as in training, where the data had names.
        names : sequence of str or Index of pandas, optional
            What to call the rows of X; by default as the index of a pandas frame does.

        Returns
        -------
        Explanations
            One for each row; they print, convert (``to_frame``, ``to_dict``) and draw (``plot``).
        """
        from votron.estimators.compact import rule_of
        from votron.explanations.models import check_are_rows, explained

        check_is_fitted(self)
        check_are_rows(X)
        model = self._explained_model()
        rows, _ = validated(model, X, kernel=getattr(model, "kernel_", None), reset=False)
        form = model._explained_form()
        called = getattr(model, "row_names_", {})
        names = X.index if names is None and in_pandas(X) else names
        if is_index(names):
            # In the words for training rows: where these have no names, label and position are one, as far as is known.
            by_position = hasattr(model, "support_") and not called
            names = names_by_labels(names, "row" if by_position else "index")
        known = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
        return explained(
            form,
            rows,
            model.classes_,
            n_threads=effective_threads(getattr(model, "n_jobs", None)),
            rule=rule_of(model),
            label=label,
            against=against,
            top=top,
            first=first,
            ties_to_first=getattr(model, "_ties_to_first", False),
            feature_names=known,
            row_names=called,
            names=names,
        )

    def _explained_model(self) -> Any:
        """Return the classifier whose scores these are: this one, unless another predicts in its place."""
        return self

    def _name_rows_as(self, X: Any, y: Any) -> None:
        """Call the rows of training as the data do; models that keep none have none to call."""

    def _explained_form(self) -> Form:
        """Return what the model scores with."""
        found: Form = self._form()[0]  # type: ignore[attr-defined]
        return found


class SupportedClassifier(ExplainedClassifier):
    """A classifier that keeps training examples: they can have names, and with a linear kernel make weights."""

    support_: Any
    row_names_: dict[int, str]

    def name_rows(self, names: Any) -> Self:
        """Keep what the training rows are called, of those that the model keeps: explanations and files have it.

        After `fit` they are called as the index of a pandas frame does, of X or else of y, unless it counts from 0.

        Parameters
        ----------
        names : sequence, Index of pandas or None
            A name for each row given to `fit`, such as lines of a file. Nothing else of it is kept than the names of
            ``support_``, as text, in ``row_names_``. None: names are forgotten.

        Returns
        -------
        self
            The model.
        """
        check_is_fitted(self)
        if names is None:
            self.__dict__.pop("row_names_", None)
            return self
        given = names if is_index(names) else list(names)
        needed = int(self.support_.max(initial=-1)) + 1
        if len(given) < needed:
            raise VotronError(
                Parameter("names", of=type(self).__name__),
                f" must have one for each row of training, {needed} at least. Got {len(given)} instead.",
            )
        rows = self.support_.tolist()
        kept = names_by_labels(given[rows]) if is_index(given) else [str(given[row]) for row in rows]
        self.row_names_ = dict(zip(rows, kept, strict=True))
        return self

    def _name_rows_as(self, X: Any, y: Any) -> None:
        """Call the rows of training by their index, and by no names that were those of other data."""
        self.name_rows(labels_of_rows(X, y))

    @property
    def coef_(self) -> Any:
        """Weights of the features, with a linear kernel and a rule of one vector a class, such as last or average."""
        return self._weights("coef_")[0]

    @property
    def intercept_(self) -> Floats:
        """What is added to the weighted features; 0 but for a polynomial kernel of degree 1 with ``coef0``."""
        return self._weights("intercept_")[1]

    def _weights(self, name: str) -> tuple[Any, Floats]:
        """Return weights and intercepts, or say why there are none, as AttributeError has it."""
        from votron.estimators._score_functions import Expansion, Linear

        kind = type(self).__name__
        if "support_" not in self.__dict__:
            raise AttributeError(f"This {kind} has no {name!r} before it is fitted.")
        form: Any = self._form()[0]  # type: ignore[attr-defined]
        if form.kernel is None or form.kernel.affine() is None:
            raise AttributeError(f"This {kind} has no {name!r}: its kernel, {form.kernel!r}, is not linear.")
        linear = form.reduced() if isinstance(form, Expansion) else None
        if not isinstance(linear, Linear):
            raise AttributeError(
                f"This {kind} has no {name!r}: it predicts by {form.rule!r}, with many vectors a class, and no weights "
                "of its own; with_rule('average') and with_rule('last') have some."
            )
        return linear.weights()


class RecordReasons(SupportedClassifier):
    """A classifier whose record tells which labels may be wrong."""

    record_: MistakeRecord

    def suspects(self, top: int | None = None, *, first: int = 0) -> Suspects:
        """Return the training rows that were mistaken again and again, by much, and late: their labels may be wrong.

        From the record alone, without the data. `votron.explanations.Suspects` says how rows are ranked; a margin and
        some ten epochs help: ``VotedPerceptronClassifier(kernel="rbf", margin=2.0, epochs=10)``.

        Parameters
        ----------
        top : int, optional
            How many, the most suspicious; by default all that were ever mistaken.
        first : int, default=0
            Number of the first row, where rows have no names.

        Returns
        -------
        Suspects
            The rows, ranked, with how often, when last, and for which class they were taken.
        """
        from votron.explanations.suspicion import suspects_of

        check_is_fitted(self)
        if top is not None and (isinstance(top, bool) or not isinstance(top, int | np.integer) or top < 0):
            raise VotronError(f"The 'top' must be a number of rows, 0 or more, or None for all. Got {top!r} instead.")
        model: Any = self
        return suspects_of(self.record_, model.classes_, top, getattr(self, "row_names_", {}), first)
