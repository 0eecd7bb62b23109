"""The routes of the page and of /api/. A request that does not fit its schema gets status 422.

Quick requests are handled one after another, so that two moves of a game do not meet. Slower ones (boundaries, runs,
drawings, looking ahead) run in threads, on data that do not change.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request
from fastapi import Path as InPath
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, Field
from starlette.middleware.base import RequestResponseEndpoint
from starlette.responses import Response

from votron import __version__
from votron.errors import VotronError
from votron.online.plane_game import LongestGame
from votron.web import _digit as digits
from votron.web._digit import DigitAnswer, DigitModel, Drawing, Sample
from votron.web._game import (
    MOST_EXAMPLES,
    Coordinate,
    Field2D,
    Games,
    GameState,
    Move,
    NewGame,
    PlaneGame,
    Prediction,
    Rule,
    RuleBrokenError,
    Sent,
    Setup,
    field_of,
)
from votron.web._models import Piece, RunMoment, RunOverview, RunTitle, Trained, for_drawings

STATIC = Path(__file__).parent / "static"
MOST_BYTES = 64 * 1024
"""Bytes of a request."""
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class AutoPlay(Sent):
    n: Annotated[int, Field(ge=1, le=MOST_EXAMPLES)] = 1


class Par(BaseModel):
    """The number of mistakes that the automatic A forces from the beginning, and the bound as a whole number."""

    mistakes: int
    bound: int


api = APIRouter(prefix="/api")


def make_app(pieces: Iterable[Piece], port: int) -> FastAPI:
    """Return the application, which is reached at this port."""
    app = FastAPI(title="Votron", version=__version__, openapi_url="/api/openapi.json", docs_url=None, redoc_url=None)
    app.state.games, app.state.pieces = Games(), {piece.id: piece for piece in pieces}
    app.include_router(api)

    @app.middleware("http")
    async def guard(request: Request, call_next: RequestResponseEndpoint) -> Response:
        answer = _refusal(request, port) or await call_next(request)
        answer.headers.update(_HEADERS)
        answer.headers["cache-control"] = "no-store" if request.url.path.startswith("/api/") else "no-cache"
        return answer

    @app.exception_handler(VotronError)
    async def refused(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": str(error), "rule": getattr(error, "rule", None)}, 409)

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app


def _refusal(request: Request, port: int) -> Response | None:
    """Refuse requests that are large, or that another site makes the browser send.

    They must name this server as their host (against DNS rebinding), and come from its own page.
    """
    headers, path = request.headers, request.url.path
    host, origin = headers.get("host", "").lower(), headers.get("origin")
    other_site = headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and path != "/"
    length = headers.get("content-length", "none" if "transfer-encoding" in headers else "0")
    if host not in (f"127.0.0.1:{port}", f"localhost:{port}"):
        return _sentence(421, "This server does not go by that name.")
    if other_site or (origin is not None and origin.lower() != f"http://{host}"):
        return _sentence(403, "Requests from other sites are refused.")
    if request.method in ("POST", "PUT") and not headers.get("content-type", "").startswith("application/json"):
        return _sentence(415, "Send JSON, with the content type application/json.")
    if not length.isdecimal() or int(length[:20]) > MOST_BYTES:
        return _sentence(413, f"A request has {MOST_BYTES:,} bytes at most.")
    return None


def _sentence(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"detail": sentence}, status)


GameId = Annotated[str, InPath(pattern=r"^[A-Za-z0-9_-]{16}$")]


async def _games(request: Request) -> Games:
    games: Games = request.app.state.games
    return games


AllGames = Annotated[Games, Depends(_games)]


async def _game(game: GameId, games: AllGames) -> PlaneGame:
    if game not in games:
        raise HTTPException(404, "There is no such game, or it has been forgotten: begin it again from its moves.")
    return games[game]


Going = Annotated[PlaneGame, Depends(_game)]


@api.post("/games", status_code=201)
async def begin(new: NewGame, games: AllGames) -> GameState:
    """Begin a game, or go on with one from its moves."""
    game = PlaneGame(new.setup, new.moves)
    return game.state(games.add(game))


@api.get("/games/{game}")
async def look(game: GameId, going: Going) -> GameState:
    """Return a whole game."""
    return going.state(game)


@api.put("/games/{game}/setup")
async def change(game: GameId, going: Going, games: AllGames, setup: Setup) -> GameState:
    """Play the same moves under another setup; refused if they break its rules."""
    games[game] = changed = PlaneGame(setup, going.moves)
    return changed.state(game)


@api.post("/games/{game}/examples")
async def give(game: GameId, going: Going, move: Move) -> GameState:
    """Let A give an example."""
    going.give(move.x, move.y)
    return going.state(game, len(going.rounds) - 1)


@api.get("/games/{game}/prediction")
async def predict(going: Going, x: Annotated[Coordinate, Query()], y: Annotated[Coordinate, Query()]) -> Prediction:
    """Return what B says of a place before its label is named."""
    return going.predict([x, y])


@api.post("/games/{game}/again")
async def again(game: GameId, going: Going) -> GameState:
    """Present the next of the examples on the board once more."""
    first, move = len(going.rounds), going.again()
    if move is not None:
        going.give(move.x, move.y)
    return going.state(game, first)


@api.post("/games/{game}/auto")
async def auto(game: GameId, going: Going, games: AllGames, how: AutoPlay) -> GameState:
    """Let the automatic A give examples, as long as it can force a mistake."""
    first = len(going.rounds)
    moves = await run_in_threadpool(going.forcing, how.n)
    if games.get(game) is going and len(going.rounds) == first:  # nobody has moved meanwhile
        for move in moves:
            going.give(move.x, move.y)
    return going.state(game, first)


@api.post("/games/{game}/undo")
async def undo(game: GameId, going: Going, games: AllGames) -> GameState:
    """Take the last move back."""
    games[game] = before = PlaneGame(going.setup, going.moves[:-1])
    return before.state(game, len(before.rounds))


@api.get("/games/{game}/field")
async def field(
    going: Going, rule: Annotated[Rule, Query()] = "last", size: Annotated[int | None, Query(ge=2, le=96)] = None
) -> Field2D:
    """Return the scores of a rule over the board."""
    return await run_in_threadpool(field_of, going.vectors(), rule, size)


@api.get("/games/{game}/par")
async def par(going: Going) -> Par:
    """Return how many mistakes the automatic A would force from the beginning."""
    if going.rules is None:
        raise RuleBrokenError("u", "Without a u, γ and R there is no bound to reach.")
    mistakes = await run_in_threadpool(LongestGame(going.rules).count)
    return Par(mistakes=mistakes, bound=int(going.rules.bound + 1e-9))


async def _pieces(request: Request) -> dict[str, Piece]:
    pieces: dict[str, Piece] = request.app.state.pieces
    return pieces


Pieces = Annotated[dict[str, Piece], Depends(_pieces)]
RunId = Annotated[str, InPath(pattern="^[a-z]{1,16}$")]


def _ready(piece: Piece | None) -> Trained:
    if piece is None or piece.problem is not None:
        raise HTTPException(404, "There is no such model." if piece is None else piece.problem)
    if piece.trained is None:
        raise HTTPException(503, "The model is still being trained: ask again in a moment.")
    return piece.trained


@api.get("/runs")
async def list_runs(pieces: Pieces) -> list[RunTitle]:
    """List the runs."""
    return [RunTitle.model_validate(piece) for piece in pieces.values()]


@api.get("/runs/{run}")
def look_at_run(run: RunId, pieces: Pieces) -> RunOverview:
    """Return a run as a whole."""
    return _ready(pieces.get(run)).overview(pieces[run])


@api.get("/runs/{run}/moments/{index}")
def moment(
    run: RunId,
    index: Annotated[int, InPath(ge=0, le=10_000)],
    pieces: Pieces,
    rule: Annotated[Rule, Query()] = "vote",
) -> RunMoment:
    """Return one moment of a run."""
    trained = _ready(pieces.get(run))
    if index >= len(trained.times):
        raise HTTPException(404, f"This run has {len(trained.times)} moments.")
    return trained.moment(index, rule)


@api.get("/digit")
async def digit_model(pieces: Pieces) -> DigitModel:
    """Return which model answers."""
    piece = for_drawings(pieces.values())
    if piece is None:
        raise HTTPException(404, "There is no model that takes images.")
    return digits.described(piece)


@api.post("/digit")
def read_drawing(drawing: Drawing, pieces: Pieces) -> DigitAnswer:
    """Return the model's answer to a drawing."""
    return digits.answer(_ready(for_drawings(pieces.values())), drawing.pixels)


@api.get("/digit/sample")
def draw_sample(pieces: Pieces, seed: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0) -> Sample:
    """Return a test digit."""
    trained = _ready(for_drawings(pieces.values()))
    if trained.X is None:
        raise HTTPException(404, "There are no test digits for this model: give some with --test.")
    return digits.sample(trained, seed)
