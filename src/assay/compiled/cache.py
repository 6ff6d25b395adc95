"""Machine code of our loops, kept in files: one a loop and kind of arguments, named by all that it depends on.

    the loop's name, its arguments' types, the text of all that it uses, the tier, and the versions of Numba and Python

The text is that of the loop's own file and of all that this imports of the package: what a loop calls is compiled into it.
Such a file is never changed, only written whole and put in its place; so nothing needs a lock, and a name that is found is right.
Looked for in turn: the folder that a wheel brings, which nobody writes to; the user's own; else the loop is compiled, and kept in the latter.
"""

from __future__ import annotations

import inspect
import os
import pickle
import platform
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numba
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from assay.compiled.tiers import SHIPPED, TIER

HOME = Path(__file__).resolve().parents[2]  # where the package lies
IMPORT = re.compile(r"^[ \t]*from (assay[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
NAME = re.compile(r"\w+")
VERSIONS = (
    f"{numba.__version__} {platform.python_implementation()} {sys.version_info[:2]} {sys.platform} {platform.machine()}"
)
DIGEST = 32  # bytes before the code: a hash of it
DAY = 86400.0
UNUSED = 60 * DAY  # what has not been loaded for so long goes when its loop is compiled anew


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


@cache
def users_folder() -> Path:
    """Where this user's machine code is kept: ASSAY_CACHE, or where the system keeps such things."""
    if own := os.environ.get("ASSAY_CACHE"):
        return Path(own).expanduser() / "loops"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "assay" / "Cache" / "loops"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "assay" / "loops"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay" / "loops"


def can_keep() -> bool:
    """Whether that folder can be written to."""
    try:
        users_folder().mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=users_folder()):
            return True
    except OSError:
        return False


class LoopCache(_Cache):  # type: ignore[misc]
    """The kept machine code of one loop, as Numba asks for it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._enabled = True

    @property
    def cache_path(self) -> str:
        return str(users_folder() / TIER.name)

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        """Names change with the text: nothing is ever stale."""

    def name(self, sig: Any) -> str:
        """Of the file with this loop's code for these types of arguments."""
        of = self._function
        loop = f"{of.__module__}.{of.__qualname__}"
        kind = sha256(repr(getattr(sig, "args", sig)).encode()).hexdigest()[:12]
        whole = sha256(stamp_of(Path(inspect.getfile(of)).resolve()))
        whole.update("\0".join((loop, str(of.__code__.co_firstlineno), kind, TIER.name, VERSIONS)).encode())
        return f"{loop}-{kind}-{whole.hexdigest()[:24]}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if not self._enabled:
            return None
        rtsys.initialize(
            target_context
        )  # all that finished code needs; what compiles more has Numba read all its definitions first
        name = self.name(sig)
        for folder in (SHIPPED, users_folder()):
            if code := _read(folder / TIER.name / name):
                return CompileResult._rebuild(target_context, *pickle.loads(code))
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if self._enabled:
            _write(users_folder() / TIER.name / self.name(sig), dumps(_lean(data)))


def _lean(compiled: CompileResult) -> tuple[Any, ...]:
    """What code needs to run: not its text with types beside it, nor the surroundings of functions within it that hold no constant. To find
    these again would import all modules that had a part in it."""
    code, about, own, *more, _text, again, surroundings = compiled._reduce()
    return code, about, own, *more, "", again, tuple(each for each in surroundings if each.consts or each is own)


def _read(file: Path) -> bytes | None:
    """Code as it was written, or nothing. That it was used is kept in the file's time, once a day."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    if sha256(content[DIGEST:]).digest() != content[:DIGEST]:
        return None  # a damaged disk: compiled anew
    with suppress(OSError):
        if time.time() - file.stat().st_mtime > DAY:
            os.utime(file)
    return content[DIGEST:]


def _write(file: Path, code: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=file.parent, prefix=".", delete=False) as new:
            new.write(sha256(code).digest() + code)
        os.replace(new.name, file)
    except OSError as problem:
        with suppress(NameError, OSError):
            os.unlink(new.name)
        if not file.exists():  # else another process was first, and has it open: Windows does not replace it then
            _say_once(str(problem))
    for old in _unused(file):
        with suppress(OSError):
            old.unlink()


def _unused(file: Path) -> Iterator[Path]:
    """Code of other texts of the same loop that nobody has asked for in a long time."""
    last = time.time() - UNUSED
    for other in file.parent.glob(f"{file.name.rpartition('-')[0]}-*"):
        with suppress(OSError):
            if other.stat().st_mtime < last:
                yield other


@cache
def _say_once(problem: str) -> None:
    warnings.warn(
        f"Compiled loops cannot be kept ({problem}): each process compiles them again, which takes seconds. "
        "Set ASSAY_CACHE to a folder that can be written to, or install a wheel, which brings them compiled.",
        stacklevel=2,
    )
