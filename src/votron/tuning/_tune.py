"""Cross-validation over settings, one fit a fold and setting."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from votron.errors import Parameter, VotronError
from votron.estimators import _validation
from votron.tuning._edges import GROWS, beyond
from votron.tuning._fold_errors import Fold, errors_of, free_params, with_number
from votron.tuning._grid import Grid, Params, multiple_of_scale, settings_of
from votron.tuning._result import TuningResult, TuningRow

Callback = Callable[[int, int, TuningRow, TuningRow], None]


def tune(
    X: Any,
    y: Any,
    *,
    estimator: str = "voted",
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
    estimator : {"voted", "averaged", "adatron", "winnow", "naive-bayes"}, default="voted"
        Which classifier.
    grid : dict of lists, optional
        Values to try, by parameter of the classifier, instead of those of `default_grid`, which parameters that are not
        named keep. Parameters that a kernel does not read are not varied with it. A ``gamma`` of "scale*0.1" is a tenth
        of what "scale" stands for. Values near the head of each list are tried first.
    params : dict, optional
        Parameters that are the same for all, such as ``{"coef0": 0.0, "n_jobs": 1}``.
    encoder : scikit-learn transformer, optional
        Turns X into vectors. A copy is fitted on the training part of each fold, so that held-out rows have no say in
        it; what it makes is kept for all settings.
    folds : int, default=5
        Number of folds, at least 2.
    random_state : int, default=0
        Seed of the drawing, of the folds and of each fit.
    max_rows : int or None, default=20000
        Of more rows than this, so many are drawn, the same share of every class, and the others are not used at all.
        None: use all.
    max_seconds : float, optional
        Begin no further setting after this time. One is always tried.
    one_standard_error : bool, default=False
        Choose the simplest of the rows whose error is within one standard error of the least.
    verbose : int, default=0
        1 writes a line for each setting, on standard error.
    callback : callable, optional
        Called after each setting with how many are done, how many there are, the best row of this one and the best so
        far.
    extend : bool, default=False
        Go on where the best value of a default list is its least or its largest: ``gamma`` ten times as large or small,
        to 10,000 times "scale"; ``margin`` four times as large, to 25.6; ``degree`` one more, to 6; ``epochs`` twice as
        many, to 80. Lists that are given stay as they are.

    Returns
    -------
    TuningResult
        The table, and the best parameters. Its error is optimistic, since it is the best of many: measure it on data
        that tuning has not seen.

    Raises
    ------
    VotronError
        If a parameter is none of the classifier's, a class has too few rows, or no setting can be fitted.

    Notes
    -----
    Ctrl-C ends tuning early, with the settings that are complete; if there are none it is raised as usual. A setting
    that cannot be fitted on these data, say since its kernel values exceed float64, is left out, with the reason.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron.tuning import tune
    >>> X, y = load_iris(return_X_y=True)
    >>> result = tune(X, y, grid={"kernel": ["poly"], "degree": [1, 2], "normalize_kernel": [True], "epochs": [1, 5]})
    >>> result.n_tried  # two degrees, with and without margin
    4
    >>> sorted(result.best)
    ['degree', 'epochs', 'gamma', 'kernel', 'margin', 'normalize_kernel', 'normalize_vectors', 'rule']
    >>> bool(result.best_error < 0.06)
    True
    """
    start = time.monotonic()
    _check_options(folds, random_state, max_rows, max_seconds)
    settings, free = settings_of(estimator, grid or {}, params or {})
    X, y, n_rows = _drawn(X, y, max_rows, random_state)
    data = _Folds(X, y, encoder, _splits(X, y, folds, random_state), {})
    grows = GROWS - set(grid or {}) - set(params or {}) if extend else set()
    search = _Search(estimator, [(setting, free) for setting in settings], frozenset(grows), data, random_state)
    stopped = search.run(math.inf if max_seconds is None else start + max_seconds, _reporter(verbose, callback))
    multiples = any(multiple_of_scale(row.params.get("gamma")) is not None for row in search.table)
    return TuningResult(
        estimator=estimator,
        table=tuple(search.table),
        folds=int(folds),
        n_rows=n_rows,
        n_used=len(y),
        n_settings=len(search.settings),
        n_tried=search.n_tried,
        skipped=tuple(search.skipped),
        seconds=time.monotonic() - start,
        stopped=stopped,
        one_standard_error=bool(one_standard_error),
        scale=data.scale(estimator) if multiples else None,
    )


# -- the data ---------------------------------------------------------------------------------------------------------


@dataclass
class _Folds:
    """The data, part by part."""

    X: Any
    y: NDArray[Any]
    encoder: Any
    splits: list[tuple[Any, Any]]
    kept: dict[int, Fold]

    def fold(self, i: int) -> Fold:
        """Return a fold; with an encoder it is made once."""
        if i in self.kept:
            return self.kept[i]
        train, test = self.splits[i]
        X, X_test = _safe_indexing(self.X, train), _safe_indexing(self.X, test)
        if self.encoder is not None:
            encoder = clone(self.encoder)
            X, X_test = encoder.fit_transform(X, self.y[train]), encoder.transform(X_test)
        made = X, self.y[train], X_test, self.y[test]
        if self.encoder is not None:
            self.kept[i] = made
        return made

    def scale(self, estimator: str) -> float:
        """Return what gamma="scale" stands for on all of the data."""
        X = self.X if self.encoder is None else clone(self.encoder).fit_transform(self.X, self.y)
        return float(with_number({"gamma": "scale*1"}, estimator, X)["gamma"])


def _drawn(X: Any, y: Any, max_rows: int | None, seed: int) -> tuple[Any, NDArray[Any], int]:
    """Return rows and labels, of too many a share of every class; and how many there were."""
    y, n = np.asarray(y), _num_samples(X)
    if y.shape != (n,):
        raise VotronError(f"tune takes one label for each of the {n} rows of X. Got y of shape {y.shape} instead.")
    classes, codes = _validation.encode_labels(y)
    _validation.check_two_classes(classes, (n, getattr(X, "shape", (n, 1))[-1]))
    if max_rows is None or n <= max_rows:
        return X, y, n
    if max_rows < 2 * len(classes) or np.bincount(codes).min() < 2:
        kept = np.random.RandomState(seed).permutation(n)[:max_rows]
    else:
        kept, _ = train_test_split(np.arange(n), train_size=max_rows, stratify=codes, random_state=seed)
    kept = np.sort(kept)
    return _safe_indexing(X, kept), y[kept], n


def _splits(X: Any, y: NDArray[Any], folds: int, seed: int) -> list[tuple[Any, Any]]:
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        raise VotronError(
            "Cross-validation needs two rows of every class at least, one to learn from and one to predict. "
            f"Got one row of class {classes[counts.argmin()]!r} instead."
        )
    if counts.max() < folds:
        raise VotronError(
            Parameter("folds", of="tune"),
            f" must be at most {counts.max()}, the rows of the largest class. Got {folds!r} instead.",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer rows than folds is in some of them only
        return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


def _check_options(folds: Any, random_state: Any, max_rows: Any, max_seconds: Any) -> None:
    for name, value, least in (("folds", folds, 2), ("random_state", random_state, 0), ("max_rows", max_rows, 4)):
        if name == "max_rows" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise VotronError(
                Parameter(name, of="tune"), f" must be an int of at least {least}. Got {value!r} instead."
            )
    if max_seconds is not None and not (isinstance(max_seconds, Real) and float(max_seconds) > 0):
        raise VotronError(
            Parameter("max_seconds", of="tune"), f" must be a positive number or None. Got {max_seconds!r} instead."
        )


# -- the search -------------------------------------------------------------------------------------------------------


@dataclass
class _Search:
    """The settings, and what is known of them so far."""

    estimator: str
    settings: list[tuple[Params, Grid]]
    """What needs a fit each, and what comes free with it; more is added where a list goes on."""
    grows: frozenset[str]
    data: _Folds
    seed: int
    table: list[TuningRow] = field(default_factory=list)
    skipped: list[tuple[Params, str]] = field(default_factory=list)
    n_tried: int = 0

    def run(self, deadline: float, report: Callback) -> str:
        """Try the settings one after another; return why it stopped early, or ""."""
        error: ValueError | None = None
        for i, (setting, free) in enumerate(self.settings):  # which grows on the way
            if self.table and time.monotonic() > deadline:
                return "out of time"
            try:
                rows = list(self._rows(setting, free))
            except ValueError as problem:  # ours, or an encoder's
                error = error or problem
                self.skipped.append((setting, str(problem)))
                self._go_on(i)
                continue
            except KeyboardInterrupt:
                if not self.table:
                    raise
                return "interrupted"
            self.table += rows
            self.n_tried += 1
            self._go_on(i)
            best, best_so_far = (min(each, key=lambda row: row._rank) for each in (rows, self.table))
            report(i + 1, len(self.settings), best, best_so_far)
        if error is not None and not self.table:
            raise error
        return ""

    def _go_on(self, i: int) -> None:
        """Add what lies beyond the edges after the last setting."""
        if i == len(self.settings) - 1 and self.grows and self.table:
            best = min(self.table, key=lambda row: row._rank)
            self.settings += beyond(best.params, self.settings, self.grows)

    def _rows(self, setting: Params, free: Grid) -> Iterator[TuningRow]:
        found, seconds = [], 0.0
        for i in range(len(self.data.splits)):
            errors, spent = errors_of(self.estimator, setting, free, self.data.fold(i), self.seed)
            found.append(errors)
            seconds += spent
        names = free_params(self.estimator, free, len(np.unique(self.data.y)))
        for k, each in enumerate(names):
            yield TuningRow(setting | each, tuple(errors[k] for errors in found), seconds)


def _reporter(verbose: int, callback: Callback | None) -> Callback:
    def report(done: int, total: int, row: TuningRow, best: TuningRow) -> None:
        if verbose:
            said = ", ".join(f"{name}={value}" for name, value in row.params.items())
            least = f"{100 * best.error:.2f} %"
            print(f"tune {done}/{total}: {100 * row.error:.2f} % with {said}; least so far {least}", file=sys.stderr)
        if callback is not None:
            callback(done, total, row, best)

    return report
