"""Probabilities from training itself beside CalibratedClassifierCV, and what they and the votes say of doubt.

Log-loss and Brier score (the sum over classes) on test data, of probabilities from rows of the first pass, beside
CalibratedClassifierCV(cv=5, ensemble=False), which trains six times, by temperature and by sigmoid; and the log-loss
with the slope that would have been best on the test data. Models have their default parameters where nothing else is
said. MNIST and Fashion-MNIST are 5,000 training examples each, by
default. Risk: the error on the rows that are kept, if those with the most doubt are left out first; its mean over all
shares kept is the area under the curve. With --costs: what sampling rows takes of a fit of one epoch, and the
first call of predict_proba.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks._common import FASHION, Results, best_of, load, load_fashion, parser, timed
from benchmarks._text import zipf_documents
from votron import AveragedPerceptronClassifier, VotedPerceptronClassifier
from votron._util.plotting import STYLE, plain, pyplot, save, title
from votron.estimators import averaged
from votron.estimators._data import TrainingData
from votron.estimators._probabilities import columns_of, slope_of
from votron.estimators._training import second_half
from votron.plots.predictions import reliability_points

ROWS = 5_000
BINS = 10
Data = tuple[Any, Any, Any, Any]


def main() -> int:
    options = parser(f"{__doc__.splitlines()[0]} Takes about five minutes.")
    options.add_argument("--fashion", default=FASHION, metavar="FOLDER", help="Fashion-MNIST (default: %(default)s)")
    options.add_argument("--figure", metavar="FILE", help="draw reliability and risk, as FILE.svg and FILE.png")
    options.add_argument("--costs", action="store_true", help="print what sampling costs, alone: on a quiet machine")
    args = options.parse_args()
    warnings.simplefilter("ignore")
    results = Results("probabilities", args)
    if args.costs:
        results.table("Cost", list(costs(args)))
        return 0
    drawn: dict[str, dict[str, Any]] = {}
    rows, risks = [], []
    for name, make, data in problems(args):
        print(f"  {name} ...", file=sys.stderr, flush=True)
        row, found = measured(name, make, data)
        rows.append(row)
        if name in ("MNIST, vote", "Fashion-MNIST, vote"):
            drawn[name] = found
            risks += list(risk_rows(name, found))
    results.table("Log-loss and Brier score on test data", rows)
    results.table("Area under the risk-coverage curve, in per cent of error", risks)
    results.close()
    if args.figure:
        draw(drawn, Path(args.figure))
    return 0


# -- data and models ---------------------------------------------------------------------------------------------------


def problems(args: Any) -> Iterator[tuple[str, Callable[[], Any], Data]]:
    """Yield a name, what makes the model, and rows and labels to train and to test with."""

    def voted(**params: Any) -> Callable[[], Any]:
        return lambda: VotedPerceptronClassifier(**{"random_state": 0, "n_jobs": args.threads, **params})

    def linear(**params: Any) -> Callable[[], Any]:
        return lambda: AveragedPerceptronClassifier(**{"random_state": 0, "n_jobs": args.threads, **params})

    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=597, random_state=0, stratify=y)
    digits = X, y, X_test, y_test
    n = args.rows or ROWS
    X, y, X_test, y_test = load(args)
    mnist = X[:n], y[:n], X_test, y_test
    X, y, X_test, y_test = load_fashion(args.fashion)
    fashion = X[:n], y[:n], X_test, y_test
    poly = {"kernel": "poly", "degree": 3, "margin": 0.0}
    for name, data in (("digits", digits), ("MNIST", mnist), ("Fashion-MNIST", fashion)):
        yield f"{name}, vote, 1 epoch", voted(epochs=1), data
        yield f"{name}, vote", voted(), data
        yield f"{name}, average", voted(rule="average"), data
        yield f"{name}, last", voted(rule="last"), data
        yield f"{name}, vote, poly, no margin", voted(**poly), data
        yield f"{name}, vote, early stopping", voted(early_stopping=True), data
        yield f"{name}, averaged perceptron", linear(), data
    for classes in (2, 20):
        X, y = zipf_documents(15_000, 20_000, classes)
        text = X[:10_000], y[:10_000], X[10_000:], y[10_000:]
        yield f"text, {classes} classes, averaged perceptron", linear(), text
        yield f"text, {classes} classes, the same, each against the rest", linear(multiclass="ovr", margin=1.0), text
    for name, data in tables():
        yield f"{name}, vote", voted(), data
        yield f"{name}, average", voted(rule="average"), data


def tables() -> Iterator[tuple[str, Data]]:
    """Yield three tables with noise: wrong labels, four classes with wrong labels, and classes that overlap."""
    for name, flip, classes in (("table, 20 % noise", 0.2, 2), ("table, 4 classes, 10 % noise", 0.1, 4)):
        X, y = make_classification(13_000, 20, n_informative=10, n_classes=classes, flip_y=flip, random_state=classes)
        X = StandardScaler().fit_transform(X)
        yield name, (X[:3000], y[:3000], X[3000:], y[3000:])
    X, y = make_moons(12_000, noise=0.35, random_state=0)
    yield "moons that overlap", (X[:2000], y[:2000], X[2000:], y[2000:])


# -- measures ----------------------------------------------------------------------------------------------------------


def measured(name: str, make: Callable[[], Any], data: Data) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a row of the table, and what the figure needs."""
    X, y, X_test, y_test = data
    model = make().fit(X, y)
    ours = model.predict_proba(X_test)
    place = np.searchsorted(model.classes_, y_test)
    others = {}
    for method in ("temperature", "sigmoid"):
        calibrated = CalibratedClassifierCV(make(), method=method, cv=5, ensemble=False)
        others[method] = calibrated.fit(X, y).predict_proba(X_test)
    scores = np.asarray(model.decision_function(X_test)).reshape(len(y_test), -1)
    best = softmax(slope_of(scores, scores, place) * columns_of(scores))
    row = {"data and model": name, "error %": 100 * float(np.mean(model.predict(X_test) != y_test))}
    row |= {f"log-loss, {key}": four(log_loss(place, p)) for key, p in {"ours": ours, **others, "best": best}.items()}
    row |= {f"Brier, {key}": four(brier(place, p)) for key, p in {"ours": ours, **others}.items()}
    found = {"wrong": model.predict(X_test) != y_test, "largest probability": ours.max(axis=1)}
    if hasattr(model, "agreement"):
        found |= {"agreement of the votes": model.agreement(X_test)}
    found["temperature"] = others["temperature"], place
    found["ours"] = ours, place
    return row, found


def four(number: float) -> str:
    return f"{number:.4f}"


def softmax(logits: Any) -> Any:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def brier(place: Any, p: Any) -> float:
    return float(((p - np.eye(p.shape[1])[place]) ** 2).sum(axis=1).mean())


def risk(wrong: Any, sure: Any) -> Any:
    """Return the error on the rows that are kept, for every number of them, the surest first."""
    return np.cumsum(wrong[np.argsort(-sure, kind="stable")]) / np.arange(1, len(wrong) + 1)


def risk_rows(name: str, found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for by in ("largest probability", "agreement of the votes"):
        curve = 100 * risk(found["wrong"], found[by])
        kept = {f"error % at {share} %": float(curve[len(curve) * share // 100 - 1]) for share in (50, 80, 90, 95, 100)}
        yield {"data": name, "by": by, "area": float(curve.mean()), **kept}


def costs(args: Any) -> Iterator[dict[str, Any]]:
    """Yield what sampling takes of a fit of one epoch, and how long the first call of predict_proba takes."""
    X, y, _, _ = load(args)
    for n in (300, 1200, 10_000, 60_000):
        if n > len(y):
            continue
        model = VotedPerceptronClassifier(epochs=1, random_state=0, n_jobs=args.threads)
        seconds, _ = best_of(5, lambda: model.fit(X[:n], y[:n]))  # noqa: B023 (called at once)
        order, codes = np.random.default_rng(0).permutation(n), y[:n].astype(np.int64)
        data = TrainingData(X[:n], codes, n, None, None, None)
        sampling, _ = best_of(5, lambda: model._sample_of(data, order, second_half(order, n, X[:n]), 0, grouped=False))  # noqa: B023
        model.fit(X[:n], y[:n])
        first, _ = timed(lambda: model.predict_proba(X[:1]))  # noqa: B023
        yield cost(f"VotedPerceptronClassifier, MNIST, {n:,}", seconds, sampling, first)
    for n, classes in ((1000, 2), (1000, 60), (40_000, 2), (40_000, 60)):
        X, y = zipf_documents(n, 20_000, classes)
        model = AveragedPerceptronClassifier(epochs=1, random_state=0, n_jobs=args.threads)
        with mock.patch.object(averaged, "ScoredRows", Nothing):
            without, _ = best_of(9, lambda: model.fit(X, y))  # noqa: B023
        seconds, _ = best_of(9, lambda: model.fit(X, y))  # noqa: B023
        first, _ = timed(lambda: model.predict_proba(X[:1]))  # noqa: B023
        yield cost(f"AveragedPerceptronClassifier, text, {n:,}, {classes} classes", without, seconds - without, first)


class Nothing:
    """No sample."""

    def __init__(self, *args: Any) -> None:
        self.pauses: dict[int, Any] = {}

    def sample(self, **how: Any) -> None:
        return None


def cost(name: str, seconds: float, sampling: float, first: float) -> dict[str, Any]:
    return {
        "model and data": name,
        "ms of a fit": 1000 * seconds,
        "sampling, % of it": 100 * sampling / seconds,
        "first predict_proba, ms": 1000 * first,
    }


# -- the figure --------------------------------------------------------------------------------------------------------

COLOURS = {"ours": "#0b6e99", "temperature": "#c9622b"}
BY = {"largest probability": "#0b6e99", "agreement of the votes": "#7a4ea3"}


def draw(drawn: dict[str, dict[str, Any]], out: Path) -> None:
    """Draw reliability and risk of both sets of images."""
    with pyplot().rc_context(STYLE):
        figure, axes = pyplot().subplots(2, 2, figsize=(10, 8.6))
        for column, (name, found) in enumerate(drawn.items()):
            draw_reliability(axes[0, column], name.split(",")[0], found)
            draw_risk(axes[1, column], name.split(",")[0], found)
        figure.tight_layout(h_pad=2.5, w_pad=2.5)
        for path in save(figure, out):
            print(f"Drawn in {path}")


def draw_reliability(axes: Any, name: str, found: dict[str, Any]) -> None:
    names = {"ours": "from the first pass", "temperature": "CalibratedClassifierCV, temperature"}
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=1, linestyle=(0, (4, 3)))
    low = 1.0
    for key, words in names.items():
        p, place = found[key]
        sure, right = reliability_points(p.max(axis=1), p.argmax(axis=1) == place, BINS)
        low = min(low, sure.min(), right.min())
        axes.plot(sure, right, "o-", color=COLOURS[key], linewidth=1.8, markersize=5, label=words)
    axes.set_xlim(low - 0.03, 1.01)
    axes.set_ylim(low - 0.03, 1.01)
    axes.set_xlabel("probability of the predicted class")
    axes.set_ylabel("share that is right")
    axes.legend(frameon=False, loc="upper left", fontsize=10)
    plain(axes)
    title(axes, f"{name}: reliability", "tenths of the test rows, by probability")


def draw_risk(axes: Any, name: str, found: dict[str, Any]) -> None:
    kept = 100 * np.arange(1, len(found["wrong"]) + 1) / len(found["wrong"])
    for by, colour in BY.items():
        axes.plot(kept, 100 * risk(found["wrong"], found[by]), color=colour, linewidth=1.8, label=f"by {by}")
    axes.set_xlim(20, 100)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("rows kept, %")
    axes.set_ylabel("error on them, %")
    axes.legend(frameon=False, loc="upper left", fontsize=10)
    plain(axes)
    title(axes, f"{name}: error against rows kept", "rows with the most doubt are left out first")


if __name__ == "__main__":
    sys.exit(main())
