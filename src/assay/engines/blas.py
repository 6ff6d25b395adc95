"""BLAS on one thread: threads come from the engine, and a product's bits must not depend on their number."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_users = 0
_libraries: list[Any] = []
_before: list[int] = []
_with_scipy = False  # whether SciPy, which brings a BLAS of its own, was there when they were found


def _after_fork() -> None:
    """Another thread may have held the lock when this process was forked off; nobody is left here to release it."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _find_libraries() -> list[Any]:
    import numpy as np
    from threadpoolctl import ThreadpoolController

    np.dot(np.ones((2, 2)), np.ones((2, 2)))  # the library is there once it has been used
    return [c for c in ThreadpoolController().lib_controllers if c.user_api == "blas"]


def scipy_linalg() -> Any:
    """The module scipy.linalg, its BLAS on one thread where the others are: it may be loaded while they are held."""
    global _with_scipy
    import scipy.linalg

    with _lock:
        if _users and not _with_scipy:
            known = {library.filepath for library in _libraries}
            for library in _find_libraries():
                if library.filepath not in known:
                    _libraries.append(library)
                    _before.append(library.get_num_threads())
                    library.set_num_threads(1)
            _with_scipy = True
    return scipy.linalg


def _hold() -> None:
    """Set every library to one thread; called with the lock held."""
    global _libraries, _before, _with_scipy
    if not _libraries or _with_scipy != ("scipy.linalg" in sys.modules):
        _libraries, _with_scipy = _find_libraries(), "scipy.linalg" in sys.modules
    _before = [library.get_num_threads() for library in _libraries]
    for library, n in zip(_libraries, _before):
        if n != 1:
            library.set_num_threads(1)


def _let_go() -> None:
    for library, n in zip(_libraries, _before):
        if n != 1:
            library.set_num_threads(n)


@contextmanager
def one_thread_blas() -> Iterator[None]:
    """Within, matrix products run on the calling thread alone. May be nested and entered from many threads."""
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            _hold()
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _let_go()
