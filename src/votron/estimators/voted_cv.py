"""The voted perceptron that chooses its parameters by cross-validation, as a scikit-learn classifier."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from votron._util.frames import labels_of_rows
from votron._util.progress import Progress
from votron._util.resources import n_bytes, parse_memory_limit
from votron._util.text import counted
from votron._util.types import Array, Floats, Index, Label, Labels, Params, Rows, RowsLike
from votron.errors import VotronError
from votron.estimators._grid import EPOCHS, Setting, first_settings, moments_until, multiple_of_scale
from votron.estimators._probabilities import ProbabilisticClassifier
from votron.estimators._search import Folds, Point, Search, with_every_class_first
from votron.estimators._training import outside_votron, resolved_gamma, unchanged_on_error
from votron.estimators._validation import CLASS_WEIGHT_CONSTRAINTS, check_two_classes, encode_labels, validated
from votron.estimators._weights import weighed
from votron.estimators.voted import VotedPerceptronClassifier, needs_held_out
from votron.kernels import Kernel
from votron.kernels.base import is_precomputed

__all__ = ["VotedPerceptronClassifierCV"]

_AUTO = StrOptions({"auto"})
_LISTS = {"kernels": "kernel", "gammas": "gamma", "degrees": "degree", "margins": "margin", "rules": "rule"}
"""Parameters that are lists, and of what."""
_GROW = {"gammas": "gamma", "degrees": "degree", "margins": "margin", "epochs": "epochs"}
"""Parameters that go on at an edge unless they are given."""
_FIXED = ("coef0", "normalize_kernel", "class_weight", "memory_limit", "n_jobs")
"""Parameters that are the same for all settings."""


class VotedPerceptronClassifierCV(ProbabilisticClassifier):
    """Voted perceptron whose kernel, margin, epochs and rule are chosen by cross-validation.

    Each setting of kernel, degree, gamma and margin is fitted once per fold, and that one fit gives the scores of all
    rules at all moments of training. With many rows, settings are tried on a ninth or a third of them first, and the
    best third of the settings (four at least) go on. The best is trained on all rows at the end.

    Parameters
    ----------
    kernels : "auto" or list, default="auto"
        Kernels of `VotedPerceptronClassifier`, except "precomputed". "auto": "rbf".
    gammas : "auto" or list, default="auto"
        Numbers, "scale", "auto", or multiples such as "scale*0.1". "auto" begins with 1/4, 1 and 4 times "scale" for
        the Gaussian kernel and with "scale" for the polynomial one, and goes on by factors of 4 where the best is the
        smallest or the largest, from 1/1024 to 1024 times "scale".
    degrees : "auto" or list of int, default="auto"
        Degrees of the polynomial kernel. "auto" begins with 1, 2 and 3, and goes on to at most 6.
    margins : "auto" or list of float or dict, default="auto"
        Values of τ, each a number, or a dict by class. "auto" begins with 0.5 and 2, and goes on by factors of 4, from
        1/32 to 32.
    rules : list of str, default=("vote", "average")
        Rules to choose among.
    epochs : float or "auto", default="auto"
        Passes of each fit, of which the best moment is chosen: 0.5, 1, 2, 3, 4, 6, 8, 12 and so on. "auto" begins with
        32, and goes on to 128 and 512 where the best moment is in the last pass.
    coef0 : float, default=1.0
        Constant of the polynomial and of the Gaussian kernel.
    normalize_kernel : bool, default=False
        Use K(x, z) / √(K(x, x) K(z, z)).
    cv : int, splitter or iterable, default=5
        The folds, as in scikit-learn's searches: a number is that of stratified folds.
    scoring : str, callable or None, default=None
        The score to maximise: a scorer of scikit-learn, or its name, that needs no probabilities. None: accuracy.
    halving : bool, default=True
        Try settings on a part of the training rows first, 500 at least, each time a third of the next.
    max_rows : int or None, default=None
        Rows that the search uses at most, drawn at random with some of every class. None: all.
    time_limit : float or None, default=None
        Seconds for the search and the training at the end. The search stops, with a warning, when only the estimated
        time of that training is left, which is always complete. One setting is always tried.
    refit : bool, default=True
        Train the best on all rows at the end. Without it there is no ``best_estimator_``, and no prediction.
    random_state : int, RandomState instance or None, default=None
        For the shuffle of each fit, and the rows of a part. An int is the ``random_state`` of ``best_estimator_`` too.
    memory_limit : int or str, default="auto"
        As in `VotedPerceptronClassifier`.
    n_jobs : int or None, default=None
        Threads. None: as many as this process may use. The result does not depend on it.
    verbose : int, default=0
        1 shows progress on standard error.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in `VotedPerceptronClassifier`; they count in the scores as well.
    resume : str, path-like or None, default=None
        A folder that keeps the result of each fold (a `joblib.Memory`), from which the same search goes on. It needs an
        int as ``random_state``. Functions among kernels and scorers are recognised by name.

    Attributes
    ----------
    best_params_ : dict
        The parameters that were chosen.
    best_score_ : float
        Their mean score over the folds. It need not be the highest: settings are compared by scores averaged with their
        neighbours' in epochs, gamma, margin and degree.
    best_index_ : int
        Their place in ``cv_results_``.
    best_estimator_ : VotedPerceptronClassifier
        The classifier with them, trained on all rows.
    cv_results_ : dict of arrays
        One entry for each setting and number of rows that was tried, at its best moment and by its best rule, as in
        `GridSearchCV`; also "steady_test_score" (averaged with the neighbours'), "iter" (the step of halving) and
        "n_resources" (the training rows of a fold).
    n_splits_ : int
        The number of folds.
    n_settings_ : int
        Settings that were tried, each counted once.
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

    Notes
    -----
    Scale the features first, in a pipeline. No certificate that needs a kernel fixed before the data applies to
    ``best_estimator_``. Rows of weight 0 are left out; other weights count in each training and in the scores, for
    scorers that take ``sample_weight``. Ctrl-C ends the search with the best of the settings that are complete, which
    is trained; then KeyboardInterrupt is raised.

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

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
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
        "max_rows": [Interval(Integral, 4, None, closed="left"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "refit": ["boolean"],
        "random_state": ["random_state"],
        "memory_limit": [Interval(Integral, 0, None, closed="left"), str],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "class_weight": CLASS_WEIGHT_CONSTRAINTS,
        "resume": [str, os.PathLike, None],
    }

    def __init__(
        self,
        kernels: str | Sequence[object] = "auto",
        gammas: str | Sequence[float | str] = "auto",
        degrees: str | Sequence[int] = "auto",
        margins: str | Sequence[float | dict[Label, float]] = "auto",
        rules: Sequence[str] = ("vote", "average"),
        epochs: float | str = "auto",
        coef0: float = 1.0,
        normalize_kernel: bool = False,
        cv: object = 5,
        scoring: str | Callable[..., float] | None = None,
        halving: bool = True,
        max_rows: int | None = None,
        time_limit: float | None = None,
        refit: bool = True,
        random_state: int | np.random.RandomState | None = None,
        memory_limit: int | str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        class_weight: Mapping[Label, float] | str | None = None,
        resume: str | os.PathLike[str] | None = None,
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
        self.max_rows = max_rows
        self.time_limit = time_limit
        self.refit = refit
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.class_weight = class_weight
        self.resume = resume

    def fit(self, X: RowsLike, y: Labels, sample_weight: ArrayLike | None = None) -> Self:
        with unchanged_on_error(self):
            self._validate_params()
            seed = self.random_state
            if not isinstance(seed, Integral):
                seed = int(check_random_state(seed).randint(2**31 - 1))
            folds, self._kept = self._folds(X, y, sample_weight, seed)
            with Progress(None, self.verbose > 0, label="Tuning", erase=True) as progress:
                search, settings = self._search(folds, progress)
                self._keep(search, search.run(settings))
            if self.refit:
                fixed = {name: getattr(self, name) for name in _FIXED}
                model = VotedPerceptronClassifier(**fixed, **self.best_params_, random_state=seed)
                self.best_estimator_ = model.fit(folds.rows, folds.labels, sample_weight=folds.weight)
                self.history_ = model.history_ = replace(model.history_, n_settings=self.n_settings_)
                if hasattr(self, "feature_names_in_"):
                    model.feature_names_in_ = self.feature_names_in_
                self._name_rows_as(X, y)
        self._tell(search)
        return self

    def _folds(self, X: RowsLike, y: Labels, sample_weight: ArrayLike | None, seed: int) -> tuple[Folds, Index | None]:
        """Validate data and set ``classes_``; return the rows with a weight and, if there are others, their numbers."""
        rows, labels = validated(self, X, y, kernel=None, reset=True)
        n_given, (some, weights) = len(labels), weighed(self, labels, sample_weight, scaled=True)
        kept = np.arange(n_given) if some is None else some
        given = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, float), n_given)[kept]
        rows, labels = (rows, labels) if some is None else (rows[some], labels[some])
        self.classes_, codes = encode_labels(labels)
        check_two_classes(self.classes_, rows.shape)
        drawn = np.arange(len(kept))
        if self.max_rows is not None and len(kept) > self.max_rows:
            least = int(self.cv) if isinstance(self.cv, Integral) else getattr(self.cv, "n_splits", 2)
            order = with_every_class_first(drawn, codes, np.random.RandomState(seed), least)
            drawn = np.sort(order[: self.max_rows])
        splits = self._splits(labels, drawn, kept, n_given)
        return Folds(rows, labels, given, weights, splits, seed), some

    def _splits(self, labels: Array, drawn: Index, kept: Index, n_given: int) -> list[tuple[Index, Index]]:
        """Return the folds of the rows that were drawn from those with a weight."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer rows than folds is in some of them only
            folds = check_cv(self.cv, labels[drawn], classifier=True)
            if not isinstance(self.cv, Iterable):
                pairs = folds.split(np.zeros(len(drawn)), labels[drawn])
                return [(drawn[train], drawn[test]) for train, test in pairs]
        place = np.full(n_given, -1)  # splits are of the rows that were given
        place[kept[drawn]] = drawn
        pairs = [[place[np.arange(n_given)[part]] for part in pair] for pair in folds.split()]
        return [(train[train >= 0], test[test >= 0]) for train, test in pairs]

    def _search(self, folds: Folds, progress: Progress) -> tuple[Search, list[Setting]]:
        """Return the search, and the settings that it begins with."""
        fixed: Params = {name: getattr(self, name) for name in _FIXED} | {"random_state": folds.seed}
        limit = parse_memory_limit(self.memory_limit, type(self).__name__, data_bytes=n_bytes(folds.rows))
        rules = self._listed("rules")
        scale, settings = self._settings(folds.rows)
        search = Search(
            folds=folds,
            fixed=fixed | {"memory_limit": limit},
            rules=rules,
            scoring=self.scoring,
            halving=bool(self.halving),
            grows=frozenset(name for several, name in _GROW.items() if _is_auto(getattr(self, several))),
            scale=scale,
            time_limit=math.inf if self.time_limit is None else float(self.time_limit),
            refit_rows=len(folds.labels) if self.refit else 0,
            folder=self.resume,
            progress=progress,
        )
        return search, settings

    def _settings(self, rows: Rows) -> tuple[float, list[Setting]]:
        """Return what gamma="scale" stands for, and the settings to begin with, gamma as a number."""
        given = {_LISTS[several]: self._listed(several) for several in _LISTS if not _is_auto(getattr(self, several))}
        del given["rule"]
        settings = first_settings(given, EPOCHS if _is_auto(self.epochs) else float(self.epochs))
        texts = {gamma for each in settings if isinstance(gamma := each.params.get("gamma"), str)}
        scale = float(resolved_gamma("scale", rows)) if texts - {"auto"} else 1.0
        for each in settings:
            if (gamma := each.params.get("gamma")) in texts:
                each.params["gamma"] = 1.0 / rows.shape[1] if gamma == "auto" else multiple_of_scale(gamma) * scale
        return scale, settings

    def _listed(self, several: str) -> list[Any]:
        """Return the values of a list, each checked by the classifier that it is for."""
        values = list(getattr(self, several))

        def refused(rule: str) -> VotronError:
            message = f"The {several!r} parameter of {type(self).__name__} must {rule} instead."
            return VotronError(message, parameter=several)

        if not values:
            raise refused("have a value. Got none")
        for value in values:
            if several == "gammas" and isinstance(value, str) and value != "auto":
                multiple_of_scale(value)
                continue
            VotedPerceptronClassifier(**{_LISTS[several]: value})._validate_params()
            if several == "kernels" and is_precomputed(value):
                raise refused(f"be of rows, not of numbers given for them. Got {value!r}")
            if several == "rules" and needs_held_out(value):
                raise refused(f"need no held-out rows of their own. Got {value!r}")
        return [float(value) if isinstance(value, Real) and several != "degrees" else value for value in values]

    def _keep(self, search: Search, best_first: Sequence[Point]) -> None:
        best = best_first[0]
        places = {id(trial): i for i, trial in enumerate(search.trials)}
        self.best_index_ = places[id(best.trial)]
        self.best_params_, self.best_score_ = best.params, best.score
        self.cv_results_ = _results(sorted(best_first, key=lambda point: places[id(point.trial)]))
        self.n_splits_, self.n_settings_ = len(best.scores), search.n_settings
        self.scores_ = {rule: best.trial.scores[:, :, j] for j, rule in enumerate(search.rules)}
        self.moments_ = np.array(moments_until(best.trial.setting.epochs))
        self.stopped_ = search.stopped
        self.skipped_ = [(setting.params, str(why)) for setting, why in search.skipped]

    def _tell(self, search: Search) -> None:
        tried = counted(self.n_settings_, "setting")
        if self.stopped_ == "interrupted":
            raise KeyboardInterrupt(f"The search stopped after {tried}; the model is the best of what was tried.")
        if self.stopped_:
            n_rows = self.cv_results_["n_resources"][self.best_index_]
            warnings.warn(
                f"The time limit of {self.time_limit:g} s ended the search after {tried}, the best of them on "
                f"{n_rows:,} of {search.sizes[-1]:,} training rows a fold.",
                UserWarning,
                stacklevel=outside_votron(),
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    @property
    def kernel_(self) -> Kernel:
        """The kernel that was chosen, with its numbers."""
        return self.best_estimator_.kernel_

    def _scores(self, rows: Rows) -> Floats:
        return self.best_estimator_._scores(rows)

    def _has_slope(self) -> bool:
        return True

    def _log_probabilities(self, scores: Floats) -> Floats:
        return self.best_estimator_._log_probabilities(scores)

    def _explained_model(self) -> VotedPerceptronClassifier:
        return self.best_estimator_

    def _name_rows_as(self, X: RowsLike, y: Labels) -> None:
        """Call the rows of training by their index; ``best_estimator_`` was given those with a weight above 0."""
        index = labels_of_rows(X, y)
        self.best_estimator_.name_rows(index if index is None or self._kept is None else index[self._kept])

    def _for_file(self) -> tuple[Any, Params]:
        check_is_fitted(self)
        params = {
            name: value if isinstance(value, str | int | float) else str(value)
            for name, value in self.best_params_.items()
        }
        facts = {"folds": self.n_splits_, "settings": self.n_settings_, "stopped": self.stopped_}
        return self.best_estimator_, {"search": facts | {"score": self.best_score_, "params": params}}

    def score(self, X: RowsLike, y: Labels, sample_weight: ArrayLike | None = None) -> float:
        """Return the score by ``scoring``, accuracy by default; parameters are those of any classifier's ``score``."""
        check_is_fitted(self)
        scorer = get_scorer("accuracy" if self.scoring is None else self.scoring)
        return float(scorer(self, X, y, **({} if sample_weight is None else {"sample_weight": sample_weight})))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _results(points: Sequence[Point]) -> Params:
    found: Params = {}
    for name in ("fit", "score"):
        times = np.array([getattr(point.trial, f"{name}_times") for point in points])
        found |= {f"mean_{name}_time": times.mean(axis=1), f"std_{name}_time": times.std(axis=1)}
    for name in dict.fromkeys(name for point in points for name in point.params):
        values = np.empty(len(points), dtype=object)
        values[:] = [point.params.get(name) for point in points]
        absent = [name not in point.params for point in points]
        found[f"param_{name}"] = np.ma.MaskedArray(values, mask=absent)
    scores = np.array([point.scores for point in points])
    ranks = sorted(point.rank for point in points)
    return found | {
        "params": [point.params for point in points],
        **{f"split{k}_test_score": column for k, column in enumerate(scores.T)},
        "mean_test_score": scores.mean(axis=1),
        "std_test_score": scores.std(axis=1),
        "steady_test_score": np.array([point.steady for point in points]),
        "rank_test_score": np.array([ranks.index(point.rank) + 1 for point in points], dtype=np.int32),
        "iter": np.array([point.trial.rung for point in points]),
        "n_resources": np.array([point.trial.n_rows for point in points]),
    }


def _is_auto(value: object) -> bool:
    return isinstance(value, str) and value == "auto"
