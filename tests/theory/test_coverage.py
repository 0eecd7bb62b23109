"""What is called a guarantee of a model is one, on data with repeated rows: a small version of `make coverage`."""

import math

import numpy as np
import pytest
from coverage_of_bounds import WORLDS, World, is_guilty, noisy, simulate
from hypothesis import example, given
from hypothesis import strategies as st
from paper import paper_perceptron
from strategies import thorough

from votron import certify
from votron.rules.scan import row_draws
from votron.theory import fixed_draw_bound, held_out_bound, one_pass_bound

ONE_RANDOM = "random vector of one epoch"
MEAN_RANDOM = "random vector of one epoch, mean over seeds"
ONE_ROW = World("one row, 30 % noise", 300, *noisy([[1.0, 2.0]], [0], [1], 0.3))
ONE_PASS, FIXED = "Cesa-Bianchi, Conconi & Gentile", "Cesa-Bianchi et al., fixed draws"


@pytest.fixture(scope="module")
def one_row():
    """On one row a random vector errs in 70 % of the cases, or in 30 %; the mean over seeds is between them."""
    return {
        (statement, predictor): line
        for (_, _, statement, predictor), line in simulate(ONE_ROW, "one epoch, random", 50, 0.2).items()
    }


@pytest.mark.slow
def test_one_seed_is_not_the_mean_over_seeds(one_row):
    own, mean = one_row["(7) with errors", ONE_RANDOM], one_row[ONE_PASS, MEAN_RANDOM]
    assert set(np.round(own.errors, 9)) == {0.3, 0.7}
    assert mean.false == 0
    # what it would be to take the one for the other: false much more often than δ allows
    wrong = sum(error > value for error, value in zip(own.errors, mean.values, strict=True))
    assert wrong > 0.2 * len(own.errors)
    mean.errors = own.errors
    assert is_guilty(mean, 0.05)


@pytest.mark.slow
def test_no_guarantee_of_the_model_is_false_too_often(one_row):
    for (statement, predictor), line in one_row.items():
        if predictor == ONE_RANDOM:
            assert not is_guilty(line, 0.2), statement
            assert line.runs == len(line.values) == 50
    assert one_row[FIXED, ONE_RANDOM].telling == 0  # nobody can do better on one row


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "model"),
    [
        ("four rows, 20 % noise", "one epoch, vote"),
        ("ties: rows and their opposites", "three epochs, last"),
        ("one in thirty positive", "three epochs, average"),
        ("three classes, 10 % noise", "one epoch, random"),
        ("three classes, no noise", "to convergence, last"),
        ("half one row, half many", "averaged, last"),
        ("four rows, 20 % noise", "adatron, C = 0.1"),
    ],
)
def test_statements_on_repeated_rows(world, model):
    (world,) = [each for each in WORLDS if each.name == world]
    found = simulate(world, model, 25, 0.2)
    assert found
    assert not [key for key, line in found.items() if is_guilty(line, 0.2)]
    seen = [line for line in found.values() if line.kind == "guarantee" and line.telling > 15 and max(line.errors) > 0]
    assert all(max(line.errors) <= 1 for line in found.values() if line.errors)
    if world.joint.min() > 0:  # a tenth of what is stated would be seen to be false
        assert seen
        assert all(sum(e > v / 10 for e, v in zip(x.errors, x.values, strict=True)) > 0.2 * x.runs for x in seen)


def certified(X, y, **params):
    model = paper_perceptron(kernel="linear", epochs=1, rule="random", random_state=0, **params).fit(X, y)
    return certify(model, X, y, comparators=(), X_test=-X, y_test=y)


def test_no_model_predicts_by_the_mean_over_seeds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = np.where(X[:, 0] > 0, "up", "down")
    found = certified(X, y)
    assert found.predictor == ONE_RANDOM
    mean = [b for b in found.bounds if b.predictor == MEAN_RANDOM]
    assert {(b.name, b.kind) for b in mean} == {(ONE_PASS, "guarantee"), ("Helmbold & Warmuth", "estimate")}
    for b in mean:
        assert [a.name for a in b.failing] == ["its rule"]
    (fixed,) = [b for b in found.bounds if b.name == FIXED]
    assert fixed.applies
    mine = [b for b in found.bounds if b.kind == "guarantee" and b.predictor == ONE_RANDOM]
    assert found.best() is min(mine, key=lambda b: b.error)
    assert found.best("estimate") is None
    assert MEAN_RANDOM not in found.measured


def test_the_value_for_fixed_draws_as_written_out():
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(380, 4)), np.ones((20, 4))])
    y = (X.sum(axis=1) > 0).astype(int)
    found = certified(X, y)
    (fixed,) = [b for b in found.bounds if b.name == FIXED]
    k, delta = found.mistakes[0], 0.05 / 3
    mean = (400 * one_pass_bound(k, 400, delta) + 1) / 401
    assert fixed.error == pytest.approx(fixed_draw_bound(mean, held_out_bound(20, 400, delta), delta))
    K = X @ X.T
    given_kernel = paper_perceptron(kernel="precomputed", epochs=1, rule="random").fit(K, y)
    (unknown,) = [b for b in certify(given_kernel, K, y, comparators=()).bounds if b.name == FIXED]
    assert unknown.error is None


@thorough(60)
@example(mean=2.2250738585e-313, p=1.0, delta=0.5, more=1.0)
@given(mean=st.floats(0, 1), p=st.floats(1e-6, 1), delta=st.floats(1e-6, 0.999), more=st.floats(1, 3))
def test_fixed_draws_are_bounded_monotonically(mean, p, delta, more):
    bound = fixed_draw_bound(mean, p, delta)
    assert bound >= mean
    assert bound <= fixed_draw_bound(mean * more, p, delta) * (1 + 1e-9) + 1e-12
    assert bound <= fixed_draw_bound(mean, min(1.0, p * more), delta) * (1 + 1e-9) + 1e-12
    assert bound <= fixed_draw_bound(mean, p, delta / more) * (1 + 1e-9) + 1e-12
    if bound > mean > 0:  # the equation of its docstring
        found = bound * (math.log(bound) - math.log(mean)) - bound + mean
        assert found == pytest.approx(p * math.log(1 / delta), abs=1e-9)


def test_draws_of_rows_are_like_independent_ones():
    """Of 40 rows that differ little, over many seeds: each draw uniform, pairs uncorrelated."""
    rows = np.array([[i, j] for i in range(8) for j in range(5)], dtype=float)
    draws = np.array([row_draws(rows, seed) for seed in range(4000)])
    assert np.abs(draws.mean(axis=0) - 0.5).max() < 5 * math.sqrt(1 / 12 / 4000)
    correlations = np.corrcoef(draws.T)[np.triu_indices(40, 1)]
    assert np.abs(correlations).max() < 5.5 / math.sqrt(4000)
