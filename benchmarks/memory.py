"""Memory that training takes above the data, in a process of its own for each ``memory_limit``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import FASHION, Results, in_subprocess, load, parser, unit_length

LIMITS = ("0", "500MB", "2GB", "auto")
FIT = """
import resource, sys
from pathlib import Path
import numpy as np
from votron import VotedPerceptronClassifier
from votron._util.resources import parse_memory_limit
folder, limit, epochs, threads = sys.argv[1:]
limit = int(limit) if limit.isdecimal() else limit
X, y = np.load(folder + "/X.npy"), np.load(folder + "/y.npy")

def model(epochs):
    paper = {"kernel": "poly", "degree": 4, "gamma": 1.0, "margin": 0.0}
    return VotedPerceptronClassifier(
        **paper, epochs=epochs, random_state=0, memory_limit=limit, n_jobs=int(threads)
    )

model(2).fit(X[:500], y[:500])  # loads the compiled loops
allowed = parse_memory_limit(limit, data_bytes=X.nbytes)
pages = int(Path("/proc/self/statm").read_text().split()[1])
fitted = model(float(epochs)).fit(X, y)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(peak - pages * resource.getpagesize(), allowed, len(fitted.support_))
"""


def measure(args: Any, X: Any, y: Any, epochs: float) -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "X.npy"), X)
        np.save(Path(folder, "y.npy"), y)
        for limit in LIMITS:
            printed = in_subprocess(FIT, arguments=[folder, limit, str(epochs), str(args.threads)])
            above, allowed, support = map(int, printed.split())
            rows.append({"memory_limit": limit, "allowed MB": allowed / 1e6, "peak above the data MB": above / 1e6})
            rows[-1] |= {"data MB": X.nbytes / 1e6, "support": support, "within": _within(above, allowed)}
    return rows


def _within(above: int, allowed: int) -> str:
    """The promise: under the limit; under 500 MB with the cache off."""
    return "yes" if above <= (allowed or 500_000_000) else "NO"


def main() -> int:
    options = parser(__doc__.splitlines()[0])
    options.add_argument("--fashion", default=FASHION, metavar="FOLDER", help="Fashion-MNIST (default: %(default)s)")
    args = options.parse_args()
    if not Path("/proc/self/statm").exists():
        print("This benchmark reads /proc, which this system does not have: left out.")
        return 0
    X, y, _, _ = load(args)
    results = Results("memory", args)
    results.table("MNIST, raw pixels, T=30", measure(args, X, y, 30))
    if Path(args.fashion).is_dir():
        X, y, _, _ = load(args, "fashion-mnist", args.fashion)
        results.table("Fashion-MNIST, unit length, T=10", measure(args, unit_length(X), y, 10))
    else:
        print(f"No Fashion-MNIST in {args.fashion}: left out.")
    results.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
