"""The voted perceptron that chooses its parameters by cross-validation, as a scikit-learn classifier."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from votron._progress import Progress
from votron._resources import effective_threads, parse_memory_limit
from votron._types import Floats, Rows
from votron.errors import Parameter, VotronError
from votron.estimators import _validation
from votron.estimators._search import (
    GAMMA_STEP,
    Grid,
    Search,
    TimedPerceptron,
    Trial,
    rung_sizes,
    with_every_class_first,
)
from votron.estimators.base import outside_votron
from votron.estimators.voted import VotedPerceptronClassifier, needs_held_out
from votron.kernels.base import is_precomputed, kernel_class
from votron.record import labels_of
from votron.rules import RULES

__all__ = ["VotedPerceptronClassifierCV"]

_AUTO = StrOptions({"auto"})


class VotedPerceptronClassifierCV(ClassifierMixin, BaseEstimator):
    """Voted perceptron whose kernel, margin, epochs and rule are chosen by cross-validation.

    Each setting of kernel, degree, gamma and margin is fitted once a fold, and that one fit gives the scores of all
    rules at all moments of training. With many rows, settings are tried on a ninth or a third of them first, and the
    best third of the settings (four at least) go on. The best is trained on all rows at the end.

    Parameters
    ----------
    kernels : "auto" or list, default="auto"
        Kernels to try, as `VotedPerceptronClassifier` takes them, except "precomputed". "auto": "rbf" and "poly".
    gammas : "auto" or list, default="auto"
        Values of gamma, numbers, "scale" or "auto", both of all rows given to `fit`. "auto" begins with 1/4, 1 and 4
        times "scale" for the Gaussian kernel and others, and with "scale" for the polynomial one. Where the best value
        is the least or the largest that was tried, a fourth of it or four times as much is tried as well, up to 1024
        times "scale" and down to 1/1024 of it.
    degrees : "auto" or list of int, default="auto"
        Degrees of the polynomial kernel. "auto" begins with 1, 2 and 3, and goes on, one by one, to 6 where the best is
        the largest.
    margins : "auto" or list of float, default="auto"
        Values of τ. "auto" begins with 0, 0.5 and 2, and doubles to 32 where the best is the largest.
    rules : list of str, default=("vote", "average", "last")
        Rules to choose among.
    epochs : float or "auto", default="auto"
        Passes of each fit, of which the best moment is chosen: a quarter, a half, and every pass (above twelve every
        second, and so on). "auto" begins with 10, and doubles to 80 where the best moment is in the last pass.
    coef0 : float, default=1.0
        Constant of the polynomial and of the Gaussian kernel: what gives a vector its threshold.
    normalize_kernel : bool, default=False
        Use K(x, z) / √(K(x, x) K(z, z)).
    cv : int, splitter or iterable, default=5
        The folds, as scikit-learn's tools take them: a number stands for so many stratified ones.
    scoring : str, callable or None, default=None
        What is best: the name of a scorer, or one, that needs labels or scores and no probabilities. None: accuracy.
    halving : bool, default=True
        Try settings on a part of the training rows first, 500 at least, each time a third of the next. False: on all.
    time_limit : float or None, default=None
        Seconds that `fit` may take, the training at the end included. When they are over, the best so far is taken,
        with a warning. One setting is always tried on the fewest rows.
    random_state : int, RandomState instance or None, default=None
        For the shuffle of each fit, and the rows of a part.
    memory_limit : int or str, default="auto"
        As in `VotedPerceptronClassifier`.
    n_jobs : int or None, default=None
        Threads. None: as many as this process may use. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar on a terminal and plain lines elsewhere, on standard error.

    Attributes
    ----------
    best_params_ : dict
        The parameters that were chosen, as `VotedPerceptronClassifier` takes them.
    best_score_ : float
        Their mean score over the folds. It is optimistic, since it is the best of many.
    best_index_ : int
        Their place in ``cv_results_``.
    best_estimator_ : VotedPerceptronClassifier
        The classifier with them, trained on all rows.
    cv_results_ : dict of arrays
        One entry for each setting and number of rows that was tried, at its best moment and by its best rule: "params",
        "param_kernel" and so on, "split0_test_score", ..., "mean_test_score", "std_test_score", "rank_test_score" (more
        rows first), "mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time", "iter" and "n_resources", the
        training rows of a fold.
    scores_ : dict of arrays of shape (n_folds, n_moments)
        For each rule the scores of the best setting at ``moments_``.
    moments_ : array of shape (n_moments,)
        Moments of training, in epochs.
    stopped_ : str
        Why the search ended early: "", or "out of time".
    skipped_ : list of (dict, str)
        Settings that cannot be fitted on these data, and why.
    classes_ : array of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Names of the features, where the data have names.

    See Also
    --------
    VotedPerceptronClassifier : The same with parameters that you choose.
    votron.tuning.tune : Grids of any parameters, of other classifiers, and with an encoder inside each fold.

    Notes
    -----
    Scale the features first, in a pipeline: all kernels go by distances or products of rows. The parameters are chosen
    with the data, so no certificate that needs a kernel fixed before them speaks of ``best_estimator_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron import VotedPerceptronClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = VotedPerceptronClassifierCV(kernels=["poly"], degrees=[1, 2], margins=[0.0, 1.0], random_state=0)
    >>> model = model.fit(X, y)
    >>> sorted(model.best_params_)
    ['degree', 'epochs', 'gamma', 'kernel', 'margin', 'rule']
    >>> bool(model.best_score_ > 0.95)
    True
    """

    DEGREES: ClassVar[tuple[int, ...]] = (1, 2, 3)
    MARGINS: ClassVar[tuple[float, ...]] = (0.0, 0.5, 2.0)
    MOST_EPOCHS: ClassVar[int] = 80

    stopped_: str

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernels": [_AUTO, "array-like"],
        "gammas": [_AUTO, "array-like"],
        "degrees": [_AUTO, "array-like"],
        "margins": [_AUTO, "array-like"],
        "rules": ["array-like"],
        "epochs": [Interval(Real, 0, None, closed="neither"), _AUTO],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "normalize_kernel": ["boolean"],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "halving": ["boolean"],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "memory_limit": [Interval(Integral, 0, None, closed="left"), str],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        kernels: Any = "auto",
        gammas: Any = "auto",
        degrees: Any = "auto",
        margins: Any = "auto",
        rules: Any = ("vote", "average", "last"),
        epochs: float | str = "auto",
        coef0: float = 1.0,
        normalize_kernel: bool = False,
        cv: Any = 5,
        scoring: Any = None,
        halving: bool = True,
        time_limit: float | None = None,
        random_state: Any = None,
        memory_limit: int | str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernels = kernels
        self.gammas = gammas
        self.degrees = degrees
        self.margins = margins
        self.rules = rules
        self.epochs = epochs
        self.coef0 = coef0
        self.normalize_kernel = normalize_kernel
        self.cv = cv
        self.scoring = scoring
        self.halving = halving
        self.time_limit = time_limit
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- training -----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> VotedPerceptronClassifierCV:
        """Choose parameters by cross-validation, and train with them on all rows.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The examples.
        y : array of shape (n_samples,)
            The labels.

        Returns
        -------
        self : VotedPerceptronClassifierCV
            The fitted model.
        """
        start = time.monotonic()
        with _validation.unchanged_on_error(self):
            rows, labels = self._checked(X, y)
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            deadline = math.inf if self.time_limit is None else start + float(self.time_limit)
            fixed = self._fixed(seed)
            with Progress(None, self.verbose > 0, label="Tuning", erase=True) as progress:
                search = self._search(rows, labels, fixed, seed, deadline, progress)
                best = search.run()
            self._keep(search, best)
            late = self._refit(rows, labels, fixed, deadline)
        if self.stopped_ or late:
            tried = len({trial.setting for trial in search.trials})
            self.stopped_ = self.stopped_ or "out of time"
            warnings.warn(
                f"The time limit of {self.time_limit:g} s ended the search after {tried} settings, the best of them on "
                f"{best.n_rows:,} of {max(search.sizes):,} training rows a fold"
                + (", and the training at the end before its last pass." if late else "."),
                UserWarning,
                stacklevel=outside_votron(),
            )
        return self

    def _checked(self, X: Any, y: Any) -> tuple[Rows, NDArray[Any]]:
        """Validate parameters and data; set ``classes_``."""
        self._validate_params()
        owner = type(self).__name__
        parse_memory_limit(self.memory_limit, owner)
        effective_threads(self.n_jobs, owner)
        rows, labels = _validation.validated(self, X, y, kernel=None, reset=True)
        self.classes_, _ = _validation.encode_labels(labels)
        _validation.check_two_classes(self.classes_, rows.shape)
        return rows, np.asarray(labels)

    def _fixed(self, seed: int) -> dict[str, Any]:
        same = {name: getattr(self, name) for name in ("coef0", "normalize_kernel", "memory_limit", "n_jobs")}
        return {**same, "random_state": seed}

    def _search(
        self, rows: Rows, labels: NDArray[Any], fixed: dict[str, Any], seed: int, deadline: float, progress: Progress
    ) -> Search:
        """Return the search, ready to run."""
        data = _Folds(rows, labels, self._splits(rows, labels), seed)

        def report(done: int, total: int, best: Trial) -> None:
            progress.total = total
            said = ", ".join(f"{name}={_short(value)}" for name, value in best.params().items())
            progress.update(done, f"{done} of {total} settings on {best.n_rows:,} rows, best {best.score:.4f}: {said}")

        return Search(
            data=data,
            grid=self._grid(rows),
            rules=self._checked_rules(),
            fixed=fixed,
            score=_scores_of(self.scoring),
            sizes=rung_sizes(min(len(train) for train, _ in data.splits), bool(self.halving)),
            deadline=deadline,
            n_all=rows.shape[0],
            report=report,
        )

    def _splits(self, rows: Rows, labels: NDArray[Any]) -> list[tuple[Any, Any]]:
        counts = np.unique(labels, return_counts=True)[1]
        if isinstance(self.cv, Integral) and counts.max() < self.cv:
            raise VotronError(
                Parameter("cv", of=type(self).__name__),
                f" must be at most {counts.max()}, the rows of the largest class, of n_samples={rows.shape[0]}. "
                f"Got {self.cv!r} instead.",
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer rows than folds is in some of them only
            return list(check_cv(self.cv, labels, classifier=True).split(np.zeros(len(labels)), labels))

    def _grid(self, rows: Rows) -> Grid:
        """Return what to try, each value checked by the classifier it is for."""
        kernels = ["rbf", "poly"] if _is_auto(self.kernels) else list(self.kernels)
        reads = [_parameters_read(kernel, type(self).__name__) for kernel in kernels]
        scale = _validation.resolved_gamma("scale", rows) if any("gamma" in each for each in reads) else 1.0
        if _is_auto(self.gammas):
            gammas, poly_gammas = [scale, scale * GAMMA_STEP, scale / GAMMA_STEP], [scale]
        else:
            gammas = [_validation.resolved_gamma(g, rows) if g in ("scale", "auto") else g for g in self.gammas]
            poly_gammas = gammas
        values: dict[str, list[Any]] = {
            "degree": list(self.DEGREES) if _is_auto(self.degrees) else list(self.degrees),
            "gamma": gammas,
            "margin": list(self.MARGINS) if _is_auto(self.margins) else list(self.margins),
            "kernel": kernels,
        }
        for name, given in values.items():
            if not given:
                raise VotronError(
                    Parameter(f"{name}s", of=type(self).__name__), " must have a value. Got none instead."
                )
            for value in given:
                if isinstance(value, dict):
                    parameter = Parameter(f"{name}s", of=type(self).__name__)
                    raise VotronError(parameter, f" must be a list of numbers. Got {value!r} instead.")
                VotedPerceptronClassifier(**{name: value})._validate_params()
        grows = {name for name in ("gammas", "degrees", "margins", "epochs") if _is_auto(getattr(self, name))}
        return Grid(
            kernels=[(kernel, "degree" in read, "gamma" in read) for kernel, read in zip(kernels, reads, strict=True)],
            degrees=values["degree"],
            gammas=[float(each) for each in gammas],
            poly_gammas=[float(each) for each in poly_gammas],
            margins=[float(each) for each in values["margin"]],
            scale=scale,
            max_epochs=self.MOST_EPOCHS if isinstance(self.epochs, str) else float(self.epochs),
            grows=frozenset(grows),
        )

    def _checked_rules(self) -> tuple[str, ...]:
        rules = tuple(self.rules)
        for rule in rules:
            if not isinstance(rule, str) or RULES.find(rule) is None or needs_held_out(rule):
                known = [name for name in RULES if not needs_held_out(name)]
                raise VotronError(
                    Parameter("rules", of=type(self).__name__),
                    f" must be among {', '.join(map(repr, known))}. Got {rule!r} instead.",
                )
        if not rules:
            raise VotronError(Parameter("rules", of=type(self).__name__), " must name a rule. Got none instead.")
        return rules

    def _keep(self, search: Search, best: Trial) -> None:
        """Set the attributes that follow from the search."""
        trials = search.trials
        self.best_index_ = next(i for i, trial in enumerate(trials) if trial is best)
        self.best_params_, self.best_score_ = best.params(), best.score
        self.cv_results_ = _results(trials)
        self.scores_ = {rule: best.scores[:, :, j] for j, rule in enumerate(best.rules)}
        self.moments_ = np.array(best.moments)
        self.stopped_ = search.stopped
        self.skipped_ = [(setting.params(), why) for setting, why in search.skipped]

    def _refit(self, rows: Rows, labels: NDArray[Any], fixed: dict[str, Any], deadline: float) -> bool:
        """Train the best on all rows; tell whether time was over before the end of it."""
        model = TimedPerceptron(**fixed, **self.best_params_)
        model._deadline, model._keeps = deadline, True
        model.fit(rows, labels)
        late = model.__dict__.pop("_late", False)
        self.best_estimator_ = VotedPerceptronClassifier(**model.get_params())
        state = {name: value for name, value in vars(model).items() if name not in ("_deadline", "_keeps")}
        self.best_estimator_.__dict__.update(state)
        self.best_estimator_._tuned = True  # which certificates tell
        if hasattr(self, "feature_names_in_"):
            self.best_estimator_.feature_names_in_ = self.feature_names_in_
        return bool(late)

    # -- prediction ---------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Return the scores of rows, by the classifier that was trained at the end.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        array of shape (n_samples,) for two classes, else (n_samples, n_classes)
            As `VotedPerceptronClassifier.decision_function` has them.
        """
        check_is_fitted(self)
        rows, _ = _validation.validated(self, X, kernel=self.best_estimator_.kernel_, reset=False)
        return self.best_estimator_._shaped(self.best_estimator_._scores(rows))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_samples,)
            The predicted labels.
        """
        scores = self.decision_function(X)
        return np.asarray(self.classes_[labels_of(scores)])

    def score(self, X: Any, y: Any) -> float:
        """Return the score by ``scoring``, accuracy by default.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows.
        y : array of shape (n_samples,)
            Their labels.

        Returns
        -------
        float
            The score.
        """
        check_is_fitted(self)
        scorer = get_scorer("accuracy" if self.scoring is None else self.scoring)
        return float(scorer(self, X, y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# -- the data ---------------------------------------------------------------------------------------------------------


class _Folds:
    """The folds, of which the search asks for some of the training rows."""

    def __init__(self, rows: Rows, labels: NDArray[Any], splits: list[tuple[Any, Any]], seed: int) -> None:
        self.rows, self.labels = rows, labels
        codes, rng = np.unique(labels, return_inverse=True)[1], np.random.RandomState(seed)
        every = np.arange(len(labels))
        self.splits = [(with_every_class_first(every[train], codes, rng), every[test]) for train, test in splits]
        self.n_folds = len(splits)

    def fold(self, i: int, n_rows: int) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
        """Return rows and labels to learn, in the order of the data, and rows and labels to predict."""
        train, test = self.splits[i]
        some = np.sort(train[: max(n_rows, 2)])
        return self.rows[some], self.labels[some], self.rows[test], self.labels[test]


class _Scored(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are there already, as scikit-learn's scorers take one."""

    def __init__(self, classes: Any = None, scores: Any = None) -> None:
        self.classes, self.scores = classes, scores
        self.classes_ = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: Any) -> Any:
        return self.scores

    def predict(self, X: Any) -> Any:
        return self.classes[labels_of(self.scores)]


def _scores_of(scoring: Any) -> Any:
    """Return what makes a number of a model's scores."""
    if scoring is None or scoring == "accuracy":
        return lambda classes, scores, X, y: float(np.mean(classes[labels_of(scores)] == y))
    scorer = get_scorer(scoring)
    return lambda classes, scores, X, y: float(scorer(_Scored(classes, scores), X, y))


# -- what was tried ---------------------------------------------------------------------------------------------------


def _results(trials: list[Trial]) -> dict[str, Any]:
    """Return the trials as `GridSearchCV` tells of them."""
    params = [trial.params() for trial in trials]
    names = list(dict.fromkeys(name for each in params for name in each))
    at_best = np.array([trial.scores[:, i, j] for trial in trials for i, j in [trial.best]])
    found: dict[str, Any] = {}
    for name in ("fit", "score"):
        times = np.array([getattr(trial, f"{name}_times") for trial in trials])
        found |= {f"mean_{name}_time": times.mean(axis=1), f"std_{name}_time": times.std(axis=1)}
    for name in names:
        absent = np.array([name not in each for each in params])
        values = np.empty(len(params), dtype=object)
        values[:] = [each.get(name) for each in params]
        found[f"param_{name}"] = np.ma.MaskedArray(values, mask=absent)
    found |= {"params": params}
    found |= {f"split{k}_test_score": column for k, column in enumerate(at_best.T)}
    means = at_best.mean(axis=1)
    rungs = np.array([trial.rung for trial in trials])
    keys: list[tuple[float, float]] = [(-int(rung), -float(mean)) for rung, mean in zip(rungs, means, strict=True)]
    ranked = sorted(keys)
    return found | {
        "mean_test_score": means,
        "std_test_score": at_best.std(axis=1),
        "rank_test_score": np.array([ranked.index(key) + 1 for key in keys], dtype=np.int32),
        "iter": rungs,
        "n_resources": np.array([trial.n_rows for trial in trials]),
    }


def _parameters_read(kernel: Any, owner: str) -> Iterable[str]:
    """Return what a kernel reads of the parameters; a kernel that is one already has its numbers."""
    if is_precomputed(kernel):
        raise VotronError(
            Parameter("kernels", of=owner), f" must be of rows, not of numbers given for them. Got {kernel!r} instead."
        )
    cls = kernel_class(kernel) if isinstance(kernel, str) else None
    return () if cls is None else cls.parameters()


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
