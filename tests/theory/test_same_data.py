"""What `certify` compares of the training data, and what it lists as taken on somebody's word."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from paper import paper_averaged, paper_perceptron
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator as Frozen
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from votron import KernelAdatronClassifier, VotedPerceptronClassifier, certify, load
from votron.errors import VotronError
from votron.kernels import PolynomialKernel
from votron.theory.evidence import gathering, weights


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300] % 3


def voted(**params):
    return paper_perceptron(**{"degree": 2, "gamma": 1.0, "epochs": 2, "random_state": 0, **params})


def claims(model, X, y, **more):
    return {a.name: a.because for a in certify(model, X, y, comparators=(), **more).claims}


def outside(model, n=300):
    """A row that the model does not depend on."""
    return int(np.setdiff1d(np.arange(n), model.support_)[0])


def with_label(y, i, value):
    changed = y.copy()
    changed[i] = value
    return changed


VOTED = {
    "shuffled": voted(),
    "as given": voted(shuffle=False, random_state=None),
    "one epoch": voted(epochs=1),
    "converged": voted(epochs=None),
    "two and a half": voted(epochs=2.5),
    "margin": voted(margin=0.1),
    "weights": voted(kernel="linear", epochs=3),
}


@pytest.mark.parametrize("name", VOTED)
def test_a_run_that_repeats_itself_is_no_claim(data, name):
    X, y = data
    model = VOTED[name].fit(X, y)
    found = certify(model, X, y, comparators=())
    assert "same data" not in {a.name for a in found.claims}
    (same,) = {a for b in found.bounds for a in b.assumptions if a.name == "same data"}
    assert same.holds
    assert same.because == "trained on them again, the model makes the same mistakes at the same steps"


@pytest.mark.parametrize("name", VOTED)
def test_labels_changed_outside_the_support(data, name):
    X, y = data
    model = VOTED[name].fit(X, y)
    i = outside(model)
    for value in {0, 1, 2} - {int(y[i])}:
        with pytest.raises(VotronError, match="must be the training data") as caught:
            certify(model, X, with_label(y, i, value), comparators=())
        assert "could not have" not in str(caught.value)
        assert any(words in str(caught.value) for words in ("errs where it did not in training", "last vector errs"))


@pytest.mark.slow
@pytest.mark.parametrize("model", [voted(), voted(shuffle=False), voted(epochs=30)], ids=["seed", "as given", "end"])
def test_rows_changed_outside_the_support(data, model):
    X, y = data
    record = model.fit(X, y).record_
    i, refused = outside(model), 0
    for j in np.flatnonzero(y != y[i])[:12]:
        other = X.copy()
        other[i] = X[j]  # another's picture; where training on it makes the same mistakes it is as good a training set
        if clone(model).fit(other, y).record_.equals(record):
            assert "same data" not in claims(model, other, y)
            continue
        with pytest.raises(VotronError, match="must be the training data"):
            certify(model, other, y, comparators=())
        refused += 1
    assert refused > 3
    harmless = X.copy()
    harmless[i, 0] += 1e-9
    assert "same data" not in claims(model, harmless, y)


@pytest.mark.slow
def test_where_the_order_is_not_known_each_pass_is_looked_at(data):
    X, y = data
    model = voted(random_state=np.random.RandomState(0), epochs=3).fit(X, y)
    said = claims(model, X, y)["same data"]
    assert said == (
        f"the number of rows, and the {len(model.support_)} rows of the support with their labels, agree; that all "
        "else is as in training is your claim"
    )
    i = outside(model)
    with pytest.raises(VotronError, match=f"row {i} had no mistake in training, and every vector of a whole pass errs"):
        certify(model, X, with_label(y, i, (y[i] + 1) % 3), comparators=())
    once = voted(random_state=np.random.RandomState(0), epochs=1, kernel="linear").fit(X, y)
    assert "same data" in claims(once, X, y)
    found = []
    for i in np.setdiff1d(np.arange(300), once.support_):
        try:
            found.append("same data" in claims(once, X, with_label(y, i, (y[i] + 1) % 3)))
        except VotronError:
            found.append(False)
    assert not all(found)  # most such changes are seen; one that is not is what the claim is about


def test_too_many_presentations_are_not_repeated(data, monkeypatch):
    for module in (gathering, weights):
        monkeypatch.setattr(module, "MOST_STEPS", 599)
    X, y = data
    assert "same data" in claims(voted().fit(X, y), X, y)
    assert "same data" in claims(paper_averaged(random_state=0).fit(X, y), X, y)


def test_parameters_that_were_changed_since_are_no_other_data(data):
    X, y = data
    lower = voted(margin=0.5).fit(X, y).set_params(margin=0.0)
    higher = voted().fit(X, y).set_params(margin=0.5)
    for model in (lower, higher):
        assert "same data" in claims(model, X, y)
    assert "same data" not in claims(voted().fit(X, y).set_params(random_state=5), X, y)


def test_a_matrix_of_kernel_values(data):
    X, y = data
    K = PolynomialKernel(2)(X, X)
    model = paper_perceptron(kernel="precomputed", epochs=2, random_state=0).fit(K, y)
    assert "same data" not in claims(model, K, y)
    i = outside(model)
    with pytest.raises(VotronError, match="must be the training data"):
        certify(model, K, with_label(y, i, (y[i] + 1) % 3), comparators=())


def test_the_averaged_perceptron(data):
    X, y = data
    for model in (
        paper_averaged(random_state=0).fit(X, y),
        paper_averaged(shuffle=False, epochs=0.5).fit(X, y),
        paper_averaged().partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:]),
    ):
        assert "same data" not in claims(model, X, y)
    seeded = paper_averaged(random_state=0).fit(X, y)
    swapped = with_label(with_label(y, 7, (y[7] + 1) % 3), 8, (y[8] + 1) % 3)
    found = certify(seeded, X, swapped, comparators=())
    assert found.best() is None
    assert "trained on them again with its parameters, the model comes out another" in str(found)
    unknown = paper_averaged(random_state=np.random.RandomState(0)).fit(X, y)
    assert claims(unknown, X, y)["same data"].startswith("the number of rows agrees; that all else")
    more = paper_averaged(random_state=0).fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    assert "same data" in claims(more, X, y)


@pytest.mark.parametrize("C", [None, 1e-6])
def test_the_adatron(data, C):
    X, y = data
    model = KernelAdatronClassifier(degree=2, gamma=1.0, C=C).fit(X, y)
    assert "same data" not in claims(model, X, y)
    i = outside(model)
    with pytest.raises(VotronError, match=r"must be the training data.*(margins|errs on rows outside)"):
        certify(model, X, with_label(y, i, (y[i] + 1) % 3), comparators=())


# -- on whose word ----------------------------------------------------------------------------------------------------


class FrozenEstimator(BaseEstimator, TransformerMixin):
    """A class of the user's that is called like scikit-learn's, and learns."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return X - self.mean_


class Halved(BaseEstimator, TransformerMixin):
    """A class of the user's that says that it learns nothing."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X / 2

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def shown(found):
    """Text, HTML and dict, on one line each."""
    return [" ".join(text.split()) for text in (str(found), found._repr_html_(), str(found.to_dict()["claims"]))]


def test_a_class_that_is_called_frozen_is_not(data):
    X, y = data
    found = certify(make_pipeline(FrozenEstimator(), voted()).fit(X, y), X, y, comparators=())
    assert found.best() is None
    assert "the step 'frozenestimator' of the pipeline learns from the data that it is fitted to" in shown(found)[0]


def test_what_a_frozen_step_was_fitted_to_is_the_users_claim(data):
    X, y = data
    for other in (X[:50] + 1, X):  # the second is not as it should be, and nothing shows it
        frozen = Frozen(StandardScaler().fit(other))
        found = certify(make_pipeline(frozen, voted()).fit(X, y), X, y, comparators=())
        assert found.best().applies
        assert "frozen step" in {a.name for a in found.best().claims}
        for text in shown(found):
            assert "what the frozen step" in text
            assert "of the pipeline was fitted to are other data than these: your claim" in text
        assert found.to_frame().assumes.str.contains("frozen step").all()
        assert "frozen step" in found.to_dict()["summary"]
    assert "frozen step" not in claims(make_pipeline(Frozen(Normalizer()), voted()).fit(X, y), X, y)


def test_a_step_that_says_it_learns_nothing_is_taken_on_its_word(data):
    X, y = data
    said = claims(make_pipeline(Halved(), voted()).fit(X, y), X, y)
    assert said["fixed step"] == (
        "the step 'halved' of the pipeline learns nothing from data, as its class says: taken on its word"
    )
    assert "fixed step" not in claims(make_pipeline(Normalizer(), voted()).fit(X, y), X, y)


@pytest.mark.parametrize(
    "model",
    [voted(), paper_averaged(random_state=0), KernelAdatronClassifier(degree=2, gamma=1.0)],
    ids=["voted", "averaged", "adatron"],
)
def test_a_model_from_a_file_is_taken_on_its_word(data, model, tmp_path):
    X, y = data
    model.fit(X, y)
    assert "model file" not in claims(model, X, y)
    model.save(tmp_path / "model.votron")
    opened = load(tmp_path / "model.votron")
    found = certify(opened, X, y, comparators=())
    for text in shown(found):
        assert "how training went is as the model file says: taken on its word" in text
    assert found.to_frame().assumes.str.contains("model file").all()
    assert found.best().error == certify(model, X, y, comparators=()).best().error
    if hasattr(model, "partial_fit") and model.__class__ is not VotedPerceptronClassifier:
        assert opened.partial_fit(X, y).history_.from_file
    opened.fit(X, y)
    assert "model file" not in claims(opened, X, y)


def test_test_data_are_the_users_claim(data):
    X, y = data
    model = voted().fit(X[:200], y[:200])
    found = certify(model, X[:200], y[:200], comparators=(), X_test=X[200:], y_test=y[200:])
    for text in shown(found):
        assert "had no part in training: your claim" in text
    measured = found.to_frame().query("bound == 'measured'")
    assert (measured.assumes == "test data").all()
    assert "test data" not in claims(model, X[:200], y[:200])
    assert "rows of the training data too" not in found.test_data.because
    for of in (X, sp.csr_matrix(X), pd.DataFrame(X)):  # a hundred of them had a part in it
        model = voted().fit(of[:200], y[:200])
        said = claims(model, of[:200], y[:200], X_test=of[100:], y_test=y[100:])
        assert said["test data"].startswith("100 of the 200 are rows of the training data too; they are")


def test_a_held_out_share_of_every_class_leaves_no_independent_draws(data):
    X, y = data
    model = voted(rule="holdout").fit(X, y).with_rule("last")
    found = certify(model, X, y, comparators=())
    assert found.best() is None
    assert "Fails: i.i.d., since a share of every class was held out" in shown(found)[0]
    averaged = certify(paper_averaged(early_stopping=True, random_state=0).fit(X, y), X, y)
    assert not any(b.applies for b in averaged.bounds if b.kind != "fact")
    assert {a.name for b in averaged.bounds for a in b.failing} >= {"i.i.d.", "planned end"}


@pytest.mark.slow
def test_the_same_numbers_of_another_type():
    """A model of float32 rows is certified with the same numbers as float64, of which products round otherwise."""
    rng = np.random.default_rng(5)
    for seed in range(40):
        X = rng.choice([0.1, 0.2, 0.3, -0.1, -0.2, -0.3, 0.7], (25, 3)).astype(np.float32)
        y = rng.integers(0, 2, 25)
        kernel = "linear" if seed % 2 else "poly"
        model = paper_perceptron(kernel, gamma=1.0, epochs=3, rule="last", random_state=seed).fit(X, y)
        assert str(certify(model, X.astype(np.float64), y, comparators=())) == str(certify(model, X, y, comparators=()))


def test_training_rows_in_another_order_are_no_test_data():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    model = paper_perceptron(gamma=1.0, random_state=0).fit(X, y)
    for other in (X[::-1], X.copy(), X.astype(object)):
        with pytest.raises(VotronError, match="Got the training data instead"):
            certify(model, X, y, X_test=other, y_test=y[::-1])


def test_samples_of_a_few_rows_may_agree():
    X = np.array([[1.0, 2.0], [2.0, 1.0]] * 20)
    y = np.arange(40) % 2
    model = paper_perceptron(gamma=1.0, random_state=0).fit(X, y)
    found = certify(model, X, y, X_test=X[::-1], y_test=y[::-1])
    assert "40 of the 40 are rows of the training data too" in str(found)
