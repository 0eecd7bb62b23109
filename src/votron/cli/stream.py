"""``votron train --stream``: training on data that do not fit into memory, through ``partial_fit``.

The first reading finds the labels and, for a table, what its encoder must know; the readings after it learn. Standard
input can be read once, so there the labels must be named, and the encoder is fitted to the first batch.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from votron._util.progress import Progress
from votron._util.text import counted, rounded_bytes
from votron._util.types import Array, Estimator, Params
from votron.cli.output import Notes
from votron.cli.reading import (
    base_name,
    behind_encoder,
    encoder_for,
    labels_like,
    left_out,
    provenance_of,
    read_batches,
    reading_options,
    typed_encoding,
)
from votron.cli.training import Job, Trained
from votron.cli.weights import WeightColumn, by_label, weight_column
from votron.errors import VotronError

_BATCH_BYTES = 16_000_000
_NOT_IN_STREAMS = ("epochs", "shuffle", "early_stopping", "validation_fraction")
_MEMORY_FACTOR = 60
"""Memory of a batch, at most, in bytes of its text: 50 were measured for a letter and a label to a row of CSV."""


def train_on_stream(job: Job, estimator: Estimator, notes: Notes) -> Trained:
    """Go through the data, and return the model."""
    _check(job, estimator)
    start = time.monotonic()
    stream = _Stream(job, estimator, notes, weight_column(job.sample_weight, estimator))
    data = stream.learn()
    trained = Trained(stream.model, data, stream.rows, time.monotonic() - start, weights=stream.weights)
    trained.provenance = provenance_of(job.data, data, stream.rows, job.command, job.reading, job.table)
    trained.provenance["stream"] = {
        "passes": stream.passes, "batch_bytes": stream.limit, "batches": stream.n_batches
    }  # fmt: skip
    trained.provenance |= {} if stream.weights is None else {"sample_weight": stream.weights.facts}
    batches = counted(stream.n_batches, "batch", "batches")
    trained.remarks["stream"] = f"{batches} of at most {rounded_bytes(stream.limit)}"
    if stream.dropped:
        trained.remarks["left out"] = left_out(stream.dropped, stream.unlabelled)
    return trained


def _check(job: Job, estimator: Estimator) -> None:
    """Refuse what does not go together with --stream."""
    from votron.rules import RULES

    try:
        estimator.partial_fit  # noqa: B018  # asking tells the reason
    except AttributeError as error:
        reason = error.__cause__ if isinstance(error.__cause__, VotronError) else "It needs all data at once."
        raise click.UsageError(f"--stream is not for this {type(estimator).__name__}: {reason}") from None
    for name in ("certificate", "tune", "keep_names", "resume"):
        if getattr(job, name) not in (None, False):
            raise click.UsageError(f"--{name.replace('_', '-')} needs all data at once: leave out --stream.")
    for name in _NOT_IN_STREAMS:
        if name in job.params:
            raise click.UsageError(f"--{name.replace('_', '-')} is not for --stream; --passes says how often.")
    if hasattr(estimator, "rule") and (estimator.rule == "auto" or RULES[estimator.rule].needs_held_out):
        raise click.UsageError(f"--rule {estimator.rule} needs held-out rows, which --stream has not.")
    if job.table.get("text") and job.table.get("text_features") == "tfidf":
        raise click.UsageError("--text-features must be hashing with --stream, since tfidf needs all texts at once.")
    place = os.path.expanduser(job.data)
    once = job.data == "-" or (os.path.exists(place) and not (os.path.isfile(place) or os.path.isdir(place)))
    if once and (job.classes is None or (job.passes or 1) > 1):
        raise click.UsageError("--stream from a pipe needs --classes, and a single pass: it can be read once only.")


@dataclass
class _Stream:
    """Data that are read in batches, what is known of them so far, and the classifier that learns from them."""

    job: Job
    estimator: Estimator
    notes: Notes
    weights: WeightColumn | None = None
    classes: Array | None = None
    encoder: Estimator = None
    rows: int = 0
    dropped: int = 0
    unlabelled: int = 0
    n_batches: int = 0

    @property
    def model(self) -> Any:
        """The classifier, after its encoder if it has one."""
        return behind_encoder(self.encoder, self.estimator)

    @property
    def limit(self) -> int:
        """Bytes of a batch."""
        return self.job.batch or _BATCH_BYTES

    @property
    def passes(self) -> int:
        """How often the data are gone through."""
        return self.job.passes or 1

    def learn(self) -> Any:
        """Go through the data, once before learning where that is possible; return the last batch."""
        if hasattr(self.estimator, "verbose"):
            self.estimator.set_params(verbose=0)  # the bar of one batch says nothing
        source, batch = self._batches(), None
        if source.bounded:
            most = rounded_bytes(_MEMORY_FACTOR * self.limit)
            batches = f"a batch of {rounded_bytes(self.limit)} takes up to {most} of memory"
            self.notes(f"Streaming: {batches} while it is read; --batch makes it smaller.")
        else:
            self.notes(f"{base_name(self.job.data)} cannot be read in parts, and is in memory as a whole.")
        if source.rewindable:
            source = self._scanned(source)
        with Progress(None, self.notes.live, label="Training", erase=True) as progress:
            for turn in range(self.passes):
                self.rows = self.dropped = self.unlabelled = 0
                if self.weights is not None:
                    self.weights.left_out = 0
                for batch in source:
                    self._learn_from(batch)
                    progress.update(turn, f"pass {turn + 1} of {self.passes}, {counted(self.rows, 'row')}")
        if self.weights is not None:
            self.weights.check_some()
        return batch

    def _batches(self, **known: Any) -> Any:
        """Open the data; labels are text if one of those that were named cannot be a number or a truth value."""
        reading = reading_options(self.job.reading, self.job.table) | self.job.labels
        texts = {"label_kind": "text"} if any(map(_is_text, _names(self.job.classes))) else {}
        return read_batches(self.job.data, batch_bytes=self.limit, **(reading | texts | known))

    def _scanned(self, source: Any) -> Any:
        """Find the labels, and what the encoder must know; return the data to be read anew."""
        from votron.cli.models import label_kind
        from votron.data import scan_stream
        from votron.estimators import ESTIMATORS, table_options

        job, first = self.job, next(iter(source))
        if self.weights is not None:
            self.weights.taken(first)  # refuses what holds no weights
            drop = (*reading_options(job.reading).get("drop", ()), self.weights.name)
            source = self._batches(drop=drop)
            self.weights = WeightColumn(self.weights.name)
        encoding = table_options(ESTIMATORS[job.estimator], typed_encoding(job.reading, job.table, first.label))
        encoding.pop("text_features", None)
        facts = scan_stream(source, **encoding)
        self.notes(*facts.notes)
        self.encoder = facts.encoder
        self.classes = facts.classes if job.classes is None else _named_classes(job.classes, np.asarray(facts.classes))
        known: Params = {"columns": facts.columns} if facts.columns else {"n_features": facts.n_features}
        if not facts.columns:
            _check_matrix(job)
        elif self.weights is not None:
            known["columns"] = {**facts.columns, self.weights.name: "number"}
        return self._batches(**known, zero_based=facts.zero_based, label_kind=label_kind(np.asarray(self.classes)))

    def _learn_from(self, batch: Any) -> None:
        self.notes(*batch.notes)
        if self.classes is None:
            self.classes = _named_classes(str(self.job.classes), batch.y)
        if self.n_batches == 0:
            labelled = {name: value for name, value in self.job.params.items() if isinstance(value, dict)}
            self.estimator.set_params(**by_label(labelled, self.classes))
        X, y, more = batch.X, batch.y, {}
        if self.weights is not None:
            X, weighed, weights = self.weights.split(batch)
            y, more = y[weighed], {"sample_weight": weights}
        if self.encoder is None and self.n_batches == 0 and batch.columns is not None:
            table = {"text_features": "hashing"} | self.job.table  # nothing is known of the texts to come
            self.encoder = encoder_for(self.job.estimator, batch, X, self.job.reading, table).fit(X)
            self.notes(f"The encoder is fitted to the first batch, {counted(batch.n_rows, 'row')}.")
        elif self.encoder is None:
            _check_matrix(self.job)
        if len(y):
            X = X if self.encoder is None else self.encoder.transform(X)
            self.estimator.partial_fit(X, y, self.classes, **more)
        self.rows += batch.n_rows
        self.dropped, self.unlabelled = self.dropped + batch.dropped, self.unlabelled + batch.unlabelled
        self.n_batches += 1


def _check_matrix(job: Job) -> None:
    if job.table.get("numeric", "keep") != "keep":
        raise click.UsageError("--numeric with --stream is for tables. The data are numbers without names.")


def _named_classes(typed: str, y: Array) -> Array:
    """Return the labels that were named, in the type of those that were read."""
    return np.unique(np.array(labels_like(_names(typed), np.asarray(y), "--classes")))


def _names(typed: str | None) -> list[str]:
    return [name.strip() for name in (typed or "").split(",") if name.strip()]


def _is_text(name: str) -> bool:
    """Tell whether a label can be nothing but a text."""
    try:
        return not np.isfinite(float(name))
    except ValueError:
        return name.lower() not in ("true", "false")
