"""A game in the plane between A, at the page, and B, an `OnlinePerceptron`; and the games that are going on.

A game is its setup and its moves: undoing plays all moves but the last again, and a link has the moves.
"""

from __future__ import annotations

import math
import secrets
from collections import OrderedDict
from collections.abc import Iterable
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from votron._util.types import Floats
from votron.errors import VotronError
from votron.kernels import GaussianKernel, Kernel, LinearKernel, PolynomialKernel
from votron.online import OnlinePerceptron, Round
from votron.online.plane_game import LongestGame, PlaneRules
from votron.record import MistakeRecord
from votron.rules import Vectors
from votron.theory import best_inseparable_bound, inseparable_bound, novikoff_bound, separating_vector

EXTENT = 1.6
"""Half the side of the board."""
MOST_EXAMPLES = 300
"""Examples of a game."""
MOST_GAMES = 1000

Rule = Literal["last", "vote", "average"]
Label = Literal[-1, 1]
Coordinate = Annotated[float, Field(ge=-2, le=2, allow_inf_nan=False)]
Point = Annotated[list[Coordinate], Field(min_length=2, max_length=2)]
Numbers = Annotated[list[float], BeforeValidator(list)]


class RuleBrokenError(VotronError):
    """A move that the rules forbid."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(sentence)
        self.rule = rule


class Sent(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class KernelChoice(Sent):
    """A kernel for B: x·z, (1 + x·z)^degree, or exp(−gamma ‖x − z‖²)."""

    name: Literal["linear", "poly", "rbf"] = "linear"
    degree: Annotated[int, Field(ge=1, le=6)] = 2
    gamma: Annotated[float, Field(ge=0.05, le=50)] = 2.0


class Setup(Sent):
    """A's choices before the game.

    ``strict``: u, γ and R bind A. ``noisy``: only R does, and the rest counts as D. ``free``: A names any labels, and
    the page looks for a u and γ.
    """

    mode: Literal["strict", "noisy", "free"] = "strict"
    angle: Annotated[float, Field(ge=-360, le=360)] = 53.0
    margin: Annotated[float, Field(ge=0.05, le=1.5)] = 0.3
    radius: Annotated[float, Field(ge=0.2, le=1.5)] = 1.0
    kernel: KernelChoice = KernelChoice()

    @model_validator(mode="after")
    def _fits(self) -> Setup:
        if self.kernel.name != "linear" and self.mode != "free":
            raise ValueError("With a kernel u lives in its feature space: choose the free mode, which finds one.")
        if self.mode != "free" and self.margin > self.radius:
            raise ValueError("The margin γ must not exceed the radius R: no example could keep to both.")
        return self


class Move(Sent):
    x: Point
    y: Label | None = None


class NewGame(Sent):
    """A game to begin, or to go on with: its moves so far, as a link has them."""

    setup: Setup = Setup()
    moves: Annotated[list[Move], Field(max_length=MOST_EXAMPLES)] = []


class RoundPlayed(BaseModel):
    """One round: the example, B's answer, and B's guess after it (None in a kernel's feature space)."""

    model_config = ConfigDict(from_attributes=True)

    t: int
    x: Numbers
    y: Label
    score: float
    prediction: Label
    mistake: bool
    k: int
    v: Annotated[list[float] | None, BeforeValidator(lambda v: v.tolist() if hasattr(v, "tolist") else None)]


class Separation(BaseModel):
    """A u and γ that separate the examples so far: u is None in a kernel's feature space."""

    u: list[float] | None
    margin: float


class Proof(BaseModel):
    """After k = 0, 1, 2, ... mistakes: v·u and ‖v‖. With γ and R they stand between kγ and √k R."""

    along: list[float]
    length: list[float]


class Verdict(BaseModel):
    """What theory says of a game.

    ``bound`` is (R/γ)², or ((R + D)/γ)² where ``deviation`` D is above 0. ``separation`` is what the free mode found.
    """

    margin: float | None
    deviation: float = 0.0
    bound: float | None
    separation: Separation | None = None
    sentence: str


class Standing(Verdict):
    """The state of the game."""

    k: int
    t: int
    radius: float
    proof: Proof


class GameState(BaseModel):
    """A game from round ``first`` on (counted from 0); rounds before it are as they were."""

    id: str
    setup: Setup
    first: int
    rounds: list[RoundPlayed]
    standing: Standing


class Prediction(BaseModel):
    score: float
    prediction: Label


class Field2D(BaseModel):
    """Scores on a square grid from -extent to extent, row by row from the top, over the largest: -10,000 to 10,000."""

    size: int
    extent: float
    values: list[int]


class PlaneGame:
    """A game: its setup, its moves, and B."""

    def __init__(self, setup: Setup, moves: Iterable[Move] = ()) -> None:
        self.setup = setup
        self._rules = PlaneRules(setup.angle, setup.margin, setup.radius)
        self.rules = None if setup.mode == "free" else self._rules
        kernels: dict[str, Kernel] = {
            "linear": LinearKernel(),
            "poly": PolynomialKernel(setup.kernel.degree, gamma=1.0, coef0=1.0),
            "rbf": GaussianKernel(setup.kernel.gamma),
        }
        self.kernel = kernels[setup.kernel.name]
        self.linear = setup.kernel.name == "linear"
        u = None if self.rules is None else self.rules.u
        self.learner = OnlinePerceptron(None if self.linear else self.kernel, target=u, keep_history=True)
        self.rounds: list[Round] = []
        for move in moves:
            self.give(move.x, move.y)

    def give(self, x: list[float], y: int | None = None) -> None:
        """Let A give an example, and B learn from it; without a label it is that of u."""
        if len(self.rounds) >= MOST_EXAMPLES:
            raise RuleBrokenError("limit", f"A game has {MOST_EXAMPLES} examples at most: begin another.")
        if y is None and self.rules is None:
            raise RuleBrokenError("label", "In the free mode A names the label, after B's prediction: + or −.")
        label = self._rules.label((x[0], x[1])) if y is None else y
        broken = self._rules.broken((x[0], x[1]), label)
        if broken is not None and (self.setup.mode == "strict" or broken.name == "R"):
            raise RuleBrokenError(*broken)
        self.learner.update(x, label)
        self.rounds = self.learner.history

    def predict(self, x: list[float]) -> Prediction:
        """Return what B says before the label is named."""
        score = self.learner.decision(x)
        return Prediction(score=score, prediction=1 if score >= 0 else -1)

    def again(self) -> Move | None:
        """Return the next example to present once more: each of those on the board in turn."""
        seen = list({(*move.x, move.y): move for move in self.moves}.values())
        return seen[(len(self.rounds) - len(seen)) % len(seen)] if seen else None

    @property
    def moves(self) -> list[Move]:
        return [Move(x=r.x.tolist(), y=_sign(r.y)) for r in self.rounds]

    def forcing(self, n: int) -> list[Move]:
        """Return the next moves of the automatic A, at most n: + and − in turn."""
        if self.rules is None:
            raise RuleBrokenError("u", "The automatic A keeps to a u, γ and R: it does not play in the free mode.")
        player, v, found = LongestGame(self.rules), np.array(self.learner.v), []
        for t in range(len(self.rounds), min(len(self.rounds) + n, MOST_EXAMPLES)):
            z = player.next(v)
            if z is None:
                break
            y = 1 if t % 2 == 0 else -1
            found.append(Move(x=(y * z).tolist(), y=_sign(y)))
            v = v + z
        return found

    def state(self, name: str, first: int = 0) -> GameState:
        """Return the game from a round on."""
        rounds = [RoundPlayed.model_validate(r) for r in self.rounds[first:]]
        return GameState(id=name, setup=self.setup, first=first, rounds=rounds, standing=self.standing())

    def standing(self) -> Standing:
        """Return mistakes, bound and proof."""
        X, y = np.array([r.x for r in self.rounds]).reshape(-1, 2), np.array([float(r.y) for r in self.rounds])
        radius = self.setup.radius if self.linear else math.sqrt(max((r.radius2 for r in self.rounds), default=0.0))
        if self.rules is None:
            margins, verdict = self._freely(X, y, radius)
        else:
            margins = y * (X @ self.rules.u)
            verdict = self._by_rules(self.rules, margins)
        mistakes = [r for r in self.rounds if r.mistake]
        along = [0.0, *np.cumsum([margins[r.t - 1] for r in mistakes]).tolist()]
        proof = Proof(along=along, length=[0.0, *(math.sqrt(max(0.0, r.norm2)) for r in mistakes)])
        return Standing(k=len(mistakes), t=len(self.rounds), radius=radius, proof=proof, **dict(verdict))

    def _by_rules(self, rules: PlaneRules, margins: Floats) -> Verdict:
        if self.setup.mode == "strict":
            over = bool(self.rounds) and LongestGame(rules).over(np.array(self.learner.v))
            words = "A has lost: no example that the rules allow is a mistake." if over else ""
            return Verdict(margin=rules.margin, bound=rules.bound, sentence=words)
        D = float(np.linalg.norm(np.maximum(0.0, rules.margin - margins)))
        words = f"D = {D:.3g}: the length of the vector of what each example lacks of γ."
        bound = inseparable_bound(rules.radius, D, rules.margin)
        return Verdict(margin=rules.margin, deviation=D, bound=bound, sentence=words)

    def _freely(self, X: Floats, y: Floats, radius: float) -> tuple[Floats, Verdict]:
        """Return y (u·x) of each round by the u of the widest separation, or else by the average of B's guesses."""
        if not len(X):
            return y, Verdict(margin=None, bound=None, sentence="Give an example, see what B says, and name the label.")
        once = np.unique(np.column_stack([X, y]), axis=0, return_index=True)[1]
        found = separating_vector(self.kernel(X[once]), y[once])
        if found is not None:
            u = (found.coefficients @ X[once]).tolist() if self.linear else None
            separation, bound = Separation(u=u, margin=found.margin), novikoff_bound(radius, found.margin)
            words = "A u is left that agrees with every label so far."
            verdict = Verdict(margin=found.margin, bound=bound, separation=separation, sentence=words)
            return y * (self.kernel(X, X[once]) @ found.coefficients), verdict
        vectors = self.vectors()
        rows, c = vectors.support_rows, vectors.record.dual_coef(average=True)[0]
        length = math.sqrt(max(float(c @ self.kernel(rows) @ c), 0.0)) or 1.0
        margins = y * (self.kernel(X, rows) @ c) / length
        best = best_inseparable_bound(margins, radius)
        words = "No u is left that agrees with every label: the bound is that of Theorem 2, with u along B's average."
        margin, deviation = (best.margin, best.deviation) if math.isfinite(best.margin) else (None, 0.0)
        return margins, Verdict(margin=margin, deviation=deviation, bound=best.bound, sentence=words)

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


class Games(OrderedDict[str, PlaneGame]):
    """Games by their id, those asked for last at the end; of too many the one asked for longest ago is forgotten."""

    def __getitem__(self, name: str) -> PlaneGame:
        self.move_to_end(name)
        return super().__getitem__(name)

    def add(self, game: PlaneGame) -> str:
        """Keep a new game; return its id, which cannot be guessed."""
        name = secrets.token_urlsafe(12)
        self[name] = game
        if len(self) > MOST_GAMES:
            self.popitem(last=False)
        return name
