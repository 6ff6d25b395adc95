"""The bytes of a connection as requests, within the limits of what may arrive. What breaks them is refused as soon as it is known."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import httptools

from assay.server.bodies import Body, too_large
from assay.server.refusal import Refusal, refusal_of
from assay.server.request import Request

if TYPE_CHECKING:
    from assay.server.service import Service

HEAD = 1 << 15  # bytes of a request's head
MOST_HEADERS = 100
SMALL_REST = 1 << 16  # bytes of a refused body that are waited for
NO_REQUEST = "The request is not HTTP/1.1{why}."
ABSOLUTE = re.compile(rb"https?://[^/?#]*", re.IGNORECASE)  # as a proxy is asked


class Reader:
    """Hands over each request once it is complete, or refused; after the last one it is `deaf`."""

    def __init__(self, service: Service, arrived: Callable[[Request], None], invite: Callable[[], None]) -> None:
        self._service, self._arrived, self._invite = service, arrived, invite
        self._parser = httptools.HttpRequestParser(self)
        self.deaf = False
        self.since = service.now()
        self._again = b""
        self._fresh()

    def _fresh(self) -> None:
        self._target, self._headers = b"", {}  # type: ignore[var-annotated]
        self._request: Request | None = None
        self._begun = self._head_done = False
        self._fed = self._head = self._count = 0

    @property
    def begun(self) -> bool:
        """Whether a part of a request is there."""
        return self._fed > 0 or self._begun

    def feed(self, data: bytes) -> None:
        """Some more bytes."""
        if self.deaf:
            return
        if not self.begun:
            self.since = self._service.now()
        self._fed += len(data)
        while data and not self.deaf:
            data = self._parsed(data)
        if not self._head_done and self._fed > HEAD:
            self.refuse(Refusal(431, f"The head of the request is longer than {HEAD} bytes."))

    def _parsed(self, data: bytes) -> bytes:
        """Hand bytes to the parser; what is left of them."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:  # this server goes on in HTTP/1.1, as it may
            self._parser, again = httptools.HttpRequestParser(self), self._again
            self._again = b""
            return again + data[upgrade.args[0] :]
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            self.refuse(cause if isinstance(cause, Refusal) else Refusal(400, NO_REQUEST.format(why="")))
        except httptools.HttpParserError as error:
            self.refuse(Refusal(400, NO_REQUEST.format(why=f": {error}")))
        return b""

    def refuse(self, refusal: Refusal) -> None:
        """What arrived is no request that can be read to its end."""
        if self.deaf:
            return
        request = self._request or Request("?", self._target[:100], b"", {}, self._body(), self.since)
        request.refused = refusal
        self._last(request)

    def drop(self) -> None:
        """The connection is lost."""
        self.deaf = True
        if self._request is not None:
            self._request.body.close()

    def _last(self, request: Request) -> None:
        """A request whose rest is not worth waiting for: nothing is read after it."""
        self.deaf, request.keep = True, False
        request.body.close()
        self._request = None
        self._arrived(request)

    def _body(self) -> Body:
        return Body(self._service.settings.max_bytes, self._service.stock)

    # --- what the parser tells ----------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._begun, self.since = True, self._service.now()

    def on_url(self, url: bytes) -> None:
        self._target += url
        if len(self._target) > HEAD:
            raise Refusal(414, f"The address is longer than {HEAD} bytes.")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head += len(name) + len(value)
        self._count += 1
        if self._count > MOST_HEADERS or self._head > HEAD:
            raise Refusal(431, f"The head of the request is longer than {MOST_HEADERS} headers or {HEAD} bytes.")
        if self._head_done:  # behind a body in chunks: it is too late to say what the body is
            return
        name = name.lower()
        headers = self._headers
        if name == b"host" and name in headers:
            raise Refusal(400, "The request has more than one header Host.")
        headers[name] = headers[name] + b", " + value if name in headers else value

    def on_headers_complete(self) -> None:
        self._head_done = True
        target = self._target if self._target[:1] == b"/" else ABSOLUTE.sub(b"", self._target, count=1)
        path, _, query = target.partition(b"#")[0].partition(b"?")
        headers, version = self._headers, self._parser.get_http_version()
        method = self._parser.get_method()
        length = int(headers.get(b"content-length", b"0") or b"0")
        if b"upgrade" in headers and self._parser.should_upgrade() and (length or b"transfer-encoding" in headers):
            self._again = _without_upgrade(method, self._target, version, headers)
            self._fresh()
            return
        request = Request(method.decode("latin-1"), path, query, headers, self._body(), self.since, version == "1.0")
        self._request = request
        try:
            self._check(request, length)
        except Refusal as refusal:
            request.refused = refusal
            unclear = b"transfer-encoding" in headers or b"expect" in headers or request.method == "CONNECT"
            if refusal.last or length > SMALL_REST or unclear:
                self._last(request)
            return
        if headers.get(b"expect", b"").lower() == b"100-continue" and not request.http_1_0:
            self._invite()

    def _check(self, request: Request, length: int) -> None:
        self._service.look(request, length)
        if b"host" not in request.headers and not request.http_1_0:
            raise Refusal(400, "The request has no header Host.")
        if length > self._service.settings.max_bytes:
            raise too_large(self._service.settings.max_bytes)
        coding = request.headers.get(b"transfer-encoding", b"chunked").lower()
        if coding != b"chunked":
            raise Refusal(501, "A body may come in chunks, and with no other Transfer-Encoding.", last=True)
        if request.http_1_0 and b"transfer-encoding" in request.headers:
            raise Refusal(400, "HTTP/1.0 has no Transfer-Encoding: give a Content-Length.", last=True)

    def on_body(self, data: bytes) -> None:
        request = self._request
        if request is None or self.deaf or request.refused is not None:
            return
        try:
            request.body.add(data)
        except (Refusal, OSError) as error:
            request.refused = refusal_of(error)
            self._last(request)

    def on_message_complete(self) -> None:
        request = self._request
        if request is None or self.deaf:
            return
        request.keep = self._parser.should_keep_alive()
        self._fresh()
        self._arrived(request)


def _without_upgrade(method: bytes, target: bytes, version: str, headers: dict[bytes, bytes]) -> bytes:
    """The head of a request that does not ask for another protocol: behind one that does the parser would leave the body unread."""
    lines = [b"%b: %b" % header for header in headers.items() if header[0] != b"upgrade"]
    return b"\r\n".join([b"%b %b HTTP/%b" % (method, target, version.encode()), *lines, b"", b""])
