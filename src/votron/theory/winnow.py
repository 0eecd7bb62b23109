"""Littlestone's bound on the mistakes of Winnow, for disjunctions."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

from votron._util.types import Params

__all__ = ["disjunction_mistake_bound"]

CONSTRAINTS: dict[str, list[Any]] = {
    "promotion": [Interval(Real, 1, None, closed="neither")],
    "threshold": [Interval(Real, 0, None, closed="neither"), None],
    "demotion": [StrOptions({"divide", "eliminate"})],
}
"""Values that the parameters of Winnow may have."""


def disjunction_mistake_bound(
    n_features: int,
    n_literals: int,
    promotion: float = 2.0,
    threshold: float | None = None,
    demotion: str = "divide",
) -> float:
    """Return the most mistakes that Winnow makes on any examples of a disjunction (Littlestone, 1988).

    The examples are labelled by a disjunction of k of n features, in any number and any order. With α the promotion and
    θ the threshold, Winnow2 (``demotion="divide"``) makes at most

        (1 + α) k ⌈log_α θ⌉ + α n / ((α − 1) θ)

    mistakes, and Winnow1 (``demotion="eliminate"``) at most

        α k ⌈log_α θ⌉ + n / θ.

    At the defaults, α = 2 and θ = n/2, that is 3k⌈log₂(n/2)⌉ + 4 and 2k⌈log₂(n/2)⌉ + 2.

    The bound; for two classes it bounds ``WinnowClassifier.n_mistakes_``.

    Parameters
    ----------
    n_features : int
        n; with ``complement=True`` twice the number of features.
    n_literals : int
        k, how many of them are in the disjunction.
    promotion : float, default=2.0
        α.
    threshold : float or None, default=None
        θ; None is n/2. For θ ≤ 1 the logarithm counts as 0: a literal that starts at 1 is never missed.
    demotion : {"divide", "eliminate"}, default="divide"
        What a false positive does.

    Notes
    -----
    A promotion happens on a positive example, which has a literal of the disjunction active, at a sum of active weights
    below θ. So it multiplies the weight of such a literal, which was below θ. A false positive has none of them active,
    so these weights never fall: each is 1, α, α², ... and is promoted at most ⌈log_α θ⌉ times. Hence there are
    p ≤ k⌈log_α θ⌉ promotions. The sum of all n weights starts at n and never becomes negative. A promotion adds less
    than (α − 1)θ to it. A demotion happens at a sum of active weights of at least θ, and so takes at least (1 − 1/α)θ
    away, an elimination at least θ. Hence there are at most (n/θ + (α − 1)p) / (1 − 1/α) demotions, or
    n/θ + (α − 1)p eliminations. Add the two.

    Examples
    --------
    >>> from votron.theory import disjunction_mistake_bound
    >>> disjunction_mistake_bound(n_features=1024, n_literals=3)
    85.0
    >>> disjunction_mistake_bound(n_features=2048, n_literals=3)  # twice as many features: nine more
    94.0
    """
    given = {"promotion": promotion, "threshold": threshold, "demotion": demotion}
    _check_bound(n_features, n_literals, given)
    alpha = float(promotion)
    theta = n_features / 2 if threshold is None else float(threshold)
    promotions = n_literals * _promotions_of_a_literal(alpha, theta)
    if demotion == "eliminate":
        return alpha * promotions + n_features / theta
    return (1 + alpha) * promotions + n_features / theta * (alpha / (alpha - 1))


def _check_bound(n_features: int, n_literals: int, given: Params) -> None:
    owner = "disjunction_mistake_bound"
    constraints = CONSTRAINTS | {"n_features": [Interval(Integral, 1, 2**62, closed="both")]}
    validate_parameter_constraints(constraints, given | {"n_features": n_features}, owner)
    constraints = {"n_literals": [Interval(Integral, 0, n_features, closed="both")]}
    validate_parameter_constraints(constraints, {"n_literals": n_literals}, owner)


def _promotions_of_a_literal(alpha: float, theta: float) -> int:
    """Return ⌈log_α θ⌉, 0 for θ ≤ 1."""
    estimate = math.log(theta) / math.log(alpha)
    if estimate > 1e6:  # too many to count; one more, for the rounding of logarithms and products
        return math.ceil(estimate * (1 + 1e-9)) + 1
    n, weight = 0, 1.0
    while weight < theta:  # counted as training multiplies, so that a rounded power is not held against it
        n, weight = n + 1, weight * alpha
    return n
