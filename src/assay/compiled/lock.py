"""A folder that one process changes at a time, while others wait; on every system by its own means."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

PAUSE = 0.01  # seconds between two tries, where a system cannot wait by itself


@contextmanager
def locked(folder: Path, alone: bool) -> Iterator[None]:
    """Alone, or with others that do not ask to be alone, among all processes. A folder that nobody can write to needs no lock, and file systems
    without locks go without."""
    try:
        file = (folder / "assay.lock").open("a+b")
    except OSError:
        yield
        return
    with file:
        with suppress(OSError):
            _lock(file, alone)
        try:
            yield
        finally:
            with suppress(OSError):
                _unlock(file)


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _lock(file: IO[Any], alone: bool) -> None:
        """The first byte, which no two processes hold at once: readers wait for readers, too."""
        while True:
            file.seek(0)
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
                return
            except PermissionError:
                time.sleep(PAUSE)

    def _unlock(file: IO[Any]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: IO[Any], alone: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)

    def _unlock(file: IO[Any]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
