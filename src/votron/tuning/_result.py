"""The result of tuning: a table of settings with their errors, and the best of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from votron._util.text import duration, rows_used
from votron._util.text_tables import as_text
from votron.estimators import ESTIMATORS
from votron.estimators._search.choosing import best_first, steadied
from votron.estimators._search.grids import FREE, Params, plain, shown
from votron.estimators._search.settings import alike, multiple_of_scale
from votron.kernels import make_kernel


@dataclass(frozen=True)
class TuningRow:
    """One choice of parameters, and its errors on the held-out folds.

    Attributes
    ----------
    params : dict
        Parameters of the classifier, epochs and rule among them. A ``gamma`` of "scale*0.1" is a tenth of what "scale"
        stands for, on the data of each fold.
    errors : tuple of float
        The share of the held-out rows that is predicted wrongly, for each fold.
    seconds : float
        What fitting took, over all folds; rows that differ in what comes free share one fit, and its time.
    n_rows : int
        Training rows of a fold.
    estimator : str
        Which classifier.

    Examples
    --------
    >>> from votron.tuning import TuningRow
    >>> row = TuningRow({"degree": 2, "epochs": 5}, (0.1, 0.2, 0.3), 1.5)
    >>> print(f"{row.error:.3f} ± {row.standard_error:.3f}")
    0.200 ± 0.058
    """

    params: Params
    errors: tuple[float, ...]
    seconds: float
    n_rows: int = 0
    estimator: str = ""

    @property
    def error(self) -> float:
        """The mean over the folds."""
        return float(np.mean(self.errors))

    @property
    def standard_error(self) -> float:
        """The standard error of that mean."""
        return float(np.std(self.errors, ddof=1) / len(self.errors) ** 0.5)

    def _complexity(self) -> tuple[float, ...]:
        """Return what is simpler first: a kernel with a smaller feature space, fewer epochs, no margin."""
        kernel = self.params.get("kernel")
        size = 0.0
        if kernel is not None:
            size = make_kernel(kernel, degree=self.params.get("degree", 3)).complexity
        margin = self.params.get("margin", 0)
        largest = max(margin.values(), default=0) if isinstance(margin, dict) else margin
        return size, float(self.params.get("epochs", 0)), float(largest)


@dataclass(frozen=True)
class TuningResult:
    """A table of cross-validated errors, and the choice it suggests.

    Attributes
    ----------
    estimator : str
        Which classifier: of several that of the best row.
    table : tuple of TuningRow
        All choices that were tried on all folds, in the order of trying.
    folds : int
        Number of folds.
    n_rows, n_used : int
        Rows of the data, and how many of them were drawn for the folds.
    n_settings, n_tried : int
        Settings that need a fit each, and how many were fitted on all folds.
    skipped : tuple of (dict, str)
        Settings that cannot be fitted on these data, and why.
    seconds : float
        How long it all took.
    stopped : str
        Why settings were left out: "", "interrupted" or "out of time".
    one_standard_error : bool
        How `best_row` chooses.
    scale : float or None
        What ``gamma="scale"`` stands for on all rows, where a multiple of it is the best.
    model : classifier, Pipeline or None
        With ``refit`` the best, trained on all rows; behind the encoder, where there is one.
    n_without_weight : int
        Rows of weight 0, which are left out before any are drawn.

    Notes
    -----
    The error of the best of many rows is optimistic, since chance favoured it: measure it on data that tuning has not
    seen, or tune inside each fold of another cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from votron import VotedPerceptronClassifier
    >>> from votron.tuning import tune
    >>> X, y = load_iris(return_X_y=True)
    >>> result = tune(X, y, grid={"kernel": ["poly"], "degree": [1, 2], "margin": [0.0], "epochs": [1, 10]}, folds=3)
    >>> result.n_tried, len(result.table)
    (2, 8)
    >>> model = VotedPerceptronClassifier(**result.best, random_state=0).fit(X, y)
    """

    estimator: str
    table: tuple[TuningRow, ...]
    folds: int
    n_rows: int
    n_used: int
    n_settings: int
    n_tried: int
    skipped: tuple[tuple[Params, str], ...]
    seconds: float
    stopped: str = ""
    one_standard_error: bool = False
    scale: float | None = None
    model: Any = None
    n_without_weight: int = 0

    @property
    def best_row(self) -> TuningRow:
        """The first of `ranked`.

        With ``one_standard_error`` the simplest of the rows whose error is within that row's standard error of it: the
        linear kernel before the polynomial one, by degree, and that before others; then fewer epochs; then less margin.
        """
        least = self.ranked()[0]
        if not self.one_standard_error:
            return least
        limit = least.error + least.standard_error
        near = (row for row in self.table if row.error <= limit and row.n_rows == least.n_rows)
        return min(near, key=lambda row: (row._complexity(), row.error))

    @property
    def best(self) -> Params:
        """The parameters of the best row, as the classifier takes them: a multiple of "scale" is a number here."""
        params = dict(self.best_row.params)
        factor = multiple_of_scale(params.get("gamma"))
        if factor is not None and self.scale is not None:
            params["gamma"] = factor * self.scale
        return params

    @property
    def best_error(self) -> float:
        """The mean error of the best row, which is optimistic."""
        return self.best_row.error

    def ranked(self) -> list[TuningRow]:
        """Return the rows, the best first.

        With halving, those with the most training rows come first; then by rising error, averaged with that of the
        neighbours in epochs, gamma, margin and so on, since the least of many errors is the luckiest. Of equal ones the
        first are those with less error themselves, then with the larger margin, then with fewer epochs.
        """
        params = [{"estimator": row.estimator, **row.params} for row in self.table]
        errors = [-row.error for row in self.table]
        return [self.table[i] for i in best_first(params, errors, [row.n_rows for row in self.table])]

    def steady_errors(self) -> list[float]:
        """Return the error of each row of the table averaged with those of its neighbours, by which `ranked` goes.

        Examples
        --------
        >>> from votron.tuning import TuningResult, TuningRow
        >>> rows = tuple(TuningRow({"epochs": e}, (error,), 0.5) for e, error in ((1, 0.25), (2, 0.5), (4, 0.25)))
        >>> TuningResult("averaged", rows, 2, 100, 100, 3, 3, (), 1.5).steady_errors()
        [0.3125, 0.375, 0.3125]
        """
        params = [{"estimator": row.estimator, **row.params} for row in self.table]
        return steadied(params, [row.error for row in self.table], [row.n_rows for row in self.table])

    def settings(self, *, once: bool = False) -> list[TuningRow]:
        """Return the best row of each setting, the best first: rows that differ in what comes free are one setting.

        With halving a setting has such a row for each number of training rows; ``once`` leaves the one with the most.

        Examples
        --------
        >>> from votron.tuning import TuningResult, TuningRow
        >>> found = [(0.5, 1, (0.2, 0.4)), (0.5, 5, (0.1, 0.3)), (2.0, 1, (0.3, 0.3))]
        >>> rows = tuple(TuningRow({"margin": m, "epochs": e}, each, 0.5, 8, "voted") for m, e, each in found)
        >>> [row.params for row in TuningResult("voted", rows, 2, 10, 10, 2, 2, (), 1.5).settings()]
        [{'margin': 0.5, 'epochs': 5}, {'margin': 2.0, 'epochs': 1}]
        """
        rows, settings = self.ranked(), []
        for row in rows:
            free = FREE.get(row.estimator, ())
            setting = {name: value for name, value in row.params.items() if name not in free}
            settings.append({"estimator": row.estimator, "n_rows": 0 if once else row.n_rows, **setting})
        return [rows[places[0]] for places in alike(settings)]

    def to_text(self, n: int = 20) -> str:
        """Return the ``n`` rows of least error as a table to read, and the choice.

        Examples
        --------
        >>> from votron.tuning import TuningResult, TuningRow
        >>> rows = TuningRow({"epochs": 1}, (0.2, 0.4), 0.5), TuningRow({"epochs": 5}, (0.1, 0.3), 1.0)
        >>> print(TuningResult("averaged", rows, 2, 100, 100, 2, 2, (), 1.5).to_text())
        AveragedPerceptronClassifier: 2 of 2 settings, 2 folds of 100 rows, 1.50 s
        <BLANKLINE>
        epochs  error %      ±  fit s
             5    20.00  10.00    1.0
             1    30.00  10.00    0.5
        <BLANKLINE>
        Best: epochs=5, 20.00 % ± 10.00
        The error of the best of many is optimistic: measure it on data that tuning has not seen.
        """
        rows = self.ranked()[:n]
        names = list(dict.fromkeys(name for row in rows for name in row.params))
        several = len({row.estimator for row in self.table}) > 1
        cells = [[*names, "error %", "±", "fit s"], *([*_cells(row, names), *_numbers(row)] for row in rows)]
        words = {i for i in range(len(names)) if any(isinstance(row.params.get(names[i]), str) for row in rows)}
        if len({row.n_rows for row in self.table}) > 1:
            cells = [
                [*line, count] for line, count in zip(cells, ["rows", *(str(row.n_rows) for row in rows)], strict=True)
            ]
        if several:
            cells = [
                [name, *line] for line, name in zip(cells, ["estimator", *(row.estimator for row in rows)], strict=True)
            ]
            words = {0, *(i + 1 for i in words)}
        best = self.best_row
        chosen = ", ".join(f"{name}={shown(value)}" for name, value in self.best.items())
        left_out = [f"... and {len(self.table) - len(rows)} more rows"] if len(self.table) > len(rows) else []
        lines = [
            self._head(),
            "",
            as_text(cells, left=words),
            *left_out,
            *(f"Left out: {_phrase(params)}: {why}" for params, why in self.skipped),
            "",
            f"Best: {chosen}, {100 * best.error:.2f} % ± {100 * best.standard_error:.2f}",
            "The error of the best of many is optimistic: measure it on data that tuning has not seen.",
        ]
        return "\n".join(lines)

    def _head(self) -> str:
        rows = rows_used(self.n_used, self.n_rows, self.n_without_weight)
        why = f" ({self.stopped})" if self.stopped else ""
        name = ESTIMATORS[self.estimator].__name__
        done = f"{self.n_tried} of {self.n_settings} settings{why}"
        return f"{name}: {done}, {self.folds} folds of {rows}, {duration(self.seconds)}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON can hold; ``pandas.DataFrame(result.to_dict()["table"])`` is a frame.

        Examples
        --------
        >>> from votron.tuning import TuningResult, TuningRow
        >>> result = TuningResult("averaged", (TuningRow({"epochs": 1}, (0.25, 0.5), 0.5),), 2, 8, 8, 1, 1, (), 1.5)
        >>> result.to_dict()["table"]
        [{'epochs': 1, 'error': 0.375, 'standard_error': 0.125, 'errors': [0.25, 0.5], 'fit_seconds': 0.5, 'rows': 0}]
        """
        best, several = self.best_row, len({row.estimator for row in self.table}) > 1
        return {
            "estimator": self.estimator,
            "best": plain(self.best),
            "best_error": best.error,
            "best_standard_error": best.standard_error,
            "one_standard_error": self.one_standard_error,
            "folds": self.folds,
            "rows": self.n_rows,
            "rows_without_weight": self.n_without_weight,
            "rows_used": self.n_used,
            "settings": self.n_settings,
            "settings_tried": self.n_tried,
            "stopped": self.stopped,
            "skipped": [{"params": plain(params), "reason": why} for params, why in self.skipped],
            "seconds": self.seconds,
            "table": [
                plain(row.params)
                | {"error": row.error, "standard_error": row.standard_error}
                | {"errors": list(row.errors), "fit_seconds": row.seconds, "rows": row.n_rows}
                | ({"estimator": row.estimator} if several else {})
                for row in self.table
            ],
        }


def _cells(row: TuningRow, names: list[str]) -> list[str]:
    return [shown(row.params[name]) if name in row.params else "" for name in names]


def _numbers(row: TuningRow) -> list[str]:
    return [f"{100 * row.error:.2f}", f"{100 * row.standard_error:.2f}", f"{row.seconds:.1f}"]


def _phrase(params: Params) -> str:
    return ", ".join(f"{name}={shown(value)}" for name, value in params.items())
