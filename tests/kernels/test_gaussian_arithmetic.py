"""Gaussian kernels in float32: only where it cannot matter, named in the model file, and never for old models."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from votron import VotedPerceptronClassifier
from votron.errors import VotronError
from votron.kernels import GaussianKernel, NormalizedKernel, PolynomialKernel


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.sampled_from([1, 3, 50, 400]),
    scale=st.sampled_from([1e-3, 0.3, 1.0, 40.0]),
    shift=st.sampled_from([0.0, 1.0, 30.0]),
    gamma=st.sampled_from([1e-6, 0.01, 1.0, 30.0]),
    sparse=st.booleans(),
)
def test_float32_moves_no_value_by_more_than_the_tolerance(seed, d, scale, shift, gamma, sparse):
    """Rows far from the origin and close to each other are the worst: there it must not be taken."""
    rng = np.random.default_rng(seed)
    X = (scale * rng.normal(size=(40, d)) + shift).astype(np.float32)
    X[1] = X[0]
    rows = sp.csr_matrix(X * (rng.random(X.shape) < 0.3)) if sparse else X
    kernel = GaussianKernel(gamma).suited_to(rows)
    values, exact = kernel(rows), GaussianKernel(gamma)(rows.astype(np.float64))
    assert np.abs(values - exact).max() < GaussianKernel.TOLERANCE
    np.testing.assert_array_equal(np.diagonal(values), 1.0)
    products = kernel.products_for(rows)
    assert products.dtype is (np.float32 if kernel.arithmetic == "float32" else np.float64)


def test_float32_is_for_float32_rows_only():
    X = np.random.default_rng(0).random((30, 8))
    assert GaussianKernel(0.1).suited_to(X).arithmetic == "float64"
    assert GaussianKernel(0.1).suited_to(X.astype(np.float32)).arithmetic == "float32"
    assert GaussianKernel(1e6).suited_to(X.astype(np.float32)).arithmetic == "float64"
    kernel = GaussianKernel(0.1, arithmetic="float32")
    assert kernel.products_for(X).dtype is np.float64
    assert kernel.products_for(np.eye(3, dtype=np.float32)).dtype is np.int32
    assert kernel == GaussianKernel(0.1)
    assert GaussianKernel(0.001).suited_to(np.eye(9, dtype=np.float32)).arithmetic == "float64"  # exact as it is
    rare = sp.random(300, 5000, 0.002, format="csr", dtype=np.float32, random_state=0)
    for gamma in (1e-3, 0.03, 1.0, 100.0):  # dense or CSR, the choice is the same
        assert len({GaussianKernel(gamma).suited_to(X).arithmetic for X in (rare, rare.toarray())}) == 1
    assert PolynomialKernel(2).of(kernel).products_for(X.astype(np.float32)).dtype is np.float32
    inside = NormalizedKernel(GaussianKernel(0.1)).suited_to(X.astype(np.float32))
    assert inside.base.arithmetic == "float32"
    assert PolynomialKernel(2).suited_to(X) == PolynomialKernel(2)
    with pytest.raises(VotronError, match=r"^The 'arithmetic' parameter of GaussianKernel must be 'float64' or"):
        GaussianKernel(0.1, arithmetic="float16")


def test_learning_goes_on_in_the_arithmetic_it_began_with():
    rng = np.random.default_rng(4)
    X, y = rng.random((100, 20), dtype=np.float32), np.arange(100) % 2
    parameters = {"kernel": "rbf", "gamma": 0.5, "random_state": 0, "epochs": 1, "shuffle": False}
    model = VotedPerceptronClassifier(**parameters).fit(X, y)
    streamed = VotedPerceptronClassifier(**parameters)
    for part in (slice(0, 30), slice(30, 100)):
        streamed.partial_fit(X[part], y[part], classes=[0, 1])
    assert model.kernel_.arithmetic == streamed.kernel_.arithmetic == "float32"
    np.testing.assert_array_equal(streamed.record_.score, model.record_.score)


def test_rows_that_float32_does_not_suit_end_it():
    """Close to each other and far from the origin: in float32 the kernel would not even be positive semi-definite."""
    rng = np.random.default_rng(4)
    X, far = 0.01 * rng.random((100, 400), dtype=np.float32), 1000 + rng.random((100, 400), dtype=np.float32)
    y = np.arange(100) % 2
    model = VotedPerceptronClassifier(kernel="rbf", gamma=1e-3, random_state=0).fit(X, y)
    assert model.kernel_.arithmetic == "float32"
    assert model.partial_fit(far, y).kernel_.arithmetic == "float64"
    assert model.partial_fit(X, y).kernel_.arithmetic == "float64"
