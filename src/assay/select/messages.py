"""Messages of any size through a pipe. Arrays travel as they lie in memory, beside the pickle that names them.

    message = number of parts (uint32) · their sizes (uint64 each) · part 0: pickle (protocol 5) · parts 1 …: its buffers

The sender blocks while the pipe is full; the receiver takes what is there and never waits, so that one process can
serve many pipes. The pickles come from this program's own children and nobody else's.
"""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

READ_AT_ONCE = 32 << 20  # bytes taken from one pipe before the others have their turn
PIPE_BYTES = 1 << 20


def widen(fd: int) -> None:
    """Let the pipe hold more before its writer must wait, where the system can."""
    try:
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except (ImportError, AttributeError, OSError):
        pass


def send(fd: int, message: Any) -> None:
    """Write a message; nothing is written where it cannot be pickled."""
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(body), *(buffer.raw() for buffer in buffers)]
    head = struct.pack(f"<I{len(parts)}Q", len(parts), *(part.nbytes for part in parts))
    for part in (memoryview(head), *parts):
        while part.nbytes:
            part = part[os.write(fd, part) :]


class Inbox:
    """The receiving end of a pipe: complete messages as they come."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self.closed = False
        self._fd = fd
        self._begin()

    def _begin(self) -> None:
        self._sizes: list[int] | None = None
        self._parts: list[memoryview] = []
        self._open(4)

    def _open(self, size: int) -> None:
        self._part = memoryview(np.empty(size, dtype=np.uint8).data)  # a bytearray would be filled with zeros first
        self._filled = 0

    def read(self) -> Iterator[Any]:
        """The messages that are complete with what the pipe holds now; `closed` tells whether more can come."""
        allowance = READ_AT_ONCE
        while True:
            while self._filled < len(self._part):
                try:
                    got = os.readv(self._fd, [self._part[self._filled :]]) if allowance > 0 else 0
                except BlockingIOError:
                    return
                if got == 0:
                    self.closed = allowance > 0
                    return
                self._filled += got
                allowance -= got
            if self._part_complete():
                message = pickle.loads(self._parts[0], buffers=self._parts[1:])
                self._begin()
                yield message

    def _part_complete(self) -> bool:
        """Take up the part that is full; True once it was the message's last."""
        if self._sizes is None and not self._parts:
            self._parts.append(self._part)
            self._open(8 * struct.unpack("<I", self._part)[0])
            return False
        if self._sizes is None:
            self._sizes, self._parts = np.frombuffer(self._part, dtype="<u8").tolist(), []
        else:
            self._parts.append(self._part)
        if len(self._parts) == len(self._sizes):
            return True
        self._open(self._sizes[len(self._parts)])
        return False
