"""Files that a killed process has left. Whoever uses one has it locked until the process ends, however that ends: one that nobody has locked
is nobody's, and is removed when the next is made beside it."""

from __future__ import annotations

import io
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

FILES = re.compile(r"assay-(rows|body|stdin)-\w{8}(\.parquet)?")
FOLDERS = re.compile(r"assay-studio-\w{8}")
NONE = re.compile(r"(?!)")

_held: dict[str, int] = {}  # the open files by which temporary ones are locked


def locks(handle: int, wait: bool) -> bool:
    """Lock an open file against other processes; False where another has it, or the system has no such locks. It ends with the process."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


def locked(make: Callable[[], int]) -> int:
    """A new file, open and locked. Another process that looks for abandoned ones may have found it before the lock and removed it: then one more."""
    while True:
        handle = make()
        if not locks(handle, wait=True) or os.fstat(handle).st_nlink:
            return handle
        os.close(handle)


def remove_abandoned(folder: str | Path, files: re.Pattern[str], folders: re.Pattern[str] = NONE) -> None:
    """Remove files and folders of these names whose process is no more: nobody has them locked. Whatever cannot be looked at stays."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if (folders if is_folder else files).fullmatch(entry.name) and (
                is_folder or entry.is_file(follow_symlinks=False)
            ):
                _remove_if_unlocked(entry.path)


def _remove_if_unlocked(path: str) -> None:
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            own = not hasattr(os, "geteuid") or os.fstat(handle).st_uid == os.geteuid()
            if own and locks(handle, wait=False):
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        finally:
            os.close(handle)


# --- what lies in the temporary folder ---------------------------------------------------------------------------------------


@cache
def tidy() -> None:
    """Remove what killed processes have left in the temporary folder, once a process."""
    remove_abandoned(tempfile.gettempdir(), FILES, FOLDERS)


def temporary_path(kind: str, suffix: str = "") -> str:
    """The path of a new temporary file, locked until `release` or the end of the process."""
    handle, path = _made(kind, suffix)
    _held[path] = handle
    if not locks(
        handle, wait=False
    ):  # without locks nothing is gained by holding it, and Windows removes nothing that is open
        release(path)
    return path


def release(path: str) -> None:
    """Give up the lock of a file or folder that is removed now."""
    handle = _held.pop(path, None)
    if handle is not None:
        with suppress(OSError):
            os.close(handle)


class TemporaryFile(io.BufferedRandom):
    """An open file which is removed where it is closed. Its path can be opened, too: that of the standard library's cannot on Windows."""

    def __init__(self, handle: int, path: str) -> None:
        raw = io.FileIO(handle, "r+b")
        raw.name = path
        super().__init__(raw)

    def close(self) -> None:
        if not self.closed:
            super().close()
            with suppress(OSError):
                os.unlink(self.name)


def temporary_file(kind: str) -> IO[bytes]:
    """A new temporary file, open and locked, which is removed where it is closed."""
    return TemporaryFile(*_made(kind))


def _made(kind: str, suffix: str = "") -> tuple[int, str]:
    """A new file in the temporary folder, locked, and its path."""
    tidy()
    made: list[str] = []

    def make() -> int:
        handle, path = tempfile.mkstemp(prefix=f"assay-{kind}-", suffix=suffix)
        made.append(path)
        return handle

    return locked(make), made[-1]


@contextmanager
def temporary_folder(kind: str) -> Iterator[str]:
    """A new temporary folder, locked for as long as it is there."""
    tidy()
    with tempfile.TemporaryDirectory(prefix=f"assay-{kind}-") as folder:
        if os.name == "posix":  # elsewhere a folder cannot be opened, nor locked
            _held[folder] = os.open(folder, os.O_RDONLY)
            locks(_held[folder], wait=True)
        try:
            yield folder
        finally:
            release(folder)
