"""Weights of rows and classes, and margins by class, of the averaged perceptron.

Its engine with both is compared with the textbook in `test_averaged`.
"""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from paper import paper_averaged, paper_perceptron
from sklearn.datasets import load_iris, make_classification
from strategies import thorough
from test_averaged import textbook

from votron import certify, load
from votron.errors import NotRepresentableError, VotronError

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


def test_a_mistake_adds_weight_times_the_row():
    """By hand: (2, 0) is added with weight 1.5, (1, 1) taken away with 0.5; the average counts steps, not weights."""
    rows, labels = np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([1, 0])
    fitted = model(fit_intercept=False, shuffle=False, epochs=1).fit(rows, labels, sample_weight=[3.0, 1.0])
    assert fitted.coef_.tolist() == [[(3.0 + 2.5) / 2, -0.25]]
    assert fitted.set_params(average=False).coef_.tolist() == [[2.5, -0.5]]
    assert fitted.n_mistakes_.tolist() == [2]


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


def test_threads_and_the_form_of_data_change_nothing():
    rows, labels = make_classification(3000, 60, n_informative=20, n_classes=8, random_state=0)
    weights = np.random.default_rng(1).choice([0.1, 1.0, 2.0], 3000)
    for multiclass in ("ovr", "joint"):
        params = {"multiclass": multiclass, "margin": {0: 0.1, 3: 0.5}}
        one = model(n_jobs=1, **params).fit(rows, labels, sample_weight=weights)
        assert same(model(n_jobs=3, **params).fit(sp.csr_array(rows), labels, sample_weight=weights), one)


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


def test_large_weights_are_remembered():
    """Weights of one call and values of another, each small enough for itself, may be too large together."""
    fitted = model().partial_fit(X[:10], Y[:10], [0, 1, 2], sample_weight=np.full(10, 1e200))
    with pytest.raises(NotRepresentableError):
        fitted.partial_fit(1e120 * X, Y)


def test_margins_stay_as_they_were_in_the_first_call():
    fitted = model(margin={1: 0.5}).partial_fit(X, Y)
    for margin in ({1: 0.25}, 0.5):
        with pytest.raises(VotronError, match=r"at every call of partial_fit: \{1: 0.5\}"):
            fitted.set_params(margin=margin).partial_fit(X, Y)


# -- margins by class -------------------------------------------------------------------------------------------------


def test_margins_by_class_are_those_of_the_kernel_classifier():
    """On whole numbers, one against the rest, both make the same mistakes, with weights as without."""
    rows = np.rint(X * 10)
    for labels, margin in ((Y, {1: 0.5}), (Y, {0: 0.25, 2: 2.0}), (np.where(Y == 1, "yes", "no"), {"yes": 1.0})):
        for weights in (None, np.tile([0.5, 1.5], 75)):
            kernel = {"kernel": "linear", "margin": margin, "epochs": 3, "random_state": 0}
            voted = paper_perceptron(**kernel).fit(rows, labels, sample_weight=weights)
            fitted = model(epochs=3, margin=margin, fit_intercept=False).fit(rows, labels, sample_weight=weights)
            assert fitted.n_mistakes_.tolist() == voted.n_mistakes_.tolist()
            np.testing.assert_allclose(fitted._trainer.last()[0], voted.dual_coef_ @ voted.support_vectors_)


# -- what knows of them -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_files_and_compact_models(sparse, tmp_path):
    fitted = model(class_weight={0: 2, 1: 0.5}, margin={2: 0.25}).fit(X, Y, sample_weight=WEIGHTS)
    if sparse:
        fitted.sparsify()
    fitted.save(tmp_path / "weighted.votron")
    found = load(tmp_path / "weighted.votron")
    assert found.get_params() == fitted.get_params()
    assert np.array_equal(found.decision_function(X), fitted.decision_function(X))
    with pytest.raises(VotronError, match="rows of weight 0"):
        certify(found, X, Y)
    more = {"sample_weight": np.full(150, 5.0)}
    again = pickle.loads(pickle.dumps(found))
    assert same(found.partial_fit(X, Y, **more), again.partial_fit(X, Y, **more))
    assert same(found, fitted.partial_fit(X, Y, **more))
    assert found._trainer.largest_weight == fitted._trainer.largest_weight == 10.0
    compact = fitted.compact()
    assert np.array_equal(compact.predict(X), fitted.predict(X))


# -- certificates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("multiclass", ["ovr", "joint"])
def test_the_certificate_claims_what_holds_with_weights(multiclass):
    for rows, labels in ((X[:100], Y[:100]), (X, Y)):
        plain = certify(model(multiclass=multiclass, epochs=1).fit(rows, labels), rows, labels)
        assert not any(a.name in ("unweighted", "weights fixed") for b in plain.bounds for a in b.assumptions)
        weights = np.where(np.arange(len(labels)) % 3, 0.5, 4.0)
        fitted = model(multiclass=multiclass, epochs=1).fit(rows, labels, sample_weight=weights)
        found = certify(fitted, rows, labels)
        refused = {b.name for b in found.bounds if any(a.name == "unweighted" and not a.holds for a in b.assumptions)}
        assert {"Block & Novikoff", "Freund & Schapire, cor. 1"} <= refused
        claimed = {
            b.name for b in found.bounds if any(a.name == "weights fixed" and a.holds is None for a in b.assumptions)
        }
        assert "Graepel et al. (7)" in claimed
        assert not refused & claimed
        assert "PAC margin" not in refused | claimed
        assert not any(b.applies for b in found.bounds if b.name in refused)
        same_data = {a.holds for b in found.bounds for a in b.assumptions if a.name == "same data"}
        assert same_data <= {None}  # the weights of rows are not kept, so that training cannot be repeated


def test_certificates_know_weights_of_classes():
    fitted = model(class_weight="balanced", epochs=1).fit(X[20:], Y[20:])
    holds = {a.name: a.holds for b in certify(fitted, X[20:], Y[20:]).bounds for a in b.assumptions}
    assert holds["weights fixed"] is False
    assert certify(model(margin={1: 0.5, 2: 0.25}).fit(X, Y), X, Y).tau == 0.5
