"""The averaged perceptron on sparse text beside scikit-learn's linear learners and Vowpal Wabbit.

Time per epoch is that of a whole call of ``fit`` with five epochs, divided by five: validation, shuffling and averaging
included. A further epoch is the difference between ten epochs and five, divided by five: the loop alone.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
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

EPOCHS = 5
_STREAM = 1 << 28


def main() -> int:
    options = parser(__doc__.splitlines()[0])
    options.add_argument("--svmlight", metavar="FILE", help="measure on this file, one fifth of it held out, instead")
    options.add_argument("--repeats", type=int, default=3, metavar="N", help="best of N fits (default: %(default)s)")
    args = options.parse_args()
    results = Results("linear", args)
    print(f"Reading memory in a row: {memory_gb_per_second():.1f} GB/s (one thread)")
    for title, X, y in problems(args):
        train = train_test_split(X, y, test_size=0.2, random_state=0)
        results.table(f"{title}: {describe(X, y)}", measure(args, *train))
    results.close()
    return 0


def problems(args: Any) -> Any:
    if args.svmlight:
        X, y = load_svmlight_file(args.svmlight)
        yield Path(args.svmlight).name, X, y
        return
    X, y = zipf_documents(args.rows or 62_500, 20_000, 60)  # of which four fifths, 50,000, are trained on
    yield "60 classes", X, y
    yield "2 classes", X, (y < 30).astype(int)


def describe(X: Any, y: Any) -> str:
    n, d = X.shape
    return f"{4 * n // 5:,} documents, {d:,} features, {X.nnz / n:.0f} in a document, {len(np.unique(y))} classes"


def measure(args: Any, X: Any, X_test: Any, y: Any, y_test: Any) -> list[dict[str, Any]]:
    rows = []
    for name, make in learners(args).items():
        seconds, model = best_of(args.repeats, lambda make=make: make(EPOCHS).fit(X, y))
        row = {"learner": name, "epochs": EPOCHS, "error %": 100 * (1 - model.score(X_test, y_test))}
        row["ms per epoch"] = 1000 * seconds / EPOCHS
        longer, _ = best_of(args.repeats, lambda make=make: make(2 * EPOCHS).fit(X, y))
        row["ms per further epoch"] = 1000 * (longer - seconds) / EPOCHS
        rows.append(row)
    for row in rows:
        row["times ours"] = row["ms per epoch"] / rows[0]["ms per epoch"]
        row["further, times ours"] = row["ms per further epoch"] / rows[0]["ms per further epoch"]
    for row in rows[:2]:
        width = 1 if len(np.unique(y)) == 2 else -(-len(np.unique(y)) // 8) * 8
        row["GB/s of weights and rows"] = X.nnz * (8 * width + 12) / row["ms per further epoch"] / 1e6
    seconds, model = best_of(1, lambda: LinearSVC().fit(X, y))
    error = 100 * (1 - model.score(X_test, y_test))
    rows.append({"learner": "LinearSVC, in all", "error %": error, "ms per epoch": None, "ms in all": 1000 * seconds})
    rows[0]["ms in all"] = rows[0]["ms per epoch"] * EPOCHS
    return rows + vowpal_wabbit(X, X_test, y, y_test, rows[0])


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
    }


def ours(epochs: int, threads: int) -> AveragedPerceptronClassifier:
    return AveragedPerceptronClassifier(epochs=epochs, random_state=0, n_jobs=threads)


def memory_gb_per_second() -> float:
    """Return how fast one thread reads an array that no cache holds."""
    array = np.ones(_STREAM // 8)
    return _STREAM / best_of(5, array.sum)[0] / 1e9


def vowpal_wabbit(X: Any, X_test: Any, y: Any, y_test: Any, mine: dict[str, Any]) -> list[dict[str, Any]]:
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
    row = {"learner": "Vowpal Wabbit, hinge", "epochs": EPOCHS, "error %": 100 * (1 - right.mean())}
    row |= {"ms per epoch": 1000 * seconds / EPOCHS, "ms per further epoch": 1000 * (longer - seconds) / EPOCHS}
    row["times ours"] = row["ms per epoch"] / mine["ms per epoch"]
    row["further, times ours"] = row["ms per further epoch"] / mine["ms per further epoch"]
    return [row]


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
