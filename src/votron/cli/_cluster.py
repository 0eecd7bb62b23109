"""``--dask``: training on data in parts that the workers of a Dask cluster read."""

from __future__ import annotations

import argparse
import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from votron.cli._output import Notes
from votron.cli._parser import UsageError
from votron.cli._reading import base_name, behind_encoder, encoder_for, read_labelled, typed_reading
from votron.cli._weights import WeightColumn
from votron.cluster.client import results_of
from votron.data.vocabulary import STRATEGIES
from votron.errors import DataError, MissingPackageError, VotronError

_ESTIMATORS = ("voted", "averaged")
_ANSWERS_WITHIN = 10.0
"""Seconds in which a scheduler has to answer."""


@contextmanager
def cluster(where: str, notes: Notes) -> Iterator[Any]:
    """Yield a client of the cluster that was asked for, and say where its dashboard is."""
    try:
        import distributed
    except ImportError:
        raise MissingPackageError("--dask takes the package distributed: pip install 'votron[cluster]'.") from None
    name, _, number = where.partition(":")
    if name == "local":
        if number and not (number.isdecimal() and int(number) > 0):
            raise UsageError(f"--dask must be an address, local or local:N, N workers. Got {where!r} instead.")
        options = {"n_workers": int(number)} if number else {}
        from votron.cluster.local import local_cluster

        with local_cluster(**options) as (_, client):
            yield _introduced(client, notes)
        return
    try:
        client = distributed.Client(where, timeout=_ANSWERS_WITHIN)
    except (OSError, ValueError) as error:
        raise VotronError(f"No Dask scheduler answers at {where}: {str(error).splitlines()[0].rstrip('.')}.") from None
    with client:
        yield _introduced(client, notes)


def _introduced(client: Any, notes: Notes) -> Any:
    workers = len(client.nthreads())
    link = client.dashboard_link
    where = f"dashboard at {link}" if link else "without a dashboard"
    notes(f"Dask cluster of {workers} worker{'' if workers == 1 else 's'}, {where}")
    return client


def check_options(args: argparse.Namespace) -> None:
    """Refuse options that do not go together with --dask."""
    for name, why in {
        "stream": "--stream reads the data here",
        "tune": "--tune needs all data at once: tune on a part of the data",
        "certificate": "--certificate needs all data at once: run `votron certify` on a part of the data later",
    }.items():
        if getattr(args, name, None):
            raise UsageError(f"{why}; leave it out with --dask.")
    if args.missing in STRATEGIES:
        raise UsageError(
            f"--missing {args.missing} needs all rows first: fill in the parts beforehand, or take --missing drop with "
            "--dask."
        )
    if args.estimator not in _ESTIMATORS:
        raise UsageError(f"--dask trains the estimators {' and '.join(_ESTIMATORS)}. Got {args.estimator!r} instead.")
    if isinstance(args.test, float):
        raise UsageError("--test must be a file with --dask, since rows are not here to be drawn from.")


def parts_of(where: str) -> list[str]:
    """Return the files that data consist of: those of a folder, of a pattern, or the one file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.npy", "a.npy", ".hidden"):
    ...         open(os.path.join(folder, name), "w").close()
    ...     [os.path.basename(part) for part in parts_of(folder)]
    ['a.npy', 'b.npy']
    """
    pattern = os.path.join(glob.escape(where), "*") if os.path.isdir(where) else where
    found = [where] if os.path.isfile(where) else sorted(glob.glob(pattern))
    found = [os.path.abspath(path) for path in found if os.path.isfile(path)]
    if not found:
        raise DataError(f"--dask takes a folder of parts, such as .npy or Parquet files, or a pattern. Got {where!r}.")
    return found


class Parts:
    """Data in parts, as Dask collections, and the model to train on them.

    The first part is read here, and what cannot be trained on is refused, before there is a cluster; `read` has the
    workers read all.
    """

    def __init__(self, args: argparse.Namespace, estimator: Any, column: WeightColumn | None = None) -> None:
        self.files, self.reading, self.column = parts_of(args.data), typed_reading(args), column
        self.first, _ = read_labelled(self.files[0], **self.reading)
        table = self.first.X if column is None else column.taken(self.first)[0]
        self.encoder = None
        if hasattr(table, "columns"):
            if args.numeric != "keep":
                raise UsageError(
                    "--dask takes tables with --numeric keep, since scaling and filling gaps need all rows first: "
                    "scale and encode the parts beforehand, or train without --dask."
                )
            self.encoder = encoder_for(args, self.first, table).fit(table)
        self.classifier, self.model = estimator, behind_encoder(self.encoder, estimator)

    def read(self, client: Any) -> None:
        """Have the workers read the parts; rows stay with them."""
        import dask.array as da
        from dask.delayed import delayed

        files, column = self.files, self.column
        how = self.reading, self.encoder, None if column is None else column.name
        read = [delayed(_read)(path, *how) for path in files]
        rows, *others = (client.compute([each[k] for each in read]) for k in range(4))
        sizes = results_of(client, client.map(_size, rows, pure=False))
        widths = [width for _, width in sizes]
        if len(set(widths)) > 1:
            odd = next(k for k, width in enumerate(widths) if width != widths[0])
            raise DataError(
                f"All parts must have the same features: {base_name(files[0])} has {widths[0]}. "
                f"Got {widths[odd]} in {base_name(files[odd])} instead."
            )
        self.rows = sum(n for n, _ in sizes)
        self.X = da.concatenate([
            da.from_delayed(delayed(part), size, dtype=np.float64) for part, size in zip(rows, sizes, strict=True)
        ])  # fmt: skip
        labels, weights, columns = (results_of(client, part) for part in others)
        self.y = np.concatenate(labels)
        self.weights = None if column is None else np.concatenate(weights)
        for found in columns:
            if column is not None:
                column.join(found)

    def train(self) -> Any:
        """Return the model, trained where the rows are."""
        more = {} if self.weights is None else {"sample_weight": self.weights}
        self.classifier.fit(self.X, self.y, **more)
        return self.model


def _read(path: str, reading: dict[str, Any], encoder: Any, weights: str | None) -> tuple[Any, Any, Any, Any]:
    """Return the rows and labels of a file, and from a column with a name their weights; this runs on a worker."""
    data, y = read_labelled(path, **reading)
    X, column, numbers = data.X, None, None
    if weights is not None:
        column = WeightColumn(weights)
        X, kept, numbers = column.split(data)
        y = y[kept]
    return X if encoder is None else encoder.transform(X), y, numbers, column


def _size(X: Any) -> tuple[int, int]:
    return int(X.shape[0]), int(X.shape[1])
