"""Support vector machines beside the perceptron: one a label, hard margin, the same kernel."""

from __future__ import annotations

import importlib
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.svm import SVC

from votron._util.files import write_text
from votron.data import ImageSet
from votron.papers.runs import RunStore, vector_labels
from votron.theory import compression_bound

__all__ = ["MachineResult", "machines"]

HARD = 1e6
"""C, beside kernel values of at most one: no coefficient gets near it where the data are separable."""


@dataclass(frozen=True)
class MachineResult:
    """The machine of one label against the rest.

    Examples
    --------
    >>> MachineResult("a1b2", 4, 0, "scikit-learn SVC", 60_000, 0.2, 1379, 60.0).bound(0.05).__round__(1)
    11.2
    """

    data: str
    degree: int
    label: int
    solver: str
    n_examples: int
    error: float
    n_support: int
    seconds: float

    def bound(self, delta: float) -> float:
        """Return the bound (7), in percent; infinite where all examples are support vectors."""
        if self.n_support >= self.n_examples:
            return math.inf
        return 100 * compression_bound(self.n_examples, self.n_support, delta)


def fast_svc() -> Any | None:
    """Return sklearnex's SVC; None where it is not installed."""
    try:
        return importlib.import_module("sklearnex.svm").SVC
    except ImportError:
        return None


def solver() -> tuple[str, Any]:
    """Return the fastest SVC that is installed, and its name."""
    fast = fast_svc()
    return ("scikit-learn SVC", SVC) if fast is None else ("sklearnex SVC", fast)


def machines(
    data: ImageSet, store: RunStore, *, degree: int = 4, progress: Callable[[int, int], None] = lambda done, total: None
) -> list[MachineResult]:
    """Return the machine of each label, from the store or trained now and kept.

    Examples
    --------
    >>> import tempfile
    >>> from votron.data import load_image_set
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = machines(load_image_set("digits"), RunStore(folder), degree=2)
    >>> len(found), found[0].n_support < 120
    (10, True)
    """
    labels = vector_labels(data.y)
    found = []
    for c in range(len(labels)):
        kept = _kept(store, data.digest, degree, c)
        if kept is None:
            progress(c, len(labels))
            kept = _trained(data, labels, c, degree)
            write_text(
                _path(store, data.digest, degree, c), json.dumps(asdict(kept), indent=1) + "\n", make_folders=True
            )
        found.append(kept)
    return found


def all_kept(data: ImageSet, store: RunStore, degree: int) -> bool:
    """Tell whether there is nothing left to train."""
    return all(_kept(store, data.digest, degree, c) is not None for c in range(len(vector_labels(data.y))))


def _path(store: RunStore, digest: str, degree: int, label: int) -> Any:
    return store.folder / f"{digest[:12]}-svm-d{degree}-label{label}.json"


def _kept(store: RunStore, digest: str, degree: int, label: int) -> MachineResult | None:
    try:
        read = json.loads(_path(store, digest, degree, label).read_text(encoding="utf-8"))
        result = MachineResult(**read)
    except (OSError, ValueError, TypeError):
        return None
    return result if (result.data, result.degree, result.label) == (digest, degree, label) else None


def _trained(data: ImageSet, labels: list[Any], label: int, degree: int) -> MachineResult:
    """Train one. Pixels are scaled so that kernel values are at most about one; that changes no hyperplane."""
    name, machine = solver()
    X, X_test = data.X.astype(np.float64), data.X_test.astype(np.float64)
    largest = float((X**2).sum(axis=1).max()) + 1.0
    start = time.perf_counter()
    model = machine(kernel="poly", degree=degree, gamma=1 / largest, coef0=1 / largest, C=HARD, cache_size=1000)
    model.fit(X, data.y == labels[label])
    seconds = time.perf_counter() - start
    error = 100 * float(np.mean(model.predict(X_test) != (data.y_test == labels[label])))
    return MachineResult(data.digest, degree, label, name, len(X), error, len(model.support_), seconds)
