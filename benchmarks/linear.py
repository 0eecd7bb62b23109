"""The averaged perceptron on sparse text beside scikit-learn's linear learners and Vowpal Wabbit.

Time per epoch is that of a whole call of ``fit`` with five epochs, divided by five: validation, shuffling and averaging
included. A further epoch is the difference between ten epochs and five, divided by five: the loop alone. GB/s is what
that loop reads, weights, values and numbers of features, mostly from caches. Errors are means over several data sets,
unless the name says otherwise.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from benchmarks._common import Results, best_of, parser
from benchmarks._text import zipf_documents
from votron import AveragedPerceptronClassifier
from votron._loops.primal import LANES

EPOCHS = 5
_STREAM = 1 << 28


def main() -> int:
    options = parser(f"{__doc__.splitlines()[0]} Takes about eight minutes; MNIST is not used.")
    options.add_argument("--svmlight", metavar="FILE", help="measure on this file, one fifth of it held out, instead")
    options.add_argument("--repeats", type=int, default=3, metavar="N", help="best of N fits (default: %(default)s)")
    options.add_argument("--sets", type=int, default=3, metavar="N", help="data sets for errors (default: %(default)s)")
    args = options.parse_args()
    results = Results("linear", args)
    print(f"Reading memory in a row: {memory_gb_per_second():.1f} GB/s (one thread)")
    for title, sets in problems(args):
        X, y = sets[0]
        splits = [train_test_split(X, y, test_size=0.2, random_state=0) for X, y in sets]
        results.table(f"{title}: {describe(X, y)}", measure(args, splits))
    results.close()
    return 0


def problems(args: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield a title and data sets: the first is for times, all are for errors."""
    if args.svmlight:
        try:
            yield Path(args.svmlight).name, [load_svmlight_file(args.svmlight)]
        except (OSError, ValueError) as error:
            print(f"Cannot read the svmlight file {args.svmlight!r}: {error}", file=sys.stderr)
            raise SystemExit(2) from None
        return
    n = 5 * (args.rows or 50_000) // 4  # four fifths are trained on
    sets = [zipf_documents(n, 20_000, 60, seed=seed) for seed in range(args.sets)]
    yield "60 classes", sets
    yield "2 classes", [(X, (y < 30).astype(int)) for X, y in sets]


def describe(X: Any, y: Any) -> str:
    n, d = X.shape
    return f"{4 * n // 5:,} documents, {d:,} features, {X.nnz / n:.0f} in a document, {len(np.unique(y))} classes"


def measure(args: Any, splits: list[Any]) -> list[dict[str, Any]]:
    X, _, y, _ = splits[0]
    rows = []
    for name, make in learners(args).items():
        print(f"  {name} ...", file=sys.stderr, flush=True)
        make(1).fit(X[:1000], y[:1000])  # loads what is compiled
        seconds, _ = best_of(args.repeats, lambda make=make: make(EPOCHS).fit(X, y))
        longer, _ = best_of(args.repeats, lambda make=make: make(2 * EPOCHS).fit(X, y))
        rows.append(line(name, mean_error(make, splits), seconds, longer))
    rows += vowpal_wabbit(*splits[0])
    for i, row in enumerate(rows):
        row["times ours"] = row["ms per epoch"] / rows[0]["ms per epoch"]
        if min(row["ms per further epoch"], rows[0]["ms per further epoch"]) > 0:  # else the data are too few to tell
            row["further, times ours"] = row["ms per further epoch"] / rows[0]["ms per further epoch"]
            row["GB/s"] = bytes_per_epoch(X, y) / row["ms per further epoch"] / 1e6 if i < 2 else None
    print("  LinearSVC, which takes its time ...", file=sys.stderr, flush=True)
    seconds, model = best_of(1, lambda: LinearSVC().fit(X, y))
    error = 100 * (1 - model.score(splits[0][1], splits[0][3]))
    rows.append({"learner": "LinearSVC (one set)", "error %": error, "ms of a fit": 1000 * seconds})
    return rows


def line(name: str, error: float, seconds: float, longer: float) -> dict[str, Any]:
    return {
        "learner": name,
        "error %": error,
        "ms of a fit": 1000 * seconds,
        "ms per epoch": 1000 * seconds / EPOCHS,
        "ms per further epoch": 1000 * (longer - seconds) / EPOCHS,
    }


def mean_error(make: Callable[[int], Any], splits: list[Any]) -> float:
    """Return the mean test error over the data sets, in percent."""
    return float(np.mean([100 * (1 - make(EPOCHS).fit(X, y).score(X_, y_)) for X, X_, y, y_ in splits]))


def bytes_per_epoch(X: Any, y: Any) -> int:
    """Return what scoring reads: every value, its feature's number, and the feature's weights for all classes."""
    n_classes = len(np.unique(y))
    width = 1 if n_classes == 2 else -(-n_classes // LANES) * LANES
    return int(X.nnz) * (8 * width + 12)


def learners(args: Any) -> dict[str, Callable[[int], Any]]:
    fixed = {"tol": None, "random_state": 0}
    return {
        f"Votron, {args.threads} thread(s)": lambda k: ours(k, args.threads),
        "Votron, 1 thread": lambda k: ours(k, 1),
        "SGDClassifier, average": lambda k: SGDClassifier(loss="perceptron", average=True, max_iter=k, **fixed),
        f"SGDClassifier, average, n_jobs={args.threads}": lambda k: SGDClassifier(
            loss="perceptron", average=True, max_iter=k, n_jobs=args.threads, **fixed
        ),
        "Perceptron": lambda k: Perceptron(max_iter=k, **fixed),
        "SGDClassifier, hinge loss": lambda k: SGDClassifier(max_iter=k, **fixed),
    }


def ours(epochs: int, threads: int) -> AveragedPerceptronClassifier:
    return AveragedPerceptronClassifier(epochs=epochs, margin=0.0, multiclass="ovr", random_state=0, n_jobs=threads)


def memory_gb_per_second() -> float:
    """Return how fast one thread reads an array that no cache holds."""
    array = np.ones(_STREAM // 8)
    return _STREAM / best_of(5, array.sum)[0] / 1e9


def vowpal_wabbit(X: Any, X_test: Any, y: Any, y_test: Any) -> list[dict[str, Any]]:
    """Return Vowpal Wabbit's row: its passes over its own cache of the data, parsing left out."""
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        print("vowpalwabbit is not installed (make bench installs it where it exists): left out.", file=sys.stderr)
        return []
    classes, codes = np.unique(y, return_inverse=True)
    task = f"--oaa {len(classes)}" if len(classes) > 2 else "--binary"
    with tempfile.TemporaryDirectory() as folder:
        train, test = Path(folder, "train"), Path(folder, "test")
        _write(train, X, codes, len(classes))
        _write(test, X_test, np.searchsorted(classes, y_test), len(classes))

        def run(passes: int) -> None:
            Workspace(
                f"-d {train} --cache_file {folder}/cache --passes {passes} --holdout_off -b 18 {task} "
                f"--loss_function hinge -f {folder}/model --quiet"
            ).finish()

        run(1)  # parses, and writes the cache
        seconds, longer = best_of(2, lambda: run(EPOCHS))[0], best_of(2, lambda: run(2 * EPOCHS))[0]
        run(EPOCHS)
        Workspace(f"-d {test} -t -i {folder}/model -p {folder}/predictions --quiet").finish()
        predicted = np.loadtxt(f"{folder}/predictions")
    truth = np.searchsorted(classes, y_test)
    right = predicted == (truth + 1 if len(classes) > 2 else 2 * truth - 1)
    return [line("Vowpal Wabbit, hinge (one set)", 100 * (1 - right.mean()), seconds, longer)]


def _write(path: Path, X: Any, codes: Any, n_classes: int) -> None:
    """Write Vowpal Wabbit's text format, which is svmlight's with a bar before the features."""
    labels = codes + 1 if n_classes > 2 else 2 * codes - 1
    raw = path.with_suffix(".svmlight")
    dump_svmlight_file(X, labels, str(raw), zero_based=True)
    with open(raw, encoding="ascii") as lines, open(path, "w", encoding="ascii") as out:
        for line in lines:
            label, _, features = line.partition(" ")
            out.write(f"{label} | {features}")


if __name__ == "__main__":
    sys.exit(main())
