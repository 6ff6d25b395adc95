"""Addresses of arrays in place of arrays, what is loaded ahead, and flags by which threads wait for each other.

Numba counts references to every array that a function takes out of a tuple: 3 µs a node of a tree, where the search of a small node takes
a tenth of that. Addresses are counted by nobody. Numba frees an array that a function has made after the last line that names it, whoever has its
address: so a function that takes the `data_pointer` of an array of its own names it in `keep_alive` at its end. What it is given lives in its
caller. Without the compiler an address is the flat array itself, and nothing is loaded ahead.

Loading ahead, measured on 500 000×50 doubles, two threads: hash and moments in one pass take 17 ms without and 11.5 ms with it, where
reading alone takes 8.5 ms: the work between two rows keeps the hardware's own prefetcher from running far enough ahead.

At a barrier each thread raises its flag to the number of the barrier, and goes on when all flags are there. They look a while without rest, for a
batch takes a tenth of a millisecond; then they let others run between looks. A thread that fails breaks the barrier: whoever waits for it, now
or later, leaves, too.
"""

from __future__ import annotations

import os
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.extending import intrinsic

from assay.compiled.decorator import inner, jit
from assay.compiled.simd.vectors import BYTE, INT32, call
from assay.numerics import Array

LINE = 64  # bytes of a cache line
APART = 16  # flags, so that no two share a line of the cache
LOOKS = 20_000  # before others may run
BROKEN = -1


@intrinsic
def _data_pointer(typingctx: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    return types.CPointer(array.dtype)(array), generate


def _plain_data_pointer(array: Any) -> Any:
    return array.reshape(-1)


# data_pointer(array): the address of its first number
data_pointer = _plain_data_pointer if config.DISABLE_JIT else _data_pointer


@intrinsic
def _keep_alive(typingctx: Any, arrays: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.get_dummy_value()

    return types.void(arrays), generate


def _plain_keep_alive(arrays: Any) -> None:
    """Without the compiler an address keeps its array."""


# keep_alive((array, …)): the arrays are not freed before this line
keep_alive = _plain_keep_alive if config.DISABLE_JIT else _keep_alive


@intrinsic
def _cast_pointer(typingctx: Any, room: Any, like: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], args[1].type)

    return like(room, like), generate


def _plain_cast_pointer(room: Any, like: Any) -> Any:
    return room


# cast_pointer(room, like): the address `room` of numbers as large as those of `like`, or larger, as one of numbers of that kind
cast_pointer = _plain_cast_pointer if config.DISABLE_JIT else _cast_pointer


def load_ahead(builder: Any, place: Any) -> None:
    """Start loading the line of the cache at an address; harmless wherever that is.

    Measured on 500 000×50 doubles, two threads: hash and moments in one pass take 17 ms without and 11.5 ms with it, where
    reading alone takes 8.5 ms: the work between two rows keeps the hardware's own prefetcher from running far enough ahead.
    """
    address = builder.bitcast(place, BYTE.as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [address.type, INT32, INT32, INT32])
    function = builder.module.declare_intrinsic("llvm.prefetch", (address.type,), kind)
    read, keep, data_cache = (ir.Constant(INT32, v) for v in (0, 3, 1))
    builder.call(function, [address, read, keep, data_cache])


@intrinsic
def _prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        load_ahead(builder, builder.gep(data, [args[1]]))
        return context.get_dummy_value()

    return types.void(array, index), generate


@intrinsic
def _prefetch_at(typingctx: Any, address: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        load_ahead(builder, builder.gep(args[0], [args[1]]))
        return context.get_dummy_value()

    return types.void(address, index), generate


def _plain_prefetch(array: Any, index: int) -> None:
    """Without the compiler nothing is asked for ahead."""


# prefetch(array, index): start loading array[index] (flat) into the caches; harmless beyond its end
prefetch = _plain_prefetch if config.DISABLE_JIT else _prefetch
# prefetch_at(address, index): the same of an address
prefetch_at = _plain_prefetch if config.DISABLE_JIT else _prefetch_at


@intrinsic
def _store_release(typingctx: Any, flags: Any, at: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[2], builder.gep(args[0], [args[1]]), "release", 8)
        return context.get_dummy_value()

    return types.void(flags, types.int64, types.int64), generate


@intrinsic
def _load_acquire(typingctx: Any, flags: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(builder.gep(args[0], [args[1]]), "acquire", 8)

    return types.int64(flags, types.int64), generate


@intrinsic
def _yield_thread(typingctx: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        call(builder, "SwitchToThread" if os.name == "nt" else "sched_yield", INT32)
        return context.get_dummy_value()

    return types.void(), generate


def _plain_store_release(flags: Any, at: int, number: int) -> None:
    flags[at] = number


def _plain_load_acquire(flags: Any, at: int) -> int:
    return int(flags[at])


def _plain_yield_thread() -> None:
    """Without the compiler the interpreter lets others run."""


# store_release(flags, at, number): flags[at] = number, which others see after all that was written before
store_release = _plain_store_release if config.DISABLE_JIT else _store_release
# load_acquire(flags, at): flags[at]; what is read afterwards is at least as new
load_acquire = _plain_load_acquire if config.DISABLE_JIT else _load_acquire
# yield_thread(): let other threads run
yield_thread = _plain_yield_thread if config.DISABLE_JIT else _yield_thread


@inner
def barrier(flags, rank, ranks, passed):  # type: ignore[no-untyped-def]
    """Wait until all have come to one barrier more than the `passed` ones; returns how many that are, or BROKEN where a thread has failed.
    flags: the address of APART whole numbers a thread, zero at first."""
    passed += 1
    if ranks > 1:
        store_release(flags, rank * APART, passed)
        for other in range(ranks):
            looks = 0
            seen = load_acquire(flags, other * APART)
            while seen < passed:
                if seen == BROKEN:
                    store_release(flags, rank * APART, BROKEN)
                    return BROKEN
                looks += 1
                if looks > LOOKS:
                    yield_thread()
                seen = load_acquire(flags, other * APART)
    return passed


def break_barrier(flags: Array, rank: int) -> None:
    """A thread will not come any more: to be called where its loop has raised."""
    flags[rank * APART] = BROKEN


@jit(inline="always")
def prefetch_rows(flat, first, count, stride):  # type: ignore[no-untyped-def]
    """Start loading `count` numbers of a flat array from `first` on; `stride` numbers fill a cache line."""
    stop = min(first + count, flat.shape[0])
    for i in range(first, stop, stride):
        prefetch(flat, i)
