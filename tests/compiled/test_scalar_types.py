"""What operators and functions make of numbers is looked for once, and is what Numba would say each time."""

from __future__ import annotations

import operator

import pytest
from numba import config, types
from numba.core.typing import Context

from assay.compiled.decorator import LoopDispatcher, inner

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
REAL, WHOLE = types.float64, types.int64


def first(x, y):
    return abs(x * y) + x


def second(x, y):
    return abs(y * x) - x * y


def compiled_anew(function):
    loop = inner(function)
    loop._cache.disable()
    loop.compile((REAL, REAL))


def test_a_second_loop_does_not_look_again_for_what_numbers_make(monkeypatch):
    asked = []
    numbas = Context.resolve_function_type

    def counted(self, func, args, kws):
        asked.append((func, tuple(args)))
        return numbas(self, func, args, kws)

    monkeypatch.setattr(LoopDispatcher.targetdescr.typing_context, "_of_scalars", {})
    compiled_anew(first)
    monkeypatch.setattr(Context, "resolve_function_type", counted)
    compiled_anew(second)
    looked_for = [getattr(func, "typing_key", func) for func, _ in asked]
    assert operator.mul not in looked_for
    assert operator.sub in looked_for  # which the first loop does not have


@pytest.mark.parametrize(
    "args", [(REAL, REAL), (WHOLE, REAL), (WHOLE, WHOLE), (types.uint64, WHOLE), (types.int8,) * 2]
)
@pytest.mark.parametrize("what", [operator.add, operator.truediv, operator.lt, operator.rshift])
def test_what_was_found_is_what_numba_says(what, args):
    typing = LoopDispatcher.targetdescr.typing_context
    LoopDispatcher.targetdescr.target_context.refresh()

    def said(resolve):
        try:
            return resolve(typing, what, args, {})
        except Exception as problem:
            return type(problem)

    expected = said(Context.resolve_function_type)
    assert said(type(typing).resolve_function_type) == expected
    assert said(type(typing).resolve_function_type) == expected
