"""Littlestone's bound on the mistakes of Winnow, for disjunctions."""

from __future__ import annotations

import math
from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

CONSTRAINTS: dict[str, list[object]] = {
    "promotion": [Interval(Real, 1, None, closed="neither")],
    "threshold": [Interval(Real, 0, None, closed="neither"), None],
    "demotion": [StrOptions({"divide", "eliminate"})],
}


def disjunction_mistake_bound(
    n_features: int,
    n_literals: int,
    promotion: float = 2.0,
    threshold: float | None = None,
    demotion: str = "divide",
) -> float:
    """Bound the mistakes of Winnow on examples of a disjunction of k of n features (Littlestone, 1988).

    For any number and order of examples, with α the promotion and θ the threshold, Winnow2 (``demotion="divide"``)
    makes at most

        (1 + α) k ⌈log_α θ⌉ + α n / ((α − 1) θ)

    mistakes, and Winnow1 (``demotion="eliminate"``) at most

        α k ⌈log_α θ⌉ + n / θ.

    For two classes it bounds ``WinnowClassifier.n_mistakes_``.

    Parameters
    ----------
    n_features : int
        n; with ``complement=True`` twice the number of features.
    n_literals : int
        k, the features in the disjunction.
    promotion : float, default=2.0
        α.
    threshold : float or None, default=None
        θ; None is n/2. For θ ≤ 1 the logarithm counts as 0: a literal that starts at 1 is never missed.
    demotion : {"divide", "eliminate"}, default="divide"
        What happens to the weights of a false positive.

    Notes
    -----
    A promotion happens on a positive example, at a sum of active weights below θ, and multiplies the weight of a
    literal of the disjunction. A false positive has no such literal active, so these weights never fall: each is
    promoted at most ⌈log_α θ⌉ times, and there are p ≤ k⌈log_α θ⌉ promotions. The sum of all weights starts at n and is
    never negative. A promotion adds less than (α − 1)θ to it. A demotion happens at a sum of active weights of at least
    θ and takes away at least (1 − 1/α)θ, an elimination at least θ. Hence there are at most
    (n/θ + (α − 1)p) / (1 − 1/α) demotions, or n/θ + (α − 1)p eliminations. Add the two.

    Examples
    --------
    >>> disjunction_mistake_bound(n_features=1024, n_literals=3)
    85.0
    """
    given = {"promotion": promotion, "threshold": threshold, "demotion": demotion, "n_features": n_features}
    constraints = CONSTRAINTS | {"n_features": [Interval(Integral, 1, 2**62, closed="both")]}
    validate_parameter_constraints(constraints, given, "disjunction_mistake_bound")
    constraints = {"n_literals": [Interval(Integral, 0, n_features, closed="both")]}
    validate_parameter_constraints(constraints, {"n_literals": n_literals}, "disjunction_mistake_bound")
    alpha = float(promotion)
    theta = n_features / 2 if threshold is None else float(threshold)
    promotions = n_literals * _promotions_of_a_literal(alpha, theta)
    if demotion == "eliminate":
        return alpha * promotions + n_features / theta
    return (1 + alpha) * promotions + n_features / theta * (alpha / (alpha - 1))


def _promotions_of_a_literal(alpha: float, theta: float) -> int:
    """Return ⌈log_α θ⌉, 0 for θ ≤ 1."""
    estimate = math.log(theta) / math.log(alpha)
    if estimate > 1e6:  # too many to count; one more, for rounding
        return math.ceil(estimate * (1 + 1e-9)) + 1
    n, weight = 0, 1.0
    while weight < theta:  # multiplied as in training, with the same rounding
        n, weight = n + 1, weight * alpha
    return n
