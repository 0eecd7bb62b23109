"""Time and memory of reading a CSV file of 20 columns of numbers, beside polars, each in a process of its own."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks._common import Results, in_subprocess, parser

IMPORTS = "import polars\nfrom votron.data import read_examples\n"
READERS = {
    "polars": "read = lambda path: polars.read_csv(path)",
    "Votron": "read = lambda path: read_examples(path, label='y')",
}
READ = """
import resource, sys, time
start = time.perf_counter()
read(sys.argv[1])
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
"""


def write(path: Path, n_rows: int) -> None:
    """Write half the columns with whole numbers, half with fractions, and labels."""
    rng = np.random.default_rng(0)
    columns = {f"n{i}": rng.integers(0, 10_000, n_rows) for i in range(10)}
    columns |= {f"x{i}": rng.normal(size=n_rows).round(4) for i in range(10)}
    pl.DataFrame(columns | {"y": rng.integers(0, 2, n_rows)}).write_csv(path)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--repeat", type=int, default=3, metavar="N", help="default: %(default)s")
    args = options.parse_args()
    results = Results("reading", args)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "numbers.csv")
        write(path, args.rows or 1_000_000)
        for _ in range(args.repeat):
            found = {}
            for name, reader in READERS.items():
                seconds, peak = map(float, in_subprocess(IMPORTS + reader + READ, arguments=[str(path)]).split())
                found |= {f"{name} s": seconds, f"{name} MB": peak}
            found |= {f"times {unit}": found[f"Votron {unit}"] / found[f"polars {unit}"] for unit in ("s", "MB")}
            rows.append(found)
    results.table(f"{args.rows or 1_000_000:,} rows", rows)
    results.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
