"""Dot products: exact on integers, one left-to-right sum of fused steps on reals, whatever the form of the rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from votron.errors import VotronError
from votron.products import (
    CallableProducts,
    DenseProducts,
    GramProducts,
    PanelProducts,
    Traits,
    choose_products,
    describe,
    squares,
)

FORMS = {
    "dense": lambda X: X,
    "csr": sp.csr_matrix,
    "csr array": sp.csr_array,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
}


def explicit_zeros(X):
    """A CSR matrix that stores every value, zeros too."""
    n, d = X.shape
    return sp.csr_matrix((X.reshape(-1).copy(), np.tile(np.arange(d), n), np.arange(n + 1) * d), shape=X.shape)


def products_of(products, A, B, slots=None):
    """The products of rows of A (all, or these) with all rows of B, by way of a store and a block."""
    slots = np.arange(A.shape[0]) if slots is None else slots
    store, block = products.pack(A, np.arange(A.shape[0])), products.block(B, np.arange(B.shape[0]))
    block.prepare(0, block.width)
    out = np.full((len(slots), block.width), 77, dtype=products.dtype)
    products.dots(store, slots, block, 0, block.width, out)
    return out[:, : B.shape[0]]


def python_dots(A, B):
    """In Python's integers, which have no last bit."""
    return [[sum(a * b for a, b in zip(x, z, strict=True)) for z in B.tolist()] for x in A.tolist()]


def rounded(exact, dtype):
    """The floating-point number nearest to a fraction, ties to even."""
    near = dtype(float(exact))
    return min(
        (np.nextafter(near, dtype(-np.inf)), near, np.nextafter(near, dtype(np.inf))),
        key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(f"u{x.itemsize}")) & 1),
    )


def fused_dot(x, z, dtype):
    """A sum from the first feature to the last, one rounding a feature."""
    total = dtype(0)
    for a, b in zip(x, z, strict=True):
        total = rounded(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(total)), dtype)
    return total


# -- integers ---------------------------------------------------------------------------------------------------------


@st.composite
def integer_matrices(draw):
    d = draw(st.integers(1, 9))
    limit = draw(st.sampled_from([1, 5, 255, 32767 if d <= 2 else int((2**31 / d) ** 0.5) - 1]))
    values = st.one_of(st.just(0), st.integers(-limit, limit), st.sampled_from([-limit, limit]))
    A = draw(hnp.arrays(np.int64, (draw(st.integers(1, 6)), d), elements=values, fill=st.just(0)))
    B = draw(hnp.arrays(np.int64, (draw(st.integers(1, 70)), d), elements=values, fill=st.just(0)))
    return A, B


@settings(max_examples=80, deadline=None)
@given(integer_matrices(), st.sampled_from(sorted(FORMS)), st.sampled_from(sorted(FORMS)), st.data())
def test_integer_products_are_exact(matrices, form_a, form_b, data):
    A, B = matrices
    narrow = data.draw(st.sampled_from(["int16", "int32", "int64", "float64"]))
    rows_a, rows_b = FORMS[form_a](A.astype(narrow)), FORMS[form_b](B.astype(narrow))
    products = choose_products(describe(rows_a).joined(describe(rows_b)))
    slots = np.array(data.draw(st.lists(st.integers(0, len(A) - 1), max_size=8)), dtype=np.int64)
    found = products_of(products, rows_a, rows_b, slots)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.array(python_dots(A, B), dtype=np.int64)[slots])


WAYS = {
    "lists of pairs": lambda d: PanelProducts("int32", d),
    "lists of quads": lambda d: PanelProducts("int32", d, quads=True),
    "tiles of pairs": lambda d: DenseProducts("int32", d),
    "tiles of quads": lambda d: DenseProducts("int32", d, quads=True),
}


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.sampled_from([1, 2, 3, 4, 5, 8, 17, 64, 200]),
    n_supports=st.integers(1, 15),
    n_rows=st.integers(1, 140),
    density=st.sampled_from([0.0, 0.2, 1.0]),
    top=st.sampled_from([1, 127, 128, 255]),
)
def test_every_way_gives_the_same_integers(way, seed, d, n_supports, n_rows, density, top):
    """Also where all values are the largest, and where a processor lacks the instruction of quads."""
    rng = np.random.default_rng(seed)
    A, B = (
        np.where(rng.random((n, d)) < density, rng.choice([rng.integers(0, top + 1), top], (n, d)), 0)
        for n in (n_supports, n_rows)
    )
    found = products_of(WAYS[way](d), A.astype(np.uint8), B.astype(np.uint8))
    np.testing.assert_array_equal(found, A @ B.T)


@pytest.mark.parametrize("way", WAYS)
def test_as_many_bytes_as_fit_32_bits(way):
    """Sums wrap on their way, and come out right."""
    d = (2**31 - 1) // 255**2
    X = np.full((7, d), 255, dtype=np.uint8)
    X[1] = 0
    np.testing.assert_array_equal(products_of(WAYS[way](d), X, X), X.astype(np.int64) @ X.T.astype(np.int64))


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_the_largest_sixteen_bit_values(d, form):
    signs = np.array([[s, t][:d] for s in (-1, 1) for t in (-1, 1)])
    X = FORMS[form](32767 * signs)
    products = choose_products(describe(X))
    assert products.dtype is np.int32
    np.testing.assert_array_equal(products_of(products, X, X), 32767**2 * (signs @ signs.T))


@pytest.mark.parametrize("d", [1, 2, 3, 8, 17])
def test_bytes_and_truth_values(d):
    rng = np.random.default_rng(d)
    X = rng.integers(0, 256, (130, d)).astype(np.uint8)
    for rows in (X, X > 127, sp.csr_matrix(X), sp.csr_matrix(X > 127)):
        products = choose_products(describe(rows))
        dense = rows.toarray() if sp.issparse(rows) else rows
        assert products.dtype is np.int32
        np.testing.assert_array_equal(
            products_of(products, rows, rows), python_dots(dense.astype(int), dense.astype(int))
        )


def test_empty_rows_and_zeros_that_are_stored():
    X = np.array([[0, 0, 0], [1, 0, -2], [0, 0, 0], [0, 7, 0], [0, 0, 0]])
    expected = python_dots(X, X)
    for kind, products in (("int64", PanelProducts("int32", 3)), ("float64", PanelProducts("float64", 3))):
        for form in (sp.csr_matrix, explicit_zeros):
            rows = form(X.astype(kind))
            np.testing.assert_array_equal(products_of(products, rows, rows), expected)
            np.testing.assert_array_equal(products_of(products, X.astype(kind), rows), expected)
            np.testing.assert_array_equal(products_of(products, rows, X.astype(kind)), expected)
    nothing = sp.csr_matrix(X[:1])
    np.testing.assert_array_equal(
        products_of(PanelProducts("int32", 3, sparse=True), sp.csr_matrix(X), nothing), [[0]] * 5
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 8), st.integers(0, 2**32 - 1), st.sampled_from(sorted(FORMS)))
def test_integers_beyond_sixteen_bits_are_exact_in_float64(d, seed, form):
    rng = np.random.default_rng(seed)
    A, B = rng.integers(-(10**6), 10**6, (4, d)), rng.integers(-(10**6), 10**6, (9, d))
    products = choose_products(describe(A).joined(Traits(True, -40000, 40000, 1.0, form.startswith("csr"), A.dtype, d)))
    assert products.dtype is np.float64
    np.testing.assert_array_equal(products_of(products, FORMS[form](A), FORMS[form](B)), python_dots(A, B))


# -- reals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("make", [PanelProducts, DenseProducts])
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_supports=st.integers(1, 7),
    density=st.sampled_from([0.2, 1.0]),
    form=st.sampled_from(sorted(FORMS)),
)
def test_real_products_are_fused_sums_from_left_to_right(kind, make, seed, n_supports, density, form):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(kind).type
    A = (rng.normal(size=(n_supports, 7)) * (rng.random((n_supports, 7)) < density)).astype(dtype)
    B = (rng.normal(size=(5, 7)) * (rng.random((5, 7)) < density)).astype(dtype)
    products = make(kind, 7)
    expected = np.array([[fused_dot(x, z, dtype) for z in B] for x in A])
    if make is DenseProducts and form.startswith("csr"):
        form = "dense"
    found = products_of(products, FORMS[form](A), FORMS[form](B))
    np.testing.assert_array_equal(found, expected)
    rows = FORMS[form](B)
    np.testing.assert_array_equal(products.squares(rows), [fused_dot(x, x, dtype) for x in B])
    np.testing.assert_array_equal(products.squares(rows), np.diagonal(products_of(products, rows, rows)))


# -- stores and blocks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "products",
    [
        *(make(5) for make in WAYS.values()),
        PanelProducts("float64", 5),
        DenseProducts("float64", 5),
    ],
    ids=lambda products: products.form,
)
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_a_store_grows_without_forgetting(products, form):
    rng = np.random.default_rng(1)
    X = rng.integers(0 if products.quads else -4, 5, (60, 5))
    rows = X if isinstance(products, DenseProducts) or products.quads else FORMS[form](X)
    store, picked = products.pack(rows, np.array([3, 1])), [3, 1]
    for _ in range(60):
        more, picks = rng.integers(0, 60, 50), rng.choice(50, 30, replace=False)
        store.append(products.pack(rows, more), picks)
        picked += more[picks].tolist()
    assert store.n == len(picked) == 1802
    block = products.block(rows, np.arange(60))
    block.prepare(0, 64)
    out = np.zeros((store.n, 64), dtype=products.dtype)
    products.dots(store, np.arange(store.n), block, 0, 64, out)
    np.testing.assert_array_equal(out[:, :60], X[picked] @ X.T)


@pytest.mark.parametrize(
    "products",
    [*(make(5) for make in WAYS.values())]
    + [make(kind, 5) for make in (PanelProducts, DenseProducts) for kind in ("float32", "float64")],
    ids=lambda products: products.form,
)
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_a_piece_of_a_block_leaves_the_others_alone(products, form):
    if isinstance(products, DenseProducts) or products.quads:
        form = "dense"
    X = np.random.default_rng(2).integers(0 if products.quads else -4, 5, (150, 5))
    rows, index = FORMS[form](X), np.random.default_rng(3).permutation(150)
    block = products.block(rows, index)
    assert (block.n_rows, block.width) == (150, 192)
    out = np.full((150, 192), 77, dtype=products.dtype)
    block.prepare(64, 128)
    products.dots(products.pack(rows, np.arange(150)), np.arange(150), block, 64, 128, out)
    np.testing.assert_array_equal(out[:, 64:128], X @ X[index[64:128]].T)
    assert (out[:, :64] == 77).all()
    assert (out[:, 128:] == 77).all()
    block.prepare(128, 192)
    products.dots(products.pack(rows, np.arange(150)), np.arange(150), block, 128, 192, out)
    np.testing.assert_array_equal(out[:, 128:150], X @ X[index[128:]].T)


def test_products_do_not_write_out_of_bounds():
    X = np.eye(3)
    for products in (PanelProducts("int32", 3), DenseProducts("float64", 3)):
        block = products.block(X, np.arange(3))
        block.prepare(0, 64)
        store = products.pack(X, np.arange(3))
        for high, shape in ((128, (3, 128)), (64, (2, 64)), (64, (3, 32))):
            with pytest.raises(IndexError):
                products.dots(store, np.arange(3), block, 0, high, np.zeros(shape, dtype=products.dtype))


# -- squares ----------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(integer_matrices(), st.sampled_from(sorted(FORMS)))
def test_squares_are_the_products_with_themselves(matrices, form):
    X = matrices[1]
    np.testing.assert_array_equal(squares(FORMS[form](X)), np.diagonal(python_dots(X, X)))
    np.testing.assert_array_equal(squares(explicit_zeros(X)), np.diagonal(python_dots(X, X)))
    np.testing.assert_array_equal(
        squares(np.abs(X).astype(np.uint8)), (np.abs(X).astype(np.uint8).astype(int) ** 2).sum(axis=1)
    )


# -- the choice -------------------------------------------------------------------------------------------------------

HALVES = np.full((4, 6), 0.5)
SPARSE_HALVES = np.where(np.arange(24).reshape(4, 6) % 6 == 0, 0.5, 0.0)


@pytest.mark.parametrize(
    ("X", "needs_distance", "expected"),
    [
        (np.eye(3), False, "PanelProducts('int32')"),
        (np.eye(3, dtype=bool), True, "PanelProducts('int32')"),
        (np.full((2, 3), 255, dtype=np.uint8), True, "DenseProducts('int32')"),
        (sp.csr_matrix(np.full((2, 3), 255, dtype=np.uint8)), True, "PanelProducts('int32')"),
        (np.full((2, 2), -32767), False, "DenseProducts('int32')"),
        (np.full((2, 3), -32767), False, "DenseProducts('float64')"),
        (np.full((2, 1), -32768), False, "DenseProducts('float64')"),
        (np.full((2, 1), 32768.0, dtype=np.float32), False, "DenseProducts('float64')"),
        (np.eye(9) * 40000, False, "PanelProducts('float64')"),
        (sp.csr_matrix(np.full((2, 3), 40000)), False, "PanelProducts('float64')"),
        (HALVES, False, "DenseProducts('float64')"),
        (HALVES.astype(np.float32), False, "DenseProducts('float32')"),
        (HALVES.astype(np.float32), True, "DenseProducts('float64')"),
        (SPARSE_HALVES, False, "PanelProducts('float64')"),
        (SPARSE_HALVES.astype(np.float32), False, "PanelProducts('float32')"),
        (SPARSE_HALVES.astype(np.float32), True, "PanelProducts('float64')"),
        (sp.csr_matrix(HALVES.astype(np.float32)), False, "PanelProducts('float32')"),
        (sp.csr_matrix(HALVES), False, "PanelProducts('float64')"),
        (np.empty((0, 3)), False, "PanelProducts('int32')"),
    ],
)
def test_the_arithmetic_chosen(X, needs_distance, expected):
    assert repr(choose_products(describe(X), needs_distance=needs_distance)) == expected


# -- kernels given as numbers -----------------------------------------------------------------------------------------


def test_gram_products_look_up():
    G = np.arange(25.0).reshape(5, 5)
    products = GramProducts()
    store, block = products.pack(G, np.array([4, 2])), products.block(G, np.array([1, 3, 0]))
    out = np.zeros((2, 64))
    products.dots(store, np.array([1, 0]), block, 0, 64, out)
    np.testing.assert_array_equal(out[:, :3], [[G[1, 2], G[3, 2], G[0, 2]], [G[1, 4], G[3, 4], G[0, 4]]])
    assert (out[:, 3:] == 0).all()
    np.testing.assert_array_equal(products.squares(G), np.diagonal(G))
    restored, diagonal = products.restore(products.keep(G, np.array([4, 2])), np.array([4, 2]))
    np.testing.assert_array_equal(diagonal, [24, 12])
    np.testing.assert_array_equal(restored.rows, [4, 2])


def test_callable_products_check_what_they_get():
    X = np.eye(3)
    with pytest.raises(VotronError, match=r"must return a matrix of shape \(3, 3\).*Got shape \(2, 2\)"):
        CallableProducts(lambda A, B: np.zeros((2, 2)), "f").squares(X)
    with pytest.raises(VotronError, match="must return finite numbers"):
        CallableProducts(lambda A, B: np.full((len(A), len(B)), np.inf), "f").squares(X)
    found = CallableProducts(lambda A, B: A @ B.T, "f").squares(np.arange(200.0).reshape(100, 2))
    np.testing.assert_array_equal(found, (np.arange(200.0).reshape(100, 2) ** 2).sum(axis=1))
    assert len(CallableProducts(lambda A, B: A @ B.T, "f").squares(X[:0])) == 0


@pytest.mark.parametrize(("first", "then"), [("dense", "csr"), ("csr", "dense"), ("csr", "csr"), ("dense", "dense")])
@pytest.mark.parametrize(("dtype", "later"), [("uint8", "float64"), ("float64", "uint8"), ("int16", "float32")])
def test_a_store_of_rows_takes_either_form_and_any_type(first, then, dtype, later):
    """A callable kernel's supports may come from batches of different forms and types: the first form stays."""
    X, Y = np.arange(12).reshape(4, 3).astype(dtype), (np.arange(12).reshape(4, 3) * 1.75).astype(later)
    products = CallableProducts(lambda A, B: A @ B.T, "f")
    store = products.pack(FORMS[first](X), np.array([0, 1]))
    store.append(products.pack(FORMS[first](X), np.array([3, 2])), np.array([1]))
    store.append(products.pack(FORMS[then](Y), np.array([3, 2])), np.array([1, 0]))
    assert sp.issparse(store.rows) == (first == "csr")
    rows = store.rows.toarray() if sp.issparse(store.rows) else store.rows
    np.testing.assert_array_equal(rows, np.concatenate([X[[0, 1, 2]], Y[[2, 3]]]))
