"""Data that stay inseparable: Fashion-MNIST at unit length, kernel (1 + x.z)^4, T = 10, with and without the cache."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from benchmarks._common import (
    FASHION,
    PAPER,
    Results,
    error,
    fast_svc,
    in_subprocess,
    load,
    ours,
    parser,
    sgemm_seconds,
    timed,
    unit_length,
)
from votron.kernels import LinearKernel, NormalizedKernel, PolynomialKernel


def ours_rows(args: Any, raw: tuple[Any, Any, Any, Any], data: tuple[Any, Any, Any, Any]) -> list[dict[str, Any]]:
    """Train on pixels, with the lengths in the kernel, and on float32 rows of length 1."""
    unit = PolynomialKernel(4).of(NormalizedKernel(LinearKernel()))
    ways: list[tuple[str, Any, dict[str, Any]]] = [
        ("ours, lengths in the kernel", raw, {"kernel": unit, "memory_limit": "auto"}),
        ("ours, lengths in the kernel, no cache", raw, {"kernel": unit, "memory_limit": 0}),
        ("ours, float32 rows", data, {"memory_limit": "auto"}),
    ]
    rows, floor = [], None
    for name, (X, y, X_test, y_test), parameters in ways:
        ours(args, epochs=2, **parameters).fit(X[:2000], y[:2000]).predict(X_test[:100])  # compiled before it is timed
        seconds, model = timed(lambda X=X, y=y, p=parameters: ours(args, epochs=args.epochs, **p).fit(X, y))
        floor = floor or sgemm_seconds(X.astype(np.float32), model.support_vectors_.astype(np.float32), args.threads)
        rows.append({"model": name, "seconds": seconds, "floor": floor, "ratio": seconds / floor})
        rows[-1] |= {"support": len(model.support_), "mistakes": len(model.record_)}
        rows[-1]["predict s"], wrong = timed(lambda m=model, X=X_test, y=y_test: error(m, X, y))
        rows[-1]["error %"] = wrong
        for rule in ("average", "last"):
            rows[-1][f"{rule} %"] = error(model.with_rule(rule), X_test, y_test)
    return rows


def svc_row(data: tuple[Any, Any, Any, Any]) -> dict[str, Any] | None:
    X, y, X_test, y_test = data
    if (SVC := fast_svc()) is None:
        return None
    seconds, model = timed(lambda: SVC(**PAPER, C=1.0, cache_size=2000).fit(X, y))
    predict, wrong = timed(lambda: error(model, X_test, y_test))
    return {
        "model": "sklearnex SVC, C=1",
        "seconds": seconds,
        "support": len(model.support_),
        "predict s": predict,
        "error %": wrong,
    }


GAUSSIAN = """
import resource, sys, time
import numpy as np
from benchmarks._common import load_fashion, unit_length
which, folder, threads = sys.argv[1:]
X, y, X_test, y_test = load_fashion(folder)
X, X_test = unit_length(X), unit_length(X_test)
if which == "ours":
    from votron import VotedPerceptronClassifier
    parameters = {"kernel": "rbf", "gamma": 4.0, "coef0": 0.0, "margin": 0.5, "epochs": 4, "random_state": 0}
    model = VotedPerceptronClassifier(**parameters, n_jobs=int(threads))
    model.fit(X[:2000], y[:2000]).predict(X_test[:100])  # compiled before anything is timed
else:
    from sklearnex.svm import SVC
    model = SVC(kernel="rbf", gamma=4.0, C=10.0, cache_size=2000)
cpu, clock = time.process_time(), time.perf_counter()
model.fit(X, y)
cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
start = time.perf_counter()
wrong = 100 * np.mean(model.predict(X_test) != y_test)
print(clock, cpu, peak / 1e9, len(model.support_), time.perf_counter() - start, wrong)
"""


def gaussian_rows(args: Any) -> list[dict[str, Any]]:
    """exp(-4 |x - z|^2) on rows of length 1, a margin of 0.5, T = 4: each in a process of its own, for its memory."""
    names = ("seconds", "CPU s", "peak GB", "support", "predict s", "error %")
    models = {"ours": "ours: margin=0.5, epochs=4, vote"}
    if fast_svc() is not None:
        models["svc"] = "sklearnex SVC, C=10"
    rows = []
    for which, name in models.items():
        printed = in_subprocess(GAUSSIAN, arguments=[which, args.fashion, str(args.threads)])
        found = dict(zip(names, map(float, printed.split()), strict=True))
        rows.append({"model": name, **found, "support": int(found["support"])})
    return rows


def main() -> int:
    options = parser(__doc__.splitlines()[0])
    options.add_argument("--fashion", default=FASHION, metavar="FOLDER", help="Fashion-MNIST (default: %(default)s)")
    options.add_argument("--epochs", type=float, default=10.0, metavar="T", help="default: %(default)s")
    args = options.parse_args()
    X, y, X_test, y_test = load(args, "fashion", args.fashion)
    data = unit_length(X), y, unit_length(X_test), y_test
    results = Results("inseparable", args)
    rows = ours_rows(args, (X, y, X_test, y_test), data)
    if (svc := svc_row(data)) is not None:
        rows.append({**svc, "times ours": svc["seconds"] / rows[0]["seconds"]})
    results.table(f"Fashion-MNIST, unit length, T={args.epochs:g} (error of ours: vote)", rows)
    results.table("Fashion-MNIST, unit length, Gaussian kernel, gamma=4", gaussian_rows(args))
    results.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
