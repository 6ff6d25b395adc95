"""The studio's addresses: files of the page, and what the page asks. Nothing here takes long; workers do the work.

This machine's own pages may ask, with the token, and no others. A web page anywhere can send requests to 127.0.0.1, and a name that it owns can be
made to point there. So the Host must be this server's, an Origin must be this server's, and every request that does something needs the token, which
no other page can know. There are no CORS headers.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import signal
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from assay.abandoned import temporary_folder
from assay.errors import AssayError, DataError
from assay.http.replies import Receive, Refusal, Reply, Send, knows_token, send_reply
from assay.http.running import OwnedServer, listening, on_signals
from assay.studio.pool import Pool
from assay.studio.requests import (
    CompareRequest,
    Data,
    FitRequest,
    NameRequest,
    NearRequest,
    PointsRequest,
    ShowRequest,
    StudioTask,
    SurfaceRequest,
    TableLocation,
    read,
)
from assay.studio.session_files import SessionFiles, new_identity

PAGE = Path(__file__).parent / "page"
PAGE_FILES = {path.relative_to(PAGE).as_posix(): path for path in PAGE.rglob("*") if path.is_file()}
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
LIMITS = {"bytes": 64 << 20, "rows": 200_000, "points": 5000, "panels": 4}
MOST_JSON = 4 << 20
MOST_TABLES = 50
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
HOST = "127.0.0.1"


class Disconnected(Exception):
    """Nobody waits for the answer any more."""


@dataclass
class PageRequest:
    """A request; `name` is the part of its path that names something."""

    scope: Any
    receive: Receive
    name: str = ""

    def header(self, name: bytes) -> bytes:
        return dict(self.scope["headers"]).get(name, b"")  # type: ignore[no-any-return]

    async def parts(self) -> AsyncIterator[bytes]:
        """The body as it arrives."""
        more = True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            yield message["body"]
            more = message["more_body"]

    async def body(self) -> bytes:
        """The body, as long as it is no longer than JSON may be here."""
        found = bytearray()
        async for part in self.parts():
            found += part
            if len(found) > MOST_JSON:
                raise Refusal(413, f"The request is longer than {MOST_JSON >> 20} MB.")
        return bytes(found)

    async def save(self, path: Path) -> None:
        """Write the body to a file of this user alone."""
        size = 0
        text = f"The file is larger than {LIMITS['bytes'] >> 20} MB: use assay compare in the shell."
        if int(self.header(b"content-length") or 0) > LIMITS["bytes"]:
            raise Refusal(413, text)
        path.touch(mode=0o600)
        with path.open("wb") as file:
            async for part in self.parts():
                size += len(part)
                if size > LIMITS["bytes"]:
                    raise Refusal(413, text)
                await asyncio.to_thread(file.write, part)
        if not size:
            raise Refusal(400, "The file is empty.")

    async def gone(self) -> None:
        """Ends when the page does not listen any more."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


@dataclass
class Studio:
    """The state of one studio (its private folder, its tables, its workers), and the ASGI application that answers its page."""

    files: SessionFiles
    token: str
    pool: Pool
    port: int = 0
    start: dict[str, Any] | None = None
    places: dict[str, TableLocation] = field(default_factory=dict)
    known: asyncio.Task[bytes] | None = None  # what /api/about says, found once, before it is asked for

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer a request of the page."""
        try:
            refuse_strangers(scope, self.token, self.port)
            reply = await self._answer(PageRequest(scope, receive))
        except Disconnected:
            return
        except Refusal as refusal:
            body = msgspec.json.encode({"error": refusal.message})
            reply = Reply(body, status=refusal.status, headers=refusal.headers)
        except AssayError as error:
            reply = Reply(msgspec.json.encode({"error": str(error).strip()}), status=400)
        await send_reply(reply, send, ALWAYS)

    async def _answer(self, request: PageRequest) -> Reply:
        path, method = request.scope["path"], request.scope["method"]
        for allowed, pattern, answer in ROUTES:
            if (match := pattern.fullmatch(path)) is not None:
                if method not in allowed:
                    raise Refusal(405, "Method Not Allowed", (("allow", ", ".join(allowed)),))
                request.name = (match[1] if pattern.groups else None) or ""
                return await answer(self, request)
        raise Refusal(404, "Not Found")

    def begin(self) -> None:
        """Once the loop runs: the processes, and what the page asks first."""
        self.pool.begin()
        self.prepare()

    # --- the work -------------------------------------------------------------------------------------------------------

    def task(self, verb: str, place: TableLocation | None = None) -> StudioTask:
        return StudioTask(verb, str(self.files.folder), place)

    def place_of(self, data: Data) -> TableLocation | None:
        if data.points is not None or data.table is None:
            return None
        if data.table not in self.places:
            raise Refusal(404, "There is no such table here any more: open it again.")
        return self.places[data.table]

    async def one(
        self, verb: str, body: bytes = b"", place: TableLocation | None = None, panel: str = "", turn: int = 0
    ) -> bytes:
        """The only message of a verb."""
        async with aclosing(self.pool.run(self.task(verb, place), body, panel, turn)) as lines:
            found = [line async for line in lines]
        return found[0]

    async def opened(self, place: TableLocation, identity: str) -> dict[str, Any]:
        """A table that can be opened, known from now on by its identity."""
        found: dict[str, Any] = {"id": identity, **msgspec.json.decode(await self.one("table", place=place))}
        while len(self.places) >= MOST_TABLES:
            oldest = next(iter(self.places))
            del self.places[oldest]
            if self.files.path("table", oldest).exists():
                self.files.path("table", oldest).unlink()
        self.places[identity] = place
        return found

    # --- what the page asks ---------------------------------------------------------------------------------------------

    async def page_file(self, request: PageRequest) -> Reply:
        path = PAGE_FILES.get(request.name or "index.html")
        if path is None:
            raise Refusal(404, "Not Found")
        return _file(path)

    def prepare(self) -> None:
        """Find out what the page asks first."""
        self.known = asyncio.create_task(self.one("about"))
        self.known.add_done_callback(_heard)

    async def about(self, _request: PageRequest) -> Reply:
        if self.known is None or (self.known.done() and self.known.exception() is not None):
            self.prepare()
        assert self.known is not None
        found = msgspec.json.decode(await asyncio.shield(self.known))
        return _json({**found, "start": self.start, "limits": LIMITS})

    async def preset(self, request: PageRequest) -> Reply:
        body = msgspec.json.encode({"name": request.name})
        return Reply(await self.one("preset", body))

    async def upload(self, request: PageRequest) -> Reply:
        given = dict(parse_qsl(request.scope["query_string"].decode("latin-1"))).get("name", "")
        name = Path(given.replace("\\", "/")).name[:200] or "table"
        identity = new_identity()
        path = self.files.path("table", identity)
        try:
            await request.save(path)
            shell = f"./{name}" if name.startswith("-") else name
            place = TableLocation(str(path), name, shell, most_rows=LIMITS["rows"])
            return _json(await self.opened(place, identity))
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    async def dataset(self, request: PageRequest) -> Reply:
        from assay.datasets import dataset

        found = dataset(read(await request.body(), NameRequest).name)
        place = TableLocation(str(found.path), found.name, found.name, found.target, True, LIMITS["rows"])
        return _json(await self.opened(place, new_identity()))

    async def points(self, request: PageRequest) -> Reply:
        body = await request.body()
        fields = read(body, Any) if body else {}
        if isinstance(fields, dict) and "data" not in fields:
            fields = {"data": fields}
        if isinstance(fields, dict) and isinstance(fields["data"], dict) and "points" not in fields["data"]:
            fields["data"]["table"] = request.name
        body = msgspec.json.encode(fields)
        place = self.place_of(read(body, PointsRequest).data)
        return Reply(await self.one("points", body, place))

    async def fit(self, request: PageRequest) -> Reply:
        return await self._answered(request, "fit", FitRequest)

    async def near(self, request: PageRequest) -> Reply:
        return await self._answered(request, "near", NearRequest)

    async def surface(self, request: PageRequest) -> Reply:
        return await self._answered(request, "surface", SurfaceRequest)

    async def show(self, request: PageRequest) -> Reply:
        return await self._answered(request, "show", ShowRequest)

    async def _answered(self, request: PageRequest, verb: str, kind: type[Any]) -> Reply:
        body = await request.body()
        asked = read(body, kind)
        panel, turn = getattr(asked, "panel", ""), getattr(asked, "turn", 0)
        work = asyncio.create_task(self.one(verb, body, self.place_of(asked.data), panel, turn))
        gone = asyncio.create_task(request.gone())
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if not work.done():
            work.cancel()
            raise Disconnected
        return Reply(work.result())

    async def play(self, request: PageRequest) -> Reply:
        return await self._streamed(request, "play", FitRequest)

    async def compare(self, request: PageRequest) -> Reply:
        return await self._streamed(request, "compare", CompareRequest)

    async def _streamed(self, request: PageRequest, verb: str, kind: type[Any]) -> Reply:
        body = await request.body()
        asked = read(body, kind)
        lines = self.pool.run(self.task(verb, self.place_of(asked.data)), body, asked.panel, getattr(asked, "turn", 0))
        return Reply(_told(request, lines), "application/x-ndjson")

    async def report(self, request: PageRequest) -> Reply:
        return _file(self.files.find("report", request.name), "text/html")

    async def model_file(self, request: PageRequest) -> Reply:
        path = self.files.find("model", request.name)
        named = ("content-disposition", 'attachment; filename="model.assay"')
        return _file(path, "application/octet-stream", (named,))

    async def load(self, request: PageRequest) -> Reply:
        identity = new_identity()
        path = self.files.path("model", identity)
        try:
            await request.save(path)
            return Reply(await self.one("model", msgspec.json.encode({"name": identity})))
        except BaseException:
            path.unlink(missing_ok=True)
            raise


Handler = Callable[[Studio, PageRequest], Awaitable[Reply]]
GET, POST = ("GET", "HEAD"), ("POST",)
ROUTES: list[tuple[tuple[str, ...], re.Pattern[str], Handler]] = [
    (GET, re.compile("/(?:page/(.+))?"), Studio.page_file),
    (GET, re.compile("/api/about"), Studio.about),
    (GET, re.compile("/api/presets/([^/]+)"), Studio.preset),
    (POST, re.compile("/api/tables"), Studio.upload),
    (POST, re.compile("/api/tables/dataset"), Studio.dataset),
    (POST, re.compile("/api/tables/([^/]+)/points"), Studio.points),
    (POST, re.compile("/api/fit"), Studio.fit),
    (POST, re.compile("/api/play"), Studio.play),
    (POST, re.compile("/api/near"), Studio.near),
    (POST, re.compile("/api/surface"), Studio.surface),
    (POST, re.compile("/api/compare"), Studio.compare),
    (GET, re.compile("/api/reports/([^/]+)"), Studio.report),
    (GET, re.compile("/api/models/([^/]+)/file"), Studio.model_file),
    (POST, re.compile("/api/models"), Studio.load),
    (POST, re.compile("/api/show"), Studio.show),
]


async def _told(request: PageRequest, lines: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Lines of JSON until the work ends or the page is gone; an error is the last line."""
    gone = asyncio.create_task(request.gone())
    line: asyncio.Future[bytes] | None = None
    try:
        while True:
            line = asyncio.ensure_future(anext(lines))
            await asyncio.wait({line, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not line.done():
                return
            yield line.result() + b"\n"
    except StopAsyncIteration:
        return
    except Refusal as refusal:
        yield msgspec.json.encode({"kind": "error", "error": refusal.message}) + b"\n"
    finally:
        gone.cancel()
        if line is not None:
            line.cancel()
            await asyncio.gather(line, return_exceptions=True)
        await lines.aclose()


def _heard(task: asyncio.Task[bytes]) -> None:
    """Whoever asks is told of the error; if nobody does, it does not matter."""
    if not task.cancelled():
        task.exception()


def _json(value: Any) -> Reply:
    return Reply(msgspec.json.encode(value))


def _file(path: Path, kind: str = "", headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    kind = kind or KINDS.get(path.suffix, "application/octet-stream")
    kind += "; charset=utf-8" if kind.startswith("text/") else ""
    return Reply(path.open("rb"), kind, headers=headers, size=path.stat().st_size)


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


def run(port: int, start: TableLocation | None, ready: Callable[[str], None], figure: str | None = None) -> str | None:
    """Serve until a signal, whose name is returned; `ready` is told the address once the page can be opened. `port` 0: any that is free;
    `figure`: the one that the address opens."""
    words = "" if figure is None else f"&preset={figure}"
    pool = Pool()  # its processes load while the server does
    try:
        with temporary_folder("studio") as folder, _listening(port) as listener:
            studio = Studio(SessionFiles(folder), secrets.token_urlsafe(32), pool, listener.getsockname()[1])
            return asyncio.run(_serve(studio, listener, start, lambda address: ready(address + words)))
    finally:
        pool.close()


def _listening(port: int) -> socket.socket:
    try:
        return listening(HOST, port)[0]
    except OSError as error:
        raise DataError(f"Port {port} cannot be had ({error.strerror}): give another --port, or none.") from None


async def _serve(
    studio: Studio, listener: socket.socket, start: TableLocation | None, ready: Callable[[str], None]
) -> str | None:
    """Returns the name of the signal that ended it."""
    stopped: list[str] = []

    def started() -> None:
        if not stopped:
            ready(f"http://{HOST}:{studio.port}/#token={studio.token}")

    def stop(name: str) -> None:
        stopped.append(name)
        studio.pool.stop()
        server.should_exit = True

    studio.begin()
    server = OwnedServer(studio, started, log_level="warning", timeout_graceful_shutdown=1)
    try:
        with on_signals((signal.SIGINT, signal.SIGTERM), stop):
            if start is not None:
                await _open(studio, start)
            await server.serve(sockets=[listener])
    finally:
        studio.pool.stop()  # while the loop still runs
    return stopped[0] if stopped else None


async def _open(studio: Studio, start: TableLocation) -> None:
    """Open the table that the studio begins with."""
    try:
        studio.start = await studio.opened(start, new_identity())
    except Refusal as refusal:
        raise (DataError if refusal.status == 400 else AssayError)(refusal.message) from None
    names = [column["name"] for column in studio.start["columns"]]
    if start.target is not None and start.target not in names:
        from assay.errors import SchemaError, nearest

        raise SchemaError(f"There is no column {start.target!r}. {nearest(start.target, names)}")
