"""The compiled loops, one by one: what each computes, and that it does not matter where in a block a value stands."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from votron._loops import dual as _loops

ALL = np.arange(1)


def row_of(loop, dots, *arguments, low=0):
    """Kernel values of one support, given its dot products with a block, from row ``low`` of the block on."""
    dots = np.asarray(dots)
    out = np.full((1, low + len(dots)), np.nan)
    block = np.concatenate([np.zeros(low, dtype=dots.dtype), dots])[None]
    loop(block, ALL, low, low + len(dots), *arguments, out)
    return out[0, low:]


def polynomial(dots, gamma, coef0, degree, low=0):
    return row_of(_loops.kernel_polynomial, dots, gamma, coef0, degree, np.empty(low + len(dots)), low=low)


def gaussian(dots, gamma, square, own, low=0):
    padded = np.concatenate([np.full(low, np.nan), own])
    return row_of(_loops.kernel_gaussian, dots, gamma, np.array([square]), padded, low=low)


# -- kernel functions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", range(1, 18))
def test_polynomial_multiplies_in_a_fixed_order(degree):
    dots = np.random.default_rng(degree).integers(-(10**6), 10**6, 37)
    gamma, coef0 = 0.3, 0.7
    expected = []
    for dot in dots.tolist():
        power, result, bits = gamma * dot + coef0, None, degree
        while bits:
            if bits & 1:
                result = power if result is None else result * power
            power, bits = power * power, bits >> 1
        expected.append(result)
    np.testing.assert_array_equal(polynomial(dots, gamma, coef0, degree), expected)
    np.testing.assert_array_equal(polynomial(dots.astype(np.int32), gamma, coef0, degree), expected)
    np.testing.assert_array_equal(polynomial(dots.astype(np.float64), gamma, coef0, degree), expected)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 64])
def test_values_do_not_depend_on_their_place(width):
    """Vectorised and remaining iterations, and any beginning of the range, give the same bits."""
    rng = np.random.default_rng(width)
    dots, own = rng.normal(size=width) * 3, rng.random(width) * 9
    for low in (0, 1, 3, 16):
        for r in range(width):
            one = slice(r, r + 1)
            assert polynomial(dots, 0.3, 0.7, 5, low)[r] == polynomial(dots[one], 0.3, 0.7, 5)[0]
            assert gaussian(dots, 0.3, 4.0, own, low)[r] == gaussian(dots[one], 0.3, 4.0, own[one])[0]


@settings(max_examples=200, deadline=None)
@given(st.floats(0, 760), st.sampled_from([1.0, 0.5, 3.0, 1e-3, 1e3]))
def test_gaussian_is_the_exponential(t, gamma):
    """Within one unit in the last place or two, down to where float64 ends."""
    distance = t / gamma
    found = gaussian(np.zeros(1), gamma, distance, np.zeros(1))[0]
    exact = np.exp(np.longdouble(-gamma * distance))
    assert abs(np.longdouble(found) - exact) <= 2.3e-16 * exact + np.longdouble(5e-324) / 2


def test_gaussian_at_its_ends():
    own = np.array([4.0, 4.0, 0.0, 1e308, np.finfo(float).max])
    dots = np.array([4.0, 4.5, 0.0, 0.0, 0.0])
    found = gaussian(dots, 0.5, 4.0, own)
    assert found[:2].tolist() == [1.0, 1.0]  # a distance below 0, by rounding, counts as 0
    assert found[2] == pytest.approx(np.exp(-2.0), rel=1e-15)
    assert found[3:].tolist() == [0.0, 0.0]
    assert gaussian(np.zeros(1), 1.0, 744.44, np.zeros(1))[0] == 5e-324  # the smallest number there is
    assert gaussian(np.zeros(1), 0.0, 1e300, np.zeros(1))[0] == 1.0


def test_conjunction_is_a_power_of_two():
    dots = np.arange(1024, dtype=np.int32)
    assert row_of(_loops.kernel_conjunction, dots).tolist() == [2.0**k for k in range(1024)]


def test_linear_copies_and_picks_rows():
    dots, out = np.arange(12, dtype=np.int32).reshape(3, 4), np.zeros((2, 4))
    _loops.kernel_linear(dots, np.array([2, 0]), 1, 3, out)
    assert out.tolist() == [[0, 9, 10, 0], [0, 1, 2, 0]]


def test_normalizing_divides_and_never_by_zero():
    out = np.array([[6.0, 6.0, 6.0], [5.0, 0.0, 1.0]])
    _loops.kernel_normalize(0, 3, np.array([2.0, 0.0]), np.array([3.0, 0.0, 1.5]), out)
    assert out.tolist() == [[1.0, 0.0, 2.0], [0.0, 0.0, 0.0]]


# -- training ---------------------------------------------------------------------------------------------------------


def test_fold_adds_mistake_by_mistake():
    """Not one sum of all: 2^53 + 1 + 1 is 2^53 if they come one by one."""
    K = np.array([[2.0**53, 1.0], [1.0, 1.0], [1.0, 1.0]])
    F = np.zeros((2, 2))
    starts, classes, signs = np.array([0, 1, 3, 4]), np.array([0, 0, 1, 0], np.int32), np.array([1, 1, -1, 1], np.int8)
    _loops.fold(K, starts, 0, 3, classes, signs, 0, 2, F)
    assert F.tolist() == [[2.0**53, 3.0], [-1.0, -1.0]]
    _loops.fold(K, starts, 2, 1, classes, signs, 1, 2, F)  # K[0] is now event 2's; column 0 is another thread's
    assert F.tolist() == [[2.0**53, 4.0], [-1.0, -1.0]]


def test_find_mistakes_counts_a_score_at_the_threshold():
    codes, threshold = np.array([0, 0, 1, 1, 0, 0], np.int32), np.array([0.0, 0.0, 0.0, 0.0, 2.0, 2.0])
    F = np.array([[0.0, 1e-300, 0.0, -1e-300, 2.0, np.nextafter(2.0, 3.0)]])
    found = np.empty(6, dtype=np.int64)
    assert found[: _loops.find_mistakes(F, codes, threshold, 0, 6, found)].tolist() == [0, 2, 4]
    assert found[: _loops.find_mistakes(F, codes, threshold, 1, 4, found)].tolist() == [2]
    both = np.array([[1.0, 1.0], [-1.0, 1.0]])  # row 1 is class 0's, and class 1 claims it too
    assert found[: _loops.find_mistakes(both, codes, threshold, 0, 2, found)].tolist() == [1]


def walked(F, codes, threshold, K, row_of, start=0, n=0, norm2=None):
    C, width = F.shape
    norm2 = np.zeros(C) if norm2 is None else norm2
    rows, classes = np.empty(C * width, dtype=np.int64), np.empty(C * width, dtype=np.int32)
    scores, norms = np.empty(C * width), np.empty(C * width)
    diagonal = np.diagonal(K).copy()
    r, n = _loops.walk(
        F, codes, threshold, diagonal, start, width, row_of, K, norm2, n, rows, classes, scores, norms
    )  # fmt: skip
    return r, [
        tuple(found) for found in zip(rows[:n].tolist(), classes[:n].tolist(), scores[:n], norms[:n], strict=True)
    ]


def test_walk_makes_the_mistakes_in_order():
    X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]])
    K, F, codes = X @ X.T, np.zeros((1, 3)), np.array([0, 0, 1], np.int32)
    r, found = walked(F, codes, np.zeros(3), K, np.arange(3))
    assert r == 3
    assert found == [(0, 0, 0.0, 2.0), (1, 0, 0.0, 4.0)]
    assert F.tolist() == [[2.0, 2.0, -2.0]]  # v = (2, 0): rows that came before are brought up to date too


def test_walk_of_several_classes_is_several_walks():
    X = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0], [1.0, 0.0]])
    K, codes = X @ X.T, np.array([0, 1, 2, 0], np.int32)
    together = np.zeros((3, 4))
    _, found = walked(together, codes, np.zeros(4), K, np.arange(4))
    for c in range(3):
        alone = np.zeros((1, 4))
        _, mine = walked(alone, (codes != c).astype(np.int32), np.zeros(4), K, np.arange(4))
        assert [(r, s, n) for r, k, s, n in found if k == c] == [(r, s, n) for r, _, s, n in mine]
        np.testing.assert_array_equal(together[c], alone[0])


def test_walk_stops_where_values_are_missing_and_touches_nothing():
    K, F, codes = np.eye(3), np.zeros((1, 3)), np.zeros(3, dtype=np.int32)
    r, found = walked(F, codes, np.zeros(3), K, np.array([0, -1, 2]))
    assert (r, len(found)) == (1, 1)
    assert F.tolist() == [[1.0, 0.0, 0.0]]


# -- hashes -----------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1, 1e300, 3.0]), min_size=4, max_size=4), min_size=1),
    st.integers(0, 2**64 - 1),
)
def test_a_row_has_one_number_dense_or_sparse(rows, seed):
    X = np.array(rows)
    by_dense, by_sparse, by_stored = np.empty(len(X)), np.empty(len(X)), np.empty(len(X))
    _loops.hash_dense(X, np.uint64(seed), by_dense)
    S = sp.csr_matrix(X)
    _loops.hash_sparse(S.indptr.astype(np.int64), S.indices.astype(np.int64), S.data, np.uint64(seed), by_sparse)
    _loops.hash_sparse(
        np.arange(len(X) + 1) * 4, np.tile(np.arange(4), len(X)), X.reshape(-1).copy(), np.uint64(seed), by_stored
    )
    np.testing.assert_array_equal(by_dense, [oracle.draw(row, seed) for row in X])
    np.testing.assert_array_equal(by_sparse, by_dense)
    np.testing.assert_array_equal(by_stored, by_dense)


def test_numbers_are_spread_evenly():
    """Rows that differ in one bit, one place or the seed have unrelated numbers in [0, 1)."""
    X = np.zeros((3000, 1500))
    X[np.arange(1500), np.arange(1500)] = 1.0
    X[1500 + np.arange(1500), 7] = np.arange(1500) + 2.0
    first, second = np.empty(3000), np.empty(3000)
    _loops.hash_dense(X, np.uint64(1), first)
    _loops.hash_dense(X, np.uint64(2), second)
    for numbers in (first, second, (first - second) % 1.0, np.diff(first) % 1.0):
        counts = np.histogram(numbers, bins=10, range=(0, 1))[0]
        assert counts.sum() == len(numbers)
        assert (np.abs(counts - len(numbers) / 10) < 5 * np.sqrt(len(numbers) / 10)).all()


def test_loops_are_compiled_where_nothing_can_be_kept(monkeypatch):
    """numba raises RuntimeError where it finds no place for its cache, as in a read-only installation."""
    from votron._loops import _llvm

    real = _llvm.njit

    def njit(**options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(_llvm, "njit", njit)
    assert _llvm.compiled(lambda x: x + 1)(1) == 2
