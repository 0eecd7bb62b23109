"""Values of kernels from dot products: what each computes, and that it does not matter where in a block it stands."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from votron.kernels import (
    KERNELS,
    GaussianKernel,
    LinearKernel,
    NormalizedKernel,
    PolynomialKernel,
    PrecomputedKernel,
)


def row_of(kernel, dots, terms=None, own=None, low=0):
    """Kernel values of one support, given its dot products with a block, from row ``low`` of the block on."""
    dots = np.asarray(dots)
    out = np.full((1, low + len(dots)), np.nan)
    block = np.concatenate([np.zeros(low, dtype=dots.dtype), dots])[None]
    terms = np.empty((0, 1)) if terms is None else terms
    own = np.empty((0, out.shape[1])) if own is None else own
    kernel.from_dots(block, np.arange(1), low, low + len(dots), terms, own, out)
    return out[0, low:]


def polynomial(dots, gamma, coef0, degree, low=0):
    return row_of(PolynomialKernel(degree, gamma, coef0), dots, low=low)


def gaussian(dots, gamma, square, own, low=0):
    padded = np.concatenate([np.full(low, np.nan), own])[None]
    return row_of(GaussianKernel(gamma), dots, np.array([[square]]), padded, low=low)


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


COMPOSED = [
    NormalizedKernel(PolynomialKernel(2)),
    NormalizedKernel(GaussianKernel(0.1)),
    PolynomialKernel(4).of(NormalizedKernel(LinearKernel())),
    GaussianKernel(0.5).of(NormalizedKernel(PolynomialKernel(2))),
]


@pytest.mark.parametrize("kernel", [*(cls() for cls in KERNELS.values() if not cls.pairwise), *COMPOSED], ids=repr)
def test_the_formula_is_the_loop(kernel):
    """What is exported is what is computed: the formula, of the same dot products."""
    X = np.random.RandomState(0).randint(0, 2, (30, 9)).astype(np.float64)
    X[3] = 0
    dots = X @ X.T
    squares = np.diagonal(dots)
    with np.errstate(invalid="ignore"):
        expected = kernel.formula(dots, squares[:, None], squares[None, :])
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(expected), rtol=1e-14)


@pytest.mark.parametrize("kernel", [LinearKernel(), PolynomialKernel(1, 0.5, 2.0), PolynomialKernel(2)], ids=repr)
def test_kernels_that_are_affine_say_so(kernel):
    dots = np.linspace(-3, 3, 7)
    affine = kernel.affine()
    assert (affine is None) == (kernel == PolynomialKernel(2))
    if affine is not None:
        np.testing.assert_array_equal(affine[0] * dots + affine[1], kernel.formula(dots, dots, dots))


def test_a_matrix_is_no_formula():
    with pytest.raises(ValueError, match=r"PrecomputedKernel\(\) is no formula of dot products"):
        PrecomputedKernel().formula(1.0, 1.0, 1.0)
