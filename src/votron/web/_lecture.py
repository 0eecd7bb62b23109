"""One HTML file that replays games and a run without a server.

It has the page's drawing modules as one script, and the answers that the server would have given.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from votron._util.files import write_bytes
from votron._util.types import Params
from votron.errors import VotronError
from votron.web._app import STATIC
from votron.web._game import KernelChoice, Move, NewGame, PlaneGame, Setup, field_of
from votron.web._models import Piece, Trained

MODULES = ("dom", "field", "plane", "proof", "score", "runview", "replay")
"""The modules of the file, each after those that it imports."""
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
_FIELD_SIZE = 41
_MOST_MOMENTS = 80


def export_lecture(path: str, piece: Piece, links: Iterable[str] = ()) -> int:
    """Write one HTML file that replays games and a run, without a server; return its size in bytes.

    ``links`` are games, as links from the page (by default four examples); ``piece``, from `votron.web.pieces`, is the
    model whose run is shown.

    Examples
    --------
    >>> import tempfile
    >>> from votron.web import export_lecture, pieces
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_lecture(f"{folder}/lecture.html", pieces()[0]) > 100_000
    True
    """
    games = [(f"Game {i}", game_of_link(link)) for i, link in enumerate(links, 1)] or _own_games()
    if piece.trained is None:
        piece.work()
    if piece.trained is None:
        raise VotronError(piece.problem or "")
    content = _page([_recorded(title, game) for title, game in games], piece, piece.trained).encode()
    write_bytes(Path(path), content)
    return len(content)


def game_of_link(link: str) -> PlaneGame:
    """Return the game of a link, or of the part of it after ``#game=``."""
    code = link.rpartition("#game=")[2]
    try:
        found = json.loads(base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)))
        moves = [Move(x=[a, b], y=y) for a, b, y in found["moves"]]
        new = NewGame(setup=found["setup"], moves=moves)
    except (ValueError, TypeError, KeyError, ValidationError) as error:
        raise VotronError(f"{link[:60]!r} is not a link to a game. Copy link on the page gives one.") from error
    return PlaneGame(new.setup, new.moves)


def _own_games() -> list[tuple[str, PlaneGame]]:
    forced = []
    for margin in (0.3, 0.2):
        game = PlaneGame(Setup(margin=margin))
        for move in game.forcing(100):
            game.give(move.x, move.y)
        found = f"{len(game.rounds)} of {game.standing().bound:.3g}"
        forced.append((f"A forces what it can, γ = {margin}: {found}", game))
    rng = np.random.default_rng(4)
    noisy = PlaneGame(Setup(mode="noisy", margin=0.3))
    for x in rng.uniform(-0.7, 0.7, (16, 2)).round(3).tolist():
        label = noisy.rules.label((x[0], x[1])) if noisy.rules else 1
        noisy.give(x, label if rng.random() < 0.85 else -label)
    curved = PlaneGame(Setup(mode="free", kernel=KernelChoice(name="poly", degree=2)))
    corners = [([0.6, 0.6], 1), ([-0.6, 0.55], -1), ([-0.5, -0.6], 1), ([0.55, -0.6], -1)]
    for x, y in corners * 4:
        curved.give(x, y)
    return [*forced, ("Labels with noise: D, and Theorem 2", noisy), ("A curve: (1 + x·z)², freely", curved)]


def _recorded(title: str, game: PlaneGame) -> Params:
    """Return a game with how it stood after each round."""
    going = PlaneGame(game.setup)
    standings, fields = [going.standing().model_dump()], list[Params | None]([None])
    for move in game.moves:
        going.give(move.x, move.y)
        standings.append(going.standing().model_dump())
        fields.append(field_of(going.vectors(), "last", _FIELD_SIZE).model_dump())
    whole = game.state("").model_dump(include={"setup", "rounds"})
    return {"title": title, **whole, "standings": standings, "fields": fields}


def _page(games: list[Params], piece: Piece, trained: Trained) -> str:
    overview, n = trained.overview(piece), len(trained.times)
    chosen = np.unique(np.linspace(0, n - 1, min(n, _MOST_MOMENTS)).round().astype(int)).tolist()
    moments = [trained.moment(i, "vote").model_dump() for i in chosen]
    data = {"games": games, "run": overview.model_dump(), "moments": moments}
    script, style = _script(), (STATIC / "page.css").read_text(encoding="utf-8")
    parts = {
        "policy": f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        "title": escape(overview.title),
        "style": style,
        "script": script,
        "data": json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
    }
    template = (STATIC / "lecture.html").read_text(encoding="utf-8")
    return re.sub(r"\{(policy|title|style|script|data)\}", lambda found: parts[found[1]], template)


def _script() -> str:
    """Return the modules as one; each stands below those that it imports."""
    texts = [(STATIC / f"{name}.js").read_text(encoding="utf-8") for name in MODULES]
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
