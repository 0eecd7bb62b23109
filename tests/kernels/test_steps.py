"""Kernels as compiled steps: kernels that cannot be hashed, that have none, and steps that do not fit their kernel."""

from __future__ import annotations

import gc
import pickle
import weakref
from dataclasses import dataclass

import cloudpickle
import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from votron import VotedPerceptronClassifier
from votron.engine import DualTrainer
from votron.errors import VotronError
from votron.kernels import GaussianKernel, Kernel, LinearKernel, NormalizedKernel, PolynomialKernel, RowLoop, Step

X = np.random.default_rng(0).normal(size=(40, 3))
y = (X[:, 0] > 0).astype(int)


@RowLoop
def shift(row, n, parameters, theirs, own, stride, spare):
    for r in range(n):
        row[r] = row[r] + parameters[0]


@dataclass
class Shifted(Kernel):
    """x·z + c; not frozen, so that it cannot be hashed."""

    c: float = 1.0
    n_terms = 0

    def formula(self, xz, xx, zz):
        return xz + self.c

    def steps(self):
        return (Step(shift, (self.c,)),)


class Careless(Shifted):
    n_terms = 1


def test_steps_are_the_formula():
    kernel = Shifted(2.0)
    with pytest.raises(TypeError):
        hash(kernel)
    np.testing.assert_allclose(kernel(X), X @ X.T + 2.0, rtol=1e-12)
    for made in (NormalizedKernel(kernel), PolynomialKernel(2).of(kernel), GaussianKernel(0.3).of(kernel)):
        inside = X @ X.T + 2.0
        squares = np.diagonal(inside)
        np.testing.assert_allclose(made(X), made.formula(X @ X.T, squares[:, None] - 2, squares - 2), rtol=1e-12)
    assert VotedPerceptronClassifier(kernel=kernel, random_state=0).fit(X, y).score(X, y) > 0.9


def test_steps_read_as_many_terms_as_the_kernel_has():
    with pytest.raises(VotronError, match=r"must read as many terms as it has: 1\. Got 0 instead\.$"):
        Careless()(X)


def test_functions_that_cannot_be_hashed_are_kernels():
    assert VotedPerceptronClassifier(kernel=RBF(), random_state=0).fit(X, y).score(X, y) > 0.9


def test_what_a_kernel_holds_is_not_held_for_ever():
    class Holder:
        def values(self, A, B):
            return A @ B.T

    holder = Holder()
    gone = weakref.ref(holder)
    model = VotedPerceptronClassifier(kernel=holder.values, random_state=0).fit(X, y)
    del holder, model
    gc.collect()
    assert gone() is None


def test_models_with_steps_can_be_pickled():
    model = VotedPerceptronClassifier(kernel="rbf", random_state=0).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), model.decision_function(X))
    again = cloudpickle.loads(cloudpickle.dumps(RowLoop(lambda row, n, parameters, theirs, own, stride, spare: None)))
    assert again.address > 0


def test_an_order_of_no_rows_is_a_run_of_no_steps():
    run = DualTrainer(LinearKernel(), 1).run(np.eye(2), np.zeros(2, int), np.empty(0, int), n_steps=5)
    assert (run.steps, run.converged) == (0, False)
