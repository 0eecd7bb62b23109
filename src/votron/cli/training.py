"""Training as `votron train` does it: its arguments, its outcome, and what is measured."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from votron._util.frames import plain_labels
from votron._util.pipelines import classifier_of, rows_for_classifier
from votron._util.text import did_you_mean, left_out, percent
from votron._util.types import Array, Estimator, Params, RowsLike
from votron.cli.models import SavedModel, labelled_batches
from votron.cli.output import Output
from votron.cli.reading import DataArgument, FileRows, base_name, behind_encoder, by_label, remarks_on, rows_to_train_on
from votron.errors import VotronError

if TYPE_CHECKING:
    from votron.data import Examples
    from votron.plots.training import RulesOverTime
    from votron.theory import Certificate

_LONG, _SAMPLE = 5.0, 2000
"""Seconds of training from which a linear model is looked at beside, and rows for that look."""


@dataclass(frozen=True, kw_only=True)
class Job:
    command: str
    data: DataArgument
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
    out: Output

    @property
    def share(self) -> float | None:
        try:
            share = float(self.test or "")
        except ValueError:
            return None
        if not 0 < share < 1:
            raise click.UsageError(f"--test must be a number between 0 and 1, or a file. Got {self.test!r} instead.")
        return share


@dataclass
class Trained:
    """A model, and what there is to say of it."""

    model: Estimator
    examples: Examples
    """The examples, or the last batch of them: their format and label."""
    n_rows: int
    seconds: float
    rows: FileRows | None = None
    """The rows that were trained on, where they are in memory."""
    held: FileRows | None = None
    provenance: Params = field(default_factory=dict)
    error: Params = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    tuning: Params = field(default_factory=dict)
    """What --tune found, with the table of the settings."""

    @property
    def estimator(self) -> Estimator:
        return classifier_of(self.model)


def estimator_of(name: str, params: Params) -> Estimator:
    """Return the estimator with the parameters that were typed, checked; the seed only if it takes one."""
    from votron import estimators
    from votron.kernels.base import kernel_class

    classes: dict[str, Any] = {each: getattr(estimators, cls) for each, cls in estimators.ESTIMATORS.items()}
    known = classes[name]().get_params()
    for each in params.keys() - known.keys() - {"random_state"}:
        owners = [owner for owner, other in classes.items() if each in other().get_params()]
        option = f"--{each.replace('_', '-')}"
        raise click.UsageError(f"{option} is for --estimator {' and '.join(owners)}, and not for {name}.")
    estimator = classes[name](**{each: value for each, value in params.items() if each in known})
    estimator._validate_params()
    kernel: Any = kernel_class(getattr(estimator, "kernel", None))
    if kernel is not None:
        check_read({each: each for each in params}, [kernel.name], "--kernel")
    return estimator


def check_read(typed: Mapping[str, str], kernels: Sequence[str], option: str) -> None:
    """Refuse parameters, by the names of their options, that none of these kernels reads."""
    from votron.kernels import KERNELS

    for parameter, name in typed.items():
        readers = [kernel for kernel, cls in KERNELS.items() if parameter in cls.parameters()]
        if readers and not set(readers) & set(kernels):
            wanted = " or ".join(readers)
            raise click.UsageError(f"--{name} is not for {option} {','.join(kernels)}: add {option} {wanted}.")


def fit(model: Estimator, rows: FileRows) -> None:
    """Train, with weights if rows have any; Ctrl-C ends a search with the best so far."""
    name = "model__sample_weight" if hasattr(model, "steps") else "sample_weight"
    try:
        model.fit(rows.X, rows.y, **({} if rows.weights is None else {name: rows.weights}))
    except KeyboardInterrupt:
        if getattr(classifier_of(model), "stopped_", "") != "interrupted":
            raise


def train_in_memory(job: Job, estimator: Estimator, seed: int) -> Trained:
    """Read everything, hold out, train."""
    out, held = job.out, None
    rows = _named(job, estimator, rows_to_train_on(job.data, job.sample_weight, out))
    weighed = job.sample_weight is not None or job.params.get("class_weight") is not None
    out.note(*remarks_on(rows, weighed=weighed))
    labelled = by_label(job.params, rows.y)
    if job.share is not None:
        rows, held = rows.split(job.share, seed)
    encoder = job.data.encoder(estimator, rows.X, rows.examples.label)
    if job.tune is not None:
        from votron.cli.tune import tuned

        trained = tuned(job, job.params | labelled, seed, rows, encoder)
    else:
        start, live = time.monotonic(), out.live and "verbose" in estimator.get_params()
        model = behind_encoder(encoder, estimator.set_params(**labelled, **({"verbose": 1} if live else {})))
        fit(model, rows)
        if live:
            estimator.set_params(verbose=0)  # whoever opens the file has another terminal
        seconds = time.monotonic() - start
        trained = Trained(model, rows.examples, len(rows.y), seconds, rows)
        if not out.quiet and job.sample_weight is None:
            encoding = job.data.encoding(rows.examples.label)
            out.note(*faster_linear(estimator, rows, encoding, seconds, seed))
    if rows.examples.dropped:
        trained.remarks["left out"] = left_out(rows.examples.dropped, rows.examples.unlabelled)
    trained.held = held
    if encoder is not None:
        out.note(*getattr(trained.model.steps[0][1], "remarks_", ()))
    if hasattr(trained.estimator, "name_rows"):
        numbers = rows.examples.row_numbers
        if rows.names is not None:
            trained.estimator.name_rows(rows.names.tolist())
        elif (numbers != np.arange(1, len(numbers) + 1)).any():
            trained.estimator.name_rows([f"row {number}" for number in numbers])  # as in the file
    return trained


def _named(job: Job, estimator: Estimator, rows: FileRows) -> FileRows:
    """Return the rows with the names that --keep-names asks for, and without the column that has them."""
    asked, data = job.keep_names, rows.examples
    if asked is None:
        return rows
    if not hasattr(estimator, "name_rows"):
        raise click.UsageError("--keep-names is for models that keep training rows: voted and adatron.")
    if not asked:
        return rows if data.files is None else replace(rows, names=np.array(data.files))
    if asked not in (data.columns or []) or len(data.columns or []) == 1:
        meant = did_you_mean(asked, data.columns or [])
        raise click.UsageError(f"--keep-names must be one column of several in a table. Got {asked!r} instead.{meant}")
    names = np.array(rows.X[asked].to_list(), dtype=object)
    return replace(rows, examples=replace(data, X=rows.X.drop(asked)), names=names)


def faster_linear(estimator: Estimator, rows: FileRows, encoding: Params, seconds: float, seed: int) -> list[str]:
    """Return a remark if a linear model errs as rarely on held-out rows of a sample, in a fraction of the time."""
    if seconds < _LONG or getattr(estimator, "kernel", "linear") == "linear":
        return []
    from votron.estimators import AveragedPerceptronClassifier
    from votron.evaluate import compare

    pair = {"typed": estimator, "averaged": AveragedPerceptronClassifier()}
    how: Params = {"folds": 2, "repeats": 1, "max_rows": _SAMPLE, "random_state": seed, "encoding": encoding}
    try:
        found = compare(rows.X, rows.y, pair, **how)
    except VotronError:  # such as a class of one row
        return []
    by_name = {row.name: row for row in found.rows}
    if len(by_name) < len(pair) or by_name["averaged"].score < by_name["typed"].score:
        return []
    if sum(by_name["averaged"].train_seconds) * len(rows.y) / found.n_used > seconds / 2:
        return []
    errors = [percent(1 - by_name[name].score) for name in ("averaged", "typed")]
    return [
        f"On {found.n_used:,} held-out rows, --estimator averaged errs as rarely ({errors[0]}, against {errors[1]}), "
        "and trains much faster."
    ]


def measure(job: Job, trained: Trained, seed: int, curve: RulesOverTime | None) -> None:
    """Measure the error on test data, or else on the rows trained on; the model file keeps the first."""
    from votron.evaluate.evaluation import Confusion

    if job.test is not None and job.share is None:
        saved = SavedModel(job.output, trained.model, trained.provenance)
        how = saved.reading(replace(job.data, path=job.test), beside=True)
        about: Params = {"name": base_name(job.test)}
        batches: Iterable[tuple[RowsLike, Array]] = (
            (batch.X, np.asarray(batch.y)) for batch in labelled_batches(job.test, how, job.out)
        )
    elif (rows := trained.held or trained.rows) is not None:
        batches, about = [(rows.X, rows.y)], {"fraction": job.share, "seed": seed}
    else:
        return
    counts = Confusion()
    for X, y in batches:
        counts.add(y, np.asarray(trained.model.predict(X)))
        if curve is not None:
            curve.add(rows_for_classifier(trained.model, X), y)
    means = counts.means(counts.labels(plain_labels(trained.estimator.classes_)))
    error = trained.error = {
        "on": "training" if job.test is None else "test",
        "wrong": counts.wrong,
        "rows": counts.n,
        "error": counts.error,
        "interval": list(counts.interval()),
        "majority": counts.majority,
        "balanced_accuracy": means["balanced_accuracy"],
        "rarest": counts.rarest,
    }
    if job.test is not None:
        trained.provenance["test"] = about | {name: error[name] for name in ("wrong", "rows", "error", "interval")}


def certificate_of(trained: Trained) -> Certificate | None:
    """Return the certificate; without one, the model is saved all the same."""
    from votron.theory import certify

    assert trained.rows is not None
    try:  # the model's own vectors only: finding the maximal margin takes far longer than training
        found = certify(trained.model, trained.rows.X, trained.rows.y, comparators=())
    except VotronError as error:
        trained.remarks["certificate"] = f"none: {error}"
        return None
    trained.remarks["certificate"] = found.summary
    return found
