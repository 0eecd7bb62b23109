"""Growth of cost with the number of examples: times, support counts and the fitted exponent, beside SVMs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import SVC

from benchmarks._common import PAPER, Results, fast_svc, load, ours, parser, timed, unit_length

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


def main() -> int:
    options = parser(__doc__.splitlines()[0])
    options.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), metavar="N")
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
    results.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
