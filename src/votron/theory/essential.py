"""Vapnik's bound for the hyperplane of maximal margin, by its essential support vectors, on small data.

A hyperplane of maximal margin is w = Σ α_i y_i x_i, α ≥ 0, with y f(x) ≥ 1 for every example and the least ‖w‖; its
margin is γ = 1/‖w‖. w is unique, α need not be. An example is an *essential* support vector if training without it
gives another hyperplane. All others are classified correctly by the hyperplane trained without them, since it is the
same. So of m + 1 examples at most K, the essential ones, are errors of leave-one-out, and by symmetry the expected
error after m examples is at most

    E[min(K, (r/γ)²)] / (m + 1),

the expectation over samples of m + 1. For hyperplanes through the origin, f(x) = w·x as of the adatron, r is the
largest ‖x‖ of an essential support vector: the sphere is centred at the origin. With a threshold, f(x) = w·x + b as of
the usual SVM, r is the diameter 2R of the smallest sphere, wherever its centre, around the support vectors, the
examples nearest to the hyperplane.

With one sample's numbers the bound is an estimate.

References
----------
V. Vapnik, *Statistical Learning Theory*, Wiley 1998, chapter 10. V. Vapnik and O. Chapelle, *Bounds on error
expectation for support vector machines*, Neural Computation 12 (2000), 2013-2036. Freund & Schapire, after theorem 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import lsq_linear, nnls

from votron._util.types import Floats, Index
from votron.errors import IndefiniteKernelError, VotronError
from votron.theory.bounds import count, least_count

MOST = 2000
"""Most examples: a problem is solved again for every support vector."""
NOTHING = 1e-4
"""Margin, relative to the radius of the data, below which they count as inseparable."""
SLACK = 1e-5
"""Relative rounding errors (of float32, say) allowed in the symmetry and the least eigenvalue of a Gram matrix."""
TOLERANCE = 1e-6
"""Distance of y f(x) from 1 that counts as none."""
ZERO = 1e-13
"""Share of all weights that counts as 0."""
OPTIMAL = 1e-9
"""Slope that counts as 0. SciPy's nnls may end where it is far above (its issue 25389, in SciPy 1.15 to 1.17)."""
OFFSET = 10.0
"""Length of the constant feature for a free number; the result does not depend on it."""
SETTLED = 1e-9
"""Step of the free number after which it has converged."""


@dataclass(frozen=True, eq=False)
class EssentialSupport:
    """A hyperplane of maximal margin and its support.

    Attributes
    ----------
    alpha : array of shape (n,)
        The coefficients of w = Σ α_i y_i x_i, which need not be unique.
    support, on_margin, essential : int arrays
        Examples with α > 0; those with y f(x) = 1; and those in the support of every expansion of w.
    margin : float
        γ = 1/‖w‖, the maximal margin.
    extent : float
        r, as in the bound: through the origin the largest ‖x‖ of the essential support vectors, 0 without any; with a
        threshold the diameter of the smallest sphere around the examples on the margin.

    Notes
    -----
    Through the origin, an error p of leave-one-out has α_p ≥ 1/‖x_p‖² (Vapnik), and Σ α = 1/γ²; so there are at most
    (r/γ)². A sphere with another centre would not do: for a positive example at (9, 1) and a negative at (9, −1) γ is
    1, the smallest sphere around them has radius 1, and yet both are errors of leave-one-out.

    With a threshold R would be too little: of the points −9, −1, 1 and 9 on a line, the first two negative, −1 and 1
    are both errors of leave-one-out, and γ = R = 1. (Freund & Schapire's summary of the bound has R; Vapnik & Chapelle
    quote it with the diameter, 2R.) The sphere has to hold the support vectors of some expansion: a single essential
    one has R = 0, and may be an error.

    Examples
    --------
    >>> X, y = np.array([[-9.0], [-1.0], [1.0], [9.0]]), [-1, -1, 1, 1]
    >>> found = essential_support_vectors(X @ X.T, y)
    >>> found.essential.tolist(), round(found.margin, 9), round(found.extent, 9)
    ([1, 2], 1.0, 2.0)
    """

    alpha: Floats
    support: Index
    on_margin: Index
    essential: Index
    margin: float
    extent: float


def essential_support_vectors(K: ArrayLike, y: ArrayLike, *, threshold: bool = True) -> EssentialSupport:
    """Find the hyperplane of maximal margin and its essential support vectors.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Kernel values of the examples with each other; n at most 2000. The margin must be above 1e-4 of their radius.
    y : array-like of shape (n,)
        Labels +1 and -1, both of them.
    threshold : bool, default=True
        Planes w·x + b = 0; otherwise w·x = 0, through the origin of feature space.

    Notes
    -----
    Each example with α > 0 is left out in turn: it is essential if the hyperplane trained without it has y f(x) < 1
    there. That takes seconds for 200 support vectors, minutes for 500.

    Examples
    --------
    Two parallel lines: all points are on the margin, and none is essential.

    >>> X = np.array([[x, side] for side in (-1.0, 1.0) for x in range(5)])
    >>> found = essential_support_vectors(X @ X.T, np.sign(X[:, 1]))
    >>> len(found.on_margin), len(found.essential), round(found.margin, 9)
    (10, 0, 1.0)
    """
    problem = _Problem("essential_support_vectors", K, y, threshold)
    plane = problem.solve()
    on_margin = np.flatnonzero(problem.scores(plane) <= 1 + TOLERANCE)
    essential = np.flatnonzero((plane.alpha > 0) & (problem.left_out_scores(plane) < 1 - TOLERANCE))
    gram = np.asarray(K, dtype=np.float64)
    if threshold:
        extent = 2 * sphere_radius(gram[np.ix_(on_margin, on_margin)])
    else:
        extent = math.sqrt(float(np.diagonal(gram)[essential].max(initial=0.0)))
    return EssentialSupport(
        alpha=plane.alpha / problem.scale,
        support=np.flatnonzero(plane.alpha > 0),
        on_margin=on_margin,
        essential=essential,
        margin=problem.margin(plane),
        extent=extent,
    )


class SeparatingVector(NamedTuple):
    """A vector u = Σ c_i x_i of length 1 with the largest margin on a sample."""

    coefficients: Floats
    margin: float


def separating_vector(K: ArrayLike, y: ArrayLike) -> SeparatingVector | None:
    """Find the vector that separates a small sample through the origin with the largest margin.

    It takes kernel values of at most 2,000 examples and labels +1 and -1. The result has ``coefficients`` c of the
    vector u = Σ c_i x_i of length 1 and its ``margin`` min y (u·x). It is None if no margin is above 1e-4 of the
    radius.

    Examples
    --------
    >>> X, y = np.array([[3.0, 1.0], [-1.0, 1.0], [0.0, -2.0]]), np.array([1, 1, -1])
    >>> found = separating_vector(X @ X.T, y)
    >>> np.abs(np.round(found.coefficients @ X, 9)), round(found.margin, 9)
    (array([0., 1.]), 1.0)
    """
    problem = _Problem("separating_vector", K, y, threshold=False, both=False)
    plane = problem.find()
    if plane is None:
        return None
    margin = problem.margin(plane)
    return SeparatingVector(plane.alpha * problem.y * (margin / problem.scale), margin)


class LeftOut(NamedTuple):
    """The scores of examples under the hyperplanes trained without them, and the examples with a score of 0 or less."""

    scores: Floats
    errors: Index


def svm_leave_one_out(K: ArrayLike, y: ArrayLike, *, threshold: bool = True) -> LeftOut:
    """Find the leave-one-out errors of the hyperplane of maximal margin.

    The parameters are those of `essential_support_vectors`. The ``scores`` are y f(x) of each example under the
    hyperplane trained without it, or -1 where the others are all of the other class and there is a threshold. The
    ``errors``, those with a score of 0 or less, are all essential. Their share among m + 1 examples is an unbiased
    estimate of the expected error after m.

    Examples
    --------
    >>> X, y = np.array([[-9.0], [-1.0], [1.0], [2.0]]), np.array([-1, -1, 1, 1])
    >>> left_out = svm_leave_one_out(X @ X.T, y)
    >>> left_out.scores.round(3).tolist(), left_out.errors
    ([9.0, -0.6, 0.333, 2.0], array([1]))
    """
    problem = _Problem("svm_leave_one_out", K, y, threshold)
    scores = problem.left_out_scores(problem.solve())
    return LeftOut(scores, np.flatnonzero(scores <= 0))


def vapnik_svm_bound(m: int, n_essential: float, radius: float | None = None, margin: float | None = None) -> float:
    """Bound the error of the hyperplane of maximal margin: min(K, (r/γ)²)/(m + 1) (Vapnik 1998).

    It bounds the expected error, for independent examples that are separable with probability 1. ``n_essential`` is
    E[K], K the essential support vectors of m + 1 random examples; ``radius`` and ``margin`` are r and γ, ``extent``
    and ``margin`` of an `EssentialSupport`.

    Examples
    --------
    >>> X, y = np.array([[-9.0], [-1.0], [1.0], [2.0]]), np.array([-1, -1, 1, 1])
    >>> found = essential_support_vectors(X @ X.T, y)
    >>> vapnik_svm_bound(len(y) - 1, len(found.essential), found.extent, found.margin)
    0.5
    """
    return least_count("n_essential", n_essential, radius, margin) / (count("m", m, 1) + 1)


class _Plane(NamedTuple):
    """A hyperplane w·x + b and w = Σ α_i y_i x_i, in the scaled features."""

    alpha: Floats
    w: Floats
    b: float


class _Problem:
    """Examples as features computed from their Gram matrix, and their hyperplanes of maximal margin."""

    def __init__(self, owner: str, K: ArrayLike, y: ArrayLike, threshold: bool, *, both: bool = True) -> None:
        matrix = _checked_gram(owner, K)
        self.owner, self.threshold, self.y = owner, bool(threshold), _checked_labels(owner, y, len(matrix), both)
        self.features, self.scale = _features(matrix, centred=self.threshold)

    def solve(self) -> _Plane:
        plane = self.find()
        if plane is None:
            which = "with a threshold" if self.threshold else "through the origin"
            raise VotronError(
                f"The examples of {self.owner} must be separable by a hyperplane {which} in feature space, with "
                f"a margin above {NOTHING:g} of their radius."
            )
        return plane

    def find(self, rows: Index | slice = slice(None), b: float = 0.0) -> _Plane | None:
        """Return the hyperplane of some examples, or None.

        With a threshold, ‖w‖² + (b − b₀)²/OFFSET² is minimised with b₀ the last b, so no b is penalised in the end.
        """
        X, y = self.features[rows], self.y[rows]
        if not self.threshold:
            found = _shortest(y[:, None] * X, np.ones(len(y)))
            return None if found is None else _Plane(*found, 0.0)
        G = y[:, None] * np.column_stack([X, np.full(len(y), OFFSET)])
        while True:
            found = _shortest(G, 1.0 - y * b)
            if found is None:
                return None
            alpha, z = found
            step = OFFSET * float(z[-1])
            b += step
            if abs(step) <= SETTLED * max(1.0, abs(b)):
                return _Plane(alpha, z[:-1], b)

    def scores(self, plane: _Plane) -> Floats:
        """Return y f(x) of each example."""
        return np.asarray(self.y * (self.features @ plane.w + plane.b))

    def left_out_scores(self, plane: _Plane) -> Floats:
        """Return y f(x) of each example under the hyperplane of the others."""
        scores = self.scores(plane)
        for i in np.flatnonzero(plane.alpha > 0):
            others = np.flatnonzero(np.arange(len(self.y)) != i)
            if self.threshold and not (self.y[others] == self.y[i]).any():
                scores[i] = -1.0
                continue
            without = self.find(others, plane.b)
            if without is None:
                raise VotronError("The Gram matrix is too near to singular for a solution: it needs more exact values.")
            scores[i] = self.y[i] * (self.features[i] @ without.w + without.b)
        return scores

    def margin(self, plane: _Plane) -> float:
        """Return γ in the units of the data."""
        return math.sqrt(self.scale) / float(np.linalg.norm(plane.w))


def sphere_radius(K: Floats) -> float:
    """Return the radius R of the smallest sphere around points with this Gram matrix.

    Its centre is c = Σ λ_i x_i with the λ ≥ 0, Σ λ = 1, for which Σ λ_i K_ii − λᵀKλ is largest, and that value is R².
    """
    X, scale = _features(K, centred=True)
    # R² = u + ‖c‖² with u ≥ ‖x‖² - 2 x·c; u is free, as a threshold is: z = (c, OFFSET + (u - u₀)/(2 OFFSET))
    lengths2, u = np.square(X).sum(axis=1), 0.0
    G = 2 * np.column_stack([X, np.full(len(X), OFFSET)])
    while True:
        found = _shortest(G, lengths2 - u + 2 * OFFSET**2)
        assert found is not None  # for u large enough, any centre will do
        weights, z = found
        step = 2 * OFFSET * (float(z[-1]) - OFFSET)
        u += step
        if abs(step) <= 1e-12:
            break
    centre = weights / weights.sum() @ X
    return math.sqrt(scale * float(np.square(X - centre).sum(axis=1).max()))


def _shortest(G: Floats, h: Floats) -> tuple[Floats, Floats] | None:
    """Return λ ≥ 0 and the shortest z = Gᵀλ with G z ≥ h (Lawson & Hanson 1974, chapter 23); None if there is none."""
    A, target = np.vstack([G.T, h]), np.append(np.zeros(G.shape[1]), 1.0)
    weights = nnls(A, target, maxiter=100 * len(h))[0]
    descent = A.T @ (target - A @ weights)  # at the minimum 0 for weights above 0, and at most 0 for the others
    if np.where(weights > 0, np.abs(descent), descent).max() > OPTIMAL:
        weights = lsq_linear(A, target, (0.0, np.inf), method="bvls", tol=1e-15).x
    point, height = weights @ G, float(weights @ h)
    length2 = float(point @ point)
    if height <= 0 or length2 <= (NOTHING * height) ** 2:
        return None
    weights[weights <= ZERO * weights.sum()] = 0.0
    return weights * (height / length2), point * (height / length2)


def _features(K: Floats, centred: bool) -> tuple[Floats, float]:
    """Return rows with this Gram matrix, scaled to lengths of at most 1, and the square of the scale."""
    if centred:  # the origin does not matter, and at the mean rounding is least
        mean = K.mean(axis=0)
        K = K - mean - mean[:, None] + mean.mean()
    scale = float(np.diagonal(K).max())
    if scale <= 0:
        return np.zeros((len(K), 1)), 1.0
    values, vectors = np.linalg.eigh(K / scale)
    some = values > len(K) * np.finfo(np.float64).eps * values[-1]
    return vectors[:, some] * np.sqrt(values[some]), scale


def _checked_gram(owner: str, K: ArrayLike) -> Floats:
    matrix = np.asarray(K, dtype=np.float64)

    def check(right: bool, wanted: str, got: str, error: type[VotronError] = VotronError) -> None:
        if not right:
            raise error(f"The 'K' parameter of {owner} must be {wanted}. Got {got} instead.", parameter="K")

    check(matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] > 0, "a square matrix", f"shape {matrix.shape}")
    check(len(matrix) <= MOST, f"the kernel values of at most {MOST} examples", f"{len(matrix)}")
    check(bool(np.isfinite(matrix).all()), "finite", "NaN or infinity")
    size = float(np.abs(matrix).max())
    check(np.abs(matrix - matrix.T).max() <= SLACK * size, "symmetric", "K(x, z) and K(z, x) that differ")
    matrix = (matrix + matrix.T) / 2
    lowest = float(np.linalg.eigvalsh(matrix)[0])
    check(lowest >= -SLACK * size, "positive semi-definite", f"the eigenvalue {lowest:g}", IndefiniteKernelError)
    return matrix


def _checked_labels(owner: str, y: ArrayLike, n: int, both: bool) -> Floats:
    labels = np.asarray(y)
    must = f"The 'y' parameter of {owner} must be labels +1 and -1{', both of them' if both else ''}"
    if labels.shape != (n,):
        raise VotronError(f"{must}, for {n} examples. Got shape {labels.shape} instead.", parameter="y")
    if not np.isin(labels, (-1, 1)).all() or len(np.unique(labels)) < 1 + both:
        raise VotronError(f"{must}. Got {np.unique(labels)[:3].tolist()} instead.", parameter="y")
    return labels.astype(np.float64)
