"""Training runs of the papers' experiments, and a support vector machine for each label, with the numbers of both.

A run is all rules, moments and labels from one fit and one scan. Finished results are kept in a folder, one file each,
so that an interrupted command can resume. Those that are missing are done in parallel, by processes of this machine or
by the workers of a Dask cluster.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import joblib
import msgspec
import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from votron._util.files import write_bytes
from votron._util.progress import counting
from votron._util.resources import available_memory, effective_threads
from votron._util.types import Array, Client, Floats, Index, Labels, Params
from votron.data import ImageSet
from votron.errors import VotronError
from votron.estimators.voted import VotedPerceptronClassifier
from votron.papers import LABEL_DEGREE
from votron.record import MistakeRecord, labels_of
from votron.theory import compression_bound

T = TypeVar("T")
BYTES_A_RUN = 1 << 30
"""Memory for a run on 60,000 images; fewer images need less."""
SHARE_OF_MEMORY = 0.6
"""Share of the free memory for all runs together."""
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
"""The rows of the tables that are counts: distinct examples with a mistake, and mistakes."""
LINES = {
    "Rand (unnorm)": ("random", "#a3a3a3"),
    "Last (unnorm)": ("last", "#dd8330"),
    "Avg (unnorm)": ("average", "#3f9a6a"),
    "Vote": ("vote", "#1f4e9c"),
}
"""The rules of Figure 2, worst first, with their names and colours."""

Counts = NDArray[np.int32]


@dataclass(frozen=True)
class RunKey:
    """The settings of a run: digest of the data, degree of (1 + x·z)^d, seed of the permutation, epochs."""

    data: str
    degree: int
    seed: int
    epochs: float

    @property
    def name(self) -> str:
        return f"{self.data[:12]}-d{self.degree}-T{self.epochs:.12g}-s{self.seed}"


@dataclass(frozen=True, eq=False)
class RunResult:
    """The counts of one run; moments are in epochs, and each label has one vector (one for two labels)."""

    key: RunKey
    moments: Floats
    wrong: Counts  # (n_rules, n_moments): wrong labels among the test examples
    wrong_by_label: Counts  # (n_rules, n_moments, n_vectors): wrong signs, each label against the rest
    mistakes: Counts  # (n_moments, n_vectors)
    support: Counts  # (n_moments, n_vectors): distinct examples with a mistake
    support_of_any: Counts  # (n_moments,): distinct examples with a mistake of any label
    predicted: NDArray[np.int16]  # (n_rules, n_test): index of the predicted label at the end
    votes: NDArray[np.float32]  # (n_test, n_vectors): mean votes at the end
    n_test: int
    train_seconds: float
    scan_seconds: float
    epochs_run: float
    converged: bool
    digest: str

    def at(self, moment: float) -> int:
        """Return the index of a moment."""
        found = np.flatnonzero(np.isclose(self.moments, moment, rtol=0, atol=1e-9))
        if not len(found):
            raise VotronError(f"The run {self.key.name} has no moment T = {moment:g}.")
        return int(found[0])

    def curve(self, row: str, label: int | None = None) -> Floats:
        """Return a row of the tables at each moment, of all labels or of one: errors in percent, or counts."""
        if row in RULES:
            r = list(RULES).index(row)
            wrong = self.wrong[r] if label is None else self.wrong_by_label[r, :, label]
            return 100.0 * wrong / self.n_test
        if row == "SupVec":
            counts = self.support_of_any if label is None else self.support[:, label]
        else:
            counts = self.mistakes.sum(axis=1) if label is None else self.mistakes[:, label]
        return counts.astype(np.float64)


def vector_labels(labels: Labels) -> list[int]:
    """Return the label of each vector: two classes have one vector, for the second of them."""
    found: list[int] = np.unique(labels).tolist()
    return found[1:] if len(found) == 2 else found


def moments_of(epochs: float, n_examples: int) -> Floats:
    """Return every tenth of an epoch up to the end, and the end: the moments of Figure 2."""
    tenths = [k / 10 for k in range(1, int(epochs * 10 + 1e-9) + 1) if round(k / 10 * n_examples) >= 1]
    return np.array(sorted({*tenths, float(epochs)}))


def perform(key: RunKey, data: ImageSet, *, n_jobs: int | None = None, memory_limit: int | str = "auto") -> RunResult:
    """Train once, scan the test examples once, and count."""
    start = time.perf_counter()
    model = VotedPerceptronClassifier(
        kernel="poly",
        margin=0.0,
        degree=key.degree,
        gamma=1.0,
        epochs=key.epochs,
        random_state=key.seed,
        n_jobs=n_jobs,
        memory_limit=memory_limit,
    ).fit(data.X, data.y)
    trained = time.perf_counter()
    moments = moments_of(key.epochs, model.record_.n_examples)
    return RunResult(
        key=key,
        moments=moments,
        **_scan(model, data, moments),
        **_counts(model.record_, moments),
        n_test=len(data.y_test),
        train_seconds=trained - start,
        scan_seconds=time.perf_counter() - trained,
        epochs_run=float(model.n_epochs_),
        converged=bool(model.converged_),
        digest=model.record_.digest(),
    )


def _scan(model: VotedPerceptronClassifier, data: ImageSet, moments: Floats) -> dict[str, Array]:
    """Return wrong labels, wrong signs of each label, and the labels and votes at the end."""
    classes, answers, n_vectors = model.classes_, data.y_test, model.record_.n_vectors
    truth = answers[:, None] == (classes[1:] if n_vectors == 1 else classes)
    wrong = np.zeros((len(RULES), len(moments)), dtype=np.int32)
    by_label = np.zeros((len(RULES), len(moments), n_vectors), dtype=np.int32)
    predicted = np.zeros((len(RULES), len(answers)), dtype=np.int16)
    votes = np.zeros((len(answers), n_vectors), dtype=np.float32)
    stages = model.staged_decision_function(data.X_test, at=moments, rules=list(RULES.values()))
    for t, (_, scores) in enumerate(stages):
        for r, choice in enumerate(RULES.values()):
            found = scores[choice].reshape(len(answers), -1)
            predicted[r] = labels_of(found)
            wrong[r, t] = np.count_nonzero(classes[predicted[r]] != answers)
            by_label[r, t] = np.count_nonzero((found >= 0) != truth, axis=0)
        votes[:] = scores[RULES["Vote"]].reshape(len(answers), -1)
    return {"wrong": wrong, "wrong_by_label": by_label, "predicted": predicted, "votes": votes}


def _counts(record: MistakeRecord, moments: Floats) -> dict[str, Array]:
    """Return mistakes and support of each label, and support of any label, until each moment."""
    steps = [round(t * record.n_examples) for t in moments]

    def until(times: Index) -> Index:
        return np.searchsorted(np.sort(times), steps, side="right")

    mistakes = np.zeros((len(steps), record.n_vectors), dtype=np.int32)
    support = np.zeros_like(mistakes)
    for c in range(record.n_vectors):
        mine = record.vector == c
        times, examples = record.time[mine], record.example[mine]
        mistakes[:, c] = until(times)
        support[:, c] = until(times[np.unique(examples, return_index=True)[1]])
    of_any = until(record.time[np.unique(record.example, return_index=True)[1]])
    return {"mistakes": mistakes, "support": support, "support_of_any": of_any.astype(np.int32)}


class Store:
    """A folder of results; each is written whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, name: str, kind: type[T]) -> T | None:
        """Return a result, or None if there is none or its file is damaged."""
        try:
            content = (self.folder / f"{name}.msgpack").read_bytes()
            return msgspec.msgpack.decode(content, type=kind, dec_hook=_array_from)
        except (OSError, msgspec.DecodeError):
            return None

    def put(self, name: str, result: object) -> None:
        """Store a dataclass of numbers, texts and arrays."""
        content = msgspec.msgpack.encode(result, enc_hook=_as_parts)
        write_bytes(self.folder / f"{name}.msgpack", content, make_folders=True)


def _as_parts(array: Array) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, array.tobytes()


def _array_from(_: type, parts: tuple[str, tuple[int, ...], bytes]) -> Array:
    kind, shape, content = parts
    return np.frombuffer(content, dtype=kind).reshape(shape)


def perform_missing(
    keys: Sequence[RunKey],
    data: ImageSet,
    store: Store,
    *,
    jobs: int | None = None,
    client: Client = None,
    quiet: bool = False,
) -> dict[RunKey, RunResult]:
    """Return the results of these runs; those that are not in the store are done now, and stored one by one."""
    found = {key: result for key in keys if (result := store.get(key.name, RunResult)) is not None}
    missing = [key for key in keys if key not in found]
    if not missing:
        return found
    workers = min(len(missing), jobs or _that_fit(len(data.X)))
    memory = int(SHARE_OF_MEMORY * available_memory() / workers)
    threads = 1 if client else max(1, effective_threads(None) // workers)
    run = joblib.delayed(perform)
    backend: Params = {"n_jobs": workers}
    if client is not None:
        backend = {"backend": "dask", "client": client, "scatter": [data], "n_jobs": -1}
    with joblib.parallel_config(**backend), counting(len(missing), "runs", enabled=not quiet) as progress:
        progress(0)
        results = joblib.Parallel(return_as="generator_unordered")(
            run(key, data, n_jobs=threads, memory_limit="auto" if client else memory) for key in missing
        )
        try:
            for done, result in enumerate(results, start=1):
                store.put(result.key.name, result)
                found[result.key] = result
                progress(done)
        except BrokenProcessPool:
            raise VotronError(
                "A worker process was killed, perhaps for lack of memory. Finished runs are kept; try --jobs 1."
            ) from None
    return found


def _that_fit(n_examples: int) -> int:
    """Return how many runs processors and memory allow at a time."""
    each = max(1 << 27, BYTES_A_RUN * n_examples // 60_000)
    return max(1, min(effective_threads(None), int(SHARE_OF_MEMORY * available_memory() / each)))


# -- support vector machines, and the numbers of tables, figures and claims --------------------------------------------

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
