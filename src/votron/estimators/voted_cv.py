"""The voted perceptron that chooses its parameters by cross-validation, as a scikit-learn classifier."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted

from votron._util.frames import labels_of_rows
from votron._util.progress import Progress
from votron._util.resources import effective_threads, parse_memory_limit
from votron._util.text import counted
from votron._util.types import Floats, Index, Rows
from votron.errors import Parameter, VotronError
from votron.estimators import _validation
from votron.estimators._search.folds import Folds
from votron.estimators._search.grids import GROWTH, Params, moments_until, plain, shown
from votron.estimators._search.kept import KeptTrials
from votron.estimators._search.searching import Search, Space, seconds_left
from votron.estimators._search.settings import Candidate, check_for_file, equal, multiple_of_scale, settings_of
from votron.estimators._search.trials import Trial, score_by
from votron.estimators._weights import CLASS_WEIGHT_CONSTRAINTS, RowWeights, WeightedFit, weighed
from votron.estimators.base import outside_votron
from votron.estimators.voted import VotedPerceptronClassifier, needs_held_out
from votron.kernels import Kernel
from votron.kernels.base import is_precomputed
from votron.rules import RULES

if TYPE_CHECKING:
    pass

__all__ = ["VotedPerceptronClassifierCV"]

_AUTO = StrOptions({"auto"})
_GRIDS = {"kernels": "kernel", "gammas": "gamma", "degrees": "degree", "margins": "margin"}
"""Parameters that are lists, and of what."""


class VotedPerceptronClassifierCV(WeightedFit):
    """Voted perceptron whose kernel, margin, epochs and rule are chosen by cross-validation.

    Each setting of kernel, degree, gamma and margin is fitted once a fold, and that one fit gives the scores of all
    rules at all moments of training. With many rows, settings are tried on a ninth or a third of them first, and the
    best third of the settings (four at least) go on. The best is trained on all rows at the end.

    Parameters
    ----------
    kernels : "auto" or list, default="auto"
        Kernels to try, as `VotedPerceptronClassifier` takes them, except "precomputed". "auto": "rbf".
    gammas : "auto" or list, default="auto"
        Values of gamma, numbers, "scale" or "auto", both of all rows given to `fit`. "auto" begins with 1/4, 1 and 4
        times "scale" for the Gaussian kernel and others, and with "scale" for the polynomial one. Where the best value
        is the least or the largest that was tried, a fourth of it or four times as much is tried as well, up to 1024
        times "scale" and down to 1/1024 of it.
    degrees : "auto" or list of int, default="auto"
        Degrees of the polynomial kernel. "auto" begins with 1, 2 and 3, and goes on, one by one, to 6 where the best is
        the largest.
    margins : "auto" or list of float or dict, default="auto"
        Values of τ, each a number, or a dict by class. "auto" begins with 0.5 and 2, and goes on by factors
        of 4, to 32 where the best is the largest, to 1/32 where it is the least.
    rules : list of str, default=("vote", "average")
        Rules to choose among.
    epochs : float or "auto", default="auto"
        Passes of each fit, of which the best moment is chosen: 0.5, 1, 2, 3, 4, 6, 8, 12 and so on. "auto" begins with
        32, and goes on to 128 and 512 where the best moment is in the last pass.
    coef0 : float, default=1.0
        Constant of the polynomial and of the Gaussian kernel: what gives a vector its threshold.
    normalize_kernel : bool, default=False
        Use K(x, z) / √(K(x, x) K(z, z)).
    cv : int, splitter or iterable, default=5
        The folds, as scikit-learn's tools take them: a number stands for so many stratified ones.
    scoring : str, callable or None, default=None
        What is best: the name of a scorer, or one, that needs labels or scores and no probabilities. None: accuracy.
        Weights are given to it if it takes ``sample_weight``.
    halving : bool, default=True
        Try settings on a part of the training rows first, 500 at least, each time a third of the next. False: on all.
    time_limit : float or None, default=None
        Seconds for the search and the training at the end. The search stops, with a warning, when only the estimated
        time of that training is left, or half of the limit. The training at the end is always complete, and one setting
        is always tried, even if that takes longer.
    random_state : int, RandomState instance or None, default=None
        For the shuffle of each fit, and the rows of a part.
    memory_limit : int or str, default="auto"
        As in `VotedPerceptronClassifier`.
    n_jobs : int or None, default=None
        Threads. None: as many as this process may use. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar on a terminal and plain lines elsewhere, on standard error.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in `VotedPerceptronClassifier`; they count in the scores as well.
    resume : str, path-like or None, default=None
        A file in which every fold that was tried is kept. If it is there, the search goes on where it ended, however
        that was; data, folds, scores and ``random_state``, which must be a number, must be the same, and the version
        of Votron. Kernels and ``scoring`` must have names then, functions are refused.

    Attributes
    ----------
    best_params_ : dict
        The parameters that were chosen, as `VotedPerceptronClassifier` takes them.
    best_score_ : float
        Their mean score over the folds, optimistic since they are the best of many. It need not be the highest that was
        seen: settings are compared by scores averaged with their neighbours' in time, gamma, margin and degree.
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
        Why the search ended early: "", "out of time" or "interrupted".
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
    with the data, so no certificate that needs a kernel fixed before them speaks of ``best_estimator_``. A file that it
    is saved in holds ``best_estimator_``, and what was searched as its provenance. Ctrl-C ends the search with the best
    of the settings that are complete, which is trained; then KeyboardInterrupt is raised as usual.

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

    stopped_: str
    _kept: Index | None
    """Rows with a weight above 0, if some have none."""

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
        "class_weight": CLASS_WEIGHT_CONSTRAINTS,
        "resume": [str, os.PathLike, None],
    }

    def __init__(
        self,
        kernels: Any = "auto",
        gammas: Any = "auto",
        degrees: Any = "auto",
        margins: Any = "auto",
        rules: Any = ("vote", "average"),
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
        class_weight: Any = None,
        resume: Any = None,
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
        self.class_weight = class_weight
        self.resume = resume

    # -- training -----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose parameters by cross-validation, and train with them on all rows.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The examples.
        y : array of shape (n_samples,)
            The labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows, 0 or more, in each training as in `VotedPerceptronClassifier`, and in the scores. Rows
            of weight 0 are left out, as if they had not been given.

        Returns
        -------
        self : VotedPerceptronClassifierCV
            The fitted model.
        """
        deadline = seconds_left(self.time_limit if isinstance(self.time_limit, Real) else None)
        with _validation.unchanged_on_error(self):
            rows, labels, weights = self._checked(X, y, sample_weight=sample_weight)
            given = None
            if sample_weight is not None:
                given = np.broadcast_to(np.asarray(sample_weight, float), _num_samples(y))
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            fixed = self._fixed(seed)
            with Progress(None, self.verbose > 0, label="Tuning", erase=True) as progress:
                search = self._search(rows, labels, weights, given, fixed, deadline, progress)
                best = search.run()
            self._keep(search, best)
            self._refit(*weights.of(rows, labels, None), _of(given, weights), fixed)
            self._kept = weights.kept
            self._name_rows_as(X, y)
        self._tell(search, best)
        return self

    def _checked(self, X: Any, y: Any, *, sample_weight: Any = None) -> tuple[Rows, NDArray[Any], RowWeights]:
        """Validate parameters and data; set ``classes_``."""
        self._validate_params()
        owner = type(self).__name__
        parse_memory_limit(self.memory_limit, owner)
        effective_threads(self.n_jobs, owner)
        self._check_resume(owner)
        rows, labels = _validation.validated(self, X, y, kernel=None, reset=True)
        weights = weighed(self, labels, sample_weight, scaled=True)
        some, known = weights.of(rows, labels, None)
        self.classes_, _ = _validation.encode_labels(known)
        _validation.check_two_classes(self.classes_, some.shape)
        return rows, np.asarray(labels), weights

    def _check_resume(self, owner: str) -> None:
        """Refuse what a file could not go on with."""
        if self.resume is None:
            return
        if not isinstance(self.random_state, Integral):
            raise VotronError(
                Parameter("random_state", of=owner),
                f" must be a number with resume, or no search could go on. Got {self.random_state!r} instead.",
            )
        if callable(self.scoring):
            raise VotronError(
                Parameter("scoring", of=owner),
                " must be the name of a scorer with resume, since a file cannot tell one function from another. "
                f"Got {shown(self.scoring)} instead.",
            )

    def _fixed(self, seed: int) -> Params:
        names = ("coef0", "normalize_kernel", "memory_limit", "n_jobs", "class_weight")
        return {**{name: getattr(self, name) for name in names}, "random_state": seed}

    def _search(
        self,
        rows: Rows,
        labels: NDArray[Any],
        weights: RowWeights,
        given: Floats | None,
        fixed: Params,
        deadline: float,
        progress: Progress,
    ) -> Search:
        """Return the search, ready to run."""
        splits = self._splits(labels, weights)
        rows, labels = weights.of(rows, labels, None)
        data = Folds(rows, labels, splits, fixed["random_state"], None, _of(given, weights), weights.each)
        scale, candidates = self._candidates(rows)
        grows = {name for several, name in {**_GRIDS, "epochs": "epochs"}.items() if _is_auto(getattr(self, several))}
        space = Space(candidates, data, fixed, frozenset(grows & set(GROWTH)), scale)
        score = score_by(self.scoring)
        if self.resume is not None:
            check_for_file(candidates)
        kept = KeptTrials(self.resume)
        if self.resume is not None:
            same = {name: value for name, value in fixed.items() if name not in ("memory_limit", "n_jobs")}
            kept.check("voted", data=data.digest(), scoring=shown(self.scoring), fixed=plain(same))

        def report(done: int, total: int, trial: Trial, best: Trial) -> None:
            progress.total = total
            said = ", ".join(f"{name}={_short(value)}" for name, value in _params(best).items())
            progress.update(done, f"{done} of {total} settings on {best.n_rows:,} rows, best {best.score:.4f}: {said}")

        return Search({"voted": space}, score, bool(self.halving), deadline, rows.shape[0], kept, report)

    def _splits(self, labels: NDArray[Any], weights: RowWeights) -> list[tuple[Any, Any]]:
        """Return the folds of the rows with a weight above 0."""
        kept = np.arange(len(labels)) if weights.kept is None else weights.kept
        counts = np.unique(labels[kept], return_counts=True)[1]
        if isinstance(self.cv, Integral) and counts.max() < self.cv:
            raise VotronError(
                Parameter("cv", of=type(self).__name__),
                f" must be at most {counts.max()}, the rows of the largest class, of n_samples={len(labels)}. "
                f"Got {self.cv!r} instead.",
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer rows than folds is in some of them only
            folds = check_cv(self.cv, labels[kept], classifier=True)
            if isinstance(self.cv, Iterable):  # numbers of the rows that were given
                every = np.arange(len(labels))
                places = [tuple(np.intersect1d(every[part], kept) for part in pair) for pair in folds.split()]
                return [(np.searchsorted(kept, train), np.searchsorted(kept, test)) for train, test in places]
            return list(folds.split(np.zeros(len(kept)), labels[kept]))

    def _candidates(self, rows: Rows) -> tuple[float, list[Candidate]]:
        """Return what gamma="scale" stands for, and the settings to begin with, gamma as a number."""
        grid: dict[str, Any] = {"rule": self._checked_rules(), "normalize_vectors": [False]}
        for several, name in _GRIDS.items():
            if not _is_auto(getattr(self, several)):
                grid[name] = self._listed(several, name)
        if not _is_auto(self.epochs):
            grid["epochs"] = moments_until(float(self.epochs))
        found = settings_of("voted", grid, {}, len(self.classes_))
        texts = {each.setting.get("gamma") for each in found if isinstance(each.setting.get("gamma"), str)}
        scale = _validation.resolved_gamma("scale", rows) if texts - {"auto"} else 1.0
        numbers = {text: (multiple_of_scale(text) or 1.0) * scale for text in texts - {"auto"}}
        if "auto" in texts:
            numbers["auto"] = _validation.resolved_gamma("auto", rows)
        for each in found:
            each.setting.pop("normalize_kernel", None)  # it is the same for all
            if isinstance(each.setting.get("gamma"), str):
                each.setting["gamma"] = float(numbers[each.setting["gamma"]])
        return scale, found

    def _listed(self, several: str, name: str) -> list[Any]:
        """Return the values of a list, each checked by the classifier that it is for."""
        values, parameter = list(getattr(self, several)), Parameter(several, of=type(self).__name__)
        if not values:
            raise VotronError(parameter, " must have a value. Got none instead.")
        for value in values:
            if name == "kernel" and is_precomputed(value):
                raise VotronError(parameter, f" must be of rows, not of numbers given for them. Got {value!r} instead.")
            VotedPerceptronClassifier(**{name: value})._validate_params()
        return [float(value) if name in ("gamma", "margin") and isinstance(value, Real) else value for value in values]

    def _checked_rules(self) -> list[str]:
        rules = list(self.rules)
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
        self.best_params_, self.best_score_ = _params(best), best.score
        self.cv_results_ = _results(trials)
        mine = [
            each for each in trials if each.rung == best.rung and equal(each.candidate.setting, best.candidate.setting)
        ]
        rules = best.candidate.free["rule"]
        moments = np.concatenate([each.candidate.free["epochs"] for each in mine])
        scores = np.concatenate([each.scores.reshape(len(each.folds), -1, len(rules)) for each in mine], axis=1)
        order = np.argsort(moments, kind="stable")
        self.scores_ = {rule: scores[:, order, j] for j, rule in enumerate(rules)}
        self.moments_ = moments[order]
        self.stopped_ = search.stopped
        self.skipped_ = [(candidate.setting, why) for candidate, why in search.skipped]

    def _refit(self, rows: Rows, labels: NDArray[Any], sample_weight: Floats | None, fixed: Params) -> None:
        """Train the best on all rows, however long it takes."""
        self.best_estimator_ = VotedPerceptronClassifier(**fixed, **self.best_params_)
        self.best_estimator_.fit(rows, labels, sample_weight=sample_weight)
        found = self.best_estimator_
        found.history_ = replace(found.history_, n_settings=len(self.cv_results_["params"]))
        if hasattr(self, "feature_names_in_"):
            self.best_estimator_.feature_names_in_ = self.feature_names_in_

    def _tell(self, search: Search, best: Trial) -> None:
        """Say that not all was tried, now that the model is fitted."""
        tried = counted(search.n_tried, "setting")
        if self.stopped_ == "interrupted":
            raise KeyboardInterrupt(f"The search stopped after {tried}; the model is the best of what was tried.")
        if not self.stopped_:
            return
        warnings.warn(
            f"The time limit of {self.time_limit:g} s ended the search after {tried}, the best of them on "
            f"{best.n_rows:,} of {max(search.sizes):,} training rows a fold.",
            UserWarning,
            stacklevel=outside_votron(),
        )

    # -- prediction ---------------------------------------------------------------------------------------------------

    @property
    def kernel_(self) -> Kernel:
        """The kernel that was chosen, with its numbers."""
        return self.best_estimator_.kernel_

    def _scores(self, rows: Rows) -> Floats:
        return self.best_estimator_._scores(rows)

    def with_rule(
        self, rule: str, normalize_vectors: bool = False, *, X_val: Any = None, y_val: Any = None
    ) -> VotedPerceptronClassifier:
        """Return a copy of ``best_estimator_`` that predicts by another rule from the same record.

        Parameters
        ----------
        rule : str
            The rule.
        normalize_vectors : bool, default=False
            Whether each vector counts as if it had length 1.
        X_val, y_val : data and labels, optional
            Held-out data, for the rules "holdout" and "auto".

        Returns
        -------
        VotedPerceptronClassifier
            The copy.
        """
        check_is_fitted(self)
        return self.best_estimator_.with_rule(rule, normalize_vectors, X_val=X_val, y_val=y_val)

    def predict_proba(self, X: Any) -> Floats:
        """Return how probable each class is, as `VotedPerceptronClassifier.predict_proba` of ``best_estimator_`` does.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities, in the order of ``classes_``.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the probabilities.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_samples, n_classes)
            They are.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict_log_proba(X))

    def _explained_model(self) -> VotedPerceptronClassifier:
        """Return what predicts."""
        return self.best_estimator_

    def _name_rows_as(self, X: Any, y: Any) -> None:
        """Call the rows of training by their index: those with a weight above 0, which are all that it was given."""
        index = labels_of_rows(X, y)
        self.best_estimator_.name_rows(index if index is None or self._kept is None else index[self._kept])

    def _for_file(self) -> tuple[Any, dict[str, Any]]:
        """Return the classifier that was found, and what there is to say of the search."""
        check_is_fitted(self)
        facts = {"folds": len(self.scores_[self.best_params_["rule"]]), "settings": len(self.cv_results_["params"])}
        found = {"score": self.best_score_, "params": plain(self.best_params_), "stopped": self.stopped_}
        return self.best_estimator_, {"search": {"estimator": type(self).__name__, **facts, **found}}

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score by ``scoring``, accuracy by default.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Rows.
        y : array of shape (n_samples,)
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            What each row counts.

        Returns
        -------
        float
            The score.
        """
        check_is_fitted(self)
        scorer = get_scorer("accuracy" if self.scoring is None else self.scoring)
        return float(scorer(self, X, y, **({} if sample_weight is None else {"sample_weight": sample_weight})))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# -- what was tried ---------------------------------------------------------------------------------------------------


def _params(trial: Trial, k: int | None = None) -> Params:
    return {name: value for name, value in trial.params(k).items() if name != "normalize_vectors"}


def _results(trials: Sequence[Trial]) -> dict[str, Any]:
    """Return the trials as `GridSearchCV` tells of them."""
    params = [_params(trial) for trial in trials]
    names = list(dict.fromkeys(name for each in params for name in each))
    at_best = np.array([trial.scores[:, trial.best] for trial in trials])
    found: dict[str, Any] = {}
    for name in ("fit", "score"):
        times = np.array([trial.times(name) for trial in trials])
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
    keys: list[tuple[float, float]] = [
        (1, 0.0) if np.isnan(mean) else (-int(rung), -float(mean)) for rung, mean in zip(rungs, means, strict=True)
    ]
    ranked = sorted(keys)
    return found | {
        "mean_test_score": means,
        "std_test_score": at_best.std(axis=1),
        "rank_test_score": np.array([ranked.index(key) + 1 for key in keys], dtype=np.int32),
        "iter": rungs,
        "n_resources": np.array([trial.n_rows for trial in trials]),
    }


def _of(given: Floats | None, weights: RowWeights) -> Floats | None:
    """Return the weights that were given, of the rows with a weight above 0."""
    return given if given is None or weights.kept is None else given[weights.kept]


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
