"""Fitted models of every class, and pipelines of every kind of step that a model file can hold, with rows for each."""

import functools

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from paper import paper_averaged, paper_perceptron
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from votron import KernelAdatronClassifier, NaiveBayesLinearClassifier, WinnowClassifier, tabular_encoder
from votron.kernels import LinearKernel, NormalizedKernel, PolynomialKernel
from votron.tables import TableEncoder

TEXTS = ["rain and wind", "wind, then rain", "sun all day", "a day of sun", "snow, no wind", "snow, more snow"]
WEATHER = ["rain", "rain", "sun", "sun", "snow", "snow"]


def data(n_classes=3, n=60, d=6, dtype="f8"):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(n, d))
    y = np.arange(n) % n_classes
    X[np.arange(n), y] += 3
    return X.astype(dtype), y


@functools.cache
def classifiers():
    """Return classifiers by name, each with rows."""
    X, y = data(3)
    X2, y2 = data(2)
    binary, names = (X > 2).astype(np.int8), np.array(["ape", "bee", "cat"])
    frame = pd.DataFrame(X, columns=list("abcdef"))
    named = pd.DataFrame(X, index=[f"row {i}" for i in range(len(X))])
    sparse = sp.csr_matrix(X.astype("f4"))
    composed = PolynomialKernel(2).of(NormalizedKernel(LinearKernel()))
    weights = {"class_weight": {"ape": 2.0, "cat": 1}, "margin": {"ape": 0.3, "bee": 1}}
    found = {
        "voted": (paper_perceptron(random_state=0).fit(X, y), X),
        "voted holdout": (paper_perceptron(rule="holdout", random_state=0).fit(X2, y2), X2),
        "voted auto": (paper_perceptron(rule="auto", early_stopping=True, random_state=0).fit(X, y), X),
        "voted names": (paper_perceptron("rbf", normalize_kernel=True, random_state=0).fit(frame, names[y]), frame),
        "voted rows": (paper_perceptron(random_state=0).fit(named, names[y].astype(object)), named),
        "voted bytes": (paper_perceptron(gamma=1.0).fit(X.astype("u1"), y == 1), X.astype("u1")),
        "voted csr": (paper_perceptron(margin=0.1).fit(sparse, y), sparse),
        "voted gram": (paper_perceptron("precomputed").fit(X @ X.T, y), X[:5] @ X.T),
        "voted composed": (paper_perceptron(composed, random_state=np.random.RandomState(0)).fit(X, y), X),
        "voted stream": (paper_perceptron(gamma=0.1).partial_fit(X, y).partial_fit(X[:7], y[:7]), X),
        "voted weights": (paper_perceptron(**weights | {"random_state": 0}).fit(X, names[y]), X),
        "averaged": (paper_averaged(random_state=0).fit(X, y), X),
        "averaged two": (paper_averaged(average=False, fit_intercept=False).fit(X2, y2 * 2.0), X2),
        "averaged sparse": (paper_averaged().fit(sp.csr_matrix(X), names[y]).sparsify(), X),
        "averaged early": (paper_averaged(early_stopping=True, random_state=0).fit(X, y), X),
        "averaged joint": (paper_averaged(margin=0.5, multiclass="joint", random_state=0).fit(X, y), X),
        "averaged weights": (paper_averaged(**weights | {"random_state": 0}).fit(X, names[y]), X),
        "adatron": (KernelAdatronClassifier(degree=2, C=1.0).fit(X, y), X),
        "adatron two": (KernelAdatronClassifier(kernel="rbf", gamma=0.5).fit(X2, y2), X2),
        "winnow": (WinnowClassifier(complement=True, random_state=0).fit(binary, y), binary),
        "winnow cut": (WinnowClassifier(binarize=2.5, threshold=1.5, demotion="eliminate").fit(X2, y2), X2),
        "bayes": (NaiveBayesLinearClassifier(class_prior=[0.2, 0.3, 0.5]).fit(X, y), X),
        "bayes unseen": (NaiveBayesLinearClassifier().partial_fit(X2, y2, classes=[0, 1, 2]), X2),
    }
    compact = {f"compact {name}": (m.compact(), rows) for name, (m, rows) in found.items() if name != "bayes unseen"}
    for rule in ("last", "random"):
        compact[f"compact {rule}"] = (found["voted csr"][0].with_rule(rule, True).compact(), sparse)
    return found | compact


@functools.cache
def pipelines():
    """Return pipelines by name, each with rows."""
    X, y = data(3)
    gaps = X.copy()
    gaps[3, 2] = gaps[5, 0] = np.nan
    found = {}
    for scaler in (
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler((1, 3), clip=True),
        MaxAbsScaler(),
        Normalizer(),
        RobustScaler(),
        RobustScaler(with_centering=False, quantile_range=(10.0, 90.0)),
    ):
        steps = [SimpleImputer(strategy="median"), scaler]
        found[str(scaler)] = make_pipeline(*steps, paper_perceptron(random_state=0)), gaps, y
    for imputer in (SimpleImputer(), SimpleImputer(strategy="constant", fill_value=7, keep_empty_features=True)):
        found[str(imputer)] = make_pipeline(imputer, paper_averaged(random_state=0)), gaps, y
    for words in (
        [TfidfVectorizer()],
        [TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, stop_words=["and"], max_df=0.9)],
        [TfidfVectorizer(use_idf=False)],
        [CountVectorizer(analyzer="char", binary=True), TfidfTransformer(), MaxAbsScaler()],
        [HashingVectorizer(n_features=2**10)],
    ):
        found[str(words)] = make_pipeline(*words, paper_averaged(random_state=0)), TEXTS, WEATHER
    table = pl.DataFrame(
        {
            "sky": ["sun", None, "rain", "sun", "rain", "rain"],
            "temp": [1.0, 4.0, 2.0, 3.0, 2.0, 9.0],
            "windy": [True, False] * 3,
            "zip": [1, 2, 3] * 2,
            "chance": [0.5, 0.0, 1.0] * 2,
            "day": ["2024-01-31", "2023-07-01", "2024-02-01", "2024-03-03", "2022-12-24", "2024-05-05"],
            "body": TEXTS,
        }
    )
    plain = table.drop("body")
    for numeric, dates in (("keep", "cyclic"), ("standard", "onehot")):
        encoder = tabular_encoder(plain, numeric=numeric, discrete=["zip"], probabilities=["chance"], dates=dates)
        found[f"table {numeric}"] = make_pipeline(encoder, paper_perceptron(random_state=0)), plain, WEATHER
    holes = table.with_columns(temp=pl.Series([1.0, None, 2.0, 3.0, 2.0, 9.0]))
    for how in ("hashing", "tfidf"):
        encoder = TableEncoder(text=["body"], text_features=how, missing="mean", n_text_features=32)
        found[f"table {how}"] = make_pipeline(encoder, paper_averaged(random_state=0)), holes, WEATHER
    wide = pl.DataFrame({"word": [f"w{i}" for i in range(40)]})
    sparse = make_pipeline(tabular_encoder(wide), paper_perceptron(random_state=0))
    found["table sparse"] = sparse, wide, np.arange(40) % 2
    return {name: (model.fit(rows, labels), rows) for name, (model, rows, labels) in found.items()}
