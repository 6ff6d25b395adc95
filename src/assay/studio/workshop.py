"""The process that workers are forked from: it has everything loaded and compiled, so that a new worker costs milliseconds.

    python -m assay.studio.workshop FD

It talks with the server over the connection FD: a handle that comes is one end of a worker's connection, and the worker's process number goes
back. It ends, and its workers with it, when the server's end is closed. What has to be compiled is compiled by a child first,
so that the workshop itself is never away for long.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import recv_handle

from assay.studio.protocol import WARM

QUIET = 0.7  # seconds without a request after which it is time for chores


def main(fd: int) -> None:
    """Serve until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the server decides
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children that end leave nothing behind
    server = Connection(fd)
    workers: set[int] = set()
    try:
        _serve(server, workers)
    except (EOFError, OSError):
        pass
    finally:
        for pid in workers:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)


def _serve(server: Connection, workers: set[int]) -> None:
    import assay.studio.playing
    import assay.studio.tables
    import assay.studio.verbs  # noqa: F401 - what every worker needs
    from assay.studio.warm import FIRST, chores

    for worker in _asked(server, QUIET):
        workers.add(worker)
    pid, compiled = _compiler(server)
    workers.add(pid)
    for number, chore in enumerate(chores(), 1):
        while server in wait([server, compiled]):  # whoever asks comes before chores
            workers.add(_fork(server))
        with contextlib.suppress(EOFError):
            compiled.recv_bytes()
        chore()
        if number == len(FIRST):
            server.send_bytes(WARM)
    workers.discard(pid)
    server.send_bytes(WARM)
    while True:
        workers.add(_fork(server))


def _asked(server: Connection, seconds: float) -> Iterator[int]:
    """Workers for whoever asks, until nobody has for so many seconds: a page that opens comes first."""
    while server.poll(seconds):
        yield _fork(server)


def _compiler(server: Connection) -> tuple[int, Connection]:
    """A child that does every chore first; it tells when each is done, and the connection ends with it."""
    from assay.studio.warm import chores

    here, there = Pipe(duplex=False)
    pid = os.fork()
    if pid:
        there.close()
        os.setpgid(pid, pid)
        return pid, here
    _settle(server)
    here.close()
    os.nice(10)
    with contextlib.suppress(Exception):
        for chore in chores():
            chore()
            there.send_bytes(b"done")
    os._exit(0)


def _fork(server: Connection) -> int:
    """A worker on the connection that the server hands over."""
    handle = recv_handle(server)
    pid = os.fork()
    if pid:
        os.close(handle)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        server.send_bytes(str(pid).encode())
        return pid
    _settle(server)
    from assay.studio.worker import work

    try:
        work(Connection(handle))
    finally:
        os._exit(0)


def _settle(server: Connection) -> None:
    """A child of its own group, with signals as usual but for Ctrl-C."""
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    server.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
