"""Essential support vectors: by linear programming, by leaving out; the smallest sphere by trying them all."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linprog
from sklearn.svm import SVC
from strategies import thorough

from votron import KernelAdatronClassifier
from votron.errors import IndefiniteKernelError, VotronError
from votron.kernels import GaussianKernel, PolynomialKernel
from votron.theory.essential import (
    essential_support_vectors,
    separating_vector,
    sphere_radius,
    svm_leave_one_out,
    vapnik_svm_bound,
)


@st.composite
def separable(draw, max_rows=14):
    """Points of a small grid, some of them equal, and a line between the classes, through the origin or not."""
    threshold = draw(st.booleans())
    d = draw(st.integers(1 if threshold else 2, 3))
    w = draw(st.lists(st.integers(-3, 3), min_size=d, max_size=d).filter(any))
    b = draw(st.integers(-2, 2)) if threshold else 0
    points = draw(st.lists(st.lists(st.integers(-4, 4), min_size=d, max_size=d), min_size=2, max_size=max_rows))
    X = np.array(points, dtype=np.float64)
    score = X @ np.array(w) + b
    X, y = X[score != 0], np.sign(score[score != 0]).astype(int)
    assume(len(set(y)) == 2)
    return X, y, threshold


def written_out(found, X, y, threshold):
    """W and b of an expansion."""
    w = (found.alpha * y) @ X
    if not threshold:
        return w, 0.0
    i = found.support
    return w, float(np.mean(y[i] - X[i] @ w))


def least_weight(i, found, w, X, y, threshold):
    """The least α_i of an expansion Σ α_j y_j x_j = w over the examples on the margin, with Σ α_j y_j = 0."""
    some = found.on_margin
    left, right = (X[some] * y[some, None]).T, w
    if threshold:
        left, right = np.vstack([left, y[some]]), np.append(w, 0.0)
    return linprog((some == i).astype(float), A_eq=left, b_eq=right, method="highs").fun


@thorough(60)
@given(separable())
def test_the_margin_is_attained_and_no_other_is_larger(problem):
    X, y, threshold = problem
    found = essential_support_vectors(X @ X.T, y, threshold=threshold)
    w, b = written_out(found, X, y, threshold)
    scores = y * (X @ w + b)
    assert scores.min() / np.linalg.norm(w) == pytest.approx(found.margin, rel=1e-9)
    # Weak duality: a point of the hull of the y x (half the line between points of the two hulls) is no shorter.
    assert (found.alpha >= 0).all()
    assert np.linalg.norm(w) / found.alpha.sum() == pytest.approx(found.margin, rel=1e-9)
    assert not threshold or abs(found.alpha @ y) <= 1e-9 * found.alpha.sum()
    assert found.on_margin.tolist() == np.flatnonzero(scores < 1 + 1e-7).tolist()
    assert found.support.tolist() == np.flatnonzero(found.alpha).tolist()
    assert set(found.essential) <= set(found.support) <= set(found.on_margin)


NOT_MINIMAL = np.array([[1.0, 1, 0], [-1, 1, -1], [-1, -2, 0], [1, 1, -1], [1, -2, 0]]), np.array([-1, 1, 1, -1, -1])
"""Rows and labels with which SciPy's nnls ends before the minimum."""


@thorough(60)
@example((*NOT_MINIMAL, False))
@given(separable())
def test_the_essential_are_those_that_no_expansion_does_without(problem):
    X, y, threshold = problem
    found = essential_support_vectors(X @ X.T, y, threshold=threshold)
    w, _ = written_out(found, X, y, threshold)
    needed = [i for i in found.on_margin if least_weight(i, found, w, X, y, threshold) > 1e-6 * found.alpha.sum()]
    assert found.essential.tolist() == needed


@thorough(60)
@given(separable(), st.sampled_from([GaussianKernel(0.3), PolynomialKernel(2, 1.0, 1.0)]))
def test_with_kernels_as_with_features_written_out(problem, kernel):
    """The rows of a root of the Gram matrix are the examples in a feature space."""
    X, y, threshold = problem
    K = kernel(X)
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0))
    one, other = (essential_support_vectors(G, y, threshold=threshold) for G in (K, root @ root.T))
    assert one.margin == pytest.approx(other.margin, rel=1e-6)
    assert one.essential.tolist() == other.essential.tolist()
    assert one.extent == pytest.approx(other.extent, rel=1e-6)


def test_beside_the_adatron_and_the_svm_of_scikit_learn():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 3))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.3, 1, -1)
    K = GaussianKernel(0.5)(X)
    adatron = KernelAdatronClassifier(kernel="precomputed", tol=1e-5).fit(K, y)
    mine = essential_support_vectors(K, y, threshold=False)
    assert adatron.margin_[0] <= mine.margin * (1 + 1e-9)
    assert mine.margin <= adatron.best_margin_[0] * (1 + 1e-9)
    svc = SVC(kernel="precomputed", C=1e10, tol=1e-8).fit(K, y)
    mine = essential_support_vectors(K, y)
    assert np.abs(svc.dual_coef_).sum() ** -0.5 == pytest.approx(mine.margin, rel=1e-6)
    assert sorted(svc.support_.tolist()) == mine.support.tolist()
    assert np.abs(svc.dual_coef_[0]) == pytest.approx(mine.alpha[svc.support_], rel=1e-3)


@pytest.mark.slow
@thorough(60)
@given(separable())
def test_leave_one_out_is_training_on_the_others(problem):
    X, y, threshold = problem
    left_out = svm_leave_one_out(X @ X.T, y, threshold=threshold)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        if len(set(y[rest])) == 2:
            w, b = written_out(
                essential_support_vectors(X[rest] @ X[rest].T, y[rest], threshold=threshold),
                X[rest],
                y[rest],
                threshold,
            )
            assert left_out.scores[i] == pytest.approx(y[i] * (X[i] @ w + b), rel=1e-6, abs=1e-6)
        elif threshold:
            assert left_out.scores[i] == -1
    assert left_out.errors.tolist() == np.flatnonzero(left_out.scores <= 0).tolist()


@thorough(100)
@example((np.array([[0.0, 1], [-1, -1], [0, -1], [1, -1], [0, 90]]), np.array([1, -1, -1, -1, 1]), True))
@example((np.array([[-9.0], [-1], [1], [9]]), np.array([-1, -1, 1, 1]), True))  # needs the diameter
@example((np.array([[9.0, 1], [9, -1]]), np.array([1, -1]), False))  # no centre to choose
@given(separable())
def test_errors_of_leave_one_out_are_essential_and_no_more_than_the_bounds(problem):
    X, y, threshold = problem
    K = X @ X.T
    found, left_out = essential_support_vectors(K, y, threshold=threshold), svm_leave_one_out(K, y, threshold=threshold)
    assert set(left_out.errors) <= set(found.essential)
    m = len(y) - 1
    estimate = vapnik_svm_bound(m, len(found.essential), found.extent, found.margin)
    assert len(left_out.errors) / len(y) <= estimate * (1 + 1e-9)


def by_trying(X):
    """The least radius of a sphere through some of the points, its centre in their hull, that holds them all."""
    best = math.inf
    for k in range(1, X.shape[1] + 2):
        for some in itertools.combinations(range(len(X)), k):
            P = X[list(some)]
            step = 2 * (P[1:] - P[0])
            centre = P[0] + np.linalg.lstsq(step, np.square(P[1:] - P[0]).sum(1), rcond=None)[0] if k > 1 else P[0]
            best = min(best, float(np.linalg.norm(X - centre, axis=1).max()))
    return best


@thorough(60)
@given(st.integers(1, 3).flatmap(lambda d: st.lists(st.tuples(*[st.integers(-5, 5)] * d), min_size=1, max_size=8)))
def test_the_smallest_sphere(points):
    X = np.array(points, dtype=np.float64)
    assert sphere_radius(X @ X.T) == pytest.approx(by_trying(X), rel=1e-9, abs=1e-7)


@pytest.mark.parametrize(
    ("gram", "word"),
    [
        (np.empty((0, 0)), "square"),
        (np.eye(2001), "at most 2000"),
        (np.tri(3), "symmetric"),
        (np.diag([1, 2, math.nan]), "finite"),
        (np.diag([1.0, 2, -1]), "eigenvalue -1"),
    ],
)
def test_what_is_no_gram_matrix(gram, word):
    with pytest.raises(VotronError, match=word) as caught:
        separating_vector(gram, [1])
    assert isinstance(caught.value, IndefiniteKernelError) == ("eigenvalue" in word)


@pytest.mark.parametrize(
    ("X", "y", "threshold"),
    [
        ([[0.0], [1], [2]], [1, -1, 1], True),
        ([[1.0], [2]], [1, -1], False),
        ([[0.0], [-1]], [1, -1], False),
        ([[0.0, 0], [1, 1], [0, 1], [1, 0]], [1, 1, -1, -1], True),
    ],
)
@pytest.mark.parametrize("act", [essential_support_vectors, svm_leave_one_out])
def test_data_that_are_not_separable(act, X, y, threshold):
    with pytest.raises(VotronError, match="separable"):
        act(np.array(X) @ np.array(X).T, y, threshold=threshold)


@thorough(60)
@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 8), st.just(2)), elements=st.integers(-9, 9).map(float)), st.data()
)
def test_the_separating_vector_has_the_largest_margin(X, data):
    y = np.array(data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(X), max_size=len(X))))
    found = separating_vector(X @ X.T, y)
    turn = np.linspace(-np.pi, np.pi, 20_001)
    best = float((y[:, None] * (X @ np.stack([np.cos(turn), np.sin(turn)]))).min(axis=0).max())
    if found is None:
        assert best <= 2e-4 * np.linalg.norm(X, axis=1).max() + 1e-12
        return
    u = found.coefficients @ X
    assert np.linalg.norm(u) == pytest.approx(1, abs=1e-6)
    assert found.margin == pytest.approx(best, abs=2e-3)
    assert (y * (X @ u)).min() == pytest.approx(found.margin, abs=1e-6)
