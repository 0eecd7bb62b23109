"""The routes of the page and of /api/.

Quick requests are handled one after another, so that two moves of a game do not meet. Slower ones (boundaries, runs,
drawings, looking ahead) run in threads, on data that do not change.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi import Path as InPath
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles

from votron import __version__
from votron._util.types import Params
from votron.errors import VotronError
from votron.online.plane_game import LongestGame
from votron.web import _digit as digits
from votron.web._game import PlaneGame, RuleBrokenError, field_of
from votron.web._games import Games
from votron.web._run import Run
from votron.web._schemas import (
    AutoPlay,
    Coordinate,
    DigitAnswer,
    DigitModel,
    Drawing,
    Field2D,
    GameId,
    GameState,
    Limits,
    Move,
    NewGame,
    Par,
    Prediction,
    Refusal,
    Rule,
    RunMoment,
    RunOverview,
    RunTitle,
    Sample,
    Setup,
)
from votron.web._workshop import Piece, Trained, Workshop

__all__ = ["STATIC", "make_app"]

STATIC = Path(__file__).parent / "static"

_REFUSALS: dict[int | str, Params] = {
    404: {"model": Refusal, "description": "There is no such game or run."},
    409: {"model": Refusal, "description": "A rule of the game forbids it; the sentence says which."},
    503: {"model": Refusal, "description": "Not now: still being trained."},
}
Id = Annotated[GameId, InPath()]
RunId = Annotated[str, InPath(pattern="^[a-z]{1,16}$")]


def make_app(workshop: Workshop, limits: Limits | None = None) -> FastAPI:
    """Return the application, without the guard before it."""
    limits = limits or Limits()
    app = FastAPI(title="Votron", version=__version__, openapi_url="/api/openapi.json", docs_url=None, redoc_url=None)
    app.state.games = Games(limits.games)
    _add_games(app, app.state.games, limits)
    _add_runs(app, workshop)
    _add_digit(app, workshop)

    @app.exception_handler(VotronError)
    async def refused(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": str(error), "rule": getattr(error, "rule", None)}, 409)

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app


# -- the game ---------------------------------------------------------------------------------------------------------


def _state(name: str, game: PlaneGame, first: int = 0) -> GameState:
    return GameState(id=name, setup=game.setup, first=first, rounds=game.played(first), standing=game.standing())


def _add_games(app: FastAPI, games: Games, limits: Limits) -> None:
    @app.post("/api/games", status_code=201, responses=_REFUSALS)
    async def begin(new: NewGame) -> GameState:
        """Begin a game, or go on with one from its moves."""
        game = PlaneGame(new.setup, new.moves, limits)
        return _state(games.add(game), game)

    @app.get("/api/games/{game}", responses=_REFUSALS)
    async def look(game: Id) -> GameState:
        """Return a whole game."""
        return _state(game, games[game])

    @app.put("/api/games/{game}/setup", responses=_REFUSALS)
    async def change(game: Id, setup: Setup) -> GameState:
        """Play the same moves under another setup; refused if they break its rules."""
        games[game] = changed = PlaneGame(setup, games[game].moves, limits)
        return _state(game, changed)

    @app.post("/api/games/{game}/examples", responses=_REFUSALS)
    async def give(game: Id, move: Move) -> GameState:
        """Let A give an example."""
        going = games[game]
        going.give(move.x, move.y)
        return _state(game, going, len(going.rounds) - 1)

    @app.get("/api/games/{game}/prediction", responses=_REFUSALS)
    async def predict(game: Id, x: Annotated[Coordinate, Query()], y: Annotated[Coordinate, Query()]) -> Prediction:
        """Return what B says of a place before its label is named."""
        return games[game].predict([x, y])

    @app.post("/api/games/{game}/again", responses=_REFUSALS)
    async def again(game: Id) -> GameState:
        """Present the next of the examples on the board once more."""
        going = games[game]
        move = going.again()
        if move is not None:
            going.give(move.x, move.y)
        return _state(game, going, len(going.rounds) - (move is not None))

    @app.post("/api/games/{game}/auto", responses=_REFUSALS)
    async def auto(game: Id, how: AutoPlay) -> GameState:
        """Let the automatic A give examples, as long as it can force a mistake."""
        before = games[game]
        rounds = before.rounds
        moves = await run_in_threadpool(before.forcing, how.n)
        if games[game] is before and before.rounds is rounds:  # nobody has moved meanwhile
            for move in moves:
                before.give(move.x, move.y)
        return _state(game, games[game], min(len(rounds), len(games[game].rounds)))

    @app.post("/api/games/{game}/undo", responses=_REFUSALS)
    async def undo(game: Id) -> GameState:
        """Take the last move back."""
        games[game] = before = games[game].undone()
        return _state(game, before, len(before.rounds))

    @app.delete("/api/games/{game}", status_code=204)
    async def end(game: Id) -> None:
        """Forget a game."""
        games.pop(game, None)

    @app.get("/api/games/{game}/field", responses=_REFUSALS)
    async def field(
        game: Id, rule: Annotated[Rule, Query()] = "last", size: Annotated[int | None, Query(ge=2, le=96)] = None
    ) -> Field2D:
        """Return the scores of a rule over the board."""
        return await run_in_threadpool(field_of, games[game].vectors(), rule, size)

    @app.get("/api/games/{game}/par", responses=_REFUSALS)
    async def par(game: Id) -> Par:
        """Return how many mistakes the automatic A would force from the beginning."""
        rules = games[game].rules
        if rules is None:
            raise RuleBrokenError("u", "Without a u, γ and R there is no bound to reach.")
        mistakes = await run_in_threadpool(LongestGame(rules).count)
        return Par(mistakes=mistakes, bound=int(rules.bound + 1e-9))


# -- the run ----------------------------------------------------------------------------------------------------------


def _ready(piece: Piece | None) -> Trained:
    if piece is None or piece.problem is not None:
        raise HTTPException(404, "There is no such model." if piece is None else piece.problem)
    if piece.trained is None:
        raise HTTPException(503, "The model is still being trained: ask again in a moment.")
    return piece.trained


def _add_runs(app: FastAPI, workshop: Workshop) -> None:
    runs: dict[str, Run] = {}

    def run_of(name: str) -> Run:
        trained = _ready(workshop.pieces.get(name))
        if name not in runs:
            runs[name] = Run(workshop.pieces[name], trained)
        return runs[name]

    @app.get("/api/runs")
    async def list_runs() -> list[RunTitle]:
        """List the runs."""
        return [
            RunTitle(**{name: getattr(piece, name) for name in RunTitle.model_fields})
            for piece in workshop.pieces.values()
        ]

    @app.get("/api/runs/{run}", responses=_REFUSALS)
    def look_at_run(run: RunId) -> RunOverview:
        """Return a run as a whole."""
        return run_of(run).overview()

    @app.get("/api/runs/{run}/moments/{index}", responses=_REFUSALS)
    def moment(
        run: RunId, index: Annotated[int, InPath(ge=0, le=10_000)], rule: Annotated[Rule, Query()] = "vote"
    ) -> RunMoment:
        """Return one moment of a run."""
        found = run_of(run)
        if index >= len(found.times):
            raise HTTPException(404, f"This run has {len(found.times)} moments.")
        return found.moment(index, rule)


# -- the digit --------------------------------------------------------------------------------------------------------


def _add_digit(app: FastAPI, workshop: Workshop) -> None:
    @app.get("/api/digit", responses=_REFUSALS)
    async def digit_model() -> DigitModel:
        """Return which model answers."""
        piece = workshop.digit
        if piece is None:
            raise HTTPException(404, "There is no model that takes images.")
        if piece.trained is None:
            return DigitModel(ready=False, title=piece.title)
        model = piece.trained.model
        return DigitModel(
            ready=True,
            title=piece.title,
            classes=[str(label) for label in model.classes_.tolist()],
            n_mistakes=len(model.record_),
            n_support=len(model.support_),
        )

    @app.post("/api/digit", responses=_REFUSALS)
    def read_drawing(drawing: Drawing) -> DigitAnswer:
        """Return the model's answer to a drawing."""
        return digits.answer(_ready(workshop.digit), drawing.pixels)

    @app.get("/api/digit/sample", responses=_REFUSALS)
    def test_digit(seed: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0) -> Sample:
        """Return a test digit."""
        trained = _ready(workshop.digit)
        if trained.X is None:
            raise HTTPException(404, "There are no test digits for this model: give some with --test.")
        return digits.sample(trained, seed)
