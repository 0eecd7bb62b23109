"""Finished runs and support vector machines, from which tables, figures and claims are made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from votron._util.types import Floats
from votron.data import ImageSet
from votron.papers.machines import MachineResult, bound
from votron.papers.runs import RunResult, vector_labels

__all__ = ["MOMENTS", "Results", "mean_and_error"]

MOMENTS = (0.1, 1.0, 2.0, 3.0, 4.0, 10.0, 30.0)
"""The paper's moments T, in epochs."""


@dataclass(frozen=True, eq=False)
class Results:
    """Runs by degree, one per permutation, and the support vector machine of each label, if they were trained."""

    data: ImageSet
    runs: Mapping[int, Sequence[RunResult]]
    machines: Sequence[MachineResult] = ()

    @property
    def is_mnist(self) -> bool:
        return self.data.name == "mnist"

    @property
    def labels(self) -> list[int]:
        return vector_labels(self.data.y)

    def end(self, degree: int) -> float:
        return self.runs[degree][0].key.epochs

    def values(self, degree: int, row: str, moment: float | None = None, label: int | None = None) -> Floats:
        """Return a row of the tables at a moment, or at the end: one number per permutation."""
        moment = self.end(degree) if moment is None else moment
        return np.array([run.curve(row, label)[run.at(moment)] for run in self.runs[degree]])

    def mean(self, degree: int, row: str, moment: float | None = None) -> float:
        return float(self.values(degree, row, moment).mean())

    def band(self, degree: int, row: str) -> tuple[Floats, Floats, Floats]:
        """Return mean, minimum and maximum of a row over permutations, at all moments."""
        values = np.array([run.curve(row) for run in self.runs[degree]])
        return values.mean(axis=0), values.min(axis=0), values.max(axis=0)

    def bounds(self, degree: int, label: int) -> Floats:
        """Return the bound (7) on a label's error, in percent, one per run; infinite unless the run converged."""
        m, supports = len(self.data.X), self.values(degree, "SupVec", label=label)
        return np.array(
            [
                bound(m, int(support)) if run.converged else math.inf
                for run, support in zip(self.runs[degree], supports, strict=True)
            ]
        )


def mean_and_error(values: Floats) -> tuple[float, float | None]:
    """Return the mean over permutations and its standard error; None for one permutation."""
    error = float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None
    return float(values.mean()), error
