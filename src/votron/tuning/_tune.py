"""`tune`: the search for parameters of any classifier, as a function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from votron.errors import VotronError
from votron.estimators import ESTIMATORS
from votron.estimators._search.folds import Folds, scale_of
from votron.estimators._search.grids import GROWTH, check_estimator, plain
from votron.estimators._search.kept import KeptTrials
from votron.estimators._search.rows import LabelledRows, check_splitting, checked_rows, drawn_rows, stratified_splits
from votron.estimators._search.searching import Search, Space, seconds_left
from votron.estimators._search.settings import check_for_file, multiple_of_scale, settings_of
from votron.estimators._search.trials import Trial, minus_error
from votron.tuning._result import TuningResult, TuningRow

Callback = Callable[[int, int, TuningRow, TuningRow], None]


def tune(
    X: Any,
    y: Any,
    *,
    estimator: Any = "voted",
    grid: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    encoder: Any = None,
    folds: int = 5,
    random_state: int = 0,
    max_rows: int | None = 20_000,
    max_seconds: float | None = None,
    one_standard_error: bool = False,
    verbose: int = 0,
    callback: Callback | None = None,
    extend: bool = False,
    halving: bool = False,
    sample_weight: Any = None,
    refit: bool = False,
    resume: Any = None,
) -> TuningResult:
    """Choose parameters by cross-validation.

    The folds are stratified and the same for all settings. Of the voted perceptron, epochs and rules come free: each
    setting of the other parameters is fitted once a fold, to the most epochs, and read at all of them by all rules.
    The errors are exactly those of models fitted with each row's parameters and this ``random_state``.

    Parameters
    ----------
    X : array, CSR matrix, data frame, or anything that the encoder takes, with n_samples rows
        The examples.
    y : array of shape (n_samples,)
        The labels. Each class needs two rows at least, and one of them as many as there are folds.
    estimator : {"voted", "averaged", "adatron", "winnow", "naive-bayes"} or list of them, default="voted"
        Which classifier; of several the best is chosen too, and ``grid``, ``params`` and ``encoder`` are dicts by their
        names, those left out being as by default.
    grid : dict of lists, optional
        Values to try, by parameter of the classifier, instead of those of `default_grid`, which parameters that are not
        named keep. Parameters that a kernel does not read are not varied with it. A ``gamma`` of "scale*0.1" is a tenth
        of what "scale" stands for. Values near the head of each list are tried first.
    params : dict, optional
        Parameters that are the same for all, such as ``{"coef0": 0.0, "n_jobs": 1}``. With a ``class_weight`` the
        errors are weighted too.
    encoder : scikit-learn transformer, optional
        Turns X into vectors. A copy is fitted on the training part of each fold, so that held-out rows have no say in
        it; what it makes is kept for all settings.
    folds : int, default=5
        Number of folds, at least 2.
    random_state : int, default=0
        Seed of the drawing, of the folds and of each fit.
    max_rows : int or None, default=20000
        Of more rows than this, so many are drawn, the same share of every class, but as many rows of a rare one as
        there are folds; the others are not used at all before ``refit``. None: use all.
    max_seconds : float, optional
        End the search after this time, with the settings that are complete; with ``refit`` the estimated time of the
        training at the end, which is always complete, is in it. One setting is always tried.
    one_standard_error : bool, default=False
        Choose the simplest of the rows whose error is within one standard error of the least.
    verbose : int, default=0
        1 writes a line for each setting, on standard error.
    callback : callable, optional
        Called after each setting with how many are done, how many there are, the best row of this one and the best so
        far.
    extend : bool, default=False
        Go on where the best value of a default list is its least or its largest: ``gamma`` four times as large or
        small, to 1024 times "scale" and 1/1024; ``margin`` four times as large or small, to 32 and 1/32; ``degree`` one
        more, to 6; ``epochs`` of the voted perceptron four times as many, to 128; ``C`` and ``alpha`` ten times as
        large or small, from 0.01 to 10,000 and from 0.0001 to 1000. Lists that are given stay as they are.
    halving : bool, default=False
        Try settings on a part of the training rows first, 500 at least, each time a third of the next; a third of the
        settings, four at least and the best of each classifier, go on. Rows of the table say how many rows they had.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows, in training and in the errors; for classifiers whose `fit` takes them.
    refit : bool, default=False
        Train the best on all rows at the end, behind the encoder: ``model`` of the result.
    resume : str or path-like, optional
        A file in which every fold that was tried is kept. If it is there, the search goes on where it ended, however it
        ended; the data and folds must be the same.

    Returns
    -------
    TuningResult
        The table, and the best parameters. Its error is optimistic, since it is the best of many: measure it on data
        that tuning has not seen.

    Raises
    ------
    VotronError
        If a parameter is none of the classifier's, a class has too few rows, no setting can be fitted, or the file to
        go on with is of another search.

    Notes
    -----
    Ctrl-C ends tuning early, with the settings that are complete; if there are none it is raised as usual. A setting
    that cannot be fitted on these data, say since its kernel values exceed float64, is left out, with the reason.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron.tuning import tune
    >>> X, y = load_iris(return_X_y=True)
    >>> result = tune(X, y, grid={"kernel": ["poly"], "degree": [1, 2], "margin": [0.0, 0.5], "epochs": [1, 5]})
    >>> result.n_tried  # two degrees, with and without margin
    4
    >>> sorted(result.best)
    ['degree', 'epochs', 'gamma', 'kernel', 'margin', 'normalize_kernel', 'normalize_vectors', 'rule']
    >>> bool(result.best_error < 0.06)
    True
    """
    start = time.monotonic()
    check_splitting(folds=folds, random_state=random_state, max_rows=max_rows, max_seconds=max_seconds, of="tune")
    deadline, names = seconds_left(max_seconds), _names(estimator)
    grids, same = (_by_name(each, names, isinstance(estimator, str)) for each in (grid, params))
    encoders = encoder if isinstance(encoder, Mapping) else dict.fromkeys(names, encoder)
    first = same[names[0]]
    class_weight = first.get("class_weight") if isinstance(first, Mapping) else None
    rows = checked_rows(X, y, sample_weight, class_weight, of="tune")
    candidates = {name: settings_of(name, grids[name], same[name], len(np.unique(rows.y))) for name in names}
    drawn = drawn_rows(rows, max_rows, random_state, folds)
    splits, fixed = stratified_splits(drawn.y, folds, random_state, of="tune"), {"random_state": int(random_state)}
    spaces = {}
    for name in names:
        data = Folds(drawn.X, drawn.y, splits, random_state, encoders.get(name), drawn.weight, drawn.scoring)
        grows = set(GROWTH) - set(grids[name]) - set(same[name]) if extend else set()
        spaces[name] = Space(candidates[name], data, fixed, frozenset(grows))
    search = Search(
        spaces,
        minus_error,
        halving=bool(halving),
        deadline=deadline,
        refit_rows=len(rows.y) if refit else 0,
        kept=_kept(resume, spaces),
        report=_reporter(verbose, callback),
    )
    search.run()
    result = TuningResult(
        estimator=names[0],
        table=tuple(row for trial in search.trials for row in _rows(trial)),
        folds=int(folds),
        n_rows=_num_samples(X),
        n_used=len(drawn.y),
        n_settings=search.n_settings,
        n_tried=search.n_tried,
        skipped=tuple((candidate.setting, why) for candidate, why in search.skipped),
        seconds=time.monotonic() - start,
        stopped=search.stopped,
        one_standard_error=bool(one_standard_error),
        n_without_weight=_num_samples(X) - len(rows.y),
    )
    return _finished(result, rows, encoders, refit, int(random_state), start)


def _finished(
    result: TuningResult, rows: LabelledRows, encoders: Any, refit: bool, seed: int, start: float
) -> TuningResult:
    """Return the result of the best classifier, with what gamma stands for, and trained if asked to."""
    name = result.best_row.estimator
    result = replace(result, estimator=name)
    multiple = multiple_of_scale(result.best_row.params.get("gamma")) is not None
    if not (refit or multiple):
        return result
    encoder = None if encoders.get(name) is None else clone(encoders[name])
    X = rows.X if encoder is None else encoder.fit_transform(rows.X, rows.y)
    if multiple:
        result = replace(result, scale=scale_of(X))
    if not refit:
        return result
    seeded = {"random_state": seed} if "random_state" in ESTIMATORS[name]._parameter_constraints else {}
    model = ESTIMATORS[name](**result.best, **seeded)
    model.fit(X, rows.y, **({} if rows.weight is None else {"sample_weight": rows.weight}))
    model.history_ = replace(model.history_, n_settings=result.n_tried)
    if encoder is not None:
        model = Pipeline([("encoder", encoder), ("model", model)])
    return replace(result, model=model, seconds=time.monotonic() - start)


# -- what is given ----------------------------------------------------------------------------------------------------


def _names(estimator: Any) -> list[str]:
    names = [estimator] if isinstance(estimator, str) or not isinstance(estimator, list | tuple) else list(estimator)
    for name in names or [None]:
        check_estimator(name)
    return list(dict.fromkeys(names))


def _by_name(given: Any, names: list[str], one: bool) -> dict[str, Any]:
    """Return what is given for each classifier."""
    if one:
        return {names[0]: {} if given is None else given}
    found = {} if given is None else dict(given)
    for name in found:
        if name not in names:
            raise VotronError(
                f"With several classifiers, grid and params of tune are dicts by the names of these, "
                f"{', '.join(map(repr, names))}. Got {name!r} instead."
            )
    return {name: found.get(name, {}) for name in names}


def _kept(resume: Any, spaces: dict[str, Space]) -> KeptTrials:
    """Return what is known from a search before, if it was of these data."""
    if resume is not None:
        check_for_file([each for space in spaces.values() for each in space.candidates])
    kept = KeptTrials(resume)
    if resume is not None:
        for name, space in spaces.items():
            kept.check(name, data=space.data.digest(), scoring="error", fixed=plain(space.fixed))
    return kept


# -- what is told -----------------------------------------------------------------------------------------------------


def _rows(trial: Trial) -> list[TuningRow]:
    """Return a trial as rows of the table, one for each point."""
    seconds = float(trial.times("fit").sum())
    return [_row(trial, k, seconds) for k in range(len(trial.candidate.points))]


def _row(trial: Trial, k: int, seconds: float) -> TuningRow:
    errors = tuple(0.0 - float(each) for each in trial.scores[:, k])
    return TuningRow(trial.params(k), errors, seconds, trial.n_rows, trial.candidate.estimator)


def _reporter(verbose: int, callback: Callback | None) -> Callable[[int, int, Trial, Trial], None]:
    def report(done: int, total: int, trial: Trial, best: Trial) -> None:
        if not (verbose or callback):
            return
        row, least = (_row(each, each.best, float(each.times("fit").sum())) for each in (trial, best))
        if verbose:
            said = ", ".join(f"{name}={value}" for name, value in row.params.items())
            so_far = f"{100 * least.error:.2f} %"
            print(f"tune {done}/{total}: {100 * row.error:.2f} % with {said}; least so far {so_far}", file=sys.stderr)
        if callback is not None:
            callback(done, total, row, least)

    return report
