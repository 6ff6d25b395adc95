"""The life of a worker: it does one request after another and tells what it does, until the server closes its end.

A message that comes while it works means that nobody listens any more: it stops at the next one it would tell.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import msgspec

from assay.errors import DataError
from assay.processes.child import Emitter, Finish, Unheard, attempt, receive
from assay.studio.requests import (
    CompareRequest,
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
from assay.studio.session_files import SessionFiles

Message = dict[str, Any]


def serve(server: Connection, loaded: int) -> None:
    """Say who it is and how much was loaded when it was forked; then work until the other end is closed."""
    teller = Emitter(server)
    teller((os.getpid(), loaded))
    while True:
        request = receive(server)
        if request is not None:  # else it was meant for work that has ended in the meantime
            teller.finish(_finish(teller, *request))


def _finish(teller: Emitter, task: StudioTask, body: bytes) -> Finish:
    try:
        finish = attempt(partial(_do, task, body), teller)
    except Unheard:
        return Finish("interrupted")
    if not finish.traceback:
        return finish
    if os.environ.get("ASSAY_DEBUG", "") not in ("", "0"):
        sys.stderr.write(finish.traceback)
    return finish._replace(message=f"unexpected {finish.message} (ASSAY_DEBUG=1 shows where)")


def _do(task: StudioTask, body: bytes, teller: Emitter) -> None:
    try:
        for message in VERBS[task.verb].run(body, task.place, SessionFiles(task.folder)):
            teller.check()
            if message is not None:
                teller(msgspec.json.encode(message, enc_hook=_plain))
    except MemoryError:
        raise DataError("The memory was not enough for this: take fewer rows.") from None


def _plain(value: Any) -> Any:
    """Numbers of NumPy as Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be told.")


# --- what it can do -------------------------------------------------------------------------------------------------------


class Verb(NamedTuple):
    """Takes the body of a request, of the type `asked`, and yields what is told of it; `where` is the module of its function."""

    asked: type[Any] | None
    where: str
    function: str

    def run(self, body: bytes, place: TableLocation | None, files: SessionFiles) -> Iterator[Message | None]:
        """Do it; modules are loaded when they are needed."""
        does: Callable[..., Iterator[Message | None]] = getattr(
            import_module(f"assay.studio.{self.where}"), self.function
        )
        return does(None if self.asked is None else read(body, self.asked), place, files)


VERBS = {
    "about": Verb(None, "training_run", "about_everything"),
    "preset": Verb(NameRequest, "training_run", "preset"),
    "table": Verb(None, "dataset", "table"),
    "points": Verb(PointsRequest, "dataset", "points"),
    "play": Verb(FitRequest, "playing", "watched"),
    "fit": Verb(FitRequest, "playing", "fit"),
    "near": Verb(NearRequest, "saved_models", "near"),
    "surface": Verb(SurfaceRequest, "surface", "surface"),
    "compare": Verb(CompareRequest, "comparing", "compare"),
    "model": Verb(NameRequest, "saved_models", "model"),
    "show": Verb(ShowRequest, "saved_models", "show"),
}
