"""WinnowClassifier: the textbook algorithm to the last bit, its mistake bound, and its refusals."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from refusals import assert_clear, refusal
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import binarize
from strategies import CONTAINERS, contained, thorough

from votron.engine import winnow as engine
from votron.errors import NotRepresentableError
from votron.estimators.winnow import WinnowClassifier
from votron.theory import disjunction_mistake_bound

TINY = float(np.finfo(np.float64).tiny)

# -- the textbook -----------------------------------------------------------------------------------------------------


class Textbook:
    """Winnow, one example and one class at a time, with every literal written out."""

    def __init__(self, n_vectors, n_features, promotion, threshold, demotion, complement):
        n = 2 * n_features if complement else n_features
        self.threshold = n / 2 if threshold is None else threshold
        self.promotion, self.demotion, self.complement = promotion, demotion, complement
        self.w = [[1.0] * n for _ in range(n_vectors)]
        self.promotions, self.demotions = [0] * n_vectors, [0] * n_vectors

    def score(self, c, x):
        x = [*x, *(1 - v for v in x)] if self.complement else x
        total = 0.0
        for w, v in zip(self.w[c], x, strict=True):
            if v:
                total += w
        return total - self.threshold

    def learn(self, x, code):
        """Return whether some class was predicted wrongly."""
        wrong = False
        for c, w in enumerate(self.w):
            positive, predicted = code == c, self.score(c, x) >= 0
            if positive == predicted:
                continue
            wrong = True
            (self.promotions if positive else self.demotions)[c] += 1
            for i, v in enumerate([*x, *(1 - v for v in x)] if self.complement else x):
                if v and positive:
                    w[i] = w[i] * self.promotion
                elif v:
                    w[i] = 0.0 if self.demotion == "eliminate" else max(w[i] / self.promotion, TINY)
        return wrong

    def present(self, X, codes, order, n_steps):
        """Return the steps until ``n_steps``, or a pass without a mistake; and whether it ended with one."""
        last, n = 0, len(order)
        for t in range(1, n_steps + 1):
            i = order[(t - 1) % n]
            if self.learn(X[i], codes[i]):
                last = t
            if t % n == 0 and t - last >= n:
                return t, True
        return n_steps, n_steps - last >= n

    def same_as(self, model):
        np.testing.assert_array_equal(model.weights_, self.w)
        np.testing.assert_array_equal(model.n_promotions_, self.promotions)
        np.testing.assert_array_equal(model.n_demotions_, self.demotions)
        np.testing.assert_array_equal(model.n_mistakes_, np.add(self.promotions, self.demotions))


settings_of_winnow = st.fixed_dictionaries(
    {
        "promotion": st.sampled_from([2.0, 2, 1.5, 1.1, 3.7, 10.0]),
        "threshold": st.sampled_from([None, None, 0.3, 1.0, 3.3, 40.0]),
        "demotion": st.sampled_from(["divide", "eliminate"]),
        "complement": st.booleans(),
    }
)


@st.composite
def streams(draw, max_rows=30, max_features=9):
    """Boolean rows, some of them often, labels of two to four classes that may contradict each other."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d, n_classes = draw(st.integers(1, max_features)), draw(st.sampled_from([2, 2, 3, 4]))
    n = draw(st.integers(n_classes, max_rows))
    few = rng.random((draw(st.integers(1, 12)), d)) < draw(st.sampled_from([0.1, 0.5, 0.9]))
    picks = rng.integers(0, len(few), n)
    y = rng.integers(0, n_classes, len(few))[picks] if draw(st.booleans()) else rng.integers(0, n_classes, n)
    y[rng.permutation(n)[:n_classes]] = np.arange(n_classes)
    return few[picks].astype(int), y


def codes_of(y):
    """The number of the vector for which a row is positive; of two classes the second has it."""
    return (1 - y if y.max() == 1 else y).tolist()


def textbook_for(y, n_features, how):
    return Textbook(1 if y.max() == 1 else int(y.max()) + 1, n_features, **how)


@thorough(100)
@given(
    stream=streams(),
    how=settings_of_winnow,
    form=st.sampled_from(CONTAINERS["bits"]),
    epochs=st.sampled_from([0.5, 1, 1.7, 4, 12]),
    shuffle=st.booleans(),
    at_once=st.sampled_from([1, 60, 1 << 22]),
)
def test_fit_is_the_textbook(stream, how, form, epochs, shuffle, at_once):
    X, y = stream
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "VISITS_AT_ONCE", at_once)
        model = WinnowClassifier(**how, epochs=epochs, shuffle=shuffle, random_state=5).fit(contained(X, form), y)
    order = np.random.RandomState(5).permutation(len(y)) if shuffle else np.arange(len(y))
    expected = textbook_for(y, X.shape[1], how)
    steps, converged = expected.present(X.tolist(), codes_of(y), order, round(epochs * len(y)))
    expected.same_as(model)
    assert (model.n_epochs_, model.converged_) == (steps / len(y), converged)
    assert model.threshold_ == expected.threshold
    scores = np.array([[expected.score(c, x) for c in range(len(expected.w))] for x in X.tolist()])
    codes = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] >= 0).astype(int)
    np.testing.assert_array_equal(model.predict(contained(X, form)), codes)
    if scores.shape[1] == 1:
        scores = np.where(scores[:, 0] == 0, TINY, scores[:, 0])
    np.testing.assert_array_equal(model.decision_function(contained(X, form)), scores)
    if converged and scores.ndim == 1:
        assert (codes == y).all()
    assert (model.weights_ <= max(1, how["promotion"] * model.threshold_)).all()


@thorough(60)
@given(stream=streams(), how=settings_of_winnow, data=st.data())
def test_batches_are_one_unshuffled_pass(stream, how, data):
    X, y = stream
    whole = WinnowClassifier(**how, epochs=1, shuffle=False).fit(X, y)
    cuts = [0, *sorted(data.draw(st.lists(st.integers(1, len(y) - 1), max_size=4, unique=True))), len(y)]
    model = WinnowClassifier(**how)
    for a, b in itertools.pairwise(cuts):
        part = contained(X[a:b], data.draw(st.sampled_from(CONTAINERS["bits"])))
        model = pickle.loads(pickle.dumps(model.partial_fit(part, y[a:b], classes=np.unique(y))))
    expected = textbook_for(y, X.shape[1], how)
    for x, code in zip(X.tolist(), codes_of(y), strict=True):
        expected.learn(x, code)
    for found in (whole, model):
        expected.same_as(found)
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    np.testing.assert_array_equal(model.intercept_, whole.intercept_)
    assert model.n_epochs_ == len(cuts) - 1
    model.partial_fit(X, y)  # and fit is where partial_fit may go on from
    np.testing.assert_array_equal(whole.partial_fit(X, y).weights_, model.weights_)


@pytest.mark.parametrize("complement", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_coefficients_are_over_the_user_s_features(complement, n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (60, 7)), rng.integers(0, n_classes, 60)
    model = WinnowClassifier(complement=complement, random_state=0).fit(X, y)
    scores = X @ model.coef_.T + model.intercept_
    assert model.coef_.shape == (1 if n_classes == 2 else n_classes, 7)
    assert model.weights_.shape == (len(model.coef_), 14 if complement else 7)
    np.testing.assert_allclose(scores.squeeze(), model.decision_function(X), rtol=1e-12, atol=1e-9)


# -- what the parameters do -------------------------------------------------------------------------------------------


def test_negated_literals_need_complements():
    X = np.array(list(itertools.product([0, 1], repeat=6)))
    y = (X[:, 0] == 0) | (X[:, 3] == 1)
    model = WinnowClassifier(complement=True, epochs=None, random_state=0).fit(X, y)
    assert model.score(X, y) == 1
    assert model.threshold_ == 6
    assert set(np.argsort(model.weights_[0])[-2:]) == {6, 3}  # not x0, and x3
    assert WinnowClassifier(epochs=50, random_state=0).fit(X, y).score(X, y) < 1


def test_binarize_cuts_as_scikit_learn_does():
    """As BernoulliNB, which calls this function of theirs."""
    X = np.array([[0.5, 0.25], [0.75, -3.0], [0.25, 1e9], [0.0, 0.5]])
    y = [0, 1, 1, 0]
    for cut in (0.5, 0.25, 0):
        for form in (X, sp.csr_matrix(X), X.astype(np.float32)):
            model = WinnowClassifier(binarize=cut, random_state=0).fit(form, y)
            bits = WinnowClassifier(random_state=0).fit(binarize(X, threshold=cut), y)
            np.testing.assert_array_equal(model.weights_, bits.weights_)
            np.testing.assert_array_equal(
                model.decision_function(form), bits.decision_function(binarize(X, threshold=cut))
            )


def test_prediction_cuts_where_training_did():
    X, y = np.array([[0.2, 0.9], [0.9, 0.1], [0.9, 0.9]]), [0, 1, 1]
    model = WinnowClassifier(binarize=0.5, random_state=0).fit(X, y)
    expected = model.decision_function(X)
    np.testing.assert_array_equal(model.set_params(binarize=0.05).decision_function(X), expected)


def test_stored_zeros_and_duplicates_in_csr():
    X = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 1]])
    stored = sp.csr_matrix((np.array([1, 0, 1, 1, 0, 1]), np.array([2, 1, 0, 1, 0, 2]), np.array([0, 3, 4, 6])))
    twice = sp.csr_matrix((np.array([0.5, 0.5, 1, 1, 1]), np.array([0, 0, 2, 1, 2]), np.array([0, 3, 4, 5])))
    for form in (stored, twice):
        before = form.copy()
        for how in ({"complement": True}, {"complement": True, "binarize": 0.75}):
            model = WinnowClassifier(**how, shuffle=False).fit(form, [1, 0, 1])
            expected = WinnowClassifier(complement=True, shuffle=False).fit(X, [1, 0, 1])
            np.testing.assert_array_equal(model.weights_, expected.weights_)
        np.testing.assert_array_equal(form.data, before.data)
        np.testing.assert_array_equal(form.indices, before.indices)


def test_weights_neither_vanish_nor_overflow():
    """The first feature falls with each demotion and never rises; the second one is what the promotions are for."""
    X, y = [[1, 1], [0, 1]], [0, 1]
    model = WinnowClassifier(threshold=4.0, epochs=1500, shuffle=False).fit(X, y)
    assert model.weights_[0, 0] == TINY
    assert model.n_demotions_[0] > 1100
    expected = Textbook(1, 2, 2.0, 4.0, "divide", False)
    expected.present(X, [1, 0], [0, 1], 3000)
    expected.same_as(model)
    large = WinnowClassifier(promotion=1e150, threshold=1e150, epochs=50, shuffle=False).fit(X, y)
    assert np.isfinite(large.weights_).all()
    assert (large.weights_ > 0).all()
    assert np.isfinite(large.decision_function(X)).all()


def test_until_convergence():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 40))
    model = WinnowClassifier(epochs=None, random_state=0).fit(X, X[:, 3] | X[:, 9])
    assert model.converged_
    with pytest.warns(ConvergenceWarning, match="1000 epochs"):
        stubborn = WinnowClassifier(epochs=None).fit([[1], [1]], [0, 1])
    assert not stubborn.converged_
    assert stubborn.n_epochs_ == 1000


# -- bad input --------------------------------------------------------------------------------------------------------

BITS = np.random.default_rng(0).integers(0, 2, (20, 4))
LABELS = np.arange(20) % 3


def test_numbers_beyond_float64():
    error = refusal(WinnowClassifier(promotion=1e200, threshold=1e200), lambda m: m.fit(BITS, LABELS))
    assert isinstance(error, NotRepresentableError)
    assert_clear(error, "'promotion' and 'threshold'")


@pytest.mark.parametrize(
    ("form", "value"),
    [
        *itertools.product(["float64", "csr float64"], [2, -1, 1e-9]),
        *itertools.product(["int8", "csr int64"], [2, -1]),
    ],
)
def test_data_that_are_not_boolean(form, value):
    bad = BITS.astype(float)
    bad[7, 2] = bad[7, 3] = bad[9, 0] = value
    fitted = WinnowClassifier(random_state=0).fit(BITS, LABELS)
    for act in (
        lambda m: m.fit(contained(bad, form), LABELS),
        lambda m: m.partial_fit(contained(bad, form), LABELS),
        lambda m: m.predict(contained(bad, form)),
    ):
        assert_clear(refusal(fitted, act), "'binarize'", f"Got {contained(bad, form)[7, 2].item()!r} instead")


def test_sparse_data_cut_below_zero():
    error = refusal(WinnowClassifier(binarize=-0.5), lambda m: m.fit(sp.csr_matrix(BITS), LABELS))
    assert_clear(error, "'binarize'", "sparse", "Got -0.5 instead.")


# -- the bound --------------------------------------------------------------------------------------------------------


@thorough(250)
@given(data=st.data())
def test_no_run_exceeds_the_bound(data):
    """Random disjunctions, including the empty one; examples in any number and order, few of them distinct or many."""
    n = data.draw(st.integers(1, 40))
    literals = data.draw(st.lists(st.integers(0, n - 1), max_size=4, unique=True))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    X = (rng.random((data.draw(st.integers(1, 300)), n)) < data.draw(st.sampled_from([0.05, 0.3, 0.5, 0.9]))).astype(
        int
    )
    X[:, literals] &= rng.random((len(X), len(literals))) < data.draw(st.sampled_from([0.1, 0.5, 1.0]))
    y = X[:, literals].any(axis=1).astype(int)
    how = {
        "promotion": data.draw(st.floats(1.01, 20) | st.sampled_from([2.0, 1.5])),
        "threshold": data.draw(st.none() | st.floats(0.05, 200) | st.sampled_from([0.5, 1.0, 2.0, 8.0])),
        "demotion": data.draw(st.sampled_from(["divide", "eliminate"])),
    }
    model = WinnowClassifier(**how)
    for _ in range(data.draw(st.sampled_from([1, 3, 30]))):  # the same examples over and over are examples too
        model.partial_fit(X, y, classes=[0, 1])
    assert model.n_mistakes_[0] <= disjunction_mistake_bound(n, len(literals), **how)
    per_literal = math.ceil(math.log(model.threshold_, how["promotion"]) - 1e-9) if model.threshold_ > 1 else 0
    assert model.n_promotions_[0] <= len(literals) * per_literal
