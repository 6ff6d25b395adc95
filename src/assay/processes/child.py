"""The child's side: a process that does what it is given, emits events, says how it ended, and never outlives its parent.

Messages go over a `multiprocessing` connection; arrays travel as they lie in memory, after the pickle that names them. The pickles come from this
program's own processes and nobody else's. Nothing here needs NumPy: the studio's server speaks with its workers and is there at once.

Forking beside threads is safe as long as these hold no lock: the engines' pools are idle while jobs are at work, and what they
keep is made anew in the child (`os.register_at_fork` in engines/). Where it is not safe (macOS, whose own libraries have threads) or not there
(Windows), processes are spawned: they start Python anew and are sent what they work on. Both give the same results.
"""

from __future__ import annotations

import gc
import io
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing.connection import Connection, wait
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from assay.errors import AssayError, ParameterError

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


def start_method() -> str:
    """How processes are started: "fork", so that a child sees what its parent has in memory without a copy, where that can be done; else
    "spawn". `ASSAY_START_METHOD` overrules it."""
    asked = os.environ.get("ASSAY_START_METHOD", "")
    forks = hasattr(os, "fork")
    if asked not in ("", "spawn", *(["fork"] if forks else [])):
        known = "fork or spawn" if forks else "spawn, for this system cannot fork"
        raise ParameterError(f"ASSAY_START_METHOD={asked!r} is not possible: set it to {known}, or unset it.")
    return asked or ("fork" if forks and sys.platform != "darwin" else "spawn")


def start(life: Callable[..., None], *args: Any, own_group: bool = False, script: bool = False) -> Any:
    """A process that lives this life and ends. With a process group of its own it can be ended together with all that it starts itself.

    Where it is spawned the arguments should be few and small: what is large is sent to it afterwards. `script`: it will need something of
    the user's script itself, and so has to run that, too."""
    method = start_method()
    context: Any = multiprocessing.get_context(method)
    process = context.Process(target=_live, args=(os.getpid(), own_group, life, args), daemon=not own_group)
    with warnings.catch_warnings(), nullcontext() if method == "fork" else _spawning(script):
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of any thread beside a fork; see above
        process.start()
    if own_group and hasattr(os, "setpgid"):
        with suppress(OSError):
            os.setpgid(process.pid, process.pid)
    return process


@contextmanager
def _spawning(script: bool) -> Iterator[None]:
    with interrupts_held(), nullcontext() if script else _main_hidden():
        yield


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Within, Ctrl-C waits; a process that is spawned does not get it before it can ignore it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # which would let them through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_interrupts() -> None:
    """In a child: the terminal sends Ctrl-C to all, and the parent decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


_hiding = threading.Lock()


@contextmanager
def _main_hidden() -> Iterator[None]:
    """Within, a process that is spawned does not run the user's script again, which would start everything once more where the script
    does not guard itself by `if __name__ == "__main__"`."""
    with _hiding:
        script = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = script


def is_of_script(value: Any) -> bool:
    """Whether a value is made of something of the user's script itself, such as a function that is defined there."""
    finder = _ScriptFinder(io.BytesIO(), protocol=5, buffer_callback=lambda array: None)
    with suppress(Exception):  # what cannot be sent at all is told where it is tried
        finder.dump(value)
    return finder.found


class _ScriptFinder(pickle.Pickler):
    found = False

    def persistent_id(self, value: Any) -> None:
        if isinstance(value, type | FunctionType) and value.__module__ == "__main__":
            self.found = True


def _live(parent: int, own_group: bool, life: Callable[..., None], args: tuple[Any, ...]) -> None:
    _settle_in(parent)
    if own_group and hasattr(os, "setpgid"):
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
    ignore_interrupts()
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
    else:
        threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """By means of every system: what it waits for ends with the parent."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


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
