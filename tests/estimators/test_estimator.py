"""What VotedPerceptronClassifier does with a record: rules, moments, labels, data of all forms, attributes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from paper import paper_perceptron
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from strategies import thorough

from votron import VotedPerceptronClassifier
from votron.estimators._data import TrainingData
from votron.estimators._training import presentation
from votron.kernels import KERNELS, NormalizedKernel, PolynomialKernel, PrecomputedKernel
from votron.rules import RULES

CHOICES = [(rule, normalized) for rule in RULES for normalized in (False, True)]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300].astype(np.uint8), y[:300]


@pytest.fixture(scope="module")
def odd(digits):
    """Two classes that take several epochs."""
    X, y = digits
    return X, y % 2


def model(**parameters):
    return paper_perceptron(**{"degree": 2, "gamma": 1.0, "random_state": 0, **parameters})


def scores_of_all_rules(fitted, X):
    """The scores of every rule, "holdout" only where the model has a held-out part."""
    choices = [c for c in CHOICES if c[0] != "holdout" or fitted._vectors.holdout is not None]
    return {c: fitted.with_rule(*c).decision_function(X) for c in choices}


def assert_same_scores(mine, theirs):
    assert mine.keys() == theirs.keys()
    for choice in mine:
        assert np.array_equal(mine[choice], theirs[choice]), choice


# -- the rule belongs to prediction -----------------------------------------------------------------------------------


def test_with_rule_is_a_shallow_copy(digits):
    X, y = digits
    trained = model().fit(X, y)
    before = dict(trained.__dict__)
    other = trained.with_rule("average", True)
    assert (other.rule, other.normalize_vectors) == ("average", True)
    assert other.record_ is trained.record_
    assert trained.__dict__ == before
    trained.partial_fit(X[:9], y[:9])  # a copy does not learn with the original
    assert other.record_ is before["record_"] is not trained.record_


@pytest.mark.parametrize("binary", [False, True])
def test_holdout_is_the_first_moment_with_the_least_error(digits, odd, binary):
    X, y = odd if binary else digits
    trained = model(epochs=2, shuffle=False).fit(X[:150], y[:150])
    moments = np.arange(1, 301) / 150
    classes = trained.classes_
    errors = []
    for _, scores in trained.staged_decision_function(X[150:], at=moments, rules=["last"]):
        codes = (scores["last"] > 0).astype(int) if binary else scores["last"].argmax(axis=1)
        errors.append((classes[codes] != y[150:]).sum())
    best = trained.with_rule("holdout", X_val=X[150:], y_val=y[150:])
    assert (best.predict(X[150:]) != y[150:]).sum() == min(errors)
    first = model(epochs=moments[int(np.argmin(errors))], shuffle=False, rule="last").fit(X[:150], y[:150])
    assert np.array_equal(best.decision_function(X), first.decision_function(X))


def test_holdout_carves_off_a_part_for_itself_only(digits):
    X, y = digits
    assert model(rule="last").fit(X, y).record_.n_examples == 300
    held = model(rule="holdout", validation_fraction=0.2).fit(X, y)
    assert held.record_.n_examples == 240
    assert held._vectors.holdout.n_examples == 60
    assert held.with_rule("vote").record_ is held.record_
    # each class gives its share, and the record names rows of the data that were given
    assert set(np.unique(y[np.setdiff1d(np.arange(300), held.support_)])) == set(range(10))
    assert np.array_equal(held.support_vectors_, X[held.support_])


# -- moments of training ----------------------------------------------------------------------------------------------

AT = [0.01, 0.1, 0.37, 1, 2.5, 4]


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("binary", [False, True])
def test_a_moment_is_a_shorter_training(digits, odd, binary, rule):
    X, y = odd if binary else digits
    fitted_by = "holdout" if rule == "holdout" else "vote"
    trained = model(rule=fitted_by, epochs=4, shuffle=False).fit(X, y)
    rules = [rule, (rule, True)]
    stages = list(trained.staged_decision_function(X, at=reversed(AT), rules=rules))
    assert [moment for moment, _ in stages] == AT
    for moment, scores in stages:
        short = model(rule=fitted_by, epochs=moment, shuffle=False).fit(X, y)
        for entry, normalized in zip(rules, (False, True), strict=True):
            expected = short.with_rule(rule, normalized).decision_function(X)
            assert np.array_equal(scores[entry], expected), (moment, entry)


def test_moments_by_default_are_the_epochs_that_were_run(odd):
    X, y = odd
    trained = model(epochs=2.5, rule="average", normalize_vectors=True).fit(X, y)
    stages = dict(trained.staged_decision_function(X))
    assert list(stages) == [1, 2, 2.5]
    assert list(stages[2.5]) == [("average", True)]
    assert np.array_equal(stages[2.5]["average", True], trained.decision_function(X))
    early = model(epochs=0.5).fit(X, y)
    assert [moment for moment, _ in early.staged_decision_function(X)] == [0.5]
    assert list(trained.staged_decision_function(X, at=[])) == []


# -- epochs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epochs", "n_steps"), [(1, 300), (0.1, 30), (1 / 300, 1), (2.5, 750), (np.float32(1.5), 450)])
def test_epochs_may_be_a_fraction(digits, epochs, n_steps):
    X, y = digits
    trained = model(epochs=epochs, degree=1).fit(X, y)
    assert trained.record_.n_steps == n_steps
    assert trained.n_epochs_ == pytest.approx(n_steps / 300)
    assert not trained.converged_


def test_until_a_pass_makes_no_mistake(digits):
    X, y = digits
    trained = model(epochs=None).fit(X, y)
    assert trained.converged_
    assert trained.n_epochs_ == int(trained.n_epochs_) > 1
    assert trained.record_.n_steps == trained.n_epochs_ * 300
    assert trained.record_.time[-1] <= trained.record_.n_steps - 300
    assert trained.with_rule("last").score(X, y) == 1


def test_a_ceiling_for_data_that_stay_inseparable(digits, monkeypatch):
    X, y = digits
    X, y = np.vstack([X, X[:1]]), np.append(y, y[0] + 1)  # the same example with two labels
    monkeypatch.setattr(VotedPerceptronClassifier, "MAX_EPOCHS", 5)
    with pytest.warns(ConvergenceWarning, match="in each of 5 epochs, the most that epochs=None allows") as caught:
        trained = model(epochs=None).fit(X, y)
    assert caught[0].filename == __file__
    assert (trained.n_epochs_, trained.converged_, trained.record_.n_steps) == (5, False, 5 * 301)
    assert model(epochs=5).fit(X, y).record_.equals(trained.record_)  # no warning where a number was asked for


@pytest.mark.slow
def test_early_stop_counts_what_the_full_training_would(digits, odd):
    for X, y in (digits, odd):
        early = model(epochs=40, shuffle=False).fit(X, y)
        assert early.converged_
        assert early.n_epochs_ < 40
        assert early.record_.n_steps == 40 * 300
        full = model()  # forty passes, none left out
        for _ in range(40):
            full.partial_fit(X, y)
        for name in ("vector", "sign", "time", "score", "norm2"):
            assert np.array_equal(getattr(early.record_, name), getattr(full.record_, name))
        assert_same_scores(scores_of_all_rules(early, X), scores_of_all_rules(full, X))


# -- labels -----------------------------------------------------------------------------------------------------------


def test_two_classes_keep_one_score(odd, digits):
    X, y = odd
    trained = model().fit(X, y)
    assert trained.decision_function(X).shape == (300,)
    assert np.array_equal(trained.predict(X), (trained.decision_function(X) > 0).astype(int))
    assert trained.dual_coef_.shape == (1, len(trained.support_))
    assert trained.record_.sign[0] == (1 if y[trained.record_.example[0]] == 1 else -1)
    X, y = digits
    assert model().fit(X, y).decision_function(X).shape == (300, 10)


def test_a_score_of_zero_predicts_the_second_class():
    """Nothing is known of a row that is orthogonal to all others; its label and the sign of its score agree."""
    X, y = np.eye(3)[:2], np.array(["first", "second"])
    trained = paper_perceptron(kernel="linear", shuffle=False).fit(X, y)
    for rule in ("average", "last", "pocket"):
        other = trained.with_rule(rule)
        assert other.predict([[0, 0, 1]]) == "second"
        assert 0 < other.decision_function([[0, 0, 1]])[0] < 1e-300
    many = paper_perceptron(kernel="linear", rule="last").fit(np.eye(4)[:3], [2, 1, 0])
    assert many.predict([[0, 0, 0, 1]]) == 0  # the first of equals
    assert not many.decision_function([[0, 0, 0, 1]]).any()


def test_the_random_rule_answers_by_row(odd):
    X, y = odd
    trained = model(rule="random", degree=1, epochs=2).fit(X, y)
    together = trained.decision_function(X)
    alone = np.concatenate([trained.decision_function(row[None, :]) for row in X])
    assert np.array_equal(together, alone)
    assert np.array_equal(trained.decision_function(sp.csr_matrix(X[::-1]))[::-1], together)
    assert np.array_equal(trained.predict(X), (together > 0).astype(int))
    seeds = {
        tuple(model(rule="random", degree=1, shuffle=False, random_state=s).fit(X, y).predict(X)) for s in range(4)
    }
    assert len(seeds) == 4


# -- data of all forms ------------------------------------------------------------------------------------------------


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def memory_map(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def shuffled_csr(X):
    """A CSR matrix with unsorted indices, duplicates that add up, and stored zeros."""
    rows, columns = np.nonzero(X)
    values = X[rows, columns].astype(np.int64)
    half = values // 2
    rows, columns = np.concatenate([rows, rows, [0]]), np.concatenate([columns, columns, [0]])
    values = np.concatenate([half, values - half, [0]])
    order = np.lexsort((np.random.RandomState(0).rand(len(rows)), rows))
    starts = np.searchsorted(rows[order], np.arange(X.shape[0] + 1))
    return sp.csr_matrix((values[order], columns[order], starts), shape=X.shape)


FORMS = {
    "uint8": lambda X, _: X,
    "int8": lambda X, _: X.astype(np.int8),
    "float16": lambda X, _: X.astype(np.float16),
    "float32": lambda X, _: X.astype(np.float32),
    "float64": lambda X, _: X.astype(np.float64),
    "longdouble": lambda X, _: X.astype(np.longdouble),
    "objects": lambda X, _: X.astype(object),
    "big-endian": lambda X, _: X.astype(">f8"),
    "Fortran order": lambda X, _: np.asfortranarray(X),
    "backwards": lambda X, _: X[::-1].copy()[::-1],
    "read-only": lambda X, _: read_only(X),
    "memory map": memory_map,
    "CSR": lambda X, _: sp.csr_matrix(X),
    "CSC": lambda X, _: sp.csc_matrix(X),
    "unsorted CSR": lambda X, _: shuffled_csr(X),
    "pandas": lambda X, _: pd.DataFrame(X, columns=[f"p{i}" for i in range(X.shape[1])]),
    "polars": lambda X, _: pl.DataFrame(X, schema=[f"p{i}" for i in range(X.shape[1])]),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", ["poly", "linear"])
def test_the_record_does_not_depend_on_the_form_of_the_data(digits, tmp_path, form, kernel):
    X, y = digits
    expected = model(kernel=kernel, gamma="scale", epochs=3).fit(X, y)
    formed = FORMS[form](X, tmp_path)
    trained = model(kernel=kernel, gamma="scale", epochs=3).fit(formed, y)
    assert trained.record_.equals(expected.record_)
    assert np.array_equal(trained.decision_function(formed), expected.decision_function(X))
    if not hasattr(trained, "feature_names_in_"):
        assert np.array_equal(trained.decision_function(X), expected.decision_function(X))


# -- attributes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [*KERNELS, "normalised", "callable"])
def test_attributes_agree_with_the_record(digits, kernel):
    X, y = digits
    X = X > 7 if kernel == "conjunction" else X
    parameters = {
        "normalised": {"normalize_kernel": True},
        "callable": {"kernel": lambda A, B: (A @ B.T + 1) ** 2},
    }.get(kernel, {"kernel": kernel})
    A = PolynomialKernel(2)(X) if kernel == "precomputed" else X
    trained = model(**parameters, epochs=3).fit(A, y)
    record = trained.record_
    assert (record.n_vectors, record.n_examples, record.n_steps) == (10, 300, 900)
    assert np.array_equal(trained.classes_, np.arange(10))
    assert np.array_equal(trained.support_, record.support)
    for c in range(10):
        mine = record.vector == c
        assert trained.n_mistakes_[c] == mine.sum()
        assert trained.n_support_[c] == len(set(record.example[mine]))
        assert np.array_equal(record.sign[mine], np.where(y[record.example[mine]] == c, 1, -1))
    assert np.array_equal(trained.dual_coef_, record.dual_coef())
    if kernel == "precomputed":
        assert trained.support_vectors_.shape == (len(trained.support_), 0)
        K = A[trained.support_]
    else:
        assert np.array_equal(trained.support_vectors_, X[trained.support_])
        K = trained.kernel_(trained.support_vectors_, X)
    assert np.allclose(trained.with_rule("last").decision_function(A), (trained.dual_coef_ @ K).T, rtol=1e-9)
    last = [np.flatnonzero(record.vector == c)[-1] for c in range(10)]
    G = K[:, trained.support_]
    assert np.allclose(record.norm2[last], np.einsum("ci,ij,cj->c", trained.dual_coef_, G, trained.dual_coef_))


def test_precomputed_kernels_are_kernels(digits):
    X, y = digits
    by_name = model(kernel=NormalizedKernel(PolynomialKernel(2))).fit(X[:200], y[:200])
    K = by_name.kernel_(X, X[:200])
    given = model(kernel="precomputed").fit(K[:200], y[:200])
    assert given.record_.equals(by_name.record_)
    for rule in ("vote", "average", "last", "pocket"):  # the random rule draws from the content of a row
        expected = by_name.with_rule(rule, True).decision_function(X)
        assert np.array_equal(given.with_rule(rule, True).decision_function(K), expected)
    plain = PolynomialKernel(2)(X, X[:200])
    for kernel in (
        model(kernel="precomputed", normalize_kernel=True),
        model(kernel=NormalizedKernel(PrecomputedKernel())),
    ):
        normalised = kernel.fit(plain[:200], y[:200])
        assert np.array_equal(normalised.predict(plain), by_name.predict(X))


# -- how, not what ----------------------------------------------------------------------------------------------------


def test_memory_and_threads_do_not_change_the_record(digits):
    X, y = digits
    expected = model(epochs=5).fit(X, y)
    limits = [0, 1, 10**6, np.int64(10**9), "0", "100MB", "1.5 GiB", "2gb", "auto"]
    for how in [{"memory_limit": limit} for limit in limits] + [{"n_jobs": n} for n in (1, 2, 3, -1, -2)]:
        trained = model(epochs=5, **how).fit(X, y)
        assert trained.record_.equals(expected.record_)
        assert np.array_equal(trained.decision_function(X), expected.decision_function(X))


@thorough(100)
@given(seed=st.integers(0, 2**31), fraction=st.floats(0.02, 0.7))
def test_whatever_is_held_out_some_of_every_class_is_trained(seed, fraction):
    rng = np.random.RandomState(seed)
    n = rng.randint(3, 40)
    codes, order = rng.randint(0, rng.randint(2, 12), n), rng.permutation(n)
    assume(len(np.unique(codes)) < n and np.ceil(fraction * n) < n)
    data = TrainingData(None, codes, n, None, None, None)
    kept, held = presentation(model(validation_fraction=fraction), order, data, rng, hold_out=True)
    assert len(held) > 0
    assert sorted([*kept, *held]) == list(range(n))
    assert set(codes[kept]) == set(codes)
