"""Bad input: one clear sentence that names the parameter, the rule and the value, and the estimator unchanged."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from paper import paper_perceptron
from refusals import assert_clear, refusal

from votron import VotronError
from votron.errors import IndefiniteKernelError, NotRepresentableError
from votron.kernels import NormalizedKernel, PrecomputedKernel

rng = np.random.RandomState(0)
X = rng.randn(20, 3)
y = np.arange(20) % 2
K = X @ X.T
PIXELS = rng.randint(0, 256, (60, 784)).astype(np.uint8)
LABELS = np.arange(60) % 3


def changed(matrix, *entries):
    """A copy of the matrix in which (row, column, value) are as given."""
    matrix = np.array(matrix)
    for row, column, value in entries:
        matrix[row, column] = value
    return matrix


def refused_by_fit(parameters, data, labels, *words, kind=VotronError):
    """Whether fit refuses, of a new model, of one that was fitted before, and of one that learns in batches."""
    error = refusal(paper_perceptron(**parameters), lambda m: m.fit(data, labels))
    assert isinstance(error, kind), repr(error)
    assert_clear(error, *words)
    fitted = paper_perceptron(gamma=0.5, random_state=0).fit(pd.DataFrame(X, columns=list("abc")), y)
    expected = fitted.decision_function(pd.DataFrame(X, columns=list("abc")))
    fitted.set_params(**parameters)
    assert_clear(refusal(fitted, lambda m: m.fit(data, labels)), *words)
    fitted.set_params(**paper_perceptron(gamma=0.5, random_state=0).get_params())
    assert np.array_equal(fitted.decision_function(pd.DataFrame(X, columns=list("abc"))), expected)


# -- data -------------------------------------------------------------------------------------------------------------


def test_nothing_can_be_learnt():
    words = "No row of X can be learnt", "K(x, x) = 0 for each of the 20"
    refused_by_fit({"kernel": "linear"}, X * 0, y, "LinearKernel()", *words)
    refused_by_fit({"kernel": "precomputed"}, K * 0, y, "PrecomputedKernel()", *words)


# -- rules and moments ------------------------------------------------------------------------------------------------


def test_holdout_without_data():
    fitted = paper_perceptron(random_state=0).fit(X, y)
    for ask in (
        lambda m: m.with_rule("holdout"),
        lambda m: list(m.staged_decision_function(X, rules=["holdout"])),
        lambda m: m.set_params(rule="holdout").predict(X),
    ):
        with pytest.raises(VotronError, match="needs held-out data"):
            ask(fitted)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rule": "last", "X_val": X, "y_val": y}, "'last'"),
        ({"rule": "holdout", "X_val": X}, "y"),
        ({"rule": "holdout", "X_val": X[:, :2], "y_val": y}, "X has 2 features, but"),
        ({"rule": "holdout", "X_val": X, "y_val": y + 5}, "Got 5 instead."),
    ],
)
def test_held_out_data(arguments, words):
    fitted = paper_perceptron(random_state=0).fit(X, y)
    assert words in str(refusal(fitted, lambda m: m.with_rule(**arguments)))


@pytest.mark.parametrize("moment", [0, 10.1])
def test_moments_outside_training(moment):
    fitted = paper_perceptron(random_state=0).fit(X, y)
    error = refusal(fitted, lambda m: m.staged_decision_function(X, at=[1, moment]))
    assert_clear(error, "'at'", f"Got {moment!r} instead.")


# -- precomputed kernels ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["precomputed", NormalizedKernel(PrecomputedKernel())])
def test_precomputed_matrices(kernel):
    kernel = {"kernel": kernel}
    words = "With kernel='precomputed' X must be a square matrix", "Got shape (20, 5) instead."
    refused_by_fit(kernel, K[:, :5], y, *words)
    words = "With kernel='precomputed' X must be a symmetric matrix", "Got X[1, 2] = 7", "and X[2, 1] = "
    refused_by_fit(kernel, changed(K, (1, 2, 7)), y, *words)
    words = "with kernel='precomputed' the diagonal of X must not be negative", "Got -0.5 at row 4 instead."
    refused_by_fit(kernel, changed(K, (4, 4, -0.5)), y, *words, kind=IndefiniteKernelError)
    words = "With kernel='precomputed' X must be positive semi-definite", "X[4, 5]² must not exceed", "Got 50² instead."
    refused_by_fit(kernel, changed(K, (4, 5, 50), (5, 4, 50)), y, *words, kind=IndefiniteKernelError)


INDEFINITE = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
"""Its 2×2 minors are positive, its determinant is not; with labels +, −, + each example adds to the contradiction."""


@pytest.mark.parametrize("dtype", [float, np.float32, int])
def test_a_negative_length_is_caught(dtype):
    matrix = (10 * INDEFINITE).round().astype(dtype)
    parameters = {"kernel": "precomputed", "shuffle": False}
    words = (
        "PrecomputedKernel() is not positive semi-definite on these data: ‖v‖² became -24 after the mistake on row 2"
    )
    refused_by_fit(parameters, matrix, [1, 0, 1], words, kind=IndefiniteKernelError)
    paper_perceptron(**parameters).fit(matrix, [1, 1, 0])  # not caught, since never met


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*rows have K.x, x. = 0:UserWarning")
def test_rounding_is_no_crime():
    """Matrices of rank 1 and 2 in float32 or rounded to integers are as indefinite as rounding can make them."""
    for data in (X[:, :1], X[:, :2], np.vstack([X, -X, X])):
        labels = rng.randint(0, 2, len(data))
        for matrix in (
            data @ data.T,
            data.astype(np.float32) @ data.astype(np.float32).T,
            (9 * data @ data.T).astype(int),
        ):
            trained = paper_perceptron(kernel="precomputed", epochs=200, random_state=0).fit(matrix, labels)
            assert len(trained.record_) > 50
        paper_perceptron(kernel="linear", epochs=200).fit(data.astype(np.float32), labels)


# -- kernels ----------------------------------------------------------------------------------------------------------


def test_conjunctions_are_of_booleans():
    words = "The 'conjunction' kernel takes 0/1 data only", "binarise or one-hot encode"
    for data, values in ((X, "from -2.5"), (np.eye(20) * 2, "from 0 to 2"), (sp.eye_array(20) * -1, "from -1 to 0")):
        refused_by_fit({"kernel": "conjunction"}, data, y, *words, f"Got values {values}")
    fitted = paper_perceptron(kernel="conjunction").fit(np.eye(20), y)
    assert_clear(refusal(fitted, lambda m: m.predict(np.eye(20) / 2)), *words, "Got values from 0 to 0.5")
    refused_by_fit({"kernel": "conjunction"}, np.ones((20, 1100)), y, "1023 ones", kind=NotRepresentableError)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda X: X.astype(np.float32)])
def test_kernel_values_that_are_too_large(form):
    data = form(PIXELS)
    words = "PolynomialKernel(degree=200, gamma=1.0, coef0=1.0) exceeds the largest float64 on these data", "degree"
    refused_by_fit({"degree": 200, "gamma": 1.0}, data, LABELS, *words, kind=NotRepresentableError)
    words = "NormalizedKernel(base=PolynomialKernel(degree=200, gamma=1.0, coef0=1.0))", "largest float64"
    parameters = {"degree": 200, "gamma": 1.0, "normalize_kernel": True}
    refused_by_fit(parameters, data, LABELS, *words, kind=NotRepresentableError)


@pytest.mark.parametrize("normalize", [False, True])
def test_rows_to_predict_that_are_too_large(normalize):
    fitted = paper_perceptron(degree=6, gamma=1.0, normalize_kernel=normalize, random_state=0).fit(X, y)
    for rule in ("vote", "average", "last", "random", "pocket"):
        error = refusal(fitted, lambda m, rule=rule: m.with_rule(rule).predict(X * 1e80))
        assert isinstance(error, NotRepresentableError)
        assert_clear(error, "PolynomialKernel(degree=6", "largest float64", "scale the data")


def test_functions_that_fail():
    class MyKernelBrokeError(Exception):
        pass

    calls = []

    def breaks(A, B):
        calls.append(len(A))
        if len(calls) > fine:
            raise MyKernelBrokeError("after all")
        return A @ B.T

    for fine in (0, 3, 5):  # at once, and in the middle of training
        for model in (
            paper_perceptron(kernel=breaks, memory_limit=0),
            paper_perceptron(gamma=1.0, memory_limit=0).fit(X, y),
        ):
            calls.clear()
            model.kernel = breaks
            before = dict(model.__dict__)
            with pytest.raises(MyKernelBrokeError, match="after all"):
                model.fit(X, y)
            assert len(calls) == fine + 1
            assert model.__dict__ == before


# -- partial_fit ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"gamma": "scale"}, "'gamma' parameter of VotedPerceptronClassifier must be a number for partial_fit"),
        ({"kernel": NormalizedKernel(PrecomputedKernel())}, "kernel='precomputed'"),
        ({"gamma": 1.0, "class_weight": "balanced"}, "must be a dict or None for partial_fit"),
    ],
)
def test_what_batches_cannot_do(parameters, words):
    model = paper_perceptron(**parameters)
    assert not hasattr(model, "partial_fit")
    assert_clear(refusal(model, lambda m: m.partial_fit(K, y)), words)
