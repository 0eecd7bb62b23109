"""Support vector machines for comparison: one per label, hard margin, the perceptron's kernel."""

from __future__ import annotations

import importlib
import math
import time
from dataclasses import dataclass

import numpy as np
from sklearn.svm import SVC

from votron._util.progress import counting
from votron.data import ImageSet
from votron.papers.runs import vector_labels
from votron.papers.settings import LABEL_DEGREE
from votron.papers.store import Store
from votron.theory import compression_bound

__all__ = ["DELTA", "MachineResult", "bound", "fast_svc", "machines"]

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
