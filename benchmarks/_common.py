"""Common ground of the benchmarks: options, data, the SGEMM floor, timing, and how results are shown and kept.

The floor: a pair (example, support vector) costs 2 * dim floating-point operations, and one float32 matrix product
does them at the machine's best speed. Times are given as ratios to that product, measured in the same process with the
same threads.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from votron import VotedPerceptronClassifier
from votron._util.resources import effective_threads
from votron.data import load_image_set
from votron.errors import DataError
from votron.products import PanelProducts

RESULTS = Path(__file__).parent / "results"
FASHION = "/usr/share/datasets/fashion-mnist"  # the Debian package dataset-fashion-mnist
PAPER = {"kernel": "poly", "degree": 4, "gamma": 1.0, "coef0": 1.0}
"""The kernel (1 + x.z)^4, as Votron and the SVMs spell it; the papers' perceptron has no margin."""
_FLOOR_ROWS = 2048


# -- options and data -----------------------------------------------------------------------------------------------


def parser(description: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description, allow_abbrev=False)
    made.add_argument("--data", metavar="FOLDER", help="folder with the four files of MNIST (default: $VOTRON_DATA)")
    made.add_argument("--threads", type=int, default=effective_threads(None), metavar="N", help="default: %(default)s")
    made.add_argument(
        "--rows", type=int, metavar="N", help="train on the first N examples only, to try a benchmark out"
    )
    made.add_argument(
        "--json", nargs="?", const="", metavar="FILE", help="keep the results (default: benchmarks/results/NAME.json)"
    )
    return made


def load(args: argparse.Namespace, name: str = "mnist", folder: str | None = None) -> tuple[Any, Any, Any, Any]:
    """Load images and labels, or end with one sentence."""
    try:
        images = load_image_set(folder or args.data or name)
    except DataError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    return images.X[: args.rows], images.y[: args.rows], images.X_test, images.y_test


def load_fashion(folder: str) -> tuple[Any, Any, Any, Any]:
    """Load Fashion-MNIST."""
    images = load_image_set(folder or "fashion")
    return images.X, images.y, images.X_test, images.y_test


def unit_length(X: Any) -> Any:
    """Return float32 rows of length 1 (rows of zeros stay)."""
    X = X.astype(np.float32)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1)


# -- timing ---------------------------------------------------------------------------------------------------------


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def best_of(repeats: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the least time of several runs, and the last result."""
    runs = [timed(work) for _ in range(repeats)]
    return min(seconds for seconds, _ in runs), runs[-1][1]


def sgemm_seconds(A: Any, B: Any, threads: int, repeats: int = 5) -> float:
    """Return the least time of the float32 product A B^T, rows of A by rows of B, each contiguous.

    For memory's sake the product is made in blocks of rows, into one buffer.
    """
    A = np.ascontiguousarray(A, dtype=np.float32)
    B_columns = np.ascontiguousarray(np.asarray(B, dtype=np.float32).T)
    out = np.empty((min(_FLOOR_ROWS, len(A)), B_columns.shape[1]), dtype=np.float32)

    def product() -> None:
        for low in range(0, len(A), _FLOOR_ROWS):
            part = A[low : low + _FLOOR_ROWS]
            np.matmul(part, B_columns, out=out[: len(part)])

    with threadpool_limits(threads, user_api="blas"):
        return best_of(repeats, product)[0]


def pairs_of_one_epoch(record: Any) -> int:
    """Return how many pairs (example, support vector) one epoch needs.

    A support vector whose first mistake is at step p meets the n - p examples that are presented after it.
    """
    _, first = np.unique(record.example, return_index=True)
    return int((record.n_examples - record.time[first]).sum())


@contextmanager
def keeping_after(times: int) -> Iterator[None]:
    """Keep a dot product as soon as it is asked for the ``times``-th time, whatever the arithmetic thinks of it."""
    fixed = property(lambda self: times, lambda self, value: None)
    with mock.patch.object(PanelProducts, "keep_after", fixed):
        yield


# -- models ---------------------------------------------------------------------------------------------------------


def ours(args: argparse.Namespace, **parameters: Any) -> VotedPerceptronClassifier:
    """Return a voted perceptron, by default with the paper's kernel, seed 0 and this run's threads."""
    return VotedPerceptronClassifier(
        **{**PAPER, "margin": 0.0, "random_state": 0, "n_jobs": args.threads, **parameters}
    )


def error(model: Any, X: Any, y: Any) -> float:
    """Return the test error in percent."""
    return float(100 * np.mean(model.predict(X) != y))


def fast_svc() -> Any | None:
    """Return sklearnex's SVC class; None, with a sentence, where it is not installed."""
    try:
        from sklearnex.svm import SVC
    except ImportError:
        print("sklearnex is not installed (make bench installs it where it exists): left out.")
        return None
    return SVC


# -- results --------------------------------------------------------------------------------------------------------


class Results:
    """The rows of a benchmark: shown as they come in, kept as JSON if asked for."""

    def __init__(self, name: str, args: argparse.Namespace) -> None:
        self.name, self.args, self.tables = name, args, {}
        self.command = command_line(name.split("-")[0], args.data)
        print(f"$ {self.command}\n{machine()}, {args.threads} thread(s)")

    def table(self, title: str, rows: Sequence[dict[str, Any]]) -> None:
        """Print a table and keep it."""
        self.tables[title] = list(rows)
        print(f"\n{title}\n\n{as_text(rows)}", flush=True)

    def close(self) -> None:
        """Write the JSON file, if asked for."""
        if self.args.json is None:
            return
        path = Path(self.args.json) if self.args.json else RESULTS / f"{self.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        about = {"command": self.command, "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", "machine": machine()}
        path.write_text(
            json.dumps({**about, "versions": versions(), "tables": self.tables}, indent=2) + "\n", encoding="utf-8"
        )
        print(f"\nKept in {path}")


def command_line(name: str, data: str | None) -> str:
    """Return this command as anybody would type it: where somebody keeps MNIST is nobody else's business."""
    words = ['"$VOTRON_DATA"' if word == data and data else shlex.quote(word) for word in sys.argv[1:]]
    return " ".join(["python", "-m", f"benchmarks.{name}", *words])


def as_text(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as aligned columns, text to the left and numbers to the right."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [names] + [[_cell(row.get(name)) for name in names] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    left = [any(isinstance(row.get(name), str) for row in rows) for name in names]
    lines = (
        "  ".join(
            c.ljust(w) if at_left else c.rjust(w) for c, w, at_left in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in cells
    )
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int | np.integer) and not isinstance(value, bool) else str(value)


def machine() -> str:
    names = [line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    blas = sorted({f"{lib['internal_api']} {lib['version']}" for lib in threadpool_info() if lib["user_api"] == "blas"})
    name = names[0] if names else platform.processor()
    return f"{name} ({instructions()}), {len(names) or os.cpu_count()} core(s), {', '.join(blas)}"


def instructions() -> str:
    """Return what numba compiles for: LLVM's name of the processor, and the vectors that matter here."""
    from numba.core.registry import cpu_target

    _, name, features = cpu_target.target_context.codegen().magic_tuple()
    known = {"avx512bw": "AVX-512", "avx512vnni": "VNNI", "avxvnni": "AVX-VNNI"}
    found = [word for feature, word in known.items() if f"+{feature}," in f"{features},"]
    return ", ".join([name, *(found or ["AVX2" if "+avx2" in features else "no AVX2"])])


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("votron", "numpy", "scipy", "scikit-learn", "numba", "scikit-learn-intelex", "cleanlab"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def in_subprocess(code: str, *, environment: dict[str, str] | None = None, arguments: Sequence[str] = ()) -> str:
    """Run Python code in a fresh process; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"A benchmark's process failed:\n{done.stderr}")
    return done.stdout
