"""The record made on explicit weight vectors against that made on kernel values: the same to the last bit."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from paper import paper_perceptron
from strategies import thorough

from votron.engine import DualTrainer, LinearTrainer
from votron.engine import linear as engine
from votron.kernels import GaussianKernel, LinearKernel, PolynomialKernel

KERNELS = [LinearKernel(), PolynomialKernel(1), PolynomialKernel(1, coef0=0.0), PolynomialKernel(1, coef0=7.0)]


@st.composite
def problems(draw):
    rng = np.random.RandomState(draw(st.integers(0, 2**31)))
    n, d, k = draw(st.integers(1, 60)), draw(st.integers(1, 9)), draw(st.sampled_from([2, 3, 9, 40]))
    dtype = draw(st.sampled_from([np.uint8, np.int16, np.float32, np.float64]))
    X = rng.randint(0 if dtype == np.uint8 else -9, 10, (n, d)).astype(dtype)
    X[~X.any(axis=1), 0] = 1
    form = draw(st.sampled_from([np.asarray, np.asfortranarray, sp.csr_matrix]))
    return form(X), rng.randint(0, k, n), 1 if k == 2 else k, rng.permutation(n)


@thorough(60)
@given(
    problem=problems(),
    kernel=st.sampled_from(KERNELS),
    epochs=st.sampled_from([0.3, 1, 2.5, 20]),
    n_threads=st.sampled_from([1, 2, 3]),
)
def test_the_same_record(problem, kernel, epochs, n_threads):
    X, codes, n_vectors, order = problem
    n_steps = max(1, round(epochs * len(order)))
    assert LinearTrainer.suits(kernel, X, n_vectors, n_steps)
    primal, dual = LinearTrainer(kernel, n_vectors), DualTrainer(kernel, n_vectors)
    runs = [t.run(X, codes, order, n_steps, n_threads=n_threads) for t in (primal, dual)]
    assert runs[0] == runs[1]
    made, expected = primal.record(len(order), n_steps), dual.record(len(order), n_steps)
    assert made.digest() == expected.digest()
    assert primal.support_rows.dtype == X.dtype
    assert (primal.support_rows != dual.support_rows).sum() == 0


def test_where_sums_would_not_be_exact_it_is_left_to_the_dual_engine(monkeypatch):
    X = np.array([[3, 0], [0, 2]])
    suits = LinearTrainer.suits
    assert suits(LinearKernel(), X, 1, 1000)
    assert not suits(LinearKernel(), X + 0.5, 1, 1000)
    assert not suits(LinearKernel(), X * 2**24, 1, 1000)
    assert suits(LinearKernel(), X * 2**20, 1, 100)
    assert not suits(LinearKernel(), X * 2**20, 1, 1000)
    assert not suits(PolynomialKernel(2), X, 1, 10)
    assert not suits(PolynomialKernel(1, gamma=2.0), X, 1, 10)
    assert not suits(PolynomialKernel(1, coef0=0.5), X, 1, 10)
    assert not suits(GaussianKernel(), X, 1, 10)
    monkeypatch.setattr(engine, "MOST_WEIGHTS", 10)
    assert not suits(LinearKernel(), X, 3, 10)


@pytest.mark.parametrize("params", [{"kernel": "linear"}, {"degree": 1, "gamma": 1.0}])
def test_the_classifier_takes_it(params, monkeypatch):
    rng = np.random.RandomState(1)
    X, y = rng.randint(0, 20, (200, 10)), rng.randint(0, 3, 200)
    fast = paper_perceptron(epochs=3, random_state=0, **params).fit(X, y)
    monkeypatch.setattr(LinearTrainer, "suits", staticmethod(lambda *args: False))
    slow = paper_perceptron(epochs=3, random_state=0, **params).fit(X, y)
    assert fast.record_.equals(slow.record_)
    assert (fast.decision_function(X) == slow.decision_function(X)).all()
    assert (fast.n_epochs_, fast.converged_) == (slow.n_epochs_, slow.converged_)
    monkeypatch.undo()
    ran = []
    monkeypatch.setattr(
        LinearTrainer, "run", lambda self, *a, **k: ran.append(1) or (_ for _ in ()).throw(RuntimeError)
    )
    with pytest.raises(RuntimeError):
        paper_perceptron(epochs=3, **params).fit(X, y)
    paper_perceptron(epochs=3, margin=0.5, **params).fit(X, y)
    assert ran == [1]
