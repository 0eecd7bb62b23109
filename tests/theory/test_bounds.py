"""The bounds: published values, arithmetic done another way, and runs of the perceptron that may not exceed them."""

import math
from fractions import Fraction

import numpy as np
import oracle
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom
from strategies import thorough

from votron.errors import VotronError
from votron.theory import bounds as b
from votron.theory import one_pass_bound

PERCEPTRON = [740, 643, 1168, 1512, 1078, 1277, 823, 1103, 1856, 1920]
PERCEPTRON_BOUND = [6.7, 6.0, 9.8, 12.08, 9.2, 10.5, 7.4, 9.4, 14.3, 14.6]
SVM = [1379, 989, 1958, 1900, 1224, 2024, 1527, 2064, 2332, 2765]
SVM_BOUND = [11.2, 8.6, 14.9, 14.5, 10.2, 15.3, 12.2, 15.5, 17.1, 19.6]


@pytest.mark.parametrize(("d", "printed"), [*zip(PERCEPTRON + SVM, PERCEPTRON_BOUND + SVM_BOUND, strict=True)])
def test_table_1_of_graepel_herbrich_and_williamson(d, printed):
    """Label 3 of the perceptron is printed as 12.0, where the formula gives 12.08."""
    assert round(100 * b.compression_bound(60_000, d, 0.05), 2 if d == 1512 else 1) == printed


def test_the_pac_margin_bound_at_the_size_the_paper_names():
    assert round(b.pac_margin_bound(410_743_386, 600, 0.05), 5) == 0.11205


@thorough(100)
@given(m=st.integers(0, 3000), data=st.data())
def test_logarithms_of_binomials(m, data):
    d = data.draw(st.integers(0, m))
    assert b.log_binomial(m, d) == pytest.approx(math.log(math.comb(m, d)), rel=1e-12, abs=1e-9)


@thorough(100)
@given(m=st.integers(17, 10**7), data=st.data(), delta=st.floats(1e-12, 0.999))
def test_the_simpler_margin_bound_is_larger(m, data, delta):
    kappa = data.draw(st.integers(1, (m - 1) // 4))
    n = data.draw(st.floats(4, m / kappa, exclude_max=True))
    assume(n < m / kappa)
    gamma = 1 / math.sqrt(kappa) * (1 + 1e-12)  # so that its square rounds to kappa or below
    assert b.margin_bound_simple(m, kappa, delta, n) >= b.margin_bound(m, 1.0, gamma, delta)


@thorough(60)
@given(
    margins=st.lists(st.floats(-2, 2), min_size=1, max_size=8),
    radius=st.floats(0.1, 5),
    times=st.integers(1, 50),
)
def test_no_margin_gives_a_better_bound_than_the_best(margins, radius, times):
    best = b.best_inseparable_bound(margins, radius, times)
    m = np.array(margins)
    for gamma in np.geomspace(1e-3, 1e3, 400):
        deviation = math.sqrt(times * float(np.square(np.maximum(0, gamma - m)).sum()))
        assert best.bound <= b.inseparable_bound(radius, deviation, gamma) * (1 + 1e-6)
    assert best.bound <= times * len(margins) * (1 + 1e-12)
    if math.isfinite(best.margin):
        again = b.inseparable_bound(radius, best.deviation, best.margin)
        assert best.bound == pytest.approx(again, rel=1e-9)


def test_the_best_margin_of_separable_data_is_theirs():
    best = b.best_inseparable_bound([0.5, 0.7, 0.9], radius=1.0, presentations=100)
    assert best == (pytest.approx(4.0), pytest.approx(0.5), pytest.approx(0.0, abs=1e-9))


def test_special_cases_agree():
    assert b.unit_length_bound(0.25) == b.novikoff_bound(1.0, 0.25) == b.inseparable_bound(1.0, 0.0, 0.25) == 16
    assert b.sparsity_bound(1.0, 0.3) == 11
    assert b.voted_bound(99, 1.0, 0.5, 0.25) == b.leave_one_out_bound(b.inseparable_bound(1.0, 0.5, 0.25), 99)
    assert b.leave_one_out_bound(7, 69) == 2 * b.leave_one_out_bound(7, 69, deterministic=False) == 0.2
    assert b.margin_bound(1000, 2.0, 0.5, 0.05) == b.compression_bound(1000, 16, 0.05)


def run(X, codes, n_epochs):
    """Mistakes, and the rows they were made on, of the textbook perceptron with exact integers."""
    G = X @ X.T
    presentation = list(range(len(X))) * n_epochs
    record = oracle.perceptron(lambda i, j: float(G[i, j]), np.diagonal(G), codes, presentation)
    return record


@st.composite
def samples(draw, separable):
    rng = np.random.RandomState(draw(st.integers(0, 2**31)))
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 4))
    X, u = rng.randint(-4, 5, (n, d)), rng.randint(-4, 5, d)
    assume(np.any(u))
    X = X[(X @ u != 0) & X.any(axis=1)] if separable else X[X.any(axis=1)]
    assume(len(X) > 0)
    y = np.sign(X @ u) if separable else rng.choice([-1, 1], len(X))
    return X, y, u


@thorough(80)
@given(sample=samples(separable=True), n_epochs=st.integers(1, 5))
def test_no_run_exceeds_novikoffs_bound(sample, n_epochs):
    X, y, u = sample
    record = run(X, np.where(y > 0, 0, 1), n_epochs)
    k = len(record)
    radius2, dots = max((X * X).sum(axis=1)), y * (X @ u)
    exact = Fraction(int(radius2) * int(u @ u), int(min(dots)) ** 2)
    assert k <= exact
    assert k <= b.novikoff_bound(math.sqrt(radius2), min(dots) / math.sqrt(u @ u)) * (1 + 1e-12)


@thorough(80)
@given(sample=samples(separable=False), n_epochs=st.integers(1, 6))
def test_no_run_exceeds_the_inseparable_bound(sample, n_epochs):
    """Summed over all presentations, and over the mistakes alone; once for each example would be too few."""
    X, y, u = sample
    record = run(X, np.where(y > 0, 0, 1), n_epochs)
    margins, radius = y * (X @ u) / math.sqrt(u @ u), math.sqrt(max((X * X).sum(axis=1)))
    assert len(record) <= b.best_inseparable_bound(margins, radius, n_epochs).bound * (1 + 1e-9)
    if len(record):
        wrong, times = np.unique(record.example, return_counts=True)
        radius = math.sqrt(max((X[wrong] * X[wrong]).sum(axis=1)))
        assert len(record) <= b.best_inseparable_bound(margins[wrong], radius, times).bound * (1 + 1e-9)


def test_errors_outside_the_support_raise_the_compression_bound_steadily():
    values = [b.agnostic_compression_bound(1000, 50, errors, 0.05) for errors in (0, 1, 10, 100, 500, 949, 950)]
    assert values == sorted(values)
    assert values[-1] == 1.0
    assert values[0] == pytest.approx(1 - math.exp(-b.compression_bound(1000, 50, 0.05)))
    for errors in (1, 10, 100, 500):
        p, r = b.agnostic_compression_bound(1000, 50, errors, 0.05), errors / 950
        divergence = r * math.log(r / p) + (1 - r) * math.log((1 - r) / (1 - p))
        assert p > r
        assert divergence == pytest.approx(b.compression_bound(1000, 50, 0.05))
    assert b.agnostic_compression_bound(10, 4, 3, 1e-9) <= 1.0


@pytest.mark.parametrize(("errors", "m", "delta"), [(0, 20, 0.05), (3, 50, 0.1), (40, 100, 0.01), (160, 10_000, 0.05)])
def test_the_held_out_bound_is_where_so_few_errors_become_unlikely(errors, m, delta):
    p = b.held_out_bound(errors, m, delta)
    assert binom.cdf(errors, m, p) == pytest.approx(delta)
    assert b.held_out_bound(m, m, delta) == 1.0


@pytest.mark.parametrize(
    ("ask", "parameter"),
    [
        (lambda: b.novikoff_bound(1.0, 0.0), "margin"),
        (lambda: b.novikoff_bound(math.inf, 1.0), "radius"),
        (lambda: b.unit_length_bound(1.5), "margin"),
        (lambda: b.inseparable_bound(1.0, -1.0, 1.0), "deviation"),
        (lambda: b.sparsity_bound(1.0, 1e-200), "margin"),
        (lambda: b.compression_bound(10, 10, 0.05), "d"),
        (lambda: b.compression_bound(10, 2, 0), "delta"),
        (lambda: b.compression_bound(10.5, 2, 0.05), "m"),
        (lambda: b.margin_bound(100, 1.0, 0.05, 0.05), "margin"),
        (lambda: b.margin_bound_simple(100, 25, 0.05), "kappa"),
        (lambda: b.margin_bound_simple(100, 20, 0.05, n=5.5), "n"),
        (lambda: b.pac_margin_bound(100, 50, 0.05), "kappa"),
        (lambda: one_pass_bound(11, 10, 0.05), "mistakes"),
        (lambda: b.fixed_draw_bound(0.1, 1.5, 0.05), "heaviest"),
        (lambda: b.vapnik_chervonenkis_bound(10, 2, radius=1.0), None),
        (lambda: b.agnostic_compression_bound(10, 4, 7, 0.05), "errors"),
        (lambda: b.held_out_bound(11, 10, 0.05), "errors"),
        (lambda: b.best_inseparable_bound([], 1.0), "margins"),
        (lambda: b.best_inseparable_bound([math.nan], 1.0), "margins"),
        (lambda: b.leave_one_out_bound(-1, 10), "mistakes"),
    ],
)
def test_a_bound_that_cannot_hold_is_refused(ask, parameter):
    with pytest.raises(VotronError) as caught:
        ask()
    assert caught.value.parameter == parameter
