"""ONNX: scores and labels in onnxruntime are those of the model."""

import json

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from paper import paper_averaged, paper_perceptron
from sklearn.datasets import load_digits
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Perceptron
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from strategies import thorough

import votron
from votron import (
    AveragedPerceptronClassifier,
    KernelAdatronClassifier,
    NaiveBayesLinearClassifier,
    TableEncoder,
    VotronError,
    WinnowClassifier,
    tabular_encoder,
)
from votron.export import to_onnx, write_onnx
from votron.kernels import GaussianKernel, LinearKernel, NormalizedKernel, PolynomialKernel

CLASSES = {
    "int": [3, 7, 11],
    "str": ["ab", "c", "ü d"],
    "object": np.array(["no", "yes", "zebra"], dtype=object),
    "bool": [False, True, True],
    "float": [-1.0, 0.0, 4.0],
    "uint8": np.array([1, 2, 9], dtype=np.uint8),
}
KERNELS = {
    "linear": {"kernel": "linear"},
    "poly 1": {"degree": 1},
    "poly 3": {"degree": 3},
    "poly 5, coef0=0": {"degree": 5, "coef0": 0.0, "gamma": 0.1},
    "rbf": {"kernel": "rbf"},
    "normalised linear": {"kernel": "linear", "normalize_kernel": True},
    "normalised poly": {"degree": 4, "normalize_kernel": True, "gamma": 1.0},
    "normalised rbf": {"kernel": "rbf", "normalize_kernel": True},
    "poly over unit rows": {"kernel": PolynomialKernel(4).of(NormalizedKernel(LinearKernel()))},
    "rbf over poly": {"kernel": GaussianKernel(0.02).of(PolynomialKernel(2, 0.5))},
    "poly over rbf": {"kernel": PolynomialKernel(3).of(GaussianKernel(0.2))},
}


def run(model, inputs):
    """Labels and scores from onnxruntime, by way of bytes."""
    content = to_onnx(model).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(["label", "scores"], inputs)


def doubles(X):
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def magnitude(model, X):
    """The largest sum of |terms| that makes up a score: what rounding is relative to."""
    if isinstance(model, Pipeline):
        model, X = model[-1], model[:-1].transform(X)
    small, rows = model.compact(), doubles(X)
    if small.form_ == "linear":
        coef = doubles(small.coef_)
        return float((np.maximum(np.abs(rows), 1) @ np.abs(coef).T + np.abs(small.intercept_)).max())
    return float((np.abs(small.dual_coef_) @ np.abs(small.kernel_(doubles(small.support_vectors_), rows))).max())


def assert_same(model, X, inputs=None):
    """Whether onnxruntime's scores are the model's up to rounding; labels the same where that can tell.

    Of float32 numbers the model makes float32 products. The graph takes doubles; of those the model does not.
    """
    given = X if inputs is not None else doubles(X)
    expected, scale = model.decision_function(given), magnitude(model, given)
    label, scores = run(model, {"X": given} if inputs is None else inputs)
    assert scores.dtype == np.float64
    assert scores.shape == expected.shape
    assert np.abs(scores - expected).max() <= 1e-9 * scale
    assert np.abs(scores - model.decision_function(X)).max() <= 1e-5 * scale
    gap = np.abs(expected) if expected.ndim == 1 else np.diff(np.sort(expected, axis=1)[:, -2:])[:, 0]
    clear = gap > 1e-9 * scale
    assert np.array_equal(label[clear], model.predict(given)[clear])
    return label, scores


@st.composite
def problems(draw):
    n, n_classes = draw(st.integers(12, 40)), draw(st.integers(2, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)]
    forms = [
        rng.normal(size=(n, 5)),
        rng.normal(size=(n, 5)).astype(np.float32),
        rng.integers(0, 20, (n, 5)).astype(np.uint8),
        rng.integers(-9, 9, (n, 5)),
        sp.csr_matrix(rng.integers(0, 3, (n, 5)) * rng.random((n, 5))),
    ]
    X = draw(st.sampled_from(forms))
    kinds = [kind for kind in CLASSES if n_classes == 2 or kind != "bool"]
    return X, np.asarray(CLASSES[draw(st.sampled_from(kinds))])[codes]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*can never be learnt")
@pytest.mark.parametrize("kernel", KERNELS)
@given(problem=problems(), rule=st.sampled_from(["average", "last", "pocket"]), unit=st.booleans())
@thorough(6)
def test_kernels(kernel, problem, rule, unit):
    X, y = problem
    model = paper_perceptron(**KERNELS[kernel], rule=rule, normalize_vectors=unit, epochs=3, random_state=0).fit(X, y)
    assert_same(model, X)
    assert_same(model, X[:1])


@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 3), normalize=st.booleans(), sparse=st.booleans())
@thorough(10)
def test_conjunctions(seed, n_classes, normalize, sparse):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (40, 12)), np.arange(40) % n_classes
    X = sp.csr_matrix(X) if sparse else X
    settings = {"kernel": "conjunction", "normalize_kernel": normalize, "rule": "last", "random_state": 0}
    assert_same(paper_perceptron(**settings).fit(X, y), X)


LINEAR = {
    "average": lambda: paper_averaged(random_state=0),
    "last": lambda: paper_averaged(average=False, fit_intercept=True, random_state=0),
    "joint": lambda: paper_averaged(margin=0.5, multiclass="joint", random_state=0),
    "winnow": lambda: WinnowClassifier(binarize=1.0, random_state=0),
    "winnow with negations": lambda: WinnowClassifier(binarize=1.0, complement=True, random_state=0),
    "naive Bayes": lambda: NaiveBayesLinearClassifier(binarize=1.0),
    "adatron": lambda: KernelAdatronClassifier(degree=2, C=1.0),
    "held out": lambda: paper_perceptron(rule="holdout", degree=2, random_state=0),
}


@pytest.mark.filterwarnings("ignore:.*can never be learnt")
@pytest.mark.filterwarnings("ignore:The adatron stopped")
@pytest.mark.parametrize("make", LINEAR.values(), ids=LINEAR)
@given(problem=problems())
@thorough(6)
def test_other_classifiers(make, problem):
    X, y = problem
    model = make().fit(X, y)
    assert_same(model, X)
    if isinstance(model, AveragedPerceptronClassifier):
        assert_same(model.sparsify(), X)


@pytest.mark.parametrize("name", CLASSES)
def test_labels_have_the_type_of_the_classes(name):
    classes = np.asarray(CLASSES[name])
    X, y = np.eye(3), classes
    label, _ = run(paper_averaged(random_state=0).fit(X, y), {"X": X})
    assert label.tolist() == y.tolist()
    expected = {"int": np.int64, "uint8": np.int64, "bool": np.bool_, "float": np.float64}
    assert label.dtype == expected.get(name, np.object_)


def test_a_score_of_0_predicts_the_second_class_and_ties_the_first():
    model = paper_averaged(fit_intercept=False, random_state=0).fit(np.eye(2), ["a", "b"])
    label, scores = run(model, {"X": np.zeros((1, 2))})
    assert label.tolist() == model.predict(np.zeros((1, 2))).tolist() == ["b"]
    model = paper_averaged(fit_intercept=False, random_state=0).fit(np.eye(3), ["a", "b", "c"])
    label, scores = run(model, {"X": np.zeros((1, 3))})
    assert label.tolist() == model.predict(np.zeros((1, 3))).tolist() == ["a"]
    bayes = NaiveBayesLinearClassifier().fit([[1, 0], [0, 1]], ["a", "b"])
    label, scores = run(bayes, {"X": np.ones((1, 2))})
    assert (label.tolist(), scores.tolist()) == (["a"], [0.0])


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("make", [AveragedPerceptronClassifier, votron.VotedPerceptronClassifier])
def test_probabilities_on_request(make, n_classes):
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    model = make(random_state=0).fit(X[:200], y[:200])
    model = model.with_rule("average") if hasattr(model, "with_rule") else model
    content = to_onnx(model, probabilities=True).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    label, _, p = session.run(None, {"X": X[200:]})
    assert np.allclose(p, model.predict_proba(X[200:]), rtol=1e-6)
    assert np.array_equal(label, model.predict(X[200:]))
    bayes = NaiveBayesLinearClassifier().fit([[1, 0], [0, 1]], ["a", "b"])
    with pytest.raises(VotronError, match="This NaiveBayesLinearClassifier has no probabilities to export"):
        to_onnx(bayes, probabilities=True)


def test_digits_keep_a_byte_a_pixel(tmp_path):
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.uint8)
    model = paper_perceptron(degree=4, gamma=1.0, rule="average", random_state=0).fit(X[:1200], y[:1200])
    label, _ = assert_same(model, X[1200:])
    assert np.array_equal(label, model.predict(X[1200:]))
    write_onnx(model, tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").stat().st_size < len(model.support_) * (64 + 8 * 10) + 8000


def test_compact_models_and_files(tmp_path):
    X, y = load_digits(n_class=3, return_X_y=True)
    model = paper_perceptron(rule="last", random_state=0).fit(X, y)
    assert to_onnx(model.compact()).SerializeToString() == to_onnx(model).SerializeToString()
    path = tmp_path / "model.onnx"
    write_onnx(model, path)
    found = onnx.load(path)
    onnx.checker.check_model(found, full_check=True)
    facts = {prop.key: prop.value for prop in found.metadata_props}
    assert json.loads(facts["classes"]) == [0, 1, 2]
    assert facts["rule"] == "last"
    with pytest.raises(VotronError, match="Cannot write the ONNX file"):
        write_onnx(model, tmp_path)


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False)],
        [StandardScaler(with_std=False)],
        [MinMaxScaler((-1, 2), clip=True)],
        [MaxAbsScaler()],
        [RobustScaler()],
        [RobustScaler(with_centering=False)],
        [RobustScaler(with_scaling=False)],
        ["passthrough", Normalizer()],
        [SimpleImputer(strategy="median"), make_pipeline(MinMaxScaler(), Normalizer())],
    ],
    ids=str,
)
def test_scalers_and_imputers(steps):
    rng = np.random.default_rng(0)
    X, y = 1e4 + 3 * rng.normal(size=(60, 6)), np.arange(60) % 3
    X[5:9, 2] = 0.0
    if isinstance(steps[0], SimpleImputer):
        X[rng.random(X.shape) < 0.1] = np.nan
        X[:, 4] = np.nan  # a column that the imputer leaves out
    model = make_pipeline(*steps, paper_perceptron(degree=2, rule="average", random_state=0)).fit(X, y)
    assert_same(model, X + 0.0)
    X[0], X[1] = 0.0, 2e4  # beyond what the scaler saw
    assert_same(model, X)


def table(library):
    rng = np.random.default_rng(1)
    n = 60
    return library.DataFrame(
        {
            "city of birth": rng.choice(["Rome", "Oslo", "Åbo"], n).tolist(),
            "income": (1e4 * rng.random(n)).tolist(),
            "member": (rng.random(n) < 0.5).tolist(),
            "postcode": rng.choice([10115, 20095, 80331], n).tolist(),
            "Cast_3": rng.random(n).tolist(),
        }
    ), np.array(["no", "yes"])[rng.integers(0, 2, n)]


def inputs_of(frame):
    as_text = {"city of birth"}
    return {
        name: np.array(list(frame[name]), dtype=object if name in as_text else np.float64)[:, None]
        for name in frame.columns
    }


@pytest.mark.slow
@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("numeric", ["keep", "standard", "minmax", "maxabs"])
def test_tables_have_one_input_a_column(library, numeric):
    frame, y = table(library)
    encoder = tabular_encoder(frame, numeric=numeric, discrete=["postcode"], probabilities=["Cast_3"])
    model = make_pipeline(encoder, paper_averaged(random_state=0)).fit(frame, y)
    assert {found.name for found in to_onnx(model).graph.input} == set(frame.columns)
    assert_same(model, frame, inputs_of(frame))
    other = library.DataFrame(
        {"city of birth": ["Paris", "Rome"], "income": [5.0, 1e6], "member": [True, False], "postcode": [1, 10115],
         "Cast_3": [0.0, 1.0]}
    )  # fmt: skip
    assert_same(model, other, inputs_of(other))


@pytest.mark.parametrize("missing", ["mean", "median", "most-frequent"])
def test_encoders_that_fill_in(missing):
    frame, y = table(pl)
    rng = np.random.default_rng(2)
    frame = frame.with_columns(
        pl.Series("age", [None if i % 7 == 0 else float(a) for i, a in enumerate(rng.integers(18, 80, 60))]),
        pl.Series("member", [None if i % 9 == 0 else bool(i % 2) for i in range(60)]),
        pl.Series("height", rng.normal(170, 10, 60)),  # beside age: both are scaled by one transformer
    )
    encoder = TableEncoder(discrete=["postcode"], probabilities=["Cast_3"], missing=missing)
    model = make_pipeline(encoder, paper_perceptron(degree=2, rule="average", random_state=0)).fit(frame, y)
    assert_same(model, frame, inputs_of(frame))


X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2


TEXTS = pd.DataFrame({"body": ["rain and wind", "sun"] * 10, "label": X[:, 0]})


def voted(**parameters):
    return paper_perceptron(random_state=0, **{"rule": "last", **parameters}).fit(X, y)


def piped(*steps, rows=X):
    return make_pipeline(*steps).fit(rows, y)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: voted(rule="vote"), "'vote'.* model.with_rule"),
        (lambda: voted(rule="random").compact(), "'random'"),
        (lambda: voted(kernel=lambda A, B: A @ B.T), "cannot be exported"),
        (lambda: paper_perceptron(kernel="precomputed", rule="last").fit(X @ X.T, y), "PrecomputedKernel"),
        (lambda: piped(Perceptron()), "Perceptron"),
        (lambda: piped(PolynomialFeatures(), paper_averaged()), "PolynomialFeatures"),
        (lambda: piped(SimpleImputer(add_indicator=True), paper_averaged()), "SimpleImputer"),
        (lambda: piped(TableEncoder(text=["body"]), paper_averaged(), rows=TEXTS[["body"]]), "'body'"),
        (lambda: piped(TableEncoder(), paper_averaged(), rows=TEXTS[["label"]]), "'label'"),
    ],
)
def test_what_cannot_be_exported(make, said, tmp_path):
    with pytest.raises(VotronError, match=said):
        write_onnx(make(), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_what_is_too_large(monkeypatch):
    monkeypatch.setattr("votron.export._graph.LARGEST", 100)
    for large in (voted(), paper_perceptron(rule="last").fit(sp.csr_matrix(np.abs(X)), y)):
        with pytest.raises(VotronError, match="2 GB"):
            to_onnx(large)
