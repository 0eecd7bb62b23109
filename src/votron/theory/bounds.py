"""The bounds of the papers as functions, with their formulas, assumptions and predictors.

Symbols
-------
m        training examples
k        mistakes of the perceptron
R        the radius: the largest ‖x‖ in feature space
γ        a margin: the least y (u·x) over the examples, for some u of length 1
D        the deviation from a margin γ: (Σ d²)^½ with d = max(0, γ − y (u·x)), summed over presentations
d        examples on which a predictor depends, ‖α‖₀: its compression set
κ        ⌈(R/γ)²⌉
δ        the probability with which a guarantee may fail

In parameters R is ``radius``, γ ``margin``, D ``deviation``, k ``mistakes`` and δ ``delta``. A bound on mistakes is a
fact about a run. A bound on an error, the probability of a wrong prediction for one more example, is about examples
drawn independently from one distribution. Some bound an *expected* error by an expected number of mistakes: with one
run's mistakes they give an estimate, and no guarantee. A bound of 1 or more on an error is returned as it is.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar
from scipy.special import betaincinv, betaln
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

from votron.errors import VotronError

ROUNDING = 1e-9
"""Relative distance by which rounding may put a bound below a whole number."""


def novikoff_bound(radius: float, margin: float) -> float:
    """Bound the mistakes of the perceptron on separable data: (R/γ)² (Block 1962, Novikoff 1962).

    It holds for every order of the examples, every number of passes and every kernel, with R and γ of its space. γ > 0
    is the margin of any vector, and the largest is best.

    Notes
    -----
    Each mistake adds at least γ to v·u and at most R² to ‖v‖², so kγ ≤ v·u ≤ ‖v‖ ≤ √k R. Cohen's form, R/γ² with
    ‖x‖² < R, has R² for our R.

    Examples
    --------
    >>> novikoff_bound(radius=2.0, margin=0.5)
    16.0
    """
    radius, margin = not_negative("radius", radius), _positive_margin(margin)
    return _square(radius / margin)


def unit_length_bound(margin: float) -> float:
    """Bound the mistakes of the perceptron on separable examples of length 1: 1/δ² with δ the margin (Columbia's form).

    If each example is divided by its length, δ is the normalised margin min y (u·x)/‖x‖, in (0, 1], and the bound can
    only become smaller: 1/normalised ≤ R/unnormalised (Graepel et al., equation 5).

    Examples
    --------
    >>> unit_length_bound(0.5)
    4.0
    """
    margin = _positive_margin(margin)
    _check(margin <= 1 + 1e-9, "margin", margin, "in the range (0, 1] for examples of length 1")
    return _square(1.0 / margin)


def inseparable_bound(radius: float, deviation: float, margin: float) -> float:
    """Bound the mistakes of the perceptron on any data: ((R + D)/γ)² (Freund & Schapire, theorem 2).

    It holds for any u with ‖u‖ = 1 and any γ > 0; `best_inseparable_bound` finds the best γ of a given u. D sums over
    all *presentations*, T times each example over T epochs, or over the mistakes only, with their multiplicity.

    Examples
    --------
    >>> inseparable_bound(radius=1.0, deviation=2.0, margin=0.5)
    36.0
    """
    radius, deviation = not_negative("radius", radius), not_negative("deviation", deviation)
    margin = _positive_margin(margin)
    return _square((radius + deviation) / margin)


class BestMargin(NamedTuple):
    """The margin γ that makes the inseparable bound of a vector least, and that bound."""

    bound: float
    margin: float
    deviation: float


def best_inseparable_bound(margins: ArrayLike, radius: float, presentations: ArrayLike = 1) -> BestMargin:
    """Find the γ that makes ((R + D)/γ)² least for a given vector u.

    ``margins`` are y (u·x) for each example, of either sign, with ‖u‖ = 1; ``presentations`` says how often each was
    presented, or, if there are only the examples with a mistake, how often each had one. γ is infinite where the bound
    is the number of presentations itself.

    Notes
    -----
    With s = 1/γ, (R + D)/γ = R s + (Σ max(0, 1 − s y (u·x))²)^½ is convex in s, and at its least value R s is at most
    the value at s = 0, the root of the number of presentations.

    Examples
    --------
    >>> best = best_inseparable_bound([1.0, 1.0, 0.8, -0.1], radius=1.5, presentations=30)
    >>> round(best.bound, 1), round(best.margin, 2)
    (57.2, 1.11)
    """
    m = np.asarray(margins, dtype=np.float64).reshape(-1)
    times = np.broadcast_to(np.asarray(presentations, dtype=np.float64), m.shape)
    radius = not_negative("radius", radius)
    _check(len(m) > 0 and bool(np.isfinite(m).all()), "margins", margins, "one or more finite numbers")
    _check(radius > 0, "radius", radius, "a positive number")

    def root(s: float) -> float:
        return radius * s + math.sqrt(float(times @ np.square(np.maximum(0.0, 1.0 - s * m))))

    top = root(0.0) / radius
    found = minimize_scalar(root, bounds=(0.0, top), method="bounded", options={"xatol": 1e-12 * top})
    candidates = [0.0, float(found.x)]
    if m.min() > 0:
        candidates.append(1.0 / float(m.min()))
    s = min(candidates, key=root)
    deviation = math.sqrt(float(times @ np.square(np.maximum(0.0, 1.0 - s * m)))) / s if s else math.inf
    return BestMargin(root(s) ** 2, 1.0 / s if s else math.inf, deviation)


def sparsity_bound(radius: float, margin: float) -> int:
    """Bound the examples that a perceptron's vector depends on: ‖α‖₀ ≤ ‖α‖₁ ≤ (R/γ)² (Graepel et al., section 3).

    The parameters are those of `novikoff_bound`. Each mistake changes one coefficient by 1, so ‖α‖₁ is at most the
    number of mistakes.

    Examples
    --------
    >>> sparsity_bound(radius=1.0, margin=0.3)
    11
    """
    bound = novikoff_bound(radius, margin)
    _check(math.isfinite(bound), "margin", margin, f"larger, for the radius {radius!r}")
    return math.floor(bound * (1 + ROUNDING))


def _square(value: float) -> float:
    """Return the square, infinite where ** would raise."""
    return value * value


def leave_one_out_bound(mistakes: float, m: int, *, deterministic: bool = True) -> float:
    """Bound the error of the leave-one-out conversion: E[k]/(m + 1), or twice that for the vote (Helmbold & Warmuth).

    It bounds the expected error (Freund & Schapire, theorem 3), E[k] the expected mistakes in one pass over m + 1
    random examples. The ``deterministic`` conversion is the majority vote over all prefixes of the sample, as of the
    voted perceptron after one epoch; otherwise it is one random prefix.

    Examples
    --------
    >>> leave_one_out_bound(mistakes=50, m=999), leave_one_out_bound(mistakes=50, m=999, deterministic=False)
    (0.1, 0.05)
    """
    mistakes, m = not_negative("mistakes", mistakes), count("m", m, 1)
    return (2 if deterministic else 1) * mistakes / (m + 1)


def voted_bound(m: int, radius: float, deviation: float, margin: float) -> float:
    """Bound the error of the voted perceptron after one epoch: 2/(m + 1) · ((R + D)/γ)² (corollaries 1 and 2).

    Radius, deviation and margin are as in `inseparable_bound`, for one pass over m + 1 examples (corollary 1), or for
    those with a mistake (corollary 2). It bounds the expected error by an expectation.

    Examples
    --------
    >>> voted_bound(m=7999, radius=1.0, deviation=0.0, margin=0.1)
    0.025
    """
    return 2 * inseparable_bound(radius, deviation, margin) / (count("m", m, 1) + 1)


def vapnik_chervonenkis_bound(
    m: int, n_wrong: float, radius: float | None = None, margin: float | None = None
) -> float:
    """Bound the error of the final vector after convergence: min(k, (R/γ)²)/(m + 1) (Vapnik & Chervonenkis 1974).

    It bounds the expected error. ``n_wrong`` is E[k], k the *distinct* examples with a mistake on the way to
    convergence on m + 1 random examples; ``radius`` and ``margin`` are R and the largest γ over those.
    `vapnik_svm_bound`, for support vector machines, has the essential support vectors in place of the examples with a
    mistake.

    Examples
    --------
    >>> vapnik_chervonenkis_bound(m=99, n_wrong=20, radius=1.0, margin=0.25)
    0.16
    """
    return least_count("n_wrong", n_wrong, radius, margin) / (count("m", m, 1) + 1)


def least_count(name: str, n: float, radius: float | None, margin: float | None) -> float:
    """Return min(n, (R/γ)²), or n if there are no R and γ."""
    n = not_negative(name, n)
    if (radius is None) != (margin is None):
        raise VotronError("A 'radius' and a 'margin' go together. Got only one of them.")
    return n if radius is None or margin is None else min(n, novikoff_bound(radius, margin))


def one_pass_bound(mistakes: int, m: int, delta: float) -> float:
    """Bound the error after one pass by its mistakes: k/m + √(2 ln(1/δ)/m) (Cesa-Bianchi, Conconi & Gentile 2004).

    With probability 1 − δ, it bounds the mean error of the m predictors that an online learner had before each of its
    examples: the error of one of them drawn anew for each prediction. A majority vote of the m errs at most twice as
    often. Here k is the run's own, so this is a guarantee. For ``rule="random"``, which draws once for each row, it
    bounds the mean over seeds only: see `fixed_draw_bound`.

    Notes
    -----
    The wrong predictions less their conditional probabilities are a martingale, and the Hoeffding-Azuma inequality
    bounds its mean (their proposition 1). A score of 0 counts as a mistake here, which only raises k.

    Examples
    --------
    >>> round(one_pass_bound(mistakes=500, m=10_000, delta=0.05), 4)
    0.0745
    """
    k, m, delta = not_negative("mistakes", mistakes), count("m", m, 1), _probability(delta)
    _check(k <= m, "mistakes", mistakes, f"at most m = {m}, since the bound is about one pass")
    return k / m + math.sqrt(2 * math.log(1 / delta) / m)


def fixed_draw_bound(mean_error: float, heaviest: float, delta: float) -> float:
    """Bound the error of a predictor that draws one of several vectors for each row, once and for all.

    The e ≥ μ with e ln(e/μ) − e + μ = p ln(1/δ). With probability 1 − δ over the draws, the error is at most this. μ is
    an upper limit of the mean error of the vectors, which is the mean over all seeds, and p, ``heaviest``, one of the
    probability of any one row. `held_out_bound` gives p from the count of the most frequent row in a sample: the most
    probable row is fixed before the sample is drawn, and no more frequent.

    Notes
    -----
    A row that is repeated has the same vector each time. With p_x the probability of row x, r_x its draw and g_x(r) the
    probability of an error there by vector r, the error is Σ p_x g_x(r_x), a sum of independent numbers between 0 and p
    with mean μ at most. Divided by p each has E exp(λZ) ≤ exp((e^λ − 1) E Z), so by Markov's inequality the sum exceeds
    e with probability exp((e^λ − 1) μ/p − λ e/p) at most; take λ = ln(e/μ). The value grows with μ and with p.

    Examples
    --------
    >>> round(fixed_draw_bound(mean_error=0.08, heaviest=0.001, delta=0.05), 4)
    0.1029
    """
    mean, p, delta = not_negative("mean_error", mean_error), not_negative("heaviest", heaviest), _probability(delta)
    _check(0 < p <= 1, "heaviest", heaviest, "in the range (0, 1]")
    if mean == 0:
        return 0.0
    level = p * math.log(1 / delta)

    def excess(e: float) -> float:
        return e * (math.log(e) - math.log(mean)) - e + mean - level  # e/μ may exceed the largest float64

    # at e = μ it is below 0, and at e² μ + level above: there ln(e/μ) ≥ 2, so it is at least e + μ − level
    return float(brentq(excess, mean, math.exp(2) * mean + level))


def compression_bound(m: int, d: int, delta: float) -> float:
    """Bound the error of a consistent predictor that depends on d of m examples: Graepel, Herbrich & Williamson's (7).

    (ln C(m, d) + ln m + ln(1/δ)) / (m − d). With probability 1 − δ, a converged perceptron's error is below it, for d
    its ‖α‖₀ < m. The kernel must not depend on the sample.

    Examples
    --------
    >>> round(100 * compression_bound(m=60_000, d=740, delta=0.05), 1)  # label 0 of MNIST
    6.7
    """
    m, d, delta = count("m", m, 1), count("d", d, 0), _probability(delta)
    _check(d < m, "d", d, f"less than m = {m}, since the evidence is the other examples")
    return (log_binomial(m, d) + math.log(m) + math.log(1 / delta)) / (m - d)


def agnostic_compression_bound(m: int, d: int, errors: int, delta: float) -> float:
    """Bound the error of a predictor that depends on d of m examples and errs on some of the others.

    The p > r with kl(r ‖ p) = (ln C(m, d) + ln m + ln(1/δ)) / (m − d), where r = errors/(m − d) and
    kl(r ‖ p) = r ln(r/p) + (1 − r) ln((1 − r)/(1 − p)); ``errors`` are wrong predictions among the m − d others. With
    probability 1 − δ, the error is at most this. The kernel must not depend on the sample.

    Notes
    -----
    The argument of Graepel, Herbrich & Williamson's (7), with Chernoff's bound on a binomial tail in place of
    (1 − p)^(m − d); with no errors it is 1 − exp(−b), b their bound. It holds for a perceptron that has not converged,
    and for every rule: trained on its support alone, each example at the same steps, it makes the same mistakes at the
    same times, since the other examples never changed it.

    Examples
    --------
    >>> round(agnostic_compression_bound(m=60_000, d=740, errors=300, delta=0.05), 4)
    0.0835
    """
    level = compression_bound(m, d, delta)
    errors, n = count("errors", errors, 0), m - d
    _check(errors <= n, "errors", errors, f"at most m - d = {n}")
    r = errors / n
    if r in (0.0, 1.0):
        return r if r else -math.expm1(-level)

    def excess(p: float) -> float:
        return r * math.log(r / p) + (1 - r) * math.log((1 - r) / (1 - p)) - level

    top = 1 - 1e-15
    return float(brentq(excess, r, top)) if excess(top) > 0 else 1.0


def margin_bound(m: int, radius: float, margin: float, delta: float) -> float:
    """Bound the error of the perceptron by a margin that any vector attains: Graepel, Herbrich & Williamson's (8).

    The bound (7) with κ = ⌈(R/γ)²⌉ < m for d: with probability 1 − δ, a converged perceptron's error is below it. γ is
    the margin of *any* vector, such as a support vector machine's.

    Examples
    --------
    >>> round(margin_bound(m=10_000, radius=1.0, margin=0.1, delta=0.05), 4)
    0.0575
    """
    m = count("m", m, 1)
    kappa = math.ceil(novikoff_bound(radius, margin))
    _check(kappa < m, "margin", margin, f"larger: ⌈(R/γ)²⌉ is {kappa}, and must be less than m = {m}")
    return compression_bound(m, kappa, delta)


def margin_bound_simple(m: int, kappa: int, delta: float, n: float = 4.0) -> float:
    """Bound the same error by a simpler formula, for κ < m/n with n ≥ 4 (Graepel et al., section 5).

    (κ ln(2em/κ) + n/(n − 1) · (ln m + ln(1/δ))) / m. It is larger than (8), and easier to compare with
    `pac_margin_bound`.

    Examples
    --------
    >>> round(margin_bound_simple(m=10_000, kappa=100, delta=0.05), 4)
    0.0646
    """
    m, kappa, delta = count("m", m, 1), count("kappa", kappa, 1), _probability(delta)
    _check(4 * kappa < m, "kappa", kappa, f"less than m/4 = {m / 4:g}; margin_bound has no such limit")
    _check(4 <= n < m / kappa, "n", n, f"in the range [4, m/κ) = [4, {m / kappa:g})")
    return (kappa * math.log(2 * math.e * m / kappa) + n / (n - 1) * (math.log(m) + math.log(1 / delta))) / m


def pac_margin_bound(m: int, kappa: float, delta: float) -> float:
    """Bound the error by the attained margin, for comparison: the PAC margin bound (Shawe-Taylor et al. 1998).

    2/m · (64 κ log₂(2em/(16κ)) log₂(32m) + log₂(2m) + log₂(1/δ)), for κ = (R/γ)² < em/8 with the margin γ that the
    classifier itself attains.

    Examples
    --------
    >>> round(pac_margin_bound(m=410_743_386, kappa=600, delta=0.05), 5)
    0.11205
    """
    m, kappa, delta = count("m", m, 1), not_negative("kappa", kappa), _probability(delta)
    limit = 2 * math.e * m / 16
    _check(0 < kappa < limit, "kappa", kappa, f"in the range (0, em/8) = (0, {limit:g})")
    dimension = 64 * kappa * math.log2(2 * math.e * m / (16 * kappa)) * math.log2(32 * m)
    return 2 / m * (dimension + math.log2(2 * m) + math.log2(1 / delta))


def held_out_bound(errors: int, m: int, delta: float) -> float:
    """Bound the error of any predictor by its errors on a test set: the p with P(Bin(m, p) ≤ errors) = δ.

    With probability 1 − δ, the error is at most this (Clopper & Pearson, 1934). ``errors`` are the wrong predictions on
    m test examples, which were not used for training.

    Examples
    --------
    >>> round(held_out_bound(errors=160, m=10_000, delta=0.05), 4)
    0.0182
    """
    errors, m, delta = count("errors", errors, 0), count("m", m, 1), _probability(delta)
    _check(errors <= m, "errors", errors, f"at most m = {m}")
    return 1.0 if errors == m else float(betaincinv(errors + 1, m - errors, 1 - delta))


def log_binomial(m: int, d: int) -> float:
    """Return ln C(m, d) for 0 ≤ d ≤ m, without overflow."""
    return 0.0 if d in (0, m) else -math.log1p(m) - float(betaln(m - d + 1, d + 1))


WINNOW_CONSTRAINTS: dict[str, list[object]] = {
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
    makes at most (1 + α) k ⌈log_α θ⌉ + α n / ((α − 1) θ) mistakes, and Winnow1 (``demotion="eliminate"``) at most α k
    ⌈log_α θ⌉ + n / θ. For two classes it bounds ``WinnowClassifier.n_mistakes_``, which has the same parameters; with
    ``complement=True`` n is twice the number of features. For θ ≤ 1 the logarithm counts as 0: a literal that starts at
    1 is never missed.

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
    given = {"promotion": promotion, "threshold": threshold, "demotion": demotion}
    validate_parameter_constraints(WINNOW_CONSTRAINTS, given, "disjunction_mistake_bound")
    n, k = count("n_features", n_features, 1), count("n_literals", n_literals, 0)
    _check(k <= n, "n_literals", k, f"at most n_features = {n}")
    alpha, theta = float(promotion), n / 2 if threshold is None else float(threshold)
    promotions = k * _promotions_of_a_literal(alpha, theta)
    if demotion == "eliminate":
        return alpha * promotions + n / theta
    return (1 + alpha) * promotions + n / theta * (alpha / (alpha - 1))


def _promotions_of_a_literal(alpha: float, theta: float) -> int:
    """Return ⌈log_α θ⌉, 0 for θ ≤ 1."""
    estimate = math.log(theta) / math.log(alpha)
    if estimate > 1e6:  # too many to count; one more, for rounding
        return math.ceil(estimate * (1 + 1e-9)) + 1
    n, weight = 0, 1.0
    while weight < theta:  # multiplied as in training, with the same rounding
        n, weight = n + 1, weight * alpha
    return n


def _check(right: bool, name: str, value: object, wanted: str) -> None:
    if not right:
        raise VotronError(f"The {name!r} of a bound must be {wanted}. Got {value!r} instead.", parameter=name)


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(value)  # type: ignore[arg-type]


def count(name: str, value: int, least: int) -> int:
    _check(_is_number(value, Integral) and value >= least, name, value, f"an int in the range [{least}, inf)")
    return int(value)


def not_negative(name: str, value: float) -> float:
    _check(_is_number(value, Real) and value >= 0, name, value, "a number in the range [0, inf)")
    return float(value)


def _positive_margin(value: float) -> float:
    right = _is_number(value, Real) and value > 0
    _check(right, "margin", value, "a positive number; inseparable_bound is for vectors that separate nothing")
    return float(value)


def _probability(value: float) -> float:
    _check(_is_number(value, Real) and 0 < value < 1, "delta", value, "a number in the range (0, 1)")
    return float(value)
