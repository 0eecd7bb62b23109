"""The on-line perceptron, with and without weights: against the textbook, its lemmas, the batch engine, and river."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from paper import paper_perceptron
from river import linear_model, optim
from strategies import thorough
from test_online import FORMS, KERNELS, RATES, as_weights, held, learner_for, named, streams, target_for

from votron.errors import VotronError
from votron.kernels import ConjunctionKernel
from votron.online import OnlinePerceptron

WEIGHTS = [0.25, 0.5, 1.0, 2, 3, 7.5]


def weights_for(rows):
    """Weights of 1, as without any, or others."""
    drawn = st.lists(st.sampled_from(WEIGHTS), min_size=len(rows), max_size=len(rows))
    return st.one_of(st.just([1.0] * len(rows)), drawn)


def textbook(X, labels, weights, rate):
    """The weighted perceptron in exact arithmetic: (score, mistake, v, ‖v‖²) of every round."""
    eta, v, rounds = Fraction(rate), [Fraction(0)] * X.shape[1], []
    for x, y, weight in zip(X.tolist(), labels, weights, strict=True):
        score = sum(w * value for w, value in zip(v, x, strict=True))
        mistake = y * score <= 0
        if mistake:
            v = [w + eta * Fraction(weight) * y * value for w, value in zip(v, x, strict=True)]
        rounds.append((score, mistake, v, sum(w * w for w in v)))
    return rounds


@pytest.mark.parametrize("form", FORMS)
@thorough(25)
@given(stream=streams(), rate=RATES, data=st.data())
def test_the_textbook(form, stream, rate, data):
    X, labels = stream
    weights = data.draw(weights_for(X))
    learner = learner_for(form, learning_rate=rate, keep_history=True)
    found = textbook(X, labels, weights, rate)
    for i, (score, mistake, v, norm2) in enumerate(found):
        x = held(X[i], form, i)
        assert learner.decision(x) == pytest.approx(float(score), rel=1e-14, abs=0)
        assert learner.predict(x) == (1 if score >= 0 else -1)
        assert learner.update(x, labels[i], weights[i]) is mistake
        assert np.allclose(as_weights(learner.v, X.shape[1]), [float(w) for w in v], rtol=1e-14, atol=1e-12 * rate)
        assert learner.norm2 == pytest.approx(float(norm2), rel=1e-14, abs=0)
    assert (learner.k, learner.t) == (sum(each[1] for each in found), len(X))
    assert [r.weight for r in learner.history] == weights
    wrong = [i for i, each in enumerate(found) if each[1]]
    assert learner.alpha.tolist() == [rate * (labels[i] * weights[i]) for i in wrong]


@pytest.mark.parametrize("form", FORMS)
@thorough(25)
@given(stream=streams(), rate=RATES, data=st.data())
def test_the_lemmas_hold_in_every_round(form, stream, rate, data):
    """Exactly, on whole numbers and weights whose sums have no rounding."""
    X, labels = stream
    u = data.draw(hnp.arrays(np.int64, X.shape[1], elements=st.integers(-5, 5)))
    assume(u.any())
    if data.draw(st.booleans()):
        labels = np.where(X @ u >= 0, 1, -1).tolist()
    weights = data.draw(weights_for(X))
    learner, length = learner_for(form, learning_rate=rate, target=target_for(form, u)), np.linalg.norm(u)
    assert (learner.v_dot_u, learner.lemma1, learner.lemma2, learner.mistake_bound) == (0, 0, 0, 0)
    total = squares = 0.0
    for t, (x, y, w) in enumerate(zip(X, labels, weights, strict=True), 1):
        if learner.update(held(x, form, t), y, w):
            total, squares = total + w, squares + w * w
        assert learner.lemma1 <= learner.v_dot_u
        assert learner.norm2 <= learner.lemma2
        assert learner.k <= learner.mistake_bound
        margin, radius2 = (np.array(labels[:t]) * (X[:t] @ u)).min(), (X[:t] ** 2).sum(axis=1).max()
        assert learner.v_dot_u == pytest.approx(as_weights(learner.v, X.shape[1]) @ u / length, abs=1e-12 * rate)
        assert learner.margin == pytest.approx(margin / length)
        assert learner.radius2 == radius2
        assert learner.lemma1 == pytest.approx(rate * total * margin / length)
        assert learner.lemma2 == pytest.approx(rate**2 * squares * radius2)
        a, b = min(weights[:t]), max(weights[:t])
        bound = (a + b) ** 2 / (4 * a * b) * radius2 * (u @ u) / margin**2 if margin > 0 else math.inf
        assert learner.mistake_bound == pytest.approx(bound)


@pytest.mark.parametrize("form", FORMS)
def test_weight_0_is_the_example_left_out(form):
    rows, labels = np.array([[1, 2], [-2, 1], [3, 3], [1, -4]]), [1, -1, -1, 1]
    for left_out in (0, 2):
        one, other = (learner_for(form, target=target_for(form, np.ones(2)), keep_history=True) for _ in range(2))
        for i, (row, y) in enumerate(zip(rows, labels, strict=True)):
            mistake = one.update(held(row, form), y, 0.0 if i == left_out else 2.0)
            assert mistake is (i != left_out and other.update(held(row, form), y, 2.0))
        for name in ("k", "t", "norm2", "radius2", "lemma1", "lemma2", "mistake_bound", "v_dot_u"):
            assert getattr(one, name) == getattr(other, name)
        assert [r.t for r in one.history] == [1, 2, 3]
    undecided = OnlinePerceptron()
    undecided.update([1, 2, 3], +1, weight=0)
    assert undecided.v is None
    assert undecided.update({"a": 1}, +1)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@thorough(8)
@given(data=st.data())
def test_the_same_mistakes_as_the_batch_engine(kernel, data):
    """Example, score and ‖v‖² of every mistake of one pass, to the bit."""
    span = (0, 1) if isinstance(kernel, ConjunctionKernel) else (-5, 5)
    X, labels = data.draw(streams(*span, max_rows=60))
    keep = X.any(axis=1)
    X, labels = X[keep], np.array(labels)[keep]
    assume(len(set(labels.tolist())) == 2)
    weights = data.draw(weights_for(X))
    model = paper_perceptron(kernel, rule="last").partial_fit(X, labels, sample_weight=weights)
    learner = OnlinePerceptron(kernel, keep_history=True)
    form = data.draw(st.sampled_from(["vector", "sparse", "mixed"]))
    for i, (x, y, weight) in enumerate(zip(X, labels, weights, strict=True)):
        learner.update(held(x, form, i), y, weight)
    mistakes = [r for r in learner.history if r.mistake]
    assert [r.t - 1 for r in mistakes] == model.record_.example.tolist()
    assert [r.score for r in mistakes] == model.record_.score.tolist()
    assert [r.norm2 for r in mistakes] == model.record_.norm2.tolist()
    assert [learner.predict(x) for x in X] == model.predict(X).tolist()


@pytest.mark.parametrize("weight", [-1, math.nan, math.inf])
def test_bad_weights(weight):
    learner = OnlinePerceptron()
    learner.update([1, 2], +1)
    for accept in (learner.update, learner.learn_one):
        with pytest.raises(VotronError, match="weight of an example must be a finite number of 0 or more"):
            accept([2, 1], -1, weight)
    assert (learner.k, learner.t) == (1, 1)


# -- river ------------------------------------------------------------------------------------------------------------


@thorough(20)
@given(stream=streams(), data=st.data())
def test_weights_as_river_has_them(stream, data):
    """Hinge loss with threshold 0 is the perceptron: river's linear model with ``w`` has the same weights."""
    X, labels = stream
    weights = data.draw(weights_for(X))
    theirs = linear_model.LogisticRegression(
        optimizer=optim.SGD(1), loss=optim.losses.Hinge(threshold=0), intercept_lr=0, clip_gradient=math.inf
    )
    ours = OnlinePerceptron()
    for x, y, w in zip(map(named, X), labels, weights, strict=True):
        ours.learn_one(x, y > 0, w=w)
        theirs.learn_one(x, y > 0, w=w)
    assert all(ours.v.get(name, 0.0) == pytest.approx(theirs.weights.get(name, 0.0)) for name in "abcd")
