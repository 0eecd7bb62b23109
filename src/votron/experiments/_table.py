"""The table of Freund & Schapire's experiments: rules by moments of training, with support vectors and mistakes.

Input: training and test data, a setting.
Output: a `RuleTable`, from one fit a permutation and one scan over each record.
Reference: Freund & Schapire (1999), section 5, Table 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from votron import VotedPerceptronClassifier
from votron._cells import as_markdown, as_text

__all__ = ["COUNTS", "MOMENTS", "RULES", "RuleTable", "Setting", "as_markdown", "as_text", "cells", "make_table"]

MOMENTS = (0.1, 1.0, 2.0, 3.0, 4.0, 10.0, 30.0)
"""The paper's moments T, in epochs."""

RULES: dict[str, tuple[str, bool]] = {
    "Vote": ("vote", False),
    "Avg (unnorm)": ("average", False),
    "Avg (norm)": ("average", True),
    "Last (unnorm)": ("last", False),
    "Last (norm)": ("last", True),
    "Rand (unnorm)": ("random", False),
    "Rand (norm)": ("random", True),
}
"""The paper's names of its seven rules, and ours."""

COUNTS = ("SupVec", "Mistake")
"""The rows below the rules: distinct examples with a mistake, and mistakes summed over the classes."""

Data = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
"""Training images and labels, test images and labels."""


@dataclass(frozen=True)
class Setting:
    """What is run: the kernel (1 + x·z)^degree, the moments, and permutations with seeds seed, seed + 1, ..."""

    degree: int = 4
    epochs: float = 30.0
    seed: int = 0
    permutations: int = 1
    moments: tuple[float, ...] = MOMENTS

    @property
    def reached(self) -> tuple[float, ...]:
        """The moments that lie within training, and its end."""
        return tuple(sorted({t for t in self.moments if t < self.epochs} | {float(self.epochs)}))

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the permutations."""
        return tuple(range(self.seed, self.seed + self.permutations))

    def model(self, seed: int, verbose: int = 0) -> VotedPerceptronClassifier:
        """Return the classifier of one permutation, not yet fitted."""
        return VotedPerceptronClassifier(
            kernel="poly",
            degree=self.degree,
            gamma=1.0,
            coef0=1.0,
            epochs=self.epochs,
            random_state=seed,
            verbose=verbose,
        )


@dataclass(frozen=True)
class RuleTable:
    """The table as data.

    Attributes
    ----------
    setting : Setting
        What was run.
    rows : dict
        For each rule the test errors in percent, for each of `COUNTS` the counts, one a moment: means.
    train_seconds : tuple of float
        Training time of each permutation.
    scan_seconds : tuple of float
        Time of each permutation's scan over the test data, which gives all rules at all moments.
    stopped_after : tuple of float
        Epochs after which each permutation had nothing left to learn, or reached its end.
    """

    setting: Setting
    rows: dict[str, tuple[float, ...]]
    train_seconds: tuple[float, ...]
    scan_seconds: tuple[float, ...]
    stopped_after: tuple[float, ...]

    def at(self, row: str, moment: float) -> float:
        """Return one cell."""
        return self.rows[row][self.setting.reached.index(moment)]


def make_table(
    data: Data,
    setting: Setting,
    *,
    rules: Sequence[str] = tuple(RULES),
    verbose: int = 0,
    progress: Callable[[int], None] = lambda done: None,
) -> RuleTable:
    """Train each permutation once and return the table.

    Parameters
    ----------
    data : tuple of arrays
        Training images and labels, test images and labels.
    setting : Setting
        What to run.
    rules : sequence of str
        Which rows of `RULES`.
    verbose : int
        Passed on to the classifier.
    progress : callable
        Told how many permutations are done.
    """
    X, y, X_test, y_test = data
    tables, train_seconds, scan_seconds, stopped_after = [], [], [], []
    for done, seed in enumerate(setting.seeds):
        progress(done)
        start = time.perf_counter()
        model = setting.model(seed, verbose).fit(X, y)
        trained = time.perf_counter()
        tables.append(_rows_of(model, X_test, y_test, setting.reached, rules))
        train_seconds.append(trained - start)
        scan_seconds.append(time.perf_counter() - trained)
        stopped_after.append(model.n_epochs_)
    progress(setting.permutations)
    mean = np.mean(tables, axis=0)
    rows = {name: tuple(float(v) for v in mean[i]) for i, name in enumerate([*rules, *COUNTS])}
    return RuleTable(setting, rows, tuple(train_seconds), tuple(scan_seconds), tuple(stopped_after))


def _rows_of(
    model: VotedPerceptronClassifier, X: NDArray[Any], y: NDArray[Any], moments: Sequence[float], rules: Sequence[str]
) -> NDArray[np.float64]:
    """Return errors and counts of one model, a row each, from one scan over its record."""
    out = np.empty((len(rules) + len(COUNTS), len(moments)))
    stages = model.staged_decision_function(X, at=moments, rules=[RULES[name] for name in rules])
    for i, (_, scores) in enumerate(stages):
        for k, name in enumerate(rules):
            out[k, i] = 100 * np.mean(_labels(model, scores[RULES[name]]) != y)
    record = model.record_
    _, first = np.unique(record.example, return_index=True)
    steps = [round(t * record.n_examples) for t in moments]
    out[-2] = np.searchsorted(np.sort(record.time[first]), steps, side="right")
    out[-1] = np.searchsorted(record.time, steps, side="right")
    return out


def _labels(model: VotedPerceptronClassifier, scores: NDArray[np.float64]) -> NDArray[Any]:
    codes = scores.argmax(axis=1) if scores.ndim == 2 else (scores >= 0).astype(np.int64)
    return np.asarray(model.classes_[codes])


# -- showing it -----------------------------------------------------------------------------------------------------

Published = Mapping[str, Mapping[str, Mapping[float, Any]]]
"""For each paper its numbers, by row and moment."""


def cells(table: RuleTable, published: Published | None = None) -> list[list[str]]:
    """Return the table as text, the head first; what papers print stands below our own row."""
    out = [["T", *(f"{t:g}" for t in table.setting.reached)]]
    for name, values in table.rows.items():
        form = "{:,.0f}" if name in COUNTS else "{:.2f}"
        out.append([name, *(form.format(v) for v in values)])
        for paper, facts in (published or {}).items():
            if name in facts:
                out.append([f"  {paper}", *(str(facts[name].get(t, "")) for t in table.setting.reached)])
    return out
