"""Accuracy on public data sets, beside support vector machines, linear models and trees, tuned or as they come.

Repeated cross-validation, the same splits for all; what makes vectors of rows is fitted on the training part, once for
all models, and is not part of the time. Votron's search is compared with GridSearchCV over 20 settings of SVC and as
many folds. Differences are judged by the corrected resampled t-test (C. Nadeau and Y. Bengio, Inference for the
Generalization Error, Machine Learning 52, 2003). Results are kept after each data set and model, and the same command
goes on from there.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC, LinearSVC

from benchmarks._common import RESULTS, Results, parser
from benchmarks._datasets import Problem, encoder_for, problems, taken
from votron import AveragedPerceptronClassifier, VotedPerceptronClassifier, VotedPerceptronClassifierCV
from votron._util.frames import dense
from votron.evaluate.statistics import corrected_p

FOLDS = 4
INNER_FOLDS = 5
OURS, PEER = "VotedPerceptronClassifierCV", "SVC, grid"
C_VALUES = (0.1, 1.0, 10.0, 100.0, 1000.0)
GAMMA_FACTORS = (1 / 16, 1 / 4, 1.0, 4.0)
LEVEL = 0.05


def main() -> int:
    options = parser(f"{__doc__.splitlines()[0]} Takes about an hour; MNIST is not used.")
    options.add_argument("--repeats", type=int, default=2, metavar="N", help="of the four folds (default: %(default)s)")
    options.add_argument(
        "--most-rows", type=int, default=1500, metavar="N", help="a data set has (default: %(default)s)"
    )
    options.add_argument("--only", nargs="+", metavar="SET", help="data sets; all by default")
    options.add_argument("--models", nargs="+", metavar="MODEL", help="models; all by default")
    options.add_argument("--again", nargs="+", default=[], metavar="MODEL", help="forget what was kept of these models")
    args = options.parse_args()
    results = Results("accuracy", args)
    kept = Kept(None if args.json is None else Path(args.json) if args.json else RESULTS / "accuracy.json")
    for name in args.again:
        kept.forget(name)
    chosen = [each for each in problems() if args.only is None or each.name in args.only]
    models = {name: make for name, make in learners(args).items() if args.models is None or name in args.models}
    for problem in chosen:
        measure(problem, models, args, kept)
    shown = [each for each in chosen if each.name in kept.runs]
    results.tables["runs"] = kept.runs
    results.table("Accuracy in %, the mean of all splits", accuracy_rows(shown, kept.runs))
    results.table(f"{OURS} against {PEER}", [comparison(each.name, kept.runs) for each in shown])
    results.table("Over all data sets", summary(shown, kept.runs))
    results.close()
    return 0


# -- models -----------------------------------------------------------------------------------------------------------


def learners(args: Any) -> dict[str, Callable[[Any], Any]]:
    """Return what makes each model, given the training rows."""
    n_jobs = args.threads

    def svc_grid(X: Any) -> Any:
        variance = X.multiply(X).mean() - X.mean() ** 2 if hasattr(X, "multiply") else X.var()
        gammas = [factor / (X.shape[1] * variance) for factor in GAMMA_FACTORS]
        return GridSearchCV(SVC(), {"C": list(C_VALUES), "gamma": gammas}, cv=INNER_FOLDS, n_jobs=n_jobs)

    return {
        OURS: lambda X: VotedPerceptronClassifierCV(cv=INNER_FOLDS, random_state=0, n_jobs=n_jobs),
        PEER: svc_grid,
        "VotedPerceptronClassifier": lambda X: VotedPerceptronClassifier(random_state=0, n_jobs=n_jobs),
        "SVC": lambda X: SVC(),
        "AveragedPerceptronClassifier": lambda X: AveragedPerceptronClassifier(random_state=0, n_jobs=n_jobs),
        "LogisticRegressionCV": lambda X: LogisticRegressionCV(cv=INNER_FOLDS, max_iter=1000, n_jobs=n_jobs),
        "LinearSVC": lambda X: LinearSVC(random_state=0),
        "HistGradientBoosting": lambda X: make_pipeline(
            FunctionTransformer(dense, accept_sparse=True), HistGradientBoostingClassifier(random_state=0)
        ),
    }


# -- measuring --------------------------------------------------------------------------------------------------------


class Kept:
    """Accuracy and seconds of each split, by data set and model, in the file of the results."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        found = json.loads(path.read_text(encoding="utf-8")) if path is not None and path.exists() else {}
        self.runs: dict[str, dict[str, dict[str, Any]]] = found.get("tables", {}).get("runs", {})

    def forget(self, model: str) -> None:
        for runs in self.runs.values():
            runs.pop(model, None)

    def add(self, problem: str, model: str, run: dict[str, Any]) -> None:
        self.runs.setdefault(problem, {})[model] = run
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps({"tables": {"runs": self.runs}}), encoding="utf-8")


def measure(problem: Problem, models: dict[str, Any], args: Any, kept: Kept) -> None:
    """Measure the models that are not kept yet."""
    missing = [name for name in models if name not in kept.runs.get(problem.name, {})]
    if not missing:
        return
    try:
        X, y = problem.rows(args.most_rows)
    except (ImportError, OSError) as error:
        print(f"{problem.name} ({problem.source}) is left out: {error}", file=sys.stderr)
        return
    parts = [vectors(X, y, *split) for split in splits(args).split(np.zeros(len(y)), y)]
    for name in missing:
        print(f"  {problem.name}: {name} ...", file=sys.stderr, flush=True)
        right, seconds = zip(*(fitted(models[name], *part) for part in parts), strict=True)
        kept.add(problem.name, name, {"accuracy": right, "seconds": seconds, "rows": len(y)})


def splits(args: Any) -> RepeatedStratifiedKFold:
    return RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=args.repeats, random_state=0)


def vectors(X: Any, y: Any, train: Any, test: Any) -> tuple[Any, Any, Any, Any]:
    """Return the vectors and labels of both parts."""
    rows = taken(X, train)
    encoder = encoder_for(rows).fit(rows)
    return encoder.transform(rows), y[train], encoder.transform(taken(X, test)), y[test]


def fitted(make: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> tuple[float, float]:
    """Return the share of test rows that are right, and the seconds of training."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with few rows; linear models that have not converged
        start = time.perf_counter()
        model = make(X).fit(X, y)
        seconds = time.perf_counter() - start
        return float(np.mean(model.predict(X_test) == y_test)), seconds


# -- tables -----------------------------------------------------------------------------------------------------------


def accuracy_rows(shown: list[Problem], runs: Any) -> list[dict[str, Any]]:
    return [
        {"data set": each.name, "rows": next(iter(runs[each.name].values()))["rows"]}
        | {name: 100 * float(np.mean(run["accuracy"])) for name, run in runs[each.name].items()}
        for each in shown
    ]


def comparison(name: str, runs: Any) -> dict[str, Any]:
    """Return the difference to the peer on a data set, whether it is noise, and both times."""
    if not {OURS, PEER} <= set(runs[name]):
        return {"data set": name}
    ours, theirs = (runs[name][which] for which in (OURS, PEER))
    difference = np.subtract(ours["accuracy"], theirs["accuracy"])
    p = corrected_p(difference, 1 / (FOLDS - 1))
    seconds = [float(np.mean(run["seconds"])) for run in (ours, theirs)]
    verdict = "" if p >= LEVEL else "better" if difference.mean() > 0 else "worse"
    return {
        "data set": name,
        "difference, points": 100 * float(difference.mean()),
        "p": p,
        "significant": verdict,
        "our seconds": seconds[0],
        "its seconds": seconds[1],
        "its / ours": seconds[1] / seconds[0],
    }


def summary(shown: list[Problem], runs: Any) -> list[dict[str, Any]]:
    """Return for each model its mean over the data sets that all have, and the seconds of all its fits."""
    names = list(dict.fromkeys(name for each in shown for name in runs[each.name]))
    whole = [each for each in shown if set(names) <= set(runs[each.name])]
    rows = []
    for name in names:
        of_sets = {each: runs[each.name][name] for each in whole}
        means = {each: 100 * float(np.mean(run["accuracy"])) for each, run in of_sets.items()}
        parts = [[mean for each, mean in means.items() if each.chosen_on is chosen] for chosen in (True, False)]
        rows.append(
            {
                "model": name,
                "data sets": len(whole),
                "accuracy %": float(np.mean(list(means.values()))) if means else None,
                "where defaults were chosen": float(np.mean(parts[0])) if parts[0] else None,
                "on the others": float(np.mean(parts[1])) if parts[1] else None,
                "seconds in all": float(sum(np.sum(run["seconds"]) for run in of_sets.values())),
            }
        )
    return rows


if __name__ == "__main__":
    sys.exit(main())
