"""Classifiers on folds: fitted, scored and timed one after another."""

from __future__ import annotations

import pickle
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_validate
from sklearn.utils import _safe_indexing

from votron._util.pipelines import classifier_of
from votron._util.text import on_one_line, shortened
from votron._util.types import Array, Estimator, Index, RowsLike
from votron.errors import VotronError
from votron.evaluate._rows import LabelledRows
from votron.evaluate.scores import Score
from votron.saving.models import save

_PREDICTED_AT_ONCE = 1000
"""Rows whose prediction is timed, at least: with the few of a small fold the time would be that of a call."""
_LONGEST = 200


@dataclass(frozen=True)
class Fold:
    """The measurements on one fold."""

    score: float
    train_seconds: float
    predict_seconds: float
    """For 1,000 rows."""


@dataclass(eq=False)
class Entry:
    """A classifier in a comparison, and what was measured of it."""

    name: str
    model: Estimator
    folds: list[Fold] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    size: tuple[int | None, bool] | None = None
    left_out: str = ""

    @property
    def classifier(self) -> Estimator:
        """The classifier itself."""
        return classifier_of(self.model)


def run(
    entries: Sequence[Entry],
    rows: LabelledRows,
    splits: Iterable[Sequence[tuple[Index, Index]]],
    score: Score,
    end: float,
    report: Callable[[str], None],
) -> str:
    """Measure all classifiers, one repeat after another; return what stopped it, or nothing."""
    try:
        with _ctrl_c_at_once():
            for repeat in splits:
                for entry in entries:
                    measured: list[Fold] = []
                    for split in repeat if not entry.left_out else ():
                        if time.monotonic() > end:
                            return "out of time"
                        try:
                            measured.append(_measured(entry, rows, split, score))
                        except Exception as error:  # of anybody's class: the others go on
                            entry.left_out = _reason(error)
                            break
                        report(entry.name)
                    entry.folds += measured
    except KeyboardInterrupt:
        return "interrupted"
    return ""


@contextmanager
def _ctrl_c_at_once() -> Iterator[None]:
    """Let Ctrl-C end the fit that runs, also one of Votron's, which would else keep what it has learnt so far."""
    usual = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield
        return
    signal.signal(signal.SIGINT, lambda signum, frame: usual(signum, frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _measured(entry: Entry, rows: LabelledRows, split: tuple[Index, Index], score: Score) -> Fold:
    weights = None if rows.scoring is None else rows.scoring[split[1]]

    def scores(model: Estimator, X: RowsLike, y: Array) -> dict[str, float]:
        return {"score": score.measure(model, X, y, weights), "predict": _predict_seconds(model, X, len(y))}

    params = {}
    if rows.weight is not None:
        prefix = f"{entry.model.steps[-1][0]}__" if hasattr(entry.model, "steps") else ""
        params = {f"{prefix}sample_weight": rows.weight}
    how = {"params": params, "return_estimator": True, "error_score": "raise"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = cross_validate(entry.model, rows.X, rows.y, cv=[split], scoring=scores, **how)
    if any(issubclass(each.category, ConvergenceWarning) for each in caught):
        entry.remarks.append("It did not converge.")
    entry.size = entry.size or _size_of(found["estimator"][0])
    return Fold(float(found["test_score"][0]), float(found["fit_time"][0]), float(found["test_predict"][0]))


def _predict_seconds(model: Estimator, X: RowsLike, n: int) -> float:
    """Return the seconds that 1,000 rows take, made of the rows of a fold, several times over where these are fewer."""
    many = _safe_indexing(X, np.resize(np.arange(n), max(n, _PREDICTED_AT_ONCE)))
    start = time.perf_counter()
    predicted = model.predict(many)
    return (time.perf_counter() - start) * _PREDICTED_AT_ONCE / len(predicted)


def _size_of(model: Estimator) -> tuple[int | None, bool]:
    """Return the bytes of a fitted model, and whether they are those of a model file: others are pickled."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.votron")
            save(model, path)
            return path.stat().st_size, True
    except Exception:  # scikit-learn's, or one that no file can hold
        try:
            return len(pickle.dumps(model)), False
        except Exception:  # whatever the pickling of anybody's class may raise
            return None, False


def _reason(error: Exception) -> str:
    """Return why a classifier is left out that has failed."""
    if isinstance(error, VotronError):
        return on_one_line(str(error))
    return shortened(f"{type(error).__name__}: {on_one_line(str(error)).removesuffix('.')}", _LONGEST) + "."
