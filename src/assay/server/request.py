"""A request as the application sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from time import monotonic
from typing import Any
from urllib.parse import parse_qs

from assay.http.replies import Refusal
from assay.server.bodies import Body
from assay.server.routes import Route
from assay.server.served import ServedModel

FORM = "application/x-www-form-urlencoded"


@dataclass(slots=True)
class Request:
    """Method, path, headers (names in lower case) and body.

    `state` is what the connection tells: `began`, when the first byte came; `refusal`, why the rest will not be read; `gone`: nobody
    waits for the answer any more.
    """

    method: str
    path: bytes
    query: bytes
    state: dict[str, Any]
    body: Body
    client: str
    http_1_0: bool
    started: float
    headers: dict[bytes, bytes] = field(default_factory=dict)
    route: Route | None = None
    form: str = ""  # of the body
    served: ServedModel | None = None  # the model that answers
    in_thread: bool = False  # a thread has its body

    @classmethod
    def of(cls, scope: Any, body: Body) -> Request:
        """The request of an ASGI scope; its headers are not looked at yet."""
        client, state = scope["client"], scope["state"]
        return cls(
            scope["method"],
            scope["raw_path"],
            scope["query_string"],
            state,
            body,
            client[0] if client else "",
            scope["http_version"] == "1.0",
            state.get("began") or monotonic(),
        )

    def content_type(self) -> str:
        """What the body says it is, without parameters. A form is JSON: `curl -d` says so of all that it is not told of."""
        return _plain_type(self.headers.get(b"content-type", b""))

    def parameters(self) -> dict[str, str]:
        """The parameters of the address."""
        if not self.query:
            return {}
        try:
            found = parse_qs(self.query.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict")
        except ValueError:  # of UTF-8 too
            raise Refusal(
                400, "The address has parameters that cannot be read: write them as ?name=value&name=value."
            ) from None
        return {name: values[-1] for name, values in found.items()}


@lru_cache(maxsize=64)
def _plain_type(header: bytes) -> str:
    said = header.decode("latin-1").partition(";")[0].strip().lower()
    return "application/json" if said == FORM else said


def joined_headers(pairs: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Headers by name; those that come twice are joined, but for Host, of which there may be one."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    found = {}
    for name, value in pairs:
        if name == b"host" and name in found:
            raise Refusal(400, "The request has more than one header Host.", last=True)
        found[name] = found[name] + b", " + value if name in found else value
    return found
