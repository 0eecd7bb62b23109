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
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from votron._pipelines import classifier_of
from votron._sentences import duration, on_one_line, shortened
from votron._types import Index
from votron.comparing.scores import Score
from votron.errors import VotronError
from votron.estimators._search.folds import with_every_class_first
from votron.estimators._search.rows import LabelledRows
from votron.estimators.base import Deadline, OutOfTime
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


@dataclass
class Learner:
    """A model to be fitted on each fold, and what was measured of it."""

    name: str
    model: Any
    scores: list[float] = field(default_factory=list)
    train_seconds: list[float] = field(default_factory=list)
    predict_seconds: list[float] = field(default_factory=list)
    """For 1,000 rows."""
    n_bytes: int = 0
    is_file: bool = False
    remarks: list[str] = field(default_factory=list)
    """What there is to say of how it was trained."""
    did_not_converge: str = ""

    @property
    def classifier(self) -> Any:
        """The classifier itself."""
        return classifier_of(self.model)

    def fitted(self, rows: LabelledRows) -> Any:
        """Return the model, trained on rows; that it did not converge is a remark."""
        weight = {}
        if rows.weight is not None:
            prefix = f"{self.model.steps[-1][0]}__" if hasattr(self.model, "steps") else ""
            weight = {f"{prefix}sample_weight": rows.weight}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = clone(self.model).fit(rows.X, rows.y, **weight)
        for warning in caught:
            if issubclass(warning.category, ConvergenceWarning) and not self.did_not_converge:
                self.did_not_converge = _first_sentence(str(warning.message))
        return model

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

    def warm_up(self, learner: Learner, max_seconds: float | None) -> float:
        """Fit and predict a few rows, so that compiling and importing are in nobody's time; return foretold seconds.

        They are those of all folds, 0 where rows are few. What goes wrong here will go wrong again, where it counts.
        """
        train, _ = self.splits[0]
        codes = np.unique(self.rows.y, return_inverse=True)[1]
        order = with_every_class_first(train, codes, np.random.RandomState(self.seed))
        end = math.inf if max_seconds is None else time.monotonic() + max_seconds
        with warnings.catch_warnings(), Deadline(end, gives_up=True):
            warnings.simplefilter("ignore")
            try:
                self._try(learner, order[: max(_WARM_UP_ROWS, 2 * (codes.max() + 1))])
                if len(train) < _ROWS_FORETOLD:
                    return 0.0
                eighth, quarter = (self._try(learner, order[: len(train) // part]) for part in (8, 4))
            except Exception:
                return 0.0
        power = min(max(math.log2(quarter / max(eighth, 1e-6)), _LEAST_POWER), _MOST_POWER)
        return quarter * float(4**power) * len(self.splits)

    def _try(self, learner: Learner, some: Index) -> float:
        start = time.perf_counter()
        part = self.rows.take(np.sort(some))
        learner.fitted(part).predict(part.X)
        learner.did_not_converge = ""  # of a few rows that says nothing
        return time.perf_counter() - start

    def measure(self, learner: Learner, max_seconds: float | None, report: Callable[[], None]) -> None:
        """Fit a learner on each fold, score and time it; raise `LeftOutError` where that takes too long or fails."""
        start = time.monotonic()
        end = math.inf if max_seconds is None else start + max_seconds
        try:
            if self.rows.weight is not None:
                learner.check_weights()
            for number, split in enumerate(self.splits, start=1):
                with Deadline(end, gives_up=True):
                    self._fold(learner, split)
                report()
                spent = time.monotonic() - start
                foretold = spent / number * len(self.splits) if number == 1 else spent
                if max_seconds is not None and number < len(self.splits) and foretold > max_seconds:
                    raise OutOfTime
        except OutOfTime:
            done = f"{len(learner.scores)} of its {len(self.splits)} folds took {duration(time.monotonic() - start)}"
            raise LeftOutError(f"It takes longer than {duration(max_seconds or 0.0)}: {done}.") from None
        except MemoryError:
            raise LeftOutError("There is not enough memory for it.") from None
        except LeftOutError:
            raise
        except Exception as error:
            raise LeftOutError(_reason(error)) from error

    def _fold(self, learner: Learner, split: Split) -> None:
        train, test = (self.rows.take(at) for at in split)
        start = time.perf_counter()
        model = learner.fitted(train)
        learner.train_seconds.append(time.perf_counter() - start)
        self.score.check(model)
        # The rows of a small fold several times over, of which the first are the fold.
        many = _safe_indexing(test.X, np.resize(np.arange(len(test.y)), max(len(test.y), _PREDICTED_AT_ONCE)))
        start = time.perf_counter()
        predicted = model.predict(many)
        seconds = time.perf_counter() - start
        learner.predict_seconds.append(seconds * _PREDICTED_AT_ONCE / len(predicted))
        labels = np.asarray(predicted)[: len(test.y)]
        learner.scores.append(self.score.measure(model, test.X, test.y, labels, test.scoring))
        if not learner.n_bytes:
            learner.n_bytes, learner.is_file = size_of(model)


def size_of(model: Any) -> tuple[int, bool]:
    """Return the bytes of a fitted model, and whether they are those of a model file: others are pickled."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.votron")
        try:
            save(model, path)
        except VotronError:  # scikit-learn's, or one that no file can hold
            return len(pickle.dumps(model)), False
        return path.stat().st_size, True


def foretold_span(seconds: Sequence[float]) -> tuple[float, float]:
    """Return what learners take together, at least and at most."""
    return sum(seconds) / _UNSURE, sum(seconds) * _UNSURE


def _reason(error: Exception) -> str:
    if isinstance(error, VotronError):
        return on_one_line(str(error))
    return shortened(f"{type(error).__name__}: {on_one_line(str(error)).removesuffix('.')}", _LONGEST) + "."


def _first_sentence(text: str) -> str:
    first = on_one_line(text).split(". ")[0].removesuffix(".")
    return shortened(first, _LONGEST) + "."
