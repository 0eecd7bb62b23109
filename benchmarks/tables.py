"""Raw tables: the encoder of Votron beside `skrub.tabular_pipeline`, with the same classifier and with its own.

Nothing is dropped or cleaned: dates, names and identifiers stay in. Repeated cross-validation, the same splits for all.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import skrub
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from benchmarks._common import Results, parser
from benchmarks._datasets import Problem, _of_r, _table
from votron import VotedPerceptronClassifier
from votron.tables import TableEncoder

TABLES = [
    _table("penguins", "Species"),
    _table("seattle-weather", "weather"),
    _table("birdstrikes", "Wildlife Size"),
    _table("birdstrikes", "Effect Amount of damage"),
    _table("zipcodes", "state", drop=["zip_code"]),
    _of_r("Soybean", "Class"),
    _of_r("DNA", "Class"),
    _of_r("Vowel", "Class"),
    _of_r("BreastCancer", "Class"),
    _of_r("HouseVotes84", "Class"),
]


def classifier() -> VotedPerceptronClassifier:
    return VotedPerceptronClassifier(random_state=0)


def models() -> dict[str, Callable[[], Any]]:
    def ours(**params: Any) -> Any:
        return make_pipeline(TableEncoder(missing="mean", **params), classifier())

    return {
        "TableEncoder": ours,
        "robust": partial(ours, numeric="robust"),
        "indicators": partial(ours, add_indicator=True),
        "one-hot": partial(ours, max_categories=None, rare=1),
        "skrub": lambda: skrub.tabular_pipeline(classifier()),
        "skrub, own": lambda: skrub.tabular_pipeline("classification"),
    }


def main() -> int:
    options = parser(__doc__.splitlines()[0])
    options.add_argument("--repeats", type=int, default=2, metavar="N", help="of four folds (default: %(default)s)")
    options.add_argument("--most-rows", type=int, default=1500, metavar="N", help="of a table (default: %(default)s)")
    args = options.parse_args()
    results = Results("tables", args)
    rows = []
    for problem in TABLES:
        found = measured(problem, args)
        rows.append({"table": problem.name, **{name: 100 * float(mean) for name, mean in found.items()}})
        print(rows[-1], flush=True)
    rows.append({"table": "mean", **{name: float(np.mean([row[name] for row in rows])) for name in models()}})
    results.table("Accuracy on raw tables, %", rows)
    results.close()
    return 0


def measured(problem: Problem, args: Any) -> dict[str, float]:
    """Return the mean accuracy of each model."""
    splits = RepeatedStratifiedKFold(n_splits=4, n_repeats=args.repeats, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, y = problem.rows(args.most_rows)
        labels, counts = np.unique(y, return_counts=True)
        kept = np.isin(y, labels[counts >= 8])
        X, y = X[kept], y[kept]
        return {name: cross_val_score(make(), X, y, cv=splits).mean() for name, make in models().items()}


if __name__ == "__main__":
    sys.exit(main())
