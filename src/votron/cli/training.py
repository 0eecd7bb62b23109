"""The arguments of `votron train`, its outcome and its summary."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click
import numpy as np

from votron._util.frames import plain_labels
from votron._util.pipelines import classifier_of, rows_for_classifier, summary_of, weighs_classes
from votron._util.text import counted, first_of, percent, percent_range, rounded_bytes
from votron._util.types import Array, Estimator, Label, Params, RowsLike
from votron.cli.output import Output
from votron.cli.reading import FileRows, WeightColumn, base_name, reading_options
from votron.evaluate.confusion import Confusion, beside_majority, rarest_in_words

if TYPE_CHECKING:
    from votron.data import Examples
    from votron.plots.training import RulesOverTime
    from votron.theory import Certificate

_LONG = 5.0
"""Seconds of training from which a linear model is looked at beside."""
_SAMPLE = 2000
"""Rows for that look."""
_FEWEST_ROWS, _HIGH_ERROR = 100, 0.1
"""Rows from which, and training error above which, a remark names what may help."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """The arguments of `votron train`."""

    command: str
    data: str
    label: str | None
    output: str
    test: str | None
    curve: str | None
    sample_weight: str | None
    certificate: bool
    tune: float | None
    score: str
    resume: str | None
    keep_names: str | None
    stream: bool
    passes: int | None
    batch: int | None
    dask: str | None
    estimator: str
    params: Params
    reading: Params
    table: Params
    out: Output

    @property
    def options(self) -> Params:
        """Options for reading the data."""
        return reading_options(self.reading, self.table, self.label)

    @property
    def share(self) -> float | None:
        """The share of the rows to hold out, if --test is one."""
        try:
            share = float(self.test or "")
        except ValueError:
            return None
        if not 0 < share < 1:
            raise click.UsageError(f"--test must be a number between 0 and 1, or a file. Got {self.test!r} instead.")
        if self.stream or self.dask is not None:
            raise click.UsageError("--test must be a file with --stream and --dask.")
        return share


@dataclass
class TrainingOutcome:
    """A model, and what there is to say of it."""

    model: Estimator
    examples: Examples
    """The examples, or the last batch of them: their format and label."""
    n_read: int
    n_rows: int
    seconds: float
    column: WeightColumn | None = None
    rows: FileRows | None = None
    """The rows that were trained on, where they are in memory."""
    held: FileRows | None = None
    provenance: Params = field(default_factory=dict)
    error: Params = field(default_factory=dict)
    certificate: Certificate | None = None
    remarks: dict[str, str] = field(default_factory=dict)
    tried: str = ""
    """The settings that --tune tried, as a table."""
    tuning: Params | None = None

    @property
    def estimator(self) -> Estimator:
        """The classifier itself."""
        return classifier_of(self.model)


def estimator_of(name: str, params: Params) -> Estimator:
    """Return the estimator with the parameters that were typed, checked; the seed only if it takes one."""
    from votron.estimators import ESTIMATORS
    from votron.kernels import KERNELS
    from votron.kernels.base import kernel_class

    cls = ESTIMATORS[name]
    known = cls().get_params()
    for each in params:
        if each not in known and each != "random_state":
            owners = [owner for owner, other in ESTIMATORS.items() if each in other().get_params()]
            option = f"--{each.replace('_', '-')}"
            raise click.UsageError(f"{option} is for --estimator {' and '.join(owners)}, and not for {name}.")
    estimator = cls(**{each: value for each, value in params.items() if each in known})
    estimator._validate_params()
    kernel = kernel_class(getattr(estimator, "kernel", None))
    for each in params if kernel is not None else ():
        readers = [other for other, found in KERNELS.items() if each in found.parameters()]
        if kernel is not None and readers and kernel.name not in readers:
            raise click.UsageError(f"--{each} is not for --kernel {kernel.name}: add --kernel {' or '.join(readers)}.")
    return estimator


def fit(model: Estimator, rows: FileRows) -> None:
    """Train, with weights if rows have any; Ctrl-C ends a search with the best so far."""
    name = "model__sample_weight" if hasattr(model, "steps") else "sample_weight"
    try:
        model.fit(rows.X, rows.y, **({} if rows.weights is None else {name: rows.weights}))
    except KeyboardInterrupt:
        if getattr(classifier_of(model), "stopped_", "") != "interrupted":
            raise


# -- errors and remarks -----------------------------------------------------------------------------------------------


def errors_of(model: Estimator, batches: Iterable[tuple[RowsLike, Array]], curve: RulesOverTime | None) -> Params:
    """Return how often a model errs on batches of rows, which may be read once only; count what a curve draws."""
    counts = Confusion()
    for X, y in batches:
        counts.add(y, np.asarray(model.predict(X)))
        if curve is not None:
            curve.add(rows_for_classifier(model, X), y)
    means = counts.means(counts.labels(plain_labels(classifier_of(model).classes_)))
    return {
        "wrong": counts.wrong,
        "rows": counts.n,
        "error": counts.error,
        "interval": list(counts.interval()),
        "majority": counts.majority,
        "balanced_accuracy": means["balanced_accuracy"],
        "rarest": counts.rarest,
    }


def faster_linear(model: Estimator, rows: FileRows, seconds: float, seed: int) -> list[str]:
    """Return a remark if a linear model errs as rarely on held-out rows of a sample, in a fraction of the time."""
    from sklearn.base import clone

    from votron.estimators import AveragedPerceptronClassifier, held_out_split

    estimator, n = classifier_of(model), len(rows.y)
    if seconds < _LONG or getattr(estimator, "kernel", "linear") == "linear":
        return []
    rows = rows.take(np.sort(np.random.RandomState(seed).permutation(n)[:_SAMPLE]))
    if np.unique(rows.y, return_counts=True)[1].min() < 2:
        return []
    kept, held = map(rows.take, held_out_split(rows.y, len(rows.y) // 4, seed, every_class_trained=True))
    errors = []
    for each in (clone(estimator), AveragedPerceptronClassifier(random_state=seed)):
        start = time.monotonic()
        tried = type(model)([*clone(model).steps[:-1], ("model", each)]) if hasattr(model, "steps") else each
        errors.append(float(np.mean(tried.fit(kept.X, kept.y).predict(held.X) != held.y)))
        on_all = (time.monotonic() - start) * n / len(kept.y)
    if errors[1] > errors[0] or 2 * on_all > seconds:
        return []
    return [
        f"On {len(held.y):,} held-out rows of a sample, --estimator averaged errs as rarely "
        f"({percent(errors[1])}, against {percent(errors[0])}), and trains much faster."
    ]


def many_mistakes(trained: TrainingOutcome) -> list[str]:
    """Return what may help a model that errs on many of its training rows."""
    error = trained.error
    if error.get("on") != "training" or error["rows"] < _FEWEST_ROWS or error["error"] <= _HIGH_ERROR:
        return []
    helps = ": `votron train --tune` looks for better parameters"
    if trained.tuning is not None:
        helps = ", with the best parameters that were tried: other features may help"
    elif not hasattr(trained.estimator, "kernel"):
        helps = ": --estimator voted, with a kernel, may help"
    return [f"The model errs on {percent(error['error'])} of the rows that it was trained on{helps}."]


# -- the summary ------------------------------------------------------------------------------------------------------


def summary(job: Job, trained: TrainingOutcome, size: int) -> dict[str, str]:
    """Return the summary as names and values; --verbose has the rest."""
    estimator = trained.estimator
    classes = list(map(str, estimator.classes_.tolist()))
    features = counted(int(estimator.n_features_in_), "feature")
    words = {
        "data": f"{base_name(job.data)}: {counted(trained.n_rows, 'row')}, {features}",
        "classes": f"{len(classes)}: {first_of(classes, 10)}",
        "estimator": f"{job.estimator} ({type(estimator).__name__})",
        **weights_words("" if trained.column is None else trained.column.words, estimator),
        **_training_words(estimator, (trained.provenance.get("test") or {}).get("seed")),
        **_error_words(trained),
        "seconds": f"{trained.seconds:.2f}",
    }
    if job.stream:
        words["epochs"] = counted(job.passes or 1, "pass", "passes")  # the classifier counts calls, one a batch
    if job.out.verbose:
        words |= {name: str(value) for name, value in estimator.get_params().items() if name != "verbose"}
    name = "standard output" if job.output == "-" else job.output
    return words | trained.remarks | {"model": f"{name}, {rounded_bytes(size)}"}


def _error_words(trained: TrainingOutcome) -> dict[str, str]:
    error = trained.error
    if not error:
        return {}
    wrong = f"{percent(error['error'])}, {error['wrong']:,} of {counted(error['rows'], 'row')}"
    interval = f"; 95 % interval {percent_range(error['interval'])}" if error["on"] == "test" else ""
    weighed = weighs_classes(trained.estimator, trained.provenance)
    rarest = rarest_in_words(error["rarest"], weighed=weighed, of=f" of the {error['on']} rows")
    words = {
        f"{error['on']} error": wrong + interval,
        "majority": beside_majority(error["wrong"], error["majority"], by_error=bool(rarest)),
    }
    return words | ({"rarest": f"{rarest}; balanced accuracy {percent(error['balanced_accuracy'])}"} if rarest else {})


def weights_words(rows: str, estimator: Estimator) -> dict[str, str]:
    """Return the weights that a model was trained with, and margins by class; nothing if there were none."""
    class_weight, margin = getattr(estimator, "class_weight", None), getattr(estimator, "margin", None)
    of_classes = "" if class_weight is None else f"of classes {_by_class(class_weight)}"
    words = ", ".join(filter(None, [rows, of_classes]))
    return ({"weights": words} if words else {}) | ({"margins": _by_class(margin)} if isinstance(margin, dict) else {})


def _by_class(values: str | Mapping[Label, float]) -> str:
    return values if isinstance(values, str) else ",".join(f"{label}={value:g}" for label, value in values.items())


def _training_words(estimator: Estimator, seed: int | None) -> dict[str, str]:
    """Return how training went, as far as this classifier tells."""
    known, words = summary_of(estimator), {}
    if "kernel" in known:
        words["kernel"] = known["kernel"]
    if "rule" in known:
        words["rule"] = known["rule"] + (", vectors of length 1" if estimator.normalize_vectors else "")
    if hasattr(estimator, "n_epochs_"):
        words["epochs"] = f"{estimator.n_epochs_:g}" + (", the last without a mistake" if known["converged"] else "")
        if getattr(estimator, "validation_moments_", None) is not None:  # the record ends at the best moment
            kept = known["steps"] / known["examples"]
            words["epochs"] += f"; the model is that of epoch {kept:g}, the best on held-out rows"
    if "mistakes" in known:
        words["mistakes"] = f"{int(estimator.n_mistakes_.sum()):,}"
    if "support" in known:
        words["support"] = counted(known["support"], "row")
    seed = getattr(estimator, "random_state", None) if seed is None else seed
    return words | ({} if seed is None else {"random state": str(seed)})


def document(job: Job, trained: TrainingOutcome, size: int) -> Params:
    """Return the summary for machines."""
    estimator, error = trained.estimator, trained.error
    found: Params = {
        **summary_of(estimator),
        "model": job.output,
        "bytes": size,
        "estimator": type(estimator).__name__,
        "params": {name: value for name, value in estimator.get_params().items() if name != "verbose"},
        "classes": estimator.classes_,
        "rows": trained.n_rows,
        "seconds": trained.seconds,
        f"{error.get('on', 'training')}_error": error or None,
        "certificate": None if trained.certificate is None else trained.certificate.to_dict(),
        "provenance": trained.provenance,
    }
    found |= {} if trained.tuning is None else {"tuned": trained.tuning}
    return found | ({} if trained.column is None else {"sample_weight": trained.column.facts})
