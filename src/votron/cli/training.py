"""What `votron train` is asked for, what comes of it, and how that is summarised."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from sklearn.base import clone

from votron._util.frames import plain_labels
from votron._util.pipelines import classifier_of, weighs_classes
from votron._util.text import counted, duration, first_of, percent, percent_range, rounded_bytes
from votron._util.types import Array, Estimator, Params, RowsLike
from votron.cli.output import Notes
from votron.cli.reading import base_name
from votron.cli.weights import WeightColumn
from votron.estimators._watching import announcing_long_work
from votron.evaluate.confusion import Confusion, beside_majority, rarest_in_words

if TYPE_CHECKING:
    from votron.data import Examples

_LONG = 5.0
"""Seconds of training from which a linear model is looked at beside."""
_SAMPLE = 2000
"""Rows for that look."""
_FEWEST_ROWS, _HIGH_ERROR = 100, 0.1
"""Rows from which, and training error above which, a remark names what may help."""
_BESIDE_ERROR = ("on", "majority", "balanced_accuracy", "rarest")
"""What `errors_of` returns that model files do without."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What was typed after `votron train`."""

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
    as_json: bool
    quiet: bool
    verbose: bool
    stream: bool
    passes: int | None
    batch: int | None
    classes: str | None
    dask: str | None
    estimator: str
    params: Params
    reading: Params
    table: Params

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

    @property
    def labels(self) -> Params:
        """Where the labels are, as `votron.data.read_examples` takes it."""
        return {} if self.label is None else {"label": self.label}


@dataclass
class Trained:
    """A model, and what there is to say of it."""

    model: Estimator
    data: Examples
    """The examples, or the last batch of them: their format and label."""
    rows: int
    seconds: float
    error: Params = field(default_factory=dict)
    provenance: Params = field(default_factory=dict)
    certificate: Any = None
    remarks: dict[str, str] = field(default_factory=dict)
    tried: str = ""
    """The settings that --tune tried, as a table."""
    tuning: Params | None = None
    weights: WeightColumn | None = None
    curve: Any = None
    """The errors of the rules over time, for --curve."""

    @property
    def estimator(self) -> Any:
        """The classifier itself."""
        return classifier_of(self.model)


# -- before -----------------------------------------------------------------------------------------------------------


def check_parameters_of(name: str, params: Mapping[str, Any]) -> Any:
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


def long_work(notes: Notes, estimator: Estimator) -> AbstractContextManager[None]:
    """Have it said how long training takes, if that is long."""
    helps = "`--estimator averaged` takes seconds as a rule" if hasattr(estimator, "kernel") else "fewer --epochs help"

    def say(low: float, high: float) -> None:
        notes(f"Training takes about {duration(low)} to {duration(high)} more; {helps}.")

    return announcing_long_work(estimator, say)


# -- errors -----------------------------------------------------------------------------------------------------------


def errors_of(model: Estimator, batches: Iterable[tuple[Any, Any]], *, on: str) -> Params:
    """Return how often a model errs on batches of rows, with an interval unless they are those of training."""
    counts = Confusion()
    for X, y in batches:
        counts.add(np.asarray(y), np.asarray(model.predict(X)))
    found: Params = {"on": on, "wrong": counts.wrong, "rows": counts.n, "error": counts.error}
    found |= {} if on == "training" else {"interval": list(counts.interval())}
    means = counts.means(counts.labels(plain_labels(classifier_of(model).classes_)))
    balanced = {"balanced_accuracy": means["balanced_accuracy"]}
    return found | {"majority": counts.majority, **balanced, "rarest": counts.rarest}


def kept_error(error: Mapping[str, Any]) -> Params:
    """Return the errors on test data that a model file keeps."""
    return {name: value for name, value in error.items() if name not in _BESIDE_ERROR}


def faster_linear(model: Estimator, X: RowsLike, y: Array, seconds: float, seed: int) -> list[str]:
    """Return a remark if a linear model errs as rarely on held-out rows of a sample, in a fraction of the time."""
    from votron.estimators import AveragedPerceptronClassifier, held_out_split

    estimator = classifier_of(model)
    if seconds < _LONG or getattr(estimator, "kernel", "linear") == "linear":
        return []
    n, rows = len(y), np.sort(np.random.RandomState(seed).permutation(len(y))[:_SAMPLE])
    X, y = X[rows], y[rows]
    if np.unique(y, return_counts=True)[1].min() < 2:
        return []
    kept, held = held_out_split(y, len(y) // 4, seed, every_class_trained=True)
    found = []
    for each in (clone(estimator), AveragedPerceptronClassifier(random_state=seed)):
        start = time.monotonic()
        tried = type(model)([*clone(model).steps[:-1], ("model", each)]) if hasattr(model, "steps") else each
        found.append(int((np.asarray(tried.fit(X[kept], y[kept]).predict(X[held])) != y[held]).sum()))
        on_all = (time.monotonic() - start) * n / len(kept)
    kernel_wrong, wrong = found
    if wrong > kernel_wrong or 2 * on_all > seconds:
        return []
    return [
        f"On {len(held):,} held-out rows of a sample, --estimator averaged errs as rarely "
        f"({percent(wrong / len(held))}, against {percent(kernel_wrong / len(held))}), and trains much faster."
    ]


def many_mistakes(trained: Trained) -> list[str]:
    """Return what may help a model that errs on many of its training rows."""
    error, estimator = trained.error, trained.estimator
    if error.get("on") != "training" or error["rows"] < _FEWEST_ROWS or error["error"] <= _HIGH_ERROR:
        return []
    begin = f"The model errs on {percent(error['error'])} of the rows that it was trained on"
    if trained.tuning is not None:
        return [f"{begin}, with the best parameters that were tried: other features may help."]
    if not hasattr(estimator, "kernel"):
        return [f"{begin}: --estimator voted, with a kernel, may help."]
    return [f"{begin}: `votron train --tune` looks for better parameters."]


# -- the summary ------------------------------------------------------------------------------------------------------


def summary(job: Job, trained: Trained, size: int) -> dict[str, str]:
    """Return the summary as names and values; --verbose has the rest."""
    estimator, error = trained.estimator, trained.error
    classes = list(map(str, estimator.classes_.tolist()))
    features = counted(int(estimator.n_features_in_), "feature")
    words = {
        "data": f"{base_name(job.data)}: {counted(trained.rows, 'row')}, {features}",
        "classes": f"{len(classes)}: {first_of(classes, 10)}",
        "estimator": f"{job.estimator} ({type(estimator).__name__})",
        **weights_words("" if trained.weights is None else trained.weights.words, estimator),
        **_training_words(estimator, (trained.provenance.get("test") or {}).get("seed")),
    }
    if job.stream:
        words["epochs"] = counted(job.passes or 1, "pass", "passes")  # the classifier counts calls, one a batch
    if error:
        wrong = f"{percent(error['error'])}, {error['wrong']:,} of {counted(error['rows'], 'row')}"
        interval = f"; 95 % interval {percent_range(error['interval'])}" if "interval" in error else ""
        words[f"{error['on']} error"] = wrong + interval
        rarest = rarest_in_words(error["rarest"], weighed=weighs_classes(estimator, trained.provenance))
        words["majority"] = beside_majority(error["wrong"], error["majority"], by_error=bool(rarest))
        if rarest:
            words["rarest"] = f"{rarest}; balanced accuracy {percent(error['balanced_accuracy'])}"
    words["seconds"] = f"{trained.seconds:.2f}"
    if job.verbose:
        words |= {name: str(value) for name, value in estimator.get_params().items() if name != "verbose"}
    words |= trained.remarks
    words["model"] = f"{'standard output' if job.output == '-' else job.output}, {rounded_bytes(size)}"
    return words


def weights_words(rows: str, estimator: Estimator) -> dict[str, str]:
    """Return the weights that a model was trained with, and margins by class; nothing if there were none."""
    class_weight, margin = getattr(estimator, "class_weight", None), getattr(estimator, "margin", None)
    of_classes = "" if class_weight is None else f"of classes {_by_class(class_weight)}"
    words = ", ".join(filter(None, [rows, of_classes]))
    return ({"weights": words} if words else {}) | ({"margins": _by_class(margin)} if isinstance(margin, dict) else {})


def _by_class(values: Any) -> str:
    if isinstance(values, dict):
        return ",".join(f"{label}={value:g}" for label, value in values.items())
    return str(values)


def _training_words(estimator: Estimator, seed: int | None) -> dict[str, str]:
    """Return how training went, as far as this classifier tells."""
    words = {}
    if hasattr(estimator, "kernel_"):
        words["kernel"] = repr(estimator.kernel_)
    if hasattr(estimator, "rule"):
        length = ", vectors of length 1" if estimator.normalize_vectors else ""
        words["rule"] = getattr(estimator, "rule_", estimator.rule) + length
    if hasattr(estimator, "n_epochs_"):
        words["epochs"] = f"{estimator.n_epochs_:g}"
        words["epochs"] += ", the last without a mistake" if getattr(estimator, "converged_", False) else ""
        if getattr(estimator, "validation_moments_", None) is not None:  # the record ends at the best moment
            kept = estimator.record_.n_steps / estimator.record_.n_examples
            words["epochs"] += f"; the model is that of epoch {kept:g}, the best on held-out rows"
    if hasattr(estimator, "n_mistakes_"):
        words["mistakes"] = f"{int(estimator.n_mistakes_.sum()):,}"
    if hasattr(estimator, "support_"):
        words["support"] = counted(len(estimator.support_), "row")
    seed = getattr(estimator, "random_state", None) if seed is None else seed
    return words | ({} if seed is None else {"random state": str(seed)})


def document(job: Job, trained: Trained, size: int) -> Params:
    """Return the summary for machines."""
    estimator = trained.estimator
    params = {name: value for name, value in estimator.get_params().items() if name != "verbose"}
    found: Params = {
        "model": job.output,
        "bytes": size,
        "estimator": type(estimator).__name__,
        "params": params,
        "classes": estimator.classes_,
        "rows": trained.rows,
        "features": int(estimator.n_features_in_),
        "seconds": trained.seconds,
        f"{trained.error.get('on', 'training')}_error": trained.error or None,
        "certificate": None if trained.certificate is None else trained.certificate.to_dict(),
        "provenance": trained.provenance,
    }
    found |= {} if trained.tuning is None else {"tuned": trained.tuning}
    found |= {} if trained.weights is None else {"sample_weight": trained.weights.facts}
    for name in ("n_mistakes_", "n_epochs_", "converged_"):
        if hasattr(estimator, name):
            found[name.rstrip("_").removeprefix("n_")] = getattr(estimator, name)
    if hasattr(estimator, "support_"):
        found["support"] = len(estimator.support_)
    if hasattr(estimator, "kernel_"):
        found["kernel"] = repr(estimator.kernel_)
    return found
