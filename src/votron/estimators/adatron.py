"""The kernel adatron, the perceptron's cousin that ends at the maximal margin, as a scikit-learn classifier."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from votron._util.types import Array, Floats, Label, Labels, Rows, RowsLike
from votron.engine import MaximalMargin, solve_adatron
from votron.estimators import _training as training
from votron.estimators._data import CLASS_WEIGHT_CONSTRAINTS, KERNEL_CONSTRAINTS, TrainingData, training_data, warn
from votron.estimators._training import Watch
from votron.estimators.base import SupportVectorMixin, VotronClassifier
from votron.kernels import Kernel
from votron.kernels.base import is_precomputed
from votron.rules.forms import Expansion, Form

if TYPE_CHECKING:
    from votron.estimators._evidence import MaximalMarginView

__all__ = ["KernelAdatronClassifier"]


@dataclass(eq=False, repr=False)
class KernelAdatronClassifier(SupportVectorMixin, VotronClassifier):
    """Kernel adatron: the vector of maximal margin, by steps like the perceptron's.

    It finds the vector with the largest margin on these data, to a tolerance that it proves: ``margin_`` is what it
    attains, and no vector attains more than ``best_margin_``.

    Parameters
    ----------
    kernel, degree, gamma, coef0, normalize_kernel, verbose, n_jobs
        As in `VotedPerceptronClassifier`.
    C : float or None, default=None
        Upper limit of the coefficients, for data that are not separable. None: no limit (hard margin).
    tol : float, default=1e-3
        Relative tolerance on the margin or, with C, on the objective.
    max_sweeps : int, default=100000
        Passes over the examples near the margin after which to give up, with a warning.
    class_weight : dict or "balanced", default=None
        Factors of C by label, 1 for those not named; "balanced" has n_samples / (n_classes · its rows) for each.

    Attributes
    ----------
    support_, support_vectors_ : int array of shape (n_support,), array or CSR matrix of shape (n_support, n_features)
        Rows of the examples that some vector depends on, and those examples.
    dual_coef_ : array of shape (n_vectors, n_support)
        The vectors, as coefficients of the support vectors.
    n_support_, norm_ : arrays of shape (n_vectors,)
        Examples that each vector depends on, and its length.
    margin_, best_margin_ : float arrays of shape (n_vectors,)
        The margin min y (w·x)/‖w‖ of each vector on the training data, and what no vector's margin exceeds on them.
    separable_ : object array of shape (n_vectors,)
        True or False where that was found out, None where not.
    converged_ : bool
        Whether all vectors are within ``tol`` of the best.
    classes_, kernel_, history_, n_features_in_, feature_names_in_
        As in `VotedPerceptronClassifier`.

    Notes
    -----
    Weights of rows and classes multiply C, as in scikit-learn's SVC; without C weights above 0 change nothing.

    There is no bias but that of a kernel with ``coef0`` > 0. Without C, data that are not separable (no normalised
    margin above 1e-4) end in a ConvergenceWarning.

    References
    ----------
    T.-T. Friess, N. Cristianini and C. Campbell, *The Kernel-Adatron: a fast and simple learning procedure for support
    vector machines*, ICML 1998.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron import KernelAdatronClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelAdatronClassifier(degree=2).fit(X[:100], y[:100])
    >>> bool(0.999 * model.best_margin_[0] <= model.margin_[0] <= model.best_margin_[0])
    True
    """

    kernel: str | Kernel | Callable[[Rows, Rows], Array] = "poly"
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 1.0
    normalize_kernel: bool = False
    C: float | None = None
    tol: float = 1e-3
    max_sweeps: int = 100_000
    verbose: int = 0
    n_jobs: int | None = None
    class_weight: Mapping[Label, float] | str | None = None

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_sweeps": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
        "class_weight": CLASS_WEIGHT_CONSTRAINTS,
    }

    def fit(self, X: RowsLike, y: Labels, sample_weight: ArrayLike | None = None) -> Self:
        with training.unchanged_on_error(self):
            self._validate_params()
            data = training_data(self, X, y, sample_weight, scaled=False)
            if self.C is None and data.weights is not None and (data.weights != data.weights[0]).any():
                warn("Without C weights above 0 change nothing, since they are factors of it: give C.")
            self.kernel_ = training.kernel_on(self, data.rows)
            n_learnable = len(training.learnable_rows(data.rows, self.kernel_))
            found, interrupted = self._solve(data)
            self._keep(data, found)
            converged = all(one.converged for one in found)
            self.history_ = training.history_of(self, data, n_learnable, interrupted=interrupted, converged=converged)
            self._name_rows_as(X, y)
        self._tell_of_end(interrupted)
        return self

    def _solve(self, data: TrainingData) -> tuple[list[MaximalMargin], bool]:
        most = int(self.max_sweeps)

        def train(watch: Watch) -> list[MaximalMargin]:
            found = []
            for c in range(self._n_vectors):
                watch.before = c * most
                found.append(
                    solve_adatron(
                        self.kernel_,
                        data.rows,
                        np.where(data.codes == c, 1, -1),
                        cap=math.inf if self.C is None else float(self.C),
                        weights=None if self.C is None else data.weights,
                        tolerance=float(self.tol),
                        max_sweeps=most,
                        n_threads=self._n_threads,
                        watcher=watch,
                    )
                )
            return found

        words = "{:,} examples at work, {:,} support vectors".format
        return training.watched(self, train, most * self._n_vectors, unit="", words=words)

    def _keep(self, data: TrainingData, found: list[MaximalMargin]) -> None:
        support = np.unique(np.concatenate([one.support for one in found]))
        dual_coef = np.zeros((len(found), len(support)))
        for c, one in enumerate(found):
            dual_coef[c, np.searchsorted(support, one.support)] = one.signed
        rows = self.kernel_.products_for(data.rows).keep(data.rows, support)
        self._set(Expansion(self.kernel_, rows, support if data.kept is None else data.kept[support], dual_coef))
        self.n_support_ = np.array([len(one.support) for one in found])
        self.norm_ = np.sqrt([one.norm2 for one in found])
        self.margin_ = np.array([one.margin for one in found])
        self.best_margin_ = np.array([one.best for one in found])
        self.separable_ = np.array([one.separable for one in found], dtype=object)

    def _set(self, form: Expansion) -> None:
        self._expansion, self.kernel_, self.support_ = form, form.kernel, form.support
        self.support_vectors_ = form.support_rows[:, :0] if is_precomputed(form.kernel) else form.support_rows

    @property
    def dual_coef_(self) -> Floats:
        """Coefficients of the support vectors."""
        return self._expansion.dual_coef

    def _tell_of_end(self, interrupted: bool) -> None:
        if interrupted:
            raise KeyboardInterrupt("Training stopped; the model has what it found until then.")
        if self.converged_:
            return
        hard = False in self.separable_.tolist()
        what = "the data are not separable" if hard else "it was not near enough to the best"
        remedy = "a smaller C, another kernel" if self.C is not None else "C for the soft form, another kernel"
        warn(
            f"The adatron stopped before the maximal margin: {what}. Give {remedy}, or a larger tol or max_sweeps.",
            ConvergenceWarning,
        )

    def _scores(self, rows: Rows) -> Floats:
        return self._expansion.scores(rows, self._n_threads)

    def _form(self) -> tuple[Form, tuple[str, ...]]:
        return self._expansion, ("the margins that were found, and the certificate (votron.certify)",)

    def _for_theory(self) -> MaximalMarginView:
        from votron.estimators._evidence import MaximalMarginView  # most models are never certified

        return MaximalMarginView(self)
