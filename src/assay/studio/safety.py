"""Who may ask the studio: this machine's own pages, with the token, and no others.

A web page anywhere can send requests to 127.0.0.1, and a name that it owns can be made to point there. So the Host must be this server's, an Origin
must be this server's, and every request that does something needs the token, which no other page can know. There are no CORS headers.
"""

from __future__ import annotations

from typing import Any

from assay.http.replies import Refusal, knows_token

ALWAYS = (  # headers of every answer
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data: blob:; script-src 'self'; style-src 'self'; frame-src 'self' blob:; "
        b"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
)


def refuse_strangers(scope: Any, token: str, port: int) -> None:
    """Raise a `Refusal` for a request (an ASGI scope) that is not the studio's own page's."""
    hosts = [f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost")]
    given: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        given.setdefault(name, []).append(value)
    if len(given.get(b"host", ())) != 1 or given[b"host"][0] not in hosts:
        raise Refusal(403, "The Host of the request is not the studio's.")
    if any(origin not in [b"http://" + host for host in hosts] for origin in given.get(b"origin", ())):
        raise Refusal(403, "The request comes from another page than the studio's.")
    authorization = given.get(b"authorization", [b""])[0]
    if scope["path"].startswith("/api/") and not knows_token(authorization, token.encode()):
        raise Refusal(401, "The token is missing or wrong: open the address that assay studio printed.")
