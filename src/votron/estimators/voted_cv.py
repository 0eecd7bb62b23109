"""The voted perceptron that chooses its parameters by cross-validation, as a scikit-learn classifier."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from votron._util.progress import Progress
from votron._util.text import counted
from votron._util.types import Array, Floats, Index, Label, Labels, Params, Rows, RowsLike
from votron.errors import VotronError
from votron.estimators._data import check_two_classes, encode_labels, validated, warn, weighed
from votron.estimators._probabilities import ProbabilisticClassifier
from votron.estimators._search import Folds, Point, Search, moments_until, scorer_for, with_every_class_first
from votron.estimators._training import unchanged_on_error
from votron.estimators.voted import VotedPerceptronClassifier, needs_held_out
from votron.kernels.base import is_precomputed

__all__ = ["VotedPerceptronClassifierCV"]

_LISTS = {"kernels": "kernel", "gammas": "gamma", "degrees": "degree", "margins": "margin"}
"""Parameters that are "auto" or a list, and of what."""
SHARED = ("coef0", "normalize_kernel", "class_weight", "memory_limit", "n_jobs")
"""Parameters that are the same for all settings."""


@dataclass(eq=False, repr=False)
class VotedPerceptronClassifierCV(ProbabilisticClassifier):
    """Voted perceptron whose kernel, margin, epochs and rule are chosen by cross-validation (docs/tuning.md).

    Each setting of kernel, degree, gamma and margin is fitted once per fold; that fit gives the scores of all rules at
    all moments of training. Where the best value of a list that is "auto" is at an edge, the search goes on there.

    Parameters
    ----------
    kernels : "auto" or list, default="auto"
        Kernels of `VotedPerceptronClassifier`, except "precomputed". "auto": "rbf".
    gammas : "auto" or list, default="auto"
        Numbers, "scale", "auto", or multiples such as "scale*0.1". "auto" begins with 1/4, 1 and 4 times "scale" for
        the Gaussian kernel and with "scale" for the polynomial one.
    degrees : "auto" or list of int, default="auto"
        Degrees of the polynomial kernel. "auto" begins with 1, 2 and 3.
    margins : "auto" or list of float or dict, default="auto"
        Values of τ, each a number, or a dict by class. "auto" begins with 0.5 and 2.
    rules : list of str, default=("vote", "average")
        Rules to choose among.
    epochs : float or "auto", default="auto"
        Passes of each fit, of which the best moment is chosen. "auto" begins with 32.
    coef0, normalize_kernel, class_weight, memory_limit, n_jobs, verbose
        As in `VotedPerceptronClassifier`. The weights of classes count in the scores as well.
    cv : int, splitter or iterable, default=5
        The folds, as in scikit-learn's searches.
    scoring : str, callable or None, default=None
        The score to maximise: a scorer of scikit-learn, or its name, of labels or scores. None: accuracy.
    halving : bool, default=True
        Try settings on a part of the training rows first, and the best third of them on three times as many.
    max_rows : int or None, default=None
        Rows that the search uses at most, drawn at random with some of every class. None: all.
    time_limit : float or None, default=None
        Seconds for the search and the training at the end, which is always complete; one setting is always tried.
    refit : bool, default=True
        Train the best on all rows at the end. Without it there is no ``best_estimator_``, and no prediction.
    random_state : int, RandomState instance or None, default=None
        For the shuffle of each fit, the final one included, and the rows of a part.
    resume : str, path-like or None, default=None
        A folder that keeps the result of each fold, from which the same search goes on; needs an int ``random_state``.

    Attributes
    ----------
    best_params_, best_index_, best_score_ : dict, int and float
        The parameters that were chosen, their place in ``cv_results_``, and their mean score over the folds.
    best_estimator_ : VotedPerceptronClassifier
        The classifier with them, trained on all rows.
    cv_results_ : dict of arrays
        As in `GridSearchCV`, one entry for each setting and number of rows that was tried, at its best moment and rule;
        also "steady_test_score" (averaged with the neighbours'), "iter" and "n_resources" (training rows of a fold).
    n_splits_, n_settings_ : int
        The number of folds, and of settings that were tried, each counted once.
    scores_, moments_ : dict of arrays of shape (n_folds, n_moments), and array of shape (n_moments,)
        For each rule the scores of the best setting at these moments of training, in epochs.
    stopped_, skipped_ : str and list of (dict, str)
        Why the search ended early: "out of time" or "interrupted"; settings that cannot be fitted, and why.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron import VotedPerceptronClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = VotedPerceptronClassifierCV(gammas=[0.1, 1.0], margins=[0.5], epochs=8, random_state=0).fit(X, y)
    >>> bool(model.best_score_ > 0.95)
    True
    """

    kernels: str | Sequence[object] = "auto"
    gammas: str | Sequence[float | str] = "auto"
    degrees: str | Sequence[int] = "auto"
    margins: str | Sequence[float | dict[Label, float]] = "auto"
    rules: Sequence[str] = ("vote", "average")
    epochs: float | str = "auto"
    coef0: float = 1.0
    normalize_kernel: bool = False
    cv: object = 5
    scoring: str | Callable[..., float] | None = None
    halving: bool = True
    max_rows: int | None = None
    time_limit: float | None = None
    refit: bool = True
    random_state: int | np.random.RandomState | None = None
    memory_limit: int | str = "auto"
    n_jobs: int | None = None
    verbose: int = 0
    class_weight: Mapping[Label, float] | str | None = None
    resume: str | os.PathLike[str] | None = None

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **{name: VotedPerceptronClassifier._parameter_constraints[name] for name in SHARED},
        **{name: [StrOptions({"auto"}), "array-like"] for name in _LISTS},
        "rules": ["array-like"],
        "epochs": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "halving": ["boolean"],
        "max_rows": [Interval(Integral, 4, None, closed="left"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "refit": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "resume": [str, os.PathLike, None],
    }

    def fit(self, X: RowsLike, y: Labels, sample_weight: ArrayLike | None = None) -> Self:
        with unchanged_on_error(self):
            for name in ("best_estimator_", "history_"):
                self.__dict__.pop(name, None)
            self._validate_params()
            seed = self.random_state
            if not isinstance(seed, Integral):
                seed = int(check_random_state(seed).randint(2**31 - 1))
            folds = self._folds(X, y, sample_weight, seed)
            fixed = {name: getattr(self, name) for name in SHARED} | {"random_state": seed}
            with Progress(None, self.verbose > 0, label="Tuning", erase=True) as progress:
                search = Search(self, folds, self._given(), self._listed("rule", self.rules), fixed, progress)
                self._keep(search, search.run())
            if self.refit:
                model = VotedPerceptronClassifier(**fixed, **self.best_params_)
                self.best_estimator_ = model.fit(X, y, sample_weight=sample_weight)
                self.history_ = model.history_ = replace(model.history_, n_settings=self.n_settings_)
        self._tell()
        return self

    def _folds(self, X: RowsLike, y: Labels, sample_weight: ArrayLike | None, seed: int) -> Folds:
        rows, labels = validated(self, X, y, kernel=None, reset=True)
        n_given, (some, weights) = len(labels), weighed(self, labels, sample_weight, scaled=True)
        kept = np.arange(n_given) if some is None else some
        given = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, float), n_given)[kept]
        rows, labels = rows[kept], labels[kept]
        self.classes_, codes = encode_labels(labels)
        check_two_classes(self.classes_, rows.shape)
        drawn = np.arange(len(kept))
        if self.max_rows is not None and len(kept) > self.max_rows:
            least = int(self.cv) if isinstance(self.cv, Integral) else getattr(self.cv, "n_splits", 2)
            order = with_every_class_first(drawn, codes, np.random.RandomState(seed), least)
            drawn = np.sort(order[: self.max_rows])
        return Folds(rows, labels, given, weights, self._splits(labels, drawn, kept, n_given), seed)

    def _splits(self, labels: Array, drawn: Index, kept: Index, n_given: int) -> list[tuple[Index, Index]]:
        """Return the folds of the rows that were drawn from those with a weight."""
        places = drawn
        if isinstance(self.cv, Iterable):  # splits are of the rows that were given
            places = np.full(n_given, -1)
            places[kept[drawn]] = drawn
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer rows than folds is in some of them only
            folds = check_cv(self.cv, labels[drawn], classifier=True)
            try:
                pairs = [(places[train], places[test]) for train, test in folds.split(drawn, labels[drawn])]
            except ValueError as error:
                message = f"The rows cannot be split into folds: {error}"
                raise VotronError(message, parameter="cv") from error
        return [(train[train >= 0], test[test >= 0]) for train, test in pairs]

    def _given(self) -> dict[str, list[Any]]:
        lists = {name: getattr(self, several) for several, name in _LISTS.items()}
        given = {name: self._listed(name, values) for name, values in lists.items() if not isinstance(values, str)}
        return given if isinstance(self.epochs, str) else given | {"epochs": [float(self.epochs)]}

    def _listed(self, name: str, values: Iterable[Any]) -> list[Any]:
        found, refused = list(values), []
        for value in found:
            if name != "gamma" or not isinstance(value, str):
                VotedPerceptronClassifier(**{name: value})._validate_params()
            if (name == "kernel" and is_precomputed(value)) or (name == "rule" and needs_held_out(value)):
                refused.append(value)
        if refused or not found:
            rule = f"not contain {refused[0]!r}" if refused else "not be empty"
            raise VotronError(f"The '{name}s' parameter of {type(self).__name__} must {rule}.", parameter=f"{name}s")
        return [float(value) if isinstance(value, Real) and name != "degree" else value for value in found]

    def _keep(self, search: Search, best_first: Sequence[Point]) -> None:
        best, trials = best_first[0], list(search.trials.values())
        self.best_index_ = trials.index(best.trial)
        self.best_params_, self.best_score_ = best.params, best.score
        self.cv_results_ = _results(sorted(best_first, key=lambda point: trials.index(point.trial)))
        self.n_splits_, self.n_settings_ = len(best.scores), len({trial.setting.key for trial in trials})
        self.scores_ = {rule: best.trial.scores[:, :, j] for j, rule in enumerate(search.rules)}
        self.moments_ = np.array(moments_until(best.trial.setting.epochs))
        self.stopped_, self.skipped_ = search.stopped, [(each.params, str(why)) for each, why in search.skipped]

    def _tell(self) -> None:
        tried = counted(self.n_settings_, "setting")
        if self.stopped_ == "interrupted":
            raise KeyboardInterrupt(f"The search stopped after {tried}; the model is the best of what was tried.")
        if self.stopped_:
            warn(f"The time limit of {self.time_limit:g} s ended the search after {tried}.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_params_")

    def _scores(self, rows: Rows) -> Floats:
        return self._predicting_model()._scores(rows)

    def _has_slope(self) -> bool:
        return True

    def _log_probabilities(self, scores: Floats) -> Floats:
        return self._predicting_model()._log_probabilities(scores)

    def _predicting_model(self) -> VotedPerceptronClassifier:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise VotronError(
                f"This {type(self).__name__} was fitted with refit=False, so it cannot predict: train "
                "VotedPerceptronClassifier(**best_params_), or fit with refit=True."
            )
        return self.best_estimator_

    def score(self, X: RowsLike, y: Labels, sample_weight: ArrayLike | None = None) -> float:
        """Return the score by ``scoring``, accuracy by default; parameters are those of any classifier's ``score``."""
        return float(scorer_for(self.scoring)(self, X, y, sample_weight=sample_weight))


def _results(points: Sequence[Point]) -> Params:
    found: Params = {}
    for name in dict.fromkeys(name for point in points for name in point.params):
        values = np.empty(len(points), dtype=object)
        values[:] = [point.params.get(name) for point in points]
        absent = [name not in point.params for point in points]
        found[f"param_{name}"] = np.ma.MaskedArray(values, mask=absent)
    scores = np.array([point.scores for point in points])
    ranks = sorted(point.rank for point in points)
    return found | {
        "mean_fit_time": np.array([point.trial.fit_times.mean() for point in points]),
        "params": [point.params for point in points],
        **{f"split{k}_test_score": column for k, column in enumerate(scores.T)},
        "mean_test_score": scores.mean(axis=1),
        "std_test_score": scores.std(axis=1),
        "steady_test_score": np.array([point.steady for point in points]),
        "rank_test_score": np.array([ranks.index(point.rank) + 1 for point in points], dtype=np.int32),
        "iter": np.array([point.trial.rung for point in points]),
        "n_resources": np.array([point.trial.n_rows for point in points]),
    }
