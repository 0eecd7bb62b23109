"""Learners on folds: fitted and timed one after another, each whole, from rows as they are given to labels."""

from __future__ import annotations

import math
import pickle
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from votron._util.pipelines import classifier_of
from votron._util.text import duration, on_one_line, shortened
from votron._util.types import Index
from votron.errors import VotronError
from votron.estimators._search import with_every_class_first
from votron.estimators.base import OutOfTime
from votron.evaluate._rows import LabelledRows
from votron.evaluate.scores import Score
from votron.saving.models import save

Split = tuple[Index, Index]

_WARM_UP_ROWS = 100
_PREDICTED_AT_ONCE = 1000
"""Rows whose prediction is timed, at least: the few of a small fold would show what a call costs, and not a row."""
_ROWS_FORETOLD = 800
"""Training rows from which the time is foretold by fits on an eighth and on a quarter of them."""
_LEAST_POWER, _MOST_POWER = 0.7, 2.5
"""Of rows, by which time may grow."""
_UNSURE = 1.5
_LONGEST = 200


class LeftOutError(Exception):  # the others go on
    """A learner is left out, for the reason that this says."""


@dataclass(frozen=True)
class Fold:
    """What was measured of a learner on one fold."""

    score: float
    train_seconds: float
    predict_seconds: float
    """For 1,000 rows."""
    n_bytes: int | None
    """Of the fitted model on the first fold, where it can be measured; else None."""
    is_file: bool
    did_not_converge: str
    seconds: float
    """Of all of it."""


@dataclass
class Learner:
    """A model to be fitted on each fold, and what was measured of it."""

    name: str
    model: Any
    folds: list[Fold] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """What there is to say of how it was trained."""
    seconds: float = 0.0
    """That it had, for folds and for one that was not finished."""

    @property
    def classifier(self) -> Any:
        """The classifier itself."""
        return classifier_of(self.model)

    @property
    def is_baseline(self) -> bool:
        """Whether it always says the most frequent class, whatever it is called."""
        strategy = self.classifier.strategy if isinstance(self.classifier, DummyClassifier) else ""
        return strategy in ("prior", "most_frequent")

    @property
    def did_not_converge(self) -> str:
        """What the first fit that did not converge said, if there is one."""
        return next((each.did_not_converge for each in self.folds if each.did_not_converge), "")

    def fitted(self, rows: LabelledRows) -> tuple[Any, str]:
        """Return the model, trained on rows, and what was said if it did not converge."""
        weight = {}
        if rows.weight is not None:
            prefix = f"{self.model.steps[-1][0]}__" if hasattr(self.model, "steps") else ""
            weight = {f"{prefix}sample_weight": rows.weight}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = clone(self.model).fit(rows.X, rows.y, **weight)
        said = [str(each.message) for each in caught if issubclass(each.category, ConvergenceWarning)]
        return model, _first_sentence(said[0]) if said else ""

    def check_weights(self) -> None:
        """Refuse weights of rows for a classifier that takes none."""
        if not has_fit_parameter(self.classifier, "sample_weight"):
            raise LeftOutError("It takes no weights of rows.")


@dataclass(frozen=True)
class Course:
    """The folds that all learners go through, and what they are scored by."""

    rows: LabelledRows
    splits: Sequence[Split]
    score: Score
    seed: int

    def warm_up(self, learner: Learner) -> None:
        """Fit and predict a few rows, so that compiling and importing are in nobody's time.

        What goes wrong here will go wrong again, where it counts.
        """
        order, n_classes = self._order
        try:
            self._try(learner, order[: max(_WARM_UP_ROWS, 2 * n_classes)])
        except OutOfTime:
            raise
        except Exception:
            return

    def foretell(self, learner: Learner) -> float:
        """Warm up, and return the seconds of all folds by fits of some rows; 0 where rows are few."""
        self.warm_up(learner)
        order, _ = self._order
        if len(order) < _ROWS_FORETOLD:
            return 0.0
        try:
            eighth, quarter = (self._try(learner, order[: len(order) // part]) for part in (8, 4))
        except OutOfTime:
            raise
        except Exception:
            return 0.0
        power = min(max(math.log2(quarter / max(eighth, 1e-6)), _LEAST_POWER), _MOST_POWER)
        return quarter * float(4**power) * len(self.splits)

    @property
    def _order(self) -> tuple[Index, int]:
        """The training rows of the first fold, some of each class first, and how many classes there are."""
        codes = np.unique(self.rows.y, return_inverse=True)[1]
        order = with_every_class_first(self.splits[0][0], codes, np.random.RandomState(self.seed))
        return order, int(codes.max()) + 1

    def _try(self, learner: Learner, some: Index) -> float:
        start = time.perf_counter()
        part = self.rows.take(np.sort(some))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learner.fitted(part)[0].predict(part.X)
        return time.perf_counter() - start

    def fold(self, learner: Learner, number: int) -> Fold:
        """Fit a learner on a fold, score and time it."""
        began = time.perf_counter()
        train, test = (self.rows.take(at) for at in self.splits[number])
        start = time.perf_counter()
        model, said = learner.fitted(train)
        train_seconds = time.perf_counter() - start
        self.score.check(model)
        # The rows of a small fold several times over, of which the first are the fold.
        many = _safe_indexing(test.X, np.resize(np.arange(len(test.y)), max(len(test.y), _PREDICTED_AT_ONCE)))
        start = time.perf_counter()
        predicted = model.predict(many)
        predict_seconds = (time.perf_counter() - start) * _PREDICTED_AT_ONCE / len(predicted)
        labels = np.asarray(predicted)[: len(test.y)]
        score = self.score.measure(model, test.X, test.y, labels, test.scoring)
        n_bytes, is_file = size_of(model) if number == 0 else (None, False)
        whole = time.perf_counter() - began
        return Fold(score, train_seconds, predict_seconds, n_bytes, is_file, said, whole)


def measure(
    course: Course, learner: Learner, fold: Callable[[int], Fold], end: float, report: Callable[[], None]
) -> None:
    """Take a learner through the folds that it has not seen; raise `LeftOutError` where it fails, with no fold then.

    `OutOfTime` is handed on: the folds that are done are kept, so that it can go on with the others later.
    """
    start, n_folds = time.monotonic(), len(course.splits)
    try:
        if course.rows.weight is not None:
            learner.check_weights()
        while len(learner.folds) < n_folds:
            learner.folds.append(fold(len(learner.folds)))
            report()
            each = sum(done.seconds for done in learner.folds) / len(learner.folds)
            if time.monotonic() + each * (n_folds - len(learner.folds)) > end:
                raise OutOfTime
    except (LeftOutError, OutOfTime):
        raise
    except Exception as error:
        learner.folds.clear()
        raise LeftOutError(reason_of(error)) from error
    finally:
        learner.seconds += time.monotonic() - start


def out_of_time(learner: Learner, n_folds: int) -> str:
    """Return why a learner is left out that was not finished in time."""
    done = f"{len(learner.folds)} of its {n_folds} folds"
    return f"It takes longer than there was time for: {done} took {duration(learner.seconds)}."


def size_of(model: Any) -> tuple[int | None, bool]:
    """Return the bytes of a fitted model, and whether they are those of a model file: others are pickled.

    Of a model that cannot be stored, say since it has a function without a name, there are none.

    Examples
    --------
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> size_of(FunctionTransformer(lambda X: X))
    (None, False)
    """
    try:
        return _file_size(model), True
    except Exception:  # scikit-learn's, or one that no file can hold
        try:
            return len(pickle.dumps(model)), False
        except Exception:  # whatever the pickling of anybody's class may raise: a size decides nothing
            return None, False


def _file_size(model: Any) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.votron")
        save(model, path)
        return path.stat().st_size


def foretold_span(seconds: Sequence[float]) -> tuple[float, float]:
    """Return what learners take together, at least and at most."""
    return sum(seconds) / _UNSURE, sum(seconds) * _UNSURE


def reason_of(error: Exception) -> str:
    """Return why a learner is left out that has failed."""
    if isinstance(error, MemoryError):
        return "There is not enough memory for it."
    if isinstance(error, VotronError):
        return on_one_line(str(error))
    return shortened(f"{type(error).__name__}: {on_one_line(str(error)).removesuffix('.')}", _LONGEST) + "."


def _first_sentence(text: str) -> str:
    first = on_one_line(text).split(". ")[0].removesuffix(".")
    return shortened(first, _LONGEST) + "."
