"""Guard of the server: which requests are answered, and with which headers.

Any site that the user visits can send requests to this server. So it answers only requests that name it as their host
(against DNS rebinding), come from its own page, are small and arrive in time; and, where other machines can reach it,
that know a token.
"""

from __future__ import annotations

import asyncio
import hmac
from urllib.parse import urlsplit

from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from votron.web._schemas import Limits

__all__ = ["Guard"]

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_COOKIE = "votron"


class Guard(BaseHTTPMiddleware):
    """Middleware that refuses requests, and sets headers."""

    def __init__(self, app: ASGIApp, hosts: set[str], token: str | None = None, limits: Limits | None = None) -> None:
        super().__init__(app)
        self.hosts, self.token, self.limits = hosts, token, limits or Limits()

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        answer: Response | None = self._refusal(request) or self._asked_for_token(request)
        if answer is None:
            try:
                async with asyncio.timeout(self.limits.request):
                    answer = await call_next(request)
            except TimeoutError:
                answer = _sentence(503, f"This took longer than {self.limits.request:g} seconds.")
        answer.headers.update(_HEADERS)
        answer.headers["cache-control"] = "no-store" if request.url.path.startswith("/api/") else "no-cache"
        return answer

    def _refusal(self, request: Request) -> Response | None:
        headers, path = request.headers, request.url.path
        host, origin = headers.get("host", "").lower(), headers.get("origin")
        if self.hosts and host not in self.hosts:
            return _sentence(421, "This server does not go by that name.")
        other_site = origin is not None and urlsplit(origin).netloc.lower() != host
        if other_site or (headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and path != "/"):
            return _sentence(403, "Requests from other sites are refused.")
        sends = request.method in ("POST", "PUT")
        if sends and not headers.get("content-type", "").startswith("application/json"):
            return _sentence(415, "Send JSON, with the content type application/json.")
        length = headers.get("content-length", "none" if "transfer-encoding" in headers else "0")
        if not length.isdecimal() or int(length[:20]) > self.limits.body:
            return _sentence(413, f"A request has {self.limits.body:,} bytes at most.")
        return None

    def _asked_for_token(self, request: Request) -> Response | None:
        """Turn a token in the address into a cookie; refuse requests with neither."""
        if self.token is None or self._is_token(request.cookies.get(_COOKIE, "")):
            return None
        given = request.query_params.get("token", "")
        if request.url.path != "/" or request.method != "GET" or not self._is_token(given):
            return _sentence(401, "Open the address that votron play has printed: it has a token in it.")
        answer = RedirectResponse("/", 303)
        answer.set_cookie(_COOKIE, given, httponly=True, samesite="strict")
        return answer

    def _is_token(self, text: str) -> bool:
        return self.token is not None and hmac.compare_digest(text.encode(), self.token.encode())


def _sentence(status: int, sentence: str) -> Response:
    return JSONResponse({"detail": sentence}, status)
