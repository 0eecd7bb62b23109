"""What `certify` compares of the training data, and what it lists as assumed."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from paper import paper_averaged, paper_perceptron
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator as Frozen
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from votron import KernelAdatronClassifier, certify, load
from votron.errors import VotronError
from votron.kernels import PolynomialKernel


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300] % 3


def voted(**params):
    return paper_perceptron(**{"degree": 2, "gamma": 1.0, "epochs": 2, "random_state": 0, **params})


def claims(model, X, y, **more):
    return {a.name: a.because for a in certify(model, X, y, comparators=(), **more).claims}


MODELS = {
    "shuffled": voted(random_state=np.random.RandomState(0)),
    "as given": voted(shuffle=False, random_state=None),
    "converged": voted(epochs=None),
    "weights": voted(kernel="linear", epochs=3),
    "averaged": paper_averaged(random_state=0),
    "adatron": KernelAdatronClassifier(degree=2, gamma=1.0),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_training_data_are_recognised_and_others_refused(data, name):
    X, y = data
    model = MODELS[name].fit(X, y)
    assert "same data" not in claims(model, X, y)
    other_label, other_row = y.copy(), X.copy()
    other_label[7] = (y[7] + 1) % 3
    other_row[7] = X[8]
    swapped = np.r_[1, 0, 2:300]
    for rows, labels in (
        (X, other_label),
        (other_row, y),
        (X[swapped], y[swapped]),
        (X[:250], y[:250]),
        (np.vstack([X, X]), np.append(y, y)),
    ):
        with pytest.raises(VotronError, match="must be the training data"):
            certify(model, rows, labels, comparators=())


def test_the_same_numbers_in_another_form(data):
    X, y = data
    model = voted().fit(X, y)
    said = str(certify(model, X, y, comparators=()))
    for form in (sp.csr_matrix(X), X.astype(np.uint8), X.astype(np.float32), X * (1 + 3e-16), pd.DataFrame(X)):
        assert str(certify(model, form, y, comparators=())) == said
    rng = np.random.default_rng(5)
    single = rng.normal(size=(60, 3)).astype(np.float32)
    model = voted().fit(single, y[:60])
    assert certify(model, single.astype(np.float64), y[:60], comparators=()).m == 60


def test_a_matrix_of_kernel_values(data):
    X, y = data
    K = PolynomialKernel(2)(X, X)
    model = paper_perceptron(kernel="precomputed", epochs=2, random_state=0).fit(K, y)
    assert "same data" not in claims(model, K, y)
    with pytest.raises(VotronError, match="must be the training data"):
        certify(model, 2 * K, y)


@pytest.mark.parametrize("model", [paper_averaged(), voted()], ids=["averaged", "voted"])
def test_batches_one_after_another(data, model):
    X, y = data
    model.partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    assert "same data" not in claims(model, X, y)
    with pytest.raises(VotronError, match="must be the training data"):
        certify(model, np.vstack([X[100:], X[:100]]), np.append(y[100:], y[:100]))


def test_several_epochs_and_then_batches_are_refused(data):
    X, y = data
    model = voted(epochs=2).fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    with pytest.raises(VotronError, match="several epochs"):
        certify(model, X, y)


def test_rows_that_cannot_be_learnt_are_counted_by_fit_and_by_partial_fit():
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (60, 3)).astype(float)
    X[[3, 17, 40, 55]] = 0
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    linear = {"kernel": "linear", "epochs": 1, "shuffle": False}
    with pytest.warns(UserWarning, match="left out"):
        models = [
            paper_perceptron(**linear).fit(X, y),
            paper_perceptron(**linear).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:]),
            paper_perceptron(**linear).fit(X[:30], y[:30]).partial_fit(X[30:], y[30:]),
        ]
    whole, *parts = [certify(model, X, y, comparators=()) for model in models]
    assert whole.best() is None  # such rows may come again, and no bound speaks of them
    for found in parts:
        assert found.m == 56
        assert [b.values for b in found.bounds] == [b.values for b in whole.bounds]


def test_what_a_frozen_step_was_fitted_to_is_the_users_claim(data):
    X, y = data
    frozen = Frozen(StandardScaler().fit(X[:50] + 1))
    found = certify(make_pipeline(frozen, voted()).fit(X, y), X, y, comparators=())
    assert found.best().applies
    assert "frozen step" in {a.name for a in found.best().claims}
    assert found.to_frame().assumes.str.contains("frozen step").all()
    assert "frozen step" not in claims(make_pipeline(Frozen(Normalizer()), voted()).fit(X, y), X, y)


@pytest.mark.parametrize("name", ["shuffled", "averaged", "adatron"])
def test_what_a_model_file_says_is_not_verified(data, name, tmp_path):
    X, y = data
    model = MODELS[name].fit(X, y)
    assert "model file" not in claims(model, X, y)
    model.save(tmp_path / "model.votron")
    opened = load(tmp_path / "model.votron")
    found = certify(opened, X, y, comparators=())
    assert found.to_frame().assumes.str.contains("model file").all()
    assert found.best().error == certify(model, X, y, comparators=()).best().error
    assert "model file" not in claims(opened.fit(X, y), X, y)


def test_test_data_are_the_users_claim(data):
    X, y = data
    model = voted().fit(X[:200], y[:200])
    found = certify(model, X[:200], y[:200], comparators=(), X_test=X[200:], y_test=y[200:])
    assert found.test_data.holds is None
    assert "test data" not in claims(model, X[:200], y[:200])
    for of in (X, sp.csr_matrix(X), pd.DataFrame(X)):  # a hundred of them had a part in it
        model = voted().fit(of[:200], y[:200])
        said = claims(model, of[:200], y[:200], X_test=of[100:], y_test=y[100:])
        assert said["test data"].startswith("100 of the 200 rows are in the training data too")


def test_training_rows_in_another_order_are_no_test_data(data):
    X, y = data
    model = voted().fit(X, y)
    for other in (X[::-1], X.copy(), X.astype(object)):
        with pytest.raises(VotronError, match="Got the training data instead"):
            certify(model, X, y, X_test=other, y_test=y[::-1])


def test_a_held_out_share_of_every_class_leaves_no_independent_draws(data):
    X, y = data
    for model in (voted(rule="holdout").fit(X, y).with_rule("last"), paper_averaged(early_stopping=True).fit(X, y)):
        found = certify(model, X, y, comparators=())
        assert found.best() is None
        assert "i.i.d." in {a.name for bound in found.bounds for a in bound.failing}
        assert "a share of every class was held out" in found.summary
