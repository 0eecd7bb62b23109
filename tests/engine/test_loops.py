"""The compiled loops of the engine, one by one: what each computes, on data of every form."""

from __future__ import annotations

import numpy as np
import oracle
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from votron._loops import dual as _loops
from votron.kernels.base import values_as_pending

# -- training ---------------------------------------------------------------------------------------------------------


def test_fold_adds_mistake_by_mistake():
    """Not one sum of all: 2^53 + 1 + 1 is 2^53 if they come one by one."""
    K = np.array([[2.0**53, 1.0], [1.0, 1.0], [1.0, 1.0]])
    F = np.zeros((2, 2))
    starts, classes, signs = np.array([0, 1, 3, 4]), np.array([0, 0, 1, 0], np.int32), np.array([1, 1, -1, 1], np.int8)
    room = np.empty((2, 2))
    _loops.fold(values_as_pending(K), starts, 0, classes, signs, 0, 2, room, F)
    assert F.tolist() == [[2.0**53, 3.0], [-1.0, -1.0]]
    # K[0] is now event 2's; column 0 is another thread's
    _loops.fold(values_as_pending(K[:1]), starts, 2, classes, signs, 1, 2, room, F)
    assert F.tolist() == [[2.0**53, 4.0], [-1.0, -1.0]]


def test_find_mistakes_counts_a_score_at_the_threshold():
    codes, threshold = np.array([0, 0, 1, 1, 0, 0], np.int32), np.array([0.0, 0.0, 0.0, 0.0, 2.0, 2.0])
    F = np.array([[0.0, 1e-300, 0.0, -1e-300, 2.0, np.nextafter(2.0, 3.0)]])
    found = np.empty(6, dtype=np.int64)
    assert found[: _loops.find_mistakes(F, codes, threshold, 0, 6, found)].tolist() == [0, 2, 4]
    assert found[: _loops.find_mistakes(F, codes, threshold, 1, 4, found)].tolist() == [2]
    both = np.array([[1.0, 1.0], [-1.0, 1.0]])  # row 1 is class 0's, and class 1 claims it too
    assert found[: _loops.find_mistakes(both, codes, threshold, 0, 2, found)].tolist() == [1]


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
