"""The text that a loop is made of: its own file, and all that this imports of the package. What a loop calls is compiled into it."""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from pathlib import Path

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
