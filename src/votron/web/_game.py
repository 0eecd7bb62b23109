"""A game in the plane between A, at the page, and B, an `OnlinePerceptron`.

A game is its setup and its moves: undoing plays all moves but the last again, and a link has the moves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from votron._util.types import Floats
from votron.errors import VotronError
from votron.kernels import GaussianKernel, Kernel, LinearKernel, PolynomialKernel
from votron.online import OnlinePerceptron, Round
from votron.online.plane_game import LongestGame, PlaneRules
from votron.record import MistakeRecord
from votron.rules import Vectors
from votron.theory import best_inseparable_bound, inseparable_bound, novikoff_bound, separating_vector
from votron.web._schemas import (
    Field2D,
    Label,
    Limits,
    Move,
    Prediction,
    Proof,
    RoundPlayed,
    Separation,
    Setup,
    Standing,
)

__all__ = ["EXTENT", "PlaneGame", "RuleBrokenError", "field_of"]

EXTENT = 1.6
"""Half the side of the board."""


class RuleBrokenError(VotronError):
    """A move that the rules forbid."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(sentence)
        self.rule = rule


class PlaneGame:
    """A game: its setup, its moves, and B."""

    def __init__(self, setup: Setup, moves: Iterable[Move] = (), limits: Limits | None = None) -> None:
        self.setup, self.limits = setup, limits or Limits()
        self._rules = PlaneRules.at(setup.angle, setup.margin, setup.radius)
        self.rules = None if setup.mode == "free" else self._rules
        kernels: dict[str, Kernel] = {
            "linear": LinearKernel(),
            "poly": PolynomialKernel(setup.kernel.degree, gamma=1.0, coef0=1.0),
            "rbf": GaussianKernel(setup.kernel.gamma),
        }
        self.kernel = kernels[setup.kernel.name]
        self.learner = OnlinePerceptron(
            None if setup.kernel.name == "linear" else self.kernel,
            target=None if self.rules is None else self.rules.u,
            keep_history=True,
        )
        self.rounds: list[Round] = []
        for move in moves:
            self.give(move.x, move.y)

    # -- moves --------------------------------------------------------------------------------------------------------

    def give(self, x: list[float], y: int | None = None) -> Round:
        """Let A give an example, and B learn from it; without a label it is that of u."""
        if len(self.rounds) >= self.limits.examples:
            raise RuleBrokenError("limit", f"A game has {self.limits.examples} examples at most: begin another.")
        if y is None and self.rules is None:
            raise RuleBrokenError("label", "In the free mode A names the label, after B's prediction: + or −.")
        label = self._rules.label((x[0], x[1])) if y is None else y
        broken = self._rules.broken((x[0], x[1]), label)
        if broken is not None and (self.setup.mode == "strict" or broken.name == "R"):
            raise RuleBrokenError(*broken)
        self.learner.update(x, label)
        self.rounds = self.learner.history
        return self.rounds[-1]

    def predict(self, x: list[float]) -> Prediction:
        """Return what B says before the label is named."""
        score = self.learner.decision(x)
        return Prediction(score=score, prediction=1 if score >= 0 else -1)

    def again(self) -> Move | None:
        """Return the next example to present once more: each of those on the board in turn."""
        seen = list({(*move.x, move.y): move for move in self.moves}.values())
        return seen[(len(self.rounds) - len(seen)) % len(seen)] if seen else None

    def undone(self) -> PlaneGame:
        """Return the game without its last move."""
        return PlaneGame(self.setup, self.moves[:-1], self.limits)

    @property
    def moves(self) -> list[Move]:
        return [Move(x=r.x.tolist(), y=_sign(r.y)) for r in self.rounds]

    def forcing(self, n: int) -> list[Move]:
        """Return the next moves of the automatic A, at most n: + and − in turn."""
        if self.rules is None:
            raise RuleBrokenError("u", "The automatic A keeps to a u, γ and R: it does not play in the free mode.")
        player, v, found = LongestGame(self.rules), np.array(self.learner.v), []
        room = self.limits.examples - len(self.rounds)
        for i in range(min(n, room)):
            z = player.next(v)
            if z is None:
                break
            y = 1 if (len(self.rounds) + i) % 2 == 0 else -1
            found.append(Move(x=(y * z).tolist(), y=_sign(y)))
            v = v + z
        return found

    # -- the state ----------------------------------------------------------------------------------------------------

    def played(self, first: int = 0) -> list[RoundPlayed]:
        """Return rounds from this one on."""
        return [RoundPlayed.model_validate(r) for r in self.rounds[first:]]

    def standing(self) -> Standing:
        """Return mistakes, bound and proof."""
        X, y = np.array([r.x for r in self.rounds]).reshape(-1, 2), np.array([float(r.y) for r in self.rounds])
        found = self._separation(X, y) if self.rules is None and len(X) else None
        margins = self._margins(X, y, found)
        radius = self.setup.radius
        if self.setup.kernel.name != "linear":
            radius = math.sqrt(max((r.radius2 for r in self.rounds), default=0.0))
        margin, deviation, bound, sentence = self._bounds(margins, radius, found)
        mistakes = [r for r in self.rounds if r.mistake]
        return Standing(
            k=len(mistakes),
            t=len(self.rounds),
            radius=radius,
            margin=margin,
            deviation=deviation,
            bound=bound,
            separation=None if found is None else found[0],
            proof=Proof(
                along=[0.0, *np.cumsum([margins[r.t - 1] for r in mistakes]).tolist()],
                length=[0.0, *(math.sqrt(max(0.0, r.norm2)) for r in mistakes)],
            ),
            sentence=sentence,
        )

    def _separation(self, X: Floats, y: Floats) -> tuple[Separation, Floats] | None:
        """Return the widest separation of the examples of a free game, and its y (u·x); None where there is none."""
        once = np.unique(np.column_stack([X, y]), axis=0, return_index=True)[1]
        found = separating_vector(self.kernel(X[once]), y[once])
        if found is None:
            return None
        u = (found.coefficients @ X[once]).tolist() if self.setup.kernel.name == "linear" else None
        return Separation(u=u, margin=found.margin), y * (self.kernel(X, X[once]) @ found.coefficients)

    def _margins(self, X: Floats, y: Floats, found: tuple[Separation, Floats] | None) -> Floats:
        """Return y (u·x) of each round: by A's u, the one that was found, or the average of B's guesses."""
        if self.rules is not None:
            return np.asarray(y * (X @ self.rules.u))
        if found is not None or not len(X):
            return np.empty(0) if found is None else found[1]
        vectors = self.vectors()
        coefficients = vectors.record.dual_coef(average=True)[0]
        length = math.sqrt(max(float(coefficients @ self.kernel(vectors.support_rows) @ coefficients), 0.0)) or 1.0
        return np.asarray(y * (self.kernel(X, vectors.support_rows) @ coefficients) / length)

    def _bounds(
        self, margins: Floats, radius: float, found: tuple[Separation, Floats] | None
    ) -> tuple[float | None, float, float | None, str]:
        """Return γ, D, the bound, and a sentence."""
        if self.rules is not None and self.setup.mode == "strict":
            over = bool(self.rounds) and LongestGame(self.rules).over(np.array(self.learner.v))
            words = "A has lost: no example that the rules allow is a mistake." if over else ""
            return self.rules.margin, 0.0, self.rules.bound, words
        if self.rules is not None:
            deviation = float(np.linalg.norm(np.maximum(0.0, self.rules.margin - margins)))
            words = f"D = {deviation:.3g}: the length of the vector of what each example lacks of γ."
            return self.rules.margin, deviation, inseparable_bound(radius, deviation, self.rules.margin), words
        if not len(margins):
            return None, 0.0, None, "Give an example, see what B says, and name the label."
        if found is not None:
            margin = found[0].margin
            return margin, 0.0, novikoff_bound(radius, margin), "A u is left that agrees with every label so far."
        best = best_inseparable_bound(margins, radius)
        words = "No u is left that agrees with every label: the bound is that of Theorem 2, with u along B's average."
        finite = math.isfinite(best.margin)
        return (best.margin if finite else None), (best.deviation if finite else 0.0), best.bound, words

    def vectors(self) -> Vectors:
        """Return B's guesses for the rules of prediction."""
        made = [r for r in self.rounds if r.mistake]
        keys = [tuple(r.x.tolist()) for r in made]
        places = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        record = MistakeRecord(
            example=np.array([places[key] for key in keys], dtype=np.int64),
            vector=np.zeros(len(made), dtype=np.int32),
            sign=np.array([r.y for r in made]),
            time=np.array([r.t for r in made]),
            score=np.array([r.score for r in made]),
            norm2=np.array([r.norm2 for r in made]),
            n_vectors=1,
            n_examples=max(1, len(self.rounds)),
            n_steps=len(self.rounds),
        )
        return Vectors(record, self.kernel, np.array(list(places), dtype=np.float64).reshape(-1, 2))


def _sign(y: int) -> Label:
    return 1 if y > 0 else -1


def field_of(
    vectors: Vectors, rule: str, size: int | None = None, extent: float = EXTENT, time: int | None = None
) -> Field2D:
    """Return scores on a grid, divided by the largest; all 0 before the first mistake."""
    size = size or (96 if rule == "vote" else 56)
    ticks = np.linspace(-extent, extent, size)
    grid = np.array(np.meshgrid(ticks, ticks[::-1])).reshape(2, -1).T
    scores = np.zeros(len(grid))
    if len(vectors.record):
        scores = vectors.scores(grid, rule, time=time)[:, 0]
    largest = float(np.abs(scores).max()) or 1.0
    values = np.round(10_000 * scores / largest).astype(int)
    values = np.where(values == 0, np.sign(scores).astype(int), values)  # a score keeps its sign, however small
    return Field2D(size=size, extent=extent, values=values.tolist())
