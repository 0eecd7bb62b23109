"""Margins in feature space against vectors that are written out, feature by feature."""

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from paper import paper_averaged, paper_perceptron
from sklearn.datasets import load_digits

from votron import KernelAdatronClassifier, VotedPerceptronClassifier, add_bias
from votron.errors import VotronError
from votron.kernels import LinearKernel, NormalizedKernel, PolynomialKernel, PrecomputedKernel
from votron.theory import margins


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    return X[:120, 10:30:3], y[:120] % 3  # seven pixels, three classes


@pytest.fixture(scope="module")
def separable():
    X, y = load_digits(return_X_y=True)
    return X[:120], y[:120] == 0


def written_out(model, Phi, y, vector):
    """The four numbers of each class, from vectors in explicit feature space."""
    record = model.record_
    found = []
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    for c, label in enumerate(classes):
        w, total = np.zeros(Phi.shape[1]), np.zeros(Phi.shape[1])
        mine = {
            int(t): (int(e), int(s))
            for t, e, s, v in zip(record.time, record.example, record.sign, record.vector, strict=True)
            if v == c
        }
        for t in range(1, record.n_steps + 1):
            if t in mine:
                example, sign = mine[t]
                w = w + sign * Phi[example]
            total = total + w
        w = total / record.n_steps if vector == "average" else w
        sides = np.where(y == label, 1, -1) * (Phi @ w) / np.sqrt(w @ w)
        lengths = np.sqrt((Phi * Phi).sum(axis=1))
        found.append((sides.min(), (sides / lengths).min(), np.sqrt(w @ w), lengths.max()))
    return np.array(found).T


@pytest.mark.parametrize("vector", ["last", "average"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", [LinearKernel(), PolynomialKernel(2), NormalizedKernel(PolynomialKernel(2))])
def test_as_written_out(data, vector, n_classes, kernel):
    X, y = data[0], np.minimum(data[1], n_classes - 1)
    model = paper_perceptron(kernel=kernel, epochs=3, random_state=0).fit(X, y)
    Phi = X if kernel == LinearKernel() else oracle.polynomial_features(X, 2)
    if isinstance(kernel, NormalizedKernel):
        Phi = Phi / np.linalg.norm(Phi, axis=1, keepdims=True)
    unnormalized, normalized, norms, radius = written_out(model, Phi, y, vector)
    for form in (X, sp.csr_matrix(X)):
        found = margins(model, form, y, vector=vector)
        assert np.allclose(found.unnormalized, unnormalized)
        assert np.allclose(found.normalized, normalized)
        assert np.allclose(found.norms, norms)
        assert found.radius == pytest.approx(radius[0])


@pytest.mark.parametrize("vector", ["last", "average"])
def test_the_always_one_feature_counts(data, vector):
    X, y = data
    dual = paper_perceptron(kernel="linear", epochs=2, shuffle=False).fit(add_bias(X), y)
    expected = margins(dual, add_bias(X), y, vector=vector)
    primal = paper_averaged(epochs=2, shuffle=False).fit(X, y)
    for model, form in ((primal, X), (primal, sp.csr_matrix(X)), (primal.sparsify(), X)):
        found = margins(model, form, y, vector=vector)
        assert np.allclose(found.unnormalized, expected.unnormalized)
        assert np.allclose(found.normalized, expected.normalized)
        assert found.radius == pytest.approx(expected.radius)


@pytest.mark.parametrize("vector", ["last", "average"])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("kind", [VotedPerceptronClassifier, KernelAdatronClassifier])
def test_precomputed_values_give_the_same(separable, vector, normalize, kind):
    X, y = separable
    kernel = PolynomialKernel(3)
    fixed = {} if kind is KernelAdatronClassifier else {"shuffle": False}
    plain = kind(kernel=NormalizedKernel(kernel) if normalize else kernel, **fixed).fit(X, y)
    matrix = kind(kernel=NormalizedKernel(PrecomputedKernel()) if normalize else "precomputed", **fixed)
    matrix.fit(kernel(X), y)
    expected, found = margins(plain, X, y, vector=vector), margins(matrix, kernel(X), y, vector=vector)
    assert np.allclose(found.unnormalized, expected.unnormalized)
    assert np.allclose(found.normalized, expected.normalized)
    assert np.allclose(found.norms, expected.norms)
    with pytest.raises(VotronError, match="need the square matrix of the training examples"):
        margins(matrix, kernel(X[:20], X), y[:20], vector=vector)


def test_examples_of_length_0_have_no_margin(data):
    X, y = np.vstack([np.zeros((1, 7)), data[0]]), np.append(1, data[1] == 0)
    with pytest.warns(UserWarning, match="1 of 121 rows"):
        model = paper_perceptron(kernel="linear", random_state=0).fit(X, y)
    found = margins(model, X, y)
    assert found.unnormalized == margins(model, X[1:], y[1:]).unnormalized
    assert np.isfinite(found.normalized).all()


def test_bad_input_is_refused(data):
    X, y = data
    model = paper_perceptron().fit(X, y)
    with pytest.raises(VotronError, match="'vote'"):
        margins(model, X, y, vector="vote")
    with pytest.raises(VotronError, match="str"):
        margins("model", X, y)
    with pytest.raises(VotronError, match="Got 3"):
        margins(model, X, y + 1)
    with pytest.raises(ValueError, match="not fitted yet"):
        margins(paper_perceptron(), X, y)
