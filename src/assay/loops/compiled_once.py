"""Compiled loops are kept in files; where several processes compile at once, each file must stay the one that the index names.

Numba writes into the index which file a specialisation has, and then the file. Two processes that do so at the same time can give one file to
two specialisations, and a third one may read a file of before: a loop for 8-bit codes that is handed 16-bit ones.
A lock from the reading of the index to the writing of the file rules that out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

try:
    import fcntl
except ImportError:  # pragma: no cover - not there on Windows
    fcntl = None  # type: ignore[assignment]

_save, _load = IndexDataCacheFile.save, IndexDataCacheFile.load


@contextmanager
def _locked(folder: str, kind: str) -> Iterator[None]:
    """Alone (`LOCK_EX`), or with other readers only (`LOCK_SH`), among all processes; where the folder cannot be locked, as before."""
    if fcntl is None:  # pragma: no cover
        yield
        return
    try:
        file = (Path(folder) / "assay.lock").open("w")
    except OSError:  # a folder that nobody can write to
        yield
        return
    with file:
        with suppress(OSError):  # file systems without locks
            fcntl.flock(file, getattr(fcntl, kind))
        yield


def _save_alone(self: Any, key: Any, data: Any) -> None:
    with _locked(self._cache_path, "LOCK_EX"):
        _save(self, key, data)


def _load_whole(self: Any, key: Any) -> Any:
    with _locked(self._cache_path, "LOCK_SH"):
        return _load(self, key)


IndexDataCacheFile.save, IndexDataCacheFile.load = _save_alone, _load_whole
