"""One pass over a sample: what its mistakes say of its vectors' mean error, of a vote, and of one draw for each row."""

from __future__ import annotations

import math

from scipy.optimize import brentq

from votron.errors import Parameter, VotronError
from votron.theory._checks import count, not_negative, probability, share

__all__ = ["fixed_draw_bound", "one_pass_bound"]


def one_pass_bound(mistakes: int, m: int, delta: float, *, deterministic: bool = False) -> float:
    """Bound the error after one pass by its mistakes: k/m + √(2 ln(1/δ)/m) (Cesa-Bianchi, Conconi & Gentile 2004).

    Parameters
    ----------
    mistakes : int
        k: mistakes of any on-line learner in one pass over the sample, in its own order.
    m : int
        Examples.
    delta : float
        δ: the probability with which the sample may be such that the bound fails.
    deterministic : bool, default=False
        Twice the bound, for the majority vote.

    Returns
    -------
    float
        With probability 1 − δ, the mean error of the m predictors that the learner had before each of its examples is
        below it: the error of one of them drawn afresh for each prediction, v = 0 before the first example among them.
        A majority vote of the m errs at most twice as often. Here k is the run's own, so it is a guarantee, and no
        estimate. Of a predictor that draws once for each row and keeps to it, as ``rule="random"`` does, it bounds the
        mean over seeds only: see `fixed_draw_bound`.

    Notes
    -----
    The wrong predictions less their conditional probabilities are a martingale, and Hoeffding and Azuma bound its
    mean (their proposition 1). A prediction of score 0 that happens to be right counts as a mistake here (y · score ≤
    0), which only raises k.

    References
    ----------
    N. Cesa-Bianchi, A. Conconi and C. Gentile, *On the generalization ability of on-line learning algorithms*, IEEE
    Transactions on Information Theory 50 (2004), 2050-2057.

    Examples
    --------
    >>> round(one_pass_bound(mistakes=500, m=10_000, delta=0.05), 4)
    0.0745
    """
    k, m, delta = not_negative("mistakes", mistakes), count("m", m, 1), probability(delta)
    if k > m:
        raise VotronError(
            Parameter("mistakes", of="one_pass_bound", short=True),
            f" must be at most m = {m}, since it speaks of one pass. Got {k:g} instead.",
        )
    bound = k / m + math.sqrt(2 * math.log(1 / delta) / m)
    return 2 * bound if deterministic else bound


def fixed_draw_bound(mean_error: float, heaviest: float, delta: float) -> float:
    """Bound the error of a predictor that draws one of several vectors for each row, once and for all.

    The e ≥ μ with e ln(e/μ) − e + μ = p ln(1/δ)

    Parameters
    ----------
    mean_error : float
        μ: no less than the mean error of the vectors, which is the mean over all seeds.
    heaviest : float
        p: no less than the probability of any one row. `held_out_bound` gives one from a sample of m rows: the row of
        largest probability is one row, settled before the sample is drawn, and comes at most as often as the row that
        comes most often.
    delta : float
        δ: the probability with which the draws may be such that the bound fails.

    Returns
    -------
    float
        With probability 1 − δ over the draws, the predictor's error is at most this.

    Notes
    -----
    Rows that come again and again have the same vector each time, so the error does not get near its mean as test rows
    grow in number: on one row alone it is that of one vector. With p_x the probability of row x, r_x its draw and
    g_x(r) the probability of an error there by vector r, the error is Σ p_x g_x(r_x), a sum of independent numbers
    between 0 and p, of mean μ at most. Divided by p each has E exp(λZ) ≤ exp((e^λ − 1) E Z), so by Markov's
    inequality the sum exceeds e with probability exp((e^λ − 1) μ/p − λ e/p) at most; take λ = ln(e/μ). The value grows
    with μ and with p, so upper limits will do for both.

    Examples
    --------
    >>> round(fixed_draw_bound(mean_error=0.08, heaviest=0.001, delta=0.05), 4)
    0.1029
    >>> fixed_draw_bound(mean_error=0.3, heaviest=1.0, delta=0.05) > 1  # one row: it is as it happens to be drawn
    True
    """
    mean, p, delta = not_negative("mean_error", mean_error), share("heaviest", heaviest), probability(delta)
    if mean == 0:
        return 0.0
    level = p * math.log(1 / delta)

    def excess(e: float) -> float:
        return e * (math.log(e) - math.log(mean)) - e + mean - level  # e/μ may exceed the largest float64

    # at e = μ it is below 0, and at e² μ + level above: there ln(e/μ) ≥ 2, so it is at least e + μ − level
    return float(brentq(excess, mean, math.exp(2) * mean + level))
