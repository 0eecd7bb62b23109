"""Reductions: predictions carry over, the theorem's setting is reached, and what is given is left as it is."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from refusals import assert_clear
from strategies import thorough

from votron.errors import VotronError
from votron.online import OnlinePerceptron
from votron.reductions import add_bias, normalize_examples

small = st.integers(-9, 9)


@st.composite
def thresholds(draw):
    """Rows of integers, a vector of integers and a threshold."""
    n, d = draw(st.integers(1, 8)), draw(st.integers(1, 5))
    X = draw(hnp.arrays(np.int64, (n, d), elements=small))
    return X, draw(hnp.arrays(np.int64, d, elements=small)), draw(small)


def exact(weights, row):
    """The dot product of numbers as they are, without rounding."""
    return sum(Fraction(float(w)) * Fraction(float(x)) for w, x in zip(weights, row, strict=True))


# -- predictions carry over -------------------------------------------------------------------------------------------


@thorough(100)
@given(thresholds())
def test_a_threshold_becomes_a_weight(problem):
    X, w, theta = problem
    signs = np.where(X @ w - theta >= 0, 1, -1)
    lifted = np.array([-theta, *w])
    assert np.array_equal(np.where(add_bias(X) @ lifted >= 0, 1, -1), signs)
    assert np.array_equal(np.where(add_bias(X, 2) @ np.array([-theta, *(2 * w)]) >= 0, 1, -1), signs)


@thorough(100)
@given(thresholds())
def test_signs_survive_normalisation(problem):
    X, w, theta = problem
    lifted, scores = [-theta, *w], X @ w - theta
    for row, score in zip(normalize_examples(add_bias(X)), scores.tolist(), strict=True):
        normalised = exact(lifted, row)
        if score:
            assert (normalised > 0) == (score > 0)
        else:  # the score of 0 survives up to the rounding of the row
            assert abs(normalised) < 1e-14


@thorough(60)
@given(thresholds())
def test_the_convergence_theorem_holds_on_normalised_examples(problem):
    """Columbia's Theorem 1.1: with ‖v‖ = ‖x‖ = 1 and δ = min |v·x| > 0 there are at most 1/δ² mistakes."""
    X, w, theta = problem
    rows, target = normalize_examples(add_bias(X)), np.array([-theta, *w])
    exactly = X @ w - theta
    rows, labels = rows[exactly != 0], np.sign(exactly[exactly != 0])
    assume(len(rows) > 0)
    assert np.abs(np.linalg.norm(rows, axis=1) - 1).max() < 4e-16
    learner = OnlinePerceptron(target=target)
    for _ in range(20):
        for row, y in zip(rows, labels.tolist(), strict=True):
            learner.update(row, y)
    delta = np.abs(rows @ (target / np.linalg.norm(target))).min()
    assert learner.k <= 1 / delta**2 * (1 + 1e-12)
    assert learner.mistake_bound == pytest.approx(1 / delta**2)


# -- all kinds of examples --------------------------------------------------------------------------------------------

TABLE = np.array([[3, 4], [0, 0], [5, -12]])
UNIT = np.array([[0.6, 0.8], [0, 0], [5 / 13, -12 / 13]])
WITH_ONE = np.array([[1, 3, 4], [1, 0, 0], [1, 5, -12]])
KINDS = {
    "int64": TABLE,
    "int8": TABLE.astype(np.int8),
    "float32": TABLE.astype(np.float32),
    "float64": TABLE.astype(np.float64),
    "fortran": np.asfortranarray(TABLE),
    "list": TABLE.tolist(),
    "csr": sp.csr_matrix(TABLE),
    "csr float32": sp.csr_matrix(TABLE.astype(np.float32)),
    "csc": sp.csc_matrix(TABLE),
    "csr array": sp.csr_array(TABLE),
    "pandas": pd.DataFrame(TABLE, columns=["a", "b"], index=[7, 8, 9]),
    "polars": pl.DataFrame(TABLE, schema=["a", "b"]),
}


def frozen(X):
    """What X holds, to see whether it changes."""
    return repr(X.toarray() if sp.issparse(X) else X)


def plain(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_rows(kind):
    X, before = KINDS[kind], frozen(KINDS[kind])
    lifted, unit = add_bias(X), normalize_examples(X)
    assert np.array_equal(plain(lifted), WITH_ONE)
    assert np.allclose(plain(unit), UNIT, rtol=1e-6 if "float32" in kind else 1e-15)
    assert frozen(X) == before
    for out in (lifted, unit):
        if sp.issparse(X):
            assert out.format == "csr"
            assert isinstance(out, sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix)
        else:
            assert type(out) is (np.ndarray if isinstance(X, list) else type(X))
    if hasattr(X, "dtype"):
        assert lifted.dtype == X.dtype
        assert unit.dtype == (X.dtype if X.dtype.kind == "f" else np.float64)
    if hasattr(X, "columns"):
        assert list(lifted.columns) == ["bias", "a", "b"]
        assert list(unit.columns) == ["a", "b"]
    if isinstance(X, pd.DataFrame):
        assert list(lifted.index) == list(unit.index) == [7, 8, 9]


@pytest.mark.parametrize("row", [0, 1, 2])
def test_one_example(row):
    vector, named = TABLE[row], {"a": int(TABLE[row, 0]), "b": float(TABLE[row, 1])}
    assert np.array_equal(add_bias(vector), WITH_ONE[row])
    assert np.allclose(normalize_examples(vector), UNIT[row], rtol=1e-15)
    assert add_bias(named) == {"bias": 1.0, **named}
    assert list(add_bias(named)) == ["bias", "a", "b"]
    assert normalize_examples(named) == dict(zip("ab", normalize_examples(vector).tolist(), strict=True))
    assert named == {"a": TABLE[row, 0], "b": TABLE[row, 1]}


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (np.int8, 1, np.int8),
        (np.int8, 100.0, np.int8),
        (np.int64, 0.5, np.float64),
        (np.float32, 0.5, np.float32),
        (np.float64, 1, np.float64),
    ],
)
def test_types_are_kept_where_the_value_fits(dtype, value, expected):
    X = np.array([[1, 0], [0, 1]], dtype=dtype)
    for out in (add_bias(X, value), add_bias(sp.csr_matrix(X), value)):
        assert out.dtype == expected
        assert np.array_equal(plain(out)[:, 1:], X)
        assert (plain(out)[:, 0] == value).all()


MIXED = np.array([[1, 3, 0.5], [0, 4, -2]])
COLUMNS = {"a": [True, False], "b": [3, 4], "c": [0.5, -2]}
FRAMES = {
    "pandas": pd.DataFrame(COLUMNS),
    "nullable": pd.DataFrame(COLUMNS).convert_dtypes(),
    "sparse": pd.DataFrame(MIXED, columns=list("abc")).astype(pd.SparseDtype(np.float64, 0.0)),
    "polars": pl.DataFrame(COLUMNS),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_with_columns_of_several_types(kind):
    X, before = FRAMES[kind], frozen(FRAMES[kind])
    unit = normalize_examples(X)
    assert type(unit) is type(X)
    assert list(unit.columns) == ["a", "b", "c"]
    assert np.array_equal(unit.to_numpy(), normalize_examples(MIXED))
    assert unit.to_numpy().dtype == np.float64
    assert frozen(X) == before


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, np.nan, "1", None])
def test_bad_values(value):
    with pytest.raises(VotronError, match="'value' of add_bias"):
        add_bias(TABLE, value)


@pytest.mark.parametrize("named", [{"bias": 1}, pd.DataFrame({"bias": [1]}), pl.DataFrame({"bias": [1]})])
def test_a_bias_that_is_there_already(named):
    with pytest.raises(VotronError, match="'bias'"):
        add_bias(named)


@pytest.mark.parametrize("reduce", [add_bias, normalize_examples])
@pytest.mark.parametrize("X", [3.0, np.zeros((2, 2, 2)), "text", [[1, 2], [3]], None, [[1j]]])
def test_no_examples(reduce, X):
    with pytest.raises(VotronError, match=f"The examples of {reduce.__name__}"):
        reduce(X)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([[1, 2], [np.nan, 1]], "finite numbers"),
        (sp.csr_matrix([[0.0, 0.0], [0.0, -np.inf]]), "finite numbers"),
        (pl.DataFrame({"a": [True, False], "b": [1, None]}), "finite numbers"),
        ({"a": "red"}, "Got values of type <U3"),
        (pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), "in column 'a' instead."),
        (pl.DataFrame({"a": ["x", "y"], "b": [1, 2]}), "in column 'a' instead."),
    ],
)
def test_what_has_no_length(X, words):
    with pytest.raises(VotronError) as caught:
        normalize_examples(X)
    assert_clear(caught.value, "of normalize_examples must be ", words)


@pytest.mark.parametrize("value", [-1, 300])
def test_a_constant_beyond_the_type_of_the_rows(value):
    assert add_bias(np.array([[1, 2]], dtype=np.uint8), value).tolist() == [[value, 1, 2]]
