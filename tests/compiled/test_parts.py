"""A loop that only other loops call is a part of theirs: it is not compiled by itself, for nothing."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType

import assay
from assay.compiled.target import LoopDispatcher

HOME = Path(assay.__file__).parent


def names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


@cache
def loops() -> list[LoopDispatcher]:
    """All of the package."""
    files = [*HOME.rglob("loops/*.py"), *HOME.glob("compiled/**/*.py")]
    names = [".".join(["assay", *f.relative_to(HOME).with_suffix("").parts]).removesuffix(".__init__") for f in files]
    found = [value for name in names for value in vars(importlib.import_module(name)).values()]
    return list({id(each): each for each in found if isinstance(each, LoopDispatcher)}.values())


def called_by(loop: LoopDispatcher) -> list[LoopDispatcher]:
    """The loops that a loop names, but for those whose text becomes a part of it."""
    named = (loop.py_func.__globals__.get(name) for name in names_in(loop.py_func.__code__))
    return [x for x in named if isinstance(x, LoopDispatcher) and x.targetoptions.get("inline") != "always"]


def test_what_only_loops_call_has_no_machine_code_of_its_own():
    elsewhere = [f.read_text() for f in HOME.rglob("*.py") if "loops" not in f.parts and "compiled" not in f.parts]
    tested = [f.read_text() for f in Path(__file__).parents[1].rglob("test_*.py")]
    text = "\n".join((*elsewhere, *tested))
    by_loops = {loop.py_func.__qualname__ for caller in loops() for loop in called_by(caller) if not loop.part}
    assert len(by_loops) > 3
    assert {name for name in by_loops if not re.search(rf"\b{name}\b", text)} - {"<lambda>"} == set()
