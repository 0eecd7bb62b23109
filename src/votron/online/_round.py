"""One round of the game."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Round:
    """One round of the game between A, who gives an example and its label, and B, who predicts.

    The rounds of `OnlinePerceptron.history` have all that it takes to draw the game of Cohen's section 3.3: examples,
    labels, every guess, and how it projects on the target.

    Attributes
    ----------
    t : int
        Number of the round, from 1.
    x : array, CSR matrix of one row, or dict
        The example, as it was read.
    y : int
        Its label, +1 or -1.
    score : float
        v·x, with the guess before this round.
    prediction : int
        B's prediction.
    mistake : bool
        Whether y · score ≤ 0.
    k : int
        Mistakes so far, this round's included.
    v : array, dict, or tuple of pairs (coefficient, example)
        The guess after this round: the same object as in the round before where there was no mistake.
    norm2, radius2 : float
        ‖v‖², and the largest ‖x‖² so far.
    lemma2 : float
        η² k R², which ``norm2`` does not exceed.
    v_dot_u, margin, lemma1, mistake_bound : float or None
        v·u, the least y (u·x) so far, η k γ, and R²/γ²; None without a target.

    Examples
    --------
    >>> from votron import OnlinePerceptron
    >>> learner = OnlinePerceptron(target=[0, 1], keep_history=True)
    >>> learner.update([1, 2], +1), learner.update([3, 1], -1)
    (True, True)
    >>> for r in learner.history:
    ...     print(r.t, r.x, r.y, r.score, r.prediction, r.v, r.v_dot_u)
    1 [1. 2.] 1 0.0 1 [1. 2.] 2.0
    2 [3. 1.] -1 5.0 1 [-2.  1.] 1.0
    >>> learner.history[-1].margin  # the second label contradicts the target
    -1.0
    """

    t: int
    x: Any
    y: int
    score: float
    prediction: int
    mistake: bool
    k: int
    v: Any
    norm2: float
    radius2: float
    lemma2: float
    v_dot_u: float | None = None
    margin: float | None = None
    lemma1: float | None = None
    mistake_bound: float | None = None
