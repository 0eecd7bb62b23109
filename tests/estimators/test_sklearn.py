"""All classifiers among scikit-learn's own: its checks, with reasons where one is exempt; and among its tools."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from votron import (
    AveragedPerceptronClassifier,
    KernelAdatronClassifier,
    NaiveBayesLinearClassifier,
    VotedPerceptronClassifier,
    VotedPerceptronClassifierCV,
    WinnowClassifier,
)

# -- check_estimator --------------------------------------------------------------------------------------------------


def quadratic(A, B):
    """A kernel as users write one."""
    dots = A @ B.T
    return ((dots.toarray() if sp.issparse(dots) else dots) + 1.0) ** 2


# One per estimator and per branch that the checks can see.
ESTIMATORS = {
    "voted": VotedPerceptronClassifier(),
    "random": VotedPerceptronClassifier(rule="random", epochs=2.5),
    "last, normalised": VotedPerceptronClassifier(rule="last", normalize_vectors=True, normalize_kernel=True),
    "precomputed": VotedPerceptronClassifier(kernel="precomputed"),
    "callable": VotedPerceptronClassifier(kernel=quadratic, margin=0.5),
    # has partial_fit, which gamma="scale" has not
    "rbf, gamma=0.5": VotedPerceptronClassifier(kernel="rbf", gamma=0.5),
    "early stopping": VotedPerceptronClassifier(early_stopping=True, rule="auto", gamma=0.5),
    "by cross-validation": VotedPerceptronClassifierCV(
        kernels=["poly"], gammas=["scale"], degrees=[2], margins=[0.5], epochs=4, cv=2
    ),
    "averaged": AveragedPerceptronClassifier(),
    "averaged, through the origin": AveragedPerceptronClassifier(fit_intercept=False, epochs=None, shuffle=False),
    "averaged, joint": AveragedPerceptronClassifier(margin=0.1, multiclass="joint", epochs=1000),
    "adatron": KernelAdatronClassifier(max_sweeps=10_000),
    "adatron, soft": KernelAdatronClassifier(kernel="rbf", C=1.0, max_sweeps=10_000),
    "naive Bayes": NaiveBayesLinearClassifier(),
    # binarize, since the checks have real numbers, which binarize=None refuses
    "Winnow": WinnowClassifier(binarize=0.0),
    "Winnow, negations": WinnowClassifier(binarize=0.0, complement=True, demotion="eliminate"),
}

_EQUIVALENCE = [f"check_sample_weight_equivalence_on_{form}_data" for form in ("dense", "sparse")]
_NOT_TWICE = (
    "a weight of 2 is not the row twice: a mistake adds twice the row, but a row that comes twice is presented twice"
)
_NO_BIAS = (
    "on unscaled data without a bias: K(x, z) of other rows is next to 0, or planes go through the origin, so that no "
    "weights make all rows one class"
)
_SMALL_BIAS = (
    "on values of some 20 the feature that is always one weighs little: it takes about a hundred epochs, which other "
    "models are given here by the name of max_iter, until the intercept makes all rows one class"
)


def exemptions(name, model):
    """The checks that an estimator fails, and why."""
    if isinstance(model, NaiveBayesLinearClassifier | WinnowClassifier):
        return {}
    if isinstance(model, KernelAdatronClassifier):
        found = dict.fromkeys(_EQUIVALENCE, "both are the solution up to tol, which is more than the check allows")
        return found if model.C else {**found, "check_class_weight_classifiers": "without C there is nothing to weigh"}
    found = dict.fromkeys(_EQUIVALENCE, _NOT_TWICE)
    if name == "precomputed":
        found["check_decision_proba_consistency"] = "it gives rows with features where kernel values are wanted"
    if name in ("rbf, gamma=0.5", "early stopping"):
        found["check_class_weight_classifiers"] = _NO_BIAS
    if name in ("averaged", "averaged, through the origin"):
        found["check_class_weight_classifiers"] = _SMALL_BIAS
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore:.*rows have K.x, x. = 0:UserWarning")  # as they have in the checks' sparse data
@pytest.mark.filterwarnings("ignore:Training made mistakes in each of:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The adatron stopped before:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:Without C weights above 0 change nothing:UserWarning")
def test_check_estimator(name):
    expected = exemptions(name, ESTIMATORS[name])
    results = check_estimator(ESTIMATORS[name], on_skip=None, expected_failed_checks=expected)  # raises at others
    assert len(results) > 50
    # which needs SCIPY_ARRAY_API set before scipy is imported
    assert {r["check_name"] for r in results if r["status"] != "passed"} <= {"check_array_api_input", *expected}


# -- tools ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(y))
    return X[order], y[order]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:400].astype(np.uint8), y[:400]


def test_cross_validation_cuts_precomputed_matrices_both_ways(iris):
    X, y = iris
    by_name = VotedPerceptronClassifier(kernel="poly", margin=0.0, degree=2, gamma=1.0, random_state=0)
    given = VotedPerceptronClassifier(kernel="precomputed", margin=0.0, random_state=0)
    K = polynomial_kernel(X, degree=2, gamma=1.0)
    assert np.allclose(cross_val_score(given, K, y), cross_val_score(by_name, X, y), atol=0.05)
    with pytest.raises(ValueError, match="square"):
        cross_val_score(given, X, y, error_score="raise")


def test_a_pickled_model_learns_on(digits):
    X, y = digits
    model = VotedPerceptronClassifier(gamma=1.0, random_state=0).partial_fit(X[:150], y[:150], classes=range(10))
    other = pickle.loads(pickle.dumps(model))
    for part in (slice(150, 151), slice(151, 400)):
        model.partial_fit(X[part], y[part])
        other.partial_fit(X[part], y[part])
    assert other.record_.equals(model.record_)
    assert np.array_equal(other.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_gamma_is_that_of_svc(digits, gamma):
    X, y = digits
    theirs = SVC(gamma=gamma).fit(X, y)._gamma
    mine = [
        VotedPerceptronClassifier(gamma=gamma, epochs=0.1).fit(form, y).kernel_.gamma
        for form in (X, X.astype(np.float32), X.astype(float), sp.csr_matrix(X), sp.csr_array(X.astype(float)))
    ]
    assert len(set(mine)) == 1  # to the bit: dense and sparse data get the same record
    assert mine[0] == pytest.approx(theirs, rel=1e-12)
    reals = X / 7 + 1e4
    scale = VotedPerceptronClassifier(epochs=0.1).fit(reals, y).kernel_.gamma
    assert scale == pytest.approx(1 / (64 * reals.var()), rel=1e-9)
