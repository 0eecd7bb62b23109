"""The game between players A and B: its target, its sums, and its rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from votron.errors import NotRepresentableError, VotronError
from votron.kernels import Kernel
from votron.online._reading import OWNER, Example
from votron.online._weights import WeightVector, weights_for


@dataclass(frozen=True)
class Target:
    """The target u as it was given, in the form of the guess, and its length."""

    u: WeightVector
    norm2: float

    @property
    def length(self) -> float:
        return math.sqrt(self.norm2)


def read_target(target: Any, kernel: Kernel | None) -> Target:
    """Read a vector or a mapping; with a kernel, the coefficients and examples of Σ c_j Φ(z_j)."""
    coefficients, examples = [1.0], [target]
    if kernel is not None:
        try:
            first, second = target
            coefficients, examples = [float(c) for c in first], list(second)
        except (TypeError, ValueError):
            examples = []
        if not 0 < len(coefficients) == len(examples):
            raise VotronError(
                f"The 'target' parameter of {OWNER} with a kernel must be a pair (coefficients, examples) of the same "
                f"length. Got {type(target).__name__} instead.",
                parameter="target",
            )
    try:
        u = weights_for(examples[0], kernel)
        rows = [u.read(z) for z in examples]
    except VotronError as error:
        raise VotronError(f"The target: {error}", parameter="target") from None
    for c, row in zip(coefficients, rows, strict=True):
        u.add(c, row)
    norm2 = u.square(rows[0]) if kernel is None else sum(c * u.dot(z) for c, z in zip(coefficients, rows, strict=True))
    if not 0 < norm2 < math.inf:
        raise VotronError(
            f"The 'target' parameter of {OWNER} must be a vector of positive length. "
            f"Got one whose squared length is {norm2:g} instead.",
            parameter="target",
        )
    return Target(u, float(norm2))


class NotKeptError(VotronError, AttributeError):
    """Something that a learner does not keep; an AttributeError, so that ``hasattr`` answers."""


@dataclass(frozen=True)
class Sums:
    """The sums over t examples and k mistakes, without η and 1/‖u‖.

    ``weight_sum`` and ``weight_squares`` are Σw and Σw² over the mistakes, ``weights`` the least and the largest weight
    of all examples.
    """

    t: int = 0
    k: int = 0
    norm2: float = 0.0
    radius2: float = 0.0
    v_dot_u: float = 0.0
    margin: float = math.inf
    weight_sum: float = 0.0
    weight_squares: float = 0.0
    weights: tuple[float, float] = math.inf, 0.0

    def after(self, y: int, dot: float, square: float, towards: float, w: float) -> Sums:
        """Return the sums after one more example of weight w, with these values of v·x, x·x and y (u·x)."""
        mistake = y * dot <= 0
        return Sums(
            t=self.t + 1,
            k=self.k + mistake,
            norm2=(self.norm2 + 2 * (y * w) * dot) + w * w * square if mistake else self.norm2,
            radius2=max(self.radius2, square),
            v_dot_u=self.v_dot_u + w * towards if mistake else self.v_dot_u,
            margin=min(self.margin, towards),
            weight_sum=self.weight_sum + w if mistake else self.weight_sum,
            weight_squares=self.weight_squares + w * w if mistake else self.weight_squares,
            weights=(min(self.weights[0], w), max(self.weights[1], w)),
        )


def finite(value: float) -> float:
    """Return a number, or refuse the example that would need one beyond float64."""
    if not math.isfinite(value):
        raise NotRepresentableError(
            "A number exceeds the largest float64 with this example: scale the examples down, or the learning rate."
        )
    return value


@dataclass(frozen=True, eq=False)
class Round:
    """One round of the game: A gives an example, B predicts, A tells the label.

    ``v`` and all numbers after it are those after the round; see `OnlinePerceptron` for their meaning. A round without
    a mistake has the same object ``v`` as the round before. What needs a target is None without one.

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
    """

    t: int
    x: Example
    y: int
    weight: float
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
