"""The studio's addresses: files of the page, and what the page asks. Nothing here takes long; workers do the work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from assay.errors import AssayError
from assay.studio.asks import Ask, CompareAsk, Data, DatasetAsk, NearAsk, PointsAsk, ShowAsk, SurfaceAsk, read
from assay.studio.pool import Pool
from assay.studio.protocol import Refused, StudioTask, TableLocation
from assay.studio.safety import Guard, error
from assay.studio.tables import Shelf, new_identity

PAGE = Path(__file__).parent / "page"
LIMITS = {"bytes": 64 << 20, "rows": 200_000, "points": 5000, "panels": 4}
MOST_JSON = 4 << 20
MOST_TABLES = 50


@dataclass
class Studio:
    """The state of one studio: its private folder, its tables, its workers."""

    shelf: Shelf
    token: str
    pool: Pool
    port: int = 0
    start: dict[str, Any] | None = None
    places: dict[str, TableLocation] = field(default_factory=dict)
    known: asyncio.Task[bytes] | None = None  # what /api/about says, found once, before it is asked for

    # --- the work -------------------------------------------------------------------------------------------------------

    def task(self, verb: str, place: TableLocation | None = None) -> StudioTask:
        return StudioTask(verb, str(self.shelf.folder), place)

    def place_of(self, data: Data) -> TableLocation | None:
        if data.points is not None or data.table is None:
            return None
        if data.table not in self.places:
            raise Refused("There is no such table here any more: open it again.", 404)
        return self.places[data.table]

    async def one(
        self, verb: str, body: bytes = b"", place: TableLocation | None = None, panel: str = "", turn: int = 0
    ) -> bytes:
        """The only message of a verb."""
        async with aclosing(self.pool.ask(self.task(verb, place), body, panel, turn)) as lines:
            found = [line async for line in lines]
        return found[0]

    async def opened(self, place: TableLocation, identity: str) -> dict[str, Any]:
        """A table that can be opened, known from now on by its identity."""
        found: dict[str, Any] = {"id": identity, **msgspec.json.decode(await self.one("table", place=place))}
        while len(self.places) >= MOST_TABLES:
            oldest = next(iter(self.places))
            del self.places[oldest]
            if self.shelf.path("table", oldest).exists():
                self.shelf.path("table", oldest).unlink()
        self.places[identity] = place
        return found

    # --- what the page asks ---------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Find out what the page asks first."""
        self.known = asyncio.create_task(self.one("about"))
        self.known.add_done_callback(_heard)

    async def about(self, request: Request) -> Response:
        if self.known is None or (self.known.done() and self.known.exception() is not None):
            self.prepare()
        assert self.known is not None
        found = msgspec.json.decode(await asyncio.shield(self.known))
        return _json({**found, "start": self.start, "limits": LIMITS})

    async def preset(self, request: Request) -> Response:
        body = msgspec.json.encode({"name": request.path_params["name"]})
        return _sent(await self.one("preset", body))

    async def upload(self, request: Request) -> Response:
        name = Path(request.query_params.get("name", "").replace("\\", "/")).name[:200] or "table"
        identity = new_identity()
        path = self.shelf.path("table", identity)
        try:
            await _received(request, path)
            shell = f"./{name}" if name.startswith("-") else name
            place = TableLocation(str(path), name, shell, most_rows=LIMITS["rows"])
            return _json(await self.opened(place, identity))
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    async def dataset(self, request: Request) -> Response:
        from assay.datasets import dataset

        found = dataset(read(await _body(request), DatasetAsk).name)
        place = TableLocation(str(found.path), found.name, found.name, found.target, True, LIMITS["rows"])
        return _json(await self.opened(place, new_identity()))

    async def points(self, request: Request) -> Response:
        body = await _body(request)
        fields = msgspec.json.decode(body) if body else {}
        if isinstance(fields, dict) and "data" not in fields:
            fields = {"data": fields}
        if isinstance(fields, dict) and isinstance(fields["data"], dict) and "points" not in fields["data"]:
            fields["data"]["table"] = request.path_params["name"]
        body = msgspec.json.encode(fields)
        place = self.place_of(read(body, PointsAsk).data)
        return _sent(await self.one("points", body, place))

    async def fit(self, request: Request) -> Response:
        return await self._answered(request, "fit", Ask)

    async def near(self, request: Request) -> Response:
        return await self._answered(request, "near", NearAsk)

    async def surface(self, request: Request) -> Response:
        return await self._answered(request, "surface", SurfaceAsk)

    async def show(self, request: Request) -> Response:
        return await self._answered(request, "show", ShowAsk)

    async def _answered(self, request: Request, verb: str, kind: type[Any]) -> Response:
        body = await _body(request)
        ask = read(body, kind)
        panel, turn = getattr(ask, "panel", ""), getattr(ask, "turn", 0)
        work = asyncio.create_task(self.one(verb, body, self.place_of(ask.data), panel, turn))
        gone = asyncio.create_task(_gone(request))
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if not work.done():
            work.cancel()
            raise ClientDisconnect
        return _sent(work.result())

    async def play(self, request: Request) -> Response:
        return await self._streamed(request, "play", Ask)

    async def compare(self, request: Request) -> Response:
        return await self._streamed(request, "compare", CompareAsk)

    async def _streamed(self, request: Request, verb: str, kind: type[Any]) -> Response:
        body = await _body(request)
        ask = read(body, kind)
        lines = self.pool.ask(self.task(verb, self.place_of(ask.data)), body, ask.panel, getattr(ask, "turn", 0))
        return StreamingResponse(_told(request, lines), media_type="application/x-ndjson")

    async def report(self, request: Request) -> Response:
        return FileResponse(self.shelf.find("report", request.path_params["name"]), media_type="text/html")

    async def model_file(self, request: Request) -> Response:
        path = self.shelf.find("model", request.path_params["name"])
        return FileResponse(path, media_type="application/octet-stream", filename="model.assay")

    async def load(self, request: Request) -> Response:
        identity = new_identity()
        path = self.shelf.path("model", identity)
        try:
            await _received(request, path)
            return _sent(await self.one("model", msgspec.json.encode({"name": identity})))
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def application(studio: Studio) -> Starlette:
    """The studio as an application."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        studio.pool.begin()
        studio.prepare()
        yield

    api = [
        Route("/about", studio.about),
        Route("/presets/{name}", studio.preset),
        Route("/tables", studio.upload, methods=["POST"]),
        Route("/tables/dataset", studio.dataset, methods=["POST"]),
        Route("/tables/{name}/points", studio.points, methods=["POST"]),
        Route("/fit", studio.fit, methods=["POST"]),
        Route("/play", studio.play, methods=["POST"]),
        Route("/near", studio.near, methods=["POST"]),
        Route("/surface", studio.surface, methods=["POST"]),
        Route("/compare", studio.compare, methods=["POST"]),
        Route("/reports/{name}", studio.report),
        Route("/models/{name}/file", studio.model_file),
        Route("/models", studio.load, methods=["POST"]),
        Route("/show", studio.show, methods=["POST"]),
    ]
    routes = [
        Route("/", _index),
        Mount("/page", StaticFiles(directory=PAGE, check_dir=False)),
        Mount("/api", routes=api),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, token=studio.token, port=lambda: studio.port)],
        exception_handlers={
            AssayError: lambda request, exc: error(str(exc).strip(), 400),
            Refused: lambda request, exc: error(str(exc), exc.status),
            ClientDisconnect: lambda request, exc: Response(status_code=499),  # nobody reads it
            HTTPException: lambda request, exc: error(str(exc.detail), exc.status_code),
        },
        lifespan=lifespan,
    )


async def _index(request: Request) -> Response:
    return FileResponse(PAGE / "index.html", media_type="text/html")


# --- bodies and answers -----------------------------------------------------------------------------------------------


async def _body(request: Request) -> bytes:
    """The body of a request, as long as it is no longer than JSON may be here."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_JSON:
            raise Refused(f"The request is longer than {MOST_JSON >> 20} MB.", 413)
        parts.append(part)
    return b"".join(parts)


async def _received(request: Request, path: Path) -> None:
    """Write the body of a request to a file of this user alone."""
    size = 0
    too_long = Refused(f"The file is larger than {LIMITS['bytes'] >> 20} MB: use assay compare in the shell.", 413)
    if int(request.headers.get("content-length", "0") or 0) > LIMITS["bytes"]:
        raise too_long
    path.touch(mode=0o600)
    with path.open("wb") as file:
        async for part in request.stream():
            size += len(part)
            if size > LIMITS["bytes"]:
                raise too_long
            await run_in_threadpool(file.write, part)
    if not size:
        raise Refused("The file is empty.", 400)


async def _gone(request: Request) -> None:
    """Ends when the page does not listen any more."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _told(request: Request, lines: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    """Lines of JSON until the work ends or the page is gone; an error is the last line."""
    gone = asyncio.create_task(_gone(request))
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
    except Refused as refusal:
        yield msgspec.json.encode({"kind": "error", "error": str(refusal)}) + b"\n"
    finally:
        gone.cancel()
        with anyio.CancelScope(
            shield=True
        ):  # a page that is gone cancels this too, and the work must be let go all the same
            if line is not None:
                line.cancel()
                await asyncio.gather(line, return_exceptions=True)
            await lines.aclose()


def _heard(task: asyncio.Task[bytes]) -> None:
    """Whoever asks is told of the error; if nobody does, it does not matter."""
    if not task.cancelled():
        task.exception()


def _json(value: Any) -> Response:
    return _sent(msgspec.json.encode(value))


def _sent(body: bytes) -> Response:
    return Response(body, media_type="application/json")
