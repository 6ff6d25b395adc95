"""What processes say to each other, over a `multiprocessing` connection: events while the work goes on, then its finish.

Arrays travel as they lie in memory, after the pickle that names them. The pickles come from this program's own processes and nobody else's.
Neither this module nor child.py needs NumPy: the studio's server speaks with its workers and is there at once.
"""

from __future__ import annotations

import pickle
from multiprocessing.connection import Connection
from typing import Any, NamedTuple


class Event(NamedTuple):
    """Something that a child emits while it works."""

    content: Any


class Finish(NamedTuple):
    """How a piece of work ended: "done" with its value, "failed" or "memory". The traceback is that of an error nobody foresaw."""

    state: str
    message: str = ""
    seconds: float = 0.0
    value: Any = None
    traceback: str = ""
    peak_bytes: int = 0


def send(connection: Connection, message: Any) -> None:
    """Write a message; nothing is written where it cannot be pickled."""
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    arrays = [buffer.raw() for buffer in buffers]
    connection.send((body, [array.nbytes for array in arrays]))
    for array in arrays:
        connection.send_bytes(array)


def receive(connection: Connection) -> Any:
    """The next message; EOFError or OSError where the other end is gone."""
    body, sizes = connection.recv()
    arrays = [bytearray(size) for size in sizes]  # so that they can be written
    for array in arrays:
        connection.recv_bytes_into(array)
    return pickle.loads(body, buffers=arrays)
