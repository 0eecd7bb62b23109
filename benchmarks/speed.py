"""Speed of training and voting on MNIST, raw pixels, kernel (1 + x.z)^4, as ratios to the SGEMM floor.

Also: what the first call costs in compilation, how long ``import votron`` takes, and where the time goes.
"""

from __future__ import annotations

import cProfile
import io
import pstats
import sys
import tempfile
from contextlib import nullcontext
from typing import Any

from benchmarks._common import (
    Results,
    best_of,
    error,
    in_subprocess,
    keeping_after,
    load,
    ours,
    pairs_of_one_epoch,
    parser,
    sgemm_seconds,
)

FIRST_FIT = """
import time, numpy as np
from sklearn.datasets import load_digits
from votron import VotedPerceptronClassifier
X, y = load_digits(return_X_y=True)
X = X.astype(np.uint8)
start = time.perf_counter()
VotedPerceptronClassifier(kernel="poly", margin=0.0, degree=4, gamma=1.0, epochs=2, random_state=0).fit(X, y).predict(X)
print(time.perf_counter() - start)
"""
IMPORT = "import time; s = time.perf_counter(); {}; print(time.perf_counter() - s)"


def training(args: Any, X: Any, y: Any) -> tuple[Any, list[dict[str, Any]]]:
    """Train to T = 30 with and without the cache, and to T = 1."""
    ways = {
        "T=30, cache as it comes": ({"epochs": 30}, nullcontext()),
        "T=30, cache from the first product on": ({"epochs": 30}, keeping_after(1)),
        "T=30, no cache": ({"epochs": 30, "memory_limit": 0}, nullcontext()),
        "T=1": ({"epochs": 1}, nullcontext()),
    }
    rows, floors, models = [], {}, {}
    for name, (parameters, context) in ways.items():
        with context:
            seconds, model = best_of(args.repeats, lambda p=parameters: ours(args, **p).fit(X, y))
        if parameters["epochs"] not in floors:
            floors[parameters["epochs"]] = floor(args, X, model, parameters["epochs"])
        models[name] = model
        rows.append({"training": name, "seconds": seconds, "floor": floors[parameters["epochs"]]})
        rows[-1]["ratio"] = seconds / rows[-1]["floor"]
        rows[-1] |= {"support": len(model.support_), "mistakes": len(model.record_), "epochs run": model.n_epochs_}
    return models["T=30, no cache"], rows


def floor(args: Any, X: Any, model: Any, epochs: float) -> float:
    """Return the time of the products that training needs at least; one epoch needs only a share of them."""
    whole = sgemm_seconds(X, model.support_vectors_, args.threads)
    if epochs > 1:
        return whole
    return whole * pairs_of_one_epoch(model.record_) / (len(X) * len(model.support_))


def voting(args: Any, model: Any, X: Any, y: Any) -> list[dict[str, Any]]:
    """Vote on the test digits; the first call also packs the support vectors."""
    first, _ = best_of(1, lambda: model.predict(X))
    seconds, _ = best_of(args.repeats, lambda: model.predict(X))
    least = sgemm_seconds(X, model.support_vectors_, args.threads)
    rows = [
        {"voting": name, "seconds": s, "floor": least, "ratio": s / least, "error %": error(model, X, y)}
        for name, s in (("first call", first), ("later calls", seconds))
    ]
    return rows


def starting() -> list[dict[str, Any]]:
    """Time the first fit, with nothing compiled and with all of it, and the import, each in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = (float(in_subprocess(FIRST_FIT, environment={"NUMBA_CACHE_DIR": folder})) for _ in range(2))
    lazy, whole = (
        min(float(in_subprocess(IMPORT.format(what))) for _ in range(5))
        for what in ("import votron", "from votron import VotedPerceptronClassifier")
    )
    return [
        {"fresh process": "first fit and predict, nothing compiled yet", "seconds": cold},
        {"fresh process": "the same, compiled before", "seconds": warm},
        {"fresh process": "import votron", "seconds": lazy},
        {"fresh process": "from votron import VotedPerceptronClassifier", "seconds": whole},
    ]


def profile(args: Any, X: Any, y: Any, lines: int = 14) -> str:
    """Return where the time of training on one thread goes; compiled loops count for the function that calls them."""
    profiler = cProfile.Profile()
    profiler.runcall(ours(args, epochs=30, n_jobs=1).fit, X, y)
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).strip_dirs().sort_stats("tottime").print_stats(lines)
    return "\n".join(line for line in text.getvalue().splitlines() if line.strip())


def main() -> int:
    options = parser(__doc__.splitlines()[0])
    options.add_argument("--repeats", type=int, default=3, metavar="N", help="best of N runs (default: %(default)s)")
    args = options.parse_args()
    X, y, X_test, y_test = load(args)
    results = Results("speed", args)
    ours(args, epochs=2).fit(X[:2000], y[:2000]).predict(X_test[:100])  # compiled before anything is timed
    model, rows = training(args, X, y)
    results.table("Training on MNIST, seconds against the SGEMM floor", rows)
    results.table(f"Voting on {len(X_test):,} test digits", voting(args, model, X_test, y_test))
    results.table("Starting", starting())
    print(f"\nProfile, T=30, one thread\n\n{profile(args, X, y)}")
    results.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
