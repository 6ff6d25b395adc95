"""The child's side: a process that does what it is given, emits events, says how it ended, and never outlives its parent (Linux).

Forking beside threads is safe as long as these hold no lock: the engines' pools are idle while jobs are at work, and what they
keep is made anew in the child (`os.register_at_fork` in engines/).
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from assay.errors import AssayError
from assay.processes.messages import Event, Finish, send

Emit = Callable[[Any], None]  # takes an event: how far the work is

M_MMAP_THRESHOLD, LARGE_ARRAY = -3, 8 << 20
PR_SET_PDEATHSIG = 1


class Unheard(BaseException):
    """Nobody listens any more; no `except Exception` of the work keeps it from ending."""


class Emitter:
    """Sends home the events of the work. Anything that comes from there meanwhile, a word or the end, means that nobody listens."""

    def __init__(self, home: Connection) -> None:
        self.home, self._lock = home, threading.Lock()  # the work may emit from several threads

    def __call__(self, event: Any) -> None:
        with self._lock:
            self.check()
            send(self.home, Event(event))

    def check(self) -> None:
        """Raise where nobody listens."""
        if self.home.poll():
            raise Unheard

    def finish(self, finish: Finish) -> None:
        """Say how the work ended."""
        with self._lock:
            try:
                send(self.home, finish)
            except OSError:
                raise
            except Exception as error:  # a lambda, a lock, an open file: nothing of it has been written
                why = f"The result cannot be brought back from its process ({type(error).__name__}: {error})."
                send(self.home, finish._replace(state="failed", message=why, value=None))


def attempt(work: Callable[[Any], Any], emit: Any) -> Finish:
    """Do the work; an error becomes a state and a message."""
    began = time.monotonic()
    state, message, value, trace = "done", "", None, ""
    try:
        value = work(emit)
    except AssayError as error:
        state, message = "failed", str(error)
    except MemoryError as error:
        state, message = "memory", f"The memory was not enough: {error}" if str(error) else "The memory was not enough."
    except Exception as error:
        state, message, trace = "failed", f"{type(error).__name__}: {error}", traceback.format_exc()
    return Finish(state, message, time.monotonic() - began, value, trace)


def start(life: Callable[..., None], *args: Any, own_group: bool = False) -> Any:
    """A process that lives this life and ends; forked where the system can, so that it sees what its parent has in memory without a copy.
    With a process group of its own it can be ended together with all that it starts itself."""
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(method)
    process = context.Process(target=_live, args=(os.getpid(), own_group, life, args), daemon=not own_group)
    with warnings.catch_warnings():  # Python warns of any thread beside a fork; see above
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    if own_group:
        with suppress(OSError):
            os.setpgid(process.pid, process.pid)
    return process


def _live(parent: int, own_group: bool, life: Callable[..., None], args: tuple[Any, ...]) -> None:
    _settle_in(parent)
    if own_group:
        with suppress(OSError):
            os.setpgid(0, 0)
    try:
        life(*args)
    except (OSError, EOFError, Unheard):  # the parent has closed its end
        os._exit(1)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(0)  # what is left belongs to the parent, or to threads that must not hold up the end


def _settle_in(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)  # else a signal here would wake the parent's event loop
    gc.freeze()  # what the parent made stays: to search it for garbage takes time, and makes copies of its pages
    if sys.platform == "linux":
        import ctypes

        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if hasattr(libc, "mallopt"):  # arrays that are freed go back at once: 740 → 630 MB for models of 1e6×20 numbers
            libc.mallopt(M_MMAP_THRESHOLD, LARGE_ARRAY)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)
