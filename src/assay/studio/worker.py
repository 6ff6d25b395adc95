"""The life of a worker: it takes one request after another from its connection and tells what it does.

A message that comes while it works means that nobody listens any more: it stops at the next one it would tell.
"""

from __future__ import annotations

import os
import traceback
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from assay.errors import AssayError
from assay.studio.protocol import BROKEN, END, REFUSED, STOP, TOLD, Task
from assay.studio.shelf import Shelf
from assay.studio.verbs import VERBS


class Stopped(Exception):
    """Nobody listens any more."""


def work(connection: Connection) -> None:
    """Until the other end is closed."""
    while True:
        try:
            head = connection.recv_bytes()
            if head == STOP:  # meant for work that has ended in the meantime
                continue
            body = connection.recv_bytes()
        except (EOFError, OSError):
            return
        try:
            _do(connection, msgspec.json.decode(head, type=Task), body)
            connection.send_bytes(END)
        except (BrokenPipeError, ConnectionError, EOFError):
            return


def _do(connection: Connection, task: Task, body: bytes) -> None:
    try:
        for message in VERBS[task.verb].run(body, task.place, Shelf(task.folder)):
            if connection.poll():
                raise Stopped
            if message is not None:
                connection.send_bytes(TOLD + msgspec.json.encode(message, enc_hook=_plain))
    except Stopped:
        return
    except AssayError as error:
        connection.send_bytes(REFUSED + str(error).strip().encode("utf-8", "replace"))
    except MemoryError:
        connection.send_bytes(REFUSED + b"The memory was not enough for this: take fewer rows.")
    except (ConnectionError, BrokenPipeError):
        raise
    except Exception as error:
        if os.environ.get("ASSAY_DEBUG", "") not in ("", "0"):
            traceback.print_exc()
        said = f"unexpected {type(error).__name__}: {error} (ASSAY_DEBUG=1 shows where)"
        connection.send_bytes(BROKEN + said.encode("utf-8", "replace"))


def _plain(value: Any) -> Any:
    """Numbers of NumPy as Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be told.")
