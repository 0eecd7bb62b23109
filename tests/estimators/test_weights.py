"""Weights of rows and classes, and margins by class: what they do, what they leave as it was, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from paper import paper_perceptron
from sklearn.base import clone
from sklearn.datasets import load_iris

from votron import KernelAdatronClassifier, certify, load
from votron.errors import VotronError
from votron.rules import RULES

X, Y = load_iris(return_X_y=True)
WEIGHTS = np.random.default_rng(0).choice([0.0, 0.25, 1.0, 3.0], len(Y))
KERNELS = {
    "poly": {},
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf"},
    "precomputed": {"kernel": "precomputed"},
}


def model(**parameters):
    return paper_perceptron(**{"random_state": 0, "epochs": 4, **parameters})


def gram(rows):
    return (1.0 + rows @ X.T) ** 2


# -- what weights do --------------------------------------------------------------------------------------------------


def test_a_mistake_adds_weight_times_the_row():
    """By hand: (2, 0) is added with weight 1.5, (1, 1) taken away with 0.5; both vectors survive as without weights."""
    rows, labels = np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([1, 0])
    fitted = model(kernel="linear", shuffle=False, epochs=1).fit(rows, labels, sample_weight=[3.0, 1.0])
    record = fitted.record_
    assert record.weight.tolist() == [1.5, 0.5]
    assert record.score.tolist() == [0.0, 3.0]
    assert record.norm2.tolist() == [9.0, 9.0 - 2 * 0.5 * 3.0 + 0.25 * 2.0]
    assert record.survival.tolist() == [1, 1]
    assert fitted.dual_coef_.tolist() == [[1.5, -0.5]]
    assert fitted.with_rule("last").decision_function([[1.0, 0.0]]).tolist() == [2.5]


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize("kernel", KERNELS)
def test_weight_0_is_the_row_left_out(kernel, rule):
    """Classes, gamma, what is held out, order and steps are those of the other rows; names are those of all."""
    kept = np.flatnonzero(WEIGHTS)
    rows, some = (gram(X), gram(X)[np.ix_(kept, kept)]) if kernel == "precomputed" else (X, X[kept])
    with_zeros = model(rule=rule, **KERNELS[kernel]).fit(rows, Y, sample_weight=WEIGHTS)
    without = model(rule=rule, **KERNELS[kernel]).fit(some, Y[kept], sample_weight=WEIGHTS[kept])
    for name in ("vector", "sign", "time", "score", "norm2", "weight"):
        np.testing.assert_array_equal(getattr(with_zeros.record_, name), getattr(without.record_, name))
    np.testing.assert_array_equal(with_zeros.support_, kept[without.support_])
    scored = rows[:, kept] if kernel == "precomputed" else rows
    if (kernel, rule) != ("precomputed", "random"):  # whose draws are by all values of a row
        np.testing.assert_array_equal(with_zeros.decision_function(rows), without.decision_function(scored))
    assert with_zeros.kernel_ == without.kernel_


def test_a_class_without_weight_is_no_class():
    fitted = model().fit(X, Y, sample_weight=Y < 2)
    plain = model().fit(X[:100], Y[:100])
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.record_.equals(plain.record_)
    assert model(class_weight={1: 0}).fit(X, Y).classes_.tolist() == [0, 2]


@pytest.mark.parametrize("kernel", ["poly", "linear"])
@pytest.mark.parametrize("weight", [1.0, 0.1, 7, 1e300])
def test_weights_that_are_all_the_same_are_none(weight, kernel):
    fitted = model(margin=0.5, **KERNELS[kernel]).fit(X, Y, sample_weight=np.full(150, weight))
    assert fitted.record_.weight is None
    assert fitted.record_.equals(model(margin=0.5, **KERNELS[kernel]).fit(X, Y).record_)


def test_weights_of_classes_multiply_those_of_rows():
    few = np.flatnonzero((Y != 1) | (np.arange(150) % 10 == 0))
    rows, labels, weights = X[few], Y[few], WEIGHTS[few] + 0.25
    by_class = {0: 0.5, 2: 3.0}
    factor = np.array([by_class.get(label, 1.0) for label in labels])
    expected = model().fit(rows, labels, sample_weight=weights * factor)
    assert model(class_weight=by_class).fit(rows, labels, sample_weight=weights).record_.equals(expected.record_)
    counts = np.bincount(labels)
    expected = model().fit(rows, labels, sample_weight=(len(labels) / (3 * counts))[labels])
    assert model(class_weight="balanced").fit(rows, labels).record_.equals(expected.record_)


def test_sparse_rows_and_linear_kernels_have_the_same_record():
    """The exact linear engine knows no weights, so it is not asked; without weights above 0 for some rows it is."""
    rows = np.rint(X * 10)
    weights = WEIGHTS + 0.25
    fitted = model(kernel="linear").fit(rows, Y, sample_weight=weights)
    assert model(kernel="linear").fit(sp.csr_matrix(rows), Y, sample_weight=weights).record_.equals(fitted.record_)
    zeros = (np.arange(150) % 3 > 0).astype(float)
    kept = np.flatnonzero(zeros)
    left_out = model(kernel="linear").fit(rows, Y, sample_weight=zeros)
    assert np.array_equal(left_out.record_.score, model(kernel="linear").fit(rows[kept], Y[kept]).record_.score)


# -- partial_fit ------------------------------------------------------------------------------------------------------


def test_partial_fit_in_batches_is_one_pass():
    """Weights are taken as they are; with those of mean 1 that is one epoch of fit."""
    weights = np.tile([0.25, 1.75], 75)
    whole = model(gamma=0.1, shuffle=False, epochs=1).fit(X[:, ::-1], Y[::-1], sample_weight=weights)
    rest = model(gamma=0.1)
    for at in (slice(0, 1), slice(1, 70), slice(70, 150)):
        rest.partial_fit(X[at, ::-1], Y[::-1][at], [0, 1, 2], sample_weight=weights[at])
    assert rest.record_.equals(whole.record_)
    twice = model(gamma=0.1, margin=0.5).partial_fit(X, Y, sample_weight=np.full(150, 2.0))
    assert set(twice.record_.weight) == {2.0}


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (-np.ones(150), "must be finite and not negative. Got -1 for row 0."),
        (np.where(np.arange(150) == 7, np.nan, 1.0), "must be finite and not negative. Got nan for row 7."),
        (np.ones(149), "must have one number for each of 150 rows. Got shape (149,)."),
        (np.ones((150, 2)), "must have one number for each of 150 rows. Got shape (150, 2)."),
    ],
)
def test_weights_that_are_none(weights, sentence):
    unfitted = model(gamma=0.1)
    for train in (unfitted.fit, unfitted.partial_fit):
        with pytest.raises(VotronError) as caught:
            train(X, Y, sample_weight=weights)
        assert sentence in str(caught.value)
    assert not hasattr(unfitted, "classes_")


def test_nothing_to_train_on():
    with pytest.raises(VotronError, match="all be zero"):
        model().fit(X, Y, sample_weight=np.zeros(150))
    with pytest.raises(VotronError, match="at least 2 classes"):
        model().fit(X, Y, sample_weight=Y == 0)


@pytest.mark.parametrize("name", ["class_weight", "margin"])
def test_dicts_by_class_that_are_none(name):
    for value in (-1, np.nan, "a"):
        with pytest.raises(VotronError, match="for 2"):
            model(**{name: {2: value}}).fit(X, Y)
    with pytest.raises(VotronError, match="'two'"):
        model(**{name: {"two": 1.0}}).fit(X, Y)
    model(**{name: {0: 1.0, 1: 2.0, 2: 0.5}}).fit(X[:100], Y[:100])  # a fold may lack a class


# -- margins by class -------------------------------------------------------------------------------------------------


def test_a_row_has_the_margin_of_its_class():
    """Of two classes or three: a mistake is one by its own class's margin, and not by less."""
    for classes in ([0, 1], [0, 1, 2]):
        mine = np.isin(Y, classes)
        fitted = model(margin={1: 0.5}, kernel="rbf").fit(X[mine], Y[mine])
        record = fitted.record_
        wrong = record.sign * record.score  # K(x, x) is 1
        of_1 = Y[mine][record.example] == 1
        assert wrong[of_1].max() <= 0.5
        assert wrong[of_1].max() > 0
        assert wrong[~of_1].max() <= 0


# -- what knows of them -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", sorted(RULES))
def test_weighted_models_and_their_compact_forms_survive_files(rule, tmp_path):
    fitted = model(rule=rule, class_weight={0: 2, 1: 0.5}, margin={2: 0.25}).fit(X, Y, sample_weight=WEIGHTS)
    fitted.save(tmp_path / "weighted.votron")
    found = load(tmp_path / "weighted.votron")
    assert np.array_equal(found.decision_function(X), fitted.decision_function(X))
    with pytest.raises(VotronError, match="rows of weight 0"):
        certify(found, X, Y)
    compact = fitted.compact()
    np.testing.assert_allclose(compact.decision_function(X), fitted.decision_function(X), rtol=1e-9, atol=1e-9)


def test_the_certificate_claims_what_holds_with_weights():
    binary, two = X[:100], Y[:100]
    fixed = {"gamma": 0.1, "epochs": 1}
    weights = np.where(np.arange(100) % 3, 0.5, 4.0)
    found = certify(model(**fixed).fit(binary, two, sample_weight=weights), binary, two)
    holds = {(b.name, a.name): a.holds for b in found.bounds for a in b.assumptions}
    for name in ("Block & Novikoff", "Freund & Schapire, cor. 1", "Graepel et al. (8)", "Vapnik & Chervonenkis"):
        assert holds[name, "unweighted"] is False
    for name in ("Helmbold & Warmuth", "Cesa-Bianchi, Conconi & Gentile", "Graepel et al. (7)", "(7) with errors"):
        assert holds[name, "weights fixed"] is None
    assert next(b for b in found.bounds if b.name == "Cesa-Bianchi, Conconi & Gentile").applies
    for parameters in ({"class_weight": "balanced"}, {"margin": 0.5, "class_weight": {0: 2}}):
        fitted = model(**fixed, **parameters).fit(binary[:80], two[:80])
        some = {a.name: a.holds for b in certify(fitted, binary[:80], two[:80]).bounds for a in b.assumptions}
        assert some["weights fixed"] is False
    uneven = certify(model(**fixed, margin={1: 0.5}).fit(binary, two), binary, two)
    assert uneven.tau == 0.5


# -- the adatron ------------------------------------------------------------------------------------------------------


def adatron(**parameters):
    return KernelAdatronClassifier(**{"C": 0.5, "tol": 1e-6, "kernel": "rbf", "gamma": 0.2, **parameters})


def test_weights_of_the_adatron_are_factors_of_C():
    """By the optimality conditions, which no bias disturbs: 0 where y f > 1, the row's cap where y f < 1."""
    two, y = X[50:], Y[50:]
    weights = WEIGHTS[50:] + 0.25
    signs = np.where(y == 2, 1, -1)
    fitted = adatron(class_weight={2: 2.0}).fit(two, y, sample_weight=weights)
    caps = 0.5 * weights * np.where(y == 2, 2.0, 1.0)
    alpha = np.zeros(100)
    alpha[fitted.support_] = np.abs(fitted.dual_coef_[0])
    margins = signs * fitted.decision_function(two)
    assert (alpha <= caps * (1 + 1e-9)).all()
    np.testing.assert_allclose(alpha[margins < 0.99], caps[margins < 0.99])
    np.testing.assert_allclose(alpha[margins > 1.01], 0.0)
    assert (margins < 0.99).sum() > 10
    assert len(set(alpha[margins < 0.99])) > 3


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_the_adatron_leaves_rows_of_weight_0_out(kernel):
    kept = np.flatnonzero(WEIGHTS)
    rows, some = (gram(X), gram(X)[np.ix_(kept, kept)]) if kernel == "precomputed" else (X, X[kept])
    C = 1e-4 if kernel == "precomputed" else 0.5
    with_zeros = adatron(kernel=kernel, C=C, tol=1e-3).fit(rows, Y, sample_weight=WEIGHTS)
    without = adatron(kernel=kernel, C=C, tol=1e-3).fit(some, Y[kept], sample_weight=WEIGHTS[kept])
    np.testing.assert_array_equal(with_zeros.support_, kept[without.support_])
    np.testing.assert_array_equal(with_zeros.dual_coef_, without.dual_coef_)
    scored = rows[:, kept] if kernel == "precomputed" else rows
    np.testing.assert_array_equal(with_zeros.decision_function(rows), without.decision_function(scored))
    with pytest.raises(VotronError, match="rows of weight 0"):
        certify(with_zeros, rows, Y)
    hard = adatron(C=None, degree=2, kernel="poly").fit(X[:100], Y[:100], sample_weight=np.arange(100) % 2)
    plain = adatron(C=None, degree=2, kernel="poly").fit(X[1:100:2], Y[1:100:2])
    assert np.array_equal(hard.dual_coef_, plain.dual_coef_)


def test_weights_change_nothing_for_the_adatron_without_C():
    plain = adatron(C=None, degree=2, kernel="poly").fit(X[:100], Y[:100])
    for parameters, weights in (({}, np.arange(100) + 1), ({"class_weight": {1: 2}}, None)):
        with pytest.warns(UserWarning, match="give C"):
            weighted = clone(plain).set_params(**parameters).fit(X[:100], Y[:100], sample_weight=weights)
        assert np.array_equal(weighted.dual_coef_, plain.dual_coef_)


# -- among scikit-learn's tools ---------------------------------------------------------------------------------------
