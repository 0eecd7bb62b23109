"""Weights of rows and classes, and margins by class, of the averaged perceptron.

Its engine with both is compared with the textbook in `test_averaged`.
"""

from __future__ import annotations

import copy
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from paper import paper_averaged
from sklearn.datasets import load_iris
from strategies import thorough
from test_averaged import textbook

from votron.errors import NotRepresentableError

X, Y = load_iris(return_X_y=True)
WEIGHTS = np.random.default_rng(0).choice([0.0, 0.25, 1.0, 3.0], len(Y))
WAYS = {"ovr": {}, "joint": {"multiclass": "joint"}, "early stopping": {"early_stopping": True}}


def model(**parameters):
    return paper_averaged(**{"random_state": 0, "epochs": 4, **parameters})


def same(one, other):
    """Whether two models have the same vectors, last and average, to the last bit, and the same mistakes."""
    pairs = [(one._trainer.last(), other._trainer.last()), (one._trainer.average(), other._trainer.average())]
    equal = all(np.array_equal(a, b) for mine, theirs in pairs for a, b in zip(mine, theirs, strict=True))
    return equal and np.array_equal(one.n_mistakes_, other.n_mistakes_)


# -- what weights do --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("multiclass", ["ovr", "joint"])
@pytest.mark.parametrize("labels", [Y, Y == 1])
@thorough(20)
@given(seed=st.integers(0, 2**31), margin=st.sampled_from([0.0, 0.25, "by class"]), sparse=st.booleans())
def test_fit_is_the_textbook(multiclass, labels, seed, margin, sparse):
    """From labels and weights to vectors: codes, weights of classes, the mean of 1 and margins by label."""
    rng = np.random.RandomState(seed)
    rows = X * 4 + rng.normal(size=X.shape)  # no ties, which the last bits of a mean of weights would decide
    weights = rng.choice([0.25, 1.0, 2.5], 150)
    classes = np.unique(labels).tolist()
    by_label = {label: rng.choice([0.0, 0.5, 2.0]) for label in classes}
    class_weight = {label: rng.choice([0.5, 1.0, 3.0]) for label in classes}
    fitted = model(
        multiclass=multiclass,
        margin=by_label if isinstance(margin, str) else margin,
        class_weight=class_weight,
        epochs=2,
        shuffle=False,
    ).fit(sp.csr_matrix(rows) if sparse else rows, labels, sample_weight=weights)
    weights = weights * np.array([class_weight[label] for label in labels.tolist()])
    weights = weights / weights.max()
    weights /= weights.mean()
    binary = len(classes) == 2
    codes = 1 - labels.astype(int) if binary else labels
    tau = (
        np.array([by_label[label] for label in (classes[::-1] if binary else classes)])
        if margin == "by class"
        else margin
    )
    trained = fitted._trainer
    presented = np.tile(np.arange(150), 2)
    v, sums, mistakes = textbook(rows, codes, presented, 1 if binary else 3, True, tau, multiclass == "joint", weights)
    np.testing.assert_allclose(np.column_stack(trained.last()), v, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.column_stack(trained.average()), sums / 300, rtol=1e-9, atol=1e-9)
    assert trained.n_mistakes.tolist() == mistakes


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_weight_0_is_the_row_left_out(way, form):
    """What is held out, order and steps are those of the other rows."""
    kept = np.flatnonzero(WEIGHTS)
    with_zeros = model(**WAYS[way]).fit(form(X), Y, sample_weight=WEIGHTS)
    without = model(**WAYS[way]).fit(form(X)[kept], Y[kept], sample_weight=WEIGHTS[kept])
    assert same(with_zeros, without)
    assert with_zeros.n_epochs_ == without.n_epochs_
    assert not same(without, model(**WAYS[way]).fit(form(X)[kept], Y[kept]))


def test_held_out_rows_count_by_their_weights():
    """Which share of the weight is predicted right, and not of the rows: wrong labels of next to none do not matter."""
    wrong = np.arange(150) % 7 == 0
    labels, weights = (Y == 0) ^ wrong, np.where(wrong, 1e-9, 1.0)
    fitted = model(early_stopping=True, validation_fraction=0.3).fit(X, labels, sample_weight=weights)
    plain = model(early_stopping=True, validation_fraction=0.3).fit(X, labels)
    assert 1 - 1e-6 < max(fitted.validation_scores_) <= 1.0
    assert max(plain.validation_scores_) < 0.95


# -- partial_fit ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("multiclass", ["ovr", "joint"])
@thorough(20)
@given(cuts=st.lists(st.integers(0, 150), max_size=5), sparse=st.booleans())
def test_partial_fit_in_batches_is_one_pass(multiclass, cuts, sparse):
    """Weights are taken as they are; with those of mean 1 that is one epoch of fit."""
    rows, labels = X[::-1], Y[::-1]
    rows = sp.csr_matrix(rows) if sparse else rows
    weights = np.tile([0.25, 1.75], 75)
    params = {"multiclass": multiclass, "margin": {0: 0.5, 1: 0.1}}
    whole = model(shuffle=False, epochs=1, **params).fit(rows, labels, sample_weight=weights)
    rest = model(**params)
    for low, high in pairwise([0, *sorted(cuts), 150]):
        if low < high:
            rest.partial_fit(rows[low:high], labels[low:high], [0, 1, 2], sample_weight=weights[low:high])
    assert same(rest, whole)
    assert not same(rest, model(**params).partial_fit(rows, labels, sample_weight=2 * weights))


def test_partial_fit_leaves_rows_of_weight_0_out():
    kept = np.flatnonzero(WEIGHTS)
    with_zeros = model().partial_fit(X[:60], Y[:60], [0, 1, 2], sample_weight=WEIGHTS[:60])
    with_zeros.partial_fit(X[60:], Y[60:], sample_weight=WEIGHTS[60:])
    with_zeros.partial_fit(X[:3], Y[:3], sample_weight=np.zeros(3))
    without = model().partial_fit(X[kept], Y[kept], sample_weight=WEIGHTS[kept])
    assert same(with_zeros, without)
    assert model(class_weight={1: 2}).partial_fit(X, Y)._trainer.largest_weight == 2.0


def test_a_batch_that_is_refused_leaves_no_trace():
    fitted = model().partial_fit(X, Y, sample_weight=WEIGHTS)
    before = copy.deepcopy(fitted)
    with pytest.raises(NotRepresentableError, match=r"with weights as large as 1e\+290 can exceed"):
        fitted.partial_fit(1e20 * X, Y, sample_weight=np.full(150, 1e290))
    assert same(fitted, before)
    assert fitted._trainer.largest_weight == 3.0
    assert same(fitted.partial_fit(X, Y), before.partial_fit(X, Y))


# -- certificates -----------------------------------------------------------------------------------------------------
