"""Model files as a forger would write them: fresh models of every kind, taken apart, changed and given a right digest.

A content is the sections of a manifest with their arrays in their places. What is made of it is written by the
functions that write good files, in each format that there is, so structure and digest are those of a model, whatever
the values are.
"""

import copy
import functools
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from votron import (
    AveragedPerceptronClassifier,
    KernelAdatronClassifier,
    NaiveBayesLinearClassifier,
    VotedPerceptronClassifier,
    WinnowClassifier,
    save,
    tabular_encoder,
)
from votron.data import make_encoder
from votron.kernels import LinearKernel, NormalizedKernel, PolynomialKernel
from votron.saving.container import FORMAT, read_container, write_container

FORMATS = tuple(range(1, FORMAT + 1))
TEXTS = ["rain and wind", "wind, then rain", "sun all day", "a day of sun", "snow, no wind", "snow, more snow"]


class Csr:
    """A CSR matrix that need not be one."""

    def __init__(self, data, indices, indptr, shape):
        self.data, self.indices, self.indptr, self.shape = data, indices, indptr, list(shape)


def zeros(shape, index="<i4"):
    """Return a CSR matrix of zeros, which may have more columns than there is memory."""
    return Csr(np.zeros(0), np.zeros(0, index), np.zeros(shape[0] + 1, index), shape)


# -- contents ----------------------------------------------------------------------------------------------------------


def content_of(path):
    """Return the sections of a file with its arrays in their places."""
    found = read_container(path)
    return _inlined(found.manifest["sections"], found.arrays)


def _inlined(value, arrays):
    if isinstance(value, dict):
        if set(value) == {"$array"}:
            return arrays[value["$array"]].copy()
        if set(value) == {"$csr", "shape"}:
            parts = [arrays[f"{value['$csr']}.{part}"].copy() for part in ("data", "indices", "indptr")]
            return Csr(*parts, value["shape"])
        return {key: _inlined(each, arrays) for key, each in value.items()}
    return [_inlined(each, arrays) for each in value] if isinstance(value, list) else value


def write(path, content, number=FORMAT, header=None):
    """Write a content as a file of some format with the right digest; ``header`` stands in the manifest beside it."""
    arrays = {}
    return write_packed(path, _packed(content, arrays, "x"), arrays, number, header)


def write_packed(path, sections, arrays, number=FORMAT, header=None):
    """Write sections that refer to arrays."""
    beside = as_format_1(sections) if number == 1 else {"sections": sections}
    write_container(path, {"format": number, "votron": "forged", **beside, **(header or {})}, arrays)
    return path


def as_format_1(sections):
    """Return sections as format 1 had them: side by side, and columns that do not say what they hold."""
    steps = sections.get("steps", {"before": [], "last": "model"})
    named = isinstance(steps, dict)
    return {
        "summary": {},
        "provenance": {},
        "certificate": None,
        **{name: value for name, value in sections.items() if name != "steps"},
        "pipeline": "steps" in sections,
        "steps": _without_holds(steps.get("before") if named else steps),
        "name": steps.get("last") if named else "model",
    }


def _without_holds(value):
    if isinstance(value, dict):
        left = {key: _without_holds(each) for key, each in value.items()}
        return {key: each for key, each in left.items() if not (key == "holds" and "part" in value)}
    return [_without_holds(each) for each in value] if isinstance(value, list) else value


def _packed(value, arrays, name):
    if isinstance(value, dict):
        return {key: _packed(each, arrays, f"{name}.{i}") for i, (key, each) in enumerate(value.items())}
    if isinstance(value, list):
        return [_packed(each, arrays, f"{name}.{i}") for i, each in enumerate(value)]
    if isinstance(value, Csr):
        arrays.update({f"{name}.{part}": getattr(value, part) for part in ("data", "indices", "indptr")})
        return {"$csr": name, "shape": value.shape}
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"$array": name}
    return value


# -- fresh models ------------------------------------------------------------------------------------------------------


def _data(n_classes=3, n=30, d=5):
    X = np.random.default_rng(0).integers(0, 5, size=(n, d)).astype(float)
    y = np.arange(n) % n_classes
    X[np.arange(n), y] += 3
    return X, y


def _classifiers():
    (X, y), (X2, y2) = _data(), _data(2)
    binary = (X > 2).astype(np.int8)
    voted = VotedPerceptronClassifier(random_state=0).fit(X, y)
    composed = PolynomialKernel(2).of(NormalizedKernel(LinearKernel()))
    yield "voted", voted
    yield "voted last", VotedPerceptronClassifier("rbf", rule="last", gamma=0.1).fit(X.astype("f4"), y)
    yield "voted random", VotedPerceptronClassifier(rule="random", normalize_vectors=True, random_state=0).fit(X, y)
    yield "voted holdout", VotedPerceptronClassifier(rule="holdout", random_state=0).fit(X2, y2)
    yield "voted csr", VotedPerceptronClassifier(composed).fit(sp.csr_matrix(X), np.array(["a", "bee", "c"])[y])
    yield "voted gram", VotedPerceptronClassifier("precomputed").fit(X @ X.T, y)
    yield "voted words", VotedPerceptronClassifier("conjunction", gamma=1.0).fit(binary, y == 1)
    yield "averaged", AveragedPerceptronClassifier(random_state=0).fit(X, y)
    yield "averaged csr", AveragedPerceptronClassifier(average=False).fit(sp.csr_matrix(X2), y2 * 2.0).sparsify()
    joint = AveragedPerceptronClassifier(margin=0.5, multiclass="joint", random_state=0)
    yield "averaged joint", joint.fit(X, y)
    yield "adatron", KernelAdatronClassifier(degree=2, C=1.0).fit(X, y)
    yield "winnow", WinnowClassifier(complement=True, random_state=0).fit(binary, y)
    yield "winnow cut", WinnowClassifier(binarize=2.5, threshold=1.5, demotion="eliminate").fit(X2, y2)
    yield "bayes", NaiveBayesLinearClassifier(class_prior=[0.2, 0.3, 0.5]).fit(X, y)
    yield "compact vote", voted.compact()
    yield "compact last", voted.with_rule("last", True).compact()
    yield "compact linear", AveragedPerceptronClassifier(random_state=0).fit(X2, y2).compact()
    yield "compact csr", AveragedPerceptronClassifier().fit(sp.csr_matrix(X), y).sparsify().compact()


def _pipelines():
    X, y = _data()
    voted = functools.partial(VotedPerceptronClassifier, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcde"))
    for step in (
        StandardScaler(),
        MinMaxScaler(clip=True),
        MaxAbsScaler(),
        RobustScaler(),
        Normalizer(),
        Binarizer(threshold=2.0),
    ):
        yield f"{type(step).__name__}", make_pipeline(step, voted()).fit(frame, y)
    steps = SimpleImputer(), StandardScaler(with_mean=False), MaxAbsScaler(), Normalizer()
    yield "scalers", make_pipeline(*steps, make_pipeline(MinMaxScaler(), Binarizer()), voted()).fit(X, y)
    labels = [0, 1, 2] * 2
    averaged = functools.partial(AveragedPerceptronClassifier, random_state=0)
    for step in (
        CountVectorizer(stop_words=["and"]),
        CountVectorizer(analyzer="char", ngram_range=(1, 20)),
        TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2)),
        HashingVectorizer(n_features=32),
    ):
        yield f"{type(step).__name__} {step.analyzer}", make_pipeline(step, averaged()).fit(TEXTS, labels)
    yield "words scaled", make_pipeline(TfidfVectorizer(), MaxAbsScaler(), Normalizer(), voted()).fit(TEXTS, labels)
    table = pl.DataFrame(
        {
            "sky": ["sun", None, "rain", "sun", "rain", "rain"],
            "temp": [1.5, 4.0, 2.0, 3.0, 2.0, 9.0],
            "wind": [3.0, None, 2.0, 3.0, 2.0, 9.0],
            "windy": [True, False] * 3,
            "zip": [1, 2, 3] * 2,
            "chance": [0.5, 0.0, 1.0] * 2,
            "body": TEXTS,
        }
    )
    whole = table[["sky", "temp", "windy", "zip", "chance"]]
    encoder = tabular_encoder(whole, numeric="standard", discrete=["zip"], probabilities=["chance"])
    yield "table", make_pipeline(encoder, voted()).fit(whole, labels)
    for how in ("hashing", "tfidf"):
        encoder = make_encoder(table, text=["body"], text_features=how, missing="mean", n_text_features=32)
        yield f"table {how}", make_pipeline(encoder, averaged()).fit(table, labels)
    parts = [("s", StandardScaler(), ["temp"]), ("t", TfidfVectorizer(), "body"), ("m", MinMaxScaler(), ["chance"])]
    columns = ColumnTransformer(parts, sparse_threshold=0.9)
    yield (
        "columns",
        make_pipeline(columns, MaxAbsScaler(), voted()).fit(pd.DataFrame(table.to_dict(as_series=False)), labels),
    )
    yield from _own_pipelines(labels)


def _own_pipelines(labels):
    """Yield pipelines of scikit-learn's own encoders, and of dates."""
    averaged = functools.partial(AveragedPerceptronClassifier, random_state=0)
    frame = pd.DataFrame({"w": list("abcaab"), "g": ["x", np.nan, "y", "x", "x", "y"], "n": [1.0, 2, np.nan, 4, 5, 6]})
    days = ["2024-01-31 00:00", "2023-07-01 10:30", "2024-02-01 00:00", None, "2022-12-24 00:00", "2024-05-05 00:00"]
    frame["d"] = pd.to_datetime(days)
    one = OneHotEncoder(handle_unknown="ignore")
    yield "onehot", make_pipeline(ColumnTransformer([("w", one, ["w"])]), averaged()).fit(frame, labels)
    filled = make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder(drop="if_binary"))
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    parts = [
        ("w", OneHotEncoder(max_categories=2, drop=["a"], handle_unknown="ignore"), ["w"]),
        ("g", filled, ["g"]),
        ("o", codes, ["g", "w"]),
        ("d", "drop", ["d"]),
    ]
    columns = ColumnTransformer(parts, remainder=make_pipeline(SimpleImputer(), MinMaxScaler()))
    yield "values", make_pipeline(columns, averaged()).fit(frame, labels)
    rest = ColumnTransformer([("n", SimpleImputer(strategy="constant", fill_value=7), [0])], remainder="passthrough")
    yield "by number", make_pipeline(rest, averaged()).fit(np.arange(12.0).reshape(6, 2), labels)
    for how in ("cyclic", "onehot"):
        encoder = make_encoder(frame[["d", "n"]], dates=how, missing="mean")
        dates = frame[["d", "n"]].bfill()
        yield f"dates {how}", make_pipeline(encoder, averaged()).fit(dates, labels)


@functools.cache
def contents():
    """Return the contents of fresh models of every class, and of pipelines of every kind of step."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in (*_classifiers(), *_pipelines()):
            save(model, Path(folder, "m"))
            found[name] = content_of(Path(folder, "m"))
    return found


def fresh(name):
    """Return a content to be changed."""
    return copy.deepcopy(contents()[name])


def before(width, *steps):
    """Return a content with these steps before a classifier of so many features, which takes hardly any bytes."""
    content = fresh("compact csr")
    content["steps"] = steps_before(*steps)
    content["model"].update(n_features=width, coef=zeros((3, width), "<i8"))
    return content


def steps_before(*steps):
    """Return the section of these steps."""
    return {"before": [{"name": f"s{i}", "step": step} for i, step in enumerate(steps)], "last": "model"}


def table_part(name, columns, alone, step):
    """Return a part of a table's encoder."""
    first = step
    while "steps" in first:
        first = first["steps"][0]["step"]
    texts = ("Text", "HashingVectorizer", "CountVectorizer", "TfidfVectorizer")
    values = dict.fromkeys(("Discrete", "OneHotEncoder", "OrdinalEncoder"), "discrete")
    holds = {**values, "Date": "date", "Truth": "truth", **dict.fromkeys(texts, "text")}.get(first["class"], "number")
    return {"name": name, "columns": columns, "alone": alone, "part": step, "holds": holds}
