"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import csv
import math
from functools import partial
from typing import Any

import click

from votron.cli.command import NONE, Decorator, argument, grouped, option
from votron.errors import VotronError

FILE = click.Path(allow_dash=True)
"""The name of a file, which shells complete."""
COUNT = click.IntRange(min=1)
FRACTION = click.FloatRange(0, 1, min_open=True, max_open=True)
SECONDS = click.FloatRange(min=0, min_open=True)
DATA = (
    "Data file (CSV, TSV, JSON, JSON Lines, Parquet, Arrow, svmlight, IDX, .npy or .npz), folder of images, or one of "
    "digits, mnist and fashion; - for standard input."
)
ESTIMATORS = ("voted", "averaged", "adatron", "winnow", "naive-bayes")


# -- types of values --------------------------------------------------------------------------------------------------


class Number(click.ParamType):  # type: ignore[type-arg]
    """A number (unless not ``alone``), one of some words, or ``by_label`` numbers such as yes=5,no=0.5."""

    name = "number"

    def __init__(self, *words: str, whole: bool = False, by_label: bool = False, alone: bool = True) -> None:
        self.words, self.whole, self.by_label, self.alone = words, whole, by_label, alone

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value; the estimator checks its range."""
        if not isinstance(value, str) or value in self.words:
            return value
        if self.by_label and "=" in value:
            return self._labelled(value, param, ctx)
        for read in () if not self.alone else (int,) if self.whole else (int, float):
            try:
                return read(value)
            except ValueError:
                continue
        kinds = ["a whole number" if self.whole else "a number"] if self.alone else []
        kinds += self.words
        kinds += ["numbers by label such as yes=5,no=0.5"] if self.by_label else []
        return self.fail(f"must be {', '.join(kinds[:-1])} or {kinds[-1]}. Got {value!r} instead.", param, ctx)

    def _labelled(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, float]:
        found: dict[str, float] = {}
        for entry in next(csv.reader([text])):
            label, _, number = entry.rpartition("=")
            try:
                found[label] = float(number)
            except ValueError:
                found[label] = math.nan
            if not 0 <= found[label] < math.inf:
                self.fail(f"must be numbers of 0 or more by label, as in yes=5,no=0.5. Got {entry!r}.", param, ctx)
        return found


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes, such as 2GB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        from votron._util.resources import parse_memory_limit

        try:
            return parse_memory_limit(int(value) if str(value).isdecimal() else value)
        except VotronError:
            return self.fail(f"must be a size such as 500MB or 2GB. Got {value!r} instead.", param, ctx)


class HeightWidth(click.ParamType):  # type: ignore[type-arg]
    """Height and width, such as 28x28."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return both numbers."""
        parts = value.lower().split("x") if isinstance(value, str) else value
        if len(parts) != 2 or not all(str(part).isdecimal() and int(part) for part in parts):
            self.fail(f"must be height and width, such as 28x28. Got {value!r} instead.", param, ctx)
        return int(parts[0]), int(parts[1])


def tab(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return a delimiter; a tab may be written as a word."""
    return "\t" if value in ("tab", "\\t") else value


# -- of several commands ----------------------------------------------------------------------------------------------

data = argument("data", type=FILE, help=DATA)
model = argument("model", type=FILE, help="Model file; - for standard input.")
label = partial(option, "--label", metavar="COL")
output = partial(option, "-o", "--output", metavar="FILE", type=FILE)
json = option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
quiet = option("--quiet", is_flag=True, help="Print no progress and no remarks on standard error.")
verbose = option("--verbose", is_flag=True, help="Print everything there is to say.")
figure = partial(option, "--figure", metavar="FILE", type=FILE)
held_out = option(
    "--held-out",
    is_flag=True,
    help="Take only the rows that `votron train --test FRACTION` held out; DATA is the training data.",
)
confidence = option(
    "--confidence", metavar="P", type=FRACTION, default=0.95, help="Level of the intervals (default: 0.95)."
)
threshold = option(
    "--threshold",
    metavar="P",
    type=FRACTION,
    help="With two classes: predict the second where its probability is at least P.",
)
rule = grouped(
    option(
        "--rule",
        metavar="NAME",
        help="Predict by another rule of a voted model, without retraining: vote, average, last, random, pocket or "
        "holdout.",
    ),
    option("--normalize-vectors", is_flag=True, help="With --rule: divide each vector by its length first."),
)
common = grouped(json, quiet)

SCORES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced_accuracy",
    "f1": "f1_macro",
    "f1_macro": "f1_macro",
    "auc": "roc_auc",
    "roc_auc": "roc_auc",
    "log_loss": "neg_log_loss",
    "neg_log_loss": "neg_log_loss",
}
"""Names of scores, and what scikit-learn calls them."""


def score(*, help: str) -> Decorator:
    """Return the option for a score, by its name in scikit-learn or a short one."""
    names = click.Choice(list(SCORES))
    return option(
        "--score",
        metavar="NAME",
        type=names,
        default="accuracy",
        callback=lambda ctx, param, name: SCORES[name],
        help=help,
    )


# -- reading data -----------------------------------------------------------------------------------------------------

_read = partial(option, group="Reading data", into="reading")
_format = _read(
    "--format",
    metavar="NAME",
    help="csv, tsv, json, jsonl, parquet, arrow, svmlight, idx, npy, npz or images (default: by name and content).",
)
_drop = _read("--drop", metavar="COL", multiple=True, help="Leave out a column; repeatable.")
drop_unlabelled = _read("--drop-unlabelled", is_flag=True, default=None, help="Leave out rows without a label.")
n_features = _read(
    "--features",
    "n_features",
    metavar="N",
    type=COUNT,
    help="svmlight: number of features (default: as many as occur).",
)
discrete = partial(
    option,
    "--discrete",
    metavar="COL",
    multiple=True,
    help="Treat numbers in a column, or the label, as categories, such as postcodes; repeatable.",
)
fill = _read(
    "--missing",
    metavar="HOW",
    type=click.Choice(["refuse", "drop", "mean", "median", "most-frequent"]),
    help="Missing values: refuse, drop the rows, or fill in the mean, median or most-frequent value (default: refuse).",
)
_how = (
    _read(
        "--na-values",
        metavar="TEXT",
        multiple=True,
        help="Another missing-value marker, beside empty, NA, NaN, null, ? and the like; repeatable.",
    ),
    _read(
        "--only-na-values",
        is_flag=True,
        default=None,
        help="Only empty fields and --na-values mark missing values.",
    ),
    _read("--zero-based", is_flag=True, default=None, help="svmlight: features are numbered from 0."),
    _read(
        "--max-expanded",
        "max_bytes",
        metavar="SIZE",
        type=Size(),
        help="Largest size that compressed input may expand to (default: 4GiB).",
    ),
    _read(
        "--part",
        metavar="NAME",
        type=click.Choice(["train", "test"]),
        help="Part of digits, mnist or fashion: train or test (default: train).",
    ),
    _read("--encoding", metavar="NAME", help="Encoding of text files, such as latin-1 (default: utf-8)."),
    _read("--header/--no-header", default=None, help="Whether the first line of CSV names the columns."),
    _read("--delimiter", metavar="C", callback=tab, help="Character between CSV fields (default: detected)."),
    _read("--quote", metavar="C", help="Character around CSV fields; '' for none (default: detected)."),
    _read("--decimal", metavar="C", help="Decimal mark of CSV, . or , (default: as each column shows)."),
    _read("--rgb", is_flag=True, default=None, help="Read images in colour instead of grey."),
    _read("--resize", metavar="HxW", type=HeightWidth(), help="Resize images to this height and width."),
)


def missing(*choices: str, help: str) -> Decorator:
    """Return the option that says what happens to missing values, for commands that do not train."""
    return _read("--missing", metavar="HOW", type=click.Choice(choices), help=help)


training_data = grouped(_format, _drop, fill, drop_unlabelled, n_features, *_how)
"""How to read data to train on."""
other_data = grouped(_format, _drop, *_how)
"""How to read data for a model: where nothing is said, as in training."""


# -- tables -----------------------------------------------------------------------------------------------------------

_encode = partial(option, group="Tables", into="table")
tables = grouped(
    _encode(
        "--numeric",
        metavar="HOW",
        type=click.Choice(["keep", "standard", "robust", "minmax", "maxabs"]),
        help="Scale numbers: keep (not at all), standard (to unit standard deviation), robust (by quartiles, outliers "
        "squashed), minmax (to 0 to 1) or maxabs "
        "(default: standard; winnow: keep).",
    ),
    discrete(group="Tables", into="table"),
    _encode(
        "--probabilities", metavar="COL", multiple=True, help="A column of numbers from 0 to 1, not scaled; repeatable."
    ),
    _encode("--text", metavar="COL", multiple=True, help="A column of text, split into words; repeatable."),
    _encode(
        "--text-features",
        metavar="HOW",
        type=click.Choice(["auto", "hashing", "tfidf"]),
        help="Words become features by tfidf (each word is one), hashing (into 2^18) or auto (tfidf for up to 2^17 "
        "words; default).",
    ),
    _encode(
        "--dates",
        metavar="HOW",
        type=click.Choice(["cyclic", "onehot"]),
        help="Dates become points on circles (cyclic), or a feature for each month, weekday and hour (onehot) "
        "(default: cyclic; winnow: onehot).",
    ),
)


# -- estimators -------------------------------------------------------------------------------------------------------

_param = partial(option, group="Estimator", into="params")
_NUMBER = Number()
class_weight = _param(
    "--class-weight",
    metavar="balanced|LABEL=X,...",
    type=Number("balanced", NONE, by_label=True, alone=False),
    help="Weights of classes: balanced, or by label such as yes=5,no=1 (voted, averaged, adatron).",
)
n_jobs = _param("--n-jobs", metavar="N", type=Number(NONE, whole=True), help="Threads (default: all processors).")
random_state = _param(
    "--random-state",
    metavar="N",
    type=click.IntRange(0, 2**32 - 1),
    help="Seed (default: drawn at random, printed and stored).",
)
estimator = option(
    "--estimator",
    metavar="NAME",
    type=click.Choice(ESTIMATORS),
    default="voted",
    group="Estimator",
    help="Classifier to train: voted, averaged, adatron, winnow or naive-bayes (default: voted).",
)
parameters = grouped(
    estimator,
    _param(
        "--kernel",
        metavar="NAME",
        help="rbf: exp(-gamma |x - z|²) + coef0; poly: (gamma x·z + coef0)^degree; linear: x·z; conjunction: 2^(ones "
        "in common); or one from another package (voted, default rbf; adatron, default poly).",
    ),
    _param("--degree", metavar="N", type=Number(whole=True), help="Degree of the polynomial kernel (default: 3)."),
    _param(
        "--gamma",
        metavar="X|scale|auto",
        type=Number("scale", "auto"),
        help="Factor of the dot product (poly) or of the squared distance (rbf) (default: scale).",
    ),
    _param("--coef0", metavar="X", type=_NUMBER, help="Constant of the kernels poly and rbf (default: 1)."),
    _param(
        "--normalize-kernel/--no-normalize-kernel",
        default=None,
        help="Use K(x, z) / √(K(x, x) K(z, z)) (default: off).",
    ),
    _param(
        "--epochs",
        metavar="X",
        type=Number(NONE),
        help="Passes over the data; a fraction stops within a pass (voted, averaged, winnow; default: 10).",
    ),
    _param(
        "--margin",
        metavar="X|LABEL=X,...",
        type=Number(by_label=True),
        help="τ: update where y · score ≤ τ K(x, x) (voted, averaged; default: 0.5).",
    ),
    class_weight,
    _param(
        "--rule",
        metavar="NAME",
        help="How the vectors of voted predict: vote, average, last, random, pocket, holdout, or auto: the best of "
        "vote, average and last on held-out rows (default: vote).",
    ),
    _param(
        "--normalize-vectors/--no-normalize-vectors",
        default=None,
        help="Divide each vector by its length before it predicts (voted; default: off).",
    ),
    _param("--shuffle/--no-shuffle", default=None, help="Shuffle the rows once, before the first pass (default: on)."),
    _param(
        "--early-stopping/--no-early-stopping",
        default=None,
        help="Stop when held-out rows no longer improve, and keep the best moment (voted, averaged; default: off).",
    ),
    _param(
        "--validation-fraction",
        metavar="X",
        type=_NUMBER,
        help="Share of the rows held out for --early-stopping and the rules holdout and auto (default: 0.1).",
    ),
    random_state,
    n_jobs,
    _param("--memory-limit", metavar="SIZE", help="Memory beside the data (voted; default: auto)."),
    _param("--average/--no-average", default=None, help="averaged: predict by the mean of all vectors (default: on)."),
    _param("--fit-intercept/--no-fit-intercept", default=None, help="averaged: add a constant feature (default: on)."),
    _param(
        "--multiclass",
        metavar="joint|ovr",
        help="averaged: train several classes together, or each against the rest (default: joint).",
    ),
    _param(
        "--C",
        "C",
        metavar="X",
        type=Number(NONE),
        help="adatron: upper limit of the coefficients, for data that are not separable.",
    ),
    _param("--tol", metavar="X", type=_NUMBER, help="adatron: relative tolerance (default: 0.001)."),
    _param("--max-sweeps", metavar="N", type=Number(whole=True), help="adatron: most passes (default: 100000)."),
    _param("--promotion", metavar="X", type=_NUMBER, help="winnow: factor of promotions, above 1 (default: 2)."),
    _param(
        "--threshold", metavar="X", type=Number(NONE), help="winnow: sum of weights that predicts the positive class."
    ),
    _param(
        "--demotion",
        metavar="divide|eliminate",
        help="winnow: divide the weights of false positives, or eliminate them (default: divide).",
    ),
    _param(
        "--complement/--no-complement", default=None, help="winnow: add the negation of each feature (default: off)."
    ),
    _param(
        "--binarize",
        metavar="X",
        type=Number(NONE),
        help="winnow, naive-bayes: take values above X for 1, others for 0.",
    ),
    _param("--alpha", metavar="X", type=_NUMBER, help="naive-bayes: additive smoothing (default: 1)."),
    _param("--force-alpha/--no-force-alpha", default=None, help="naive-bayes: use an alpha below 1e-10 as it is."),
    _param("--fit-prior/--no-fit-prior", default=None, help="naive-bayes: learn how frequent classes are."),
    _param(
        "--class-prior",
        metavar="P,P,...",
        callback=lambda ctx, param, text: None if text is None else _numbers(text, param, ctx),
        help="naive-bayes: probabilities of the classes, in the order of their labels.",
    ),
)


def _numbers(text: str, param: click.Parameter, ctx: click.Context) -> list[float]:
    return [_NUMBER.convert(part, param, ctx) for part in text.split(",")]
