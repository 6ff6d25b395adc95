"""The child's side of an isolated fit: a process that does one piece of work, says how it went, and ends.

It dies with its parent (Linux), leaves Ctrl-C to it, and sends warnings and progress home while it works.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from assay.engines.threads import thread_limit
from assay.errors import AssayError
from assay.select.messages import send

M_MMAP_THRESHOLD, LARGE_ARRAY = -3, 8 << 20
PR_SET_PDEATHSIG = 1


class Finish(NamedTuple):
    """How the work ended; its value follows in a message of its own where the state is "done"."""

    state: str
    message: str
    seconds: float
    peak_bytes: int


class Event(NamedTuple):
    content: Any


class Value(NamedTuple):
    content: Any


def private_bytes(pid: int | str = "self") -> int | None:
    """Memory that a process has to itself, swapped out or not; None where the system does not tell.

    Pages shared with the parent since the fork, and mapped files, do not count: they cost nothing more.
    """
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return None
    own = ("Private_Clean:", "Private_Dirty:", "Swap:")
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(own))


@contextmanager
def warnings_told(tell: Callable[[Any], None]) -> Iterator[None]:
    """Within, a warning that the filters let through becomes the event ("warning", text)."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: tell(("warning", str(message)))
        yield


def attempt(
    work: Callable[[Callable[[Any], None]], Any], tell: Callable[[Any], None], threads: int | None
) -> tuple[Finish, Any]:
    """Do the work; an error becomes a state and a message."""
    began = time.monotonic()
    value = None
    try:
        with thread_limit(threads) if threads else nullcontext(), warnings_told(tell):
            value = work(tell)
        state, message = "done", ""
    except AssayError as error:
        state, message = "failed", str(error)
    except MemoryError as error:
        state, message = "memory", f"The memory was not enough: {error}" if str(error) else "The memory was not enough."
    except Exception as error:
        state, message = "failed", f"{type(error).__name__}: {error}"
        tell(("traceback", traceback.format_exc()))
    return Finish(state, message, time.monotonic() - began, 0), value


def run_child(work: Callable[..., Any], pipe: Any, threads: int | None, parent: int) -> None:
    """The whole life of a child."""
    _settle_in(parent)
    try:
        _work_and_tell(work, pipe.fileno(), threads)
    except OSError:  # the parent has closed the pipe: nobody listens any more
        os._exit(1)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(0)  # what is left belongs to the parent, or to threads that must not hold up the end


def _work_and_tell(work: Callable[..., Any], fd: int, threads: int | None) -> None:
    lock = threading.Lock()

    def tell(event: Any) -> None:
        with lock:  # the work may tell from several threads
            send(fd, Event(event))

    finish, value = attempt(work, tell, threads)
    finish = finish._replace(peak_bytes=private_bytes() or 0)
    with lock:
        send(fd, finish)
        if finish.state == "done":
            _send_value(fd, value, finish)


def _send_value(fd: int, value: Any, finish: Finish) -> None:
    try:
        send(fd, Value(value))
    except OSError:
        raise
    except Exception as error:  # a lambda, a lock, an open file: nothing of it has been written
        why = f"The result cannot be brought back from its process ({type(error).__name__}: {error})."
        send(fd, finish._replace(state="failed", message=why))


def _settle_in(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.freeze()  # what the parent made stays: to look for garbage in it takes time, and makes copies of its pages
    signal.set_wakeup_fd(-1)  # else a signal here would wake the parent's event loop
    if sys.platform == "linux":
        import ctypes

        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if hasattr(libc, "mallopt"):  # arrays that are freed go back at once: 740 → 630 MB for models of 1e6×20 numbers
            libc.mallopt(M_MMAP_THRESHOLD, LARGE_ARRAY)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)
