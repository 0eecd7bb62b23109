"""Finished runs, and a support vector machine for each label: the numbers of tables, figures and claims."""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.svm import SVC

from votron._util.progress import counting
from votron._util.types import Floats
from votron.data import ImageSet
from votron.papers import LABEL_DEGREE
from votron.papers.runs import RunResult, Store, vector_labels
from votron.theory import compression_bound

MOMENTS = (0.1, 1.0, 2.0, 3.0, 4.0, 10.0, 30.0)
"""The paper's moments T, in epochs."""
DELTA = 0.05
"""The probability with which the bound (7) may fail."""

HARD = 1e6
"""C: kernel values are at most one, so no coefficient gets near it on separable data."""
MOST_FOR_SLOW_SVC = 10_000
"""Examples up to which scikit-learn's own SVC is quick enough."""


@dataclass(frozen=True)
class MachineResult:
    """The machine of one label against the rest; its error in percent."""

    solver: str
    n_examples: int
    error: float
    n_support: int
    seconds: float

    @property
    def bound(self) -> float:
        """The bound (7), in percent."""
        return bound(self.n_examples, self.n_support)


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


def bound(n_examples: int, n_support: int) -> float:
    """Return the bound (7), in percent; infinite where all examples are support vectors."""
    return 100 * compression_bound(n_examples, n_support, DELTA) if n_support < n_examples else math.inf


def fast_svc() -> type[SVC] | None:
    """Return sklearnex's SVC; None where it is not installed."""
    try:
        found: type[SVC] = importlib.import_module("sklearnex.svm").SVC
    except ImportError:
        return None
    return found


def machines(data: ImageSet, store: Store, *, quiet: bool = False) -> list[MachineResult]:
    """Return the machine of each label, from the store or trained now; none if that would take hours."""
    labels = vector_labels(data.y)
    names = [f"{data.digest[:12]}-svm-d{LABEL_DEGREE}-label{c}" for c in range(len(labels))]
    found = [store.get(name, MachineResult) for name in names]
    if None in found and fast_svc() is None and len(data.X) > MOST_FOR_SLOW_SVC:
        return []
    with counting(len(labels), "support vector machines", enabled=not quiet) as progress:
        for c, name in enumerate(names):
            if found[c] is None:
                progress(c)
                found[c] = _trained(data, labels[c])
                store.put(name, found[c])
    return [result for result in found if result is not None]


def _trained(data: ImageSet, label: int) -> MachineResult:
    """Train one; pixels are scaled so that kernel values are at most about one, which changes no hyperplane."""
    fast = fast_svc()
    X, X_test = data.X.astype(np.float64), data.X_test.astype(np.float64)
    scale = 1.0 / (float((X**2).sum(axis=1).max()) + 1.0)
    start = time.perf_counter()
    model = (fast or SVC)(kernel="poly", degree=LABEL_DEGREE, gamma=scale, coef0=scale, C=HARD, cache_size=1000)
    model.fit(X, data.y == label)
    seconds = time.perf_counter() - start
    error = 100 * float(np.mean(model.predict(X_test) != (data.y_test == label)))
    name = "sklearnex SVC" if fast else "scikit-learn SVC"
    return MachineResult(name, len(X), error, len(model.support_), seconds)
