"""What a wheel brings of the kept loops: their machine code. Bitcode, of which a loop that calls them would be compiled, is three quarters of
a file and of use for those loops alone that loops call, too."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import CodeType

from numba.core.serialize import dumps

from assay.compiled.cache import DIGEST
from assay.compiled.decorator import KIND, LoopDispatcher

PACKAGE = Path(__file__).resolve().parents[1]


def ship(files: Iterable[Path], folder: Path) -> None:
    """Copy kept loops into a folder, as a wheel brings them."""
    folder.mkdir(parents=True)
    called = names_of(loop for caller in loops() for loop in called_by(caller))
    for file in files:
        content = file.read_bytes()
        if file.name.split("-")[0] not in called:
            code = _without_bitcode(content[DIGEST:])
            content = sha256(code).digest() + code
        (folder / file.name).write_bytes(content)


def _without_bitcode(code: bytes) -> bytes:
    (name, kind, data), *rest = pickle.loads(code)
    if kind != KIND:  # a part, of which there is nothing else
        return code
    return bytes(dumps(((name, kind, (*data[:2], None)), *rest)))


def names_of(found: Iterable[LoopDispatcher]) -> set[str]:
    return {f"{loop.py_func.__module__}.{loop.py_func.__qualname__}" for loop in found}


def loops() -> list[LoopDispatcher]:
    """All loops of the package."""
    files = [*PACKAGE.rglob("loops/*.py"), *PACKAGE.rglob("loops.py"), *PACKAGE.glob("compiled/**/*.py")]
    names = (".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts) for file in files)
    modules = [import_module(module) for module in (name.removesuffix(".__init__") for name in names)]
    found = (value for module in modules for value in vars(module).values())
    return list({id(each): each for each in found if isinstance(each, LoopDispatcher)}.values())


def called_by(loop: LoopDispatcher) -> list[LoopDispatcher]:
    """The loops that a loop names, but for those whose text becomes a part of it."""
    named = (loop.py_func.__globals__.get(name) for name in _names_in(loop.py_func.__code__))
    return [each for each in named if isinstance(each, LoopDispatcher) and each.targetoptions.get("inline") != "always"]


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
