"""Threads of one loop wait for each other: each raises a flag to the number of the meeting, and goes on when all flags are there.

They look a while without rest, for a batch takes a tenth of a millisecond; then they let others run between looks.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.extending import intrinsic

from assay.loops.tree.inner import inner

APART = 16  # flags, so that no two share a line of the cache
LOOKS = 20_000  # before others may run
WORD = ir.IntType(64)


@intrinsic
def _raise(typingctx: Any, flags: Any, at: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[2], builder.gep(args[0], [args[1]]), "release", 8)
        return context.get_dummy_value()

    return types.void(flags, types.int64, types.int64), generate


@intrinsic
def _see(typingctx: Any, flags: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(builder.gep(args[0], [args[1]]), "acquire", 8)

    return types.int64(flags, types.int64), generate


@intrinsic
def _rest(typingctx: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from numba.core import cgutils

        kind = ir.FunctionType(ir.IntType(32), [])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), generate


def _plain_raise(flags: Any, at: int, number: int) -> None:
    flags[at] = number


def _plain_see(flags: Any, at: int) -> int:
    return int(flags[at])


def _plain_rest() -> None:
    pass


raise_flag, see_flag, rest = (_plain_raise, _plain_see, _plain_rest) if config.DISABLE_JIT else (_raise, _see, _rest)


@inner
def meet(flags, rank, ranks, met):  # type: ignore[no-untyped-def]
    """Wait until all have met once more than `met` times; returns how often that is."""
    met += 1
    if ranks > 1:
        raise_flag(flags, rank * APART, met)
        for other in range(ranks):
            looks = 0
            while see_flag(flags, other * APART) < met:
                looks += 1
                if looks > LOOKS:
                    rest()
    return met
