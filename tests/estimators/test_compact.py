"""Compact models predict as the models that they were made from."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from paper import paper_averaged, paper_perceptron

from votron import (
    KernelAdatronClassifier,
    NaiveBayesLinearClassifier,
    VotronError,
    WinnowClassifier,
)
from votron.kernels import LinearKernel, NormalizedKernel, PolynomialKernel

RULES = ["vote", "average", "last", "random", "pocket", "holdout"]


def data(n_classes=3, n=60, d=5, seed=0, sparse=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(n, d)).astype(float)
    y = np.arange(n) % n_classes
    X[np.arange(n), y] += 3
    return (sp.csr_matrix(X) if sparse else X), y


def agree(model, small, X):
    ours, theirs = small.decision_function(X), model.decision_function(X)
    scale = np.abs(theirs).max()
    assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-9 * scale)
    clear = np.abs(theirs) > 1e-9 * scale if theirs.ndim == 1 else np.ptp(theirs, axis=1) > 1e-9 * scale
    assert (small.predict(X) == model.predict(X))[clear].all()


@pytest.mark.slow
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("rule", RULES)
@given(
    kernel=st.sampled_from(["poly", "linear", "rbf", PolynomialKernel(1, 0.5, 2.0), NormalizedKernel(LinearKernel())]),
    n_classes=st.sampled_from([2, 3]),
    sparse=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(max_examples=15, deadline=None)
def test_every_rule_scores_as_before(rule, normalized, kernel, n_classes, sparse, seed):
    X, y = data(n_classes, seed=seed, sparse=sparse)
    model = paper_perceptron(
        kernel=kernel, degree=2, gamma=0.1, epochs=2.5, rule=rule, normalize_vectors=normalized, random_state=seed
    ).fit(X, y)
    small = model.compact()
    agree(model, small, data(n_classes, seed=seed + 1)[0])
    expected = "sequence" if rule in ("vote", "random") else "expansion"
    if expected == "expansion" and (kernel == "linear" or isinstance(kernel, PolynomialKernel)):
        expected = "linear"
    assert small.form_ == expected
    assert small.compact().form_ == expected


def test_only_what_is_needed_is_kept():
    X, y = data(3)
    model = paper_perceptron(epochs=3, random_state=0).fit(X, y)
    assert not model.compact()._predictor.vectors.record.score.any()
    assert not model.compact()._predictor.vectors.record.norm2.any()
    noise = np.random.default_rng(0).normal(size=(200, 3))
    pocket = paper_perceptron(rule="pocket", epochs=1, random_state=0).fit(noise, np.arange(200) % 2)
    assert len(pocket.compact().support_) < len(pocket.support_)
    assert (pocket.compact().dual_coef_ != 0).any(axis=0).all()
    assert model.support_vectors_.dtype == model.compact().support_vectors_.dtype


@pytest.mark.parametrize(("average", "sparse"), [(a, s) for a in (True, False) for s in (True, False)])
def test_averaged(average, sparse):
    X, y = data(3, sparse=sparse)
    model = paper_averaged(average=average, random_state=0).fit(X, y)
    small = model.compact()
    assert small.form_ == "linear"
    assert np.array_equal(small.coef_, model.coef_)
    agree(model, small, X)


def test_weights_of_sparse_text_stay_sparse():
    rng = np.random.default_rng(0)
    X = sp.random(40, 5000, density=0.002, format="csr", random_state=rng)
    model = paper_perceptron(kernel="linear", rule="last", random_state=0).fit(X, np.arange(40) % 2)
    assert sp.issparse(model.compact().coef_)
    agree(model, model.compact(), X)


def test_adatron_winnow_and_naive_bayes():
    X, y = data(2)
    adatron = KernelAdatronClassifier(degree=2, C=1.0).fit(X, y)
    agree(adatron, adatron.compact(), X)
    binary = (X > 2).astype(int)
    for complement in (False, True):
        winnow = WinnowClassifier(complement=complement, random_state=0).fit(binary, y)
        agree(winnow, winnow.compact(), binary)
        with pytest.raises(VotronError, match="no values but 0 and 1"):
            winnow.compact().predict(X)
    for n_classes in (2, 3):
        X, y = data(n_classes)
        bayes = NaiveBayesLinearClassifier(binarize=2.0).fit(X, y)
        agree(bayes, bayes.compact(), X)
    even = NaiveBayesLinearClassifier().fit([[0, 1], [1, 0], [0, 1], [1, 0]], ["a", "a", "b", "b"])
    assert even.compact().predict([[1, 0]]).tolist() == even.predict([[1, 0]]).tolist() == ["a"]
    unseen = NaiveBayesLinearClassifier().partial_fit([[0, 1], [1, 0]], ["a", "b"], classes=["a", "b", "c"])
    with pytest.raises(VotronError, match="Got none of 'c'"):
        unseen.compact()


def test_precomputed_and_functions():
    X, y = data(3)
    gram = PolynomialKernel(2)(X)
    model = paper_perceptron(kernel="precomputed", rule="last", random_state=0).fit(gram, y)
    agree(model, model.compact(), gram)
    assert model.compact().support_vectors_.shape[1] == 0
    function = paper_perceptron(kernel=lambda A, B: A @ B.T, rule="average", random_state=0).fit(X, y)
    agree(function, function.compact(), X)


EXACT = [(rule, normalized) for rule in ("last", "average", "pocket", "holdout") for normalized in (False, True)]
EXACT.remove(("average", True))  # a sum of fractions, equal up to rounding


@pytest.mark.parametrize(("rule", "normalized"), EXACT)
@pytest.mark.parametrize("kernel", ["linear", PolynomialKernel(2, 1.0, 1.0)])
def test_scores_of_zero_stay_zero(kernel, rule, normalized):
    """Where all numbers are whole, what is divided is divided at the end, so ties are ties."""
    grid = np.array(np.meshgrid(*[[0, 1]] * 8)).reshape(8, -1).T
    rng = np.random.default_rng(1)
    X, y = grid[rng.permutation(256)[:60]], rng.integers(0, 2, 60)
    model = paper_perceptron(kernel=kernel, rule=rule, normalize_vectors=normalized, random_state=0).fit(X, y)
    small = model.compact()
    assert np.array_equal(small.decision_function(grid), model.decision_function(grid))
    assert np.array_equal(small.predict(grid), model.predict(grid))
