"""Training on a Dask cluster of this machine beside the engine of one process: times, bytes, and a model of both.

Workers have one thread each, the engine of one process as many threads as there are workers. The record is the same.
"""

from __future__ import annotations

import logging
import resource
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks._common import PAPER, Results, load, parser, timed
from votron import VotedPerceptronClassifier
from votron.data import load_mnist_folder
from votron.experiments.images import Shift, with_copies

SHIFTS = [Shift(a * step, b * step) for step in (1, 2) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b]
CHUNK = 20_000
EXPONENT = 0.72
"""Mistakes grow with this power of the examples (benchmarks.scaling)."""


@contextmanager
def workers(n: int, **options: Any) -> Iterator[Client]:
    warnings.filterwarnings("ignore", "Sending large graph")
    quiet = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with LocalCluster(n_workers=n, **quiet, **options) as made, Client(made, direct_to_workers=True) as client:
        client.wait_for_workers(n)
        yield client


def model(**parameters: Any) -> VotedPerceptronClassifier:
    return VotedPerceptronClassifier(**{**PAPER, "margin": 0.0, "epochs": 1, "random_state": 0, **parameters})


def spread(X: Any, y: Any) -> tuple[Any, Any]:
    rows = da.from_array(X, chunks=(min(CHUNK, -(-len(X) // 4)), -1))
    return dask.persist(rows, da.from_array(y, chunks=rows.chunks[0]))


def measured(client: Client, name: str, X: Any, y: Any, repeats: int, local: bool = True) -> dict[str, Any]:
    """Return the times of both, and what the cluster did."""
    n_workers, (rows, labels) = len(client.nthreads()), spread(X, y)
    model().fit(rows[:2000], labels[:2000])  # compiled, and loaded by all workers, before anything is timed
    runs = [timed(lambda: model().fit(rows, labels)) for _ in range(repeats)]
    seconds, fitted = min(runs, key=lambda run: run[0])
    row = {"data": name, "workers": n_workers, "cluster s": seconds}
    if local:
        model(n_jobs=n_workers).fit(X[:2000], y[:2000])
        best = min((timed(lambda: model(n_jobs=n_workers).fit(X, y)) for _ in range(repeats)), key=lambda run: run[0])
        assert fitted.record_.equals(best[1].record_), "another record"
        row |= {"local s": best[0], "ratio": seconds / best[0]}
    account = fitted.cluster_account_
    moved = account.bytes_received + n_workers * account.bytes_sent
    least = len(fitted.support_) * X.shape[1] * X.itemsize * n_workers
    trips = account.round_trips
    work = [facts["products"] for facts in account.shards]
    row |= {
        "mistaken rows": len(fitted.support_),
        "pairs": float(sum(facts["pairs"] for facts in account.shards)),
        "trips": trips,
        "moved MB": moved / 1e6,
        "of the least": moved / least,
        "walk ms": 1e3 * account.walk_seconds / trips,
        "products ms": 1e3 * max(work) / trips,
        "transfer ms": 1e3 * account.message_seconds / trips,
        "waiting ms": 1e3 * max(facts["waiting"] for facts in account.shards) / trips,
    }
    return row


# -- the model --------------------------------------------------------------------------------------------------------


def parts_of(row: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of the model from one run: seconds of a pair, of a round trip, and of what is done once."""
    trip = (row["walk ms"] + row["transfer ms"]) / 1e3
    pair = row["products ms"] / 1e3 * row["trips"] * row["workers"] / row["pairs"]
    once = max(0.0, row["cluster s"] - trip * row["trips"] - pair * row["pairs"] / row["workers"])
    return {"pair": pair, "trip": trip, "once": once, "trips a mistake": row["trips"] / row["mistaken rows"]}


def predicted(parts: dict[str, float], pairs: float, mistakes: float, n_workers: int) -> float:
    """T = once + trips · t + pairs · p / W."""
    return parts["once"] + parts["trips a mistake"] * mistakes * parts["trip"] + pairs * parts["pair"] / n_workers


def extrapolated(parts: dict[str, float], row: dict[str, Any], n0: int) -> list[dict[str, Any]]:
    """Return times for more rows and workers, and the workers at which half of the time is the sequential part."""
    found = []
    for n in (10**5, 10**6, 10**7, 10**8):
        mistakes = row["mistaken rows"] * (n / n0) ** EXPONENT
        pairs = row["pairs"] * (n / n0) ** (1 + EXPONENT)
        half = pairs * parts["pair"] / (parts["trips a mistake"] * mistakes * parts["trip"])
        times = {f"W={w}": predicted(parts, pairs, mistakes, w) for w in (1, 2, 10, 100)}
        found.append({"rows": n, "mistaken rows": int(mistakes), **times, "half at W": half})
    return found


def check_model(client_of: Any, X: Any, y: Any, sizes: list[int]) -> tuple[list[dict[str, Any]], dict[str, float], Any]:
    """Fit the model to the largest run on two workers, and predict the others."""
    runs = []
    for n_workers in (1, 2):
        with client_of(n_workers) as client:
            runs += [measured(client, f"{n:,} digits", X[:n], y[:n], 2, local=False) | {"rows": n} for n in sizes]
    parts = parts_of(runs[-1])
    table = []
    for row in runs:
        time = predicted(parts, row["pairs"], row["mistaken rows"], row["workers"])
        table.append(
            {name: row[name] for name in ("data", "workers", "cluster s")}
            | {"model s": time, "model / measured": time / row["cluster s"]}
        )
    return table, parts, runs[-1]


# -- beyond memory ----------------------------------------------------------------------------------------------------


def _made(folder: str | None, start: int, stop: int, copy: int) -> Any:
    """Return some digits, shifted; this runs on a worker."""
    X, y, _, _ = load_mnist_folder(folder)
    if copy:
        X, y = with_copies(X[start:stop], y[start:stop], [SHIFTS[copy - 1]])
        return X[stop - start :]
    return X[start:stop]


def beyond_memory(args: Any, n: int, y: Any, copies: int, limit: str) -> dict[str, Any]:
    """Train on digits and shifted copies of them that workers make, with little memory."""
    step = min(CHUNK, n)
    with workers(2, memory_limit=limit) as client:
        parts = []
        for copy in range(copies + 1):
            for start in range(0, n, step):
                stop = min(start + step, n)
                made = dask.delayed(_made)(args.data, start, stop, copy)
                parts.append(da.from_delayed(made, (stop - start, 784), np.uint8))
        X, labels = da.concatenate(parts), np.tile(y[:n], copies + 1)
        seconds, fitted = timed(lambda: model(memory_limit="100MB").fit(X, labels))
        peaks = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
    return {
        "rows": len(labels), "data GB": len(labels) * 784 / 1e9, "limit of a worker": limit, "seconds": seconds,
        "most of a worker GB": max(peaks.values()), "mistaken rows": len(fitted.support_),
        "lost workers": fitted.cluster_account_.lost,
    }  # fmt: skip


def main() -> int:
    options = parser(__doc__.splitlines()[0])
    options.add_argument("--only", nargs="+", default=["compare", "shifted", "model", "beyond"], metavar="PART")
    options.add_argument("--copies", type=int, default=8, help="shifted copies to compare with (default: %(default)s)")
    options.add_argument("--memory", default="900MB", help="memory of a worker, beyond memory (default: %(default)s)")
    args = options.parse_args()
    X, y, _, _ = load(args)
    results = Results("cluster", args)
    if "compare" in args.only:
        with workers(2) as client:
            results.table("MNIST, (1 + x.z)^4, one pass", [measured(client, "MNIST", X, y, 3)])
    if "shifted" in args.only:
        many, labels = with_copies(X, y, SHIFTS[: args.copies])
        with workers(2) as client:
            results.table("With shifted copies", [measured(client, f"{len(many):,} digits", many, labels, 1)])
    if "model" in args.only:
        table, parts, row = check_model(workers, X, y, [len(X) // 4, len(X) // 2, len(X)])
        results.table("T = once + trips t + pairs p / W, from the last row", table)
        results.table("Its numbers, in seconds", [parts])
        results.table("Seconds for more rows, one pass", extrapolated(parts, row, len(X)))
    if "beyond" in args.only:
        results.table("Rows beyond memory", [beyond_memory(args, len(X), y, 16, args.memory)])
    results.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
