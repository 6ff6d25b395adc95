"""The life of a worker: it does one request after another and tells what it does, until the server closes its end.

A message that comes while it works means that nobody listens any more: it stops at the next one it would tell.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from assay.errors import DataError
from assay.processes.child import Emitter, Unheard, attempt
from assay.processes.messages import Finish, receive
from assay.studio.protocol import StudioTask
from assay.studio.tables import Shelf
from assay.studio.verbs import VERBS


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
        for message in VERBS[task.verb].run(body, task.place, Shelf(task.folder)):
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
