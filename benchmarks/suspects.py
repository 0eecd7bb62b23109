"""Wrong labels that were planted, found by the record of one training, beside out-of-fold scores and cleanlab.

In digits, in MNIST (10,000 images of it) and in documents that look like text, 1, 5 and 10 % of the labels are replaced
by others, at random. Each method ranks the rows by how much it doubts their labels. Reported are the area under the ROC
curve, in percent, and how many of the first k are among the k that were planted. Out-of-fold means five folds, each
scored by a model of the other four: p of the label for LogisticRegression, the margin between the label's score and the
best of the others for the SVMs. The record needs one fit, of all rows.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import SVC, LinearSVC

from benchmarks._common import Results, load, parser
from benchmarks._text import zipf_documents
from votron import VotedPerceptronClassifier

SHARES = (0.01, 0.05, 0.1)
SETTINGS = [(1, 0.0), (3, 0.0), (10, 0.0), (1, 2.0), (3, 0.5), (3, 2.0), (10, 0.5), (10, 2.0), (10, 8.0)]
"""Epochs and margins."""
COEF0 = 0.0
"""Of the Gaussian kernel."""
Ranking = Callable[[Any, Any], Any]


def main() -> int:
    options = parser(f"{__doc__.splitlines()[0]} Takes some ten minutes.")
    options.add_argument("--repeats", type=int, default=3, metavar="N", help="of planting, for digits (default: 3)")
    args = options.parse_args()
    warnings.simplefilter("ignore")  # convergence, of others
    results = Results("suspects", args)
    for title, X, y, ours, svm, repeats in problems(args):
        results.table(title, list(rows(title, X, y, methods(args, ours, svm), repeats)))
    results.close()
    return 0


def problems(args: Any) -> Iterator[tuple[str, Any, Any, dict[str, Any], Any, int]]:
    """Yield title, data, labels, the kernel of ours, an SVM, and how often to plant."""
    X, y = load_digits(return_X_y=True)
    yield "digits", X, y, {"kernel": "rbf", "coef0": COEF0}, SVC(kernel="rbf"), args.repeats
    n = args.rows or 8000
    text = zipf_documents(n, 10_000, 10, noise=0.0)
    yield f"text, {n:,} documents", *text, {"kernel": "linear"}, LinearSVC(random_state=0), 1
    args.rows, n = None, args.rows or 10_000
    X, y, _, _ = load(args)
    chosen = np.random.default_rng(0).choice(len(y), n, replace=False)
    yield f"MNIST, {n:,} images", X[chosen] / 255.0, y[chosen], {"kernel": "rbf", "coef0": COEF0}, SVC(kernel="rbf"), 1


def rows(title: str, X: Any, y: Any, methods: dict[str, Ranking], repeats: int) -> Iterator[dict[str, Any]]:
    planted = {(share, seed): plant(y, share, seed) for share in SHARES for seed in range(repeats)}
    for name, rank in methods.items():
        print(f"  {title}: {name} ...", file=sys.stderr, flush=True)
        row: dict[str, Any] = {"method": name}
        found = {key: rank(X, labels) for key, (labels, _) in planted.items()}
        for measure, of in (("area", area), ("first k", precision)):
            for share in SHARES:
                each = [of(planted[share, seed][1], found[share, seed]) for seed in range(repeats)]
                row[f"{measure} %, {100 * share:g} % wrong"] = 100 * float(np.mean(each))
        yield row


def plant(y: Any, share: float, seed: int) -> tuple[Any, Any]:
    """Return labels of which a share is wrong, and which these are."""
    rng, classes = np.random.default_rng(seed), np.unique(y)
    wrong = np.zeros(len(y), dtype=bool)
    wrong[rng.choice(len(y), round(share * len(y)), replace=False)] = True
    labels = y.copy()
    for i in np.flatnonzero(wrong):
        labels[i] = rng.choice(classes[classes != y[i]])
    return labels, wrong


def area(wrong: Any, doubt: Any) -> float:
    return float(roc_auc_score(wrong, doubt))


def precision(wrong: Any, doubt: Any) -> float:
    k = int(wrong.sum())
    return float(wrong[np.argsort(-doubt, kind="stable")[:k]].mean())


# -- methods --------------------------------------------------------------------------------------------------------


def methods(args: Any, ours: dict[str, Any], svm: Any) -> dict[str, Ranking]:
    def model(epochs: int, margin: float) -> Any:
        return VotedPerceptronClassifier(**ours, epochs=epochs, margin=margin, random_state=0, n_jobs=args.threads)

    made: dict[str, Ranking] = {
        f"the record, T = {epochs}, τ = {margin:g}": by_record(model(epochs, margin)) for epochs, margin in SETTINGS
    }
    made["voted perceptron, average, out of fold"] = by_margin(model(3, 2.0).set_params(rule="average"))
    made[f"{type(svm).__name__}, out of fold"] = by_margin(svm)
    kept: dict[bytes, Any] = {}  # cleanlab ranks by the same probabilities

    def probabilities(X: Any, y: Any) -> Any:
        key = np.ascontiguousarray(y).tobytes()
        if key not in kept:
            kept[key] = out_of_fold(LogisticRegression(max_iter=200), X, y, "predict_proba")
        return kept[key]

    made["LogisticRegression, out of fold"] = lambda X, y: 1 - probabilities(X, y)[np.arange(len(y)), codes(y)]
    try:
        from cleanlab.rank import get_label_quality_scores
    except ImportError:
        print("cleanlab is not installed (make bench installs it): left out.")
        return made

    def cleaned(X: Any, y: Any) -> Any:
        return -get_label_quality_scores(codes(y), probabilities(X, y), method="normalized_margin")

    made["cleanlab, on these, normalized margin"] = cleaned
    return made


def by_record(model: Any) -> Ranking:
    def rank(X: Any, y: Any) -> Any:
        found = model.fit(X, y).suspects()
        doubt = np.zeros(len(y))  # rows that were never mistaken
        doubt[found.row] = found.suspicion
        return doubt

    return rank


def by_margin(model: Any) -> Ranking:
    def rank(X: Any, y: Any) -> Any:
        scores, at = out_of_fold(model, X, y, "decision_function"), np.arange(len(y))
        own = scores[at, codes(y)].copy()
        scores[at, codes(y)] = -np.inf
        return scores.max(axis=1) - own

    return rank


def out_of_fold(model: Any, X: Any, y: Any, method: str) -> Any:
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return np.asarray(cross_val_predict(model, X, y, cv=folds, method=method))


def codes(y: Any) -> Any:
    return np.unique(y, return_inverse=True)[1]


if __name__ == "__main__":
    sys.exit(main())
