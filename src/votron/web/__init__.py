"""The page: the perceptron game, a training run to move through, a digit to draw.

HTML, CSS and JavaScript are in ``static``; all learning happens in the library. uvicorn serves the page on a socket
that only this machine can reach.
"""

from __future__ import annotations

import socket
import threading
import webbrowser
from collections.abc import Callable

from votron.errors import MissingPackageError, VotronError

try:
    import uvicorn

    from votron.web._app import make_app
    from votron.web._lecture import export_lecture
    from votron.web._models import Piece, pieces
except ImportError as error:
    raise MissingPackageError('The page needs FastAPI and uvicorn: pip install "votron[web]".') from error

__all__ = ["export_lecture", "pieces", "play"]

HOST = "127.0.0.1"
MOST_CONNECTIONS = 512


def listening(port: int) -> socket.socket:
    """Return a socket that listens, or say in a sentence why it cannot."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
    except OSError as error:
        found.close()
        raise VotronError(
            f"Cannot listen on {HOST} port {port}: {error.strerror}. Choose another with --port."
        ) from None
    return found


def play(
    pieces: list[Piece], *, port: int = 0, open_browser: bool = False, say: Callable[[str], object] = print
) -> None:
    """Serve the page to this machine until Ctrl-C or SIGTERM.

    Parameters
    ----------
    pieces : list of Piece
        Models to show, from `votron.web.pieces`.
    port : int, default=0
        The port; 0 takes a free one.
    open_browser : bool, default=False
        Whether to open the page in a browser.
    say : callable, default=print
        Called with the address.

    Examples
    --------
    ``votron play`` with your own model::

        from votron.web import pieces, play
        play(pieces(model, "my model", X_test, y_test), port=8000, open_browser=True)
    """
    bound = listening(port)
    port = bound.getsockname()[1]
    config = uvicorn.Config(
        make_app(pieces, port),
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=0,
        limit_concurrency=MOST_CONNECTIONS,
        lifespan="off",
        ws="none",
    )
    threading.Thread(target=_train, args=(pieces,), daemon=True).start()
    address = f"http://{HOST}:{port}/"
    say(address)
    if open_browser:
        threading.Timer(0.3, webbrowser.open, [address]).start()
    uvicorn.Server(config).run(sockets=[bound])


def _train(pieces: list[Piece]) -> None:
    for piece in pieces:
        piece.work()
