"""BLAS on one thread: threads come from the engine, and a product's bits must not depend on their number."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_users = 0
_libraries: list[Any] = []
_found_with: bool | None = None  # whether SciPy, which brings a BLAS of its own, was there when they were found
_before: list[int] = []


def _find_libraries() -> list[Any]:
    import numpy as np
    from threadpoolctl import ThreadpoolController

    np.dot(np.ones((2, 2)), np.ones((2, 2)))  # the library is there once it has been used
    return [c for c in ThreadpoolController().lib_controllers if c.user_api == "blas"]


@contextmanager
def one_thread_blas() -> Iterator[None]:
    """Within, matrix products run on the calling thread alone. May be nested and entered from many threads."""
    global _users, _libraries, _found_with, _before
    with _lock:
        if _users == 0 and _found_with != ("scipy.linalg" in sys.modules):
            _libraries, _found_with = _find_libraries(), "scipy.linalg" in sys.modules
        _users += 1
        if _users == 1:
            _before = [library.get_num_threads() for library in _libraries]
            for library, n in zip(_libraries, _before):
                if n != 1:
                    library.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                for library, n in zip(_libraries, _before):
                    if n != 1:
                        library.set_num_threads(n)
