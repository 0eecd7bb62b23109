"""What tables, figures and claims are made of: finished runs, support vector machines, and their data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from votron._util.types import Floats
from votron.data import ImageSet
from votron.papers.machines import MachineResult
from votron.papers.runs import RunResult, vector_labels
from votron.theory import compression_bound

__all__ = ["DELTA", "MOMENTS", "Results", "mean_and_error"]

MOMENTS = (0.1, 1.0, 2.0, 3.0, 4.0, 10.0, 30.0)
"""The paper's moments T, in epochs."""
DELTA = 0.05
"""The probability with which the bound (7) may fail."""


@dataclass(frozen=True, eq=False)
class Results:
    """Runs by degree, one per permutation, and the support vector machine of each label, if they were trained."""

    data: ImageSet
    runs: Mapping[int, Sequence[RunResult]]
    machines: Sequence[MachineResult] = ()

    @property
    def is_mnist(self) -> bool:
        """Whether the data are those of the papers."""
        return self.data.name == "mnist"

    @property
    def labels(self) -> list[int]:
        """The label of each vector."""
        return vector_labels(self.data.y)

    def end(self, degree: int) -> float:
        """Return the number of epochs that the runs of a degree were to take."""
        return self.runs[degree][0].key.epochs

    def values(self, degree: int, row: str, moment: float | None = None, label: int | None = None) -> Floats:
        """Return a row of the tables at a moment, or at the end: one number per permutation."""
        moment = self.end(degree) if moment is None else moment
        return np.array([run.curve(row, label)[run.at(moment)] for run in self.runs[degree]])

    def mean(self, degree: int, row: str, moment: float | None = None) -> float:
        """Return the mean of `values`."""
        return float(self.values(degree, row, moment).mean())

    def band(self, degree: int, row: str) -> tuple[Floats, Floats, Floats]:
        """Return mean, least and greatest over permutations of a row, each at all moments."""
        values = np.array([run.curve(row) for run in self.runs[degree]])
        return values.mean(axis=0), values.min(axis=0), values.max(axis=0)

    def bounds(self, degree: int, label: int) -> Floats:
        """Return the bound (7) on a label's error, in percent, one per run; infinite where there is none.

        It is about a vector that is right on all training examples, and so about converged runs only.
        """
        m, out = len(self.data.X), []
        for run, support in zip(self.runs[degree], self.values(degree, "SupVec", label=label), strict=True):
            exists = run.converged and support < m
            out.append(100 * compression_bound(m, int(support), DELTA) if exists else math.inf)
        return np.array(out)


def mean_and_error(values: Floats) -> tuple[float, float | None]:
    """Return the mean of one number per permutation and its standard error, which a single one does not have.

    Examples
    --------
    >>> mean_and_error(np.array([1.0, 2.0, 3.0]))
    (2.0, 0.5773502691896258)
    """
    error = float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None
    return float(values.mean()), error
