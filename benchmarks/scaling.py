"""Growth of cost with the number of examples: times, support counts and the fitted exponent, beside SVMs.

Then beyond MNIST's 60,000: the digits and copies of them, each shifted by one pixel or two of the eight directions, one
pass, with the memory that it takes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import SVC

from benchmarks._common import PAPER, Results, fast_svc, in_subprocess, load, ours, parser, timed, unit_length

SIZES = (7_500, 15_000, 30_000, 60_000)
LIBSVM_UP_TO = 15_000


def exponent(sizes: list[int], values: list[float]) -> float:
    """Return a of the power law values = c * sizes^a that fits best on logarithmic axes."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def grow(name: str, make: Callable[[], Any], X: Any, y: Any, sizes: list[int]) -> list[dict[str, Any]]:
    """Fit on the first n examples, for each n; the last row has the exponents."""
    rows: list[dict[str, Any]] = []
    for n in sizes:
        seconds, model = timed(lambda n=n: make().fit(X[:n], y[:n]))
        rows.append({"model": name, "examples": n, "seconds": seconds, "support": len(model.support_)})
    if len(sizes) > 1:
        powers = {key: exponent(sizes, [row[key] for row in rows]) for key in ("seconds", "support")}
        rows.append({"model": f"{name}: exponent", **powers})
    return rows


SHIFTED = """
import resource, sys, time
import numpy as np
from votron import VotedPerceptronClassifier
from votron.data import load_image_set
from votron.papers.images import with_shifts
folder, rows, copies, threads = sys.argv[1:]
images = load_image_set(folder or "mnist")
X, y, X_test, y_test = images.X[: int(rows)], images.y[: int(rows)], images.X_test, images.y_test
shifts = [(a * step, b * step) for step in (1, 2) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b]
paper = {"kernel": "poly", "degree": 4, "gamma": 1.0, "margin": 0.0}
model = VotedPerceptronClassifier(**paper, epochs=1, random_state=0, n_jobs=int(threads))
model.fit(X[:2000], y[:2000]).predict(X_test[:100])  # compiled before anything is timed
X, y = with_shifts(X, y, shifts[: int(copies)])
start = time.perf_counter()
model.fit(X, y)
train = time.perf_counter() - start
start = time.perf_counter()
wrong = 100 * np.mean(model.predict(X_test) != y_test)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(len(X), train, len(model.support_), time.perf_counter() - start, wrong, peak / 1e9, X.nbytes / 1e9)
"""


def shifted(args: Any, n_rows: int, copies: list[int]) -> list[dict[str, Any]]:
    """Train on the digits and shifted copies, one pass, each in a process of its own."""
    names = ("examples", "train s", "support", "predict 10,000 s", "error %", "peak GB", "data GB")
    rows = []
    for n in copies:
        printed = in_subprocess(SHIFTED, arguments=[args.data or "", str(n_rows), str(n), str(args.threads)])
        found = dict(zip(names, map(float, printed.split()), strict=True))
        rows.append({**found, "examples": int(found["examples"]), "support": int(found["support"])})
    powers = {key: exponent([row["examples"] for row in rows], [row[key] for row in rows]) for key in names[1:3]}
    return [{"model": "ours, T=1, vote", **row} for row in rows] + [{"model": "exponent", **powers}]


def main() -> int:
    options = parser(__doc__.splitlines()[0])
    options.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), metavar="N")
    options.add_argument(
        "--copies", type=int, nargs="+", default=[0, 2, 8, 16], metavar="N", help="shifted copies, 0 to 16"
    )
    args = options.parse_args()
    X, y, _, _ = load(args)
    unit, sizes = unit_length(X), [n for n in args.sizes if n <= len(X)]
    results = Results("scaling", args)
    for rows in (X, unit):  # compiled before anything is timed
        ours(args, epochs=2).fit(rows[:2000], y[:2000])
    table = grow("ours, raw pixels, T=30", lambda: ours(args, epochs=30), X, y, sizes)
    table += grow("ours, unit length, T=10", lambda: ours(args, epochs=10), unit, y, sizes)
    if (fast := fast_svc()) is not None:
        table += grow("sklearnex SVC, unit length", lambda: fast(**PAPER, C=1.0, cache_size=2000), unit, y, sizes)
    small = [n for n in sizes if n <= LIBSVM_UP_TO]
    table += grow("scikit-learn SVC, unit length", lambda: SVC(**PAPER, C=1.0, cache_size=2000), unit, y, small)
    results.table("MNIST, (1 + x.z)^4, the first N examples", table)
    results.table("MNIST and shifted copies, (1 + x.z)^4, one pass", shifted(args, len(X), args.copies))
    results.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
