"""One record, whatever the workers: SHA-256 digests on MNIST trained on Dask clusters of 1 to 4 processes.

Pixels as they are must give the digest in digests.json, which one machine wrote (`benchmarks.exact`); as fractions, in
float32 and float64, that of the engine of one process. Each worker must have made at least half of its even share of
the products.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import dask
import dask.array as da
import numpy as np

from benchmarks._common import as_text, load, machine, parser
from benchmarks.cluster import workers
from benchmarks.exact import DIGESTS, EPOCHS
from votron.cluster.rows import SpreadRows
from votron.engine import DualTrainer
from votron.estimators._data import checked_chunk
from votron.kernels import PolynomialKernel

DEGREE = 4
FORMS = {
    "uint8": lambda X: X,
    "float32 fractions": lambda X: (X / 7.0).astype(np.float32),
    "float64 fractions": lambda X: X / 255.0,
}


def trained(X: Any, y: Any, epochs: int) -> tuple[str, list[float]]:
    """Return the digest of the record, and the share of the products of each worker; of one process none."""
    trainer, order = (
        DualTrainer(PolynomialKernel(DEGREE), int(y.max()) + 1),
        np.random.default_rng(0).permutation(len(y)),
    )
    n_steps, shares = epochs * len(y), dict[str, float]()
    if isinstance(X, da.Array):
        rows = SpreadRows(X, checked_chunk, "this benchmark")
        rows.run(y, order, n_steps, trainer=trainer)
        assert rows.account is not None
        for worker, pairs in zip(rows.account.workers, rows.account.pairs, strict=True):
            shares[worker] = shares.get(worker, 0.0) + pairs
    else:
        trainer.run(X, y, order, n_steps, n_threads=2)
    total = sum(shares.values())
    return trainer.record(len(order), n_steps).digest(), [share / total for share in shares.values()]


def compared(form: str, X: Any, y: Any, expected: str, epochs: int, n_workers: int) -> dict[str, Any]:
    """Train on so many workers, with chunks that do not go with them."""
    begun = time.perf_counter()
    with workers(n_workers):
        spread = dask.persist(da.from_array(X, chunks=(17_000 // n_workers, -1)))[0]
        digest, shares = trained(spread, y, epochs)
    good = digest == expected and len(shares) == n_workers and min(shares) >= 0.5 / n_workers
    return {
        "data": form, "T": epochs, "workers": n_workers, "digest": digest[:16], "smallest share": min(shares),
        "same": "yes" if good else "NO", "seconds": time.perf_counter() - begun,
    }  # fmt: skip


def main() -> int:
    options = parser(__doc__.splitlines()[0])
    options.add_argument("--workers", type=int, nargs="+", default=[1, 2, 3, 4], metavar="N")
    args = options.parse_args()
    X, y, _, _ = load(args)
    whole = args.rows is None
    known = json.loads(DIGESTS.read_text(encoding="utf-8"))["digests"][str(DEGREE)]["sha256"]
    print(machine())
    rows = []
    for form, make in FORMS.items():
        made, epochs = make(X), EPOCHS[DEGREE] if form == "uint8" else 1
        expected = known if form == "uint8" and whole else trained(made, y, epochs)[0]
        rows += [compared(form, made, y, expected, epochs, n) for n in args.workers]
    good = all(row["same"] == "yes" for row in rows)
    print(f"\n{as_text(rows)}\n\n{'Every record is the same.' if good else 'FAIL'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
