"""The game between players A and B: its target, its running numbers with their bounds, and its rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from votron.errors import NotRepresentableError, VotronError
from votron.kernels import Kernel
from votron.online._reading import OWNER
from votron.online._weights import WeightVector, weights_for

# -- the target --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """The target u that a game may have: in the form of the guess, and not divided by its length until it is shown."""

    u: WeightVector
    norm2: float

    @property
    def length(self) -> float:
        """Return ‖u‖ as it was given."""
        return math.sqrt(self.norm2)


def read_target(target: Any, kernel: Kernel | None) -> Target:
    """Return a target: a vector or a mapping, with a kernel the coefficients and examples of Σ c_j Φ(z_j)."""
    if kernel is None:
        coefficients, examples = [1.0], [target]
    else:
        try:
            coefficients, examples = ([*part] for part in target)
            coefficients = [float(c) for c in coefficients]
            fits = len(coefficients) == len(examples) > 0
        except (TypeError, ValueError, OverflowError):
            fits = False
        if not fits:
            raise VotronError(
                "The 'target' parameter of OnlinePerceptron with a kernel must be a pair (coefficients, examples), as "
                f"many numbers as vectors. Got {type(target).__name__} instead.",
                parameter="target",
            )
    try:
        u = weights_for(examples[0], kernel)
        rows = [u.read(z) for z in examples]
    except VotronError as error:
        raise VotronError(f"The target: {error}", parameter="target") from None
    for c, row in zip(coefficients, rows, strict=True):
        u.add(c, row)
    with np.errstate(over="ignore", invalid="ignore"):
        norm2 = (
            u.square(rows[0]) if kernel is None else sum(c * u.dot(z) for c, z in zip(coefficients, rows, strict=True))
        )
    if not 0 < norm2 < math.inf:
        raise VotronError(
            "The 'target' parameter of OnlinePerceptron must be a vector of positive length, and its square a float64. "
            f"Got one whose squared length is {norm2:g} instead.",
            parameter="target",
        )
    return Target(u, float(norm2))


# -- running numbers ---------------------------------------------------------------------------------------------------


class NotKeptError(VotronError, AttributeError):
    """Something that a learner does not keep; an AttributeError, so that ``hasattr`` answers."""


@dataclass(frozen=True)
class RunningNumbers:
    """The numbers of a game after t examples.

    ``norm2_``, ``v_dot_u_`` and ``margin_`` are the sums, with neither η (``rate``) nor 1/‖u‖ in them; the properties
    without underscore are what is shown. Scaling comes last and in the same way on both sides of an inequality, so
    what holds for the sums holds for what is shown, rounded or not. ``weight_sum`` and ``weight_squares`` are Σw and
    Σw² over the mistakes; both are k where examples have no weights. ``weights`` has the least and the largest of all
    examples.
    """

    rate: float
    target: Target | None
    t: int = 0
    k: int = 0
    norm2_: float = 0.0
    radius2: float = 0.0
    v_dot_u_: float = 0.0
    margin_: float = math.inf
    weight_sum: float = 0.0
    weight_squares: float = 0.0
    weights: tuple[float, float] = math.inf, 0.0

    def after(self, y: int, dot: float, square: float, along: float | None, w: float = 1.0) -> RunningNumbers:
        """Return the numbers after one more example of weight w, with these values of v·x, x·x and u·x.

        What would exceed float64, now or when shown, is refused.
        """
        mistake, towards = y * dot <= 0, 0.0 if along is None else y * along
        least, largest = self.weights
        new = RunningNumbers(
            self.rate,
            self.target,
            t=self.t + 1,
            k=self.k + mistake,
            norm2_=(self.norm2_ + 2 * (y * w) * dot) + w * w * square if mistake else self.norm2_,
            radius2=max(self.radius2, square),
            v_dot_u_=self.v_dot_u_ + w * towards if mistake else self.v_dot_u_,
            margin_=self.margin_ if along is None else min(self.margin_, towards),
            weight_sum=self.weight_sum + w if mistake else self.weight_sum,
            weight_squares=self.weight_squares + w * w if mistake else self.weight_squares,
            weights=(min(least, w), max(largest, w)),
        )
        for number in (new.norm2, new.lemma2, *(() if along is None else (new.v_dot_u, new.lemma1))):
            finite(number, "A number that the learner keeps")
        return new

    @property
    def norm2(self) -> float:
        """‖v‖²."""
        return self.rate * (self.rate * self.norm2_)

    @property
    def lemma2(self) -> float:
        """η² k R², with Σw² for k."""
        return self.rate * (self.rate * (self.weight_squares * self.radius2))

    @property
    def v_dot_u(self) -> float:
        """v·u."""
        return self.rate * (self.v_dot_u_ / self.known("v_dot_u").length)

    @property
    def margin(self) -> float:
        """γ."""
        return self.margin_ / self.known("margin").length

    @property
    def lemma1(self) -> float:
        """η k γ, with Σw for k."""
        length = self.known("lemma1").length
        return self.rate * (self.weight_sum * self.margin_ / length) if self.k else 0.0

    @property
    def mistake_bound(self) -> float:
        """(a + b)²/(4ab) · R²/γ² for weights from a to b, rounded once: not below k where the sums are exact."""
        norm2 = self.known("mistake_bound").norm2
        if self.margin_ <= 0:
            return math.inf
        if not self.t:
            return 0.0
        try:
            a, b = map(Fraction, self.weights)
            unequal = (a + b) ** 2 / (4 * a * b)
            return float(unequal * Fraction(self.radius2) * Fraction(norm2) / Fraction(self.margin_) ** 2)
        except OverflowError:
            return math.inf

    def known(self, name: str) -> Target:
        """Return the target, which what is asked for needs."""
        if self.target is None:
            raise NotKeptError(f"The '{name}' of {OWNER} needs a target, given when the learner is made: target=u.")
        return self.target


def finite(value: float, what: str) -> float:
    """Return a number, or refuse the example that would need one beyond float64."""
    if not math.isfinite(value):
        raise NotRepresentableError(
            f"{what} exceeds the largest float64 with this example: scale the examples down, or the learning rate."
        )
    return value


# -- rounds ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Round:
    """One round of the game between A, who gives an example and its label, and B, who predicts.

    The rounds of `OnlinePerceptron.history` have all that it takes to draw the game of Cohen's section 3.3: examples,
    labels, every guess, and how it projects on the target.

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
    """Number of the round, from 1."""
    x: Any
    """The example, as it was read."""
    y: int
    """Its label, +1 or -1."""
    score: float
    """v·x, with the guess before this round."""
    prediction: int
    """B's prediction."""
    mistake: bool
    """Whether y · score ≤ 0."""
    k: int
    """Mistakes so far, this round's included."""
    v: Any
    """The guess after this round: the same object as in the round before where there was no mistake."""
    norm2: float
    radius2: float
    """‖v‖², and the largest ‖x‖² so far."""
    lemma2: float
    """η² k R², which ``norm2`` does not exceed; with weights η² Σw² R²."""
    v_dot_u: float | None = None
    margin: float | None = None
    lemma1: float | None = None
    mistake_bound: float | None = None
    """v·u, the least y (u·x) so far, η k γ (with weights η Σw γ), and R²/γ² (with weights from a to b (a + b)²/(4ab)
    times that); None without a target."""
    weight: float = 1.0
    """w, the weight of the example."""
