"""The on-line perceptron against the textbook, its lemmas, the batch engine, and river."""

import copy
import math
import pickle
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from refusals import assert_clear
from river import base, checks, compose, datasets, evaluate, linear_model, metrics, preprocessing
from strategies import thorough

from votron.errors import IndefiniteKernelError, NotRepresentableError, VotronError
from votron.kernels import ConjunctionKernel, GaussianKernel, LinearKernel, NormalizedKernel, PolynomialKernel
from votron.online import OnlinePerceptron, Round
from votron.reductions import add_bias

NAMES = "abcdefgh"
RATES = st.sampled_from([1.0, 0.5, 2, 0.1, 3.7, 1e-3, 1e6])
FORMS = ("vector", "sparse", "mixed", "named", "dual", "dual sparse")


def named(row):
    return dict(zip(NAMES, np.asarray(row).tolist(), strict=False))


def held(row, form, i=0):
    """A row in the form that a kind of learner takes."""
    if form == "named":
        return named(row)
    if "sparse" in form or (form == "mixed" and i % 2):
        return sp.csr_matrix(row)
    return row.tolist() if i % 3 else row


def learner_for(form, **parameters):
    return OnlinePerceptron("linear" if "dual" in form else None, **parameters)


def as_weights(v, d):
    """The guess of any form as an array of d weights."""
    if isinstance(v, dict):
        return np.array([v.get(name, 0.0) for name in NAMES[:d]])
    if isinstance(v, tuple):
        dense = [(c, x.toarray()[0] if sp.issparse(x) else x) for c, x in v]
        return sum((c * x for c, x in dense), np.zeros(d))
    return v


@st.composite
def streams(draw, low=-5, high=5, max_rows=30):
    """Rows of integers, some equal, with labels of -1 and +1 that may contradict each other."""
    d = draw(st.integers(1, 4))
    table = draw(hnp.arrays(np.int64, (draw(st.integers(1, 8)), d), elements=st.integers(low, high)))
    picks = draw(st.lists(st.integers(0, len(table) - 1), min_size=1, max_size=max_rows))
    labels = draw(st.lists(st.sampled_from([-1, 1]), min_size=len(picks), max_size=len(picks)))
    return table[picks], labels


def test_series_and_sparse_rows():
    learner = OnlinePerceptron()
    learner.update(pd.Series({"a": 1.0, "b": 0.0}), 1)
    assert learner.decision(pd.Series({"b": 5.0, "a": 1.0})) == 1
    rows = sp.csr_matrix([[1, 2]])[0], sp.csr_array([[1, 2]])[0], sp.coo_array([[1, 2]])
    for vector in (pd.Series([1, 2]), pd.Series([1, 2], index=[7, 3]), pl.Series("x", [1, 2]), *rows):
        assert taught(OnlinePerceptron(), vector).v.tolist() == [1, 2]


REALS = hnp.arrays(np.float64, (20, 3), elements=st.floats(-3, 3))


@pytest.mark.parametrize("kernel", [None, "poly", GaussianKernel(0.5)])
@thorough(25)
@given(X=REALS, bits=st.integers(0, 2**20 - 1), rate=RATES)
def test_the_learning_rate_scales_alpha_and_changes_no_prediction(kernel, X, bits, rate):
    """Graepel, Definition 1: to the bit, on real numbers too."""
    plain = OnlinePerceptron(kernel, keep_history=True)
    scaled = OnlinePerceptron(kernel, learning_rate=rate, keep_history=True)
    for i, x in enumerate(X):
        y = 1 if bits >> i & 1 else -1
        assert plain.predict(x) == scaled.predict(x)
        assert plain.update(x, y) == scaled.update(x, y)
        assert scaled.decision(x) == rate * plain.decision(x)
    assert np.array_equal(scaled.alpha, rate * plain.alpha)
    assert set(np.abs(plain.alpha)) <= {1.0}
    assert all(np.array_equal(a, b) for a, b in zip(plain.support, scaled.support, strict=True))
    assert scaled.norm2 == pytest.approx(rate**2 * plain.norm2)
    if kernel is None:
        assert np.array_equal(scaled.v, rate * plain.v)
        assert np.allclose(scaled.v, scaled.alpha @ np.reshape(scaled.support, (-1, 3)), atol=1e-12 * rate)


@thorough(30)
@given(st.permutations(range(8)), hnp.arrays(np.float64, (6, 8), elements=st.floats(-1e3, 1e3)))
def test_the_order_of_names_does_not_matter(order, X):
    one, other = OnlinePerceptron(), OnlinePerceptron()
    for i, row in enumerate(X):
        x = named(row)
        shuffled = {NAMES[j]: x[NAMES[j]] for j in order}
        assert one.decision(x) == other.decision(shuffled)
        assert one.update(x, (-1) ** i) == other.update(shuffled, (-1) ** i)
    assert one.v == other.v


@pytest.mark.parametrize("kernel", [None, "poly"])
def test_what_is_given_and_what_is_returned_stay_apart(kernel):
    learner = OnlinePerceptron(kernel, keep_history=True)
    x = np.array([1.0, 2.0])
    learner.update(x, 1)
    x[:] = 99
    assert learner.history[0].x.tolist() == [1, 2]
    shown = learner.v if kernel is None else learner.v[0][1]
    with pytest.raises(ValueError, match="read-only"):
        shown[0] = 5
    learner.history.clear()
    assert len(learner.history) == 1
    learner.update([1, -1], -1)
    assert shown.tolist() == [1, 2]
    assert len(learner.history) == 2
    by_name = OnlinePerceptron()
    given_ = {"a": 1}
    by_name.update(given_, 1)
    by_name.v["a"] = given_["a"] = 7
    assert by_name.v == {"a": 1.0}


def target_for(form, u):
    if "dual" in form:
        return [1.0], [held(u, form)]
    return held(u, form, 1)


@thorough(30)
@given(streams(-3, 3), st.data())
def test_the_lemmas_hold_in_feature_space(stream, data):
    """The target is what a first learner has found with a kernel."""
    X, labels = stream
    kernel = data.draw(st.sampled_from([PolynomialKernel(2), PolynomialKernel(3, 1.0, 0.0), LinearKernel()]))
    first = OnlinePerceptron(kernel)
    for x, y in zip(X, labels, strict=True):
        first.update(x, y)
    assume(first.norm2 > 0)
    learner = OnlinePerceptron(kernel, target=(first.alpha, first.support))
    scores = kernel(X, np.array(first.support)) @ first.alpha
    for t, x in enumerate(X):
        y = 1 if scores[t] >= 0 else -1
        learner.update(x, y)
        assert learner.lemma1 <= learner.v_dot_u
        assert learner.norm2 <= learner.lemma2
        assert learner.k <= learner.mistake_bound
        assert learner.v_dot_u**2 <= learner.norm2 * (1 + 1e-12)
    assert learner.margin == pytest.approx(np.abs(scores).min() / math.sqrt(first.norm2))


@pytest.mark.parametrize("form", FORMS)
@thorough(20)
@given(stream=streams(), with_target=st.booleans())
def test_history(form, stream, with_target):
    """Each round has what the learner said at the time, and all of it replays the game."""
    X, labels = stream
    u = target_for(form, np.ones(X.shape[1])) if with_target else None
    learner, running = learner_for(form, target=u, keep_history=True, learning_rate=0.5), []
    names = ["k", "norm2", "radius2", "lemma2"]
    names += ["v_dot_u", "margin", "lemma1", "mistake_bound"] if with_target else []
    for i, (x, y) in enumerate(zip(X, labels, strict=True)):
        x = held(x, form, i)
        said = learner.decision(x), learner.predict(x), learner.update(x, y)
        running.append((said, {name: getattr(learner, name) for name in names}))
    assert len(learner.history) == len(X)
    before, old = np.zeros(X.shape[1]), None
    for t, (r, (said, numbers)) in enumerate(zip(learner.history, running, strict=True), 1):
        assert isinstance(r, Round)
        assert (r.t, r.y, (r.score, r.prediction, r.mistake)) == (t, labels[t - 1], said)
        assert {name: getattr(r, name) for name in names} == numbers
        after = before + 0.5 * r.y * X[t - 1] if r.mistake else before
        assert np.array_equal(as_weights(r.v, X.shape[1]), after)
        assert np.array_equal(as_weights(((1.0, r.x),) if form != "named" else r.x, X.shape[1]), X[t - 1])
        assert r.mistake or r.v is old.v
        assert (r.v_dot_u is None) is not with_target
        before, old = after, r
    with pytest.raises(AttributeError):
        old.k = 7
    mistakes = [r for r in learner.history if r.mistake]
    assert learner.alpha.tolist() == [0.5 * r.y for r in mistakes]
    assert len(learner.support) == len(mistakes)


KERNELS = [
    LinearKernel(),
    PolynomialKernel(2),
    PolynomialKernel(5, 0.5, 1.0),
    GaussianKernel(0.3),
    NormalizedKernel(PolynomialKernel(3)),
    PolynomialKernel(4).of(NormalizedKernel(LinearKernel())),
    ConjunctionKernel(),
]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))])
@pytest.mark.parametrize("form", FORMS)
@thorough(8)
@given(stream=streams(), cut=st.integers(0, 30))
def test_copies_go_on_identically(form, copied, stream, cut):
    X, labels = stream
    learner = learner_for(form, target=target_for(form, np.ones(X.shape[1])), keep_history=True, learning_rate=0.3)
    rounds = [(held(x, form, i), y) for i, (x, y) in enumerate(zip(X, labels, strict=True))]
    for x, y in rounds[:cut]:
        learner.update(x, y)
    other = copied(learner)
    for x, y in rounds[cut:]:
        assert learner.decision(x) == other.decision(x)
        assert learner.update(x, y) == other.update(x, y)
    assert repr(learner) == repr(other)
    assert np.array_equal(as_weights(learner.v, X.shape[1]), as_weights(other.v, X.shape[1]))
    assert learner.norm2 == other.norm2
    assert learner.mistake_bound == other.mistake_bound
    k, x = learner.k, rounds[0][0]
    other.update(x, -1 if other.predict(x) == 1 else 1)
    assert (learner.k, other.k) == (k, k + 1)


# -- river ------------------------------------------------------------------------------------------------------------


class Checked(OnlinePerceptron, base.Classifier):
    """The learner, with what river's checks ask beside."""

    def _unit_test_skips(self):
        return set()


@pytest.mark.slow
def test_rivers_own_checks():
    assert isinstance(OnlinePerceptron(), base.Classifier)
    checks.check_estimator(Checked())


def test_rivers_evaluation():
    ours = preprocessing.StandardScaler() | compose.FuncTransformer(add_bias) | OnlinePerceptron()
    theirs = preprocessing.StandardScaler() | linear_model.Perceptron()
    mine = evaluate.progressive_val_score(datasets.Phishing(), ours, metrics.Accuracy())
    other = evaluate.progressive_val_score(datasets.Phishing(), theirs, metrics.Accuracy())
    assert mine.get() == pytest.approx(other.get() + 1 / 1250)  # the first example, see above
    assert (str(mine), str(other)) == ("Accuracy: 85.92%", "Accuracy: 85.84%")  # as docs/online.md says
    again = ours.clone()
    assert again["OnlinePerceptron"].t == 0
    assert evaluate.progressive_val_score(datasets.Phishing(), again, metrics.Accuracy()).get() == mine.get()
    assert (pickle.loads(pickle.dumps(ours)))["OnlinePerceptron"].v == ours["OnlinePerceptron"].v
    with pytest.raises(NotImplementedError, match="predicts labels, not probabilities"):
        evaluate.progressive_val_score(datasets.Phishing(), ours, metrics.ROCAUC())


@pytest.mark.parametrize("y", [True, 1.0, np.True_, False, 0, -1, np.False_])
def test_labels_of_river(y):
    learner = OnlinePerceptron()
    assert learner.learn_one({"a": 1}, y) is None
    assert learner.v == {"a": 1.0 if y == 1 else -1.0}
    assert learner.predict_one({"a": 1}) is bool(y == 1)


def test_parameters_as_river_handles_them():
    learner = OnlinePerceptron("poly", learning_rate=0.5, target=([1], [[1, 2]]), keep_history=True)
    learner.update([1, 1], 1)
    fresh = learner.clone({"learning_rate": 2})
    assert (fresh.kernel, fresh.learning_rate, fresh.keep_history, fresh.t) == ("poly", 2.0, True, 0)
    assert fresh.target == ([1], [[1, 2]])
    assert learner.clone(include_attributes=True).k == 1


@pytest.mark.slow
def test_river_is_not_needed():
    """Nothing of it is loaded, and a learner from before it is loaded is a classifier as soon as another is made."""
    code = (
        "import pickle, sys; from votron.online import OnlinePerceptron; early = OnlinePerceptron(); "
        "early.learn_one({'a': 1}, True); print('river' in sys.modules, early.predict_one({'a': 1})); "
        "from river import base; pickle.loads(pickle.dumps(early)); print(isinstance(early, base.Classifier))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["False", "True", "True"]


# -- bad input --------------------------------------------------------------------------------------------------------

LEARNT = {
    "new": lambda: OnlinePerceptron(keep_history=True),
    "vector": lambda: taught(OnlinePerceptron(keep_history=True, target=[1, 1]), [1.0, 2.0]),
    "named": lambda: taught(OnlinePerceptron(keep_history=True), {"a": 1, "b": 2}),
    "new dual": lambda: OnlinePerceptron("poly", keep_history=True),
    "dual": lambda: taught(OnlinePerceptron("poly", keep_history=True), [1.0, 2.0]),
}


def taught(learner, x):
    learner.update(x, 1)
    return learner


VECTORS = ("new", "vector", "new dual", "dual")
BAD = [
    (VECTORS, [1, math.nan], "Got nan for feature 1 instead."),
    (VECTORS, sp.csr_matrix([[0.0, np.nan]]), "Got nan for feature 1 instead."),
    (VECTORS, np.zeros((3, 2)), "Got shape (3, 2) instead."),
    (VECTORS, 5.0, "Got shape () instead."),
    (VECTORS, "text", "Got 'text' instead."),
    (VECTORS, [[1, 2], [3]], "Got [[1, 2], [3]] instead."),
    (VECTORS, sp.csr_matrix([[1j, 2]]), "must be a vector of"),
    (["vector"], [1, 2, 3], "must be a vector of 2 numbers. Got shape (3,) instead."),
    (["vector", "new dual"], {"a": 1}, "Got {'a': 1} instead."),
    (["named"], [1, 2], "must be a mapping of names"),
    (["named"], {"a": 1, "b": "red"}, "Got 'red' for 'b' instead."),
]


@pytest.mark.parametrize(("form", "x", "words"), [(form, x, words) for forms, x, words in BAD for form in forms])
def test_a_bad_example_is_refused_and_changes_nothing(form, x, words):
    learner = LEARNT[form]()
    before = pickle.dumps(learner)
    for act in (lambda: learner.update(x, 1), lambda: learner.learn_one(x, True), lambda: learner.predict(x)):
        with pytest.raises(VotronError) as caught:
            act()
        assert_clear(caught.value, words)
        assert pickle.dumps(learner) == before


@pytest.mark.parametrize("y", [2, "1", None])
def test_bad_labels(y):
    learner = OnlinePerceptron()
    for accept in (learner.update, learner.learn_one):
        with pytest.raises(VotronError, match=r"must be \+1 or -1"):
            accept([1], y)
    with pytest.raises(VotronError):
        learner.update([1], 0)


@pytest.mark.parametrize(("name", "value"), [("learning_rate", 0), ("kernel", "precomputed")])
def test_bad_parameters(name, value):
    with pytest.raises(VotronError, match=f"The '{name}' parameter of OnlinePerceptron must ") as caught:
        OnlinePerceptron(**{name: value})
    assert caught.value.parameter == name


@pytest.mark.parametrize(
    ("kernel", "target", "words"),
    [
        (None, [0, 0], "positive length"),
        (None, [1e200, 1], "positive length"),
        (None, {"a": "red"}, "finite numbers"),
        ("poly", [1, 2], "pair (coefficients, examples)"),
        ("poly", ([1, 2], [[1], [1, 2]]), "1 numbers"),
        ("linear", ([1, -1], [[1, 2], [1, 2]]), "positive length"),
    ],
)
def test_bad_targets(kernel, target, words):
    with pytest.raises(VotronError, match=re.escape(words)) as caught:
        OnlinePerceptron(kernel, target=target)
    assert caught.value.parameter == "target"


@pytest.mark.parametrize(
    ("needed", "names"),
    [("target=u", ["v_dot_u", "margin", "lemma1", "mistake_bound"]), ("keep_history", ["history", "alpha", "support"])],
)
def test_what_is_not_kept(needed, names):
    learner = taught(OnlinePerceptron(), [1, 2])
    for name in names:
        with pytest.raises(VotronError, match=needed):
            getattr(learner, name)
        assert not hasattr(learner, name)


@pytest.mark.parametrize("kernel", [None, "poly", "linear", "rbf"])
def test_numbers_beyond_float64(kernel):
    learner = OnlinePerceptron(kernel, keep_history=True)
    learner.update([1.0, 1.0], 1)
    before = pickle.dumps(learner)
    with pytest.raises(NotRepresentableError) as caught:
        learner.update([-1e200, -1e200], 1)
    assert_clear(caught.value, "float64")
    assert pickle.dumps(learner) == before
    assert learner.predict([-1.0, -1.0]) == (1 if kernel == "rbf" else -1)


def test_what_is_no_kernel_is_found_out():
    negative = OnlinePerceptron(lambda A, B: -(A @ B.T))
    with pytest.raises(IndefiniteKernelError, match="would become -5"):
        negative.update([1, 2], 1)
    assert negative.t == 0

    def indefinite(A, B):
        same = (A[:, None] == B[None]).all(axis=2)
        return np.where(same, 1.0, 5.0)

    learner = OnlinePerceptron(indefinite)
    assert learner.update([1], 1)
    with pytest.raises(IndefiniteKernelError, match="is not positive semi-definite on these data"):
        learner.update([2], -1)
    assert (learner.k, learner.t, learner.decision([2])) == (1, 1, 5.0)
