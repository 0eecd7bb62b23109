"""Training on a Dask cluster of this machine beside the engine of one process: times, bytes, and a model of both.

Workers have one thread each, the engine of one process as many threads as there are workers. The record is the same.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import dask
import dask.array as da
import numpy as np
from distributed import Client
from scipy.optimize import nnls

from benchmarks._common import PAPER, Results, load, parser, timed
from votron import VotedPerceptronClassifier
from votron._util.resources import n_bytes
from votron.cluster import walk
from votron.cluster.client import local_cluster
from votron.papers.images import with_shifts

SHIFTS = [(a * step, b * step) for step in (1, 2) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b]
CHUNK = 20_000
EXPONENT = 0.72
"""Mistakes grow with this power of the examples (benchmarks.scaling)."""


@contextmanager
def workers(n: int, **options: Any) -> Iterator[Client]:
    warnings.filterwarnings("ignore", "Sending large graph")
    with local_cluster(n_workers=n, **options) as (_, client):
        client.wait_for_workers(n)
        yield client


def model(**parameters: Any) -> VotedPerceptronClassifier:
    return VotedPerceptronClassifier(**{**PAPER, "margin": 0.0, "epochs": 1, "random_state": 0, **parameters})


def spread(X: Any, y: Any) -> tuple[Any, Any]:
    rows = da.from_array(X, chunks=(min(CHUNK, -(-len(X) // 4)), -1))
    return dask.persist(rows, da.from_array(y, chunks=rows.chunks[0]))


@contextmanager
def accounted() -> Iterator[Counter[str]]:
    """Count the seconds of walks and steps, and the bytes of messages, of a run on a cluster."""
    found, walked, step = Counter[str](), walk.ClusterRun._walked, walk.ClusterRun._step

    def counted_walk(run: Any, pool: Any) -> Any:
        seconds, mistakes = timed(lambda: walked(run, pool))
        found["walk"] += seconds
        return mistakes

    def counted_step(run: Any, mistakes: Any, *where: Any) -> Any:
        seconds, replies = timed(lambda: step(run, mistakes, *where))
        found["steps"] += seconds
        found["sent"] += 0 if mistakes is None else size_of(mistakes.events)
        found["received"] += sum(size_of(reply.candidates) for reply in replies if reply.candidates is not None)
        return replies

    with mock.patch.multiple(walk.ClusterRun, _walked=counted_walk, _step=counted_step):
        yield found


def size_of(message: Any) -> int:
    return sum(n_bytes(part) for part in message if hasattr(part, "dtype"))


def median(runs: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the run of median time; of two the faster."""
    return sorted(runs, key=lambda run: run[0])[(len(runs) - 1) // 2]


def measured(client: Client, name: str, X: Any, y: Any, repeats: int, local: bool = True) -> dict[str, Any]:
    """Return the times of both, taken in turns, their medians, and what the cluster did."""
    n_workers, (rows, labels) = len(client.nthreads()), spread(X, y)
    model().fit(rows[:2000], labels[:2000])  # compiled, and loaded by all workers, before anything is timed
    model(n_jobs=n_workers).fit(X[:2000], y[:2000])
    runs, own = [], []
    for _ in range(repeats):
        with accounted() as spent:
            runs.append((*timed(lambda: model().fit(rows, labels)), spent))
        own += [timed(lambda: model(n_jobs=n_workers).fit(X, y))] if local else []
    seconds, fitted, spent = median(runs)
    row = {"data": name, "workers": n_workers, "cluster s": seconds}
    if local:
        here, expected = median(own)
        assert fitted.record_.equals(expected.record_), "another record"
        row |= {"local s": here, "ratio": seconds / here}
    account = fitted.cluster_account_
    moved = spent["received"] + n_workers * spent["sent"]
    least = len(fitted.support_) * X.shape[1] * X.itemsize * n_workers
    trips = account.round_trips
    row |= {
        "mistaken rows": len(fitted.support_),
        "pairs": float(sum(account.pairs)),
        "trips": trips,
        "moved MB": moved / 1e6,
        "of the least": moved / least,
        "walk ms": 1e3 * spent["walk"] / trips,
        "round trip ms": 1e3 * spent["steps"] / trips,
    }
    return row


# -- the model --------------------------------------------------------------------------------------------------------


def sizes_of(row: dict[str, Any]) -> list[float]:
    """Return what the time of a run is made of: 1, rows, round trips, and pairs for each worker."""
    return [1.0, row["rows"], row["trips"], row["pairs"] / row["workers"]]


def fitted_to(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Return the seconds of each, such that relative errors are least."""
    sizes, times = np.array([sizes_of(row) for row in runs]), np.array([row["cluster s"] for row in runs])
    found, _ = nnls(sizes / times[:, None], np.ones(len(runs)))
    return dict(zip(("at all", "a row", "a trip", "a pair"), found.tolist(), strict=True))


def predicted(seconds: dict[str, float], row: dict[str, Any]) -> float:
    """T = a + b n + trips · t + pairs · p / W."""
    return float(np.dot(list(seconds.values()), sizes_of(row)))


def checked_model(X: Any, y: Any) -> tuple[list[dict[str, Any]], dict[str, float], dict[str, Any]]:
    """Fit the model to some runs on two workers, and predict others: three times the rows, and one worker."""
    n = len(y) // 9
    plan = [(2, n // 4, 2048), (2, n // 2, 1024), (2, n // 2, 2048), (2, n, 1024), (2, n, 2048), (2, n, 4096)]
    plan += [(2, 3 * n, 1024), (2, 3 * n, 2048), (2, 9 * n, 2048), (1, n // 2, 2048), (1, n, 2048), (1, 3 * n, 2048)]
    runs = []
    for n_workers in (2, 1):
        with workers(n_workers) as client:
            for _, rows, candidates in (part for part in plan if part[0] == n_workers):
                with mock.patch.object(walk, "CANDIDATES", candidates):
                    row = measured(client, f"{rows:,} digits", X[:rows], y[:rows], 2, local=False)
                runs.append(row | {"rows": rows, "candidates": candidates, "fitted": n_workers == 2 and rows <= 3 * n})
    seconds = fitted_to([row for row in runs if row["fitted"]])
    names = ("data", "workers", "candidates", "trips", "fitted", "cluster s")
    table = []
    for row in runs:
        time = predicted(seconds, row)
        shown = {name: row[name] for name in names} | {"fitted": "yes" if row["fitted"] else "no"}
        table.append(shown | {"model s": time, "model / measured": time / row["cluster s"]})
    largest = max((row for row in runs if row["candidates"] == 2048), key=lambda row: row["rows"])
    return table, seconds, largest


def extrapolated(seconds: dict[str, float], row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return times for more rows and workers, and the workers at which half of the time is sequential."""
    found = []
    for n in (10**5, 10**6, 10**7, 10**8):
        more = n / row["rows"]
        at = {"rows": n, "trips": row["trips"] * more, "pairs": row["pairs"] * more ** (1 + EXPONENT)}
        times = {f"W={w}": predicted(seconds, at | {"workers": w}) for w in (1, 2, 10, 100, 1000)}
        sequential = predicted(seconds, at | {"workers": math.inf})
        mistakes = int(row["mistaken rows"] * more**EXPONENT)
        found.append(
            {"rows": n, "mistaken rows": mistakes, **times, "half at W": at["pairs"] * seconds["a pair"] / sequential}
        )
    return found


def main() -> int:
    options = parser(__doc__.splitlines()[0])
    options.add_argument("--only", nargs="+", default=["compare", "shifted", "model"], metavar="PART")
    options.add_argument("--copies", type=int, default=8, help="shifted copies to compare with (default: %(default)s)")
    args = options.parse_args()
    X, y, _, _ = load(args)
    results = Results("cluster", args)
    if "compare" in args.only:
        with workers(2) as client:
            results.table("MNIST, (1 + x.z)^4, one pass", [measured(client, "MNIST", X, y, 11)])
    if "shifted" in args.only:
        many, labels = with_shifts(X, y, SHIFTS[: args.copies])
        with workers(2) as client:
            results.table("With shifted copies", [measured(client, f"{len(many):,} digits", many, labels, 1)])
    if "model" in args.only:
        table, seconds, largest = checked_model(*with_shifts(X, y, SHIFTS[:8]))
        results.table("T = a + b n + trips t + pairs p / W, fitted to some runs", table)
        results.table("Its numbers, in nanoseconds", [{name: 1e9 * value for name, value in seconds.items()}])
        results.table("Seconds for more rows, one pass", extrapolated(seconds, largest))
    results.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
