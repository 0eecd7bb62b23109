"""``--dask``: training on data in parts that the workers of a Dask cluster read."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import numpy as np

from votron._util.types import Client, Estimator, Params, RowsLike
from votron.cli.output import Notes
from votron.cli.reading import (
    base_name,
    behind_encoder,
    encoder_for,
    provenance_of,
    read_labelled,
    reading_options,
)
from votron.cli.training import Job, Trained
from votron.cli.weights import WeightColumn, by_label, weight_column
from votron.data.vocabulary import STRATEGIES
from votron.errors import DataError, MissingPackageError, VotronError

_ESTIMATORS = ("voted", "averaged")
ANSWERS_WITHIN = 10.0
"""Seconds in which a scheduler must answer."""


@contextmanager
def cluster(where: str, notes: Notes) -> Iterator[Any]:
    """Yield a client of the cluster that was asked for, and say where its dashboard is."""
    try:
        import distributed
    except ImportError:
        raise MissingPackageError('--dask needs the package distributed: pip install "votron[cluster]".') from None
    name, _, number = where.partition(":")
    if name == "local":
        if number and not (number.isdecimal() and int(number) > 0):
            raise click.UsageError(f"--dask must be an address, local, or local:N. Got {where!r} instead.")
        from votron.cluster.local import local_cluster

        with local_cluster(**({"n_workers": int(number)} if number else {})) as (_, client):
            yield _introduced(client, notes)
        return
    try:
        client = distributed.Client(where, timeout=ANSWERS_WITHIN)
    except (OSError, ValueError) as error:
        raise VotronError(f"No Dask scheduler answers at {where}: {str(error).splitlines()[0].rstrip('.')}.") from None
    with client:
        yield _introduced(client, notes)


def _introduced(client: Client, notes: Notes) -> Any:
    workers, link = len(client.nthreads()), client.dashboard_link
    where = f"dashboard at {link}" if link else "without a dashboard"
    notes(f"Dask cluster of {workers} worker{'' if workers == 1 else 's'}, {where}.")
    return client


def train_on_cluster(job: Job, estimator: Estimator, notes: Notes) -> Trained:
    """Train where the rows are; the first part is read here, and what cannot be trained on refused, before that."""
    _check(job)
    files, column = parts_of(job.data), weight_column(job.sample_weight, estimator)
    reading = reading_options(job.reading, job.table) | job.labels
    first, _ = read_labelled(files[0], **reading)
    notes(*first.notes)
    table, encoder = first.X if column is None else column.taken(first)[0], None
    if hasattr(table, "columns"):
        if job.table.get("numeric") != "keep":
            raise click.UsageError("--dask takes tables with --numeric keep, since scaling needs all rows first.")
        encoder = encoder_for(job.estimator, first, table, job.reading, job.table).fit(table)
    with cluster(str(job.dask), notes) as client:
        start = time.monotonic()
        X, y, weights, n_read = _read_all(client, files, reading, encoder, column)
        estimator.set_params(**by_label({k: v for k, v in job.params.items() if isinstance(v, dict)}, y))
        estimator.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
    trained = Trained(behind_encoder(encoder, estimator), first, len(y), time.monotonic() - start, weights=column)
    trained.provenance = provenance_of(job.data, first, n_read, job.command, job.reading, job.table)
    trained.provenance |= {} if column is None else {"sample_weight": column.facts}
    return trained


def _check(job: Job) -> None:
    """Refuse what does not go together with --dask."""
    for name in ("stream", "tune", "certificate", "keep_names", "resume"):
        if getattr(job, name) not in (None, False):
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with --dask.")
    if job.reading.get("missing") in STRATEGIES:
        raise click.UsageError("--missing must be drop or refuse with --dask, since filling in needs all rows first.")
    if job.estimator not in _ESTIMATORS:
        raise click.UsageError(f"--dask trains {' and '.join(_ESTIMATORS)}. Got --estimator {job.estimator} instead.")


def parts_of(where: str) -> list[str]:
    """Return the files that data consist of: those of a folder, of a pattern, or the one file."""
    pattern = os.path.join(glob.escape(where), "*") if os.path.isdir(where) else where
    found = [where] if os.path.isfile(where) else sorted(glob.glob(pattern))
    found = [os.path.abspath(path) for path in found if os.path.isfile(path)]
    if not found:
        raise DataError(f"--dask takes a folder of parts, such as .npy or Parquet files, or a pattern. Got {where!r}.")
    return found


def _read_all(
    client: Client, files: list[str], reading: Params, encoder: Estimator, column: WeightColumn | None
) -> tuple[Any, Any, Any, int]:
    """Have the workers read the parts, whose rows stay there; return rows, labels, weights and the number of rows."""
    import dask.array as da
    from dask.delayed import delayed

    from votron.cluster.client import results_of

    name = None if column is None else column.name
    read = [delayed(_read)(path, reading, encoder, name) for path in files]
    rows, *others = (client.compute([each[k] for each in read]) for k in range(4))
    sizes = results_of(client, client.map(_size, rows, pure=False))
    for path, (_, width) in zip(files, sizes, strict=True):
        if width != sizes[0][1]:
            raise DataError(
                f"All parts must have the same features: {base_name(files[0])} has {sizes[0][1]}, and "
                f"{base_name(path)} {width}."
            )
    X = da.concatenate([
        da.from_delayed(delayed(part), size, dtype=np.float64) for part, size in zip(rows, sizes, strict=True)
    ])  # fmt: skip
    labels, weights, columns = (results_of(client, part) for part in others)
    n = sum(size for size, _ in sizes)
    if column is None:
        return X, np.concatenate(labels), None, n
    for found in columns:
        column.join(found)
    column.check_some()
    return X, np.concatenate(labels), np.concatenate(weights), n + column.left_out


def _read(path: str, reading: Params, encoder: Estimator, weights: str | None) -> tuple[Any, Any, Any, Any]:
    """Return the rows and labels of a file, and from a column with a name their weights; this runs on a worker."""
    data, y = read_labelled(path, **reading)
    X, column, numbers = data.X, None, None
    if weights is not None:
        column = WeightColumn(weights)
        X, kept, numbers = column.split(data)
        y = y[kept]
    return X if encoder is None else encoder.transform(X), y, numbers, column


def _size(X: RowsLike) -> tuple[int, int]:
    return int(X.shape[0]), int(X.shape[1])
