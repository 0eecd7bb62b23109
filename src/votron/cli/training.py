"""The arguments of `votron train`, and the outcome of training in memory, batch by batch or on a cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from votron._util.pipelines import classifier_of
from votron._util.types import Estimator, Params
from votron.cli.output import Output
from votron.cli.reading import DataArgument, FileRows

if TYPE_CHECKING:
    from votron.data import Examples


@dataclass(frozen=True, kw_only=True)
class Job:
    """The arguments of `votron train`."""

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
        """The share of the rows to hold out, if --test is one."""
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
    n_read: int
    n_rows: int
    seconds: float
    rows: FileRows | None = None
    """The rows that were trained on, where they are in memory."""
    held: FileRows | None = None
    provenance: Params = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    tuning: Params = field(default_factory=dict)
    """What --tune found, with the table of the settings."""

    @property
    def estimator(self) -> Estimator:
        """The classifier itself."""
        return classifier_of(self.model)


def estimator_of(name: str, params: Params) -> Estimator:
    """Return the estimator with the parameters that were typed, checked; the seed only if it takes one."""
    from votron.estimators import ESTIMATORS
    from votron.kernels import KERNELS
    from votron.kernels.base import kernel_class

    known = ESTIMATORS[name]().get_params()
    for each in params.keys() - known.keys() - {"random_state"}:
        owners = [owner for owner, other in ESTIMATORS.items() if each in other().get_params()]
        option = f"--{each.replace('_', '-')}"
        raise click.UsageError(f"{option} is for --estimator {' and '.join(owners)}, and not for {name}.")
    estimator = ESTIMATORS[name](**{each: value for each, value in params.items() if each in known})
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
