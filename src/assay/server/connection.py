"""One connection: HTTP/1.1 with keep-alive and pipelining, answers in the order of the requests, and an end to what takes too long.

Nothing but httptools stands between the socket and the models. Measured with one-row requests, this answers 1.3–1.7 times the
requests of an ASGI server with an application as bare.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from assay.server.reader import Reader
from assay.server.refusal import RETRY, Refusal, reply_of
from assay.server.reply import Reply
from assay.server.request import Request

if TYPE_CHECKING:
    from assay.server.service import Service

PIPELINED = 16  # requests read ahead of their answers
IDLE = 75.0  # seconds without a request
LINGER = 2.0  # seconds in which what is still sent is read and thrown away, so that the sender gets to see the answer
PIECE = 1 << 18
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

READING, BUSY, SENDING, LEAVING = range(4)


class Connection(asyncio.Protocol):
    """The state of one connection; `check` is called now and then and ends what takes too long."""

    _transport: Any
    client = ""

    def __init__(self, service: Service) -> None:
        self._service, self._now = service, service.now
        self._waiting: deque[Request] = deque()
        self._state, self._since = READING, self._now()
        self._current: Request | None = None
        self._paused = self._gone = self._reading_paused = self._ended = self._inviting = False
        self._file: Any = None

    # --- what asyncio tells -------------------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._reader = Reader(self._service, self._arrived, self._invite)
        peer = transport.get_extra_info("peername")
        self.client = peer[0] if isinstance(peer, tuple) else ""
        if not self._service.joined(self):
            self._send(
                reply_of(Refusal(503, "There are too many connections: try again in a second.", RETRY), b""), False
            )
            self._leave()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone = True
        self._service.left(self)
        self._reader.drop()
        if self._current is not None:
            self._current.given_up = True
        for request in self._waiting:
            request.body.close()
        self._waiting.clear()
        if self._file is not None:
            self._file.close()
            self._file = None

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)

    def eof_received(self) -> bool:
        """The sender has said all; what is under way is still answered."""
        self._ended = True
        return self._state != LEAVING and bool(self._current or self._waiting)

    def pause_writing(self) -> None:
        self._paused = True
        if self._state != LEAVING:
            self._state, self._since = SENDING, self._now()

    def resume_writing(self) -> None:
        self._paused = False
        self._since = self._now()
        if self._file is not None:
            self._pump()
        elif self._state == SENDING:
            self._finished()

    # --- in the order of the requests ---------------------------------------------------------------------------------

    def _invite(self) -> None:
        """Tell a sender who waits for it to send the body, once all requests before have been answered."""
        if self._current is None and not self._waiting:
            self._transport.write(CONTINUE)
        else:
            self._inviting = True

    def _arrived(self, request: Request) -> None:
        self._inviting = False
        if self._current is None and not self._waiting and not self._paused:
            self._start(request)
            return
        self._waiting.append(request)
        if len(self._waiting) >= PIPELINED and not self._reading_paused:
            self._reading_paused = True
            self._transport.pause_reading()

    def _start(self, request: Request) -> None:
        self._current, self._state = request, BUSY
        self._service.handle(request, self.answer)

    def answer(self, request: Request, reply: Reply) -> None:
        """The reply to the request that this connection is at."""
        request.body.close()
        if self._gone or request is not self._current:  # it has been given up
            _close(reply)
            return
        self._reply(request, reply)

    def _reply(self, request: Request, reply: Reply) -> None:
        request.keep = request.keep and not reply.last and not self._service.stopping
        self._send(reply, request.keep, request)
        self._service.answered(self, request, reply)
        if self._file is not None:
            self._pump()
        elif not self._paused:
            self._finished()

    def _send(self, reply: Reply, keep: bool, request: Request | None = None) -> None:
        head = reply.head(keep, request is not None and request.http_1_0)
        if request is not None and request.method == "HEAD":
            _close(reply)
            self._transport.write(head)
        elif reply.size < 0:
            self._transport.write(head + reply.body)
        else:
            self._file = reply.body
            self._transport.write(head)

    def _pump(self) -> None:
        """Send a file, a piece at a time, as fast as it is taken."""
        while not self._paused and self._file is not None:
            piece = self._file.read(PIECE)
            if not piece:
                self._file.close()
                self._file = None
                self._finished()
                return
            self._transport.write(piece)

    def _finished(self) -> None:
        request, self._current = self._current, None
        if (request is not None and not request.keep) or (self._ended and not self._waiting):
            self._leave()
            return
        self._since = self._now()
        if self._waiting:
            self._state = BUSY
            asyncio.get_running_loop().call_soon(self._next)
            return
        self._state = READING
        if self._inviting:
            self._inviting = False
            self._transport.write(CONTINUE)
        if self._reading_paused:
            self._reading_paused = False
            self._transport.resume_reading()

    def _next(self) -> None:
        if not self._gone and self._current is None and self._waiting:
            self._start(self._waiting.popleft())

    def _leave(self) -> None:
        """Close once the answer is out; a sender in the middle of a body is read to its end for a moment."""
        self._state, self._since = LEAVING, self._now()
        if self._reader.deaf and not self._ended and self._transport.can_write_eof():
            self._transport.write_eof()
            if self._reading_paused:
                self._transport.resume_reading()
            return
        self._transport.close()

    # --- what takes too long ------------------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        return self._state == READING and not self._reader.begun

    def close(self) -> None:
        self._transport.close()

    def check(self, now: float) -> None:
        """End what has lasted too long."""
        limit = self._service.settings.timeout
        if self._state == READING:
            if self._reader.begun and now - max(self._reader.since, self._since) > limit:
                self._reader.refuse(Refusal(408, f"The request did not arrive within {limit:g} seconds."))
            elif not self._reader.begun and now - self._since > IDLE:
                self._transport.close()
        elif self._state == BUSY:
            if self._current is not None and now - self._current.started > limit:
                self._give_up(self._current, limit)
        elif now - self._since > (LINGER if self._sent() else limit):
            self._transport.abort()

    def _sent(self) -> bool:
        return self._state == LEAVING and self._transport.get_write_buffer_size() == 0

    def _give_up(self, request: Request, limit: float) -> None:
        text = f"The answer took longer than {limit:g} seconds: send fewer rows at a time."
        request.given_up = True
        self._reply(request, reply_of(Refusal(503, text, RETRY, last=True), request.path))


def _close(reply: Reply) -> None:
    if reply.size >= 0:
        reply.body.close()
