"""Machine code of our loops, kept in files. Only loops of `assay.compiled.decorator.jit` are kept so: Numba's own cache is as it was for everybody else.

A loop is loaded as long as the text that it was made of is the same: its own file, and all that this imports of the package. Numba looks at the
loop's own file alone, but what a loop calls is compiled into it.

Numba writes into an index which file a specialisation has, and then the file. Two processes that do so at the same time can give one file to
two specialisations, and a third one may read a file of before: a loop for 8-bit codes that is handed 16-bit ones.
A lock from the reading of the index to the writing of the file rules that out; on every system by its own means.
"""

from __future__ import annotations

import inspect
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from numba.core.caching import FunctionCache, IndexDataCacheFile


class LockedIndex(IndexDataCacheFile):  # type: ignore[misc]
    """The files of one loop: written by one process at a time, and not while another reads."""

    def save(self, key: Any, data: Any) -> None:
        with locked(Path(self._cache_path), alone=True):
            super().save(key, data)

    def load(self, key: Any) -> Any:
        with locked(Path(self._cache_path), alone=False):
            return super().load(key)


class LoopCache(FunctionCache):  # type: ignore[misc]
    """Where Numba keeps a function's code, stamped by the text of all that the function uses."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        stamp = stamp_of(Path(inspect.getfile(function)).resolve())
        self._cache_file = LockedIndex(self._cache_path, self._impl.filename_base, stamp)


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


HOME = Path(__file__).resolve().parents[2]  # where the package lies
IMPORT = re.compile(r"^[ \t]*from (assay[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
NAME = re.compile(r"\w+")


@cache
def _text(file: Path) -> bytes:
    return file.read_bytes()


@cache
def _imported(file: Path, home: Path) -> frozenset[Path]:
    found = set()
    for module, names in IMPORT.findall(_text(file).decode()):
        place = home.joinpath(*module.split("."))
        found.add(place.with_suffix(".py"))
        if place.is_dir():
            found.update(place / f"{name}.py" for name in ("__init__", *NAME.findall(names)))
    return frozenset(other for other in found if other.is_file())


@cache
def _digest(file: Path) -> bytes:
    return sha256(_text(file)).digest()


def sources_of(file: Path, home: Path = HOME) -> list[Path]:
    """A file and those of the package whose text it may use, in a fixed order."""
    found, new = {file}, [file]
    while new:
        others = _imported(new.pop(), home) - found
        found |= others
        new += others
    return sorted(found)


@cache
def stamp_of(file: Path, home: Path = HOME) -> bytes:
    """Changes with the text of any of the sources."""
    whole = sha256()
    for source in sources_of(file, home):
        whole.update(source.name.encode() + b"\0" + _digest(source))
    return whole.digest()
