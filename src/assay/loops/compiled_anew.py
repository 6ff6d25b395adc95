"""A loop that was compiled and kept is used as long as the text that it was made of is the same: its own file, and all that this imports of the package.

Numba looks at the loop's own file alone, but what a loop calls is compiled into it: a kept loop of an older version would go on with the older
version of what it calls.
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba.core import caching

HOME = Path(__file__).parents[2]  # where the package lies
IMPORT = re.compile(r"^[ \t]*from (assay[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
NAME = re.compile(r"\w+")

_located: Any = caching._SourceFileBackedLocatorMixin
_stamp_of_one = _located.get_source_stamp


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
            found.update(place / f"{name}.py" for name in NAME.findall(names))
    return frozenset(other for other in found if other.is_file())


@cache
def _digest(file: Path) -> bytes:
    return sha256(_text(file)).digest()


def sources_of(file: Path, home: Path = HOME) -> list[Path]:
    """A file of the package and those whose text it may use, in a fixed order."""
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
        whole.update(str(source.relative_to(home)).encode() + b"\0" + _digest(source))
    return whole.digest()


def _stamp(self: Any) -> Any:
    file = Path(getattr(self, "_py_file", "")).resolve()
    return stamp_of(file) if HOME in file.parents and file.is_file() else _stamp_of_one(self)


_located.get_source_stamp = _stamp
