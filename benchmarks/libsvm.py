"""The same svmlight files through libsvm's svm-train and svm-predict and through Votron.

Seconds are from file to model ("train s") and from files to labels ("predict s"), for both: a process of svm-train or
svm-predict, and the reading of the file with `fit` or `predict` here, compiled before anything is timed. libsvm has one
thread; ours are as the head says. The ratio is that of its quicker training to ours. Pixels are divided by their
largest value, as libsvm's users do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks._common import Results, load, parser, timed
from votron import VotedPerceptronClassifier
from votron.data import Examples, read_examples, write_examples

ROWS = 5000
"""Examples of MNIST, without --rows."""
COSTS = (1.0, 10.0)
OURS: tuple[dict[str, Any], ...] = ({"epochs": 10}, {"epochs": 10, "margin": 0.1})
RULES = ("vote", "average", "last")
Files = tuple[Path, Path]


def missing() -> str | None:
    """Return a sentence where libsvm cannot be run."""
    if shutil.which("svm-train") is None or shutil.which("svm-predict") is None:
        return "svm-train and svm-predict are not installed (Debian package libsvm-tools)."
    return None


def kernels(gamma: float) -> dict[str, tuple[list[str], dict[str, Any]]]:
    """Return the options of svm-train, and ours, for each kernel."""
    return {
        "x.z": (["-t", "0"], {"kernel": "linear"}),
        "(1 + x.z)^4": (
            ["-t", "1", "-d", "4", "-g", "1", "-r", "1"],
            {"kernel": "poly", "degree": 4, "gamma": 1.0, "coef0": 1.0},
        ),
        f"exp(-{gamma:.3g}|x - z|^2)": (
            ["-t", "2", "-g", repr(gamma)],
            {"kernel": "rbf", "gamma": gamma, "coef0": 0.0},
        ),
    }


def svm(files: Files, options: list[str]) -> dict[str, Any]:
    """Train and predict with libsvm; return its error, by its own count, and its times."""
    train, test = files
    model, predicted = train.with_suffix(".model"), train.with_suffix(".predicted")
    fitting = ["svm-train", "-q", "-m", "1000", *options, str(train), str(model)]
    train_s, _ = timed(lambda: subprocess.run(fitting, check=True, capture_output=True))
    asking = ["svm-predict", str(test), str(model), str(predicted)]
    predict_s, done = timed(lambda: subprocess.run(asking, check=True, capture_output=True, text=True))
    right, n = done.stdout.split("(")[1].split(")")[0].split("/")  # Accuracy = 95% (570/600) (classification)
    support = next(line for line in model.read_text("utf-8").splitlines() if line.startswith("total_sv"))
    return {
        "error %": 100 * (1 - int(right) / int(n)),
        "train s": train_s,
        "predict s": predict_s,
        "support": int(support.split()[1]),
    }


def ours(files: Files, parameters: dict[str, Any], threads: int) -> list[dict[str, Any]]:
    """Train and predict with Votron, by each rule from one training."""
    train, test = files

    def fit() -> Any:
        found = read_examples(str(train))
        return VotedPerceptronClassifier(**parameters, margin=0.0, random_state=0, n_jobs=threads).fit(found.X, found.y)

    train_s, model = timed(fit)
    rows = []
    for rule in RULES:

        def predict(rule: str = rule) -> tuple[Any, Any]:
            found = read_examples(str(test), n_features=model.n_features_in_)
            return model.with_rule(rule).predict(found.X), found.y

        predict_s, (predicted, y) = timed(predict)
        wrong = float(100 * np.mean(predicted != y))
        rows.append({"rule": rule, "error %": wrong, "train s": train_s, "predict s": predict_s})
    return [row | {"support": len(model.support_)} for row in rows]


def compare(files: Files, gamma: float, threads: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each kernel, program and setting."""
    for kernel, (options, parameters) in kernels(gamma).items():
        fastest = np.inf
        for cost in COSTS:
            print(f"  svm-train {' '.join(options)} -c {cost:g} ...", file=sys.stderr, flush=True)
            found = svm(files, [*options, "-c", repr(cost)])
            fastest = min(fastest, found["train s"])
            yield {"kernel": kernel, "program": f"svm-train -c {cost:g}", "rule": "", **found}
        for setting in OURS:
            name = ", ".join(f"{key}={value}" for key, value in setting.items())
            for row in ours(files, parameters | setting, threads):
                times = {"svm-train / ours": fastest / row["train s"]}
                yield {"kernel": kernel, "program": f"Votron, {name}", **row, **times}


def write(folder: Path, name: str, data: tuple[Any, Any, Any, Any]) -> Files:
    """Write training and test examples, pixels divided by the largest."""
    X, y, X_test, y_test = data
    files = folder / f"{name}.train", folder / f"{name}.test"
    for path, rows, labels in ((files[0], X, y), (files[1], X_test, y_test)):
        write_examples(Examples(rows / X.max(), labels, "npz", name), path, format="svmlight")
    return files


def problems(args: Any) -> Iterator[tuple[str, tuple[Any, Any, Any, Any]]]:
    """Yield a title and data: digits always, and the first examples of MNIST where they are."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=597, random_state=0, stratify=y)
    yield "digits, 8x8", (X[: args.rows], y[: args.rows], X_test, y_test)
    if args.data or os.environ.get("VOTRON_DATA"):
        args.rows = args.rows or ROWS
        yield "MNIST", load(args)
    else:
        print("MNIST is left out: give its folder with --data, or in VOTRON_DATA.", file=sys.stderr)


def main() -> int:
    args = parser(f"{__doc__.splitlines()[0]} Takes about five minutes.").parse_args()
    if (why := missing()) is not None:
        print(why, file=sys.stderr)
        return 2
    results = Results("libsvm", args)
    with tempfile.TemporaryDirectory() as folder:
        for title, data in problems(args):
            files = write(Path(folder), title.split(",")[0], data)
            gamma = 1.0 / float(data[0].shape[1] * np.var(data[0] / data[0].max()))
            for _, parameters in kernels(gamma).values():  # compiled before anything is timed
                ours(files, parameters | {"epochs": 0.1}, args.threads)
            head = f"{title}: {len(data[0]):,} examples, {len(data[2]):,} to predict"
            results.table(head, list(compare(files, gamma, args.threads)))
    results.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
