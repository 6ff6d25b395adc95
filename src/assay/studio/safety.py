"""Who may ask the studio: this machine's own pages, with the token, and no others.

A web page anywhere can send requests to 127.0.0.1, and a name that it owns can be made to point there. So the Host must be this server's, an Origin
must be this server's, and every request that does something needs the token, which no other page can know. There are no CORS headers.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ALWAYS = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data: blob:; script-src 'self'; style-src 'self'; frame-src 'self' blob:; "
        "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}


class Guard:
    """Lets through what may be asked, and puts the headers of safety on every answer."""

    def __init__(self, app: ASGIApp, token: str, port: Callable[[], int]) -> None:
        self.app, self.token, self.port = app, token, port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def safe(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._refusal(scope)
        await (self.app if refused is None else refused)(scope, receive, safe)

    def _refusal(self, scope: Scope) -> Any:
        headers = Headers(scope=scope)
        hosts = {f"{name}:{self.port()}" for name in ("127.0.0.1", "localhost")}
        if headers.get("host") not in hosts or len(headers.getlist("host")) != 1:
            return error("The Host of the request is not the studio's.", 403)
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in hosts}:
            return error("The request comes from another page than the studio's.", 403)
        if scope["path"].startswith("/api/") and not self._knows(headers.get("authorization", "")):
            return error("The token is missing or wrong: open the address that assay studio printed.", 401)
        return None

    def _knows(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        same = secrets.compare_digest(given.strip().encode(), self.token.encode())  # takes as long wherever they differ
        return same and scheme.lower() == "bearer"


def error(message: str, status: int) -> JSONResponse:
    """An answer that says what was wrong."""
    return JSONResponse({"error": message}, status_code=status)
