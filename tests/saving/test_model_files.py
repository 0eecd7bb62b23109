"""Models come out of a file as they went in, and no file is opened that is not whole, sound and of Votron."""

import json
import os
import re
import signal
import struct
import subprocess
import sys
import time

import forging
import fuzz_models
import numpy as np
import pandas as pd
import polars as pl
import pytest
import safetensors.numpy
import scipy.sparse as sp
from paper import paper_averaged, paper_perceptron
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

import votron
from votron import (
    CompactClassifier,
    KernelAdatronClassifier,
    NaiveBayesLinearClassifier,
    VotedPerceptronClassifier,
    VotronError,
    WinnowClassifier,
    certify,
    load,
    save,
    tabular_encoder,
)
from votron.data import make_encoder
from votron.errors import ModelFileError
from votron.kernels import LinearKernel, NormalizedKernel, PolynomialKernel
from votron.saving import read_manifest
from votron.saving.container import FORMAT, read_container


def data(n_classes=3, n=60, d=6, seed=0, dtype="f8"):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(n, d))
    y = np.arange(n) % n_classes
    X[np.arange(n), y] += 3
    return X.astype(dtype), y


def models():
    X, y = data(3)
    X2, y2 = data(2)
    binary = (X > 2).astype(np.int8)
    names = np.array(["ape", "bee", "cat"])
    frame = pd.DataFrame(X, columns=list("abcdef"))
    yield "voted", paper_perceptron(random_state=0).fit(X, y), X
    yield "voted holdout", paper_perceptron(rule="holdout", random_state=0).fit(X2, y2), X2
    yield "voted names", paper_perceptron(kernel="rbf", normalize_kernel=True).fit(frame, names[y]), frame
    yield "voted bytes", paper_perceptron(gamma=1.0).fit(X.astype("u1"), y == 1), X.astype("u1")
    yield "voted csr", paper_perceptron(margin=0.1).fit(sp.csr_matrix(X.astype("f4")), y), X.astype("f4")
    yield "voted gram", paper_perceptron("precomputed").fit(X @ X.T, y), X[:5] @ X.T
    kernel = PolynomialKernel(2).of(NormalizedKernel(LinearKernel()))
    yield "voted composed", paper_perceptron(kernel, random_state=np.random.RandomState(0)).fit(X, y), X
    yield "voted stream", paper_perceptron(gamma=0.1).partial_fit(X, y).partial_fit(X[:7], y[:7]), X
    yield "averaged", paper_averaged(random_state=0).fit(X, y), X
    yield "averaged two", paper_averaged(average=False, fit_intercept=False).fit(X2, y2 * 2.0), X2
    yield "averaged sparse", paper_averaged().fit(sp.csr_matrix(X), names[y]).sparsify(), X
    yield "averaged early", paper_averaged(early_stopping=True, random_state=0).fit(X, y), X
    yield "averaged joint", paper_averaged(margin=0.5, multiclass="joint", random_state=0).fit(X, y), X
    yield "adatron", KernelAdatronClassifier(degree=2, C=1.0).fit(X, y), X
    yield "adatron two", KernelAdatronClassifier(kernel="rbf", gamma=0.5).fit(X2, y2), X2
    yield "winnow", WinnowClassifier(complement=True, random_state=0).fit(binary, y), binary
    yield "winnow cut", WinnowClassifier(binarize=2.5, threshold=1.5, demotion="eliminate").fit(X2, y2), X2
    yield "bayes", NaiveBayesLinearClassifier(class_prior=[0.2, 0.3, 0.5]).fit(X, y), X
    yield "bayes unseen", NaiveBayesLinearClassifier().partial_fit(X2, y2, classes=[0, 1, 2]), X2


MODELS = {name: (model, X) for name, model, X in models()}
PREDICTORS = {
    **MODELS,
    **{f"compact {n}": (m.compact(), X) for n, (m, X) in MODELS.items() if n != "bayes unseen"},
    "compact last": (MODELS["voted csr"][0].with_rule("last").compact(), MODELS["voted csr"][1]),
    "compact random": (MODELS["voted"][0].with_rule("random", True).compact(), MODELS["voted"][1]),
}


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("name", PREDICTORS)
def test_models_come_back(name, mmap, tmp_path):
    model, X = PREDICTORS[name]
    model.save(tmp_path / "m.votron")
    back = load(tmp_path / "m.votron", mmap=mmap)
    assert type(back) is type(model)
    assert repr(back.get_params()) == repr({**model.get_params(), **_seedless(model)})
    assert back.classes_.dtype == model.classes_.dtype or model.classes_.dtype.kind == "U"
    assert np.array_equal(back.classes_, model.classes_)
    same(back.decision_function(X), model.decision_function(X))
    assert np.array_equal(back.predict(X), model.predict(X))
    for attribute in [a for a in dir(model) if a.endswith("_") and not a.startswith("_") and a != "record_"]:
        if hasattr(model, attribute) and attribute != "class_log_odds_":
            same(getattr(back, attribute), getattr(model, attribute), attribute)
    save(back, tmp_path / "again.votron")
    assert (tmp_path / "again.votron").read_bytes() == (tmp_path / "m.votron").read_bytes()


def _seedless(model):
    state = model.get_params().get("random_state")
    return {"random_state": None} if isinstance(state, np.random.RandomState) else {}


def same(ours, theirs, what=""):
    if sp.issparse(theirs):
        assert sp.issparse(ours), what
        assert ours.dtype == theirs.dtype
        assert (ours != theirs).nnz == 0, what
    elif isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype or theirs.dtype.kind == "U", what
        assert np.array_equal(ours, theirs, equal_nan=theirs.dtype.kind == "f"), what
    else:
        assert ours == theirs, what


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("voted")])
def test_the_record_is_the_same_to_the_last_bit(name, tmp_path):
    model, X = MODELS[name]
    model.save(tmp_path / "m")
    back = load(tmp_path / "m")
    assert back.record_.equals(model.record_)
    assert read_manifest(tmp_path / "m").summary["record"] == model.record_.digest()
    for rule in ("vote", "average", "last", "random", "pocket"):
        same(back.with_rule(rule).decision_function(X), model.with_rule(rule).decision_function(X))


@pytest.mark.parametrize(
    "name",
    [
        *("voted", "voted csr", "averaged", "averaged two", "averaged sparse", "averaged joint"),
        *("winnow", "winnow cut", "bayes"),
    ],
)
def test_models_go_on_learning_from_a_file(name, tmp_path):
    model, X = MODELS[name]
    if name.startswith("voted"):
        model = paper_perceptron(gamma=0.1, margin=model.margin).partial_fit(X, np.arange(len(X)) % 3)
    y = model.classes_[np.arange(len(X)) % len(model.classes_)]
    model.save(tmp_path / "m")
    back = load(tmp_path / "m").partial_fit(X, y)
    expected = load(tmp_path / "m", mmap=False).partial_fit(X, y)
    same(back.decision_function(X), expected.decision_function(X))
    reference = model.partial_fit(X, y) if name.startswith("voted") else _copied(model).partial_fit(X, y)
    same(back.decision_function(X), reference.decision_function(X))


def _copied(model):
    import copy

    return copy.deepcopy(model)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["voted", "voted stream", "averaged", "adatron"])
def test_a_model_from_a_file_has_the_same_certificate(name, tmp_path):
    model, X = MODELS[name]
    y = np.arange(60) % len(model.classes_)
    if name == "voted stream":
        X, y = np.concatenate([X, X[:7]]), np.concatenate([y, y[:7]])
    certificate = certify(model, X, y)
    model.save(tmp_path / "m", certificate=certificate, provenance={"data": "made up", "rows": 60})
    again = certify(load(tmp_path / "m"), X, y)
    for one, other in zip(again.bounds, certificate.bounds, strict=True):
        assert np.array_equal([one.total, *one.values], [other.total, *other.values], equal_nan=True)
        assert (one.remarks, one.failing) == (other.remarks, other.failing)
    assert {a.name for a in again.claims} - {a.name for a in certificate.claims} == {"model file"}
    manifest = read_manifest(tmp_path / "m")
    assert manifest.certificate == certificate.to_dict()
    assert manifest.provenance == {"data": "made up", "rows": 60}
    assert (manifest.format, manifest.votron, manifest.estimator) == (2, votron.__version__, type(model).__name__)
    assert manifest.n_bytes == (tmp_path / "m").stat().st_size


# -- pipelines ---------------------------------------------------------------------------------------------------------


def frames():
    rows = {
        "sky": ["rain", "sun", "cloud", "sun"] * 5,
        "temp": [10.5, 20.0, 15.0, 21.0] * 5,
        "windy": [True, False, True, True] * 5,
        "zip": [11, 22, 11, 33] * 5,
        "chance": [0.9, 0.0, 0.4, 0.1] * 5,
    }
    return pl.DataFrame(rows), pd.DataFrame(rows), np.array(["in", "out", "in", "out"] * 5)


@pytest.mark.slow
@pytest.mark.parametrize("numeric", ["keep", "standard", "minmax", "maxabs"])
@pytest.mark.parametrize("library", [0, 1])
def test_tables_come_back(numeric, library, tmp_path):
    *both, y = frames()
    frame = both[library]
    encoder = tabular_encoder(frame, numeric=numeric, discrete=["zip"], probabilities=["chance"])
    model = make_pipeline(encoder, paper_perceptron(degree=2, random_state=0)).fit(frame, y)
    save(model, tmp_path / "m")
    back = load(tmp_path / "m")
    assert list(back.named_steps) == list(model.named_steps)
    for other in both:
        same(back[:-1].transform(other), model[:-1].transform(other))
        assert np.array_equal(back.predict(other), model.predict(other))
    names = back[0].get_feature_names_out().tolist()
    assert names == model[0].get_feature_names_out().tolist()
    unknown = both[1].assign(sky="snow")
    same(back.decision_function(unknown), model.decision_function(unknown))
    manifest = read_manifest(tmp_path / "m")
    kinds = {"sky": "discrete", "temp": "number", "windy": "truth", "zip": "discrete", "chance": "number"}
    assert (manifest.columns, manifest.steps) == (kinds, ["ColumnTransformer"])
    save(back, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


@pytest.mark.parametrize("missing", ["keep", "mean", "most-frequent"])
@pytest.mark.parametrize("how", ["hashing", "tfidf"])
def test_tables_with_texts_and_holes_come_back(missing, how, tmp_path):
    frame = pl.DataFrame(
        {
            "a": [1.0, 4.0, None if missing != "keep" else 2.0, 3.0, 2.0, 9.0],
            "b": [1, 2, 3, 4, 5, 7],
            "sky": ["sun", None, "rain", "sun", "rain", "rain"],
            "body": [*TEXTS[:-1], None],
        }
    )
    encoder = make_encoder(frame, text=["body"], text_features=how, missing=missing)
    model = make_pipeline(encoder, paper_averaged(random_state=0)).fit(frame, [0, 1] * 3)
    save(model, tmp_path / "m")
    back = load(tmp_path / "m")
    same(back[0].transform(frame[::-1]), model[0].transform(frame[::-1]))
    same(back.decision_function(frame), model.decision_function(frame))
    assert read_manifest(tmp_path / "m").columns == {"a": "number", "b": "number", "sky": "discrete", "body": "text"}
    save(back, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_a_sparse_table_comes_back_sparse(tmp_path):
    frame = pl.DataFrame({"word": [f"w{i}" for i in range(40)]})
    model = make_pipeline(tabular_encoder(frame), paper_perceptron(random_state=0))
    model.fit(frame, np.arange(40) % 2)
    save(model, tmp_path / "m")
    assert sp.issparse(load(tmp_path / "m")[0].transform(frame))
    same(load(tmp_path / "m").decision_function(frame), model.decision_function(frame))


TEXTS = ["rain and wind", "wind, then rain", "sun all day", "a day of sun", "snow, no wind", "snow, more snow"]


@pytest.mark.parametrize(
    "vectorizer",
    [
        TfidfVectorizer(),
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, stop_words=["and"], max_df=0.9),
        TfidfVectorizer(use_idf=False),
        CountVectorizer(analyzer="char", binary=True),
        HashingVectorizer(n_features=2**10),
    ],
)
def test_text_comes_back(vectorizer, tmp_path):
    labels = ["rain", "rain", "sun", "sun", "snow", "snow"]
    model = make_pipeline(vectorizer, paper_averaged(random_state=0)).fit(TEXTS, labels)
    save(model, tmp_path / "m")
    back = load(tmp_path / "m")
    unseen = [*TEXTS, "hail", ""]
    same(back[0].transform(unseen), model[0].transform(unseen))
    same(back.decision_function(unseen), model.decision_function(unseen))


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler((1, 3)),
        MaxAbsScaler(),
        Normalizer(),
        RobustScaler(),
        RobustScaler(with_centering=False, quantile_range=(10.0, 90.0)),
        RobustScaler(with_scaling=False),
    ],
)
def test_scalers_and_imputers_come_back(step, tmp_path):
    X, y = data(3)
    X[3, 2] = X[5, 0] = np.nan
    for strategy in ("mean", "median", "most_frequent"):
        model = make_pipeline(SimpleImputer(strategy=strategy), step, paper_perceptron(random_state=0))
        model.fit(X, y)
        save(model, tmp_path / "m")
        same(load(tmp_path / "m").decision_function(X), model.decision_function(X))


# -- what cannot be saved ----------------------------------------------------------------------------------------------


def test_what_cannot_be_saved_is_refused_and_nothing_written(tmp_path):
    X, y = data(3)
    cases = [
        (paper_perceptron(kernel=lambda A, B: A @ B.T).fit(X, y), "a file cannot hold a function"),
        (Perceptron().fit(X, y), "Got an object of type Perceptron instead"),
        (make_pipeline(FunctionTransformer(np.abs), paper_perceptron()).fit(X, y), "cannot hold a function"),
        (make_pipeline(StandardScaler(), Perceptron()).fit(X, y), "type Perceptron"),
        (VotedPerceptronClassifier, "type ABCMeta|type type"),
    ]
    for model, sentence in cases:
        with pytest.raises(ModelFileError, match=sentence):
            save(model, tmp_path / "m")
    with pytest.raises(NotFittedError):
        paper_perceptron().save(tmp_path / "m")
    with pytest.raises(VotronError, match="'provenance' of a model must be a dict of text"):
        MODELS["voted"][0].save(tmp_path / "m", provenance={"when": object()})
    for odd in ([1, 2], {"entropy": 2**100}, {"x": float("nan")}, _nested(100_000)):
        with pytest.raises(VotronError, match="'provenance' of a model must be a dict"):
            MODELS["voted"][0].save(tmp_path / "m", provenance=odd)
    with pytest.raises(VotronError, match="'certificate' of a model must be what"):
        MODELS["voted"][0].save(tmp_path / "m", certificate={})
    with pytest.raises(ValueError, match="The 'degree' parameter"):
        _copied(MODELS["voted"][0]).set_params(degree=0).save(tmp_path / "m")
    X[0, 0] = -1
    odd = SimpleImputer(strategy="median", add_indicator=True)
    for step, sentence in [
        (odd, "without indicators"),
        (CountVectorizer(token_pattern="(a+)+$"), "a pattern from elsewhere may take for ever"),
        (CountVectorizer(input="filename"), "The 'input' of a CountVectorizer in a model file must be 'content'"),
        (TfidfVectorizer(ngram_range=(1, 99)), "must lie between 1 and 20"),
        (TfidfVectorizer(dtype=np.float32), "must have the default 'dtype'"),
    ]:
        rows = X
        if not isinstance(step, SimpleImputer):
            (tmp_path / "text").write_text("a few words")
            rows = [str(tmp_path / "text")] * 60 if step.input == "filename" else [f"word{i} a" for i in range(60)]
        step.fit(rows)
        classifier = paper_perceptron(random_state=0).fit(X, y)
        with pytest.raises(ModelFileError, match=sentence):
            save(make_pipeline(step, classifier), tmp_path / "m")
    (tmp_path / "text").unlink()
    assert list(tmp_path.iterdir()) == []
    for path in ("/proc/m", "", "a\0b"):
        with pytest.raises(ModelFileError, match=r"Cannot write the model file"):
            MODELS["voted"][0].save(path)


def _nested(depth):
    made = []
    for _ in range(depth):
        made = [made]
    return {"x": made}


def test_files_keep_their_permissions_and_links_their_targets(tmp_path):
    model = MODELS["voted"][0]
    model.save(tmp_path / "new")
    mask = os.umask(0o027)
    try:
        model.save(tmp_path / "masked")
    finally:
        os.umask(mask)
    assert (tmp_path / "masked").stat().st_mode & 0o777 == 0o640
    (tmp_path / "new").chmod(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "new")
    before = (tmp_path / "new").stat().st_ino
    model.save(os.fsencode(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new").stat().st_ino != before
    assert load(os.fsencode(tmp_path / "link")).record_.equals(model.record_)


def test_scalers_of_small_floats_come_back(tmp_path):
    X, y = data(3, dtype="f4")
    for step in (MinMaxScaler(), MaxAbsScaler(), StandardScaler(), RobustScaler()):
        model = make_pipeline(step, paper_perceptron(random_state=0)).fit(X, y)
        save(model, tmp_path / "m")
        same(load(tmp_path / "m")[0].transform(X), model[0].transform(X))
        same(load(tmp_path / "m").decision_function(X), model.decision_function(X))


def test_a_table_that_was_dense_stays_dense(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(30)]
    frame = pd.DataFrame(rng.normal(size=(6, 30)), columns=names).assign(body=TEXTS)
    columns = ColumnTransformer(
        [("s", StandardScaler(), names), ("t", TfidfVectorizer(), "body")], sparse_threshold=0.7
    )
    model = make_pipeline(columns, StandardScaler(), paper_perceptron(random_state=0)).fit(frame, [0, 1] * 3)
    save(model, tmp_path / "m")
    same(load(tmp_path / "m").decision_function(frame), model.decision_function(frame))


def test_a_holdout_without_mistakes_comes_back(tmp_path):
    with pytest.warns(UserWarning, match="can never be learnt"):
        model = paper_perceptron("linear").partial_fit(np.zeros((4, 2)), [0, 1, 0, 1])
    model = model.with_rule("holdout", X_val=np.ones((2, 2)), y_val=[0, 1])
    model.save(tmp_path / "m")
    same(load(tmp_path / "m").decision_function(np.ones((2, 2))), model.decision_function(np.ones((2, 2))))


# -- the file ----------------------------------------------------------------------------------------------------------


def test_it_is_a_safetensors_file_and_bytes_stay_bytes(tmp_path):
    model, _ = MODELS["voted bytes"]
    model.save(tmp_path / "m")
    arrays = safetensors.numpy.load_file(tmp_path / "m")
    assert arrays["model.support_rows"].dtype == np.uint8
    assert np.array_equal(arrays["model.support_rows"], model.support_vectors_)
    sizes = sum(array.nbytes for array in arrays.values())
    assert (tmp_path / "m").stat().st_size < sizes + 6000
    assert b"pickle" not in (tmp_path / "m").read_bytes()


@pytest.mark.slow
def test_arrays_are_mapped_on_request(tmp_path):
    """A large model then opens without its support vectors being read into memory."""
    X = np.random.default_rng(0).normal(size=(300, 10_000))
    model = paper_perceptron(kernel="rbf", gamma=1.0, epochs=1, random_state=0).fit(X, np.arange(300) % 2)
    model.save(tmp_path / "m")
    assert (tmp_path / "m").stat().st_size > 20e6
    opened = load(tmp_path / "m", mmap=True)
    base = opened.support_vectors_
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    assert type(base).__name__ in ("mmap", "memoryview")
    assert not opened.support_vectors_.flags.writeable
    limit = 40 << 20
    code = (
        "import resource, sys; from votron import load; import votron.estimators; "
        "import numpy as np; before = int(open('/proc/self/statm').read().split()[5]); "
        f"model = load({str(tmp_path / 'm')!r}, mmap=True); "
        "print((int(open('/proc/self/statm').read().split()[5]) - before) * resource.getpagesize())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert int(done.stdout) < limit // 4


@pytest.mark.parametrize("field", ["trained_margin", "trained_jointly"])
@pytest.mark.parametrize("value", [-1.0, "ovr", [0.5], 2])
def test_how_an_averaged_perceptron_was_trained_is_checked(field, value, tmp_path):
    content = forging.fresh("averaged joint")
    content["model"][field] = value
    path = forging.write(tmp_path / "m", content)
    if (field, value) == ("trained_margin", 2):
        assert load(path)._trainer.margin == 2
        return
    with pytest.raises(ModelFileError, match=rf"The field 'manifest\.model\.{field}' must be "):
        load(path)


# -- damage ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "m.votron"
    MODELS["voted csr"][0].save(path)
    return path.read_bytes()


def opened(content, tmp_path):
    path = tmp_path / "x.votron"
    path.write_bytes(content)
    return load(path)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 100, -1000, -1])
def test_files_that_are_cut_off(good, length, tmp_path):
    with pytest.raises(ModelFileError, match=r"^[^\n]*('x\.votron'|x\.votron)[^\n]*\.$"):
        opened(good[:length], tmp_path)


def test_foreign_files(good, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(3))
    safetensors.numpy.save_file({"x": np.arange(3)}, tmp_path / "b.safetensors")
    for path, why in [
        (tmp_path / "a.npz", "is not a model file of Votron."),
        (tmp_path / "b.safetensors", "is not a model file of Votron, but another safetensors file."),
        (tmp_path, "Is a directory."),
        (tmp_path / "none", "No such file or directory."),
    ]:
        with pytest.raises(ModelFileError) as error:
            load(path)
        assert str(path) in str(error.value)
        assert str(error.value).endswith(why)
    with pytest.raises(ModelFileError, match="is not a model file"):
        opened(good[8:], tmp_path)
    with pytest.raises(ModelFileError, match="end before the file does"):
        opened(good + b"\0", tmp_path)


@pytest.mark.slow
def test_a_changed_byte_is_noticed(good, tmp_path):
    """But for white space in the header, which means nothing."""
    rng = np.random.default_rng(0)
    path = tmp_path / "changed.votron"
    header = range(8, 8 + int.from_bytes(good[:8], "little"))
    for at, flip in zip(rng.integers(0, len(good), 300), rng.integers(1, 256, 300), strict=True):
        changed = bytearray(good)
        changed[at] ^= int(flip)
        path.write_bytes(changed)
        if at in header and bytes(changed[at : at + 1]).isspace() and good[at : at + 1].isspace():
            assert load(path).record_.equals(MODELS["voted csr"][0].record_)
            continue
        with pytest.raises(ModelFileError, match=r"^[^\n]*changed\.votron[^\n]*\.$"):
            load(path)


def forged(good, tmp_path, change, number=FORMAT, header=None):
    """Write a file whose content was changed, and whose digest was made anew: what a forger would do."""
    path = tmp_path / "good.votron"
    path.write_bytes(good)
    found = read_container(path)
    sections = json.loads(json.dumps(found.manifest["sections"]))
    arrays = {name: array.copy() for name, array in found.arrays.items()}
    change(sections, arrays)
    return forging.write_packed(tmp_path / "forged.votron", sections, arrays, number, header)


def _set(*keys, value):
    def change(manifest, arrays):
        for key in keys[:-1]:
            manifest = manifest[key]
        manifest[keys[-1]] = value

    return change


def _array(name, value):
    def change(manifest, arrays):
        arrays[name] = value(arrays[name])

    return change


def _with(array, index, value):
    array = array.copy()
    array[index] = value
    return array


def _twice(first, second, last, **more):
    step = {"class": "Normalizer", "params": {}}
    return {"before": [{"name": first, "step": step, **more}, {"name": second, "step": step}], "last": last}


def _widen(manifest, arrays):
    manifest["model"]["n_features"] = 2**30
    manifest["model"]["support_rows"]["shape"][1] = 2**30


FORGERIES = {
    "unknown class": (_set("model", "class", value="os.system"), "must be one of 'Averaged"),
    "unknown field": (_set("model", "evil", value=1), "'manifest.model.evil' is not one that Votron knows"),
    "unknown parameter": (_set("model", "params", "evil", value=1), "params.evil' is not one"),
    "bad parameter": (_set("model", "params", "degree", value=-2), "The 'degree' parameter"),
    "parameter of odd type": (_set("model", "params", "degree", value={"x": 1}), "a value that a parameter can have"),
    "kernel by number": (_set("model", "kernel", value=7), "must be a JSON object"),
    "kernel of nothing": (_set("model", "kernel", value={"name": "eval"}), "must be one of 'linear'"),
    "gamma below 0": (_set("model", "kernel", value={"name": "rbf", "gamma": -1.0}), "at least 0"),
    "a number over a kernel": (
        _set("model", "kernel", value={"name": "composed", "outer": 0.5, "inner": {"name": "linear"}}),
        "kernel.outer' must be a JSON object",
    ),
    "a kernel over a number": (
        _set("model", "kernel", value={"name": "composed", "outer": {"name": "linear"}, "inner": 2}),
        "kernel.inner' must be a JSON object",
    ),
    "normalized number": (_set("model", "kernel", value={"name": "normalized", "base": 1}), "base' must be a JSON obj"),
    "a kernel for gamma": (
        _set("model", "kernel", value={"name": "rbf", "gamma": {"name": "linear"}}),
        "kernel.gamma' must be a number",
    ),
    "deep kernel": (
        _set("model", "kernel", value=eval("{'name': 'normalized', 'base': " * 40 + "1" + "}" * 40)),
        "at most 8",
    ),
    "one class": (_set("model", "classes", "values", value=[0]), "two or more labels"),
    "classes twice": (_set("model", "classes", "values", value=[0, 0, 1]), "in rising order"),
    "many classes": (_set("model", "classes", "values", value=list(range(9))), "n_vectors"),
    "labels of objects": (_set("model", "classes", "dtype", value="O8,i4"), "two or more labels"),
    "wide labels": (_set("model", "classes", value={"dtype": "<U9999999", "values": ["a", "b", "c"]}), "two or more"),
    "features": (_set("model", "n_features", value=7), "of shape any x 7|shape"),
    "huge features": (_set("model", "n_features", value=2**60), "whole number from 1"),
    "negative steps": (_set("model", "record", "n_steps", value=-1), "whole number from 0"),
    "steps as text": (_set("model", "record", "n_steps", value="9"), "whole number"),
    "no seed": (lambda manifest, arrays: manifest["model"].pop("seed"), "Got nothing instead"),
    "flag by number": (_set("model", "history", "shuffled", value=1), "true or false"),
    "NaN": (_array("model.record.score", lambda a: _with(a, 0, np.nan)), "finite numbers"),
    "infinite support": (_array("model.support_rows.data", lambda a: _with(a, 0, np.inf)), "finite numbers"),
    "column outside": (_array("model.support_rows.indices", lambda a: _with(a, 0, 99)), "a CSR matrix"),
    "column below 0": (_array("model.support_rows.indices", lambda a: _with(a, 0, -1)), "a CSR matrix"),
    "columns out of order": (_array("model.support_rows.indices", lambda a: a[::-1].copy()), "a CSR matrix"),
    "row starts": (_array("model.support_rows.indptr", lambda a: a[::-1].copy()), "a CSR matrix"),
    "record too short": (_array("model.record.sign", lambda a: a[:-1]), "shape"),
    "record of floats": (_array("model.record.time", lambda a: a.astype("f8")), "an array of int"),
    "times backwards": (_array("model.record.time", lambda a: a[::-1].copy()), "sorted"),
    "sign of 3": (_array("model.record.sign", lambda a: _with(a, 0, 3)), "signs"),
    "vector 99": (_array("model.record.vector", lambda a: _with(a, 0, 99)), "vectors from 0"),
    "example below 0": (_array("model.record.example", lambda a: _with(a, 0, -5)), "numbers of examples"),
    "length below 0": (_array("model.record.norm2", lambda a: _with(a, 0, -5)), "squared lengths"),
    "an array too many": (lambda manifest, arrays: arrays.update(more=np.zeros(3)), "belongs to no field"),
    "an array twice": (
        lambda manifest, arrays: manifest["model"]["record"].update(score={"$array": "model.record.norm2"}),
        "stands nowhere else",
    ),
    "another's array": (_set("model", "record", "score", value={"$array": 7}), "a reference to an array"),
    "steps of a pipeline": (_set("steps", value=forging.steps_before({"class": "os"})), "that Votron knows"),
    "steps by number": (_set("steps", value=7), "must be a (JSON object|list)"),
    "steps of nothing": (_set("steps", value=None), "must be a (JSON object|list)"),
    "no name": (_set("steps", value={"before": []}), "must be a text"),
    "no step": (_set("steps", value={"before": [{"name": "a"}], "last": "b"}), "must be a JSON object. Got nothing"),
    "names twice": (_set("steps", value=_twice("b", "b", "c")), "must have different names"),
    "names twice at the end": (_set("steps", value=_twice("b", "c", "c")), "must have different names"),
    "more of a step": (_set("steps", value=_twice("b", "c", "d", evil=1)), "evil' is not one that Votron knows"),
    "no model": (lambda manifest, arrays: manifest.pop("model"), "manifest.model' must be"),
    "model of nothing": (_set("model", value=None), "manifest.model' must be a JSON object"),
    "provenance by number": (_set("provenance", value=7), "a JSON object"),
    "many moments": (_set("model", "record", "n_steps", value=2**61), None),
    "wide and sparse": (_widen, "below 67,108,864 where vectors are sparse"),
}
HEADERS = {
    "a later format": ({"format": 3}, "of format 3, of a later version of Votron; .* up to 2: upgrade Votron"),
    "format 0": ({"format": 0}, "no format number"),
    "format of text": ({"format": "1"}, "no format number"),
    "sections of format 1": ({"format": 1}, "manifest.steps' must be a list. Got nothing"),
    "no version": ({"votron": None}, "manifest.votron' must be a text"),
    "sections by number": ({"sections": 7}, "manifest.sections' must be a JSON object"),
    "a field beside the sections": ({"pipeline": True}, "manifest.pipeline' is not one that Votron knows"),
}
HEADERS_OF_FORMAT_1 = {
    "no pipeline": ({"pipeline": None}, "true or false"),
    "no truth": ({"pipeline": 1}, "true or false"),
    "steps of no pipeline": ({"steps": [{}]}, "pipeline' must be true where there are steps"),
    "steps by number": ({"steps": 7}, "must be a list"),
    "name by number": ({"name": 7}, "must be a text"),
    "provenance by number": ({"provenance": 7}, "a JSON object"),
    "summary of nothing": ({"summary": None}, "a JSON object"),
    "a field too many": ({"evil": 1}, "manifest.evil' is not one that Votron knows"),
    "sections, too": ({"sections": {}}, "manifest.sections' is not one that Votron knows"),
    "format 2": ({"format": 2}, "manifest.sections' must be a JSON object"),
}


@pytest.mark.parametrize(
    ("number", "name"), [(2, name) for name in HEADERS] + [(1, name) for name in HEADERS_OF_FORMAT_1]
)
def test_headers_of_manifests_that_are_refused(good, number, name, tmp_path):
    header, sentence = (HEADERS if number == 2 else HEADERS_OF_FORMAT_1)[name]
    path = forged(good, tmp_path, lambda manifest, arrays: None, number, header)
    for read in (load, read_manifest):
        with pytest.raises(ModelFileError, match=sentence) as error:
            read(path)
        assert re.fullmatch(r"The model file [^\n]{20,400}\.", str(error.value))


UNKNOWN = {"weights": "'weights'", "": "''", "\x1b[2J": "'\\x1b[2J'", "x" * 999: f"'{'x' * 57}...'"}
"""Names of sections that there are not, and how they are shown."""


@pytest.mark.parametrize(("name", "shown"), UNKNOWN.items(), ids=UNKNOWN.values())
def test_a_section_that_is_not_known_is_refused_by_its_name(good, name, shown, tmp_path):
    """Whatever it holds, and whether the model is built or only looked at: nothing of a file is skipped."""
    sentence = f"it has a section {shown} that this version of Votron does not know: upgrade Votron."
    for value in ({}, {"a": {"$array": "more"}}, None, 7):

        def change(sections, arrays, value=value):
            sections[name], arrays["more"] = value, np.ones(3)

        path = forged(good, tmp_path, change)
        for read in (load, read_manifest):
            with pytest.raises(ModelFileError) as error:
                read(path)
            assert str(error.value) == f"The model file '{path}' cannot be opened: {sentence}"


def test_only_the_model_has_to_be_there(good, tmp_path):
    def change(sections, arrays):
        for name in set(sections) - {"model"}:
            del sections[name]

    path = forged(good, tmp_path, change)
    assert load(path).record_.equals(MODELS["voted csr"][0].record_)
    manifest = read_manifest(path)
    assert (manifest.summary, manifest.provenance, manifest.certificate, manifest.steps) == ({}, {}, None, [])


def test_what_columns_hold_is_checked(tmp_path):
    """It is written down for those who do not build the model, and cannot be other than what the steps take."""
    content = forging.fresh("table")
    [part] = [each for each in content["steps"]["before"][0]["step"]["columns"] if "sky" in each["columns"]]
    assert part["holds"] == "discrete"
    part["holds"] = "text"
    with pytest.raises(ModelFileError, match=r"holds' must be one of 'discrete'\. Got text instead"):
        load(forging.write(tmp_path / "m", content))
    part["holds"] = "\x1b"
    with pytest.raises(
        ModelFileError, match=r"holds' must be one of 'number', 'discrete', 'truth', 'text', 'date'\. Got"
    ):
        read_manifest(forging.write(tmp_path / "m", content))


@pytest.mark.parametrize("number", forging.FORMATS)
@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_refused(good, name, number, tmp_path):
    change, sentence = FORGERIES[name]
    path = forged(good, tmp_path, change, number)
    if sentence is None:  # it opens, and ends in a sentence later
        model = load(path)
        model.n_epochs_ = 1e300
        with pytest.raises(VotronError, match="must be given where there are more than 100,000 epochs"):
            model.staged_decision_function(np.zeros((1, 6)))
        return
    with pytest.raises(ModelFileError, match=sentence) as error:
        load(path)
    assert str(path) in str(error.value)
    assert re.fullmatch(r"[^\n]{20,400}\.", str(error.value))


@pytest.mark.parametrize(
    "header",
    [
        b'{"__metadata__":{"votron":"{}"},"a":{"dtype":"F64","shape":[4611686018427387904],"data_offsets":[0,8]}}',
        b'{"__metadata__":{"votron":"{}"},"a":{"dtype":"F64","shape":[1],"data_offsets":[8,16]}}',
        b'{"__metadata__":{"votron":"{}"},"a":{"dtype":"F64","shape":[-1],"data_offsets":[0,-8]}}',
        b'{"__metadata__":{"votron":"{}"},"a":{"dtype":"V9","shape":[1],"data_offsets":[0,8]}}',
        b'{"__metadata__":{"votron":"{}"},"a":{"dtype":["x"],"shape":[1],"data_offsets":[0,8]}}',
        b'{"__metadata__":{"votron":"{}"},"a":{"dtype":"F64","shape":[0,2305843009213693952],"data_offsets":[0,0]}}',
        b'{"__metadata__":{"votron":"{}"},"a":' + b"[]," * 1_000_000 + b"}",
        b'{"__metadata__":{"votron":"{}"},"a":7}',
        b'{"__metadata__":{"votron":"{}","x":""},"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}',
        b'{"__metadata__":{"votron":"{}"},"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}',
        b'{"__metadata__":{"votron":"{\\"format\\":1}"},"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}',
        b'{"__metadata__":{"votron":7},"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}',
        b'{"__metadata__":{"votron":"{}"}}',
        b'{"a":1,"a":2}',
        b'{"a":NaN}',
        b'{"a":1e999}',
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":' + b"[" * 100_000 + b"}",
        b"{\xff}",
        b"{}",
    ],
)
def test_headers_that_lie(header, tmp_path):
    with pytest.raises(ModelFileError, match=r"^[^\n]+\.$"):
        opened(struct.pack("<Q", len(header)) + header + bytes(8), tmp_path)


@pytest.mark.slow
def test_a_few_hundred_damaged_and_forged_files():
    """`make fuzz` runs thousands."""
    n_opened = fuzz_models.run(400)
    assert 50 < n_opened < 300


@pytest.mark.parametrize("kind", ["filename", "file", "fifo"])
def test_no_file_opens_another(kind, tmp_path):
    """A vectorizer can be told that its texts are names of files; in a model file it cannot."""
    texts = make_pipeline(CountVectorizer(), paper_averaged()).fit(TEXTS, [0, 1] * 3)
    save(texts, tmp_path / "texts")
    os.mkfifo(tmp_path / "fifo")

    def change(manifest, arrays):
        step = manifest["steps"]["before"][0]["step"]
        step["params"]["input"] = "filename" if kind == "fifo" else kind
        step["words"][0] = str(tmp_path / "fifo") if kind == "fifo" else "/etc/hostname"

    with pytest.raises(ModelFileError, match="The 'input' of a CountVectorizer in a model file must be 'content'"):
        load(forged((tmp_path / "texts").read_bytes(), tmp_path, change))


# -- crashes -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_process_killed_while_saving_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.votron"
    MODELS["voted"][0].save(path)
    code = (
        "import scipy.sparse as sp; from votron import AveragedPerceptronClassifier as A; "
        "m = A().fit(sp.eye_array(2, 2_000_000, format='csr'), [0, 1]); print('ready', flush=True)\n"
        f"while True: m.save({str(path)!r})"
    )
    old = path.read_bytes()
    for pause in (0.0, 0.03, 0.08):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
        process.stdout.close()
        assert path.read_bytes() == old or load(path).n_features_in_ == 2_000_000
    MODELS["voted"][0].save(path)
    assert os.listdir(tmp_path) == ["m.votron"]
    assert path.read_bytes() == old


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.votron"
    MODELS["voted"][0].save(path)
    old = path.read_bytes()
    code = (
        "import resource, signal; from votron import load; import sys; "
        "from votron import AveragedPerceptronClassifier as A; import numpy as np; "
        "m = A().fit(np.eye(2, 300_000), [0, 1]); signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))\n"
        f"try: m.save({str(path)!r})\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.startswith("ModelFileError Cannot write the model file")
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["m.votron"]


def test_memory_is_asked_for_before_it_is_taken(tmp_path, monkeypatch):
    MODELS["voted"][0].save(tmp_path / "m")
    monkeypatch.setattr("votron.saving.values.available_memory", lambda: 10)
    with pytest.raises(ModelFileError, match="GB are free"):
        load(tmp_path / "m")


def test_a_compact_model_is_smaller(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    model = paper_perceptron(random_state=0).fit(X, np.arange(600) % 7)
    model.save(tmp_path / "whole")
    model.compact().save(tmp_path / "vote")
    model.with_rule("last").compact().save(tmp_path / "last")
    sizes = [(tmp_path / name).stat().st_size for name in ("whole", "vote", "last")]
    assert sizes == sorted(sizes, reverse=True)
    assert isinstance(load(tmp_path / "vote"), CompactClassifier)
    assert load(tmp_path / "last").gave_up_ == model.with_rule("last").compact().gave_up_


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["vote", "average", "last", "pocket"])
def test_vectors_that_contradictions_bring_back_to_nothing(rule, tmp_path):
    """Rounding leaves squared lengths a little below 0; such models are saved, and score as before."""
    X = np.tile(np.random.RandomState(0).randn(3, 1), (40, 1))
    y = (np.arange(len(X)) // 3) % 2
    found = [paper_perceptron(gamma=0.3, rule=rule, random_state=seed).fit(X, y) for seed in range(12)]
    below = [model for model in found if model.record_.norm2.min() < 0]
    assert below  # else this shows nothing
    for model in below:
        assert np.isfinite(model.record_.lengths).all()
        assert certify(model, X, y).predictor
        for each in (model, model.with_rule(rule, True), model.with_rule(rule, True).compact()):
            each.save(tmp_path / "m")
            assert np.isfinite(each.decision_function(X)).all()
            np.testing.assert_array_equal(load(tmp_path / "m").decision_function(X), each.decision_function(X))


def test_gaussian_models_of_before_there_was_a_constant_learn_on(tmp_path):
    """Their files say coef0=1.0, which the kernel did not read, and the kernel has none."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    model = VotedPerceptronClassifier(kernel="rbf", gamma=0.1, coef0=0.0, random_state=0).fit(X, y)
    model.coef0 = 1.0  # as it was written then
    model.save(tmp_path / "m.votron")
    found = load(tmp_path / "m.votron")
    assert found.coef0 == found.kernel_.coef0 == 0.0
    assert found.partial_fit(X, y).predict(X).shape == y.shape


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    model = VotedPerceptronClassifier(random_state=0).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ModelFileError, match=r"Cannot write the model file .*: There is no folder '.*new'"):
        model.save(tmp_path / "new" / "m.votron")
    assert list(tmp_path.iterdir()) == []
