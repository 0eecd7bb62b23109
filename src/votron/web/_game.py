"""A game in the plane between A, at the page, and B, an `OnlinePerceptron`.

The rules are those of `votron.online.plane_game`; what the game is worth under them is computed by
`votron.theory`. A game is its setup and its moves, from which everything else follows: undoing is playing again without
the last move, and a link has the moves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property

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


def _kernel(setup: Setup) -> Kernel:
    made: dict[str, Kernel] = {
        "linear": LinearKernel(),
        "poly": PolynomialKernel(setup.kernel.degree, gamma=1.0, coef0=1.0),
        "rbf": GaussianKernel(setup.kernel.gamma),
    }
    return made[setup.kernel.name]


class PlaneGame:
    """A game: its setup, its moves, and B."""

    def __init__(self, setup: Setup, moves: Iterable[Move] = (), limits: Limits | None = None) -> None:
        self.setup, self.limits = setup, limits or Limits()
        self.rules = None if setup.mode == "free" else PlaneRules.at(setup.angle, setup.margin, setup.radius)
        self.kernel = _kernel(setup)
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
        label = self._label(x, y)
        if self.rules is not None:
            broken = self.rules.broken((x[0], x[1]), label)
            if broken is not None and (self.setup.mode == "strict" or broken.name == "R"):
                raise RuleBrokenError(*broken)
        elif math.hypot(*x) > self.setup.radius:
            radius = PlaneRules.at(0, self.setup.radius, self.setup.radius).broken((x[0], x[1]), 1)
            assert radius is not None
            raise RuleBrokenError(*radius)
        self.learner.update(x, label)
        self.rounds = self.learner.history
        return self.rounds[-1]

    def _label(self, x: list[float], y: int | None) -> int:
        if y is not None:
            return y
        if self.rules is None:
            raise RuleBrokenError("label", "In the free mode A names the label, after B's prediction: + or −.")
        return self.rules.label((x[0], x[1]))

    def predict(self, x: list[float]) -> Prediction:
        """Return what B says before the label is named."""
        score = self.learner.decision(x)
        return Prediction(score=score, prediction=1 if score >= 0 else -1)

    def again(self) -> Move | None:
        """Return the next example to present once more: those on the board in turn, each as it was first given."""
        seen = self.distinct
        return None if not seen else seen[self._n_repeated % len(seen)]

    @property
    def distinct(self) -> list[Move]:
        """The examples on the board, each once, in the order in which they came."""
        found = {(*r.x.tolist(), r.y): Move(x=r.x.tolist(), y=_sign(r.y)) for r in self.rounds}
        return list(found.values())

    @property
    def _n_repeated(self) -> int:
        return len(self.rounds) - len(self.distinct)

    def undone(self) -> PlaneGame:
        """Return the game without its last move."""
        return PlaneGame(self.setup, self.moves[:-1], self.limits)

    @property
    def moves(self) -> list[Move]:
        """All moves."""
        return [Move(x=r.x.tolist(), y=_sign(r.y)) for r in self.rounds]

    def forcing(self, n: int) -> list[Move]:
        """Return what the automatic A would give next, n examples at most: + and − in turn, where it has a choice."""
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

    # -- how it stands ------------------------------------------------------------------------------------------------

    def played(self, first: int = 0) -> list[RoundPlayed]:
        """Return rounds from this one on."""
        return [RoundPlayed.model_validate(r) for r in self.rounds[first:]]

    def standing(self) -> Standing:
        """Return how the game stands."""
        return _Accounts(self).standing()

    def vectors(self) -> Vectors:
        """Return B's guesses as the rules of prediction take them."""
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


class _Accounts:
    """The numbers of a game, computed once."""

    def __init__(self, game: PlaneGame) -> None:
        self.game, self.setup, self.rounds = game, game.setup, game.rounds
        self.X = np.array([r.x for r in self.rounds]).reshape(-1, 2)
        self.y = np.array([r.y for r in self.rounds], dtype=np.float64)

    def standing(self) -> Standing:
        margin, deviation, bound, sentence = self._bounds()
        mistakes = [r for r in self.rounds if r.mistake]
        towards = self.margins[[r.t - 1 for r in mistakes]] if mistakes else np.empty(0)
        return Standing(
            k=len(mistakes),
            t=len(self.rounds),
            radius=self.radius,
            margin=margin,
            deviation=deviation,
            bound=bound,
            separation=self._separation(),
            proof=Proof(
                along=[0.0, *np.cumsum(towards).tolist()],
                length=[0.0, *(math.sqrt(max(0.0, r.norm2)) for r in mistakes)],
            ),
            sentence=sentence,
        )

    @property
    def radius(self) -> float:
        """R: A's own, or in a feature space that of the examples."""
        if self.setup.kernel.name == "linear":
            return self.setup.radius
        return math.sqrt(max((r.radius2 for r in self.rounds), default=0.0))

    @cached_property
    def found(self) -> tuple[Floats, Floats, float] | None:
        """What separates the examples of a free game, if anything does."""
        keys: dict[tuple[float, ...], int] = {
            (*x, y): i for i, (x, y) in enumerate(zip(self.X.tolist(), self.y, strict=True))
        }
        once = sorted(keys.values())
        if not once:
            return None
        X, y = self.X[once], self.y[once]
        found = separating_vector(self.game.kernel(X), y)
        return None if found is None else (X, found.coefficients, found.margin)

    @cached_property
    def margins(self) -> Floats:
        """The margin y (u·x) of each round: by A's u, the one that was found, or else the average of B's guesses."""
        if self.game.rules is not None:
            return np.asarray(self.y * (self.X @ self.game.rules.u))
        if not len(self.X):
            return np.empty(0)
        if self.found is not None:
            X, coefficients, _ = self.found
            return np.asarray(self.y * (self.game.kernel(self.X, X) @ coefficients))
        vectors = self.game.vectors()
        coefficients = vectors.record.dual_coef(average=True)[0]
        K = self.game.kernel(vectors.support_rows)
        length = math.sqrt(max(float(coefficients @ K @ coefficients), 0.0)) or 1.0
        return np.asarray(self.y * (self.game.kernel(self.X, vectors.support_rows) @ coefficients) / length)

    def _separation(self) -> Separation | None:
        if self.game.rules is not None or self.found is None:
            return None
        X, coefficients, margin = self.found
        plane = self.setup.kernel.name == "linear"
        return Separation(u=(coefficients @ X).tolist() if plane else None, margin=margin)

    def _bounds(self) -> tuple[float | None, float, float | None, str]:
        """Return γ, D, the bound, and what there is to say."""
        rules = self.game.rules
        if self.setup.mode == "strict":
            assert rules is not None
            return rules.margin, 0.0, rules.bound, self._end(rules)
        if self.setup.mode == "noisy":
            assert rules is not None
            deviation = float(np.linalg.norm(np.maximum(0.0, rules.margin - self.margins)))
            words = f"D = {deviation:.3g}: what the examples are short of γ, squared, summed and rooted."
            return rules.margin, deviation, inseparable_bound(rules.radius, deviation, rules.margin), words
        if not len(self.X):
            return None, 0.0, None, "Give an example, see what B says, and name the label."
        if self.found is not None:
            margin = self.found[2]
            return margin, 0.0, novikoff_bound(self.radius, margin), "A u is left that agrees with every label so far."
        best = best_inseparable_bound(self.margins, self.radius)
        words = "No u is left that agrees with every label: the bound is that of Theorem 2, with u along B's average."
        finite = math.isfinite(best.margin)
        return (best.margin if finite else None), (best.deviation if finite else 0.0), best.bound, words

    def _end(self, rules: PlaneRules) -> str:
        if self.rounds and LongestGame(rules).over(np.array(self.game.learner.v)):
            return "B errs on no example that the rules allow: A has lost."
        return ""


def _sign(y: int) -> Label:
    return 1 if y > 0 else -1


def field_of(
    vectors: Vectors, rule: str, size: int | None = None, extent: float = EXTENT, time: int | None = None
) -> Field2D:
    """Return scores on a grid, over the largest of them; all 0 before the first mistake."""
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
