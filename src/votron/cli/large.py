"""``votron train --stream`` and ``--dask``: training on data that do not fit into memory.

A stream is read at least twice: the first reading finds the labels and, for a table, what its encoder must know; the
others learn through ``partial_fit``. On a cluster the workers read parts, whose rows stay where they are.
"""

from __future__ import annotations

import glob
import os
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import click
import numpy as np

from votron._util.progress import Progress
from votron._util.text import counted, left_out, rounded_bytes
from votron._util.types import Array, Client, Estimator, Floats, Params, Rows, RowsLike
from votron.cli.output import Output
from votron.cli.reading import (
    base_name,
    behind_encoder,
    by_label,
    label_kind,
    labelled_rows,
    read_batches,
    read_labelled,
)
from votron.cli.training import Job, Trained
from votron.data.options import STRATEGIES
from votron.errors import DataError, MissingPackageError, VotronError

_BATCH_BYTES = 16_000_000
_NOT_IN_STREAMS = ("epochs", "shuffle", "early_stopping", "validation_fraction")
ANSWERS_WITHIN = 10.0
"""Seconds in which a scheduler must answer."""


def train_on_stream(job: Job, estimator: Estimator) -> Trained:
    """Go through the data once before learning, and then as often as was asked for."""
    from votron.data import scan_stream
    from votron.estimators import table_options

    _check_stream(job, estimator)
    start, passes, limit, weights = time.monotonic(), job.passes or 1, job.batch or _BATCH_BYTES, job.sample_weight
    data, out, drop = job.data, job.out, tuple(job.data.reading.get("drop", ()))
    source = read_batches(data.path, data.options | {"batch_bytes": limit})
    if not source.bounded:
        out.note(f"{data.name} cannot be read in parts, and is in memory as a whole.")
    first = next(iter(source))
    if first.columns is None and data.table.get("numeric", "keep") != "keep":
        raise click.UsageError("--numeric with --stream is for tables. The data are numbers without names.")
    if weights is not None:
        labelled_rows(first, weights)  # refuses what holds no weights
        source = source.again(drop=(*drop, weights))
    asked = table_options(estimator, data.encoding(first.label))
    asked.pop("text_features")
    facts = scan_stream(source, **asked)
    out.note(*facts.notes)
    estimator.set_params(**by_label(job.params, np.asarray(facts.classes)))
    known: Params = {"n_features": facts.n_features}
    known = {"columns": facts.columns} if facts.columns else known
    known |= {} if weights is None else {"columns": {**known["columns"], weights: "number"}}
    kind, n_batches = label_kind(np.asarray(facts.classes)), 0
    source = source.again(**known, drop=drop, zero_based=facts.zero_based, label_kind=kind)
    with Progress(None, out.live, label="Training", erase=True) as progress:
        for turn in range(passes):
            n_rows = dropped = unlabelled = 0
            for batch in source:
                out.note(*batch.notes)
                rows = labelled_rows(batch, weights)
                if len(rows.y):
                    X = rows.X if facts.encoder is None else facts.encoder.transform(rows.X)
                    more = {} if rows.weights is None else {"sample_weight": rows.weights}
                    estimator.partial_fit(X, rows.y, facts.classes, **more)
                n_rows, n_batches = n_rows + len(rows.y), n_batches + 1
                dropped, unlabelled = dropped + batch.dropped, unlabelled + batch.unlabelled
                progress.update(turn, f"pass {turn + 1} of {passes}, {counted(n_rows, 'row')}")
    model, seconds = behind_encoder(facts.encoder, estimator), time.monotonic() - start
    trained = Trained(model, batch, n_rows, seconds)
    trained.provenance["stream"] = {"passes": passes, "batch_bytes": limit, "batches": n_batches}
    trained.remarks["stream"] = f"{counted(n_batches, 'batch', 'batches')} of at most {rounded_bytes(limit)}"
    if dropped:
        out.note(f"Left out: {left_out(dropped, unlabelled)}.")
    return trained


def _check_stream(job: Job, estimator: Estimator) -> None:
    from votron.rules import RULES

    try:
        estimator.partial_fit  # noqa: B018  # asking tells the reason
    except AttributeError as error:
        reason = error if isinstance(error, VotronError) else "It needs all data at once."
        other = "" if job.estimator == "averaged" else " --estimator averaged learns batch by batch."
        raise click.UsageError(f"--stream is not for this {type(estimator).__name__}: {reason}{other}") from None
    for name in _NOT_IN_STREAMS:
        if name in job.params:
            raise click.UsageError(f"--{name.replace('_', '-')} is not for --stream; --passes says how often.")
    if hasattr(estimator, "rule") and (estimator.rule == "auto" or RULES[estimator.rule].needs_held_out):
        raise click.UsageError(f"--rule {estimator.rule} needs held-out rows, which --stream has not.")
    if job.data.table.get("text_features") == "tfidf":
        raise click.UsageError("--text-features must be hashing with --stream, since tfidf needs all texts at once.")


@contextmanager
def cluster(where: str, out: Output) -> Iterator[Client]:
    """Yield a client of the cluster that was asked for, and say where its dashboard is."""
    try:
        import distributed
    except ImportError:
        raise MissingPackageError('--dask needs the package distributed: pip install "votron[cluster]".') from None
    local = re.fullmatch("local(?::([1-9][0-9]*))?", where)
    with ExitStack() as stack:
        if local is not None:
            from votron.cluster.client import local_cluster

            size = {} if local[1] is None else {"n_workers": int(local[1])}
            _, client = stack.enter_context(local_cluster(**size))
        else:
            try:
                client = stack.enter_context(distributed.Client(where, timeout=ANSWERS_WITHIN))
            except (OSError, ValueError) as error:
                reason = str(error).splitlines()[0].rstrip(".")
                raise VotronError(f"No Dask scheduler answers at {where}: {reason}.") from None
        workers = counted(len(client.nthreads()), "worker")
        out.note(f"Dask cluster of {workers}, dashboard at {client.dashboard_link or 'no address'}.")
        yield client


def train_on_cluster(job: Job, estimator: Estimator) -> Trained:
    """Train where the rows are; the first part is read here, and what cannot be trained on refused, before that."""
    data, weights = job.data, job.sample_weight
    if data.reading.get("missing") in STRATEGIES:
        raise click.UsageError("--missing must be drop or refuse with --dask, since filling in needs all rows first.")
    if job.estimator not in ("voted", "averaged"):
        raise click.UsageError(f"--dask trains voted and averaged. Got --estimator {job.estimator} instead.")
    files = _parts_of(data.path)
    first = labelled_rows(read_labelled(files[0], data.options), weights)
    job.out.note(*first.examples.notes)
    encoder = data.encoder(estimator, first.X, first.examples.label)
    if hasattr(first.X, "columns") and data.table.get("numeric") != "keep":
        raise click.UsageError("--dask takes tables with --numeric keep, since scaling needs all rows first.")
    if encoder is not None:
        encoder.fit(first.X)
    with cluster(str(job.dask), job.out) as client:
        start = time.monotonic()
        X, y, found = _read_all(client, files, data.options, encoder, weights)
        estimator.set_params(**by_label(job.params, y))
        estimator.fit(X, y, **({} if found is None else {"sample_weight": found}))
    model = behind_encoder(encoder, estimator)
    return Trained(model, first.examples, len(y), time.monotonic() - start)


def _parts_of(where: str) -> list[str]:
    """Return the files that data consist of: those of a folder, of a pattern, or the one file."""
    pattern = os.path.join(glob.escape(where), "*") if os.path.isdir(where) else where
    found = [os.path.abspath(path) for path in sorted(glob.glob(pattern)) if os.path.isfile(path)]
    if not found:
        raise DataError(f"--dask takes a folder of parts, such as .npy or Parquet files, or a pattern. Got {where!r}.")
    return found


def _read_all(
    client: Client, files: list[str], options: Params, encoder: Estimator, column: str | None
) -> tuple[RowsLike, Array, Floats | None]:
    """Have the workers read the parts, whose rows stay there; return rows, labels and weights."""
    import dask.array as da
    from dask.delayed import delayed

    from votron.cluster.client import results_of

    read = [delayed(_read)(path, options, encoder, column) for path in files]
    rows, *others = (client.compute([each[k] for each in read]) for k in range(3))
    sizes = results_of(client, client.map(np.shape, rows, pure=False))
    for path, (_, width) in zip(files, sizes, strict=True):
        if width != sizes[0][1]:
            raise DataError(
                f"All parts must have the same features: {base_name(files[0])} has {sizes[0][1]}, and "
                f"{base_name(path)} {width}."
            )
    parts = zip(rows, sizes, strict=True)
    X = da.concatenate([da.from_delayed(delayed(part), size, dtype=np.float64) for part, size in parts])
    labels, weights = (results_of(client, part) for part in others)
    return X, np.concatenate(labels), None if column is None else np.concatenate(weights)


def _read(path: str, options: Params, encoder: Estimator, column: str | None) -> tuple[Rows, Array, Floats | None]:
    """Return the rows, labels and weights of a file; this runs on a worker."""
    rows = labelled_rows(read_labelled(path, options), column)
    X = rows.X if encoder is None else encoder.transform(rows.X)
    return X, rows.y, rows.weights
