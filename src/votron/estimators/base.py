"""The base class of all classifiers."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import check_is_fitted

from votron._util.resources import effective_threads, parse_memory_limit
from votron._util.text import did_you_mean
from votron._util.types import Array, Floats, Index, Label, Labels, Params, Rows, RowsLike, Scores
from votron.errors import NotAvailableError, VotronError
from votron.estimators._data import encode_labels, is_collection, validated
from votron.history import TrainingHistory
from votron.kernels.base import is_precomputed, kernel_class
from votron.record import labels_of

if TYPE_CHECKING:
    from votron.estimators.compact import CompactClassifier
    from votron.explanations import Explanations
    from votron.kernels import Kernel
    from votron.rules.forms import Form
    from votron.theory import Certificate

__all__ = ["SupportVectorMixin", "VotronClassifier"]

LEAST_POSITIVE = float(np.finfo(np.float64).tiny)
"""The score that stands for 0, of two classes: its sign tells the label."""


class VotronClassifier(ClassifierMixin, BaseEstimator):
    """A classifier with one score for two classes, or one a class; it can be explained, saved and made compact."""

    classes_: Array
    n_features_in_: int
    history_: TrainingHistory
    MAX_EPOCHS: ClassVar[int] = 1000
    """Passes after which ``epochs=None`` gives up, with a warning."""
    PATIENCE: ClassVar[int] = 3
    """Passes without a better prediction of the held-out part after which ``early_stopping`` ends training."""
    _ties_to_first: bool = False
    """True if of two classes a score of 0 predicts the first."""
    _takes_collections: ClassVar[bool] = False
    """Whether ``fit`` and ``partial_fit`` take Dask collections."""
    _FIXED_IN_BATCHES: ClassVar[tuple[str, ...]] = ()
    """Parameters that may not change between calls of ``partial_fit``; `_fixed` has their values."""
    _fixed: Params
    _deadline: float = math.inf
    """The moment of `time.monotonic` at which `fit` raises `OutOfTime`."""
    _encoder_defaults: ClassVar[dict[str, str]] = {}
    """Its own defaults for parameters of `table_classifier`."""

    def _validate_params(self) -> None:
        """Refuse parameters that are out of range, and ask whether a name that is nearly right was meant."""
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            for name, allowed in self._parameter_constraints.items():
                if str(error).startswith(f"The {name!r} parameter of"):
                    names = [known for each in allowed for known in getattr(each, "options", ())]
                    meant = did_you_mean(getattr(self, name), names)
                    raise VotronError(f"{error}{meant}", parameter=name) from None
            raise
        if getattr(self, "memory_limit", "auto") != "auto":
            parse_memory_limit(self.memory_limit, type(self).__name__)

    @property
    def _n_threads(self) -> int:
        return effective_threads(getattr(self, "n_jobs", None), type(self).__name__)

    def fit(self, X: RowsLike, y: Labels, sample_weight: ArrayLike | None = None) -> Self:
        """Train on data and labels.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The examples; with ``kernel="precomputed"`` their kernel values with each other.
        y : array of shape (n_samples,)
            The labels: whole numbers, text, or anything else that can be sorted.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows, 0 or more; the class says what they do. Rows of weight 0 are left out, as if they had
            not been given.

        Returns
        -------
        self
            The fitted model.
        """
        raise NotImplementedError(f"{type(self).__name__} only predicts.")

    def decision_function(self, X: RowsLike) -> Scores:
        """Return the scores of rows.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to score; with ``kernel="precomputed"`` their kernel values with the training examples.

        Returns
        -------
        array of shape (n_samples,) for two classes, else (n_samples, n_classes)
            Positive for the second class; the largest for the predicted one. A score of 0 that predicts the second of
            two classes is returned as 2.2e-308, so that the sign always tells the label.
        """
        check_is_fitted(self)
        if is_collection(X):
            return self._lazily("decision_function", X)  # type: ignore[no-any-return]
        rows, _ = validated(self, X, kernel=getattr(self, "kernel_", None), reset=False)
        return self._shaped(self._scores(rows))

    def predict(self, X: RowsLike) -> Array:
        """Return the labels.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_samples,)
            The predicted labels; of classes with equal scores the first.
        """
        if is_collection(X):
            return self._lazily("predict", X)  # type: ignore[no-any-return]
        numbers = self._numbers(self.decision_function(X))
        return np.asarray(self.classes_[numbers])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _lazily(self, method: str, X: RowsLike) -> Any:
        from votron.cluster.client import predicted

        return predicted(self, method, X)

    def _numbers(self, scores: Scores) -> Index:
        return labels_of(scores, ties_to_first=self._ties_to_first)

    def _scores(self, rows: Rows) -> Floats:
        raise NotImplementedError

    def _shaped(self, scores: Floats) -> Scores:
        """Return scores as users get them: of two classes one, never 0 if that predicts the second."""
        if len(self.classes_) > 2:
            return scores
        if self._ties_to_first:
            return scores[:, 0]
        return np.where(scores[:, 0] == 0, LEAST_POSITIVE, scores[:, 0])

    @property
    def _n_vectors(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _labelled(self, X: RowsLike, y: Labels) -> tuple[Rows, Index]:
        """Return rows, and for each the number of the vector that it is positive for, as a fitted model takes them."""
        rows, labels = validated(self, X, y, kernel=getattr(self, "kernel_", None), reset=False)
        return rows, encode_labels(labels, self.classes_)[1]

    def _signs(self, codes: Index) -> Index:
        """Return for each row and vector +1 if the vector shall score it positively, else -1."""
        return np.where(codes[:, None] == np.arange(self._n_vectors), 1, -1)

    @property
    def n_epochs_(self) -> float:
        """Passes that were run; calls of ``partial_fit`` count as one each."""
        return self.history_.n_epochs

    @property
    def converged_(self) -> bool:
        """Whether training ended with a whole pass without a mistake."""
        return bool(self.history_.converged)

    def explain(
        self,
        X: RowsLike,
        label: Label = None,
        against: Label = None,
        *,
        top: int | None = 5,
        first: int = 0,
        feature_names: Sequence[str] | None = None,
        names: Labels = None,
    ) -> Explanations:
        """Explain scores: which training examples and features make them up, and how vectors voted.

        Parameters
        ----------
        X, label, against, top, first
            As in `votron.explain`.
        feature_names : sequence of str, optional
            What to call the features; by default as in training, where the data had names.
        names : sequence of str or Index of pandas, optional
            What to call the rows of X; by default as the index of a pandas frame does.

        Returns
        -------
        Explanations
            One for each row; they print, convert (``to_frame``, ``to_dict``) and draw (``plot``).
        """
        from votron._util.frames import in_pandas, is_index, names_by_labels
        from votron.estimators.compact import rule_of
        from votron.explanations.models import explained  # most models are never explained

        check_is_fitted(self)
        model = self._predicting_model()
        rows, _ = validated(model, X, kernel=getattr(model, "kernel_", None), reset=False)
        row_names: dict[int, str] = getattr(model, "row_names_", {})
        names = X.index if names is None and in_pandas(X) else names
        if is_index(names):
            # As training rows are called: where these have no names, label and position are one, as far as is known.
            by_position = hasattr(model, "support_") and not row_names
            names = names_by_labels(names, "row" if by_position else "index")
        return explained(
            model._explained_form(),
            rows,
            model.classes_,
            n_threads=model._n_threads,
            rule=rule_of(model),
            label=label,
            against=against,
            top=top,
            first=first,
            ties_to_first=model._ties_to_first,
            feature_names=getattr(model, "feature_names_in_", None) if feature_names is None else feature_names,
            row_names=row_names,
            names=names,
        )

    def _predicting_model(self) -> VotronClassifier:
        """Return the classifier whose scores these are: this one, unless another predicts in its place."""
        return self

    def _explained_form(self) -> Form:
        return self._form()[0]

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        certificate: Certificate | None = None,
        provenance: Mapping[str, object] | None = None,
    ) -> None:
        """Save the fitted model in one file, which `votron.load` opens; parameters are as in `votron.save`."""
        from votron.saving.models import save  # most models are never saved

        save(self, path, certificate=certificate, provenance=provenance)

    def compact(self) -> CompactClassifier:
        """Return a model that scores as this one does, up to rounding; ``dropped_`` says what it cannot do any more."""
        from votron.estimators.compact import compacted

        return compacted(self._predicting_model())

    def _form(self) -> tuple[Form, tuple[str, ...]]:
        """Return what the model predicts with, and what cannot be done with no more."""
        raise NotImplementedError


class SupportVectorMixin:
    """A classifier with a kernel: the training examples that it keeps can have names, or make weights."""

    kernel: object
    kernel_: Kernel
    support_: Index
    row_names_: dict[int, str]

    def name_rows(self, names: Labels) -> Self:
        """Name the training rows that the model keeps, for explanations and files.

        After `fit` they are called as the index of a pandas frame does, of X or else of y, unless it counts from 0.

        Parameters
        ----------
        names : sequence, Index of pandas or None
            A name for each row given to `fit`; those of ``support_`` are kept in ``row_names_``. None: no names.
        """
        from votron._util.frames import is_index, names_by_labels

        check_is_fitted(self)
        if names is None:
            self.__dict__.pop("row_names_", None)
            return self
        given = names if is_index(names) else list(names)
        needed = int(self.support_.max(initial=-1)) + 1
        if len(given) < needed:
            raise VotronError(
                f"The 'names' parameter of {type(self).__name__} must have one for each row of training, {needed} "
                f"at least. Got {len(given)} instead.",
                parameter="names",
            )
        rows = self.support_.tolist()
        kept = names_by_labels(given[rows]) if is_index(given) else [str(given[row]) for row in rows]
        self.row_names_ = dict(zip(rows, kept, strict=True))
        return self

    def _name_rows_as(self, X: RowsLike, y: Labels) -> None:
        """Call the rows of training by their index, and by no names that were those of other data."""
        self.__dict__.pop("row_names_", None)
        if hasattr(X, "iloc") or hasattr(y, "iloc"):
            from votron._util.frames import labels_of_rows

            self.name_rows(labels_of_rows(X, y))

    @property
    def coef_(self) -> Rows:
        """Weights of the features, with a linear kernel and a rule of one vector a class, such as last or average."""
        return self._weights("coef_")[0]

    @property
    def intercept_(self) -> Floats:
        """The constant added to the weighted features; 0 but for a polynomial kernel of degree 1 with ``coef0``."""
        return self._weights("intercept_")[1]

    def _weights(self, name: str) -> tuple[Rows, Floats]:
        from votron.rules.forms import Expansion, Linear

        check_is_fitted(self)
        form = self._form()[0] if self.kernel_.affine() is not None else None  # type: ignore[attr-defined]
        linear = form.reduced() if isinstance(form, Expansion) else None
        if not isinstance(linear, Linear):
            raise NotAvailableError(
                f"This {type(self).__name__} has no {name!r}, which needs a linear kernel and a rule of one vector a "
                "class, such as with_rule('average')."
            )
        return linear.weights()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        precomputed = is_precomputed(self.kernel)
        tags.input_tags.sparse = not precomputed
        tags.input_tags.pairwise = precomputed
        # A precomputed matrix may have negative values, but not on its diagonal; without this tag any must do.
        tags.input_tags.positive_only = precomputed
        # Planes through the origin do not separate the blobs of scikit-learn's checks, whose own kernel is linear too.
        cls = kernel_class(self.kernel)
        linear = cls is not None and not precomputed and cls().affine() == (1.0, 0.0)
        tags.classifier_tags.poor_score = precomputed or linear
        return tags
