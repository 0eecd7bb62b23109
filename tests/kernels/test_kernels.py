"""Kernels: their values against plain formulas, their feature maps, and what they refuse."""

from __future__ import annotations

import dataclasses
import math
import pickle
from fractions import Fraction

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import CALLABLE, COMPOSED, CONTAINERS, contained, tables

from votron import VotronError, is_mercer, make_kernel
from votron.errors import IndefiniteKernelError, NotRepresentableError
from votron.kernels import (
    CallableKernel,
    ConjunctionKernel,
    GaussianKernel,
    LinearKernel,
    NormalizedKernel,
    PolynomialKernel,
    PrecomputedKernel,
)

quick = settings(max_examples=40, deadline=None)


def python_dots(X, Y):
    return np.array(
        [[sum(a * b for a, b in zip(x, z, strict=True)) for z in Y.tolist()] for x in X.tolist()], dtype=object
    )


# -- values -----------------------------------------------------------------------------------------------------------


@quick
@given(tables(), tables(), st.integers(1, 6), st.sampled_from([0, 1, 3]), st.sampled_from([1, 2]), st.data())
def test_polynomials_of_integers(first, second, degree, coef0, gamma, data):
    """Equal to Python's integers while these fit a float64, and to as many digits as one has beyond."""
    (kind, X), Y = first, second[1]
    d = min(X.shape[1], Y.shape[1])
    X, Y = X[:, :d], Y[:, :d]
    exact = (gamma * python_dots(X, Y) + coef0) ** degree
    form = data.draw(st.sampled_from(CONTAINERS[kind]))
    found = PolynomialKernel(degree, gamma, coef0)(contained(X, form), Y)
    assert found.shape == (len(X), len(Y))
    assert found.dtype == np.float64
    for value, integer in zip(found.reshape(-1).tolist(), exact.reshape(-1).tolist(), strict=True):
        if abs(integer) <= 2**53:
            assert value == integer
        else:
            assert abs(Fraction(value) / integer - 1) <= degree * 2.0**-53
    if degree == 1 and coef0 == 0 and gamma == 1:
        np.testing.assert_array_equal(LinearKernel()(X, Y), found)


@quick
@given(tables(), st.sampled_from([1e-10, 1e-4, 0.01, 0.5, 1.0]))
def test_gaussian_of_integers(table, gamma):
    """To 1e-14, and in the far tails too, where the value is next to nothing; 1 on the diagonal."""
    X = table[1]
    distances = np.array(
        [[sum((a - b) ** 2 for a, b in zip(x, z, strict=True)) for z in X.tolist()] for x in X.tolist()]
    )
    exact = np.exp(-np.longdouble(gamma * distances.astype(np.float64)))
    found = GaussianKernel(gamma)(X)
    assert (np.abs(found - exact) <= 1e-14 * exact + np.longdouble(5e-324) / 2).all()
    assert (np.diagonal(found) == 1).all()


@quick
@given(tables("bits", max_features=40))
def test_conjunctions_are_counted(table):
    X = table[1]
    both = python_dots(X, X)
    np.testing.assert_array_equal(ConjunctionKernel()(X), np.array([[2.0**n for n in row] for row in both.tolist()]))


NAIVE = {
    "linear": (LinearKernel(), lambda dot, xx, zz: dot),
    "poly": (PolynomialKernel(3, 0.5, 0.25), lambda dot, xx, zz: (0.5 * dot + 0.25) ** 3),
    "rbf": (GaussianKernel(0.2), lambda dot, xx, zz: math.exp(-0.2 * (xx + zz - 2 * dot))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAIVE)
@pytest.mark.parametrize("density", [0.1, 0.9])
@pytest.mark.parametrize(("dtype", "digits"), [("float32", 1e-5), ("float64", 1e-13)])
def test_reals_against_plain_formulas(name, density, dtype, digits):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(30, 7)) * (rng.random((30, 7)) < density)).astype(dtype)
    Y = (rng.normal(size=(530, 7)) * (rng.random((530, 7)) < density)).astype(dtype)  # more than one block
    kernel, formula = NAIVE[name]
    A, B = X.astype(np.float64), Y.astype(np.float64)
    expected = [[formula(math.fsum(x * z), math.fsum(x * x), math.fsum(z * z)) for z in B] for x in A]
    found = kernel(X, Y)
    np.testing.assert_allclose(found, expected, rtol=digits, atol=digits)
    np.testing.assert_array_equal(kernel(sp.csr_matrix(X), sp.csr_matrix(Y)), found)
    np.testing.assert_array_equal(kernel(sp.csr_matrix(X), Y), found)
    np.testing.assert_array_equal(kernel(X, sp.csr_matrix(Y)), found)
    np.testing.assert_array_equal(kernel(Y, X), found.T)
    if name != "rbf":
        np.testing.assert_array_equal(kernel.diag(X), np.diagonal(kernel(X)))


KERNELS_HERE = [
    LinearKernel(),
    PolynomialKernel(1, 0.5, 2.0),
    PolynomialKernel(2),
    PolynomialKernel(5, 0.1, 0.0),
    GaussianKernel(0.01),
    ConjunctionKernel(),
    CALLABLE,
]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS_HERE, ids=repr)
@quick
@given(data=st.data())
def test_forms_and_diagonals(kernel, data):
    """diag is the matrix's diagonal; forms do not matter; the matrix is symmetric; one row at a time is the same."""
    kind, X = data.draw(tables("bits" if isinstance(kernel, ConjunctionKernel) else None))
    gram = kernel(X)
    np.testing.assert_array_equal(kernel.diag(X), np.diagonal(gram))
    np.testing.assert_array_equal(gram, gram.T)
    for form in CONTAINERS[kind]:
        rows = contained(X, form)
        np.testing.assert_array_equal(kernel(rows), gram)
        np.testing.assert_array_equal(kernel(rows, X), gram)
        np.testing.assert_array_equal(kernel.diag(rows), np.diagonal(gram))
    one_by_one = oracle.pairs(kernel, X)
    assert gram.tolist() == [[one_by_one(i, j) for j in range(len(X))] for i in range(len(X))]
    unsorted = sp.csr_matrix(X.astype(np.float64))
    unsorted = sp.csr_matrix((unsorted.data / 2, unsorted.indices, unsorted.indptr), shape=X.shape)
    twice = sp.csr_matrix(
        (np.repeat(unsorted.data, 2), np.repeat(unsorted.indices, 2)[::1], unsorted.indptr * 2), shape=X.shape
    )
    if not isinstance(kernel, CallableKernel):
        np.testing.assert_array_equal(kernel(twice), gram)  # entries that are stored in two halves


@pytest.mark.slow
@pytest.mark.parametrize("base", KERNELS_HERE, ids=repr)
@quick
@given(data=st.data())
def test_normalized_values(base, data):
    """K / √(K K) with 1 (but for rounding) on the diagonal, and 0 for rows of length 0."""
    _, X = data.draw(tables("bits" if isinstance(base, ConjunctionKernel) else None))
    kernel, gram = NormalizedKernel(base), base(X)
    lengths = np.sqrt(np.diagonal(gram))
    scale = np.multiply.outer(lengths, lengths)
    expected = np.divide(gram, scale, out=np.zeros_like(gram), where=scale > 0)
    found = kernel(X)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(kernel.diag(X), np.where(np.diagonal(gram) > 0, 1.0, 0.0))
    np.testing.assert_allclose(np.diagonal(found), kernel.diag(X), rtol=4e-16)
    np.testing.assert_array_equal(kernel(sp.csr_matrix(X)), found)
    assert (np.abs(found) <= 1 + 1e-12).all()


@pytest.mark.slow
@pytest.mark.parametrize("kernel", COMPOSED, ids=repr)
@quick
@given(table=tables())
def test_composed_values(kernel, table):
    """The outer kernel of rows whose dot products are the inner kernel's values."""
    X = table[1]
    inner, outer = kernel.inner(X), kernel.outer
    squares, n = kernel.inner.diag(X), len(X)
    terms = outer.terms(squares)
    expected = np.empty((n, n))
    outer.from_dots(inner, np.arange(n), 0, n, terms, terms, expected)
    np.testing.assert_array_equal(kernel(X), expected)
    np.testing.assert_array_equal(kernel(sp.csr_matrix(X)), expected)
    np.testing.assert_array_equal(kernel.diag(X), outer.diagonal(squares))
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(expected), rtol=1e-7 if outer.needs_distance else 1e-14)
    assert np.abs(expected).max() <= kernel.bound(float(kernel.products_for(X).squares(X).max())) * (1 + 1e-12)


def test_what_cannot_be_composed():
    for outer in (ConjunctionKernel(), NormalizedKernel(ConjunctionKernel()), PrecomputedKernel(), CALLABLE):
        with pytest.raises(VotronError, match="cannot be composed"):
            outer.of(LinearKernel())
    for inner in (PrecomputedKernel(), NormalizedKernel(PrecomputedKernel())):
        with pytest.raises(VotronError, match="cannot be composed with a precomputed kernel"):
            PolynomialKernel(2).of(inner)


@pytest.mark.parametrize(
    "kernel", [*KERNELS_HERE, PolynomialKernel(3, 2.0, -1.5), NormalizedKernel(PolynomialKernel(2))], ids=repr
)
def test_the_bound_is_one(kernel):
    X = np.random.default_rng(0).integers(0, 2, (20, 6))
    assert np.abs(kernel(X)).max() <= kernel.bound(float(kernel.products_for(X).squares(X).max())) * (1 + 1e-12)
    assert kernel.bound(4.0) <= kernel.bound(9.0)


# -- kernels as objects -----------------------------------------------------------------------------------------------


def test_kernels_compare_by_value_and_cannot_change():
    assert PolynomialKernel(4) == PolynomialKernel(degree=4, gamma=1.0, coef0=1.0)
    assert CALLABLE == CallableKernel(CALLABLE.function) != CallableKernel(max)
    kernels = [
        LinearKernel(),
        PolynomialKernel(np.int64(4)),
        PolynomialKernel(4, 2.0),
        GaussianKernel(0.1),
        NormalizedKernel(ConjunctionKernel()),
        PrecomputedKernel(),
    ]
    assert len({*kernels, *map(pickle.loads, map(pickle.dumps, kernels))}) == len(kernels)
    assert [eval(repr(kernel)) for kernel in kernels] == kernels
    with pytest.raises(dataclasses.FrozenInstanceError):
        kernels[1].degree = 7


def test_make_kernel():
    assert make_kernel("linear") == LinearKernel()
    assert make_kernel("poly", degree=5, gamma=0.5, coef0=2.0) == PolynomialKernel(5, 0.5, 2.0)
    assert make_kernel("rbf", degree=5, gamma=0.5) == GaussianKernel(0.5, coef0=1.0)
    assert make_kernel("rbf", gamma=0.5, coef0=0.0) == GaussianKernel(0.5)
    assert make_kernel("conjunction", normalize=True) == NormalizedKernel(ConjunctionKernel())
    assert make_kernel("precomputed") == PrecomputedKernel()
    assert make_kernel(GaussianKernel(3.0), gamma=0.5) == GaussianKernel(3.0)
    assert make_kernel(CALLABLE.function, normalize=True) == NormalizedKernel(CALLABLE)
    with pytest.raises(VotronError, match=r"must be one of 'linear', 'poly'.* Got 'polly'"):
        make_kernel("polly")


# -- what they refuse -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [0, 1.5, True, "3", None, math.nan])
def test_degrees_that_are_none(degree):
    with pytest.raises(VotronError, match="'degree' parameter of PolynomialKernel must be an int"):
        PolynomialKernel(degree)


@pytest.mark.parametrize("X", [[[0, 2]], [[0.5, 1]], [[-1, 0]], sp.csr_matrix([[0, 3.0]])])
def test_the_conjunction_kernel_takes_bits_only(X):
    for kernel in (ConjunctionKernel(), NormalizedKernel(ConjunctionKernel())):
        for call in (lambda k: k(X), lambda k: k.diag(X), lambda k: k([[0, 1]], X)):
            with pytest.raises(VotronError, match="takes 0/1 data only"):
                call(kernel)


@pytest.mark.parametrize(
    "kernel", [LinearKernel(), PolynomialKernel(), GaussianKernel(), NormalizedKernel(LinearKernel())], ids=repr
)
def test_rows_must_be_rows_of_one_length(kernel):
    with pytest.raises(VotronError, match="Got 3 and 4 features"):
        kernel(np.eye(3), np.eye(4))
    with pytest.raises(VotronError, match="1 dimension"):
        kernel(np.ones(3))


def test_lengths_that_are_none():
    """A normalised kernel needs K(x, x) ≥ 0, and a number."""
    odd = NormalizedKernel(PolynomialKernel(3, 1.0, -10.0))
    for call in (odd, odd.diag):
        with pytest.raises(IndefiniteKernelError, match="-729 for row 1"):
            call([[4.0], [1.0]])
    with pytest.raises(NotRepresentableError, match="exceeds the largest float64"):
        NormalizedKernel(PolynomialKernel(6)).diag([[1e60]])
    for kernel in (ConjunctionKernel(), NormalizedKernel(ConjunctionKernel())):
        for call in (kernel, kernel.diag, lambda X, k=kernel: k(np.zeros_like(X), X)):
            with pytest.raises(NotRepresentableError, match=r"exceeds the largest float64.*1023 ones. Got 1024"):
                call(np.ones((1, 1100), dtype=int) * (np.arange(1100) < 1024))
    assert ConjunctionKernel()(np.ones((1, 1023))).tolist() == [[2.0**1023]]


# -- Mercer -----------------------------------------------------------------------------------------------------------


def test_mercer_or_not():
    yes = is_mercer([[2, 1], [1, 2]])
    assert yes
    assert (yes.positive, yes.eigenvalue) == (True, pytest.approx(1.0))
    no = is_mercer([[0.0, 1.0], [1.0, 0.0]])
    assert not no
    assert (no.positive, no.eigenvalue) == (False, pytest.approx(-1.0))
    slight = [[1.0, 1.0 + 1e-6], [1.0 + 1e-6, 1.0]]
    assert not is_mercer(slight)
    assert is_mercer(slight, tolerance=1e-5)
    assert is_mercer(np.ones((40, 40)))  # eigenvalues that are 0 but for rounding
    sigmoid = np.tanh(
        np.array([[1.0, 0.2], [3.0, -0.1], [0.1, 2.0]]) @ np.array([[1.0, 3.0, 0.1], [0.2, -0.1, 2.0]]) - 1
    )
    assert not is_mercer(sigmoid)


@pytest.mark.parametrize(
    ("K", "message"),
    [
        ([[1.0, 2.0]], "square"),
        (np.empty((0, 0)), "at least one row"),
        ([[np.nan]], "finite"),
        ([[1.0, 0.5], [0.4, 1.0]], "symmetric"),
    ],
)
def test_matrices_that_are_no_gram_matrices(K, message):
    with pytest.raises(VotronError, match=message):
        is_mercer(K)


@pytest.mark.parametrize("make", [lambda g: GaussianKernel(g), lambda g: PolynomialKernel(2, gamma=g)])
@pytest.mark.parametrize("gamma", [float("nan"), float("inf"), "scale"])
def test_gamma_must_be_a_number(make, gamma):
    with pytest.raises(VotronError, match="'gamma'"):
        make(gamma)
    with pytest.raises(VotronError, match=r"at least 0. Got -1.0"):
        GaussianKernel(-1.0)


def test_values_beyond_float64_are_refused():
    with pytest.raises(VotronError, match="exceeds the largest float64"):
        PolynomialKernel(200)([[1e5]])
    with pytest.raises(VotronError, match="exceeds the largest float64"):
        PolynomialKernel(200).diag([[1e5]])
    with pytest.raises(VotronError, match="2\\^31"):
        PolynomialKernel(10**20)


@pytest.mark.parametrize(
    "outer",
    [PolynomialKernel(4), PolynomialKernel(3, 2.0, 0.0), GaussianKernel(0.7), NormalizedKernel(PolynomialKernel(2))],
)
def test_a_kernel_over_the_cosine_is_the_kernel_on_rows_of_length_1(outer):
    rng = np.random.default_rng(0)
    X, Y = rng.integers(0, 255, (12, 9)).astype(np.uint8), rng.integers(0, 255, (7, 9)).astype(np.uint8)
    kernel = outer.of(NormalizedKernel(LinearKernel()))
    unit = [Z / np.linalg.norm(Z.astype(float), axis=1, keepdims=True) for Z in (X, Y)]
    np.testing.assert_allclose(kernel(X, Y), outer(*unit), rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), outer.diag(unit[0]), rtol=1e-12)
    np.testing.assert_array_equal(kernel(sp.csr_matrix(X), Y), kernel(X, Y))
    assert is_mercer(kernel(X))
