"""Requests and answers of the routes under /api/. A request that does not fit its schema gets status 422."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

Mode = Literal["strict", "noisy", "free"]
Rule = Literal["last", "vote", "average"]
Label = Literal[-1, 1]
Coordinate = Annotated[float, Field(ge=-2, le=2, allow_inf_nan=False)]
Point = Annotated[list[Coordinate], Field(min_length=2, max_length=2)]
GameId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{16}$")]


@dataclass(frozen=True)
class Limits:
    """Limits for visitors: bytes of a request, examples of a game, games, seconds of a request, connections."""

    body: int = 64 * 1024
    examples: int = 300
    games: int = 1000
    request: float = 20.0
    connections: int = 512


MOST_EXAMPLES = Limits().examples


class Sent(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Refusal(BaseModel):
    """The reason of a refusal, and which rule of the game forbids it, if one does."""

    detail: str
    rule: str | None = None


# -- the game ---------------------------------------------------------------------------------------------------------


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

    mode: Mode = "strict"
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


class AutoPlay(Sent):
    n: Annotated[int, Field(ge=1, le=MOST_EXAMPLES)] = 1


Numbers = Annotated[list[float], BeforeValidator(list)]


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


class Standing(BaseModel):
    """The state of the game.

    ``bound`` is (R/γ)², or ((R + D)/γ)² where ``deviation`` D is above 0. ``separation`` is what the free mode found.
    """

    k: int
    t: int
    radius: float
    margin: float | None
    deviation: float
    bound: float | None
    separation: Separation | None
    proof: Proof
    sentence: str


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


class Par(BaseModel):
    """The number of mistakes that the automatic A forces from the beginning, and the bound as a whole number."""

    mistakes: int
    bound: int


class Field2D(BaseModel):
    """Scores on a square grid from -extent to extent, row by row from the top, over the largest: -10,000 to 10,000."""

    size: int
    extent: float
    values: list[int]


# -- the run ----------------------------------------------------------------------------------------------------------


class RunTitle(BaseModel):
    id: str
    title: str
    kind: Literal["plane", "images", "other"]
    ready: bool
    problem: str | None = None


class PlanePoints(BaseModel):
    x: list[list[float]]
    y: list[int]
    extent: float


class RunOverview(BaseModel):
    """A run as a whole: its moments, each a mistake, with the survival of the vector born there; the rules' errors."""

    id: str
    title: str
    kind: Literal["plane", "images", "other"]
    classes: list[str]
    n_examples: int
    n_steps: int
    n_mistakes: int
    kernel: str
    times: list[int]
    mistakes: list[int]
    survival: list[int]
    measured_on: str | None
    errors: dict[str, list[float]]
    points: PlanePoints | None
    shape: list[int] | None


class Alive(BaseModel):
    """The vector of a class that is alive: when it was born, and how many examples it survives in all."""

    of: str
    born: int
    survival: int


class MistakeMade(BaseModel):
    """A mistake: of which class's vector, on which example, with which label and score."""

    of: str
    example: int
    sign: int
    score: float


class SupportImage(BaseModel):
    """An example as an image: pixels from 0 to 255, in base64."""

    example: int
    sign: int
    of: str
    pixels: str


class RunMoment(BaseModel):
    index: int
    time: int
    epoch: float
    made: list[MistakeMade]
    alive: list[Alive]
    errors: dict[str, float]
    point: list[float] | None
    support: list[list[float]]
    images: list[SupportImage]
    field: Field2D | None


# -- the digit --------------------------------------------------------------------------------------------------------


class Drawing(Sent):
    """A drawing of 28 × 28 pixels, row by row, 0 to 255."""

    pixels: Annotated[list[Annotated[int, Field(ge=0, le=255)]], Field(min_length=784, max_length=784)]


class DigitModel(BaseModel):
    ready: bool
    title: str
    classes: list[str] = []
    n_mistakes: int = 0
    n_support: int = 0


class Sample(BaseModel):
    pixels: list[int]
    label: str


class RuleScores(BaseModel):
    """The answer of one rule: its label, and the score of each class."""

    rule: str
    label: str
    scores: list[float]


class VoteHistory(BaseModel):
    """The votes of the perceptrons, in order of birth: for each class a string of "+" and "-".

    ``births`` are the mistakes after which they were born (a selection, where there are many), ``leaders`` the class
    that leads the vote at each of them.
    """

    births: list[int]
    votes: list[str]
    leaders: list[int]


class Reason(BaseModel):
    """A training image with a large say: its part of the score of the class that won, and its class if known."""

    example: int
    weight: float
    label: str
    pixels: str


class DigitAnswer(BaseModel):
    """The model's answer to a drawing; ``seen`` is the drawing as it sees it."""

    label: str
    rules: list[RuleScores]
    history: VoteHistory
    reasons: list[Reason]
    probabilities: list[float] | None
    seen: str
    shape: list[int]
