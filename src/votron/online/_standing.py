"""Where a game stands: the running numbers, and the bounds on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from votron.errors import NotRepresentableError, VotronError
from votron.online._examples import OWNER
from votron.online._target import Target


class NotKeptError(VotronError, AttributeError):
    """Something that a learner does not keep; an AttributeError, so that ``hasattr`` answers."""


@dataclass(frozen=True)
class Standing:
    """The numbers of a game after t examples.

    ``norm2_``, ``v_dot_u_`` and ``margin_`` are the sums, with neither η (``rate``) nor 1/‖u‖ in them; the properties
    without underscore are what is shown. Scaling comes last and in the same way on both sides of an inequality, so
    what holds for the sums holds for what is shown, rounded or not.
    """

    rate: float
    target: Target | None
    t: int = 0
    k: int = 0
    norm2_: float = 0.0
    radius2: float = 0.0
    v_dot_u_: float = 0.0
    margin_: float = math.inf

    def after(self, y: int, dot: float, square: float, along: float | None) -> Standing:
        """Return where the game stands after one more example, with these values of v·x, x·x and u·x.

        What would exceed float64, now or when shown, is refused.
        """
        mistake, towards = y * dot <= 0, 0.0 if along is None else y * along
        new = Standing(
            self.rate,
            self.target,
            t=self.t + 1,
            k=self.k + mistake,
            norm2_=(self.norm2_ + 2 * y * dot) + square if mistake else self.norm2_,
            radius2=max(self.radius2, square),
            v_dot_u_=self.v_dot_u_ + towards if mistake else self.v_dot_u_,
            margin_=self.margin_ if along is None else min(self.margin_, towards),
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
        """η² k R²."""
        return self.rate * (self.rate * (self.k * self.radius2))

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
        """η k γ."""
        length = self.known("lemma1").length
        return self.rate * (self.k * self.margin_ / length) if self.k else 0.0

    @property
    def mistake_bound(self) -> float:
        """R²/γ², rounded once, so that it is not below k where the sums are exact."""
        norm2 = self.known("mistake_bound").norm2
        if self.margin_ <= 0:
            return math.inf
        if not self.t:
            return 0.0
        try:
            return float(Fraction(self.radius2) * Fraction(norm2) / Fraction(self.margin_) ** 2)
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
