"""``votron train --stream``: training on data that do not fit into memory, through ``partial_fit``.

The first reading finds the labels and, for a table, what its encoder must know; the readings after it learn.
"""

from __future__ import annotations

import time

import click
import numpy as np

from votron._util.progress import Progress
from votron._util.text import counted, left_out, rounded_bytes
from votron._util.types import Array, Estimator, Params
from votron.cli.reading import (
    base_name,
    behind_encoder,
    by_label,
    check_options_of_tables,
    encoding,
    label_kind,
    labelled_rows,
    read_batches,
    weight_column,
)
from votron.cli.training import Job, TrainingOutcome
from votron.data import Examples
from votron.data.files import ExampleBatches
from votron.errors import VotronError

_BATCH_BYTES = 16_000_000
_NOT_IN_STREAMS = ("epochs", "shuffle", "early_stopping", "validation_fraction")
_MEMORY_FACTOR = 60
"""Memory of a batch, at most, in bytes of its text: 50 were measured for a letter and a label to a row of CSV."""


def train_on_stream(job: Job, estimator: Estimator) -> TrainingOutcome:
    """Go through the data, once before learning where that is possible, and return the model."""
    _check(job, estimator)
    start, limit = time.monotonic(), job.batch or _BATCH_BYTES
    stream = _Stream(job, estimator)
    source = read_batches(job.data, job.options | {"batch_bytes": limit})
    if source.bounded:
        most = rounded_bytes(_MEMORY_FACTOR * limit)
        batches = f"a batch of {rounded_bytes(limit)} takes up to {most} of memory"
        job.out.note(f"Streaming: {batches} while it is read; --batch makes it smaller.")
    else:
        job.out.note(f"{base_name(job.data)} cannot be read in parts, and is in memory as a whole.")
    last = stream.learn(stream.scanned(source))
    stats = {"passes": job.passes or 1, "batch_bytes": limit, "batches": stream.n_batches}
    model, seconds = behind_encoder(stream.encoder, estimator), time.monotonic() - start
    trained = TrainingOutcome(
        model, last, stream.n_rows, stream.n_rows, seconds, stream.column, provenance={"stream": stats}
    )
    trained.remarks["stream"] = f"{counted(stream.n_batches, 'batch', 'batches')} of at most {rounded_bytes(limit)}"
    if stream.dropped:
        trained.remarks["left out"] = left_out(stream.dropped, stream.unlabelled)
    return trained


def _check(job: Job, estimator: Estimator) -> None:
    """Refuse what does not go together with --stream."""
    from votron.rules import RULES

    try:
        estimator.partial_fit  # noqa: B018  # asking tells the reason
    except AttributeError as error:
        reason = error if isinstance(error, VotronError) else "It needs all data at once."
        raise click.UsageError(f"--stream is not for this {type(estimator).__name__}: {reason}") from None
    for name in _NOT_IN_STREAMS:
        if name in job.params:
            raise click.UsageError(f"--{name.replace('_', '-')} is not for --stream; --passes says how often.")
    if hasattr(estimator, "rule") and (estimator.rule == "auto" or RULES[estimator.rule].needs_held_out):
        raise click.UsageError(f"--rule {estimator.rule} needs held-out rows, which --stream has not.")
    if job.table.get("text") and job.table.get("text_features") == "tfidf":
        raise click.UsageError("--text-features must be hashing with --stream, since tfidf needs all texts at once.")


class _Stream:
    """Data that are read in batches, and the classifier that learns from them."""

    def __init__(self, job: Job, estimator: Estimator) -> None:
        self.job, self.estimator = job, estimator
        self.column = weight_column(job.sample_weight, estimator)
        self.encoder: Estimator = None
        self.classes: Array = np.array([])
        self.n_rows = self.dropped = self.unlabelled = self.n_batches = 0

    def scanned(self, source: ExampleBatches) -> ExampleBatches:
        """Find the labels, and what the encoder must know; return the data to be read anew."""
        from votron.data import scan_stream
        from votron.estimators import ESTIMATORS, table_options

        job, first = self.job, next(iter(source))
        if self.column is not None:
            self.column.taken(first)  # refuses what holds no weights
            source = source.again(drop=(*job.reading.get("drop", ()), self.column.name))
        asked = table_options(ESTIMATORS[job.estimator], encoding(job.reading, job.table, first.label))
        asked.pop("text_features")
        facts = scan_stream(source, **asked)
        job.out.note(*facts.notes)
        self.encoder, self.classes = facts.encoder, np.asarray(facts.classes)
        known: Params = {"n_features": facts.n_features, "optional": "n_features"}
        if facts.columns:
            known = {"columns": facts.columns}
        if facts.columns and self.column is not None:
            known = self.column.read_beside(known)
        drop = tuple(job.reading.get("drop", ()))
        return source.again(**known, drop=drop, zero_based=facts.zero_based, label_kind=label_kind(self.classes))

    def learn(self, source: ExampleBatches) -> Examples:
        """Learn from the data, as often as was asked for; return the last batch."""
        passes = self.job.passes or 1
        with Progress(None, self.job.out.live, label="Training", erase=True) as progress:
            for turn in range(passes):
                self.n_rows = self.dropped = self.unlabelled = 0
                if self.column is not None:
                    self.column.left_out = 0
                for batch in source:
                    self._learn_from(batch)
                    progress.update(turn, f"pass {turn + 1} of {passes}, {counted(self.n_rows, 'row')}")
        if self.column is not None:
            self.column.check_some(self.n_rows - self.column.left_out)
        return batch

    def _learn_from(self, batch: Examples) -> None:
        job, y = self.job, np.asarray(batch.y)
        job.out.note(*batch.notes)
        if self.n_batches == 0:
            self.estimator.set_params(**by_label(job.params, self.classes))
        rows = labelled_rows(batch, y, self.column)
        check_options_of_tables(batch.X, job.table)
        if batch.columns is None and job.table.get("numeric", "keep") != "keep":
            raise click.UsageError("--numeric with --stream is for tables. The data are numbers without names.")
        if len(rows.y):
            X = rows.X if self.encoder is None else self.encoder.transform(rows.X)
            more = {} if rows.weights is None else {"sample_weight": rows.weights}
            self.estimator.partial_fit(X, rows.y, self.classes, **more)
        self.n_rows += batch.n_rows
        self.dropped, self.unlabelled = self.dropped + batch.dropped, self.unlabelled + batch.unlabelled
        self.n_batches += 1
