"""Learning in batches is learning in one go: partial_fit goes on exactly where the record ends."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from paper import paper_perceptron
from strategies import CALLABLE, CONTAINERS, contained, tables, thorough

from votron.kernels import make_kernel

KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 4, "gamma": 1.0},
    "rbf": {"kernel": "rbf", "gamma": 0.001},
    "normalized": {"kernel": "poly", "degree": 3, "gamma": 0.5, "normalize_kernel": True},
    "callable": {"kernel": CALLABLE.function},
}


def model(name, **more):
    return paper_perceptron(**KERNELS[name], shuffle=False, random_state=3, **more)


def kernel_of(name):
    p = KERNELS[name]
    return make_kernel(
        p["kernel"],
        degree=p.get("degree", 3),
        gamma=p.get("gamma", 1.0),
        coef0=0.0 if p["kernel"] == "rbf" else 1.0,
        normalize=p.get("normalize_kernel", False),
    )


def textbook(name, X, codes, presentation, *, n_vectors, names=None, n_examples=None, margin=0.0):
    kernel = kernel_of(name)
    return oracle.perceptron(
        oracle.pairs(kernel, X), kernel.diag(X), codes, presentation,
        n_vectors=n_vectors, names=names, n_examples=n_examples, margin=margin,
    )  # fmt: skip


@st.composite
def streams(draw, max_rows=30):
    """Rows of integers without zero rows, labels of two or three classes, and where to cut into batches."""
    kind, table = draw(tables())
    table[:, 0] = np.where(table.any(axis=1), table[:, 0], 1)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_classes = draw(st.integers(3, max_rows)), draw(st.sampled_from([2, 3]))
    y = (
        np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
        if n > n_classes
        else np.arange(n)
    )
    cuts = sorted(draw(st.lists(st.integers(1, n - 1), max_size=5, unique=True)))
    return kind, table[rng.integers(0, len(table), n)], y, [0, *cuts, n]


def fed(name, X, y, bounds, **more):
    fitted = model(name, **more)
    for a, b in itertools.pairwise(bounds):
        fitted.partial_fit(X[a:b], y[a:b], classes=np.unique(y))
    return fitted


def codes_of(y):
    """The engine's: the number of the vector for which a row is positive; of two classes the second has it."""
    return 1 - y if y.max() == 1 else y


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
@thorough(15)
@given(stream=streams(), data=st.data())
def test_batches_of_any_size_are_one_unshuffled_epoch(name, stream, data):
    kind, values, y, bounds = stream
    X = contained(values, data.draw(st.sampled_from(CONTAINERS[kind])))
    margin = data.draw(st.sampled_from([0.0, 0.3]))
    whole = model(name, epochs=1, margin=margin).fit(X, y)
    in_batches = fed(name, X, y, bounds, margin=margin)
    n_vectors = 1 if y.max() == 1 else 3
    expected = textbook(name, X, codes_of(y), range(len(y)), n_vectors=n_vectors, n_examples=len(y), margin=margin)
    assert whole.record_.equals(expected)
    assert in_batches.record_.equals(expected)
    np.testing.assert_array_equal(in_batches.support_, whole.support_)
    np.testing.assert_array_equal(oracle.dense(in_batches.support_vectors_), values[expected.support])
    np.testing.assert_array_equal(oracle.dense(whole.support_vectors_), values[expected.support])
    np.testing.assert_array_equal(in_batches.dual_coef_, whole.dual_coef_)
    np.testing.assert_array_equal(in_batches.n_support_, whole.n_support_)
    for rule in ("vote", "average", "last", "random", "pocket"):
        found = in_batches.with_rule(rule).decision_function(X)
        np.testing.assert_array_equal(found, whole.with_rule(rule).decision_function(X), err_msg=rule)


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
@thorough(12)
@given(
    stream=streams(20),
    epochs=st.sampled_from([0.4, 1, 1.5, 3, 15]),
    shuffle=st.booleans(),
    through_pickle=st.booleans(),
)
def test_partial_fit_goes_on_where_fit_ended(name, stream, epochs, shuffle, through_pickle):
    """The textbook on the concatenated presentation; steps after an early stop are counted."""
    _, X, y, bounds = stream
    fitted = model(name, epochs=epochs).set_params(shuffle=shuffle).fit(X, y)
    n, n_steps = len(y), round(epochs * len(y))
    assert fitted.record_.n_steps == n_steps
    order = np.random.RandomState(3).permutation(n) if shuffle else np.arange(n)
    before = fitted.record_
    if through_pickle:
        fitted = pickle.loads(pickle.dumps(fitted))
    for a, b in itertools.pairwise(bounds):
        fitted.partial_fit(X[a:b], y[a:b])
    stacked, presentation = np.concatenate([X, X]), oracle.present(order, n_steps) + list(range(n, 2 * n))
    expected = textbook(name, stacked, np.tile(codes_of(y), 2), presentation, n_vectors=before.n_vectors)
    record = fitted.record_
    for part in ("time", "vector", "sign", "score", "norm2", "slot"):
        np.testing.assert_array_equal(getattr(record, part), getattr(expected, part), err_msg=part)
    assert record.n_steps == expected.n_steps == record.n_examples
    np.testing.assert_array_equal(fitted.support_vectors_, stacked[expected.support])
    # rows of fit have their numbers, later ones that of their presentation, or a higher one if that is taken
    later = record.time > n_steps
    np.testing.assert_array_equal(record.example[~later], expected.example[~later])
    shift = record.example[later] - (record.time[later] - 1)
    assert (shift == 0).all() if n <= n_steps else (shift >= 0).all()
    written = oracle.AllVectors(expected, oracle.pairs(kernel_of(name), stacked, X), n).rule(
        "last", False, expected.n_steps
    )
    found = fitted.with_rule("last").decision_function(X)
    if written.shape[1] == 1:
        written = written[:, 0]
        found = np.where(written == 0, 0.0 * found, found)  # a score of 0 is shown as the smallest number above it
    np.testing.assert_array_equal(found, written)


BATCHES = [
    ["uint8", "float64"],
    ["uint8", "float32"],
    ["float32", "float64"],
    ["csr float32", "float32", "csr float64"],
    ["uint8", "csr float64", "int16"],
    ["csr int16", "float64"],
    ["float64", "csr float32", "uint8"],
    ["int64", "bool", "float32"],
]


@pytest.mark.slow
@pytest.mark.parametrize("forms", BATCHES, ids=" ".join)
@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "normalized", "callable"])
def test_batches_of_changing_form_and_type(name, forms):
    """Integers, then reals; dense, then CSR: a batch is multiplied in the arithmetic that the rows so far need."""
    rng = np.random.default_rng(5)
    batches, y = [], rng.integers(0, 2, 20 * len(forms))
    y[:2] = 0, 1
    for form in forms:
        real = form.removeprefix("csr ").startswith("float")
        values = rng.normal(size=(20, 6)) * 2 if real else rng.integers(0, 2 if form == "bool" else 9, (20, 6))
        values[:, 0] = 1
        batches.append(contained(values * (rng.random((20, 6)) < (0.3 if "csr" in form else 0.9)) + np.eye(1, 6), form))
    fitted, kernels = model(name), []
    for k, batch in enumerate(batches):
        fitted.partial_fit(batch, y[20 * k : 20 * k + 20], classes=[0, 1])
        kernels.append(fitted.kernel_)  # its arithmetic may be another for another batch
    assert set(kernels) == {kernel_of(name)}
    types = [np.result_type(*(batch.dtype for batch in batches[: k + 1])) for k in range(len(forms))]
    stacked = np.concatenate([oracle.dense(batch) for batch in batches])
    rows = [stacked if name == "callable" else stacked.astype(dtype) for dtype in types]
    values = [oracle.pairs(kernel, part) for kernel, part in zip(kernels, rows, strict=True)]
    diagonals = [kernel.diag(part) for kernel, part in zip(kernels, rows, strict=True)]
    expected = oracle.perceptron(
        lambda i, j: values[j // 20](i, j),
        [diagonals[i // 20][i] for i in range(len(y))],
        1 - y,
        range(len(y)),
    )
    assert len(expected) > 15
    if name == "callable":  # the function has its own rounding
        np.testing.assert_array_equal(fitted.record_.example, expected.example)
        np.testing.assert_allclose(fitted.record_.score, expected.score, rtol=1e-12, atol=1e-9)
    else:
        assert fitted.record_.equals(expected)
    np.testing.assert_array_equal(oracle.dense(fitted.support_vectors_), stacked[expected.support])
    assert sp.issparse(fitted.support_vectors_) == forms[0].startswith("csr")


def test_rows_that_cannot_be_learnt_are_not_presented():
    """They take no step and no number, wherever they stand; even if they are all there is."""
    X = np.array([[0, 0], [1, 2], [0, 0], [2, -1], [0, 0], [1, 1], [3, 1]])
    y = np.array([0, 1, 1, 0, 0, 1, 0])
    rows = np.flatnonzero(X.any(axis=1))
    expected = textbook("linear", X[rows], codes_of(y[rows]), range(4), n_vectors=1, n_examples=4)
    for bounds in ([0, 7], [0, 1, 7], [0, 1, 2, 3, 4, 5, 6, 7], [0, 3, 5, 7]):
        fitted = model("linear")
        for a, b in itertools.pairwise(bounds):
            if X[a:b].any(axis=1).all():
                fitted.partial_fit(X[a:b], y[a:b], classes=[0, 1])
                continue
            with pytest.warns(UserWarning, match=r"can never be learnt"):
                fitted.partial_fit(X[a:b], y[a:b], classes=[0, 1])
            if a == 0 and b == 1:
                assert len(fitted.record_) == 0
                assert fitted.predict(X).tolist() == [1] * 7  # a score of 0 is the second class
        assert fitted.record_.equals(expected)
        np.testing.assert_array_equal(fitted.support_vectors_, X[rows][expected.support])


def test_rows_that_cannot_be_learnt_in_fit_take_no_number_twice():
    """Rows of fit are numbered with gaps: the numbers of later batches start behind them."""
    X = np.array([[0, 0], [0, 0], [1, 2], [0, 0], [2, -1], [1, -3]])
    y = np.array([0, 1, 1, 0, 0, 1])
    with pytest.warns(UserWarning, match="3 of 6 rows have"):
        fitted = model("linear", epochs=1).fit(X, y)
    with pytest.warns(UserWarning, match="3 of 6 rows have"):
        fitted.partial_fit(-X, y)
    record = fitted.record_
    stacked = np.concatenate([X[[2, 4, 5]], -X[[2, 4, 5]]])
    expected = textbook("linear", stacked, codes_of(np.tile(y[[2, 4, 5]], 2)), range(6), n_vectors=1, n_examples=6)
    for part in ("time", "sign", "score", "norm2", "slot"):
        np.testing.assert_array_equal(getattr(record, part), getattr(expected, part))
    np.testing.assert_array_equal(fitted.support_vectors_, stacked[expected.support])
    assert len(record.support) == len(fitted.support_vectors_)
