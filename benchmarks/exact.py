"""One record, whatever the block size, the threads and the cache: SHA-256 digests on MNIST as uint8, d = 1 to 6.

Each degree is trained in six ways that cover block sizes 64, 512 and 4096, 1 and 2 threads, with and without the cache
of dot products; all digests must be the same, and the same as in digests.json (``--write`` writes them anew). The first
rows are also run through the textbook algorithm, one example at a time.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks._common import as_text, keeping_after, load, machine, parser, versions
from votron.engine import DualTrainer, dual
from votron.kernels import PolynomialKernel
from votron.record import MistakeRecord

DIGESTS = Path(__file__).parent / "digests.json"
EPOCHS = {1: 1, 2: 4, 3: 4, 4: 4, 5: 4, 6: 4}
"""For each degree how many; degree 1 makes many mistakes."""
ORACLE_ROWS, ORACLE_EPOCHS = 1500, 3


@dataclass(frozen=True)
class Way:
    """How a record is made; what it is must not depend on it.

    ``memory`` is for the cache, in bytes (0: none), ``after`` how often a product is asked for before it is kept.
    """

    block_size: int
    threads: int
    memory: int
    after: int = 1


WAYS = (
    Way(512, 1, 0),
    Way(64, 2, 1 << 30),
    Way(4096, 1, 3 << 30),
    Way(4096, 2, 0),
    Way(64, 1, 0),
    Way(1000, 2, 3 << 30, 2),
)
"""The first one is the reference. From degree 2 on the larger cache holds everything, the smaller one a part; the last
way keeps only what is asked for twice."""


@contextmanager
def _seen_caches() -> Iterator[list[Any]]:
    """Collect the caches that training makes."""
    seen: list[Any] = []

    def make(*args: Any, **kwargs: Any) -> Any:
        seen.append(original(*args, **kwargs))
        return seen[-1]

    original = dual.DotCache
    with mock.patch.object(dual, "DotCache", make):
        yield seen


def train(X: Any, y: Any, order: Any, degree: int, n_steps: int, way: Way) -> tuple[MistakeRecord, int]:
    """Return the record, and how many support vectors the cache held."""
    trainer = DualTrainer(PolynomialKernel(degree), int(y.max()) + 1)
    options = {"n_threads": way.threads, "memory": way.memory, "block_size": way.block_size}
    with keeping_after(way.after), _seen_caches() as caches:
        trainer.run(X, y, order, n_steps, **options)
        cached = sum(cache.n for cache in caches)
    return trainer.record(len(order), n_steps), cached


def compare(
    X: Any, y: Any, degree: int, epochs: int, ways: tuple[Way, ...] = WAYS
) -> tuple[str, bool, list[dict[str, Any]]]:
    """Train in several ways; return the first one's digest, whether all have it, and a row for each."""
    order, rows, reference = np.random.default_rng(0).permutation(len(X)), [], ""
    for way in ways:
        start = time.perf_counter()
        record, cached = train(X, y, order, degree, epochs * len(X), way)
        digest = record.digest()
        reference = reference or digest
        caches = way.memory > 0 and way.after <= epochs  # an example errs once an epoch at most
        caches &= way.block_size < len(X)  # a single block keeps kernel values instead
        rows.append(
            {
                "d": degree, "T": epochs, "block": way.block_size, "threads": way.threads, "cached": cached,
                "support": len(record.support), "mistakes": len(record), "digest": digest[:16],
                "same": "yes" if digest == reference and (cached > 0) == caches else "NO",
                "seconds": time.perf_counter() - start,
            }
        )  # fmt: skip
    return reference, all(row["same"] == "yes" for row in rows), rows


def textbook(X: Any, y: Any, order: Any, degree: int, n_steps: int) -> MistakeRecord:
    """The algorithm of the paper, one example at a time, with explicit sums in float64."""
    n_classes, wide = int(y.max()) + 1, X.astype(np.float64)
    K = _power(1.0 + wide @ wide.T, degree)  # the dot products are integers below 2^53, so exact
    examples: list[list[int]] = [[] for _ in range(n_classes)]
    signs: list[list[int]] = [[] for _ in range(n_classes)]
    norm2, rows = [0.0] * n_classes, []
    for t in range(1, n_steps + 1):
        i = int(order[(t - 1) % len(order)])
        for c in range(n_classes):
            terms = np.array(signs[c]) * K[i, examples[c]] if examples[c] else np.zeros(1)
            score, sign = float(np.cumsum(terms)[-1]), 1 if y[i] == c else -1  # summed from left to right
            if sign * score <= 0:
                examples[c].append(i)
                signs[c].append(sign)
                norm2[c] = norm2[c] + 2 * sign * score + float(K[i, i])
                rows.append((i, c, sign, t, score, norm2[c]))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return MistakeRecord(*columns, n_vectors=n_classes, n_examples=len(order), n_steps=n_steps)


def _power(base: Any, degree: int) -> Any:
    """Raise to a power by squaring, from the lowest bit of the exponent up: the order that Votron promises."""
    out: Any = None
    while degree:
        if degree & 1:
            out = base if out is None else out * base
        base, degree = base * base, degree >> 1
    return out


def against_textbook(X: Any, y: Any, degree: int) -> tuple[bool, dict[str, Any]]:
    """Compare blocked training on the first rows with the textbook algorithm."""
    n = min(ORACLE_ROWS, len(X))
    order = np.random.default_rng(0).permutation(n)
    start = time.perf_counter()
    record = textbook(X[:n], y[:n], order, degree, ORACLE_EPOCHS * n)
    seconds = time.perf_counter() - start
    same = record.equals(train(X[:n], y[:n], order, degree, ORACLE_EPOCHS * n, WAYS[0])[0])
    return same, {
        "d": degree,
        "rows": n,
        "T": ORACLE_EPOCHS,
        "mistakes": len(record),
        "same": "yes" if same else "NO",
        "seconds": seconds,
    }


def main() -> int:
    options = parser("Compare the records of training in several ways, and with the digests in the repository.")
    options.add_argument("--degrees", type=int, nargs="+", default=list(EPOCHS), metavar="D")
    options.add_argument("--write", action="store_true", help="write the digests instead of comparing with them")
    args = options.parse_args()
    X, y, _, _ = load(args)
    kept = json.loads(DIGESTS.read_text(encoding="utf-8")) if DIGESTS.exists() else {"digests": {}}
    found, good = {}, True
    print(machine())
    for degree in args.degrees:
        digest, same, rows = compare(X, y, degree, EPOCHS[degree])
        as_textbook, oracle = against_textbook(X, y, degree)
        print(f"\n{as_text(rows)}\n\nTextbook algorithm, one example at a time:\n{as_text([oracle])}", flush=True)
        known = kept["digests"].get(str(degree), {}).get("sha256")
        reasons = {
            "the ways of training give different records": not same,
            "blocked training and the textbook algorithm give different records": not as_textbook,
            f"{DIGESTS.name} has {known}, this run {digest}": not (
                args.write or args.rows is not None or digest == known
            ),
        }
        for reason in (reason for reason, holds in reasons.items() if holds):
            print(f"FAIL  degree {degree}: {reason}")
        good &= not any(reasons.values())
        counts = {"support": rows[0]["support"], "mistakes": rows[0]["mistakes"]}
        found[str(degree)] = {"epochs": EPOCHS[degree], **counts, "sha256": digest}
    if args.write and args.rows is None and good:
        _write({**kept["digests"], **found})
    print("\nEvery record is the same." if good else "\nFAIL")
    return 0 if good else 1


def _write(digests: dict[str, Any]) -> None:
    about = {
        "what": "SHA-256 of MistakeRecord on the 60,000 digits of MNIST (uint8), kernel (1 + x.z)^degree, ten labels",
        "order": "numpy.random.default_rng(0).permutation(60000)",
        "made with": versions(),
        "made by": "python -m benchmarks.exact --write",
    }
    DIGESTS.write_text(
        json.dumps({**about, "digests": dict(sorted(digests.items()))}, indent=2) + "\n", encoding="utf-8"
    )
    print(f"\nWritten to {DIGESTS}")


if __name__ == "__main__":
    sys.exit(main())
