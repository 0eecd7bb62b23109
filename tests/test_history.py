"""The fingerprint of training data recognises them up to rounding, and nothing else."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from votron.history import Fingerprint


def data(seed, n, d=7, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)).astype(dtype), rng.integers(0, 3, n)


@given(st.integers(0, 10**6), st.integers(1, 3000), st.sampled_from([np.float32, np.float64]))
def test_rounding_in_the_last_bit_does_not_matter(seed, n, dtype):
    X, codes = data(seed, n, dtype=dtype)
    away = np.where(np.random.default_rng(seed).random(X.shape) < 0.5, np.inf, -np.inf).astype(dtype)
    assert Fingerprint.of(X, codes).difference(Fingerprint.of(np.nextafter(X, away), codes)) is None
    assert Fingerprint.of(X, codes).difference(Fingerprint.of(sp.csr_matrix(X), codes)) is None


@given(st.integers(0, 10**6), st.lists(st.integers(0, 900), min_size=1, max_size=5))
def test_batches_add_up(seed, sizes):
    X, codes = data(seed, sum(sizes))
    whole, first = Fingerprint.of(X[:0], codes[:0]), 0
    for size in sizes:
        whole = whole.then(Fingerprint.of(X[first : first + size], codes[first : first + size], first=first))
        first += size
    assert whole.difference(Fingerprint.of(X, codes)) is None
    assert whole.labels == Fingerprint.of(X, codes).labels


@given(st.integers(0, 10**6), st.integers(2, 1000))
def test_other_data_are_told(seed, n):
    X, codes = data(seed, n)
    known, rng = Fingerprint.of(X, codes), np.random.default_rng(seed)
    other, i = X.copy(), int(rng.integers(n))
    other[i, rng.integers(X.shape[1])] += 0.01
    assert "rows" in known.difference(Fingerprint.of(other, codes))
    changed = codes.copy()
    changed[i] += 1
    assert "labels" in known.difference(Fingerprint.of(X, changed))
    assert "rows" in known.difference(Fingerprint.of(X[::-1], codes))
    assert "training had" in known.difference(Fingerprint.of(X[1:], codes[1:]))


@pytest.mark.parametrize("row", [5000, 5119])
def test_labels_of_rows_that_are_not_sampled_count(row):
    X, codes = data(0, 6000)
    changed = codes.copy()
    changed[row] = (changed[row] + 1) % 3
    assert "labels" in Fingerprint.of(X, codes).difference(Fingerprint.of(X, changed))
