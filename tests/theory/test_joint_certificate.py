"""Certificates of averaged perceptrons with a margin, and of classes that were trained together."""

import math
from unittest import mock

import coverage_of_bounds
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper import paper_averaged
from sklearn.datasets import load_digits
from strategies import thorough

import votron.theory as theory
from votron import certify

LAST, AVERAGE = "last vector", "average"
ON_A_LINE = np.array([[-2.0], [-1.9], [0.0], [0.1], [1.9], [2.0]] * 10), np.array([0, 0, 1, 1, 2, 2] * 10)


def joint(**params):
    return paper_averaged(**{"multiclass": "joint", "average": False, "random_state": 0, **params})


def bound(certificate, name, predictor=""):
    (found,) = [b for b in certificate.bounds if b.name == name and b.predictor == predictor]
    return found


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_margin_stretches_the_bounds_on_updates(digits, n_classes):
    X, y = digits[0][:100], np.minimum(digits[1][:100], n_classes - 1)
    model = paper_averaged(epochs=None, average=False, margin=0.5, shuffle=False).fit(X, y)
    found = certify(model, X, y, comparators=())
    assert found.tau == 0.5
    for c in range(len(found.labels)):
        best = max(margins[c] for margins in found.margins.values())
        assert bound(found, "Block & Novikoff").values[c] == pytest.approx(2 * (found.radius / best) ** 2)
    (fails,) = bound(found, "Vapnik & Chervonenkis", LAST).failing
    assert (fails.name, fails.change) == ("τ = 0", "margin=0")
    assert not bound(found, "Graepel et al. (7)", LAST).failing


@pytest.mark.parametrize("tau", [0.0, 0.5])
def test_every_number_of_classes_together_as_written_out(digits, tau):
    X, y = digits[0][:60, 20:26], digits[1][:60] % 3
    m, delta, epochs = len(X), 0.1, 3
    found = certify(joint(epochs=epochs, margin=tau, shuffle=False).fit(X, y), X, y, delta, comparators=[])
    rows = np.hstack([X, np.ones((m, 1))])
    R = np.sqrt((rows**2).sum(axis=1)).max()
    W, total, k = np.zeros((3, 7)), np.zeros((3, 7)), 0
    for t in range(epochs * m):
        x, own = rows[t % m], y[t % m]
        scores = W @ x
        other = max((c for c in range(3) if c != own), key=lambda c: scores[c])
        if scores[own] - scores[other] <= tau * (x @ x):
            W[own], W[other], k = W[own] + x, W[other] - x, k + 1
        total = total + W
    assert found.trained_jointly
    assert (found.labels, found.mistakes, found.support) == (("3 classes jointly",), (k,), (min(k, m),))
    assert found.radius == pytest.approx(R)
    margins = {}
    for name, vectors in (("last", W), ("average", total)):
        scores = rows @ vectors.T
        rival = np.max(np.where(np.eye(3, dtype=bool)[y], -np.inf, scores), axis=1)
        margins[name] = (scores[np.arange(m), y] - rival) / (math.sqrt(2) * np.linalg.norm(vectors))
        assert found.margins[name] == pytest.approx((margins[name].min(),))
    best, stretch = max(each.min() for each in margins.values()), math.sqrt(1 + tau)
    novikoff = bound(found, "Block & Novikoff").values[0]
    assert novikoff is None if best <= 0 else novikoff == pytest.approx((1 + tau) * (R / best) ** 2)
    least = min(theory.best_inseparable_bound(each, stretch * R, epochs).bound for each in margins.values())
    assert bound(found, "Freund & Schapire, theorem 2").values[0] == pytest.approx(least, rel=1e-6)


@thorough(30)
@given(
    seed=st.integers(0, 2**31),
    n_classes=st.integers(3, 5),
    tau=st.sampled_from([0.0, 0.1, 2.0]),
    epochs=st.sampled_from([1, 3, 40]),
    fit_intercept=st.booleans(),
)
def test_no_run_breaks_the_bounds_on_its_mistakes(seed, n_classes, tau, epochs, fit_intercept):
    """Certify compares every fact with the run, and would raise BoundViolatedError."""
    rng = np.random.RandomState(seed)
    n = rng.randint(n_classes, 25)
    X, y = rng.randint(-3, 4, (n, rng.randint(1, 4))), rng.permutation(n) % n_classes
    X[:, 0] += X[:, 0] == 0
    model = joint(epochs=epochs, margin=tau, fit_intercept=fit_intercept).fit(X, y)
    with mock.patch("votron.theory.geometry.AUTO_SWEEPS", 300):  # any comparator will do
        found = certify(model, X, y)
    assert found.mistakes == (model.n_mistakes_.sum() // 2,)
    assert bound(found, "Freund & Schapire, theorem 2").values[0] >= found.mistakes[0] * (1 - 1e-9)


def test_classes_that_are_told_apart_need_not_each_be_divided_from_the_rest():
    """Converged is what gives no wrong label, though the vector of the middle class errs against the rest."""
    X, y = ON_A_LINE
    model = joint(epochs=None).fit(X, y)
    assert model.converged_
    assert (theory.margins(model, X, y).unnormalized <= 0).any()
    found = certify(model, X, y)
    for name in ("Graepel et al. (7)", "(7) with errors"):
        seven = bound(found, name, LAST)
        assert seven.applies
        assert seven.error < 1
    k = found.mistakes[0]
    assert bound(found, "Graepel et al. (7)", LAST).error == theory.compression_bound(60, k, 0.05)
    assert bound(found, "Vapnik & Chervonenkis", LAST).error <= k / 61


@pytest.mark.slow
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("tau", [0.0, 0.5])
def test_what_is_called_a_guarantee_is_one(average, tau, monkeypatch):
    """As in test_coverage, for the worlds with three classes."""
    make = lambda seed: joint(average=average, margin=tau, random_state=seed, n_jobs=1)  # noqa: E731
    monkeypatch.setitem(coverage_of_bounds.MODELS, "joint", make)
    worlds = [world for world in coverage_of_bounds.WORLDS if world.joint.shape[1] > 2]
    assert worlds
    for world in worlds:
        for key, line in coverage_of_bounds.simulate(world, "joint", 60, 0.1).items():
            assert not coverage_of_bounds.is_guilty(line, 0.1), key
