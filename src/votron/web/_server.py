"""The server: its socket, its address, and uvicorn."""

from __future__ import annotations

import ipaddress
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING

from votron.errors import MissingPackageError, VotronError
from votron.web._schemas import Limits

if TYPE_CHECKING:
    from votron.web._workshop import Piece

__all__ = ["is_loopback", "serve"]


def is_loopback(host: str) -> bool:
    """Tell whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say in a sentence why it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except (OSError, OverflowError) as error:
        found.close()
        why = getattr(error, "strerror", None) or str(error)
        raise VotronError(f"Cannot listen on {host} port {port}: {why}. Choose another with --port.") from None
    return found


def serve(
    pieces: list[Piece],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    open_browser: bool = False,
    say: Callable[[str], object] = print,
    limits: Limits | None = None,
) -> None:
    """Serve the page until SIGINT or SIGTERM."""
    check_packages()
    import uvicorn

    from votron.web._app import make_app
    from votron.web._security import Guard
    from votron.web._workshop import Workshop

    limits, workshop = limits or Limits(), Workshop(pieces)
    bound = listening(host, port)
    port = bound.getsockname()[1]
    alone = is_loopback(host)
    token = None if alone else secrets.token_urlsafe(24)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}/" + ("" if token is None else f"?token={token}")
    app = Guard(make_app(workshop, limits), _names(shown, port) if alone else set(), token, limits)
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=0,
        limit_concurrency=limits.connections,
        lifespan="off",
        ws="none",
    )
    workshop.start()
    say(address)
    if open_browser:
        threading.Timer(0.3, webbrowser.open, [address]).start()
    uvicorn.Server(config).run(sockets=[bound])


def _names(shown: str, port: int) -> set[str]:
    """Return the host names of requests from this machine."""
    names = {shown, "localhost", "127.0.0.1", "[::1]"}
    return {f"{name}:{port}" for name in names} | (names if port == 80 else set())


def check_packages() -> None:
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingPackageError('The page needs FastAPI and uvicorn: pip install "votron[web]".') from error
