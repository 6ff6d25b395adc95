"""Machine code of our loops, kept in files. Only loops of `assay.compiled.decorator.jit` are kept so: Numba's own cache is as it was for everybody else.

A loop is loaded as long as the text that it was made of is the same (`sources`): Numba looks at the loop's own file alone, but what a loop calls is
compiled into it.

Numba writes into an index which file a specialisation has, and then the file. Two processes that do so at the same time can give one file to
two specialisations, and a third one may read a file of before: a loop for 8-bit codes that is handed 16-bit ones.
A lock from the reading of the index to the writing of the file rules that out.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

from assay.compiled.lock import locked
from assay.compiled.sources import stamp_of


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
