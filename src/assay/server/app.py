"""The service as an ASGI application: which requests are let in, who answers them, and what is written down about them."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from time import monotonic, perf_counter, time
from typing import Any

import msgspec

from assay.http.replies import Receive, Refusal, Reply, Send, knows_token, send_reply
from assay.server.admission import SLOW, Admission, Lane, too_busy
from assay.server.bodies import Body, BodyBudget, too_large, unpacked
from assay.server.infer import HEADER_LENGTH, infer
from assay.server.metrics import AccessLog, Metrics
from assay.server.pages import page
from assay.server.predict import predict
from assay.server.request import Request, answer_form, body_form, joined_headers, requested_outputs, route_of
from assay.server.schemas import RETRY, refusal_of, reply_of
from assay.server.served import Catalogue, ServedModel

BODIES = 8  # times `max_bytes` that all bodies together may hold
LIGHT = 1 << 15  # bytes of a body that is answered in the event loop
SMALL_REST = 1 << 16  # bytes of a refused body after which the connection still goes on
NO_NUMBER = re.compile(rb".?(NaN|Infinity)")  # as Python's json writes them unless it is told not to
EASY = ("json", "lines", "tensors")
NOBODY = Reply(b"", status=503)  # for a request whose sender has gone


@dataclass(frozen=True)
class ServerSettings:
    """Limits of a request (`max_bytes`, `max_rows`, `timeout` in seconds), of waiting (`queue`), and the secret of callers."""

    host: str = "127.0.0.1"
    port: int = 8080
    token: str | None = None
    max_bytes: int = 100_000_000
    max_rows: int = 1_000_000
    timeout: float = 30.0
    queue: int = 16
    threads: int = 2
    max_connections: int = 800  # processes may often have 1024 files open
    access_log: bool = True
    workers: int = 1
    certfile: str | None = None
    keyfile: str | None = None


class Service:
    """The application; `connections` are those of the server that runs it."""

    def __init__(
        self,
        catalogue: Catalogue,
        settings: ServerSettings,
        log: AccessLog,
        loop: asyncio.AbstractEventLoop,
        worker: int | None = None,
    ) -> None:
        self.catalogue, self.settings, self.log = catalogue, settings, log
        self.admission = Admission(loop, settings.queue, settings.threads)
        self.budget = BodyBudget(BODIES * settings.max_bytes)
        self.metrics = Metrics(worker)
        self.connections: Collection[Any] = ()
        self.stopping = False
        self._secret = None if settings.token is None else os.fsencode(settings.token)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer a request; nothing is sent to one who has gone."""
        request = Request.of(scope, Body(self.settings.max_bytes, self.budget))
        try:
            reply = await self._reply(request, scope["headers"], receive)
        finally:
            if not request.in_thread:
                request.body.close()
        if reply is not None and reply is not NOBODY:
            self._record(request, reply)
            await send_reply(reply, send, _connection(request, reply))

    async def _reply(self, request: Request, headers: list[tuple[bytes, bytes]], receive: Receive) -> Reply | None:
        try:
            self._check_head(request, headers)
            assert request.route is not None
            if request.route.endpoint.method == "GET":
                return page(self, request)
            if not await _received(request, receive):
                return None
            return await self._answer(request)
        except Exception as error:
            return self._refused(request, error)

    def _refused(self, request: Request, error: BaseException) -> Reply:
        refusal = refusal_of(error)
        if refusal.status >= 500 and not isinstance(error, Refusal):
            self.log.emit("error", path=request.path.decode("latin-1")[:200], error=refusal.message)
        return reply_of(refusal, request.path)

    def _record(self, request: Request, reply: Reply) -> None:
        """Write down a request that has been answered."""
        seconds = max(0.0, monotonic() - request.started)
        name = request.route.endpoint.name if request.route is not None else "none"
        method = request.method if request.method in ("GET", "POST", "HEAD") else "other"
        self.metrics.add(name, method, reply.status, seconds)
        if reply.rows and request.served is not None:
            self.metrics.rows[request.served.name] += reply.rows
        path = request.path.decode("latin-1")[:200]
        size = len(reply.body) if reply.size < 0 else reply.size
        self.log.add(time(), request.client, request.method[:20], path, reply.status, size, seconds, reply.rows)

    # --- before the body ----------------------------------------------------------------------------------------------

    def _check_head(self, request: Request, headers: list[tuple[bytes, bytes]]) -> None:
        """Raise for a request that cannot be answered, as soon as its head is there."""
        if "refusal" in request.state:
            raise request.state["refusal"]
        found = request.headers = joined_headers(headers)
        length = int(found.get(b"content-length", b"0") or b"0")
        try:
            self._check(request, length)
        except Refusal as refusal:  # a body that may never end, or never come, is not waited for
            unclear = b"transfer-encoding" in found or b"expect" in found
            refusal.last = refusal.last or length > SMALL_REST or unclear
            raise

    def _check(self, request: Request, length: int) -> None:
        headers, route = request.headers, route_of(request.path)
        request.route = route
        secret = None if route is not None and route.endpoint.open else self._secret
        if secret is not None and not knows_token(headers.get(b"authorization", b""), secret):
            text = "The service needs its token: Authorization: Bearer TOKEN."
            raise Refusal(401, text, (("www-authenticate", "Bearer"),))
        if route is None:
            raise Refusal(404, "There is no such path. GET /openapi.json lists those that there are.")
        allowed = ("GET", "HEAD") if route.endpoint.method == "GET" else ("POST",)
        if request.method not in allowed:
            text = f"{request.method[:20]} is not possible here: use {allowed[0]}."
            raise Refusal(405, text, (("allow", ", ".join(allowed)),))
        if b"host" not in headers and not request.http_1_0:
            raise Refusal(400, "The request has no header Host.")
        if b"transfer-encoding" in headers:
            _check_coding(request)
        if length > self.settings.max_bytes:
            raise too_large(self.settings.max_bytes)
        if route.endpoint.method == "POST":
            request.form = body_form(request)
            answer_form(request)
            request.served = self.catalogue.find(route.model, route.version)
            if b"transfer-encoding" not in headers and not self._lane(request, length).admit():
                raise too_busy()

    # --- with the body ------------------------------------------------------------------------------------------------

    async def _answer(self, request: Request) -> Reply:
        """Have the model answer, in the event loop or in a thread."""
        served, small = request.served, _small(request, request.body.size)
        assert served is not None
        lane = self._lane(request, request.body.size)
        if not lane.admit():
            raise too_busy()

        def work() -> Reply:
            if "gone" in request.state:
                return NOBODY
            start = perf_counter()
            try:
                reply = self._compute(served, request)
            except BaseException as error:
                reply = self._refused(request, error)
            if small:
                served.seconds += 0.1 * (perf_counter() - start - served.seconds)
            return reply

        if lane is self.admission.light:
            return await self.admission.in_loop(work)
        return await self._in_thread(request, work)

    def _lane(self, request: Request, size: int) -> Lane:
        """Where a request with a body of this size waits."""
        assert request.served is not None
        light = request.served.seconds < SLOW and _small(request, size)
        return self.admission.light if light else self.admission.heavy

    async def _in_thread(self, request: Request, work: Callable[[], Reply]) -> Reply:
        limit, request.in_thread = self.settings.timeout, True
        answer = self.admission.in_thread(work, request.body.close)
        try:
            return await asyncio.wait_for(answer, request.started + limit - monotonic())
        except TimeoutError:
            request.state["gone"] = True
            text = f"The answer took longer than {limit:g} seconds: send fewer rows at a time."
            raise Refusal(503, text, RETRY, last=True) from None

    def _compute(self, served: ServedModel, request: Request) -> Reply:
        body = self._plain_body(request)
        try:
            if not body.size:
                raise Refusal(400, "The body is empty: send rows, or tensors.")
            if request.form == "tensors":
                header_length = request.headers.get(HEADER_LENGTH.encode())
                return infer(served, body.whole(), header_length, self.settings.max_rows)
            wanted = requested_outputs(served, request)
            return predict(served, body, request.form, answer_form(request), wanted, self.settings.max_rows)
        except msgspec.DecodeError as error:
            at = re.search(r"\(byte ([0-9]+)\)", str(error))
            if at and NO_NUMBER.match(body.whole(), max(0, int(at[1]) - 1)):
                raise Refusal(400, "JSON has no NaN and no Infinity: write null for a missing value.") from None
            raise
        finally:
            if body is not request.body:
                body.close()

    def _plain_body(self, request: Request) -> Body:
        packed = request.headers.get(b"content-encoding", b"identity").lower()
        if packed == b"identity":
            return request.body
        return unpacked(request.body, self.settings.max_bytes)


def _small(request: Request, size: int) -> bool:
    return size <= LIGHT and request.form in EASY and b"content-encoding" not in request.headers


def _check_coding(request: Request) -> None:
    if request.headers[b"transfer-encoding"].lower() != b"chunked":
        raise Refusal(501, "A body may come in chunks, and with no other Transfer-Encoding.", last=True)
    if request.http_1_0:
        raise Refusal(400, "HTTP/1.0 has no Transfer-Encoding: give a Content-Length.", last=True)


async def _received(request: Request, receive: Receive) -> bool:
    """Read the body; False where its sender is gone before its end."""
    more = True
    while more:
        message = await receive()
        if "refusal" in request.state:
            raise request.state["refusal"]
        if message["type"] == "http.disconnect":
            return False
        request.body.add(message["body"])
        more = message["more_body"]
    return True


def _connection(request: Request, reply: Reply) -> list[tuple[bytes, bytes]]:
    """Whether the connection goes on, where that has to be said."""
    if reply.last:
        return [(b"connection", b"close")]
    if request.http_1_0 and b"keep-alive" in request.headers.get(b"connection", b"").lower():
        return [(b"connection", b"keep-alive")]
    return []
