"""The service itself: which requests are let in, who answers them, and what is written down about them."""

from __future__ import annotations

import asyncio
import hmac
import os
import re
from collections.abc import Callable
from time import monotonic, perf_counter, time
from typing import Any

import msgspec

from assay.server.access_log import AccessLog
from assay.server.bodies import Body, Stock, unpacked
from assay.server.catalogue import Catalogue
from assay.server.gate import SLOW, Gate, too_busy
from assay.server.infer import HEADER_LENGTH, infer
from assay.server.metrics import Metrics
from assay.server.pages import page
from assay.server.places import place_of
from assay.server.predict import predict
from assay.server.refusal import Refusal, refusal_of, reply_of
from assay.server.reply import Reply
from assay.server.request import Request
from assay.server.served import Served
from assay.server.settings import Settings
from assay.server.wishes import answer_form, body_form, wanted_of

BODIES = 8  # times `max_bytes` that all bodies together may hold
LIGHT = 1 << 15  # bytes of a body that is answered in the event loop
NO_NUMBER = re.compile(rb".?(NaN|Infinity)")  # as Python's json writes them unless it is told not to
EASY = ("json", "lines", "tensors")
NOBODY = Reply(b"", status=503)  # for a request whose sender has gone
Answered = Callable[[Request, Reply], None]


class Service:
    """What connections talk to."""

    def __init__(
        self, catalogue: Catalogue, settings: Settings, log: AccessLog, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.catalogue, self.settings, self.log, self.now = catalogue, settings, log, monotonic
        self.gate = Gate(loop, settings.queue, settings.threads)
        self.stock = Stock(BODIES * settings.max_bytes)
        self.metrics = Metrics()
        self.connections: set[Any] = set()
        self.stopping = False
        self._secret = None if settings.token is None else os.fsencode(settings.token)

    # --- connections --------------------------------------------------------------------------------------------------

    def joined(self, connection: Any) -> bool:
        """Whether there is room for one more connection."""
        if len(self.connections) >= self.settings.max_connections:
            return False
        self.connections.add(connection)
        return True

    def left(self, connection: Any) -> None:
        self.connections.discard(connection)

    def answered(self, connection: Any, request: Request, reply: Reply) -> None:
        """Write down a request that has been answered."""
        seconds = max(0.0, self.now() - request.started)
        name = request.place.endpoint.name if request.place is not None else "none"
        method = request.method if request.method in ("GET", "POST", "HEAD") else "other"
        self.metrics.add(name, method, reply.status, seconds)
        if reply.rows:
            self.metrics.rows[request.model] += reply.rows
        path = request.path.decode("latin-1")[:200]
        size = len(reply.body) if reply.size < 0 else reply.size
        self.log.add(time(), connection.client, request.method[:20], path, reply.status, size, seconds, reply.rows)

    # --- requests -----------------------------------------------------------------------------------------------------

    def look(self, request: Request, length: int) -> None:
        """Raise for a request that cannot be answered, as soon as its head is there."""
        place = request.place = place_of(request.path)
        if self._secret is not None and not (place is not None and place.endpoint.open):
            scheme, _, given = request.headers.get(b"authorization", b"").partition(b" ")
            if not hmac.compare_digest(given.strip(), self._secret) or scheme.lower() != b"bearer":
                raise Refusal(
                    401, "The service needs its token: Authorization: Bearer TOKEN.", (("www-authenticate", "Bearer"),)
                )
        if place is None:
            raise Refusal(404, "There is no such path. GET /openapi.json lists those that there are.")
        allowed = ("GET", "HEAD") if place.endpoint.method == "GET" else ("POST",)
        if request.method not in allowed:
            text = f"{request.method[:20]} is not possible here: use {allowed[0]}."
            raise Refusal(405, text, (("allow", ", ".join(allowed)),))
        if place.endpoint.method == "POST":
            body_form(request)
            answer_form(request)
            if length > LIGHT and not self.gate.heavy.admit():
                raise too_busy()

    def handle(self, request: Request, answered: Answered) -> None:
        """Answer a request that is complete, now or later."""
        if request.refused is not None or request.place is None:
            refusal = request.refused or Refusal(404, "There is no such path.")
            answered(request, reply_of(refusal, request.path))
            return
        if request.place.endpoint.method == "GET":
            answered(request, self._guarded(request, lambda: page(self, request)))
            return
        try:
            served = self.catalogue.find(request.place.model, request.place.version)
        except Refusal as refusal:
            answered(request, reply_of(refusal, request.path))
            return
        request.model = served.name
        form = body_form(request)
        small = request.body.size <= LIGHT and form in EASY and b"content-encoding" not in request.headers
        light = small and served.seconds < SLOW
        lane = self.gate.light if light else self.gate.heavy
        if not lane.admit():
            answered(request, reply_of(too_busy(), request.path))
            return

        def work() -> Reply:
            if request.given_up:
                return NOBODY
            start = perf_counter()
            reply = self._guarded(request, lambda: self._compute(served, request, form))
            if small:
                served.seconds += 0.1 * (perf_counter() - start - served.seconds)
            return reply

        (self.gate.soon if light else self.gate.aside)(work, lambda reply: answered(request, reply))

    def _compute(self, served: Served, request: Request, form: str) -> Reply:
        body = self._plain_body(request)
        try:
            if not body.size:
                raise Refusal(400, "The body is empty: send rows, or tensors.")
            if form == "tensors":
                header_length = request.headers.get(HEADER_LENGTH.encode())
                return infer(served, body.whole(), header_length, self.settings.max_rows)
            wanted = wanted_of(served, request)
            return predict(served, body, form, answer_form(request), wanted, self.settings.max_rows)
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

    def _guarded(self, request: Request, work: Callable[[], Reply]) -> Reply:
        """The reply, whatever happens."""
        try:
            return work()
        except BaseException as error:
            refusal = refusal_of(error)
            if refusal.status >= 500 and not isinstance(error, Refusal):
                self.log.tell("error", path=request.path.decode("latin-1")[:200], error=refusal.message)
            return reply_of(refusal, request.path)
