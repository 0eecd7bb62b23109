"""Data that stay inseparable: Fashion-MNIST at unit length, kernel (1 + x.z)^4, T = 10, with and without the cache."""

from __future__ import annotations

import sys
from typing import Any

from benchmarks._common import (
    FASHION,
    PAPER,
    Results,
    error,
    fast_svc,
    load,
    ours,
    parser,
    sgemm_seconds,
    timed,
    unit_length,
)


def ours_rows(args: Any, data: tuple[Any, Any, Any, Any]) -> list[dict[str, Any]]:
    X, y, X_test, y_test = data
    rows, floor = [], None
    for name, limit in (("ours, with the cache", "auto"), ("ours, no cache", 0)):
        seconds, model = timed(lambda limit=limit: ours(args, epochs=args.epochs, memory_limit=limit).fit(X, y))
        floor = floor or sgemm_seconds(X, model.support_vectors_, args.threads)
        rows.append({"model": name, "seconds": seconds, "floor": floor, "ratio": seconds / floor})
        rows[-1] |= {"support": len(model.support_), "mistakes": len(model.record_)}
        rows[-1]["error %"] = error(model, X_test, y_test)
        for rule in ("average", "last"):
            rows[-1][f"{rule} %"] = error(model.with_rule(rule), X_test, y_test)
    return rows


def svc_row(data: tuple[Any, Any, Any, Any]) -> dict[str, Any] | None:
    X, y, X_test, y_test = data
    if (SVC := fast_svc()) is None:
        return None
    seconds, model = timed(lambda: SVC(**PAPER, C=1.0, cache_size=2000).fit(X, y))
    return {
        "model": "sklearnex SVC, C=1",
        "seconds": seconds,
        "support": len(model.support_),
        "error %": error(model, X_test, y_test),
    }


def main() -> int:
    options = parser(__doc__.splitlines()[0])
    options.add_argument("--fashion", default=FASHION, metavar="FOLDER", help="Fashion-MNIST (default: %(default)s)")
    options.add_argument("--epochs", type=float, default=10.0, metavar="T", help="default: %(default)s")
    args = options.parse_args()
    X, y, X_test, y_test = load(args, "fashion-mnist", args.fashion)
    data = unit_length(X), y, unit_length(X_test), y_test
    results = Results("inseparable", args)
    ours(args, epochs=2).fit(data[0][:2000], y[:2000]).predict(data[2][:100])  # compiled before anything is timed
    rows = ours_rows(args, data)
    if (svc := svc_row(data)) is not None:
        rows.append({**svc, "times ours": svc["seconds"] / rows[0]["seconds"]})
    results.table(f"Fashion-MNIST, unit length, T={args.epochs:g} (error of ours: vote)", rows)
    results.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
