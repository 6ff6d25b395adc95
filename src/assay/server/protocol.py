"""One connection: uvicorn's HTTP/1.1, with limits of what may arrive and an end to what takes too long.

uvicorn reads requests, answers them in their order, keeps connections and speaks TLS. It leaves open how long a head may be and how long
it may take, what becomes of a sender who has said all, who does not read, or who asks for another protocol, and it lets the answer to a
bad request overtake those before it. What is refused here is refused by the application, in its words, when its turn has come.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from assay.http.replies import Refusal
from assay.http.running import IDLE
from assay.server.schemas import RETRY

HEAD = 1 << 15  # bytes of a request's head
MOST_HEADERS = 100
LINGER = 2.0  # seconds in which what is still sent is read and thrown away, so that the sender gets to see the answer
LAST_CALL = 0.3  # seconds in which connections that stand idle may still ask, once the server is stopping
NO_REQUEST = "The request is not HTTP/1.1{why}."


class LimitedProtocol(HttpToolsProtocol):
    """The state of one connection; `check` is called now and then and ends what has lasted too long.

    It stands between a request and the transport: `close` waits for a sender who is still at it.
    """

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._settings = config.app.settings
        self._since = self._answered = monotonic()
        self._paused = self._leaving = 0.0
        self._deaf = self._ended = self._stopping = False
        self._running: RequestResponseCycle | None = None
        self._again = b""
        self._answer_head = b""
        self._head_sent = False
        self._fresh()

    def _fresh(self) -> None:
        self._begun = self._head_done = False
        self._fed = self._head = self._count = 0

    # --- what asyncio tells -------------------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.is_closing = transport.is_closing
        if len(self.connections) > self._settings.max_connections:
            self.refuse(Refusal(503, "There are too many connections: try again in a second.", RETRY, last=True))

    def connection_lost(self, exc: Exception | None) -> None:
        self._deaf = True
        for cycle in (self._running, self.cycle):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.scope["state"]["gone"] = True  # type: ignore[typeddict-item]
                cycle.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]
        """The sender has said all; what has arrived whole is still answered."""
        self._ended = True
        whole = self._deaf or not self._head_done
        return whole and self._busy and not self._leaving and self.scheme == "http"

    def pause_writing(self) -> None:
        self._paused = monotonic()
        super().pause_writing()

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        self._unset_keepalive_if_required()
        if not self._begun and not self._fed:
            self._since = monotonic()
        self._fed += len(data)
        while data and not self._deaf:
            data = self._parsed(data)
        if not self._head_done and self._fed > HEAD:
            self.refuse(Refusal(431, f"The head of the request is longer than {HEAD} bytes.", last=True))

    def _parsed(self, data: bytes) -> bytes:
        """Hand bytes to the parser; what is left of them."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:  # this server goes on in HTTP/1.1, as it may
            self.parser, again = httptools.HttpRequestParser(self), self._again
            self._again = b""
            return again + data[upgrade.args[0] :]
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self.refuse(cause if isinstance(cause, Refusal) else Refusal(400, NO_REQUEST.format(why=""), last=True))
        except httptools.HttpParserError as error:
            self.refuse(Refusal(400, NO_REQUEST.format(why=f": {error}"), last=True))
        return b""

    # --- what the parser tells ----------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begun, self._since = True, monotonic()
        self.scope["state"]["began"] = self._since  # type: ignore[typeddict-item]

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > HEAD:
            raise Refusal(414, f"The address is longer than {HEAD} bytes.", last=True)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head += len(name) + len(value)
        self._count += 1
        if self._count > MOST_HEADERS or self._head > HEAD:
            text = f"The head of the request is longer than {MOST_HEADERS} headers or {HEAD} bytes."
            raise Refusal(431, text, last=True)
        if not self._head_done:  # behind a body in chunks it is too late to say what the body is
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        version, method = self.parser.get_http_version(), self.parser.get_method()
        if self.parser.should_upgrade() and self._upgrades_with_body():
            self._again = self._without_upgrade(method, version)
            self._fresh()
            return
        address = httptools.parse_url(self.url)
        path = address.path or b"/"
        self.scope |= {  # type: ignore[assignment]
            "method": method.decode("ascii"), "http_version": version, "path": path.decode("latin-1"), "raw_path": path,
            "query_string": address.query or b"",
        }  # fmt: skip
        self._head_done = True
        self._enqueue(self.parser.should_keep_alive(), self.expect_100_continue and version != "1.0")

    def on_message_complete(self) -> None:
        if self._head_done:
            super().on_message_complete()
            self._fresh()

    def _upgrades_with_body(self) -> bool:
        names = {name for name, value in self.headers if value != b"0"}
        return b"upgrade" in names and bool(names & {b"content-length", b"transfer-encoding"})

    def _without_upgrade(self, method: bytes, version: str) -> bytes:
        """The head of a request that does not ask for another protocol: behind one that does the parser would leave the body unread."""
        lines = [b"%b: %b" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join([b"%b %b HTTP/%b" % (method, self.url, version.encode()), *lines, b"", b""])

    # --- in the order of the requests ---------------------------------------------------------------------------------

    @property
    def _busy(self) -> bool:
        """Whether a request is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def _enqueue(self, keep_alive: bool, expect_100_continue: bool = False) -> None:
        """Hand a request to the application, once those before it are answered."""
        waits = self._busy
        self.cycle = RequestResponseCycle(
            scope=self.scope,
            transport=self,  # type: ignore[arg-type]
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=expect_100_continue,
            keep_alive=keep_alive and not self._stopping,
            on_response=self.on_response_complete,
        )
        if waits:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))
        else:
            self._running = self.cycle
            self._start_asgi_task(self.cycle, self.app)

    def refuse(self, refusal: Refusal) -> None:
        """What arrives cannot be read to its end: it is answered with this in its turn, and nothing is read after it."""
        if self._deaf:
            return
        self._deaf = True
        if not self._head_done:
            if not self._begun:
                self.on_message_begin()
            self.scope |= {"method": "?", "path": "", "raw_path": self.url[:100], "query_string": b""}  # type: ignore[assignment]
            self._enqueue(keep_alive=False)
        elif self.cycle.response_complete:
            self.close()
            return
        self.cycle.scope["state"]["refusal"] = refusal  # type: ignore[typeddict-item]
        self.cycle.keep_alive = self.cycle.more_body = False
        self.cycle.message_event.set()

    def write(self, data: bytes) -> None:
        """Send; the head of an answer waits for what follows it: one call of the system for both."""
        head, self._answer_head = self._answer_head, b""
        if head:
            self.transport.writelines((head, data))
        elif self._running is not None and self._running.response_started and not self._head_sent:
            self._answer_head, self._head_sent = data, True
        else:
            self.transport.write(data)

    def on_response_complete(self) -> None:
        self._flush()
        self._head_sent = False
        self._answered = monotonic()
        self._running = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()
        if self._ended and self._running is None:
            self.close()

    def _flush(self) -> None:
        if self._answer_head:  # of an answer without a body
            self.transport.write(self._answer_head)
            self._answer_head = b""

    def close(self) -> None:
        """Close once the answer is out; a sender in the middle of a body is read to its end for a moment."""
        self._flush()
        self._leaving = monotonic()
        self.pipeline.clear()
        unread = (self._deaf or self._head_done) and not self._ended
        self._deaf = True
        if unread and self.transport.can_write_eof() and not self.transport.is_closing():
            self.transport.write_eof()
            self.flow.resume_reading()
        else:
            self.transport.close()

    # --- what takes too long ------------------------------------------------------------------------------------------

    def shutdown(self) -> None:
        """The server is stopping: what is under way is answered, and the connection ends with it."""
        self._stopping = True
        if self._busy:
            self.cycle.keep_alive = False
        else:
            self.loop.call_later(LAST_CALL, self._close_idle)

    def _close_idle(self) -> None:
        if not self._busy and not self._begun and not self._fed:
            self.transport.close()

    def check(self, now: float) -> None:
        """End what has lasted too long."""
        limit = self._settings.timeout
        since = max(self._since, self._answered)
        if self._leaving:
            sent = self.transport.get_write_buffer_size() == 0
            if now - self._leaving > (LINGER if sent else limit):
                self.transport.abort()
        elif self.flow.write_paused:
            if now - self._paused > limit:
                self.transport.abort()
        elif self._begun or self._fed:
            waits = bool(self.pipeline) or (self._busy and not self._head_done)  # for those before it
            if not waits and now - since > limit:
                self.refuse(Refusal(408, f"The request did not arrive within {limit:g} seconds.", last=True))
        elif not self._busy and now - since > IDLE:
            self.transport.close()
