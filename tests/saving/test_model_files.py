"""Models come out of a file as they went in, and files are written whole or not at all."""

import copy
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
import safetensors.numpy
import scipy.sparse as sp
from fitted_models import TEXTS, classifiers, data, pipelines
from paper import paper_averaged, paper_perceptron
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import votron
from votron import VotronError, certify, load, save
from votron.errors import ModelFileError
from votron.saving import read_manifest
from votron.saving.container import packed

CLASSIFIERS = classifiers()
VOTED = CLASSIFIERS["voted"][0]


def same(ours, theirs, what=""):
    """Check that two results are equal to the last bit."""
    if sp.issparse(theirs):
        assert sp.issparse(ours), what
        assert ours.dtype == theirs.dtype
        assert (ours != theirs).nnz == 0, what
    elif isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype or theirs.dtype.kind == "U", what
        assert np.array_equal(ours, theirs, equal_nan=theirs.dtype.kind == "f"), what
    else:
        assert ours == theirs, what


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_come_back(name, mmap, tmp_path):
    model, X = CLASSIFIERS[name]
    model.save(tmp_path / "m.votron")
    back = load(tmp_path / "m.votron", mmap=mmap)
    assert type(back) is type(model)
    seed = model.get_params().get("random_state")
    expected = model.get_params() | ({"random_state": None} if isinstance(seed, np.random.RandomState) else {})
    assert repr(back.get_params()) == repr(expected)
    same(back.decision_function(X), model.decision_function(X))
    assert np.array_equal(back.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        same(back.predict_proba(X), model.predict_proba(X))
    learnt = [a for a in dir(model) if a.endswith("_") and not a.startswith("_") and hasattr(model, a)]
    assert [a for a in dir(back) if a.endswith("_") and not a.startswith("_") and hasattr(back, a)] == learnt
    for attribute in learnt:
        if attribute not in ("record_", "history_", "class_log_odds_"):
            same(getattr(back, attribute), getattr(model, attribute), attribute)
    save(back, tmp_path / "again.votron")
    assert (tmp_path / "again.votron").read_bytes() == (tmp_path / "m.votron").read_bytes()


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name.startswith("voted")])
def test_the_record_and_the_history_are_the_same(name, tmp_path):
    model, X = CLASSIFIERS[name]
    model.save(tmp_path / "m")
    back = load(tmp_path / "m")
    assert back.record_.equals(model.record_)
    assert back.history_ == model.history_
    assert back.history_.from_file
    for rule in ("vote", "average", "last", "random", "pocket"):
        same(back.with_rule(rule).decision_function(X), model.with_rule(rule).decision_function(X))
    assert str(back.suspects(3)) == str(model.suspects(3))


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize(
    "name", ["voted stream", "averaged", "averaged weights", "averaged sparse", "averaged joint", "winnow", "bayes"]
)
def test_models_go_on_learning_from_a_file(name, mmap, tmp_path):
    model, X = CLASSIFIERS[name]
    y = model.classes_[np.arange(len(X)) % len(model.classes_)]
    model.save(tmp_path / "m")
    back = load(tmp_path / "m", mmap=mmap).partial_fit(X, y)
    same(back.decision_function(X), copy.deepcopy(model).partial_fit(X, y).decision_function(X))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["voted", "voted stream", "averaged", "adatron"])
def test_a_model_from_a_file_has_the_same_certificate(name, tmp_path):
    model, X = CLASSIFIERS[name]
    y = np.arange(60) % len(model.classes_)
    if name == "voted stream":
        X, y = np.concatenate([X, X[:7]]), np.concatenate([y, y[:7]])
    certificate = certify(model, X, y)
    model.save(tmp_path / "m", certificate=certificate, provenance={"data": "made up", "rows": 60})
    again = certify(load(tmp_path / "m"), X, y)
    assert [str(bound) for bound in again.bounds] == [str(bound) for bound in certificate.bounds]
    manifest = read_manifest(tmp_path / "m")
    assert manifest.certificate == certificate
    assert manifest.provenance == {"data": "made up", "rows": 60}
    assert manifest.votron == votron.__version__
    assert manifest.n_bytes == (tmp_path / "m").stat().st_size


# -- pipelines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", pipelines())
def test_pipelines_come_back(name, tmp_path):
    model, rows = pipelines()[name]
    save(model, tmp_path / "m")
    back = load(tmp_path / "m")
    assert list(back.named_steps) == list(model.named_steps)
    same(back[:-1].transform(rows), model[:-1].transform(rows))
    same(back.decision_function(rows), model.decision_function(rows))
    if hasattr(rows, "columns") and "hashing" not in name:
        assert back[0].get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()
    save(back, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


@pytest.mark.parametrize("name", pipelines())
def test_a_pipeline_from_a_file_can_be_fitted_again(name, tmp_path):
    model, rows = pipelines()[name]
    save(model, tmp_path / "m")
    labels = model.classes_[np.arange(len(rows)) % len(model.classes_)]
    again, expected = clone(load(tmp_path / "m")).fit(rows, labels), clone(model).fit(rows, labels)
    same(again.decision_function(rows), expected.decision_function(rows))


def test_tables_are_read_by_name_whatever_the_library(tmp_path):
    model, frame = pipelines()["table standard"]
    save(model, tmp_path / "m")
    other = pd.DataFrame(frame.to_dict(as_series=False)).assign(more=1, sky="snow")[["more", *frame.columns[::-1]]]
    expected = model.decision_function(frame.with_columns(sky=pl.lit("snow")))
    same(load(tmp_path / "m").decision_function(other), expected)


def test_scalers_of_small_floats_come_back(tmp_path):
    X, y = data(3, dtype="f4")
    X[2, 0] = np.nan
    model = make_pipeline(SimpleImputer(), StandardScaler(), paper_perceptron(random_state=0)).fit(X, y)
    save(model, tmp_path / "m")
    for rows in (X, X.astype("f8") + 1e-12):
        same(load(tmp_path / "m")[:-1].transform(rows), model[:-1].transform(rows))


# -- what cannot be saved ----------------------------------------------------------------------------------------------


def test_classifiers_that_cannot_be_saved_are_refused(tmp_path):
    X, y = data(3)
    cases = [
        (paper_perceptron(kernel=lambda A, B: A @ B.T).fit(X, y), "cannot hold a function"),
        (Perceptron().fit(X, y), "Got an object of type Perceptron instead"),
        (paper_perceptron().fit(X, pd.to_datetime(y)), "Labels and categories in a model file must be numbers"),
    ]
    for model, sentence in cases:
        with pytest.raises(ModelFileError, match=sentence):
            save(model, tmp_path / "m")
    with pytest.raises(NotFittedError):
        paper_perceptron().save(tmp_path / "m")
    with pytest.raises(ValueError, match="The 'degree' parameter"):
        copy.deepcopy(VOTED).set_params(degree=0).save(tmp_path / "m")
    changed = copy.deepcopy(CLASSIFIERS["bayes"][0]).set_params(alpha=0.5)
    with pytest.raises(ModelFileError, match="changed after training"):
        changed.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("step", "rows"),
    [
        (PolynomialFeatures(), data(3)[0]),
        (SimpleImputer(add_indicator=True), data(3)[0]),
        (CountVectorizer(token_pattern="(a+)+$|."), TEXTS * 10),
        (CountVectorizer(tokenizer=str.split, token_pattern=None), TEXTS * 10),
        (TfidfVectorizer(ngram_range=(1, 99)), TEXTS * 10),
    ],
)
def test_for_other_steps_the_sentence_names_skops(step, rows, tmp_path):
    """What is refused here is saved there, as tests/export/test_skops.py shows."""
    model = make_pipeline(step, paper_averaged(random_state=0)).fit(rows, np.arange(60) % 3)
    with pytest.raises(ModelFileError, match=r"cannot be saved in a model file; skops\.io saves"):
        save(model, tmp_path / "m")


def _nested(depth):
    made = []
    for _ in range(depth):
        made = [made]
    return {"x": made}


@pytest.mark.parametrize("odd", [[1, 2], {"x": object()}, {"x": float("nan")}, _nested(100_000)])
def test_provenance_is_json(odd, tmp_path):
    with pytest.raises(VotronError, match="'provenance' of a model must be a dict of text"):
        VOTED.save(tmp_path / "m", provenance=odd)


def test_a_manifest_has_a_limit(tmp_path):
    with pytest.raises(ModelFileError, match="at most 4,194,304"):
        VOTED.save(tmp_path / "m", provenance={"x": "x" * 5_000_000})
    with pytest.raises(ModelFileError, match="more than 150,000 values"):
        VOTED.save(tmp_path / "m", provenance={"x": [0] * 200_000})


@pytest.mark.parametrize("path", ["/proc/m", "", "a\0b", "no/such/folder/m"])
def test_places_where_no_file_can_be(path):
    with pytest.raises(ModelFileError, match=r"^Cannot write the model file [^\n]+\.$"):
        VOTED.save(path)


# -- the file ----------------------------------------------------------------------------------------------------------


def test_it_is_a_safetensors_file_and_bytes_stay_bytes(tmp_path):
    model, _ = CLASSIFIERS["voted bytes"]
    model.save(tmp_path / "m")
    arrays = safetensors.numpy.load_file(tmp_path / "m")
    assert arrays["model.support_rows"].dtype == np.uint8
    assert np.array_equal(arrays["model.support_rows"], model.support_vectors_)


def test_weights_that_are_mostly_0_take_little_room(tmp_path):
    columns = np.random.default_rng(0).integers(0, 100_000, 3000)
    X = sp.csr_matrix((np.ones(3000), columns, np.arange(0, 3001, 10)), shape=(300, 100_000))
    model = paper_averaged(random_state=0).fit(X, np.arange(300) % 3)
    model.save(tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 1_500_000
    back = load(tmp_path / "m")
    same(back.decision_function(X), model.decision_function(X))
    same(back.coef_, model.coef_)


@pytest.mark.parametrize("labels", [["a", "b"], [False, True], [0.0, 2.0], [-3, 2**60], ["", "é"]])
def test_labels_of_any_plain_type_come_back(labels, tmp_path):
    X, y = data(2)
    model = paper_averaged(random_state=0).fit(X, np.array(labels)[y])
    model.save(tmp_path / "m")
    same(load(tmp_path / "m").classes_, model.classes_)


def test_files_keep_their_permissions_and_links_their_targets(tmp_path):
    mask = os.umask(0o027)
    try:
        VOTED.save(tmp_path / "new")
    finally:
        os.umask(mask)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640
    (tmp_path / "new").chmod(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "new")
    VOTED.save(os.fsencode(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600
    assert load(os.fsencode(tmp_path / "link")).record_.equals(VOTED.record_)


def test_arrays_are_mapped_on_request(tmp_path):
    """A large model then opens without its support vectors being read into memory."""
    VOTED.save(tmp_path / "m")
    base = load(tmp_path / "m", mmap=True).support_vectors_
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    assert type(base).__name__ in ("mmap", "memoryview")


@pytest.mark.parametrize("n_missing", [0, 1, 1000])
def test_models_come_through_pipes_whole_or_not_at_all(n_missing, tmp_path):
    VOTED.save(tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[content[: len(content) - n_missing]])
    writer.start()
    try:
        if n_missing:
            with pytest.raises(ModelFileError, match=f"pipe' is cut off: {n_missing:,} of [0-9,]+ bytes are missing"):
                load(tmp_path / "pipe")
        else:
            assert load(tmp_path / "pipe").record_.equals(VOTED.record_)
    finally:
        writer.join(timeout=60)


# -- damage ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "m.votron"
    CLASSIFIERS["voted csr"][0].save(path)
    return path.read_bytes()


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 100, -1000, -1])
def test_files_that_are_cut_off(good, length, tmp_path):
    (tmp_path / "x.votron").write_bytes(good[:length])
    with pytest.raises(ModelFileError, match=r"^[^\n]*x\.votron'[^\n]*\.$"):
        load(tmp_path / "x.votron")


def test_foreign_files(good, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(3))
    safetensors.numpy.save_file({"x": np.arange(3)}, tmp_path / "b.safetensors")
    (tmp_path / "longer").write_bytes(good + b"\0")
    (tmp_path / "later").write_bytes(packed(b'{"format":2,"more":1}', {}))
    for path, why in [
        (tmp_path / "a.npz", "is not a model file of Votron."),
        (tmp_path / "b.safetensors", "is not a model file of Votron, but another safetensors file."),
        (tmp_path, "Is a directory."),
        (tmp_path / "none", "No such file or directory."),
        (tmp_path / "longer", "is damaged: it is longer than its arrays. Copy it again."),
        (tmp_path / "later", "it is of format 2, and this version of Votron reads format 1: upgrade Votron."),
    ]:
        with pytest.raises(ModelFileError) as error:
            load(path)
        assert str(path) in str(error.value)
        assert str(error.value).endswith(why)


# -- crashes -----------------------------------------------------------------------------------------------------------


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
        for each in (model, model.with_rule(rule, True), model.with_rule(rule, True).compact()):
            each.save(tmp_path / "m")
            np.testing.assert_array_equal(load(tmp_path / "m").decision_function(X), each.decision_function(X))


@pytest.mark.slow
def test_a_process_killed_while_saving_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.votron"
    VOTED.save(path)
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
