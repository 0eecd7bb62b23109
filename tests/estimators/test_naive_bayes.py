"""Naive Bayes: the weights are those of the notes, the predictions and log-odds those of BernoulliNB."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from refusals import assert_clear, refusal
from sklearn.naive_bayes import BernoulliNB
from strategies import thorough

from votron import NaiveBayesLinearClassifier
from votron.errors import VotronError

EXACT = 1e-10

# -- the textbook -----------------------------------------------------------------------------------------------------


def textbook(X, y, weights, positive, negative, *, alpha, prior):
    """p, q and the log-odds of two classes, from counts and logarithms, as section 2 of the notes defines them."""

    def chance(value, i, label):
        n = sum(w for row, c, w in zip(X, y, weights, strict=True) if c == label and row[i] == value)
        return (n + alpha) / (sum(w for c, w in zip(y, weights, strict=True) if c == label) + 2 * alpha)

    def ratio(value, i):
        return math.log(chance(value, i, positive) / chance(value, i, negative))

    n_features = len(X[0])
    p, q = [ratio(1, i) for i in range(n_features)], [ratio(0, i) for i in range(n_features)]
    return p, q, math.log(prior[positive] / prior[negative])


@dataclass
class Task:
    """Binary data with labels, and the parameters to learn them with."""

    X: Any
    y: list
    weights: Any
    parameters: dict

    @property
    def data(self):
        return self.X.toarray() if sp.issparse(self.X) else np.asarray(self.X)

    @property
    def counted(self):
        return [1.0] * len(self.y) if self.weights is None else self.weights

    def prior(self, classes):
        """The probability of each class, to a factor."""
        if self.parameters["class_prior"] is not None:
            return dict(zip(classes, self.parameters["class_prior"], strict=True))
        if not self.parameters["fit_prior"]:
            return dict.fromkeys(classes, 1.0)
        return {c: sum(w for label, w in zip(self.y, self.counted, strict=True) if label == c) for c in classes}


@st.composite
def tasks(draw, least=2, most=4):
    k, d = draw(st.integers(least, most)), draw(st.integers(1, 7))
    classes = draw(st.sampled_from([list(range(k)), ["ham", "rhubarb", "spam", "tea"][:k], [-1, 1, 3, 7][:k]]))
    y = classes + draw(st.lists(st.sampled_from(classes), max_size=25))
    form = draw(st.sampled_from([np.array, sp.csr_matrix, sp.csr_array]))
    dtype = draw(st.sampled_from([bool, np.uint8, np.int64, np.float32, np.float64]))
    X = draw(hnp.arrays(np.int64, (len(y), d), elements=st.integers(0, 1))).astype(dtype)
    weights = st.lists(st.floats(0.1, 5), min_size=len(y), max_size=len(y))
    parameters = {
        "alpha": draw(st.sampled_from([0.05, 0.5, 1, 3.25])),
        "fit_prior": draw(st.booleans()),
        "class_prior": draw(st.none() | st.lists(st.floats(0.01, 1), min_size=k, max_size=k)),
        "binarize": draw(st.sampled_from([None, 0.0, 0.5])),
    }
    return Task(form(X), y, draw(st.none() | weights), parameters)


def learnt(task):
    """The model, and scikit-learn's."""
    mine, theirs = NaiveBayesLinearClassifier(**task.parameters), BernoulliNB(**task.parameters)
    return mine.fit(task.X, task.y, task.weights), theirs.fit(task.X, task.y, task.weights)


def every_row(d):
    """All vectors of d bits."""
    return (np.arange(2**d)[:, None] >> np.arange(d)) & 1


# -- the same as BernoulliNB ------------------------------------------------------------------------------------------


@given(tasks())
@thorough(80)
def test_log_odds_and_predictions_are_those_of_bernoulli_nb(task):
    mine, theirs = learnt(task)
    for rows in (task.X, every_row(task.X.shape[1]), sp.csr_matrix(every_row(task.X.shape[1]))):
        joint = theirs.predict_joint_log_proba(rows)
        expected = joint[:, 1] - joint[:, 0] if len(theirs.classes_) == 2 else joint
        scores = mine.decision_function(rows)
        assert scores.shape == expected.shape
        np.testing.assert_allclose(scores, expected, rtol=0, atol=EXACT)
        assert np.array_equal(mine.predict(rows), theirs.predict(rows))
        assert np.array_equal(mine.predict_proba(rows), theirs.predict_proba(rows))


def test_a_tie_is_the_first_class():
    model = NaiveBayesLinearClassifier().fit([[0, 1], [1, 0]], ["a", "b"])
    assert np.array_equal(model.decision_function([[1, 1], [0, 0]]), [0, 0])
    assert list(model.predict([[1, 1], [0, 0]])) == ["a", "a"]


def test_real_numbers_are_cut_as_in_bernoulli_nb():
    rng = np.random.RandomState(0)
    X, y = rng.randn(80, 6), rng.randint(0, 2, 80)
    for threshold in (0.0, 0.7):
        mine = NaiveBayesLinearClassifier(binarize=threshold).fit(X, y)
        joint = BernoulliNB(binarize=threshold).fit(X, y).predict_joint_log_proba(X)
        np.testing.assert_allclose(mine.decision_function(X), joint[:, 1] - joint[:, 0], rtol=0, atol=EXACT)


# -- the weights of the notes -----------------------------------------------------------------------------------------


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=EXACT)


@given(tasks())
@thorough(80)
def test_weights_are_those_of_the_notes(task):
    model, _ = learnt(task)
    classes = model.classes_.tolist()
    for positive in classes:
        for negative in classes:
            if positive == negative:
                continue
            prior = task.prior(classes)
            p, q, odds = textbook(
                task.data.tolist(), task.y, task.counted, positive, negative, alpha=model.alpha, prior=prior
            )
            w, w_0 = np.subtract(p, q), sum(q) + odds
            a, b = classes.index(positive), classes.index(negative)
            if len(classes) > 2:
                assert_close(model.presence_log_ratio_[a] - model.presence_log_ratio_[b], p)
                assert_close(model.absence_log_ratio_[a] - model.absence_log_ratio_[b], q)
                assert_close(model.class_log_odds_[a] - model.class_log_odds_[b], odds)
                assert_close(model.coef_[a] - model.coef_[b], w)
                assert_close(model.intercept_[a] - model.intercept_[b], w_0)
            elif a == 1:
                assert_close(model.presence_log_ratio_, [p])
                assert_close(model.absence_log_ratio_, [q])
                assert_close(model.class_log_odds_, [odds])
                assert_close(model.coef_, [w])
                assert_close(model.intercept_, [w_0])


# -- learning in parts, and stored models -----------------------------------------------------------------------------


@given(tasks(), st.data())
@thorough(60)
def test_parts_give_what_the_whole_gives(task, data):
    whole, _ = learnt(task)
    cut = data.draw(st.integers(1, len(task.y) - 1))
    parts = NaiveBayesLinearClassifier(**task.parameters)
    for part in (slice(0, cut), slice(cut, None)):
        weights = None if task.weights is None else task.weights[part]
        parts.partial_fit(task.X[part], task.y[part], classes=sorted(set(task.y), reverse=True), sample_weight=weights)
    assert_close(parts.coef_, whole.coef_)
    assert_close(parts.intercept_, whole.intercept_)
    assert_close(parts.decision_function(task.X), whole.decision_function(task.X))


def test_partial_fit_goes_on_from_fit_and_takes_the_classes_of_its_first_batch():
    X, y = [[1, 0], [0, 1], [1, 1], [0, 0]], ["a", "b", "b", "a"]
    whole = NaiveBayesLinearClassifier().fit(X, y)
    for start in (NaiveBayesLinearClassifier.fit, NaiveBayesLinearClassifier.partial_fit):
        parts = start(NaiveBayesLinearClassifier(), X[:2], y[:2])
        parts.partial_fit(X[2:], y[2:])
        assert np.array_equal(parts.coef_, whole.coef_)
        assert np.array_equal(parts.intercept_, whole.intercept_)


def test_a_class_without_examples_yet():
    two = NaiveBayesLinearClassifier().partial_fit([[1], [0]], [0, 0], classes=[0, 1])
    assert np.array_equal(two.decision_function([[1], [0]]), [-np.inf, -np.inf])
    assert list(two.predict([[1], [0]])) == [0, 0]
    given_prior = NaiveBayesLinearClassifier(class_prior=[0.5, 0.5]).partial_fit([[1], [0]], [0, 0], classes=[0, 1])
    assert given_prior.decision_function([[1]]) == pytest.approx([0.0])


# -- bad input --------------------------------------------------------------------------------------------------------

X = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 0]] * 3)
Y = np.array(["a", "b", "b", "a"] * 3)


@pytest.mark.parametrize("alpha", [0, 0.0, 1e-300, 1e308])
def test_infinite_weights(alpha):
    rows, labels = [[1, 0, 1], [1, 1, 1], [1, 0, 0]], ["a", "a", "b"]
    for learn in (NaiveBayesLinearClassifier.fit, NaiveBayesLinearClassifier.partial_fit):
        error = refusal(NaiveBayesLinearClassifier(alpha=alpha), lambda m, learn=learn: learn(m, rows, labels))
        assert isinstance(error, VotronError)
        assert_clear(error, "'alpha'", "feature 0 in class 'a'", f"Got {alpha!r} instead.")


@pytest.mark.parametrize("form", [np.array, sp.csr_matrix])
def test_data_said_to_be_binary(form):
    model, bad = NaiveBayesLinearClassifier(binarize=None).fit(X, Y), form(5 * X)
    for act in (lambda m: m.predict(bad), lambda m: m.fit(bad, Y)):
        assert_clear(refusal(model, act), "binarize=None", "Got 5 instead.")
