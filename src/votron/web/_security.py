"""Who is answered at all, and with which headers.

The server stands on the user's own machine, where any page that the user visits can reach it. So it answers only
requests that name it as their host (others come by a name that someone has bent to this address), that no other site
has sent, that are small and arrive in time; and where it can be reached from other machines, that know a token.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from votron.web._limits import Limits

__all__ = ["CONTENT_SECURITY_POLICY", "Guard"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_COOKIE = "votron"


class Guard:
    """Stands before an application, and lets through what is answered."""

    def __init__(self, app: App, hosts: set[str], token: str | None = None, limits: Limits | None = None) -> None:
        self.app, self.hosts, self.token, self.limits = app, hosts, token, limits or Limits()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # no websockets
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        guarded = _with_headers(send, scope["path"])
        refused = self._refusal(scope, headers)
        if refused is not None:
            await _answer(guarded, *refused)
        elif self.token is not None and not self._knows_token(headers):
            await self._ask_for_token(scope, guarded)
        else:
            await self._pass(scope, headers, receive, guarded)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        """Return status and sentence for what is not answered."""
        host = headers.get("host", "")
        if self.hosts and host.lower() not in self.hosts:
            return 421, "This server does not go by that name."
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return 403, "Requests from other sites are refused."
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and scope["path"] != "/":
            return 403, "Requests from other sites are refused."
        if scope["method"] in ("POST", "PUT") and not headers.get("content-type", "").startswith("application/json"):
            return 415, "Send JSON, with the content type application/json."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self.limits.body:
            return 413, f"A request has {self.limits.body:,} bytes at most."
        return None

    # -- the token ----------------------------------------------------------------------------------------------------

    def _knows_token(self, headers: dict[str, str]) -> bool:
        cookie: SimpleCookie = SimpleCookie()
        try:
            cookie.load(headers.get("cookie", ""))
        except Exception:  # a cookie that is none is no token
            return False
        return _COOKIE in cookie and self._is_token(cookie[_COOKIE].value)

    def _is_token(self, text: str) -> bool:
        assert self.token is not None
        return hmac.compare_digest(text.encode(), self.token.encode())

    async def _ask_for_token(self, scope: Scope, send: Send) -> None:
        """Turn a right token in the address into a cookie; refuse everything else."""
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        if scope["path"] != "/" or scope["method"] != "GET" or not self._is_token(given):
            await _answer(send, 401, "Open the address that votron play has printed: it has a token in it.")
            return
        cookie = f"{_COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/"
        await _answer(send, 303, "", {"location": "/", "set-cookie": cookie})

    # -- size and time ------------------------------------------------------------------------------------------------

    async def _pass(self, scope: Scope, headers: dict[str, str], receive: Receive, send: Send) -> None:
        """Read the whole request, within its limits, and have it answered in time."""
        begun = False

        async def told(message: MutableMapping[str, Any]) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            async with asyncio.timeout(self.limits.request):
                body = await self._body(receive)
                if body is None:
                    await _answer(send, 413, f"A request has {self.limits.body:,} bytes at most.")
                    return
                await self.app(scope, _once(body, receive), told)
        except TimeoutError:
            if not begun:
                await _answer(send, 503, f"This took longer than {self.limits.request:g} seconds.")

    async def _body(self, receive: Receive) -> bytes | None:
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            part = message.get("body", b"")
            size += len(part)
            if size > self.limits.body:
                return None
            parts.append(part)
            more = message.get("more_body", False)
        return b"".join(parts)


def _once(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that has been read, and then what comes after it."""
    given = False

    async def receive_body() -> MutableMapping[str, Any]:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_body


def _with_headers(send: Send, path: str) -> Send:
    """Return a send that adds the headers of all answers; what is computed is not kept by the browser."""
    always = {**_HEADERS, "cache-control": "no-store" if path.startswith("/api/") else "no-cache"}

    async def with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            added = [(name.encode(), value.encode()) for name, value in always.items()]
            kept = [(name, value) for name, value in message.get("headers", []) if name.decode().lower() not in always]
            message = {**message, "headers": [*kept, *added]}
        await send(message)

    return with_headers


async def _answer(send: Send, status: int, sentence: str, headers: dict[str, str] | None = None) -> None:
    content = json.dumps({"detail": sentence}).encode()
    every = {"content-type": "application/json", "content-length": str(len(content)), **(headers or {})}
    pairs = [(name.encode(), value.encode()) for name, value in every.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": content})
