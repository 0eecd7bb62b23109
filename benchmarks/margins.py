"""The averaged perceptron with margins, one class against the rest or all together, beside LinearSVC.

Iris and digits, standardised, by repeated cross-validation with four folds; and documents that look like text in 60
classes, four fifths of them trained on. Seconds are those of one fit, in the mean over all fits. Nothing is downloaded.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import RepeatedStratifiedKFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benchmarks._common import Results, parser, timed
from benchmarks._text import zipf_documents
from votron import AveragedPerceptronClassifier

MARGINS = (0.0, 0.5, 2.0, 8.0)
EPOCHS = (5, 20)


def main() -> int:
    options = parser(f"{__doc__.splitlines()[0]} Takes about a minute; MNIST is not used.")
    options.add_argument("--repeats", type=int, default=5, metavar="N", help="of the folds (default: %(default)s)")
    args = options.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # LinearSVC's
    results = Results("margins", args)
    for title, X, y, splits, scale in problems(args):
        results.table(title, list(rows(args, title, X, y, splits, scale)))
    results.close()
    return 0


def problems(args: Any) -> Iterator[tuple[str, Any, Any, Any, bool]]:
    """Yield title, data, labels, how to split them, and whether to standardise."""
    folds = RepeatedStratifiedKFold(n_splits=4, n_repeats=args.repeats, random_state=0)
    yield "iris", *load_iris(return_X_y=True), folds, True
    yield "digits", *load_digits(return_X_y=True), folds, True
    n = 5 * (args.rows or 16_000) // 4
    yield "text, 60 classes", *zipf_documents(n, 20_000, 60), ShuffleSplit(1, test_size=0.2, random_state=0), False


def rows(args: Any, title: str, X: Any, y: Any, splits: Any, scale: bool) -> Iterator[dict[str, Any]]:
    for name, make in learners(args).items():
        print(f"  {title}: {name} ...", file=sys.stderr, flush=True)
        make().fit(X[:100], y[:100])  # loads what is compiled
        right, seconds = [], []
        for train, test in splits.split(X, y):
            model = make_pipeline(StandardScaler(), make()) if scale else make()
            seconds.append(timed(lambda: model.fit(X[train], y[train]))[0])  # noqa: B023 (called at once)
            right.append(model.score(X[test], y[test]))
        accuracy, milliseconds = 100 * float(np.mean(right)), 1000 * float(np.mean(seconds))
        yield {"learner": name, "accuracy %": accuracy, "ms of a fit": milliseconds}


def learners(args: Any) -> dict[str, Callable[[], Any]]:
    def ours(epochs: int, multiclass: str, margin: float) -> Callable[[], Any]:
        params = {"epochs": epochs, "multiclass": multiclass, "margin": margin, "n_jobs": args.threads}
        return lambda: AveragedPerceptronClassifier(random_state=0, **params)

    made = {
        f"{how}, τ = {tau:g}, {epochs} epochs": ours(epochs, how, tau)
        for epochs in EPOCHS
        for how in ("ovr", "joint")
        for tau in MARGINS
    }
    return {**made, "LinearSVC": lambda: LinearSVC(random_state=0)}


if __name__ == "__main__":
    sys.exit(main())
