"""Options that several commands share."""

from __future__ import annotations

from functools import partial

import click

from votron.cli.command import (
    NONE,
    Decorator,
    NewFile,
    argument,
    flag,
    grouped,
    height_and_width,
    number,
    option,
    size,
    switch,
)
from votron.estimators import ESTIMATORS

FILE = click.Path(allow_dash=True)
"""The name of a file, which shells complete."""
COUNT = click.IntRange(min=1)
SEED = click.IntRange(0, 2**32 - 1)
FRACTION = click.FloatRange(0, 1, min_open=True, max_open=True)
FIGURE = NewFile(".svg", ".png", ".pdf")
SECONDS = click.FloatRange(min=0, min_open=True)
DATA = (
    "Data file (CSV, TSV, JSON, JSON Lines, Parquet, Arrow, svmlight, IDX, .npy or .npz), folder of images, or one of "
    "digits, mnist and fashion; - for standard input."
)

data = argument("path", "DATA", DATA, FILE, into="data")
model = argument("saved", "MODEL", "Model file; - for standard input.", FILE)
label = partial(option, "--label", "COL", into="data")
output = partial(option, "--output -o", "FILE")
quiet = flag("--quiet", "Print no progress and no remarks on standard error.", into="out")
common = grouped(flag("--json as_json", "Print JSON instead of text.", into="out"), quiet)
verbose = flag("--verbose", "Print everything there is to say.", into="out")
confidence = option("--confidence", "P", "Level of the intervals (default: 0.95).", FRACTION, default=0.95)
folds = option("--folds", "N", "Number of folds (default: 5).", click.IntRange(min=2), default=5)
seed = option("--random-state", "N", "Seed (default: 0).", SEED, default=0)
max_rows = option("--max-rows", "N", "Draw at most N rows (default: 20000).", click.IntRange(min=4), default=20_000)
sample_weight = partial(option, "--sample-weight", "COL")
held_out = flag("--held-out", "Take only the rows that `votron train --test FRACTION` held out of DATA.")
threshold = option("--threshold", "P", "Predict the second of two classes from this probability on.", FRACTION)
rule = grouped(
    option("--rule", "NAME", "Rule of a voted model: vote, average, last, random, pocket or holdout.", into="rules"),
    flag("--normalize-vectors", "With --rule: divide each vector by its length first.", into="rules"),
)
_SCORES = {"accuracy": "accuracy", "balanced_accuracy": "balanced_accuracy"}
_SCORES |= {"f1": "f1_macro", "auc": "roc_auc", "log_loss": "neg_log_loss"}  # as scikit-learn calls them
_SCORE = f"Score: {', '.join(_SCORES)} (default: accuracy)."
_CHOICE = click.Choice(list(_SCORES))
score = option("--score", "NAME", _SCORE, _CHOICE, default="accuracy", callback=lambda *given: _SCORES[given[-1]])
figure = partial(option, "--figure", "FILE", type=FIGURE)


_read = partial(option, group="Reading data", into="reading")
_is = partial(flag, default=None, group="Reading data", into="reading")
_CATEGORIES = "Treat numbers in a column, or the label, as categories, such as postcodes; repeatable."
discrete = partial(option, "--discrete", "COL", _CATEGORIES, multiple=True, into="table")
drop_unlabelled = _is("--drop-unlabelled", "Leave out rows without a label.")
n_features = _read("--features n_features", "N", "svmlight: number of features (default: as many as occur).", COUNT)
_format = _read("--format", "NAME", "Format of the data, such as csv or parquet (default: by name and content).")
_drop = _read("--drop", "COL", "Leave out a column; repeatable.", multiple=True)
_how = (
    _read("--na-values", "TEXT", "Missing-value marker besides empty, NA, NaN, null and ?; repeatable.", multiple=True),
    _is("--only-na-values", "Only empty fields and --na-values mark missing values."),
    _is("--zero-based", "svmlight: features are numbered from 0."),
    _read("--max-expanded max_bytes", "SIZE", "Most that compressed input expands to (default: 4GiB).", size),
    _read("--part", "NAME", "Part of digits, mnist or fashion (default: train).", click.Choice(["train", "test"])),
    _read("--encoding", "NAME", "Encoding of text files, such as latin-1 (default: utf-8)."),
    switch("header", "Whether the first line of CSV names the columns.", group="Reading data", into="reading"),
    _read("--delimiter", "C", "Character between CSV fields, or tab (default: detected)."),
    _read("--quote", "C", "Character around CSV fields; '' for none (default: \")."),
    _read("--decimal", "C", "Decimal mark of CSV, . or , (default: as each column shows)."),
    _is("--rgb", "Read images in colour instead of grey."),
    _read("--resize", "HxW", "Resize images to this height and width.", height_and_width),
)


def missing(*choices: str, default: str = "refuse") -> Decorator:
    """Return the option that says what happens to rows with missing values."""
    names = ", ".join(choices[:-1]) + f" or {choices[-1]}"
    return _read("--missing", "HOW", f"Missing values: {names} (default: {default}).", click.Choice(choices))


training_data = grouped(
    _format, _drop, missing("refuse", "drop", "mean", "median", "most-frequent"), drop_unlabelled, n_features, *_how
)
"""Options for reading data to train on."""
other_data = grouped(_format, _drop, *_how)
"""Options for reading data for a model; by default as in training."""


_encode = partial(option, group="Tables", into="table")
_SCALINGS = ["keep", "standard", "robust", "minmax", "maxabs"]
_SCALE = f"Scale numbers: {', '.join(_SCALINGS)} (default: standard; winnow: keep)."
tables = grouped(
    _encode("--numeric", "HOW", _SCALE, click.Choice(_SCALINGS)),
    discrete(group="Tables"),
    _encode("--probabilities", "COL", "A column of numbers from 0 to 1, not scaled; repeatable.", multiple=True),
    _encode("--text", "COL", "A column of text, split into words; repeatable.", multiple=True),
    _encode(
        "--text-features",
        "HOW",
        "Features of words: tfidf (each word is one), hashing (into 2^18), or auto (tfidf for up to 2^17; default).",
        click.Choice(["auto", "hashing", "tfidf"]),
    ),
    _encode(
        "--dates",
        "HOW",
        "Dates as points on circles (cyclic) or 0/1 features (onehot) (default: cyclic; winnow: onehot).",
        click.Choice(["cyclic", "onehot"]),
    ),
)


_param = partial(option, group="Estimator", into="params")
_switch = partial(switch, group="Estimator", into="params")
_NUMBER = number()

_WEIGHTS = number("balanced", NONE, by_label=True)
class_weight = _param("--class-weight", "balanced|LABEL=X,...", "Weights of classes, such as yes=5,no=1.", _WEIGHTS)
n_jobs = _param("--n-jobs", "N", "Threads (default: all processors).", click.INT)
_CLASSIFIER = "Classifier to train: voted, averaged, adatron, winnow or naive-bayes (default: voted)."
_KERNEL = (
    "rbf: exp(-gamma |x - z|²) + coef0; poly: (gamma x·z + coef0)^degree; linear: x·z; conjunction: 2^(ones in common) "
    "(voted, default rbf; adatron, default poly)."
)
_RULE = (
    "How the vectors of voted predict: vote, average, last, random, pocket, holdout, or auto, the best of vote, "
    "average and last on held-out rows (default: vote)."
)
parameters = grouped(
    option("--estimator", "NAME", _CLASSIFIER, click.Choice(list(ESTIMATORS)), default="voted", group="Estimator"),
    _param("--kernel", "NAME", _KERNEL),
    _param("--degree", "N", "Degree of the polynomial kernel (default: 3).", click.INT),
    _param("--gamma", "X|scale|auto", "Factor in the kernels poly and rbf (default: scale).", number("scale", "auto")),
    _param("--coef0", "X", "Constant of the kernels poly and rbf (default: 1).", _NUMBER),
    _switch("normalize-kernel", "Use K(x, z) / √(K(x, x) K(z, z)) (default: off)."),
    _param("--epochs", "X", "Passes over the data, or a fraction of one (default: 10).", number(NONE)),
    _param("--margin", "X|LABEL=X,...", "τ: update where y · score ≤ τ K(x, x) (default: 0.5).", number(by_label=True)),
    class_weight,
    _param("--rule", "NAME", _RULE),
    _switch("normalize-vectors", "Divide each vector by its length before it predicts (voted; default: off)."),
    _switch("shuffle", "Shuffle the rows once, before the first pass (default: on)."),
    _switch("early-stopping", "voted, averaged: stop when held-out rows no longer improve (default: off)."),
    _param("--validation-fraction", "X", "Share of held-out rows, for --early-stopping and --rule (0.1).", _NUMBER),
    _param("--random-state", "N", "Seed (default: drawn at random, printed and stored).", SEED),
    n_jobs,
    _param("--memory-limit", "SIZE", "Memory besides the data (voted; default: auto)."),
    _switch("average", "averaged: predict by the mean of all vectors (default: on)."),
    _switch("fit-intercept", "averaged: add a constant feature (default: on)."),
    _param("--multiclass", "joint|ovr", "averaged: classes together, or each against the rest (default: joint)."),
    _param("--C C", "X", "adatron: upper limit of the coefficients, for data that are not separable.", number(NONE)),
    _param("--tol", "X", "adatron: relative tolerance (default: 0.001).", _NUMBER),
    _param("--max-sweeps", "N", "adatron: most passes (default: 100000).", click.INT),
    _param("--promotion", "X", "winnow: factor of promotions, above 1 (default: 2).", _NUMBER),
    _param("--threshold", "X", "winnow: sum of weights that predicts the positive class.", number(NONE)),
    _param("--demotion", "divide|eliminate", "winnow: what false positives do to weights (default: divide)."),
    _switch("complement", "winnow: add the negation of each feature (default: off)."),
    _param("--binarize", "X", "winnow, naive-bayes: take values above X for 1, others for 0.", number(NONE)),
    _param("--alpha", "X", "naive-bayes: additive smoothing (default: 1).", _NUMBER),
)
