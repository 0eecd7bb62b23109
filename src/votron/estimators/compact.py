"""Models that only predict: what is left of a classifier when nothing else is asked of it."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from votron._util.types import Estimator, Floats, Rows
from votron.estimators._probabilities import ProbabilisticClassifier
from votron.kernels.base import is_precomputed
from votron.rules.forms import Expansion, Form, Linear

__all__ = ["CompactClassifier"]


class CompactClassifier(ProbabilisticClassifier):
    """A fitted classifier that can predict, and nothing else; made by its method ``compact``.

    Rules with one vector a class become one coefficient a support vector, or plain weights where the kernel is linear;
    "vote" and "random" keep the order of the mistakes. Scores are those of the model, up to rounding.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads, as in `VotedPerceptronClassifier`.

    Attributes
    ----------
    form_ : {"linear", "expansion", "sequence"}
        What is kept: weights, coefficients of support vectors, or support vectors and mistakes.
    made_from_ : str
        The class that the model was.
    rule_ : str
        What it predicts by.
    dropped_ : tuple of str
        What it cannot do any more.
    coef_, intercept_ : arrays of shape (n_vectors, n_features) and (n_vectors,)
        The weights, if the form is "linear"; ``coef_`` may be a CSR matrix.
    kernel_, support_, support_vectors_ : Kernel and arrays
        As in `VotedPerceptronClassifier`, if the form is not "linear"; so are ``classes_`` and ``n_features_in_``.
    dual_coef_ : array of shape (n_vectors, n_support)
        Coefficients of the support vectors, if the form is "expansion".

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from votron import VotedPerceptronClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = VotedPerceptronClassifier(kernel="linear", rule="average", random_state=0).fit(X, y)
    >>> small = model.compact()
    >>> small.form_, small.coef_.shape
    ('linear', (10, 64))
    >>> bool((small.predict(X) == model.predict(X)).all())
    True
    >>> print(small.dropped_[0])
    learning on (partial_fit)
    """

    _predictor: Form

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {"n_jobs": [Integral, None]}

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_predictor")

    def _set(self, form: Form) -> None:
        self._predictor, self.form_ = form, type(form).__name__.lower()
        if isinstance(form, Linear):
            self.coef_, self.intercept_ = form.weights()
            return
        self.kernel_, self.support_ = form.kernel, form.support
        self.support_vectors_ = form.support_rows[:, :0] if is_precomputed(form.kernel) else form.support_rows

    @property
    def dual_coef_(self) -> Floats:
        """Coefficients of the support vectors, if the form is "expansion"."""
        form: Any = self._predictor
        found: Floats = form.dual_coef if form.divisor is None else form.dual_coef / form.divisor[:, None]
        return found

    def _scores(self, rows: Rows) -> Floats:
        self._validate_params()
        return self._predictor.scores(rows, self._n_threads)

    def _predictor_key(self) -> str:
        return self.form_  # there is one

    def _form(self) -> tuple[Form, tuple[str, ...]]:
        return self._predictor, self.dropped_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        kernel = getattr(self.__dict__.get("_predictor"), "kernel", None)
        tags.input_tags.sparse = not is_precomputed(kernel)
        tags.input_tags.pairwise = is_precomputed(kernel)
        return tags


def compacted(model: Estimator) -> CompactClassifier:
    check_is_fitted(model)
    form, dropped = model._form()
    made = CompactClassifier(n_jobs=getattr(model, "n_jobs", None))
    made._set(form.reduced() if isinstance(form, Expansion) else form)
    made.classes_, made.dropped_ = model.classes_, dropped
    made.made_from_ = getattr(model, "made_from_", type(model).__name__)
    made.rule_ = rule_of(model)
    made._ties_to_first = model._ties_to_first
    if isinstance(model, ProbabilisticClassifier) and hasattr(model, "predict_proba"):
        made._slopes = {made.form_: model._slope()}
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(made, name, getattr(model, name))
    if hasattr(model, "row_names_") and hasattr(made, "support_"):
        kept = set(made.support_.tolist())
        made.row_names_ = {row: name for row, name in model.row_names_.items() if row in kept}
    return made


def rule_of(model: Estimator) -> str:
    """Return what a model predicts by, in a word or two."""
    if isinstance(model, CompactClassifier):
        return str(model.rule_)
    if hasattr(model, "rule"):
        rule = getattr(model, "rule_", model.rule)
        return f"{rule}, vectors of length 1" if model.normalize_vectors else str(rule)
    if hasattr(model, "average"):
        return "average" if model.average else "last"
    return "its weights"
