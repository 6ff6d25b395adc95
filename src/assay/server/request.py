"""A request as the application sees it: which path and which model, the forms of body and answer, and which outputs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote

from assay.http.replies import Refusal
from assay.server.bodies import Body
from assay.server.predict import FORMS
from assay.server.served import KNOWN, RequestedOutputs, ServedModel

LONGEST = 4096  # bytes of a path
FORM = "application/x-www-form-urlencoded"
PACKINGS = (b"identity", b"gzip")
PARAMETERS = ("outputs", "threshold", "n_neighbors")
_MODEL = r"(?P<model>[^/]+)(?:/versions/(?P<version>[^/]+))?"


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


class Endpoint(NamedTuple):
    """A path with what it may be asked; `open`: no token is needed, for probes have none."""

    name: str
    method: str
    pattern: re.Pattern[str]
    open: bool = False


def _endpoint(name: str, method: str, pattern: str, open: bool = False) -> Endpoint:
    return Endpoint(name, method, re.compile(pattern), open)


ENDPOINTS = (
    _endpoint("infer", "POST", rf"/v2/models/{_MODEL}/infer"),
    _endpoint("predict", "POST", rf"(?:/models/{_MODEL})?/predict"),
    _endpoint("server", "GET", r"/v2/?"),
    _endpoint("live", "GET", r"/v2/health/live", open=True),
    _endpoint("ready", "GET", r"/v2/health/ready", open=True),
    _endpoint("model_ready", "GET", rf"/v2/models/{_MODEL}/ready"),
    _endpoint("model", "GET", rf"/v2/models/{_MODEL}"),
    _endpoint("models", "GET", r"/models"),
    _endpoint("certificate", "GET", rf"(?:/models/{_MODEL})?/certificate"),
    _endpoint("metrics", "GET", r"/metrics"),
    _endpoint("openapi", "GET", r"/openapi\.json"),
)


class Route(NamedTuple):
    """An endpoint, and the model that the path names."""

    endpoint: Endpoint
    model: str | None
    version: str | None


def route_of(path: bytes) -> Route | None:
    """What a path asks for; None where there is no such path."""
    return _route(path) if len(path) <= LONGEST else None


@lru_cache(maxsize=1024)
def _route(path: bytes) -> Route | None:
    text = path.decode("latin-1")
    for endpoint in ENDPOINTS:
        if match := endpoint.pattern.fullmatch(text):
            named = match.groupdict()
            model, version = (None if (v := named.get(k)) is None else unquote(v) for k in ("model", "version"))
            return Route(endpoint, model, version)
    return None


def body_form(request: Request) -> str:
    """How the body is to be read, by its Content-Type; raises 415 for what cannot be read."""
    assert request.route is not None
    packed = request.headers.get(b"content-encoding", b"identity").lower()
    if packed not in PACKINGS:
        raise Refusal(415, "A body may be packed by gzip, and by nothing else.", (("accept-encoding", "gzip"),))
    kind = request.content_type()
    if request.route.endpoint.name == "infer":
        if kind in ("", "application/json", "application/octet-stream"):
            return "tensors"
        raise Refusal(
            415, f"The body is {kind[:60]!r}: send application/json, or application/octet-stream with tensors as bytes."
        )
    if kind not in FORMS:
        told = f"is {kind[:60]!r}" if kind else "does not say what it is"
        raise Refusal(415, f"The body {told}: give a Content-Type of {', '.join(FORMS)}.")
    return FORMS[kind]


def answer_form(request: Request) -> str | None:
    """The form that Accept asks for; None: that of the body."""
    accept = request.headers.get(b"accept")
    if not accept or accept == b"*/*" or request.route is None or request.route.endpoint.name == "infer":
        return None
    accepted = [_accepted(part) for part in accept.decode("latin-1").split(",")]
    for kind, share in sorted(accepted, key=lambda one: -one[1]):
        if share <= 0:
            continue
        if kind == "*/*":
            return None
        if kind in FORMS:
            return FORMS[kind]
        if kind.endswith("/*") and any(known.startswith(kind[:-1]) for known in FORMS):
            own = request.content_type()
            return None if own.startswith(kind[:-1]) else next(f for k, f in FORMS.items() if k.startswith(kind[:-1]))
    raise Refusal(406, f"Answers are given as {', '.join(FORMS)}: ask for one of these in Accept.")


def _accepted(part: str) -> tuple[str, float]:
    kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
    share = next((p[2:] for p in parameters if p.startswith("q=")), "1")
    try:
        return kind, float(share)
    except ValueError:
        return kind, 1.0


def requested_outputs(served: ServedModel, request: Request) -> RequestedOutputs:
    """The outputs that the parameters of the address ask for: ?outputs=label,probabilities&threshold=0.9&n_neighbors=5."""
    given = request.parameters()
    if not given:
        return served.usual
    unknown = next((name for name in given if name not in PARAMETERS), None)
    if unknown is not None:
        raise Refusal(400, f"There is no parameter {unknown[:60]!r}. Known: {', '.join(PARAMETERS)}.")
    names = [name.strip() for name in given.get("outputs", served.outputs[0]).split(",")]
    names = [served.outputs[0] if name == "prediction" else name for name in names]
    for name in names:
        if name not in KNOWN:
            raise Refusal(400, f"There is no output {name[:60]!r}. The model gives: {', '.join(served.outputs)}.")
    threshold = _number(given, "threshold")
    if threshold is not None and not 0 < threshold <= 1:
        raise Refusal(400, "The threshold is a probability, above 0 and at most 1.")
    if threshold is not None and "abstained" not in names:
        names.append("abstained")
    count = _number(given, "n_neighbors")
    if count is not None and not (count.is_integer() and 1 <= count <= 1000):
        raise Refusal(400, "n_neighbors is a whole number from 1 to 1000.")
    return RequestedOutputs(tuple(dict.fromkeys(names)), threshold, None if count is None else int(count))


def _number(given: dict[str, str], name: str) -> float | None:
    if name not in given:
        return None
    try:
        return float(given[name])
    except ValueError:
        raise Refusal(400, f"{name}={given[name][:60]!r} is no number.") from None
