"""``--dask``: training on data in parts that the workers of a Dask cluster read."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click
import numpy as np

from votron._util.text import counted
from votron._util.types import Array, Client, Estimator, Floats, Params, Rows, RowsLike
from votron.cli.output import Output
from votron.cli.reading import (
    WeightColumn,
    base_name,
    behind_encoder,
    by_label,
    check_options_of_tables,
    encoder_for,
    labelled_rows,
    read_labelled,
    weight_column,
)
from votron.cli.training import Job, TrainingOutcome
from votron.data.options import STRATEGIES
from votron.errors import DataError, MissingPackageError, VotronError

_ESTIMATORS = ("voted", "averaged")
ANSWERS_WITHIN = 10.0
"""Seconds in which a scheduler must answer."""


@contextmanager
def cluster(where: str, out: Output) -> Iterator[Client]:
    """Yield a client of the cluster that was asked for, and say where its dashboard is."""
    try:
        import distributed
    except ImportError:
        raise MissingPackageError('--dask needs the package distributed: pip install "votron[cluster]".') from None
    name, _, number = where.partition(":")
    if name == "local":
        if number and not (number.isdecimal() and int(number) > 0):
            raise click.UsageError(f"--dask must be an address, local, or local:N. Got {where!r} instead.")
        from votron.cluster.client import local_cluster

        with local_cluster(**({"n_workers": int(number)} if number else {})) as (_, client):
            yield _introduced(client, out)
        return
    try:
        client = distributed.Client(where, timeout=ANSWERS_WITHIN)
    except (OSError, ValueError) as error:
        raise VotronError(f"No Dask scheduler answers at {where}: {str(error).splitlines()[0].rstrip('.')}.") from None
    with client:
        yield _introduced(client, out)


def _introduced(client: Client, out: Output) -> Client:
    where = f"dashboard at {client.dashboard_link}" if client.dashboard_link else "without a dashboard"
    out.note(f"Dask cluster of {counted(len(client.nthreads()), 'worker')}, {where}.")
    return client


def train_on_cluster(job: Job, estimator: Estimator) -> TrainingOutcome:
    """Train where the rows are; the first part is read here, and what cannot be trained on refused, before that."""
    if job.reading.get("missing") in STRATEGIES:
        raise click.UsageError("--missing must be drop or refuse with --dask, since filling in needs all rows first.")
    if job.estimator not in _ESTIMATORS:
        raise click.UsageError(f"--dask trains {' and '.join(_ESTIMATORS)}. Got --estimator {job.estimator} instead.")
    files, column = _parts_of(job.data), weight_column(job.sample_weight, estimator)
    first = labelled_rows(*read_labelled(files[0], job.options), column)
    job.out.note(*first.examples.notes)
    check_options_of_tables(first.X, job.table)
    encoder = None
    if hasattr(first.X, "columns"):
        if job.table.get("numeric") != "keep":
            raise click.UsageError("--dask takes tables with --numeric keep, since scaling needs all rows first.")
        encoder = encoder_for(job.estimator, first, job.reading, job.table).fit(first.X)
    with cluster(str(job.dask), job.out) as client:
        start = time.monotonic()
        X, y, weights = _read_all(client, files, job.options, encoder, column)
        estimator.set_params(**by_label(job.params, y))
        estimator.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
    n, model = len(y) + (0 if column is None else column.left_out), behind_encoder(encoder, estimator)
    return TrainingOutcome(model, first.examples, n, len(y), time.monotonic() - start, column)


def _parts_of(where: str) -> list[str]:
    """Return the files that data consist of: those of a folder, of a pattern, or the one file."""
    pattern = os.path.join(glob.escape(where), "*") if os.path.isdir(where) else where
    found = [where] if os.path.isfile(where) else sorted(glob.glob(pattern))
    found = [os.path.abspath(path) for path in found if os.path.isfile(path)]
    if not found:
        raise DataError(f"--dask takes a folder of parts, such as .npy or Parquet files, or a pattern. Got {where!r}.")
    return found


def _read_all(
    client: Client, files: list[str], options: Params, encoder: Estimator, column: WeightColumn | None
) -> tuple[RowsLike, Array, Floats | None]:
    """Have the workers read the parts, whose rows stay there; return rows, labels and weights."""
    import dask.array as da
    from dask.delayed import delayed

    from votron.cluster.client import results_of

    name = None if column is None else column.name
    read = [delayed(_read)(path, options, encoder, name) for path in files]
    rows, *others = (client.compute([each[k] for each in read]) for k in range(4))
    sizes = results_of(client, client.map(_size, rows, pure=False))
    for path, (_, width) in zip(files, sizes, strict=True):
        if width != sizes[0][1]:
            raise DataError(
                f"All parts must have the same features: {base_name(files[0])} has {sizes[0][1]}, and "
                f"{base_name(path)} {width}."
            )
    parts = zip(rows, sizes, strict=True)
    X = da.concatenate([da.from_delayed(delayed(part), size, dtype=np.float64) for part, size in parts])
    labels, weights, left_out = (results_of(client, part) for part in others)
    y = np.concatenate(labels)
    if column is None:
        return X, y, None
    column.left_out = sum(left_out)
    column.check_some(len(y))
    return X, y, np.concatenate(weights)


def _read(
    path: str, options: Params, encoder: Estimator, weights: str | None
) -> tuple[Rows, Array, Floats | None, int]:
    """Return the rows, labels and weights of a file, and how many rows were left out; this runs on a worker."""
    column = None if weights is None else WeightColumn(weights)
    rows = labelled_rows(*read_labelled(path, options), column)
    X = rows.X if encoder is None else encoder.transform(rows.X)
    return X, rows.y, rows.weights, 0 if column is None else column.left_out


def _size(X: RowsLike) -> tuple[int, int]:
    return int(X.shape[0]), int(X.shape[1])
