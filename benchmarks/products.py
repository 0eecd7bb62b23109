"""Speed of dot products, of a block of rows with support vectors, as a ratio to SGEMM's on one core.

Training spends most of its time there. ``--as avx2`` compiles and multiplies as on a processor without AVX-512.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._common import FASHION, Results, best_of, load, parser, unit_length
from votron.products import choose_products, describe

N_ROWS, N_SUPPORTS = 1024, 512
AVX2 = {
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma,+bmi,+bmi2,+lzcnt,+popcnt,+sse4.2",
    "OPENBLAS_CORETYPE": "Haswell",
}


def data_sets(args: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    size = N_ROWS + N_SUPPORTS
    sets = {"dense uint8": rng.integers(0, 256, (size, 784)).astype(np.uint8)}
    if Path(args.fashion).is_dir():
        fashion = load(args, "fashion", args.fashion)[0][:size]
        sets |= {"Fashion-MNIST": fashion, "Fashion-MNIST, float32 of length 1": unit_length(fashion)}
    digits = load(args)[0][:size]
    sets |= {"MNIST": digits, "MNIST, float32 of length 1": unit_length(digits)}
    sets["dense int16"] = rng.integers(-1000, 1000, (size, 784)).astype(np.int16)
    sets["dense float32"] = rng.random((size, 784), dtype=np.float32)
    sets["dense float64 (beside DGEMM)"] = rng.random((size, 784))
    return sets


def measure(name: str, X: Any, repeats: int) -> dict[str, Any]:
    rows, supports = X[:N_ROWS], X[N_ROWS:]
    products = choose_products(describe(X))
    real = np.float64 if X.dtype == np.float64 else np.float32
    A, B, out = rows.astype(real), np.ascontiguousarray(supports.astype(real).T), np.empty((N_ROWS, N_SUPPORTS), real)
    theirs, _ = best_of(repeats, lambda: np.matmul(A, B, out=out))
    store, block = products.pack(supports, np.arange(N_SUPPORTS)), products.block(rows, np.arange(N_ROWS))
    packing, _ = best_of(repeats, lambda: block.prepare(0, N_ROWS))
    slots, dots = np.arange(N_SUPPORTS), np.empty((N_SUPPORTS, N_ROWS), products.dtype)
    ours, _ = best_of(repeats, lambda: products.dots(store, slots, block, 0, N_ROWS, dots))
    return {
        "data": name,
        "nonzero %": 100 * float(np.mean(X != 0)),
        "by": products.form,
        "times SGEMM's speed": theirs / ours,
        "packing / products": packing / ours,
        "GEMM ms": 1e3 * theirs,
    }


def main() -> int:
    options = parser(__doc__.splitlines()[0])
    options.add_argument("--fashion", default=FASHION, metavar="FOLDER", help="Fashion-MNIST (default: %(default)s)")
    options.add_argument("--as", dest="processor", choices=["avx2"], help="as on a processor that has no more")
    options.add_argument("--repeats", type=int, default=20, metavar="N", help="best of N runs (default: %(default)s)")
    args = options.parse_args()
    if args.processor and any(os.environ.get(name) != value for name, value in AVX2.items()):
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks.products", *sys.argv[1:]], {**os.environ, **AVX2})
    args.threads = 1
    results = Results("products" if args.processor is None else f"products-{args.processor}", args)
    with threadpool_limits(1, user_api="blas"):
        rows = [measure(name, X, args.repeats) for name, X in data_sets(args).items()]
    results.table(f"{N_ROWS:,} rows times {N_SUPPORTS} support vectors, 784 features, one core", rows)
    results.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
