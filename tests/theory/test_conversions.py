"""From on-line to batch: the conversions against the voted perceptron, and the three sets of time slices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper import paper_perceptron
from strategies import thorough

from votron import OnlinePerceptron
from votron.errors import VotronError
from votron.theory import (
    deterministic_leave_one_out,
    randomized_leave_one_out,
    survival_counts,
)


@st.composite
def samples(draw):
    rng = np.random.RandomState(draw(st.integers(0, 2**31)))
    n, d = draw(st.integers(2, 15)), draw(st.integers(1, 4))
    X = rng.randint(-3, 4, (n, d))
    X[~X.any(axis=1), 0] = 1  # examples of length 0 are not learnt
    y = rng.choice([-1, 1], n)
    y[:2] = 1, -1
    return X, y, rng.randint(-3, 4, (5, d))


@thorough(60)
@given(sample=samples())
def test_the_deterministic_conversion_is_the_voted_perceptron_but_for_one_vote(sample):
    X, y, test = sample
    model = paper_perceptron(kernel="linear", epochs=1, shuffle=False).fit(X, y)
    for x, score in zip(test, model.decision_function(test), strict=True):
        votes = round(score * len(X)) + 1  # v = 0 votes for +1
        assert deterministic_leave_one_out(OnlinePerceptron, X, y, x) == (1 if votes >= 0 else -1)


def test_the_randomised_conversion_draws_all_prefixes():
    X, y, x = [[1, 0], [0, 1], [0, 2], [0, 1]], [1, -1, -1, -1], [0, 3]
    drawn = [randomized_leave_one_out(OnlinePerceptron, X, y, x, random_state=seed) for seed in range(400)]
    assert np.mean(np.array(drawn) == 1) == pytest.approx(2 / 5, abs=0.1)  # prefixes of no and of one example


def test_cohens_table():
    """Ten rounds with mistakes at 1, 4, 8 and 10: v0 with 1/10, v1 with 3/10, v2 with 4/10, v3 with 2/10; error k/m."""
    counts = survival_counts([1, 4, 8, 10], 10, "mixture")
    assert counts.tolist() == [1, 3, 4, 2, 0]
    errors = np.array([1 / c if c else 0 for c in counts])  # each fails on the last example that it predicts
    assert (errors * counts / 10).sum() == pytest.approx(4 / 10)


@thorough(60)
@given(m=st.integers(1, 30), data=st.data())
def test_the_three_sets_of_slices(m, data):
    times = sorted(data.draw(st.sets(st.integers(1, m))))
    alive = [sum(t <= time for t in times) for time in range(m + 1)]  # which vector is alive at each time
    for slices, which in (("voted", range(1, m + 1)), ("leave-one-out", range(m + 1)), ("mixture", range(m))):
        counts = survival_counts(times, m, slices)
        assert counts.tolist() == [sum(alive[t] == j for t in which) for j in range(len(times) + 1)]
        assert counts.sum() == len(which)


@pytest.mark.parametrize(("times", "slices"), [([1, 1], "voted"), ([0], "voted"), ([6], "voted"), ([1], "votes")])
def test_times_that_are_none(times, slices):
    with pytest.raises(VotronError):
        survival_counts(times, 5, slices)
