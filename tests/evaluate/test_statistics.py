"""Corrected t-tests, intervals and Holm's method, beside their textbook versions; and how often they are wrong."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import RepeatedStratifiedKFold
from strategies import thorough

from votron.evaluate import Comparison, ComparisonRow
from votron.evaluate.statistics import corrected_interval, corrected_p, differences, holm

SCORES = st.lists(st.integers(0, 1000).map(lambda k: k / 1000), min_size=2, max_size=20)
SHARES = st.sampled_from([1 / (k - 1) for k in (2, 3, 5, 10)])


def textbook_t(values, test_share):
    """Nadeau and Bengio's statistic, one number after another."""
    n = len(values)
    mean = math.fsum(values) / n
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return mean, math.sqrt((1 / n + test_share) * variance)


def textbook_holm(p_values, level):
    """Tell what Holm rejects: the least p against level/m, the next against level/(m - 1), until one is not."""
    rejected, m = set(), len(p_values)
    for k, at in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        if p_values[at] >= level / (m - k):
            break
        rejected.add(at)
    return rejected


@given(SCORES, SHARES)
@thorough(200)
def test_corrected_t_is_that_of_the_textbook(values, test_share):
    mean, error = textbook_t(values, test_share)
    if error > 1e-9:
        expected = 2 * scipy.stats.t.sf(abs(mean) / error, len(values) - 1)
        assert corrected_p(values, test_share) == pytest.approx(expected, rel=1e-6, abs=1e-12)
        half = scipy.stats.t.ppf(0.975, len(values) - 1) * error
        assert corrected_interval(values, test_share) == pytest.approx((mean - half, mean + half))
    else:
        assert corrected_p(values, test_share) == (1.0 if abs(mean) < 1e-12 else 0.0)
        assert corrected_interval(values, test_share) == pytest.approx((mean, mean))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.sampled_from([0.01, 0.05, 0.2]))
@thorough(200)
def test_holm_rejects_what_the_textbook_rejects(p_values, level):
    adjusted = holm(p_values)
    near = any(abs(each - level) < 1e-9 for each in adjusted)  # where rounding decides
    assert near or {i for i, each in enumerate(adjusted) if each < level} == textbook_holm(p_values, level)
    assert all(a >= p for a, p in zip(adjusted, p_values, strict=True))


@given(st.integers(2, 6), st.integers(0, 2**31), st.sampled_from([0.0, 0.02, 0.3]))
@thorough(100)
def test_intervals_leave_out_0_just_where_it_is_no_noise(k, seed, gap):
    rng = np.random.RandomState(seed)
    scores = {i: rng.normal(0.8 - gap * i, 0.02, 10) for i in range(k)}
    found = differences(scores, 1 / 4)
    p = {pair: corrected_p(scores[pair[0]] - scores[pair[1]], 1 / 4) for pair in itertools.combinations(scores, 2)}
    rejected = textbook_holm(list(p.values()), 0.05)
    for at, pair in enumerate(p):
        one, other = found[pair], found[pair[::-1]]
        assert one.is_noise == (at not in rejected)
        assert one.is_noise == (one.low <= 0 <= one.high)
        assert (other.low, other.high, other.is_noise) == (-one.high, -one.low, one.is_noise)


def test_pairs_with_a_baseline_are_a_family_of_their_own():
    rng = np.random.RandomState(0)
    scores = {name: rng.normal(0.8, 0.02, 10) for name in "abcd"} | {"base": rng.normal(0.5, 0.02, 10)}
    found = differences(scores, 1 / 4, baseline="base")
    alone = differences({name: scores[name] for name in "abcd"}, 1 / 4)
    assert {pair: found[pair] for pair in alone} == alone
    assert found["a", "base"].adjusted_p <= 4 * found["a", "base"].p + 1e-12


# -- how often it is wrong --------------------------------------------------------------------------------------------

FOLDS, REPEATS = 5, 2


def centroid_scores(X, y, splits):
    """The accuracy of a rule that takes the nearer mean, on each fold."""
    found = []
    for train, test in splits:
        means = [X[train][y[train] == label].mean(axis=0) for label in (0, 1)]
        score = X[test] @ (means[1] - means[0]) - (means[1] @ means[1] - means[0] @ means[0]) / 2
        found.append(float(np.mean((score > 0) == y[test])))
    return tuple(found)


def comparison(scores, n):
    rows = [ComparisonRow(name, "Any", each, (1.0,), (1.0,), 1) for name, each in scores.items()]
    rows.sort(key=lambda row: -row.score)
    return Comparison(tuple(rows), "accuracy", {}, FOLDS, REPEATS, 0, n, n, 1)


def simulated(seed, k=4, n=120, weaker=0.0):
    """Learners that see features of their own each, drawn alike: none is better, but the first may be weaker."""
    rng = np.random.RandomState(seed)
    y = np.arange(n) % 2
    splits = list(RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=seed).split(y[:, None], y))
    scores = {}
    for name in range(k):
        shift = 0.35 * (1 - weaker * (name == 0))
        scores[str(name)] = centroid_scores(rng.normal(size=(n, 8)) + shift * y[:, None], y, splits)
    return comparison(scores, n)


def test_equally_good_learners_are_seldom_told_from_each_other():
    """In 400 comparisons of four that are equally good, some difference is called real in less than 5 % of them."""
    wrong = sum(len(simulated(seed).as_good()) < 4 for seed in range(400))
    assert wrong / 400 < 0.05


def test_a_learner_that_knows_nothing_is_found_among_many_rows():
    found = simulated(0, n=2000, weaker=1.0)
    assert found.rows[-1].name == "0"
    assert set(found.as_good()) == {"1", "2", "3"}


def test_intervals_of_scores_hold():
    """The accuracy on many fresh rows lies in the interval in at least 95 % of 200 runs, of models of as many rows."""
    rng, inside = np.random.RandomState(1), 0
    for seed in range(200):
        y = np.arange(100) % 2
        X = rng.normal(size=(100, 8)) + 0.35 * y[:, None]
        splits = list(RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=seed).split(X, y))
        found = comparison({"one": centroid_scores(X, y, splits)}, 100)
        fresh = np.arange(2000) % 2
        rows = np.concatenate([X[:80], rng.normal(size=(2000, 8)) + 0.35 * fresh[:, None]])
        labels = np.concatenate([y[:80], fresh])
        [truth] = centroid_scores(rows, labels, [(np.arange(80), np.arange(80, 2080))])
        low, high = found.interval("one")
        inside += low <= truth <= high
    assert inside >= 190


def test_all_right_is_no_certainty():
    low, high = comparison({"perfect": (1.0,) * 10}, 100).interval("perfect")
    expected = scipy.stats.binomtest(100, 100).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize(("n_rows", "folds"), [(20, 2), (30, 2), (30, 3)])
def test_few_folds_that_are_alike_by_chance_are_noise(n_rows, folds):
    rng, m = np.random.default_rng(0), n_rows // folds
    right = rng.binomial(m, 0.8, (2, 1000, folds)) / m
    found = [corrected_p(each, 1 / (folds - 1), step=1 / m) < 0.05 for each in right[0] - right[1]]
    assert np.mean(found) < 0.05
    alike = differences({"a": [0.9] * folds, "b": [0.9 - 1 / m] * folds}, 1 / (folds - 1), step=1 / m)["a", "b"]
    assert alike.is_noise
    assert alike.low < 0 < alike.high
