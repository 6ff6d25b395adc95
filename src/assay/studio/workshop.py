"""The process that workers are forked from: it has everything loaded and compiled, so that a new worker costs milliseconds.

    python -m assay.studio.workshop FD

Over the connection FD the server hands it one end of a connection for each worker that it wants, and hears how often more was loaded.
The workshop ends, and its workers with it, when the server's end is closed. What has to be compiled is compiled by a child
first, so that the workshop itself is never away for long.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import recv_handle

from assay.processes.child import start

QUIET = 0.7  # seconds without a request after which it is time for chores


def main(server: Connection) -> None:
    """Serve until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the server decides
    try:
        _serve(server)
    except (EOFError, OSError):
        pass
    finally:
        for process in multiprocessing.active_children():
            assert process.pid is not None
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)


def _serve(server: Connection) -> None:
    import assay.studio.playing
    import assay.studio.tables
    import assay.studio.worker  # noqa: F401 - what every worker needs
    from assay.studio.warm import FIRST, chores

    loaded = 0
    while server.poll(QUIET):  # a page that opens comes first
        _fork(server, loaded)
    compiled, far_end = multiprocessing.Pipe(duplex=False)
    start(_compile, server, compiled, far_end, own_group=True)
    far_end.close()
    todo = list(chores())
    for number, chore in enumerate(todo, 1):
        while server in wait([server, compiled]):  # whoever asks comes before chores
            _fork(server, loaded)
        with suppress(EOFError):
            compiled.recv_bytes()
        chore()
        if number in (len(FIRST), len(todo)):
            loaded += 1
            server.send(loaded)
    while True:
        _fork(server, loaded)


def _compile(server: Connection, compiled: Connection, far_end: Connection) -> None:
    """The life of a child that does every chore first; it tells when each is done, and the connection ends with it."""
    from assay.studio.warm import chores

    server.close()
    compiled.close()
    os.nice(10)
    for chore in chores():
        chore()
        far_end.send_bytes(b"done")


def _fork(server: Connection, loaded: int) -> None:
    """A worker on the connection that the server hands over."""
    with Connection(recv_handle(server)) as connection:
        start(_work, server, connection, loaded, own_group=True)


def _work(server: Connection, connection: Connection, loaded: int) -> None:
    from assay.studio.worker import serve

    server.close()
    serve(connection, loaded)


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))
