"""KernelAdatronClassifier against a hard-margin SVM without bias, its own proof of nearness, and the soft form."""

import signal

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from strategies import thorough

from votron import KernelAdatronClassifier
from votron.engine import adatron as engine
from votron.engine import solve_adatron
from votron.kernels import GaussianKernel, LinearKernel, NormalizedKernel, PolynomialKernel, PrecomputedKernel


def svm(K, y, C=1e10):
    """Coefficients of the SVM through the origin: each example comes with its mirror image, so its bias is 0."""
    scale = np.diagonal(K).max()
    mirrored, labels = np.block([[K, -K], [-K, K]]) / scale, np.append(y, -y)
    model = SVC(kernel="precomputed", C=C * scale, tol=1e-8).fit(mirrored, labels)
    found = np.zeros(2 * len(y))
    found[model.support_] = model.dual_coef_[0] / scale
    return found[: len(y)] - found[len(y) :]


def margin_of(K, y, coefficients):
    scores = K @ coefficients
    return (y * scores).min() / np.sqrt(coefficients @ scores)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:500], y[:500]


@pytest.mark.parametrize(
    "kernel",
    [PolynomialKernel(2), PolynomialKernel(4), GaussianKernel(0.001), NormalizedKernel(PolynomialKernel(3))],
)
@pytest.mark.parametrize("label", [0, 8])
def test_margins_are_those_of_the_hard_svm(digits, kernel, label):
    X, y = digits[0], np.where(digits[1] == label, 1, -1)
    best = margin_of(kernel(X), y, svm(kernel(X), y))
    found = solve_adatron(kernel, X, y, tolerance=1e-3)
    assert found.converged
    assert found.separable
    assert found.margin == pytest.approx(best, rel=2e-3)
    assert found.margin <= best * (1 + 1e-6) <= found.best * (1 + 2e-6)  # it proves what it says
    coefficients = np.zeros(len(y))
    coefficients[found.support] = found.signed
    assert margin_of(kernel(X), y, coefficients) == pytest.approx(found.margin, rel=1e-6)


def test_ctrl_c_is_handed_on_from_a_run_that_converges(digits, monkeypatch):
    def interrupted(*args, **options):
        found = solve_adatron(*args, **options)
        signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr("votron.estimators.adatron.solve_adatron", interrupted)
    model = KernelAdatronClassifier(kernel="poly")
    with pytest.raises(KeyboardInterrupt):
        model.fit(digits[0], digits[1] == 3)
    assert model.converged_


@pytest.mark.parametrize("first", [4, 50])
def test_the_working_set_does_not_matter(digits, first, monkeypatch):
    X, y = digits[0], np.where(digits[1] == 3, 1, -1)
    whole = solve_adatron(PolynomialKernel(2), X, y, tolerance=1e-4)
    monkeypatch.setattr(engine, "FIRST", first)
    grown = solve_adatron(PolynomialKernel(2), X, y, tolerance=1e-4, n_threads=2)
    assert grown.margin == pytest.approx(whole.margin, rel=2e-4)
    assert grown.converged


@thorough(60)
@given(seed=st.integers(0, 2**31), n=st.integers(2, 25), d=st.integers(1, 4))
def test_nothing_beats_the_best(seed, n, d):
    rng = np.random.RandomState(seed)
    X, u = rng.normal(size=(n, d)), rng.normal(size=d)
    X = X[np.abs(X @ u) > 0.05]
    assume(len(X))
    y = np.where(X @ u > 0, 1, -1)
    found = solve_adatron(LinearKernel(), X, y, tolerance=1e-3)
    lengths = np.sqrt((X * X).sum(axis=1))
    assert (y * (X @ u)).min() / np.sqrt(u @ u) <= found.best * (1 + 1e-9)
    assert found.margin <= found.best * (1 + 1e-9)
    if found.best > 1e-2 * lengths.max():
        assert found.margin >= (1 - 1e-3) * found.best * (1 - 1e-9)


@pytest.mark.parametrize("C", [1e-5, 1e-3])
def test_the_soft_form_is_the_soft_svm(digits, C):
    X, y = digits[0], np.where(digits[1] == 8, 1, -1)
    flipped = np.where(np.arange(len(y)) % 17 == 0, -y, y)
    K = LinearKernel()(X)

    def objective(coefficients):
        scores = K @ coefficients
        return 0.5 * coefficients @ scores + C * np.maximum(0, 1 - flipped * scores).sum()

    found = solve_adatron(LinearKernel(), X, flipped, cap=C, tolerance=1e-4)
    mine = np.zeros(len(y))
    mine[found.support] = found.signed
    assert found.converged
    assert (np.abs(mine) <= C * (1 + 1e-12)).all()
    # the mirror images count as well, so the SVM's C is half
    assert objective(mine) == pytest.approx(objective(svm(K, flipped, C=C / 2)), rel=2e-3)


def test_data_that_are_not_separable_are_told(digits):
    X, y = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]]), np.array(["a", "b", "a", "b"])
    with pytest.warns(ConvergenceWarning, match="not separable. Give C for the soft form"):
        model = KernelAdatronClassifier(kernel="linear").fit(X, y)
    assert model.separable_.tolist() == [False]
    assert not model.converged_
    soft = KernelAdatronClassifier(kernel="linear", C=1.0).fit(X, y)
    assert soft.converged_
    assert (np.abs(soft.dual_coef_) <= 1).all()


def test_all_classes_and_forms(digits):
    X, y = digits
    dense = KernelAdatronClassifier(degree=2, gamma=1.0).fit(X[:400], y[:400])
    assert dense.converged_
    assert dense.score(X[400:], y[400:]) > 0.9
    assert dense.score(X[:400], y[:400]) == 1
    sparse = KernelAdatronClassifier(degree=2, gamma=1.0, n_jobs=1).fit(sp.csr_matrix(X[:400]), y[:400])
    assert np.allclose(sparse.margin_, dense.margin_)
    assert np.allclose(sparse.decision_function(sp.csr_matrix(X[400:])), dense.decision_function(X[400:]))
    K = PolynomialKernel(2)
    given_values = KernelAdatronClassifier(kernel="precomputed").fit(K(X[:400]), y[:400])
    assert np.allclose(given_values.margin_, dense.margin_)
    assert np.allclose(given_values.decision_function(K(X[400:], X[:400])), dense.decision_function(X[400:]))
    normalised = KernelAdatronClassifier(kernel=NormalizedKernel(PrecomputedKernel())).fit(K(X[:400]), y[:400])
    unit = KernelAdatronClassifier(degree=2, gamma=1.0, normalize_kernel=True).fit(X[:400], y[:400])
    assert np.allclose(normalised.margin_, unit.margin_)
    assert (normalised.predict(K(X[400:], X[:400])) == unit.predict(X[400:])).all()


def test_scores_are_1_on_the_margin_and_the_attributes_agree(digits):
    X, y = digits
    model = KernelAdatronClassifier(degree=2, tol=1e-4).fit(X, y == 3)
    scores = model.decision_function(X) * np.where(y == 3, 1, -1)
    assert scores.min() == pytest.approx(1, rel=1e-3)
    assert model.margin_[0] == pytest.approx(scores.min() / model.norm_[0], rel=1e-6)
    assert np.allclose(scores[model.support_], 1, rtol=1e-2)
    assert model.n_support_.tolist() == [len(model.support_)]
    assert model.norm_[0] ** 2 == pytest.approx(np.abs(model.dual_coef_).sum(), rel=1e-3)  # at the optimum


def test_a_margin_that_is_small_beside_the_longest_example_is_one():
    """Lengths do not decide what is separable, only directions do."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = X[:, 0] > 0
    X[:, 0] += np.where(y, 0.3, -0.3)
    X *= 10.0 ** rng.uniform(-2, 2, (200, 1))
    model = KernelAdatronClassifier(kernel="linear").fit(X, y)
    assert model.margin_[0] < 1e-3 * np.sqrt((X**2).sum(axis=1).max())
    assert model.separable_.tolist() == [True]
    assert model.converged_
    y[:5] = ~y[:5]
    with pytest.warns(ConvergenceWarning, match="not separable"):
        assert KernelAdatronClassifier(kernel="linear").fit(X, y).separable_.tolist() == [False]
