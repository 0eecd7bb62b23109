"""Probabilities: the map and progressive scores against a textbook, where they come from, and where they go."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.utils import shuffle

import votron
from votron import AveragedPerceptronClassifier, VotedPerceptronClassifier, VotedPerceptronClassifierCV
from votron.estimators._probabilities import (
    ENOUGH,
    ProbabilisticClassifier,
    groups_of,
    progressive_scores,
    slope_of,
)
from votron.rules import RULES

DIGITS, NAMES = shuffle(*load_digits(return_X_y=True), random_state=0)  # writers come one after another
RULE_CHOICES = [
    (name, normalized)
    for name, rule in RULES.items()
    for normalized in ((False, True) if rule.needs_lengths else (False,))
    if not rule.needs_held_out
]


def whole_numbers(n=60, n_classes=3, seed=0):
    """Rows and labels with which sums are exact."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, 5)).astype(float)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1) * (n_classes > 2)
    return X, np.where(rng.random(n) < 0.1, (y + 1) % n_classes, y)


# -- the map ----------------------------------------------------------------------------------------------------------


def textbook_slope(before, after, labels):
    """The best of many slopes, one row at a time."""
    before, after = (np.hstack([np.zeros_like(s), s]) if s.shape[1] == 1 else s for s in (before, after))
    leads = [sorted(row)[-1] - sorted(row)[-2] for row in before]
    unit = np.mean(leads)

    def loss(slope):
        total = slope / 5
        for row, label in zip(before / unit, labels, strict=True):
            total += np.log(np.sum(np.exp(slope * (row - row[label]))))
        return total

    best = min(np.geomspace(1e-2, 20, 2001), key=loss)
    easy = [i for i, row in enumerate(before) if np.argmax(row) == labels[i] and leads[i] >= np.median(leads)] or list(
        range(len(before))
    )
    size = [np.mean([np.abs(s[i] - s[i].mean()).mean() for i in easy]) for s in (before, after)]
    return best / unit / (size[1] / size[0])


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("noise", [0.3, 1.0, 3.0])
def test_the_slope_is_the_textbooks(n_classes, noise):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, 80)
    target = np.where(labels == 1, 1.0, -1.0)[:, None] if n_classes == 2 else 2 * np.eye(n_classes)[labels]
    before = target + noise * rng.normal(size=target.shape)
    after = 2.5 * before + 0.1 * rng.normal(size=target.shape)
    assert slope_of(before, after, labels) == pytest.approx(textbook_slope(before, after, labels), rel=0.004)


def test_the_slope_is_a_number_above_zero_whatever_the_scores():
    labels = np.array([0, 1, 1, 0])
    right = np.where(labels == 1, 1.0, -1.0)[:, None]
    for scores in (right, -right, 0 * right, 1e300 * right, np.hstack([right, right, right])):
        for after in (scores, 0 * scores):
            slope = slope_of(scores, after, labels)
            assert np.isfinite(slope)
            assert slope > 0
    assert slope_of(right, right, labels) < 10  # four rows that are right do not make it sure


class Fixed(ProbabilisticClassifier):
    """A model with given scores and slope."""

    def __init__(self, scores=None, slope=1.0):
        self.scores, self.slope = scores, slope
        self.n_classes = 2 if scores.ndim == 1 else scores.shape[1]
        self.classes_, self.n_features_in_ = np.arange(self.n_classes), 1
        self._slopes = {"it": slope}

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        return self._shaped(self.scores[:, None]) if self.scores.ndim == 1 else self.scores

    def _predictor_key(self):
        return "it"


SCORES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 1.7e308, 5e-324, -5e-324, 1e-300, 1 + 2**-52]),
    st.floats(-10, 10),
)
SLOPES = st.one_of(st.sampled_from([5e-324, 1e-300, 1e-9, 1.0, 1e9, 1e300]), st.floats(1e-3, 1e3))


@given(
    scores=st.integers(2, 5).flatmap(lambda k: arrays(np.float64, (4,) if k == 2 else (4, k), elements=SCORES)),
    slope=SLOPES,
)
def test_the_most_probable_class_is_the_predicted_one(scores, slope):
    model = Fixed(scores, slope)
    labels = model.predict(None)
    p, logs = model.predict_proba(None), model.predict_log_proba(None)
    assert p.argmax(axis=1).tolist() == labels.tolist()
    assert logs.argmax(axis=1).tolist() == labels.tolist()
    assert ((p >= 0) & (p <= 1)).all()
    assert np.allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert np.allclose(np.exp(logs), p, atol=1e-12)


# -- progressive scores -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("margin", [0.0, 0.5])
@pytest.mark.parametrize("epochs", [1, 4])
def test_rows_are_scored_by_what_came_before_them(n_classes, margin, epochs):
    """The model that is trained on the rows before a group scores it the same, by every rule."""
    X, y = whole_numbers(n_classes=n_classes)
    settings = {"gamma": 1.0, "degree": 2, "margin": margin, "random_state": 0}
    model = VotedPerceptronClassifier(epochs=epochs, shuffle=False, **settings).fit(X, y)
    sample = model._sample
    found = progressive_scores(model._vectors, sample, RULE_CHOICES, n_threads=2)
    assert sample.times.tolist() == list(range(30, 60))
    for time, rows in groups_of(sample):
        assert (sample.times[rows] >= time).all()
        earlier = VotedPerceptronClassifier(**settings).partial_fit(X[:time], y[:time], classes=range(n_classes))
        earlier._vectors = type(earlier._vectors)(
            earlier.record_, earlier.kernel_, earlier._vectors.support_rows, model._vectors.seed
        )
        for name, normalized in RULE_CHOICES:
            expected = earlier._vectors.scores(X[sample.times[rows]], name, normalized)
            assert np.array_equal(found[name, normalized][0][rows], expected), name
            at_the_end = model._vectors.scores(X[sample.times[rows]], name, normalized)
            assert np.array_equal(found[name, normalized][1][rows], at_the_end), name


def textbook_weights(X, y, n_classes, joint, margin):
    """The averaged perceptron, one example after another: yield its average and last vectors before each."""
    vectors = 1 if n_classes == 2 else n_classes
    X = np.hstack([X, np.ones((len(X), 1))])
    v, total = np.zeros((vectors, X.shape[1])), np.zeros((vectors, X.shape[1]))
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        yield total / max(1, t), v.copy()
        scores, least = v @ x, margin * (x @ x)
        if joint and vectors > 1:
            others = np.where(np.arange(vectors) == label, -np.inf, scores)
            if scores[label] - others.max() <= least:
                v[label] += x
                v[others.argmax()] -= x
        else:
            signs = np.where(np.arange(vectors) == label, 1, -1) if vectors > 1 else np.array([1 if label == 1 else -1])
            v += np.where(signs * scores <= least, signs, 0)[:, None] * x
        total += v


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("margin", [0.0, 0.5])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("epochs", [1, 3])
def test_weights_score_rows_before_they_learn_them(n_classes, joint, margin, form, epochs):
    X, y = whole_numbers(n_classes=n_classes)
    model = AveragedPerceptronClassifier(
        epochs=epochs, shuffle=False, margin=margin, multiclass="joint" if joint else "ovr"
    ).fit(form(X), y)
    sample, before = model._sample, list(textbook_weights(X, y, n_classes, joint, margin))
    assert sample.times.tolist() == list(range(30, 60))
    firsts = np.array([part[0] for part in np.array_split(sample.times, 4) for _ in part])
    for i, (time, first) in enumerate(zip(sample.times, firsts, strict=True)):
        x = np.append(X[time], 1.0)
        average, last = before[first]
        assert np.allclose(sample.before["average"][i], average @ x, rtol=1e-12, atol=1e-12)
        assert np.array_equal(sample.before["last"][i], last @ x)
    assert sample.labels.tolist() == y[30:].tolist()


# -- where they come from, and where they go --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def voted():
    return VotedPerceptronClassifier(degree=2, gamma=0.001, random_state=0).fit(DIGITS[:1000], NAMES[:1000])


@pytest.fixture(scope="module")
def averaged():
    return AveragedPerceptronClassifier(random_state=0).fit(DIGITS[:1000], NAMES[:1000])


@pytest.mark.parametrize("choice", RULE_CHOICES)
def test_every_rule_has_a_map_of_its_own(voted, choice, tmp_path):
    model = voted.with_rule(*choice)
    p = model.predict_proba(DIGITS[1000:])
    assert (model.classes_[p.argmax(axis=1)] == model.predict(DIGITS[1000:])).all()
    assert log_loss(NAMES[1000:], p) < 0.6
    voted.save(tmp_path / "model.votron")
    again = votron.load(tmp_path / "model.votron").with_rule(*choice)
    assert np.array_equal(again.predict_proba(DIGITS[1000:]), p)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(DIGITS[1000:]), p)
    assert np.allclose(model.compact().predict_proba(DIGITS[1000:]), p)


@pytest.mark.parametrize("average", [True, False])
def test_weights_have_a_map_for_each_of_their_vectors(averaged, average, tmp_path):
    model = pickle.loads(pickle.dumps(averaged)).set_params(average=average)
    p = model.predict_proba(DIGITS[1000:])
    assert log_loss(NAMES[1000:], p) < 0.5
    averaged.save(tmp_path / "model.votron")
    again = votron.load(tmp_path / "model.votron").set_params(average=average)
    assert np.array_equal(again.predict_proba(DIGITS[1000:]), p)
    assert np.allclose(model.compact().predict_proba(DIGITS[1000:]), p)


def test_precomputed_kernels_have_them_even_compact():
    K = polynomial_kernel(DIGITS[:600], degree=2, gamma=0.001)
    rows = polynomial_kernel(DIGITS[600:700], DIGITS[:600], degree=2, gamma=0.001)
    weights = np.where(np.arange(600) % 7 == 0, 0.0, 1.0)
    model = VotedPerceptronClassifier(kernel="precomputed", random_state=0)
    for fitted in (model.fit(K, NAMES[:600]), clone(model).fit(K, NAMES[:600], sample_weight=weights)):
        p = fitted.predict_proba(rows)
        assert log_loss(NAMES[600:700], p) < 0.5
        assert np.allclose(fitted.compact().predict_proba(rows), p)


def test_classes_one_after_another_are_warned_of():
    order = np.argsort(NAMES[:500], kind="stable")
    for model in (VotedPerceptronClassifier(shuffle=False), AveragedPerceptronClassifier(shuffle=False)):
        model.fit(DIGITS[order], NAMES[order])
        with pytest.warns(UserWarning, match="presented one after another"):
            model.predict_proba(DIGITS[:2])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.set_params(shuffle=True, random_state=0).fit(DIGITS[order], NAMES[order]).predict_proba(DIGITS[:2])


def test_held_out_rows_are_used_where_they_are_enough():
    X, y = make_classification(6000, flip_y=0.2, random_state=0)
    settings = {"kernel": "linear", "random_state": 0, "epochs": 3}
    many = VotedPerceptronClassifier(early_stopping=True, **settings).fit(X, y)
    assert len(many._sample) == 600 >= ENOUGH
    assert set(many._sample.times) == {many.record_.n_steps}
    few = VotedPerceptronClassifier(early_stopping=True, **settings).fit(X[:1000], y[:1000])
    assert few._sample.times.max() < min(900, few.record_.n_steps)
    weights = AveragedPerceptronClassifier(early_stopping=True, random_state=0).fit(X, y)
    assert len(weights._sample) == 600
    plain = VotedPerceptronClassifier(**settings).fit(X[:1000], y[:1000])
    for other in (
        plain.with_best_moment(X[1000:2000], y[1000:2000]),
        plain.with_rule("holdout", X_val=X[1000:2000], y_val=y[1000:2000]),
    ):
        assert np.array_equal(other._sample.rows, X[1000:2000])
    for model in (many, few, weights):
        assert log_loss(y[2000:], model.predict_proba(X[2000:])) < 0.69


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    "make", [lambda: VotedPerceptronClassifier(gamma=0.001, degree=2), lambda: AveragedPerceptronClassifier()]
)
def test_batches_carry_them_on(make, form, tmp_path):
    model = make()
    for low in range(0, 1000, 100):
        rows = form(DIGITS[low : low + 100])
        model.partial_fit(rows, NAMES[low : low + 100], classes=range(10))
        p = model.predict_proba(DIGITS[1000:])
    assert log_loss(NAMES[1000:], p) < 0.35
    assert len(model._sample) == 950  # the second half of the first batch, and the others
    model.save(tmp_path / "model.votron")
    again = votron.load(tmp_path / "model.votron")
    again.partial_fit(DIGITS[1000:1010], NAMES[1000:1010])
    assert again._sample is None  # what the file says is better than ten rows
    assert log_loss(NAMES[1000:], again.predict_proba(DIGITS[1000:])) < 0.35


BOTH = [lambda **settings: VotedPerceptronClassifier(gamma=0.001, degree=2, **settings), AveragedPerceptronClassifier]


def test_few_held_out_rows_leave_a_loaded_model_what_its_file_says(voted, tmp_path):
    X, y = DIGITS[1000:1100], NAMES[1000:1100]
    voted.save(tmp_path / "model.votron")
    loaded = votron.load(tmp_path / "model.votron")
    few = loaded.with_rule("holdout", X_val=X, y_val=y)
    assert few._sample is None
    assert not hasattr(few, "predict_proba")
    assert loaded.with_best_moment(X, y)._slope() == loaded._slope()
    enough = loaded.with_rule("holdout", X_val=DIGITS[1000:1600], y_val=NAMES[1000:1600])
    assert len(enough._sample) == 600


@pytest.mark.parametrize("make", BOTH)
def test_no_row_learnt_means_no_probabilities(make, tmp_path):
    X, y = DIGITS[:100], NAMES[:100]
    model = make().partial_fit(X, y, classes=range(10), sample_weight=np.zeros(100))
    assert not hasattr(model, "predict_proba")
    model.save(tmp_path / "model.votron")
    assert not hasattr(votron.load(tmp_path / "model.votron"), "predict_proba")
    model.partial_fit(X, y)
    assert model.predict_proba(X).shape == (100, 10)


def test_the_search_has_those_of_its_best_model():
    model = VotedPerceptronClassifierCV(kernels=["linear"], epochs=2, cv=2, random_state=0)
    model.fit(DIGITS[:300], NAMES[:300])
    for method in ("predict_proba", "predict_log_proba"):
        expected = getattr(model.best_estimator_, method)(DIGITS[300:320])
        assert np.array_equal(getattr(model, method)(DIGITS[300:320]), expected)


# -- agreement --------------------------------------------------------------------------------------------------------


def test_agreement_is_the_share_of_the_votes(voted):
    shares = voted.with_rule("vote").decision_function(DIGITS[1000:])
    assert np.array_equal(voted.agreement(DIGITS[1000:]), (1 + shares.max(axis=1)) / 2)
    last = voted.with_rule("last")
    labels = last.predict(DIGITS[1000:])
    assert np.array_equal(last.agreement(DIGITS[1000:]), (1 + shares[np.arange(len(labels)), labels]) / 2)


# -- conformal prediction ---------------------------------------------------------------------------------------------
