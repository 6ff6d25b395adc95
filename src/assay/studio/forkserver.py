"""The process that workers are forked from: it has everything loaded and compiled, so that a new worker costs milliseconds.

    python -m assay.studio.forkserver FD

Over the connection FD the server hands it one end of a connection for each worker that it wants, and hears how often more was loaded.
It ends, and its workers with it, when the server's end is closed. What has to be compiled is compiled by a child
first, so that this process itself is never away for long.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import recv_handle
from typing import Any

from assay.errors import AssayError
from assay.processes.child import start

FIRST = ("perceptron", "logistic-regression", "linear-svc", "svc", "knn", "decision-tree", "random-forest", "mlp")
ROWS = 300  # of a small fit
QUIET = 0.7  # seconds without a request after which it is time to warm up


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
    import assay.studio.worker  # noqa: F401 - what every worker needs

    loaded = 0
    while server.poll(QUIET):  # a page that opens comes first
        _fork(server, loaded)
    compiled, far_end = multiprocessing.Pipe(duplex=False)
    start(_compile, server, compiled, far_end, own_group=True)
    far_end.close()
    todo = list(warm_ups())
    for number, warm_up in enumerate(todo, 1):
        while server in wait([server, compiled]):  # whoever asks comes first
            _fork(server, loaded)
        with suppress(EOFError):
            compiled.recv_bytes()
        warm_up()
        if number in (len(FIRST), len(todo)):
            loaded += 1
            server.send(loaded)
    while True:
        _fork(server, loaded)


def _compile(server: Connection, compiled: Connection, far_end: Connection) -> None:
    """The life of a child that does every warm-up first; it tells when each is done, and the connection ends with it."""
    server.close()
    compiled.close()
    os.nice(10)
    for warm_up in warm_ups():
        warm_up()
        far_end.send_bytes(b"done")


def _fork(server: Connection, loaded: int) -> None:
    """A worker on the connection that the server hands over."""
    with Connection(recv_handle(server)) as connection:
        start(_work, server, connection, loaded, own_group=True)


def _work(server: Connection, connection: Connection, loaded: int) -> None:
    from assay.studio.worker import serve

    server.close()
    serve(connection, loaded)


# --- warm-ups: small fits before anybody asks, so that the first of each kind is as quick as the next --------------------


def warm_ups() -> Iterator[Callable[[], None]]:
    """Small pieces of work, the most wanted first; none of them fails."""
    from assay.families import REGISTRY

    yield from (partial(_fit, name) for name in (*FIRST, *(name for name in REGISTRY if name not in FIRST)))


def _fit(name: str) -> None:
    """Fit a model to points as the page would ask for."""
    from assay.families import model_class
    from assay.studio.playing import fit
    from assay.studio.requests import FitRequest, View
    from assay.studio.session_files import SessionFiles

    classes = "classifier" in model_class(name).kind_of({})
    few = {"n_estimators": 4} if "n_estimators" in model_class(name).params else {}
    request = FitRequest(_data(classes), name, View((-3.0, 3.0), (-3.0, 3.0)), params=few, quick=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            for _ in fit(request, None, SessionFiles(folder)):
                pass
        except AssayError:  # such as counts that are none: what could be loaded is
            pass


def _data(classes: bool) -> Any:
    import numpy as np

    from assay.studio.requests import Data, Points

    x, y = np.random.default_rng(0).normal(size=(2, ROWS))
    if not classes:
        return Data(Points(x.tolist(), target=(x + y).tolist()))
    return Data(Points(x.tolist(), y.tolist(), label=np.where(x * x + y > 0.5, "a", "b").tolist()))


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))
