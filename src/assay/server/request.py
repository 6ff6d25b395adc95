"""A request as it has arrived."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs

from assay.server.bodies import Body
from assay.server.places import Place
from assay.server.refusal import Refusal

FORM = "application/x-www-form-urlencoded"


@dataclass(slots=True)
class Request:
    """Method, path, headers (names in lower case) and body.

    `refused`: it will not be answered, whatever follows; `given_up`: nobody waits for its answer any more.
    """

    method: str
    path: bytes
    query: bytes
    headers: dict[bytes, bytes]
    body: Body
    started: float
    http_1_0: bool = False
    keep: bool = True
    place: Place | None = None
    refused: Refusal | None = None
    model: str = ""
    given_up: bool = False

    def content_type(self) -> str:
        """What the body says it is, without parameters. A form is JSON: `curl -d` says so of all that it is not told of."""
        said = self.headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
        return "application/json" if said == FORM else said

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
